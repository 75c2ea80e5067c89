//! Ids of git objects, one newtype a kind, so that a tree is never read where a blob was meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A git object id: the 20 bytes of a SHA-1. Kept as hexadecimal digits.
///
/// SHA-256 repositories are refused when they are opened, so no longer form exists here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ObjectId([u8; 20]);

/// Text that is not a full hexadecimal object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an object id: {0:?} (40 hexadecimal digits expected)")]
pub struct InvalidObjectId(pub String);

impl ObjectId {
    /// The id that git writes for "no object".
    pub const ZERO: Self = Self([0; 20]);

    /// Wraps the raw bytes of an id.
    pub const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Checks whether this is [`ObjectId::ZERO`].
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}

/// Bytes as hexadecimal digits, as hashes are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        digits.push_str(&format!("{byte:02x}"));
        digits
    })
}

/// Adds a part to a hash with its length, so that no two lists of parts hash the same input.
pub fn hash_part(hash: &mut Sha256, part: impl AsRef<[u8]>) {
    let part = part.as_ref();
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for ObjectId {
    type Err = InvalidObjectId;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        let fault = || InvalidObjectId(hex.to_owned());
        if hex.len() != 40 || !hex.is_ascii() {
            return Err(fault());
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
                return Err(fault());
            };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> Self {
        hex(&id.0)
    }
}

impl TryFrom<String> for ObjectId {
    type Error = InvalidObjectId;

    fn try_from(hex: String) -> Result<Self, InvalidObjectId> {
        hex.parse()
    }
}

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        pub struct $name(pub ObjectId);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

object_id!(
    /// The id of a commit.
    CommitId
);
object_id!(
    /// The id of a tree (a folder at a revision).
    TreeId
);
object_id!(
    /// The id of a blob (a file's bytes).
    BlobId
);

impl CommitId {
    /// The first ten digits, as people read them.
    pub fn short(&self) -> String {
        let mut hex = self.to_string();
        hex.truncate(10);
        hex
    }

    /// Shortens a name that is a whole id, as people read it; any other one stays as it is.
    pub fn shorten_name(name: &str) -> String {
        name.parse().map_or_else(|_| name.to_owned(), |id| Self(id).short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_id_is_shortened() {
        let whole = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(CommitId::shorten_name(whole), "0123456789");
        for name in ["main", "0123456", "origin/0123456789abcdef0123456789abcdef01234567"] {
            assert_eq!(CommitId::shorten_name(name), name);
        }
    }

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        let hex = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(hex.parse::<ObjectId>().unwrap().to_string(), hex);
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for bad in ["", "abc", &"g".repeat(40), &"ä".repeat(20)] {
            assert!(bad.parse::<ObjectId>().is_err(), "{bad}");
        }
    }
}
