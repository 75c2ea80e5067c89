//! Secrets that are written in base64 (RFC 4648 §4 and §5), as in a manifest of Kubernetes or a header of HTTP. Main function: [`find`].
//!
//! A text is not decoded: the words at which secrets begin are looked for as base64 spells them, in each of the three places where they may begin in
//! what is encoded, and only in runs that may be base64. What stands around such a word is decoded and read by those who know it. Only formats that
//! tell whose they are count; base64 of base64 is not read.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::super::byte_set::byte_set;
use super::detector::Detector;
use super::values::decode;
use super::{DETECTORS, SecretHit};

/// The shortest secret that has a format has twenty bytes.
const LEAST: usize = 26;
/// A line of base64 that is this long may go on in the next.
const WRAPPED: usize = 48;
/// A longer run may be cut where a line is.
const LONG: usize = 2_048;
/// How many letters before a word are decoded with it, at most; a multiple of four.
const BEFORE: usize = 64;
/// How many letters from a word on are decoded first, and if a secret fills them.
const AFTER: [usize; 2] = [512, 12_288];

/// The words as base64 spells them.
struct EncodedWords {
    search: AhoCorasick,
    /// For each: the detector, the word's bytes before the first whole letter, and the letters of its first group of four that it does not decide.
    owners: Vec<(&'static dyn Detector, usize, usize)>,
}

static SPELLED: LazyLock<Option<EncodedWords>> = LazyLock::new(|| {
    let (mut spelled, mut owners) = (Vec::new(), Vec::new());
    for detector in DETECTORS.iter() {
        for word in detector.words_of_formats() {
            for shift in 0..3 {
                let padded = [&[0; 2][..shift], word.as_bytes()].concat();
                let text = STANDARD_NO_PAD.encode(&padded);
                let first = if shift == 0 { 0 } else { shift + 1 };
                let last = text.len() - usize::from(padded.len() % 3 != 0);
                spelled.push(text[first..last].to_owned());
                owners.push((*detector, shift, first));
            }
        }
    }
    let search = AhoCorasick::builder().match_kind(MatchKind::Standard).build(spelled).ok()?;
    Some(EncodedWords { search, owners })
});

/// Finds the runs of base64 in a text and the secrets in them. Takes time in proportion to the length of the text.
pub(super) fn find(text: &str, hits: &mut Vec<SecretHit>) {
    // A hash or a path of small letters is no base64 of a text. That of a text without small letters may have no small ones.
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        each_run(text, LEAST, |run| run.find(hits));
    }
}

/// Checks whether there is a secret in base64 that is wrapped, or so long that a part of its line may not tell it.
pub(super) fn has_large(text: &str) -> bool {
    let mut hits = Vec::new();
    each_run(text, WRAPPED, |run| {
        if hits.is_empty() && (run.lines.len() > 1 || run.letters.len() > LONG) {
            run.find(&mut hits);
        }
    });
    !hits.is_empty()
}

/// Shows each run whose first line has at least `least` letters; `least` must be at least [`LEAST`].
fn each_run(text: &str, least: usize, mut show: impl FnMut(&EncodedBlock)) {
    let bytes = text.as_bytes();
    let mut block = EncodedBlock::default();
    let (words, _) = bytes.as_chunks::<WORD>();
    let may_be = |number: usize| words.get(number).is_some_and(|word| may_be_letters(u64::from_ne_bytes(*word)));
    let mut done = 0;
    // Wherever such a run begins, it has as many whole words in a row, so that one of them is looked at.
    let whole = (least - (WORD - 1)) / WORD;
    for number in (0..words.len()).step_by(whole) {
        let at = number * WORD;
        if at >= done && may_be(number) && (may_be(number + 1) || number > 0 && may_be(number - 1)) {
            let before = bytes[done..at].iter().rev().take_while(|byte| is_letter(**byte)).count();
            let after = bytes[at..].iter().take(least).take_while(|byte| is_letter(**byte)).count();
            if before + after >= least {
                done = block.read(bytes, at - before);
                show(&block);
            }
        }
    }
}

/// Number of bytes examined at once.
const WORD: usize = 8;

