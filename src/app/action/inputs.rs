//! The inputs of a step, each checked separately, so that a message can name it. Main type: [`ActionInputs`].

use std::path::PathBuf;

use super::error::ActionError;
use super::variables::{self, ActionVariables, Input};
use crate::config::{self, Flags, SettingKey, SettingsSources};
use crate::domain::filter::PathFilter;
use crate::domain::forge::PullNumber;
use crate::domain::secret::Secret;
use crate::domain::text::strip_line;
use crate::present::{self, Presenter, presenter};

/// The maximum length of a value in a message, in characters.
const SHOWN: usize = 60;

/// The destination of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostMode {
    /// The pull request; without the permission, or without a pull request, annotations.
    Auto,
    /// The pull request only.
    Review,
    /// Annotations of the run.
    Annotations,
    /// Files and the job's summary only.
    Nowhere,
}

/// The policy for drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftPolicy {
    /// Drafts are reviewed.
    Review,
    /// Drafts are skipped.
    Skip,
}

/// The policy for failed and incomplete reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorPolicy {
    /// The step fails.
    Fail,
    /// The step passes with a notice.
    Neutral,
}

/// The parsed inputs of a step.
#[derive(Debug, Clone)]
pub(super) struct ActionInputs {
    pub(super) key: Option<Secret>,
    pub(super) base_url: Option<String>,
    pub(super) context_window: Option<String>,
    pub(super) pull: Option<PullNumber>,
    /// The inputs that correspond to flags of the command line.
    pub(super) flags: Flags,
    /// A path in the repository, with slashes.
    pub(super) instructions: Option<String>,
    pub(super) post: PostMode,
    pub(super) formats: Vec<&'static Presenter>,
    pub(super) drafts: DraftPolicy,
    pub(super) artifact: Option<PathBuf>,
}

impl ActionInputs {
    /// Reads and checks all of them.
    pub(super) fn read(given: &ActionVariables) -> Result<Self, ActionError> {
        let key = given.secret(variables::KEY.variable).cloned();
        if key.as_ref().is_some_and(|key| !key.is_plain()) {
            return Err(ActionError::Input {
                input: variables::KEY.name,
                wrong: "is not one line of plain ASCII (it is not shown here)".to_owned(),
                write: "copy the key again, as the provider shows it, into the secret that it is taken from".to_owned(),
            });
        }
        let pull = given.input(variables::PULL);
        let pull = pull.map(|text| text.trim_start_matches('#').parse().map_err(|_| no_number(text))).transpose()?;
        Ok(Self {
            key,
            pull,
            base_url: given.input(variables::BASE_URL).map(str::to_owned),
            context_window: given.input(variables::CONTEXT_WINDOW).map(str::to_owned),
            flags: flags(given)?,
            instructions: instructions(given)?,
            post: word(given, variables::POST, &POSTS)?,
            formats: formats(given)?,
            drafts: word(given, variables::DRAFTS, &DRAFTS)?,
            artifact: given.input(variables::ARTIFACT).map(PathBuf::from),
        })
    }
}

/// Reads `on-error`. It applies before anything else is read; an invalid value makes the step fail.
pub(super) fn on_error(given: &ActionVariables) -> Result<ErrorPolicy, ActionError> {
    word(given, variables::ON_ERROR, &ON_ERROR)
}

/// The values of an input, the default first.
const POSTS: [(&str, PostMode); 4] = [
    ("auto", PostMode::Auto),
    ("review", PostMode::Review),
    ("annotations", PostMode::Annotations),
    ("none", PostMode::Nowhere),
];
const DRAFTS: [(&str, DraftPolicy); 2] = [("review", DraftPolicy::Review), ("skip", DraftPolicy::Skip)];
const ON_ERROR: [(&str, ErrorPolicy); 2] = [("fail", ErrorPolicy::Fail), ("neutral", ErrorPolicy::Neutral)];

fn word<T: Copy>(given: &ActionVariables, input: Input, words: &[(&str, T)]) -> Result<T, ActionError> {
    let said = given.input(input).or_else(|| words.first().map(|(word, _)| *word)).unwrap_or_default();
    let found = words.iter().find(|(word, _)| said.eq_ignore_ascii_case(word)).map(|(_, meant)| *meant);
    let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| invalid_value(input, said, &format!("write one of {}", known())))
}

/// Builds the error for an invalid value of an input.
pub(super) fn invalid_value(input: Input, value: &str, write: &str) -> ActionError {
    let value = strip_line(value);
    let shown: String = value.chars().take(SHOWN).collect();
    let cut = if shown.len() < value.len() { "…" } else { "" };
    ActionError::Input { input: input.name, wrong: format!("cannot be {shown:?}{cut}"), write: write.to_owned() }
}

