//! Masking of secrets, done once where text enters. Line structure is kept.
//!
//! Main types: [`Masked`], [`SecretHit`]. One pass over the text looks for the few words at which secrets begin; only where one stands are
//! those asked who know secrets by that word (the trait [`Detector`]). What a secret *in a change* means belongs in `rules`.

mod context;
mod detector;
mod edges;
mod encoded;
mod external_rules;
mod patterns;
mod private_key;
mod providers;
mod values;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, packed};

use context::PLACED;
use detector::Detector;
use external_rules::KEPT;
use providers::PROVIDERS;

/// The beginning of every mask.
pub const MASK_PREFIX: &str = "[masked:";

/// Text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text; as many lines as before.
    pub text: String,
    /// The lines (1-indexed, ascending) on which something was masked.
    pub lines: Vec<u32>,
    /// The line of each secret, ascending, and a hash that distinguishes the secret from others; made with a key of this process.
    pub prints: Vec<(u32, u64)>,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHit {
    /// Its kind (`aws-access-key`).
    pub kind: &'static str,
    /// Its bytes; never a line ending.
    pub range: Range<usize>,
}

/// Maximum number of words for one pass: with more there are no vector instructions for it, and several passes are much faster than one without.
const WORDS_A_PASS: usize = 64;
/// Number of a word's first bytes that the vector instructions compare. Words that are shorter have a pass of their own: there they do not make the others
/// stop at three bytes, which costs half of the speed.
const COMPARED: usize = 4;
/// Maximum length of a short text, in bytes.
const LONGEST_SHORT: usize = 256;

/// Some of the words that secrets begin at, and who is asked about each.
struct DetectorWords {
    /// With vector instructions, where the processor has them.
    fast: Option<packed::Searcher>,
    search: Option<AhoCorasick>,
    owners: Vec<WordDetectors>,
}

/// All who are asked: our own formats, those of the kept rule set, and what is a secret by its place. Of two equal hits the first names it.
static DETECTORS: LazyLock<Vec<&'static dyn Detector>> = LazyLock::new(|| {
    let own = PROVIDERS.iter().map(|pattern| pattern as &dyn Detector);
    let kept = KEPT.iter().map(|rule| rule as &dyn Detector);
    own.chain(kept).chain(PLACED.iter().map(|pattern| pattern as &dyn Detector)).collect()
});

/// The detectors of a word, each with its index in the table.
type WordDetectors = Vec<(usize, &'static dyn Detector)>;

/// The hits so far, and the table index of the detector of each.
#[derive(Default)]
struct SecretHits {
    hits: Vec<SecretHit>,
    ranks: Vec<usize>,
}

static WORDS: LazyLock<Vec<DetectorWords>> = LazyLock::new(|| {
    let mut at: HashMap<&str, usize> = HashMap::new();
    let mut words: Vec<(&str, WordDetectors)> = Vec::new();
    for (rank, detector) in DETECTORS.iter().enumerate() {
        for word in detector.words() {
            let known = *at.entry(word).or_insert_with(|| {
                words.push((word, Vec::new()));
                words.len() - 1
            });
            words[known].1.push((rank, *detector));
        }
    }
    // Words that begin alike are told from the text by the same instructions.
    words.sort_by_key(|(word, _)| *word);
    let (short, long): (Vec<_>, Vec<_>) = words.into_iter().partition(|(word, _)| word.len() < COMPARED);
    short.chunks(WORDS_A_PASS).chain(long.chunks(WORDS_A_PASS)).map(DetectorWords::of).collect()
});

/// The words, for a short text: several passes with vector instructions take longer to start than one takes for all of it.
static SHORT_TEXT_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = DETECTORS.iter().flat_map(|detector| detector.words());
    AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).prefilter(false).build(words).ok()
});

impl DetectorWords {
    fn of(some: &[(&str, WordDetectors)]) -> Self {
        let words = || some.iter().map(|(word, _)| word);
        let fast = packed::Builder::new().extend(words()).build();
        let search = || AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words()).ok();
        let search = if fast.is_none() { search() } else { None };
        Self { fast, search, owners: some.iter().map(|(_, owners)| owners.clone()).collect() }
    }

    fn next(&self, text: &str, from: usize) -> Option<aho_corasick::Match> {
        match (&self.fast, &self.search) {
            (Some(fast), _) => fast.find_in(text, (from..text.len()).into()),
            (None, Some(search)) => search.find(aho_corasick::Input::new(text).range(from..)),
            (None, None) => None,
        }
    }

    fn find(&self, text: &str, found: &mut SecretHits) {
        let mut at = 0;
        while let Some(word) = self.next(text, at) {
            for (rank, detector) in self.owners.get(word.pattern().as_usize()).into_iter().flatten() {
                detector.find(text, word.start(), &mut found.hits);
                found.ranks.resize(found.hits.len(), *rank);
            }
            // The last letter of a word may be the first of the next: `ASIAKIA`.
            at = word.end().saturating_sub(1).max(word.start() + 1);
        }
    }
}

