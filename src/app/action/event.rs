//! The event that triggers a step. Main type: [`WorkflowEvent`]; main function: [`read`].
//!
//! The shapes are those of GitHub's webhooks (docs.github.com, "Webhook events and payloads"); only the needed fields are read, and every
//! text is data. Deriving the task belongs in `task`.

use serde::Deserialize;

use crate::domain::forge::{PullNumber, RepoName};
use crate::domain::id::CommitId;

/// The triggering event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkflowEvent {
    /// An event of a pull request.
    Pull(PullEvent),
    /// A merge queue requests a check of commits to merge.
    MergeGroup {
        /// The base of the merge.
        base: CommitId,
        /// The head of the merge.
        head: CommitId,
    },
    /// A branch or tag moved.
    Push(PushEvent),
    /// Another run ended.
    Run(RunEvent),
    /// An event without a change.
    Other,
}

/// An event of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullEvent {
    pub(super) number: PullNumber,
    /// Its head at the time of the event.
    pub(super) head: CommitId,
    /// Its target branch at the time of the event.
    pub(super) target: String,
    /// `true` if it was a draft.
    pub(super) is_draft: bool,
    /// `true` if the event closed it.
    pub(super) is_closed: bool,
    /// `true` if it comes from a fork, also a deleted one.
    pub(super) is_fork: bool,
}

/// A push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PushEvent {
    /// The previous head of the branch; `None` for a new branch.
    pub(super) before: Option<CommitId>,
    /// The new head; `None` if the branch was deleted.
    pub(super) after: Option<CommitId>,
    /// The branch that a new branch is compared with.
    pub(super) default_branch: String,
}

/// A run of another workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunEvent {
    /// Its id on the forge.
    pub(super) id: u64,
    /// The event that triggered it.
    pub(super) event: String,
    /// The commit it ran on.
    pub(super) head: CommitId,
    /// The repository of that commit; `None` if its fork was deleted.
    pub(super) head_repository: Option<RepoName>,
    /// The pull request, if the forge names it; it names none for forks.
    pub(super) pull: Option<PullNumber>,
}

#[derive(Deserialize)]
struct EventPayload {
    action: Option<String>,
    number: Option<u64>,
    pull_request: Option<PayloadPull>,
    merge_group: Option<PayloadMergeGroup>,
    repository: Option<PayloadRepository>,
    before: Option<String>,
    after: Option<String>,
    head_commit: Option<PayloadCommit>,
    workflow_run: Option<PayloadWorkflowRun>,
}

#[derive(Deserialize)]
struct PayloadPull {
    number: u64,
    #[serde(default)]
    draft: bool,
    head: PayloadRef,
    base: PayloadRef,
}

#[derive(Deserialize)]
struct PayloadRef {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    repo: Option<PayloadRepository>,
}

#[derive(Deserialize)]
struct PayloadRepository {
    full_name: String,
    default_branch: Option<String>,
}

#[derive(Deserialize)]
struct PayloadMergeGroup {
    base_sha: String,
    head_sha: String,
}

#[derive(Deserialize)]
struct PayloadCommit {
    id: String,
}

#[derive(Deserialize)]
struct PayloadWorkflowRun {
    id: u64,
    event: String,
    head_sha: String,
    head_repository: Option<PayloadRepository>,
    repository: PayloadRepository,
    #[serde(default)]
    pull_requests: Vec<PayloadNumber>,
}

#[derive(Deserialize)]
struct PayloadNumber {
    number: u64,
}

