//! Builds the change of a case in the place where a review finds it. Main type: [`PreparedCase`].

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::case::{CaseRecipe, EvalCase, GeneratedFile, RepositoryEnds};
use super::error::EvalError;
use crate::app::context::error::AppError;
use crate::domain::change::FileMode;
use crate::domain::id::{hash_part, hex};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::request::{PatchSource, ReviewScope};
use crate::git::{self, SCRATCH_HEAD, SCRATCH_TARGET, ScratchFile};
use crate::sys::cancel::Cancel;
use crate::sys::contained_folder::{ContainedFolder, Kind};
use crate::sys::files;
use crate::sys::folder::read_folder;
use crate::sys::repo::Repo;

/// Limits of one side of a change.
const MAX_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 20_000;
/// Maximum size in bytes of a generated file.
const MAX_MADE: usize = 32 << 20;

/// The folders and the file that can define a change.
const BASE: &str = "base";
const HEAD: &str = "head";
const PATCH: &str = "change.patch";

/// The name of the scratch repository. A model sees it, so it must not reveal the expected result.
const PROJECT: &str = "project";

/// A change ready for review.
#[derive(Debug, Clone)]
pub(super) struct PreparedCase {
    /// The folder of the repository.
    pub(super) directory: PathBuf,
    /// The change in it.
    pub(super) scope: ReviewScope,
    /// A hash of everything that defines the case.
    pub(super) digest: String,
}

/// Builds the change of a case. `scratch` is an empty folder for it, `repositories` the folder below which cases may name repositories.
pub(super) fn prepare(
    case: &EvalCase,
    scratch: &Path,
    repositories: &Path,
    cancel: &Cancel,
) -> Result<PreparedCase, AppError> {
    let mut hash = Sha256::new();
    hash_part(&mut hash, &case.text);
    match &case.recipe {
        CaseRecipe::Files { message, made } => from_files(case, message, made, scratch, hash, cancel),
        CaseRecipe::Repository(ends) => from_repository(case, ends, repositories, hash),
    }
}

fn from_files(
    case: &EvalCase,
    message: &str,
    made: &[GeneratedFile],
    scratch: &Path,
    mut hash: Sha256,
    cancel: &Cancel,
) -> Result<PreparedCase, AppError> {
    let fault = |why: &str| EvalError::Case { case: case.folder.clone(), why: why.to_owned() };
    let beneath = ContainedFolder::new(&case.folder).map_err(|error| fault(&error.to_string()))?;
    let kind = |name: &str| beneath.kind(name.as_bytes()).ok();
    let is_folder = |name: &str| kind(name) == Some(Kind::Folder);
    let (base, head) = (is_folder(BASE), is_folder(HEAD));
    if let Some(Kind::File { .. }) = kind(PATCH) {
        if base || head || !made.is_empty() {
            return Err(fault("its change is in change.patch or in base and head, not in both").into());
        }
        let path = case.folder.join(PATCH);
        let bytes = files::open(&path).and_then(|file| files::read_within(file, &path, MAX_BYTES));
        hash_part(&mut hash, &bytes.map_err(EvalError::from)?);
        let scope = ReviewScope::Patch(PatchSource::File(path));
        return Ok(PreparedCase { directory: case.folder.clone(), scope, digest: hex(&hash.finalize()) });
    }
    if !head && !base {
        return Err(fault("it has no change: put the files before and after it into the folders base and head").into());
    }
    let mut sides = Vec::new();
    for (name, side, there) in [(BASE, DiffSide::Old, base), (HEAD, DiffSide::New, head)] {
        let mut files = if there { files_of(case, name, cancel)? } else { Vec::new() };
        files.extend(
            made.iter()
                .filter(|made| made.side == side)
                .map(|made| make(made, &fault))
                .collect::<Result<Vec<_>, _>>()?,
        );
        hash_part(&mut hash, name.as_bytes());
        for file in &files {
            hash_part(&mut hash, file.path.as_bytes());
            hash_part(&mut hash, [u8::from(file.mode == FileMode::Executable)]);
            hash_part(&mut hash, &file.bytes);
        }
        sides.push(files);
    }
    let folder = scratch.join(PROJECT);
    files::private_folder(&folder).map_err(EvalError::from)?;
    let (old, new) = (sides.first().map_or(&[][..], Vec::as_slice), sides.get(1).map_or(&[][..], Vec::as_slice));
    git::scratch(&folder, old, new, message)?;
    let (target, head) = (Some(SCRATCH_TARGET.to_owned()), Some(SCRATCH_HEAD.to_owned()));
    Ok(PreparedCase { directory: folder, scope: ReviewScope::Branch { target, head }, digest: hex(&hash.finalize()) })
}

fn files_of(case: &EvalCase, name: &str, cancel: &Cancel) -> Result<Vec<ScratchFile>, EvalError> {
    let folder = case.folder.join(name);
    let file = |file: crate::sys::folder::FolderFile| {
        let path = RepoPath::from_bytes(&file.path)
            .map_err(|error| EvalError::Case { case: folder.clone(), why: error.to_string() })?;
        let mode = if file.executable { FileMode::Executable } else { FileMode::File };
        Ok(ScratchFile { path, mode, bytes: file.bytes })
    };
    read_folder(&folder, MAX_BYTES, MAX_FILES, cancel)?.into_iter().map(file).collect()
}

fn make(made: &GeneratedFile, fault: &impl Fn(&str) -> EvalError) -> Result<ScratchFile, EvalError> {
    let times = usize::try_from(made.times).unwrap_or(usize::MAX);
    // A number has at most ten digits.
    if made.line.len().saturating_add(10).saturating_mul(times) > MAX_MADE {
        return Err(fault("[[made]]: the file would be larger than 32 MiB"));
    }
    let mut text = String::new();
    for number in 1..=made.times {
        text.push_str(&made.line.replace("{n}", &number.to_string()));
        text.push('\n');
    }
    Ok(ScratchFile { path: made.path.clone(), mode: FileMode::File, bytes: text.into_bytes() })
}

/// Opens a repository named by a case, if the caller allows them: with a model, its code is sent away.
fn from_repository(
    case: &EvalCase,
    ends: &RepositoryEnds,
    repositories: &Path,
    mut hash: Sha256,
) -> Result<PreparedCase, AppError> {
    let outside = || EvalError::Case {
        case: case.folder.clone(),
        why: format!(
            "the repository {} is not in {}: put a clone there, or name the folder that has it with --repositories",
            ends.folder.display(),
            repositories.display()
        ),
    };
    let allowed = files::real_path(repositories).map_err(EvalError::from)?;
    let asked = files::real_path(&allowed.join(&ends.folder)).map_err(|_| outside())?;
    if !asked.starts_with(&allowed) {
        return Err(outside().into());
    }
    let repo = Repo::open(&asked)?;
    // A folder without a repository of its own resolves to the one around it, and a linked worktree keeps its objects elsewhere.
    let kept = files::real_path(repo.common_dir()).map_err(EvalError::from)?;
    if !kept.starts_with(&asked) {
        return Err(outside().into());
    }
    for name in [&ends.base, &ends.head] {
        hash_part(&mut hash, repo.commit(name)?.to_string().as_bytes());
    }
    let scope = ReviewScope::Branch { target: Some(ends.base.clone()), head: Some(ends.head.clone()) };
    Ok(PreparedCase { directory: asked, scope, digest: hex(&hash.finalize()) })
}
