//! The normal form in which quotes are compared.
//!
//! People and models copy more than the line: the marks of a diff, the numbers of a listing, a fence. [`quote_forms`] lists
//! the readings of a quote, the literal one first. Where a quote stands in a file belongs in `evidence`.

use std::borrow::Cow;

use super::mask;
use super::reveal::conceal;

/// One line as quotes are compared: trailing white space and a byte order mark ignored.
pub fn normal_line(line: &str) -> &str {
    line.strip_prefix('\u{feff}').unwrap_or(line).trim_end()
}

/// The marks that were removed from a quote to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteForm {
    /// Nothing.
    Literal,
    /// Line numbers, a fence or the marks of a diff.
    Stripped,
}

/// One reading of a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedQuote {
    /// Masked lines in normal form, none of them blank at either end; never empty.
    pub lines: Vec<String>,
    /// The removed marks.
    pub form: QuoteForm,
    /// The number of the first line, where the quote carried numbers.
    pub first_line: Option<u32>,
}

/// The readings of a quote in the order in which they are tried; none for a blank quote.
pub fn quote_forms(quote: &str) -> Vec<NormalizedQuote> {
    let mut forms = Vec::new();
    add_forms(&mut forms, quote, QuoteForm::Literal);
    // Invisible characters are spelled out where a model sees them, and so it copies them.
    if let Some(concealed) = conceal(quote) {
        add_forms(&mut forms, &concealed, QuoteForm::Stripped);
    }
    forms
}

fn add_forms(forms: &mut Vec<NormalizedQuote>, quote: &str, form: QuoteForm) {
    let literal: Vec<&str> = quote.lines().collect();
    add(forms, &literal, form, None);
    let inner = unfenced(&literal);
    if inner.len() != literal.len() {
        add(forms, inner, QuoteForm::Stripped, None);
    }
    let numbered = without_numbers(inner);
    let first = numbered.as_ref().map(|(first, _)| *first);
    if let Some((_, lines)) = &numbered {
        add(forms, lines, QuoteForm::Stripped, first);
    }
    // Numbered lines of a diff that the change leaves as they are begin with a space each.
    if let Some(lines) = numbered.as_ref().and_then(|(_, lines)| without_context_marks(lines)) {
        add(forms, &lines, QuoteForm::Stripped, first);
    }
    let inner = numbered.as_ref().map_or(inner, |(_, lines)| lines);
    for lines in without_diff_marks(inner) {
        // Numbers count lines of the diff where lines of one side were left out.
        add(forms, &lines, QuoteForm::Stripped, first.filter(|_| lines.len() == inner.len()));
    }
}

/// Checks whether a line tells one place from another: four letters or digits that are not all keywords of control flow.
pub fn is_distinctive(line: &str) -> bool {
    const DUMB: &[&str] = &[
        "else",
        "return",
        "break",
        "continue",
        "pass",
        "then",
        "done",
        "begin",
        "endif",
        "true",
        "false",
        "null",
        "none",
        "finally",
        "default",
        "loop",
        "try",
        "catch",
        "except",
        "undefined",
    ];
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let telling = words.filter(|word| !DUMB.iter().any(|dumb| word.eq_ignore_ascii_case(dumb)));
    telling.map(|word| word.chars().count()).sum::<usize>() >= 4
}

fn add(forms: &mut Vec<NormalizedQuote>, lines: &[&str], form: QuoteForm, first_line: Option<u32>) {
    let joined = lines.join("\n");
    let masked = mask(&joined);
    let mut normal: Vec<String> = masked.text.lines().map(|line| normal_line(line).to_owned()).collect();
    let blank_before = normal.iter().take_while(|line| line.is_empty()).count();
    normal.drain(..blank_before);
    while normal.last().is_some_and(String::is_empty) {
        normal.pop();
    }
    let known = forms.iter().any(|known| known.lines == normal);
    if !normal.is_empty() && !known {
        let blank_before = u32::try_from(blank_before).unwrap_or(u32::MAX);
        let first_line = first_line.map(|line| line.saturating_add(blank_before));
        forms.push(NormalizedQuote { lines: normal, form, first_line });
    }
}

