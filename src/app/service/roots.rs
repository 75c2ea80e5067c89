//! The folders that a server may read. Main type: [`AllowedRoots`].
//!
//! A client is controlled by another program's model; the paths it names are checked here before anything is opened.

use crate::app::context::error::UseCaseError;
use std::path::{Path, PathBuf};

use crate::app::context::error::AppError;
use crate::domain::percent;
use crate::sys::files::{self, FileError};
use crate::sys::folder::read_plain;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;
use crate::sys::repository_layout::PlaceError;

/// Limit in bytes on a file that names a folder.
const LONGEST_NAME: usize = 64 << 10;

/// The folders that may contain repositories and documents.
#[derive(Debug, Clone)]
pub struct AllowedRoots {
    start: PathBuf,
    allowed: Vec<PathBuf>,
    /// The git folders of the repositories at these folders, wherever git stores them: naming the folder includes them.
    meant: Vec<PathBuf>,
}

/// An error in resolving a folder.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum AllowedRootsError {
    /// It is not there.
    #[error(transparent)]
    Missing(#[from] FileError),
    #[error(
        "{path} is outside the folders this server may look in ({allowed}); start it with --root {path} to allow it"
    )]
    Outside { path: String, allowed: String },
    #[error("{0:?} does not name a folder of this machine; write a path, or a URI such as file:///home/me/project")]
    Address(String),
}

impl UseCaseError for AllowedRootsError {}

impl AllowedRoots {
    /// Allows `start`, the repository around it, and `more`.
    pub fn new(start: &Path, more: &[PathBuf]) -> Result<Self, AllowedRootsError> {
        let start = files::real_path(start)?;
        // Starting a server in a subfolder includes the whole repository, but not a working tree that its settings place elsewhere.
        let whole = Repo::open(&start).ok();
        let whole = whole.and_then(|repo| files::real_path(repo.workdir().unwrap_or_else(|| repo.git_dir())).ok());
        let whole = whole.filter(|whole| start.starts_with(whole));
        let mut allowed = vec![whole.unwrap_or_else(|| start.clone())];
        for path in more {
            allowed.push(files::real_path(path)?);
        }
        let at_root = |root: &PathBuf| {
            let repo = Repo::open(root).ok()?;
            let top = files::real_path(repo.workdir().unwrap_or_else(|| repo.git_dir())).ok()?;
            (top == *root).then(|| files::real_path(repo.git_dir()).ok()).flatten()
        };
        let meant = allowed.iter().filter_map(at_root).collect();
        Ok(Self { start, allowed, meant })
    }

    /// The folder of the default repository.
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// Checks by path only whether a canonical path is below one of the folders: it may no longer exist.
    pub fn contains(&self, path: &Path) -> bool {
        self.allowed.iter().any(|root| path.starts_with(root))
    }

