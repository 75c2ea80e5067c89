//! From a scope to the commits it means. Main type: [`ResolvedRange`].

use crate::domain::change::PATCH_NAME;
use crate::domain::id::CommitId;
use crate::domain::place::WorkspaceAt;
use crate::domain::request::{PatchSource, ReviewScope};
use crate::domain::text::{mask, shell_word, strip_line};
use crate::sys::folder::read_plain;
use crate::sys::repo::{Repo, object_id, raw_id};

use super::{GitError, target};

/// The two sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRange {
    /// The base of the comparison, as requested or found.
    pub target: String,
    /// The display name of the reviewed head.
    pub head_name: String,
    /// The tip of the target; the first parent for one commit, `HEAD` for what is not committed, A for `A..B`.
    pub base: Option<CommitId>,
    /// The head; `None` if it is not a commit.
    pub head: Option<CommitId>,
    /// The commit whose tree is the old side; `None` if that is empty. For `A..B` it is A, whatever the histories.
    pub merge_base: Option<CommitId>,
    /// The tree with the old contents.
    pub old_at: WorkspaceAt,
    /// The tree with the new contents.
    pub new_at: WorkspaceAt,
    /// The tree with the project's settings, attributes and guidelines; `None` if nothing may be trusted.
    pub settings_at: Option<CommitId>,
    /// The commits of the change.
    pub commits: CommitRange,
    /// Notes on defaults that were chosen, for stderr.
    pub notices: Vec<String>,
}

/// The commits of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitRange {
    /// None: it is not committed.
    None,
    /// One.
    One(CommitId),
    /// The commits of the second that are not in the first.
    Between(CommitId, CommitId),
}

/// Finds the commits that a scope means.
///
/// Without a target the branch's upstream is taken where it has another name than the branch (then it is what the branch was made
/// from), else the remote's default branch, else `main` or `master` of the remote or of this clone; a notice says which.
/// A commit is compared with its first parent, a root commit with nothing.
///
/// Refused where `info/grafts` gives commits other parents: it could empty any range of commits. Replacement references are ignored.
pub fn resolve(repo: &Repo, scope: &ReviewScope) -> Result<ResolvedRange, GitError> {
    if matches!(
        scope,
        ReviewScope::Branch { .. }
            | ReviewScope::BranchWithWorktree { .. }
            | ReviewScope::Commit(_)
            | ReviewScope::Range { .. }
    ) {
        refuse_grafts(repo)?;
    }
    let mut range = match scope {
        ReviewScope::Branch { target, head } => branch(repo, target.as_deref(), head.as_deref())?,
        ReviewScope::BranchWithWorktree { target } => branch_with_worktree(repo, target.as_deref())?,
        ReviewScope::Commit(name) => commit(repo, name)?,
        ReviewScope::Range { from, to, from_merge_base } => range(repo, from, to, *from_merge_base)?,
        ReviewScope::Staged => uncommitted(repo, WorkspaceAt::Index)?,
        ReviewScope::Uncommitted => uncommitted(repo, WorkspaceAt::Worktree)?,
        ReviewScope::Patch(source) => of_patch(source),
        ReviewScope::Pull(_) => return Err(GitError::NotFetched),
    };
    let names = match scope {
        ReviewScope::Branch { head, .. } => [Some(range.target.as_str()), head.as_deref()],
        ReviewScope::BranchWithWorktree { .. } => [Some(range.target.as_str()), None],
        ReviewScope::Range { from, to, .. } => [Some(from.as_str()), Some(to.as_str())],
        ReviewScope::Commit(name) => [Some(name.as_str()), None],
        ReviewScope::Staged | ReviewScope::Uncommitted | ReviewScope::Patch(_) | ReviewScope::Pull(_) => [None, None],
    };
    let ambiguous: Vec<String> = names.into_iter().flatten().filter_map(|name| ambiguity(repo, name)).collect();
    range.notices.extend(ambiguous);
    Ok(range.masked())
}

