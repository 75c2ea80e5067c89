//! Files below one folder, opened so that nothing leads out of it. Main type: [`ContainedFolder`].
//!
//! No link is followed, neither at the end of a path nor on the way. A pipe or a device is never waited for. What may be read belongs
//! in `workspace`.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// A buffer begins with this much, enough for most files of source code.
const LEAST_BYTES: usize = 64 << 10;

/// A buffer that grew beyond this is given back before the next file.
const KEPT_BYTES: usize = 4 << 20;

/// A folder whose files are read.
#[derive(Debug)]
pub struct ContainedFolder {
    root: OwnedFd,
}

/// The kind of an entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File {
        /// `true` if its owner may run it.
        executable: bool,
        /// Its size in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// A pipe, a socket or a device.
    Special,
}

impl ContainedFolder {
    /// Opens the folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// Returns the kind of the entry at `path` (components separated by `/`). A link or a file where a folder should be is `NotADirectory`.
    pub fn kind(&self, path: &[u8]) -> io::Result<Kind> {
        let (folder, name) = self.parent(path)?;
        let stat = rustix::fs::statat(folder.as_ref().unwrap_or(&self.root), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of(&stat))
    }

    /// The names in a folder (empty for the root) and what stands there, sorted by name; refused when there are more than `most`.
    pub fn list(&self, folder: &[u8], most: usize) -> io::Result<Vec<(Vec<u8>, Kind)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = if folder.is_empty() { None } else { Some(self.open(folder, flags)?) };
        let folder = opened.as_ref().unwrap_or(&self.root);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(folder)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if matches!(name.as_slice(), b"." | b"..") {
                continue;
            }
            if names.len() >= most {
                return Err(io::Error::other(format!("it holds more than {most} names")));
            }
            names.push(name);
        }
        names.sort_unstable();
        let kind = |name: Vec<u8>| {
            let stat = rustix::fs::statat(folder, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((name, kind_of(&stat)))
        };
        Ok(names.into_iter().filter_map(kind).collect())
    }

    /// Reads the bytes of a plain file into `buffer`, whatever that held; refused when there are more than `limit`.
    ///
    /// A buffer that is used again spares the memory of a new one for each file, which costs more than reading it.
    pub fn read<'b>(&self, path: &[u8], limit: u64, buffer: &'b mut Vec<u8>) -> io::Result<ReadFile<'b>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = self.open(path, flags)?;
        let stat = rustix::fs::fstat(&file)?;
        let Kind::File { size, .. } = kind_of(&stat) else { return Ok(ReadFile::NotPlain(kind_of(&stat))) };
        if size > limit {
            return Ok(ReadFile::TooLarge(size));
        }
        let size = usize::try_from(size).unwrap_or(0);
        if buffer.capacity() > KEPT_BYTES {
            *buffer = Vec::new();
        }
        let mut read = 0;
        loop {
            // There is always room for a byte more than it should have: a read that leaves it free has met the end.
            if buffer.len() <= size.max(read) {
                buffer.resize((size + 1).max(2 * read).max(LEAST_BYTES), 0);
            }
            let more = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer[read..]))?;
            read += more;
            // It may have grown since it was asked for its size.
            if read as u64 > limit {
                return Ok(ReadFile::TooLarge(read as u64));
            }
            if more == 0 || read == size {
                return Ok(ReadFile::Bytes(&buffer[..read]));
            }
        }
    }

    /// Opens a plain file to read it piece by piece.
    pub fn open_file(&self, path: &[u8]) -> io::Result<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = self.open(path, flags)?;
        match kind_of(&rustix::fs::fstat(&file)?) {
            Kind::File { .. } => Ok(file.into()),
            _ => Err(io::Error::other("it is not a plain file")),
        }
    }

    /// Makes a folder directly in this one, where there is none; what else stands there is `NotADirectory`.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.root, name, Mode::from_raw_mode(0o777)) {
            Err(rustix::io::Errno::EXIST) => match self.kind(name.as_bytes())? {
                Kind::Folder => Ok(()),
                Kind::File { .. } | Kind::Link | Kind::Special => Err(io::ErrorKind::NotADirectory.into()),
            },
            made => Ok(made?),
        }
    }

    /// Writes a plain file so that a reader sees the old bytes or the new, never a part; who may read or run it stays as it is.
    ///
    /// `was` is what it is thought to hold, `None` if there should be none: where that is not so, nothing is written and it is `false`.
    pub fn replace(&self, path: &[u8], was: Option<&[u8]>, bytes: &[u8]) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        let folder = folder.as_ref().unwrap_or(&self.root);
        let mode = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(Mode::from_raw_mode(stat.st_mode & 0o777)),
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        // No other name is like it, so that two who write at the same time do not meet.
        let new = format!(".review-{}.tmp", uuid::Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, new.as_str(), flags, mode.unwrap_or(Mode::from_raw_mode(0o666)))?;
        let replaced = (|| {
            let mut file = std::fs::File::from(file);
            file.write_all(bytes)?;
            if let Some(mode) = mode {
                // What the process takes away from new files was not taken away from this one.
                rustix::fs::fchmod(&file, mode)?;
            }
            file.sync_data()?;
            if !self.holds(path, was)? {
                return Ok(false);
            }
            rustix::fs::renameat(folder, new.as_str(), folder, name)?;
            Ok(true)
        })();
        if !matches!(replaced, Ok(true)) {
            let _ = rustix::fs::unlinkat(folder, new.as_str(), AtFlags::empty());
        }
        replaced
    }

    /// Writes a file so that a reader sees the old bytes or the new, never a part; a link in its place is replaced, not followed.
    pub fn write(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let folder = folder.as_ref().unwrap_or(&self.root);
        let new = format!(".review-{}.tmp", uuid::Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let mut file = std::fs::File::from(rustix::fs::openat(folder, new.as_str(), flags, mode)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        let written = written.and_then(|()| Ok(rustix::fs::renameat(folder, new.as_str(), folder, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(folder, new.as_str(), AtFlags::empty());
        }
        written
    }

    /// Checks whether a path has exactly these bytes; with `None`, nothing.
    fn holds(&self, path: &[u8], bytes: Option<&[u8]>) -> io::Result<bool> {
        let mut buffer = Vec::new();
        match (self.kind(path), bytes) {
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            (Err(error), _) => Err(error),
            (Ok(_), None) => Ok(false),
            (Ok(_), Some(bytes)) => Ok(self.read(path, bytes.len() as u64, &mut buffer)? == ReadFile::Bytes(bytes)),
        }
    }

    /// The place a link points to, as it is written there.
    pub fn read_link(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (folder, name) = self.parent(path)?;
        let place = rustix::fs::readlinkat(folder.as_ref().unwrap_or(&self.root), name, Vec::new())?;
        Ok(place.into_bytes())
    }

    /// The folder that holds the last component (`None` for the root), and that component.
    fn parent<'p>(&self, path: &'p [u8]) -> io::Result<(Option<OwnedFd>, &'p OsStr)> {
        match path.iter().rposition(|byte| *byte == b'/') {
            None => Ok((None, OsStr::from_bytes(path))),
            Some(slash) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                Ok((Some(self.open(&path[..slash], flags)?), OsStr::from_bytes(&path[slash + 1..])))
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn open(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.root, OsStr::from_bytes(path), flags, Mode::empty(), resolve) {
            // Older kernels do not have it, and some sandboxes do not allow it.
            Err(Errno::NOSYS | Errno::PERM) => self.open_by_steps(path, flags),
            Err(Errno::LOOP) => Err(io::ErrorKind::NotADirectory.into()),
            other => Ok(other?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        self.open_by_steps(path, flags)
    }

    /// Opens one component after the other, so that none of them can be a link.
    fn open_by_steps(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let mut folder: Option<OwnedFd> = None;
        let mut components = path.split(|byte| *byte == b'/').peekable();
        while let Some(component) = components.next() {
            if component.is_empty() || component == b"." || component == b".." {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let last = components.peek().is_none();
            let flags =
                if last { flags } else { OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC };
            let at = folder.as_ref().unwrap_or(&self.root);
            let next = match rustix::fs::openat(at, OsStr::from_bytes(component), flags, Mode::empty()) {
                Err(rustix::io::Errno::LOOP) => return Err(io::ErrorKind::NotADirectory.into()),
                other => other?,
            };
            if last {
                return Ok(next);
            }
            folder = Some(next);
        }
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// The result of [`ContainedFolder::read`].
#[derive(Debug, PartialEq, Eq)]
pub enum ReadFile<'b> {
    /// All its bytes.
    Bytes(&'b [u8]),
    /// More bytes than the limit.
    TooLarge(u64),
    /// Something that has no bytes to read.
    NotPlain(Kind),
}

fn kind_of(stat: &rustix::fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Kind::File { executable: stat.st_mode & 0o100 != 0, size: u64::try_from(stat.st_size).unwrap_or(u64::MAX) }
        }
        FileType::Symlink => Kind::Link,
        FileType::Directory => Kind::Folder,
        _ => Kind::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_of_opening_refuse_links_on_the_way_and_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/c"), "inside").unwrap();
        std::fs::write(folder.path().join("secret"), "outside").unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("a", root.join("again")).unwrap();
        let beneath = ContainedFolder::new(&root).unwrap();
        let buffer = &mut Vec::new();
        assert_eq!(beneath.read(b"a/b/c", 100, buffer).unwrap(), ReadFile::Bytes(b"inside"));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for bad in ["up/secret", "out", "again/b/c", "../secret", "a/../../secret", "a/b/c/d"] {
            assert!(beneath.read(bad.as_bytes(), 100, buffer).is_err(), "{bad}");
            assert!(beneath.open_by_steps(bad.as_bytes(), flags).is_err(), "{bad}");
        }
        assert!(beneath.open_by_steps(b"a/b/c", flags).is_ok());
        assert_eq!(beneath.kind(b"out").unwrap(), Kind::Link);
        assert_eq!(beneath.read_link(b"out").unwrap(), b"../secret");
    }

    #[test]
    fn a_folder_is_listed_without_following_anything() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/c"), "inside").unwrap();
        symlink("/", root.join("a/out")).unwrap();
        let beneath = ContainedFolder::new(root).unwrap();
        let listed = beneath.list(b"a", 3).unwrap();
        let file = Kind::File { executable: false, size: 6 };
        assert_eq!(listed, [(b"b".to_vec(), Kind::Folder), (b"c".to_vec(), file), (b"out".to_vec(), Kind::Link)]);
        assert_eq!(beneath.list(b"", 9).unwrap(), [(b"a".to_vec(), Kind::Folder)]);
        assert!(
            beneath.list(b"a", 2).is_err() && beneath.list(b"a/out", 9).is_err() && beneath.list(b"a/c", 9).is_err()
        );
    }

    #[test]
    fn a_large_file_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "12345").unwrap();
        let beneath = ContainedFolder::new(folder.path()).unwrap();
        let buffer = &mut Vec::new();
        assert_eq!(beneath.read(b"f", 4, buffer).unwrap(), ReadFile::TooLarge(5));
        assert_eq!(beneath.read(b"f", 5, buffer).unwrap(), ReadFile::Bytes(b"12345"));
    }

    #[test]
    fn a_file_is_replaced_only_if_it_is_what_it_was_thought_to_be() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::write(folder.path().join("secret"), "outside").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let beneath = ContainedFolder::new(&root).unwrap();
        assert!(beneath.replace(b"a/new", None, b"1").unwrap());
        assert!(!beneath.replace(b"a/new", None, b"2").unwrap(), "it is there already");
        assert!(!beneath.replace(b"a/new", Some(b"0"), b"2").unwrap(), "it holds something else");
        assert!(!beneath.replace(b"a/new", Some(b"10"), b"2").unwrap());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        std::fs::set_permissions(root.join("a/new"), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(beneath.replace(b"a/new", Some(b"1"), b"2").unwrap());
        assert_eq!((std::fs::read(root.join("a/new")).unwrap(), mode(&root.join("a/new"))), (b"2".to_vec(), 0o755));
        for bad in [&b"out"[..], b"up/secret", b"up/new", b"../secret", b"a/none/x", b"a"] {
            assert!(!beneath.replace(bad, Some(b"outside"), b"3").unwrap_or(false), "{}", String::from_utf8_lossy(bad));
            assert!(!beneath.replace(bad, None, b"3").unwrap_or(false), "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"outside");
        assert_eq!(std::fs::read_dir(root.join("a")).unwrap().count(), 1, "no temporary file is left");
        beneath.make_folder("b").unwrap();
        beneath.make_folder("b").unwrap();
        assert!(beneath.make_folder("out").is_err() && beneath.make_folder("up").is_err());
    }

    #[test]
    fn a_buffer_is_used_again_and_gives_only_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let large: Vec<u8> = (0..5_000_000u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for (name, bytes) in [("large", large.as_slice()), ("small", b"abc"), ("none", b"")] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let beneath = ContainedFolder::new(folder.path()).unwrap();
        let buffer = &mut Vec::new();
        for _ in 0..2 {
            assert!(beneath.read(b"large", 5_000_000, buffer).unwrap() == ReadFile::Bytes(&large));
            assert_eq!(beneath.read(b"small", 3, buffer).unwrap(), ReadFile::Bytes(b"abc"));
            assert_eq!(beneath.read(b"none", 0, buffer).unwrap(), ReadFile::Bytes(b""));
        }
        assert!(buffer.capacity() < KEPT_BYTES);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_does_not_tell_its_size_is_read_to_its_end() {
        let beneath = ContainedFolder::new(Path::new("/proc/self")).unwrap();
        let buffer = &mut Vec::new();
        let found = beneath.read(b"status", 1 << 20, buffer).unwrap();
        assert!(matches!(found, ReadFile::Bytes(bytes) if bytes.starts_with(b"Name:")));
        assert!(matches!(beneath.read(b"status", 10, buffer).unwrap(), ReadFile::TooLarge(_)));
    }
}
