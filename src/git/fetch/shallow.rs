//! Histories that are cut: how much more is needed, and what of it the repository is told. Main type: [`ShallowCuts`].
//!
//! In a cut history `git merge-base` may find a commit that is not where two branches met, because the way to that one is hidden. It is
//! certain when no commit that only one of the two has is one whose parents are hidden; until then more is brought.
//!
//! `git fetch --depth` cuts where it is told to, also where the repository has more already. A cut is taken over only where nothing that the
//! repository could see before is hidden by it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::domain::id::{CommitId, ObjectId};
use crate::sys::cancel::Cancel;
use crate::sys::files;
use crate::sys::repo::Repo;

use super::error::FetchError;
use super::scratch::ScratchRepository;

/// The number of commits fetched below each tip, step by step. The last one means all.
pub(super) const DEPTHS: [u32; 4] = [50, 200, 1000, 0x7fff_ffff];
/// A longer list of commits is not read, in bytes: twelve million.
const MOST: usize = 512 << 20;

/// The commits whose parents are hidden.
pub(super) type ShallowCuts = BTreeSet<ObjectId>;

/// The cuts in a repository's history.
pub(super) struct Shallow {
    /// The file as it was read.
    bytes: Option<Vec<u8>>,
    cuts: ShallowCuts,
}

fn parse(bytes: &[u8]) -> ShallowCuts {
    String::from_utf8_lossy(bytes).lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn written(cuts: &ShallowCuts) -> Vec<u8> {
    cuts.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()
}

fn ids(output: &[u8]) -> impl Iterator<Item = ObjectId> {
    output.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()?.parse().ok())
}

impl Shallow {
    /// Of a repository.
    pub(super) fn of(repo: &Repo) -> Result<Self, FetchError> {
        let bytes = files::read_optional(&repo.common_dir().join("shallow"))?;
        let cuts = parse(bytes.as_deref().unwrap_or_default());
        Ok(Self { bytes, cuts })
    }

    /// Checks whether anything is hidden.
    pub(super) fn is_cut(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// Tells git what is hidden before it begins.
    pub(super) fn write_initial(&self, scratch: &ScratchRepository) -> Result<(), FetchError> {
        write(scratch, &self.cuts)
    }

    /// After a fetch: the cuts that are to hold. A commit that was seen with its parents before stays so.
    pub(super) fn update_cuts(&self, scratch: &ScratchRepository, cancel: &Cancel) -> Result<ShallowCuts, FetchError> {
        let mut cuts = now(scratch)?;
        if cuts.difference(&self.cuts).next().is_some() {
            write(scratch, &self.cuts)?;
            let seen = scratch.git(["rev-list", "--glob=refs/known"], MOST, cancel)?;
            for id in ids(&seen.output).filter(|id| !self.cuts.contains(id)) {
                cuts.remove(&id);
            }
            write(scratch, &cuts)?;
        }
        Ok(cuts)
    }

    /// Lets the repository see what was brought.
    pub(super) fn publish_cuts(&self, repo: &Repo, cuts: &ShallowCuts) -> Result<(), FetchError> {
        if *cuts == self.cuts {
            return Ok(());
        }
        let folder = repo.common_dir();
        let (path, lock) = (folder.join("shallow"), folder.join("shallow.lock"));
        if files::replace_locked(&path, &lock, self.bytes.as_deref(), &written(cuts))? {
            return Ok(());
        }
        Err(FetchError::ShallowChanged { folder: Path::display(folder).to_string() })
    }
}

fn now(scratch: &ScratchRepository) -> Result<ShallowCuts, FetchError> {
    Ok(parse(&files::read_optional(&scratch.shallow())?.unwrap_or_default()))
}

fn write(scratch: &ScratchRepository, cuts: &ShallowCuts) -> Result<(), FetchError> {
    if cuts.is_empty() {
        // An empty file would still mean a cut history to git.
        return Ok(files::remove_file(&scratch.shallow())?);
    }
    Ok(files::write_private(&scratch.shallow(), &written(cuts))?)
}

/// Checks whether enough is here to tell for certain where two commits met, and what lies between.
pub(super) fn is_enough(
    scratch: &ScratchRepository,
    cuts: &ShallowCuts,
    base: CommitId,
    head: CommitId,
    cancel: &Cancel,
) -> Result<bool, FetchError> {
    if cuts.is_empty() {
        return Ok(true);
    }
    let apart = scratch.git(["rev-list", &format!("{base}...{head}")], MOST, cancel)?;
    Ok(apart.success && !ids(&apart.output).any(|id| cuts.contains(&id)))
}
