//! Packed objects, looked at before libgit2 inflates them. Main types: [`PackedObjects`], [`StoredObject`].
//!
//! A few bytes of a pack can stand for an object of any size: a delta says what it makes, not what it is made from, so a file of six bytes may
//! pass through one of gigabytes. libgit2 bounds none of it, follows deltas that lead back to themselves forever, and its binding panics on
//! kinds that do not exist. Here the whole chain of an object is read first: a header for each delta, and the first bytes of some.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::SystemTime;

use gix_object::Kind;
use gix_pack::data::entry::Header;
use gix_pack::{MMap, data, index};
use gix_zlib::Inflate;

use super::files;
use super::repo_error::RepoError;
use crate::domain::id::ObjectId;
use crate::domain::limits::LIMITS;

/// Objects that take more bytes to read are read one at a time, whatever the number of threads.
const GIANT: u64 = 16 << 20;

/// The first bytes of a delta, inflated: its two sizes.
const SIZES: usize = 20;

/// A larger object is not read here but by libgit2, which tells its size before it reads it.
const MOST_BYTES: usize = 32 << 20;

/// The maximum number of bytes of a pack that count as memory after objects were read, as estimated. The estimate is high, because what is mapped for
/// objects beside each other is shared: in a review of a thousand files a pack is mapped anew some twenty times, which takes 15 MiB less.
const MOST_MAPPED: u64 = 160 << 20;

/// The bytes around one that is read that the system maps with it.
const MAPPED_AROUND: u64 = 64 << 10;

/// The bytes of a pack in which those are found.
const SIZES_PACKED: u64 = 1 << 10;

/// An object as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredObject {
    pub(super) kind: Kind,
    /// Its size, in bytes.
    pub(super) size: u64,
    /// The size of the largest object that it is made from, or its own: at least that many bytes are taken to read it.
    pub(super) heaviest: u64,
}

impl StoredObject {
    /// An object that is not made from others.
    pub(super) fn undeltified(kind: Kind, size: u64) -> Self {
        Self { kind, size, heaviest: size }
    }

    /// Refuses what is too large to be read whatever is asked of it.
    pub(super) fn refuse_oversized(self, id: ObjectId) -> Result<Self, RepoError> {
        let limit = match self.kind {
            Kind::Blob => return Ok(self),
            Kind::Tree => LIMITS.tree_bytes,
            Kind::Commit | Kind::Tag => LIMITS.commit_bytes,
        };
        if self.size > limit { Err(RepoError::TooLarge { id, size: self.size, limit }) } else { Ok(self) }
    }

