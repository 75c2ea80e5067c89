//! The value of a setting before it has a type. Main type: [`SettingValue`].

use std::fmt;
use std::path::PathBuf;

use crate::domain::secret::Secret;

/// A value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// A text or a number.
    One(String),
    /// A list.
    List(Vec<String>),
    /// A path, made to start where it is meant to.
    Path(PathBuf),
    /// A key.
    Secret(Secret),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Secret(_) => f.write_str("(set)"),
            Self::One(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}
