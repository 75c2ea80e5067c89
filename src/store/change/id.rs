//! Wire type of an object id in `change.json`. Main type: [`StoredId`].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::id::ObjectId;

/// An object id as hexadecimal digits.
#[derive(Clone, Copy)]
pub(super) struct StoredId(pub(super) ObjectId);

impl Serialize for StoredId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StoredId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer).map(Self)
    }
}

/// Deserializes a string through `FromStr`.
pub(super) fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
