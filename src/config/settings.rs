//! Settings with types. Main type: [`Settings`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use globset::GlobBuilder;

use super::choices::{Colour, ModelChoice, Verify};
use super::duration::parse_duration;
use super::tokens::parse_tokens;
use super::value::SettingValue;
use crate::domain::finding::{Confidence, Severity};
use crate::domain::guideline::GuidelineKind;
use crate::domain::money::Money;
use crate::domain::path::RepoPath;
use crate::domain::secret::Secret;

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Groups of globs: a file matches at least one of *every* group (the user's, the repository's); none means all files.
    pub include: Vec<Vec<String>>,
    /// A file must match none of these: everybody's together.
    pub exclude: Vec<String>,
    /// Findings below it are counted, not shown.
    pub min_severity: Option<Severity>,
    /// Findings of which somebody is less sure are counted, not shown.
    pub min_confidence: Option<Confidence>,
    /// Findings at or above it make the exit code 1.
    pub fail_on: Option<Severity>,
    /// Findings at or above it make a posted review request changes.
    pub request_changes_on: Option<Severity>,
    /// Findings at or above it may become comments on lines; `None` for no comments.
    pub comment_on: Option<Severity>,
    /// The number of comments on lines that a posted review may bring.
    pub max_comments: usize,
    /// The whole run may not take longer.
    pub timeout: Duration,
    /// The number of commits listed.
    pub max_commits: u32,
    /// The retention period of runs.
    pub keep_runs: Duration,
    /// When to use color.
    pub colour: Colour,
    /// The name of the output on standard output; which names there are is known to `present`.
    pub format: String,
    /// The reviewing model.
    pub model: ModelChoice,
    /// The failover models, in order, for when it fails for good; all are named explicitly.
    pub next_models: Vec<ModelChoice>,
    /// The findings to verify.
    pub verify: Verify,
    /// The verifying model; `None` for the reviewing one.
    pub verify_model: Option<ModelChoice>,
    /// The number of turns a model may take.
    pub max_turns: u32,
    /// The number of tokens that may be sent to a model during a run, cached ones included.
    pub max_tokens: u64,
    /// The cost limit of a run; `None` for no limit.
    pub max_cost: Option<Money>,
    /// A file with instructions for the model, absolute or relative to the working directory.
    pub instructions: Option<PathBuf>,
    /// A folder with templates that replace the built-in prompts, likewise.
    pub prompts: Option<PathBuf>,
    /// The kinds of project guidelines given to a model, in order.
    pub guidelines: Vec<GuidelineKind>,
    /// Further files of the repository that hold guidelines: everybody's together.
    pub guideline_files: Vec<RepoPath>,
    /// A file with rows for the table of providers, likewise; where none is named, `providers.toml` beside the user's settings counts.
    pub providers_file: Option<PathBuf>,
    /// The settings of providers, by name; see [`provider`](Self::provider).
    pub providers: BTreeMap<&'static str, ProviderSettings>,
    /// The build tools that a model may run, or `all`; none if empty.
    pub allow_build: Vec<String>,
    /// Rules and packs that do not run: everybody's together.
    pub rules_off: Vec<String>,
    /// Severities for rules and packs by their names, in the order in which they were said: everybody's together.
    pub rules_severity: Vec<(String, Severity)>,
    /// A folder with rule packs beside the built-in ones, absolute or relative to the working directory.
    pub rule_packs: Option<PathBuf>,
    /// `true` if the rules speak of all lines of the changed files, rather than of what the change brings.
    pub rules_all_lines: bool,
    /// `true` if hints of the rules are told without a model.
    pub rules_hints: bool,
}

/// The user's settings of a provider. `None` falls back to the usual variables and the provider's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Its address.
    pub base_url: Option<String>,
    /// The key for it.
    pub api_key: Option<Secret>,
    /// Tokens of a request and its answer together.
    pub context_window: Option<u64>,
    /// The number of requests per minute allowed for its key.
    pub requests_per_minute: Option<u32>,
    /// The number of tokens per minute allowed for its key.
    pub tokens_per_minute: Option<u64>,
}

/// A value that its setting does not take.
#[derive(Debug)]
pub(super) enum RefusedValue {
    /// The offending text.
    Shown(String),
    /// It may be secret.
    Hidden,
}

