//! Findings of earlier reviews that have no thread: only the summary names them. Main type: [`KeptSummary`].
//!
//! They are carried on like threads of ours, but there is nothing to resolve.

use std::collections::{HashMap, HashSet};

use super::PlanInput;
use super::entry::EntryWork;
use super::entry::PlanEntry;
use super::format_place;
use super::of_thread;
use super::thread_entry;
use super::threads::{OwnThread, ThreadMatchKey};
use crate::domain::finding::{FindingFingerprint, FindingId};
use crate::domain::forge::{Comment, DeliveryAct, SummaryOnlyMark, Thread};

/// The findings that the existing summary keeps.
pub(super) struct KeptSummary {
    /// Those that this review did not find again, each as a thread without comments.
    left: Vec<(SummaryOnlyMark, Thread)>,
    /// The places of the findings that it did.
    raised: HashSet<usize>,
}

impl KeptSummary {
    /// Reads the marks and finds out which of them this review is about, given the thread of each finding.
    pub(super) fn read(
        summary: Option<&Comment>,
        ours: &[OwnThread<'_>],
        spots: &[ThreadMatchKey<'_>],
        found: &[Option<usize>],
    ) -> Self {
        let marks = summary.map(|there| SummaryOnlyMark::read_all(&there.body)).unwrap_or_default();
        let mut named: HashMap<&FindingFingerprint, Vec<usize>> = HashMap::new();
        for (at, spot) in spots.iter().enumerate() {
            named.entry(spot.fingerprint).or_default().push(at);
        }
        // Those that have no thread are taken first; a run that was interrupted may have begun threads for others.
        for places in named.values_mut() {
            places.sort_by_key(|at| found[*at].is_none());
        }
        let threads: HashSet<&FindingId> =
            ours.iter().filter(|own| !own.thread.is_resolved).map(|own| &own.mark.id).collect();
        let mut kept = Self { left: Vec::new(), raised: HashSet::new() };
        for mark in marks {
            let by_name = named.get_mut(&mark.finding.fingerprint).and_then(Vec::pop);
            let again = by_name.or_else(|| same_lines(&mark, spots, found, &kept.raised));
            match again {
                Some(at) => {
                    kept.raised.insert(at);
                }
                None if threads.contains(&mark.finding.id) => {}
                None => {
                    let thread = thread_of(&mark);
                    kept.left.push((mark, thread));
                }
            }
        }
        kept
    }

    /// Checks whether a finding was raised in the summary before.
    pub(super) fn was_in_summary(&self, spot: usize) -> bool {
        self.raised.contains(&spot)
    }

    /// Returns the remaining ones, except fixed ones that are found again.
    pub(super) fn remaining(
        &self,
        spots: &[ThreadMatchKey<'_>],
    ) -> impl Iterator<Item = (OwnThread<'_>, &SummaryOnlyMark)> {
        let back: HashSet<&FindingFingerprint> =
            spots.iter().filter(|spot| !spot.is_over).map(|spot| spot.fingerprint).collect();
        let left: Vec<_> =
            self.left.iter().filter(|(mark, _)| !mark.is_fixed || !back.contains(&mark.finding.fingerprint)).collect();
        left.into_iter().map(|(mark, thread)| (OwnThread { thread, mark: mark.finding.clone() }, mark))
    }
}

/// A finding in other words on the same lines.
fn same_lines(
    mark: &SummaryOnlyMark,
    spots: &[ThreadMatchKey<'_>],
    found: &[Option<usize>],
    raised: &HashSet<usize>,
) -> Option<usize> {
    let is_same = |at: &usize| {
        let spot = &spots[*at];
        found[*at].is_none()
            && !raised.contains(at)
            && !mark.is_fixed
            && spot.path == &mark.path
            && spot.side == mark.side
            && spot.category == mark.finding.category
            && spot.lines.is_some_and(|lines| Some(lines.start()) == mark.line)
    };
    (0..spots.len()).find(is_same)
}

fn thread_of(mark: &SummaryOnlyMark) -> Thread {
    Thread {
        node: String::new(),
        is_resolved: false,
        resolved_by: None,
        is_outdated: true,
        can_resolve: true,
        can_unresolve: false,
        path: Some(mark.path.clone()),
        line: None,
        start_line: None,
        original_line: mark.line,
        original_start_line: None,
        side: mark.side,
        on_file: mark.line.is_none(),
        comments: Vec::new(),
    }
}

/// Plans one that this review did not find.
pub(super) fn plan_entry(at: &PlanInput<'_>, own: &OwnThread<'_>, mark: &SummaryOnlyMark) -> PlanEntry {
    let mut entry = if mark.is_fixed {
        thread_entry(own, DeliveryAct::Resolved, None, EntryWork::Nothing)
    } else {
        of_thread(at, own)
    };
    // There is no thread.
    entry.work = EntryWork::Nothing;
    if !mark.title.is_empty() {
        entry.item.title.clone_from(&mark.title);
    }
    entry.place = format_place(Some((&mark.path, mark.line)));
    entry.kept = Some(mark.clone());
    entry
}
