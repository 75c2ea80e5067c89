//! The spellings of one secret: plain, reversed, and in common encodings. Main type: [`SecretSpelling`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::normalized::letter;
use crate::domain::id::hex;

/// A part of so many letters tells of a secret, however long it is.
const ENOUGH: usize = 12;
/// Fewer letters stand in any text.
const FEWEST: usize = 8;
/// Letters without a digit among them are likely words; so many of them are not, where they are three quarters of the secret.
const WORDS: usize = 16;
/// No more of a secret is looked for, in bytes.
const LONGEST: usize = 4096;

/// One way to write a secret, in the one form.
#[derive(Clone)]
pub(super) struct SecretSpelling {
    /// Its letters and digits.
    pub(super) letters: Vec<u8>,
    /// A part of so many of them counts.
    pub(super) least: usize,
    /// The index of the secret.
    pub(super) name: usize,
    /// For what may be words: what each letter is in the secret. Empty for encodings.
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
}

impl SecretSpelling {
    /// Checks whether a run of its letters tells of the secret, and is no word that the secret holds too.
    pub(super) fn is_revealed_by(&self, from: usize, length: usize) -> bool {
        if length < self.least {
            return false;
        }
        let Some(kinds) = self.kinds.get(from..from + length) else { return true };
        let digits = kinds.iter().filter(|kind| **kind == Kind::Digit).count();
        let switches = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
        (digits > 0 && digits < length)
            || switches >= 3
            || length == self.letters.len()
            || length >= WORDS.max((self.letters.len() * 3).div_ceil(4))
    }
}

/// Sixty in a hundred.
fn most(length: usize) -> usize {
    (length * 3).div_ceil(5)
}

fn least(length: usize) -> usize {
    most(length).clamp(FEWEST, ENOUGH)
}

/// The spellings of a secret, and whether the one form keeps enough of it to find it as it is.
pub(super) fn of(value: &str, whole: bool, name: usize) -> (Vec<SecretSpelling>, bool) {
    let end = (0..=value.len().min(LONGEST)).rev().find(|end| value.is_char_boundary(*end)).unwrap_or(0);
    let value = &value[..end];
    let mut out = Vec::new();
    let mut add = |letters: Vec<u8>, least: usize, kinds: Vec<Kind>| {
        let least = if whole { letters.len() } else { least.min(letters.len()) };
        if letters.len() >= FEWEST && is_varied(&letters) {
            out.push(SecretSpelling { letters, least, name, kinds });
        }
    };

    let (mut plain, mut kinds): (Vec<u8>, Vec<Kind>) =
        value.chars().filter_map(|c| letter(c).map(|byte| (byte, kind(c)))).unzip();
    let is_kept = plain.len() >= FEWEST && is_varied(&plain);
    let enough = least(plain.len());
    let turned = plain.iter().map(|byte| rotated(*byte)).collect();
    add(turned, enough, kinds.clone());
    add(plain.clone(), enough, kinds.clone());
    plain.reverse();
    kinds.reverse();
    add(plain, enough, kinds);

    let bytes = value.as_bytes();
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    let enough = least(bytes.len());
    for bytes in [bytes, reversed.as_slice()] {
        let digits = hex(bytes);
        add(digits.bytes().rev().collect(), 2 * enough, Vec::new());
        add(digits.into_bytes(), 2 * enough, Vec::new());
        add(joined(bytes, |byte| format!("0x{byte:02x}")), 4 * enough, Vec::new());
        add(joined(bytes, |byte| byte.to_string()), 2 * enough, Vec::new());
        for letters in encoded(bytes) {
            let enough = (enough * 4 / 3).saturating_sub(2).max(10);
            add(letters.iter().rev().copied().collect(), enough, Vec::new());
            add(letters, enough, Vec::new());
        }
    }
    for letters in encoded(STANDARD_NO_PAD.encode(bytes).as_bytes()) {
        add(letters, (enough * 16 / 9).max(ENOUGH), Vec::new());
    }
    (out, is_kept)
}

fn kind(c: char) -> Kind {
    match c {
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        _ => Kind::Lower,
    }
}

/// ROT13.
fn rotated(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() { (byte - b'a' + 13) % 26 + b'a' } else { byte }
}

fn joined(bytes: &[u8], write: impl Fn(u8) -> String) -> Vec<u8> {
    bytes.iter().flat_map(|byte| write(*byte).into_bytes()).collect()
}

/// Letters that are nearly all the same tell nothing.
fn is_varied(letters: &[u8]) -> bool {
    let mut seen = [false; 256];
    for letter in letters {
        seen[usize::from(*letter)] = true;
    }
    seen.iter().filter(|seen| **seen).count() >= 4
}

/// The letters of its base64 that depend on nothing but it, for each of the three places where it may begin in what is encoded
/// (RFC 4648 §4: three bytes are four letters). The two alphabets differ in signs only, which the one form does not keep.
fn encoded(bytes: &[u8]) -> [Vec<u8>; 3] {
    [0, 1, 2].map(|before| {
        let mut padded = vec![0; before];
        padded.extend_from_slice(bytes);
        let text = STANDARD_NO_PAD.encode(&padded);
        let from = if before == 0 { 0 } else { before + 1 };
        let to = text.len() - usize::from(padded.len() % 3 != 0);
        text.get(from..to).unwrap_or_default().chars().filter_map(letter).collect()
    })
}
