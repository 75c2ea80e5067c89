//! Tests rules on fixtures. Main types: [`RuleFixtures`] → [`test_rules`] → [`FixtureReport`].
//!
//! The fixtures of a rule are in `<pack>/<id>/`. `hit-*` are files in which a match begins on every line that ends in a comment `HIT`, or
//! on the line after a comment `HIT below`, and on no other line; `ok-*` are files without a match. A file is reviewed as one added in
//! `src/`. A folder `hit-*` or `ok-*` with `base/` and `head/` is a whole change; marks on the old side count too.
//!
//! Reading the folder is left to the caller.

use std::collections::{BTreeMap, BTreeSet};

use super::changed_lines::ChangedLines;
use super::input::RulesInput;
use super::packs::Packs;
use super::run::{RulesReport, run};
use super::synthetic_change::SyntheticChange;
use crate::domain::claim::Claim;
use crate::domain::event::NullEventSink;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::rule_info::{FixtureFault, FixtureReport};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::folder::FolderFile;

/// Cases by the folders of their rules (`python-house/open-redirect`) and their names.
#[derive(Debug, Default)]
pub struct RuleFixtures(BTreeMap<String, BTreeMap<String, FixtureCase>>);

/// A change, and where matches must begin in it: `new src/a.py:3`.
#[derive(Debug, Default)]
struct FixtureCase {
    change: SyntheticChange,
    expected: BTreeSet<String>,
    /// The error in the case itself, if any.
    fault: Option<String>,
}

impl RuleFixtures {
    /// Sorts the files of a folder into cases. Files above the case folders, such as packs and a README, are ignored.
    pub fn of(files: &[FolderFile]) -> Self {
        let mut all = Self::default();
        for file in files {
            let path = String::from_utf8_lossy(&file.path);
            let mut parts = path.splitn(4, '/');
            let (Some(pack), Some(rule), Some(case)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let cases = all.0.entry(format!("{pack}/{rule}")).or_default();
            let made = cases.entry(case.to_owned()).or_default();
            if let Err(fault) = made.put(case, parts.next(), &file.bytes) {
                made.fault.get_or_insert(fault);
            }
        }
        all
    }

    /// Returns every case by its name, with its change.
    #[cfg(test)]
    pub(super) fn changes(&self) -> impl Iterator<Item = (&String, &SyntheticChange)> {
        self.0.values().flatten().map(|(name, case)| (name, &case.change))
    }

    /// Returns the folders that hold cases.
    fn folders(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

impl FixtureCase {
    /// Adds a file to the case; `within` is its path if the case is a folder.
    fn put(&mut self, name: &str, within: Option<&str>, bytes: &[u8]) -> Result<(), String> {
        let (side, path) = match within.map(|within| within.split_once('/')) {
            None => (DiffSide::New, format!("src/{name}")),
            Some(Some(("base", path))) => (DiffSide::Old, path.to_owned()),
            Some(Some(("head", path))) => (DiffSide::New, path.to_owned()),
            Some(_) => return Err("a folder holds base/ and head/, and nothing else".to_owned()),
        };
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text"))?;
        let path = RepoPath::parse(&path).map_err(|error| error.to_string())?;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end();
            let below = if line.ends_with(" HIT") || line.ends_with(" HIT */") {
                1
            } else if line.ends_with(" HIT below") {
                2
            } else {
                continue;
            };
            self.expected.insert(place(side, &path, at + below));
        }
        self.change.add_file(side, path, text);
        Ok(())
    }
}

fn place(side: DiffSide, path: &RepoPath, line: usize) -> String {
    format!("{} {path}:{line}", if side == DiffSide::Old { "old" } else { "new" })
}

/// Tests every rule of the packs on its fixtures, and reports rules without any.
pub fn test_rules(packs: &Packs, fixtures: &RuleFixtures, cancel: &Cancel) -> Result<FixtureReport, CancelReason> {
    let mut tried = FixtureReport::default();
    let mut known = BTreeSet::new();
    for (folder, rule) in packs.fixture_folders() {
        tried.rules += 1;
        let fault =
            |case: Option<&str>, what: String| FixtureFault { rule: rule.clone(), case: case.map(str::to_owned), what };
        let cases = fixtures.0.get(&folder);
        known.insert(folder.clone());
        let is = |mark: &str| cases.is_some_and(|cases| cases.keys().any(|name| name.starts_with(mark)));
        for (mark, what) in [("hit-", "shows what it finds"), ("ok-", "is near and right")] {
            if !is(mark) {
                tried.faults.push(fault(None, format!("it has no fixture {folder}/{mark}* that {what}")));
            }
        }
        for (name, case) in cases.into_iter().flatten() {
            cancel.check()?;
            tried.cases += 1;
            let faults = try_case(packs, &rule, name, case, cancel)?;
            tried.faults.extend(faults.into_iter().map(|what| fault(Some(name), what)));
        }
    }
    for folder in fixtures.folders().filter(|folder| !known.contains(*folder)) {
        let what = "it has fixtures, and there is no such rule".to_owned();
        tried.faults.push(FixtureFault { rule: folder.clone(), case: None, what });
    }
    Ok(tried)
}

fn try_case(
    packs: &Packs,
    rule: &str,
    name: &str,
    case: &FixtureCase,
    cancel: &Cancel,
) -> Result<Vec<String>, CancelReason> {
    if let Some(fault) = &case.fault {
        return Ok(vec![fault.clone()]);
    }
    let mut faults = Vec::new();
    match (name.starts_with("hit-"), name.starts_with("ok-"), case.expected.is_empty()) {
        (false, false, _) => faults.push("a case is called hit-* or ok-*".to_owned()),
        (true, _, true) => faults.push("no line of it ends in a comment HIT".to_owned()),
        (_, true, false) => faults.push("a line of it ends in a comment HIT, though it is called ok-*".to_owned()),
        _ => {}
    }
    let report = review(&case.change, packs, cancel);
    if let Some(stopped) = report.stopped {
        return Err(stopped);
    }
    for file in &report.files {
        if let Some(reason) = file.reason.as_ref().filter(|_| !file.state.is_whole()) {
            faults.push(format!("{} was not wholly looked at: {reason}", file.path));
        }
    }
    let began = |claim: &Claim| {
        let line = claim.place.lines.map_or(0, LineRange::start);
        place(claim.place.side, &claim.place.path, line as usize)
    };
    let found: BTreeSet<String> = report.claims.iter().filter(|claim| claim.origin.name == rule).map(began).collect();
    let listed = |places: Vec<&String>| places.iter().map(|place| place.as_str()).collect::<Vec<_>>().join(", ");
    let missed: Vec<&String> = case.expected.difference(&found).collect();
    if !missed.is_empty() {
        faults.push(format!("nothing is found at {}", listed(missed)));
    }
    let more: Vec<&String> = found.difference(&case.expected).collect();
    if !more.is_empty() {
        faults.push(format!("something is found at {}, where nothing should be", listed(more)));
    }
    Ok(faults)
}

/// Runs the rules over a synthetic change.
pub(super) fn review(made_up: &SyntheticChange, packs: &Packs, cancel: &Cancel) -> RulesReport {
    let (change, old, new) = made_up.build();
    run(&RulesInput {
        change: &change,
        only: None,
        new: &new,
        old: &old,
        packs,
        lines: &ChangedLines::default(),
        trees: &crate::syntax::TreeCache::default(),
        cancel,
        events: &NullEventSink,
    })
}
