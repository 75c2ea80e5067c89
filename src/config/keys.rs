//! The table of settings: their names and what their values look like.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name in files; a dot stands between a table and its key.
    pub name: &'static str,
    /// What a value looks like.
    pub shape: Shape,
    /// What may be written, for messages.
    pub allowed: &'static str,
    /// The flag that sets it, where there is one.
    pub flag: Option<&'static str>,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One text or number.
    One,
    /// A list of texts; in the environment separated by commas.
    List,
}

const SEVERITIES: &str = "critical, high, medium, low, nit or none";
const GLOBS: &str = "globs such as \"src/**\"";
const DURATIONS: &str = "a time such as \"90s\", \"20m\", \"1h30m\" or \"30d\"";

/// Every setting, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key("include", Shape::List, GLOBS, Some("--include")),
    key("exclude", Shape::List, GLOBS, Some("--exclude")),
    key("min_severity", Shape::One, SEVERITIES, Some("--min-severity")),
    key("fail_on", Shape::One, SEVERITIES, Some("--fail-on")),
    key("timeout", Shape::One, DURATIONS, Some("--timeout")),
    key("max_commits", Shape::One, "a number from 0 to 1000000", None),
    key("keep_runs", Shape::One, DURATIONS, None),
    key("colour", Shape::One, "auto, always or never", Some("--colour")),
    key("format", Shape::One, "the name of an output format", Some("--format")),
    key("model", Shape::One, "PROVIDER/NAME or none", Some("--model")),
    key("rules.off", Shape::List, "names of rules or packs", None),
];

const fn key(name: &'static str, shape: Shape, allowed: &'static str, flag: Option<&'static str>) -> Key {
    Key { name, shape, allowed, flag }
}

impl Key {
    /// The setting of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("REVIEW_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }

    /// The setting whose name is most like an unknown one.
    pub fn near(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        let last = |key: &Key| key.name.rsplit('.').next().unwrap_or(key.name);
        let score = |key: &Key| strsim::jaro_winkler(&name, key.name).max(strsim::jaro_winkler(&name, last(key)));
        let best = KEYS.iter().map(|key| (score(key), key.name)).max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(score, _)| *score > 0.84).map(|(_, name)| name)
    }
}
