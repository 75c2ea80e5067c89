//! Git repositories through libgit2: open, resolve, read objects. Main types: [`Repo`], [`RepoPool`].
//!
//! Reading never goes through the checkout: bytes come from the object database. What a range or a diff is belongs in `git`.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ffi::OsStr;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use git2::{ErrorClass, ErrorCode};

use super::alternates::list_object_folders;
use super::clock;
use super::contained_folder::ContainedFolder;
use super::loose::LooseObjects;
use super::objects::{ObjectKind, Objects, RecentTrees};
use super::packs::{PackedObjects, StoredObject};
use super::repo_error::RepoError;
use super::repository_layout::{self, PlaceError, RepositoryLayout};
use crate::domain::id::{BlobId, CommitId, ObjectId, TreeId};
use crate::domain::limits::LIMITS;
use crate::domain::nearest::nearest;
use crate::domain::text::{MASK_PREFIX, mask, shell_word};

/// An open repository. It can move between threads but not be shared: see [`RepoPool`].
pub struct Repo {
    git: git2::Repository,
    /// The check for truncated objects.
    loose: LooseObjects,
    /// The check for packed objects that are too large or have missing bases, and the packs of the faster reader.
    packs: PackedObjects,
    /// The objects that were looked at last, both sides of a file, and how they are stored where that is known.
    intact: Cell<[(ObjectId, Option<StoredObject>); 2]>,
    /// This handle's reader of them.
    objects: OnceCell<Objects>,
    trees: RecentTrees,
    /// The folder that is checked out, once a file of it was wanted.
    checkout: OnceCell<ContainedFolder>,
}

/// The digits of a whole id.
const HEX: usize = 40;
/// No tag of a tag of a tag is followed further.
const MOST_TAGS: usize = 8;

fn libgit2_once() {
    static ONCE: Once = Once::new();
    // Hashing every object again on reading costs a quarter of the time of a collection and guards against bad memory, not against
    // people: packs carry checksums of their own, and `git fsck` is there for doubts.
    ONCE.call_once(|| git2::opts::strict_hash_verification(false));
}

impl From<git2::Error> for RepoError {
    fn from(error: git2::Error) -> Self {
        if error.message().contains("'sdir'") { Self::SparseIndex } else { Self::Git(error.message().to_owned()) }
    }
}

impl Repo {
    /// Opens the repository that `start` is in; refused if its parts do not belong together, see `repository_layout`.
    pub fn open(start: &Path) -> Result<Self, RepoError> {
        libgit2_once();
        repository_layout::refuse_pipes(start)?;
        let found = git2::Repository::open_ext(start, git2::RepositoryOpenFlags::empty(), &[] as &[&Path]);
        let repo = Self::of(found.map_err(|error| open_error(&error, start))?)?;
        repo.layout().refuse_elsewhere(start)?;
        Ok(repo)
    }

    /// The git folder of the repository that `start` is in, found without opening it.
    pub fn find(start: &Path) -> Result<PathBuf, RepoError> {
        libgit2_once();
        repository_layout::refuse_pipes(start)?;
        git2::Repository::discover_path(start, &[] as &[&Path]).map_err(|error| open_error(&error, start))
    }

    /// Refuses the repository if anything that is read of it, its objects included, lies where `inside` says no.
    pub fn refuse_outside(&self, inside: &dyn Fn(&Path) -> bool) -> Result<(), PlaceError> {
        self.layout().refuse_outside(inside)
    }

    fn layout(&self) -> RepositoryLayout {
        let has_setting = || self.git.config().is_ok_and(|config| config.get_entry("core.worktree").is_ok());
        let is_named = self.git.is_worktree() || has_setting();
        RepositoryLayout::new(self.git.path(), self.git.commondir(), self.git.workdir(), is_named)
    }

