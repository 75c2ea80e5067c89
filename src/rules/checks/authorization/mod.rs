//! Authorization checks that a change removes from code that it leaves. Main function: [`find`].
//!
//! The blocks in which the sides of a file differ are parsed, their functions are paired by name (`pair`), and each pair is compared
//! (`statements`); decorators and annotations are compared as lines (`attributes`). A check that the change moved is not lost:
//! [`pair::ChangedText`] holds the lines added in all files.

mod attributes;
mod code;
mod pair;
mod statements;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::changed_lines::SideLines;
use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, RuleMatch, is_markup, is_test_path, read_text};
use super::{CheckInfo, CheckNotes};
use crate::domain::change::{ChangeSet, FileChange, FileMode, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{FileText, LazyPattern};
use crate::syntax::{Grammar, ParseFailure, ParseLimits, ScanFocus, TreeCache, different_trees};
use crate::sys::cancel::CancelReason;
use crate::sys::threads::for_each_file;
use crate::workspace::Workspace;
use code::FunctionCode;
use pair::{ChangedText, FunctionPair, LostCheck};

/// Larger texts are not compared; that they are not parsed is in the receipt.
const LARGEST: usize = 1 << 20;
/// Time limit for one file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of lines after the first one of a statement on which its condition ends.
const LONGEST_CONDITION: u32 = 20;

/// Number of places from which losses are reported as one.
const MOST_ALIKE: usize = 4;

/// A change with more lines of code is a rewrite: its removals are mostly intentional, so they are hints. A check removed by a small
/// change is a finding.
const SMALL: u64 = 30;
/// A change of more files with code is one, too.
const FEW: usize = 3;

/// The check for removed authorization.
pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/authorisation-removed",
    title: "Authorization check removed, but the guarded code remains",
    message: "Unless something before it turns them away, whoever reaches this code can now do what it does. Bring the check back, or name in the \
              commit what asks instead.",
    severity: Severity::High,
    category: Category::AccessControl,
    cwe: Some("CWE-862"),
};

/// Finds the checks that the change removed.
pub(super) fn find(sides: &BothSides<'_>, memory: &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
    let files = &sides.change.files;
    let results = for_each_file(files.len(), |at| if sides.asks(at) { may_lose(sides, at) } else { Ok(false) });
    let mut candidates = Vec::new();
    for (at, may_lose) in results.into_iter().enumerate() {
        if may_lose.transpose()? == Some(true) {
            candidates.push(at);
        }
    }
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let around = read_added(sides)?;
    let found = for_each_file(candidates.len(), |number| {
        let file = candidates.get(number).and_then(|at| files.get(*at));
        file.map_or(Ok(Vec::new()), |file| hits(sides, memory, file, &around))
    });
    let mut all = Vec::new();
    for (at, of_file) in candidates.into_iter().zip(found) {
        all.extend(of_file.transpose()?.into_iter().flatten().map(|hit| (at, hit)));
    }
    // A loss repeated in many places is intentional: it is reported once, with the number of places.
    if let (count, Some((_, hit))) = (all.len(), all.first_mut())
        && count > MOST_ALIKE
    {
        let detail = hit.detail.take().unwrap_or_default();
        hit.detail = Some(format!("{detail} The change does the same in {} other places.", count - 1));
        all.truncate(1);
    }
    if !all.is_empty() && is_intentional(sides.change) {
        for (_, hit) in &mut all {
            hit.is_hint = true;
        }
    }
    Ok(all)
}

/// Words of which one must have become rarer somewhere before a file is worth parsing. All are ASCII: with the letters of all languages the
/// pattern takes ten times as long to compile.
static SIGNS: LazyPattern = LazyPattern::new(
    r"(?i-u)auth|permi|require|csrf|useguards|secured|role|admin|staff|superuser|owner|access|denied|denyall|forbidden|\bcan_|hmac\.|signature|logged_?in|login|current_?user|req(?:uest)?\.user|allowed|\b40[13]\b|token|sensitive_",
);