/// Checks whether all eight bytes may be letters of base64. Some signs are taken for letters; a byte at a time is told apart afterwards.
fn may_be_letters(word: u64) -> bool {
    const ALL: u64 = u64::MAX / 255;
    const HIGH: u64 = ALL << 7;
    // The high bit of each byte that is at least `low` and at most `high`, where no byte has one itself.
    let within = |word: u64, low: u64, high: u64| (word + ALL * (0x80 - low)) & !(word + ALL * (0x7f - high)) & HIGH;
    word & HIGH == 0 && within(word, 0x2b, 0x39) | within(word | ALL << 5, 0x61, 0x7f) == HIGH
}

fn is_letter(byte: u8) -> bool {
    static LETTERS: [bool; 256] = byte_set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_");
    LETTERS[usize::from(byte)]
}

/// Number of whole groups of four letters that the shortest secret takes, wherever in a group it begins.
const GROUPS: usize = LEAST / 4;

/// Checks whether a run has so many groups of ASCII characters in a row. A run of words, or of random bytes, rarely has, and most of its letters are
/// not even looked at.
fn may_encode_ascii(letters: &[u8]) -> bool {
    (0..4).any(|shift| {
        let groups = letters.get(shift..).unwrap_or_default().as_chunks::<4>().0;
        // One of so many groups in a row is one of these.
        (GROUPS - 1..groups.len()).step_by(GROUPS).any(|at| {
            let before = groups[..at].iter().rev().take(GROUPS).take_while(|group| is_ascii(**group)).count();
            let after = groups[at..].iter().take(GROUPS).take_while(|group| is_ascii(**group)).count();
            after > 0 && before + after >= GROUPS
        })
    })
}

/// Checks whether the three bytes that a group of letters encodes are ASCII: their high bits stand in its first three letters.
fn is_ascii(group: [u8; 4]) -> bool {
    static CLEAR: [[bool; 256]; 3] = [
        byte_set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"),
        byte_set(b"ABCDEFGHQRSTUVWXghijklmnwxyz0123"),
        byte_set(b"ABEFIJMNQRUVYZcdghklopstwx014589"),
    ];
    CLEAR.iter().zip(group).all(|(clear, letter)| clear[usize::from(letter)])
}

/// A run, over as many lines as it has.
#[derive(Default)]
struct EncodedBlock {
    /// Its letters, in the alphabet of RFC 4648 §4.
    letters: String,
    /// Their ranges in the text, by line.
    lines: Vec<Range<usize>>,
}

impl EncodedBlock {
    /// Reads the run that begins at `at`, and says where it ends.
    fn read(&mut self, bytes: &[u8], mut at: usize) -> usize {
        self.letters.clear();
        self.lines.clear();
        loop {
            let length = bytes[at..].iter().take_while(|byte| is_letter(**byte)).count();
            let line = &bytes[at..at + length];
            self.letters.extend(line.iter().map(|byte| match byte {
                b'-' => '+',
                b'_' => '/',
                same => char::from(*same),
            }));
            self.lines.push(at..at + length);
            at += length;
            let ending = line_ending(&bytes[at..]);
            let goes_on =
                length >= WRAPPED && ending > 0 && bytes.get(at + ending).is_some_and(|byte| is_letter(*byte));
            if !goes_on {
                return at;
            }
            at += ending;
        }
    }

