//! Suppression comments in the code, `review:allow(rust/a-rule) why`, and the findings they silence. Main type: [`AllowFilter`].
//!
//! The comment is on the line of the finding or on the lines right above it; it names rules or packs and gives a reason. A change cannot
//! allow what it adds: a comment added by the change silences only findings below high severity, and the receipt says that the change
//! added it. If the comment may not silence the finding, or gives no reason, the finding stays and says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::input::RulesInput;
use super::packs::names;
use super::target::{ChangedLineIndex, fold_into, line_at_head};
use crate::domain::change::FileChange;
use crate::domain::claim::Claim;
use crate::domain::finding::Severity;
use crate::domain::place::DiffSide;
use crate::domain::text::{FileText, shorten, strip_line};

/// Prefix of such a comment.
const MARK: &str = "review:allow(";
/// Maximum number of comments named in the receipt; more are counted.
const MOST_NAMED: usize = 20;
/// Maximum length of a shown reason, in characters.
const MOST_REASON: usize = 120;
/// Maximum number of comments read above one line.
const MOST_ABOVE: u32 = 10;

/// A suppression comment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowComment {
    names: Vec<String>,
    reason: String,
    /// `true` if nothing else is on its line.
    alone: bool,
    /// The folded comment: equal keys make two comments the same.
    text: String,
}

/// The suppression comments of one file by line, each with what the change did to it.
#[derive(Default)]
struct FileAllows {
    allows: BTreeMap<u32, (AllowComment, AllowChange)>,
}

/// A change's effect on a comment, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AllowChange {
    /// Unchanged.
    AsBefore,
    /// Moved within the file, or placed on another line.
    Moved,
    /// Added by the change.
    Added,
}

/// Applies suppression comments and collects those used so far.
pub(super) struct AllowFilter<'a> {
    input: &'a RulesInput<'a>,
    files: HashMap<usize, FileAllows>,
    count: u32,
    named: Vec<String>,
}

impl<'a> AllowFilter<'a> {
    pub(super) fn new(input: &'a RulesInput<'a>) -> Self {
        Self { input, files: HashMap::new(), count: 0, named: Vec::new() }
    }

    /// Returns the claim unless a comment at its line silences it. `file` is an index into the change, `line` is a line of its side;
    /// `stood` marks claims about code from before the change, with which a comment may have moved.
    pub(super) fn filter(
        &mut self,
        mut claim: Claim,
        file: usize,
        (side, line): (DiffSide, u32),
        stood: bool,
    ) -> Option<Claim> {
        let Some(change) = self.input.change.files.get(file) else { return Some(claim) };
        let input = self.input;
        let in_file = self.files.entry(file).or_insert_with(|| FileAllows::read(input, change));
        if in_file.allows.is_empty() {
            return Some(claim);
        }
        let head_line = if side == DiffSide::Old { line_at_head(change, line) } else { line };
        let Some((at, allow, stands)) = in_file.for_rule(&claim.origin.name, head_line) else { return Some(claim) };
        if allow.reason.is_empty() {
            let why = format!(
                "\n\nA comment on line {at} asks to allow this without a reason, and so does not count: write the reason after the bracket."
            );
            claim.body.push_str(&why);
            return Some(claim);
        }
        // A comment moved above added code was intended for something else.
        let is_changes = stands == AllowChange::Added || stands == AllowChange::Moved && !stood;
        if is_changes && claim.severity <= Severity::High {
            let came = if stands == AllowChange::Added { "came" } else { "came to that line" };
            let why = format!(
                "\n\nA comment on line {at} asks to allow this. It {came} with this change, and a change cannot allow what is {} in it: \
                 let the comment reach the target by itself first.",
                claim.severity
            );
            claim.body.push_str(&why);
            return Some(claim);
        }
        self.count += 1;
        if self.named.len() < MOST_NAMED {
            let by = match stands {
                AllowChange::Added => "by a comment that this change adds",
                AllowChange::Moved => "by a comment that this change moves",
                AllowChange::AsBefore => "by a comment",
            };
            let reason = shorten(&strip_line(&allow.reason), MOST_REASON);
            let lines = claim.place.lines.map_or_else(String::new, |lines| format!(":{}", lines.start()));
            self.named.push(format!("{} at {}{lines} is allowed {by}: {reason}", claim.origin.name, claim.place.path));
        }
        None
    }

    /// Writes the notes about used comments; returns the number of silenced claims.
    pub(super) fn finish(self, notes: &mut BTreeSet<String>) -> u32 {
        let more = (self.count as usize).saturating_sub(self.named.len());
        notes.extend(self.named);
        if more > 0 {
            notes.insert(format!("{more} more findings are allowed by comments"));
        }
        self.count
    }
}

