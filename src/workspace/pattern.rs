//! The pattern of a search. Main type: [`LineRegex`].

use std::sync::Arc;

use grep_matcher::{LineMatchKind, LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::SearcherBuilder;
use grep_searcher::sinks::Bytes;
use regex_automata::Input;
use regex_automata::hybrid::regex::Regex;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use crate::domain::text::FileText;
use crate::sys::automaton::build_lazy;

/// A compiled regular expression may not take more bytes than this.
const SIZE_LIMIT: usize = 10 << 20;

/// A text is searched without a further look where it cannot take more steps than this: bytes, times the states that can be alive at once.
const MOST_STEPS: usize = 1 << 30;
/// The pattern of a search: a regular expression that is matched within lines, in time linear to the text.
#[derive(Debug, Clone)]
pub struct LineRegex {
    matcher: RegexMatcher,
    literal: Option<String>,
    /// The expression for [`is_costly`](Self::is_costly); `None` for plain text.
    automaton: Option<Arc<Regex>>,
}

/// A pattern that is too long even as plain text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern cannot be searched: {0}")]
pub struct PatternError(pub String);

impl LineRegex {
    /// Compiles a regular expression; what is not one is searched as plain text (see [`literal_because`](Self::literal_after_error)).
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).crlf(true).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT);
        match builder.build(pattern) {
            Ok(matcher) => Ok(Self { matcher, literal: None, automaton: automaton(pattern).map(Arc::new) }),
            Err(error) => {
                let plain = builder.fixed_strings(true).build(pattern);
                let matcher = plain.map_err(|error| PatternError(last_line(&error.to_string())))?;
                Ok(Self { matcher, literal: Some(last_line(&error.to_string())), automaton: None })
            }
        }
    }

    /// Returns the reason why the pattern is searched as plain text; `None` when it is a regular expression.
    pub fn literal_after_error(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// The lines of `text` that match, ascending, at most `most`.
    pub fn lines(&self, text: &FileText, most: usize) -> Vec<u32> {
        let mut found = Vec::new();
        if most == 0 {
            return found;
        }
        let mut searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .bom_sniffing(false)
            .line_number(true)
            .build();
        let each = Bytes(|number, _| {
            found.extend(u32::try_from(number));
            Ok(found.len() < most)
        });
        // Text in memory cannot fail to be read, and the matcher was built for the same line endings.
        let searched = searcher.search_slice(&self.matcher, text.text().as_bytes(), each);
        debug_assert!(searched.is_ok(), "{searched:?}");
        found
    }

    /// Returns the byte of a line at which its first match begins; `None` without a match.
    pub fn match_start(&self, line: &str) -> Option<usize> {
        let found = self.matcher.find(line.as_bytes()).ok()??;
        Some(line.floor_char_boundary(found.start()))
    }

    /// Checks whether searching this text may take minutes: its lines are so long, the expression has so many states, and so few of them come back,
    /// that each byte costs as much as all of them. Nothing else stops such a search once it has begun.
    pub(super) fn is_costly(&self, text: &str) -> bool {
        let Some(automaton) = &self.automaton else { return false };
        let states = automaton.forward().get_nfa().states().len();
        if text.len().saturating_mul(states) <= MOST_STEPS {
            return false;
        }
        let longest = text.split('\n').map(str::len).max().unwrap_or(0);
        if text.len().saturating_mul(states.min(longest)) <= MOST_STEPS {
            return false;
        }
        let mut cache = automaton.create_cache();
        let mut at = 0;
        while at < text.len() {
            match automaton.try_search(&mut cache, &Input::new(text).range(at..)) {
                Ok(None) => return false,
                Ok(Some(found)) => {
                    let end = found.end().max(at);
                    at = memchr::memchr(b'\n', &text.as_bytes()[end..]).map_or(text.len(), |newline| end + newline + 1);
                }
                Err(_) => return true,
            }
        }
        false
    }

    /// Checks whether a search must look at this text: some line may match, or nobody can tell.
    pub(super) fn needs_text(&self, text: &str) -> bool {
        self.is_costly(text) || self.may_match(text)
    }

    /// Checks whether some line may match; may say yes where [`lines`](Self::lines) then finds none.
    pub(super) fn may_match(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match self.matcher.find_candidate_line(&bytes[at..]) {
                Ok(None) => return false,
                Ok(Some(LineMatchKind::Confirmed(_))) | Err(_) => return true,
                Ok(Some(LineMatchKind::Candidate(offset))) => {
                    let offset = (at + offset).min(bytes.len());
                    let start = memchr::memrchr(b'\n', &bytes[..offset]).map_or(0, |end| end + 1);
                    let end = memchr::memchr(b'\n', &bytes[offset..]).map_or(bytes.len(), |end| offset + end);
                    let line = bytes[start..end].strip_suffix(b"\r").unwrap_or(&bytes[start..end]);
                    if self.matcher.is_match(line).unwrap_or(true) {
                        return true;
                    }
                    at = end + 1;
                }
            }
        }
        false
    }
}

