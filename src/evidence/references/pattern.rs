//! Searches the pattern of a reference in a file. Main type: [`SearchPattern`].
//!
//! Patterns are untrusted, and there are short ones whose search takes hours in a file of some MiB. So the lazy automaton searches, at a
//! constant cost for each byte, and if it gives up the pattern counts as too costly.

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::hybrid::regex::Regex;
use regex_automata::nfa::thompson::{self, pikevm::PikeVM};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchErrorKind};

use crate::domain::place::LineRange;
use crate::domain::text::{FileText, strip_line};
use crate::sys::automaton::build_lazy;

/// Maximum length of a pattern.
const LONGEST: usize = 1000;

/// Maximum size of a compiled expression, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Maximum number of steps for what the automaton cannot decide (`\b` beside non-ASCII letters), which is searched at a cost of up to all
/// states for each byte.
const MOST_STEPS: usize = 1 << 29;

/// Maximum size of a file.
const MOST_TEXT: usize = 8 << 20;

/// A search pattern: a regular expression over several lines, or a literal.
#[derive(Debug)]
pub(super) struct SearchPattern<'p> {
    pattern: &'p str,
    /// Case-sensitive and case-insensitive, as in the links of the editor; `None` if it is not a regular expression.
    expressions: Vec<PatternRegex>,
    not_an_expression: bool,
}

impl<'p> SearchPattern<'p> {
    /// Compiles it; an invalid expression is searched literally.
    pub(super) fn new(pattern: &'p str) -> Result<Self, String> {
        if pattern.len() > LONGEST {
            return Err(format!("the pattern has {} bytes, more than the {LONGEST} that are tried", pattern.len()));
        }
        let expressions: Vec<PatternRegex> =
            [false, true].into_iter().filter_map(|blind| PatternRegex::new(pattern, blind)).collect();
        Ok(Self { pattern, not_an_expression: expressions.is_empty(), expressions })
    }

    /// Returns the lines of the first match within `lines`; if that is one line, from there on.
    pub(super) fn locate(&self, text: &FileText, lines: Option<LineRange>) -> Result<LineRange, String> {
        if text.text().len() > MOST_TEXT {
            return Err(format!("the file has {} bytes, more than patterns are looked for in", text.text().len()));
        }
        let whole = LineRange::new(1, text.line_count().max(1)).unwrap_or_else(|_| LineRange::line(1));
        let within = match lines {
            Some(line) if line.count() == 1 => LineRange::new(line.start(), whole.end()).unwrap_or(whole),
            Some(lines) => lines,
            None => whole,
        };
        let bytes = text.byte_range(within).unwrap_or(0..text.text().len());
        let part = &text.text()[bytes.clone()];
        let mut gave_up = false;
        let mut hit = None;
        for expression in &self.expressions {
            match expression.first(self.pattern, part) {
                Ok(found) => hit = found,
                Err(SearchTimeout) => gave_up = true,
            }
            if hit.is_some() {
                break;
            }
        }
        // People who copy a line of code into a pattern escape nothing: without a match as an expression, it is searched literally.
        let hit = hit.or_else(|| part.find(self.pattern).map(|at| at..at + self.pattern.len()));
        let Some(hit) = hit else {
            let absent = self.absent(lines);
            return Err(if gave_up {
                format!("{absent}; looking for it to the end would take too long")
            } else {
                absent
            });
        };
        let start = text.line_at(bytes.start + hit.start);
        // A line ending at its end belongs to the line before.
        let last = bytes.start + hit.end.saturating_sub(1).max(hit.start);
        LineRange::new(start, text.line_at(last).max(start)).map_err(|error| error.to_string())
    }

    fn absent(&self, lines: Option<LineRange>) -> String {
        let pattern: Cow<'_, str> = strip_line(self.pattern).into();
        let place = match lines {
            Some(lines) if lines.count() == 1 => format!(" from line {} on", lines.start()),
            Some(lines) => format!(" in lines {}-{}", lines.start(), lines.end()),
            None => String::new(),
        };
        let text = if self.not_an_expression { " (taken as text, since it is no regular expression)" } else { "" };
        format!("the pattern {pattern:?} is not found{place}{text}")
    }
}

/// The search would take too long.
struct SearchTimeout;

#[derive(Debug)]
struct PatternRegex {
    automaton: Regex,
    is_blind: bool,
}

impl PatternRegex {
    fn new(pattern: &str, is_blind: bool) -> Option<Self> {
        let automaton = build_lazy(Regex::builder().syntax(syntax(is_blind)).thompson(thompson()), pattern)?;
        Some(Self { automaton, is_blind })
    }