fn no_number(text: &str) -> ActionError {
    invalid_value(variables::PULL, text, "write the number of a pull request of this repository, such as 12")
}

/// Parses the inputs that are settings, each validated like its setting.
fn flags(given: &ActionVariables) -> Result<Flags, ActionError> {
    type Field = fn(&mut Flags) -> &mut Option<String>;
    let settings: [(Input, &str, Field); 12] = [
        (variables::MIN_SEVERITY, "min_severity", |flags| &mut flags.min_severity),
        (variables::FAIL_ON, "fail_on", |flags| &mut flags.fail_on),
        (variables::REQUEST_CHANGES_ON, "request_changes_on", |flags| &mut flags.request_changes_on),
        (variables::COMMENT_ON, "comment_on", |flags| &mut flags.comment_on),
        (variables::MAX_COMMENTS, "max_comments", |flags| &mut flags.max_comments),
        (variables::TIMEOUT, "timeout", |flags| &mut flags.timeout),
        (variables::MODEL, "model", |flags| &mut flags.model),
        (variables::MAX_TURNS, "max_turns", |flags| &mut flags.max_turns),
        (variables::MAX_TOKENS, "max_tokens", |flags| &mut flags.max_tokens),
        (variables::MAX_COST, "max_cost", |flags| &mut flags.max_cost),
        (variables::MIN_CONFIDENCE, "min_confidence", |flags| &mut flags.min_confidence),
        (variables::VERIFY, "verify", |flags| &mut flags.verify),
    ];
    // The log's format does not depend on a user's settings file.
    let (include, exclude) = (globs(given, variables::INCLUDE)?, globs(given, variables::EXCLUDE)?);
    let mut flags = Flags { include, exclude, format: Some("terminal".to_owned()), ..Flags::default() };
    for (input, setting, field) in settings {
        let Some(value) = given.input(input) else { continue };
        let mut alone = Flags::default();
        *field(&mut alone) = Some(value.to_owned());
        if config::resolve(&SettingsSources { flags: alone, ..SettingsSources::default() }).is_err() {
            return Err(invalid_value(input, value, &format!("write {}", allowed_values(setting))));
        }
        *field(&mut flags) = Some(value.to_owned());
    }
    Ok(flags)
}

/// The values that a setting accepts.
pub(super) fn allowed_values(setting: &str) -> &'static str {
    SettingKey::from_name(setting).map_or("something else", |key| key.allowed)
}

/// Parses globs, one per line.
fn globs(given: &ActionVariables, input: Input) -> Result<Vec<String>, ActionError> {
    let lines = given.input(input).unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    let globs: Vec<String> = lines.map(str::to_owned).collect();
    for glob in &globs {
        if PathFilter::new(&[], std::slice::from_ref(glob)).is_err() {
            return Err(invalid_value(input, glob, "write one glob a line, such as src/**"));
        }
    }
    Ok(globs)
}

/// Reads a path in the repository. A path that leaves it could name any file of the machine.
fn instructions(given: &ActionVariables) -> Result<Option<String>, ActionError> {
    let Some(path) = given.input(variables::INSTRUCTIONS) else { return Ok(None) };
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.contains(['\\', ':', '\n']) || !path.split('/').all(is_plain) {
        let write =
            "write the path of a file of the repository, such as docs/review.md; it is read from the target branch";
        return Err(invalid_value(variables::INSTRUCTIONS, path, write));
    }
    Ok(Some(path.to_owned()))
}

