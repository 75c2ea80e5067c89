//! The object folders of a repository: its own, and those that it borrows from. Main function: [`list_object_folders`].
//!
//! Checking where another folder may lie belongs in `place`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::folder::read_plain;
use super::repo_error::RepoError;

/// More folders than anybody borrows from.
const MOST_FOLDERS: usize = 64;
/// The most bytes of a file that names folders.
const MOST_BYTES: usize = 1 << 20;

/// The folders, the repository's own first. Those who read the file differ about quotes and about where a relative path starts, so each way counts:
/// a folder too many is looked at, and none is missed.
pub(super) fn list_object_folders(own: &Path) -> Result<Vec<PathBuf>, RepoError> {
    let mut found = vec![own.to_owned()];
    let mut at = 0;
    while let Some(folder) = found.get(at).cloned() {
        at += 1;
        let Ok(file) = folder.join("info/alternates").canonicalize() else { continue };
        let Some(text) = read_plain(&file, MOST_BYTES) else { return Err(RepoError::Alternates(file)) };
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()) {
            let unquoted = line.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest));
            for named in [Some(line), unquoted].into_iter().flatten().map(|name| Path::new(OsStr::from_bytes(name))) {
                for place in [folder.join(named), own.join(named)] {
                    let place = place.canonicalize().ok().filter(|place| place.is_dir() && !found.contains(place));
                    found.extend(place);
                }
            }
            if found.len() > MOST_FOLDERS {
                return Err(RepoError::Alternates(file));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_found_through_others_and_in_circles() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().canonicalize().unwrap().join(name);
        for name in ["a", "b", "c"] {
            std::fs::create_dir_all(folder(name).join("info")).unwrap();
        }
        let names = |name: &str, text: &str| std::fs::write(folder(name).join("info/alternates"), text).unwrap();
        names("a", &format!("# none\n../b\n\"{}\"\n/nowhere\n", folder("a").display()));
        names("b", "../c\n../a\n");
        assert_eq!(list_object_folders(&folder("a")).unwrap(), [folder("a"), folder("b"), folder("c")]);
        assert_eq!(list_object_folders(&folder("c")).unwrap(), [folder("c")]);
        for n in 0..=MOST_FOLDERS {
            std::fs::create_dir(folder(&format!("d{n}"))).unwrap();
        }
        let many: Vec<String> = (0..=MOST_FOLDERS).map(|n| format!("../d{n}")).collect();
        names("c", &many.join("\n"));
        assert!(matches!(list_object_folders(&folder("a")), Err(RepoError::Alternates(_))));
    }
}
