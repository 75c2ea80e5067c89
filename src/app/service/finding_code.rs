//! The code around the places of a finding, read from the reviewed trees. Main function: [`read_places`].

use crate::app::context::settings;
use std::sync::Arc;

use super::Service;
use crate::app::context::error::AppError;
use crate::app::context::project::project_settings;
use crate::domain::change::ChangeSet;
use crate::domain::finding::Anchor;
use crate::domain::place::{DiffSide, LineRange, WorkspaceAt};
use crate::domain::text::FileText;
use crate::prompt::UntrustedText;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::workspace::{self, Workspace};

/// Lines of context around a place.
const AROUND: u32 = 12;
/// Limit on the lines shown for one place, including context.
const MOST_LINES: u32 = 80;
/// Limit on the places shown.
const MOST_PLACES: usize = 8;
/// Limit in characters on a line; a longer one is truncated.
const MOST_LINE: usize = 400;

/// The code at a finding's places.
pub(super) struct FindingCode {
    /// Each place with its lines; empty if the finding has none.
    pub(super) code: UntrustedText,
    /// Notes on what is missing in `code` and why, in sentences.
    pub(super) note: String,
    /// `true` if the reviewed commits are in the server's repository.
    pub(super) readable: bool,
}

/// Reads the places if the repository has the reviewed commits; else uses the quotes of the anchors.
pub(super) fn read_places(
    service: &Service,
    repo: Option<Repo>,
    change: &ChangeSet,
    anchors: &[Anchor],
    cancel: &Cancel,
) -> Result<FindingCode, AppError> {
    let trees = trees(service, repo, change)?;
    let readable = trees.is_some();
    let mut notes = Vec::new();
    if !readable {
        notes.push(if change.head.is_some() {
            "The code around the lines cannot be shown: the commits that were reviewed are not in the repository (any more)."
        } else {
            "What was reviewed was never committed, so only the quoted lines are shown; the files may have changed since."
        });
    }
    if anchors.len() > MOST_PLACES {
        notes.push("The finding has more places than are shown.");
    }
    let mut text = String::new();
    for anchor in anchors.iter().take(MOST_PLACES) {
        cancel.check()?;
        let tree = trees.as_ref().map(|(old, new)| if anchor.side == DiffSide::Old { old } else { new });
        let file = tree.and_then(|tree| tree.read(&anchor.path).ok());
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&heading(anchor));
        match (anchor.lines, file) {
            (Some(lines), Some(file)) => around(&mut text, &file, lines),
            (Some(lines), None) => quoted(&mut text, anchor, lines),
            (None, _) => {}
        }
    }
    Ok(FindingCode { code: UntrustedText::new(text), note: notes.join(" "), readable })
}

type SideTrees = (Arc<dyn Workspace>, Arc<dyn Workspace>);

/// The old and the new tree; `None` if the repository lacks the commits.
fn trees(service: &Service, repo: Option<Repo>, change: &ChangeSet) -> Result<Option<SideTrees>, AppError> {
    let (Some(head), Some(repo)) = (change.head, repo) else { return Ok(None) };
    let wanted = [Some(head), change.merge_base, change.base];
    if wanted.into_iter().flatten().any(|commit| repo.tree_of(commit).is_err()) {
        return Ok(None);
    }
    // Paths excluded by the settings are not read here either.
    let project = project_settings(&repo, change.base, false)?;
    let settings = settings::resolve(project, &service.options.flags, &service.around)?.settings;
    let filter = settings::filter(&settings)?;
    let pool = RepoPool::new(repo);
    let old_at = change.merge_base.map_or(WorkspaceAt::Empty, WorkspaceAt::Revision);
    let old = workspace::open(Some(&pool), old_at, DiffSide::Old, &[], filter.clone())?;
    let new = workspace::open(Some(&pool), WorkspaceAt::Revision(head), DiffSide::New, &[], filter)?;
    Ok(Some((old, new)))
}

/// Formats a heading. No line of code begins with `=`, because each begins with its number.
fn heading(anchor: &Anchor) -> String {
    let lines = match anchor.lines {
        Some(lines) if lines.count() == 1 => format!(":{}", lines.start()),
        Some(lines) => format!(":{}-{}", lines.start(), lines.end()),
        None => String::new(),
    };
    let side = match anchor.side {
        DiffSide::Old => " (before the change: read it with side \"old\")",
        DiffSide::New => "",
    };
    format!("=== {}{lines}{side}\n", anchor.path)
}

fn around(text: &mut String, file: &FileText, lines: LineRange) {
    let first = lines.start().saturating_sub(AROUND).max(1);
    let last = lines.end().saturating_add(AROUND).min(first.saturating_add(MOST_LINES - 1));
    let Ok(shown) = LineRange::new(first, last) else { return };
    for (number, line) in file.lines(shown) {
        push(text, lines.contains(number), number, line);
    }
    if last < lines.end() {
        text.push_str(&format!("[lines {} to {} are quoted too]\n", last + 1, lines.end()));
    }
}

fn quoted(text: &mut String, anchor: &Anchor, lines: LineRange) {
    for (number, line) in (lines.start()..).zip(anchor.quote.split('\n')).take(MOST_LINES as usize) {
        push(text, true, number, line);
    }
}

fn push(text: &mut String, quoted: bool, number: u32, line: &str) {
    let mark = if quoted { '>' } else { ' ' };
    let cut = line.char_indices().nth(MOST_LINE).map(|(at, _)| at);
    let (line, more) = (&line[..cut.unwrap_or(line.len())], if cut.is_some() { "…" } else { "" });
    text.push_str(&format!("{mark} {number:>5} | {line}{more}\n"));
}