    /// Waits until no other thread reads a giant object, where this is one; others may read when the answer is dropped.
    pub(super) fn wait_for_turn(self) -> Option<MutexGuard<'static, ()>> {
        static GIANTS: Mutex<()> = Mutex::new(());
        (self.heaviest > GIANT).then(|| GIANTS.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The packs of a repository; clones share what was opened.
#[derive(Clone)]
pub(super) struct PackedObjects(Arc<PackedShared>);

thread_local! {
    /// The inflater for the beginnings of deltas.
    static INFLATE: RefCell<Inflate> = RefCell::default();
}

struct PackedShared {
    /// The folders of packs, the repository's own first.
    folders: Vec<PathBuf>,
    opened: RwLock<OpenedPacks>,
}

#[derive(Default)]
struct OpenedPacks {
    /// When a pack last came or went, for each folder.
    modified: Vec<Option<SystemTime>>,
    packs: Vec<Arc<GitPack>>,
    /// The number of packs that were opened so far.
    count: u32,
}

/// A pack with its index.
pub(super) struct GitPack {
    path: PathBuf,
    /// Distinguishes it from all others of the repository, also from those that are gone.
    number: u32,
    index: index::File<MMap>,
    /// `None` if it cannot be opened.
    data: OnceLock<Option<RwLock<Arc<PackData>>>>,
    /// The bytes that reading it mapped since the last time that it was mapped anew, as estimated.
    read: AtomicU64,
}

/// The bytes of a pack, mapped. What was read of them counts as memory of this process until they are unmapped.
pub(super) type PackData = data::File<MMap>;

/// A reason not to read an object.
enum PackRefusal {
    Damaged,
    TooLarge(u64),
}

impl PackedObjects {
    /// Those in an object folder; nothing is opened yet.
    pub(super) fn new(objects: &[PathBuf]) -> Self {
        let folders = objects.iter().map(|folder| folder.join("pack")).collect();
        Self(Arc::new(PackedShared { folders, opened: RwLock::default() }))
    }

    /// The packs that there are now.
    pub(super) fn opened(&self) -> Vec<Arc<GitPack>> {
        self.0.packs()
    }

    /// Finds an object, how it is stored, and whether one of the repository's own packs has it; `None` if it is in no pack. Every copy of it is looked
    /// at: which one libgit2 reads is its own affair.
    pub(super) fn find(&self, id: ObjectId) -> Result<Option<(StoredObject, bool)>, RepoError> {
        let mut found: Option<StoredObject> = None;
        let mut is_own = false;
        for pack in self.0.packs() {
            let oid = gix_hash::oid::from_bytes_unchecked(id.as_bytes());
            let Some(offset) = pack.offset_of(oid) else { continue };
            // Nobody reads from a pack that cannot be opened.
            let Some(data) = pack.data() else { continue };
            let stored = match chain(&pack, &data, offset) {
                Ok(stored) => stored,
                Err(PackRefusal::Damaged) => return Err(RepoError::Damaged(id)),
                Err(PackRefusal::TooLarge(size)) => {
                    return Err(RepoError::TooLarge { id, size, limit: LIMITS.delta_bytes });
                }
            };
            let heaviest = found.map_or(0, |other| other.heaviest).max(stored.heaviest);
            found = Some(StoredObject { heaviest, ..found.unwrap_or(stored) });
            is_own |= self.0.folders.first().is_some_and(|own| pack.path.starts_with(own));
        }
        Ok(found.map(|stored| (stored, is_own)))
    }
}

/// Reads the headers of an object and of all that it is made from.
fn chain(pack: &GitPack, data: &PackData, offset: u64) -> Result<StoredObject, PackRefusal> {
    let entry_at = |offset: u64| data.entry(offset).map_err(|_| PackRefusal::Damaged);
    let mut entry = entry_at(offset)?;
    let mut deltas = Vec::new();
    while entry.header.is_delta() {
        // More than git makes, or a circle.
        if deltas.len() >= LIMITS.delta_depth {
            return Err(PackRefusal::Damaged);
        }
        deltas.push((entry.decompressed_size, entry.data_offset));
        let base = match entry.header {
            Header::OfsDelta { base_distance } => entry.checked_base_pack_offset(base_distance),
            Header::RefDelta { base_id } => pack.offset_of(&base_id),
            Header::Commit | Header::Tree | Header::Blob | Header::Tag => None,
        };
        entry = entry_at(base.ok_or(PackRefusal::Damaged)?)?;
    }
    let kind = entry.header.as_kind().ok_or(PackRefusal::Damaged)?;
    let mut made = StoredObject::undeltified(kind, entry.decompressed_size);
    let within = |size: u64| if size > LIMITS.delta_bytes { Err(PackRefusal::TooLarge(size)) } else { Ok(size) };
    for (left, (size, at)) in deltas.iter().enumerate().rev() {
        within(made.size)?;
        let most = most_made(made.size, within(*size)?);
        // The size that matters is read; of the others it is enough that they cannot be large.
        made.size = if left == 0 || most > GIANT { result_size(data, *at).ok_or(PackRefusal::Damaged)? } else { most };
        made.heaviest = made.heaviest.max(made.size).max(*size);
    }
    Ok(made)
}

/// The size of what a delta makes, which stands at its beginning.
fn result_size(data: &PackData, at: u64) -> Option<u64> {
    let packed = data.entry_slice(at..at.saturating_add(SIZES_PACKED).min(data.pack_end() as u64))?;
    let mut sizes = [0; SIZES];
    let (_, _, length) = INFLATE.with_borrow_mut(|inflate| {
        inflate.reset();
        inflate.prefix(packed, &mut sizes).ok()
    })?;
    let (_, rest) = varint(sizes.get(..length)?)?;
    varint(rest).map(|(size, _)| size)
}

impl PackedShared {
    /// The packs that there are, opened again when one came or went.
    fn packs(&self) -> Vec<Arc<GitPack>> {
        let folders = &self.folders;
        let modified: Vec<_> = folders.iter().map(|folder| files::modified(folder)).collect();
        {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            if opened.modified == modified {
                return opened.packs.clone();
            }
        }
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut opened.packs);
        for path in folders.iter().flat_map(|folder| files::plain_files(folder).unwrap_or_default()) {
            if path.extension().is_none_or(|extension| extension != "idx") {
                continue;
            }
            match known.iter().find(|pack| pack.path == path) {
                Some(pack) => opened.packs.push(Arc::clone(pack)),
                None => {
                    opened.count += 1;
                    let pack = GitPack::open(&path, opened.count);
                    opened.packs.extend(pack.map(Arc::new));
                }
            }
        }
        opened.modified = modified;
        opened.packs.clone()
    }
}

impl GitPack {
    /// `None` where libgit2 could not read the index either.
    fn open(path: &Path, number: u32) -> Option<Self> {
        let index = index::File::at(path, gix_hash::Kind::Sha1).ok()?;
        Some(Self { path: path.to_owned(), number, index, data: OnceLock::new(), read: AtomicU64::new(0) })
    }

