//! Matches of `on: removed` rules that were at the base and are nowhere at the head. Main function: [`match_removals`].
//!
//! A match is removed if the line at which it is reported was deleted and no changed file has the same match on an added line. It is not
//! reported if its enclosing code was removed too, nor if the rule matches something else in the same function: that was rewritten.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::base_matches::RareWords;
use super::document::ReportedSide;
use super::input::RulesInput;
use super::scan::{RuleSelection, scan_side};
use super::target::{ChangedLineIndex, RuleMatch, RuleRef, fold_into, line_at_head, read_text, word_positions};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::CodeScope;
use crate::sys::cancel::CancelReason;
use crate::sys::threads::for_each_file;
use crate::workspace::{Workspace, WorkspaceError};

/// A match on a deleted line.
#[derive(Clone)]
struct RemovedMatch {
    file: usize,
    rule: RuleRef,
    hit: RuleMatch,
    /// Name of the enclosing function or type.
    scope: Option<String>,
    /// The head line at which the code after it continues.
    continues_at: u32,
}

/// A match on an added line.
#[derive(Clone)]
struct AddedMatch {
    file: usize,
    rule: RuleRef,
    key: String,
    scope: Option<String>,
}

/// File, rule, function and text.
type MatchIdentity = (usize, RuleRef, Option<String>, String);

impl RemovedMatch {
    fn identity(&self) -> MatchIdentity {
        (self.file, self.rule, self.scope.clone(), self.hit.key.clone())
    }
}

impl AddedMatch {
    fn identity(&self) -> MatchIdentity {
        (self.file, self.rule, self.scope.clone(), self.key.clone())
    }
}

/// The head of a file with removed matches.
#[derive(Clone)]
struct RemovalHead {
    text: Arc<FileText>,
    scopes: Vec<CodeScope>,
}

/// Removals in one file.
#[derive(Clone, Default)]
pub(super) struct FileRemovals {
    gone: Vec<RemovedMatch>,
    /// Notes on what could not be done.
    note: Option<String>,
    /// Matches of the same rules on its added lines.
    come: Vec<AddedMatch>,
    /// Set if something was removed.
    head: Option<RemovalHead>,
}

impl FileRemovals {
    /// Returns the matches that may be reported.
    pub(super) fn hits(&self) -> impl Iterator<Item = &RuleMatch> {
        self.gone.iter().map(|gone| &gone.hit)
    }

    fn rules(&self) -> HashSet<RuleRef> {
        self.gone.iter().map(|gone| gone.rule).collect()
    }
}

/// Collects the removals of one file.
pub(super) fn find_file_removals(input: &RulesInput<'_>, at: usize) -> Result<FileRemovals, CancelReason> {
    if !input.packs.has_removed() {
        return Ok(FileRemovals::default());
    }
    let (gone, note) = old_side(input, at)?;
    let mut left = FileRemovals { gone, note, ..FileRemovals::default() };
    if !left.gone.is_empty() {
        (left.come, left.head) = new_side(input, at, &left.rules(), true)?;
    }
    Ok(left)
}

/// Returns the matches that the change removed, each on the old side of a file, by its index in the change.
pub(super) fn match_removals<'k>(
    input: &RulesInput<'_>,
    known: &(dyn Fn(usize) -> Option<&'k FileRemovals> + Sync),
    notes: &mut BTreeSet<String>,
) -> Result<Vec<(usize, RuleRef, RuleMatch)>, CancelReason> {
    let files = for_each_file(input.change.files.len(), |at| {
        if !input.asks(at) {
            return Ok(FileRemovals::default());
        }
        known(at).map_or_else(|| find_file_removals(input, at), |left| Ok(left.clone()))
    });
    let mut files: Vec<FileRemovals> =
        files.into_iter().map(|file| file.unwrap_or_else(|| Ok(FileRemovals::default()))).collect::<Result<_, _>>()?;
    notes.extend(files.iter_mut().filter_map(|file| file.note.take()));
    if files.iter().all(|file| file.gone.is_empty()) {
        return Ok(Vec::new());
    }
    let words = RareWords::of(files.iter().flat_map(|file| &file.gone).map(|gone| (gone.rule, gone.hit.key.as_str())));
    let elsewhere = for_each_file(files.len(), |at| find_added_matches(input, at, &words, &files[at]));
    let mut come: Vec<AddedMatch> = files.iter_mut().flat_map(|file| std::mem::take(&mut file.come)).collect();
    for found in elsewhere.into_iter().flatten() {
        come.extend(found?);
    }
    let heads = files.iter_mut().enumerate().filter_map(|(at, file)| Some((at, file.head.take()?))).collect();
    Ok(unmatched_removals(files.into_iter().flat_map(|file| file.gone).collect(), &come, &heads))
}

