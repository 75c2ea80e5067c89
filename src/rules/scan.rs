//! Scans one side of a file with the rules and returns the matches. Main function: [`scan_side`], which returns a [`ScanResult`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::affected::affected_parts;
use super::checks::{CHECKS, CheckSearch, MOST_MATCHES};
use super::document::ReportedSide;
use super::input::RulesInput;
use super::pack::{IndexEntry, Pack, PackRule};
use super::packs::Packs;
use super::target::{RuleMatch, RuleRef, RuleTarget, fold_into, is_markup, is_test_path, read_text};
use crate::domain::change::{FileChange, FileMode, FileStatus};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::syntax::{
    ByteEdit, CodeScope, Excerpt, ExcerptQuery, Grammar, MisreadLines, OtherVersion, ParseFailure, ParseLimits,
    ScanFocus, SyntaxMatch, SyntaxScan, TextNeed, TreeCache, WordSet,
};
use crate::sys::cancel::{Cancel, CancelReason};

/// Maximum size of a parsed text, in bytes: a tree takes some forty times as much memory as its text. Below it, only time limits parsing.
const LARGEST: usize = 4 << 20;
/// Size from which a text is large, in bytes: one of them is parsed at a time, and one that takes too long is no fault of the change.
const LARGE: usize = 1 << 20;
/// Maximum length of a line with reported matches, in characters: longer lines are generated. The rest of the text is still scanned, so
/// that one long comment does not hide a file.
const LONGEST_LINE: usize = 5000;
/// Reason for which a text with too many matches is not reviewed completely.
const TOO_MANY: &str = "it has more matches than rules look for: some of them are not compared";
/// Time limit for one text.
const PATIENCE: Duration = Duration::from_secs(10);

/// A text to scan and the rules to apply.
struct ScanTarget<'a> {
    subject: RuleTarget<'a>,
    /// The id of its language, if known.
    language: Option<&'static str>,
    /// The other side of its file, if that was scanned before.
    beside: Option<&'a OtherVersion<'a>>,
    side: DiffSide,
    /// The other side of its file, if both are compared.
    other: Option<&'a FileText>,
    /// The part that the change affects; `None` for all of it.
    affected: Option<&'a ScanFocus>,
    /// The part of the other side that it affects.
    other_affected: Option<&'a ScanFocus>,
    packs: &'a Packs,
    wanted: &'a RuleSelection<'a>,
    trees: &'a TreeCache,
    cancel: &'a Cancel,
}

/// Selection of rules for a text.
pub(super) struct RuleSelection<'a> {
    /// Selects rules about added code and checks, or rules about removed code.
    pub(super) on: ReportedSide,
    /// Filter on those rules.
    pub(super) rules: &'a dyn Fn(RuleRef) -> bool,
    /// `true` to return functions and types as well.
    pub(super) scopes: bool,
}

/// The result of a scan.
#[derive(Default)]
pub(super) struct ScanResult {
    pub(super) hits: Vec<(RuleRef, RuleMatch)>,
    /// The functions and types, if requested and anything matched.
    pub(super) scopes: Vec<CodeScope>,
    /// Why the rules that need a parser did not run, or not completely; for the receipt.
    pub(super) cut: Option<String>,
    /// `true` if the size of the text is the only reason for that.
    pub(super) is_cut_by_size: bool,
    /// Long lines with matches that are not reported.
    pub(super) long: Vec<u32>,
    /// Lines that may be something else than the parser takes them for.
    pub(super) misread: Vec<MisreadLines>,
    /// Errors in the rules themselves.
    pub(super) notes: Vec<String>,
}