    /// Opens the same repository once more, for another thread.
    pub fn reopen(&self) -> Result<Self, RepoError> {
        // Through the worktree's own git folder, so that a linked worktree keeps its index and head.
        let path = self.git.path();
        let git = git2::Repository::open(path).map_err(|error| open_error(&error, path))?;
        Ok(Self::with(git, self.loose.clone(), self.packs.clone()))
    }

    fn of(git: git2::Repository) -> Result<Self, RepoError> {
        let folder = git.commondir().join("objects");
        let folders = list_object_folders(&folder)?;
        let (loose, packs) = (LooseObjects::new(&folders), PackedObjects::new(&folders));
        Ok(Self::with(git, loose, packs))
    }

    fn with(git: git2::Repository, loose: LooseObjects, packs: PackedObjects) -> Self {
        let (intact, objects, checkout) = (Cell::new([(ObjectId::ZERO, None); 2]), OnceCell::new(), OnceCell::new());
        Self { git, loose, packs, intact, objects, trees: RecentTrees::default(), checkout }
    }

    /// The files that are checked out, opened so that no link leads out of them.
    pub fn checkout(&self) -> io::Result<&ContainedFolder> {
        if let Some(checkout) = self.checkout.get() {
            return Ok(checkout);
        }
        let root = self.workdir().ok_or_else(|| io::Error::other("the repository is bare"))?;
        let opened = ContainedFolder::new(root)?;
        Ok(self.checkout.get_or_init(|| opened))
    }

    /// The library's own handle, for `git`.
    pub fn raw(&self) -> &git2::Repository {
        &self.git
    }

    /// The folder that is checked out; `None` in a bare repository.
    pub fn workdir(&self) -> Option<&Path> {
        self.git.workdir()
    }

    /// Checks whether git would leave a file of the worktree out: it ignores it and does not know it yet.
    pub fn is_excluded(&self, path: &[u8]) -> Result<bool, RepoError> {
        let path = Path::new(OsStr::from_bytes(path));
        Ok(self.git.index()?.get_path(path, 0).is_none() && self.git.is_path_ignored(path)?)
    }

    /// The folder where git keeps this worktree's index and head.
    pub fn git_dir(&self) -> &Path {
        self.git.path()
    }

    /// The folder where git keeps what all worktrees of the repository share.
    pub fn common_dir(&self) -> &Path {
        self.git.commondir()
    }

    /// Checks whether the setting `core.hooksPath` names another folder of hooks than that of the repository.
    pub fn has_own_hooks_folder(&self) -> bool {
        self.git.config().is_ok_and(|config| config.get_entry("core.hooksPath").is_ok())
    }

    /// Returns the display name: the name of its folder, masked.
    pub fn name(&self) -> String {
        let folder = self.workdir().unwrap_or_else(|| self.git.commondir());
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        mask(name.strip_suffix(".git").unwrap_or(&name)).text
    }

    /// Checks whether its history was cut (`git clone --depth`).
    pub fn is_shallow(&self) -> bool {
        self.git.is_shallow()
    }

    /// Checks whether it fetches objects only when they are needed (`git clone --filter`), which libgit2 cannot do.
    pub fn is_partial(&self) -> bool {
        let Ok(config) = self.git.config() else { return false };
        let Ok(entries) = config.entries(Some("remote\\..*\\.(promisor|partialclonefilter)")) else { return false };
        let mut partial = false;
        let _ = entries.for_each(|_| partial = true);
        partial || config.get_entry("extensions.partialclone").is_ok()
    }

    /// The commit a name stands for.
    pub fn commit(&self, name: &str) -> Result<CommitId, RepoError> {
        let name = &*self.unmasked(name)?;
        self.intact_tip(name)?;
        let object = self.git.revparse_single(name).map_err(|error| self.revision_error(&error, name))?;
        let commit = object.peel_to_commit().map_err(|_| RepoError::NotACommit(mask(name).text))?;
        Ok(CommitId(object_id(commit.id())))
    }

