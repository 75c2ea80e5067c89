//! Paths inside the reviewed tree and their one spelling.
//!
//! Main type: [`RepoPath`]. Paths of this machine (`std::path::Path`) do not belong here.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{MASK_PREFIX, mask, secrets_in};

/// A path relative to the root of the reviewed tree: bytes, `/`-separated, with no way out of the tree.
///
/// Here paths enter, so here the secrets in them are masked: two paths are equal that read the same, and everything that compares, keeps or shows one
/// sees it masked. Only who reads the file asks for what git stores ([`stored`](Self::stored)); a masked path that came as text does not know it,
/// and is looked up in the list of files.
///
/// It is spelled as it is where that is plain UTF-8, and in git's C quoting (`"a\303\244"`) where it has bytes that are not
/// UTF-8, control characters, or characters that change the direction of text. A plain path that begins with `"` is quoted too,
/// so that the spelling is reversible ([`RepoPath::parse`]).
#[derive(Clone)]
pub struct RepoPath {
    /// Masked.
    bytes: Arc<[u8]>,
    /// As git stores it, where that is another; behind one more pointer, for lists of files are long and hardly any has one.
    stored: Option<Arc<Box<[u8]>>>,
}

/// The most bytes of a path: what Windows opens at most, and eight times what Linux does.
const LONGEST: usize = 32_767;

/// The reason why some bytes are not a path of the reviewed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing was given.
    #[error("the path is empty")]
    Empty,
    /// It starts at the root of the machine, or at a drive.
    #[error("absolute paths are refused; give a path relative to the repository root")]
    Absolute,
    /// It has a `..` component.
    #[error("the path leaves the reviewed tree (`..`)")]
    Leaves,
    /// It goes through git's own folder.
    #[error("git's own folder is not part of the reviewed tree")]
    GitFolder,
    /// It has a `.` or empty component, or a NUL byte.
    #[error("the path has an empty component, a `.` component or a NUL byte")]
    Malformed,
    /// It is longer than any system can open.
    #[error("the path has more than {LONGEST} bytes, and no checkout could hold it")]
    TooLong,
    /// It begins with `"` but is not C quoting.
    #[error("the quoted path does not end, or has an unknown escape")]
    BadQuoting,
}

impl RepoPath {
    /// Checks the bytes of a path, as git stores them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        Self::check(bytes)?;
        Ok(match masked(bytes) {
            Cow::Borrowed(bytes) => Self { bytes: bytes.into(), stored: None },
            Cow::Owned(masked) => Self { bytes: masked.into(), stored: Some(Arc::new(bytes.into())) },
        })
    }

    /// Checks whether the bytes are a path, without keeping them.
    pub fn check(bytes: &[u8]) -> Result<(), PathError> {
        let first = bytes.first().ok_or(PathError::Empty)?;
        if bytes.len() > LONGEST {
            return Err(PathError::TooLong);
        }
        if *first == b'/'
            || (bytes.get(1) == Some(&b':') && first.is_ascii_alphabetic() && bytes.get(2) == Some(&b'\\'))
        {
            return Err(PathError::Absolute);
        }
        // Every file of a tree comes through here.
        if is_plain(bytes) {
            return Ok(());
        }
        bytes.split(|byte| *byte == b'/').try_for_each(check_component)?;
        if bytes.contains(&0) { Err(PathError::Malformed) } else { Ok(()) }
    }

    /// Reads a spelling back, and forgives what people and models write: a leading `./`, doubled and trailing slashes.
    pub fn parse(spelled: &str) -> Result<Self, PathError> {
        let bytes = if spelled.starts_with('"') { unquote(spelled)? } else { spelled.as_bytes().to_vec() };
        if bytes.first() == Some(&b'/') {
            return Err(PathError::Absolute);
        }
        let kept: Vec<&[u8]> =
            bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
        Self::from_bytes(&kept.join(&b'/'))
    }

    /// The bytes, secrets masked.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as git stores them, to read the file with and for nothing else; masked if the path came masked.
    pub fn stored(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| stored)
    }

    /// Checks whether it holds a secret, or came masked.
    pub fn is_masked(&self) -> bool {
        self.stored.is_some() || self.was_masked()
    }

    /// Checks whether it came masked: only a list of files says where its file is.
    pub fn was_masked(&self) -> bool {
        self.stored.is_none() && memchr::memmem::find(&self.bytes, MASK_PREFIX.as_bytes()).is_some()
    }

    /// The one spelling used on every surface (see the type).
    pub fn display_name(&self) -> Cow<'_, str> {
        quoted(&self.bytes)
    }

    /// The last component.
    pub fn file_name(&self) -> &[u8] {
        self.bytes.rsplit(|byte| *byte == b'/').next().unwrap_or(&self.bytes)
    }

    /// Returns the part after the last dot of the file name; a leading dot does not count.
    pub fn extension(&self) -> Option<&str> {
        let name = self.file_name();
        let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0)?;
        std::str::from_utf8(&name[dot + 1..]).ok()
    }

    /// The folder that holds it, without a trailing slash; empty at the root.
    pub fn folder(&self) -> &[u8] {
        self.bytes.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &self.bytes[..slash])
    }
}

