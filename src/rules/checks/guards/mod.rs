//! Removed guards whose guarded code remains: checks, releases, exits of error branches.
//!
//! Main types: [`GuardRuleInfo`] (one rule of [`GUARDS`]), [`RemovedGuard`] (the removed guards; computed once per run). Both sides of a file are
//! parsed, functions are paired by name (`pair`), and each pair is compared: `unguarded` (removed conditions), `statements` (removed
//! statements). A guard that the change moved is not lost: [`pair::ChangedText`] holds the lines added in all files.

mod attributes;
mod code;
mod conditions;
mod outline;
mod pair;
mod removed_conditions;
mod statements;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError};
use std::time::Duration;

use regex::Regex;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, RuleMatch, RuleTarget, is_markup, is_test_path, read_text};
use super::super::threads::for_each_file;
use super::{Check, CheckInfo, CheckMemory};
use crate::domain::change::{ChangeSet, FileChange, FileMode, FileStatus};
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::syntax::{Grammar, OtherVersion, ParseFailure, ParseLimits, TreeCache};
use crate::sys::cancel::CancelReason;
use crate::workspace::Workspace;
use code::GuardCode;
use pair::{FunctionPair, GuardLoss};

pub(in crate::rules) use pair::{ChangedText, GuardRule};
pub(in crate::rules) use words::GUARDS;

/// Larger texts are not compared; that they are not parsed is in the receipt.
const LARGEST: usize = 1 << 20;
/// Time limit for one file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Number of places with one loss from which they are reported as one.
const MOST_ALIKE: usize = 4;

/// A change with more lines of code is a rewrite: its removals are mostly intentional, so they are hints. A guard removed by a small
/// change is a finding.
const SMALL: u64 = 30;
/// The same, in files of code.
const FEW: usize = 3;

/// One rule about removed guards.
pub(in crate::rules) struct GuardRuleInfo {
    rule: GuardRule,
    info: CheckInfo,
}

/// A removed guard, with its rule.
pub(in crate::rules) type RemovedGuard = (GuardRule, RuleMatch);

impl Check for GuardRuleInfo {
    fn info(&self) -> &CheckInfo {
        &self.info
    }

    fn find(&self, _: &RuleTarget<'_>) -> Vec<RuleMatch> {
        Vec::new()
    }

    fn lost(&self, sides: &BothSides<'_>, memory: &CheckMemory) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        let taken = memory.taken.get_or_init(|| collect_losses(sides, memory)).as_ref().map_err(|stopped| *stopped)?;
        let own = taken.iter().filter(|(_, (rule, _))| *rule == self.rule);
        Ok(own.map(|(file, (_, hit))| (*file, hit.clone())).collect())
    }
}

/// Words of which one must have become rarer somewhere before a file is worth parsing. All are ASCII: with the letters of all languages the
/// patterns take ten times as long to compile.
static SIGNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let signs = [
        r"(?-u)\b(?:if|elif)\b",
        r"\?\.",
        r"\?[^.?:]",
        r"(?-u)&&|\band\b",
        r"(?-u)\|\||\bor\b",
        r"(?i-u)close|release|free|destroy|dispose|cancel|clear|unsubscribe|remove\w*Listener|disconnect|unref|shutdown|abort|stop|done",
        r"(?-u)\b(?:catch|except|try|with)\b",
        r"(?-u)\b(?:return|throw|raise|continue|break|goto)\b",
        r"(?i-u)auth|permi|require|csrf|UseGuards|Roles|Secured",
        r"interrupt\(",
    ];
    signs.iter().filter_map(|sign| Regex::new(sign).ok()).collect()
});

/// Returns every guard that the change removes, each with the index of its file in the change.
fn collect_losses(sides: &BothSides<'_>, memory: &CheckMemory) -> Result<Vec<(usize, RemovedGuard)>, CancelReason> {
    let found = for_each_file(sides.change.files.len(), |at| find_removed_guards(sides, memory, at));
    let mut all = Vec::new();
    for (at, of_file) in found.into_iter().enumerate().filter_map(|(at, of_file)| Some((at, of_file?))) {
        all.extend(of_file?.into_iter().map(|taken| (at, taken)));
    }
    let mut found = merge_repeated(all);
    if !found.is_empty() && is_intentional(sides.change) {
        for (_, (_, hit)) in &mut found {
            hit.is_hint = true;
        }
    }
    Ok(found)
}

/// Returns the guards that the change removes from one file.
pub(in crate::rules) fn find_removed_guards(
    sides: &BothSides<'_>,
    memory: &CheckMemory,
    at: usize,
) -> Result<Vec<RemovedGuard>, CancelReason> {
    let known = memory.files.get(at);
    if let Some(taken) = known.and_then(OnceLock::get) {
        return Ok(taken.clone());
    }
    let found = match sides.change.files.get(at) {
        Some(file) => hits(sides, memory, file)?,
        None => Vec::new(),
    };
    Ok(match known {
        Some(known) => known.get_or_init(|| found).clone(),
        None => found,
    })
}