impl Settings {
    /// Creates the starting point for [`set`](Self::set); `defaults.toml` sets every field before it is used.
    pub(super) fn empty() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            min_severity: None,
            min_confidence: None,
            fail_on: None,
            request_changes_on: None,
            comment_on: None,
            max_comments: 0,
            timeout: Duration::ZERO,
            max_commits: 0,
            keep_runs: Duration::ZERO,
            colour: Colour::Auto,
            format: String::new(),
            model: ModelChoice::Rules,
            next_models: Vec::new(),
            verify: Verify::None,
            verify_model: None,
            max_turns: 0,
            max_tokens: 0,
            max_cost: None,
            instructions: None,
            prompts: None,
            guidelines: GuidelineKind::FOUND.to_vec(),
            guideline_files: Vec::new(),
            providers_file: None,
            providers: BTreeMap::new(),
            allow_build: Vec::new(),
            rules_off: Vec::new(),
            rules_all_lines: false,
            rules_hints: false,
            rules_severity: Vec::new(),
            rule_packs: None,
        }
    }

    /// Sets one setting. Lists are added to what is there: [`layers`](super::layers) decides which lists count.
    pub(super) fn set(&mut self, key: &'static str, value: &SettingValue) -> Result<(), RefusedValue> {
        match (key, value) {
            ("include", SettingValue::List(globs)) => {
                check_globs(globs)?;
                self.include.extend((!globs.is_empty()).then(|| globs.clone()));
            }
            ("exclude", SettingValue::List(globs)) => {
                check_globs(globs)?;
                add_new(&mut self.exclude, globs);
            }
            ("guidelines", SettingValue::List(words)) => {
                let wanted = guidelines(words)?;
                self.guidelines.retain(|kind| wanted.contains(kind));
            }
            ("guideline_files", SettingValue::List(paths)) => {
                for text in paths {
                    let path = RepoPath::parse(text).map_err(|_| refused(text))?;
                    if !self.guideline_files.contains(&path) {
                        self.guideline_files.push(path);
                    }
                }
            }
            ("allow_build", SettingValue::List(names)) => {
                let names = names.iter().map(|name| word(name)).collect::<Result<Vec<_>, _>>()?;
                add_new(&mut self.allow_build, &names);
            }
            ("rules.off", SettingValue::List(names)) => add_new(&mut self.rules_off, names),
            ("rules.lines", SettingValue::One(text)) => self.rules_all_lines = either(text, ["changed", "all"])?,
            ("rules.hints", SettingValue::One(text)) => self.rules_hints = either(text, ["leads", "told"])?,
            ("rules.severity", SettingValue::List(grades)) => {
                let grades = grades.iter().map(|text| grade(text)).collect::<Result<Vec<_>, _>>()?;
                // What is said again counts as said last.
                self.rules_severity.retain(|(name, _)| grades.iter().all(|(again, _)| again != name));
                self.rules_severity.extend(grades);
            }
            ("min_severity", SettingValue::One(text)) => self.min_severity = severity(text)?,
            ("min_confidence", SettingValue::One(text)) => self.min_confidence = confidence(text)?,
            ("fail_on", SettingValue::One(text)) => self.fail_on = severity(text)?,
            ("request_changes_on", SettingValue::One(text)) => self.request_changes_on = severity(text)?,
            ("comment_on", SettingValue::One(text)) => self.comment_on = severity(text)?,
            ("max_comments", SettingValue::One(text)) => {
                let number = text.trim().parse().ok().filter(|number| *number <= 50);
                self.max_comments = number.ok_or_else(|| refused(text))?;
            }
            ("timeout", SettingValue::One(text)) => self.timeout = duration(text)?,
            ("keep_runs", SettingValue::One(text)) => self.keep_runs = duration(text)?,
            ("max_commits", SettingValue::One(text)) => {
                let number = text.trim().parse().ok().filter(|number| *number <= 1_000_000);
                self.max_commits = number.ok_or_else(|| refused(text))?;
            }
            ("colour", SettingValue::One(text)) => {
                self.colour = Colour::from_word(text.trim()).ok_or_else(|| refused(text))?;
            }
            ("format", SettingValue::One(text)) => self.format = word(text)?,
            ("model", SettingValue::One(text)) => {
                (self.model, self.next_models) = models(text)?;
            }
            ("verify", SettingValue::One(text)) => {
                self.verify = Verify::from_word(text.trim()).ok_or_else(|| refused(text))?;
            }
            ("verify_model", SettingValue::One(text)) => self.verify_model = second_model(text)?,
            ("max_turns", SettingValue::One(text)) => {
                let turns = text.trim().parse().ok().filter(|turns| (1..=1_000).contains(turns));
                self.max_turns = turns.ok_or_else(|| refused(text))?;
            }
            ("max_tokens", SettingValue::One(text)) => self.max_tokens = tokens(text, 1)?,
            ("max_cost", SettingValue::One(text)) => self.max_cost = money(text)?,
            ("instructions", SettingValue::Path(path)) => self.instructions = path_or_none(path),
            ("prompts", SettingValue::Path(path)) => self.prompts = path_or_none(path),
            ("rules.packs", SettingValue::Path(path)) => self.rule_packs = path_or_none(path),
            ("providers", SettingValue::Path(path)) => self.providers_file = path_or_none(path),
            _ => return self.set_for_provider(key, value),
        }
        Ok(())
    }

    fn set_for_provider(&mut self, key: &'static str, value: &SettingValue) -> Result<(), RefusedValue> {
        let (provider, field) = key.split_once('.').unwrap_or((key, ""));
        let provider = self.providers.entry(provider).or_default();
        match (field, value) {
            ("base_url", SettingValue::One(text)) => provider.base_url = address(text)?,
            ("api_key", SettingValue::Secret(key)) => provider.api_key = secret(key)?,
            ("context_window", SettingValue::One(text)) => provider.context_window = Some(tokens(text, 1_000)?),
            ("requests_per_minute", SettingValue::One(text)) => {
                let number = text.trim().parse().ok().filter(|number| (1..=1_000_000).contains(number));
                provider.requests_per_minute = Some(number.ok_or_else(|| refused(text))?);
            }
            ("tokens_per_minute", SettingValue::One(text)) => provider.tokens_per_minute = Some(tokens(text, 1)?),
            (_, SettingValue::One(text)) => return Err(refused(text)),
            (_, SettingValue::List(list)) => return Err(refused(&list.join(","))),
            (_, SettingValue::Path(path)) => return Err(refused(&path.display().to_string())),
            (_, SettingValue::Secret(_)) => return Err(RefusedValue::Hidden),
        }
        Ok(())
    }

    /// Checks whether `self` allows more of the budget `key` than `limit` does.
    pub(super) fn exceeds(&self, limit: &Self, key: &str) -> bool {
        match key {
            "timeout" => self.timeout > limit.timeout,
            "max_commits" => self.max_commits > limit.max_commits,
            "max_turns" => self.max_turns > limit.max_turns,
            "max_tokens" => self.max_tokens > limit.max_tokens,
            _ => false,
        }
    }

    /// Returns the settings of the provider of that name.
    pub fn provider(&self, name: &str) -> ProviderSettings {
        self.providers.get(name).cloned().unwrap_or_default()
    }
}