/// The notice that a name is that of a tag and of a branch, which stand at two commits.
fn ambiguity(repo: &Repo, name: &str) -> Option<String> {
    let (tag, branch) =
        (repo.commit(&format!("refs/tags/{name}")).ok()?, repo.commit(&format!("refs/heads/{name}")).ok()?);
    let heads = shell_word(&format!("heads/{name}")).into_owned();
    (tag != branch)
        .then(|| format!("{name} is a tag and a branch; the tag is taken, as git does ({heads} is the branch)"))
}

impl ResolvedRange {
    /// Masks secrets in the names: here the names of branches enter, and none is looked up again.
    fn masked(self) -> Self {
        let hide = |text: String| mask(&text).text;
        Self {
            target: hide(self.target),
            head_name: hide(self.head_name),
            notices: self.notices.into_iter().map(hide).collect(),
            ..self
        }
    }
}

/// The range of a pull request whose commits are here. The names of its branches are whatever its author called them.
pub fn of_pull(
    repo: &Repo,
    base: CommitId,
    head: CommitId,
    base_name: &str,
    head_name: &str,
) -> Result<ResolvedRange, GitError> {
    refuse_grafts(repo)?;
    let named =
        |name: &str, id: CommitId| Some(strip_line(name)).filter(|name| !name.is_empty()).unwrap_or_else(|| id.short());
    let (target, head_name) = (named(base_name, base), named(head_name, head));
    let mut notices = Vec::new();
    let merge_base = merge_base(repo, (&target, base), (&head_name, head), &mut notices)?;
    if merge_base == head {
        notices.push(format!("{head_name} has no commits that are not on {target}"));
    }
    let range = ResolvedRange {
        target,
        head_name,
        base: Some(base),
        head: Some(head),
        merge_base: Some(merge_base),
        old_at: WorkspaceAt::Revision(merge_base),
        new_at: WorkspaceAt::Revision(head),
        settings_at: Some(base),
        commits: CommitRange::Between(base, head),
        notices,
    };
    Ok(range.masked())
}

/// The most bytes of a file of grafts; a longer one has some.
const MAX_GRAFTS: usize = 1 << 20;

fn refuse_grafts(repo: &Repo) -> Result<(), GitError> {
    let path = repo.common_dir().join("info/grafts");
    let Ok(path) = path.canonicalize() else { return Ok(()) };
    match read_plain(&path, MAX_GRAFTS) {
        Some(text) if text.trim_ascii().is_empty() => Ok(()),
        Some(_) | None => Err(GitError::Grafts { path: path.display().to_string() }),
    }
}

/// The parts of a [`ResolvedRange`] that are known without searching for the merge base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeEnds {
    /// The tree with the new contents.
    pub new_at: WorkspaceAt,
    /// As in [`ResolvedRange`].
    pub settings_at: Option<CommitId>,
}

/// The new side of a scope, and where the project's settings come from; for those who look at no change.
///
/// If a branch has no target, it is its own authority: there is no other.
pub fn range_ends(repo: &Repo, scope: &ReviewScope) -> Result<RangeEnds, GitError> {
    Ok(match scope {
        ReviewScope::Branch { target, head } => {
            let head_spec = head.as_deref().unwrap_or("HEAD");
            let head = repo.commit(head_spec)?;
            let base = match target {
                Some(target) => repo.commit(target)?,
                None => match target::default_target(repo, &target::name_of_head(repo, head_spec)) {
                    Ok(found) => repo.commit(&found.name)?,
                    Err(GitError::NoTarget { .. } | GitError::TargetIsHead { .. }) => head,
                    Err(error) => return Err(error),
                },
            };
            RangeEnds { new_at: WorkspaceAt::Revision(head), settings_at: Some(base) }
        }
        ReviewScope::Range { from, to, .. } => {
            let (base, head) = (repo.commit(or_head(from))?, repo.commit(or_head(to))?);
            RangeEnds { new_at: WorkspaceAt::Revision(head), settings_at: Some(base) }
        }
        ReviewScope::Commit(_)
        | ReviewScope::BranchWithWorktree { .. }
        | ReviewScope::Staged
        | ReviewScope::Uncommitted
        | ReviewScope::Patch(_)
        | ReviewScope::Pull(_) => {
            let ResolvedRange { new_at, settings_at, .. } = resolve(repo, scope)?;
            RangeEnds { new_at, settings_at }
        }
    })
}