/// Checks whether removals are probably intentional: the change is a rewrite, or a commit message says so.
fn is_intentional(change: &ChangeSet) -> bool {
    !is_small(&change.files) || is_announced(change)
}

/// Words with which a commit message says that something is removed or allowed.
static ANNOUNCED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)\b(?:remov(?:e[sd]?|ing)|drop(?:s|ped)?|non-?fatal|ignor(?:e[sd]?|ing)|allow(?:s|ed|ing)?|optional|no longer|un(?:needed|necessary|used)|redundant|simplif\w+|clean(?:s|ed)? ?up|refactor\w*|revert\w*|disabl(?:e[sd]?|ing)|relax\w*|skip\w*|useless|obsolete|dead code|double[ -](?:free|close)|use[ -]after[ -]free|already (?:freed|closed|released))\b",
    )
    .ok()
});

/// Checks whether a commit message of the change announces a removal: then a removed guard is probably intentional.
fn is_announced(change: &ChangeSet) -> bool {
    let says = |text: &str| ANNOUNCED.as_ref().is_some_and(|pattern| pattern.is_match(text));
    change.commits.iter().any(|commit| says(&commit.subject) || says(&commit.body))
}

/// Checks whether the change touches few lines of code, tests aside.
fn is_small(files: &[FileChange]) -> bool {
    let is_code = |file: &&FileChange| file.language.and_then(Grammar::of).is_some() && !is_test_path(&file.path);
    let lines = files.iter().filter(is_code).map(|file| u64::from(file.additions) + u64::from(file.deletions));
    files.iter().filter(is_code).count() <= FEW && lines.sum::<u64>() <= SMALL
}

/// A file that may have lost something, with both its sides.
type GuardCandidate = Option<(Grammar, Arc<FileText>, Arc<FileText>)>;

fn candidate(sides: &BothSides<'_>, file: &FileChange) -> Result<GuardCandidate, CancelReason> {
    sides.cancel.check()?;
    let Some(grammar) = grammar_of(file) else { return Ok(None) };
    let Some(old) = read(sides.old, file, DiffSide::Old)? else { return Ok(None) };
    let Some(new) = read(sides.new, file, DiffSide::New)? else { return Ok(None) };
    let grammar = file.language.and_then(|language| Grammar::of_text(language, new.text())).unwrap_or(grammar);
    Ok(has_fewer_guard_words(file, &old, &new).then_some((grammar, old, new)))
}

