//! Text of the TypeScript compiler, plain and pretty. Main function: [`parse`].
//!
//! Severities: `error` and `warning` as written, `message` is info. Type errors that Next.js reports belong in `nextjs`.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan};

static PLAIN: LinePattern = LinePattern::new(
    r"^(?<file>\S.*?)\((?<line>\d+),(?<col>\d+)\): (?<severity>error|warning|message) (?<code>TS\d+): (?<message>.*)$",
);
static PRETTY: LinePattern = LinePattern::new(
    r"^(?<file>\S.*?):(?<line>\d+):(?<col>\d+) - (?<severity>error|warning|message) (?<code>TS\d+): (?<message>.*)$",
);
static WITHOUT_FILE: LinePattern =
    LinePattern::new(r"^(?:[^:]+: )?(?<severity>error|warning) (?<code>TS\d+): (?<message>.*)$");

/// Finds the errors, each with the indented lines that explain it.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = [&PLAIN, &PRETTY, &WITHOUT_FILE].into_iter().find_map(|pattern| pattern.find(line)) {
            let last = scan.last_of_block(index, |line| !line.starts_with("  "));
            scan.add(index..=last, found.diagnostic());
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_missing_project() {
        let expected = ["E TS5058 -:-:- @1-1 The specified path does not exist: 'nowhere.json'."];
        assert_eq!(rows("tsc/missing_project"), expected);
    }

    #[test]
    fn fixture_no_file() {
        let expected = ["E TS18003 -:-:- @1-1 No inputs were found in config file '/w/tsconfig.json'. Spec"];
        assert_eq!(rows("tsc/no_file"), expected);
    }

    #[test]
    fn fixture_no_file_pretty() {
        assert_eq!(rows("tsc/no_file_pretty"), rows("tsc/no_file"));
    }

    #[test]
    fn fixture_plain() {
        let expected = [
            "E TS6133 src/sum.ts:2:9 @1-1 'unused' is declared but its value is never read.",
            "E TS2304 src/sum.ts:3:14 @2-2 Cannot find name 'c'.",
            "E TS2322 src/sum.ts:5:14 @3-3 Type 'number' is not assignable to type 'string'.",
            "E TS2345 src/sum.ts:5:36 @4-4 Argument of type 'string' is not assignable to parameter of ",
            "E TS2322 src/sum.ts:6:14 @5-5 Type 'number' is not assignable to type 'string'.",
            "E TS2345 src/sum.ts:6:37 @6-6 Argument of type 'string' is not assignable to parameter of ",
            "E TS2307 src/user.ts:1:25 @7-7 Cannot find module './nowhere.js' or its corresponding type ",
            "E TS2322 src/user.ts:3:51 @8-8 Type 'number' is not assignable to type 'string'.",
            "E TS2551 src/user.ts:4:14 @9-9 Property 'nam' does not exist on type 'User'. Did you mean '",
        ];
        assert_eq!(rows("tsc/plain"), expected);
    }

    #[test]
    fn fixture_pretty() {
        let expected = [
            "E TS6133 src/sum.ts:2:9 @1-1 'unused' is declared but its value is never read.",
            "E TS2304 src/sum.ts:3:14 @6-6 Cannot find name 'c'.",
            "E TS2322 src/sum.ts:5:14 @11-11 Type 'number' is not assignable to type 'string'.",
            "E TS2345 src/sum.ts:5:36 @16-16 Argument of type 'string' is not assignable to parameter of ",
            "E TS2322 src/sum.ts:6:14 @21-21 Type 'number' is not assignable to type 'string'.",
            "E TS2345 src/sum.ts:6:37 @26-26 Argument of type 'string' is not assignable to parameter of ",
            "E TS2307 src/user.ts:1:25 @31-31 Cannot find module './nowhere.js' or its corresponding type ",
            "E TS2322 src/user.ts:3:51 @36-36 Type 'number' is not assignable to type 'string'.",
            "E TS2551 src/user.ts:4:14 @46-46 Property 'nam' does not exist on type 'User'. Did you mean '",
        ];
        assert_eq!(rows("tsc/pretty"), expected);
    }

    #[test]
    fn fixtures_without_diagnostics() {
        for name in ["success", "success_watchless"] {
            assert!(rows(&format!("tsc/{name}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn lines_that_explain_and_prefixes_of_runners() {
        let text = concat!(
            "apps/web build: app/(group)/a.tsx(3,5): error TS2345: Argument is wrong.\n",
            "  Type 'A' is missing the following.\n",
            "    Deep.\n",
            "web:build: src/b.ts(0,99999999999): warning TS1: Odd.",
        );
        let expected = ["E TS2345 app/(group)/a.tsx:3:5 @1-3 Argument is wrong.", "W TS1 src/b.ts:-:- @4-4 Odd."];
        assert_eq!(rows_in("tsc", text), expected);
    }
}
