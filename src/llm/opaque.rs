//! Data in a conversation that only the provider understands and must get back verbatim. Main type: [`Opaque`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A part that goes back to its provider. The spelling is part of the journal's format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Opaque {
    /// Reasoning that a server shows and wants back.
    #[serde(rename = "ReasoningContent")]
    Reasoning(String),
    /// A signature that belongs to the part after it.
    #[serde(rename = "ThoughtSignature")]
    Signature(String),
    /// A block of the provider's own.
    #[serde(rename = "Custom")]
    Block {
        /// The block.
        data: Value,
    },
}

impl Opaque {
    /// Returns the part as it is stored; `None` if it holds what JSON cannot express.
    pub(super) fn write(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }

    /// Reads a part; `None` for data of another program.
    pub(super) fn read(part: &Value) -> Option<Self> {
        Self::deserialize(part).ok()
    }

    /// Creates a provider's own block.
    pub(super) fn block(data: Value) -> Self {
        Self::Block { data }
    }

    /// Returns the provider's own block within a part.
    pub(super) fn block_in(part: &Value) -> Option<Value> {
        match Self::read(part)? {
            Self::Block { data } => Some(data),
            Self::Reasoning(_) | Self::Signature(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_of_earlier_journals_are_read() {
        let read = |part: Value| Opaque::read(&part);
        assert_eq!(read(json!({ "ReasoningContent": "Hm." })), Some(Opaque::Reasoning("Hm.".to_owned())));
        assert_eq!(read(json!({ "ThoughtSignature": "c2ln" })), Some(Opaque::Signature("c2ln".to_owned())));
        let block = json!({ "Custom": { "model_iden": null, "data": { "type": "thinking" } } });
        assert_eq!(read(block), Some(Opaque::block(json!({ "type": "thinking" }))));
        assert_eq!(read(json!({ "Binary": {} })), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for part in [Opaque::Reasoning("a".to_owned()), Opaque::block(json!({ "b": [1] }))] {
            assert_eq!(Opaque::read(&part.write().unwrap()), Some(part));
        }
    }
}
