//! Bytes to text. The only place that names the charset detector.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// Decoded text and the name of what it was decoded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, with U+FFFD where a byte means nothing in the charset.
    pub text: String,
    /// The charset's name (`UTF-8`, `Shift_JIS`, …).
    pub charset: &'static str,
}

/// The maximum number of bytes examined for the guess.
const SAMPLE: usize = 1 << 20;

/// Checks whether git would call these bytes binary: a NUL among the first 8 000 (`buffer_is_binary` in git's `xdiff-interface.c`).
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some()
}

/// Checks whether bytes that git calls binary are a text all the same: UTF-16, or with NUL bytes among characters that are printed. Programs that
/// read such a file (shells, `npm`, `git`) pass over a NUL. Compiled and compressed formats have far more that is not printed; an archive of texts
/// has not, and is known by its header.
pub fn is_text_with_nuls(bytes: &[u8]) -> bool {
    let (wide, bytes) = match bytes {
        [0xff, 0xfe, rest @ ..] => (Some(&b"utf-16le"[..]), rest),
        [0xfe, 0xff, rest @ ..] => (Some(&b"utf-16be"[..]), rest),
        _ => (None, bytes),
    };
    if wide.is_none() && is_archive(bytes) {
        return false;
    }
    let decoded = wide.map(|label| decode_as(Some(label), &bytes[..bytes.len().min(SAMPLE)]));
    let bytes = decoded.as_ref().map_or(bytes, String::as_bytes);
    let is_odd = |c: char| {
        c == char::REPLACEMENT_CHARACTER || (c.is_control() && !matches!(c, '\t' | '\n' | '\x0c' | '\r' | '\x1b'))
    };
    let (mut all, mut odd, mut visible) = (0usize, 0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for c in chunk.valid().chars().chain(invalid).filter(|c| *c != '\0') {
            if all == 0 && is_odd(c) {
                return false;
            }
            all += 1;
            odd += usize::from(is_odd(c));
            visible += usize::from(!c.is_whitespace());
        }
    }
    odd * 32 <= all && visible > 0
}

/// Checks whether a shell would run bytes that git calls binary: it looks for a NUL in the first line alone. The formats of programs and archives
/// have one there; of pictures a PNG has none.
pub fn begins_as_a_script(bytes: &[u8]) -> bool {
    const LONGEST_FIRST_LINE: usize = 256;
    let line = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST_FIRST_LINE)]).map(|end| &bytes[..end]);
    line.is_some_and(|line| !line.is_empty() && !line.contains(&0) && !line.starts_with(b"\x89PNG"))
}

/// Checks whether bytes begin as an archive of files that are not compressed does: tar (POSIX.1-1988 and later, GNU) or cpio (`newc`, `odc`).
///
/// The magic alone is not enough, since anybody can write it into a comment of a script: the header must be a whole one, on one line, that no
/// program but an archiver makes sense of.
fn is_archive(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"#!") && (is_tar(bytes) || is_cpio(bytes))
}

/// Checks whether bytes begin with the header of a tar member: its name, then its numbers and their sum.
fn is_tar(bytes: &[u8]) -> bool {
    const SUM: std::ops::Range<usize> = 148..156;
    let Some(header) = bytes.get(..512) else { return false };
    let is_named = header[0] != 0 && !header.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    if !is_named || !(header[257..].starts_with(b"ustar\0") || header[257..].starts_with(b"ustar ")) {
        return false;
    }
    // The sum is made with spaces in its own place.
    let others = header[..SUM.start].iter().chain(&header[SUM.end..]);
    let sum = others.map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    let told = std::str::from_utf8(&header[SUM]).unwrap_or_default().trim_matches(['\0', ' ']);
    u32::from_str_radix(told, 8) == Ok(sum)
}

/// Checks whether bytes begin with the header of a cpio member: its magic, its numbers, and its name.
fn is_cpio(bytes: &[u8]) -> bool {
    let is_octal = |byte: &u8| matches!(byte, b'0'..=b'7');
    let (length, is_digit): (usize, fn(&u8) -> bool) = match bytes {
        [b'0', b'7', b'0', b'7', b'0', b'1', ..] => (110, u8::is_ascii_hexdigit),
        [b'0', b'7', b'0', b'7', b'0', b'7', ..] => (76, is_octal),
        _ => return false,
    };
    let Some((header, rest)) = bytes.split_at_checked(length) else { return false };
    let end = memchr::memchr3(0, b'\n', b'\r', rest);
    header.iter().all(is_digit) && end.is_some_and(|end| end > 0 && rest[end] == 0)
}

/// Decodes the bytes of a text file: UTF-8 where they are that, else the charset they look most like.
///
/// A UTF-8 byte order mark is dropped. Line feeds stay where they were: no charset that is guessed has them inside a character.
pub fn decode(bytes: &[u8]) -> Decoded {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded { text: text.to_owned(), charset: UTF_8.name() },
        Err(_) => {
            let encoding = guess(bytes);
            let (text, _) = encoding.decode_without_bom_handling(bytes);
            Decoded { text: text.into_owned(), charset: encoding.name() }
        }
    }
}

/// The bytes of a text in the charset of that name, as [`decode`] gives it; `None` if the charset lacks a character of it.
///
/// Nothing is put in the place of what is lacking: a file must not lose what it held.
pub fn encode(text: &str, charset: &str) -> Option<Vec<u8>> {
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let (bytes, used, lacks) = encoding.encode(text);
    // UTF-16 is encoded as UTF-8, by the rules of the web.
    (!lacks && used == encoding).then(|| bytes.into_owned())
}

