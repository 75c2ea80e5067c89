//! Text of Yarn, classic and modern. Main function: [`parse`].
//!
//! Severities: as classic Yarn writes them; modern Yarn shows them by color only, so they follow from the code.
//! Output of the scripts that Yarn runs belongs in the parsers of their tools.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan};
use crate::domain::diagnostic::DiagnosticSeverity;

static CLASSIC: LinePattern = LinePattern::new(r"^(?<severity>error|warning) (?<message>[^\s:]\S*(?: .*)?)$");
static USAGE: LinePattern = LinePattern::new(r"^(?<code>Usage Error|Internal Error): (?<message>.*)$");
static MODERN: LinePattern = LinePattern::new(r"^➤ (?<code>YN\d{4}): (?:[│┌└·] )?(?<message>.*)$");
static DETAIL: LinePattern = LinePattern::new(r"^➤ YN\d{4}: │ (?: |[-+])");
static FAILED: LinePattern = LinePattern::new(r"^➤ YN0000: · (?<message>Failed with errors.*)$");
static COMPILER: LinePattern = LinePattern::new(r"^error TS\d+:");

/// Codes that report progress.
const PROGRESS: [&str; 8] = ["YN0000", "YN0006", "YN0007", "YN0008", "YN0013", "YN0019", "YN0085", "YN0088"];

/// Codes that do not fail an installation.
const WARNINGS: [&str; 13] = [
    "YN0002", "YN0003", "YN0004", "YN0005", "YN0032", "YN0034", "YN0057", "YN0060", "YN0061", "YN0062", "YN0068",
    "YN0076", "YN0086",
];

/// Finds the errors and warnings of Yarn itself.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut before = None;
    for index in 0..scan.len() {
        let line = scan.line(index);
        let Some(found) = MODERN.find(line) else {
            // The compiler writes errors without a file in the same way.
            let found = CLASSIC.find(line).filter(|_| !COMPILER.is_in(line)).or_else(|| USAGE.find(line));
            if let Some(found) = found {
                scan.add(index..=index, found.diagnostic());
            }
            continue;
        };
        let code = found.text("code");
        if DETAIL.is_in(line) {
            if code == before {
                scan.extend_last(index, found.text("message").unwrap_or_default());
            }
            continue;
        }
        before = None;
        if code.is_some_and(|code| !PROGRESS.contains(&code)) {
            let mut diagnostic = found.diagnostic();
            if code.is_some_and(|code| WARNINGS.contains(&code)) {
                diagnostic.severity = DiagnosticSeverity::Warning;
            }
            scan.add(index..=index, diagnostic);
            before = code;
        } else if scan.has_no_error()
            && let Some(failed) = FAILED.find(line)
        {
            scan.add(index..=index, failed.diagnostic());
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_berry_immutable() {
        let expected = ["E YN0028 -:-:- @74-74 The lockfile would have been modified by this install, which"];
        assert_eq!(rows("yarn/berry_immutable"), expected);
    }

    #[test]
    fn fixture_berry_install() {
        let expected = [
            "W YN0060 -:-:- @6-6 react is listed by your project with version 17.0.2 (pe20cf2",
            "W YN0086 -:-:- @7-7 Some peer dependencies are incorrectly met by your project; ",
        ];
        assert_eq!(rows("yarn/berry_install"), expected);
    }

    #[test]
    fn fixture_berry_missing_script() {
        let expected = [r#"E Usage Error -:-:- @1-1 Couldn't find a script named "nowhere"."#];
        assert_eq!(rows("yarn/berry_missing_script"), expected);
    }

    #[test]
    fn fixture_berry_not_found() {
        let expected = ["E YN0035 -:-:- @3-6 no-such-package-of-this-demo-1@npm:1.0.0: Package not found "];
        assert_eq!(rows("yarn/berry_not_found"), expected);
    }

    #[test]
    fn fixture_classic_frozen_lockfile() {
        let expected = ["W - -:-:- @2-2 package.json: No license field", "W - -:-:- @3-3 demo@1.0.0: No license field"];
        assert_eq!(rows("yarn/classic_frozen_lockfile"), expected);
    }

    #[test]
    fn fixture_classic_install() {
        let expected = [
            "W - -:-:- @2-2 package.json: No license field",
            "W - -:-:- @4-4 demo@1.0.0: No license field",
            r#"W - -:-:- @8-8 " > react-dom@18.2.0" has incorrect peer dependency "react@^"#,
        ];
        assert_eq!(rows("yarn/classic_install"), expected);
    }

    #[test]
    fn fixture_classic_missing_script() {
        let expected =
            ["W - -:-:- @2-2 package.json: No license field", r#"E - -:-:- @3-3 Command "nowhere" not found."#];
        assert_eq!(rows("yarn/classic_missing_script"), expected);
    }

    #[test]
    fn fixture_classic_not_found() {
        let expected = [
            "W - -:-:- @2-2 package.json: No license field",
            "W - -:-:- @3-3 demo@1.0.0: No license field",
            r#"E - -:-:- @5-5 Couldn't find package "no-such-package-of-this-demo-1" on th"#,
        ];
        assert_eq!(rows("yarn/classic_not_found"), expected);
    }

    #[test]
    fn fixture_classic_script_failed() {
        let expected =
            ["W - -:-:- @2-2 package.json: No license field", "E - -:-:- @4-4 Command failed with exit code 2."];
        assert_eq!(rows("yarn/classic_script_failed"), expected);
    }

    #[test]
    fn fixture_classic_success() {
        let expected = ["W - -:-:- @2-2 package.json: No license field"];
        assert_eq!(rows("yarn/classic_success"), expected);
    }

    #[test]
    fn errors_of_the_compiler_are_not_those_of_yarn() {
        let text = concat!("error TS18003: No inputs\n", "➤ YN0000: · Failed with errors in 0s 75ms",);
        let expected = ["E - -:-:- @2-2 Failed with errors in 0s 75ms"];
        assert_eq!(rows_in("yarn", text), expected);
    }
}
