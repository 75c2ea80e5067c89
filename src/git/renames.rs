//! Detection of renames among deleted and added files. Main function: [`pair_renames`].
//!
//! The passes of git's `diffcore-rename.c` with a bound on the last one: equal contents, then a file name that only one deleted and one
//! added file have, then every pair. The library's own pass is quadratic and takes seconds on ten thousand files.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};

use crate::domain::change::{FileMode, Omission};
use crate::domain::id::BlobId;
use crate::domain::limits::{LIMITS, RemainingLimit};
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

use super::GitError;
use super::entries::{ChangedEntry, Delta, SideContent, TreeDifferences};
use super::similarity::{FileFingerprint, is_too_different};

/// Hundredths that a moved file must share with what it was (`-M50%`, git's default).
const THRESHOLD: u32 = 50;
/// Most pairs that are compared by content; git's `diff.renameLimit` of 1 000 squared.
const MAX_PAIRS: usize = 1_000_000;
/// Larger files are paired only when they are equal.
const MAX_SIZE: u64 = 8 << 20;

/// Joins deletions and additions to renames.
pub(super) fn pair_renames(repo: &Repo, found: &mut TreeDifferences, cancel: &Cancel) -> Result<(), GitError> {
    let side = |wanted: fn(&Delta) -> bool| -> Vec<usize> {
        (0..found.deltas.len()).filter(|at| wanted(&found.deltas[*at])).collect()
    };
    let deleted = side(|delta| delta.new.is_none());
    let added = side(|delta| delta.old.is_none());
    if deleted.is_empty() || added.is_empty() {
        return Ok(());
    }
    let room = RemainingLimit::of(LIMITS.fingerprint_bytes);
    let (known, pairs) = (HashMap::new(), HashMap::new());
    let mut pass = RenamePass { repo, cancel, deltas: &found.deltas, known, room, without_room: 0, pairs };
    let (deleted, added) = pass.equal(&deleted, &added);
    let (deleted, added) = pass.same_name(&deleted, &added)?;
    let pairs = deleted.len().saturating_mul(added.len());
    if pairs > MAX_PAIRS {
        found.omissions.push(Omission {
            path: None,
            reason: format!(
                "renames with edits were looked for by file name only: {} deleted and {} added files make too many pairs; a moved file may be listed as deleted and added",
                deleted.len(),
                added.len()
            ),
            unseen: false,
        });
    } else {
        pass.matrix(&deleted, &added)?;
    }
    let (pairs, without_room) = (pass.pairs, pass.without_room);
    if without_room > 0 {
        let (files, are) = if without_room == 1 { ("file", "is") } else { ("files", "are") };
        found.omissions.push(Omission {
            path: None,
            reason: format!(
                "renames with edits were not looked for in {without_room} {files} that {are} too large together; a moved file may be listed as deleted and added"
            ),
            unseen: false,
        });
    }
    join(found, &pairs);
    Ok(())
}

/// Rewrites the list: each pair becomes one entry at its new path.
fn join(found: &mut TreeDifferences, pairs: &HashMap<usize, usize>) {
    let old: HashMap<usize, (RepoPath, Option<ChangedEntry>)> =
        pairs.iter().map(|(new, old)| (*new, (found.deltas[*old].path.clone(), found.deltas[*old].old))).collect();
    let gone: HashSet<usize> = pairs.values().copied().collect();
    let mut at = 0;
    found.deltas.retain_mut(|delta| {
        if let Some((path, entry)) = old.get(&at) {
            delta.old_path = Some(path.clone());
            delta.old = *entry;
        }
        at += 1;
        !gone.contains(&(at - 1))
    });
}

type SameFile = (BlobId, FileMode);

struct RenamePass<'a> {
    repo: &'a Repo,
    cancel: &'a Cancel,
    deltas: &'a [Delta],
    known: HashMap<usize, Option<FileFingerprint>>,
    /// For the fingerprints that are known.
    room: RemainingLimit,
    /// The number of files that were read and had no room.
    without_room: u64,
    /// New to old, as places in the list.
    pairs: HashMap<usize, usize>,
}