/// Finds matches on the added lines of one file that may equal removals elsewhere.
fn find_added_matches(
    input: &RulesInput<'_>,
    at: usize,
    words: &RareWords,
    left: &FileRemovals,
) -> Result<Vec<AddedMatch>, CancelReason> {
    let Some(file) = input.change.files.get(at).filter(|file| file.additions > 0) else { return Ok(Vec::new()) };
    if file.without_text().is_some() || file.status == FileStatus::Deleted {
        return Ok(Vec::new());
    }
    let Some(text) = read_text(input.new, &file.path)? else { return Ok(Vec::new()) };
    let mut rules = words.rules_in(text.text());
    rules.retain(|rule| !left.gone.iter().any(|gone| gone.rule == *rule));
    if rules.is_empty() { Ok(Vec::new()) } else { Ok(new_side(input, at, &rules, false)?.0) }
}

/// Finds the matches on the deleted lines of one file, with notes on what could not be done.
fn old_side(input: &RulesInput<'_>, at: usize) -> Result<(Vec<RemovedMatch>, Option<String>), CancelReason> {
    input.cancel.check()?;
    let Some(file) = input.change.files.get(at) else { return Ok((Vec::new(), None)) };
    let has_both = !matches!(file.status, FileStatus::Added | FileStatus::Deleted);
    if file.without_text().is_some() || !has_both || file.deletions == 0 {
        return Ok((Vec::new(), None));
    }
    let path = file.path_at(DiffSide::Old);
    let text = match read(input.old, path)? {
        Ok(text) => text,
        Err(error) => {
            return Ok((
                Vec::new(),
                Some(format!("what the change takes away from {path} was not looked at: {error}")),
            ));
        }
    };
    let deleted = DeletedLines::of(file, &text);
    let wanted = |rule: RuleRef| deleted.may_hold(input, rule);
    let looked = scan_side(
        input,
        file,
        DiffSide::Old,
        &text,
        &RuleSelection { on: ReportedSide::Removed, rules: &wanted, scopes: true },
    )?;
    let mut gone = Vec::new();
    for (rule, hit) in looked.hits {
        if deleted.touched.covers(hit.at.start()) && deleted.leaves_some_of(&hit, &text) {
            let scope = CodeScope::innermost(&looked.scopes, hit.at.start()).map(|scope| scope.name.clone());
            let continues_at = line_at_head(file, hit.at.start());
            gone.push(RemovedMatch { file: at, rule, hit, scope, continues_at });
        }
    }
    Ok((gone, looked.cut.map(|why| format!("what the change takes away from {path} was not wholly looked at: {why}"))))
}

/// Finds the matches of some rules on the added lines of one file, and returns its head if requested.
fn new_side(
    input: &RulesInput<'_>,
    at: usize,
    rules: &HashSet<RuleRef>,
    with_head: bool,
) -> Result<(Vec<AddedMatch>, Option<RemovalHead>), CancelReason> {
    input.cancel.check()?;
    let nothing = (Vec::new(), None);
    let Some(file) = input.change.files.get(at) else { return Ok(nothing) };
    if file.without_text().is_some() || file.status == FileStatus::Deleted {
        return Ok(nothing);
    }
    let Some(text) = read_text(input.new, &file.path)? else { return Ok(nothing) };
    let wanted = RuleSelection { on: ReportedSide::Removed, rules: &|rule| rules.contains(&rule), scopes: true };
    let mut looked = scan_side(input, file, DiffSide::New, &text, &wanted)?;
    if with_head && looked.hits.is_empty() {
        looked.scopes = super::scan::scopes_of(file.language, &text, input.trees, input.cancel)?;
    }
    let touched = ChangedLineIndex::of(file, DiffSide::New);
    let stands = |lines: LineRange| touched.first_in(lines).is_some_and(|(_, stands)| stands);
    let mut come = Vec::new();
    for (rule, hit) in looked.hits {
        if stands(hit.lines) {
            let scope = CodeScope::innermost(&looked.scopes, hit.at.start()).map(|scope| scope.name.clone());
            come.push(AddedMatch { file: at, rule, key: hit.key, scope });
        }
    }
    Ok((come, with_head.then_some(RemovalHead { text, scopes: looked.scopes })))
}

fn read(
    tree: &dyn Workspace,
    path: &crate::domain::path::RepoPath,
) -> Result<Result<Arc<FileText>, WorkspaceError>, CancelReason> {
    match tree.read(path) {
        Err(WorkspaceError::Stopped(stopped)) => Err(stopped),
        outcome => Ok(outcome),
    }
}

/// The deleted lines of a file.
struct DeletedLines {
    touched: ChangedLineIndex,
    text: String,
}

