//! Resolves the destination of a link in a tree. Main types: [`LinkDestination`], [`FileIndex`].

use std::sync::Arc;

use ignore::gitignore::GitignoreBuilder;

use crate::domain::change::FileMode;
use crate::domain::path::RepoPath;
use crate::domain::percent;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::{TreeEntry, Workspace, WorkspaceError};

/// Extensions of files that links refer to as they are in the tree. Pages that exist only on a site (`.html`) are not included.
const FILES: &[&str] = &[
    "md", "markdown", "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "pdf", "mp4", "webm", "rs", "py",
    "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php",
    "swift", "sh", "ps1", "sql", "json", "yml", "yaml", "toml", "xml", "ini", "txt", "rst", "adoc", "csv", "proto",
    "ipynb", "nu", "lua",
];

/// Configuration files of site generators that turn each Markdown page into a folder.
const SITES: &[&[u8]] = &[
    b"mkdocs.yml",
    b"mkdocs.yaml",
    b"zensical.toml",
    b"docusaurus.config.js",
    b"docusaurus.config.ts",
    b"hugo.toml",
    b"hugo.yaml",
    b"astro.config.mjs",
    b"astro.config.ts",
];

/// The destination of a link within the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkDestination {
    /// Relative to the root; `None` for the file that has the link.
    pub(super) path: Option<RepoPath>,
    /// `true` if the extension is that of a file.
    pub(super) is_file: bool,
    /// The anchor, decoded.
    pub(super) fragment: Option<String>,
    /// The path as written, decoded.
    written: Vec<u8>,
}

impl LinkDestination {
    /// Parses a destination in the file `from`; `None` if it is not one in the tree, or is ambiguous.
    pub(super) fn of(from: &RepoPath, written: &str) -> Option<Self> {
        let (path, fragment) = match written.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment)),
            None => (written, None),
        };
        let fragment = fragment.and_then(|fragment| String::from_utf8(percent::decode(fragment).0).ok());
        let fragment = fragment.filter(|fragment| is_anchor(fragment));
        let path = path.split('?').next().unwrap_or(path);
        if path.is_empty() {
            return fragment.map(|fragment| Self {
                path: None,
                is_file: false,
                fragment: Some(fragment),
                written: Vec::new(),
            });
        }
        let odd =
            |c: char| c.is_control() || matches!(c, ':' | '\\' | '<' | '>' | '{' | '}' | '$' | '*' | '|' | '"' | '@');
        if path.starts_with('/') || path.contains(odd) || path.contains("...") || path.contains("path/to") {
            return None;
        }
        let decoded = percent::decode(path).0;
        let whole = join_path(from.folder(), &decoded)?;
        // Pages of a forge about a repository rather than files in it.
        let shown = whole.split(|byte| *byte == b'/').any(|part| matches!(part, b"blob" | b"tree" | b"raw" | b"wiki"));
        let path = RepoPath::from_bytes(&whole).ok().filter(|_| !shown)?;
        let is_file = !decoded.ends_with(b"/")
            && path.extension().is_some_and(|extension| FILES.contains(&extension.to_ascii_lowercase().as_str()));
        Some(Self { path: Some(path), is_file, fragment, written: decoded })
    }
}

/// Checks whether a fragment is the anchor of a heading rather than a special form of a page or a forge.
fn is_anchor(fragment: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || !c.is_ascii() || matches!(c, '-' | '_' | '.' | '+');
    let line = fragment.strip_prefix('L').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    fragment.chars().any(char::is_alphanumeric) && fragment.chars().all(plain) && !line
}

/// Resolves `written` to a path from the root; `None` if it leaves the tree.
fn join_path(folder: &[u8], written: &[u8]) -> Option<Vec<u8>> {
    let parts = |bytes: &'_ [u8]| bytes.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for part in parts(folder).into_iter().chain(parts(written)) {
        match part.as_slice() {
            b"" | b"." => {}
            b".." => drop(kept.pop()?),
            _ => kept.push(part),
        }
    }
    (!kept.is_empty()).then(|| kept.join(&b'/'))
}

/// The entry at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathEntry {
    File,
    Folder,
    /// No entry, except possibly one whose name differs in case.
    OtherCase(RepoPath),
    Missing,
    /// Unknown: it is excluded, ignored, or behind a symlink or a submodule.
    Unknown,
}

/// The files of one side.
pub(super) struct FileIndex<'a> {
    workspace: &'a dyn Workspace,
    files: Arc<[TreeEntry]>,
}

impl<'a> FileIndex<'a> {
    /// Lists it; `None` if that fails.
    pub(super) fn of(workspace: &'a dyn Workspace, cancel: &Cancel) -> Result<Option<Self>, CancelReason> {
        match workspace.files(cancel) {
            Ok(files) => Ok(Some(Self { workspace, files })),
            Err(WorkspaceError::Stopped(stopped)) => Err(stopped),
            Err(_) => Ok(None),
        }
    }

    fn at(&self, path: &[u8]) -> Option<&TreeEntry> {
        self.files.binary_search_by(|entry| entry.path.as_bytes().cmp(path)).ok().and_then(|at| self.files.get(at))
    }

