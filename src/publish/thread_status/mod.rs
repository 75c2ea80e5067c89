//! The status of an earlier review: whether the lines of its threads still exist, and whether it saw what is found now. Main functions: [`thread_status`], [`saw_finding`].
//!
//! Both are asked of trees and of the receipt, never of what anybody wrote. What follows belongs in `plan`.

use crate::domain::change::{ChangeSet, FileStatus};
use crate::domain::finding::{Anchor, Finding, OriginKind};
use crate::domain::forge::quote_hash;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::Review;
use crate::domain::run::Engine;
use crate::domain::text::{FileText, normal_line};
use crate::evidence::{QuoteLocation, locate};
use crate::sys::cancel::Cancel;
use crate::workspace::{Workspace, WorkspaceError};

use super::plan::{OwnThread, ThreadStatus};

/// The number of lines hashed for one thread before its lines are assumed to exist: lines of files times lines of the quote.
const MOST_HASHED: usize = 20_000_000;

/// Checks whether the lines that a thread of ours is about still stand in the tree that `review` is about.
///
/// They are gone only where that is shown: the review could have found it, it saw the file (or the change no longer touches it), the file can
/// be read, and the lines stand nowhere in it. Where the file is gone, they may stand in any changed file: it may have been renamed. Lines
/// that were deleted are back only where the change deletes them nowhere. `trees` are those of before and after the change.
pub fn thread_status(
    own: &OwnThread<'_>,
    review: &Review,
    change: &ChangeSet,
    trees: (&dyn Workspace, &dyn Workspace),
    cancel: &Cancel,
) -> ThreadStatus {
    let stands = |why: &str| ThreadStatus::Stands(why.to_owned());
    let (old, new) = trees;
    let Some(path) = &own.thread.path else { return stands("The forge does not say which file it is about.") };
    if is_unseen(review, path) {
        return stands("The review did not see all of the file.");
    }
    if review.provenance.engine == Engine::Rules && own.mark.origin == OriginKind::Model {
        return stands("A model found it, and this review asked none.");
    }
    let coverage = &review.coverage;
    if coverage.below_floor.keys().chain(coverage.below_confidence.keys()).any(|hidden| *hidden <= own.mark.severity) {
        return stands("This review hides findings of its severity.");
    }
    let (hash, count) = &own.mark.quote;
    let Some(count) = usize::try_from(*count).ok().filter(|count| *count > 0) else {
        // Nobody can resolve what has no thread; rules overlook nothing.
        if own.thread.comments.is_empty() && own.mark.origin == OriginKind::Rule {
            return ThreadStatus::Gone;
        }
        return stands("It is about the file as a whole.");
    };
    let mut budget = MOST_HASHED;
    let mut look = |tree: &dyn Workspace, path: &RepoPath| -> Result<Vec<LineRange>, UnknownReason> {
        cancel.check().map_err(|_| UnknownReason::Stopped)?;
        match tree.read(path) {
            Ok(text) => places(&text, hash, count, &mut budget),
            Err(WorkspaceError::NotFound(_)) => Err(UnknownReason::NoFile),
            Err(_) => Err(UnknownReason::Unreadable),
        }
    };
    let found = match own.thread.side {
        DiffSide::New => match look(new, path) {
            Ok(there) => Ok(there.into_iter().any(|lines| !is_anothers(own, review, path, lines))),
            Err(UnknownReason::NoFile) => elsewhere(review, change, &mut |path| look(new, path)),
            Err(unknown) => Err(unknown),
        },
        DiffSide::Old => match look(new, path) {
            Ok(back) if !back.is_empty() => is_deleted(change, path, &mut |path| look(old, path)),
            Ok(_) | Err(UnknownReason::NoFile) => Ok(true),
            Err(unknown) => Err(unknown),
        },
    };
    match found {
        Ok(false) => ThreadStatus::Gone,
        Ok(true) => stands("It was not found this time, but its lines are as they were."),
        Err(UnknownReason::Stopped) => stands("There was no time to look whether its lines are still there."),
        Err(UnknownReason::TooMuch) => stands("Its file is too large to look whether its lines are still there."),
        Err(UnknownReason::NoFile | UnknownReason::Unreadable) => {
            stands("Its file cannot be read, so nothing shows that it is fixed.")
        }
    }
}

/// The reason why nothing is known about lines.
enum UnknownReason {
    NoFile,
    Unreadable,
    Stopped,
    TooMuch,
}

/// Checks whether the review found the same once more at these lines: then they are of another thread, as one thread is about one finding.
///
/// A fingerprint knows the lines around it. Of what rules find, which overlook nothing, the same lines are enough.
fn is_anothers(own: &OwnThread<'_>, review: &Review, path: &RepoPath, lines: LineRange) -> bool {
    let by_rules = |finding: &Finding| {
        let quote = finding.anchors.first().map_or("", |anchor| &anchor.quote);
        (finding.origin.kind, own.mark.origin) == (OriginKind::Rule, OriginKind::Rule)
            && finding.category == own.mark.category
            && quote_hash(quote) == own.mark.quote
    };
    let alike = review.unresolved();
    let alike = alike.filter(|finding| finding.fingerprint == own.mark.fingerprint || by_rules(finding));
    alike.filter_map(|finding| finding.anchors.first()).any(|anchor| {
        anchor.path == *path && anchor.side == DiffSide::New && anchor.lines.is_some_and(|found| found.overlaps(lines))
    })
}

