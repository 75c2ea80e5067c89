//! The files of a pull request.

use super::super::request::ForgeResponse;
use super::super::{GitHub, wire};
use super::RestCall;
use crate::domain::forge::{PullFile, PullId};
use crate::forge::error::ForgeError;

/// Files of one page.
const PAGE: usize = 100;
/// GitHub lists no more files of a pull request.
const MOST: usize = 3000;

impl GitHub {
    /// The files of a pull request, and whether the forge cut its list (at 3 000).
    pub async fn files(&self, id: &PullId) -> Result<(Vec<PullFile>, bool), ForgeError> {
        let number = id.number.to_string();
        let mut files: Vec<PullFile> = Vec::new();
        for page in 1..=MOST / PAGE {
            self.cancel.check()?;
            let query = format!("per_page={PAGE}&page={page}");
            let answer = self.send_call(RestCall::get(&id.repo, &["pulls", &number, "files"], &query)).await?;
            let entries: Vec<wire::FileEntry> = self.read(&answer)?;
            let is_last = is_last(&answer, entries.len());
            for entry in entries {
                files.push(entry.file().map_err(|why| self.shared.blame.unreadable(Some(&answer), &why))?);
            }
            if is_last {
                break;
            }
        }
        let is_cut = files.len() >= MOST;
        Ok((files, is_cut))
    }
}

/// A `link` to the next page is what counts (RFC 8288); a server that sends none at all is known by a page that is not full.
fn is_last(answer: &ForgeResponse, entries: usize) -> bool {
    match answer.header("link") {
        Some(links) => !links.contains("rel=\"next\""),
        None => entries < PAGE,
    }
}
