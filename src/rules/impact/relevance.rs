//! Checks without parsing whether a change to a file may affect its definitions, for changes of many files. Main function: [`is_analyzed`].

use std::sync::LazyLock;

use regex::Regex;

use super::super::sides::BothSides;
use super::super::target::read_text;
use crate::domain::change::{FileChange, FileStatus, HunkSpan};
use crate::domain::place::DiffSide;
use crate::domain::text::{FileText, LazyPattern};
use crate::sys::cancel::CancelReason;

/// Number of changed files above which only those are parsed whose changed lines may be definitions.
const MANY: usize = 60;
/// Maximum number of lines above a changed one that are searched for the line it belongs to.
const FARTHEST: u32 = 200;
/// Maximum number of changed lines of a file that are examined; a file with more is parsed.
const MOST: u32 = 2_000;

/// Lines that begin a definition.
static BEGINS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "fn|func|function|def|class|struct|enum|trait|interface|impl|type|const|static|union|export|macro_rules!|#define|public|\
                 protected|private|abstract";
    let before = r"(?:async\s+|pub(?:\([a-z ]+\))?\s+|default\s+|unsafe\s+|declare\s+|final\s+|@\w+\s+)*";
    // A C function begins at the left margin; a method of Java or of a class has no keyword.
    let without_words = r"^\S.*[({,]\s*$|^\s*[\w<>\[\],.? ]+\(.*[{,(]\s*$";
    // Inside a function these define locals.
    let at_margin = r"^(?:var|let)\b";
    Regex::new(&format!(r"^\s*{before}(?:{words})\b|{at_margin}|{without_words}")).ok()
});

/// Lines that look like the head of a function but are not.
static STEPS: LazyPattern = LazyPattern::new(
    r"^\s*(?:\}\s*)?(?:if|else|for|while|switch|catch|match|return|with|synchronized|throw|await|assert\w*|expect)\b",
);

/// Lines whose members are listed one by one below them.
static LISTS: LazyPattern =
    LazyPattern::new(r"\b(?:enum|trait|interface|const|type|class|struct|impl)\b|\(\s*$|\([^)]*,\s*$");

/// Checks whether the definitions of a file are needed on both sides.
pub(super) fn is_analyzed(sides: &BothSides<'_>, file: &FileChange) -> Result<bool, CancelReason> {
    let has_text = !file.binary && file.generated.is_none() && !file.hunks.is_empty();
    Ok(has_text && (sides.change.files.len() <= MANY || any_side(sides, file)?))
}

/// Checks whether a side of a file has definitions on its changed lines.
fn any_side(sides: &BothSides<'_>, file: &FileChange) -> Result<bool, CancelReason> {
    for (side, gone) in [(DiffSide::Old, FileStatus::Added), (DiffSide::New, FileStatus::Deleted)] {
        let tree = if side == DiffSide::Old { sides.old } else { sides.new };
        if file.status != gone
            && let Some(text) = read_text(tree, file.path_at(side))?
            && may_define(file, side, &text)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks whether one of the changed lines of a side begins a definition, or is in a list of parameters or members.
fn may_define(file: &FileChange, side: DiffSide, text: &FileText) -> bool {
    let (Some(begins), Some(lists), Some(steps)) = (BEGINS.as_ref(), LISTS.regex(), STEPS.regex()) else {
        return true;
    };
    let mut seen = 0;
    for run in file.runs() {
        let span: HunkSpan = if side == DiffSide::Old { run.old } else { run.new };
        let Some(lines) = span.range() else { continue };
        for (number, line) in text.lines(lines) {
            seen += 1;
            let in_list = || opening_line(text, number, line).is_some_and(|opener| lists.is_match(opener));
            if seen > MOST || (begins.is_match(line) && !steps.is_match(line)) || in_list() {
                return true;
            }
        }
    }
    false
}

/// Returns the nearest line above that is indented less.
fn opening_line<'t>(text: &'t FileText, number: u32, line: &str) -> Option<&'t str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(line);
    let above = (number.saturating_sub(FARTHEST).max(1)..number).rev().filter_map(|at| text.line(at));
    above.filter(|line| !line.trim().is_empty()).find(|line| depth(line) < own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{ChangeRun, Hunk};
    use crate::domain::path::RepoPath;

    fn may(text: &str, line: u32) -> bool {
        let run = ChangeRun { old: HunkSpan::default(), new: HunkSpan { start: line, count: 1 } };
        let hunks = vec![Hunk { runs: vec![run], ..Hunk::default() }];
        let file = FileChange { hunks, ..FileChange::modified(RepoPath::parse("a.rs").unwrap()) };
        may_define(&file, DiffSide::New, &FileText::new(text, "UTF-8"))
    }

    #[test]
    fn heads_parameters_and_members_are_seen_and_bodies_are_not() {
        let rust = "pub async fn run(\n    a: u8,\n) {\n    call(a);\n    if a {\n        b();\n    }\n}\nenum E {\n    One,\n}\n";
        assert!(may(rust, 1) && may(rust, 2) && may(rust, 10));
        assert!(!may(rust, 4) && !may(rust, 6));
        let java = "class A {\n    int of(int a) {\n        return a;\n    }\n}\n";
        assert!(may(java, 2) && !may(java, 3));
        assert!(may("const (\n\tA = iota\n)\n", 2));
        assert!(may("    def f(self, a):\n        pass\n", 1));
    }
}
