//! Maps findings of an earlier review onto the current diff. Main type: [`PriorPlaces`].
//!
//! The lines of the earlier head (or merge base) are mapped through the difference to today's if git still has that commit; otherwise the
//! quote is searched. Mapping lines belongs in `evidence::history`.

use crate::app::context::settings;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::super::change::PreparedChange;
use super::super::diff_source::DiffOrigin;
use crate::app::context::error::AppError;
use crate::domain::change::{FileChange, FileStatus, PatchId};
use crate::domain::finding::{Anchor, AnchorMatch, Finding, OriginKind};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange, WorkspaceAt};
use crate::domain::prior::{EarlierFindingStatus, NearbyPlace};
use crate::domain::review::Review;
use crate::domain::text::FileText;
use crate::evidence::history::{LineMap, QuoteMatch, find_again, find_uncommented};
use crate::git;
use crate::workspace::{self, Workspace, WorkspaceError};

/// Limit on the added files that are searched for a quote whose file was removed.
const MOST_SEARCHED: usize = 50;

/// Maps places of an earlier review onto the current change.
pub(super) struct PriorPlaces<'a> {
    subject: &'a PreparedChange,
    /// The current files, by their paths on either side.
    files: HashMap<(DiffSide, &'a RepoPath), &'a FileChange>,
    /// The trees of the earlier change, if still readable.
    then: [Option<Arc<dyn Workspace>>; 2],
    /// The current paths of files of the earlier head.
    moved: BTreeMap<RepoPath, RepoPath>,
    /// Files added to the change since.
    came: Vec<&'a RepoPath>,
    maps: HashMap<(DiffSide, RepoPath, RepoPath), Option<Arc<LineMap>>>,
    /// Lines that are already taken: two earlier findings of one fingerprint cannot be on the same.
    taken: HashSet<(String, RepoPath, DiffSide, LineRange)>,
    notes: Vec<String>,
}

/// The fate of an anchor.
enum AnchorFate {
    At(Anchor),
    Gone(Option<NearbyPlace>),
    /// The file is excluded by the user.
    Excluded,
    Unknown,
}

impl<'a> PriorPlaces<'a> {
    /// Opens the trees of the earlier change.
    pub(super) fn open(subject: &'a PreparedChange, review: &Review) -> Result<Self, AppError> {
        let change = &subject.change;
        let mut files = HashMap::new();
        for file in &change.files {
            for side in [DiffSide::Old, DiffSide::New] {
                files.insert((side, file.path_at(side)), file);
            }
        }
        let before: HashSet<&RepoPath> = review.change.files.iter().map(|file| &file.path).collect();
        let came = change.files.iter().filter(|file| file.status != FileStatus::Deleted).map(|file| &file.path);
        let came: Vec<_> = came.filter(|path| !before.contains(path)).collect();
        let mut places = Self {
            subject,
            files,
            then: [None, None],
            moved: BTreeMap::new(),
            came,
            maps: HashMap::new(),
            taken: HashSet::new(),
            notes: Vec::new(),
        };
        places.open_trees(review)?;
        places.follow_files(review)?;
        Ok(places)
    }

    fn open_trees(&mut self, review: &Review) -> Result<(), AppError> {
        let DiffOrigin::Repository(pool) = &self.subject.diffs else { return Ok(()) };
        let filter = settings::filter(&self.subject.settings)?;
        let open = |commit| {
            let at = WorkspaceAt::Revision(commit);
            workspace::open(Some(pool), at, DiffSide::New, &[], filter.clone()).ok()
        };
        self.then = [review.change.merge_base, review.change.head].map(|commit| commit.and_then(open));
        if let (Some(head), None) = (review.change.head, &self.then[1]) {
            self.notes.push(format!(
                "The commit {} of the earlier review is not here any more: its findings were looked for by what they quote.",
                head.short()
            ));
        }
        Ok(())
    }