/// Checks whether removals are probably intentional: the change is a rewrite, or a commit message says so.
fn is_intentional(change: &ChangeSet) -> bool {
    !is_small(&change.files) || is_announced(change)
}

/// Words with which a commit message says that something is removed or allowed.
static ANNOUNCED: LazyPattern = LazyPattern::new(
    r"(?i-u)\b(?:remov(?:e[sd]?|ing)|drop(?:s|ped)?|non-?fatal|ignor(?:e[sd]?|ing)|allow(?:s|ed|ing)?|optional|no longer|un(?:needed|necessary|used)|redundant|simplif\w+|clean(?:s|ed)? ?up|refactor\w*|revert\w*|disabl(?:e[sd]?|ing)|relax\w*|skip\w*|useless|obsolete|dead code|double[ -](?:free|close)|use[ -]after[ -]free|already (?:freed|closed|released))\b",
);

/// Checks whether a commit message of the change announces a removal: then a removed guard is probably intentional.
fn is_announced(change: &ChangeSet) -> bool {
    let says = |text: &str| ANNOUNCED.is_in(text);
    change.commits.iter().any(|commit| says(&commit.subject) || says(&commit.body))
}

/// Checks whether the change touches few lines of code, tests aside.
fn is_small(files: &[FileChange]) -> bool {
    let is_code = |file: &&FileChange| file.language.and_then(Grammar::of).is_some() && !is_test_path(&file.path);
    let lines = files.iter().filter(is_code).map(|file| u64::from(file.additions) + u64::from(file.deletions));
    files.iter().filter(is_code).count() <= FEW && lines.sum::<u64>() <= SMALL
}

/// Both sides of a file that may have lost something.
struct GuardedFile {
    grammar: Grammar,
    old: Arc<FileText>,
    new: Arc<FileText>,
}

/// Checks whether the changed lines of a file make it worth to be parsed.
fn may_lose(sides: &BothSides<'_>, at: usize) -> Result<bool, CancelReason> {
    sides.cancel.check()?;
    if sides.change.files.get(at).and_then(grammar_of).is_none() {
        return Ok(false);
    }
    let old = changed_lines(sides, at, DiffSide::Old)?;
    let new = changed_lines(sides, at, DiffSide::New)?;
    Ok(old.zip(new).is_some_and(|(old, new)| has_fewer_signs(&old, &new)))
}

fn guarded_file(sides: &BothSides<'_>, file: &FileChange) -> Result<Option<GuardedFile>, CancelReason> {
    let Some(grammar) = grammar_of(file) else { return Ok(None) };
    let Some(old) = read(sides.old, file, DiffSide::Old)? else { return Ok(None) };
    let Some(new) = read(sides.new, file, DiffSide::New)? else { return Ok(None) };
    let grammar = file.language.and_then(|language| Grammar::of_text(language, new.text())).unwrap_or(grammar);
    Ok(Some(GuardedFile { grammar, old, new }))
}

fn hits(
    sides: &BothSides<'_>,
    memory: &CheckNotes,
    file: &FileChange,
    around: &ChangedText,
) -> Result<Vec<RuleMatch>, CancelReason> {
    let Some(both) = guarded_file(sides, file)? else { return Ok(Vec::new()) };
    match losses(sides.trees, file, &both, around, &ParseLimits::new(sides.cancel, PATIENCE)) {
        Ok(lost) => Ok(lost
            .into_iter()
            .map(|lost| {
                let mut hit = RuleMatch::from_lines(&both.old, lost.lines);
                hit.detail = Some(lost.detail);
                hit
            })
            .collect()),
        Err(ParseFailure::Stopped(stopped)) => Err(stopped),
        Err(why) => {
            let path = file.path_at(DiffSide::Old);
            memory.note(format!("what the change takes away from {path} was not wholly looked at: {why}"));
            Ok(Vec::new())
        }
    }
}

