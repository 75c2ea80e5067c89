//! Errors in rules, with their places. Main types: [`RuleError`], [`PackFault`].

use std::fmt;

use crate::domain::filter::FilterError;

/// A place in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackPlace {
    /// The file as shown: its path, and the commit it was read at.
    pub file: String,
    /// The line, 1-indexed; 0 for the file as a whole.
    pub line: u32,
    /// The column, 1-indexed, if known.
    pub column: Option<u32>,
}

impl fmt::Display for PackPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        self.column.filter(|_| self.line > 0).map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// Why the rules cannot be used: an error in a pack, or in the settings about rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RuleError {
    /// A pack cannot be used.
    #[error("{place}: {}{fault}", rule.as_ref().map_or_else(String::new, |rule| format!("rule {rule}: ")))]
    Pack {
        place: PackPlace,
        /// The rule, if the fault is about one.
        rule: Option<String>,
        fault: Box<PackFault>,
    },
    /// A setting names an unknown rule.
    #[error(
        "{setting} names {name:?}, which is neither a rule (such as rust/guard-across-await) nor a pack{}; correct the name in the \
         settings (`review rules list` shows them)",
        DidYouMeanSuffix(near.as_deref())
    )]
    NoSuchRule { setting: &'static str, name: String, near: Option<String> },
}

/// An error in a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PackFault {
    /// Not YAML of the expected shape.
    #[error("not a rule: {0}")]
    Shape(String),
    /// A rule cannot be matched in a language.
    #[error("it does not work for {language}: {what}")]
    Match { language: &'static str, what: String },
    /// A key of the rule has an invalid value.
    #[error("{key} must be {wanted}")]
    Word { key: &'static str, wanted: &'static str },
    /// A rule names files by an invalid glob.
    #[error("paths: {0}")]
    Paths(FilterError),
    /// A rule names a language that its pack does not cover.
    #[error("languages names {language:?}, which is not one of {known}")]
    Language { language: String, known: String },
    /// The files that a rule applies to are unknown.
    #[error(
        "it does not say which language it is for: add languages: [...] ({known}), or call the file by a language, as in \
         python-house.yml"
    )]
    NoLanguage { known: String },
    /// A rule has an unknown key.
    #[error("the key {key:?} means nothing{}; remove it or correct its spelling", DidYouMeanSuffix(*near))]
    UnknownKey { key: String, near: Option<&'static str> },
    /// Two rules have the same name.
    #[error("it is defined twice, at {first} too: rename one")]
    Twice { first: PackPlace },
    /// A pack has a reserved name.
    #[error(
        "a pack of your own cannot be called {0}, which is what rules of the program or of a project are called: rename the file"
    )]
    Taken(String),
    /// A limit for packs of a repository is exceeded.
    #[error("the rules of a project have at most {most} {what}")]
    TooMany { what: &'static str, most: usize },
    /// A rule of a repository exceeds a limit for one rule.
    #[error("a rule of a project has at most {most} {what}: make it smaller, or make two of it")]
    TooMuch { what: &'static str, most: usize },
    /// A key that only the packs of a user may have.
    #[error(
        "{0} is not read from a project, whose rules must not take more memory or time than can be told before: leave it out"
    )]
    NotOfProject(&'static str),
    /// An invalid regex, or one that would need too much memory.
    #[error("the regex {shown:?} cannot be used: {why}")]
    Regex { shown: String, why: String },
}

struct DidYouMeanSuffix<'a>(Option<&'a str>);

impl fmt::Display for DidYouMeanSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, " (did you mean {near}?)"))
    }
}

/// Returns the most similar of some names, if one is similar enough to be what was intended.
pub(super) fn closest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|known| (strsim::jaro_winkler(name, known), known));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.84).map(|(_, known)| known)
}
