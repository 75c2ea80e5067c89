//! The files of folders that hold a `.git` and are no repositories. Main function: [`open_false_ones`].
//!
//! The library passes over every folder that holds something called `.git`. Git looks into that, and takes the files if it is no repository.

use std::collections::BTreeMap;
use std::fs;

use crate::domain::change::Omission;
use crate::domain::id::BlobId;
use crate::domain::limits::OmissionList;
use crate::sys::cancel::Cancel;
use crate::sys::nested::is_repository;
use crate::sys::repo::Repo;

use super::GitError;
use super::disk::native;
use super::entries::spelled;

/// Puts the untracked files of each listed folder (its path ends in a slash) in its place, unless the folder is a repository.
pub(super) fn open_false_ones(
    repo: &Repo,
    paths: &mut BTreeMap<Vec<u8>, Option<BlobId>>,
    omissions: &mut OmissionList,
    cancel: &Cancel,
) -> Result<(), GitError> {
    let Some(root) = repo.workdir() else { return Ok(()) };
    let mut folders: Vec<Vec<u8>> = paths.keys().filter(|path| path.ends_with(b"/")).cloned().collect();
    while let Some(folder) = folders.pop() {
        cancel.check()?;
        let full = root.join(native(&folder));
        if is_repository(&full) {
            paths.entry(folder).or_default();
            continue;
        }
        paths.remove(&folder);
        let entries = match fs::read_dir(&full) {
            Ok(entries) => entries,
            Err(error) => {
                let reason = format!("cannot be read from the disk: {error}");
                omissions.push(Omission { path: Some(spelled(&folder)), reason, unseen: true });
                continue;
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name().into_encoded_bytes();
            if name.eq_ignore_ascii_case(b".git") {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let mut path = [folder.as_slice(), name.as_slice()].concat();
            if is_folder {
                path.push(b'/');
            }
            if repo.raw().is_path_ignored(native(&path)).unwrap_or(false) {
                continue;
            }
            if is_folder {
                folders.push(path);
            } else {
                paths.entry(path).or_default();
            }
        }
    }
    Ok(())
}
