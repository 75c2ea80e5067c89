//! The default target of a branch. Main function: [`default_target`].

use git2::BranchType;

use crate::domain::text::mask;
use crate::sys::repo::Repo;

use super::GitError;

/// A target that was found, and why it.
pub(super) struct DefaultTarget {
    pub(super) name: String,
    pub(super) why: &'static str,
}

/// The branch's short name where `spec` is the checked-out branch, else what was written.
pub(super) fn name_of_head(repo: &Repo, spec: &str) -> String {
    if spec != "HEAD" && spec != "@" {
        return spec.to_owned();
    }
    let Ok(head) = repo.raw().head() else { return spec.to_owned() };
    if head.is_branch() { String::from_utf8_lossy(head.shorthand_bytes()).into_owned() } else { "HEAD".to_owned() }
}

/// Finds what `head` (a branch's short name, or any revision) would be merged into.
pub(super) fn default_target(repo: &Repo, head: &str) -> Result<DefaultTarget, GitError> {
    let upstream = upstream_of(repo, head);
    if let Some((_, name)) = &upstream {
        // An upstream of the same name is only where the branch itself is pushed to.
        if !same_branch(name, head) {
            return Ok(DefaultTarget { name: name.clone(), why: "the branch's upstream" });
        }
    }
    let remote = match upstream {
        Some((remote, _)) => remote,
        None => default_remote(repo),
    };
    let exists = |full: &str| repo.raw().find_reference(full).and_then(|found| found.peel_to_commit()).is_ok();
    if let Some(name) = remote_head(repo, &remote)
        && exists(&format!("refs/remotes/{name}"))
    {
        return Ok(DefaultTarget { name, why: "the remote's default branch" });
    }
    for branch in ["main", "master"] {
        if exists(&format!("refs/remotes/{remote}/{branch}")) {
            return Ok(DefaultTarget { name: format!("{remote}/{branch}"), why: "found on the remote" });
        }
    }
    let mut itself = None;
    for branch in ["main", "master"] {
        if exists(&format!("refs/heads/{branch}")) {
            if branch == head {
                itself = Some(branch.to_owned());
                continue;
            }
            return Ok(DefaultTarget { name: branch.to_owned(), why: "found in this clone" });
        }
    }
    Err(match itself {
        Some(branch) => {
            let tip =
                repo.raw().find_branch(&branch, BranchType::Local).and_then(|branch| branch.get().peel_to_commit());
            let has_parent = tip.is_ok_and(|tip| tip.parent_count() > 0);
            GitError::TargetIsHead { branch, has_parent }
        }
        None => GitError::NoTarget { head: mask(head).text },
    })
}

/// Checks whether a remote branch (`origin/topic/x`) has the name of a local one (`topic/x`).
fn same_branch(upstream: &str, head: &str) -> bool {
    upstream == head || upstream.strip_suffix(head).is_some_and(|remote| remote.ends_with('/'))
}

/// The remote and the short name of a local branch's upstream.
fn upstream_of(repo: &Repo, branch: &str) -> Option<(String, String)> {
    let upstream = repo.raw().find_branch(branch, BranchType::Local).ok()?.upstream().ok()?;
    upstream.get().peel_to_commit().ok()?;
    let name = String::from_utf8(upstream.name_bytes().ok()?.to_vec()).ok()?;
    let full = format!("refs/heads/{branch}");
    let remote = repo.raw().branch_upstream_remote(&full).ok()?;
    let remote = std::str::from_utf8(&remote).ok()?.to_owned();
    Some((if remote == "." { default_remote(repo) } else { remote }, name))
}

/// `origin`, or the only remote there is.
fn default_remote(repo: &Repo) -> String {
    let fallback = || "origin".to_owned();
    let Ok(remotes) = repo.raw().remotes() else { return fallback() };
    let names: Vec<_> = remotes.iter().filter_map(|name| name.ok().flatten()).collect();
    match names.as_slice() {
        [only] => (*only).to_owned(),
        _ => fallback(),
    }
}

/// Returns the short name of the target of `refs/remotes/<remote>/HEAD`.
fn remote_head(repo: &Repo, remote: &str) -> Option<String> {
    let head = repo.raw().find_reference(&format!("refs/remotes/{remote}/HEAD")).ok()?;
    let full = head.symbolic_target_bytes()?;
    std::str::from_utf8(full).ok()?.strip_prefix("refs/remotes/").map(str::to_owned)
}
