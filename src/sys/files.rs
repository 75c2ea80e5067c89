//! Files of this machine: atomic private writes and folders that only their owner can read.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::blocking::BackgroundWork;
use super::contained_folder::{ContainedFolder, Kind};
use super::nested::is_repository;
use super::path_containment::normalize;

/// The delay before a lock held by another process is tried again.
const HOLD_AGAIN: Duration = Duration::from_millis(5);

/// A file operation that failed, with the path.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {}: {source}", path.display())]
pub struct FileError {
    /// The operation (`read`, `write`, …).
    pub verb: &'static str,
    /// On what.
    pub path: PathBuf,
    /// The reason why not.
    #[source]
    pub source: io::Error,
}

pub(super) fn fault(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError { verb, path, source }
}

/// Reads what a file or a pipe has, refused when it is more than `limit` bytes; `path` is for the message.
pub fn read_within(from: impl io::Read, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(fault("read", path))?;
    if bytes.len() as u64 > limit {
        let source = io::Error::other(format!("it has more than {} MiB; split it", limit >> 20));
        return Err(fault("read", path)(source));
    }
    Ok(bytes)
}

/// Opens a file to read it piece by piece.
pub fn open(path: &Path) -> Result<fs::File, FileError> {
    fs::File::open(path).map_err(fault("read", path))
}

/// Opens a file that may not exist.
pub fn open_optional(path: &Path) -> Result<Option<fs::File>, FileError> {
    match fs::File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault("read", path)(error)),
    }
}

/// The path of what is there, absolute and with no link in it.
pub fn real_path(path: &Path) -> Result<PathBuf, FileError> {
    path.canonicalize().map_err(fault("find", path))
}

/// Checks whether nothing can be at a path, also because what should be a folder above it is none.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The identity of a file or folder, to detect another one that is at the same path later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    place: (u64, u64),
    born: Option<SystemTime>,
}

/// The identity of what is at `path`, links followed.
pub fn identity(path: &Path) -> Result<FileIdentity, FileError> {
    let about = fs::metadata(path).map_err(fault("find", path))?;
    #[cfg(unix)]
    let place = (std::os::unix::fs::MetadataExt::dev(&about), std::os::unix::fs::MetadataExt::ino(&about));
    #[cfg(not(unix))]
    let place = (0, 0);
    // A number is given to a new file soon after the old one is gone; where the system knows it, the time of birth differs.
    Ok(FileIdentity { place, born: about.created().ok() })
}

/// Reads a plain file that may not exist, refused when it is more than `limit` bytes. A device or a pipe is refused, not waited for.
pub fn read_plain(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    let file = match opened_at_once(fs::OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(fault("read", path)(error)),
    };
    let about = file.metadata().map_err(fault("read", path))?;
    if !about.is_file() {
        return Err(fault("read", path)(io::Error::other("it is not a plain file")));
    }
    if about.len() > limit {
        return Err(fault("read", path)(io::Error::other(format!("it has more than {} MiB", limit >> 20))));
    }
    read_within(file, path, limit).map(Some)
}

/// A file that is appended to, and made where there is none.
fn growing() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file without waiting for the other end of a pipe.
fn opened_at_once(options: &mut fs::OpenOptions, path: &Path) -> io::Result<fs::File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    options.open(path)
}

/// Reads a file that may not exist.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(fault("read", path)(error)),
    }
}

/// Makes a folder and its parents, readable by the owner only (0700).
pub fn private_folder(path: &Path) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(fault("create folder", path))
}

/// Makes a folder for outputs and its parents, with the usual permissions.
pub fn output_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(fault("create folder", path))
}

/// A folder inside another one.
#[derive(Debug, Clone)]
pub struct OpenedFolder {
    /// Its name; what is not UTF-8 is replaced.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// When an entry of it last came or went.
    pub modified: SystemTime,
}

/// The folders directly inside `path`, links not followed, in no order; none where `path` does not exist.
pub fn folders(path: &Path) -> Result<Vec<OpenedFolder>, FileError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(fault("list", path)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fault("list", path))?;
        // Another process may remove a folder while this one lists it.
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            found.push(OpenedFolder {
                name: entry.file_name().to_string_lossy().into_owned(),
                path: entry.path(),
                modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
    }
    Ok(found)
}

