//! Matching of a project's dismissals with findings, and detection of stale ones. Main function: [`apply`].
//!
//! A dismissal applies to exactly one finding: the fingerprint is the same, to the last digit, and so is the file, or its glob matches the file. A
//! finding that a model rates worse than the dismissed one is another finding. If several findings match, the id decides; otherwise none is
//! dismissed.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::day::Day;
use crate::domain::dismissal::{DISMISSED_FILE, Dismissal};
use crate::domain::finding::{DismissalNote, DismissedBy, Finding, FindingStatus};
use crate::domain::path::RepoPath;
use crate::domain::review::FileCoverage;

/// Maximum number of entries named in a note.
const NAMED: usize = 5;

/// Review that the dismissals are applied to.
pub(super) struct DismissalScope<'a> {
    pub(super) change: &'a ChangeSet,
    pub(super) files: &'a [FileCoverage],
    /// Day of the review; `None` if unknown, and then entries with an end do not apply.
    pub(super) today: Option<Day>,
}

/// Marks the dismissed findings. Returns remarks on dismissals that expired or match nothing here, a sentence each.
pub(super) fn apply(
    dismissals: &[Dismissal],
    findings: &mut [&mut Finding],
    scene: &DismissalScope<'_>,
) -> Vec<String> {
    for finding in findings.iter_mut() {
        lift_dismissal(finding, scene.today);
    }
    let has_lapsed = |one: &&Dismissal| one.until.is_some() && scene.today.is_none_or(|today| one.has_lapsed(today));
    let (lapsed, valid): (Vec<&Dismissal>, Vec<&Dismissal>) = dismissals.iter().partition(has_lapsed);
    let mut settling =
        DismissalPass { alike: HashMap::new(), dismissed: HashSet::new(), renamed: renamed(scene.change) };
    for (at, finding) in findings.iter().enumerate().filter(|(_, finding)| !finding.status.is_resolved()) {
        settling.alike.entry(finding.fingerprint.0.clone()).or_default().push(at);
    }
    let (mut used, mut unclear) = (vec![false; valid.len()], Vec::new());
    // An entry that names one finding goes before one that names whatever is like it.
    for step in [DismissalStep::Named, DismissalStep::Alone, DismissalStep::Everywhere] {
        for (entry, dismissal) in valid.iter().enumerate().filter(|(_, one)| step.is_for(one)) {
            if step == DismissalStep::Alone && used[entry] {
                continue;
            }
            let meant = settling.find_mark(step, dismissal, findings);
            match meant {
                DismissalMatch::These(places) => {
                    used[entry] |= !places.is_empty();
                    for at in places {
                        findings[at].dismiss(why(dismissal));
                        settling.dismissed.insert(at);
                    }
                }
                DismissalMatch::OneOf(count) => unclear.push((*dismissal, count)),
            }
        }
    }
    let unused: Vec<&Dismissal> = valid.iter().zip(&used).filter(|(_, used)| !**used).map(|(one, _)| *one).collect();
    let told: HashSet<&str> = unclear.iter().map(|(one, _)| one.id.0.as_str()).collect();
    let gone: Vec<&Dismissal> =
        unused.into_iter().filter(|one| !told.contains(one.id.0.as_str()) && scene.shows_all_of(&one.path)).collect();
    let unclear: Vec<&Dismissal> = unclear.into_iter().map(|(one, _)| one).collect();
    let kinds = [
        (
            lapsed,
            ["holds no longer: its last day is over", "hold no longer: their last day is over"],
            "renew or remove",
        ),
        (
            gone,
            [
                "matches no finding, though this change has all of its file",
                "match no finding, though this change has all of their files",
            ],
            "remove",
        ),
        (
            unclear,
            [
                "could mean any of several findings that are alike, so none is dismissed",
                "could each mean any of several findings that are alike, so none is dismissed",
            ],
            "dismiss by the id that the finding has now",
        ),
    ];
    kinds.into_iter().filter_map(|(entries, what, next)| note(&entries, what, next)).collect()
}

/// A dismissal of the project's file ends with its entry, and so does an expired one.
fn lift_dismissal(finding: &mut Finding, today: Option<Day>) {
    let holds = |why: &DismissalNote| match why.by {
        DismissedBy::Project => false,
        DismissedBy::Reader => why.until.is_none_or(|until| today.is_some_and(|today| today <= until)),
    };
    if finding.status == FindingStatus::Dismissed && finding.dismissed.as_ref().is_some_and(|why| !holds(why)) {
        finding.status = FindingStatus::Open;
        finding.dismissed = None;
    }
}

