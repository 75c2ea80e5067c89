//! Finding secrets that are known by their values. Main types: [`KnownSecret`], [`SpelledSecrets`].
//!
//! Both the secrets and the text are compared as letters and digits without case, so that nothing that is put between them hides a secret.
//! Each secret is looked for as it is, percent-encoded and in base64; a part of it is enough. Secrets that only *look* like some belong in
//! `mask`.

use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::domain::percent::encode_part;

/// A part of so many letters tells of a secret, however long it is.
const ENOUGH: usize = 12;
/// Fewer letters stand in any text.
const FEWEST: usize = 8;
/// Every part of a spelling of fewer letters is looked for; of a longer one, so many at most.
const DENSE: usize = 256;
/// No more of a secret is looked for, in bytes.
const LONGEST: usize = 4096;
/// The reach of a hit into the surrounding word, in bytes.
const REACH: usize = 120;

/// A secret to be found.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    /// The replacement in the text: `[masked:NAME]`.
    pub name: String,
    /// The secret.
    pub value: String,
    /// `true` if only all of it counts, as for a password that is a word.
    pub whole: bool,
}

/// Secrets and their spellings.
#[derive(Clone, Default)]
pub struct SpelledSecrets {
    /// The names and values.
    secrets: Vec<(String, String)>,
    /// The automaton over the parts of all spellings.
    parts: Option<AhoCorasick>,
    /// For each part, the index of its secret.
    owners: Vec<usize>,
}

impl fmt::Debug for SpelledSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpelledSecrets({} secrets)", self.secrets.len())
    }
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownSecret({})", self.name)
    }
}

impl SpelledSecrets {
    /// Learns the secrets. Those of fewer than eight bytes are not learnt: they stand in any text.
    pub fn from_secrets(secrets: &[KnownSecret]) -> Self {
        let mut known = Self::default();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for secret in secrets.iter().filter(|secret| secret.value.len() >= FEWEST) {
            for spelling in spellings(&secret.value) {
                parts.extend(parts_of(&spelling, secret.whole));
            }
            known.owners.resize(parts.len(), known.secrets.len());
            let name = secret.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect();
            known.secrets.push((name, secret.value.clone()));
        }
        known.parts = AhoCorasick::new(parts).ok();
        known
    }

    /// Returns the positions of the secrets with their names, in text order and without overlaps; a position may cross line ends.
    fn leaks(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for (name, value) in &self.secrets {
            found.extend(text.match_indices(value.as_str()).map(|(at, hit)| (at..at + hit.len(), name.as_str())));
        }
        let (bytes, letters): (Vec<usize>, Vec<u8>) = letters(text).unzip();
        for hit in self.parts.iter().flat_map(|parts| parts.find_overlapping_iter(&letters)) {
            let owner = self.owners.get(hit.pattern().as_usize()).and_then(|owner| self.secrets.get(*owner));
            if let (Some((name, _)), Some(first), Some(last)) =
                (owner, bytes.get(hit.start()), bytes.get(hit.end() - 1))
            {
                found.push((*first..last + 1, name));
            }
        }
        for (range, _) in &mut found {
            *range = word_around(text, range.clone());
        }
        found.sort_by_key(|(range, _)| (range.start, range.end));
        let mut leaks: Vec<(Range<usize>, &str)> = Vec::new();
        for (range, name) in found {
            match leaks.last_mut() {
                Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                _ => leaks.push((range, name)),
            }
        }
        leaks
    }

    /// The text with `[masked:NAME]` for each secret, and how many there were. It has as many lines as before.
    pub fn mask(&self, text: &str) -> (String, usize) {
        let leaks = self.leaks(text);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, name) in &leaks {
            out.push_str(&text[at..range.start]);
            out.push_str(super::mask::MASK_PREFIX);
            out.push_str(if name.is_empty() { "secret" } else { name });
            out.push(']');
            out.extend(text[range.clone()].chars().filter(|c| *c == '\n'));
            at = range.end;
        }
        out.push_str(&text[at..]);
        (out, leaks.len())
    }
}

/// The ASCII letters and digits of a text in lower case, and where each stands.
fn letters(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let all = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric());
    all.map(|(at, byte)| (at, byte.to_ascii_lowercase()))
}

/// A secret as it is, percent-encoded, and the letters of its base64 that depend on nothing but it, for each of the three places where it may
/// begin in what is encoded (RFC 4648 §4: three bytes are four letters). The two alphabets differ in signs only, which are not compared.
fn spellings(value: &str) -> Vec<String> {
    let value = &value[..value.floor_char_boundary(LONGEST)];
    let base64 = [0, 1, 2].map(|before| {
        let mut padded = vec![0; before];
        padded.extend_from_slice(value.as_bytes());
        let text = STANDARD_NO_PAD.encode(&padded);
        let from = if before == 0 { 0 } else { before + 1 };
        let to = text.len() - usize::from(padded.len() % 3 != 0);
        text.get(from..to).unwrap_or_default().to_owned()
    });
    let mut all = vec![value.to_owned(), encode_part(value.as_bytes())];
    all.dedup();
    all.extend(base64);
    all
}

/// The parts of a spelling that tell of the secret: all of it, and those that are no words.
fn parts_of(spelling: &str, whole: bool) -> Vec<Vec<u8>> {
    let written: Vec<u8> = spelling.bytes().filter(u8::is_ascii_alphanumeric).collect();
    if written.len() < FEWEST {
        return Vec::new();
    }
    let mut parts = vec![written.to_ascii_lowercase()];
    let size = (written.len() * 3).div_ceil(5).clamp(FEWEST, ENOUGH);
    if let Some(last) = written.len().checked_sub(size + 1).filter(|_| !whole) {
        let starts = (0..=last).step_by(written.len() / DENSE + 1).chain([last + 1]);
        let all = starts.filter_map(|from| written.get(from..from + size)).filter(|part| is_no_word(part));
        parts.extend(all.map(<[u8]>::to_ascii_lowercase));
    }
    parts
}

/// Checks whether letters and digits, or upper and lower case, are mixed as no word mixes them.
fn is_no_word(part: &[u8]) -> bool {
    let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let switches = part.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    (digits > 0 && digits < part.len()) || switches >= 3
}

/// The rest of the word that a hit stands in goes with it: what was not found of an encoded secret tells of it too.
fn word_around(text: &str, range: Range<usize>) -> Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'_' | b'-');
    let bytes = text.as_bytes();
    let before = bytes[..range.start].iter().rev().take(REACH).take_while(|byte| is_word(byte)).count();
    let after = bytes[range.end..].iter().take(REACH).take_while(|byte| is_word(byte)).count();
    range.start - before..range.end + after
}

#[cfg(test)]
mod tests;
