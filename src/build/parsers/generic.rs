//! Text of any tool that writes places as compilers do, for commands that a project declares. Main function: [`parse`].
//!
//! Severities: as the tool writes them. A tool with a format of its own has a file of its own.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, parse_lines};

static COLON: LinePattern = LinePattern::new(concat!(
    r"^(?<file>[^\s:][^:]*?(?::[\\/][^:]*?)?):(?<line>\d+)(?::(?<col>\d+))?(?:: | - )",
    r"(?<severity>(?i:fatal error|fatal|error|warning|warn|info|note))(?:[ \[](?<code>[\w:-]+)\]?)?: (?<message>\S.*)$"
));
static PARENTHESES: LinePattern = LinePattern::new(concat!(
    r"^(?<file>\S.*?)\((?<line>\d+)(?:,(?<col>\d+))?\)\s?: ",
    r"(?<severity>(?i:fatal error|error|warning|info|note))(?: (?<code>[A-Za-z]+\d+))?: (?<message>\S.*)$"
));

/// Finds lines such as `path:line:column: error: message`.
pub(super) fn parse(log: &Log) -> Parsed {
    parse_lines(log, &[&COLON, &PARENTHESES])
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_lines() {
        let expected = [
            "E - src/a.ext:12:5 @2-2 the name is not known",
            "W - src/a.ext:14:- @3-3 the value is not used",
            r"E E12 C:\src\b.ext:3:1 @4-4 a bracket is missing",
            "W W55 lib/c.ext:7:9 @5-5 the comment is old",
            "I - src/d.ext:9:2 @6-6 declared here",
            "E - src/e.ext:-:- @8-8 at the start of the file",
            "E - src/e.ext:-:- @9-9 far away",
        ];
        assert_eq!(rows("generic/lines"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("generic/success").is_empty());
    }
}
