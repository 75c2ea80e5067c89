//! Conditions on a text for a rule to match in it, known without parsing it. Main type: [`TextCondition`].
//!
//! How much of a text a rule then has to see belongs in `syntax`.

use memchr::memmem;

/// Number of bytes before and after an operator in which its operands are compared.
const OPERANDS: usize = 512;
/// Number of bytes of the shortest operands that are worth a look.
const SHORTEST: usize = 3;
/// Number of operators in a text that are examined; one with more may have anything.
const MOST_OPERATORS: usize = 10_000;

/// The strings that a text must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextCondition {
    /// Strings of which one must be in it; empty if none are known.
    pub(super) literals: Vec<String>,
    /// Strings of which one must be in it as well.
    pub(super) also: Vec<String>,
    /// Operators of which one must stand between two equal operands.
    pub(super) between_equal: Vec<String>,
}

impl TextCondition {
    /// Checks whether a text may have a match.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        let holds = |word: &String| memmem::find(text, word.as_bytes()).is_some();
        let holds_one = |words: &[String]| words.is_empty() || words.iter().any(holds);
        let is_met = |operator: &String| is_between_equal(text, operator.as_bytes());
        holds_one(&self.literals)
            && holds_one(&self.also)
            && (self.between_equal.is_empty() || self.between_equal.iter().any(is_met))
    }
}

/// Checks whether an operator may stand between two operands that are equal but for blanks.
fn is_between_equal(text: &[u8], operator: &[u8]) -> bool {
    memmem::find_iter(text, operator).enumerate().any(|(number, at)| {
        let (before, after) = (&text[..at], &text[at + operator.len()..]);
        let before = &before[before.len().saturating_sub(OPERANDS)..];
        let after = &after[..after.len().min(OPERANDS)];
        number >= MOST_OPERATORS || has_comment_near(before, after) || may_be_equal(before, after)
    })
}

/// Checks for a comment between an operator and one of its operands.
fn has_comment_near(before: &[u8], after: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let line = &before[memchr::memrchr(b'\n', before).map_or(0, |end| end + 1)..];
    let after = after.trim_ascii_start();
    before.ends_with(b"*/")
        || memmem::find(line, b"//").is_some()
        || after.starts_with(b"//")
        || after.starts_with(b"/*")
}

/// Checks whether some code ends with an operand that is equal to the one with which other code begins.
fn may_be_equal(before: &[u8], after: &[u8]) -> bool {
    let Some(first) = after.trim_ascii_start().first() else { return false };
    memchr::memchr_iter(*first, before).any(|at| {
        let (mut length, mut rest) = (0, after);
        let is_next = |byte: &u8| {
            rest = rest.trim_ascii_start();
            let next = rest.split_off_first();
            length += 1;
            next == Some(byte)
        };
        let mut operand = before[at..].iter().filter(|byte| !byte.is_ascii_whitespace());
        !is_within(*first, &before[..at]) && operand.all(is_next) && length >= SHORTEST && !goes_on(rest)
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Checks whether an operand begins before this byte.
fn is_within(first: u8, before: &[u8]) -> bool {
    let ends = |end: &[u8]| before.ends_with(end);
    is_word(first) && (before.last().is_some_and(|last| is_word(*last)) || ends(b"::") || ends(b".") && !ends(b".."))
}

/// Checks whether an operand goes on with what follows.
fn goes_on(rest: &[u8]) -> bool {
    let begins = |begin: &[u8]| rest.trim_ascii_start().starts_with(begin);
    rest.first().is_some_and(|next| is_word(*next) || b"([?".contains(next))
        || begins(b"::")
        || begins(b".") && !begins(b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_string_of_each_list_must_be_there() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let both = TextCondition { literals: words(&["a", "b"]), also: words(&["c"]), ..TextCondition::default() };
        assert!(both.may_match(b"bc") && !both.may_match(b"b") && !both.may_match(b"c"));
        assert!(TextCondition::default().may_match(b""));
    }

    #[test]
    fn an_operator_between_equal_operands_is_seen() {
        for (text, stands) in [
            ("if first == first {", true),
            ("if a.first == a.first {", true),
            ("if a\n    .first()\n    == a.first() {", true),
            ("if x || a.first == 1\n    && a.first == 1 {", true),
            ("if first // why\n    == first {", true),
            ("if first /* why */ == first {", true),
            ("if first == // why\n    first {", true),
            ("if first == second {", false),
            ("if a.first == b.first {", false),
            ("if a.first == first {", false),
            ("if first == first.next {", false),
            ("if first\n    .a == first {", false),
            ("if first == first\n    .a {", false),
            ("if first && first() {", false),
            ("if a::first == first {", false),
            ("for x in 0..first == first..9 {", true),
            ("let url = \"https://a\";\nif first == second {", false),
            ("ab == ab", false),
            ("==", false),
        ] {
            let condition =
                TextCondition { between_equal: vec!["==".to_owned(), "&&".to_owned()], ..TextCondition::default() };
            assert_eq!(condition.may_match(text.as_bytes()), stands, "{text}");
        }
    }

    #[test]
    fn a_text_with_too_many_operators_may_have_anything() {
        let text = |operators: usize| (0..operators).map(|at| format!("a{at} == b{at};\n")).collect::<String>();
        assert!(!is_between_equal(text(MOST_OPERATORS).as_bytes(), b"=="));
        assert!(is_between_equal(text(MOST_OPERATORS + 1).as_bytes(), b"=="));
    }
}
