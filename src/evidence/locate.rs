//! Finds a quote in a file: pure, linear in the file and the quote. Main function: [`locate`].
//!
//! Quotes are compared in the normal form of `domain::text`. The place's relation to a change belongs in `anchor`.

use std::collections::HashMap;

use crate::domain::place::LineRange;
use crate::domain::text::{FileText, NormalizedQuote, QuoteForm, is_distinctive, normal_line, quote_forms};

use super::nearest::find_nearest;

/// Maximum distance between a claimed place and one of several actual places to match it.
const NEAR_LINES: u32 = 3;

/// Maximum number of lines compared to check whether a loosely matched quote has consistent indentation.
const INDENTATION_BUDGET: usize = 1_000_000;

/// The result of searching for a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuoteLocation {
    /// On the claimed lines, or at its only place when no lines were claimed.
    Exact(LineRange),
    /// At one place that is not the claimed one.
    Moved(LineRange),
    /// Not found; the most similar lines, or the claimed ones.
    Nowhere {
        /// Up to three places, in the order of the file.
        nearest: Vec<LineRange>,
    },
    /// Found at these places, and nothing selects one.
    Ambiguous(Vec<LineRange>),
    /// Found, but no line of it is distinctive (`}`).
    NotDistinctive {
        /// Its place, if there is only one and the quote is more than punctuation.
        only: Option<LineRange>,
    },
    /// The quote has only blank lines.
    Empty,
}

/// A [`QuoteLocation`] with the corrections made to the quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuoteReading {
    pub(super) located: QuoteLocation,
    /// It matches only if indentation is ignored.
    pub(super) reindented: bool,
    /// It contained line numbers, a fence or the marks of a diff.
    pub(super) stripped: bool,
}

/// Finds `quote` in `text`.
///
/// `claimed` is the stated place; it selects one of several places, and a quote exactly there need not be distinctive. The quote is
/// masked as the text is, so that a secret which the engine knows still matches.
pub fn locate(text: &FileText, quote: &str, claimed: Option<LineRange>) -> QuoteLocation {
    read_quote(text, quote, claimed).located
}

pub(super) fn read_quote(text: &FileText, quote: &str, claimed: Option<LineRange>) -> QuoteReading {
    let forms = quote_forms(quote);
    let Some(literal) = forms.first() else {
        return QuoteReading { located: QuoteLocation::Empty, reindented: false, stripped: false };
    };
    // Copied line numbers count as a claim if there is no other.
    let claim_of =
        |form: &NormalizedQuote| claimed.or_else(|| place_from(form.first_line.filter(|line| *line > 0)?, form));
    for reindented in [false, true] {
        let standing = |located, form: &NormalizedQuote| QuoteReading {
            located,
            reindented,
            stripped: form.form == QuoteForm::Stripped,
        };
        for form in &forms {
            let claimed = claim_of(form).and_then(|lines| without_blank_ends(text, lines));
            if let Some(place) = claimed.and_then(|claimed| place_as_claimed(text, form, claimed, reindented)) {
                return standing(QuoteLocation::Exact(place), form);
            }
        }
        for form in &forms {
            let places = places_of(text, form, reindented);
            if !places.is_empty() {
                return standing(select_place(places, form, claim_of(form)), form);
            }
        }
    }
    let nearest = find_nearest(text, literal, claimed);
    QuoteReading { located: QuoteLocation::Nowhere { nearest }, reindented: false, stripped: false }
}

/// Selects one of the places by the claim, if possible.
fn select_place(places: Vec<LineRange>, quote: &NormalizedQuote, claimed: Option<LineRange>) -> QuoteLocation {
    if !quote.lines.iter().any(|line| is_distinctive(line)) {
        let has_word = quote.lines.iter().any(|line| line.contains(char::is_alphanumeric));
        let only = if let [only] = places.as_slice() { Some(*only).filter(|_| has_word) } else { None };
        return QuoteLocation::NotDistinctive { only };
    }
    match (places.as_slice(), claimed) {
        ([only], None) => QuoteLocation::Exact(*only),
        ([only], Some(_)) => QuoteLocation::Moved(*only),
        (_, None) => QuoteLocation::Ambiguous(places),
        (_, Some(claimed)) => {
            let only_within = |reach: u32| {
                let mut near = places.iter().filter(|place| gap(**place, claimed) <= reach);
                near.next().map(|first| if near.next().is_none() { Ok(*first) } else { Err(()) })
            };
            match only_within(0).or_else(|| only_within(NEAR_LINES)) {
                Some(Ok(place)) => QuoteLocation::Moved(place),
                Some(Err(())) | None => QuoteLocation::Ambiguous(places),
            }
        }
    }
}

