//! How the bytes of an answer are cut on their way.

use super::script::Cut;

/// The bytes of `events` in the pieces in which they are written to the socket.
pub fn pieces(events: Vec<Vec<u8>>, cut: Cut) -> Vec<Vec<u8>> {
    match cut {
        Cut::Whole => vec![events.concat()],
        Cut::Events => events,
        Cut::Odd | Cut::Slow => odd(&events.concat()),
    }
}

/// Pieces of 1 to 97 bytes, the same for the same bytes: a small generator of Lehmer's kind gives the lengths.
fn odd(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut state: u64 = 48_271;
    while !bytes.is_empty() {
        state = state * 48_271 % 2_147_483_647;
        // One in four is tiny, so that characters and line ends fall apart.
        let length = if state.is_multiple_of(4) { 1 + state % 3 } else { 1 + state % 97 };
        let length = usize::try_from(length).unwrap_or(1).min(bytes.len());
        let (piece, rest) = bytes.split_at(length);
        pieces.push(piece.to_vec());
        bytes = rest;
    }
    pieces
}

/// The pieces up to a number of bytes.
pub fn first(pieces: Vec<Vec<u8>>, mut most: usize) -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    for mut piece in pieces {
        piece.truncate(most);
        most -= piece.len();
        if !piece.is_empty() {
            kept.push(piece);
        }
    }
    kept
}