/// Finds secrets by precise patterns: in the order of the text, none overlapping another.
///
/// A key block is one hit a line.
pub fn secrets_in(text: &str) -> Vec<SecretHit> {
    let mut found = SecretHits::default();
    let words = if text.len() <= LONGEST_SHORT { SHORT_TEXT_WORDS.as_ref() } else { None };
    if words.is_none_or(|words| words.is_match(text)) {
        WORDS.iter().for_each(|words| words.find(text, &mut found));
    }
    encoded::find(text, &mut found.hits);
    found.ranks.resize(found.hits.len(), usize::MAX);
    let mut hits: Vec<(SecretHit, usize)> = found.hits.into_iter().zip(found.ranks).collect();
    hits.sort_by_key(|(hit, rank)| (hit.range.start, std::cmp::Reverse(hit.range.end), *rank));
    let mut hits: Vec<SecretHit> = hits.into_iter().map(|(hit, _)| hit).collect();
    let mut end = 0;
    hits.retain(|hit| {
        let apart = hit.range.start >= end && !hit.range.is_empty();
        end = if apart { hit.range.end } else { end };
        apart
    });
    hits
}

/// Checks whether a few lines of a text may not tell a secret in them: a block of a key, base64 that is wrapped or very long, or what is a secret by the
/// lines before it.
pub fn may_span_lines(text: &str) -> bool {
    let holds = |word: &str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    encoded::has_large(text) || holds("-----BEGIN") || holds("Private-Lines: ") || context::may_depend_on_lines(text)
}

/// Replaces each secret by `[masked:KIND]`. What comes out holds no secret that would be found again.
pub fn mask(text: &str) -> Masked {
    let mut masked = text.to_owned();
    let mut prints: Vec<(u32, u64)> = Vec::new();
    // A mask can bring a secret to light that its neighbour hid; each round leaves less to find.
    for _ in 0..8 {
        let hits = secrets_in(&masked);
        if hits.is_empty() {
            break;
        }
        masked = replace(&masked, &hits, &mut prints);
    }
    // Rounds follow one another, so the prints of a line keep their order.
    prints.sort_by_key(|(line, _)| *line);
    let mut lines: Vec<u32> = prints.iter().map(|(line, _)| *line).collect();
    lines.dedup();
    Masked { text: masked, lines, prints }
}

/// Tells one secret from another without keeping it: a hash under a key that this process made up and never tells. It is for comparing, and must
/// stand in no output: within one process it would tell who guesses whether a guess is right.
fn print_of(secret: &str) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(secret)
}

/// Characters that end a literal, and those that part what is assigned without one.
const LITERAL_ENDS: &[char] = &['"', '\'', '`', ' ', '\t'];
const VALUE_ENDS: &[char] = &[':', '=', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>'];

/// Returns the hashes of the words of a line that may be secrets which nobody took for one there, for comparing with those of others.
pub(super) fn word_prints(line: &str) -> impl Iterator<Item = u64> {
    let literals = line.split(LITERAL_ENDS);
    let values = literals.clone().flat_map(|word| word.split(VALUE_ENDS));
    literals.chain(values).filter(|word| word.len() >= SHORTEST_WORD).map(print_of)
}

/// Length of the shortest such word, in bytes.
const SHORTEST_WORD: usize = 8;

fn replace(from: &str, hits: &[SecretHit], lines: &mut Vec<(u32, u64)>) -> String {
    let mut text = String::with_capacity(from.len());
    let (mut at, mut line) = (0, 1u32);
    for hit in hits {
        let before = &from[at..hit.range.start];
        line = line
            .saturating_add(u32::try_from(memchr::memchr_iter(b'\n', before.as_bytes()).count()).unwrap_or(u32::MAX));
        text.push_str(before);
        text.push_str(MASK_PREFIX);
        text.push_str(hit.kind);
        text.push(']');
        lines.push((line, print_of(&from[hit.range.clone()])));
        at = hit.range.end;
    }
    text.push_str(&from[at..]);
    text
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod surroundings;
