//! Lines of a text, and the first character that is more than plain ASCII. Main functions: [`lines_with_ends`], [`find_special`].
//!
//! Both look at many bytes at once: most texts are code, and all of it passes through here.

/// Number of bytes examined at once.
const WORD: usize = 8;

/// Splits a text into lines, each with its line feed.
pub fn lines_with_ends(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |feed| feed + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// Returns the index of the first byte at or after `from` that is neither printable ASCII nor a tab nor a line feed.
pub fn find_special(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    let (words, _) = rest.as_chunks::<WORD>();
    let plain = words.iter().take_while(|word| is_plain(u64::from_ne_bytes(**word))).count() * WORD;
    let is_special = |byte: &u8| !matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    rest[plain..].iter().position(is_special).map(|at| from + plain + at)
}

/// Checks whether all eight bytes are printable ASCII, tabs or line feeds.
fn is_plain(word: u64) -> bool {
    const ALL: u64 = u64::MAX / 255;
    const HIGH: u64 = ALL << 7;
    // The high bit of each byte that is at least `low`, and of each that is `one`, where no byte has one itself.
    let at_least = |low: u64| word + ALL * (0x80 - low);
    let is = |one: u64| !((word ^ (ALL * one)) + ALL * 0x7f);
    word & HIGH == 0 && (at_least(0x20) & !at_least(0x7f) | is(0x09) | is(0x0a)) & HIGH == HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_is_judged_alike_alone_and_among_eight() {
        for byte in 0..=127_u8 {
            let is_special = byte != b'\n' && byte != b'\t' && !(b' '..=b'~').contains(&byte);
            let text = char::from(byte).to_string();
            assert_eq!(find_special(&text, 0), is_special.then_some(0), "{byte}");
            for at in 0..WORD {
                let text = format!("{}{text}{}", "a".repeat(at), "z".repeat(20));
                assert_eq!(find_special(&text, 0), is_special.then_some(at), "{byte} at {at}");
            }
        }
        assert_eq!(
            (find_special("plain é plain", 0), find_special("", 0), find_special("a", 2)),
            (Some(6), None, None)
        );
    }

    proptest! {
        #[test]
        fn both_find_what_the_standard_library_finds(text in "[a-z\n\u{80}\t\r ]{0,60}", from in 0_usize..20) {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            prop_assert_eq!(lines_with_ends(&text).collect::<Vec<_>>(), lines);
            let is_special = |byte: u8| !matches!(byte, b' '..=b'~' | b'\n' | b'\t');
            let found = (from..text.len()).find(|at| is_special(text.as_bytes()[*at]));
            prop_assert_eq!(find_special(&text, from), found);
        }
    }
}