/// When a file was last written, or an entry of a folder last came or went; `None` if there is none, or nobody knows.
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// The files directly inside `path`, links to files among them, by name.
pub fn plain_files(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(fault("list", path))? {
        let path = entry.map_err(fault("list", path))?.path();
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a folder and what is in it, links not followed; that it is gone already is no fault.
pub fn remove_folder(path: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes a file; that it is gone already is no fault.
pub fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes a file so that a reader sees the old bytes or the new, never a part; readable by the owner only (0600).
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write(path, bytes, 0o600)
}

/// Lets the owner, the group and all others run a file.
pub fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// A file that only grows; readable by the owner only (0600).
#[derive(Debug)]
pub struct AppendFile {
    pub(super) file: fs::File,
    pub(super) path: PathBuf,
    /// Set where nobody else may write there.
    #[expect(dead_code, reason = "the lock lasts as long as it is kept")]
    held: Option<FileLock>,
    /// The sync that was begun.
    syncing: Option<BackgroundWork<io::Result<()>>>,
}

impl AppendFile {
    /// Opens a file for appending; it is created where there is none.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = growing().open(path).map_err(fault("write", path))?;
        Ok(Self { file, path: path.to_owned(), held: None, syncing: None })
    }

    /// Opens it without waiting for the other end of a pipe.
    fn open_at_once(path: &Path) -> Result<Self, FileError> {
        let file = opened_at_once(&mut growing(), path).map_err(fault("write", path))?;
        Ok(Self { file, path: path.to_owned(), held: None, syncing: None })
    }

    /// Opens the file exclusively, as long as it is open; `None` while another process has it.
    pub fn open_exclusive(path: &Path) -> Result<Option<Self>, FileError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let Some(held) = try_lock(Path::new(&lock))? else { return Ok(None) };
        Ok(Some(Self { held: Some(held), ..Self::open_at_once(path)? }))
    }

    /// Cuts off what stands behind the last whole line, which a kill may have left, and gives all that is before it.
    ///
    /// Refused when that is more than `limit` bytes.
    pub fn truncate_to_whole_lines(&mut self, limit: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = read_plain(&self.path, limit)?.unwrap_or_default();
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        if whole < bytes.len() {
            bytes.truncate(whole);
            self.file.set_len(whole as u64).map_err(fault("write", &self.path))?;
            self.sync()?;
        }
        Ok(bytes)
    }

    /// Appends bytes with a single call, so that a killed process leaves at most one part of them at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(fault("write", &self.path))
    }

    /// Waits until what was appended would survive a power cut.
    pub fn sync(&mut self) -> Result<(), FileError> {
        self.end_sync()?;
        self.file.sync_data().map_err(fault("write", &self.path))
    }

    /// Begins such a sync, after the one before it. If this process is killed meanwhile, nothing is lost: the system has it already.
    pub fn begin_sync(&mut self) -> Result<(), FileError> {
        self.end_sync()?;
        let file = self.file.try_clone().map_err(fault("write", &self.path))?;
        self.syncing = Some(BackgroundWork::begin(move || file.sync_data()));
        Ok(())
    }

    fn end_sync(&mut self) -> Result<(), FileError> {
        let ended = self.syncing.take().and_then(BackgroundWork::wait);
        ended.unwrap_or(Ok(())).map_err(fault("write", &self.path))
    }
}

/// Keeps other processes, and other threads of this one, from holding the same file; given up when dropped.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] pub(super) fs::File);

/// Waits up to `limit` until nobody else holds the file, and holds it; it is created where there is none (0600).
///
/// If the file system has no such locks, it is held by name only.
pub fn lock(path: &Path, limit: Duration) -> Result<FileLock, FileError> {
    let began = Instant::now();
    loop {
        match try_lock(path)? {
            Some(held) => return Ok(held),
            None if began.elapsed() < limit => std::thread::sleep(HOLD_AGAIN),
            None => {
                let source = io::Error::other("another process has been writing there for too long");
                return Err(fault("lock", path)(source));
            }
        }
    }
}