impl DeletedLines {
    fn of(file: &FileChange, text: &FileText) -> Self {
        let mut lines = String::new();
        for range in file.runs().filter_map(|run| run.old.range()) {
            for (_, line) in text.lines(range) {
                lines.push_str(line);
                lines.push('\n');
            }
        }
        Self { touched: ChangedLineIndex::of(file, DiffSide::Old), text: lines }
    }

    /// Checks whether the deleted lines can hold what a rule matches.
    fn may_hold(&self, input: &RulesInput<'_>, rule: RuleRef) -> bool {
        let RuleRef::Pack { pack, rule } = rule else { return false };
        let entry = input.packs.pack(pack).and_then(|pack| pack.entry(rule));
        // The rest of what it asks for may be in lines that stay.
        entry.is_some_and(|entry| entry.condition.has_literal(self.text.as_bytes()))
    }

    /// Checks whether any line with words of the enclosing code is left; otherwise all of that was removed.
    fn leaves_some_of(&self, hit: &RuleMatch, text: &FileText) -> bool {
        if hit.around == hit.lines {
            return true;
        }
        let telling = |line: &str| line.chars().any(char::is_alphanumeric);
        text.lines(hit.around)
            .any(|(number, line)| !hit.lines.contains(number) && !self.touched.covers(number) && telling(line))
    }
}

/// Keeps the removals that were not re-added elsewhere, removed with their enclosing code, or rewritten in the same function.
fn unmatched_removals(
    gone: Vec<RemovedMatch>,
    come: &[AddedMatch],
    heads: &HashMap<usize, RemovalHead>,
) -> Vec<(usize, RuleRef, RuleMatch)> {
    let mut used = vec![false; come.len()];
    let left = cancel_matches(gone, come, &mut used, RemovedMatch::identity, AddedMatch::identity);
    let left = cancel_matches(
        left,
        come,
        &mut used,
        |gone| (gone.rule, gone.hit.key.clone()),
        |come| (come.rule, come.key.clone()),
    );
    let left: Vec<RemovedMatch> =
        left.into_iter().filter(|gone| heads.get(&gone.file).is_none_or(|head| head.still_has(gone))).collect();
    let left = cancel_matches(
        left,
        come,
        &mut used,
        |gone| (gone.file, gone.rule, gone.scope.clone()),
        |come| (come.file, come.rule, come.scope.clone()),
    );
    left.into_iter().map(|gone| (gone.file, gone.rule, gone.hit)).collect()
}

/// Returns those of `gone` without an equal added match; each added match cancels one.
fn cancel_matches<K: std::hash::Hash + Eq>(
    gone: Vec<RemovedMatch>,
    come: &[AddedMatch],
    used: &mut [bool],
    of_gone: impl Fn(&RemovedMatch) -> K,
    of_come: impl Fn(&AddedMatch) -> K,
) -> Vec<RemovedMatch> {
    let mut there: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, come) in come.iter().enumerate().rev() {
        if used.get(at) == Some(&false) {
            there.entry(of_come(come)).or_default().push(at);
        }
    }
    let mut left = Vec::new();
    for gone in gone {
        match there.get_mut(&of_gone(&gone)).and_then(Vec::pop).and_then(|at| used.get_mut(at)) {
            Some(used) => *used = true,
            None => left.push(gone),
        }
    }
    left
}

