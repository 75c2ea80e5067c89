//! Base matches for what was found at the head. Main function: [`scan_base`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::document::ReportedSide;
use super::input::RulesInput;
use super::introduced::{BaseText, HeadMatch};
use super::scan::{RuleSelection, scan_side};
use super::target::{RuleMatch, RuleRef, rarest_word, read_text};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::place::DiffSide;
use crate::syntax::ScanFocus;
use crate::sys::cancel::CancelReason;
use crate::sys::threads::for_each_file;
use crate::workspace::WorkspaceError;

/// Maximum number of listed failures to read the base; more are counted.
const MOST_LISTED: usize = 3;

/// Base matches of one file.
#[derive(Default)]
struct FileBaseMatches {
    keys: Vec<(RuleRef, String)>,
    places: Vec<(RuleRef, u32)>,
    /// `true` if all of it was searched for the matches that depend on their place.
    whole: bool,
    /// Why it could not be read.
    error: Option<String>,
}

/// Base matches of all rules that match at the head of a file.
pub(super) struct BaseMatches {
    rules: HashSet<RuleRef>,
    hits: Vec<(RuleRef, RuleMatch)>,
    /// `true` if all of it was examined.
    whole: bool,
}

/// Matches the base of a file against the rules that match at its head: nearly everything that is needed of it later.
pub(super) fn find_base_matches(
    input: &RulesInput<'_>,
    file: &FileChange,
    heads: &[HeadMatch],
) -> Result<Option<BaseMatches>, CancelReason> {
    let of_packs = heads.iter().map(|head| head.rule).filter(|rule| matches!(rule, RuleRef::Pack { .. }));
    let rules: HashSet<RuleRef> = of_packs.collect();
    if rules.is_empty() || !has_base(file) {
        return Ok(None);
    }
    let Some(text) = read_text(input.old, file.path_at(DiffSide::Old))? else { return Ok(None) };
    let wanted = RuleSelection { on: ReportedSide::Added, rules: &|rule| rules.contains(&rule), scopes: false };
    let looked = scan_side(input, file, DiffSide::Old, &text, &wanted)?;
    Ok(Some(BaseMatches { rules, hits: looked.hits, whole: looked.cut.is_none() }))
}

/// Checks whether a file has a base that may hold what its head does.
fn has_base(file: &FileChange) -> bool {
    file.without_text().is_none() && file.status != FileStatus::Added && !file.hunks.is_empty()
}

/// A query to the base.
struct BaseQuery<'a> {
    known: HashSet<(RuleRef, &'a str)>,
    words: RareWords,
    /// The rules whose match positions in a file are needed.
    own: HashMap<usize, HashSet<RuleRef>>,
    /// The base lines of matches at the head that begin on an unchanged line.
    head_places: HashSet<(usize, RuleRef, u32)>,
}

impl<'a> BaseQuery<'a> {
    fn of(input: &RulesInput<'_>, heads: &'a [HeadMatch]) -> Self {
        let touched = heads.iter().filter(|head| head.touched.is_some());
        let known: HashSet<(RuleRef, &str)> = touched.map(|head| (head.rule, head.hit.key.as_str())).collect();
        let mut own: HashMap<usize, HashSet<RuleRef>> = HashMap::new();
        for head in heads.iter().filter(|head| head.is_place_bound() || head.may_supersede()) {
            // A renamed file may have been excluded from a rule before, and then nothing matched in it.
            if input.change.files.get(head.file).is_some_and(|file| file.status == FileStatus::Modified) {
                own.entry(head.file).or_default().insert(head.rule);
            }
        }
        let head_places = heads.iter().filter_map(|head| Some((head.file, head.rule, head.was_at?))).collect();
        Self { words: RareWords::of(known.iter().copied()), known, own, head_places }
    }
}

/// Searches the base for what was found at the head, reading only files that can hold it. `known` returns what was found in
/// a file before.
pub(super) fn scan_base<'k>(
    input: &RulesInput<'_>,
    heads: &[HeadMatch],
    known: &(dyn Fn(usize) -> Option<&'k BaseMatches> + Sync),
    notes: &mut BTreeSet<String>,
) -> Result<BaseText, CancelReason> {
    let sought = BaseQuery::of(input, heads);
    let mut base = BaseText::default();
    if sought.known.is_empty() && sought.own.is_empty() {
        return Ok(base);
    }
    let held = for_each_file(input.change.files.len(), |at| search_file(input, at, &sought, known(at)));
    let mut unread = 0;
    for (at, outcome) in held.into_iter().enumerate() {
        let Some(outcome) = outcome else { continue };
        let held = outcome?;
        if let Some(error) = held.error {
            unread += 1;
            if unread <= MOST_LISTED {
                let path = input.change.files[at].path_at(DiffSide::Old);
                notes.insert(format!(
                    "{path} was not compared with the base, so old matches may be told as new: {error}"
                ));
            }
        }
        for key in held.keys {
            *base.counts.entry(key).or_default() += 1;
        }
        base.places.extend(held.places.into_iter().map(|(rule, line)| (at, rule, line)));
        if held.whole {
            base.read.insert(at);
        }
    }
    if unread > MOST_LISTED {
        notes.insert(format!("{} more files were not compared with the base", unread - MOST_LISTED));
    }
    Ok(base)
}

