//! Small repositories made for one purpose and thrown away. Main function: [`scratch`].

use std::path::Path;

use git2::{Index, IndexEntry, IndexTime, Oid, Repository, RepositoryInitOptions, Signature, Time};

use super::GitError;
use crate::domain::change::FileMode;
use crate::domain::path::RepoPath;
use crate::sys::repo_error::RepoError;

/// A file to put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchFile {
    /// The position.
    pub path: RepoPath,
    /// Its kind; a link holds its target path.
    pub mode: FileMode,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The branch that a scratch change is compared with.
pub const SCRATCH_TARGET: &str = "main";
/// The branch that has it.
pub const SCRATCH_HEAD: &str = "change";

/// The time of all its commits, so that equal files give equal ids: 2024-05-01, 10:00 UTC.
const WHEN: i64 = 1_714_557_600;

/// Makes a bare repository in `folder` with two commits: `base` on [`SCRATCH_TARGET`], and `head` upon it on [`SCRATCH_HEAD`].
///
/// Neither settings nor templates of this machine have a part in it, and equal files and words give equal commits.
pub fn scratch(folder: &Path, base: &[ScratchFile], head: &[ScratchFile], message: &str) -> Result<(), GitError> {
    let mut options = RepositoryInitOptions::new();
    // Templates of this machine could bring hooks and attributes.
    options.bare(true).external_template(false).initial_head(SCRATCH_HEAD);
    let repository = Repository::init_opts(folder, &options)?;
    let first = commit(&repository, SCRATCH_TARGET, base, "Begin", None)?;
    commit(&repository, SCRATCH_HEAD, head, message, Some(first))?;
    Ok(())
}

fn commit(
    repository: &Repository,
    branch: &str,
    files: &[ScratchFile],
    message: &str,
    parent: Option<Oid>,
) -> Result<Oid, GitError> {
    let mut index = Index::new()?;
    for file in files {
        let id = repository.blob(&file.bytes)?;
        let mode = match file.mode {
            FileMode::File => 0o100_644,
            FileMode::Executable => 0o100_755,
            FileMode::Link => 0o120_000,
            FileMode::Submodule => {
                return Err(RepoError::Git(format!("{} cannot be a submodule", file.path.display_name())).into());
            }
        };
        index.add(&entry(file.path.stored(), mode, id))?;
    }
    let tree = repository.find_tree(index.write_tree_to(repository)?)?;
    let who = Signature::new("A. Developer", "developer@example.invalid", &Time::new(WHEN, 0))?;
    let parent = parent.map(|id| repository.find_commit(id)).transpose()?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    Ok(repository.commit(Some(&format!("refs/heads/{branch}")), &who, &who, message, &tree, &parents)?)
}

fn entry(path: &[u8], mode: u32, id: Oid) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::repo::Repo;

    fn file(path: &str, text: &str) -> ScratchFile {
        ScratchFile { path: RepoPath::parse(path).unwrap(), mode: FileMode::File, bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn equal_files_make_equal_commits_and_nothing_is_left_of_the_base() {
        let make = || {
            let folder = tempfile::tempdir().unwrap();
            scratch(folder.path(), &[file("a/b.txt", "b\n"), file("c", "c\n")], &[file("a/d.txt", "d\n")], "Move")
                .unwrap();
            let repo = Repo::open(folder.path()).unwrap();
            let head = repo.commit(SCRATCH_HEAD).unwrap();
            let tree = repo.tree_of(head).unwrap();
            let found = crate::sys::tree::find(&repo, tree, b"a/d.txt").unwrap();
            assert!(found.is_some() && crate::sys::tree::find(&repo, tree, b"c").unwrap().is_none());
            assert!(repo.workdir().is_none());
            (repo.commit(SCRATCH_TARGET).unwrap(), head)
        };
        assert_eq!(make(), make());
    }

    #[test]
    fn no_files_at_all_are_a_tree_too() {
        let folder = tempfile::tempdir().unwrap();
        scratch(folder.path(), &[], &[file("a", "a\n")], "Begin").unwrap();
        assert!(Repo::open(folder.path()).unwrap().commit(SCRATCH_HEAD).is_ok());
    }
}
