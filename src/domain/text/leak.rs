//! Finding secrets that are known by their values, however they are written. Main types: [`Known`], [`Leak`].
//!
//! Both the secrets and the text are brought to one form, letters and digits without case ([`form`]), so that nothing that is put between them
//! hides a secret. Each secret is looked for as it is, reversed, and in the usual encodings ([`spellings`]); a part of it is enough. Secrets that
//! only *look* like some belong in `mask`.

mod normalized;
mod spellings;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use normalized::NormalizedText;
use spellings::SecretSpelling;

/// The number of letters looked up at once.
const SEED: usize = 8;
/// The number of positions in the secrets that one seed may stand for.
const ALIKE: usize = 4;
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

/// A place of a text where a secret stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Its bytes; may cross line ends.
    pub range: Range<usize>,
    /// The name of the secret.
    pub name: String,
}

/// Secrets and their spellings.
#[derive(Clone, Default)]
pub struct SpelledSecrets {
    names: Vec<String>,
    spellings: Vec<SecretSpelling>,
    /// From eight letters to where they stand: the spelling and the offset in it.
    seeds: HashMap<u64, Vec<(usize, usize)>>,
    /// Secrets that are mostly signs, which the one form does not keep: looked for as they are.
    verbatim: Vec<(usize, String)>,
}

impl fmt::Debug for SpelledSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} secrets)", self.names.len())
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
        for secret in secrets.iter().filter(|secret| secret.value.len() >= SEED) {
            let name = known.names.len();
            known.names.push(secret.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect());
            let (spellings, is_kept) = spellings::of(&secret.value, secret.whole, name);
            for spelling in spellings {
                known.learn(spelling);
            }
            if !is_kept {
                known.verbatim.push((name, secret.value.clone()));
            }
        }
        known
    }

    fn learn(&mut self, spelling: SecretSpelling) {
        let at = self.spellings.len();
        // Every part of the least length holds one of these.
        let step = spelling.least.saturating_sub(SEED) + 1;
        let last = spelling.letters.len().saturating_sub(SEED);
        for offset in (0..=last).step_by(step).chain([last]) {
            let Some(seed) = spelling.letters.get(offset..offset + SEED).and_then(seed) else { continue };
            let places = self.seeds.entry(seed).or_default();
            if places.len() < ALIKE && !places.contains(&(at, offset)) {
                places.push((at, offset));
            }
        }
        self.spellings.push(spelling);
    }

    /// Returns the positions of the secrets: in text order, without overlaps.
    pub fn leaks(&self, text: &str) -> Vec<Leak> {
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        if !self.seeds.is_empty() {
            for form in normalized::of(text) {
                self.scan(&form, &mut found);
            }
        }
        for (name, value) in &self.verbatim {
            found.extend(text.match_indices(value.as_str()).map(|(at, hit)| (at..at + hit.len(), *name)));
        }
        for (range, _) in &mut found {
            *range = word_around(text, range.clone());
        }
        found.sort_by_key(|(range, _)| (range.start, range.end));
        let mut leaks: Vec<Leak> = Vec::new();
        for (range, name) in found {
            match leaks.last_mut() {
                Some(last) if range.start < last.range.end => last.range.end = last.range.end.max(range.end),
                _ => leaks.push(Leak { range, name: self.names.get(name).cloned().unwrap_or_default() }),
            }
        }
        leaks
    }

    /// The text with `[masked:NAME]` for each secret, and how many there were. It has as many lines as before.
    pub fn mask(&self, text: &str) -> (String, usize) {
        let leaks = self.leaks(text);
        if leaks.is_empty() {
            return (text.to_owned(), 0);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for leak in &leaks {
            out.push_str(&text[at..leak.range.start]);
            out.push_str(super::mask::MASK_PREFIX);
            out.push_str(if leak.name.is_empty() { "secret" } else { &leak.name });
            out.push(']');
            out.extend(text[leak.range.clone()].chars().filter(|c| *c == '\n'));
            at = leak.range.end;
        }
        out.push_str(&text[at..]);
        (out, leaks.len())
    }

    fn scan(&self, form: &NormalizedText, found: &mut Vec<(Range<usize>, usize)>) {
        let (mut code, mut done) = (0u64, 0);
        for (end, letter) in form.letters.iter().enumerate() {
            code = code << 8 | u64::from(*letter);
            let Some(start) = (end + 1).checked_sub(SEED).filter(|start| *start >= done) else { continue };
            let Some(places) = self.seeds.get(&code) else { continue };
            for (spelling, offset) in places {
                let Some(spelling) = self.spellings.get(*spelling) else { continue };
                let Some((run, length)) = run(&form.letters, start, &spelling.letters, *offset) else { continue };
                if !spelling.is_revealed_by(run, length) {
                    continue;
                }
                let first = start - (offset - run);
                let last = first + length - 1;
                if let (Some(from), Some(to)) = (form.bytes.get(first), form.bytes.get(last)) {
                    found.push((from.start..to.end, spelling.name));
                    done = done.max(last + 1);
                }
            }
        }
    }
}

fn seed(letters: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(letters.try_into().ok()?))
}

/// The longest run of the same letters around a seed: where it begins in the spelling, and its length.
fn run(text: &[u8], start: usize, spelling: &[u8], offset: usize) -> Option<(usize, usize)> {
    let before = text.get(..start)?.iter().rev().zip(spelling.get(..offset)?.iter().rev());
    let before = before.take_while(|(a, b)| a == b).count();
    let after = text.get(start..)?.iter().zip(spelling.get(offset..)?).take_while(|(a, b)| a == b).count();
    Some((offset - before, before + after))
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