    /// Resolves `named` (absolute, relative to the start folder, or a `file://` URI) to a canonical folder; the start folder if `None`.
    pub fn folder(&self, named: Option<&Path>) -> Result<PathBuf, AllowedRootsError> {
        let Some(named) = named.filter(|named| !named.as_os_str().is_empty()) else { return Ok(self.start.clone()) };
        let named = match named.to_str().filter(|text| text.contains("://")) {
            Some(uri) => &file_uri_path(uri).ok_or_else(|| AllowedRootsError::Address(uri.to_owned()))?,
            None => named,
        };
        let path = self.start.join(named);
        match files::real_path(&path) {
            Ok(found) if self.contains(&found) => Ok(found),
            Ok(found) => Err(self.outside(&found)),
            // The existence of a path is revealed only below the allowed folders.
            Err(_) if !self.contains(&nearest(&path)) => Err(self.outside(&path)),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the repository around an allowed folder, if the repository is allowed too. Paths from clients are opened only here.
    pub(super) fn open(&self, folder: &Path) -> Result<Repo, AppError> {
        let repo = match Repo::open(folder) {
            Err(RepoError::Place(fault)) => return Err(self.misplaced(fault)),
            opened => opened?,
        };
        self.allow(&repo)?;
        Ok(repo)
    }

    /// Checks whether the repository found for an allowed folder may be read: it and all of its git data must be below an allowed folder.
    ///
    /// A folder below a root can be part of a repository that begins above it, and the files and links of a `.git` folder can name any
    /// folder of the machine. Git stores a linked worktree elsewhere by design; then that place must name the worktree in turn.
    fn allow(&self, repo: &Repo) -> Result<(), AppError> {
        let git_dir = files::real_path(repo.git_dir()).map_err(AllowedRootsError::from)?;
        if self.meant.contains(&git_dir) {
            return Ok(());
        }
        let top =
            files::real_path(repo.workdir().unwrap_or_else(|| repo.git_dir())).map_err(AllowedRootsError::from)?;
        if !self.contains(&top) {
            return Err(self.outside(&top).into());
        }
        let shared = files::real_path(repo.common_dir()).map_err(AllowedRootsError::from)?;
        match (self.contains(&git_dir), self.contains(&shared)) {
            (true, true) => repo.refuse_outside(&|path| self.contains(path)).map_err(|fault| self.misplaced(fault)),
            // A git folder elsewhere was not written by the author of this folder.
            (false, false) if names(&git_dir, &top.join(".git")) => Ok(()),
            _ => Err(self.outside(&shared).into()),
        }
    }

    /// Converts a misplaced part of a repository into an error: outside the roots, or not part of the repository.
    fn misplaced(&self, fault: PlaceError) -> AppError {
        match fault.outside_place() {
            Some(place) if !self.contains(place) => self.outside(place).into(),
            _ => RepoError::from(fault).into(),
        }
    }

    fn outside(&self, path: &Path) -> AllowedRootsError {
        let allowed: Vec<String> = self.allowed.iter().map(|root| root.display().to_string()).collect();
        AllowedRootsError::Outside { path: path.display().to_string(), allowed: allowed.join(", ") }
    }
}

/// The canonical path of the deepest existing folder on the way to `path`.
fn nearest(path: &Path) -> PathBuf {
    path.ancestors().find_map(|above| files::real_path(above).ok()).unwrap_or_else(|| path.to_owned())
}

/// Checks whether the git folder of a linked worktree names the worktree whose `.git` file is `link` (its file `gitdir`).
fn names(git_dir: &Path, link: &Path) -> bool {
    let Some(bytes) = read_plain(&git_dir.join("gitdir"), LONGEST_NAME) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    // A relative path starts from the git folder.
    let named = files::real_path(&git_dir.join(text.trim_end_matches(['\n', '\r'])));
    matches!((named, files::real_path(link)), (Ok(named), Ok(link)) if named == link)
}

/// Reads the path of a `file://` URI of this machine (RFC 8089); `None` for any other.
pub fn file_uri_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !scheme.eq_ignore_ascii_case("file") || !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let (bytes, is_whole) = percent::decode(path);
    if !is_whole {
        return None;
    }
    // On Windows a drive follows the slash.
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(PathBuf::from(if cfg!(windows) { text.trim_start_matches('/').to_owned() } else { text }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A folder with `project` in it, whose real path is what is returned.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("project/docs")).unwrap();
        fs::create_dir_all(base.join("elsewhere/secret")).unwrap();
        (folder, base)
    }

    fn refused(roots: &AllowedRoots, named: &str) -> String {
        roots.folder(Some(Path::new(named))).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_named_in_several_ways() {
        let (_folder, base) = place();
        fs::create_dir(base.join("project/a b")).unwrap();
        let roots = AllowedRoots::new(&base.join("project"), &[]).unwrap();
        let whole = base.join("project");
        let uri = |path: &str| format!("file://{}{path}", whole.display());
        for (named, found) in [
            (String::new(), whole.clone()),
            (".".to_owned(), whole.clone()),
            ("docs".to_owned(), whole.join("docs")),
            ("docs/../docs/.".to_owned(), whole.join("docs")),
            (whole.join("docs").display().to_string(), whole.join("docs")),
            (uri("/docs"), whole.join("docs")),
            (uri("/a%20b/"), whole.join("a b")),
            (format!("FILE://localhost{}", whole.display()), whole.clone()),
        ] {
            assert_eq!(roots.folder(Some(Path::new(&named))).unwrap(), found, "{named}");
        }
        assert_eq!(roots.folder(None).unwrap(), whole);
    }

    #[test]
    fn what_lies_elsewhere_is_refused_however_it_is_named() {
        let (_folder, base) = place();
        symlink(base.join("elsewhere"), base.join("project/link")).unwrap();
        symlink("../../elsewhere/secret", base.join("project/docs/up")).unwrap();
        let roots = AllowedRoots::new(&base.join("project"), &[]).unwrap();
        let absolute = base.join("elsewhere").display().to_string();
        for named in ["..", "../elsewhere", "link", "link/secret", "docs/up", "docs/../../elsewhere", &absolute, "/"] {
            assert!(refused(&roots, named).contains("--root"), "{named}");
        }
        for named in ["nowhere", "docs/nowhere/../../..", "docs/nowhere"] {
            assert!(refused(&roots, named).contains("cannot find"), "{named}");
        }
        for named in ["/nowhere", "../nowhere", "link/nowhere", "../elsewhere/secret/nowhere"] {
            assert!(refused(&roots, named).contains("--root"), "{named}: whether it is there is not told");
        }
        for named in
            [format!("file://{absolute}"), format!("file://{}/%2e%2e/elsewhere", base.join("project").display())]
        {
            assert!(refused(&roots, &named).contains("--root"), "{named}");
        }
        for named in ["https://host/project", "file://host/project", "file:///a%zz", "file:///a%00", "git+ssh://x/y"] {
            assert!(refused(&roots, named).contains("does not name a folder"), "{named}");
        }
        let wider = AllowedRoots::new(&base.join("project"), &[base.join("elsewhere")]).unwrap();
        assert_eq!(wider.folder(Some(Path::new("link/secret"))).unwrap(), base.join("elsewhere/secret"));
        // A name that only begins alike is another folder.
        fs::create_dir(base.join("project2")).unwrap();
        assert!(refused(&roots, "../project2").contains("--root"));
    }
}
