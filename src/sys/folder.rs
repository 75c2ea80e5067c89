//! A whole folder read into memory, links refused, within limits. Main function: [`read_folder`].

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::cancel::{Cancel, CancelReason};
use super::contained_folder::{ContainedFolder, Kind, ReadFile};

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    /// Its path below the folder, with slashes.
    pub path: Vec<u8>,
    /// `true` if its owner may run it.
    pub executable: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The reason why a folder was not read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FolderError {
    /// Something in it is neither a plain file nor a folder.
    #[error("{} is no plain file: links, pipes and devices are not read", .0.display())]
    NotPlain(PathBuf),
    /// There is more than is read.
    #[error("{} holds more than {most} bytes or {files} files", folder.display())]
    TooMuch {
        folder: PathBuf,
        /// The most bytes.
        most: u64,
        files: usize,
    },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

/// The most bytes of a path; deeper folders are no folders of a case.
const MAX_PATH: usize = 1_000;
/// The most names of one folder.
const MAX_NAMES: usize = 100_000;

/// All files below `root`, by path. Nothing outside of it is ever read: a link is an error, at the end of a path and on the way.
pub fn read_folder(root: &Path, most: u64, files: usize, cancel: &Cancel) -> Result<Vec<FolderFile>, FolderError> {
    let fault = |path: &Path, source| FolderError::Read { path: path.to_owned(), source };
    let too_much = || FolderError::TooMuch { folder: root.to_owned(), most, files };
    let beneath = ContainedFolder::new(root).map_err(|error| fault(root, error))?;
    let (mut found, mut buffer, mut left) = (Vec::new(), Vec::new(), most);
    let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        let on_disk = root.join(OsStr::from_bytes(&folder));
        for (entry, kind) in beneath.list(&folder, MAX_NAMES).map_err(|error| fault(&on_disk, error))? {
            cancel.check()?;
            let name = on_disk.join(OsStr::from_bytes(&entry));
            let mut path = folder.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry);
            if path.len() > MAX_PATH {
                return Err(too_much());
            }
            match kind {
                Kind::Folder => folders.push(path),
                Kind::Link | Kind::Special => return Err(FolderError::NotPlain(name)),
                Kind::File { executable, .. } => {
                    let bytes = match beneath.read(&path, left, &mut buffer).map_err(|error| fault(&name, error))? {
                        ReadFile::Bytes(bytes) => bytes.to_vec(),
                        ReadFile::TooLarge(_) => return Err(too_much()),
                        ReadFile::NotPlain(_) => return Err(FolderError::NotPlain(name)),
                    };
                    left -= bytes.len() as u64;
                    found.push(FolderFile { path, executable, bytes });
                    if found.len() > files || folders.len() > files {
                        return Err(too_much());
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Reads a plain file of at most `limit` bytes; `None` if there is something else, or nothing that can be read. It never waits for a pipe.
pub fn read_plain(path: &Path, limit: usize) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > limit as u64 {
        return None;
    }
    super::files::read_within(file, path, limit as u64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_by_path_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::write(root.join("b/c/d"), "d").unwrap();
        fs::write(root.join("a"), "a").unwrap();
        fs::write(folder.path().join("secret"), "outside").unwrap();
        let read = |root: &Path, most, files| read_folder(root, most, files, &Cancel::never());
        let found = read(&root, 10, 10).unwrap();
        let paths: Vec<&[u8]> = found.iter().map(|file| file.path.as_slice()).collect();
        assert_eq!(paths, [b"a".as_slice(), b"b/c/d"]);
        assert!(matches!(read(&root, 1, 10), Err(FolderError::TooMuch { .. })));
        assert!(matches!(read(&root, 10, 1), Err(FolderError::TooMuch { .. })));
        std::os::unix::fs::symlink("../../secret", root.join("b/out")).unwrap();
        assert!(matches!(read(&root, 10, 10), Err(FolderError::NotPlain(_))));
    }
}
