//! What can be wrong with the rules, and where that is written. Main types: [`RuleError`], [`PackFault`].

use std::fmt;

use crate::domain::filter::FilterError;

/// A place in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackPlace {
    /// The file, as it is shown: its path, and the commit it was read at.
    pub file: String,
    /// The line, 1-indexed; 0 for the file as a whole.
    pub line: u32,
    /// The column, 1-indexed, where it is known.
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

/// Why the rules cannot be used: the fault of whoever wrote them, or the settings about them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A pack cannot be used.
    #[error("{place}: {}{fault}", rule.as_ref().map_or_else(String::new, |rule| format!("rule {rule}: ")))]
    Pack {
        /// Where.
        place: PackPlace,
        /// Which rule, where it is about one.
        rule: Option<String>,
        /// What is wrong.
        fault: Box<PackFault>,
    },
    /// A setting names a rule that is not there.
    #[error(
        "{setting} names {name:?}, which is neither a rule (such as rust/guard-across-await) nor a pack{}; correct the name in the \
         settings (`review rules list` shows them)",
        DidYouMean(near.as_deref())
    )]
    NoSuchRule {
        /// The setting.
        setting: &'static str,
        /// What it names.
        name: String,
        /// The rule with the most similar name.
        near: Option<String>,
    },
}

/// What is wrong with a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackFault {
    /// It is not YAML of the expected shape.
    #[error("not a rule: {0}")]
    Shape(String),
    /// A rule cannot be matched in a language.
    #[error("it does not work for {language}: {what}")]
    Match {
        /// The language.
        language: &'static str,
        /// Why not.
        what: String,
    },
    /// A word about the rule is not what it must be.
    #[error("{key} must be {wanted}")]
    Word {
        /// The key.
        key: &'static str,
        /// What may be written.
        wanted: &'static str,
    },
    /// A rule names files by something that is not a glob.
    #[error("paths: {0}")]
    Paths(FilterError),
    /// A rule is for a language that its pack is not for.
    #[error("languages names {language:?}, which is not one of {known}")]
    Language {
        /// What it names.
        language: String,
        /// The languages of the pack.
        known: String,
    },
    /// Nobody knows which files a rule is for.
    #[error(
        "it does not say which language it is for: add languages: [...] ({known}), or call the file by a language, as in \
         python-house.yml"
    )]
    NoLanguage {
        /// The languages there are.
        known: String,
    },
    /// A rule has a key that means nothing.
    #[error("the key {key:?} means nothing{}; remove it or correct its spelling", DidYouMean(*near))]
    UnknownKey {
        /// The key.
        key: String,
        /// The key with the most similar name.
        near: Option<&'static str>,
    },
    /// Two rules have one name.
    #[error("it is defined twice, at {first} too: rename one")]
    Twice {
        /// Where the other one is.
        first: PackPlace,
    },
    /// A pack has a name that means something else.
    #[error(
        "a pack of your own cannot be called {0}, which is what rules of the program or of a project are called: rename the file"
    )]
    Taken(String),
    /// There is more than is read from a repository.
    #[error("the rules of a project have at most {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        most: usize,
    },
    /// One rule asks for more than a rule of a repository may.
    #[error("a rule of a project has at most {most} {what}: make it smaller, or make two of it")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How many.
        most: usize,
    },
    /// It says something that only the packs of a user may say.
    #[error(
        "{0} is not read from a project, whose rules must not take more memory or time than can be told before: leave it out"
    )]
    NotOfProject(&'static str),
    /// A regex that is no regex, or that would need too much memory.
    #[error("the regex {shown:?} cannot be used: {why}")]
    Regex {
        /// Its beginning.
        shown: String,
        /// Why.
        why: String,
    },
}

struct DidYouMean<'a>(Option<&'a str>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, " (did you mean {near}?)"))
    }
}

/// The most similar of some names, where one is similar enough to be what was meant.
pub(super) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|known| (strsim::jaro_winkler(name, known), known));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.84).map(|(_, known)| known)
}
