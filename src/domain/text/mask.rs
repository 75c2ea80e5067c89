//! Masking of secrets, done once where text enters. Line structure is kept.
//!
//! Main types: [`Masked`], [`SecretHit`]. One pass over the text looks for the few words that every pattern has
//! ([`patterns`]); only where one stands is a pattern tried. What a secret *in a change* means belongs in `rules`.

mod patterns;
mod private_key;
mod values;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind, packed};

use patterns::PATTERNS;

/// What every mask begins with.
pub const MASK_PREFIX: &str = "[masked:";

/// Text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text; as many lines as before.
    pub text: String,
    /// The lines (1-indexed, ascending) on which something was masked.
    pub lines: Vec<u32>,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHit {
    /// What kind it is (`aws-access-key`).
    pub kind: &'static str,
    /// Its bytes; never a line ending.
    pub range: Range<usize>,
}

/// The words that patterns begin at, and the patterns of each.
struct Words {
    /// With vector instructions, where the processor has them.
    fast: Option<packed::Searcher>,
    search: Option<AhoCorasick>,
    owners: Vec<Vec<usize>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut words: Vec<&str> = Vec::new();
    let mut owners: Vec<Vec<usize>> = Vec::new();
    for (at, pattern) in PATTERNS.iter().enumerate() {
        for word in pattern.words {
            match words.iter().position(|known| known == word) {
                Some(known) => owners[known].push(at),
                None => {
                    words.push(*word);
                    owners.push(vec![at]);
                }
            }
        }
    }
    let fast = packed::Builder::new().extend(&words).build();
    Words { fast, search: AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words).ok(), owners }
});

/// Finds secrets by precise patterns: in the order of the text, none overlapping another.
///
/// A key block is one hit a line.
pub fn secrets_in(text: &str) -> Vec<SecretHit> {
    let mut hits: Vec<SecretHit> = Vec::new();
    let mut try_at = |word: aho_corasick::Match| {
        let owners = WORDS.owners.get(word.pattern().as_usize()).into_iter().flatten();
        for pattern in owners.filter_map(|at| PATTERNS.get(*at)) {
            pattern.find(text, word.start(), &mut hits);
        }
    };
    match (&WORDS.fast, &WORDS.search) {
        (Some(fast), _) => fast.find_iter(text).for_each(&mut try_at),
        (None, Some(search)) => search.find_iter(text).for_each(&mut try_at),
        (None, None) => {}
    }
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut end = 0;
    hits.retain(|hit| {
        let apart = hit.range.start >= end && !hit.range.is_empty();
        end = if apart { hit.range.end } else { end };
        apart
    });
    hits
}

/// Replaces each secret by `[masked:KIND]`. What comes out holds no secret that would be found again.
pub fn mask(text: &str) -> Masked {
    let mut masked = Masked { text: text.to_owned(), lines: Vec::new() };
    // A mask can bring a secret to light that its neighbour hid; each round leaves less to find.
    for _ in 0..8 {
        let hits = secrets_in(&masked.text);
        if hits.is_empty() {
            break;
        }
        masked = replace(&masked, &hits);
    }
    masked
}

fn replace(from: &Masked, hits: &[SecretHit]) -> Masked {
    let mut text = String::with_capacity(from.text.len());
    let mut lines = from.lines.clone();
    let (mut at, mut line) = (0, 1u32);
    for hit in hits {
        let before = &from.text[at..hit.range.start];
        line = line
            .saturating_add(u32::try_from(memchr::memchr_iter(b'\n', before.as_bytes()).count()).unwrap_or(u32::MAX));
        text.push_str(before);
        text.push_str(MASK_PREFIX);
        text.push_str(hit.kind);
        text.push(']');
        lines.push(line);
        at = hit.range.end;
    }
    text.push_str(&from.text[at..]);
    lines.sort_unstable();
    lines.dedup();
    Masked { text, lines }
}

#[cfg(test)]
mod tests;