fn refused(text: &str) -> RefusedValue {
    RefusedValue::Shown(text.to_owned())
}

fn add_new(list: &mut Vec<String>, more: &[String]) {
    let known: std::collections::HashSet<String> = list.iter().cloned().collect();
    list.extend(more.iter().filter(|item| !known.contains(*item)).cloned());
}

/// Parses the names of guideline kinds; an empty list means all, as elsewhere.
fn guidelines(words: &[String]) -> Result<Vec<GuidelineKind>, RefusedValue> {
    let all = |word: &str| word.trim().eq_ignore_ascii_case("all");
    let none = |word: &str| word.trim().eq_ignore_ascii_case("none");
    match words {
        [] => Ok(GuidelineKind::FOUND.to_vec()),
        [word] if all(word) => Ok(GuidelineKind::FOUND.to_vec()),
        [word] if none(word) => Ok(Vec::new()),
        words => {
            words.iter().map(|word| GuidelineKind::found_by_word(word.trim()).ok_or_else(|| refused(word))).collect()
        }
    }
}

/// Globs are compiled here once, so that a bad one is told with the place it was written in.
fn check_globs(globs: &[String]) -> Result<(), RefusedValue> {
    let bad =
        |glob: &&String| glob.trim().is_empty() || GlobBuilder::new(glob).literal_separator(true).build().is_err();
    globs.iter().find(bad).map_or(Ok(()), |glob| Err(refused(glob)))
}

