//! From a range to the change. Main function: [`collect`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::domain::change::{ChangeRun, ChangeSet, FileChange, FileMode, Generated, Omission, PatchText};
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::filter::PathFilter;
use crate::domain::generated::has_generated_header;
use crate::domain::id::TreeId;
use crate::domain::language;
use crate::domain::place::{DiffSide as Which, WorkspaceAt};
use crate::sys::cancel::Cancel;
use crate::sys::charset;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

use super::attributes::GeneratedMark;
use super::commits::collect_commits;
use super::entries::{ChangedEntry, Delta, ReadError, SideContent, TreeDifferences};
use super::patch_text::{DiffPosition, PatchSide, PatchTextLimits, render};
use super::range::ResolvedRange;
use super::{GitError, attributes, compare, disk_diff, index, patch_id, renames, tree_diff};

/// The limits and filters of a collection.
#[derive(Debug, Clone)]
pub struct CollectOptions {
    /// The filter of the reviewed files.
    pub filter: PathFilter,
    /// Most commits that are listed; the others are counted.
    pub max_commits: usize,
    /// Most characters of a file's patch text.
    pub patch_chars: usize,
    /// The number of threads that compare files; one per processor if `None`.
    pub threads: Option<usize>,
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self { filter: PathFilter::all(), max_commits: 200, patch_chars: 10_000, threads: None }
    }
}

/// Fewer files are compared on one thread: starting another costs more than it saves.
const INLINE: usize = 64;
/// More threads only wait for the disk.
const MAX_THREADS: usize = 16;
/// A modified file that is larger on either side is not compared.
const MAX_COMPARED: u64 = 20 << 20;
/// A larger file is not even read.
const MAX_READ: u64 = 128 << 20;
/// The number of files between two progress events.
const STEP: usize = 128;

/// Collects the commits and the changed files of a range.
///
/// One file that cannot be read does not lose the others: it is listed without hunks and told as an omission. The range of a patch
/// has no files here; see [`from_patch`](super::from_patch).
pub fn collect(
    repo: &Repo,
    range: &ResolvedRange,
    options: &CollectOptions,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<ChangeSet, GitError> {
    let (commits, commits_omitted) = collect_commits(repo, range.commits, options.max_commits, cancel)?;
    let mut found = differences(repo, range, cancel)?;
    leave_out(&mut found, &options.filter);
    found.drop_duplicates();
    renames::pair_renames(repo, &mut found, cancel)?;
    let marks = attributes::find_generated(repo, range.settings_at, &mut found, cancel)?;
    let TreeDifferences { deltas, omissions, .. } = found;
    let mut omissions = omissions.into_vec();
    let jobs = Jobs { deltas: &deltas, marks: &marks, options, cancel, events, giants: Mutex::new(()) };
    let mut files = Vec::with_capacity(deltas.len());
    for (file, omission) in jobs.run(repo)? {
        files.push(file);
        omissions.extend(omission);
    }
    // Stable: by path within each group.
    files.sort_by_key(|file| file.generated.is_some());
    Ok(ChangeSet {
        repository: repo.name(),
        target: range.target.clone(),
        head_name: range.head_name.clone(),
        base: range.base,
        head: range.head,
        merge_base: range.merge_base,
        old_at: range.old_at,
        new_at: range.new_at,
        pull: None,
        commits,
        commits_omitted,
        files,
        omissions,
    })
}

fn differences(repo: &Repo, range: &ResolvedRange, cancel: &Cancel) -> Result<TreeDifferences, GitError> {
    let tree = |at: WorkspaceAt| -> Result<Option<TreeId>, GitError> {
        match at {
            WorkspaceAt::Revision(commit) => Ok(Some(repo.tree_of(commit)?)),
            WorkspaceAt::Index | WorkspaceAt::Worktree | WorkspaceAt::PatchOnly | WorkspaceAt::Empty => Ok(None),
        }
    };
    let old = tree(range.old_at)?;
    match range.new_at {
        WorkspaceAt::Index => index::diff_index(repo, old, cancel),
        WorkspaceAt::Worktree => disk_diff::diff_disk(repo, old, cancel),
        WorkspaceAt::PatchOnly => Ok(TreeDifferences::default()),
        WorkspaceAt::Revision(_) | WorkspaceAt::Empty => tree_diff::diff_trees(repo, old, tree(range.new_at)?, cancel),
    }
}

/// Before renames are looked for: an excluded file's old contents must not come in by a new name.
fn leave_out(found: &mut TreeDifferences, filter: &PathFilter) {
    let omissions = &mut found.omissions;
    found.deltas.retain(|delta| {
        let allowed = filter.allows(&delta.path);
        if !allowed {
            omissions.push(Omission {
                path: Some(delta.path.to_string()),
                reason: "excluded by --include/--exclude or the project's settings".to_owned(),
                unseen: false,
            });
        }
        allowed
    });
}

type ComparedSides = (FileChange, Option<Omission>);

struct Jobs<'a> {
    deltas: &'a [Delta],
    marks: &'a [GeneratedMark],
    options: &'a CollectOptions,
    cancel: &'a Cancel,
    events: &'a dyn EventSink,
    /// Held while a giant file is in memory: one at a time.
    giants: Mutex<()>,
}