/// Returns the matches in files that are not reported on which equal one of the base: of code that was moved once and copied once, only one
/// is new.
pub(super) fn find_equal_heads(
    input: &RulesInput<'_>,
    base: &BaseText,
    scan: &(dyn Fn(usize) -> Result<Vec<HeadMatch>, CancelReason> + Sync),
) -> Result<Vec<HeadMatch>, CancelReason> {
    if input.only.is_none() || base.counts.is_empty() {
        return Ok(Vec::new());
    }
    let words = RareWords::of(base.counts.keys().map(|(rule, key)| (*rule, key.as_str())));
    let find = |at: usize| {
        let Some(file) = input.change.files.get(at).filter(|_| !input.asks(at)) else { return Ok(Vec::new()) };
        let text = read_text(input.new, &file.path)?;
        if text.is_none_or(|text| words.rules_in(text.text()).is_empty()) { Ok(Vec::new()) } else { scan(at) }
    };
    let mut equal = Vec::new();
    for found in for_each_file(input.change.files.len(), find).into_iter().flatten() {
        let is_equal =
            |hit: &HeadMatch| hit.touched.is_some() && base.counts.contains_key(&(hit.rule, hit.hit.key.clone()));
        equal.extend(found?.into_iter().filter(is_equal));
    }
    Ok(equal)
}

fn search_file(
    input: &RulesInput<'_>,
    at: usize,
    sought: &BaseQuery<'_>,
    stood: Option<&BaseMatches>,
) -> Result<FileBaseMatches, CancelReason> {
    input.cancel.check()?;
    let file = &input.change.files[at];
    if !has_base(file) {
        return Ok(FileBaseMatches::default());
    }
    let text = match input.old.read(file.path_at(DiffSide::Old)) {
        Ok(text) => text,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => return Ok(FileBaseMatches { error: Some(error.to_string()), ..FileBaseMatches::default() }),
    };
    let own = sought.own.get(&at);
    let mut rules = sought.words.rules_in(text.text());
    rules.extend(own.into_iter().flatten());
    if rules.is_empty() {
        return Ok(FileBaseMatches::default());
    }
    let known = |rule: &RuleRef| stood.is_some_and(|stood| stood.rules.contains(rule));
    let before = stood.into_iter().flat_map(|stood| &stood.hits).filter(|(rule, _)| rules.contains(rule));
    let wanted =
        RuleSelection { on: ReportedSide::Added, rules: &|rule| rules.contains(&rule) && !known(&rule), scopes: false };
    let looked = scan_side(input, file, DiffSide::Old, &text, &wanted)?;
    let whole = looked.cut.is_none() && stood.is_none_or(|stood| stood.whole);
    let mut held = FileBaseMatches { whole: own.is_some() && whole, ..FileBaseMatches::default() };
    let focus = ScanFocus::of(file, DiffSide::Old);
    for (rule, hit) in before.cloned().chain(looked.hits) {
        if own.is_some_and(|own| own.contains(&rule)) {
            held.places.push((rule, hit.at.start()));
        }
        // A match that the change did not affect counts only if that at the same place of the head does.
        let counts = focus.affects(hit.lines.start(), hit.lines.end())
            || sought.head_places.contains(&(at, rule, hit.at.start()));
        if counts && sought.known.contains(&(rule, hit.key.as_str())) {
            held.keys.push((rule, hit.key));
        }
    }
    Ok(held)
}

/// The most distinctive words of all searched keys, and the rules that search for each.
pub(super) struct RareWords {
    search: Option<aho_corasick::AhoCorasick>,
    rules: Vec<BTreeSet<RuleRef>>,
    all: HashSet<RuleRef>,
}

impl RareWords {
    /// Collects the words of rules and keys.
    pub(super) fn of<'a>(sought: impl Iterator<Item = (RuleRef, &'a str)>) -> Self {
        let mut rules_of: BTreeMap<&str, BTreeSet<RuleRef>> = BTreeMap::new();
        for (rule, key) in sought {
            rules_of.entry(rarest_word(key)).or_default().insert(rule);
        }
        let search = aho_corasick::AhoCorasick::new(rules_of.keys()).ok();
        let rules: Vec<BTreeSet<RuleRef>> = rules_of.into_values().collect();
        Self { search, all: rules.iter().flatten().copied().collect(), rules }
    }

    /// Returns the rules for which `text` can hold something that is searched for.
    pub(super) fn rules_in(&self, text: &str) -> HashSet<RuleRef> {
        let Some(search) = self.search.as_ref().filter(|_| !self.all.is_empty()) else { return self.all.clone() };
        let mut here = HashSet::new();
        let mut seen = vec![false; self.rules.len()];
        for word in search.find_overlapping_iter(text) {
            let at = word.pattern().as_usize();
            if let (Some(seen @ false), Some(rules)) = (seen.get_mut(at), self.rules.get(at)) {
                *seen = true;
                here.extend(rules);
                if here.len() == self.all.len() {
                    break;
                }
            }
        }
        here
    }
}