fn grammar_of(file: &FileChange) -> Option<Grammar> {
    let plain =
        matches!(file.status, FileStatus::Modified | FileStatus::Renamed) && file.new_mode != Some(FileMode::Link);
    if !plain || file.without_text().is_some() || file.deletions == 0 || is_test_path(&file.path) {
        return None;
    }
    let grammar = Grammar::of(file.language?)?;
    (!matches!(grammar, Grammar::Bash | Grammar::Yaml)).then_some(grammar)
}

/// Reads a side of a file; `None` if it is unreadable (reported elsewhere) or too large.
fn read(tree: &dyn Workspace, file: &FileChange, side: DiffSide) -> Result<Option<Arc<FileText>>, CancelReason> {
    let text = read_text(tree, file.path_at(side))?;
    Ok(text.filter(|text| text.text().len() <= LARGEST && !is_markup(text)))
}

/// Reads the changed lines of a side of a file, if [`read`] reads its text.
fn changed_lines(sides: &BothSides<'_>, at: usize, side: DiffSide) -> Result<Option<Arc<SideLines>>, CancelReason> {
    let lines = sides.changed_lines(at, side)?;
    Ok(lines.filter(|lines| lines.text_bytes <= LARGEST && !lines.is_markup))
}

/// Checks whether some place of the file has fewer of the words that authorization checks consist of.
fn has_fewer_signs(old: &SideLines, new: &SideLines) -> bool {
    let count = |lines: &str| SIGNS.regex().map_or(0, |signs| signs.find_iter(lines).count());
    old.runs.iter().zip(&new.runs).any(|(old, new)| !old.is_empty() && count(old) > count(new))
}

/// Reads all lines that the change adds.
fn read_added(sides: &BothSides<'_>) -> Result<ChangedText, CancelReason> {
    let mut around = ChangedText::default();
    for (at, file) in sides.change.files.iter().enumerate() {
        sides.cancel.check()?;
        if file.language.is_none() || file.status == FileStatus::Deleted || file.additions == 0 {
            continue;
        }
        let Some(lines) = changed_lines(sides, at, DiffSide::New)? else { continue };
        for (_, line) in lines.lines(file, DiffSide::New) {
            around.0.push_str(&pair::squeeze(line));
            around.0.push('\n');
        }
    }
    Ok(around)
}

/// Finds what one file lost.
fn losses(
    trees: &TreeCache,
    file: &FileChange,
    both: &GuardedFile,
    around: &ChangedText,
    watch: &ParseLimits<'_>,
) -> Result<Vec<LostCheck>, ParseFailure> {
    let removed = ChangedLineIndex::of(file, DiffSide::Old);
    let extension = file.path.extension().unwrap_or_default();
    let mut lost = attributes::attributes(extension, &both.old, &both.new, &removed, around);
    if may_lose_statements(file, &both.old) {
        lost.extend(lost_statements(trees, file, both, &removed, around, watch)?);
    }
    lost.sort_by_key(|lost| lost.lines);
    // One place is reported once, for the first loss found there.
    lost.dedup_by_key(|lost| lost.lines.start());
    Ok(lost)
}

