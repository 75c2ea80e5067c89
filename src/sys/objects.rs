//! Reading objects fast. Main type: [`Objects`].
//!
//! libgit2 inflates with the classic zlib, and inflating is nearly all that a cold search does; this reader does the same work in about
//! two thirds of the time. It answers only what it is sure of: whatever it cannot read is asked of libgit2 again, whose words people get.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use gix_object::{Find as _, Kind};
use gix_odb::store::init::Options;
use gix_odb::{HandleArc, Store};

use crate::domain::id::ObjectId;

/// A larger object is left to libgit2, which tells its size before it reads it.
const MOST_BYTES: usize = 32 << 20;
/// A buffer that grew beyond this is given back after use.
const KEPT_BYTES: usize = 4 << 20;
/// Opening checks the index of every pack, which a handful of reads is not worth.
const FEW: u32 = 16;
/// The number of bases of deltas each handle keeps.
const BASES: usize = 64;
/// The maximum number of bytes of those.
const BASE_BYTES: usize = 8 << 20;

/// The object folder of a repository and what was opened of it, for all threads; [`reader`](Self::reader) gives each its own reader.
#[derive(Clone)]
pub(super) struct ObjectStore(Arc<ObjectStoreShared>);

struct ObjectStoreShared {
    folder: PathBuf,
    asked: AtomicU32,
    opened: OnceLock<Option<Arc<Store>>>,
}

/// A reader of a repository's objects, for one thread.
pub(super) struct Objects {
    handle: HandleArc,
    buffer: RefCell<Vec<u8>>,
}

impl ObjectStore {
    /// The objects in `folder`; nothing is opened yet.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(Arc::new(ObjectStoreShared { folder, asked: AtomicU32::new(0), opened: OnceLock::new() }))
    }

    /// A reader for one thread; `None` for the first few times, and when the folder cannot be opened.
    pub(super) fn reader(&self) -> Option<Objects> {
        if self.0.asked.fetch_add(1, Ordering::Relaxed) < FEW {
            return None;
        }
        let opened = self.0.opened.get_or_init(|| {
            let options = Options { alloc_limit_bytes: Some(MOST_BYTES), ..Options::default() };
            let none = &mut std::iter::empty();
            Store::at_opts(self.0.folder.clone(), gix_hash::Kind::Sha1, none, options).ok().map(Arc::new)
        });
        let mut handle = opened.as_ref()?.to_cache_arc();
        // An object that is not there is libgit2's to look for: it looks again on the disk, once is enough.
        handle.refresh_never();
        handle.set_pack_cache(|| Box::new(gix_pack::cache::lru::StaticLinkedList::<BASES>::new(BASE_BYTES)));
        Some(Objects { handle, buffer: RefCell::default() })
    }
}

impl Objects {
    /// Lends the bytes of an object to `take`; `None`, and `take` unused, when it cannot be read here or is of another kind.
    pub(super) fn read<T, F: FnOnce(&[u8]) -> T>(&self, id: ObjectId, kind: ObjectKind, take: F) -> Result<T, F> {
        let Ok(mut buffer) = self.buffer.try_borrow_mut() else { return Err(take) };
        let taken = match self.handle.try_find(gix_hash::oid::from_bytes_unchecked(id.as_bytes()), &mut buffer) {
            Ok(Some(found)) if found.kind == kind.theirs() => Ok(take(found.data)),
            _ => Err(take),
        };
        if buffer.capacity() > KEPT_BYTES {
            *buffer = Vec::new();
        }
        taken
    }
}

/// The kinds of objects that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    /// A file's bytes.
    Blob,
    /// A folder.
    Tree,
}

impl ObjectKind {
    fn theirs(self) -> Kind {
        match self {
            Self::Blob => Kind::Blob,
            Self::Tree => Kind::Tree,
        }
    }

    /// As libgit2 calls it.
    pub(super) fn to_raw(self) -> git2::ObjectType {
        match self {
            Self::Blob => git2::ObjectType::Blob,
            Self::Tree => git2::ObjectType::Tree,
        }
    }
}