    /// Determines the files moved since: by git's renames, else by equal changes.
    fn follow_files(&mut self, review: &Review) -> Result<(), AppError> {
        let wanted =
            review.findings.iter().flat_map(|finding| &finding.anchors).filter(|anchor| anchor.side == DiffSide::New);
        let gone: BTreeSet<RepoPath> =
            wanted.map(|anchor| &anchor.path).filter(|path| !self.is_there(path)).cloned().collect();
        let come: BTreeSet<RepoPath> = self.came.iter().map(|path| (*path).clone()).collect();
        if gone.is_empty() || come.is_empty() {
            return Ok(());
        }
        let change = &self.subject.change;
        if let (DiffOrigin::Repository(pool), Some(_), Some(then), Some(now)) =
            (&self.subject.diffs, &self.then[1], review.change.head, change.head)
        {
            let repo = pool.acquire()?;
            match git::find_moved(&repo, then, now, &gone, &come, &self.subject.cancel) {
                Ok(moved) => self.moved = moved,
                Err(error) => self.notes.push(format!("Moved files were not looked for: {error}")),
            }
        }
        let mut by_patch: HashMap<&PatchId, Vec<&RepoPath>> = HashMap::new();
        for file in change.files.iter().filter(|file| come.contains(&file.path)) {
            if let Some(id) = &file.patch_id {
                by_patch.entry(id).or_default().push(&file.path);
            }
        }
        for file in review.change.files.iter().filter(|file| gone.contains(&file.path)) {
            let same = file.patch_id.as_ref().and_then(|id| by_patch.get(id));
            if let Some([only]) = same.map(Vec::as_slice) {
                self.moved.entry(file.path.clone()).or_insert_with(|| (*only).clone());
            }
        }
        Ok(())
    }

    fn is_there(&self, path: &RepoPath) -> bool {
        self.files.get(&(DiffSide::New, path)).is_some_and(|file| file.status != FileStatus::Deleted)
    }

    fn tree(&self, side: DiffSide) -> &Arc<dyn Workspace> {
        match side {
            DiffSide::Old => &self.subject.old,
            DiffSide::New => &self.subject.new,
        }
    }

    /// Maps a finding onto the current change, and reports the state of its lines.
    pub(super) fn relocate(&mut self, mut finding: Finding) -> (Finding, EarlierFindingStatus, Option<NearbyPlace>) {
        let print = finding.fingerprint.0.clone();
        // A finding that is over takes no lines.
        let holds = !finding.status.is_over();
        // The rules report changed code again on their own.
        let loosely = holds && finding.origin.kind == OriginKind::Model;
        let mut anchors = Vec::with_capacity(finding.anchors.len());
        let (mut lost, mut unsure) = (false, false);
        for (at, anchor) in finding.anchors.iter().enumerate() {
            match self.find(anchor, &print, loosely) {
                AnchorFate::At(there) => anchors.push(there),
                // The first anchor is the main one.
                AnchorFate::Gone(near) if at == 0 => return (finding, EarlierFindingStatus::Gone, near),
                AnchorFate::Excluded if at == 0 => return (finding, EarlierFindingStatus::Outside, None),
                AnchorFate::Unknown if at == 0 => return (finding, EarlierFindingStatus::Unknown, None),
                AnchorFate::Gone(_) => lost = true,
                AnchorFate::Unknown => unsure = true,
                AnchorFate::Excluded => {}
            }
        }
        let Some(first) = anchors.first() else { return (finding, EarlierFindingStatus::Unknown, None) };
        if let (true, Some(lines)) = (holds, first.lines) {
            self.taken.insert((print, first.path.clone(), first.side, lines));
        }
        let near = Some(NearbyPlace { path: first.path.clone(), side: first.side, lines: first.lines });
        if !anchors.iter().any(|anchor| self.touches(anchor)) {
            // A deletion missing from the change was undone, or was also made in the target. Without the related lines that the change
            // made, what they caused is gone as well.
            let standing = match () {
                () if unsure => EarlierFindingStatus::Unknown,
                () if lost || first.side == DiffSide::Old => EarlierFindingStatus::Gone,
                () => EarlierFindingStatus::Outside,
            };
            return (finding, standing, near);
        }
        follow_suggestion(&mut finding, first);
        finding.anchors = anchors;
        (finding, EarlierFindingStatus::Stands, near)
    }

    fn touches(&self, anchor: &Anchor) -> bool {
        let Some(file) = self.files.get(&(anchor.side, &anchor.path)) else { return false };
        anchor.lines.is_none_or(|lines| file.touches(anchor.side, lines))
    }

