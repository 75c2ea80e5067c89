//! Files below one folder, opened so that nothing leads out of it. Main type: [`Beneath`].
//!
//! No link is followed, neither at the end of a path nor on the way. A pipe or a device is never waited for. What may be read belongs
//! in `workspace`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// A folder whose files are read.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File {
        /// Whether its owner may run it.
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

impl Beneath {
    /// Opens the folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// What stands at `path` (components separated by `/`). A link or a file where a folder should be is `NotADirectory`.
    pub fn kind(&self, path: &[u8]) -> io::Result<Kind> {
        let (folder, name) = self.parent(path)?;
        let stat = rustix::fs::statat(folder.as_ref().unwrap_or(&self.root), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of(&stat))
    }

    /// The bytes of a plain file, refused when it is larger than `limit`.
    pub fn read(&self, path: &[u8], limit: u64) -> io::Result<ReadFile> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = self.open(path, flags)?;
        let stat = rustix::fs::fstat(&file)?;
        let Kind::File { size, .. } = kind_of(&stat) else { return Ok(ReadFile::NotPlain(kind_of(&stat))) };
        if size > limit {
            return Ok(ReadFile::TooLarge(size));
        }
        // One byte more than it has: the read that finds the end then needs no larger buffer.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        File::from(file).take(limit + 1).read_to_end(&mut bytes)?;
        // It may have grown since it was asked for its size.
        if bytes.len() as u64 > limit {
            return Ok(ReadFile::TooLarge(bytes.len() as u64));
        }
        Ok(ReadFile::Bytes(bytes))
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

/// What [`Beneath::read`] found.
#[derive(Debug)]
pub enum ReadFile {
    /// All its bytes.
    Bytes(Vec<u8>),
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
        let beneath = Beneath::new(&root).unwrap();
        assert!(matches!(beneath.read(b"a/b/c", 100).unwrap(), ReadFile::Bytes(bytes) if bytes == b"inside"));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for bad in ["up/secret", "out", "again/b/c", "../secret", "a/../../secret", "a/b/c/d"] {
            assert!(beneath.read(bad.as_bytes(), 100).is_err(), "{bad}");
            assert!(beneath.open_by_steps(bad.as_bytes(), flags).is_err(), "{bad}");
        }
        assert!(beneath.open_by_steps(b"a/b/c", flags).is_ok());
        assert_eq!(beneath.kind(b"out").unwrap(), Kind::Link);
        assert_eq!(beneath.read_link(b"out").unwrap(), b"../secret");
    }

    #[test]
    fn a_large_file_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "12345").unwrap();
        let beneath = Beneath::new(folder.path()).unwrap();
        assert!(matches!(beneath.read(b"f", 4).unwrap(), ReadFile::TooLarge(5)));
        assert!(matches!(beneath.read(b"f", 5).unwrap(), ReadFile::Bytes(_)));
    }
}
