//! Why a repository or an object could not be had. Main type: [`RepoError`].

use std::path::PathBuf;

use super::repository_layout::PlaceError;
use crate::domain::id::ObjectId;
use crate::domain::text::shell_word;

/// The reason why a repository or an object could not be had. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RepoError {
    /// There is no repository here.
    #[error("{} is not inside a git repository; run this in one, name one with -C DIR, or review a patch with --diff FILE", .0.display())]
    NotARepository(PathBuf),
    /// It borrows from more folders than anybody does, or the file that names them cannot be read.
    #[error("{} is not a short list of folders of objects; run `git repack -a -d` to need none, then remove it", .0.display())]
    Alternates(PathBuf),
    /// A part of it lies where it does not belong.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The folder belongs to another user, and git would refuse it too.
    #[error(
        "git does not trust {path}: it belongs to another user; run `git config --global --add safe.directory {}` if you do",
        shell_word(path)
    )]
    Owner { path: String },
    #[error(
        "this repository uses SHA-256 object ids, which are not supported here; run `git diff TARGET...HEAD | review --diff -` instead"
    )]
    Sha256,
    /// It uses an extension that is not known.
    #[error("this repository needs a newer git library ({0}); run `git diff TARGET...HEAD | review --diff -` instead")]
    Unsupported(String),
    /// A name means nothing here.
    #[error("unknown revision {0:?}: not a branch, tag or commit here{1}")]
    UnknownRevision(String, String),
    /// A name means something that is not a commit.
    #[error("{0:?} is not a commit")]
    NotACommit(String),
    /// An abbreviated id fits several objects.
    #[error("{0:?} is ambiguous: write more digits of the commit id")]
    Ambiguous(String),
    /// There is no commit yet.
    #[error("the repository has no commit yet; commit something, or review what is staged with --staged")]
    Unborn,
    /// An object is not here.
    #[error("object {id} is missing{hint}")]
    Missing { id: ObjectId, hint: &'static str },
    /// An object is not of the kind that was expected, or its bytes are damaged.
    #[error("object {0} is damaged; run `git fsck`")]
    Damaged(ObjectId),
    /// An object, or one that it is stored as a difference from, has more bytes than are read.
    #[error("object {id} is too large to be read: it takes {} MiB, more than {}", size >> 20, limit >> 20)]
    TooLarge {
        id: ObjectId,
        /// The size, in bytes, of it or of the one that it is made from.
        size: u64,
        /// The most bytes that are read.
        limit: u64,
    },
    /// The index has whole folders as one entry.
    #[error(
        "this checkout has a sparse index, which is not supported here; run `git sparse-checkout reapply --no-sparse-index`, or review commits with --target"
    )]
    SparseIndex,
    /// Anything else libgit2 says.
    #[error("git: {0}")]
    Git(String),
}