fn severity(text: &str) -> Result<Option<Severity>, RefusedValue> {
    let word = text.trim();
    if word.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    Severity::from_word(word).map(Some).ok_or_else(|| refused(text))
}

/// A name and a severity with a sign of equality between them.
fn grade(text: &str) -> Result<(String, Severity), RefusedValue> {
    let (name, severity) = text.split_once('=').ok_or_else(|| refused(text))?;
    let severity = Severity::from_word(severity.trim()).ok_or_else(|| refused(text))?;
    Ok((word(name).map_err(|_| refused(text))?, severity))
}

/// Parses one of two words: `true` for the second.
fn either(text: &str, [no, yes]: [&str; 2]) -> Result<bool, RefusedValue> {
    match text.trim() {
        word if word == no => Ok(false),
        word if word == yes => Ok(true),
        _ => Err(refused(text)),
    }
}

/// A number from 1 to 10.
fn confidence(text: &str) -> Result<Option<Confidence>, RefusedValue> {
    let word = text.trim();
    if word.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    word.parse().ok().and_then(Confidence::new).map(Some).ok_or_else(|| refused(text))
}

/// A model, or several by name, each once: the first reviews, the others take over.
fn models(text: &str) -> Result<(ModelChoice, Vec<ModelChoice>), RefusedValue> {
    let choice =
        |name: &str| word(name).ok().and_then(|word| ModelChoice::from_word(&word)).ok_or_else(|| refused(text));
    let Some((first, rest)) = text.split_once(',') else { return Ok((choice(text)?, Vec::new())) };
    let mut all = vec![choice(first)?];
    for name in rest.split(',') {
        let choice = choice(name)?;
        if all.contains(&choice) {
            return Err(refused(text));
        }
        all.push(choice);
    }
    if all.iter().any(|choice| !matches!(choice, ModelChoice::Named { .. })) {
        return Err(refused(text));
    }
    let next = all.split_off(1);
    all.pop().map(|first| (first, next)).ok_or_else(|| refused(text))
}

/// A model by name. What stands for no certain model is refused: a second look is switched off by `verify`.
fn second_model(text: &str) -> Result<Option<ModelChoice>, RefusedValue> {
    let word = word(text)?;
    if word.eq_ignore_ascii_case("same") {
        return Ok(None);
    }
    match ModelChoice::from_word(&word) {
        Some(choice @ ModelChoice::Named { .. }) => Ok(Some(choice)),
        Some(ModelChoice::Auto | ModelChoice::Rules) | None => Err(refused(text)),
    }
}

fn duration(text: &str) -> Result<Duration, RefusedValue> {
    parse_duration(text).map_err(|_| refused(text))
}

/// A name without white space or control characters.
fn word(text: &str) -> Result<String, RefusedValue> {
    let word = text.trim();
    let plain = !word.is_empty() && !word.chars().any(|c| c.is_whitespace() || c.is_control());
    if plain { Ok(word.to_owned()) } else { Err(refused(text)) }
}

fn path_or_none(path: &std::path::Path) -> Option<PathBuf> {
    (!path.as_os_str().is_empty()).then(|| path.to_owned())
}

/// A number of tokens from `least` to a thousand millions.
fn tokens(text: &str, least: u64) -> Result<u64, RefusedValue> {
    parse_tokens(text).filter(|tokens| (least..=1_000_000_000).contains(tokens)).ok_or_else(|| refused(text))
}

/// An amount of dollars; nothing for `none`. No money at all would be no review.
fn money(text: &str) -> Result<Option<Money>, RefusedValue> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let amount = text.parse().ok().filter(|amount| *amount > Money::NOTHING);
    amount.map(Some).ok_or_else(|| refused(text))
}

/// An address with a scheme; nothing where it is empty. Whether a server can be there is asked by `llm`.
///
/// It is shown with the settings, so one that may hold a name, a password or a key is refused, unnamed.
fn address(text: &str) -> Result<Option<String>, RefusedValue> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    if text.contains(['@', '?']) {
        return Err(RefusedValue::Hidden);
    }
    let address = word(text)?;
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => Ok(Some(address)),
        _ => Err(refused(text)),
    }
}

