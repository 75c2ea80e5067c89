//! Our threads, and the finding that each of them is about. Main types: [`OwnThread`], [`ThreadMatchKey`].
//!
//! A thread is ours when the forge says that our account wrote its first comment, and that comment ends with a finding's mark. A mark in
//! anybody else's comment means nothing, and so does one of another trust. What follows from a match belongs in `plan`.

use std::collections::HashMap;

use crate::domain::finding::{Category, FindingFingerprint};
use crate::domain::forge::{Actor, FindingMark, MarkTrust, PullConversation, Thread};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};

/// A thread that we began.
#[derive(Debug, Clone)]
pub struct OwnThread<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// The mark in its first comment.
    pub mark: FindingMark,
}

/// The part of a finding that is compared with threads.
#[derive(Debug, Clone)]
pub(super) struct ThreadMatchKey<'a> {
    pub(super) fingerprint: &'a FindingFingerprint,
    pub(super) category: Category,
    pub(super) path: &'a RepoPath,
    pub(super) side: DiffSide,
    pub(super) lines: Option<LineRange>,
    /// `true` if it is fixed: it takes its own thread, and none that another finding may be about.
    pub(super) is_over: bool,
}

/// The threads of this trust that are ours, oldest first, and how many of others carry a mark like ours.
pub fn collect_own_threads(conversation: &PullConversation, trust: MarkTrust) -> (Vec<OwnThread<'_>>, usize) {
    let (mut ours, mut forged) = (Vec::new(), 0);
    for thread in &conversation.threads {
        let Some(first) = thread.comments.first() else { continue };
        match FindingMark::read_as(&first.body, trust) {
            Some(mark) if first.mine => ours.push(OwnThread { thread, mark }),
            Some(_) => forged += 1,
            None => {}
        }
    }
    (ours, forged)
}

impl OwnThread<'_> {
    /// The lines in the change as it is now; `None` when outdated.
    fn lines(&self) -> Option<LineRange> {
        let end = self.thread.line?;
        LineRange::new(self.thread.start_line.unwrap_or(end), end).ok()
    }

    /// The lines now, else those it was written about.
    fn last_lines(&self) -> Option<LineRange> {
        let original = || {
            let end = self.thread.original_line?;
            LineRange::new(self.thread.original_start_line.unwrap_or(end), end).ok()
        };
        self.lines().or_else(original)
    }
}

/// For each finding, the thread about it, by its place in `threads`. No thread is given to two findings.
///
/// First those with the same fingerprint (open ones first, then the nearest), then those of the same category on lines that overlap.
pub(super) fn matches(threads: &[OwnThread<'_>], spots: &[ThreadMatchKey<'_>]) -> Vec<Option<usize>> {
    let mut found = vec![None; spots.len()];
    let mut taken = vec![false; threads.len()];
    by_fingerprint(threads, spots, &mut found, &mut taken);
    by_place(threads, spots, &mut found, &mut taken);
    found
}

fn by_fingerprint(
    threads: &[OwnThread<'_>],
    spots: &[ThreadMatchKey<'_>],
    found: &mut [Option<usize>],
    taken: &mut [bool],
) {
    let mut named: HashMap<&FindingFingerprint, Vec<usize>> = HashMap::new();
    for (at, own) in threads.iter().enumerate() {
        named.entry(&own.mark.fingerprint).or_default().push(at);
    }
    let mut pairs = Vec::new();
    for (spot_at, spot) in spots.iter().enumerate() {
        for thread_at in named.get(spot.fingerprint).into_iter().flatten() {
            let own = &threads[*thread_at];
            pairs.push((spot.is_over, own.thread.is_resolved, distance(own, spot), spot_at, *thread_at));
        }
    }
    pairs.sort_unstable();
    for (_, _, _, spot_at, thread_at) in pairs {
        if found[spot_at].is_none() && !taken[thread_at] {
            found[spot_at] = Some(thread_at);
            taken[thread_at] = true;
        }
    }
}

/// Returns the number of lines between the two; another file is farther than any line.
fn distance(own: &OwnThread<'_>, spot: &ThreadMatchKey<'_>) -> u32 {
    match (own.last_lines(), spot.lines) {
        (Some(a), Some(b)) if own.thread.path.as_ref() == Some(spot.path) && own.thread.side == spot.side => {
            a.start().abs_diff(b.start())
        }
        _ => u32::MAX,
    }
}

fn by_place(threads: &[OwnThread<'_>], spots: &[ThreadMatchKey<'_>], found: &mut [Option<usize>], taken: &mut [bool]) {
    let mut there: HashMap<&RepoPath, Vec<usize>> = HashMap::new();
    for (at, own) in threads.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        if let Some(path) = &own.thread.path {
            there.entry(path).or_default().push(at);
        }
    }
    for (spot_at, spot) in spots.iter().enumerate() {
        let (None, Some(lines), false) = (found[spot_at], spot.lines, spot.is_over) else { continue };
        let fits = |at: &&usize| {
            let own = &threads[**at];
            !taken[**at]
                && own.mark.category == spot.category
                && own.thread.side == spot.side
                && own.lines().is_some_and(|there| there.overlaps(lines))
        };
        let candidates = there.get(spot.path).into_iter().flatten();
        if let Some(at) = candidates.filter(fits).min_by_key(|at| threads[**at].thread.is_resolved) {
            found[spot_at] = Some(*at);
            taken[*at] = true;
        }
    }
}

/// Checks whether our own account resolved a thread. The forge may name nobody where an app did it: for an app that is taken for itself.
pub(super) fn resolved_by_us(own: &OwnThread<'_>, viewer: &Actor) -> bool {
    match &own.thread.resolved_by {
        Some(actor) => actor.login.eq_ignore_ascii_case(&viewer.login),
        None => viewer.is_bot,
    }
}
