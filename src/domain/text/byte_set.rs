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
