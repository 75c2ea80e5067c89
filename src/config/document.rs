//! The shape of a settings file: TOML text → keys with lines. Main type: [`SettingsDocument`].

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::keys::{SettingKey, ValueShape};
use super::value::SettingValue;
use crate::domain::secret::Secret;

/// Settings are small; what is larger is not settings.
const MAX_BYTES: usize = 256 * 1024;

/// A settings file that was read. Its text may hold keys, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingsDocument {
    /// Its name in messages: its path, or `.review.toml` and the revision it was read at.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The folder that relative paths in it start from; `None` leaves them as they are.
    pub folder: Option<PathBuf>,
}

impl fmt::Debug for SettingsDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsEntry {
    /// Its name, with the table's before a dot.
    pub(super) key: String,
    /// Its line, 1-indexed.
    pub(super) line: u32,
    /// Its value, or what it is instead.
    pub(super) value: Result<SettingValue, &'static str>,
}

impl SettingsDocument {
    /// Takes the bytes of a file.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ConfigError::NotText { file: name.to_owned() })?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), folder: None })
    }

    /// Its keys in the order of the file.
    pub(super) fn entries(&self) -> Result<Vec<SettingsEntry>, ConfigError> {
        let text = self.text.as_str();
        if text.len() > MAX_BYTES {
            return Err(ConfigError::TooLarge { file: self.name.clone(), size: text.len(), limit: MAX_BYTES });
        }
        let lines = LineOffsets::of(text);
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            file: self.name.clone(),
            line: lines.at(error.span().map_or(0, |span| span.start)),
            message: super::error::display_text(error.message()).trim_matches('"').to_owned(),
        })?;
        let mut entries = Vec::new();
        collect(table.get_ref(), None, &lines, &mut entries);
        entries.sort_by_key(|entry| entry.line);
        Ok(entries)
    }
}

/// The keys of a table; tables within it become dotted keys where a setting has such a name, and stay one key where not.
fn collect(table: &DeTable<'_>, prefix: Option<&str>, lines: &LineOffsets, entries: &mut Vec<SettingsEntry>) {
    for (key, value) in table {
        let name: Cow<'_, str> = match prefix {
            None => Cow::Borrowed(key.get_ref()),
            Some(prefix) => Cow::Owned(format!("{prefix}.{}", key.get_ref())),
        };
        let is_table_of_settings = prefix.is_none()
            && super::keys::KEYS.iter().any(|known| known.name.split_once('.').is_some_and(|(table, _)| table == name));
        match value.get_ref() {
            DeValue::Table(inner) if is_table_of_settings => collect(inner, Some(&name), lines, entries),
            other => entries.push(SettingsEntry {
                value: value_of(other, SettingKey::from_name(&name)),
                line: lines.at(key.span().start),
                key: name.into_owned(),
            }),
        }
    }
}

fn value_of(value: &DeValue<'_>, key: Option<&SettingKey>) -> Result<SettingValue, &'static str> {
    let shape = key.map(|key| key.shape);
    let is_list = shape == Some(ValueShape::List);
    match value {
        DeValue::Array(items) if is_list => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                other => Err(kind(other)),
            });
            texts.collect::<Result<_, _>>().map(SettingValue::List)
        }
        _ if is_list => Err(kind(value)),
        DeValue::String(text) if shape == Some(ValueShape::Secret) => {
            Ok(SettingValue::Secret(Secret::new(text.as_ref())))
        }
        DeValue::String(text) if shape == Some(ValueShape::Path) => {
            Ok(SettingValue::Path(PathBuf::from(text.as_ref())))
        }
        DeValue::String(text) => Ok(SettingValue::One(text.to_string())),
        _ if matches!(shape, Some(ValueShape::Secret | ValueShape::Path | ValueShape::Address)) => Err(kind(value)),
        DeValue::Integer(number) => Ok(SettingValue::One(number.to_string())),
        DeValue::Float(number) if shape == Some(ValueShape::Amount) => Ok(SettingValue::One(number.to_string())),
        _ => Err(kind(value)),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a single text",
        DeValue::Integer(_) => "a single number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The bytes at which lines start.
pub(super) struct LineOffsets(Vec<usize>);

impl LineOffsets {
    pub(super) fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect())
    }

    pub(super) fn at(&self, offset: usize) -> u32 {
        u32::try_from(self.0.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }
}