impl PartialEq for RepoPath {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for RepoPath {}

impl Hash for RepoPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

impl PartialOrd for RepoPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RepoPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

/// As it is spelled.
impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.display_name())
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spelled = String::deserialize(deserializer)?;
        Self::parse(&spelled).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display_name())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The shortest secret in a path has so many bytes.
const SHORTEST_VALUE: usize = 16;

/// Checks whether a part of a path has a secret. Every file of a tree comes through here, and most names are short.
fn has_secret(bytes: &[u8]) -> bool {
    let is_secret = |text: &str| text.len() >= SHORTEST_VALUE && !secrets_in(text).is_empty();
    let is_masked = |part: &[u8]| part.utf8_chunks().any(|chunk| is_secret(chunk.valid()));
    bytes.len() >= SHORTEST_VALUE && parts(bytes).filter(|part| part.len() >= SHORTEST_VALUE).any(is_masked)
}

/// The bytes of a path with the secrets in it masked; none goes over a `/`, so that a path has as many folders as before.
fn masked(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !has_secret(bytes) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::new();
    for chunk in bytes.utf8_chunks() {
        let parts: Vec<String> = chunk.valid().split('/').map(|part| mask(part).text).collect();
        out.extend_from_slice(parts.join("/").as_bytes());
        out.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(out)
}

/// The parts of a path between its `/`.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    memchr::memchr_iter(b'/', bytes).chain([bytes.len()]).map(move |end| {
        let part = &bytes[from..end];
        from = end + 1;
        part
    })
}

/// The spelling of path bytes (see [`RepoPath`]), for those that are not kept as one; masked as they are.
pub fn display_path(bytes: &[u8]) -> Cow<'_, str> {
    match masked(bytes) {
        Cow::Borrowed(bytes) => quoted(bytes),
        Cow::Owned(masked) => Cow::Owned(quoted(&masked).into_owned()),
    }
}

/// Speller of paths that follow each other in their order. It searches a folder for secrets once, not for each of its files.
#[derive(Debug, Default)]
pub struct PathSpeller {
    /// The folder of the last path without a secret, with the `/` at its end.
    clean: Vec<u8>,
}

impl PathSpeller {
    /// Spells path bytes as [`display_path`] does.
    pub fn spell<'p>(&mut self, path: &'p [u8]) -> Cow<'p, str> {
        let known = if path.starts_with(&self.clean) { self.clean.len() } else { 0 };
        if has_secret(&path[known..]) {
            return display_path(path);
        }
        let folder = &path[..memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)];
        if self.clean != folder {
            self.clean.clear();
            self.clean.extend_from_slice(folder);
        }
        quoted(path)
    }
}

fn quoted(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all paths are plain ASCII, and looking at bytes, many at once, is much quicker than looking at characters.
    let ascii = bytes.iter().fold(true, |ascii, byte| ascii & matches!(byte, b' '..=b'~'));
    match std::str::from_utf8(bytes) {
        Ok(plain) if ascii && bytes.first() != Some(&b'"') => Cow::Borrowed(plain),
        Ok(plain) if !plain.starts_with('"') && !plain.chars().any(needs_quoting) => Cow::Borrowed(plain),
        _ => Cow::Owned(in_quotes(bytes)),
    }
}

/// The bytes that a spelling stands for (undoes [`display_path`]); what begins with `"` and is no C quoting stands for itself.
pub fn display_bytes(spelled: &str) -> Cow<'_, [u8]> {
    let quoted = if spelled.starts_with('"') { unquote(spelled).ok() } else { None };
    quoted.map_or(Cow::Borrowed(spelled.as_bytes()), Cow::Owned)
}

/// Checks whether no component is empty or begins with a dot, and no byte is NUL. Never leaves early, so that many bytes are compared at once.
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch for each byte")]
fn is_plain(bytes: &[u8]) -> bool {
    let ([first, rest @ ..], Some(last)) = (bytes, bytes.last()) else { return false };
    let pairs = bytes.iter().zip(rest);
    let odd = pairs.fold(false, |odd, (a, b)| odd | (*b == 0) | ((*a == b'/') & ((*b == b'.') | (*b == b'/'))));
    !odd && !matches!(first, b'.' | b'/' | 0) && *last != b'/'
}

fn check_component(component: &[u8]) -> Result<(), PathError> {
    match component {
        b".." => Err(PathError::Leaves),
        b"" | b"." => Err(PathError::Malformed),
        _ if component.eq_ignore_ascii_case(b".git") => Err(PathError::GitFolder),
        _ => Ok(()),
    }
}

fn needs_quoting(c: char) -> bool {
    c.is_control() || super::text::is_invisible(c)
}

/// Git's C quoting of path bytes (`quote.c` in git; every byte from 0x80 up as three octal digits, as with `core.quotePath`); secrets masked.
pub fn quote(bytes: &[u8]) -> String {
    in_quotes(&masked(bytes))
}

