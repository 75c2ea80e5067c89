//! Words of commands that people are told to run. Main function: [`shell_word`].

use std::borrow::Cow;

/// A text as one word of a POSIX shell: as it is where no character of it means anything to one, else in single quotes.
///
/// Branches may be called `$(id)`, and whoever copies a hint runs it.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./@%+=:,~^".contains(&byte);
    if !text.is_empty() && !text.starts_with(['~', '=']) && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_obey_is_quoted() {
        for plain in ["main", "origin/topic-1", "HEAD~1", "v1.2^", "a@b", "main..topic"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (given, word) in [
            ("", "''"),
            ("$(id)", "'$(id)'"),
            ("a b", "'a b'"),
            ("`id`", "'`id`'"),
            ("it's", r"'it'\''s'"),
            ("~root", "'~root'"),
            ("a;b", "'a;b'"),
            ("gr\u{fc}n", "'gr\u{fc}n'"),
        ] {
            assert_eq!(shell_word(given), word);
        }
    }
}