impl RenamePass<'_> {
    fn entry(&self, at: usize) -> Option<ChangedEntry> {
        let delta = self.deltas.get(at)?;
        delta.old.or(delta.new)
    }

    fn rest(&self, deleted: &[usize], added: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let used: HashSet<_> = self.pairs.values().copied().collect();
        let deleted = deleted.iter().copied().filter(|at| !used.contains(at)).collect();
        (deleted, added.iter().copied().filter(|at| !self.pairs.contains_key(at)).collect())
    }

    /// Equal contents. Of several sources the one with the same file name, else the first by path.
    fn equal(&mut self, deleted: &[usize], added: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let deltas = self.deltas;
        let mut by_name: HashMap<(SameFile, &[u8]), Vec<usize>> = HashMap::new();
        let mut by_id: HashMap<SameFile, Vec<usize>> = HashMap::new();
        // Backwards, so that taking the last takes the first by path.
        for at in deleted.iter().rev() {
            if let Some(same) = self.same(*at) {
                by_name.entry((same, deltas[*at].path.file_name())).or_default().push(*at);
                by_id.entry(same).or_default().push(*at);
            }
        }
        let mut used = HashSet::new();
        // First those that keep their name, so that a file with another name does not take their source.
        for new in added {
            let Some(same) = self.same(*new) else { continue };
            if let Some(old) = by_name.get_mut(&(same, deltas[*new].path.file_name())).and_then(Vec::pop) {
                used.insert(old);
                self.pairs.insert(*new, old);
            }
        }
        for new in added {
            if self.pairs.contains_key(new) {
                continue;
            }
            let Some(sources) = self.same(*new).and_then(|same| by_id.get_mut(&same)) else { continue };
            while let Some(old) = sources.pop() {
                if used.insert(old) {
                    self.pairs.insert(*new, old);
                    break;
                }
            }
        }
        self.rest(deleted, added)
    }

    /// Returns the key that must be equal for an exact rename: the object and the kind.
    fn same(&self, at: usize) -> Option<SameFile> {
        let entry = self.entry(at)?;
        Some((entry.id?, if entry.is_plain() { FileMode::File } else { entry.mode }))
    }

    /// A file name that one deleted and one added file have.
    fn same_name(&mut self, deleted: &[usize], added: &[usize]) -> Result<(Vec<usize>, Vec<usize>), GitError> {
        let deltas = self.deltas;
        let unique = |list: &[usize]| {
            let mut names: HashMap<&[u8], Option<usize>> = HashMap::new();
            for at in list {
                match names.entry(deltas[*at].path.file_name()) {
                    Slot::Occupied(mut slot) => {
                        slot.insert(None);
                    }
                    Slot::Vacant(slot) => {
                        slot.insert(Some(*at));
                    }
                }
            }
            names
        };
        let sources = unique(deleted);
        let mut targets: Vec<_> = unique(added).into_iter().filter_map(|(name, at)| Some((at?, name))).collect();
        targets.sort_unstable();
        for (new, name) in targets {
            let Some(old) = sources.get(name).copied().flatten() else { continue };
            if self.score(old, new)?.is_some_and(|score| score >= THRESHOLD) {
                self.pairs.insert(new, old);
            }
        }
        // Kept only while they may be needed again.
        let used: HashSet<_> = self.pairs.iter().flat_map(|(new, old)| [*new, *old]).collect();
        let room = &mut self.room;
        self.known.retain(|at, known| {
            let stays = !used.contains(at);
            if !stays {
                room.release(known.as_ref().map_or(0, FileFingerprint::memory));
            }
            stays
        });
        Ok(self.rest(deleted, added))
    }

    /// Every pair, the most similar first; among equals those that keep their name, then by path.
    fn matrix(&mut self, deleted: &[usize], added: &[usize]) -> Result<(), GitError> {
        let mut scores = Vec::new();
        for new in added {
            let mut best = Vec::new();
            for old in deleted {
                if let Some(score) = self.score(*old, *new)?
                    && score >= THRESHOLD
                {
                    let renamed = self.deltas[*old].path.file_name() != self.deltas[*new].path.file_name();
                    best.push((std::cmp::Reverse(score), renamed, *new, *old));
                }
            }
            // As git does: a few candidates each, or ten thousand equal files would take all memory.
            best.sort_unstable();
            best.truncate(4);
            scores.append(&mut best);
        }
        scores.sort_unstable();
        let mut used = HashSet::new();
        for (_, _, new, old) in scores {
            if !self.pairs.contains_key(&new) && used.insert(old) {
                self.pairs.insert(new, old);
            }
        }
        Ok(())
    }

    fn score(&mut self, old: usize, new: usize) -> Result<Option<u32>, GitError> {
        self.cancel.check()?;
        if self
            .learn(old)
            .is_none_or(|size| self.learn(new).is_none_or(|other| is_too_different(size, other, THRESHOLD)))
        {
            return Ok(None);
        }
        match (self.known.get(&old), self.known.get(&new)) {
            (Some(Some(one)), Some(Some(other))) => Ok(Some(one.similarity(other))),
            _ => Ok(None),
        }
    }

    /// Reads a file's pieces once; its size. Links, submodules, giants and what cannot be read have none.
    fn learn(&mut self, at: usize) -> Option<u64> {
        let repo = self.repo;
        let delta = self.deltas.get(at)?;
        let entry = self.entry(at)?;
        let (room, without_room) = (&mut self.room, &mut self.without_room);
        let known = self.known.entry(at).or_insert_with(|| {
            if !entry.is_plain() {
                return None;
            }
            if SideContent::size(repo, &delta.path, entry).ok()? > MAX_SIZE {
                return None;
            }
            let content = SideContent::read(repo, &delta.path, Some(entry)).ok()?;
            let bytes = content.bytes();
            let fingerprint = (!bytes.is_empty()).then(|| FileFingerprint::of(bytes))?;
            let has_room = room.charge(fingerprint.memory());
            *without_room += u64::from(!has_room);
            has_room.then_some(fingerprint)
        });
        known.as_ref().map(FileFingerprint::size)
    }
}
