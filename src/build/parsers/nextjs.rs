//! Text of `next build`. Main function: [`parse`].
//!
//! Severities: what fails the compilation is an error; problems that `ESLint` finds are as written.

use super::super::log::Log;
use super::Parsed;
use super::text::{LineMatch, LinePattern, LogScan, diagnostic};
use crate::domain::diagnostic::DiagnosticSeverity;

static FILE: LinePattern = LinePattern::new(r"^(?:\./)?(?<file>\S.*?\.\w{1,5})(?::(?<line>\d+):(?<col>\d+))?$");
static FAULT: LinePattern = LinePattern::new(
    r"^(?<message>(?:(?:Type|Syntax|Build|Reference)? ?[Ee]rror: |Module not found: |Parsing .* failed|Ecmascript file had an error).*)$",
);
static FRAME: LinePattern = LinePattern::new(r"^\s*(?:,-|╭─)\[\s*(?<file>\S.*?):(?<line>\d+):(?<col>\d+)\s*\]");
static LINT: LinePattern = LinePattern::new(
    r"^(?<line>\d+):(?<col>\d+)\s+(?<severity>Error|Warning): (?<message>.*?)(?:\s\s+(?<code>[\w@/-]+))?$",
);
static LOOSE: LinePattern = LinePattern::new(r"^\s*⨯ (?<message>.+)$");
static BROKEN: LinePattern = LinePattern::new(r"^> Build error occurred$");

/// Finds what the compiler, the type check and `ESLint` report.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut file: Option<(usize, LineMatch)> = None;
    for index in 0..scan.len() {
        let line = scan.line(index);
        let named = file.as_ref().filter(|(at, _)| at + 1 == index);
        if let (Some((at, named)), Some(fault)) = (named, FAULT.find(line)) {
            add_fault(&mut scan, *at, named, &fault);
        } else if let (Some((_, named)), Some(lint)) = (&file, LINT.find(line)) {
            let mut problem = lint.diagnostic();
            problem.file = named.text("file").map(str::to_owned);
            scan.add(index..=index, problem);
        } else if let Some(loose) = LOOSE.find(line) {
            scan.add(index..=index, loose.diagnostic());
        } else if BROKEN.is_in(line) && scan.has_no_error() {
            let error = diagnostic(DiagnosticSeverity::Error, scan.line(index + 1));
            scan.add(index..=(index + 1).min(scan.len() - 1), error);
        }
        if let Some(found) = FILE.find(line) {
            file = Some((index, found));
        }
    }
    scan.finish()
}

fn add_fault(scan: &mut LogScan, at: usize, named: &LineMatch, fault: &LineMatch) {
    let mut error = fault.diagnostic();
    named.move_to_place(&mut error);
    let mut last = at + 1;
    let message = fault.text("message").unwrap_or_default();
    message.strip_prefix("Type error: ").unwrap_or(message).clone_into(&mut error.message);
    if error.line.is_none() {
        // The frame of the source says the place.
        let end = scan.last_of_block(last, |line| line.is_empty() || FAULT.is_in(line));
        if let Some((frame_at, frame)) = scan.range(last..=end).find_map(|(at, line)| Some((at, FRAME.find(line)?))) {
            (error.line, error.column) = (frame.number("line"), frame.number("col"));
            last = frame_at;
        }
    }
    // A bare heading is explained in the next line.
    if message.ends_with("failed") || message.ends_with("errors") {
        error.message = format!("{message}: {}", scan.line(last + 1));
        last += 1;
    }
    scan.add(at..=last.min(scan.len().saturating_sub(1)), error);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_missing_module() {
        let expected = ["E - app/page.tsx:-:- @6-7 Module not found: Can't resolve './nowhere'"];
        assert_eq!(rows("nextjs/missing_module"), expected);
    }

    #[test]
    fn fixture_syntax() {
        let expected = ["E - app/page.tsx:2:1 @6-8 Error: x Expression expected"];
        assert_eq!(rows("nextjs/syntax"), expected);
    }

    #[test]
    fn fixture_type_error() {
        let expected = ["E - app/page.tsx:2:9 @10-11 Type 'string' is not assignable to type 'number'."];
        assert_eq!(rows("nextjs/type_error"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("nextjs/success").is_empty());
    }

    #[test]
    fn problems_of_eslint_and_turbopack() {
        let text = concat!(
            "./app/a.tsx\n",
            "3:9  Error: 'n' is never used.  @typescript-eslint/no-unused-vars\n",
            "5:1  Warning: Odd image.  @next/next/no-img-element\n",
            "\n",
            "./app/b.tsx:2:14\n",
            "Parsing ecmascript source code failed\n",
            "  1 | x\n",
            " ⨯ Static worker exited",
        );
        let expected = [
            "E @typescript-eslint/no-unused-vars app/a.tsx:3:9 @2-2 'n' is never used.",
            "W @next/next/no-img-element app/a.tsx:5:1 @3-3 Odd image.",
            "E - app/b.tsx:2:14 @5-7 Parsing ecmascript source code failed: 1 | x",
            "E - -:-:- @8-8 Static worker exited",
        ];
        assert_eq!(rows_in("nextjs", text), expected);
    }
}
