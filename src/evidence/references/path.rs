//! Resolves paths of references to paths of the tree: joined to the base, never leading out of the tree.

use super::ReferenceBase;
use crate::domain::path::{PathError, RepoPath, display_path};

/// A path of the tree that a reference may mean.
pub(super) struct PathCandidate {
    pub(super) path: RepoPath,
    /// `true` if it is the path as written, resolved from the base.
    pub(super) as_written: bool,
}

/// Returns the possible paths, the likeliest first; never empty.
pub(super) fn candidates(written: &[u8], base: &ReferenceBase<'_>) -> Result<Vec<PathCandidate>, String> {
    if is_absolute(written) {
        let inside = base.root.and_then(|root| path_below_root(written, root.as_os_str().as_encoded_bytes()));
        let path =
            inside.ok_or("absolute paths outside of the repository are refused; give one relative to baseUri")?;
        let path = join(b"", path).map_err(|error| error.to_string())?;
        return Ok(vec![PathCandidate { path, as_written: false }]);
    }
    let from_base = join(base.folder, written);
    let from_root = if base.folder.is_empty() { None } else { join(b"", written).ok() };
    match (from_base, from_root) {
        (Err(error), None) => Err(error.to_string()),
        (from_base, from_root) => {
            let mut paths: Vec<PathCandidate> =
                from_base.into_iter().map(|path| PathCandidate { path, as_written: true }).collect();
            paths.extend(from_root.map(|path| PathCandidate { path, as_written: false }));
            Ok(paths)
        }
    }
}

/// Strips what prevents a path from being one of the tree: leading slashes, drives and `..`.
pub(super) fn parse_relative(written: &[u8]) -> Option<RepoPath> {
    let is_name = |part: &&[u8]| !matches!(*part, b"" | b"." | b".." | b"~") && !part.ends_with(b":");
    let kept: Vec<&[u8]> = written.split(|byte| *byte == b'/').filter(is_name).collect();
    RepoPath::from_bytes(&kept.join(&b'/')).ok()
}

/// Returns `path` relative to the folder.
pub(super) fn relative_to_base(path: &RepoPath, folder: &[u8]) -> String {
    if folder.is_empty() {
        return path.display_name().into_owned();
    }
    let from: Vec<&[u8]> = folder.split(|byte| *byte == b'/').collect();
    let to: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = from.len() - shared;
    let mut written = b"../".repeat(up);
    written.extend(to[shared..].join(&b'/'));
    display_path(&written).into_owned()
}

fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/") || matches!(path, [drive, b':', b'/', ..] if drive.is_ascii_alphabetic())
}

/// Returns the part of an absolute path below the root.
fn path_below_root<'p>(path: &'p [u8], root: &[u8]) -> Option<&'p [u8]> {
    let mut root: Vec<u8> =
        root.iter().map(|byte| if cfg!(windows) && *byte == b'\\' { b'/' } else { *byte }).collect();
    while root.last() == Some(&b'/') {
        root.pop();
    }
    path.strip_prefix(root.as_slice())?.strip_prefix(b"/")
}

/// Resolves `..` and `.`, but never above the root.
fn join(folder: &[u8], path: &[u8]) -> Result<RepoPath, PathError> {
    let mut parts: Vec<&[u8]> = folder.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop().ok_or(PathError::Leaves)?;
            }
            part => parts.push(part),
        }
    }
    RepoPath::from_bytes(&parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::path::display_bytes;
    use std::path::Path;

    fn paths(written: &str, folder: &str) -> Result<Vec<String>, String> {
        let base = ReferenceBase { folder: folder.as_bytes(), root: Some(Path::new("/w/app")) };
        Ok(candidates(&display_bytes(written), &base)?
            .into_iter()
            .map(|candidate| candidate.path.display_name().into_owned())
            .collect())
    }

    #[test]
    fn paths_start_from_the_base_or_the_root() {
        assert_eq!(paths("./src//a.rs", "").unwrap(), ["src/a.rs"]);
        assert_eq!(paths("src/a.rs", "web").unwrap(), ["web/src/a.rs", "src/a.rs"]);
        assert_eq!(paths("../a.rs", "web").unwrap(), ["a.rs"]);
        assert_eq!(paths("/w/app/src/a.rs", "web").unwrap(), ["src/a.rs"]);
    }

    #[test]
    fn no_path_leaves_the_tree() {
        for (written, folder) in [
            ("../a", ""),
            ("../../a", "web"),
            ("a/../../../b", "web"),
            ("/etc/passwd", ""),
            ("/w/apple/a", ""),
            ("/w/app/../x", ""),
            (".git/config", ""),
            ("x/.git/config", "web"),
            (".", ""),
            ("c:/x", ""),
        ] {
            assert!(paths(written, folder).is_err(), "{written} from {folder:?}: {:?}", paths(written, folder));
        }
    }

    #[test]
    fn a_path_is_written_from_the_base() {
        let from = |path: &str, folder: &str| relative_to_base(&RepoPath::parse(path).unwrap(), folder.as_bytes());
        assert_eq!(from("web/src/a.rs", "web"), "src/a.rs");
        assert_eq!(from("src/a.rs", "web/ui"), "../../src/a.rs");
        assert_eq!(from("web/a.rs", "web/ui"), "../a.rs");
        assert_eq!(from("web", "web"), "../web");
        assert_eq!(from("a.rs", ""), "a.rs");
        assert_eq!(from("\"a\\377.rs\"", "web"), "\"../a\\377.rs\"");
        assert_eq!(paths("\"../a\\377.rs\"", "web").unwrap(), ["\"a\\377.rs\""]);
        assert_eq!(paths("\"/w/app/a\\377.rs\"", "web").unwrap(), ["\"a\\377.rs\""]);
        assert_eq!(parse_relative(b"/etc/../c:/a.rs").unwrap().display_name(), "etc/a.rs");
    }
}