impl Jobs<'_> {
    /// Compares all files; the results are in the order of the list, whatever thread made them.
    fn run(&self, repo: &Repo) -> Result<Vec<ComparedSides>, GitError> {
        let wanted = self
            .options
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS));
        let threads = if self.deltas.len() < INLINE { 1 } else { wanted.max(1) };
        let next = AtomicUsize::new(0);
        let mut others = Vec::new();
        for _ in 1..threads {
            others.push(repo.reopen()?);
        }
        let mut results = std::thread::scope(|scope| -> Result<Vec<(usize, ComparedSides)>, GitError> {
            let handles: Vec<_> = others
                .into_iter()
                .map(|repo| {
                    scope.spawn({
                        let next = &next;
                        move || self.work(&repo, next)
                    })
                })
                .collect();
            let mut all = self.work(repo, &next)?;
            for handle in handles {
                match handle.join() {
                    Ok(part) => all.extend(part?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(all)
        })?;
        results.sort_unstable_by_key(|(at, _)| *at);
        Ok(results.into_iter().map(|(_, compared)| compared).collect())
    }

    fn work(&self, repo: &Repo, next: &AtomicUsize) -> Result<Vec<(usize, ComparedSides)>, GitError> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(delta) = self.deltas.get(at) else { return Ok(done) };
            self.cancel.check()?;
            if at.is_multiple_of(STEP) && at > 0 {
                let (done, total) = (at as u64, self.deltas.len() as u64);
                self.events.emit(Event::Progress { stage: ReviewStage::Collect, done, total });
            }
            let mark = self.marks.get(at).copied().unwrap_or(GeneratedMark::Unmarked);
            done.push((at, self.one(repo, delta, mark)));
        }
    }

    fn one(&self, repo: &Repo, delta: &Delta, mark: GeneratedMark) -> ComparedSides {
        let mut file = listed(delta, mark.generated());
        let reason = match self.compare(repo, delta, mark, &mut file) {
            Ok(reason) => reason,
            Err(error) => Some(format!("not compared: {error}")),
        };
        let told = reason.map(|reason| Omission {
            path: Some(file.path.to_string()),
            reason,
            // What nobody wrote is not reviewed anyway.
            unseen: file.generated.is_none(),
        });
        (file, told)
    }

    /// Fills in what the contents tell; a reason where they were not compared.
    fn compare(
        &self,
        repo: &Repo,
        delta: &Delta,
        mark: GeneratedMark,
        file: &mut FileChange,
    ) -> Result<Option<String>, ReadError> {
        let old_path = file.path_at(Which::Old).clone();
        let size =
            |path, entry: Option<ChangedEntry>| entry.map_or(Ok(0), |entry| SideContent::size(repo, path, entry));
        let largest = size(&old_path, delta.old)?.max(size(&delta.path, delta.new)?);
        if largest > MAX_READ {
            let (size, limit) = (largest >> 20, MAX_READ >> 20);
            return Ok(Some(format!("not read: it has {size} MiB, more than the {limit} that are read")));
        }
        let _one_at_a_time = (largest > MAX_COMPARED).then(|| self.giants.lock());
        let old = SideContent::read(repo, &old_path, delta.old)?;
        let same =
            delta.old.and_then(|entry| entry.id).is_some_and(|id| delta.new.and_then(|entry| entry.id) == Some(id));
        let new = if same { SideContent::Nothing } else { SideContent::read(repo, &delta.path, delta.new)? };
        file.binary = charset::is_binary(old.bytes()) || charset::is_binary(new.bytes());
        if same {
            return Ok(None);
        }
        // A change must not exempt a file by adding a header, nor code that replaces what had one.
        if mark == GeneratedMark::Unmarked
            && has_generated_header(old.bytes())
            && (delta.new.is_none() || has_generated_header(new.bytes()))
        {
            file.generated = Some(Generated::Header);
        }
        if file.binary {
            return Ok(binary_source_reason(file).or_else(|| unread_text(file, old.bytes(), new.bytes())));
        }
        if largest > MAX_COMPARED && delta.old.is_some() && delta.new.is_some() {
            let (size, limit) = (largest >> 20, MAX_COMPARED >> 20);
            return Ok(Some(format!(
                "not compared line by line: it has {size} MiB, more than the {limit} that are compared"
            )));
        }
        if delta.old.is_some()
            && delta.new.is_some()
            && let Some(reason) = compare::has_too_many_lines(old.bytes(), new.bytes())
        {
            return Ok(Some(reason));
        }
        fill(file, &old, &new, self.options.patch_chars).map_err(RepoError::from)?;
        Ok(None)
    }
}