fn unfenced<'a, 'q>(lines: &'a [&'q str]) -> &'a [&'q str] {
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    match (first, last) {
        (Some(first), Some(last))
            if first < last && lines[first].trim_start().starts_with("```") && lines[last].trim() == "```" =>
        {
            &lines[first + 1..last]
        }
        _ => lines,
    }
}

/// The number of the first line and the lines without the numbers of a listing, where all that are not blank have one and count up.
fn without_numbers<'q>(lines: &[&'q str]) -> Option<(u32, Vec<&'q str>)> {
    let mut first = None;
    let mut out = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            out.push("");
            continue;
        }
        let (number, rest) = numbered(line)?;
        let counted_from = number.checked_sub(u32::try_from(index).ok()?)?;
        if *first.get_or_insert(counted_from) != counted_from {
            return None;
        }
        out.push(rest);
    }
    first.map(|first| (first, out))
}

/// Returns a line of a listing without its number; a line without one as it is.
pub fn strip_line_number(line: &str) -> &str {
    numbered(line).map_or(line, |(_, code)| code)
}

/// `   123\t…`, `123: …`, `123> …`, `123 | …`, `123→…`, `123-…`, `L12:…`, `123` alone; of a numbered diff `123 +…` and `123  …`.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start();
    let line = line.strip_prefix('L').unwrap_or(line);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = line.get(..digits)?.parse().ok()?;
    let rest = &line[digits..];
    if rest.trim().is_empty() {
        return Some((number, ""));
    }
    if let Some(rest) = rest.strip_prefix(['\t', '→', '-']) {
        return Some((number, rest));
    }
    if let Some(rest) = rest.trim_start_matches(' ').strip_prefix([':', '|', '│', '>']) {
        return Some((number, rest.strip_prefix(' ').unwrap_or(rest)));
    }
    rest.strip_prefix(' ').filter(|rest| rest.starts_with(['+', ' '])).map(|rest| (number, rest))
}

fn without_context_marks<'q>(lines: &[&'q str]) -> Option<Vec<&'q str>> {
    lines.iter().map(|line| if line.is_empty() { Some("") } else { line.strip_prefix(' ') }).collect()
}

/// The readings of a piece of a diff: its new lines, its old lines. None where a line carries no mark.
fn without_diff_marks<'q>(lines: &[&'q str]) -> Vec<Vec<&'q str>> {
    let body: Vec<&str> =
        lines.iter().copied().filter(|line| !line.starts_with("@@ ") && !line.starts_with("\\ No newline")).collect();
    let marked = |line: &&str| line.trim().is_empty() || line.starts_with(['+', '-', ' ']);
    let has = |mark: char| body.iter().any(|line| line.starts_with(mark));
    if !body.iter().all(marked) || !(has('+') || has('-')) {
        return Vec::new();
    }
    let side = |dropped: char| -> Vec<&'q str> {
        let kept = body.iter().filter(|line| !line.starts_with(dropped));
        kept.map(|line| line.get(1..).unwrap_or("")).collect()
    };
    match (has('+'), has('-')) {
        (true, true) => vec![side('-'), side('+')],
        (true, false) => vec![side('-')],
        (false, _) => vec![side('+')],
    }
}