fn in_quotes(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0x0b => out.push_str("\\v"),
            0x0c => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// Undoes [`quote`]; also what `git diff` prints in its headers.
pub fn unquote(quoted: &str) -> Result<Vec<u8>, PathError> {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(PathError::BadQuoting)?;
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            return Err(PathError::BadQuoting);
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().ok_or(PathError::BadQuoting)? {
            b'a' => 0x07,
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'r' => b'\r',
            same @ (b'"' | b'\\') => same,
            high @ b'0'..=b'3' => {
                let mut value = high - b'0';
                for _ in 0..2 {
                    match bytes.next() {
                        Some(digit @ b'0'..=b'7') => value = value << 3 | (digit - b'0'),
                        _ => return Err(PathError::BadQuoting),
                    }
                }
                value
            }
            _ => return Err(PathError::BadQuoting),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ways_out_of_the_tree_are_refused() {
        for (path, fault) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("C:\\Windows", PathError::Absolute),
            ("a/../../b", PathError::Leaves),
            (".git/config", PathError::GitFolder),
            ("a/.GIT/hooks", PathError::GitFolder),
            ("a\0b", PathError::Malformed),
        ] {
            assert_eq!(RepoPath::from_bytes(path.as_bytes()), Err(fault), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_speller_spells_as_if_each_path_were_the_only_one(
            paths in proptest::collection::vec(proptest::collection::vec(prop_oneof![
                Just("src".to_owned()), Just("a-long-name-of-a-folder".to_owned()), Just("token=q9WmZ4kT8vB2xN6rLs7".to_owned()),
                Just("ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb".to_owned()), Just("AKIAQ4X7WLMN2PVR6TZY".to_owned()), "[a\"\u{e4}\n]{1,3}",
            ], 1..4), 0..8),
        ) {
            let mut speller = PathSpeller::default();
            for path in paths.iter().map(|parts| parts.join("/")) {
                prop_assert_eq!(speller.spell(path.as_bytes()), display_path(path.as_bytes()), "{:?}", path);
            }
        }
    }

    #[test]
    fn components_are_looked_at_wherever_they_stand() {
        for (path, answer) in [
            (".gitignore", Ok(())),
            ("a/.github/b", Ok(())),
            ("a/b.c/..d", Ok(())),
            ("a//b", Err(PathError::Malformed)),
            ("a/", Err(PathError::Malformed)),
            ("a/.", Err(PathError::Malformed)),
            ("\0", Err(PathError::Malformed)),
            ("a/..", Err(PathError::Leaves)),
            ("a/b/.git", Err(PathError::GitFolder)),
        ] {
            assert_eq!(RepoPath::check(path.as_bytes()), answer, "{path:?}");
        }
    }

    #[test]
    fn people_may_write_a_path_loosely() {
        assert_eq!(RepoPath::parse("./src//a.rs/").unwrap().display_name(), "src/a.rs");
        assert_eq!(RepoPath::parse("/src/a.rs"), Err(PathError::Absolute));
    }

    #[test]
    fn bytes_that_are_not_text_are_spelled_as_git_does() {
        let path = RepoPath::from_bytes(b"d/\xff \"x\"\n").unwrap();
        assert_eq!(path.display_name(), "\"d/\\377 \\\"x\\\"\\n\"");
        assert_eq!(RepoPath::from_bytes("grüße.txt".as_bytes()).unwrap().display_name(), "grüße.txt");
    }

    #[test]
    fn a_direction_override_in_a_name_is_made_visible() {
        assert_eq!(RepoPath::from_bytes("a\u{202e}b".as_bytes()).unwrap().display_name(), "\"a\\342\\200\\256b\"");
    }

    #[test]
    fn a_secret_in_a_path_is_seen_by_no_one_but_who_reads_the_file() {
        let token = format!("ghp_{}", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAb");
        let stored = format!("d-{token}/a\u{e9}.py");
        let path = RepoPath::parse(&stored).unwrap();
        assert_eq!(path.display_name(), "d-[masked:github-token]/a\u{e9}.py");
        assert_eq!((path.stored(), path.is_masked()), (stored.as_bytes(), true));
        let read_back = RepoPath::parse(&path.display_name()).unwrap();
        assert_eq!((&read_back, read_back.is_masked()), (&path, true));
        assert_eq!(serde_json::to_string(&path).unwrap(), "\"d-[masked:github-token]/a\u{e9}.py\"");
        let odd = [b"\xff", stored.as_bytes()].concat();
        let shown = [display_path(&odd).into_owned(), format!("{:?}", RepoPath::from_bytes(&odd).unwrap())];
        assert!(shown.iter().all(|shown| shown.contains("[masked:") && !shown.contains(&token[4..])), "{shown:?}");
        assert!(!RepoPath::parse("src/a_module_with_a_rather_long_name.rs").unwrap().is_masked());
    }

    proptest! {
        #[test]
        fn the_spelling_is_reversible(bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            if let Ok(path) = RepoPath::from_bytes(&bytes) {
                prop_assert_eq!(RepoPath::parse(&path.display_name()).unwrap(), path);
            }
            let spelled = display_path(&bytes).into_owned();
            prop_assert_eq!(display_bytes(&spelled), bytes.as_slice());
        }
    }
}