    fn map(&self) -> Option<Arc<PackData>> {
        let data = PackData::at(self.path.with_extension("pack"), gix_hash::Kind::Sha1).ok()?;
        let mut data = data.with_alloc_limit_bytes(Some(MOST_BYTES));
        // Bases of deltas are cached under this number.
        data.id = self.number;
        Some(Arc::new(data))
    }

    /// Returns its bytes as they are mapped now.
    fn data(&self) -> Option<Arc<PackData>> {
        let data = self.data.get_or_init(|| self.map().map(RwLock::new)).as_ref()?;
        Some(Arc::clone(&data.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Counts the packed bytes of an object that was read, made of so many deltas, and maps the pack anew when these are many. If it is not there
    /// any more, or another one, it stays mapped as it is.
    pub(super) fn count_read(&self, bytes: u64, deltas: u32) {
        let more = bytes + MAPPED_AROUND * (u64::from(deltas) + 1);
        let before = self.read.fetch_add(more, Ordering::Relaxed);
        // Of several threads one does it.
        if before > MOST_MAPPED || before + more <= MOST_MAPPED {
            return;
        }
        let fresh = self.map().filter(|fresh| fresh.checksum() == self.index.pack_checksum());
        if let (Some(Some(data)), Some(fresh)) = (self.data.get(), fresh) {
            *data.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
        self.read.store(0, Ordering::Relaxed);
    }

    /// Returns the byte at which an object begins; `None` if it is not in this pack.
    pub(super) fn offset_of(&self, id: &gix_hash::oid) -> Option<u64> {
        self.index.lookup(id).map(|at| self.index.pack_offset_at_index(at))
    }

    /// Returns where an object is stored, and the pack; `None` if it is not in this one.
    pub(super) fn entry(&self, id: &gix_hash::oid) -> Option<(Arc<PackData>, data::Entry)> {
        let offset = self.offset_of(id)?;
        let data = self.data()?;
        let entry = data.entry(offset).ok()?;
        Some((data, entry))
    }
}

/// The most bytes that a delta makes of a base: each of its instructions copies from the base or adds a byte of its own. A copy of up to 64 KiB
/// may be written in one byte, one of up to 16 MiB in two.
fn most_made(base: u64, delta: u64) -> u64 {
    let (short, long) = (base.min(1 << 16), base.min(1 << 24) / 2);
    delta.saturating_mul(short.max(long).max(1))
}

/// A number in groups of seven bits, the lowest first, and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut shift) = (0u64, 0u32);
    for (at, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 63)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
        shift += 7;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_delta_are_read() {
        assert_eq!(varint(&[0x05, 0x09]), Some((5, &[9][..])));
        assert_eq!(varint(&[0x80, 0x01]), Some((128, &[][..])));
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(varint(&[0xff; 12]), None);
    }

    #[test]
    fn a_small_delta_of_a_small_base_cannot_make_much() {
        assert_eq!(most_made(1_000, 10), 10_000);
        assert_eq!(most_made(0, 10), 10);
        assert!(most_made(1 << 30, 100) >= 50 * (0xff_0000), "two bytes copy so much");
        assert_eq!(most_made(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn folders_and_commits_have_a_size() {
        let refused = |kind, size| StoredObject::undeltified(kind, size).refuse_oversized(ObjectId::ZERO).is_err();
        assert!(refused(Kind::Commit, LIMITS.commit_bytes + 1) && refused(Kind::Tag, u64::MAX));
        assert!(refused(Kind::Tree, LIMITS.tree_bytes + 1));
        assert!(!refused(Kind::Blob, u64::MAX) && !refused(Kind::Tree, LIMITS.tree_bytes));
    }
}