    /// The name of the branch or tag that everybody is shown by a masked one. Git has no names with `[`, so it can be no other.
    fn unmasked<'n>(&self, name: &'n str) -> Result<Cow<'n, str>, RepoError> {
        if !name.contains(MASK_PREFIX) {
            return Ok(Cow::Borrowed(name));
        }
        let mut found = None;
        for reference in self.git.references()? {
            let Some(full) = reference.ok().and_then(|reference| Some(reference.name().ok()?.to_owned())) else {
                continue;
            };
            let short =
                ["refs/heads/", "refs/remotes/", "refs/tags/"].iter().find_map(|place| full.strip_prefix(place));
            if ![Some(full.as_str()), short].into_iter().flatten().any(|shown| mask(shown).text == name) {
                continue;
            }
            if found.replace(full).is_some() {
                return Err(RepoError::Ambiguous(name.to_owned()));
            }
        }
        Ok(found.map_or(Cow::Borrowed(name), Cow::Owned))
    }

    /// Refuses an object that libgit2 would inflate forever or without a bound: one that was cut, or that is made from too much. How it is
    /// stored, where that is known.
    fn intact(&self, id: ObjectId) -> Result<Option<StoredObject>, RepoError> {
        // Both sides of a file are asked for their sizes first, then for their bytes.
        let [last, older] = self.intact.get();
        if let Some((_, stored)) = [last, older].into_iter().find(|(known, _)| *known == id) {
            return Ok(stored);
        }
        // As libgit2 goes on: a loose object is only read where no pack of the same folder has it.
        let (packed, is_own) = self.packs.find(id)?.unzip();
        let loose = if is_own == Some(true) { None } else { self.loose.find(id)? };
        let stored = packed.or(loose).map(|stored| stored.refuse_oversized(id)).transpose()?;
        self.intact.set([(id, stored), last]);
        Ok(stored)
    }

    /// Checks a file whose bytes are about to be read; other threads wait while one of them is large.
    fn intact_blob(&self, id: ObjectId) -> Result<Option<MutexGuard<'static, ()>>, RepoError> {
        let stored = self.intact(id)?;
        if let Some(StoredObject { size, .. }) = stored
            && size > LIMITS.delta_bytes
        {
            return Err(RepoError::TooLarge { id, size, limit: LIMITS.delta_bytes });
        }
        Ok(stored.and_then(StoredObject::wait_for_turn))
    }

    /// Checks the objects that a name resolves to without a walk: a reference or a whole id, and the tags on the way to a commit.
    fn intact_tip(&self, name: &str) -> Result<(), RepoError> {
        let of_reference = || {
            let found = if name == "HEAD" { self.git.head() } else { self.git.resolve_reference_from_short_name(name) };
            found.and_then(|found| found.resolve()).ok()?.target()
        };
        let mut next = of_reference().or_else(|| git2::Oid::from_str(name).ok().filter(|_| name.len() == HEX));
        for _ in 0..MOST_TAGS {
            let Some(id) = next else { break };
            self.intact(object_id(id))?;
            next = self.git.find_tag(id).ok().map(|tag| tag.target_id());
        }
        Ok(())
    }

    /// A commit.
    pub fn find_commit(&self, id: CommitId) -> Result<git2::Commit<'_>, RepoError> {
        self.intact(id.0)?;
        self.git.find_commit(raw_id(id.0)).map_err(|error| self.object_error(&error, id.0))
    }

    fn revision_error(&self, error: &git2::Error, name: &str) -> RepoError {
        let shown = mask(name).text;
        match error.code() {
            ErrorCode::Ambiguous => RepoError::Ambiguous(shown),
            ErrorCode::UnbornBranch => RepoError::Unborn,
            _ if name == "HEAD" && self.is_unborn() => RepoError::Unborn,
            _ if name == "HEAD" => {
                let hint = "; the repository's HEAD is damaged, `git checkout BRANCH` sets it anew".to_owned();
                RepoError::UnknownRevision(shown, hint)
            }
            _ => {
                let hint = self.hint_for_missing(name, &shown);
                RepoError::UnknownRevision(shown, hint)
            }
        }
    }

    /// Describes what may help with an unknown revision: nothing that could not work.
    fn hint_for_missing(&self, name: &str, shown: &str) -> String {
        const LISTED: &str = "; `git branch -a` and `git tag` list the names here";
        // A full name is asked for by programs, thousands of times in a batch: looking for a similar one reads every reference.
        if name.starts_with("refs/") {
            return LISTED.to_owned();
        }
        if self.git.revparse_single(&format!("origin/{name}")).is_ok() {
            return format!("; did you mean origin/{shown}?");
        }
        if self.is_shallow() {
            return "; this clone is shallow, `git fetch --unshallow` brings the rest".to_owned();
        }
        if let Some((start, _)) = name.split_once(['~', '^']).filter(|(start, _)| !start.is_empty()) {
            // Of an expression, either its start is unknown, or the history ends before it.
            let Ok(start_id) = self.git.revparse_single(start).and_then(|object| object.peel_to_commit()) else {
                return self.hint_for_missing(start, &mask(start).text);
            };
            let commits = Self::first_parents(start_id);
            let start = mask(start).text;
            return match commits {
                1 => format!("; {start} is the first commit: it has no parent"),
                _ => format!("; the history of {start} has only {commits} commits"),
            };
        }
        let references = self.reference_names();
        if let Some(near) = nearest(name, references.iter().map(String::as_str)) {
            return format!("; did you mean {}?", mask(near).text);
        }
        let remotes = self.git.remotes().ok();
        let remote = remotes.as_ref().and_then(|all| all.iter().flatten().flatten().next().map(str::to_owned));
        match remote {
            Some(remote) if git2::Reference::is_valid_name(&format!("refs/heads/{name}")) => {
                format!("; `git fetch {} {}` may bring it", shell_word(&mask(&remote).text), shell_word(shown))
            }
            _ => LISTED.to_owned(),
        }
    }

    /// Counts a commit and its ancestors along the first parents.
    fn first_parents(mut commit: git2::Commit<'_>) -> usize {
        let mut count = 1;
        while let Ok(parent) = commit.parent(0) {
            (commit, count) = (parent, count + 1);
        }
        count
    }

    /// Lists the short names of branches, remote branches and tags, at most ten thousand.
    pub fn reference_names(&self) -> Vec<String> {
        const MOST: usize = 10_000;
        let Ok(all) = self.git.references() else { return Vec::new() };
        let short = |reference: git2::Reference<'_>| Some(mask(reference.shorthand().ok()?).text);
        let is_name =
            |reference: &git2::Reference<'_>| reference.is_branch() || reference.is_remote() || reference.is_tag();
        all.flatten().filter(is_name).take(MOST).filter_map(short).collect()
    }

    /// Checks whether there is no commit yet on the current branch.
    pub fn is_unborn(&self) -> bool {
        self.git.head().is_err_and(|error| error.code() == ErrorCode::UnbornBranch)
    }

    /// A blob, whose bytes the library keeps.
    pub fn find_blob(&self, id: BlobId) -> Result<git2::Blob<'_>, RepoError> {
        let _turn = self.intact_blob(id.0)?;
        self.git.find_blob(raw_id(id.0)).map_err(|error| self.object_error(&error, id.0))
    }

    /// When a commit was made, RFC 3339 with the offset of whoever made it.
    pub fn commit_time(&self, commit: CommitId) -> Result<String, RepoError> {
        let found = self.find_commit(commit)?;
        let when = found.committer().when();
        Ok(clock::git_time(when.seconds(), when.offset_minutes()))
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: CommitId) -> Result<TreeId, RepoError> {
        let found = self.find_commit(commit)?;
        Ok(TreeId(object_id(found.tree_id())))
    }

    /// The bytes of a blob.
    pub fn blob(&self, id: BlobId) -> Result<Vec<u8>, RepoError> {
        self.read_object(id.0, ObjectKind::Blob, <[u8]>::to_vec)
    }

    /// The size of a blob in bytes, without reading it whole.
    pub fn blob_size(&self, id: BlobId) -> Result<u64, RepoError> {
        if let Some(stored) = self.intact(id.0)? {
            return Ok(stored.size);
        }
        let odb = self.git.odb()?;
        let (size, _) = odb.read_header(raw_id(id.0)).map_err(|error| self.object_error(&error, id.0))?;
        Ok(size as u64)
    }

    /// The raw bytes of a tree object; [`sys::tree`](super::tree) reads them.
    pub fn tree(&self, id: TreeId) -> Result<Vec<u8>, RepoError> {
        self.with_tree(id, <[u8]>::to_vec)
    }

    /// The raw bytes of a tree object, which may be asked for again soon.
    pub fn recent_tree(&self, id: TreeId) -> Result<Arc<[u8]>, RepoError> {
        self.trees.get(id, || self.tree(id))
    }

    /// Lends the raw bytes of a tree object to `take`.
    pub fn with_tree<T>(&self, id: TreeId, take: impl FnOnce(&[u8]) -> T) -> Result<T, RepoError> {
        match self.read_fast(id.0, ObjectKind::Tree, take) {
            Ok(done) => Ok(done),
            Err(take) => self.read_object(id.0, ObjectKind::Tree, take),
        }
    }

    /// Lends the bytes of a blob to `take`, unless it has more than `limit` bytes: then its size. Made for reading many.
    pub fn with_blob_within<T>(
        &self,
        id: BlobId,
        limit: u64,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Result<T, u64>, RepoError> {
        let within = |bytes: &[u8]| {
            let size = bytes.len() as u64;
            if size > limit { Err(size) } else { Ok(take(bytes)) }
        };
        match self.read_fast(id.0, ObjectKind::Blob, within) {
            Ok(done) => Ok(done),
            Err(within) => match self.blob_size(id)? {
                size if size > limit => Ok(Err(size)),
                _ => self.read_object(id.0, ObjectKind::Blob, within),
            },
        }
    }

    fn read_fast<T, F: FnOnce(&[u8]) -> T>(&self, id: ObjectId, kind: ObjectKind, take: F) -> Result<T, F> {
        self.objects.get_or_init(|| Objects::new(&self.packs)).read(id, kind, take)
    }

    fn read_object<T>(&self, id: ObjectId, kind: ObjectKind, take: impl FnOnce(&[u8]) -> T) -> Result<T, RepoError> {
        let _turn = self.intact_blob(id)?;
        let odb = self.git.odb()?;
        let object = odb.read(raw_id(id)).map_err(|error| self.object_error(&error, id))?;
        if object.kind() == kind.to_raw() { Ok(take(object.data())) } else { Err(RepoError::Damaged(id)) }
    }

    /// Returns the error for an object that could not be read.
    pub fn object_error(&self, error: &git2::Error, id: ObjectId) -> RepoError {
        if error.code() != ErrorCode::NotFound {
            return if error.class() == ErrorClass::Zlib || error.class() == ErrorClass::Odb {
                RepoError::Damaged(id)
            } else {
                RepoError::Git(error.message().to_owned())
            };
        }
        let hint = if self.is_partial() {
            "; this is a partial clone: run `git fetch --refetch --no-filter` once to bring all objects"
        } else if self.is_shallow() {
            "; this clone is shallow: run `git fetch --unshallow`"
        } else {
            "; run `git fsck`"
        };
        RepoError::Missing { id, hint }
    }
}