fn formats(given: &ActionVariables) -> Result<Vec<&'static Presenter>, ActionError> {
    let mut formats: Vec<&'static Presenter> = Vec::new();
    let words = given.input(variables::FORMATS).unwrap_or_default().split(|c: char| c.is_whitespace() || c == ',');
    for word in words.filter(|word| !word.is_empty()) {
        let Some(presenter) = presenter(word) else {
            let known = present::names().join(", ");
            return Err(invalid_value(variables::FORMATS, word, &format!("write some of {known}")));
        };
        if !formats.iter().any(|known| known.name == presenter.name) {
            formats.push(presenter);
        }
    }
    Ok(formats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::context::error::UseCaseError as _;

    pub(in super::super) fn given(inputs: &[(&str, &str)]) -> ActionVariables {
        ActionVariables::of(|name| {
            inputs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_said_is_the_default() {
        let inputs = ActionInputs::read(&given(&[])).unwrap();
        assert_eq!((inputs.post, inputs.drafts), (PostMode::Auto, DraftPolicy::Review));
        assert_eq!(inputs.flags, Flags { format: Some("terminal".to_owned()), ..Flags::default() });
        assert!(inputs.formats.is_empty() && inputs.pull.is_none() && inputs.key.is_none());
        assert_eq!(on_error(&given(&[])).unwrap(), ErrorPolicy::Fail);
    }

    #[test]
    fn what_is_said_is_read() {
        let inputs = ActionInputs::read(&given(&[
            ("INPUT_PULL", "#12"),
            ("INPUT_FORMATS", "json, markdown\njson"),
            ("INPUT_INCLUDE", "src/**\n\n  lib/{a,b}.py  \n"),
            ("INPUT_FAIL_ON", "high"),
            ("INPUT_INSTRUCTIONS", "./docs/review.md"),
            ("INPUT_POST", "None"),
            ("INPUT_DRAFTS", "skip"),
        ]))
        .unwrap();
        assert_eq!(inputs.pull.map(PullNumber::value), Some(12));
        assert_eq!(inputs.formats.iter().map(|one| one.name).collect::<Vec<_>>(), ["json", "markdown"]);
        assert_eq!(inputs.flags.include, ["src/**", "lib/{a,b}.py"]);
        assert_eq!(inputs.flags.fail_on.as_deref(), Some("high"));
        assert_eq!(inputs.instructions.as_deref(), Some("docs/review.md"));
        assert_eq!((inputs.post, inputs.drafts), (PostMode::Nowhere, DraftPolicy::Skip));
    }

    #[test]
    fn each_wrong_input_is_named_with_what_to_write() {
        for (variable, value, told) in [
            ("INPUT_FAIL_ON", "hgh", "the input fail-on cannot be \"hgh\": write critical, high"),
            ("INPUT_MIN_SEVERITY", "x", "the input min-severity cannot"),
            ("INPUT_REQUEST_CHANGES_ON", "x", "the input request-changes-on cannot"),
            ("INPUT_COMMENT_ON", "x", "the input comment-on cannot"),
            ("INPUT_MAX_COMMENTS", "51", "the input max-comments cannot be \"51\": write a number from 0 to 50"),
            ("INPUT_TIMEOUT", "20 parsecs", "the input timeout cannot"),
            ("INPUT_MAX_TURNS", "0", "the input max-turns cannot"),
            ("INPUT_MAX_TOKENS", "many", "the input max-tokens cannot"),
            ("INPUT_MAX_COST", "much", "the input max-cost cannot"),
            ("INPUT_MODEL", "a/b,", "the input model cannot"),
            ("INPUT_VERIFY", "some", "the input verify cannot be \"some\": write auto"),
            ("INPUT_MIN_CONFIDENCE", "11", "the input min-confidence cannot"),
            ("INPUT_PULL", "x", "the input pull cannot be \"x\": write the number"),
            ("INPUT_POST", "loud", "the input post cannot be \"loud\": write one of auto, review, annotations, none"),
            ("INPUT_DRAFTS", "x", "write one of review, skip"),
            ("INPUT_FORMATS", "pdf", "the input formats cannot be \"pdf\": write some of terminal"),
            ("INPUT_INCLUDE", "ok/**\na{", "the input include cannot be \"a{\": write one glob a line"),
            ("INPUT_EXCLUDE", "[", "the input exclude cannot"),
            ("INPUT_INSTRUCTIONS", "/etc/passwd", "the input instructions cannot"),
            ("INPUT_INSTRUCTIONS", "a/../../b", "the input instructions cannot"),
            ("INPUT_INSTRUCTIONS", "C:\\x", "the input instructions cannot"),
            ("INPUT_INSTRUCTIONS", "-", ""),
        ] {
            match ActionInputs::read(&given(&[(variable, value)])) {
                Err(fault) => assert!(fault.to_string().contains(told) && fault.exit_code() == 2, "{fault}"),
                Ok(_) => assert_eq!(told, "", "{variable}={value}"),
            }
        }
        assert!(on_error(&given(&[("INPUT_ON_ERROR", "ignore")])).is_err());
    }

    #[test]
    fn a_wrong_key_is_not_shown() {
        let fault = ActionInputs::read(&given(&[("INPUT_KEY", "canary\nsecond")])).unwrap_err().to_string();
        assert!(fault.contains("the input key") && !fault.contains("canary"), "{fault}");
    }

    #[test]
    fn a_hostile_value_stays_one_short_line() {
        let value = format!("\u{1b}[31m\n::error::{}", "x".repeat(500));
        let fault = ActionInputs::read(&given(&[("INPUT_POST", &value)])).unwrap_err().to_string();
        assert!(!fault.contains('\n') && !fault.contains('\u{1b}') && fault.len() < 300, "{fault}");
    }
}
