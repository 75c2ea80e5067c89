//! The state stored in comments of a pull request. Main types: [`StoredRemarkState`] (the JSON of `pr-review-mcp`'s version 2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::forge::Comment;

/// The longest comment that GitHub takes, in characters.
pub(super) const LONGEST_COMMENT: usize = 65_536;

/// The states of a child: unresolved and resolved.
pub(super) const PENDING: &str = "pending";
pub(super) const RESOLVED: &str = "resolved";

/// The delimiters of the state.
const BEGIN: &str = "<!-- pr-review-mcp-state:v2 -->";
const END: &str = "<!-- /pr-review-mcp-state -->";

/// All of it. What other programs keep beside is given back as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredRemarkState {
    /// 2.
    pub(super) version: u32,
    /// The parts of remarks that were taken apart, by the name of the whole.
    #[serde(default)]
    pub(super) parent_children: BTreeMap<String, StoredChildren>,
    /// Resolved entries of lists, by their names.
    #[serde(default)]
    pub(super) resolved_nitpicks: BTreeMap<String, StoredResolution>,
    /// RFC 3339.
    #[serde(default)]
    pub(super) updated_at: String,
    /// The keys unknown to this program.
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

/// The parts of one remark.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredChildren {
    /// Their names, in order.
    #[serde(default)]
    pub(super) child_ids: Vec<String>,
    /// [`PENDING`] or [`RESOLVED`], by name.
    #[serde(default)]
    pub(super) child_status: BTreeMap<String, String>,
    /// RFC 3339.
    #[serde(default)]
    pub(super) registered_at: String,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

/// The resolver of an entry, and the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredResolution {
    /// RFC 3339.
    #[serde(default, rename = "resolvedAt")]
    pub(super) at: String,
    /// A login, or the name of a program.
    #[serde(default, rename = "resolvedBy")]
    pub(super) by: String,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

impl Default for StoredRemarkState {
    fn default() -> Self {
        Self {
            version: 2,
            parent_children: BTreeMap::new(),
            resolved_nitpicks: BTreeMap::new(),
            updated_at: String::new(),
            other: Map::new(),
        }
    }
}

impl StoredResolution {
    /// Resolved by somebody at some time.
    pub(super) fn new(by: &str, at: &str) -> Self {
        Self { at: at.to_owned(), by: by.to_owned(), other: Map::new() }
    }
}

impl StoredRemarkState {
    /// Checks whether a comment is one that keeps state: it begins with the mark. One that only shows the mark is none.
    pub(super) fn is_in(body: &str) -> bool {
        body.trim_start().starts_with(BEGIN)
    }

    /// Reads a comment that keeps state; why not, where it cannot be read.
    pub(super) fn parse(body: &str) -> Result<Self, String> {
        let text = body.trim_start().strip_prefix(BEGIN).unwrap_or(body);
        let text = text.rfind(END).map(|end| &text[..end]).ok_or("its end is missing")?;
        let json = match text.find("```json").map(|start| &text[start + 7..]) {
            Some(rest) => &rest[..rest.rfind("```").ok_or("its code is not closed")?],
            None => text,
        };
        let stored: Self = serde_json::from_str(json.trim()).map_err(|error| error.to_string())?;
        if stored.version == 2 { Ok(stored) } else { Err(format!("it is of version {}", stored.version)) }
    }

    /// The text of a comment; `None` if it is longer than a comment may be.
    pub(super) fn comment(&self) -> Option<String> {
        let around = |json: String| {
            // Nothing in a value may end the comment that it stands in.
            let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
            format!(
                "{BEGIN}\n<details>\n<summary>Which listed remarks are resolved (kept by programs, do not edit)</summary>\n\n\
                 ```json\n{json}\n```\n\n</details>\n{END}"
            )
        };
        let fits = |text: &String| text.chars().count() <= LONGEST_COMMENT;
        let long = serde_json::to_string_pretty(self).ok().map(around).filter(fits);
        long.or_else(|| serde_json::to_string(self).ok().map(around).filter(fits))
    }
}

/// Checks whether a comment may say what is resolved: our account wrote it, or one that the forge says has rights in the repository. Anybody else can
/// write such a comment too, and would make remarks on their own change disappear.
pub(super) fn is_trusted_comment(comment: &Comment) -> bool {
    comment.mine || matches!(comment.association.as_str(), "OWNER" | "MEMBER" | "COLLABORATOR")
}