impl FileAllows {
    fn read(input: &RulesInput<'_>, file: &FileChange) -> Self {
        let Ok(new) = input.new.read(&file.path) else { return Self::default() };
        let found = parse_comments(file.language, &new);
        if found.is_empty() {
            return Self::default();
        }
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        // A comment moved within the file is not an addition, but is no longer where its author put it; a second copy is an addition.
        let mut before: HashMap<String, usize> = HashMap::new();
        if let Ok(old) = input.old.read(file.path_at(DiffSide::Old)) {
            for (_, allow) in parse_comments(file.language, &old) {
                *before.entry(allow.text).or_default() += 1;
            }
        }
        let mut now: HashMap<&str, usize> = HashMap::new();
        for allow in found.values() {
            *now.entry(&allow.text).or_default() += 1;
        }
        let stands = |line: u32, allow: &AllowComment| {
            let (now, before) = (now.get(allow.text.as_str()), before.get(&allow.text));
            match touched.covers(line) {
                false => AllowChange::AsBefore,
                true if now > before => AllowChange::Added,
                true => AllowChange::Moved,
            }
        };
        let all: Vec<AllowChange> = found.iter().map(|(line, allow)| stands(*line, allow)).collect();
        let allows = found.into_iter().zip(all).map(|((line, allow), stands)| (line, (allow, stands))).collect();
        Self { allows }
    }

    /// Finds the comment about a rule at a line: its place and what the change did to it. Comments that count take precedence.
    fn for_rule(&self, rule: &str, line: u32) -> Option<(u32, &AllowComment, AllowChange)> {
        let mut lines = vec![line];
        let mut above = line;
        while let Some(next) = above.checked_sub(1).filter(|_| line - above < MOST_ABOVE) {
            if !self.allows.get(&next).is_some_and(|(allow, _)| allow.alone) {
                break;
            }
            lines.push(next);
            above = next;
        }
        let found =
            lines.iter().filter_map(|line| self.allows.get(line).map(|(allow, stands)| (*line, allow, *stands)));
        let about = found.filter(|(_, allow, _)| allow.names.iter().any(|name| names(name, rule)));
        about.min_by_key(|(_, allow, stands)| (allow.reason.is_empty(), *stands))
    }
}

/// Comment prefixes of a language; all known prefixes if the language is unknown.
fn comment_prefixes(language: Option<&str>) -> &'static [&'static str] {
    match language {
        Some("rust" | "javascript" | "typescript" | "tsx" | "go" | "java" | "c" | "cpp") => &["//", "/*"],
        Some("python" | "shell" | "yaml" | "toml" | "ruby") => &["#"],
        _ => &["//", "/*", "#", "<!--", "--", ";"],
    }
}

fn parse_comments(language: Option<&str>, text: &FileText) -> BTreeMap<u32, AllowComment> {
    let mut found = BTreeMap::new();
    let mut seen = 0;
    for at in memchr::memmem::find_iter(text.text().as_bytes(), MARK.as_bytes()) {
        let number = text.line_at(at);
        if number == seen {
            continue;
        }
        seen = number;
        if let Some(allow) = text.line(number).and_then(|line| parse(comment_prefixes(language), line)) {
            found.insert(number, allow);
        }
    }
    found
}

