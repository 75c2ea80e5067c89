//! Conditions on a text for a rule to match in it, known without parsing it. Main type: [`TextCondition`].
//!
//! How much of a text a rule then has to see belongs in `syntax`.

use memchr::memmem;

use crate::domain::text::is_word_byte;

/// Number of bytes before an operator in which its operands are compared; after it, twice as many, as blanks may differ.
const OPERANDS: usize = 512;
/// Number of bytes that are compared in a text; where that is not enough it may have anything.
const MOST_COMPARED: usize = 1 << 20;

/// The strings and operators that a text must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextCondition {
    /// Strings of which one must be in it; empty if none are known.
    pub(super) literals: Vec<String>,
    /// Strings of which one must be in it as well.
    pub(super) also_literals: Vec<String>,
    /// Operators of which one must stand between two equal operands.
    pub(super) between_equal: Vec<String>,
}

impl TextCondition {
    /// Checks whether a text may have a match.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        let mut left = MOST_COMPARED;
        let mut is_met = |operator: &String| is_between_equal(text, operator.as_bytes(), &mut left);
        self.has_literal(text)
            && has_one(text, &self.also_literals)
            && (self.between_equal.is_empty() || self.between_equal.iter().any(&mut is_met))
    }

    /// Checks whether a text has one of the literals.
    pub(super) fn has_literal(&self, text: &[u8]) -> bool {
        has_one(text, &self.literals)
    }
}

fn has_one(text: &[u8], words: &[String]) -> bool {
    words.is_empty() || words.iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
}

/// Checks whether an operator may stand between two operands that are equal but for blanks; `left`: the number of bytes that may be compared.
fn is_between_equal(text: &[u8], operator: &[u8], left: &mut usize) -> bool {
    memmem::find_iter(text, operator).filter(|at| !is_no_operator(text, *at, operator)).any(|at| {
        let (before, after) = (&text[..at], &text[at + operator.len()..]);
        let begin = before.len().saturating_sub(OPERANDS);
        let after = &after[..after.len().min(2 * OPERANDS)];
        let before = &before[begin..];
        may_be_apart(before, begin > 0, after) || may_be_equal(before, after, left)
    })
}

/// Checks whether an operator is not one by what is around it: it ends in `=`, or is a part of `===`, `!==` or `->`, or of a line of dashes.
fn is_no_operator(text: &[u8], at: usize, operator: &[u8]) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let after = text.get(at + operator.len());
    let around = &text[at.saturating_sub(2)..text.len().min(at + 3)];
    after == Some(&b'=')
        || operator == b"-" && (after == Some(&b'>') || memmem::find(around, b"---").is_some())
        || operator.starts_with(b"=") && matches!(before, Some(b'=' | b'!'))
}

/// Checks whether the operands of an operator may be so far apart, or so long, that nothing is known of them: a comment may be between.
fn may_be_apart(before: &[u8], is_cut: bool, after: &[u8]) -> bool {
    let begins_comment = |text: &[u8]| [&b"//"[..], b"/*", b"#"].iter().any(|mark| text.starts_with(mark));
    let has_comment = |line: &[u8]| memmem::find(line, b"//").is_some() || line.contains(&b'#');
    let after = after.trim_ascii_start();
    let line_start = |text: &[u8]| memchr::memrchr(b'\n', text).map(|end| end + 1);
    let line = &before[line_start(before).unwrap_or(0)..];
    let is_first = line.trim_ascii().is_empty();
    let above = before.trim_ascii_end();
    let (is_above_cut, above_line) = match line_start(above) {
        Some(start) => (false, &above[start..]),
        None => (is_cut, above),
    };
    let is_statement = before.iter().any(|byte| matches!(byte, b';' | b'{' | b'}'));
    after.is_empty()
        || begins_comment(after)
        || above.ends_with(b"*/")
        || is_first && (has_comment(above_line) || is_above_cut)
        || is_cut && !is_statement && !has_comment(line)
}