impl RemovalHead {
    /// Checks whether the enclosing function still exists and contains what the rule requires to remain.
    fn still_has(&self, gone: &RemovedMatch) -> bool {
        let whole = (0, self.text.text().len());
        let (from, until) = match &gone.scope {
            Some(name) => match self.scopes.iter().find(|scope| scope.name == *name) {
                Some(scope) => (scope.body, scope.bytes.end),
                None => return false,
            },
            None => whole,
        };
        let after = LineRange::line(gone.continues_at);
        let after = self.text.byte_range(after).map_or(until, |bytes| bytes.start).max(from);
        let all_there = |from: usize, texts: &[String]| {
            let mut folded = String::new();
            if !texts.is_empty() {
                fold_into(&mut folded, self.text.text().get(from..until).unwrap_or_default());
            }
            texts.iter().all(|text| word_positions(&folded, text).next().is_some())
        };
        all_there(from, &gone.hit.stays) && all_there(after, &gone.hit.guards)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::PackFile;
    use super::super::packs::Packs;
    use super::super::synthetic_change::SyntheticChange;
    use crate::domain::place::DiffSide;
    use crate::domain::rule_info::PackOwner;

    const PACK: &str = "id: whole\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\non: removed\n\
        literals: [isAdmin]\nrule: {kind: if_statement, has: {stopBy: end, kind: call_expression, all: [{pattern: isAdmin($X)}, {pattern: $C}]}}\nat: C\n---\n\
        id: guard\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\non: removed\n\
        literals: ['=== null']\nrule: {pattern: 'if ($X === null) return'}\nguards: [X]\n---\n\
        id: await\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\non: removed\n\
        literals: ['await']\nrule: {pattern: 'await $CALL'}\nsame: [$CALL]\nstays: [CALL]\n";

    /// Matches reported with the rules above, `<rule>:<line>`, all on the old side.
    fn told(change: &SyntheticChange) -> Vec<String> {
        let (file, stem) = ("javascript-p.yml".to_owned(), "javascript-p".to_owned());
        let pack = PackFile { owner: PackOwner::User, file, stem, text: PACK.to_owned() };
        let report = change.review_with(&Packs::only(&[pack]).unwrap());
        let place = |claim: &crate::domain::claim::Claim| {
            assert_eq!(claim.place.side, DiffSide::Old);
            format!("{}:{}", claim.origin.name.replace("javascript-", ""), claim.place.lines.unwrap().start())
        };
        let own = report.claims.iter().filter(|claim| claim.origin.name.starts_with("javascript-"));
        own.map(place).collect()
    }

    fn changed(old: &str, new: &str) -> Vec<String> {
        told(&SyntheticChange::default().was("a.js", old).now("a.js", new))
    }

    #[test]
    fn a_guard_that_is_gone_is_told_where_it_stood() {
        let old = "function f(a) {\n  if (a === null) return;\n  use(a);\n}\n";
        assert_eq!(changed(old, "function f(a) {\n  use(a);\n}\n"), ["p/guard:2"]);
    }

    #[test]
    fn a_guard_around_what_it_guards_is_told_at_its_condition() {
        let old = "function f(a) {\n  log();\n  if (\n    isAdmin(a)) {\n    use(a);\n  }\n}\n";
        assert_eq!(changed(old, "function f(a) {\n  log();\n  use(a);\n}\n"), ["p/whole:4"]);
        assert_eq!(changed(old, "function f(a) {\n  log();\n  if (a && isAdmin(a)) use(a);\n}\n"), [""; 0]);
    }

    #[test]
    fn a_guard_that_moved_is_not_told() {
        let old = "function f(a) {\n  if (a === null) return;\n  use(a);\n}\n";
        let change = SyntheticChange::default()
            .was("a.js", old)
            .now("a.js", "function f(a) {\n  use(a);\n}\n")
            .was("b.js", "function g(a) {\n  f(a);\n}\n")
            .now("b.js", "function g(a) {\n  if (a === null)\n    return;\n  f(a);\n}\n");
        assert_eq!(told(&change), [""; 0]);
    }

    #[test]
    fn a_guard_that_was_rewritten_is_not_told() {
        let old = "function f(a) {\n  if (a === null) return;\n  use(a);\n}\n";
        let new = "function f(a) {\n  const b = find(a);\n  if (b === null) return;\n  use(a);\n}\n";
        assert_eq!(changed(old, new), [""; 0]);
    }

    #[test]
    fn what_goes_with_its_function_or_its_file_is_not_told() {
        let old = "function f(a) {\n  if (a === null) return;\n  use(a);\n}\nfunction g(a) {\n  use(a);\n}\n";
        assert_eq!(changed(old, "function g(a) {\n  use(a);\n}\n"), [""; 0]);
        assert_eq!(told(&SyntheticChange::default().was("a.js", old)), [""; 0]);
    }

    #[test]
    fn what_no_longer_guards_anything_is_not_told() {
        let old = "function f(a) {\n  log();\n  if (a === null) return;\n  use(a);\n}\n";
        assert_eq!(changed(old, "function f(a) {\n  log();\n}\n"), [""; 0]);
        assert_eq!(changed(old, "function f(a) {\n  log(ab);\n}\n"), [""; 0]);
        assert_eq!(changed(old, "function f(a) {\n  log(a);\n}\n"), ["p/guard:3"]);
        assert_eq!(changed(old, "function f(a) {\n  a.log();\n  log();\n}\n"), [""; 0]);
    }

    #[test]
    fn of_two_that_are_alike_the_deleted_one_is_told() {
        let old = "async function f(a) {\n  await save(a);\n  log();\n  await save(a);\n}\n";
        let new = "async function f(a) {\n  await save(a);\n  log();\n  save(a);\n}\n";
        assert_eq!(changed(old, new), ["p/await:4"]);
        let reversed = "async function f(a) {\n  log();\n  await save(a);\n  await save(a);\n}\n";
        assert_eq!(changed(old, reversed), [""; 0]);
    }

    #[test]
    fn what_is_only_indented_anew_is_not_told() {
        let old = "async function f(a) {\n  await save(a);\n  log();\n}\n";
        let new = "async function f(a) {\n  if (a) {\n    await save(\n      a);\n  }\n  log();\n}\n";
        assert_eq!(changed(old, new), [""; 0]);
    }
}
