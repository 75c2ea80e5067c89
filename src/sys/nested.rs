//! Folders with a `.git` inside a working tree: repositories of their own, or only called so. Main function: [`is_repository`].

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A larger `.git` file names no repository (`max_file_size` in git's setup.c), in bytes.
const MOST_LINK: u64 = 1 << 20;
/// Git reads no more of `HEAD` (`validate_headref` in its path.c), in bytes.
const MOST_HEAD: u64 = 256;

/// Checks whether git takes a folder for a repository with a working tree (`is_nonbare_repository_dir` in its setup.c): an empty `.git`, or one
/// that leads nowhere, makes none, and `git add` takes the files beside it.
pub fn is_repository(folder: &Path) -> bool {
    let dot_git = folder.join(".git");
    match fs::metadata(&dot_git) {
        Ok(meta) if meta.is_dir() => is_git_folder(&dot_git),
        Ok(meta) if meta.is_file() && meta.len() <= MOST_LINK => match read_link(&dot_git) {
            Ok(link) => link.is_some_and(|target| is_git_folder(&folder.join(target))),
            // Git, too, leaves alone what it cannot read.
            Err(_) => true,
        },
        _ => false,
    }
}

/// The folder that a `.git` file names.
fn read_link(file: &Path) -> io::Result<Option<PathBuf>> {
    let bytes = read_start(file, MOST_LINK)?;
    let target = bytes.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
    Ok(target.filter(|target| !target.is_empty()).map(path))
}

/// Checks whether a folder is what a `.git` leads to: a `HEAD` that names something, objects and refs (`is_git_directory` in git's setup.c).
fn is_git_folder(folder: &Path) -> bool {
    let common = read_plain(&folder.join("commondir"), MOST_LINK)
        .map_or_else(|| folder.to_owned(), |common| folder.join(path(common.trim_ascii_end())));
    is_head(&folder.join("HEAD")) && common.join("objects").is_dir() && common.join("refs").is_dir()
}

fn is_head(file: &Path) -> bool {
    let is_ref = |name: &[u8]| name.starts_with(b"refs/");
    if let Ok(target) = fs::read_link(file) {
        return is_ref(target.as_os_str().as_bytes());
    }
    let Some(head) = read_plain(file, MOST_HEAD) else { return false };
    match head.strip_prefix(b"ref:") {
        Some(name) => is_ref(name.trim_ascii_start()),
        None => head.len() >= 40 && head[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// The start of a plain file; a pipe in its place would be waited for.
fn read_plain(file: &Path, most: u64) -> Option<Vec<u8>> {
    fs::metadata(file).is_ok_and(|meta| meta.is_file()).then(|| read_start(file, most).ok())?
}

fn read_start(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_a_head_objects_and_refs() {
        let place = tempfile::tempdir().unwrap();
        let (folder, dot_git) = (place.path(), place.path().join(".git"));
        assert!(!is_repository(folder));
        fs::write(&dot_git, "").unwrap();
        assert!(!is_repository(folder));
        fs::write(&dot_git, "gitdir: /nowhere\n").unwrap();
        assert!(!is_repository(folder));
        fs::remove_file(&dot_git).unwrap();
        fs::create_dir_all(dot_git.join("objects")).unwrap();
        fs::create_dir(dot_git.join("refs")).unwrap();
        assert!(!is_repository(folder));
        for (head, is_one) in [
            ("", false),
            ("ref: elsewhere\n", false),
            ("ref: refs/heads/main\n", true),
            ("0123456789abcdef0123456789abcdef01234567\n", true),
            ("0123456789abcdef\n", false),
        ] {
            fs::write(dot_git.join("HEAD"), head).unwrap();
            assert_eq!(is_repository(folder), is_one, "{head:?}");
        }
        fs::write(dot_git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let linked = folder.join("linked");
        fs::create_dir(&linked).unwrap();
        fs::write(linked.join(".git"), "gitdir: ../.git\n").unwrap();
        assert!(is_repository(&linked));
        fs::remove_dir(dot_git.join("refs")).unwrap();
        assert!(!is_repository(folder) && !is_repository(&linked));
    }
}
