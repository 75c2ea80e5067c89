//! Days of the calendar, in UTC. Main type: [`Day`].
//!
//! Reading the clock belongs in `sys`.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A day, as `2027-01-31`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Day(Date);

/// Text that is no day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no day; write it like 2027-01-31")]
pub struct InvalidDay(pub String);

impl Day {
    /// The day of a time that is written as RFC 3339 in UTC.
    pub fn of(time: &str) -> Option<Self> {
        time.get(..10)?.parse().ok()
    }
}

impl FromStr for Day {
    type Err = InvalidDay;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || InvalidDay(text.to_owned());
        // The library takes other forms as well, which nobody would expect here.
        let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let date = is_plain.then(|| text.parse::<Date>().ok()).flatten().ok_or_else(fault)?;
        let day = Self(date);
        if day.to_string() == text { Ok(day) } else { Err(fault()) }
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_in_one_way() {
        for good in ["2027-01-31", "2024-02-29", "0001-01-01", "9999-12-31"] {
            assert_eq!(good.parse::<Day>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "2027-02-29",
            "2027-1-31",
            "20270131",
            "2027-13-01",
            "2027-01-31T00:00",
            "-027-01-31",
            "tomorrow",
            "２027-1-1",
        ] {
            assert_eq!(bad.parse::<Day>(), Err(InvalidDay(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn a_time_is_of_its_day() {
        assert_eq!(Day::of("2026-11-21T23:59:59.999Z"), "2026-11-21".parse().ok());
        assert_eq!(Day::of("soon"), None);
        assert!("2026-11-21".parse::<Day>().unwrap() < "2026-12-01".parse().unwrap());
    }
}