/// Reads the payload of the event `name` in the repository `here`. The error is a phrase that describes the defect of the payload.
pub(super) fn read(name: &str, bytes: &[u8], here: &RepoName) -> Result<WorkflowEvent, String> {
    let payload: EventPayload = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if let Some(repository) = &payload.repository {
        is_here(repository, here)?;
    }
    match name {
        "pull_request" | "pull_request_target" => {
            let pull = payload.pull_request.ok_or("it has no pull_request")?;
            let base = pull.base.repo.as_ref().ok_or("its pull_request has no base.repo")?;
            is_here(base, here)?;
            let is_own =
                pull.head.repo.as_ref().is_some_and(|head| head.full_name.eq_ignore_ascii_case(&base.full_name));
            if payload.number.is_some_and(|number| number != pull.number) {
                return Err("it names two pull requests".to_owned());
            }
            Ok(WorkflowEvent::Pull(PullEvent {
                number: number(pull.number)?,
                head: commit(&pull.head.sha, "pull_request.head.sha")?,
                target: pull.base.branch,
                is_draft: pull.draft,
                is_closed: payload.action.as_deref() == Some("closed"),
                is_fork: !is_own,
            }))
        }
        "merge_group" => {
            let group = payload.merge_group.ok_or("it has no merge_group")?;
            Ok(WorkflowEvent::MergeGroup {
                base: commit(&group.base_sha, "merge_group.base_sha")?,
                head: commit(&group.head_sha, "merge_group.head_sha")?,
            })
        }
        "push" => {
            let repository = payload.repository.ok_or("it has no repository")?;
            let before = commit_or_none(payload.before.as_deref(), "before")?;
            let after = commit_or_none(payload.after.as_deref(), "after")?;
            // For an annotated tag, `after` is not the commit.
            let commit = payload.head_commit.map(|head| commit(&head.id, "head_commit.id")).transpose()?;
            let default_branch = repository.default_branch.unwrap_or_default();
            Ok(WorkflowEvent::Push(PushEvent {
                before,
                after: after.map(|after| commit.unwrap_or(after)),
                default_branch,
            }))
        }
        "workflow_run" => {
            let run = payload.workflow_run.ok_or("it has no workflow_run")?;
            is_here(&run.repository, here)?;
            let head_repository = run.head_repository.map(|repository| name_of(&repository)).transpose()?;
            let mut pulls = run.pull_requests.iter();
            // Several pull requests may have the same head; then none of them is selected.
            let pull = match (pulls.next(), pulls.next()) {
                (Some(one), None) => Some(number(one.number)?),
                _ => None,
            };
            let head = commit(&run.head_sha, "workflow_run.head_sha")?;
            Ok(WorkflowEvent::Run(RunEvent { id: run.id, event: run.event, head, head_repository, pull }))
        }
        _ => Ok(WorkflowEvent::Other),
    }
}

fn name_of(repository: &PayloadRepository) -> Result<RepoName, String> {
    repository.full_name.parse().map_err(|_| "a repository in it has no name such as owner/name".to_owned())
}

fn is_here(repository: &PayloadRepository, here: &RepoName) -> Result<(), String> {
    if name_of(repository)?.is(here) { Ok(()) } else { Err(format!("it is not of the repository {here}")) }
}

fn number(number: u64) -> Result<PullNumber, String> {
    PullNumber::new(number).ok_or_else(|| "its pull request has no number that there can be".to_owned())
}

fn commit(text: &str, what: &str) -> Result<CommitId, String> {
    text.parse().map(CommitId).map_err(|_| format!("its {what} is no id of a commit"))
}