fn parse(openers: &[&str], line: &str) -> Option<AllowComment> {
    let (before, after) = line.split_once(MARK)?;
    let before = before.trim_end();
    let code = openers.iter().find_map(|opener| before.strip_suffix(opener))?;
    // Inside a string it is not a comment.
    if code.matches(['"', '`']).count() % 2 == 1 {
        return None;
    }
    let (list, reason) = after.split_once(')')?;
    let names: Vec<String> =
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let reason = reason.trim().trim_end_matches("*/}").trim_end_matches("*/").trim_end_matches("-->");
    let reason = reason.trim().trim_start_matches([':', '-', '—', '–']).trim();
    let has_words = reason.chars().any(char::is_alphanumeric);
    let mut text = String::new();
    fold_into(&mut text, line.get(code.len()..)?);
    let reason = if has_words { reason.to_owned() } else { String::new() };
    Some(AllowComment { names, reason, alone: code.trim().trim_end_matches('{').trim().is_empty(), text })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_change::SyntheticChange;
    use super::*;

    fn read(line: &str) -> Option<(Vec<String>, String, bool)> {
        parse(comment_prefixes(None), line).map(|allow| (allow.names, allow.reason, allow.alone))
    }

    #[test]
    fn a_comment_names_rules_and_gives_a_reason() {
        let is = |names: &[&str], reason: &str, alone: bool| {
            Some((names.iter().map(|name| (*name).to_owned()).collect(), reason.to_owned(), alone))
        };
        assert_eq!(read("  // review:allow(rust/a) it is fine"), is(&["rust/a"], "it is fine", true));
        assert_eq!(read("a(); // review:allow(rust/a, go): fine"), is(&["rust/a", "go"], "fine", false));
        assert_eq!(read("# review:allow(a/b)"), is(&["a/b"], "", true));
        assert_eq!(read("{/* review:allow(a/b) so */}"), is(&["a/b"], "so", true));
        assert_eq!(read("<!-- review:allow(a/b) so -->"), is(&["a/b"], "so", true));
        assert_eq!(read("a /* review:allow(a/b) — */"), is(&["a/b"], "", false));
        assert_eq!(read("print(\"# review:allow(a/b) so\")"), None);
        assert_eq!(read("review:allow(a/b) so"), None);
        assert_eq!(read("// review:allow(a/b so"), None);
        assert_eq!(parse(comment_prefixes(Some("python")), "// review:allow(a/b) so"), None);
    }

    /// `eval` is high, `== NaN` in Rust is lower.
    fn review(change: &SyntheticChange) -> (Vec<String>, u32, Vec<String>) {
        let report = change.review();
        let bodies = report.claims.into_iter().map(|claim| claim.body).collect();
        (bodies, report.suppressed, report.notes)
    }

    #[test]
    fn what_is_less_than_high_may_be_allowed_by_the_change_and_the_receipt_says_so() {
        let text = "fn a() {\n    // review:allow(rust/unfinished-code) the next change writes it\n    todo!()\n}\n";
        let (bodies, count, notes) = review(&SyntheticChange::default().now("src/a.rs", text));
        assert_eq!((bodies.len(), count), (0, 1));
        let told = "rust/unfinished-code at src/a.rs:3 is allowed by a comment that this change adds: the next change writes it";
        assert_eq!(notes, [told]);
    }

    #[test]
    fn without_a_reason_it_does_not_count() {
        let text = "fn a() {\n    todo!() // review:allow(rust)\n}\n";
        let (bodies, count, _) = review(&SyntheticChange::default().now("src/a.rs", text));
        assert_eq!(count, 0);
        assert!(bodies[0].contains("without a reason"), "{bodies:?}");
    }

    fn token_line() -> String {
        ["token = \"ghp_", "kX9mQ2vL7pR4tW8zB3nDq7Zt2Lw9Xc4Vb6Nm", "\"\n"].concat()
    }

    #[test]
    fn a_change_cannot_allow_what_is_high_in_it() {
        let secret = token_line();
        let text = format!("# review:allow(general/secret-added) a test account\n{secret}");
        let (bodies, count, _) = review(&SyntheticChange::default().now("a.py", &text));
        assert_eq!(count, 0);
        assert!(bodies[0].contains("cannot allow"), "{bodies:?}");
        // It was there before, for another value.
        let old = text.replace("kX9m", "zzzz");
        let (bodies, count, notes) = review(&SyntheticChange::default().was("a.py", &old).now("a.py", &text));
        assert!(bodies.len() + usize::try_from(count).unwrap() <= 1, "{bodies:?} {notes:?}");
        // A copy of a comment is an addition.
        let old = "# review:allow(general/secret-added) a test account\nx = 1\n";
        let (bodies, count, _) =
            review(&SyntheticChange::default().was("a.py", old).now("a.py", &format!("{old}{text}")));
        assert_eq!((bodies.len(), count), (1, 0));
    }

    #[test]
    fn a_comment_that_moves_over_what_the_change_brings_does_not_allow_what_is_high() {
        let allow = "# review:allow(general/secret-added) a test account\n";
        let secret = token_line();
        let old = format!("{allow}first = 1\n\n\nsecond = 2\nthird = 3\n");
        let new = format!("first = 1\n\n\nsecond = 2\n{allow}{secret}third = 3\n");
        let (bodies, count, _) = review(&SyntheticChange::default().was("a.py", &old).now("a.py", &new));
        assert_eq!((bodies.len(), count), (1, 0));
        assert!(bodies[0].contains("It came to that line with this change"), "{bodies:?}");
        // Left where its author put it, it counts.
        let new = old.replace("first = 1\n", &secret);
        let (bodies, count, notes) = review(&SyntheticChange::default().was("a.py", &old).now("a.py", &new));
        assert_eq!((bodies.len(), count), (0, 1), "{notes:?}");
    }

    #[test]
    fn what_allows_nothing_is_no_fault() {
        let text = "// review:allow(rust/no-such-rule) why\nfn a() {}\n";
        assert_eq!(review(&SyntheticChange::default().now("src/a.rs", text)), (Vec::new(), 0, Vec::new()));
    }
}