    fn find(&self, hits: &mut Vec<SecretHit>) {
        // Nor is a run without large letters base64 of a text.
        if !self.letters.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return;
        }
        let is_text = || may_encode_ascii(self.letters.as_bytes());
        let Some(spelled) = SPELLED.as_ref().filter(|_| is_text()) else { return };
        let mut done = 0;
        for word in spelled.search.find_overlapping_iter(&self.letters) {
            let Some((detector, shift, first)) = spelled.owners.get(word.pattern().as_usize()) else { continue };
            let Some(group) = word.start().checked_sub(*first).filter(|_| word.start() >= done) else { continue };
            if let Some((kind, range)) = self.secret_at(*detector, group, *shift) {
                done = range.end;
                self.push(kind, &range, hits);
            }
        }
    }

    /// The secret whose word begins `shift` bytes into the group of four letters at `group`: the letters that hold a part of it.
    fn secret_at(
        &self,
        detector: &'static dyn Detector,
        group: usize,
        shift: usize,
    ) -> Option<(&'static str, Range<usize>)> {
        let from = group - group.min(BEFORE) / 4 * 4;
        let mut secret = None;
        for after in AFTER {
            let to = self.letters.len().min(group + after);
            let decoded = decode(&self.letters[from..to])?;
            let decoded = decoded.into_iter().map(|byte| if byte.is_ascii() { char::from(byte) } else { ' ' });
            let decoded: String = decoded.collect();
            let mut found = Vec::new();
            detector.find(&decoded, (group - from) / 4 * 3 + shift, &mut found);
            let start = found.iter().map(|hit| hit.range.start).min();
            let end = found.iter().map(|hit| hit.range.end).max();
            let (Some(start), Some(end), Some(hit)) = (start, end, found.first()) else { break };
            secret = Some((hit.kind, from + start * 4 / 3..(from + (end * 4).div_ceil(3)).min(self.letters.len())));
            // What does not fill the part that was decoded has no more of it.
            if end + 3 < decoded.len() || to == self.letters.len() {
                break;
            }
        }
        secret
    }

    fn push(&self, kind: &'static str, range: &Range<usize>, hits: &mut Vec<SecretHit>) {
        let mut begun = 0;
        for line in &self.lines {
            let (from, to) = (range.start.max(begun), range.end.min(begun + line.len()));
            if from < to {
                hits.push(SecretHit { kind, range: line.start + from - begun..line.start + to - begun });
            }
            begun += line.len();
        }
    }
}

/// How many bytes stand between a line of base64 and the next: its end, written as it is or as an escape, and what lines are indented with.
fn line_ending(rest: &[u8]) -> usize {
    let ending = [&b"\r\n"[..], b"\n", b"\\r\\n", b"\\n"].into_iter().find(|ending| rest.starts_with(ending));
    let Some(ending) = ending else { return 0 };
    let indent = rest[ending.len()..].iter().take(64).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    ending.len() + indent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_wherever_it_begins() {
        for secret in ["AKIAQ4X7WLMN2PVR6TZY", "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb"] {
            let run = STANDARD_NO_PAD.encode(secret);
            for at in 0..40 {
                for after in ["", " ", "\n"] {
                    let mut hits = Vec::new();
                    find(&format!("{}{run}{after}", " ".repeat(at)), &mut hits);
                    let ranges: Vec<_> = hits.iter().map(|hit| hit.range.clone()).collect();
                    assert_eq!(ranges, [Range { start: at, end: at + run.len() }], "{secret} {at} {after:?}");
                }
            }
        }
    }

    #[test]
    fn groups_of_ascii_are_recognized_wherever_they_stand() {
        let letters = STANDARD_NO_PAD.encode((0..=u8::MAX).collect::<Vec<_>>());
        for (group, at) in
            letters.as_bytes().as_chunks::<4>().0.iter().flat_map(|group| (0..3).map(move |at| (group, at)))
        {
            for letter in "AQgwBRhxIYo4Jf9+/".bytes() {
                let mut group = *group;
                group[at] = letter;
                let decoded = decode(std::str::from_utf8(&group).unwrap()).unwrap();
                assert_eq!(is_ascii(group), decoded.is_ascii(), "{group:?}");
            }
        }
        for before in 0..30 {
            let text = |length: usize| [&[0xff; 30][..before], &b"a".repeat(length), &[0xff; 30]].concat();
            let says = |length| may_encode_ascii(STANDARD_NO_PAD.encode(text(length)).as_bytes());
            assert!(says(20) && !says(17), "{before}");
        }
    }

    #[test]
    fn only_what_goes_over_lines_or_is_long_is_large_wherever_it_begins() {
        let secret = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb";
        let run = |more: usize| STANDARD_NO_PAD.encode(format!("TOKEN={secret} {}", "Xy".repeat(more)));
        let wrapped = |text: &str, at: usize, end: &str| format!("{}{end}{}", &text[..at], &text[at..]);
        for at in 0..50 {
            let before = " ".repeat(at);
            for (text, is_large) in [
                (run(0), false),
                (run(500), false),
                (run(2_000), true),
                (wrapped(&run(0), WRAPPED, "\n"), true),
                (wrapped(&run(0), WRAPPED, "\\n"), true),
                (wrapped(&run(500), 64, "\r\n"), true),
                (wrapped(&run(500), 64, "\n").to_lowercase(), false),
            ] {
                let text = format!("{before}{text}.\nend");
                assert_eq!(has_large(&text), is_large, "{at} {text}");
            }
        }
    }
}