/// Locks it without waiting: `None` while another process holds it.
pub fn try_lock(path: &Path) -> Result<Option<FileLock>, FileError> {
    let AppendFile { file, .. } = AppendFile::open_at_once(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock(file))),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(FileLock(file))),
        Err(fs::TryLockError::Error(error)) => Err(fault("lock", path)(error)),
    }
}

/// Replaces a file that other programs guard with a lock file beside it (git's `shallow` and `shallow.lock`), unless it is not what it was
/// thought to be any more: then `false`. Nothing to be written means that the file is removed.
pub fn replace_locked(path: &Path, lock: &Path, was: Option<&[u8]>, bytes: &[u8]) -> Result<bool, FileError> {
    let mut file = match fs::OpenOptions::new().write(true).create_new(true).open(lock) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(fault("write", lock)(error)),
    };
    let replace = |file: &mut fs::File| -> Result<bool, FileError> {
        if read_optional(path)?.as_deref() != was {
            return Ok(false);
        }
        if bytes.is_empty() {
            fs::remove_file(path).map_err(fault("remove", path))?;
            return Ok(true);
        }
        file.write_all(bytes).and_then(|()| file.sync_data()).map_err(fault("write", lock))?;
        fs::rename(lock, path).map_err(fault("write", path))?;
        Ok(true)
    };
    let replaced = replace(&mut file);
    if !matches!(replaced, Ok(true)) || bytes.is_empty() {
        // After the rename there is none of ours any more.
        let _ = fs::remove_file(lock);
    }
    replaced
}

/// Writes an output that somebody asked for by name, likewise whole or not at all, with the usual permissions.
///
/// In a checkout it is not written through linked folders: whoever wrote the checkout would choose the place. Links above the checkout are the
/// user's own.
pub fn write_output(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let words = std::path::absolute(path).map(|path| normalize(&path)).map_err(fault("write", path))?;
    let here = std::path::absolute(".").map_err(fault("write", path))?;
    let root = checkout_of(&words, &here);
    let Some((root, below)) = root.and_then(|root| Some((root, words.strip_prefix(root).ok()?))) else {
        return write(path, bytes, 0o644);
    };
    let below = below.as_os_str().as_encoded_bytes();
    let written = ContainedFolder::new(root).and_then(|root| match root.kind(below) {
        // A pipe cannot be replaced by a rename.
        Ok(Kind::Special) => write_special(&words, bytes),
        _ => root.write(below, bytes),
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => fault("write", path)(io::Error::other(
            "a folder on the way to it is a link, and in a checkout nothing is written through links; name the folder that it leads to",
        )),
        _ => fault("write", path)(error),
    })
}

/// The checkout in which a file is written from the folder `here`, by the words of its path.
fn checkout_of<'p>(file: &'p Path, here: &'p Path) -> Option<&'p Path> {
    // The innermost one: a home may be a repository too, and the user has links in it.
    let innermost = |of: &'p Path| of.ancestors().find(|folder| is_repository(folder) && !folder.is_symlink());
    let folder = file.parent()?;
    // A link of the checkout in which the user stands may lead to another one, which must not count in its stead.
    innermost(here).filter(|own| folder.starts_with(own)).or_else(|| innermost(folder))
}

/// Writes a file of another program, likewise whole or not at all: links lead where they lead, who may read it stays as it is, and
/// folders that are missing are made.
pub fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let Some(kept) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(fault("create folder", folder))?;
        }
        return write(path, bytes, 0o644);
    };
    let path = &real_path(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".review-")
        .tempfile_in(folder)
        .map_err(|error| fault("write", path)(without_name(&error)))?;
    let written = file.write_all(bytes).and_then(|()| file.as_file().set_permissions(kept.permissions()));
    written.and_then(|()| file.as_file().sync_data()).map_err(fault("write", path))?;
    file.persist(path).map_err(|error| fault("write", path)(error.error))?;
    Ok(())
}

