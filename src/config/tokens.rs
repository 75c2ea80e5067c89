//! Numbers of tokens as people write them: `500k`, `2m`, `2000000`.

/// Reads a whole number, `k` for thousands and `m` for millions; `_` may stand between digits. `None` if it is none.
pub(super) fn parse_tokens(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'm' | b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let plain = digits.replace('_', "");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) && plain.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { plain.parse::<u64>().ok()?.checked_mul(unit) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read() {
        for (text, tokens) in
            [("500k", 500_000), ("2m", 2_000_000), (" 2M ", 2_000_000), ("128000", 128_000), ("2_000_000", 2_000_000)]
        {
            assert_eq!(parse_tokens(text), Some(tokens), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "k",
            "1.5m",
            "-1",
            "+1",
            "1 k",
            "0x10",
            "_1",
            "2mm",
            "９",
            "99999999999999999999",
            "99999999999999999m",
        ] {
            assert_eq!(parse_tokens(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse_tokens(&text);
        }
    }
}
