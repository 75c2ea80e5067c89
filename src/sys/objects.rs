//! Reading objects fast. Main type: [`Objects`].
//!
//! libgit2 inflates with the classic zlib, and inflating is nearly all that a cold search does; this reader does the same work in less than
//! two thirds of the time. It answers only what it is sure of: whatever it cannot read is asked of libgit2 again, whose words people get.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use gix_object::Kind;
use gix_pack::cache::lru::StaticLinkedList;
use gix_pack::data::decode::entry::ResolvedBase;
use gix_zlib::Inflate;

use super::packs::{GitPack, PackedObjects};
use crate::domain::id::{ObjectId, TreeId};

/// A buffer that grew beyond this is given back after use.
const KEPT_BYTES: usize = 4 << 20;
/// The number of bases of deltas each reader keeps.
const BASES: usize = 64;
/// The maximum number of bytes of those.
const BASE_BYTES: usize = 1 << 20;
/// The number of trees that are kept for each handle, those above one file on either side.
const TREES: usize = 16;
/// The maximum number of bytes of one of them.
const LARGEST_TREE: usize = 256 << 10;

/// A reader of a repository's packed objects, for one thread. A pack that comes later is not read.
pub(super) struct Objects {
    packs: Vec<Arc<GitPack>>,
    state: RefCell<ReaderState>,
}

struct ReaderState {
    buffer: Vec<u8>,
    inflate: Inflate,
    bases: StaticLinkedList<BASES>,
}

impl Objects {
    /// A reader of what is packed now.
    pub(super) fn new(packs: &PackedObjects) -> Self {
        let state =
            ReaderState { buffer: Vec::new(), inflate: Inflate::default(), bases: StaticLinkedList::new(BASE_BYTES) };
        Self { packs: packs.opened(), state: RefCell::new(state) }
    }

    /// Lends the bytes of an object to `take`; `None`, and `take` unused, when it cannot be read here or is of another kind.
    pub(super) fn read<T, F: FnOnce(&[u8]) -> T>(&self, id: ObjectId, kind: ObjectKind, take: F) -> Result<T, F> {
        let Ok(mut state) = self.state.try_borrow_mut() else { return Err(take) };
        let ReaderState { buffer, inflate, bases } = &mut *state;
        let id = gix_hash::oid::from_bytes_unchecked(id.as_bytes());
        let Some((pack, data, entry)) =
            self.packs.iter().find_map(|pack| pack.entry(id).map(|(data, entry)| (pack, data, entry)))
        else {
            return Err(take);
        };
        // In the same mapping, whatever others do meanwhile.
        let entry_of = |id: &gix_hash::oid| data.entry(pack.offset_of(id)?).ok();
        let base = |id: &gix_hash::oid, _: &mut Vec<u8>| Ok(entry_of(id).map(ResolvedBase::InPack));
        let taken = match data.decode_entry(entry, buffer, inflate, &base, bases) {
            Ok(read) if read.kind == kind.theirs() => {
                pack.count_read(read.compressed_size as u64, read.num_deltas);
                Ok(take(buffer))
            }
            _ => Err(take),
        };
        if buffer.capacity() > KEPT_BYTES {
            *buffer = Vec::new();
        }
        taken
    }
}

/// The tree objects that were read last: files that are read one after the other are in the same folders.
#[derive(Default)]
pub(super) struct RecentTrees(RefCell<VecDeque<(TreeId, Arc<[u8]>)>>);

impl RecentTrees {
    /// Returns the bytes of a tree, which `read` reads unless they are known.
    pub(super) fn get<E>(&self, id: TreeId, read: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Arc<[u8]>, E> {
        let known = self.0.borrow().iter().position(|(known, _)| *known == id);
        let tree = match known.and_then(|at| self.0.borrow_mut().remove(at)) {
            Some((_, tree)) => tree,
            None => read()?.into(),
        };
        if tree.len() <= LARGEST_TREE {
            let mut trees = self.0.borrow_mut();
            trees.push_front((id, Arc::clone(&tree)));
            trees.truncate(TREES);
        }
        Ok(tree)
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

#[cfg(test)]
mod tests {
    use super::*;

    // Elsewhere a file that is mapped cannot be removed.
    #[cfg(unix)]
    #[test]
    fn a_pack_that_was_read_much_is_mapped_anew_unless_it_is_gone_or_another_one() {
        const MUCH: u64 = 1 << 40;
        let folder = tempfile::tempdir().unwrap();
        let repo = git2::Repository::init_bare(folder.path()).unwrap();
        let objects = folder.path().join("objects");
        let pack_of = |text: &[u8]| {
            let mut builder = repo.packbuilder().unwrap();
            let id = repo.blob(text).unwrap();
            builder.insert_object(id, None).unwrap();
            builder.write(&objects.join("pack"), 0).unwrap();
            (id, objects.join("pack").join(format!("pack-{}.pack", builder.name().unwrap().unwrap())))
        };
        let (id, path) = pack_of(b"one");
        let id = gix_hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        let pack = PackedObjects::new(std::slice::from_ref(&objects)).opened().remove(0);
        // Returns whether it was mapped anew.
        let reads = |bytes: u64| {
            let (before, _) = pack.entry(&id).unwrap();
            pack.count_read(bytes, 0);
            !Arc::ptr_eq(&before, &pack.entry(&id).unwrap().0)
        };
        assert_eq!([reads(1), reads(MUCH), reads(1), reads(MUCH)], [false, true, false, true]);
        let (_, other) = pack_of(b"another one");
        std::fs::remove_file(&path).unwrap();
        assert_eq!([reads(MUCH), reads(MUCH)], [false, false]);
        std::fs::rename(other, path).unwrap();
        assert_eq!([reads(MUCH), reads(MUCH)], [false, false]);
    }

    #[test]
    fn of_the_trees_that_were_read_last_none_is_read_again() {
        let (trees, reads) = (RecentTrees::default(), std::cell::Cell::new(0));
        let get = |number: u8, size: usize| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok::<_, ()>(vec![number; size])
            };
            assert_eq!(*trees.get(TreeId(ObjectId::new([number; 20])), read).unwrap(), *vec![number; size]);
            reads.take()
        };
        assert_eq!([get(1, 9), get(2, 9), get(1, 9)], [1, 1, 0]);
        assert_eq!([get(3, LARGEST_TREE + 1), get(3, LARGEST_TREE + 1)], [1, 1]);
        (4..18).for_each(|number| assert_eq!(get(number, 9), 1));
        assert_eq!([get(18, 9), get(1, 9), get(2, 9)], [1, 0, 1]);
    }
}
