//! The conversation of a pull request: threads, reviews, comments, each to its last page.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::wire::{CommentNode, CommentsNode, NodePage, RemarkNode, ReviewNode, ThreadNode};
use super::pages::Pages;
use super::queries::{COMMENTS, ONE_THREAD, Operation, REOPEN, RESOLVE, REVIEW_THREADS, REVIEWS, THREAD_COMMENTS};
use super::{missing_fault, pull_variables};
use crate::domain::forge::{Comment, PullConversation, PullId, RepoName, ReviewNote, Thread};
use crate::forge::error::{FaultKind, ForgeError};

#[derive(Debug, Deserialize)]
struct ConversationRepository<T> {
    repository: Option<ConversationPull<T>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConversationPull<T> {
    pull_request: Option<ConversationList<T>>,
}

/// One of a pull request's lists.
#[derive(Debug, Deserialize)]
struct ConversationList<T> {
    #[serde(rename = "reviewThreads", alias = "reviews", alias = "comments")]
    list: Option<NodePage<T>>,
}

#[derive(Debug, Deserialize)]
struct ConversationNode<T> {
    node: Option<T>,
}

impl GitHub {
    /// Fetches the conversation of a pull request; its three parts are requested concurrently.
    pub async fn conversation(&self, id: &PullId) -> Result<PullConversation, ForgeError> {
        let (threads, reviews, comments) =
            futures_util::future::try_join3(self.threads(id), self.reviews(id), self.comments(id)).await?;
        Ok(PullConversation { threads, reviews, comments })
    }

    /// The threads of a pull request, oldest first, with all of their comments. What is in a review that was only begun was not said yet.
    pub async fn threads(&self, id: &PullId) -> Result<Vec<Thread>, ForgeError> {
        let nodes: Vec<ThreadNode> = self.list(id, REVIEW_THREADS).await?;
        let mut threads = Vec::with_capacity(nodes.len());
        for node in nodes {
            threads.push(self.whole(Some(&id.repo), node).await?);
        }
        threads.retain(|thread| !thread.comments.is_empty());
        Ok(threads)
    }

    /// The reviews of a pull request, oldest first.
    pub async fn reviews(&self, id: &PullId) -> Result<Vec<ReviewNote>, ForgeError> {
        let nodes: Vec<ReviewNode> = self.list(id, REVIEWS).await?;
        Ok(nodes.into_iter().map(Into::into).collect())
    }

    /// The comments on a pull request as a whole, oldest first.
    pub async fn comments(&self, id: &PullId) -> Result<Vec<Comment>, ForgeError> {
        let nodes: Vec<CommentNode> = self.list(id, COMMENTS).await?;
        Ok(nodes.into_iter().map(Into::into).collect())
    }

    /// One thread, by the forge's id.
    pub async fn thread(&self, node: &str) -> Result<Thread, ForgeError> {
        let data: ConversationNode<Value> = self.send_query(None, ONE_THREAD, &json!({ "id": node })).await?;
        let found = data
            .node
            .filter(|found| found.get("__typename").and_then(Value::as_str) == Some("PullRequestReviewThread"));
        let found = found.ok_or_else(|| missing_fault("no thread has this id"))?;
        let thread = serde_path_to_error::deserialize(found);
        let thread = thread.map_err(|error| self.shared.blame.unreadable(None, &error.to_string()))?;
        self.whole(None, thread).await
    }

    /// Resolves a thread.
    pub async fn resolve(&self, thread: &str) -> Result<(), ForgeError> {
        self.turn_thread(RESOLVE, thread, true).await
    }

    /// Opens a thread again.
    pub async fn reopen(&self, thread: &str) -> Result<(), ForgeError> {
        self.turn_thread(REOPEN, thread, false).await
    }

    async fn turn_thread(&self, operation: Operation, thread: &str, resolved: bool) -> Result<(), ForgeError> {
        let data: Value = self.send_query(None, operation, &json!({ "id": thread })).await?;
        let is = data.as_object().and_then(|data| data.values().next()?.pointer("/thread/isResolved")?.as_bool());
        if is == Some(resolved) {
            return Ok(());
        }
        let message = "the thread was left as it was, though nothing was refused";
        Err(ForgeError::new(FaultKind::Refused, message, "look at it on its page"))
    }

    /// A thread with the comments that its first page has no room for.
    async fn whole(&self, repo: Option<&RepoName>, thread: ThreadNode) -> Result<Thread, ForgeError> {
        let mut later: Vec<Comment> = Vec::new();
        let Some(mut pages) = Pages::after(&thread.comments.page_info) else { return Ok(thread.with(later)) };
        loop {
            let variables = json!({ "id": thread.id, "after": pages.cursor() });
            let data: ConversationNode<CommentsNode> = self.send_query(repo, THREAD_COMMENTS, &variables).await?;
            let page = data.node.ok_or_else(|| missing_fault("the thread is gone"))?.comments;
            later.extend(page.nodes.into_iter().flatten().filter_map(RemarkNode::said));
            if !pages.advance(self, &page.page_info)? {
                return Ok(thread.with(later));
            }
        }
    }

    /// One of a pull request's lists, to its end. What the forge shows as nothing (it may hide a text) is left out by it, not by us.
    async fn list<T: DeserializeOwned>(&self, id: &PullId, operation: Operation) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let mut pages = Pages::default();
        loop {
            let mut variables = pull_variables(id);
            variables["after"] = json!(pages.cursor());
            let data: ConversationRepository<T> = self.send_query(Some(&id.repo), operation, &variables).await?;
            let pull = data.repository.and_then(|repository| repository.pull_request);
            let page = pull.ok_or_else(|| missing_fault(&id.to_string()))?.list;
            let page = page.ok_or_else(|| self.shared.blame.unreadable(None, "a list is not there"))?;
            all.extend(page.nodes.into_iter().flatten());
            if !pages.advance(self, &page.page_info)? {
                return Ok(all);
            }
        }
    }
}
