//! The dismissals of a project: the file `.review/dismissed.toml`. Main functions: [`parse`], [`set_entry`].
//!
//! Whoever reads it may be bitten by it, so nothing is guessed: an entry that cannot be read is an error with its line, never an entry
//! less. Where the file is read from is a question of trust, as for the settings; which finding an entry means belongs in `review`.

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::document::LineOffsets;
use super::error::{ConfigError, DismissalFault, display_text};
use crate::domain::day::{Day, InvalidDay};
use crate::domain::dismissal::{Dismissal, DismissalGlob, LONGEST_REASON};
use crate::domain::filter::{FilterError, PathFilter};
use crate::domain::finding::{FindingFingerprint, FindingId, Severity};
use crate::domain::path::RepoPath;
use crate::domain::text::{mask, strip_line};

mod edit;

pub use edit::{EditFault, EditedDismissals, set_entry};

/// A larger file is refused, in bytes.
pub const MAX_DISMISSED: usize = 1 << 20;
/// Characters of a title that are kept.
const LONGEST_TITLE: usize = 300;
const FINGERPRINT_DIGITS: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DismissalFile {
    #[serde(default)]
    dismissed: Vec<Spanned<DismissalEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DismissalEntry {
    id: Spanned<String>,
    fingerprint: Spanned<String>,
    path: Spanned<String>,
    reason: Spanned<String>,
    #[serde(default)]
    title: String,
    severity: Option<Severity>,
    glob: Option<Spanned<String>>,
    until: Option<Spanned<toml::Value>>,
    on: Option<Spanned<toml::Value>>,
}

/// Reads the bytes of the file; `name` is how it is called in messages.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Vec<Dismissal>, ConfigError> {
    if bytes.len() > MAX_DISMISSED {
        return Err(ConfigError::TooLarge { file: name.to_owned(), size: bytes.len(), limit: MAX_DISMISSED });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ConfigError::NotText { file: name.to_owned() })?;
    let lines = LineOffsets::of(text);
    let line = |span: Option<std::ops::Range<usize>>| lines.at(span.map_or(0, |span| span.start));
    DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        file: name.to_owned(),
        line: line(error.span()),
        message: display_text(error.message()).trim_matches('"').to_owned(),
    })?;
    let fault = |line, fault| ConfigError::Dismissals { file: name.to_owned(), line, fault };
    let file: DismissalFile = toml::from_str(text).map_err(|error| {
        let what = strip_line(error.message());
        fault(line(error.span()), DismissalFault::Shape(what))
    })?;
    let mut seen = std::collections::HashMap::new();
    let mut all = Vec::with_capacity(file.dismissed.len());
    for entry in file.dismissed {
        let begins = lines.at(entry.span().start);
        let dismissal = dismissal(entry.into_inner()).map_err(|(at, what)| fault(lines.at(at), what))?;
        let named = (dismissal.fingerprint.clone(), dismissal.id.clone(), dismissal.path.clone());
        if let Some(first) = seen.insert(named, begins) {
            return Err(fault(begins, DismissalFault::Twice(first)));
        }
        all.push(dismissal);
    }
    Ok(all)
}

/// An entry, checked; else where the fault is, in bytes.
fn dismissal(entry: DismissalEntry) -> Result<Dismissal, (usize, DismissalFault)> {
    let DismissalEntry { id, fingerprint, path, reason, title, severity, glob, until, on } = entry;
    let at = id.span().start;
    let id_text = id.into_inner();
    if !is_id(&id_text) {
        return Err((at, DismissalFault::Id(id_text)));
    }
    let fingerprint_at = fingerprint.span().start;
    let fingerprint = fingerprint.into_inner();
    if fingerprint.len() != FINGERPRINT_DIGITS || !fingerprint.bytes().all(is_digit) {
        return Err((fingerprint_at, DismissalFault::Fingerprint(fingerprint)));
    }
    let path_at = path.span().start;
    let path = RepoPath::parse(path.get_ref()).map_err(|error| (path_at, DismissalFault::Path(error)))?;
    let glob = glob.map(|glob| {
        let at = glob.span().start;
        self::glob(&glob.into_inner()).map_err(|error| (at, DismissalFault::Glob(error)))
    });
    let reason_at = reason.span().start;
    let reason = self::reason(reason.get_ref()).ok_or((reason_at, DismissalFault::Reason))?;
    let title = strip_line(&mask(&title).text).chars().take(LONGEST_TITLE).collect();
    Ok(Dismissal {
        id: FindingId(id_text),
        fingerprint: FindingFingerprint(fingerprint),
        title,
        severity,
        path,
        glob: glob.transpose()?,
        reason,
        until: until.map(|day| self::day("until", &day)).transpose()?,
        on: on.map(|day| self::day("on", &day)).transpose()?,
    })
}

/// A reason as it is kept: one line, secrets masked; `None` if it is empty or too long.
pub fn reason(text: &str) -> Option<String> {
    let reason = strip_line(&mask(text.trim()).text);
    let fits = !reason.trim().is_empty() && reason.chars().count() <= LONGEST_REASON;
    fits.then_some(reason)
}

/// A pattern, compiled.
pub fn glob(pattern: &str) -> Result<DismissalGlob, FilterError> {
    let filter = PathFilter::new(&[pattern.to_owned()], &[])?;
    Ok(DismissalGlob { pattern: pattern.to_owned(), filter })
}

/// A day, as text or as TOML writes one.
fn day(key: &'static str, value: &Spanned<toml::Value>) -> Result<Day, (usize, DismissalFault)> {
    let text = match value.get_ref() {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse().map_err(|InvalidDay(day)| (value.span().start, DismissalFault::Day { key, day }))
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Twelve digits, and perhaps a number after a dash; or a whole fingerprint, where the shorter ones were taken.
fn is_id(id: &str) -> bool {
    let (stem, ordinal) = id.split_once('-').map_or((id, None), |(stem, ordinal)| (stem, Some(ordinal)));
    let is_number = |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(stem.len(), 12 | FINGERPRINT_DIGITS) && stem.bytes().all(is_digit) && ordinal.is_none_or(is_number)
}

#[cfg(test)]
mod tests;