fn hits(sides: &BothSides<'_>, memory: &CheckMemory, file: &FileChange) -> Result<Vec<RemovedGuard>, CancelReason> {
    let Some((grammar, old, new)) = candidate(sides, file)? else { return Ok(Vec::new()) };
    let around = around_of(sides, memory)?;
    let watch = ParseLimits::new(sides.cancel, PATIENCE);
    match losses(sides.trees, file, grammar, (&old, &new), around, &watch) {
        Ok(lost) => Ok(lost
            .into_iter()
            .map(|lost| {
                let mut hit = RuleMatch::from_lines(&old, lost.lines);
                hit.detail = Some(lost.detail);
                (lost.rule, hit)
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

/// A loss repeated in many places is intentional: it is reported once, with the number of places.
fn merge_repeated(found: Vec<(usize, RemovedGuard)>) -> Vec<(usize, RemovedGuard)> {
    let mut count: HashMap<GuardRule, usize> = HashMap::new();
    for (_, (rule, _)) in &found {
        *count.entry(*rule).or_default() += 1;
    }
    let mut told: Vec<(usize, RemovedGuard)> = Vec::new();
    for (file, (rule, mut hit)) in found {
        let places = count.get(&rule).copied().unwrap_or(0);
        if places > MOST_ALIKE {
            if told.iter().any(|(_, (other, _))| *other == rule) {
                continue;
            }
            let detail = hit.detail.take().unwrap_or_default();
            hit.detail = Some(format!("{detail} The change does the same in {} other places.", places - 1));
        }
        told.push((file, (rule, hit)));
    }
    told
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

/// Checks whether some place of the file has fewer of the words that guards consist of.
fn has_fewer_guard_words(file: &FileChange, old: &FileText, new: &FileText) -> bool {
    file.runs().filter(|run| run.old.count > 0).any(|run| {
        let said = |text: &FileText, span: crate::domain::change::HunkSpan| -> String {
            let lines = span.range().map(|lines| text.lines(lines).map(|(_, line)| line).collect::<Vec<_>>());
            lines.unwrap_or_default().join("\n")
        };
        let (was, is) = (said(old, run.old), said(new, run.new));
        SIGNS.iter().any(|sign| {
            let before = sign.find_iter(&was).count();
            before > 0 && before > sign.find_iter(&is).count()
        })
    })
}

/// Reads all lines that the change adds and removes, once.
fn around_of<'a>(sides: &BothSides<'_>, memory: &'a CheckMemory) -> Result<&'a ChangedText, CancelReason> {
    if let Some(around) = memory.around.get() {
        return Ok(around);
    }
    let _one_at_a_time = memory.collecting.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(around) = memory.around.get() {
        return Ok(around);
    }
    let around = read_around(sides)?;
    Ok(memory.around.get_or_init(|| around))
}

fn read_around(sides: &BothSides<'_>) -> Result<ChangedText, CancelReason> {
    let mut around = ChangedText::default();
    let ChangeSet { files, .. } = sides.change;
    for file in files {
        sides.cancel.check()?;
        if file.without_text().is_some() || file.language.is_none() {
            continue;
        }
        for (side, tree, all) in
            [(DiffSide::Old, sides.old, &mut around.gone), (DiffSide::New, sides.new, &mut around.come)]
        {
            let absent = if side == DiffSide::Old { FileStatus::Added } else { FileStatus::Deleted };
            let spans = || file.runs().filter_map(|run| if side == DiffSide::Old { run.old } else { run.new }.range());
            if file.status == absent || spans().next().is_none() {
                continue;
            }
            let Some(text) = read(tree, file, side)? else { continue };
            for (_, line) in spans().flat_map(|lines| text.lines(lines)) {
                all.push_str(&pair::squeeze(line));
                all.push('\n');
            }
        }
    }
    Ok(around)
}

/// Finds what one file lost.
fn losses(
    trees: &TreeCache,
    file: &FileChange,
    grammar: Grammar,
    (old, new): (&FileText, &FileText),
    around: &ChangedText,
    watch: &ParseLimits<'_>,
) -> Result<Vec<GuardLoss>, ParseFailure> {
    let (removed, added) = (ChangedLineIndex::of(file, DiffSide::Old), ChangedLineIndex::of(file, DiffSide::New));
    let beside = OtherVersion::of(file, DiffSide::Old, old, new);
    let both =
        outline::parse_changed_functions(trees, grammar, (old.text(), new.text()), beside.as_ref(), &removed, watch)?;
    let mut lost = attributes::attributes(file.path.extension().unwrap_or_default(), old, new, &removed, around);
    if let Some((before, after)) = &both {
        let lines: Vec<&str> = new.all_lines().map(|(_, line)| line).collect();
        for (was, is) in pairs(before, after) {
            watch.check()?;
            let (first, last) = before.nodes.lines(before.functions.get(was).map_or(0, |function| function.node));
            if !(first..=last).any(|line| removed.covers(line)) {
                continue;
            }
            let Some(pair) = FunctionPair::new(before, after, (was, is), &removed, &added, around, &lines) else {
                continue;
            };
            if is_rewritten(&pair) || is_for_tests(before, pair.base_function()) {
                continue;
            }
            lost.extend(removed_conditions::find_removed_conditions(&pair));
            lost.extend(statements::find_removed_statements(&pair));
        }
    }
    lost.sort_by_key(|lost| (lost.lines, lost.rule));
    // One place is reported once, for the first loss found there.
    lost.dedup_by_key(|lost| lost.lines.start());
    Ok(lost)
}

/// Pairs the functions on both sides by name; of those with the same name, in order.
fn pairs(before: &GuardCode<'_>, after: &GuardCode<'_>) -> Vec<(usize, usize)> {
    let by_name = |code: &GuardCode<'_>| -> HashMap<String, Vec<usize>> {
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
    let plain = |code: &GuardCode<'_>, function: usize| -> Vec<String> {
        let statements = code.nodes.subtree(function).filter(|node| code.is_statement(*node));
        let plain = statements.filter(|node| !code.nodes.subtree(*node).any(|inner| code.is_statement(inner)));
        plain.map(|node| code.normalized_text(node)).collect()
    };
    let is = plain(pair.new, pair.head_function());
    let new = is.iter().filter(|said| !pair.said.contains_key(*said)).count();
    new > is.len() - new + 1
}

/// Checks whether only tests run it.
fn is_for_tests(code: &GuardCode<'_>, function: usize) -> bool {
    code.grammar == Grammar::Rust
        && std::iter::once(function).chain(code.nodes.ancestors(function)).any(|node| is_for_tests_itself(code, node))
}

/// Checks whether a Rust item is marked as test code.
fn is_for_tests_itself(code: &GuardCode<'_>, node: usize) -> bool {
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
