//! Percent-encoding (RFC 3986 §2.1). Main functions: [`encode_path`], [`encode_part`], [`encode_file_uri`], [`decode`].
//!
//! Interpreting a URI belongs to its reader.

use std::fmt::Write as _;
use std::path::Path;

use super::path::RepoPath;

/// Bytes with everything encoded but letters, digits, `-._~` and `/`: safe in a URI, in a Markdown destination and in a terminal's link.
pub fn encode_path(bytes: &[u8]) -> String {
    encode(bytes, true)
}

/// Encodes `/` too: one part of a path, or a value of a query.
pub fn encode_part(bytes: &[u8]) -> String {
    encode(bytes, false)
}

fn encode(bytes: &[u8], slashes: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 8);
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') || (slashes && *byte == b'/') {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The address of a file below an absolute folder of this machine (RFC 8089).
pub fn encode_file_uri(folder: &Path, path: &RepoPath) -> String {
    let folder = encode_path(folder.as_os_str().as_encoded_bytes());
    format!("file://{}/{}", folder.trim_end_matches('/'), encode_path(path.as_bytes()))
}

/// Undoes it: the bytes, and whether two hexadecimal digits stood behind every `%`; one that they do not follow stands for itself.
pub fn decode(text: &str) -> (Vec<u8>, bool) {
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    let bytes = text.as_bytes();
    let (mut out, mut at, mut is_whole) = (Vec::with_capacity(bytes.len()), 0, true);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%'
            && let (Some(high), Some(low)) = (digit(bytes.get(at + 1)), digit(bytes.get(at + 2)))
        {
            out.push(high << 4 | low);
            at += 3;
        } else {
            is_whole &= *byte != b'%';
            out.push(*byte);
            at += 1;
        }
    }
    (out, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lone_percent_sign_stands_for_itself_and_is_told() {
        assert_eq!(decode("100%/a%20b%zz%"), (b"100%/a b%zz%".to_vec(), false));
        assert_eq!(decode("a%2"), (b"a%2".to_vec(), false));
        assert_eq!(decode("%ff%C3%a4"), (b"\xff\xc3\xa4".to_vec(), true));
    }

    #[test]
    fn a_file_lies_below_its_folder() {
        let path = RepoPath::parse("src/a b.rs").unwrap();
        assert_eq!(encode_file_uri(Path::new("/w/ü"), &path), "file:///w/%C3%BC/src/a%20b.rs");
        assert_eq!(encode_file_uri(Path::new("/"), &path), "file:///src/a%20b.rs");
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(bytes in any::<Vec<u8>>()) {
            for encoded in [encode_path(&bytes), encode_part(&bytes)] {
                prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"&=?#()<>".contains(&byte)));
                prop_assert_eq!(decode(&encoded), (bytes.clone(), true));
            }
            prop_assert!(!encode_part(&bytes).contains('/'));
        }
    }
}
