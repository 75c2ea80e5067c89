//! Estimate of the tokens of a text, without the model's tokenizer. Main function: [`estimate_tokens`].
//!
//! Code and English take about 3.5 bytes a token with today's tokenizers; other scripts about a token a character. Both err on the side of
//! too many. The real count of a turn comes from the provider.

/// Sevenths of a token: weights of parts add up exactly, tokens would round.
pub(in crate::review) type Weight = u64;

const PARTS: u64 = 7;

/// Estimates the number of tokens; never 0 for a text.
pub fn estimate_tokens(text: &str) -> u64 {
    weight(text).div_ceil(PARTS)
}

/// Estimates the weight, which is not rounded.
pub(in crate::review) fn weight(text: &str) -> Weight {
    let part = |part: &[u8]| if part.is_ascii() { ascii_weight(part.len()) } else { mixed(part) };
    text.as_bytes().chunks(512).map(part).sum()
}

/// Returns the weight of this many ASCII characters.
pub(in crate::review) fn ascii_weight(bytes: usize) -> Weight {
    bytes as u64 * u64::from(of_byte(b' '))
}

fn mixed(part: &[u8]) -> Weight {
    // In chunks whose sum fits a small integer, so that many bytes are counted at once.
    part.chunks(32).map(|chunk| u64::from(chunk.iter().map(|byte| of_byte(*byte)).sum::<u8>())).sum()
}

/// Returns the weight of this many tokens.
pub(in crate::review) fn of_tokens(tokens: u64) -> Weight {
    tokens.saturating_mul(PARTS)
}

/// Returns two sevenths for ASCII; seven for the first byte of any other character, zero for those that follow it.
const fn of_byte(byte: u8) -> u8 {
    match byte {
        0..=0x7f => 2,
        0x80..=0xbf => 0,
        0xc0..=0xff => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_takes_two_sevenths_and_other_characters_one_token() {
        assert_eq!((estimate_tokens(""), estimate_tokens("a"), estimate_tokens("1234567")), (0, 1, 2));
        assert_eq!((estimate_tokens("数値"), estimate_tokens("😀"), estimate_tokens(&"é".repeat(100))), (2, 1, 100));
    }

    #[test]
    fn weights_of_parts_add_up() {
        let text = "let größe = 1; // 数".repeat(9);
        let at = text.floor_char_boundary(31);
        assert_eq!(weight(&text), weight(&text[..at]) + weight(&text[at..]));
        let long = format!("{}{text}{}", "a".repeat(600), "b".repeat(5_000));
        assert_eq!(weight(&long), mixed(long.as_bytes()));
    }
}
