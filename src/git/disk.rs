//! The contents of files on the disk, as git would store them. Main function: [`read`].
//!
//! Line ends and encodings are converted; programs named in attributes are never run.

use std::io;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, AttrValue};

use crate::domain::change::FileMode;
use crate::domain::id::BlobId;
use crate::domain::path::RepoPath;
use crate::sys::charset;
use crate::sys::contained_folder::{Kind, ReadFile};
use crate::sys::repo::{Repo, object_id};

/// A larger file that the library takes for changed is not read to see whether it is.
pub(super) const MAX_EQUAL: u64 = 128 << 20;

/// A path of the tree as one of this machine.
#[cfg(unix)]
pub(super) fn native(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(path))
}

#[cfg(not(unix))]
pub(super) fn native(path: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(path).into_owned())
}

/// The size of a file on the disk.
pub(super) fn size(repo: &Repo, path: &RepoPath) -> io::Result<u64> {
    match repo.checkout()?.kind(path.stored())? {
        Kind::File { size, .. } => Ok(size),
        Kind::Link | Kind::Folder | Kind::Special => Ok(0),
    }
}

/// The contents of a path on the disk, as git would store them. A link's are the place it points to.
///
/// No component but the last may be a link: the file would lie outside the tree.
pub(super) fn read(repo: &Repo, path: &RepoPath, mode: FileMode) -> io::Result<Vec<u8>> {
    let checkout = repo.checkout()?;
    if mode == FileMode::Link {
        return checkout.read_link(path.stored());
    }
    let mut bytes = Vec::new();
    let length = match checkout.read(path.stored(), MAX_EQUAL, &mut bytes)? {
        ReadFile::Bytes(read) => read.len(),
        ReadFile::TooLarge(size) => return Err(io::Error::other(format!("it has {size} bytes"))),
        ReadFile::NotPlain(_) => return Err(io::Error::other("it is not a plain file any more")),
    };
    bytes.truncate(length);
    Ok(as_stored(repo, &native(path.stored()), bytes))
}

/// Undoes what a checkout does to text (`convert_to_git` in git's convert.c): encodings, then line ends.
fn as_stored(repo: &Repo, path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let attribute = |name: &str| {
        let value = repo.raw().get_attr_bytes(path, name, AttrCheckFlags::FILE_THEN_INDEX).ok().flatten();
        match AttrValue::from_bytes(value) {
            AttrValue::True => Some("true".to_owned()),
            AttrValue::False => Some("false".to_owned()),
            AttrValue::String(text) => Some(text.to_owned()),
            AttrValue::Bytes(_) | AttrValue::Unspecified => None,
        }
    };
    let bytes = match attribute("working-tree-encoding") {
        Some(label) if label != "true" && label != "false" => {
            let label = if bytes.starts_with(b"\xfe\xff") { "utf-16be" } else { label.as_str() };
            charset::decode_as(Some(label.as_bytes()), &bytes).trim_start_matches('\u{feff}').to_owned().into_bytes()
        }
        _ => bytes,
    };
    if memchr::memmem::find(&bytes, b"\r\n").is_none() {
        return bytes;
    }
    let text = attribute("text").or_else(|| attribute("crlf"));
    let line_ends = attribute("eol");
    let automatic = || {
        let setting = repo.raw().config().and_then(|config| config.get_string("core.autocrlf"));
        setting.is_ok_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "input" | "yes" | "on" | "1"))
    };
    let (convert, only_text) = match text.as_deref() {
        Some("false") => (false, false),
        Some("auto") => (true, true),
        Some(_) => (true, false),
        None if line_ends.is_some() => (true, false),
        None => (automatic(), true),
    };
    if !convert || (only_text && (charset::is_binary(&bytes) || stored_with_returns(repo, path))) {
        return bytes;
    }
    without_returns(&bytes)
}

/// Checks whether the index holds the file with carriage returns: then git leaves them unless it is told that the file is text.
fn stored_with_returns(repo: &Repo, path: &Path) -> bool {
    let Ok(index) = repo.raw().index() else { return false };
    let Some(entry) = index.get_path(path, 0) else { return false };
    repo.find_blob(BlobId(object_id(entry.id)))
        .is_ok_and(|blob| memchr::memmem::find(blob.content(), b"\r\n").is_some())
}

fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, b"\r\n") {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_returns_before_line_feeds_go() {
        assert_eq!(without_returns(b"a\r\nb\rc\r\r\n\r\n"), b"a\nb\rc\r\n\n");
    }
}
