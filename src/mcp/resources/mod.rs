//! The resources of the server: one file for each family of URIs, and the table [`FAMILIES`]. Main types: [`Family`], [`Contents`].

mod presented;
mod query;
mod reviews;
mod status;

pub(super) use presented::uri as presented_uri;

use crate::app::{Changed, Service};

/// Resources whose URIs begin alike.
pub(super) struct Family {
    /// The shapes of their URIs (RFC 6570).
    pub(super) templates: &'static [Template],
    /// Those that a client may want to see without asking for one, newest first.
    pub(super) list: fn(&Service) -> Result<Vec<Listed>, ReadFault>,
    /// Reads one; `None` where the URI is of another family. It may take its time: it is called away from the async threads.
    pub(super) read: fn(&Service, uri: &str) -> Option<Result<Contents, ReadFault>>,
    /// Values for a variable of a template that begin with what was typed.
    pub(super) complete: fn(&Service, template: &str, variable: &str, typed: &str) -> Vec<String>,
    /// The URIs whose contents are not what they were.
    pub(super) changed: fn(&Service, Changed) -> Vec<String>,
}

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
}

/// Every family; the first that takes a URI for its own reads it, so that which begins with any id comes last.
pub(super) const FAMILIES: &[Family] = &[status::FAMILY, presented::FAMILY, reviews::FAMILY];