/// The text of a file as [`decode`] has it, borrowed where the bytes are UTF-8 already.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode(bytes).text),
    }
}

/// Decodes bytes whose charset is named (a commit's `encoding` header); guesses where the name is absent or unknown.
pub fn decode_as(label: Option<&[u8]>, bytes: &[u8]) -> String {
    match label.and_then(Encoding::for_label) {
        Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        None => text(bytes).into_owned(),
    }
}

/// The name of a charset, as [`Decoded`] has it, from text that was written down; UTF-8 where there is no such charset.
pub fn charset_by_name(name: &str) -> &'static str {
    Encoding::for_label(name.as_bytes()).unwrap_or(UTF_8).name()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    // A file that is UTF-8 but for a broken byte or two is better read as UTF-8: its good parts stay readable.
    let lossy = String::from_utf8_lossy(sample);
    let broken = lossy.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    let foreign = lossy.chars().filter(|c| !c.is_ascii()).count();
    if broken * 4 <= foreign - broken {
        return UTF_8;
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == bytes.len());
    detector.guess(None, chardetng::Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_makes_it_binary_where_git_looks() {
        assert!(is_binary(b"a\0b"));
        let mut late = vec![b'a'; 8000];
        late.push(0);
        assert!(!is_binary(&late));
    }

    #[test]
    fn a_text_with_a_nul_is_told_from_what_is_no_text() {
        let wide: Vec<u8> = "\u{feff}echo größe\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [&b"# settings\0\necho a\n"[..], b"\0echo a\n", "größe=\0ü\n".as_bytes(), &wide] {
            assert!(is_text_with_nuls(text), "{text:?}");
        }
        let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0/lib64/ld-linux-x86-64.so.2\0libc.so.6\0";
        let zip = b"PK\x03\x04\x14\0\x08\0\x08\0\xa2\x1b\x8d\x51\0\0\0\0META-INF/MANIFEST.MF\0";
        let catalogue = [&b"\xde\x12\x04\x95\0\0\0\0"[..], &b"a message\0".repeat(100)].concat();
        for other in [&b""[..], b"\0\0\0\0", elf, zip, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10", &catalogue] {
            assert!(!is_text_with_nuls(other), "{other:?}");
        }
    }

    /// The header of a tar member, with its sum.
    fn tar_header(name: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name);
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(b"00000000007\0");
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    }

    #[test]
    fn an_archive_of_texts_is_no_text() {
        let tar = [tar_header(b"a/b.txt"), b"echo a\n".to_vec(), vec![0; 1529]].concat();
        let new_ascii = [&b"070701"[..], &[b'0'; 104], b"a.txt\0echo a\n\0"].concat();
        let old_ascii = [&b"070707"[..], &[b'0'; 70], b"a.txt\0echo a\n\0"].concat();
        for archive in [&tar, &new_ascii, &old_ascii] {
            assert!(is_binary(archive) && !is_text_with_nuls(archive), "{archive:?}");
        }
    }

    #[test]
    fn a_text_with_the_magic_of_an_archive_stays_one() {
        let script = [&b"echo a #"[..], &[b'-'; 249], b"ustar\x0000\necho b\n", &[b'#'; 300]].concat();
        let begins_as_script = tar_header(b"#!/bin/sh -");
        let has_lines = tar_header(b"a\necho a\n#");
        let mut wrong_sum = tar_header(b"a");
        wrong_sum[1] = b'b';
        let padded = [&b"echo a\n"[..], &[0; 100], b"echo b\n"].concat();
        let number = b"070701\necho a\n\0".to_vec();
        let name = [&b"070707"[..], &[b'0'; 70], b"\necho a\n\0"].concat();
        for text in [script, begins_as_script, has_lines, wrong_sum, padded, number, name] {
            assert!(is_text_with_nuls(&text), "{text:?}");
        }
    }

    #[test]
    fn other_charsets_become_text() {
        let japanese = "これは日本語のコメントです。検索できますか。\n";
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
        assert_eq!(decode(&bytes), Decoded { text: japanese.to_owned(), charset: "Shift_JIS" });
        assert_eq!(decode(b"caf\xe9 au lait, d\xe9j\xe0 vu\n").text, "café au lait, déjà vu\n");
        assert_eq!(decode(b"\xef\xbb\xbfa").text, "a");
    }

    #[test]
    fn text_becomes_the_bytes_that_it_came_from() {
        for bytes in [&b"caf\xe9 au lait, d\xe9j\xe0 vu\n"[..], "größe\n".as_bytes(), b"plain\n"] {
            let Decoded { text, charset } = decode(bytes);
            assert_eq!(encode(&text, charset).as_deref(), Some(bytes), "{charset}");
        }
        assert_eq!(encode("漢", "windows-1252"), None);
        assert_eq!(encode("a", "klingon"), None);
        assert_eq!(encode("a", "UTF-16LE"), None);
    }

    #[test]
    fn a_named_charset_is_believed_and_an_unknown_one_is_not() {
        assert_eq!(decode_as(Some(b"ISO-8859-2"), b"\xb3"), "ł");
        assert_eq!(decode_as(Some(b"klingon"), b"abc"), "abc");
        assert_eq!(decode_as(None, "ä".as_bytes()), "ä");
    }

    #[test]
    fn one_broken_byte_does_not_change_the_charset() {
        let mut bytes = "größe, übung, änderung".as_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(decode(&bytes).charset, "UTF-8");
    }
}
