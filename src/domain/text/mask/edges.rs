//! The edges of a secret. Main function: [`masked_range`].
//!
//! A value that is a word of its own is what it looks like. Inside of a longer word, behind `TOKEN_` or letters, it is one as long as nothing speaks for
//! the word being a hash, a name, or the base64 of something else.

use std::ops::Range;

/// Maximum number of letters and digits around a value that has no sign of its own near its beginning: with more it is a chance hit in a block of base64, or in
/// a sequence of proteins.
const MOST_AROUND: usize = 24;
/// How far into a value its own sign stands, in bytes: the `_` of `rubygems_`.
const PREFIX: usize = 10;

/// The bytes to mask of a value at `range` whose format begins at `at`; `None` if it is likelier to be part of something else.
///
/// Letters that follow directly go with it: it may be a longer one than is known.
pub(super) fn masked_range(text: &str, at: usize, range: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (before, after) = (&bytes[..at], &bytes[range.end..]);
    let begins = before.last().is_none_or(|byte| !is_word(*byte)) || ends_in_escape(before);
    let ends = after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric());
    if begins && ends {
        return Some(range);
    }
    let value = &text[range.clone()];
    let part = value.split(|c: char| !c.is_ascii_alphanumeric()).max_by_key(|part| part.len()).unwrap_or_default();
    let is_hash = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let one_case = |is: fn(&u8) -> bool| {
        let goes_on = before.last().is_some_and(is) || after.first().is_some_and(is);
        goes_on && part.bytes().all(|byte| is(&byte))
    };
    let is_name = one_case(u8::is_ascii_uppercase)
        || one_case(u8::is_ascii_lowercase)
        || !(value.bytes().any(|byte| byte.is_ascii_digit()) || one_class(part));
    let has_sign = bytes[at..].iter().take(PREFIX).any(|byte| !byte.is_ascii_alphanumeric());
    let is_block = !has_sign && is_block(before, after);
    // Counted only for what is masked, or values in a long run would each count to its end. Without a sign a few bytes follow, with more it is a
    // block; and the sign of the next value ends what follows one with a sign.
    let follows = || after.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (!is_name && !is_block && (ends || !is_hash)).then(|| range.start..range.end + follows())
}

/// Checks whether all letters are of one case; names of mixed case have their letters from words.
fn one_class(part: &str) -> bool {
    !part.bytes().any(|byte| byte.is_ascii_lowercase()) || !part.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn is_block(before: &[u8], after: &[u8]) -> bool {
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let before = before.iter().rev().take(MOST_AROUND + 1).take_while(is_base64).count();
    before + after.iter().take(MOST_AROUND + 1).take_while(is_base64).count() > MOST_AROUND
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The longest escape that is read, in bytes (`\U0001F600`).
const LONGEST: usize = 10;

/// Checks whether a text ends in the escape of a character, as programs, URLs and mails write it: `\n`, `\x20`, `\u0020`, `\040`, `%3D`, `%253D`, `=3D`,
/// `\e[31m`.
pub(super) fn ends_in_escape(text: &[u8]) -> bool {
    let tail = &text[text.len().saturating_sub(LONGEST)..];
    let digits = |is: fn(&u8) -> bool, most: usize| tail.iter().rev().take(most).take_while(|byte| is(byte)).count();
    let head = |count: usize| &tail[..tail.len() - count];
    let hex = digits(u8::is_ascii_hexdigit, 8);
    let coded =
        |sign: &[u8], least: usize, most: usize| (least..=most.min(hex)).any(|count| head(count).ends_with(sign));
    let octal = digits(|byte| matches!(byte, b'0'..=b'7'), 3);
    (tail.len() > 1 && head(1).ends_with(b"\\"))
        || coded(b"\\x", 1, 2)
        || coded(b"\\u", 4, 4)
        || coded(b"%u", 4, 4)
        || coded(b"\\U", 8, 8)
        || coded(b"%", 2, 2)
        || coded(b"%25", 2, 2)
        || coded(b"=", 2, 2)
        || (2..=octal).any(|count| head(count).ends_with(b"\\"))
        || ends_in_color(tail)
}

/// Checks whether a text ends in what colors a terminal (ECMA-48, SGR): `[31m`.
fn ends_in_color(tail: &[u8]) -> bool {
    let Some(codes) = tail.strip_suffix(b"m") else { return false };
    let length = codes.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    codes[..codes.len() - length].ends_with(b"[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_what_looks_like_values_is_not_counted_to_its_end_for_each() {
        // Two million characters, a hundred thousand times: this does not end soon if it is.
        let block = "AKIAABCDEFGHIJKLMNOP".repeat(100_000);
        for at in (0..block.len()).step_by(20) {
            let masked = masked_range(&block, at, at..at + 20);
            assert_eq!(masked, None, "{at}");
        }
    }

    #[test]
    fn what_follows_directly_is_masked_too() {
        let value = "AKIA2B3C4D5E6F7G8H9I";
        for (text, end) in [(format!("{value} a"), 20), (format!("{value}a1b "), 23), (format!("a{value}"), 21)] {
            let at = text.find(value).unwrap();
            assert_eq!(masked_range(&text, at, at..at + 20), Some(at..end), "{text}");
        }
        // Its digits may all be in the parts before.
        let value = "xoxb-4018352716-9273615048-kTqWbYzRmNpLdVcXsHgFjKvE";
        let text = format!("TOKEN_{value}");
        assert_eq!(masked_range(&text, 6, 6..text.len()), Some(6..text.len()));
        // However much it is, behind a sign.
        let text = format!("ghp_{}", "xB3".repeat(400));
        assert_eq!(masked_range(&text, 0, 0..40), Some(0..text.len()));
    }

    #[test]
    fn escapes_are_known_by_their_last_character() {
        for escape in [
            "\\n",
            "\\t",
            "\\0",
            "\\x20",
            "\\x9",
            "\\u0020",
            "\\U0001F600",
            "\\040",
            "\\12",
            "%3D",
            "%0a",
            "%253D",
            "%u0020",
            "=3D",
            "\\e[31m",
            "\\x1b[0;1m",
            "\\\\n",
            "\\\\\\\\u0020",
        ] {
            assert!(ends_in_escape(format!("a{escape}").as_bytes()), "{escape}");
            assert!(ends_in_escape(escape.as_bytes()), "{escape}");
        }
        for plain in ["", "n", "task", "x20", "u0020", "3D", "%3", "100", "\\", "m", "31m", "\\x203", "risk", "\\task"]
        {
            assert!(!ends_in_escape(plain.as_bytes()), "{plain}");
        }
    }
}
