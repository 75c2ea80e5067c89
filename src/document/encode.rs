//! Percent-encoding (RFC 3986 §2.1) of what stands in a link.

use std::fmt::Write as _;

/// Bytes with everything encoded but letters, digits, `/` and `-._~`: safe in a Markdown destination, in a URI and in a terminal's link.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 8);
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Undoes it. A `%` that two hexadecimal digits do not follow stands for itself; `None` when the bytes are not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|digit| char::from(*digit).to_digit(16));
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lone_percent_sign_stands_for_itself() {
        assert_eq!(decode("100%/a%20b%zz%").as_deref(), Some("100%/a b%zz%"));
        assert_eq!(decode("%ff"), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(text in any::<String>()) {
            let encoded = encode(text.as_bytes());
            prop_assert!(encoded.is_ascii());
            prop_assert_eq!(decode(&encoded), Some(text));
        }
    }
}