fn open_error(error: &git2::Error, path: &Path) -> RepoError {
    let message = error.message();
    match error.code() {
        ErrorCode::NotFound => RepoError::NotARepository(path.to_owned()),
        ErrorCode::Owner => {
            // libgit2 names the folder it distrusts in quotes; the one that was asked for may lie deeper.
            let named = message.split('\'').nth(1).map_or_else(|| path.display().to_string(), str::to_owned);
            RepoError::Owner { path: named.trim_end_matches('/').to_owned() }
        }
        _ if message.contains("sha256") => RepoError::Sha256,
        _ if message.contains("extension") || message.contains("repository version") => {
            RepoError::Unsupported(message.to_owned())
        }
        _ => RepoError::Git(message.to_owned()),
    }
}

/// The library's id as ours. SHA-1 repositories only, so it always has 20 bytes.
pub fn object_id(raw: git2::Oid) -> ObjectId {
    raw.as_bytes().try_into().map_or(ObjectId::ZERO, ObjectId::new)
}

/// Our id as the library's.
pub fn raw_id(id: ObjectId) -> git2::Oid {
    git2::Oid::from_bytes(id.as_bytes()).unwrap_or(git2::Oid::ZERO_SHA1)
}

/// The maximum number of idle handles; each has files open.
const IDLE: usize = 16;