fn scan(look: &ScanTarget<'_>) -> Result<ScanResult, CancelReason> {
    let mut looked = ScanResult::default();
    let checks = if look.wanted.on == ReportedSide::Added { CHECKS } else { &[] };
    for (index, check) in checks.iter().enumerate() {
        let rule = RuleRef::Check(index);
        if let CheckSearch::InText(find) = check.search
            && (look.wanted.rules)(rule)
        {
            look.cancel.check()?;
            let hits = find(&look.subject);
            if hits.len() > MOST_MATCHES {
                looked.cut = Some(TOO_MANY.to_owned());
            }
            looked.hits.extend(hits.into_iter().take(MOST_MATCHES).map(|hit| (rule, hit)));
        }
    }
    let grammar = look.language.and_then(|language| Grammar::of_text(language, look.subject.text.text()));
    let Some(grammar) = grammar.filter(|_| !is_markup(look.subject.text)) else { return Ok(looked) };
    let unparsable = unparsable(look.subject.text);
    // Checks that compare both sides parse the text too, even if no rule of a pack can match. A text that is too large is never parsed,
    // so the test of the grammar's limits is skipped for it.
    if unparsable.is_none()
        && let Err(why) = grammar.check_limits(look.subject.text.text())
    {
        looked.cut = Some(line_by_line(&why.to_string()));
        return Ok(looked);
    }
    let text = look.subject.text.text();
    let packs = look.packs.packs_for(grammar);
    let plans: Vec<PackPlan<'_>> = packs.filter_map(|(at, pack)| PackPlan::of(look, at, pack)).collect();
    if plans.is_empty() {
        return Ok(looked);
    }
    let is_first_cut = looked.cut.is_none();
    if let Some(why) = unparsable {
        looked.is_cut_by_size = is_first_cut;
        looked.cut = Some(line_by_line(&why));
        return Ok(looked);
    }
    let is_large = text.len() > LARGE;
    let is_beside_large = look.other.is_some_and(|other| other.text().len() > LARGE);
    let _one_at_a_time = (is_large || is_beside_large).then(|| look.trees.begin_large());
    let watch = ParseLimits::new(look.cancel, PATIENCE);
    let cut = structural(look, grammar, excerpt_of(look, grammar).as_ref(), &plans, &watch, &mut looked);
    match cut {
        Ok(()) => Ok(looked),
        Err(ParseFailure::Stopped(stopped)) => Err(stopped),
        Err(error) => {
            looked.is_cut_by_size = is_large && is_first_cut && looked.cut.is_none() && error == ParseFailure::TooSlow;
            looked.cut = Some(line_by_line(&error.to_string()));
            Ok(looked)
        }
    }
}

/// Returns the part of a text that is parsed; `None` for all of it. Of the base, all is compared with what was found at the head: what is
/// affected there may have been around other code before.
fn excerpt_of(look: &ScanTarget<'_>, grammar: Grammar) -> Option<Excerpt> {
    let is_compared = look.side == DiffSide::Old && look.wanted.on == ReportedSide::Added;
    let affected = look.affected.filter(|_| !is_compared)?;
    let text = look.subject.text.text();
    let mut names = look.trees.affected_names(grammar, text, affected);
    if let Some((other, focus)) = look.other.zip(look.other_affected) {
        names.extend(look.trees.affected_names(grammar, other.text(), focus));
    }
    let names = WordSet::of(names);
    look.trees.excerpt(
        grammar,
        text,
        ExcerptQuery {
            focus: Some(affected),
            words: Some(&names),
            is_local: grammar.has_local_rules(),
            ..ExcerptQuery::default()
        },
    )
}

/// The rules of one pack that can match in a text.
struct PackPlan<'a> {
    at: usize,
    pack: &'a Pack,
    rules: Vec<bool>,
}

impl<'a> PackPlan<'a> {
    fn of(look: &ScanTarget<'_>, at: usize, pack: &'a Pack) -> Option<Self> {
        let text = look.subject.text.text().as_bytes();
        let in_tests = is_test_path(look.subject.path);
        // Most rules are ruled out by their conditions on the text, and those are never parsed.
        let may = |(index, entry): (usize, &IndexEntry)| {
            entry.on == look.wanted.on
                && (look.wanted.rules)(RuleRef::Pack { pack: at, rule: index })
                && !look.packs.is_off(&entry.name)
                && entry.condition.may_match(text)
                && pack.rule(index).is_some_and(|rule| is_for_path(rule, look.subject.path, in_tests))
        };
        let rules: Vec<bool> = pack.index().enumerate().map(may).collect();
        rules.contains(&true).then_some(Self { at, pack, rules })
    }

    /// Checks whether a part of the text has what the rule needs.
    fn may_match(&self, rule: usize, part: &str) -> bool {
        self.pack.entry(rule).is_some_and(|entry| entry.condition.may_match(part.as_bytes()))
    }

