//! Pull requests as resources: `pr://{owner}/{repo}/{pr}`, its comments, its files, its threads one by one, and the open ones of a
//! repository.
//!
//! The URI, the texts of its errors and the fields of `pr://{owner}/{repo}/{pr}` are those of seed 004, which clients know. All the others
//! begin with a field that marks the rest as data. If a part is too large for one response, `next` is the URI of the rest.

mod parts;
mod uri;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{LOCAL, ListedResource, ReadFault, ResourceFamily, ResourceFuture, ResourceText, UriTemplate};
use crate::app::{ChangeNotice, FaultKind, PullFault, PullFaultKind, PullWatch, Service, WatchTarget};
use crate::domain::forge::{PullId, PullState, RepoName};
use crate::domain::text::strip_line;
use crate::mcp::tool::UNTRUSTED;
use crate::mcp::{pull_json, sanitize};

use uri::{PullPart, PullUri};
pub(in crate::mcp) use uri::{SCHEME, uri};

const JSON: &str = "application/json";
const ONE: &str = "pr://{owner}/{repo}/{pr}";
const COMMENTS: &str = "pr://{owner}/{repo}/{pr}/comments{?cursor}";
const FILES: &str = "pr://{owner}/{repo}/{pr}/files{?cursor}";
const THREAD: &str = "pr://{owner}/{repo}/{pr}/threads/{id}{?cursor}";
const OPEN: &str = "pr://{owner}/{repo}";

/// The list entry and the template for one pull request, as clients know it.
const TEMPLATE: UriTemplate = UriTemplate {
    uri: ONE,
    name: "Pull Request Resource",
    description: "Dynamic PR resource with summary and metadata. Use pr://{owner}/{repo}/{pr} format.",
    mime: JSON,
};
/// The error for a URI that cannot name a pull request.
const MALFORMED: &str = "Invalid PR resource URI format. Expected: pr://{owner}/{repo}/{pr}";

/// The row of the table.
pub(super) const FAMILY: ResourceFamily = ResourceFamily {
    served: Service::serves_pulls,
    templates: &[
        TEMPLATE,
        UriTemplate {
            uri: COMMENTS,
            name: "Pull request comments",
            description: "Everything that was said on a pull request: remarks with severity and source, and comments on it as a whole",
            mime: JSON,
        },
        UriTemplate {
            uri: FILES,
            name: "Pull request files",
            description: "The files that a pull request changes",
            mime: JSON,
        },
        UriTemplate {
            uri: THREAD,
            name: "Pull request thread",
            description: "One thread of a pull request with all replies",
            mime: JSON,
        },
        UriTemplate {
            uri: OPEN,
            name: "Open pull requests",
            description: "The open pull requests of a repository, newest first",
            mime: JSON,
        },
    ],
    list,
    fetch,
    watch,
    complete,
    changed,
    ..LOCAL
};

/// Returns the message of a failure on the wire: clients know two of them by their texts.
pub(super) fn describe_fault(fault: &PullFault) -> String {
    match fault.kind {
        PullFaultKind::Forge(FaultKind::NotFound) => "Resource not found".to_owned(),
        PullFaultKind::Forge(FaultKind::Auth) => "Authentication failed".to_owned(),
        PullFaultKind::Forge(_)
        | PullFaultKind::InvalidInput
        | PullFaultKind::Ambiguous
        | PullFaultKind::ReadOnly
        | PullFaultKind::Off
        | PullFaultKind::Busy
        | PullFaultKind::Broken => fault.message.clone(),
    }
}