/// Handles of one repository for many threads: take one, use it, and it goes back when dropped.
#[derive(Clone)]
pub struct RepoPool {
    git_dir: Arc<Path>,
    loose: LooseObjects,
    packs: PackedObjects,
    idle: Arc<Mutex<Vec<Repo>>>,
}

/// A handle lent by a [`RepoPool`].
pub struct PooledRepo<'a> {
    repo: Option<Repo>,
    pool: &'a RepoPool,
}

impl RepoPool {
    /// A pool that begins with `first`.
    pub fn new(first: Repo) -> Self {
        let (loose, packs) = (first.loose.clone(), first.packs.clone());
        Self { git_dir: first.git_dir().into(), loose, packs, idle: Arc::new(Mutex::new(vec![first])) }
    }

    /// A pool for the repository of a handle that was used much. It is closed, and with it what libgit2 mapped of the packs: files are read
    /// without that.
    pub fn after(used: Repo) -> Self {
        Self { git_dir: used.git_dir().into(), loose: used.loose, packs: used.packs, idle: Arc::default() }
    }

    /// Takes an idle handle, or opens another.
    pub fn acquire(&self) -> Result<PooledRepo<'_>, RepoError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repo = match idle {
            Some(repo) => repo,
            None => {
                let git = git2::Repository::open(&self.git_dir).map_err(|error| open_error(&error, &self.git_dir))?;
                Repo::with(git, self.loose.clone(), self.packs.clone())
            }
        };
        Ok(PooledRepo { repo: Some(repo), pool: self })
    }
}