/// Checks whether the review did not see all of a changed file.
fn is_unseen(review: &Review, path: &RepoPath) -> bool {
    review.coverage.files.iter().any(|file| file.path == *path && !file.state.is_whole())
}

/// Checks whether the lines stand in any file that the change brings, or may do so in one that the review did not see.
fn elsewhere(
    review: &Review,
    change: &ChangeSet,
    look: &mut impl FnMut(&RepoPath) -> Result<Vec<LineRange>, UnknownReason>,
) -> Result<bool, UnknownReason> {
    let brought =
        change.files.iter().filter(|file| file.status != FileStatus::Deleted && file.without_text().is_none());
    for file in brought {
        if matches!(file.status, FileStatus::Renamed | FileStatus::Added) && is_unseen(review, &file.path) {
            return Err(UnknownReason::Unreadable);
        }
        match look(&file.path) {
            Ok(there) if !there.is_empty() => return Ok(true),
            Ok(_) | Err(UnknownReason::NoFile | UnknownReason::Unreadable) => {}
            Err(stopped) => return Err(stopped),
        }
    }
    Ok(false)
}

/// Checks whether the change still deletes the lines somewhere in a file; they may stand in it more than once.
fn is_deleted(
    change: &ChangeSet,
    path: &RepoPath,
    look: &mut impl FnMut(&RepoPath) -> Result<Vec<LineRange>, UnknownReason>,
) -> Result<bool, UnknownReason> {
    let Some(file) = change.files.iter().find(|file| file.path == *path) else { return Ok(false) };
    match look(file.path_at(DiffSide::Old)) {
        Ok(there) => Ok(there.into_iter().any(|lines| file.touches(DiffSide::Old, lines))),
        Err(UnknownReason::NoFile) => Ok(false),
        Err(unknown) => Err(unknown),
    }
}

/// Finds the positions at which `count` consecutive lines have this hash.
fn places(text: &FileText, hash: &str, count: usize, budget: &mut usize) -> Result<Vec<LineRange>, UnknownReason> {
    let lines: Vec<&str> = text.all_lines().map(|(_, line)| normal_line(line)).collect();
    let cost = lines.len().saturating_mul(count);
    if lines.len() < count {
        return Ok(Vec::new());
    }
    *budget = budget.checked_sub(cost).ok_or(UnknownReason::TooMuch)?;
    let windows = lines.windows(count).zip(1u32..);
    let found = windows.filter(|(window, _)| quote_hash(&window.join("\n")).0 == hash);
    let last = u32::try_from(count - 1).unwrap_or(u32::MAX);
    Ok(found.filter_map(|(_, start)| LineRange::new(start, start.saturating_add(last)).ok()).collect())
}

/// Checks whether an earlier review of the tree `then` saw everything that a finding rests on, as it is now.
///
/// Unreadable lines count as unseen.
pub fn saw_finding(finding: &Finding, then: &dyn Workspace) -> bool {
    let is_about_lines = finding.anchors.iter().any(|anchor| anchor.lines.is_some());
    is_about_lines
        && finding.anchors.iter().filter(|anchor| anchor.lines.is_some()).all(|anchor| saw_place(anchor, then))
}

fn saw_place(anchor: &Anchor, then: &dyn Workspace) -> bool {
    match (then.read(&anchor.path), anchor.side) {
        (Ok(text), DiffSide::New) => is_unchanged(&text, anchor),
        // Lines of before the change: the deletion was seen if they were gone by then.
        (Ok(text), DiffSide::Old) => !is_unchanged(&text, anchor),
        (Err(WorkspaceError::NotFound(_)), DiffSide::Old) => true,
        (Err(_), _) => false,
    }
}

/// Checks whether the lines stand somewhere in the text, indented as they are.
fn is_unchanged(text: &FileText, anchor: &Anchor) -> bool {
    let place = match locate(text, &anchor.quote, anchor.lines) {
        QuoteLocation::Exact(place) | QuoteLocation::Moved(place) => Some(place),
        QuoteLocation::Ambiguous(places) => places.first().copied(),
        QuoteLocation::Nowhere { .. } | QuoteLocation::NotDistinctive { .. } | QuoteLocation::Empty => None,
    };
    let same = |place| {
        let there: Vec<&str> = text.lines(place).map(|(_, line)| normal_line(line)).collect();
        let wanted: Vec<&str> = anchor.quote.lines().map(normal_line).collect();
        let core = |lines: &[&str]| lines.join("\n").trim_matches('\n').to_owned();
        core(&there) == core(&wanted)
    };
    place.is_some_and(same)
}

#[cfg(test)]
mod tests;