/// Returns the distance of two ranges: 0 if they share a line, 1 if they are adjacent.
fn gap(a: LineRange, b: LineRange) -> u32 {
    if a.overlaps(b) { 0 } else { a.start().saturating_sub(b.end()).max(b.start().saturating_sub(a.end())) }
}

/// Clips the claimed lines to the file, without blank lines at the ends.
fn without_blank_ends(text: &FileText, claimed: LineRange) -> Option<LineRange> {
    let is_blank = |number: u32| text.line(number).is_none_or(|line| normal_line(line).is_empty());
    let mut last = claimed.end().min(text.line_count());
    while last >= claimed.start() && is_blank(last) {
        last -= 1;
    }
    let first = (claimed.start()..=last).find(|number| !is_blank(*number))?;
    LineRange::new(first, last).ok()
}

/// Returns the place of the quote if it is the claimed one. A claim of one line is the place where the quote begins.
fn place_as_claimed(
    text: &FileText,
    quote: &NormalizedQuote,
    claimed: LineRange,
    reindented: bool,
) -> Option<LineRange> {
    let place = place_from(claimed.start(), quote)?;
    if place.end() > text.line_count() || (place != claimed && claimed.count() > 1) {
        return None;
    }
    let compare = comparison(reindented);
    let holds =
        text.lines(place).zip(&quote.lines).all(|((_, line), wanted)| compare(normal_line(line)) == compare(wanted));
    (holds && (!reindented || keeps_indentation(text, place, quote))).then_some(place)
}

/// Returns the compared part of a line.
fn comparison(reindented: bool) -> fn(&str) -> &str {
    if reindented { str::trim_start } else { |line| line }
}

fn place_from(start: u32, quote: &NormalizedQuote) -> Option<LineRange> {
    let more = u32::try_from(quote.lines.len()).ok()?.checked_sub(1)?;
    LineRange::new(start, start.checked_add(more)?).ok()
}

/// Finds every place of the quote, by the algorithm of Knuth, Morris and Pratt over lines: equal lines cost no more.
fn places_of(text: &FileText, quote: &NormalizedQuote, reindented: bool) -> Vec<LineRange> {
    let compare = comparison(reindented);
    let pattern: Vec<&str> = quote.lines.iter().map(|line| compare(line)).collect();
    // Most quotes that are absent, or in another form, are rejected without splitting the file.
    let longest = pattern.iter().max_by_key(|line| line.len()).copied().unwrap_or_default();
    if memchr::memmem::find(text.text().as_bytes(), longest.as_bytes()).is_none() {
        return Vec::new();
    }
    let back = fallbacks(&pattern);
    let mut matched = 0;
    let mut places = Vec::new();
    for (number, line) in text.all_lines() {
        let line = compare(normal_line(line));
        while matched > 0 && pattern.get(matched) != Some(&line) {
            matched = back[matched - 1];
        }
        if pattern.get(matched) == Some(&line) {
            matched += 1;
        }
        if matched == pattern.len() {
            let before = u32::try_from(matched).unwrap_or(u32::MAX);
            places.extend(number.checked_sub(before).and_then(|start| place_from(start + 1, quote)));
        }
    }
    if reindented && places.len().saturating_mul(pattern.len()) <= INDENTATION_BUDGET {
        places.retain(|place| keeps_indentation(text, *place, quote));
    }
    places
}

