//! Loose objects, each a file of its own. Main type: [`LooseObjects`].
//!
//! libgit2 inflates a loose object that was cut (a full disk, a power failure) forever. Here such a file is recognized first. Objects in packs
//! are not looked at: they are found in `objects`.

use std::path::PathBuf;

use gix_odb::loose;

use crate::domain::id::ObjectId;

/// A larger object is not inflated to be checked, in bytes: where its size matters it is asked for alone, which ends.
const MOST_BYTES: usize = 64 << 20;

/// The loose objects of a repository.
#[derive(Clone)]
pub(super) struct LooseObjects(loose::Store);

impl LooseObjects {
    /// Those in an object folder.
    pub(super) fn new(folder: PathBuf) -> Self {
        let options = loose::Options { alloc_limit_bytes: Some(MOST_BYTES), ..loose::Options::default() };
        Self(loose::Store::at_opts(folder, gix_hash::Kind::Sha1, options))
    }

    /// Whether the object is here and cannot be inflated to its end. An object that is elsewhere, or larger than is checked, is not damaged as
    /// far as this can tell.
    pub(super) fn is_damaged(&self, id: ObjectId) -> bool {
        let id = gix_hash::oid::from_bytes_unchecked(id.as_bytes());
        if !self.0.contains(id) {
            return false;
        }
        match self.0.try_header(id) {
            Ok(Some((size, _))) if size > MOST_BYTES as u64 => false,
            Ok(None) => false,
            Ok(Some(_)) => self.0.try_find(id, &mut Vec::new()).is_err(),
            Err(_) => true,
        }
    }
}
