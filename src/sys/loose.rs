//! Loose objects, each a file of its own. Main type: [`LooseObjects`].
//!
//! libgit2 inflates a loose object that was cut (a full disk, a power failure) forever. Here such a file is recognized first. Objects in packs
//! are looked at in `packs`.

use std::path::PathBuf;
use std::sync::Arc;

use gix_odb::loose;

use super::packs::StoredObject;
use super::repo_error::RepoError;
use crate::domain::id::ObjectId;

/// A larger object is not inflated to be checked, in bytes: where its size matters it is asked for alone, which ends.
const MOST_BYTES: usize = 64 << 20;

/// The loose objects of a repository.
#[derive(Clone)]
pub(super) struct LooseObjects(Arc<[loose::Store]>);

impl LooseObjects {
    /// Those in object folders.
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        let store = |folder: &PathBuf| {
            let options = loose::Options { alloc_limit_bytes: Some(MOST_BYTES), ..loose::Options::default() };
            loose::Store::at_opts(folder.clone(), gix_hash::Kind::Sha1, options)
        };
        Self(folders.iter().map(store).collect())
    }

    /// Finds an object and how it is stored; `None` if it is not here. One that cannot be inflated to its end is refused; larger ones than are checked
    /// pass.
    pub(super) fn find(&self, id: ObjectId) -> Result<Option<StoredObject>, RepoError> {
        let oid = gix_hash::oid::from_bytes_unchecked(id.as_bytes());
        let Some(store) = self.0.iter().find(|store| store.contains(oid)) else { return Ok(None) };
        match store.try_header(oid) {
            Ok(Some((size, kind))) => {
                let stored = StoredObject::undeltified(kind, size).refuse_oversized(id)?;
                if size <= MOST_BYTES as u64 {
                    let _turn = stored.wait_for_turn();
                    let mut bytes = Vec::new();
                    let object = store.try_find(oid, &mut bytes).map_err(|_| RepoError::Damaged(id))?;
                    // Content that has another name is not what was asked for.
                    object
                        .map_or(Ok(oid.to_owned()), |object| object.verify_checksum(oid))
                        .map_err(|_| RepoError::Damaged(id))?;
                }
                Ok(Some(stored))
            }
            Ok(None) => Ok(None),
            Err(_) => Err(RepoError::Damaged(id)),
        }
    }
}