    fn find(&mut self, anchor: &Anchor, print: &str, loosely: bool) -> AnchorFate {
        if self.subject.cancel.check().is_err() {
            return AnchorFate::Unknown;
        }
        let side = anchor.side;
        let path = match side {
            DiffSide::New if !self.is_there(&anchor.path) => {
                self.moved.get(&anchor.path).unwrap_or(&anchor.path).clone()
            }
            DiffSide::New | DiffSide::Old => anchor.path.clone(),
        };
        let Some(lines) = anchor.lines else {
            return if self.files.contains_key(&(side, &path)) {
                AnchorFate::At(Anchor { path, ..anchor.clone() })
            } else {
                AnchorFate::Gone(None)
            };
        };
        let text = match self.tree(side).read(&path) {
            Ok(text) => text,
            Err(WorkspaceError::NotFound(_)) => return self.find_elsewhere(anchor),
            Err(WorkspaceError::Excluded(_)) => return AnchorFate::Excluded,
            Err(_) => return AnchorFate::Unknown,
        };
        let map = self.map(side, &anchor.path, &path, &text);
        let free = |there: LineRange| !self.taken.contains(&(print.to_owned(), path.clone(), side, there));
        match find_again(&anchor.quote, lines, &text, map.as_deref(), free) {
            QuoteMatch::At(there) => AnchorFate::At(Anchor::at_lines(path, side, there, &text, AnchorMatch::Exact)),
            QuoteMatch::Gone(Some(near))
                if loosely
                    && let Some(there) =
                        find_uncommented(&anchor.quote, near, &text, comment(&path)).filter(|at| free(*at)) =>
            {
                AnchorFate::At(Anchor::at_lines(path, side, there, &text, AnchorMatch::Exact))
            }
            QuoteMatch::Gone(near) => {
                AnchorFate::Gone(near.map(|lines| NearbyPlace { path, side, lines: Some(lines) }))
            }
            QuoteMatch::Unknown => AnchorFate::Unknown,
        }
    }

    /// Searches added files for a quote whose file was removed.
    fn find_elsewhere(&self, anchor: &Anchor) -> AnchorFate {
        let (DiffSide::New, Some(lines)) = (anchor.side, anchor.lines) else { return AnchorFate::Gone(None) };
        let mut found = Vec::new();
        for path in self.came.iter().take(MOST_SEARCHED) {
            let Ok(text) = self.subject.new.read(path) else { continue };
            if let QuoteMatch::At(there) = find_again(&anchor.quote, lines, &text, None, |_| true) {
                found.push(Anchor::at_lines((*path).clone(), anchor.side, there, &text, AnchorMatch::Exact));
            }
        }
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => AnchorFate::At(only),
            (Some(_), false) => AnchorFate::Unknown,
            (None, _) => AnchorFate::Gone(None),
        }
    }

    /// The mapping of an earlier file's lines onto today's.
    fn map(&mut self, side: DiffSide, then: &RepoPath, now: &RepoPath, text: &FileText) -> Option<Arc<LineMap>> {
        let key = (side, then.clone(), now.clone());
        if let Some(known) = self.maps.get(&key) {
            return known.clone();
        }
        let tree = match side {
            DiffSide::Old => &self.then[0],
            DiffSide::New => &self.then[1],
        };
        let before = tree.as_ref().and_then(|tree| tree.read(then).ok());
        let runs = before.and_then(|before| git::changed_lines(before.text(), text.text()).ok().flatten());
        let map = runs.map(|runs| Arc::new(LineMap::new(runs)));
        self.maps.insert(key, map.clone());
        map
    }

    /// Notes on what could not be mapped.
    pub(super) fn notes(self) -> Vec<String> {
        self.notes
    }
}

/// The comment prefix in a file.
fn comment(path: &RepoPath) -> &'static str {
    match language::from_path(path) {
        Some(
            "cmake" | "cython" | "dockerfile" | "elixir" | "graphql" | "julia" | "make" | "nix" | "perl" | "powershell"
            | "python" | "r" | "ruby" | "shell" | "starlark" | "hcl" | "toml" | "yaml",
        ) => "#",
        _ => "//",
    }
}

/// Keeps a replacement with its verified lines; if they differ in any character, it is no longer verified.
fn follow_suggestion(finding: &mut Finding, now: &Anchor) {
    let Some(then) = finding.anchors.first() else { return };
    let shift = |line: u32| {
        let (from, to) = (then.lines?.start(), now.lines?.start());
        line.checked_sub(from)?.checked_add(to)
    };
    finding.suggestion = finding.suggestion.take().and_then(|mut suggestion| {
        let lines = then.lines?;
        let within = suggestion.lines.start() >= lines.start() && suggestion.lines.end() <= lines.end();
        if !within || then.quote != now.quote || suggestion.path != then.path || now.side != DiffSide::New {
            return None;
        }
        suggestion.lines = LineRange::new(shift(suggestion.lines.start())?, shift(suggestion.lines.end())?).ok()?;
        suggestion.path = now.path.clone();
        Some(suggestion)
    });
}
