//! Extra instructions for the model and their trust level. Main function: [`load`].
//!
//! A file inside the repository under review is read from the target commit, like the project's settings: otherwise a change could supply
//! the instructions for its own review. Any other file belongs to the user and is read from the file system.

use crate::app::context::error::UseCaseError;
use serde::{Deserialize, Serialize};
use std::path::Path;

use super::change::PreparedChange;
use super::diff_source::DiffOrigin;
use crate::app::context::error::AppError;
use crate::config::Settings;
use crate::domain::change::FileMode;
use crate::domain::id::CommitId;
use crate::domain::path::display_path;
use crate::domain::request::ReviewRequest;
use crate::domain::text::mask;
use crate::sys::contained_folder::{ContainedFolder, ReadFile};
use crate::sys::files;
use crate::sys::path_containment::path_inside;
use crate::sys::repo::Repo;
use crate::sys::tree;

/// Maximum size in bytes of instructions, since they are sent with every turn.
const MAX_BYTES: u64 = 64 << 10;

/// Instructions for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct Instructions {
    /// The text, secrets masked; never blank.
    pub(in crate::app) text: String,
    /// The source: the path, and the commit unless it was read from the file system.
    pub(in crate::app) from: String,
}

/// The trust level of an instructions path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::app) enum TrustLevel {
    /// The user's: a path of this machine. A file inside the repository is read from the target commit.
    User,
    /// The project's: a path in the repository, read from the target commit whatever the working tree has.
    Target,
}

/// The relevant parts of the repository under review.
#[derive(Clone, Copy)]
struct ReviewedRepository<'r> {
    repo: &'r Repo,
    /// The target commit; `None` for a patch.
    settings_at: Option<CommitId>,
    /// `true` if the user requested the working tree's version.
    from_worktree: bool,
}

/// An error in reading instructions.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InstructionsError {
    /// The file is not there.
    #[error("cannot read the instructions {path}: {why}")]
    Unreadable { path: String, why: String },
    /// The target commit does not have the file.
    #[error(
        "{path} is not a file at {commit}: instructions inside the repository are read from the tip of the target, so that a change \
         cannot bring its own; commit it there, name a file outside, or read the disk with --settings worktree"
    )]
    NotAtTarget { path: String, commit: String },
    /// A patch has no target commit.
    #[error(
        "{path} is inside the repository, and a patch has no target to read it from; name a file outside, or read the disk with \
         --settings worktree"
    )]
    NoTarget { path: String },
    #[error("the instructions {path} have more than {} KiB; they are sent with every turn, so shorten them", MAX_BYTES >> 10)]
    TooLong { path: String },
    /// They are no text.
    #[error("the instructions {path} are not UTF-8 text")]
    NotText { path: String },
    #[error(
        "the prompts folder {path} is inside the repository under review, whose changes could bring their own; keep it outside, or \
         allow it with --settings worktree"
    )]
    PromptsInside { path: String },
}

impl UseCaseError for InstructionsError {}

/// Reads the instructions named by the settings. `None` if they name none, or an empty file.
pub(in crate::app) fn load(
    request: &ReviewRequest,
    subject: &PreparedChange,
    whose: TrustLevel,
) -> Result<Option<Instructions>, AppError> {
    if subject.settings.instructions.is_none() && subject.settings.prompts.is_none() {
        return Ok(None);
    }
    let (settings_at, from_worktree) = (subject.settings_at, request.settings_from_worktree);
    match &subject.diffs {
        DiffOrigin::Repository(pool) => {
            let repo = pool.acquire()?;
            read(&subject.settings, Some(ReviewedRepository { repo: &repo, settings_at, from_worktree }), whose)
        }
        // The patch may be of the repository around this folder, so its files are not the user's own either.
        DiffOrigin::Patch(_) => {
            let repo = Repo::open(&request.directory).ok();
            let reviewed = repo.as_ref().map(|repo| ReviewedRepository { repo, settings_at, from_worktree });
            read(&subject.settings, reviewed, whose)
        }
    }
}