fn or_head(name: &str) -> &str {
    if name.is_empty() { "HEAD" } else { name }
}

fn branch(repo: &Repo, target: Option<&str>, head: Option<&str>) -> Result<ResolvedRange, GitError> {
    let mut range = branch_range(repo, target, head)?;
    if range.merge_base == range.head {
        range.notices.push(format!(
            "{} has no commits that are not on {}; --commit {} reviews its last commit, --uncommitted what is not committed",
            range.head_name,
            range.target,
            shell_word(head.unwrap_or("HEAD"))
        ));
    }
    Ok(range)
}

fn branch_range(repo: &Repo, target: Option<&str>, head: Option<&str>) -> Result<ResolvedRange, GitError> {
    let head_spec = head.unwrap_or("HEAD");
    let head_id = repo.commit(head_spec)?;
    let head_name = target::name_of_head(repo, head_spec);
    let mut notices = Vec::new();
    let target = match target {
        Some(target) => target.to_owned(),
        None => {
            let found = target::default_target(repo, &head_name)?;
            notices.push(format!("no --target given: using {} ({})", found.name, found.why));
            found.name
        }
    };
    let base = repo.commit(&target)?;
    let merge_base = merge_base(repo, (&target, base), (&head_name, head_id), &mut notices)?;
    Ok(ResolvedRange {
        target,
        head_name,
        base: Some(base),
        head: Some(head_id),
        merge_base: Some(merge_base),
        old_at: WorkspaceAt::Revision(merge_base),
        new_at: WorkspaceAt::Revision(head_id),
        settings_at: Some(base),
        commits: CommitRange::Between(base, head_id),
        notices,
    })
}

fn branch_with_worktree(repo: &Repo, target: Option<&str>) -> Result<ResolvedRange, GitError> {
    if repo.workdir().is_none() {
        return Err(GitError::Bare { what: "files on the disk" });
    }
    let branch = branch_range(repo, target, None)?;
    Ok(ResolvedRange {
        // Another name than that of the branch alone, so that the two are not compared with each other.
        head_name: format!("{}+worktree", branch.head_name),
        head: None,
        new_at: WorkspaceAt::Worktree,
        ..branch
    })
}

