//! Text of `RSpec`: failed examples, errors while loading, numbers. Main function: [`parse`].
//!
//! Severities: all that it reports is an error.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static SECTION: LinePattern = LinePattern::new(r"^(?<name>Failures|Pending|Failed examples):");
static EXAMPLE: LinePattern = LinePattern::new(r"^\s+\d+\) (?<name>\S.*)$");
static LOADING: LinePattern =
    LinePattern::new(r"^(?<name>An error occurred (?:while loading (?<file>\S+\.rb)|in an? .*? hook)).*$");
static END: LinePattern =
    LinePattern::new(r"^(?:\s+\d+\) \S|An error occurred |Finished in |Failed examples:|\d+ examples?, )");
static PLACE: LinePattern = LinePattern::new(r"^\s*# (?<file>\S+?):(?<line>\d+)(?::in .*)?$");
static TOTALS: LinePattern =
    LinePattern::new(r"^(?<total>\d+) examples?, (?<failed>\d+) failures?(?:, (?<skipped>\d+) pending)?");

/// Finds the failures with their places and adds up the numbers.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut section = "";
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = SECTION.find(line) {
            section = found.text("name").unwrap_or_default();
        } else if let Some(found) = TOTALS.find(line) {
            scan.count_tests(found.count("total"), found.count("failed"), found.count("skipped"));
        } else if let Some(found) = LOADING.find(line).or_else(|| EXAMPLE.find(line).filter(|_| section == "Failures"))
        {
            let end = scan.last_of_block(index, |line| END.is_in(line));
            let lines: Vec<_> = scan.range(index + 1..=end).map(|(_, line)| line).collect();
            let reason = lines.iter().skip_while(|line| !line.contains("Failure/Error")).copied();
            let reason = reason
                .take_while(|line| !PLACE.is_in(line))
                .map(|line| line.trim().trim_start_matches("Failure/Error: "));
            let name = found.text("name").unwrap_or_default();
            let mut report = diagnostic(DiagnosticSeverity::Error, join([name, &join(reason, " ")], " - "));
            report.file = found.text("file").map(str::to_owned);
            let places = lines.iter().enumerate().filter_map(|(at, line)| Some((at, PLACE.find(line)?)));
            let place =
                places.into_iter().find(|(_, place)| place.text("file").is_some_and(|file| !file.contains("/gems/")));
            if let Some((_, place)) = &place {
                place.move_to_place(&mut report);
            }
            scan.add(index..=place.map_or(index, |(at, _)| index + 1 + at), report);
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_colors() {
        let expected = [
            "E - ./spec/sum_spec.rb:3:- @12-19 sum adds - expect(1 + 1).to eq(3) expected: 3 got: 2 (compar",
            r#"E - ./spec/sum_spec.rb:6:- @21-26 sum raises - raise ArgumentError, "bad argument" ArgumentErr"#,
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("rspec/colors"), expected);
    }

    #[test]
    fn fixture_failures() {
        let expected = [
            "E - ./spec/sum_spec.rb:3:- @11-18 sum adds - expect(1 + 1).to eq(3) expected: 3 got: 2 (compar",
            r#"E - ./spec/sum_spec.rb:6:- @20-25 sum raises - raise ArgumentError, "bad argument" ArgumentErr"#,
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("rspec/failures"), expected);
    }

    #[test]
    fn fixture_load_error() {
        let expected = [
            "E - ./spec/broken_spec.rb:1:- @2-9 An error occurred while loading ./spec/broken_spec.rb - requ",
            "0 passed, 0 failed, 0 skipped, 0 in all",
        ];
        assert_eq!(rows("rspec/load_error"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected = ["1 passed, 0 failed, 0 skipped, 1 in all"];
        assert_eq!(rows("rspec/success"), expected);
    }
}