/// Returns the reason why a file that git takes for binary leaves a hole in the review: one NUL in a comment hides a whole program that still runs.
pub(super) fn binary_source_reason(file: &FileChange) -> Option<String> {
    let language = file.language.filter(|_| file.binary && file.generated.is_none() && file.new_mode.is_some())?;
    Some(format!("not read: git takes it for binary (it has NUL bytes), but its name is one of {language}"))
}

/// Returns the reason why a file with an unknown extension leaves a hole: it begins as a script does, it was text before, or is text now but for the NUL bytes.
fn unread_text(file: &FileChange, old: &[u8], new: &[u8]) -> Option<String> {
    let is_text = |bytes: &[u8]| !bytes.is_empty() && !charset::is_binary(bytes);
    let why = match () {
        () if file.generated.is_some() || file.new_mode.is_none() => return None,
        () if new.starts_with(b"#!") => "it begins as a script does",
        () if is_text(old) => "it was text before",
        () if is_text(new) => "only before the change",
        () if charset::is_text_with_nuls(new) => "the rest of it is text",
        () if file.path.extension().is_none() && charset::begins_as_a_script(new) => "a shell would run it",
        () => return None,
    };
    Some(format!("not read: git takes it for binary (it has NUL bytes), but {why}"))
}

/// Returns the change of a file without reading its contents.
fn listed(delta: &Delta, generated: Option<Generated>) -> FileChange {
    let blob = |entry: Option<ChangedEntry>| {
        entry.filter(|entry| entry.mode != FileMode::Submodule).and_then(|entry| entry.id)
    };
    FileChange {
        path: delta.path.clone(),
        old_path: delta.old_path.clone(),
        status: delta.status(),
        old_mode: delta.old.map(|entry| entry.mode),
        new_mode: delta.new.map(|entry| entry.mode),
        old_blob: blob(delta.old),
        new_blob: blob(delta.new),
        additions: 0,
        deletions: 0,
        binary: false,
        language: language::from_path(&delta.path),
        generated,
        hunks: Vec::new(),
        patch: PatchText::default(),
        patch_id: None,
    }
}

/// Compares two contents into counts, hunks and, where the file is not collapsed, the patch text.
fn fill(
    file: &mut FileChange,
    old: &SideContent<'_>,
    new: &SideContent<'_>,
    patch_chars: usize,
) -> Result<(), git2::Error> {
    let runs = compare::change_runs(old, new)?;
    let sum = |count: fn(&ChangeRun) -> u32| runs.iter().map(count).fold(0u32, u32::saturating_add);
    file.additions = sum(|run| run.new.count);
    file.deletions = sum(|run| run.old.count);
    file.patch_id = patch_id::of_runs(old.bytes(), new.bytes(), &runs);
    let hunks = compare::hunks(runs, compare::line_count(old.bytes()), compare::line_count(new.bytes()));
    if file.generated.is_none() {
        let limits = PatchTextLimits { chars: patch_chars, bytes: usize::MAX, lines: usize::MAX };
        let (mut old, mut new) = (PatchSide::of_bytes(old.bytes()), PatchSide::of_bytes(new.bytes()));
        file.patch = render(&mut old, &mut new, &hunks, DiffPosition::default(), limits).into_patch(hunks.len());
    }
    // The contents of a submodule are a commit of another repository: nothing that a review could point at.
    let submodule = |mode: Option<FileMode>| mode.is_none_or(|mode| mode == FileMode::Submodule);
    if !(submodule(file.old_mode) && submodule(file.new_mode)) {
        file.hunks = hunks;
    }
    Ok(())
}
