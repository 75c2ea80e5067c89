//! Splits the bytes of a peer into JSON objects, without relying on line ends. Main type: [`ObjectDecoder`].
//!
//! Old extensions end a reply with nothing, new ones with a line feed, and any of them may arrive in pieces or glued together: an object is
//! complete as soon as its last brace is there.

/// A piece of the peer's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DecodedPiece {
    /// An object, complete by its braces; it may still be no JSON.
    Object(Vec<u8>),
    /// The line end right after an object.
    LineEnd,
    /// An object that was longer than the limit; its bytes are gone.
    Oversized,
    /// Bytes that belong to no object, up to the next object or line end.
    Noise,
}

/// The position between objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutsidePosition {
    /// At the beginning of a line.
    LineStart,
    /// Behind an object, in its line.
    AfterObject,
    /// In bytes that are skipped.
    Noise,
}

/// The position within an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InsidePosition {
    Structure,
    Text,
    /// In a string, behind a backslash.
    Escape,
}

/// The state between two pieces of the stream.
#[derive(Debug)]
pub(super) struct ObjectDecoder {
    buffer: Vec<u8>,
    /// The number of open brackets.
    depth: usize,
    outside: OutsidePosition,
    inside: InsidePosition,
    /// `true` if the object is beyond the limit and only its end is searched for.
    is_oversized: bool,
    most: usize,
}

impl ObjectDecoder {
    /// Creates a decoder that holds at most `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        let (outside, inside) = (OutsidePosition::LineStart, InsidePosition::Structure);
        Self { buffer: Vec::new(), depth: 0, outside, inside, is_oversized: false, most }
    }

    /// `true` if an object has begun and not ended.
    pub(super) fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// Decodes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(DecodedPiece)) {
        for byte in bytes {
            if self.depth == 0 {
                self.outside(*byte, &mut each);
            } else {
                self.inside(*byte, &mut each);
            }
        }
    }

    fn outside(&mut self, byte: u8, each: &mut impl FnMut(DecodedPiece)) {
        match byte {
            b'{' => {
                self.depth = 1;
                self.buffer.push(byte);
            }
            b'\n' => {
                if self.outside == OutsidePosition::AfterObject {
                    each(DecodedPiece::LineEnd);
                }
                self.outside = OutsidePosition::LineStart;
            }
            b' ' | b'\t' | b'\r' => {}
            _ => {
                if self.outside != OutsidePosition::Noise {
                    each(DecodedPiece::Noise);
                }
                self.outside = OutsidePosition::Noise;
            }
        }
    }

    fn inside(&mut self, byte: u8, each: &mut impl FnMut(DecodedPiece)) {
        if self.inside != InsidePosition::Structure && byte == b'\n' {
            // JSON has no line end in a string: the object was cut off, and another one may follow.
            self.end(OutsidePosition::LineStart);
            each(DecodedPiece::Noise);
            return;
        }
        if self.buffer.len() >= self.most {
            self.is_oversized = true;
            self.buffer = Vec::new();
        }
        if !self.is_oversized {
            self.buffer.push(byte);
        }
        match (self.inside, byte) {
            (InsidePosition::Escape, _) | (InsidePosition::Structure, b'"') => self.inside = InsidePosition::Text,
            (InsidePosition::Text, b'\\') => self.inside = InsidePosition::Escape,
            (InsidePosition::Text, b'"') => self.inside = InsidePosition::Structure,
            (InsidePosition::Structure, b'{' | b'[') => self.depth += 1,
            (InsidePosition::Structure, b'}' | b']') => self.depth -= 1,
            (InsidePosition::Structure | InsidePosition::Text, _) => {}
        }
        if self.depth == 0 {
            let is_oversized = self.is_oversized;
            let object = self.end(OutsidePosition::AfterObject);
            each(if is_oversized { DecodedPiece::Oversized } else { DecodedPiece::Object(object) });
        }
    }

    /// Forgets the object, and returns its bytes.
    fn end(&mut self, outside: OutsidePosition) -> Vec<u8> {
        (self.depth, self.is_oversized) = (0, false);
        (self.outside, self.inside) = (outside, InsidePosition::Structure);
        std::mem::take(&mut self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const MOST: usize = 1 << 16;

    fn decode(most: usize, pieces: &[&[u8]]) -> Vec<DecodedPiece> {
        let mut decoder = ObjectDecoder::new(most);
        let mut found = Vec::new();
        for piece in pieces {
            decoder.push(piece, |piece| found.push(piece));
        }
        found
    }

    fn object(text: &str) -> DecodedPiece {
        DecodedPiece::Object(text.as_bytes().to_vec())
    }

    #[test]
    fn an_object_is_complete_when_it_closes() {
        let brace = r#"{"a":"}\"{","b":[{}]}"#;
        assert_eq!(decode(MOST, &[brace.as_bytes()]), [object(brace)]);
        assert_eq!(decode(MOST, &[b"{}{}\n"]), [object("{}"), object("{}"), DecodedPiece::LineEnd]);
        assert_eq!(decode(MOST, &[b"{}", b" \r\n\n{}"]), [object("{}"), DecodedPiece::LineEnd, object("{}")]);
    }

    #[test]
    fn what_is_no_object_is_skipped() {
        assert_eq!(decode(MOST, &[b"hello 1 ]\n{}"]), [DecodedPiece::Noise, object("{}")]);
        assert_eq!(decode(MOST, &[b"{\"cut\n{}\n"]), [DecodedPiece::Noise, object("{}"), DecodedPiece::LineEnd]);
        assert_eq!(
            decode(8, &[b"{\"a\":\"0123456789\"}\n{}"]),
            [DecodedPiece::Oversized, DecodedPiece::LineEnd, object("{}")]
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let text = "[a-z{}\\[\\]\"\\\\\n\u{e4}\u{1f600}]{0,12}";
        let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), text.prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((text, inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn objects_come_back_whole_however_they_are_glued_or_split(
            values in proptest::collection::vec((json(), prop_oneof![Just(""), Just("\n"), Just(" \r\n")]), 0..6),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let sent: Vec<Value> = values.iter().map(|(value, _)| json!({ "v": value })).collect();
            let bytes: Vec<u8> =
                sent.iter().zip(&values).flat_map(|(value, (_, end))| format!("{value}{end}").into_bytes()).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let found = decode(MOST, &pieces);
            let received: Vec<Value> = found
                .iter()
                .filter_map(|piece| match piece {
                    DecodedPiece::Object(bytes) => Some(serde_json::from_slice(bytes).unwrap()),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(received, sent);
            let ends = values.iter().filter(|(_, end)| !end.is_empty()).count();
            prop_assert_eq!(found.iter().filter(|piece| **piece == DecodedPiece::LineEnd).count(), ends);
        }

        #[test]
        fn no_bytes_are_too_odd_and_the_limit_holds(bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"{}[]\"\\\n".to_vec())], 0..400)) {
            let mut decoder = ObjectDecoder::new(32);
            for byte in &bytes {
                decoder.push(&[*byte], |piece| if let DecodedPiece::Object(object) = piece {
                    assert!(object.len() <= 32 && object.starts_with(b"{"));
                });
                prop_assert!(decoder.buffer.len() <= 32);
            }
        }
    }
}
