//! Text of Minitest, also as Rails shows it. Main function: [`parse`].
//!
//! Severities: a failure and an error are errors; a skipped test is only counted.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, join};

static HEADING: LinePattern = LinePattern::new(r"^(?:\s+\d+\) )?(?:Failure|Error):$");
static NAME: LinePattern = LinePattern::new(r"^(?<name>\S.*?)(?: \[(?<file>[^\]]+?):(?<line>\d+)\])?:$");
static PLACE: LinePattern = LinePattern::new(r"^\s+(?<file>\S+?):(?<line>\d+):in ");
static TOTALS: LinePattern = LinePattern::new(
    r"^(?<total>\d+) (?:runs|tests), \d+ assertions, (?<failed>\d+) failures, (?<errors>\d+) errors, (?<skipped>\d+) skips",
);

/// Finds the failed tests and adds up the numbers.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = TOTALS.find(line) {
            let failed = found.count("failed").saturating_add(found.count("errors"));
            scan.count_tests(found.count("total"), failed, found.count("skipped"));
        } else if HEADING.is_in(line)
            && let Some(named) = NAME.find(scan.line(index + 1))
        {
            let last = scan.last_of_block(index, |line| line.is_empty() || HEADING.is_in(line));
            let lines: Vec<_> = scan.range(index + 2..=last).map(|(_, line)| line).collect();
            let mut report = named.diagnostic();
            if let (None, Some(place)) = (report.line, lines.iter().find_map(|line| PLACE.find(line))) {
                place.move_to_place(&mut report);
            }
            let reason = join(lines.into_iter().take_while(|line| !PLACE.is_in(line)), " ");
            report.message = join([named.text("name").unwrap_or_default(), &reason], " - ");
            scan.add(index..=last, report);
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_failures() {
        let expected = [
            "E - sum_test.rb:4:- @9-12 TestSum#test_add - Expected: 3 Actual: 2",
            "E - sum_test.rb:7:- @14-17 TestSum#test_error - ArgumentError: bad argument",
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("minitest/failures"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected = ["1 passed, 0 failed, 0 skipped, 1 in all"];
        assert_eq!(rows("minitest/success"), expected);
    }

    #[test]
    fn fixture_verbose() {
        let expected = [
            "E - sum_test.rb:4:- @16-19 TestSum#test_add - Expected: 3 Actual: 2",
            "E - sum_test.rb:7:- @21-24 TestSum#test_error - ArgumentError: bad argument",
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("minitest/verbose"), expected);
    }
}