/// Compares the functions on both sides of a file.
fn lost_statements(
    trees: &TreeCache,
    file: &FileChange,
    GuardedFile { grammar, old, new }: &GuardedFile,
    removed: &ChangedLineIndex,
    around: &ChangedText,
    watch: &ParseLimits<'_>,
) -> Result<Vec<LostCheck>, ParseFailure> {
    let added = ChangedLineIndex::of(file, DiffSide::New);
    let [was, is] = [DiffSide::Old, DiffSide::New].map(|side| ScanFocus::of(file, side));
    let sides = [(old.text(), &was), (new.text(), &is)];
    let Some([old_tree, new_tree]) = different_trees(*grammar, sides, trees, watch)? else {
        return Ok(Vec::new());
    };
    let before = FunctionCode::of(&old_tree, old.text(), watch)?;
    let after = FunctionCode::of(&new_tree, new.text(), watch)?;
    let lines: Vec<&str> = new.all_lines().map(|(_, line)| line).collect();
    let mut lost = Vec::new();
    for (was, is) in pairs(&before, &after) {
        watch.check()?;
        let (first, last) = before.nodes.lines(before.functions.get(was).map_or(0, |function| function.node));
        if !(first..=last).any(|line| removed.covers(line)) {
            continue;
        }
        let Some(pair) = FunctionPair::new((&before, &after), (was, is), (removed, &added), around, &lines) else {
            continue;
        };
        if !is_rewritten(&pair) && !is_for_tests(&before, pair.base_function()) {
            lost.extend(statements::find_removed_checks(&pair));
        }
    }
    Ok(lost)
}

/// Checks whether a statement that begins on a removed line may turn callers away.
fn may_lose_statements(file: &FileChange, old: &FileText) -> bool {
    file.runs().filter_map(|run| run.old.range()).any(|removed| {
        let last = removed.end().saturating_add(LONGEST_CONDITION);
        let lines = LineRange::new(removed.start(), last).map(|lines| text_of(old, lines));
        lines.is_ok_and(|lines| statements::may_deny(&lines))
    })
}

fn text_of(text: &FileText, lines: LineRange) -> String {
    text.lines(lines).map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// Pairs the functions on both sides by name; of those with the same name, in order.
fn pairs(before: &FunctionCode<'_>, after: &FunctionCode<'_>) -> Vec<(usize, usize)> {
    let by_name = |code: &FunctionCode<'_>| -> HashMap<String, Vec<usize>> {
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, function) in code.functions.iter().enumerate() {
            found.entry(function.key.clone()).or_default().push(at);
        }
        found
    };
    let (was, is) = (by_name(before), by_name(after));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (name, was) in &was {
        match is.get(name) {
            Some(is) if is.len() == was.len() => pairs.extend(was.iter().copied().zip(is.iter().copied())),
            Some(_) | None => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Checks whether more of its plain statements are new than remain: then its losses cannot be determined.
fn is_rewritten(pair: &FunctionPair<'_>) -> bool {
    let plain = |code: &FunctionCode<'_>, function: usize| -> Vec<String> {
        let statements = code.nodes.subtree(function).filter(|node| code.is_statement(*node));
        let plain = statements.filter(|node| !code.nodes.subtree(*node).any(|inner| code.is_statement(inner)));
        plain.map(|node| code.normalized_text(node)).collect()
    };
    let is = plain(pair.new, pair.head_function());
    let new = is.iter().filter(|said| !pair.said.contains_key(*said)).count();
    new > is.len() - new + 1
}

/// Checks whether only tests run it.
fn is_for_tests(code: &FunctionCode<'_>, function: usize) -> bool {
    code.grammar == Grammar::Rust
        && std::iter::once(function).chain(code.nodes.ancestors(function)).any(|node| is_for_tests_itself(code, node))
}

/// Checks whether a Rust item is marked as test code.
fn is_for_tests_itself(code: &FunctionCode<'_>, node: usize) -> bool {
    let Some(parent) = code.nodes.parent(node) else { return false };
    if code.nodes.is_token(node) || !code.nodes.kind(node).ends_with("_item") {
        return false;
    }
    let before: Vec<usize> = code.nodes.children(parent).take_while(|at| *at < node).collect();
    let marks = before
        .into_iter()
        .rev()
        .take_while(|at| matches!(code.nodes.kind(*at), "attribute_item" | "line_comment" | "block_comment"));
    let mut marks = marks.filter(|mark| code.nodes.kind(*mark) == "attribute_item");
    marks.any(|mark| code.nodes.text(mark).contains("test") && !code.nodes.text(mark).contains("not(test"))
}

#[cfg(test)]
mod tests;
