//! The folder that relative references start from: what a client named, and what a document allows. Main functions: [`folder_of_uri`],
//! [`Service::base_of`].

use std::path::{Path, PathBuf};

use super::{PresentFault, Service};
use crate::domain::presented::PresentMode;
use crate::store::KeptDocument;

/// The folder that is meant by a `baseUri`: a `file:` URI (RFC 8089) of this machine, or a path.
pub fn folder_of_uri(text: &str) -> Result<PathBuf, PresentFault> {
    let refused = || PresentFault::Uri(text.to_owned());
    let Some((scheme, rest)) = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Ok(PathBuf::from(text));
    };
    if !scheme.eq_ignore_ascii_case("file") {
        // A folder may be called `a:b`.
        return if rest.starts_with("//") { Err(refused()) } else { Ok(PathBuf::from(text)) };
    }
    let path = match rest.strip_prefix("//") {
        Some(behind) => {
            let slash = behind.find('/').ok_or_else(refused)?;
            let (host, path) = behind.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(refused());
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(refused());
    }
    path_of(decoded(path)).ok_or_else(refused)
}

/// RFC 3986, §3.1; a single letter is a drive.
fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// With `%20` and the like as the bytes they stand for.
fn decoded(text: &str) -> Vec<u8> {
    let digit =
        |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let mut bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    while let [first, rest @ ..] = bytes {
        match (first, digit(rest.first()), digit(rest.get(1))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                bytes = &rest[2..];
            }
            _ => {
                out.push(*first);
                bytes = rest;
            }
        }
    }
    out
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on other systems a path is text")]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

impl Service {
    /// A folder that a client named, if the server may look in it.
    pub(super) fn base(&self, named: &Path) -> Result<PathBuf, PresentFault> {
        let base = self.roots().folder(Some(named))?;
        if base.is_dir() { Ok(base) } else { Err(PresentFault::NotAFolder(base)) }
    }

    /// The base of a document that is presented to, and what is to be said of it.
    pub(super) fn base_of(
        &self,
        current: Option<&KeptDocument>,
        given: Option<PathBuf>,
        mode: &PresentMode,
    ) -> Result<(PathBuf, Option<String>), PresentFault> {
        let root = match (current, mode) {
            (None, _) => return Ok((given.unwrap_or_else(|| self.roots().start().to_owned()), None)),
            (Some(current), PresentMode::Replace) => return Ok((given.unwrap_or_else(|| current.base.clone()), None)),
            (Some(current), PresentMode::Append | PresentMode::UpdateSection { .. }) => current.base.clone(),
        };
        match given {
            None => Ok((root, None)),
            Some(base) if base == root => Ok((root, None)),
            Some(base) if base.starts_with(&root) => {
                let (from, not) = (root.display(), base.display());
                let note = format!(
                    "All references of this document start from {from}, also those that were meant from {not}."
                );
                Ok((root, Some(note)))
            }
            Some(base) => Err(PresentFault::LeavesRoot { base, root }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_file_uri_or_a_path() {
        for (text, path) in [
            ("/srv/a b", "/srv/a b"),
            ("sub/folder", "sub/folder"),
            (".", "."),
            ("file:///srv/a%20b/%C3%A4", "/srv/a b/ä"),
            ("FILE://localhost/srv", "/srv"),
            ("file:/srv", "/srv"),
            ("file:///srv/100%", "/srv/100%"),
            ("/srv/100%20", "/srv/100%20"),
            ("odd:name", "odd:name"),
        ] {
            assert_eq!(folder_of_uri(text).unwrap(), PathBuf::from(path), "{text}");
        }
    }

    #[test]
    fn a_uri_of_something_else_is_refused() {
        for text in
            ["https://example.invalid/x", "file://server/share", "file://", "file:relative", "vscode-remote://wsl/home"]
        {
            let fault = folder_of_uri(text).unwrap_err();
            assert!(fault.to_string().contains("give a file:// URI or a path"), "{text}: {fault}");
        }
    }
}
