//! Checks git: the program and the current repository. Main functions: [`open`], [`check`].

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::DoctorAsk;
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, FaultParty};
use crate::domain::text::strip_line;
use crate::git::{self, GitError, ResolvedRange};
use crate::sys::cancel::Cancel;
use crate::sys::process::{Environment, ProcessCall, Program};
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Time limit for git to print its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limit in bytes on the output of `git --version`.
const LONGEST: usize = 4 << 10;

/// The current repository, as far as it can be opened.
pub(super) struct OpenedRepository {
    pub(super) repo: Result<Repo, RepoError>,
    /// The range of a review.
    pub(super) range: Result<ResolvedRange, GitError>,
}

/// Opens the repository, and finds the base of a review of its branch.
pub(super) fn open(ask: &DoctorAsk) -> OpenedRepository {
    let repo = Repo::open(&ask.directory);
    let range = match &repo {
        Ok(repo) => git::resolve(repo, &ask.request().scope),
        Err(_) => Err(RepoError::NotARepository(ask.directory.clone()).into()),
    };
    OpenedRepository { repo, range }
}

fn new_check(name: &'static str, state: CheckState, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Git, name, state, found)
}

/// Checks the program and the repository.
pub(super) fn check(looked: &OpenedRepository, cancel: &Cancel) -> Vec<DoctorCheck> {
    let mut checks = vec![program(cancel)];
    let repo = match &looked.repo {
        Ok(repo) => repo,
        Err(error) => {
            checks.push(no_repository(error));
            return checks;
        }
    };
    let kind = if repo.workdir().is_some() { "a checkout" } else { "a bare repository" };
    let folder = repo.workdir().unwrap_or_else(|| repo.git_dir());
    checks.push(new_check("repository", CheckState::Fine, format!("{kind} at {}", folder.display())));
    checks.extend(history(repo));
    checks.push(target(&looked.range));
    checks
}

/// Outside of a repository, patches and pull requests can still be reviewed.
fn no_repository(error: &RepoError) -> DoctorCheck {
    match error {
        RepoError::NotARepository(folder) => {
            let found =
                format!("{} is in no git repository: only --diff and --pr OWNER/REPO#N work here", folder.display());
            new_check("repository", CheckState::Warning, found).with_advice("run it in one, or name one with -C DIR")
        }
        error => new_check("repository", CheckState::Failed(FaultParty::Setup), error.to_string()),
    }
}

/// Checks for missing objects: they are never fetched on demand.
fn history(repo: &Repo) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    if repo.is_shallow() {
        let found = "this clone is shallow: where a branch and its target meet may not be here";
        checks.push(
            new_check("history", CheckState::Warning, found).with_advice("`git fetch --unshallow` brings the rest"),
        );
    }
    if repo.is_partial() {
        let found = "this is a partial clone: objects that are not here cannot be read";
        let advice = "`git fetch --refetch --no-filter` brings all of them, once";
        checks.push(new_check("history", CheckState::Warning, found).with_advice(advice));
    }
    if checks.is_empty() {
        checks.push(new_check("history", CheckState::Fine, "all of it is here"));
    }
    checks
}

fn target(range: &Result<ResolvedRange, GitError>) -> DoctorCheck {
    match range {
        Ok(range) => {
            let (head, target) = (strip_line(&range.head_name), strip_line(&range.target));
            new_check("target", CheckState::Fine, format!("{head} would be compared with {target}"))
        }
        // The current branch is the base, or has no commits yet: that is no fault.
        Err(
            error @ (GitError::NoTarget { .. } | GitError::TargetIsHead { .. } | GitError::Repo(RepoError::Unborn)),
        ) => new_check("target", CheckState::Warning, error.to_string()),
        Err(error) => new_check("target", CheckState::Failed(FaultParty::Setup), error.to_string()),
    }
}

/// Only pull requests need the program: everything else is done by the library.
fn program(cancel: &Cancel) -> DoctorCheck {
    let needed = "it is needed for pull requests (--pr) alone";
    let environment = Environment::of_this_process();
    let found = Program::find("git", &environment).and_then(|git| {
        let directory = git.path().parent().unwrap_or(Path::new("/")).to_owned();
        let call = ProcessCall { arguments: vec![OsString::from("--version")], environment, directory, most: LONGEST };
        let ended = git.run(&call, &cancel.with_deadline(PATIENCE))?;
        Ok((git, ended))
    });
    match found {
        Ok((git, ended)) if ended.success => {
            let version = strip_line(&String::from_utf8_lossy(&ended.output));
            new_check("program", CheckState::Fine, format!("{} at {}", version.trim(), git.path().display()))
        }
        Ok((git, ended)) => {
            let said = strip_line(&String::from_utf8_lossy(&ended.errors));
            let found = format!("{} does not run: {}", git.path().display(), said.trim());
            new_check("program", CheckState::Warning, found).with_advice(format!("see why; {needed}"))
        }
        Err(error) => new_check("program", CheckState::Warning, error.to_string()).with_advice(needed),
    }
}
