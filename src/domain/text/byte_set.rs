//! Sets of bytes as tables, for loops over each byte of a text. Main function: [`byte_set`].

/// Returns a table that is `true` for these bytes.
pub const fn byte_set(bytes: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}

/// Checks for a byte within a word: a letter, a digit, `_` or a part of a character that is not ASCII. A table, since nearly every byte of a
/// text is looked up.
pub fn is_word_byte(byte: u8) -> bool {
    static WORDS: [bool; 256] = byte_set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    !byte.is_ascii() || WORDS[usize::from(byte)]
}
