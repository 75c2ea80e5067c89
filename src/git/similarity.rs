//! The similarity of two files, counted as git does (`diffcore-delta.c`). Main type: [`FileFingerprint`].
//!
//! A file is cut into pieces that end at a line feed or after 64 bytes; the bytes of the pieces that both have, over the size of the
//! larger file, are the similarity.

use std::hash::{BuildHasher as _, Hasher as _};

use crate::sys::charset;

/// The pieces of a file.
#[derive(Debug)]
pub(super) struct FileFingerprint {
    /// Hash of a piece and how many bytes all pieces with it have; by hash.
    pieces: Vec<(u32, u32)>,
    size: u64,
}

/// Longest piece, in bytes.
const PIECE: usize = 64;

/// The number of pieces gathered before duplicates are merged.
const GATHERED: usize = 1 << 16;

impl FileFingerprint {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let text = !charset::is_binary(bytes);
        let hasher = std::hash::BuildHasherDefault::<Fnv>::default();
        let mut pieces = Vec::with_capacity((bytes.len() / 32 + 1).min(GATHERED));
        let mut most = GATHERED;
        let mut rest = bytes;
        while !rest.is_empty() {
            let window = &rest[..rest.len().min(PIECE)];
            let length = memchr::memchr(b'\n', window).map_or(window.len(), |at| at + 1);
            let (piece, after) = rest.split_at(length);
            let mut state = hasher.build_hasher();
            // A change of line ends alone is no difference in text.
            let returns = text && piece.ends_with(b"\r\n");
            state.write(if returns { &piece[..length - 2] } else { piece.strip_suffix(b"\n").unwrap_or(piece) });
            let hash = state.finish();
            #[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
            pieces
                .push(((hash ^ (hash >> 32)) as u32, u32::try_from(length - usize::from(returns)).unwrap_or(u32::MAX)));
            rest = after;
            if pieces.len() == most {
                join_equal(&mut pieces);
                // Where few were equal, the next time is further away.
                most = most.max(pieces.len() * 2);
            }
        }
        join_equal(&mut pieces);
        pieces.shrink_to_fit();
        Self { pieces, size: bytes.len() as u64 }
    }

    /// The bytes of memory that it takes.
    pub(super) fn memory(&self) -> u64 {
        (self.pieces.capacity() * size_of::<(u32, u32)>()) as u64
    }

    /// The size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Hundredths of the larger file that both have.
    pub(super) fn similarity(&self, other: &Self) -> u32 {
        let larger = self.size.max(other.size);
        if larger == 0 {
            return 0;
        }
        let mut shared = 0u64;
        let (mut a, mut b) = (self.pieces.as_slice(), other.pieces.as_slice());
        while let ([one, more_a @ ..], [two, more_b @ ..]) = (a, b) {
            match one.0.cmp(&two.0) {
                std::cmp::Ordering::Less => a = more_a,
                std::cmp::Ordering::Greater => b = more_b,
                std::cmp::Ordering::Equal => {
                    shared += u64::from(one.1.min(two.1));
                    (a, b) = (more_a, more_b);
                }
            }
        }
        u32::try_from(shared * 100 / larger).unwrap_or(100).min(100)
    }
}

/// Makes one of the pieces with the same hash.
fn join_equal(pieces: &mut Vec<(u32, u32)>) {
    pieces.sort_unstable();
    pieces.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 = first.1.saturating_add(later.1);
        }
        same
    });
}

/// Checks whether two sizes alone rule out that half of the larger file is in the other.
pub(super) fn is_too_different(one: u64, other: u64, threshold: u32) -> bool {
    let (small, large) = (one.min(other), one.max(other));
    small * 100 < large * u64::from(threshold)
}

/// FNV-1a over eight bytes at a time: the pieces are short and come from files, not from whoever wants a table to be slow.
#[derive(Default)]
struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        let mut state = self.0 ^ 0xcbf2_9ce4_8422_2325;
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
            state = (state ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
        for byte in chunks.remainder() {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.0 = state ^ (bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(one: &[u8], other: &[u8]) -> u32 {
        FileFingerprint::of(one).similarity(&FileFingerprint::of(other))
    }

    #[test]
    fn half_of_the_lines_is_half() {
        assert_eq!(similarity(b"aaaa\nbbbb\n", b"aaaa\ncccc\n"), 50);
        assert_eq!(similarity(b"aaaa\n", b"aaaa\n"), 100);
        assert_eq!(similarity(b"aaaa\n", b"bbbb\n"), 0);
        assert_eq!(similarity(b"", b""), 0);
    }

    #[test]
    fn repeated_lines_count_as_often_as_both_have_them() {
        assert_eq!(similarity(b"}}}}\n}}}}\n}}}}\n}}}}\n", b"}}}}\nabcd\nefgh\nijkl\n"), 25);
    }

    #[test]
    fn equal_lines_take_no_memory() {
        let blank = FileFingerprint::of(&vec![b'\n'; 4 * GATHERED]);
        assert!(blank.memory() < 1_000, "{} bytes", blank.memory());
        let line = |line| format!("{line}\n");
        let many: String = (0..3 * GATHERED).map(line).collect();
        let (one, other) = (FileFingerprint::of(many.as_bytes()), FileFingerprint::of(format!("{many}x\n").as_bytes()));
        assert_eq!(one.similarity(&other), 99);
        assert_eq!(one.memory(), one.pieces.len() as u64 * 8);
    }

    #[test]
    fn sizes_rule_pairs_out() {
        assert!(is_too_different(49, 100, 50));
        assert!(!is_too_different(50, 100, 50));
    }
}
