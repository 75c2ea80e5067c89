//! Containment of local paths in folders. Main functions: [`path_inside`], and [`path_below`], which is lexical only.

use std::path::{Component, Path, PathBuf};

/// The path below `root` with slashes, where `path` is inside it by its words or by what is on the disk.
///
/// Both count: a link of the checkout may lead out of it, and one from outside may lead in; either way it is the checkout that says
/// what is read.
pub fn path_inside(path: &Path, root: &Path) -> Option<Vec<u8>> {
    let absolute = std::path::absolute(path).ok()?;
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let by_words = normalize(&absolute);
    // The system goes up from where a link leads, the words from where it stands.
    let on_disk = [real(&by_words), real(&absolute)];
    let below = by_words.strip_prefix(root).or_else(|_| by_words.strip_prefix(&real_root)).ok();
    let below = below.or_else(|| on_disk.iter().find_map(|path| path.strip_prefix(&real_root).ok()))?;
    Some(joined(below))
}

/// The path below `root` with slashes, by its words alone: nothing is looked up on the way to `path`. The root counts as written and as on disk.
pub fn path_below(path: &Path, root: &Path) -> Option<Vec<u8>> {
    let path = normalize(path);
    let below = path.strip_prefix(normalize(root)).ok().map(Path::to_owned);
    let below = below.or_else(|| path.strip_prefix(root.canonicalize().ok()?).ok().map(Path::to_owned))?;
    Some(joined(&below))
}

/// The parts of a relative path with slashes between them.
fn joined(below: &Path) -> Vec<u8> {
    let parts: Vec<&[u8]> = below.components().map(|part| part.as_os_str().as_encoded_bytes()).collect();
    parts.join(&b'/')
}

/// Without `.` and `..`, by the words alone.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// With the links of as much of it as exists followed.
fn real(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let Some((ancestor, found)) = existing else { return path.to_owned() };
    path.strip_prefix(ancestor).map_or_else(|_| path.to_owned(), |rest| found.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_alone_lead_below_a_folder_and_never_out_of_it() {
        let root = Path::new("/nowhere/project/");
        let at = |path: &str| path_below(Path::new(path), root).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(at("/nowhere/project/src//./a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(at("/nowhere/x/../project/b/../a.rs").as_deref(), Some("a.rs"));
        assert_eq!(at("//nowhere/project").as_deref(), Some(""));
        for elsewhere in ["/nowhere/project2/a", "/nowhere/project/../a", "/", "/nowhere/project/a/../../b", "a"] {
            assert_eq!(at(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn what_is_inside_is_found_by_words_and_by_links() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("project");
        std::fs::create_dir_all(root.join("docs")).unwrap();
        let at = |path: &Path| path_inside(path, &root).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(at(&root.join("docs/a.md")).as_deref(), Some("docs/a.md"));
        assert_eq!(at(&base.join("other/../project/./docs/none.md")).as_deref(), Some("docs/none.md"));
        assert_eq!(at(&root.join("../notes.md")), None);
        assert_eq!(at(&base.join("project2/a.md")), None);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&root, base.join("link")).unwrap();
            assert_eq!(at(&base.join("link/docs/a.md")).as_deref(), Some("docs/a.md"));
            std::os::unix::fs::symlink(&base, root.join("out")).unwrap();
            assert_eq!(at(&base.join("link/docs/../b.md")).as_deref(), Some("b.md"));
            std::os::unix::fs::symlink(root.join("docs"), base.join("docs")).unwrap();
            assert_eq!(at(&base.join("docs/../b.md")).as_deref(), Some("b.md"), "up from where the link leads");
            assert_eq!(at(&root.join("out/secret")).as_deref(), Some("out/secret"), "its name is inside");
        }
    }
}
