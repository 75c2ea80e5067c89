//! One way to know a secret: words to look for, the pattern from there on, what a value must be like. Main type: [`SecretPattern`].
//!
//! The formats of providers stand in `providers`, what is a secret only by where it stands in `context`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::SecretHit;
use super::detector::Detector;
use super::edges::masked_range;
use super::private_key;
use super::values::{entropy, is_placeholder_key};

/// A kind of secret.
pub(super) struct SecretPattern {
    /// Its name in the mask.
    pub(super) kind: &'static str,
    /// Texts at which the pattern begins.
    pub(super) words: &'static [&'static str],
    pub(super) how: SecretLocation,
}

/// How the secret is found at its word.
pub(super) enum SecretLocation {
    /// Tried at the word. The group `secret`, else the first, is the secret.
    Regex {
        at_word: Lazy,
        /// `true` if it may begin anywhere in a word: the secret is not recognized by the word at which it begins.
        inside_words: bool,
        /// The last word on a match, with the text before it.
        is_secret: fn(&Captures<'_>, &str) -> bool,
    },
    /// A block of many lines.
    PrivateKey,
}

pub(super) type Lazy = &'static LazyLock<Option<Regex>>;

/// The kind that is a secret by its name, with a `=` or a `:` between the two.
pub(super) const ASSIGNED: &str = "assigned-secret";
/// Maximum length of such a name, with the blanks and quotes after it, in bytes.
const LONGEST_NAME: usize = 256;

/// The kind of a password in a URL, which stands before an `@`.
pub(super) const URL_PASSWORD: &str = "url-password";

/// No secret that is looked for is longer, with the name before it.
pub(super) const REACH: usize = 4096;

impl SecretPattern {
    /// Checks whether a text has what may be such a secret, whatever stands before it.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        let SecretLocation::Regex { at_word, .. } = &self.how else { return false };
        let is_here = |at: usize| {
            let reach = &text[at..text.floor_char_boundary(at + REACH)];
            at_word.as_ref().is_some_and(|pattern| pattern.is_match(reach))
        };
        self.words.iter().any(|word| memchr::memmem::find_iter(text.as_bytes(), word.as_bytes()).any(is_here))
    }
}

impl Detector for SecretPattern {
    fn words(&self) -> Vec<&str> {
        self.words.to_vec()
    }

    fn words_of_formats(&self) -> Vec<&str> {
        match self.how {
            SecretLocation::Regex { inside_words: true, .. } => Vec::new(),
            SecretLocation::Regex { .. } | SecretLocation::PrivateKey => self.words(),
        }
    }

    fn find(&'static self, text: &str, at: usize, hits: &mut Vec<SecretHit>) {
        match &self.how {
            SecretLocation::Regex { at_word, inside_words, is_secret } => {
                let reach = &text[at..text.floor_char_boundary(at + REACH)];
                if !may_match(self.kind, reach.as_bytes()) {
                    return;
                }
                let Some(groups) = at_word.as_ref().and_then(|pattern| pattern.captures(reach)) else { return };
                let Some(secret) = secret(&groups) else { return };
                let range = at + secret.start()..at + secret.end();
                let ends = reach[secret.end()..].chars().next().is_none_or(|next| !next.is_ascii_alphanumeric());
                let range = if *inside_words { ends.then_some(range) } else { masked_range(text, at, range) };
                if let Some(range) = range
                    && is_secret(&groups, &text[text.floor_char_boundary(at.saturating_sub(64))..at])
                {
                    hits.push(SecretHit { kind: self.kind, range });
                }
            }
            SecretLocation::PrivateKey => {
                let lines = private_key::body_lines(text, at);
                hits.extend(lines.into_iter().map(|range| SecretHit { kind: self.kind, range }));
            }
        }
    }
}

/// Checks whether a secret of a kind may begin at a word, so that no pattern is compiled for most paths and URLs.
fn may_match(kind: &str, reach: &[u8]) -> bool {
    match kind {
        ASSIGNED => memchr::memchr2(b'=', b':', &reach[..reach.len().min(LONGEST_NAME)]).is_some(),
        URL_PASSWORD => reach.strip_prefix(b"://").is_none_or(|rest| {
            let end = rest.iter().find(|byte| byte.is_ascii_whitespace() || b"@/\"'`<>{}$()".contains(byte));
            end == Some(&b'@')
        }),
        _ => true,
    }
}

/// `sources` as one regex a kind, anchored where the word stands, compiled when the first word turns up.
macro_rules! pattern {
    ($kind:expr, $words:expr, $regex:literal) => {
        pattern!($kind, $words, $regex, false, $crate::domain::text::mask::patterns::is_random_value)
    };
    ($kind:expr, $words:expr, $regex:literal, $inside:literal, $is_secret:expr) => {{
        static PATTERN: std::sync::LazyLock<Option<regex::Regex>> =
            std::sync::LazyLock::new(|| regex::Regex::new(concat!(r"\A", $regex)).ok());
        $crate::domain::text::mask::patterns::SecretPattern {
            kind: $kind,
            words: $words,
            how: $crate::domain::text::mask::patterns::SecretLocation::Regex {
                at_word: &PATTERN,
                inside_words: $inside,
                is_secret: $is_secret,
            },
        }
    }};
}

pub(super) fn group<'h>(groups: &Captures<'h>, at: usize) -> &'h str {
    groups.get(at).map_or("", |group| group.as_str())
}

/// A value that is random enough to be one of the provider's own.
pub(super) fn is_random_value(groups: &Captures<'_>, _: &str) -> bool {
    let value = group(groups, 1);
    entropy(value) >= 3.0 && !is_placeholder_key(value)
}

/// The group called `secret`, else the first.
pub(super) fn secret<'h>(groups: &Captures<'h>) -> Option<regex::Match<'h>> {
    groups.name("secret").or_else(|| groups.get(1))
}

pub(super) use pattern;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_asked_only_where_its_signs_are() {
        for (kind, reach, is_asked) in [
            (URL_PASSWORD, "://user:password@host", true),
            (URL_PASSWORD, "://@host", true),
            (URL_PASSWORD, "%3A%2F%2Fuser", true),
            (URL_PASSWORD, "://host/user@name", false),
            (URL_PASSWORD, "://host and@", false),
            (URL_PASSWORD, "://", false),
            (ASSIGNED, "token = 1", true),
            (ASSIGNED, "token", false),
            ("private-key", "", true),
        ] {
            assert_eq!(may_match(kind, reach.as_bytes()), is_asked, "{kind} {reach}");
        }
    }
}