fn merge_base(
    repo: &Repo,
    (target, base): (&str, CommitId),
    (head_name, head): (&str, CommitId),
    notices: &mut Vec<String>,
) -> Result<CommitId, GitError> {
    let (target_name, head_name) = (target.to_owned(), head_name.to_owned());
    let found = match repo.raw().merge_bases(raw_id(base.0), raw_id(head.0)) {
        Ok(found) => found.iter().copied().collect::<Vec<_>>(),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let time = |id: &git2::Oid| repo.raw().find_commit(*id).map_or(i64::MIN, |commit| commit.time().seconds());
    // Git takes the youngest of several; of equally young ones the first it finds.
    let mut best: Option<(git2::Oid, i64)> = None;
    for id in &found {
        let seconds = time(id);
        if best.is_none_or(|(_, youngest)| seconds > youngest) {
            best = Some((*id, seconds));
        }
    }
    match best {
        Some((id, _)) => {
            let id = CommitId(object_id(id));
            if found.len() > 1 {
                let (count, short) = (found.len(), id.short());
                notices.push(format!(
                    "{target_name} and {head_name} were merged criss-cross and have {count} merge bases; using {short}"
                ));
            }
            Ok(id)
        }
        None => {
            let (target, head) = (mask(&target_name).text, mask(&head_name).text);
            Err(if repo.is_shallow() {
                GitError::Shallow { target, head }
            } else {
                GitError::Unrelated { target, head }
            })
        }
    }
}

fn commit(repo: &Repo, name: &str) -> Result<ResolvedRange, GitError> {
    let id = repo.commit(name)?;
    let found = repo.find_commit(id)?;
    let parent = found.parent_id(0).ok().map(|parent| CommitId(object_id(parent)));
    let mut notices = Vec::new();
    if found.parent_count() > 1 {
        let count = found.parent_count();
        notices.push(format!("{} is a merge of {count} parents: compared with the first one", id.short()));
    }
    if let Some(parent) = parent {
        // A shallow clone names parents that it has not got.
        repo.tree_of(parent)?;
    } else {
        let why = if repo.is_shallow() {
            "the shallow clone ends here (`git fetch --unshallow` brings the rest)"
        } else {
            "it has no parent"
        };
        notices.push(format!("{} is compared with nothing: {why}", id.short()));
    }
    let head_name = target::name_of_head(repo, "HEAD");
    let settings_at = match target::default_target(repo, &head_name) {
        Ok(found) => repo.commit(&found.name).ok().or(parent),
        Err(_) => parent,
    };
    Ok(ResolvedRange {
        target: parent.map_or_else(|| "(nothing)".to_owned(), |_| format!("{name}^")),
        head_name: name.to_owned(),
        base: parent,
        head: Some(id),
        merge_base: parent,
        old_at: parent.map_or(WorkspaceAt::Empty, WorkspaceAt::Revision),
        new_at: WorkspaceAt::Revision(id),
        settings_at,
        commits: CommitRange::One(id),
        notices,
    })
}

fn range(repo: &Repo, from: &str, to: &str, from_merge_base: bool) -> Result<ResolvedRange, GitError> {
    let (from, to) = (or_head(from).to_owned(), or_head(to).to_owned());
    let (base, head) = (repo.commit(&from)?, repo.commit(&to)?);
    let mut notices = Vec::new();
    let old = if from_merge_base { merge_base(repo, (&from, base), (&to, head), &mut notices)? } else { base };
    Ok(ResolvedRange {
        target: from,
        head_name: to,
        base: Some(base),
        head: Some(head),
        merge_base: Some(old),
        old_at: WorkspaceAt::Revision(old),
        new_at: WorkspaceAt::Revision(head),
        settings_at: Some(base),
        commits: CommitRange::Between(base, head),
        notices,
    })
}

fn uncommitted(repo: &Repo, new_at: WorkspaceAt) -> Result<ResolvedRange, GitError> {
    let staged = new_at == WorkspaceAt::Index;
    if repo.workdir().is_none() {
        return Err(GitError::Bare { what: if staged { "index" } else { "files on the disk" } });
    }
    let base = if repo.is_unborn() { None } else { Some(repo.commit("HEAD")?) };
    let mut notices = Vec::new();
    if base.is_none() {
        notices.push("there is no commit yet: compared with nothing".to_owned());
    }
    Ok(ResolvedRange {
        target: "HEAD".to_owned(),
        head_name: if staged { "index" } else { "worktree" }.to_owned(),
        base,
        head: None,
        merge_base: base,
        old_at: base.map_or(WorkspaceAt::Empty, WorkspaceAt::Revision),
        new_at,
        settings_at: base,
        commits: CommitRange::None,
        notices,
    })
}

fn of_patch(source: &PatchSource) -> ResolvedRange {
    ResolvedRange {
        target: PATCH_NAME.to_owned(),
        head_name: match source {
            PatchSource::Stdin => "-".to_owned(),
            PatchSource::File(path) => path.display().to_string(),
        },
        base: None,
        head: None,
        merge_base: None,
        old_at: WorkspaceAt::PatchOnly,
        new_at: WorkspaceAt::PatchOnly,
        settings_at: None,
        commits: CommitRange::None,
        notices: Vec::new(),
    }
}
