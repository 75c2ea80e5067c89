//! Paths and globs as callers write them: from the repository root, or from the root of the machine into the folder that is checked out.
//! Main functions: [`resolve_path`], [`glob`].
//!
//! Paths are resolved as text: the disk is not read. The definition of a tree path belongs in `domain`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::fault::{ErrorKind, ToolFault};
use super::input;
use super::toolbox::ToolContext;
use crate::domain::filter::PathFilter;
use crate::domain::path::{RepoPath, unquote};
use crate::sys::path_containment;

/// Path of the tree that an argument refers to.
pub(super) struct ResolvedPath {
    /// The path; `None` for the root.
    pub(super) path: Option<RepoPath>,
    /// Remark for a path that was spelled in another way.
    pub(super) note: Option<String>,
}

impl ResolvedPath {
    /// Returns the path of a file, for which the root is an error. `text` is the argument.
    pub(super) fn file(&self, text: &str) -> Result<RepoPath, ToolFault> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None if text.trim().is_empty() => input::file_path(text),
            None => {
                let message = format!("{text:?} is the root folder, not a file; list_files shows what is in it");
                Err(ToolFault::new(ErrorKind::NotText, message))
            }
        }
    }
}

/// Resolves a path: from the repository root, or an absolute one below the checked-out folder.
pub(super) fn resolve_path(context: &ToolContext, text: &str) -> Result<ResolvedPath, ToolFault> {
    let text = text.trim();
    if !text.starts_with('/') && text.split('/').all(|part| part.is_empty() || part == ".") {
        return Ok(ResolvedPath { path: None, note: None });
    }
    let Some(absolute) = absolute(text) else {
        return Ok(ResolvedPath { path: Some(input::file_path(text)?), note: None });
    };
    let Some(below) = below(context, &absolute) else {
        let message = format!(
            "{text:?} is absolute and not in the repository: write it from the repository root, as in src/a.rs"
        );
        return Err(ToolFault::new(ErrorKind::RefusedPath, message));
    };
    if below.is_empty() {
        return Ok(ResolvedPath { path: None, note: Some(taken_as(".")) });
    }
    let path = RepoPath::from_bytes(&below).map_err(|error| {
        let fault = ToolFault::from(error);
        ToolFault { message: format!("{text:?}: {}", fault.message), ..fault }
    })?;
    let note = Some(taken_as(&path.display_name()));
    Ok(ResolvedPath { path: Some(path), note })
}

/// Returns the bytes of a path that starts at the root of the machine.
fn absolute(text: &str) -> Option<Cow<'_, [u8]>> {
    let bytes = if text.starts_with('"') { Cow::Owned(unquote(text).ok()?) } else { Cow::Borrowed(text.as_bytes()) };
    (bytes.first() == Some(&b'/')).then_some(bytes)
}

fn below(context: &ToolContext, absolute: &[u8]) -> Option<Vec<u8>> {
    path_containment::path_below(Path::new(OsStr::from_bytes(absolute)), context.checkout.root.as_deref()?)
}

fn taken_as(path: &str) -> String {
    format!("The path was taken as {path}, from the repository root.")
}

/// Pattern that selects files.
pub(super) struct PathGlob {
    /// Filter; `None` selects all files.
    pub(super) filter: Option<PathFilter>,
    /// Remark for a pattern that was spelled in another way.
    pub(super) note: Option<String>,
}

/// Resolves a glob in `field` of the input. A bare name is the folder of that name at the root, if there is one and no other folder is listed.
pub(super) fn glob(
    context: &ToolContext,
    field: &str,
    text: Option<&str>,
    within: Option<&RepoPath>,
) -> Result<PathGlob, ToolFault> {
    let Some(text) = text else { return Ok(PathGlob { filter: None, note: None }) };
    let trimmed = text.trim();
    let below = if trimmed.starts_with('/') { below(context, trimmed.as_bytes()) } else { None };
    let (meant, note) = match below {
        Some(below) if below.is_empty() => return Ok(PathGlob { filter: None, note: Some(taken_as(".")) }),
        Some(below) => {
            let below = String::from_utf8_lossy(&below);
            let slash = if trimmed.ends_with('/') { "/" } else { "" };
            (format!("/{below}{slash}"), Some(taken_as(&below)))
        }
        None if within.is_none() && is_folder_at_root(context, trimmed)? => {
            (format!("/{}/", trimmed.trim_end_matches('/')), None)
        }
        None => (text.to_owned(), None),
    };
    let invalid = |error| ToolFault::new(ErrorKind::InvalidInput, format!("{field}: {error}"));
    let filter = PathFilter::new(&[meant], &[]).map_err(invalid)?;
    Ok(PathGlob { filter: Some(filter), note })
}

/// Checks whether a glob is just the name of a folder at the root.
fn is_folder_at_root(context: &ToolContext, glob: &str) -> Result<bool, ToolFault> {
    let name = glob.trim_end_matches('/');
    if name.is_empty() || name == "." || name.contains(['/', '*', '?', '[', ']', '{', '}', '\\']) {
        return Ok(false);
    }
    let prefix = [name.as_bytes(), b"/"].concat();
    let mut is_there = false;
    // Paths are sorted: behind its position the folder cannot follow.
    context.new.visit(&context.cancel, &mut |path, _| {
        is_there = path.starts_with(&prefix);
        if path < prefix.as_slice() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(is_there)
}

/// Returns the remark for files that are missing from the list of the tree.
pub(super) fn not_listed(context: &ToolContext) -> Option<String> {
    let why = context.new.listing_cut()?;
    Some(format!("This is not complete: {why}."))
}
