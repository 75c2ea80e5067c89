//! Pull requests as GraphQL gives them.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{ActorNode, NodePage};
use crate::domain::forge::{PullId, PullNumber, PullRequest, PullState, RepoName};
use crate::domain::id::{CommitId, InvalidObjectId};
use crate::domain::text::mask;
use crate::forge::github::types::ListedPull;

/// A pull request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct PullNode {
    id: String,
    number: u64,
    url: String,
    title: String,
    #[serde(default)]
    body: String,
    state: String,
    #[serde(default)]
    is_draft: bool,
    author: Option<ActorNode>,
    author_association: String,
    head_ref_name: String,
    base_ref_name: String,
    head_ref_oid: String,
    base_ref_oid: String,
    head_repository: Option<RepositoryNode>,
    base_repository: Option<RepositoryNode>,
    mergeable: Option<String>,
    review_decision: Option<String>,
    created_at: String,
    updated_at: String,
    additions: u64,
    deletions: u64,
    changed_files: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryNode {
    name_with_owner: String,
}

impl RepositoryNode {
    fn name(self) -> Option<RepoName> {
        self.name_with_owner.parse().ok()
    }
}

impl PullNode {
    /// As the rest of the program knows it; what is wrong with it where it cannot be. `asked` names the repository that was asked.
    pub(in super::super) fn pull(self, asked: &RepoName) -> Result<PullRequest, String> {
        let number = PullNumber::new(self.number).ok_or_else(|| format!("its number is {}", self.number))?;
        let state = match self.state.as_str() {
            "OPEN" => PullState::Open,
            "MERGED" => PullState::Merged,
            "CLOSED" => PullState::Closed,
            other => return Err(format!("its state is {other:?}")),
        };
        let commit = |oid: &str| oid.parse().map(CommitId).map_err(|error: InvalidObjectId| error.to_string());
        let (head, base) = (commit(&self.head_ref_oid)?, commit(&self.base_ref_oid)?);
        // A renamed repository answers to its old name too.
        let repo = self.base_repository.and_then(RepositoryNode::name).unwrap_or_else(|| asked.clone());
        Ok(PullRequest {
            id: PullId { repo, number },
            node: self.id,
            url: self.url,
            title: self.title,
            body: self.body,
            state,
            is_draft: self.is_draft,
            author: self.author.map(Into::into),
            association: self.author_association,
            // Nobody asks for it by this name; the base is.
            head_ref: mask(&self.head_ref_name).text,
            base_ref: self.base_ref_name,
            head,
            base,
            head_repo: self.head_repository.and_then(RepositoryNode::name),
            mergeable: self.mergeable,
            review_decision: self.review_decision,
            created_at: self.created_at,
            updated_at: self.updated_at,
            additions: self.additions,
            deletions: self.deletions,
            changed_files: self.changed_files,
        })
    }
}

/// A pull request in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ListNode {
    #[serde(flatten)]
    pull: PullNode,
    review_threads: NodePage<Resolution>,
    comments: NodePage<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resolution {
    is_resolved: bool,
}

impl ListNode {
    pub(in super::super) fn listed(self, asked: &RepoName) -> Result<ListedPull, String> {
        let unresolved = self.review_threads.nodes.iter().flatten().filter(|thread| !thread.is_resolved).count();
        Ok(ListedPull {
            pull: self.pull.pull(asked)?,
            threads: self.review_threads.total_count,
            unresolved,
            comments: self.comments.total_count,
        })
    }
}
