//! The time of day. Everything that is written down takes it from here.

use std::time::{Duration, SystemTime};

use jiff::fmt::rfc2822;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::domain::day::Day;

/// Now, RFC 3339 in UTC with milliseconds.
pub fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Formats an RFC 3339 time as the minute in the time zone of this machine: `2026-11-20 18:56`. Another text stays as it is.
pub fn local_minute(time: &str) -> String {
    let Ok(stamp) = time.parse::<Timestamp>() else { return time.to_owned() };
    stamp.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Now, in seconds since the epoch.
pub fn unix_seconds() -> i64 {
    Timestamp::now().as_second()
}

/// Today, in UTC.
pub fn today() -> Option<Day> {
    Day::of(&now())
}

/// A git time: seconds since the epoch and minutes east of UTC, as RFC 3339 with the offset.
///
/// Times and offsets that do not exist (git stores whatever was written) are clamped.
pub fn git_time(seconds: i64, offset_minutes: i32) -> String {
    let stamp = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let offset = Offset::from_seconds(offset_minutes.saturating_mul(60)).unwrap_or(Offset::UTC);
    stamp.display_with_offset(offset).to_string()
}

/// A file's time as RFC 3339 in UTC, to the second.
pub fn file_time(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |stamp| format!("{stamp:.0}"))
}

/// Returns the time until an HTTP date (RFC 9110, §5.6.7); zero if it is past, `None` if it is no date.
pub fn until_http_date(date: &str) -> Option<Duration> {
    let then = rfc2822::parse(date).ok()?.timestamp();
    Some(Duration::try_from(then.duration_since(Timestamp::now())).unwrap_or_default())
}

/// Returns the time until an RFC 3339 timestamp; zero if it is past, `None` if it is no timestamp.
pub fn until_rfc3339(time: &str) -> Option<Duration> {
    let then: Timestamp = time.parse().ok()?;
    Some(Duration::try_from(then.duration_since(Timestamp::now())).unwrap_or_default())
}

/// A length of time as servers write it: `6m0s`, `1.5s`, `250ms`; none for what is none, or goes backwards.
pub fn length(text: &str) -> Option<Duration> {
    let length: SignedDuration = text.trim().parse().ok()?;
    Duration::try_from(length).ok()
}

/// Returns the time until a Unix timestamp in milliseconds; zero if it is past.
pub fn until_epoch(milliseconds: i64) -> Option<Duration> {
    let then = Timestamp::from_millisecond(milliseconds).ok()?;
    Some(Duration::try_from(then.duration_since(Timestamp::now())).unwrap_or_default())
}

/// Returns the time between two RFC 3339 timestamps; zero if the second is before the first, `None` if one is no timestamp.
pub fn between(from: &str, to: &str) -> Option<Duration> {
    let (from, to): (Timestamp, Timestamp) = (from.parse().ok()?, to.parse().ok()?);
    Some(Duration::try_from(to.duration_since(from)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_time_keeps_its_offset() {
        assert_eq!(git_time(1_700_000_000, 120), "2023-11-15T00:13:20+02:00");
        assert_eq!(git_time(i64::MAX, 1_000_000), "1970-01-01T00:00:00+00:00");
    }

    #[test]
    fn lengths_are_read_as_servers_write_them() {
        for (text, milliseconds) in
            [("1s", 1_000), ("6m0s", 360_000), ("2m59.56s", 179_560), ("12ms", 12), ("1h2m3s", 3_723_000), ("0s", 0)]
        {
            assert_eq!(length(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "soon", "-1s", "7", "1994-11-06T08:49:37Z"] {
            assert_eq!(length(text), None, "{text}");
        }
        assert_eq!(until_epoch(0), Some(Duration::ZERO));
        assert!(until_epoch(4_102_444_800_000).unwrap() > Duration::from_hours(24));
    }

    #[test]
    fn an_http_date_becomes_a_wait() {
        assert_eq!(until_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert!(until_http_date("Fri, 06 Nov 2099 08:49:37 GMT").unwrap() > Duration::from_hours(24));
        assert_eq!(until_http_date("soon"), None);
        assert_eq!((until_rfc3339("1994-11-06T08:49:37Z"), until_rfc3339("soon")), (Some(Duration::ZERO), None));
        assert!(until_rfc3339("2099-11-06T08:49:37Z").unwrap() > Duration::from_hours(24));
        let (noon, later) = ("1994-11-06T12:00:00Z", "1994-11-06T13:00:01.5+01:00");
        assert_eq!(between(noon, later), Some(Duration::from_millis(1_500)));
        assert_eq!((between(later, noon), between(noon, "")), (Some(Duration::ZERO), None));
    }
}