impl Deref for PooledRepo<'_> {
    type Target = Repo;

    #[expect(clippy::expect_used, reason = "it is only taken out in drop")]
    fn deref(&self) -> &Repo {
        self.repo.as_ref().expect("a lent handle is there until it is dropped")
    }
}

impl DerefMut for PooledRepo<'_> {
    #[expect(clippy::expect_used, reason = "it is only taken out in drop")]
    fn deref_mut(&mut self) -> &mut Repo {
        self.repo.as_mut().expect("a lent handle is there until it is dropped")
    }
}

impl Drop for PooledRepo<'_> {
    fn drop(&mut self) {
        if let Some(repo) = self.repo.take() {
            let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(repo);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: ErrorCode, message: &str) -> String {
        let error = git2::Error::new(code, ErrorClass::Config, message);
        open_error(&error, Path::new("/srv/asked")).to_string()
    }

    #[test]
    fn a_repository_of_somebody_else_is_named_with_what_to_run() {
        let message = said(ErrorCode::Owner, "repository path '/srv/theirs/' is not owned by current user");
        assert!(message.ends_with("run `git config --global --add safe.directory /srv/theirs` if you do"), "{message}");
    }

    #[test]
    fn what_cannot_be_opened_leads_to_another_way() {
        assert!(said(ErrorCode::NotFound, "could not find").contains("--diff FILE"));
        assert!(said(ErrorCode::GenericError, "unsupported extension name extensions.refstorage").contains("--diff -"));
    }
}