impl From<PullFault> for ReadFault {
    fn from(fault: PullFault) -> Self {
        Self::Afar(fault)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the lists of other families can fail")]
fn list(service: &Service) -> Result<Vec<ListedResource>, ReadFault> {
    let UriTemplate { uri: template, name, description, mime } = TEMPLATE;
    let entry = ListedResource {
        uri: template.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        mime,
        changed: None,
    };
    let seen = service.seen_pulls().into_iter().map(|pull| ListedResource {
        uri: uri(&pull.id),
        name: pull.id.to_string(),
        description: format!("{}: {}", pull.state.as_str(), strip_line(&pull.title)),
        mime: JSON,
        changed: Some(pull.updated_at),
    });
    Ok([entry].into_iter().chain(seen).collect())
}

fn malformed() -> ReadFault {
    ReadFault::Malformed(MALFORMED.to_owned())
}

fn fetch(service: &Arc<Service>, uri: &str) -> Option<ResourceFuture> {
    if !uri.starts_with(SCHEME) {
        return None;
    }
    let (service, parsed) = (Arc::clone(service), PullUri::parse(uri));
    Some(async move { read(&service, parsed.ok_or_else(malformed)?).await }.boxed())
}

async fn read(service: &Service, uri: PullUri) -> Result<ResourceText, ReadFault> {
    let value = match uri {
        PullUri::Open(repo) => open(service, &repo).await?,
        PullUri::Pull(id, PullPart::Whole) => {
            let read = service.pull(&id).await?;
            json!({ "pr": pull_json::pull(&id, &read.pull), "summary": pull_json::summary(&read.summary) })
        }
        PullUri::Pull(id, PullPart::Comments(cursor)) => {
            parts::comments(&id, &*service.pull(&id).await?, cursor.as_deref())?
        }
        PullUri::Pull(id, PullPart::Files(cursor)) => {
            parts::files(&id, &*service.pull_files(&id).await?, cursor.as_deref())?
        }
        PullUri::Pull(id, PullPart::Thread(thread, cursor)) => {
            parts::thread(&id, &*service.pull(&id).await?, &thread, cursor.as_deref())?
        }
    };
    // Sanitized before it is serialized: JSON escapes would come back when a client parses it.
    Ok(ResourceText { mime: JSON, text: format!("{:#}", sanitize::value(value)) })
}

async fn open(service: &Service, repo: &RepoName) -> Result<Value, ReadFault> {
    let page = service.pulls_of(repo, Some(PullState::Open)).await?;
    let prs: Vec<Value> = page
        .pulls
        .iter()
        .map(|one| {
            let mut fields = pull_json::listed(one);
            fields["uri"] = uri(&PullId { repo: repo.clone(), number: one.pull.id.number }).into();
            fields
        })
        .collect();
    let mut value = json!({
        "untrusted": UNTRUSTED, "owner": repo.owner(), "repo": repo.name(), "state": PullState::Open.as_str(), "total": page.total, "prs": prs,
    });
    if page.pulls.len() < page.total {
        value["note"] = format!("The newest {} of {} are here.", page.pulls.len(), page.total).into();
    }
    Ok(value)
}

fn watch(service: &Arc<Service>, uri: &str) -> Result<Option<PullWatch>, ReadFault> {
    if !uri.starts_with(SCHEME) {
        return Ok(None);
    }
    let what = match PullUri::parse(uri).ok_or_else(malformed)? {
        PullUri::Open(repo) => WatchTarget::Open(repo),
        PullUri::Pull(id, _) => WatchTarget::One(id),
    };
    Ok(Some(service.watch_pulls(&what)?))
}

fn changed(_: &Service, changed: &ChangeNotice, watched: &BTreeSet<String>) -> Vec<String> {
    let is_of = |uri: &&String| match (changed, PullUri::parse(uri)) {
        (ChangeNotice::Pull(id), Some(PullUri::Pull(of, _))) => of.number == id.number && of.repo.is(&id.repo),
        (ChangeNotice::Pulls(repo), Some(PullUri::Open(of))) => of.is(repo),
        (
            ChangeNotice::Pull(_)
            | ChangeNotice::Pulls(_)
            | ChangeNotice::Review(_)
            | ChangeNotice::Document(_)
            | ChangeNotice::List,
            _,
        ) => false,
    };
    watched.iter().filter(is_of).cloned().collect()
}

fn complete(service: &Service, template: &str, variable: &str, typed: &str) -> Vec<String> {
    if !template.starts_with(SCHEME) {
        return Vec::new();
    }
    let seen = service.seen_pulls().into_iter();
    let values: Vec<String> = match variable {
        "owner" => seen.map(|pull| pull.id.repo.owner().to_owned()).collect(),
        "repo" => seen.map(|pull| pull.id.repo.name().to_owned()).collect(),
        "pr" => seen.map(|pull| pull.id.number.to_string()).collect(),
        _ => Vec::new(),
    };
    let fits = values.into_iter().filter(|value| value.starts_with(typed));
    fits.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests;