/// Writes to a device, or to a pipe that somebody reads; one that nobody reads would be waited for forever.
fn write_special(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    let mut file = {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(path).map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
                io::Error::other("it is a pipe that no program reads from; start the reader first")
            }
            _ => error,
        })?;
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        file
    };
    #[cfg(not(unix))]
    let mut file = options.open(path)?;
    file.write_all(bytes)
}

/// Leaves the name of a temporary file out of an error: the user named another one.
fn without_name(error: &io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NotFound {
        return io::Error::new(error.kind(), "its folder does not exist");
    }
    let cause = error.get_ref().and_then(|inner| inner.source()).map(ToString::to_string);
    cause.map_or_else(|| io::Error::from(error.kind()), |cause| io::Error::new(error.kind(), cause))
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A device or a pipe (`/dev/stdout`, `/dev/null`) cannot be replaced by a rename.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return write_special(path, bytes).map_err(fault("write", path));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".review-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    let mut file = builder.tempfile_in(folder).map_err(|error| fault("write", path)(without_name(&error)))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_data()).map_err(fault("write", path))?;
    file.persist(path).map_err(|error| fault("write", path)(error.error))?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_never_ends_is_refused() {
        let error = read_within(io::repeat(b'a'), Path::new("-"), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("more than 1 MiB"), "{error}");
        assert_eq!(read_within(&b"ab"[..], Path::new("-"), 2).unwrap(), b"ab");
    }

    #[test]
    fn a_pipe_is_written_to_only_if_somebody_reads() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        #[expect(clippy::disallowed_methods, reason = "no library makes a pipe on every system")]
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let error = write_output(&pipe, b"ab").unwrap_err();
        assert!(error.to_string().contains("no program reads"), "{error}");
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        let long = vec![b'a'; 1 << 18];
        while write_output(&pipe, &long).is_err() {
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap(), long);
    }

    #[test]
    fn only_plain_files_of_a_bounded_size_are_read() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::write(path("plain"), b"ab").unwrap();
        assert_eq!(read_plain(&path("plain"), 2).unwrap().as_deref(), Some(&b"ab"[..]));
        assert!(read_plain(&path("plain"), 1).is_err());
        assert_eq!(read_plain(&path("none"), 1).unwrap(), None);
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "no library makes a pipe on every system")]
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());
        for name in ["zero", "pipe"] {
            let error = read_plain(&path(name), 1 << 20).unwrap_err();
            assert!(error.to_string().contains("not a plain file"), "{error}");
        }
        assert!(try_lock(&path("pipe")).is_err(), "nobody waits for a reader");
    }

    #[test]
    fn a_rewritten_file_keeps_its_readers_and_its_link() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (root.path().join("real.json"), root.path().join("deep/link.json"));
        rewrite(&real, b"1").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(root.path().join("deep")).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        rewrite(&link, b"2").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"2");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        rewrite(&root.path().join("new/folder/f"), b"3").unwrap();
        assert_eq!(fs::read(root.path().join("new/folder/f")).unwrap(), b"3");
    }

    #[test]
    fn a_held_file_is_held_by_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap();
        let error = lock(&path, Duration::from_millis(12)).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(held);
        // A child that another test is just starting has the file open for a moment.
        lock(&path, Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn what_one_appends_to_alone_nobody_else_does() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("journal");
        fs::write(&path, b"one\ntw").unwrap();
        let mut file = AppendFile::open_exclusive(&path).unwrap().unwrap();
        assert!(AppendFile::open_exclusive(&path).unwrap().is_none());
        assert_eq!(file.truncate_to_whole_lines(1 << 10).unwrap(), b"one\n");
        file.append(b"2\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\n2\n");
        assert_eq!(file.truncate_to_whole_lines(1 << 10).unwrap(), b"one\n2\n");
        drop(file);
        fs::write(&path, b"no end").unwrap();
        // A child that another test is just starting has the lock open for a moment.
        let again = (0..1_000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            AppendFile::open_exclusive(&path).unwrap()
        });
        assert_eq!(again.unwrap().truncate_to_whole_lines(1 << 10).unwrap(), b"");
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn private_means_private() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        private_folder(&folder).unwrap();
        let file = folder.join("f");
        write_private(&file, b"1").unwrap();
        write_private(&file, b"2").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"2");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
    }
}
