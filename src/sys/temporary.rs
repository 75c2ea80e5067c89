//! Temporary folders that nobody else can read, and that do not stay when a process is killed. Main type: [`TemporaryFolder`].

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::files::{AppendFile, FileError, FileLock, fault, folders};

/// A folder that only its owner can read (0700), removed with all that is in it when this is dropped. The next removes those of killed processes.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    _held: FileLock,
}

/// Begins the name of each temporary folder.
const TEMPORARY: &str = "review-";
/// Held in a temporary folder as long as that is used.
const IN_USE: &str = ".in-use";
/// No folder that is younger is taken for left: it may have been made a moment ago, and not be held yet.
const YOUNG: Duration = Duration::from_mins(5);

impl TemporaryFolder {
    /// Makes one where temporary files go.
    pub fn new() -> Result<Self, FileError> {
        Self::within(&std::env::temp_dir())
    }

    /// Makes one in another folder, which is there.
    pub fn within(parent: &Path) -> Result<Self, FileError> {
        remove_left(parent);
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir_in(parent).map_err(fault("create folder in", parent))?;
        let AppendFile { file, path, .. } = AppendFile::open(&folder.path().join(IN_USE))?;
        match file.try_lock() {
            Ok(()) => {}
            // Without locks nobody takes a folder for left.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return Err(fault("lock", &path)(error.into())),
        }
        Ok(Self { folder, _held: FileLock(file) })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the temporary folders of our own that nobody uses any more: what was to be kept from others should not stay forever.
fn remove_left(parent: &Path) {
    for folder in folders(parent).unwrap_or_default().into_iter().filter(|folder| folder.name.starts_with(TEMPORARY)) {
        let (held, path) = (folder.path.join(IN_USE), &folder.path);
        let is_old = |about: &fs::Metadata| {
            about.modified().is_ok_and(|made| made.elapsed().is_ok_and(|age| age > YOUNG)) && about.is_file()
        };
        if !is_own(path) || !fs::symlink_metadata(&held).is_ok_and(|about| is_old(&about)) {
            continue;
        }
        let Ok(file) = fs::OpenOptions::new().append(true).open(&held) else { continue };
        if file.try_lock().is_ok() {
            // What stays is tried again next time.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Checks whether a folder is this user's, and nobody else may do anything with it: the last six bits of its mode.
#[cfg(unix)]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder)
        .is_ok_and(|about| about.is_dir() && about.uid() == user && about.mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::sys::files::{private_folder, write_private};
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::SystemTime;

    #[test]
    fn a_temporary_folder_that_was_left_goes_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let put = |name: &str, mode: u32, age: u64| {
            let folder = parent.path().join(name);
            private_folder(&folder).unwrap();
            write_private(&folder.join("secret"), b"x").unwrap();
            let held = fs::File::create(folder.join(IN_USE)).unwrap();
            held.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            (folder, held)
        };
        let (left, _) = put("review-left", 0o700, 3600);
        let (young, _) = put("review-young", 0o700, 1);
        let (open, _) = put("review-open", 0o755, 3600);
        let (other, _) = put("another", 0o700, 3600);
        let (used, held) = put("review-used", 0o700, 3600);
        held.lock().unwrap();
        let linked = tempfile::tempdir().unwrap();
        let aim = linked.path().join("review-aim");
        fs::rename(put("review-aim", 0o700, 3600).0, &aim).unwrap();
        std::os::unix::fs::symlink(&aim, parent.path().join("review-link")).unwrap();
        let ours = TemporaryFolder::within(parent.path()).unwrap();
        assert!(!left.exists());
        for kept in [&young, &open, &other, &used, &aim, ours.path()] {
            assert!(kept.exists(), "{}", kept.display());
        }
        let path = ours.path().to_owned();
        drop(ours);
        assert!(!path.exists());
    }
}
