//! The shapes of GitHub's answers, apart from the types that the rest of the program knows. `conversation`, `pull` and `rest` convert them.

mod conversation;
mod pull;
mod rest;

use serde::Deserialize;
use serde_json::Value;

pub(super) use conversation::{CommentNode, CommentsNode, RemarkNode, ReviewNode, ThreadNode};
pub(super) use pull::{ListNode, PullNode};
pub(super) use rest::{AppAbout, FileEntry, Installation, InstallationToken, PostedComment, PostedReview};

use crate::domain::forge::Actor;

/// The envelope of every GraphQL response.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    #[serde(default)]
    pub(super) data: Option<Value>,
    #[serde(default, deserialize_with = "or_nothing")]
    pub(super) errors: Vec<GraphError>,
}

/// Treats missing and null values alike.
fn or_nothing<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// One of its errors.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GraphError {
    #[serde(default, rename = "type", deserialize_with = "or_nothing")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_nothing")]
    pub(super) message: String,
    /// The path in the response: names and numbers.
    #[serde(default, deserialize_with = "or_nothing")]
    pub(super) path: Vec<Value>,
}

/// One page of a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodePage<T> {
    #[serde(default = "Vec::new")]
    pub(super) nodes: Vec<Option<T>>,
    #[serde(default)]
    pub(super) page_info: PageInfo,
    #[serde(default)]
    pub(super) total_count: usize,
}

/// The position of the next page.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    #[serde(default)]
    pub(super) has_next_page: bool,
    #[serde(default)]
    pub(super) end_cursor: Option<String>,
}

/// An account, in GraphQL.
#[derive(Debug, Deserialize)]
pub(super) struct ActorNode {
    #[serde(default, rename = "__typename")]
    kind: String,
    login: String,
}

impl From<ActorNode> for Actor {
    fn from(actor: ActorNode) -> Self {
        let is_bot = actor.kind == "Bot" || actor.login.ends_with("[bot]");
        Self { login: actor.login.trim_end_matches("[bot]").to_owned(), is_bot }
    }
}
