//! Asynchronous functions of scripts, found without a parser. Main functions: [`begins_named`], [`names`].
//!
//! A call of such a function means something else, so code that is examined needs those that it calls. Where it is not clear what is one,
//! or what its name is, that is for the caller to examine as well.

use std::collections::BTreeSet;

use memchr::memmem;

use crate::domain::text::LazyPattern;

/// The word with which such a function begins.
pub(super) const WORD: &str = "async";
/// Lines that begin one which has a name.
static NAMED: LazyPattern = LazyPattern::new(
    r"^(?:@[\w.]+(?:\([^)]*\))?\s*)*[^(]*\basync\b|=\s*(?:/\*.*?\*/\s*)*async\b|\basync\s+function\b\s*\*?\s*[\w$]",
);
/// Words of a declaration that are no names.
const DECLARING: &[&str] = &["const", "default", "export", "let", "static", "this", "var"];

/// The name of a function, by the code after the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FunctionName<'t> {
    Known(&'t str),
    /// It has none of its own: what it is assigned to may have one.
    None,
    Unknown,
}

/// Checks whether a line that has the word, without its margin, begins a function that has a name.
pub(super) fn begins_named(line: &str) -> bool {
    NAMED.regex().is_some_and(|named| named.is_match(line))
}

/// Returns the words that may be names of the functions that begin in the first `length` bytes of some code; `None` if the name of one is not
/// known.
pub(super) fn names(code: &str, length: usize) -> Option<BTreeSet<&str>> {
    let mut names = BTreeSet::new();
    let mut from = 0;
    for at in memmem::find_iter(code.get(..length)?.as_bytes(), WORD) {
        let (head, rest) = (&code[from..at], &code[at + WORD.len()..]);
        if code[..at].ends_with(is_part) || rest.starts_with(is_part) {
            continue;
        }
        let declared = head.contains(['=', ':']).then(|| words(head).filter(|word| !DECLARING.contains(word)));
        let mut declared = declared.into_iter().flatten().peekable();
        match FunctionName::read(rest) {
            FunctionName::Known(name) => drop(names.insert(name)),
            FunctionName::None if declared.peek().is_some() => {}
            FunctionName::None | FunctionName::Unknown => return None,
        }
        names.extend(declared);
        from = at + WORD.len();
    }
    Some(names)
}

/// Returns the words of a script.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_part(c)).filter(|word| !word.is_empty())
}

/// Checks for a character within a word of a script.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

impl<'t> FunctionName<'t> {
    /// Reads the name after the word with which a function begins.
    fn read(rest: &'t str) -> Self {
        let rest = rest.trim_start();
        let declared = rest.strip_prefix("function").filter(|rest| !rest.starts_with(is_part)).map(str::trim_start);
        let code = declared.unwrap_or(rest).trim_start_matches('*').trim_start();
        let code = code.strip_prefix('#').unwrap_or(code);
        let name = &code[..code.find(|c| !is_part(c)).unwrap_or(code.len())];
        let after = code[name.len()..].trim_start();
        match (name, declared) {
            ("", _) if after.starts_with(['(', '<']) => Self::None,
            ("", _) => Self::Unknown,
            (name, Some(_)) => Self::Known(name),
            // A method; the only parameter of a function without parentheses.
            (name, None) if after.starts_with(['(', '<']) => Self::Known(name),
            (_, None) if after.starts_with("=>") => Self::None,
            (_, None) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_function_may_be_called_by() {
        for (code, expected) in [
            ("async function run() {", Some(vec!["run"])),
            ("export default async function* run<T>() {", Some(vec!["run"])),
            ("async function\nrun() {", Some(vec!["run"])),
            ("const run = async (a) => {", Some(vec!["run"])),
            ("const run_async = async a => {", Some(vec!["run_async"])),
            ("const run: A = async function () {", Some(vec!["A", "run"])),
            ("exports.run = async function go() {", Some(vec!["exports", "go", "run"])),
            ("var a = b(), run = async () => {", Some(vec!["a", "b", "run"])),
            ("private static async run<T>() {", Some(vec!["run"])),
            ("async *$run() {", Some(vec!["$run"])),
            ("async #run() {", Some(vec!["run"])),
            ("async export() {", Some(vec!["export"])),
            ("test(async function run() {", Some(vec!["run"])),
            ("@a(\"async\") async run() {", None),
            ("async function /* a */ run() {", None),
            ("async [run]() {", None),
            ("async \"run\"() {", None),
            ("async (a) => {", None),
            ("static = async () => {", None),
            ("// async\nasync run() {", None),
        ] {
            let found = names(code, code.len()).map(|names| names.into_iter().collect::<Vec<_>>());
            assert_eq!(found, expected, "{code}");
        }
    }

    #[test]
    fn no_code_takes_more_than_its_length() {
        let code = format!("a = {}", "async,".repeat(100_000));
        assert_eq!(names(&code, code.len()), None);
        let code = "async a(async b(".repeat(100_000);
        assert_eq!(names(&code, code.len()).map(|names| names.len()), Some(2));
    }
}
