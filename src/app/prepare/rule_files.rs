//! The files of rule packs: the user's and the project's. Main function: [`read_all`].
//!
//! A project's packs are read from where its settings are: the target commit, or the working tree if requested.

use std::path::Path;

use super::target_tree::{EntryKind, TargetTree, join};
use crate::app::context::error::{AppError, UseCaseError};
use crate::app::context::prompts;
use crate::config::Settings;
use crate::domain::id::CommitId;
use crate::domain::rule_info::PackOwner;
use crate::domain::text::strip_line;
use crate::rules::PackFile;
use crate::sys::repo::Repo;

/// The folder of a project's packs.
pub(in crate::app) const PROJECT_RULES: &str = ".review/rules";
/// Maximum size in bytes of a user's pack.
const MAX_PACK: u64 = 1 << 20;
/// Limits on a project's packs.
const MAX_PROJECT_PACK: u64 = 256 << 10;
const MOST_PROJECT_PACKS: usize = 50;
/// Limit on all project packs together: each run stores a copy.
const MOST_PROJECT_BYTES: u64 = 1 << 20;

/// An error in reading a project's packs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackFileError {
    /// The path of a pack is not a plain file.
    #[error("{file} is {what}: rules of a project are plain files in the folder {PROJECT_RULES}")]
    NotPlain { file: String, what: &'static str },
    /// One of the packs, or all together, exceed the limit.
    #[error(
        "{file} has {size} bytes, which is more than the {limit} that are read of a project's rules there: make it smaller"
    )]
    TooLarge { file: String, size: u64, limit: u64 },
    /// There are too many packs.
    #[error("{folder} holds more than {most} packs: join some")]
    TooMany { folder: String, most: usize },
    #[error("{file}:{line}: not UTF-8 text")]
    NotText { file: String, line: usize },
    /// A listed file was removed meanwhile, or cannot be read.
    #[error("{file} cannot be read")]
    Unreadable { file: String },
}

impl UseCaseError for PackFileError {}

/// Reads the packs that are not built in: the user's folder, and the project's at `at` or in the working tree.
pub(in crate::app) fn read_all(
    settings: &Settings,
    project: Option<(&Repo, Option<CommitId>)>,
    from_worktree: bool,
) -> Result<Vec<PackFile>, AppError> {
    let mut files = settings.rule_packs.as_deref().map(read_folder).transpose()?.unwrap_or_default();
    if let Some((repo, at)) = project
        && let Some(ground) = TargetTree::of(repo, at, from_worktree)?
    {
        files.extend(of_project(&ground)?);
    }
    Ok(files)
}

/// Reads the user's packs from a folder.
pub(in crate::app) fn read_folder(folder: &Path) -> Result<Vec<PackFile>, AppError> {
    let found = prompts::read_folder(folder, &["yml", "yaml"], MAX_PACK)?;
    let file = |(name, text): (String, String)| PackFile {
        owner: PackOwner::User,
        file: folder.join(&name).display().to_string(),
        stem: stem(&name).to_owned(),
        text,
    };
    Ok(found.into_iter().map(file).collect())
}

/// The name of a pack without its extension.
pub(in crate::app) fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Checks whether a file name is that of a pack.
pub(in crate::app) fn is_pack(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(b".yml") || name.ends_with(b".yaml")
}

/// Reads the packs of a project's tree; none if it has no folder for them.
fn of_project(ground: &TargetTree<'_>) -> Result<Vec<PackFile>, AppError> {
    let at = match ground {
        TargetTree::Commit { .. } => format!(" {}", ground.describe()),
        TargetTree::Disk { .. } => String::new(),
    };
    let folder = PROJECT_RULES.as_bytes();
    let above = folder.iter().position(|byte| *byte == b'/').map_or(folder, |slash| &folder[..slash]);
    for path in [above, folder] {
        let what = match ground.kind(path)? {
            // A plain file at that path is not a folder of packs.
            None | Some(EntryKind::File) => return Ok(Vec::new()),
            Some(EntryKind::Folder) => continue,
            Some(EntryKind::Link) => "a link",
            Some(EntryKind::Other) => "no folder of the repository",
        };
        let file = format!("{}{at}", String::from_utf8_lossy(path));
        return Err(PackFileError::NotPlain { file, what }.into());
    }
    let (mut files, mut size) = (Vec::new(), 0);
    for (name, kind) in ground.list(folder)?.into_iter().filter(|(name, _)| is_pack(name)) {
        let path = join(folder, &name);
        let file = format!("{}{at}", strip_line(&String::from_utf8_lossy(&path)));
        let what = match kind {
            EntryKind::File => None,
            EntryKind::Folder => Some("a folder"),
            EntryKind::Link => Some("a link"),
            EntryKind::Other => Some("no file of the repository"),
        };
        if let Some(what) = what {
            return Err(PackFileError::NotPlain { file, what }.into());
        }
        if files.len() == MOST_PROJECT_PACKS {
            let folder = format!("{PROJECT_RULES}{at}");
            return Err(PackFileError::TooMany { folder, most: MOST_PROJECT_PACKS }.into());
        }
        let bytes = match ground.read(&path, MAX_PROJECT_PACK)? {
            Some(Ok(bytes)) => bytes,
            Some(Err(size)) => return Err(PackFileError::TooLarge { file, size, limit: MAX_PROJECT_PACK }.into()),
            None => return Err(PackFileError::Unreadable { file }.into()),
        };
        size += bytes.len() as u64;
        if size > MOST_PROJECT_BYTES {
            let file = format!("{PROJECT_RULES}{at}");
            return Err(PackFileError::TooLarge { file, size, limit: MOST_PROJECT_BYTES }.into());
        }
        let text = text(&file, bytes)?;
        let stem = stem(&String::from_utf8_lossy(&name)).to_owned();
        files.push(PackFile { owner: PackOwner::Project, file, stem, text });
    }
    Ok(files)
}

/// Decodes the text of a pack.
pub(in crate::app) fn text(file: &str, bytes: Vec<u8>) -> Result<String, PackFileError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = memchr::memchr_iter(b'\n', &error.as_bytes()[..good]).count() + 1;
        PackFileError::NotText { file: file.to_owned(), line }
    })
}