/// Checks whether some code ends with an operand that is equal to the one with which other code begins.
fn may_be_equal(before: &[u8], after: &[u8], left: &mut usize) -> bool {
    let Some(first) = after.trim_ascii_start().first() else { return false };
    memchr::memchr_iter(*first, before).any(|at| {
        let mut rest = after;
        let is_next = |byte: &u8| {
            *left = left.saturating_sub(1);
            rest = rest.trim_ascii_start();
            rest.split_off_first() == Some(byte)
        };
        let mut operand = before[at..].iter().filter(|byte| !byte.is_ascii_whitespace());
        let is_equal = !is_within(*first, &before[..at]) && operand.all(is_next) && !goes_on(rest);
        is_equal || *left == 0
    })
}

/// Checks whether an operand begins before this byte.
fn is_within(first: u8, before: &[u8]) -> bool {
    let ends = |end: &[u8]| before.ends_with(end);
    is_word_byte(first)
        && (before.last().is_some_and(|last| is_word_byte(*last)) || ends(b"::") || ends(b".") && !ends(b".."))
}

/// Checks whether an operand goes on with what follows.
fn goes_on(rest: &[u8]) -> bool {
    let begins = |begin: &[u8]| rest.trim_ascii_start().starts_with(begin);
    rest.first().is_some_and(|next| is_word_byte(*next) || b"([".contains(next))
        || begins(b"::")
        || begins(b".") && !begins(b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_string_of_each_list_must_be_there() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (literals, also_literals) = (words(&["a", "b"]), words(&["c"]));
        let both = TextCondition { literals, also_literals, ..TextCondition::default() };
        assert!(both.may_match(b"bc") && !both.may_match(b"b") && !both.may_match(b"c"));
        assert!(both.has_literal(b"b") && TextCondition::default().may_match(b""));
    }

    fn may_match(text: &str) -> bool {
        let between_equal = ["==", "&&", "-"].map(str::to_owned).to_vec();
        TextCondition { between_equal, ..TextCondition::default() }.may_match(text.as_bytes())
    }

    #[test]
    fn an_operator_between_equal_operands_is_seen() {
        let long = format!("s.get(\"{}\").x", "k".repeat(OPERANDS));
        for (text, is_seen) in [
            ("if first == first {", true),
            ("x==x", true),
            ("if a.first == a.first {", true),
            ("if a\n    .first()\n    == a.first() {", true),
            ("if x || a.first == 1\n    && a.first == 1 {", true),
            ("self.end\n\t- self.end", true),
            ("self.end -\n    self.end", true),
            ("if first // why\n    == first {", true),
            ("if first # why\n    == first {", true),
            ("if first /* why */ == first {", true),
            ("if first == // why\n    first {", true),
            (&format!("if first // {}\n    == first {{", "why ".repeat(OPERANDS)), true),
            (&format!("if first =={}first {{", " ".repeat(2 * OPERANDS)), true),
            (&format!("let a = {long} && {long};"), true),
            ("if a == a.b ? c : d", false),
            ("if a.b==a.b?c:d", true),
            ("if first == second {", false),
            ("if a.first == b.first {", false),
            ("if a.first == first {", false),
            ("if first == first.next {", false),
            ("if first\n    .a == first {", false),
            ("if first == first\n    .a {", false),
            ("if first && first() {", false),
            ("if a::first == first {", false),
            ("for x in 0..first == first..9 {", true),
            ("fn first() -> u8 { // the first - or the second", false),
            ("let url = \"https://a\";\nif first == second {", false),
            ("a.b -a.b", true),
            ("fn a() -> a {", false),
            ("// ----------", false),
            ("x === x", false),
            ("x !== x", false),
            ("x -= x", false),
            ("-a.b--a.b", true),
            ("==", true),
            ("=", false),
        ] {
            assert_eq!(may_match(text), is_seen, "{text}");
        }
    }

    #[test]
    fn a_text_that_takes_too_long_may_have_anything() {
        let text = format!("{}=={}x;\n", "(".repeat(400), "(".repeat(1_021));
        assert!(!may_match(&format!("{{{text}")) && may_match(&format!("{{{text}").repeat(100)));
    }
}