    /// Finds the first match.
    fn first(&self, pattern: &str, text: &str) -> Result<Option<Range<usize>>, SearchTimeout> {
        let input = Input::new(text);
        let found = match self.automaton.try_search(&mut self.automaton.create_cache(), &input) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), MatchErrorKind::Quit { .. }) => {
                let machine = PikeVM::builder().syntax(syntax(self.is_blind)).thompson(thompson()).build(pattern);
                let machine = machine.map_err(|_| SearchTimeout)?;
                if machine.get_nfa().states().len().saturating_mul(text.len()) > MOST_STEPS {
                    return Err(SearchTimeout);
                }
                machine.find(&mut machine.create_cache(), input)
            }
            Err(_) => return Err(SearchTimeout),
        };
        Ok(found.map(|found| found.range()))
    }
}

fn syntax(is_blind: bool) -> syntax::Config {
    syntax::Config::new().multi_line(true).crlf(true).case_insensitive(is_blind)
}

fn thompson() -> thompson::Config {
    thompson::Config::new().nfa_size_limit(Some(SIZE_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn load(a: u8) {\n    Open();\n}\n\nfn save(a: u8) {\n    open();\n}\n";

    fn find(pattern: &str, lines: Option<(u32, u32)>) -> Result<(u32, u32), String> {
        let text = FileText::new(CODE, "UTF-8");
        let lines = lines.map(|(start, end)| LineRange::new(start, end).unwrap());
        let found = SearchPattern::new(pattern)?.locate(&text, lines)?;
        Ok((found.start(), found.end()))
    }

    #[test]
    fn the_first_match_is_meant_in_its_own_case_first() {
        assert_eq!(find("open", None), Ok((6, 6)));
        assert_eq!(find("OPEN", None), Ok((2, 2)));
        assert_eq!(find("^fn \\w+", Some((2, 2))), Ok((5, 5)));
        assert_eq!(find("^}$", Some((4, 7))), Ok((7, 7)));
        assert_eq!(find("\\{\\s*Open\\(\\);\\s*\\}", None), Ok((1, 3)));
        assert_eq!(find("(?s)fn save.*", None), Ok((5, 7)));
    }

    #[test]
    fn what_is_no_expression_or_matches_none_is_text() {
        assert_eq!(find("load(", None), Ok((1, 1)));
        assert_eq!(find("load(a: u8)", None), Ok((1, 1)));
        assert_eq!(
            find("load(b", None).unwrap_err(),
            "the pattern \"load(b\" is not found (taken as text, since it is no regular expression)"
        );
    }

    #[test]
    fn what_is_absent_says_where_it_was_looked_for() {
        assert_eq!(find("save", Some((1, 3))).unwrap_err(), "the pattern \"save\" is not found in lines 1-3");
        assert_eq!(find("load", Some((2, 2))).unwrap_err(), "the pattern \"load\" is not found from line 2 on");
    }

    #[test]
    fn a_pattern_that_needs_ever_new_states_is_given_up() {
        // Letters are random, so that no state occurs twice.
        let mut coin = 1u32;
        let letters = (0..MOST_TEXT - 1).map(|_| {
            coin ^= coin << 13;
            coin ^= coin >> 17;
            coin ^= coin << 5;
            if coin & 1 == 0 { 'a' } else { 'b' }
        });
        let text = FileText::new(&letters.collect::<String>(), "UTF-8");
        let why = SearchPattern::new("a[ab]{8000}c").unwrap().locate(&text, None).unwrap_err();
        assert!(why.ends_with("would take too long"), "{why}");
    }

    #[test]
    fn words_are_found_between_letters_of_any_script() {
        let text = FileText::new("größe = 1\nfn größe_neu() {}\nfn load() {}\n", "UTF-8");
        let found = |pattern: &str| SearchPattern::new(pattern).unwrap().locate(&text, None).map(LineRange::start);
        assert_eq!((found("\\bload\\b"), found("\\bgröße_neu"), found("\\bgröße\\b = ")), (Ok(3), Ok(2), Ok(1)));
    }

    #[test]
    fn patterns_cannot_take_forever() {
        let text = FileText::new(&"a".repeat(1 << 20), "UTF-8");
        for pattern in ["(a*)*b", "(?:\\w{1000}){1000}", "((a{1,100}){1,100}){1,100}"] {
            assert!(SearchPattern::new(pattern).unwrap().locate(&text, None).is_err(), "{pattern}");
        }
        assert!(SearchPattern::new(&"a".repeat(LONGEST + 1)).is_err());
        assert_eq!(SearchPattern::new("x*").unwrap().locate(&FileText::new("", "UTF-8"), None), Ok(LineRange::line(1)));
    }
}