fn read(
    settings: &Settings,
    reviewed: Option<ReviewedRepository<'_>>,
    whose: TrustLevel,
) -> Result<Option<Instructions>, AppError> {
    prompts_are_outside(settings, reviewed)?;
    let Some(path) = &settings.instructions else { return Ok(None) };
    let inside = reviewed.and_then(|reviewed| match whose {
        TrustLevel::User => Some((reviewed, path_inside(path, reviewed.repo.workdir()?)?)),
        TrustLevel::Target => Some((reviewed, path.as_os_str().as_encoded_bytes().to_vec())),
    });
    let (bytes, from) = match inside {
        None => (from_disk(path)?, path.display().to_string()),
        Some((reviewed, within)) => from_repository(&reviewed, &within)?,
    };
    let text = String::from_utf8(bytes).map_err(|_| InstructionsError::NotText { path: from.clone() })?;
    let text = mask(text.strip_prefix('\u{feff}').unwrap_or(&text)).text;
    Ok((!text.trim().is_empty()).then_some(Instructions { text, from }))
}

/// Refuses prompts inside the repository in which the server runs; `repo` is `None` outside any repository.
pub(in crate::app) fn check_prompts(settings: &Settings, repo: Option<&Repo>) -> Result<(), AppError> {
    let reviewed = repo.map(|repo| ReviewedRepository { repo, settings_at: None, from_worktree: false });
    prompts_are_outside(settings, reviewed)
}

fn prompts_are_outside(settings: &Settings, reviewed: Option<ReviewedRepository<'_>>) -> Result<(), AppError> {
    let (Some(folder), Some(reviewed)) = (&settings.prompts, reviewed) else { return Ok(()) };
    let is_inside = reviewed.repo.workdir().is_some_and(|root| path_inside(folder, root).is_some());
    if is_inside && !reviewed.from_worktree {
        return Err(InstructionsError::PromptsInside { path: folder.display().to_string() }.into());
    }
    Ok(())
}

fn from_disk(path: &Path) -> Result<Vec<u8>, AppError> {
    let shown = || path.display().to_string();
    let unreadable = |why: String| InstructionsError::Unreadable { path: shown(), why };
    // It may be a pipe (`<(…)` of a shell), which has no known length.
    let file = files::open(path).map_err(|error| unreadable(error.source.to_string()))?;
    files::read_within(file, path, MAX_BYTES).map_err(|error| match error.source.kind() {
        std::io::ErrorKind::Other => InstructionsError::TooLong { path: shown() }.into(),
        _ => unreadable(error.source.to_string()).into(),
    })
}

/// Returns the bytes and their source. No link is followed, neither in git nor in the file system.
fn from_repository(reviewed: &ReviewedRepository<'_>, within: &[u8]) -> Result<(Vec<u8>, String), AppError> {
    let path = display_path(within).into_owned();
    let repo = reviewed.repo;
    if let (true, Some(root)) = (reviewed.from_worktree, repo.workdir()) {
        let unreadable = |why: String| InstructionsError::Unreadable { path: path.clone(), why };
        let mut buffer = Vec::new();
        let read =
            ContainedFolder::new(root).and_then(|beneath| match beneath.read(within, MAX_BYTES, &mut buffer)? {
                ReadFile::Bytes(bytes) => Ok(Some(bytes.to_vec())),
                ReadFile::TooLarge(_) => Ok(None),
                ReadFile::NotPlain(_) => Err(std::io::Error::other("it is not a plain file")),
            });
        let bytes = read.map_err(|error| unreadable(error.to_string()))?;
        let bytes = bytes.ok_or_else(|| InstructionsError::TooLong { path: path.clone() })?;
        return Ok((bytes, path));
    }
    let Some(commit) = reviewed.settings_at else { return Err(InstructionsError::NoTarget { path }.into()) };
    let found = tree::find(repo, repo.tree_of(commit)?, within)?;
    let Some(tree::TreeLookup::File(FileMode::File | FileMode::Executable, blob)) = found else {
        return Err(InstructionsError::NotAtTarget { path, commit: commit.short() }.into());
    };
    match repo.with_blob_within(blob, MAX_BYTES, <[u8]>::to_vec)? {
        Ok(bytes) => Ok((bytes, format!("{path} at {}", commit.short()))),
        Err(_) => Err(InstructionsError::TooLong { path }.into()),
    }
}
