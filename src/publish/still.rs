//! What of an earlier review is still there: the lines of its threads, and whether it saw what is found now. Main functions: [`still`], [`saw`].
//!
//! Both are asked of trees and of the receipt, never of what anybody wrote. What follows belongs in `plan`.

use crate::domain::change::{ChangeSet, FileStatus};
use crate::domain::finding::{Anchor, Finding};
use crate::domain::forge::quote_hash;
use crate::domain::path::RepoPath;
use crate::domain::place::Side;
use crate::domain::review::{CoverageState, Review};
use crate::domain::text::{FileText, normal_line};
use crate::evidence::{Located, locate};
use crate::sys::cancel::Cancel;
use crate::workspace::{Workspace, WorkspaceError};

use super::plan::{OwnThread, Still};

/// How many lines are hashed for one thread before it is taken to stand: lines of files times lines of the quote.
const MOST_HASHED: usize = 20_000_000;

/// Whether the lines that a thread of ours is about still stand in the tree that `review` is about.
///
/// They are gone only where that is shown: the review saw the file (or the change no longer touches it), it can be read, and the lines stand
/// nowhere in it. Where the file is gone, they may stand in any changed file: it may have been renamed.
pub fn still(own: &OwnThread<'_>, review: &Review, change: &ChangeSet, new: &dyn Workspace, cancel: &Cancel) -> Still {
    let stands = |why: &str| Still::Stands(why.to_owned());
    let Some(path) = &own.thread.path else { return stands("The forge does not say which file it is about.") };
    if let Some(file) = review.coverage.files.iter().find(|file| file.path == *path)
        && file.state != CoverageState::Reviewed
    {
        return stands("The review did not see all of the file.");
    }
    let (hash, count) = &own.mark.quote;
    let Some(count) = usize::try_from(*count).ok().filter(|count| *count > 0) else {
        return stands("It is about the file as a whole.");
    };
    let mut budget = MOST_HASHED;
    let mut look = |path: &RepoPath| -> Result<bool, Unknown> {
        cancel.check().map_err(|_| Unknown::Stopped)?;
        match new.read(path) {
            Ok(text) => holds(&text, hash, count, &mut budget),
            Err(WorkspaceError::NotFound(_)) => Err(Unknown::NoFile),
            Err(_) => Err(Unknown::Unreadable),
        }
    };
    let found = match (look(path), own.thread.side) {
        (Err(Unknown::NoFile), Side::New) => elsewhere(change, &mut look),
        // Lines that were deleted are back, or they are not: then the deletion is still there.
        (found, Side::Old) => match found {
            Ok(is_back) => Ok(!is_back),
            Err(Unknown::NoFile) => Ok(true),
            Err(other) => Err(other),
        },
        (found, Side::New) => found,
    };
    match found {
        Ok(false) => Still::Gone,
        Ok(true) => stands("It was not found this time, but its lines are as they were."),
        Err(Unknown::Stopped) => stands("There was no time to look whether its lines are still there."),
        Err(Unknown::TooMuch) => stands("Its file is too large to look whether its lines are still there."),
        Err(Unknown::NoFile | Unknown::Unreadable) => {
            stands("Its file cannot be read, so nothing shows that it is fixed.")
        }
    }
}

/// Why nothing is known about lines.
enum Unknown {
    NoFile,
    Unreadable,
    Stopped,
    TooMuch,
}

/// Whether the lines stand in any file that the change brings.
fn elsewhere(change: &ChangeSet, look: &mut impl FnMut(&RepoPath) -> Result<bool, Unknown>) -> Result<bool, Unknown> {
    let brought =
        change.files.iter().filter(|file| file.status != FileStatus::Deleted && file.without_text().is_none());
    for file in brought {
        match look(&file.path) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Unknown::NoFile | Unknown::Unreadable) => {}
            Err(stopped) => return Err(stopped),
        }
    }
    Ok(false)
}

/// Whether `count` lines in a row anywhere in the text have this hash.
fn holds(text: &FileText, hash: &str, count: usize, budget: &mut usize) -> Result<bool, Unknown> {
    let lines: Vec<&str> = text.all_lines().map(|(_, line)| normal_line(line)).collect();
    let cost = lines.len().saturating_mul(count);
    if lines.len() < count {
        return Ok(false);
    }
    *budget = budget.checked_sub(cost).ok_or(Unknown::TooMuch)?;
    Ok(lines.windows(count).any(|window| quote_hash(&window.join("\n")).0 == hash))
}

/// Whether an earlier review of the tree `then` saw everything that a finding rests on, as it is now.
///
/// What cannot be read was not seen.
pub fn saw(finding: &Finding, then: &dyn Workspace) -> bool {
    let is_about_lines = finding.anchors.iter().any(|anchor| anchor.lines.is_some());
    is_about_lines
        && finding.anchors.iter().filter(|anchor| anchor.lines.is_some()).all(|anchor| saw_place(anchor, then))
}

fn saw_place(anchor: &Anchor, then: &dyn Workspace) -> bool {
    match (then.read(&anchor.path), anchor.side) {
        (Ok(text), Side::New) => stands_as_is(&text, anchor),
        // Lines of before the change: the deletion was seen if they were gone by then.
        (Ok(text), Side::Old) => !stands_as_is(&text, anchor),
        (Err(WorkspaceError::NotFound(_)), Side::Old) => true,
        (Err(_), _) => false,
    }
}

/// Whether the lines stand somewhere in the text, indented as they are.
fn stands_as_is(text: &FileText, anchor: &Anchor) -> bool {
    let place = match locate(text, &anchor.quote, anchor.lines) {
        Located::Exact(place) | Located::Moved(place) => Some(place),
        Located::Ambiguous(places) => places.first().copied(),
        Located::Nowhere { .. } | Located::NotDistinctive | Located::Empty => None,
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