    fn has(&self, rule: usize) -> bool {
        self.rules.get(rule).copied().unwrap_or(false)
    }
}

fn is_for_path(rule: &PackRule, path: &RepoPath, in_tests: bool) -> bool {
    let is_of_scripts = ["javascript/", "typescript/"].iter().any(|pack| rule.info.name.starts_with(pack));
    rule.paths.allows(path) && !(in_tests && rule.info.skips_tests) && !(is_of_scripts && is_bundle(path))
}

/// Checks for a script in a folder where tools put what they made of others. Nobody mends a defect there.
fn is_bundle(path: &RepoPath) -> bool {
    let folders = || path.folder().split(|byte| *byte == b'/');
    let has = |name: &[u8]| folders().any(|folder| folder == name);
    matches!(path.extension(), Some("js" | "mjs" | "cjs")) && (has(b"dist") || has(b"public") && has(b"build"))
}

/// Returns why no rule of a pack applies to a file, by its language, the settings and its path; `None` if one does.
pub(super) fn why_no_rules(packs: &Packs, file: &FileChange) -> Option<String> {
    let no_rules = || Some(language::no_rules_for(file.language.and_then(language::display_name)));
    let Some(grammar) = file.language.and_then(Grammar::of) else { return no_rules() };
    let rules = packs.packs_for(grammar).flat_map(|(_, pack)| pack.rules());
    let mut rules = rules.filter(|rule| rule.grammars.contains(&grammar));
    let in_tests = is_test_path(&file.path);
    let (mut is_empty, mut is_off) = (true, true);
    let is_applied = rules.any(|rule| {
        is_empty = false;
        let off = packs.is_off(&rule.info.name);
        is_off &= off;
        !off && is_for_path(rule, &file.path, in_tests)
    });
    match (is_applied, is_empty, is_off) {
        (true, ..) => None,
        (_, true, _) => no_rules(),
        (.., true) => Some("its rules are switched off in the settings".to_owned()),
        _ => Some("no rule applies to its path".to_owned()),
    }
}

