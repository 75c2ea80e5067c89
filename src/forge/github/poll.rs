//! Cheap polling of a pull request for changes: entity tags, and one small query for what they do not cover.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::GitHub;
use super::graphql::{LOOKS, Pages, missing_fault, pull_variables};
use super::rest::RestCall;
use super::types::Marks;
use super::wire::PageInfo;
use crate::domain::forge::PullId;
use crate::domain::id::hex;
use crate::forge::error::ForgeError;

impl GitHub {
    /// Returns whether anything changed since these marks were taken, and new marks. The first time everything did.
    pub async fn poll_changes(&self, id: &PullId, marks: Marks) -> Result<(bool, Marks), ForgeError> {
        let number = id.number.to_string();
        let asked: [(&[&str], &str); 4] = [
            (&["pulls", &number], ""),
            (&["pulls", &number, "reviews"], "per_page=100"),
            (&["pulls", &number, "comments"], "per_page=1&sort=updated&direction=desc"),
            (&["issues", &number, "comments"], "per_page=100"),
        ];
        let mut now = Marks::default();
        let mut changed = false;
        for (at, (parts, query)) in asked.into_iter().enumerate() {
            let known = marks.tags.get(at).cloned().flatten();
            let call = RestCall { tag: known.as_deref(), ..RestCall::get(&id.repo, parts, query) };
            let answer = self.send_call(call).await?;
            if answer.status == 304 {
                now.tags.push(known);
            } else {
                let tag = answer.header("etag").map(str::to_owned);
                // The same tag with a whole answer: a server that does not keep to its word, but nothing changed. None at all: who knows.
                changed |= tag.is_none() || tag != known;
                now.tags.push(tag);
            }
        }
        now.looks = self.looks(id).await?;
        changed |= now.looks != marks.looks;
        Ok((changed, now))
    }

    /// The hash of what the threads look like; nothing without a token.
    async fn looks(&self, id: &PullId) -> Result<Option<String>, ForgeError> {
        if self.login(Some(&id.repo)).await?.is_none() {
            return Ok(None);
        }
        let mut hash = Sha256::new();
        let mut pages = Pages::default();
        loop {
            let mut variables = pull_variables(id);
            variables["after"] = json!(pages.cursor());
            let data: Value = self.send_query(Some(&id.repo), LOOKS, &variables).await?;
            let pull = data.pointer("/repository/pullRequest").filter(|pull| pull.is_object());
            let pull = pull.ok_or_else(|| missing_fault(&id.to_string()))?;
            hash.update(pull.to_string());
            let page = pull.pointer("/reviewThreads/pageInfo").cloned().unwrap_or_default();
            let page: PageInfo = serde_json::from_value(page).unwrap_or_default();
            if !pages.advance(self, &page)? {
                return Ok(Some(hex(&hash.finalize())));
            }
        }
    }
}