/// Computes for each prefix of the pattern the length of its longest proper prefix that is also its suffix.
fn fallbacks(pattern: &[&str]) -> Vec<usize> {
    let mut back = vec![0; pattern.len()];
    let mut length = 0;
    for index in 1..pattern.len() {
        while length > 0 && pattern[index] != pattern[length] {
            length = back[length - 1];
        }
        if pattern[index] == pattern[length] {
            length += 1;
        }
        back[index] = length;
    }
    back
}

/// Checks whether the indentation at `place` maps one-to-one to that of the quote.
///
/// The first line is skipped, because quotes are often trimmed at their ends.
fn keeps_indentation(text: &FileText, place: LineRange, quote: &NormalizedQuote) -> bool {
    let indentation = |line: &str| line.chars().take_while(|c| c.is_whitespace()).count();
    let mut depths = HashMap::new();
    for ((_, line), wanted) in text.lines(place).zip(&quote.lines).skip(1) {
        if !wanted.is_empty() && *depths.entry(indentation(wanted)).or_insert(indentation(line)) != indentation(line) {
            return false;
        }
    }
    let mut pairs: Vec<(usize, usize)> = depths.into_iter().collect();
    pairs.sort_unstable();
    pairs.windows(2).all(|pair| pair[0].1 < pair[1].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> FileText {
        FileText::new(text, "UTF-8")
    }

    fn range(start: u32, end: u32) -> LineRange {
        LineRange::new(start, end).unwrap()
    }

    const CODE: &str =
        "fn first() {\n    let total = 0;\n    total\n}\n\nfn second() {\n    let total = 0;\n    total + 1\n}\n";

    #[test]
    fn a_quote_at_its_only_place_is_exact() {
        assert_eq!(locate(&text(CODE), "    total + 1", None), QuoteLocation::Exact(range(8, 8)));
        assert_eq!(locate(&text(CODE), "fn second() {\n    let total = 0;", None), QuoteLocation::Exact(range(6, 7)));
        assert_eq!(locate(&text("one line"), "one line", Some(range(1, 1))), QuoteLocation::Exact(range(1, 1)));
    }

    #[test]
    fn a_quote_elsewhere_than_claimed_has_moved() {
        assert_eq!(locate(&text(CODE), "    total + 1", Some(range(3, 3))), QuoteLocation::Moved(range(8, 8)));
        assert_eq!(locate(&text(CODE), "    total + 1", Some(range(7, 8))), QuoteLocation::Moved(range(8, 8)));
        assert_eq!(locate(&text(CODE), "    total + 1", Some(range(900, 901))), QuoteLocation::Moved(range(8, 8)));
    }

    #[test]
    fn a_claim_tells_equal_places_apart() {
        let quote = "    let total = 0;";
        assert_eq!(locate(&text(CODE), quote, None), QuoteLocation::Ambiguous(vec![range(2, 2), range(7, 7)]));
        assert_eq!(locate(&text(CODE), quote, Some(range(7, 7))), QuoteLocation::Exact(range(7, 7)));
        assert_eq!(locate(&text(CODE), quote, Some(range(8, 9))), QuoteLocation::Moved(range(7, 7)));
        assert_eq!(
            locate(&text(CODE), quote, Some(range(4, 5))),
            QuoteLocation::Ambiguous(vec![range(2, 2), range(7, 7)]),
            "both are near"
        );
    }

    #[test]
    fn a_brace_proves_nothing_unless_it_stands_where_it_is_claimed() {
        let refused = QuoteLocation::NotDistinctive { only: None };
        assert_eq!(locate(&text(CODE), "}", None), refused);
        assert_eq!(locate(&text(CODE), "}", Some(range(5, 5))), refused);
        assert_eq!(locate(&text(CODE), "}", Some(range(4, 4))), QuoteLocation::Exact(range(4, 4)));
        assert_eq!(locate(&text("a {\n}\n"), "}", None), refused, "even the only one");
    }

    #[test]
    fn a_short_quote_tells_its_only_place() {
        let only = |quote| match locate(&text("x = 1\nreturn x / 0\ny = 2\nreturn\nreturn\n"), quote, None) {
            QuoteLocation::NotDistinctive { only } => only,
            other => panic!("{other:?}"),
        };
        assert_eq!(only("return x / 0"), Some(range(2, 2)));
        assert_eq!(only("return"), None, "it stands twice");
    }

    #[test]
    fn white_space_at_the_ends_does_not_matter() {
        let crlf = text("alpha();  \r\n\r\nbeta();\r\n");
        assert_eq!(locate(&crlf, "\n\nalpha();\n   \nbeta();\t\n\n", None), QuoteLocation::Exact(range(1, 3)));
        assert_eq!(
            locate(&crlf, "beta();", Some(range(2, 3))),
            QuoteLocation::Exact(range(3, 3)),
            "a claim with a blank line"
        );
    }

    #[test]
    fn a_quote_may_be_indented_otherwise_if_it_is_so_throughout() {
        let quote = "if ready {\n  launch();\n}";
        let there = text("fn main() {\n\tif ready {\n\t\tlaunch();\n\t}\n}\n");
        assert_eq!(locate(&there, quote, None), QuoteLocation::Exact(range(2, 4)));
        let flat = text("if ready {\nlaunch();\n}\n");
        assert!(matches!(locate(&flat, quote, None), QuoteLocation::Nowhere { .. }), "the inner line lost its depth");
        assert!(read_quote(&there, quote, None).reindented);
    }

    #[test]
    fn an_exact_match_goes_before_one_with_other_indentation() {
        let both = text("    total();\ntotal();\n");
        assert_eq!(locate(&both, "total();", None), QuoteLocation::Exact(range(2, 2)));
    }

    #[test]
    fn a_quote_that_is_nowhere_names_what_is_like_it() {
        let QuoteLocation::Nowhere { nearest } = locate(&text(CODE), "    let totals = 0;\n", None) else { panic!() };
        assert_eq!(nearest, [range(2, 2), range(7, 7)]);
        assert_eq!(locate(&text(""), "anything", None), QuoteLocation::Nowhere { nearest: Vec::new() });
        assert_eq!(
            locate(&text(CODE), "zzzz", Some(range(6, 7))),
            QuoteLocation::Nowhere { nearest: vec![range(6, 7)] },
            "what stands on the claimed lines"
        );
    }

    #[test]
    fn blank_quotes_are_empty() {
        assert_eq!(locate(&text(CODE), " \n\t", None), QuoteLocation::Empty);
    }

    #[test]
    fn a_file_of_equal_lines_takes_no_longer() {
        let many = text(&"same line\n".repeat(100_000));
        let quote = "same line\n".repeat(30_000) + "other";
        assert!(matches!(locate(&many, &quote, None), QuoteLocation::Nowhere { .. }));
        let quote = "same line\n".repeat(30_000);
        assert!(matches!(locate(&many, &quote, None), QuoteLocation::Ambiguous(places) if places.len() == 70_001));
        let loose = "  same line\n".repeat(30_000);
        assert!(matches!(locate(&many, &loose, None), QuoteLocation::Ambiguous(_)));
    }

    /// Lines with many repetitions and some blank ones.
    fn lines() -> impl Strategy<Value = Vec<String>> {
        let line = prop_oneof![
            "[ ]{0,4}[a-c]{4,5}[(){};]{0,2}",
            "[ \t]{0,3}",
            Just("}".to_owned()),
            "[ -~]{0,12}",
            "\\PC{0,8}".prop_map(|line| line.replace(['\n', '\r'], "")),
        ];
        proptest::collection::vec(line, 1..30)
    }

    /// A file and a piece of it, in lines counted from 0.
    fn piece() -> impl Strategy<Value = (Vec<String>, usize, usize)> {
        lines().prop_flat_map(|lines| {
            let count = lines.len();
            (Just(lines), 0..count, 1..6usize).prop_map(move |(lines, start, length)| {
                let end = (start + length).min(lines.len());
                (lines, start, end)
            })
        })
    }

    /// The range of a piece without blank ends.
    fn core(lines: &[String], start: usize, end: usize) -> Option<LineRange> {
        let blank = |index: &usize| normal_line(&lines[*index]).is_empty();
        let first = (start..end).find(|index| !blank(index))?;
        let last = (start..end).rev().find(|index| !blank(index))?;
        LineRange::new(u32::try_from(first).unwrap() + 1, u32::try_from(last).unwrap() + 1).ok()
    }

    fn claim(start: usize, end: usize) -> LineRange {
        range(u32::try_from(start).unwrap() + 1, u32::try_from(end).unwrap())
    }

    proptest! {
        #[test]
        fn a_piece_of_a_text_stands_where_it_was_taken((lines, start, end) in piece(), crlf in any::<bool>()) {
            let file = text(&lines.join(if crlf { "\r\n" } else { "\n" }));
            let quote = lines[start..end].join("\n");
            let Some(place) = core(&lines, start, end) else {
                prop_assert_eq!(locate(&file, &quote, None), QuoteLocation::Empty);
                return Ok(());
            };
            prop_assert_eq!(locate(&file, &quote, Some(claim(start, end))), QuoteLocation::Exact(place));
            match locate(&file, &quote, None) {
                QuoteLocation::Exact(found) => prop_assert_eq!(found, place),
                QuoteLocation::Ambiguous(places) => prop_assert!(places.contains(&place) && places.len() > 1),
                QuoteLocation::NotDistinctive { .. } => prop_assert!(!lines[start..end].iter().any(|line| is_distinctive(line))),
                other => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn a_piece_is_found_again_after_lines_above_it_come_or_go(
            (lines, start, end) in piece(), above in proptest::collection::vec("[x-z]{6}", 0..9), gone in 0..5usize
        ) {
            let quote = format!("unique_marker();\n{}", lines[start..end].join("\n"));
            let mut after = above.clone();
            after.extend_from_slice(&lines[gone.min(start)..start]);
            let at = u32::try_from(after.len()).unwrap() + 1;
            after.extend(quote.lines().map(str::to_owned));
            after.extend_from_slice(&lines[end..]);
            let old = range(u32::try_from(start).unwrap() + 1, u32::try_from(start).unwrap() + 1);
            match locate(&text(&after.join("\n")), &quote, Some(old)) {
                QuoteLocation::Exact(found) => prop_assert!(found.start() == at && at == old.start()),
                QuoteLocation::Moved(found) => prop_assert!(found.start() == at && at != old.start()),
                other => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn a_quote_that_is_not_there_is_nowhere(lines in lines(), claimed in proptest::option::of(1..40u32)) {
            let found = locate(&text(&lines.join("\n")), "this_is_not_there(42)", claimed.map(LineRange::line));
            prop_assert!(matches!(found, QuoteLocation::Nowhere { .. }), "{found:?}");
        }

        #[test]
        fn copied_marks_do_not_matter((lines, start, end) in piece(), form in 0..6usize) {
            let lines: Vec<String> = lines.iter().map(|line| format!("keep{line}")).collect();
            let file = text(&lines.join("\n"));
            let plain = lines[start..end].join("\n");
            let marked: Vec<String> = lines[start..end].iter().enumerate().map(|(index, line)| {
                let number = start + index + 1;
                match form {
                    0 => format!("+{line}"),
                    1 => format!("-{line}"),
                    2 => format!("{number:>6}\t{line}"),
                    3 => format!("{number}: {line}"),
                    4 => format!("{number:>4} | {line}"),
                    _ => format!("L{number}:{line}"),
                }
            }).collect();
            let told = (form > 1).then(|| claim(start, end));
            prop_assert_eq!(locate(&file, &marked.join("\n"), None), locate(&file, &plain, told));
        }

        #[test]
        fn no_text_and_no_quote_make_it_panic(
            file in any::<String>(), quote in any::<String>(), start in 1..u32::MAX, more in 0..u32::MAX
        ) {
            let _ = locate(&text(&file), &quote, LineRange::new(start, start.saturating_add(more)).ok());
            let _ = locate(&text(&file), &file, LineRange::new(start, start.saturating_add(more)).ok());
        }
    }
}
