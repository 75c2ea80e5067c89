//! The resources of the server: one file for each family of URIs, and the table [`FAMILIES`]. Main types: [`Family`], [`Contents`].

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

use crate::app::{Changed, PullFault, Service, Watching};

/// Resources whose URIs begin alike.
pub(super) struct Family {
    /// Whether this server has them.
    pub(super) served: fn(&Service) -> bool,
    /// The shapes of their URIs (RFC 6570).
    pub(super) templates: &'static [Template],
    /// Those that a client may want to see without asking for one, newest first.
    pub(super) list: fn(&Service) -> Result<Vec<Listed>, ReadFault>,
    /// Reads one; `None` where the URI is of another family. It may take its time: it is called away from the async threads.
    pub(super) read: fn(&Service, uri: &str) -> Option<Result<Contents, ReadFault>>,
    /// Likewise where somebody else must be asked for it, so that no thread waits for the answer.
    pub(super) fetch: fn(&Arc<Service>, uri: &str) -> Option<Fetch>,
    /// Sees to it that changes of this resource are noticed, where that is not so anyway, as long as what it gives is kept.
    pub(super) watch: fn(&Arc<Service>, uri: &str) -> Result<Option<Watching>, ReadFault>,
    /// Values for a variable of a template that begin with what was typed.
    pub(super) complete: fn(&Service, template: &str, variable: &str, typed: &str) -> Vec<String>,
    /// The URIs whose contents are not what they were; of those that are watched, at least.
    pub(super) changed: fn(&Service, &Changed, watched: &BTreeSet<String>) -> Vec<String>,
}

/// A resource that is being fetched.
pub(super) type Fetch = BoxFuture<'static, Result<Contents, ReadFault>>;

/// What is the same for every family of what is on this machine: all servers have it, nobody else is asked for it, and its changes are said by
/// whoever makes them.
const LOCAL: Family = Family {
    served: |_| true,
    templates: &[],
    list: |_| Ok(Vec::new()),
    read: |_, _| None,
    fetch: |_, _| None,
    watch: |_, _| Ok(None),
    complete: |_, _, _, _| Vec::new(),
    changed: |_, _, _| Vec::new(),
};

/// The shape of a URI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    /// RFC 6570.
    pub(super) uri: &'static str,
    /// A short name.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) description: &'static str,
    /// Its media type.
    pub(super) mime: &'static str,
}

/// A resource in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its URI.
    pub(super) uri: String,
    /// A short name.
    pub(super) name: String,
    /// What it holds, one line.
    pub(super) description: String,
    /// Its media type.
    pub(super) mime: &'static str,
    /// When it was last changed: RFC 3339, UTC.
    pub(super) changed: Option<String>,
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    /// Its media type.
    pub(super) mime: &'static str,
    /// The text.
    pub(super) text: String,
}

/// Why a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadFault {
    /// There is none: what was asked for, and what to do.
    #[error("{0}")]
    NotFound(String),
    /// It is there, but something failed.
    #[error("{0}")]
    Failed(String),
    /// No resource can have this URI: what one looks like.
    #[error("{0}")]
    Malformed(String),
    /// Whoever has it failed, or said no. Clients know its message, so the advice does not stand in it.
    #[error("{}", pulls::said_of(.0))]
    Afar(PullFault),
}

/// Every family; the first that takes a URI for its own reads it, so that which begins with any id comes last.
pub(super) const FAMILIES: &[Family] = &[status::FAMILY, presented::FAMILY, pulls::FAMILY, reviews::FAMILY];
