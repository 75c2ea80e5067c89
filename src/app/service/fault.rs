//! Error messages for clients of tools and prompts, instead of for the command line. Main function: [`for_client`].

use super::roots::AllowedRootsError;
use crate::app::context::error::AppError;
use crate::app::prepare::view::has_no_target;
use crate::git::GitError;
use crate::sys::cancel::CancelReason;
use crate::sys::repo_error::RepoError;
use crate::tools::ErrorKind;

/// Returns the kind of the error and its message. `field` is the input that selects the revision: `at`, or `target` of a prompt.
pub(super) fn for_client(error: &AppError, field: &str) -> (ErrorKind, String) {
    if let Some(refused) = error.of_use_case() {
        return match refused {
            AllowedRootsError::Missing(_) => (ErrorKind::FileNotFound, error.to_string()),
            AllowedRootsError::Address(_) => (ErrorKind::InvalidInput, format!("`repo`: {error}")),
            AllowedRootsError::Outside { .. } => (ErrorKind::RefusedPath, error.to_string()),
        };
    }
    if let Some(stopped) = error.stopped() {
        return (ErrorKind::Stopped, of_stop(stopped).to_owned());
    }
    match error {
        AppError::Git(GitError::Repo(error)) | AppError::Repo(error) => of_repository(error, field),
        error if has_no_target(error) => (
            ErrorKind::InvalidInput,
            format!(
                "there is no change here: no branch was found to compare with; name both ends in `{field}`, as in main...HEAD or HEAD~1..HEAD, or say staged or uncommitted"
            ),
        ),
        AppError::Git(GitError::Bare { what }) => {
            (ErrorKind::InvalidInput, format!("the repository is bare: it has no {what}; name commits in `{field}`"))
        }
        AppError::Git(GitError::Unrelated { target, head }) => (
            ErrorKind::InvalidInput,
            format!("{target} and {head} have no common history; `{field}` can be {target}..{head}"),
        ),
        AppError::Scope(_) => (ErrorKind::InvalidInput, error.to_string()),
        AppError::Input(_) => (ErrorKind::DiskFailure, error.to_string()),
        error => (ErrorKind::GitFailure, of_model(error).unwrap_or_else(|| error.to_string())),
    }
}

fn of_repository(error: &RepoError, field: &str) -> (ErrorKind, String) {
    match error {
        RepoError::NotARepository(path) => (
            ErrorKind::FileNotFound,
            format!("{} is not inside a git repository; name a folder of one in `repo`", path.display()),
        ),
        RepoError::Unborn => (
            ErrorKind::InvalidInput,
            format!("the repository has no commit yet; `{field}` can be staged or uncommitted"),
        ),
        RepoError::SparseIndex => (
            ErrorKind::GitFailure,
            format!(
                "this checkout has a sparse index, which is not supported here: name commits in `{field}`, or have its owner run `git sparse-checkout reapply --no-sparse-index`"
            ),
        ),
        RepoError::Sha256 => {
            (ErrorKind::GitFailure, "this repository uses SHA-256 object ids, which are not supported here".to_owned())
        }
        RepoError::Unsupported(what) => {
            (ErrorKind::GitFailure, format!("this repository needs a newer git library ({what})"))
        }
        RepoError::UnknownRevision(..) | RepoError::NotACommit(_) | RepoError::Ambiguous(_) => {
            (ErrorKind::InvalidInput, error.to_string())
        }
        RepoError::Place(fault) if fault.outside_place().is_some() => (ErrorKind::RefusedPath, error.to_string()),
        RepoError::Place(_)
        | RepoError::Alternates(_)
        | RepoError::Owner { .. }
        | RepoError::Missing { .. }
        | RepoError::Damaged(_)
        | RepoError::TooLarge { .. }
        | RepoError::Git(_) => (ErrorKind::GitFailure, error.to_string()),
    }
}

fn of_stop(stopped: CancelReason) -> &'static str {
    match stopped {
        CancelReason::Interrupted => "it was stopped",
        CancelReason::DeadlinePassed => "the time that the settings allow was over (`timeout` of the settings)",
    }
}

/// Explains an error of the model: only the operator of the server can choose it; a client can review without one.
fn of_model(error: &AppError) -> Option<String> {
    const RULES: &str = "rules_only: true reviews with the built-in rules";
    Some(match error {
        AppError::NoKey { model, variable, provider } => format!(
            "{model} needs a key and none is set: whoever starts this server sets {variable} for it (or api_key under [{provider}] in their settings file); {RULES}"
        ),
        AppError::UnfitKey { variable } => format!(
            "{variable} of this server is set, but not to one line of plain ASCII (it is not shown here): whoever starts it copies the key again; {RULES}"
        ),
        AppError::UnknownProvider { origin, provider, near, known } => {
            let near = near.as_ref().map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
            format!(
                "this server cannot ask a model: {origin}: there is no provider {provider:?}{near}; it is one of {known}, as in anthropic/NAME; {RULES}"
            )
        }
        AppError::NoModelName { .. } | AppError::Connect(_) => {
            format!("this server cannot ask a model: {error}; {RULES}")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn no_flag_of_the_command_line_is_named() {
        let text = || "x".to_owned();
        for error in [
            AppError::Repo(RepoError::NotARepository(PathBuf::from("/a"))),
            AppError::Git(GitError::Repo(RepoError::Unborn)),
            AppError::Repo(RepoError::Sha256),
            AppError::Repo(RepoError::Unsupported(text())),
            AppError::Git(GitError::NoTarget { head: text() }),
            AppError::Git(GitError::TargetIsHead { branch: text(), has_parent: true }),
            AppError::Git(GitError::Unrelated { target: text(), head: text() }),
            AppError::Git(GitError::Bare { what: "index" }),
            AppError::Stopped(CancelReason::DeadlinePassed),
            AppError::NoKey { model: text(), variable: text(), provider: text() },
            AppError::UnfitKey { variable: text() },
            AppError::UnknownProvider { origin: text(), provider: text(), near: Some(text()), known: text() },
            AppError::NoModelName { origin: text(), provider: text() },
        ] {
            let said = for_client(&error, "at").1;
            assert!(!said.contains("--"), "{said}");
            assert!(!for_client(&error, "target").1.contains("`at`"), "{said}");
        }
    }

    #[test]
    fn whose_checkout_is_sparse_is_told_what_can_be_reviewed() {
        let (kind, said) = for_client(&AppError::Repo(RepoError::SparseIndex), "at");
        assert_eq!(kind, ErrorKind::GitFailure);
        assert!(said.contains("name commits in `at`") && !said.contains("--target"), "{said}");
    }
}
