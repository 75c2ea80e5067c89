//! The origins of values, and errors in settings. Main types: [`SettingOrigin`], [`ConfigError`].

use std::fmt;

use crate::domain::dismissal::LONGEST_REASON;
use crate::domain::filter::FilterError;
use crate::domain::path::PathError;
use crate::domain::text::{shorten, strip_line};
use crate::sys::files::FileError;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// This program.
    BuiltIn,
    /// The user's file.
    User {
        /// The file, as it is shown.
        file: String,
        /// The line of the key.
        line: u32,
    },
    /// The repository's file.
    Repository {
        /// The file and where it was read, as it is shown.
        file: String,
        /// The line of the key.
        line: u32,
    },
    /// The environment.
    Environment {
        /// The variable.
        variable: String,
    },
    /// The command line.
    Flag {
        /// The flag, or the setting where it has none.
        flag: String,
    },
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("default"),
            Self::User { file, line } | Self::Repository { file, line } => write!(f, "{file}:{line}"),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// An error in the settings. Values are shown stripped and cut, because those of a repository are untrusted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("{file}:{line}: not valid TOML: {message}")]
    Syntax { file: String, line: u32, message: String },
    /// A file is larger than any settings are.
    #[error("{file}: settings of {size} bytes are not read; the limit is {limit}")]
    TooLarge { file: String, size: usize, limit: usize },
    #[error("{file}: settings must be UTF-8 text")]
    NotText { file: String },
    /// The user's file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] FileError),
    /// The dismissals of a project are invalid.
    #[error("{file}:{line}: {fault}")]
    Dismissals { file: String, line: u32, fault: DismissalFault },
    /// No such setting.
    #[error("{file}:{line}: unknown setting {}{}", display_text(key), SettingSuggestion(*.near))]
    UnknownKey { file: String, line: u32, key: String, near: Option<&'static str> },
    #[error(
        "{file}:{line}: a repository may not set {}; set it in your own settings file, a REVIEW_ variable or a flag",
        display_text(key)
    )]
    NotAllowed { file: String, line: u32, key: String },
    /// The repository may only lower it.
    #[error(
        "{origin}: a repository may not raise {key} to {value} above your own {limit}; lower it there, or raise your own"
    )]
    AboveUsers { origin: SettingOrigin, key: &'static str, value: String, limit: String },
    /// A value of a kind that the setting has not.
    #[error("{file}:{line}: {key} cannot be {found}; it takes {allowed}")]
    WrongType { file: String, line: u32, key: &'static str, found: &'static str, allowed: &'static str },
    /// A value that the setting does not take.
    #[error("{origin}: {key} cannot be {}; it takes {allowed}", display_text(value))]
    BadValue { origin: SettingOrigin, key: &'static str, value: String, allowed: &'static str },
    /// A value that the setting does not take and that must not be shown.
    #[error("{origin}: {key} cannot be what it is set to (not shown here); it takes {allowed}")]
    Unfit { origin: SettingOrigin, key: &'static str, allowed: &'static str },
    /// A list that is longer than any is.
    #[error("{origin}: {key} has more than {limit} entries")]
    TooMany { origin: SettingOrigin, key: &'static str, limit: usize },
}

/// A fault of an entry of the dismissals. Texts of the file are shown stripped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DismissalFault {
    /// It has not the shape of one.
    #[error(
        "{0}; an entry is [[dismissed]] with id, fingerprint, path and reason, and may have title, severity, glob, until and on (`review dismiss` \
         writes one)"
    )]
    Shape(String),
    /// No finding has such a name.
    #[error("{} is no id of a finding: it begins with 12 hexadecimal digits", display_text(.0))]
    Id(String),
    /// No finding has such a fingerprint.
    #[error("{} is no fingerprint: it has 32 hexadecimal digits (--format json shows them)", display_text(.0))]
    Fingerprint(String),
    /// It is no path of the tree.
    #[error("path: {0}")]
    Path(PathError),
    #[error("glob: {0}")]
    Glob(FilterError),
    /// The entry has no reason.
    #[error("the reason must have 1 to {LONGEST_REASON} characters")]
    Reason,
    #[error("{key}: {} is no day; write it like 2027-01-31", display_text(day))]
    Day { key: &'static str, day: String },
    /// Two entries are about the same finding.
    #[error("the same finding is dismissed on line {0} already")]
    Twice(u32),
}

/// Text of a file as a message shows it: in quotation marks, on one line, without escapes, 80 characters.
pub(super) fn display_text(text: &str) -> String {
    const SHOWN: usize = 80;
    format!("\"{}\"", shorten(&strip_line(text), SHOWN))
}

struct SettingSuggestion(Option<&'static str>);

impl fmt::Display for SettingSuggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, "; did you mean {near}?"))
    }
}