    /// Looks up a path.
    pub(super) fn find(&self, path: &RepoPath) -> Result<PathEntry, CancelReason> {
        let bytes = path.as_bytes();
        if self.at(bytes).is_some() {
            return Ok(PathEntry::File);
        }
        let below = [bytes, b"/"].concat();
        let from = self.files.partition_point(|entry| entry.path.as_bytes() < below.as_slice());
        if self.files.get(from).is_some_and(|entry| entry.path.as_bytes().starts_with(&below)) {
            return Ok(PathEntry::Folder);
        }
        let mut above = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &bytes[..at]);
        let elsewhere = |folder: &[u8]| self.at(folder).is_some_and(|entry| entry.mode != FileMode::File);
        if above.any(elsewhere) || self.is_ignored(path)? {
            return Ok(PathEntry::Unknown);
        }
        match self.workspace.read(path) {
            Err(WorkspaceError::NotFound(_)) => {}
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            _ => return Ok(PathEntry::Unknown),
        }
        let other = self.files.iter().find(|entry| entry.path.as_bytes().eq_ignore_ascii_case(bytes));
        Ok(other.map_or(PathEntry::Missing, |entry| PathEntry::OtherCase(entry.path.clone())))
    }

    /// Checks whether the destination exists relative to a folder named like the page `from` without its extension, in a tree that has a
    /// site.
    pub(super) fn has_below_page(&self, from: &RepoPath, to: &LinkDestination) -> bool {
        let name = from.file_name().to_ascii_lowercase();
        if name.starts_with(b"readme.") || name.starts_with(b"index.") || name.starts_with(b"_index.") {
            return false;
        }
        let page = from.extension().and_then(|end| from.as_bytes().strip_suffix(end.as_bytes())?.strip_suffix(b"."));
        let path = page.and_then(|page| join_path(page, &to.written));
        path.is_some_and(|path| self.at(&path).is_some())
            && self.files.iter().any(|entry| SITES.contains(&entry.path.file_name()))
    }

    /// Checks whether git ignores the path, so that it may well exist where the file is used.
    fn is_ignored(&self, path: &RepoPath) -> Result<bool, CancelReason> {
        let Ok(text) = std::str::from_utf8(path.as_bytes()) else { return Ok(true) };
        let ends = std::iter::once(0).chain(text.match_indices('/').map(|(at, _)| at + 1));
        for end in ends {
            let Ok(list) = RepoPath::parse(&format!("{}.gitignore", &text[..end])) else { continue };
            if self.at(list.as_bytes()).is_none() {
                continue;
            }
            let rules = match self.workspace.read(&list) {
                Ok(rules) => rules,
                Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
                Err(_) => return Ok(true),
            };
            let mut builder = GitignoreBuilder::new("");
            for (_, line) in rules.all_lines() {
                if builder.add_line(None, line).is_err() {
                    return Ok(true);
                }
            }
            let Ok(rules) = builder.build() else { return Ok(true) };
            if rules.matched_path_or_any_parents(&text[end..], false).is_ignore() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::memory::MemoryTree;

    fn of(from: &str, written: &str) -> Option<(Option<String>, bool, Option<String>)> {
        let to = LinkDestination::of(&RepoPath::parse(from).unwrap(), written)?;
        Some((to.path.map(|path| path.display_name().into_owned()), to.is_file, to.fragment))
    }

    fn file(path: &str, fragment: Option<&str>) -> (Option<String>, bool, Option<String>) {
        (Some(path.to_owned()), true, fragment.map(str::to_owned))
    }

    #[test]
    fn a_destination_counts_from_the_folder_of_its_file() {
        assert_eq!(of("docs/a.md", "b.md#c-d"), Some(file("docs/b.md", Some("c-d"))));
        assert_eq!(of("docs/a.md", "../B%20c.PNG?raw=true"), Some(file("B c.PNG", None)));
        assert_eq!(of("docs/a.md", "./x/../y.rs#L3-L4"), Some(file("docs/y.rs", None)));
        assert_eq!(of("a.md", "#%E5%AE%89"), Some((None, false, Some("安".to_owned()))));
        assert_eq!(of("a.md", "docs/guide").map(|to| to.1), Some(false));
        assert_eq!(of("a.md", "docs.md/").map(|to| to.1), Some(false));
    }

    #[test]
    fn what_may_be_read_otherwise_is_no_destination() {
        for written in [
            "",
            "#",
            "#/route",
            "#L10",
            "/a.md",
            "https://a/b.md",
            "mailto:a@b.md",
            "../../a.md",
            "../blob/main/a.md",
            "{{ a }}.md",
            "<a>.md",
        ] {
            assert_eq!(of("docs/a.md", written), None, "{written}");
        }
    }

    #[test]
    fn a_tree_tells_what_is_missing_from_what_nobody_can_know() {
        let mut memory = MemoryTree::default();
        for (path, text) in
            [("docs/A.md", "x"), (".gitignore", "dist/\n*.log.txt\n"), ("docs/.gitignore", "/made.md\n")]
        {
            memory.insert(RepoPath::parse(path).unwrap(), text);
        }
        let tree = FileIndex::of(&memory, &Cancel::never()).unwrap().unwrap();
        let find = |path: &str| tree.find(&RepoPath::parse(path).unwrap()).unwrap();
        assert_eq!(find("docs/A.md"), PathEntry::File);
        assert_eq!(find("docs"), PathEntry::Folder);
        assert_eq!(find("docs/a.md"), PathEntry::OtherCase(RepoPath::parse("docs/A.md").unwrap()));
        assert_eq!(find("docs/b.md"), PathEntry::Missing);
        assert_eq!(find("made.md"), PathEntry::Missing);
        for ignored in ["dist/a.md", "docs/dist/a.md", "docs/made.md", "docs/x.log.txt"] {
            assert_eq!(find(ignored), PathEntry::Unknown, "{ignored}");
        }
    }
}
