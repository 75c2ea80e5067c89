//! The resources of the server: one file for each family of URIs, and the table [`FAMILIES`]. Main types: [`ResourceFamily`], [`ResourceText`].

mod presented;
mod pulls;
mod query;
mod reviews;
mod status;

pub(super) use presented::uri as presented_uri;
pub(super) use pulls::{SCHEME as PULLS, uri as pull_uri};

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::app::{ChangeNotice, PullFault, PullWatch, Service};

/// A family of resources whose URIs share a prefix.
pub(super) struct ResourceFamily {
    /// Checks whether this server has them.
    pub(super) served: fn(&Service) -> bool,
    /// The templates of their URIs (RFC 6570).
    pub(super) templates: &'static [UriTemplate],
    /// Lists the resources that a client may want to see unasked, newest first.
    pub(super) list: fn(&Service) -> Result<Vec<ListedResource>, ReadFault>,
    /// Reads a resource; `None` if the URI is of another family. May block: it is called off the async threads.
    pub(super) read: fn(&Service, uri: &str) -> Option<Result<ResourceText, ReadFault>>,
    /// Fetches a resource that comes from elsewhere, without a waiting thread; `None` if the URI is of another family.
    pub(super) fetch: fn(&Arc<Service>, uri: &str) -> Option<ResourceFuture>,
    /// Starts observing changes of a resource, if they are not observed anyway, until the guard is dropped.
    pub(super) watch: fn(&Arc<Service>, uri: &str) -> Result<Option<PullWatch>, ReadFault>,
    /// Returns values for a template variable that begin with the typed text.
    pub(super) complete: fn(&Service, template: &str, variable: &str, typed: &str) -> Vec<String>,
    /// Returns the URIs whose contents changed; at least those that are watched.
    pub(super) changed: fn(&Service, &ChangeNotice, watched: &BTreeSet<String>) -> Vec<String>,
}

/// A resource that is being fetched.
pub(super) type ResourceFuture = BoxFuture<'static, Result<ResourceText, ReadFault>>;

/// Defaults for families of resources on this machine: every server has them, no other service is called, and their changes are published
/// by their writers.
const LOCAL: ResourceFamily = ResourceFamily {
    served: |_| true,
    templates: &[],
    list: |_| Ok(Vec::new()),
    read: |_, _| None,
    fetch: |_, _| None,
    watch: |_, _| Ok(None),
    complete: |_, _, _, _| Vec::new(),
    changed: |_, _, _| Vec::new(),
};

/// A URI template.
#[derive(Debug, Clone, Copy)]
pub(super) struct UriTemplate {
    /// RFC 6570.
    pub(super) uri: &'static str,
    /// A short name.
    pub(super) name: &'static str,
    /// Its contents.
    pub(super) description: &'static str,
    /// Its media type.
    pub(super) mime: &'static str,
}

/// A resource in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedResource {
    pub(super) uri: String,
    /// A short name.
    pub(super) name: String,
    /// Its contents, in one line.
    pub(super) description: String,
    /// Its media type.
    pub(super) mime: &'static str,
    /// The time of its last change: RFC 3339, UTC.
    pub(super) changed: Option<String>,
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceText {
    /// Its media type.
    pub(super) mime: &'static str,
    pub(super) text: String,
}

/// Reasons why a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadFault {
    /// It does not exist: the request, and the advice.
    #[error("{0}")]
    NotFound(String),
    /// It exists, but reading it failed.
    #[error("{0}")]
    Failed(String),
    /// No resource can have this URI; the message shows a valid one.
    #[error("{0}")]
    Malformed(String),
    /// The service that has it failed or refused. Clients know its message, so the advice is not part of it.
    #[error("{}", pulls::describe_fault(.0))]
    Afar(PullFault),
}

/// All families. The first that accepts a URI reads it, so the one that accepts any id comes last.
pub(super) const FAMILIES: &[ResourceFamily] = &[status::FAMILY, presented::FAMILY, pulls::FAMILY, reviews::FAMILY];
