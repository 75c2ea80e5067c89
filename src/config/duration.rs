//! Lengths of time as people write them: `500ms`, `90s`, `20m`, `1h30m`, `30d`.
//!
//! Own code because the time library at hand takes a day for a calendar unit and refuses it as a plain length.

use std::time::Duration;

/// Text that is not a length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a length of time: a whole number and one of ms, s, m, h, d, w, as in \"90s\" or \"1h30m\"; more than zero"
)]
pub struct InvalidDuration;

/// Units in milliseconds; `ms` stands before the `m` that it begins with.
const UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// Reads numbers with units, largest first or not; each unit is required. Zero and lengths beyond 64 bits of milliseconds are refused.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidDuration> {
    let mut rest = text.trim();
    let mut millis = 0u64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().map_err(|_| InvalidDuration)?;
        let known = UNITS.iter().find_map(|(unit, length)| Some((rest[digits..].strip_prefix(unit)?, length)));
        let (after, length) = known.ok_or(InvalidDuration)?;
        millis = number.checked_mul(*length).and_then(|part| millis.checked_add(part)).ok_or(InvalidDuration)?;
        rest = after.trim_start();
    }
    if millis == 0 { Err(InvalidDuration) } else { Ok(Duration::from_millis(millis)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_read() {
        for (text, seconds) in
            [("90s", 90), ("20m", 1_200), ("1h30m", 5_400), ("1h 30m", 5_400), (" 30d ", 2_592_000), ("2w", 1_209_600)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse_duration("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(parse_duration("1m500ms"), Ok(Duration::from_millis(60_500)));
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in
            ["", "20", "m", "0s", "-5m", "1.5h", "5 m", "20min", "99999999999999999999s", "9999999999999999999w", "５m"]
        {
            assert_eq!(parse_duration(text), Err(InvalidDuration), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse_duration(&text);
        }
    }
}