fn why(dismissal: &Dismissal) -> DismissalNote {
    DismissalNote { reason: dismissal.reason.clone(), until: dismissal.until, by: DismissedBy::Project }
}

/// Rule by which an entry matches a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DismissalStep {
    /// By its id.
    Named,
    /// As the only one of its kind in its file.
    Alone,
    /// As one of its kind anywhere in the entry's glob.
    Everywhere,
}

impl DismissalStep {
    fn is_for(self, dismissal: &Dismissal) -> bool {
        match self {
            Self::Named | Self::Alone => dismissal.glob.is_none(),
            Self::Everywhere => dismissal.glob.is_some(),
        }
    }
}

/// Findings that an entry matches, by index.
enum DismissalMatch {
    These(Vec<usize>),
    /// One of this many.
    OneOf(usize),
}

struct DismissalPass<'a> {
    /// The unresolved findings of each fingerprint.
    alike: HashMap<String, Vec<usize>>,
    dismissed: HashSet<usize>,
    /// Old names of renamed files.
    renamed: HashMap<&'a RepoPath, &'a RepoPath>,
}

impl DismissalPass<'_> {
    fn find_mark(&self, step: DismissalStep, dismissal: &Dismissal, findings: &[&mut Finding]) -> DismissalMatch {
        let alike = self.alike.get(&dismissal.fingerprint.0).map_or(&[][..], Vec::as_slice);
        let is_open = |at: &&usize| !self.dismissed.contains(*at) && self.is_in_reach(dismissal, findings[**at]);
        let places: Vec<usize> = alike.iter().filter(is_open).copied().collect();
        match step {
            DismissalStep::Named => DismissalMatch::These(
                places.into_iter().filter(|at| findings[*at].id == dismissal.id).take(1).collect(),
            ),
            DismissalStep::Alone if places.len() > 1 => DismissalMatch::OneOf(places.len()),
            DismissalStep::Alone | DismissalStep::Everywhere => DismissalMatch::These(places),
        }
    }

    /// Checks whether a finding is within the scope of an entry, and no worse than what was dismissed.
    fn is_in_reach(&self, dismissal: &Dismissal, finding: &Finding) -> bool {
        if dismissal.severity.is_some_and(|known| finding.severity < known) {
            return false;
        }
        let Some(path) = finding.anchors.first().map(|anchor| &anchor.path) else { return false };
        match &dismissal.glob {
            Some(glob) => glob.filter.allows(path),
            // A file that the change moves is still the same file.
            None => *path == dismissal.path || self.renamed.get(path).is_some_and(|old| **old == dismissal.path),
        }
    }
}

fn renamed(change: &ChangeSet) -> HashMap<&RepoPath, &RepoPath> {
    let files = change.files.iter().filter(|file| file.status == FileStatus::Renamed);
    files.filter_map(|file| Some((&file.path, file.old_path.as_ref()?))).collect()
}

impl DismissalScope<'_> {
    /// Checks whether every line of a file is part of the change and was reviewed: anything in it would have been found.
    fn shows_all_of(&self, path: &RepoPath) -> bool {
        let is_new = |file: &FileChange| file.path == *path && file.status == FileStatus::Added;
        self.change.files.iter().any(is_new)
            && self.files.iter().any(|file| file.path == *path && file.state.is_whole())
    }
}

/// Renders `2 entries of .review/dismissed.toml hold no longer: …: 0123456789ab (src/a.rs), … (renew or remove).`
fn note(entries: &[&Dismissal], [one, several]: [&str; 2], next: &str) -> Option<String> {
    // Ids of one file are adjacent.
    let mut by_path: BTreeMap<&RepoPath, Vec<&str>> = BTreeMap::new();
    for entry in entries.iter().take(NAMED) {
        by_path.entry(&entry.path).or_default().push(&entry.id.0);
    }
    let named: Vec<String> = by_path.iter().map(|(path, ids)| format!("{} ({path})", ids.join(", "))).collect();
    let more = entries.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = match entries.len() {
        0 => return None,
        1 => format!("1 entry of {DISMISSED_FILE} {one}"),
        count => format!("{count} entries of {DISMISSED_FILE} {several}"),
    };
    Some(format!("{what} ({next}): {}{more}.", named.join(", ")))
}

#[cfg(test)]
mod tests;