/// A key without the line end that it is often copied with; nothing where it is empty.
fn secret(key: &Secret) -> Result<Option<Secret>, RefusedValue> {
    let trimmed = key.trimmed();
    if !trimmed.is_plain() {
        return Err(RefusedValue::Hidden);
    }
    Ok((!trimmed.reveal().is_empty()).then_some(trimmed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_a_number_from_one_to_ten() {
        for (text, read) in [("1", Some(1)), (" 10 ", Some(10)), ("None", None)] {
            assert_eq!(confidence(text).unwrap().map(Confidence::value), read, "{text}");
        }
        for text in ["0", "11", "7.5", "high", "", "-1"] {
            assert!(confidence(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rule_is_graded_by_its_name_and_the_last_word_counts() {
        let list = |texts: &[&str]| SettingValue::List(texts.iter().map(|text| (*text).to_owned()).collect());
        let mut settings = Settings::empty();
        settings.set("rules.severity", &list(&["rust/a=low", " go = Medium "])).unwrap();
        settings.set("rules.severity", &list(&["rust/a=high"])).unwrap();
        let said: Vec<_> =
            settings.rules_severity.iter().map(|(name, severity)| format!("{name} {severity}")).collect();
        assert_eq!(said, ["go medium", "rust/a high"]);
        for bad in ["rust/a", "rust/a=", "rust/a=none", "=low", "a b=low", "rust/a=low=low"] {
            assert!(settings.set("rules.severity", &list(&[bad])).is_err(), "{bad}");
        }
    }

    #[test]
    fn guidelines_are_narrowed_and_never_brought_back() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut settings = Settings::empty();
        settings.set("guidelines", &SettingValue::List(words(&["claude", " Agents "]))).unwrap();
        assert_eq!(settings.guidelines, [GuidelineKind::Agents, GuidelineKind::Claude]);
        settings.set("guidelines", &SettingValue::List(words(&["claude", "cursor"]))).unwrap();
        assert_eq!(settings.guidelines, [GuidelineKind::Claude]);
        settings.set("guidelines", &SettingValue::List(words(&["all"]))).unwrap();
        assert_eq!(settings.guidelines, [GuidelineKind::Claude]);
        settings.set("guidelines", &SettingValue::List(words(&["none"]))).unwrap();
        assert_eq!(settings.guidelines, []);
        for bad in [&["all", "claude"][..], &["named"], &["AGENTS.md"], &[""]] {
            assert!(settings.set("guidelines", &SettingValue::List(words(bad))).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_file_with_guidelines_is_in_the_repository() {
        let mut settings = Settings::empty();
        let both = SettingValue::List(vec!["docs/a.md".to_owned(), "./docs//a.md".to_owned()]);
        settings.set("guideline_files", &both).unwrap();
        assert_eq!(settings.guideline_files, [RepoPath::parse("docs/a.md").unwrap()]);
        for bad in ["../a.md", "/etc/passwd", ".git/config", ""] {
            assert!(settings.set("guideline_files", &SettingValue::List(vec![bad.to_owned()])).is_err(), "{bad}");
        }
    }

    #[test]
    fn money_is_an_amount_or_no_limit() {
        for (text, amount) in [("2", Some("2")), (" 0.05 ", Some("0.05")), ("$1.50", Some("1.5")), ("None", None)] {
            assert_eq!(money(text).unwrap(), amount.map(|amount| amount.parse().unwrap()), "{text}");
        }
        for bad in ["0", "0.0", "-1", "1e3", "inf", "much", "", "true"] {
            assert!(money(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn several_models_are_all_named_and_each_once() {
        let named = |provider: &str, model: &str| ModelChoice::Named {
            provider: provider.to_owned(),
            model: (!model.is_empty()).then(|| model.to_owned()),
        };
        assert_eq!(models("auto").unwrap(), (ModelChoice::Auto, Vec::new()));
        let all = (named("anthropic", ""), vec![named("openai", "b"), named("ollama", "c:8b")]);
        assert_eq!(models("anthropic, openai/b,ollama/c:8b").unwrap(), all);
        for bad in ["a/b,", ",a/b", "a/b,,c/d", "a/b,auto", "none,a/b", "a/b,a/b", "a/b,c/", "a/b c/d"] {
            assert!(models(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_second_model_is_named_or_the_same() {
        assert_eq!(second_model("Same").unwrap(), None);
        assert!(matches!(second_model("openai/a/b"), Ok(Some(ModelChoice::Named { .. }))));
        for text in ["none", "auto", "", "openai/", "a/b,c/d"] {
            assert!(second_model(text).is_err(), "{text}");
        }
    }
}
