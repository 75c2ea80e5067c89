//! Reads the only used file of an artefact. Main function: [`read`].

use std::io;
use std::path::Path;

use super::error::ArtefactError;
use crate::sys::contained_folder::{ContainedFolder, Kind, ReadFile};

/// The file name; no other file is opened, and no subfolder is read.
const REVIEW: &str = "review.json";
/// Maximum size in bytes of a review.
const MOST: u64 = 8 << 20;

/// Reads the review's text from the folder. Follows no link, and never blocks on a pipe or device.
pub(super) fn read(folder: &Path) -> Result<String, ArtefactError> {
    let missing = |why: String| ArtefactError::Missing { folder: folder.display().to_string(), why };
    let fault = |error: io::Error| missing(error.to_string());
    let beneath = ContainedFolder::new(folder).map_err(fault)?;
    let not_plain = |kind: Kind| ArtefactError::NotPlain {
        what: match kind {
            Kind::Link => "a symbolic link",
            Kind::Folder => "a folder",
            Kind::File { .. } | Kind::Special => "a pipe, a socket or a device",
        },
    };
    match beneath.kind(REVIEW.as_bytes()) {
        Ok(Kind::File { .. }) => {}
        Ok(kind) => return Err(not_plain(kind)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(missing(format!("it has no file {REVIEW}")));
        }
        Err(error) => return Err(fault(error)),
    }
    let mut buffer = Vec::new();
    match beneath.read(REVIEW.as_bytes(), MOST, &mut buffer).map_err(fault)? {
        ReadFile::Bytes(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| ArtefactError::NotText),
        ReadFile::TooLarge(bytes) => Err(ArtefactError::TooLarge { bytes, most: MOST }),
        ReadFile::NotPlain(kind) => Err(not_plain(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_file_of_bounded_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(REVIEW);
        assert!(matches!(read(folder.path()), Err(ArtefactError::Missing { .. })));
        assert!(matches!(read(&folder.path().join("none")), Err(ArtefactError::Missing { .. })));
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(read(folder.path()).unwrap(), "{}");
        std::fs::write(&file, b"\xff").unwrap();
        assert_eq!(read(folder.path()), Err(ArtefactError::NotText));
        std::fs::write(&file, vec![b' '; usize::try_from(MOST).unwrap() + 1]).unwrap();
        assert_eq!(read(folder.path()), Err(ArtefactError::TooLarge { bytes: MOST + 1, most: MOST }));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(read(folder.path()), Err(ArtefactError::NotPlain { what: "a folder" }));
    }

    #[cfg(unix)]
    #[test]
    fn neither_a_link_nor_a_pipe_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join(REVIEW), folder.path().join("other"));
        std::fs::write(&other, "{}").unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert_eq!(read(folder.path()), Err(ArtefactError::NotPlain { what: "a symbolic link" }));
        std::fs::remove_file(&file).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
        assert_eq!(read(folder.path()), Err(ArtefactError::NotPlain { what: "a pipe, a socket or a device" }));
    }
}
