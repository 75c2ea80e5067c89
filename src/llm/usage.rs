//! Token counts of servers, normalized to one meaning. Main type: [`ReportedUsage`].

use serde_json::Value;

use super::turn::TurnUsage;

/// Usage reported so far; a server may report several times, and in pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    /// Sent, cached ones included.
    pub(super) input: TokenCount,
    /// Received, reasoning included.
    pub(super) output: TokenCount,
    pub(super) cache_read: TokenCount,
    /// Written to a cache.
    pub(super) cache_write: TokenCount,
}

/// Upper bound of a credible number; sums of larger ones would be meaningless.
const MOST: u64 = 1_000_000_000_000;

/// One number: unknown, known, or nonsense.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TokenCount {
    /// Not reported.
    #[default]
    Unsaid,
    /// Reported number.
    Said(u64),
    /// No number of tokens.
    Nonsense,
}

impl TokenCount {
    /// Returns the number under a JSON pointer.
    pub(super) fn at(value: &Value, pointer: &str) -> Self {
        match value.pointer(pointer) {
            None | Some(Value::Null) => Self::Unsaid,
            Some(number) => number.as_u64().filter(|number| *number <= MOST).map_or(Self::Nonsense, Self::Said),
        }
    }

    /// Adds two counts; the result is unknown only if both are.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nonsense, _) | (_, Self::Nonsense) => Self::Nonsense,
            (Self::Unsaid, one) | (one, Self::Unsaid) => one,
            (Self::Said(one), Self::Said(two)) => one.checked_add(two).map_or(Self::Nonsense, Self::Said),
        }
    }

    /// Merges a later report. Reports are running totals, and a gateway may send a zero for an unknown number: the larger one wins.
    pub(super) fn merge_later(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nonsense, _) | (_, Self::Nonsense) => Self::Nonsense,
            (Self::Unsaid, one) | (one, Self::Unsaid) => one,
            (Self::Said(one), Self::Said(two)) => Self::Said(one.max(two)),
        }
    }

    fn known(self) -> Option<u64> {
        match self {
            Self::Said(number) => Some(number),
            Self::Unsaid | Self::Nonsense => None,
        }
    }
}

impl ReportedUsage {
    /// Merges a later report.
    pub(super) fn merge_later(self, other: Self) -> Self {
        Self {
            input: self.input.merge_later(other.input),
            output: self.output.merge_later(other.output),
            cache_read: self.cache_read.merge_later(other.cache_read),
            cache_write: self.cache_write.merge_later(other.cache_write),
        }
    }

    /// Converts the report, as far as it is credible. A request is never free of tokens and neither is a response with content; cached tokens are
    /// part of the input. If the sums cannot be right, it is unknown which number is wrong.
    pub(super) fn into_usage(self, says_something: bool) -> TurnUsage {
        let input = self.input.known().filter(|input| *input > 0);
        let output = self.output.known().filter(|output| *output > 0 || !says_something);
        let cached = self.cache_read.plus(self.cache_write);
        let fits = match (cached, input) {
            (TokenCount::Nonsense, _) => false,
            (TokenCount::Said(cached), Some(input)) => cached <= input,
            (TokenCount::Unsaid | TokenCount::Said(_), _) => true,
        };
        if !fits {
            return TurnUsage { output, ..TurnUsage::default() };
        }
        let (cache_read, cache_write) = (self.cache_read.known(), self.cache_write.known());
        TurnUsage { input, output, cache_read, cache_write, cost: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(input: i64, output: i64, read: i64, write: i64) -> TurnUsage {
        let value = serde_json::json!({ "i": input, "o": output, "r": read, "w": write });
        let at = |pointer| TokenCount::at(&value, pointer);
        ReportedUsage { input: at("/i"), output: at("/o"), cache_read: at("/r"), cache_write: at("/w") }
            .into_usage(true)
    }

    #[test]
    fn what_adds_up_is_kept() {
        let usage = counted(100, 5, 60, 40);
        assert_eq!(
            (usage.input, usage.output, usage.cache_read, usage.cache_write),
            (Some(100), Some(5), Some(60), Some(40))
        );
    }

    #[test]
    fn impossible_sums_are_unknown_and_never_zero() {
        for usage in [counted(99, 5, 60, 40), counted(100, 5, -1, 0), counted(i64::MAX, 5, i64::MAX, i64::MAX)] {
            assert_eq!((usage.input, usage.cache_read, usage.cache_write), (None, None, None));
            assert_eq!(usage.output, Some(5));
        }
        assert_eq!(
            counted(-1, -1, 0, 0),
            TurnUsage { cache_read: Some(0), cache_write: Some(0), ..TurnUsage::default() }
        );
        assert_eq!(counted(0, 0, 0, 0).input, None);
        assert_eq!(counted(0, 0, 0, 0).output, None);
    }

    #[test]
    fn what_was_not_said_is_unknown() {
        assert_eq!(ReportedUsage::default().into_usage(true), TurnUsage::default());
    }

    #[test]
    fn numbers_that_no_sum_can_hold_are_no_numbers_of_tokens() {
        assert_eq!(counted(i64::MAX, 5, 0, 0).input, None);
        assert_eq!(TokenCount::at(&serde_json::json!(u64::MAX), ""), TokenCount::Nonsense);
        assert_eq!(TokenCount::at(&serde_json::json!(MOST), ""), TokenCount::Said(MOST));
    }

    #[test]
    fn the_larger_of_two_running_totals_stands() {
        assert_eq!(TokenCount::Said(7).merge_later(TokenCount::Said(0)), TokenCount::Said(7));
        assert_eq!(TokenCount::Unsaid.merge_later(TokenCount::Said(3)), TokenCount::Said(3));
    }
}