fn structural(
    look: &ScanTarget<'_>,
    grammar: Grammar,
    excerpt: Option<&Excerpt>,
    plans: &[PackPlan<'_>],
    watch: &ParseLimits<'_>,
    looked: &mut ScanResult,
) -> Result<(), ParseFailure> {
    let text = look.subject.text.text();
    let parse = |excerpt| look.trees.parse_affected(grammar, text, excerpt, look.beside, watch);
    let other = look.other.map(FileText::text);
    let is_head = look.side == DiffSide::New && look.wanted.on == ReportedSide::Added;
    let part = excerpt.map(|excerpt| excerpt.join_searched(text));
    let mut tree = None;
    for plan in plans {
        // On which tree a rule is matched does not depend on the other rules of a run: the base is compared with some of them only.
        let need_of = |rule: usize| match excerpt {
            Some(excerpt) if plan.has(rule) => plan.pack.text_need(grammar, rule, (text, other), excerpt),
            _ => TextNeed::Affected,
        };
        let needs: Vec<TextNeed> = (0..plan.rules.len()).map(need_of).collect();
        let need = |rule: usize| needs.get(rule).copied().unwrap_or_default();
        let is_first = |rule: usize| {
            let is_due = match need(rule) {
                TextNeed::Affected | TextNeed::AffectedOnly => true,
                TextNeed::OnMatch => is_head,
                TextNeed::Always => false,
            };
            is_due && plan.has(rule) && part.as_ref().is_none_or(|part| plan.may_match(rule, part))
        };
        let first: Vec<bool> = (0..plan.rules.len()).map(is_first).collect();
        let is_first = |rule: usize| first.get(rule).copied().unwrap_or(false);
        // Of most rules nothing is in the part that is looked at.
        let is_used = |rule: usize| {
            let is_second = need(rule) == TextNeed::Always || !is_head && need(rule) == TextNeed::OnMatch;
            is_first(rule) || is_second && plan.has(rule)
        };
        let set = match plan.pack.compiled(grammar, &is_used) {
            Some(Ok(set)) => set,
            Some(Err(error)) => {
                looked.notes.push(error.to_string());
                looked.cut = Some(line_by_line("its rules cannot be used"));
                continue;
            }
            None => continue,
        };
        let mut unsure: BTreeSet<usize> = BTreeSet::new();
        if first.contains(&true) {
            let tree = match &tree {
                Some(tree) => Arc::clone(tree),
                None => Arc::clone(tree.insert(parse(excerpt)?)),
            };
            let mut scan = set.scan(&tree, &is_first, look.affected, watch)?;
            let passed = |rule: usize| scan.passed.get(&rule).copied().unwrap_or_default();
            let rules = scan.passed.keys().copied().map(|rule| (rule, false));
            let rules = rules.chain(scan.found.iter().map(|found| (found.rule, true)));
            unsure.extend(
                rules.filter(|(rule, has_match)| need(*rule).is_more(passed(*rule), *has_match)).map(|(rule, _)| rule),
            );
            scan.found.retain(|found| !unsure.contains(&found.rule));
            add_matches(look, plan, scan, looked);
        }
        let second = |rule: usize| {
            let is_due = match need(rule) {
                TextNeed::Affected | TextNeed::AffectedOnly => unsure.contains(&rule),
                TextNeed::OnMatch => !is_head || unsure.contains(&rule),
                TextNeed::Always => true,
            };
            is_due && plan.has(rule)
        };
        if (0..plan.rules.len()).any(second) {
            let whole = parse(None)?;
            let scan = set.scan(&whole, &second, look.affected, watch)?;
            add_matches(look, plan, scan, looked);
            tree.get_or_insert(whole);
        }
    }
    if let Some(tree) = tree.filter(|_| look.wanted.on == ReportedSide::Added) {
        looked.misread = tree.misread_lines(watch)?;
    }
    if look.wanted.scopes && !looked.hits.is_empty() {
        looked.scopes = parse(None)?.scopes(watch)?;
    }
    Ok(())
}

/// Adds what the rules of a pack found.
fn add_matches(look: &ScanTarget<'_>, plan: &PackPlan<'_>, scan: SyntaxScan, looked: &mut ScanResult) {
    look.trees.add_nodes(scan.nodes);
    if scan.too_many {
        looked.cut = Some(TOO_MANY.to_owned());
    }
    for rule in scan.given_up.iter().filter_map(|rule| plan.pack.rule(*rule)) {
        looked.cut = Some(format!("the rule {} took too long on it and was given up there", rule.info.name));
    }
    if scan.too_deep {
        looked.cut = Some(line_by_line("it is nested deeper than rules look"));
    }
    let long = long_lines(look.subject.text);
    for found in scan.found {
        let skips = plan.pack.rule(found.rule).is_none_or(|rule| rule.info.skips_tests && found.in_test);
        if !skips && long.binary_search(&found.lines.start()).is_ok() {
            looked.long.push(found.lines.start());
        } else if !skips {
            let rule = RuleRef::Pack { pack: plan.at, rule: found.rule };
            looked.hits.push((rule, hit(look.subject.text, &found)));
        }
    }
}

/// Scans one side of a changed file.
pub(super) fn scan_side(
    input: &RulesInput<'_>,
    file: &FileChange,
    side: DiffSide,
    text: &FileText,
    wanted: &RuleSelection<'_>,
) -> Result<ScanResult, CancelReason> {
    let subject = RuleTarget { path: file.path_at(side), text };
    let is_link = matches!(if side == DiffSide::Old { file.old_mode } else { file.new_mode }, Some(FileMode::Link));
    let language = file.language.filter(|_| !is_link);
    let has_both = matches!(file.status, FileStatus::Modified | FileStatus::Renamed);
    let (opposite, tree) = match side {
        DiffSide::Old => (DiffSide::New, input.new),
        DiffSide::New => (DiffSide::Old, input.old),
    };
    let is_parsed = language.and_then(Grammar::of).is_some();
    let other = if has_both && is_parsed { read_text(tree, file.path_at(opposite))? } else { None };
    // Lines common to both sides were parsed at the head.
    let head = other.as_ref().filter(|_| side == DiffSide::Old);
    let beside = head.and_then(|head| OtherVersion::of(file, side, text, head));
    let parts = match other.as_deref() {
        Some(other) => {
            affected_parts(input.trees, file, if side == DiffSide::Old { (text, other) } else { (other, text) })
        }
        None => Some([DiffSide::Old, DiffSide::New].map(|side| ScanFocus::of(file, side))),
    };
    let parts = parts.as_ref().filter(|_| has_both && !input.packs.reports_all_lines());
    let (own, opposite) = if side == DiffSide::Old { (0, 1) } else { (1, 0) };
    let [affected, other_affected] = [own, opposite].map(|at| parts.map(|parts| &parts[at]));
    let (packs, trees, cancel) = (input.packs, input.trees, input.cancel);
    let (beside, other) = (beside.as_ref(), other.as_deref());
    scan(&ScanTarget { subject, language, beside, side, other, affected, other_affected, packs, wanted, trees, cancel })
}

/// Returns the functions and types of a text; none if it cannot be parsed.
pub(super) fn scopes_of(
    language: Option<&'static str>,
    text: &FileText,
    trees: &TreeCache,
    cancel: &Cancel,
) -> Result<Vec<CodeScope>, CancelReason> {
    let grammar = language.and_then(|language| Grammar::of_text(language, text.text()));
    let Some(grammar) = grammar.filter(|_| unparsable(text).is_none()) else { return Ok(Vec::new()) };
    let watch = ParseLimits::new(cancel, PATIENCE);
    match trees.parse(grammar, text.text(), &watch).and_then(|tree| tree.scopes(&watch)) {
        Ok(scopes) => Ok(scopes),
        Err(ParseFailure::Stopped(stopped)) => Err(stopped),
        Err(_) => Ok(Vec::new()),
    }
}

/// Builds the note about matches on a long line.
pub(super) fn long_line_note(line: u32) -> String {
    format!("line {line} has more than {LONGEST_LINE} characters: what rules that need a parser find there is not told")
}

/// Builds the note about lines that the parser misread.
pub(super) fn misread_note(misread: &MisreadLines) -> String {
    let (first, last) = (misread.lines.start(), misread.lines.end());
    format!("lines {first} to {last} were checked line by line only: {}", misread.why)
}

fn line_by_line(why: &str) -> String {
    format!("checked line by line only: {why}")
}

fn unparsable(text: &FileText) -> Option<String> {
    (text.text().len() > LARGEST)
        .then(|| format!("it has {} bytes, more than the {LARGEST} that are parsed", text.text().len()))
}

fn long_lines(text: &FileText) -> Vec<u32> {
    let is_long = |line: &str| line.len() > LONGEST_LINE && line.chars().nth(LONGEST_LINE).is_some();
    text.all_lines().filter(|(_, line)| is_long(line)).map(|(number, _)| number).collect()
}

fn hit(text: &FileText, found: &SyntaxMatch) -> RuleMatch {
    let of = |bytes: &std::ops::Range<usize>| text.text().get(bytes.clone()).unwrap_or_default();
    let mut key = String::new();
    found.same.iter().for_each(|bytes| fold_into(&mut key, of(bytes)));
    let replacement = found.edit.as_ref().and_then(|edit| whole_lines(text, found, edit));
    let folded = |bytes: &std::ops::Range<usize>| {
        let mut folded = String::new();
        fold_into(&mut folded, of(bytes));
        folded
    };
    let stays = found.stays.iter().map(folded).collect();
    let guards = found.guards.iter().map(folded).collect();
    let place = RuleMatch {
        at: found.at,
        around: found.around,
        stays,
        guards,
        replacement,
        ..RuleMatch::from_lines(text, found.lines)
    };
    RuleMatch { key, ..place }
}

/// Applies the edit to the lines of a match, without the last line ending.
fn whole_lines(text: &FileText, found: &SyntaxMatch, edit: &ByteEdit) -> Option<String> {
    let lines = text.byte_range(found.lines)?;
    if edit.bytes.start < lines.start || edit.bytes.end > lines.end {
        return None;
    }
    let (before, after) =
        (text.text().get(lines.start..edit.bytes.start)?, text.text().get(edit.bytes.end..lines.end)?);
    let whole = format!("{before}{}{after}", edit.text);
    let whole = whole.strip_suffix('\n').unwrap_or(&whole);
    Some(whole.strip_suffix('\r').unwrap_or(whole).to_owned())
}
