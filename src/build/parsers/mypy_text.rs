//! Text of mypy, with and without columns, plain and pretty. Main function: [`parse`].
//!
//! Severities: `error` and `warning` as written, `note` is info. Its JSON output belongs elsewhere.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, join};

static AT_PLACE: LinePattern = LinePattern::new(concat!(
    r"^(?<file>\S.*?):(?:(?<line>\d+):(?:(?<col>\d+):(?:(?<endline>\d+):\d+:)?)?)? ",
    r"(?<severity>error|warning|note): (?<message>.*)$"
));
static OF_MYPY: LinePattern = LinePattern::new(r"^mypy: (?:error: )?(?<message>.*)$");
static CODE: LinePattern = LinePattern::new(r"^(?<message>.*?)\s+\[(?<code>[a-z0-9-]+)\]$");
static SUM: LinePattern = LinePattern::new(r"^(?:Found \d+ error|Success: )");

/// Finds what mypy reports; the pretty style wraps messages.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = AT_PLACE.find(line).filter(|_| !OF_MYPY.is_in(line)) {
            let is_other =
                |line: &str| line.is_empty() || line.starts_with(' ') || AT_PLACE.is_in(line) || SUM.is_in(line);
            let last = if CODE.is_in(line) { index } else { scan.last_of_block(index, is_other) };
            let mut report = found.diagnostic();
            let more = scan.range(index + 1..=last).map(|(_, line)| line);
            report.message = join([report.message.as_str()].into_iter().chain(more), " ");
            let whole = report.message.clone();
            if let Some(coded) = CODE.find(&whole) {
                coded.text("message").unwrap_or_default().clone_into(&mut report.message);
                report.code = coded.text("code").map(str::to_owned);
            }
            scan.add(index..=last, report);
        } else if let Some(found) = OF_MYPY.find(line) {
            scan.add(index..=index, found.diagnostic());
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_columns() {
        let expected = [
            "E import-not-found a.py:1..1:1 @1-1 Cannot find implementation or library stub for module named ",
            "I - a.py:1..1:1 @2-2 See https://mypy.readthedocs.io/en/stable/running_mypy.html#",
            r#"E return-value a.py:4..4:12 @3-3 Incompatible return value type (got "str", expected "int")"#,
            r#"E arg-type a.py:6..6:8 @4-4 Argument 2 to "add" has incompatible type "str"; expected "i"#,
            r#"I - a.py:7..7:13 @5-5 Revealed type is "def (a: int, b: int) -> int""#,
            r#"E call-arg a.py:8..8:10 @6-6 Missing positional argument "b" in call to "add""#,
        ];
        assert_eq!(rows("mypy_text/columns"), expected);
    }

    #[test]
    fn fixture_failures() {
        let expected = [
            "E import-not-found a.py:1:- @1-1 Cannot find implementation or library stub for module named ",
            "I - a.py:1:- @2-2 See https://mypy.readthedocs.io/en/stable/running_mypy.html#",
            r#"E return-value a.py:4:- @3-3 Incompatible return value type (got "str", expected "int")"#,
            r#"E arg-type a.py:6:- @4-4 Argument 2 to "add" has incompatible type "str"; expected "i"#,
            r#"I - a.py:7:- @5-5 Revealed type is "def (a: int, b: int) -> int""#,
            r#"E call-arg a.py:8:- @6-6 Missing positional argument "b" in call to "add""#,
        ];
        assert_eq!(rows("mypy_text/failures"), expected);
    }

    #[test]
    fn fixture_pretty() {
        let expected = [
            "E import-not-found a.py:1:- @1-2 Cannot find implementation or library stub for module named ",
            "I - a.py:1:- @5-5 See https://mypy.readthedocs.io/en/stable/running_mypy.html#",
            r#"E return-value a.py:4:- @6-7 Incompatible return value type (got "str", expected "int")"#,
            r#"E arg-type a.py:6:- @10-11 Argument 2 to "add" has incompatible type "str"; expected "i"#,
            r#"I - a.py:7:- @14-14 Revealed type is "def (a: int, b: int) -> int""#,
            r#"E call-arg a.py:8:- @15-15 Missing positional argument "b" in call to "add""#,
        ];
        assert_eq!(rows("mypy_text/pretty"), expected);
    }

    #[test]
    fn fixture_syntax() {
        let expected = [
            "E syntax b.py:1:- @1-1 Expected a parameter or the end of the parameter list",
            "E syntax b.py:2:- @2-2 Unexpected EOF while parsing",
        ];
        assert_eq!(rows("mypy_text/syntax"), expected);
    }

    #[test]
    fn fixture_usage() {
        let expected = ["E - nowhere.py:-:- @1-1 Cannot read file: No such file or directory"];
        assert_eq!(rows("mypy_text/usage"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("mypy_text/success").is_empty());
    }
}