/// A replacement as it is meant, where its quote carried marks: the same marks taken away if every line has them.
pub fn strip_diff_marks(replacement: &str) -> Cow<'_, str> {
    let literal: Vec<&str> = replacement.lines().collect();
    let inner = unfenced(&literal);
    let numberless = without_numbers(inner).map(|(_, lines)| lines);
    let inner = numberless.as_deref().unwrap_or(inner);
    let added = without_diff_marks(inner).into_iter().next();
    match (added, inner.len() == literal.len() && numberless.is_none()) {
        (Some(lines), _) => Cow::Owned(lines.join("\n")),
        (None, true) => Cow::Borrowed(replacement),
        (None, false) => Cow::Owned(inner.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forms(quote: &str) -> Vec<Vec<String>> {
        quote_forms(quote).into_iter().map(|form| form.lines).collect()
    }

    #[test]
    fn the_literal_reading_comes_first() {
        assert_eq!(forms("\n  a  \r\n\nb\n\n"), [["  a", "", "b"]]);
        assert_eq!(forms("12: a\n13: b"), [["12: a", "13: b"], ["a", "b"]]);
    }

    #[test]
    fn a_blank_quote_has_no_reading() {
        assert!(forms("").is_empty() && forms(" \n\t\n").is_empty());
    }

    #[test]
    fn numbers_of_every_listing_are_read() {
        for quote in
            ["   7\ta\n   8\t  b", "7: a\n8:   b", "7 | a\n8 |   b", "L7: a\nL8:   b", " 7→a\n 8→  b", "7-a\n8-  b"]
        {
            assert_eq!(forms(quote).last().unwrap(), &["a", "  b"], "{quote:?}");
        }
        for quote in ["7> a\n8:   b", "7  a\n8    b", "7 +a\n8 +  b", "7  a\n8 +  b"] {
            assert_eq!(forms(quote).last().unwrap(), &["a", "  b"], "{quote:?}");
        }
        assert_eq!(forms("7\ta\n8\n9\tb").last().unwrap(), &["a", "", "b"]);
    }

    #[test]
    fn a_number_says_where_the_first_line_stands() {
        let first = |quote: &str| quote_forms(quote).last().unwrap().first_line;
        assert_eq!((first("7\ta\n8\tb"), first("7\n8\tb"), first("a\nb")), (Some(7), Some(8), None));
        assert_eq!((first("7: +a\n8: +b"), first("7: -a\n8: +b")), (Some(7), None));
    }

    #[test]
    fn numbers_that_do_not_count_up_belong_to_the_text() {
        assert_eq!(forms("1: a\n1: b").len(), 1);
        assert_eq!(forms("1: a\nb").len(), 1);
    }

    #[test]
    fn a_piece_of_a_diff_is_read_for_either_side() {
        assert_eq!(forms("@@ -1 +1 @@\n a\n-b\n+c")[1..], [["a", "c"], ["a", "b"]]);
        assert_eq!(forms("+a\n+b")[1..], [["a", "b"]]);
        assert_eq!(forms("10: +a\n11: +b").last().unwrap(), &["a", "b"]);
        assert_eq!(forms("+a\nb").len(), 1);
    }

    #[test]
    fn a_fence_is_no_part_of_a_quote() {
        assert_eq!(forms("```rust\nlet a;\n```")[1..], [["let a;"]]);
    }

    #[test]
    fn a_character_that_was_spelled_out_is_read_as_itself() {
        assert_eq!(forms("let a = \"<U+202E>\";"), [["let a = \"<U+202E>\";"], ["let a = \"\u{202e}\";"]]);
        assert_eq!(forms("+a<U+200B>b").last().unwrap(), &["a\u{200b}b"]);
    }

    #[test]
    fn braces_and_keywords_tell_nothing() {
        for line in ["}", "  } else {", "return;", "end", "});", "", "return None", "x += 1"] {
            assert!(!is_distinctive(line), "{line}");
        }
        for line in ["let total = 0;", "foo(bar)", "return total", "a = b + c * d", "数値の合計"] {
            assert!(is_distinctive(line), "{line}");
        }
    }

    #[test]
    fn a_replacement_loses_the_marks_its_quote_had() {
        assert_eq!(strip_diff_marks("+a\n+b"), "a\nb");
        assert_eq!(strip_diff_marks("7\ta\n8\tb"), "a\nb");
        assert_eq!(strip_diff_marks("a\n+b"), "a\n+b");
    }

    proptest! {
        #[test]
        fn any_text_has_readings_without_blank_ends(quote in any::<String>()) {
            for form in quote_forms(&quote) {
                prop_assert!(!form.lines.first().unwrap().is_empty() && !form.lines.last().unwrap().is_empty());
            }
            let _ = strip_diff_marks(&quote);
        }
    }
}