/// Parses a commit id; an id of zeros is `None`.
fn commit_or_none(text: Option<&str>, what: &str) -> Result<Option<CommitId>, String> {
    let text = text.ok_or_else(|| format!("it has no {what}"))?;
    let is_none = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    if is_none { Ok(None) } else { commit(text, what).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> RepoName {
        "octo/demo".parse().unwrap()
    }

    fn fixture(file: &str) -> Vec<u8> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events").join(file);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn occasion(name: &str, file: &str) -> WorkflowEvent {
        read(name, &fixture(file), &here()).unwrap()
    }

    fn id(digit: char) -> CommitId {
        CommitId(digit.to_string().repeat(40).parse().unwrap())
    }

    #[test]
    fn events_about_pull_requests_are_read() {
        let pull = |file| match occasion("pull_request", file) {
            WorkflowEvent::Pull(pull) => pull,
            other => panic!("{other:?}"),
        };
        let opened = pull("pull_request.json");
        assert_eq!((opened.number.value(), opened.head, opened.target.as_str()), (7, id('b'), "main"));
        assert!(!opened.is_draft && !opened.is_closed && !opened.is_fork);
        assert!(pull("pull_request_draft.json").is_draft);
        assert!(pull("pull_request_closed.json").is_closed);
        assert!(pull("pull_request_fork.json").is_fork);
        assert!(pull("pull_request_fork_gone.json").is_fork, "a fork that is gone is one");
        assert_eq!(occasion("pull_request_target", "pull_request.json"), WorkflowEvent::Pull(opened));
    }

    #[test]
    fn events_about_commits_are_read() {
        assert_eq!(
            occasion("merge_group", "merge_group.json"),
            WorkflowEvent::MergeGroup { base: id('a'), head: id('b') }
        );
        let push = |before, after| WorkflowEvent::Push(PushEvent { before, after, default_branch: "main".to_owned() });
        assert_eq!(occasion("push", "push.json"), push(Some(id('a')), Some(id('b'))));
        assert_eq!(occasion("push", "push_new_branch.json"), push(None, Some(id('b'))));
        assert_eq!(occasion("push", "push_deleted.json"), push(Some(id('a')), None));
        assert_eq!(occasion("push", "push_tag.json"), push(None, Some(id('b'))), "of a tag it is the commit");
        assert_eq!(occasion("workflow_dispatch", "workflow_dispatch.json"), WorkflowEvent::Other);
    }

    #[test]
    fn a_run_is_read_with_where_it_came_from() {
        let run = |file| match occasion("workflow_run", file) {
            WorkflowEvent::Run(run) => run,
            other => panic!("{other:?}"),
        };
        let fork = run("workflow_run.json");
        assert_eq!((fork.id, fork.event.as_str(), fork.head, fork.pull), (42, "pull_request", id('b'), None));
        assert_eq!(fork.head_repository, Some("mallory/demo".parse().unwrap()));
        let own = run("workflow_run_own.json");
        assert_eq!(own.pull.map(PullNumber::value), Some(7));
    }

    #[test]
    fn what_is_no_such_event_is_refused_with_its_reason() {
        let changed = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut payload = serde_json::from_slice(&fixture("pull_request.json")).unwrap();
            change(&mut payload);
            read("pull_request", payload.to_string().as_bytes(), &here()).unwrap_err()
        };
        for (fault, told) in [
            (changed(&|payload| payload["pull_request"] = serde_json::Value::Null), "no pull_request"),
            (changed(&|payload| payload["pull_request"]["head"]["sha"] = "main".into()), "no id of a commit"),
            (changed(&|payload| payload["number"] = 8.into()), "two pull requests"),
            (changed(&|payload| payload["repository"]["full_name"] = "evil/demo".into()), "not of the repository"),
            (changed(&|payload| payload["pull_request"]["base"]["repo"]["full_name"] = "o/r".into()), "not of the"),
            (changed(&|payload| payload["repository"]["full_name"] = "x".into()), "owner/name"),
            (read("push", b"{}", &here()).unwrap_err(), "no repository"),
            (read("merge_group", b"{}", &here()).unwrap_err(), "no merge_group"),
            (read("workflow_run", b"{}", &here()).unwrap_err(), "no workflow_run"),
            (read("push", b"[]", &here()).unwrap_err(), "invalid"),
        ] {
            assert!(fault.contains(told), "{fault} / {told}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_payload_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            for name in ["pull_request", "push", "merge_group", "workflow_run", "other"] {
                let _ = read(name, &bytes, &here());
            }
        }
    }
}
