//! Resolves the URIs and regions of a report to paths and lines of the tree. Main functions: [`resolve_path`], [`region_lines`].

use super::wire::{LenientItem, SarifArtifactLocation, SarifRegion, SarifRun, item_at};
use crate::domain::path::RepoPath;
use crate::domain::percent::decode;
use crate::domain::place::LineRange;

/// Maximum length of a chain of URI bases; longer ones are circular.
const DEEPEST: usize = 8;

/// Resolves a location to a path; `None` if it is not a file of the repository.
///
/// `roots` are the local folders that correspond to the repository's root, in bytes, without a trailing slash. What is relative to a base
/// that the report does not define (`%SRCROOT%`) is relative to that root.
pub(super) fn resolve_path(location: &SarifArtifactLocation, run: &SarifRun, roots: &[Vec<u8>]) -> Option<RepoPath> {
    let by_index = || item_at(run.artifacts.as_ref(), location.index)?.location.as_ref();
    let location = if location.uri.is_some() { location } else { by_index()? };
    let mut uri = FileUri::of(location.uri.as_deref()?)?;
    let mut base = location.uri_base_id.as_deref();
    for _ in 0..DEEPEST {
        let Some(id) = base.filter(|_| !uri.is_absolute) else { break };
        let known = run.original_uri_base_ids.as_ref().and_then(|bases| bases.get(id));
        let Some(LenientItem::Read(location)) = known else { break };
        if let Some(text) = location.uri.as_deref() {
            uri = uri.below(&FileUri::of(text)?);
        }
        base = location.uri_base_id.as_deref();
    }
    let bytes = if uri.is_absolute {
        let inside = |root: &Vec<u8>| uri.bytes.strip_prefix(root.as_slice())?.strip_prefix(b"/");
        roots.iter().find_map(inside)?
    } else {
        &uri.bytes
    };
    RepoPath::from_bytes(&normalize(bytes)?).ok()
}

/// A path taken from a URI.
struct FileUri {
    bytes: Vec<u8>,
    is_absolute: bool,
}

impl FileUri {
    /// Parses a URI; `None` if it is not a local file: another scheme or another host.
    fn of(text: &str) -> Option<Self> {
        let lower = text.get(..5).map(str::to_ascii_lowercase);
        let path = if lower.as_deref() == Some("file:") {
            let rest = &text[5..];
            match rest.strip_prefix("//") {
                Some(rest) => {
                    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                    (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some(path)?
                }
                None => rest,
            }
        } else {
            let scheme = text.split_once(':').map(|(scheme, _)| scheme);
            let is_scheme = |scheme: &str| {
                // A single letter is a drive.
                scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            };
            if scheme.is_some_and(is_scheme) {
                return None;
            }
            text
        };
        let (mut bytes, _) = decode(path);
        // Some tools write Windows paths unencoded.
        bytes.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        let is_drive =
            |bytes: &[u8]| bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/';
        if bytes.first() == Some(&b'/') && is_drive(&bytes[1..]) {
            bytes.remove(0);
        }
        let is_absolute = bytes.first() == Some(&b'/') || is_drive(&bytes);
        (!bytes.contains(&0)).then_some(Self { bytes, is_absolute })
    }

    /// Joins the path to a folder.
    fn below(&self, folder: &Self) -> Self {
        let folder_bytes = folder.bytes.strip_suffix(b"/").unwrap_or(&folder.bytes);
        let joined = if folder_bytes.is_empty() && !folder.is_absolute {
            self.bytes.clone()
        } else {
            [folder_bytes, self.bytes.as_slice()].join(&b'/')
        };
        Self { bytes: joined, is_absolute: folder.is_absolute }
    }
}

/// Removes `.`, `..` and doubled slashes; `None` if the path leads out.
fn normalize(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in bytes.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                kept.pop()?;
            }
            part => kept.push(part),
        }
    }
    (!kept.is_empty()).then(|| kept.join(&b'/'))
}

/// Converts a region to lines; `None` if it names none. A region that ends before the first character of a line does not include it
/// (§3.30.5).
pub(super) fn region_lines(region: Option<&SarifRegion>) -> Option<LineRange> {
    let region = region?;
    let line = |number: i64| u32::try_from(number).ok().filter(|number| *number > 0);
    let start = line(region.start_line?)?;
    let end = region.end_line.and_then(line).unwrap_or(start).max(start);
    let end = if region.end_column == Some(1) && end > start { end - 1 } else { end };
    LineRange::new(start, end).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(uri: &str, base: Option<&str>, bases: &str) -> Option<String> {
        let run: SarifRun = serde_json::from_str(&format!(r#"{{"originalUriBaseIds": {bases}}}"#)).unwrap();
        let location =
            SarifArtifactLocation { uri: Some(uri.to_owned()), uri_base_id: base.map(str::to_owned), index: None };
        resolve_path(&location, &run, &[b"/home/me/my repo".to_vec()]).map(|path| path.to_string())
    }

    #[test]
    fn files_of_the_repository_are_found_however_they_are_written() {
        for uri in [
            "src/a%20b.rs",
            "./src//a b.rs",
            "x/../src/a b.rs",
            "src\\a b.rs",
            "file:///home/me/my%20repo/src/a%20b.rs",
            "file://localhost/home/me/my repo/src/a b.rs",
            "/home/me/my repo/src/a b.rs",
            "FILE:/home/me/my repo/src/a b.rs",
        ] {
            assert_eq!(found(uri, None, "{}").as_deref(), Some("src/a b.rs"), "{uri}");
        }
        assert_eq!(found("a.rs", Some("%SRCROOT%"), "{}").as_deref(), Some("a.rs"));
        let bases = r#"{"S": {"uri": "src/", "uriBaseId": "R"}, "R": {"uri": "file:///home/me/my%20repo/"}, "L": {"uri": "x/", "uriBaseId": "L"}}"#;
        assert_eq!(found("a.rs", Some("S"), bases).as_deref(), Some("src/a.rs"));
        assert_eq!(found("a.rs", Some("R"), bases).as_deref(), Some("a.rs"));
        assert!(found("a.rs", Some("L"), bases).is_some_and(|path| path.ends_with("x/a.rs")));
    }

    #[test]
    fn what_is_no_file_of_the_repository_is_none() {
        for uri in [
            "",
            ".",
            "../a.rs",
            "src/../../a.rs",
            "%2e%2e/a.rs",
            "/etc/passwd",
            "/home/me/my repository/a.rs",
            "file://elsewhere/home/me/my repo/a.rs",
            "https://a.invalid/a.rs",
            "C:/me/a.rs",
            "a%00b",
            ".git/config",
            "/home/me/my repo/../../../etc/passwd",
        ] {
            assert_eq!(found(uri, None, "{}"), None, "{uri}");
        }
    }

    #[test]
    fn a_region_is_lines() {
        let lines = |region: &str| {
            let region: SarifRegion = serde_json::from_str(region).unwrap();
            region_lines(Some(&region)).map(|lines| (lines.start(), lines.end()))
        };
        assert_eq!(lines(r#"{"startLine": 3}"#), Some((3, 3)));
        assert_eq!(lines(r#"{"startLine": 3, "endLine": 5, "endColumn": 1}"#), Some((3, 4)));
        assert_eq!(lines(r#"{"startLine": 3, "endLine": 1}"#), Some((3, 3)));
        assert_eq!(lines(r#"{"startLine": 0}"#), None);
        assert_eq!(lines(r#"{"startLine": 9999999999}"#), None);
        assert_eq!(lines("{}"), None);
    }
}
