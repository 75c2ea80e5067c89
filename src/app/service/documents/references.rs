//! Checks the references of a document against the files around its base. Main function: [`Service::check_references`].

use crate::app::context::settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Service;
use crate::app::context::error::AppError;
use crate::app::context::project::project_settings;
use crate::document::{self, DocumentReference};
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::presented::{BrokenRef, CheckedRef, FileRef};
use crate::evidence::references;
use crate::sys::cancel::Cancel;
use crate::sys::files;
use crate::sys::repo::{Repo, RepoPool};
use crate::sys::repo_error::RepoError;
use crate::workspace::{self, Workspace};

/// Limit on the references resolved in a document.
const MOST: usize = references::MOST_REFERENCES;
/// Time limit for resolving references.
const PATIENCE: Duration = Duration::from_secs(20);

/// The tree of the repository around a base.
struct ReferenceRoot {
    tree: Arc<dyn Workspace>,
    /// The path of the base in the tree; empty at the root.
    prefix: Vec<u8>,
    /// The folder that is checked out.
    root: Option<PathBuf>,
}

/// The folder that identifies a repository for all its callers: its root, or the folder itself outside of any repository.
pub(super) fn find_repository(folder: &Path) -> PathBuf {
    let found = Repo::open(folder).ok().map(|repo| repo.workdir().unwrap_or_else(|| repo.git_dir()).to_owned());
    found.and_then(|path| files::real_path(&path).ok()).unwrap_or_else(|| folder.to_owned())
}

impl Service {
    /// Resolves the references of a text, with the reason for each one skipped, and a note about all.
    pub(super) fn check_references(&self, base: &Path, markdown: &str) -> (Vec<CheckedRef>, Option<String>) {
        let mut found = document::references(markdown);
        let count = found.len();
        found.truncate(MOST);
        let mut note =
            (count > MOST).then(|| format!("Only the first {MOST} of {count} file references were looked up."));
        if found.is_empty() {
            return (Vec::new(), note);
        }
        let why = match self.ground(base) {
            Ok(ground) => return (ground.check(found, markdown), note),
            Err(AppError::Repo(RepoError::NotARepository(_))) => {
                let next = "File references are shown without links: to have links, present anew (mode \"replace\") with a base (baseUri) in \
                            the git repository that they belong to.";
                note = Some(note.map_or(next.to_owned(), |note| format!("{note} {next}")));
                format!("{} is in no git repository, so it was not looked up", base.display())
            }
            Err(other) => format!("it was not looked up: {other}"),
        };
        (found.into_iter().map(|one| unresolved(one, &why)).collect(), note)
    }

    /// Uses the working tree if there is one, else the commit. The project's settings limit the readable paths, as in a review.
    fn ground(&self, base: &Path) -> Result<ReferenceRoot, AppError> {
        let repo = self.roots().open(base)?;
        let head = match repo.commit("HEAD") {
            Ok(commit) => Some(commit),
            Err(RepoError::Unborn) => None,
            Err(other) => return Err(other.into()),
        };
        let root = repo.workdir().map(files::real_path).transpose().map_err(AppError::Input)?;
        let at = match (&root, head) {
            (Some(_), _) => WorkspaceAt::Worktree,
            (None, Some(commit)) => WorkspaceAt::Revision(commit),
            (None, None) => WorkspaceAt::Empty,
        };
        let project = project_settings(&repo, head, false)?;
        let settings = settings::resolve(project, &self.options.flags, &self.around)?.settings;
        let tree = workspace::open(Some(&RepoPool::new(repo)), at, DiffSide::New, &[], settings::filter(&settings)?)?;
        let below = root.as_deref().and_then(|root| base.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        let parts: Vec<&[u8]> = below.components().map(|part| part.as_os_str().as_encoded_bytes()).collect();
        let prefix = parts.join(&b'/');
        Ok(ReferenceRoot { tree, prefix, root })
    }
}

impl ReferenceRoot {
    fn check(&self, found: Vec<DocumentReference>, markdown: &str) -> Vec<CheckedRef> {
        let base = references::ReferenceBase { folder: &self.prefix, root: self.root.as_deref() };
        let checked = references::check(found, base, &*self.tree, &Cancel::after(PATIENCE));
        checked.unwrap_or_else(|_| {
            let why = format!("it was not looked up: all of them together took longer than {} s", PATIENCE.as_secs());
            let mut found = document::references(markdown);
            found.truncate(MOST);
            found.into_iter().map(|one| unresolved(one, &why)).collect()
        })
    }
}

/// Builds an unresolved reference.
fn unresolved(found: DocumentReference, why: &str) -> CheckedRef {
    let DocumentReference { at, form, text, to, .. } = found;
    let (to, why) = match to {
        Ok(to) => (to, why.to_owned()),
        Err(fault) => (FileRef { path: text.clone(), lines: None, columns: (None, None), pattern: None }, fault),
    };
    CheckedRef { at, form, text, to, found: Err(BrokenRef { why, near: Vec::new() }) }
}
