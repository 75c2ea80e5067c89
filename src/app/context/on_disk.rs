//! Reads the project's own files from the working tree, if requested. Main function: [`read_plain_file`].
//!
//! The decision to read the working tree belongs to the callers.

use std::io;
use std::path::Path;

use crate::sys::contained_folder::{ContainedFolder, ReadFile};

/// Reads a plain file of the working tree, of at most `most` bytes; `None` if there is none.
///
/// No link is followed: otherwise the author of the checkout could have the error message show any file of this machine.
pub(in crate::app) fn read_plain_file(root: &Path, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    let beneath = ContainedFolder::new(root)?;
    match beneath.kind(name.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let mut buffer = Vec::new();
    match beneath.read(name.as_bytes(), most, &mut buffer) {
        Ok(ReadFile::Bytes(bytes)) => Ok(Some(bytes.to_vec())),
        _ => {
            let why =
                format!("it is read from a plain file of at most {} MiB, not from a link or a folder", most >> 20);
            Err(io::Error::other(why))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_the_disk_is_not_read_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        assert!(read_plain_file(&root, ".review.toml", 1 << 20).unwrap().is_none());
        std::fs::write(folder.path().join("secret"), "min_severity = \"low\"\n").unwrap();
        std::os::unix::fs::symlink("../secret", root.join(".review.toml")).unwrap();
        assert!(read_plain_file(&root, ".review.toml", 1 << 20).unwrap_err().to_string().contains("not from a link"));
    }
}
