//! Pull requests themselves, and who we are.

use serde::Deserialize;
use serde_json::json;

use super::super::GitHub;
use super::super::types::{PullFilter, PullPage};
use super::super::wire::{ActorNode, ListNode, NodePage, PullNode};
use super::pages::Pages;
use super::queries::{PULL_REQUEST, PULL_REQUESTS, VIEWER};
use super::{missing_fault, pull_variables};
use crate::domain::forge::{Actor, PullId, PullRequest, RepoName};
use crate::forge::error::ForgeError;

#[derive(Debug, Deserialize)]
struct ViewerData {
    viewer: ActorNode,
}

#[derive(Debug, Deserialize)]
struct PullRepositoryData<T> {
    repository: Option<T>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullData {
    pull_request: Option<PullNode>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullListData {
    pull_requests: NodePage<ListNode>,
}

impl GitHub {
    /// Our account. An App is known by its slug, the name that its texts stand under.
    pub async fn viewer(&self) -> Result<Actor, ForgeError> {
        if let Some(login) = self.app_slug().await? {
            return Ok(Actor { login, is_bot: true });
        }
        let data: ViewerData = self.send_query(None, VIEWER, &json!({})).await?;
        Ok(data.viewer.into())
    }

    /// A pull request.
    pub async fn pull(&self, id: &PullId) -> Result<PullRequest, ForgeError> {
        let data: PullRepositoryData<PullData> =
            self.send_query(Some(&id.repo), PULL_REQUEST, &pull_variables(id)).await?;
        let node = data.repository.and_then(|repository| repository.pull_request);
        let node = node.ok_or_else(|| missing_fault(&id.to_string()))?;
        node.pull(&id.repo).map_err(|why| self.shared.blame.unreadable(None, &why))
    }

    /// Pull requests of a repository, newest first.
    pub async fn pulls(&self, repo: &RepoName, filter: PullFilter) -> Result<PullPage, ForgeError> {
        let states = filter.state.map(|state| vec![state.as_str()]);
        let (mut listed, mut pages) = (PullPage { pulls: Vec::new(), total: 0 }, Pages::default());
        loop {
            let first = filter.limit.saturating_sub(listed.pulls.len()).clamp(1, 100);
            let variables = json!({
                "owner": repo.owner(), "name": repo.name(), "states": states, "first": first, "after": pages.cursor(),
            });
            let data: PullRepositoryData<PullListData> = self.send_query(Some(repo), PULL_REQUESTS, &variables).await?;
            let page = data.repository.ok_or_else(|| missing_fault(&repo.to_string()))?.pull_requests;
            listed.total = page.total_count;
            for node in page.nodes.into_iter().flatten() {
                let pull = node.listed(repo).map_err(|why| self.shared.blame.unreadable(None, &why))?;
                listed.pulls.push(pull);
            }
            if listed.pulls.len() >= filter.limit || !pages.advance(self, &page.page_info)? {
                return Ok(listed);
            }
        }
    }
}
