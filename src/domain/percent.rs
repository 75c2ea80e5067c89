//! Percent-encoding (RFC 3986 §2.1). Main functions: [`encode_path`], [`encode_part`], [`encode_file_uri`], [`decode`].
//!
//! Interpreting a URI belongs to its reader.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The bytes to be encoded in one part of a path.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Those to be encoded in a path.
const PATH: &AsciiSet = &PART.remove(b'/');

/// Bytes with everything encoded but letters, digits, `-._~` and `/`: safe in a URI, in a Markdown destination and in a terminal's link.
pub fn encode_path(bytes: &[u8]) -> String {
    percent_encode(bytes, PATH).to_string()
}

/// Encodes `/` too: one part of a path, or a value of a query.
pub fn encode_part(bytes: &[u8]) -> String {
    percent_encode(bytes, PART).to_string()
}

/// The address of a file by its path below an absolute folder of this machine (RFC 8089).
pub fn encode_file_uri(folder: &Path, path: &[u8]) -> String {
    let folder = encode_path(folder.as_os_str().as_encoded_bytes());
    format!("file://{}/{}", folder.trim_end_matches('/'), encode_path(path))
}

/// Undoes it: the bytes, and whether two hexadecimal digits stood behind every `%`; one that they do not follow stands for itself.
pub fn decode(text: &str) -> (Vec<u8>, bool) {
    let is_code = |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    (percent_decode_str(text).collect(), text.split('%').skip(1).all(is_code))
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
        let path = b"src/a b.rs";
        assert_eq!(encode_file_uri(Path::new("/w/ü"), path), "file:///w/%C3%BC/src/a%20b.rs");
        assert_eq!(encode_file_uri(Path::new("/"), path), "file:///src/a%20b.rs");
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