fn automaton(pattern: &str) -> Option<Regex> {
    let mut builder = Regex::builder();
    builder.syntax(syntax::Config::new().multi_line(true).crlf(true));
    build_lazy(builder.thompson(thompson::Config::new().nfa_size_limit(Some(SIZE_LIMIT))), pattern)
}

/// The reason at the end of a regular expression's error, which draws a picture above it.
fn last_line(message: &str) -> String {
    let line = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(message).trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_begins_at_a_character() {
        let pattern = LineRegex::new("n.{2}dle").unwrap();
        assert_eq!(pattern.match_start("ää needle"), Some(5));
        assert_eq!(pattern.match_start("hay"), None);
    }

    fn lines(pattern: &str, text: &str) -> Vec<u32> {
        let pattern = LineRegex::new(pattern).unwrap();
        let text = FileText::new(text, "UTF-8");
        let lines = pattern.lines(&text, usize::MAX);
        assert!(lines.is_empty() || pattern.may_match(text.text()), "the first look must not miss a hit");
        lines
    }

    #[test]
    fn lines_are_found_once_and_only_where_they_are() {
        assert_eq!(lines("a", "a a\nb\na"), [1, 3]);
        assert_eq!(lines("^$", "a\n\nb\n"), [2]);
        assert_eq!(lines("$", "a\n\nb"), [1, 2, 3]);
        assert_eq!(lines("b$", "ab\r\nb\r\n"), [1, 2]);
        assert_eq!(lines("^a.b$", "a\nb\naxb\r\n"), [3]);
        assert_eq!(lines("\\w+foo\\s", "foo \nxfoo y\n"), [2]);
        assert_eq!(lines("(?i)STRASSE|straße", "Straße\nStrasse\n"), [1, 2]);
        assert_eq!(lines("x", ""), Vec::<u32>::new());
    }

    #[test]
    fn only_what_would_take_minutes_is_costly() {
        // Every letter is decided by coins, so that no state comes twice.
        let mut coin = 1u32;
        let letters = (0..4 << 20).map(|_| {
            coin ^= coin << 13;
            coin ^= coin >> 17;
            coin ^= coin << 5;
            if coin & 1 == 0 { 'a' } else { 'b' }
        });
        let text: String = letters.collect();
        assert!(LineRegex::new("a[ab]{8000}c").unwrap().is_costly(&text));
        assert!(!LineRegex::new("a[ab]{8000}c").unwrap().is_costly(&text[..1 << 16]));
        // A search that keeps nothing leaves such a text alone, too: it would be searched in order to know whether it is needed.
        assert!(LineRegex::new("a[ab]{8000}c").unwrap().needs_text(&text));
        for pattern in ["abba+c", "\\w+\\s+\\w+\\d", "(?i)[a-z]{3}_x", "aab"] {
            assert!(!LineRegex::new(pattern).unwrap().is_costly(&text), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_across_lines_is_taken_as_text() {
        let pattern = LineRegex::new("a\\nb").unwrap();
        assert!(pattern.literal_after_error().is_some());
        assert!(LineRegex::new("a.b").unwrap().literal_after_error().is_none());
    }
}
