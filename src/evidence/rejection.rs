//! Reasons why a claim is rejected, worded so that its author can correct it. Main type: [`Rejection`].

use std::fmt;

use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;
use crate::workspace::WorkspaceError;

use super::nearest::head;

/// Maximum number of places in a message.
const NAMED: usize = 5;

/// A line of the file, as a message shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearLine {
    /// Its number.
    pub number: u32,
    /// Its text, masked, cut after 160 characters.
    pub text: String,
}

/// Why a claim was rejected.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Rejection {
    /// The claim's own place is in an unchanged file, and no related place touches the change.
    #[error(
        "{path} is not a changed file{}; give the changed line that causes it as related, or quote that line",
        NearPaths(near)
    )]
    NotInChange { path: RepoPath, near: Vec<RepoPath> },
    /// The file cannot be read on that side.
    #[error("the place cannot be checked: {0}")]
    Unreadable(WorkspaceError),
    /// The run was stopped; the claim is not at fault.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    #[error("the quote is empty: quote the lines it is about, verbatim and whole")]
    Empty,
    /// The quote was not found.
    #[error("the quote stands nowhere in {path} ({}){}{}", side_word(*.side), OtherSideHint(*.side, *.other_side), NearLineList(nearest))]
    Nowhere {
        path: RepoPath,
        side: DiffSide,
        /// Its lines on the other side, if it is there.
        other_side: Option<LineRange>,
        nearest: Vec<NearLine>,
    },
    /// The quote was found at several places.
    #[error("the quote stands at {} places in {path}: {}; give start_line, or quote more lines around it", places.len(), RangeList(places))]
    Ambiguous { path: RepoPath, places: Vec<LineRange> },
    #[error("the quote has no telling line (only braces, keywords or very short lines): quote the lines around it too")]
    NotDistinctive { path: RepoPath },
    /// The place and all related ones are outside the change.
    #[error("lines {} of {path} are not changed{}; give the changed line that causes it as related, or quote that line", RangeList(&[*.lines]), ChangedRanges(changed))]
    NotTouching { path: RepoPath, lines: LineRange, changed: Vec<LineRange> },
}

impl Rejection {
    /// Describes the reason in a few words for people: no advice, no lines of the file.
    pub fn brief(&self) -> String {
        match self {
            Self::NotInChange { path, .. } => format!("{path} is not a changed file"),
            Self::Unreadable(_) | Self::Stopped(_) => self.to_string(),
            Self::Empty => "it quotes nothing".to_owned(),
            Self::Nowhere { path, side, .. } => format!("the quote stands nowhere in {path} ({})", side_word(*side)),
            Self::Ambiguous { path, places } => format!("the quote stands at {} places in {path}", places.len()),
            Self::NotDistinctive { path } => format!("the quote from {path} has no telling line"),
            Self::NotTouching { path, lines, .. } => {
                let (word, verb) = if lines.count() == 1 { ("line", "is") } else { ("lines", "are") };
                format!("{word} {} of {path} {verb} not changed", RangeList(&[*lines]))
            }
        }
    }
}

impl From<WorkspaceError> for Rejection {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Stopped(stopped) => Self::Stopped(stopped),
            other => Self::Unreadable(other),
        }
    }
}

/// Returns the lines of the places, as far as a message shows them.
pub(super) fn near_lines(text: &FileText, places: &[LineRange]) -> Vec<NearLine> {
    let lines = places.iter().flat_map(|place| text.lines(*place));
    lines.take(NAMED).map(|(number, line)| NearLine { number, text: head(line).to_owned() }).collect()
}

fn side_word(side: DiffSide) -> &'static str {
    match side {
        DiffSide::Old => "before the change",
        DiffSide::New => "after the change",
    }
}

struct RangeList<'a>(&'a [LineRange]);

impl fmt::Display for RangeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().take(NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            if range.count() == 1 {
                write!(f, "{comma}{}", range.start())?;
            } else {
                write!(f, "{comma}{}-{}", range.start(), range.end())?;
            }
        }
        if self.0.len() > NAMED { write!(f, " and {} more", self.0.len() - NAMED) } else { Ok(()) }
    }
}

struct NearPaths<'a>(&'a [RepoPath]);

impl fmt::Display for NearPaths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            write!(f, "{}{path}", if index == 0 { " (changed files with names like it: " } else { ", " })?;
        }
        f.write_str(if self.0.is_empty() { "" } else { ")" })
    }
}

struct OtherSideHint(DiffSide, Option<LineRange>);

impl fmt::Display for OtherSideHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(lines) = self.1 else { return Ok(()) };
        let (word, meaning) = match self.0 {
            DiffSide::New => ("old", "before"),
            DiffSide::Old => ("new", "after"),
        };
        write!(
            f,
            "; it stands on lines {} {meaning} the change: say side \"{word}\" if that is meant",
            RangeList(&[lines])
        )
    }
}

struct NearLineList<'a>(&'a [NearLine]);

impl fmt::Display for NearLineList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; read the file and quote its lines verbatim");
        }
        f.write_str("; the nearest lines are:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n{:>6}\t{}", line.number, line.text))
    }
}

struct ChangedRanges<'a>(&'a [LineRange]);

impl fmt::Display for ChangedRanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " (the nearest changed lines: {})", RangeList(self.0)) }
    }
}
