//! Settings with types. Main type: [`Settings`].

use std::time::Duration;

use globset::GlobBuilder;

use super::duration::parse_duration;
use super::layers::Value;
use crate::domain::finding::Severity;

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Groups of globs: a file must match at least one glob of *every* group. One group is the user's, one the repository's;
    /// none means all files.
    pub include: Vec<Vec<String>>,
    /// A file must match none of these: everybody's together.
    pub exclude: Vec<String>,
    /// Findings below it are counted, not shown.
    pub min_severity: Option<Severity>,
    /// Findings at or above it make the exit code 1.
    pub fail_on: Option<Severity>,
    /// The whole run may not take longer.
    pub timeout: Duration,
    /// How many commits are listed.
    pub max_commits: u32,
    /// How long runs are kept.
    pub keep_runs: Duration,
    /// Whether to use colours.
    pub colour: Colour,
    /// The name of the output on standard output; which names there are is known to `present`.
    pub format: String,
    /// The model, as `provider/name`; `None` where it is "none".
    pub model: Option<String>,
    /// Rules and packs that do not run: everybody's together.
    pub rules_off: Vec<String>,
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal that wants them.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    fn from_word(word: &str) -> Option<Self> {
        [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)]
            .into_iter()
            .find(|(known, _)| word.eq_ignore_ascii_case(known))
            .map(|(_, colour)| colour)
    }
}

/// A value that its setting does not take: the offending text.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

impl Settings {
    /// Where [`set`](Self::set) starts from; every field is set from `defaults.toml` before anybody sees it.
    pub(super) fn blank() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            min_severity: None,
            fail_on: None,
            timeout: Duration::ZERO,
            max_commits: 0,
            keep_runs: Duration::ZERO,
            colour: Colour::Auto,
            format: String::new(),
            model: None,
            rules_off: Vec::new(),
        }
    }

    /// Sets one setting. Lists are added to what is there: [`layers`](super::layers) decides which lists count.
    pub(super) fn set(&mut self, key: &str, value: &Value) -> Result<(), Refused> {
        match (key, value) {
            ("include", Value::List(globs)) => {
                check_globs(globs)?;
                self.include.extend((!globs.is_empty()).then(|| globs.clone()));
            }
            ("exclude", Value::List(globs)) => {
                check_globs(globs)?;
                add_new(&mut self.exclude, globs);
            }
            ("rules.off", Value::List(names)) => add_new(&mut self.rules_off, names),
            ("min_severity", Value::One(text)) => self.min_severity = severity(text)?,
            ("fail_on", Value::One(text)) => self.fail_on = severity(text)?,
            ("timeout", Value::One(text)) => self.timeout = duration(text)?,
            ("keep_runs", Value::One(text)) => self.keep_runs = duration(text)?,
            ("max_commits", Value::One(text)) => {
                let number = text.trim().parse().ok().filter(|number| *number <= 1_000_000);
                self.max_commits = number.ok_or_else(|| Refused(text.clone()))?;
            }
            ("colour", Value::One(text)) => {
                self.colour = Colour::from_word(text.trim()).ok_or_else(|| Refused(text.clone()))?;
            }
            ("format", Value::One(text)) => self.format = word(text)?,
            ("model", Value::One(text)) => {
                let name = word(text)?;
                self.model = (!name.eq_ignore_ascii_case("none")).then_some(name);
            }
            (_, Value::One(text)) => return Err(Refused(text.clone())),
            (_, Value::List(list)) => return Err(Refused(list.join(","))),
        }
        Ok(())
    }

    /// Whether `self` allows more of the budget `key` than `limit` does.
    pub(super) fn exceeds(&self, limit: &Self, key: &str) -> bool {
        match key {
            "timeout" => self.timeout > limit.timeout,
            "max_commits" => self.max_commits > limit.max_commits,
            _ => false,
        }
    }
}

fn add_new(list: &mut Vec<String>, more: &[String]) {
    let known: std::collections::HashSet<String> = list.iter().cloned().collect();
    list.extend(more.iter().filter(|item| !known.contains(*item)).cloned());
}

/// Globs are compiled here once, so that a bad one is told with the place it was written in.
fn check_globs(globs: &[String]) -> Result<(), Refused> {
    let bad =
        |glob: &&String| glob.trim().is_empty() || GlobBuilder::new(glob).literal_separator(true).build().is_err();
    globs.iter().find(bad).map_or(Ok(()), |glob| Err(Refused(glob.clone())))
}

fn severity(text: &str) -> Result<Option<Severity>, Refused> {
    let word = text.trim();
    if word.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    Severity::from_word(word).map(Some).ok_or_else(|| Refused(text.to_owned()))
}

fn duration(text: &str) -> Result<Duration, Refused> {
    parse_duration(text).map_err(|_| Refused(text.to_owned()))
}

/// A name without white space or control characters.
fn word(text: &str) -> Result<String, Refused> {
    let word = text.trim();
    let plain = !word.is_empty() && !word.chars().any(|c| c.is_whitespace() || c.is_control());
    if plain { Ok(word.to_owned()) } else { Err(Refused(text.to_owned())) }
}
