//! Text of npm, of all versions: `npm error` and `npm ERR!`. Main function: [`parse`].
//!
//! Severities: lines of errors in a row are one error, each line of a warning is a warning. Output of the scripts that
//! npm runs belongs in the parsers of their tools.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static LINE: LinePattern = LinePattern::new(r"^npm (?<severity>error|ERR!|warn|WARN)(?: (?<message>.*))?$");
static CODE: LinePattern = LinePattern::new(r"^code (?<code>\S+)$");
static WARNING_CODE: LinePattern =
    LinePattern::new(r"^(?<code>E[A-Z0-9]+|deprecated|config|install-scripts) (?<message>.*)$");
static ADVICE: LinePattern = LinePattern::new(concat!(
    r"^(?:A complete log of this run|For a full report see|See \S+ for a full report|To see a list of scripts, run|npm run$",
    r"|\S*/_logs/\S+$|Lifecycle script .* failed with error)"
));

/// Finds the errors and warnings of npm itself.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let (mut index, mut warned) = (0, None);
    while index < scan.len() {
        let Some(found) = LINE.find(scan.line(index)) else {
            (index, warned) = (index + 1, None);
            continue;
        };
        if found.text("severity").is_some_and(|word| word.eq_ignore_ascii_case("warn")) {
            add_warning(&mut scan, index, found.text("message").unwrap_or_default(), &mut warned);
            index += 1;
        } else {
            let last = scan.last_of_block(index, |line| error_text(line).is_none_or(|text| text.starts_with("code ")));
            add_error(&mut scan, index, last);
            (index, warned) = (last + 1, None);
        }
    }
    scan.finish()
}

fn error_text(line: &str) -> Option<&str> {
    let found = LINE.find(line)?;
    let is_error = found.text("severity").is_some_and(|word| word.eq_ignore_ascii_case("error") || word == "ERR!");
    is_error.then(|| found.text("message").unwrap_or_default())
}

fn add_warning<'a>(scan: &mut LogScan<'a>, index: usize, text: &'a str, before: &mut Option<&'a str>) {
    let found = WARNING_CODE.find(text);
    let code = found.as_ref().and_then(|found| found.text("code"));
    let message = found.as_ref().map_or(Some(text), |found| found.text("message")).unwrap_or_default();
    // A warning of several lines repeats its code at each of them.
    if code.is_some() && code != Some("deprecated") && code == *before {
        scan.extend_last(index, message);
    } else if !text.is_empty() {
        let mut warning = diagnostic(DiagnosticSeverity::Warning, message);
        warning.code = code.map(str::to_owned);
        scan.add(index..=index, warning);
    }
    *before = code;
}

fn add_error(scan: &mut LogScan, first: usize, last: usize) {
    let texts: Vec<_> = scan.range(first..=last).filter_map(|(_, line)| error_text(line)).collect();
    let code = texts.iter().find_map(|text| CODE.find(text)?.text("code"));
    let texts = texts.into_iter().filter(|text| !CODE.is_in(text) && !ADVICE.is_in(text));
    // Details repeat the code, or its number (`404`), before each line.
    let number = code.map_or("", |code| code.trim_start_matches('E'));
    let texts = texts.map(|text| {
        let rest = text.split_once(' ').filter(|(word, _)| code == Some(*word) || *word == number);
        if text == number { "" } else { rest.map_or(text, |(_, rest)| rest) }
    });
    let message = join(texts, "; ");
    if !message.is_empty() {
        let mut error = diagnostic(DiagnosticSeverity::Error, message);
        // A number is the exit code of a script.
        error.code = code.filter(|code| !code.bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned);
        scan.add(first..=last, error);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_bad_json() {
        let expected = ["E EJSONPARSE -:-:- @1-5 JSON.parse Invalid package.json: JSONParseError: Unexpected "];
        assert_eq!(rows("npm/bad_json"), expected);
    }

    #[test]
    fn fixture_eresolve() {
        let expected = ["E ERESOLVE -:-:- @1-19 unable to resolve dependency tree; While resolving: demo@1.0"];
        assert_eq!(rows("npm/eresolve"), expected);
    }

    #[test]
    fn fixture_install() {
        let expected = ["W EBADENGINE -:-:- @1-5 Unsupported engine { package: 'demo@1.0.0', required: { node"];
        assert_eq!(rows("npm/install"), expected);
    }

    #[test]
    fn fixture_missing_script() {
        let expected = [r#"E - -:-:- @1-5 Missing script: "nowhere""#];
        assert_eq!(rows("npm/missing_script"), expected);
    }

    #[test]
    fn fixture_not_found() {
        let expected = ["E E404 -:-:- @1-8 Not Found - GET https://registry.example.com/no-such-package"];
        assert_eq!(rows("npm/not_found"), expected);
    }

    #[test]
    fn fixture_old_eresolve() {
        let expected = ["E ERESOLVE -:-:- @1-18 unable to resolve dependency tree; While resolving: demo@1.0"];
        assert_eq!(rows("npm/old_eresolve"), expected);
    }

    #[test]
    fn fixture_old_missing_script() {
        let expected = [r#"E - -:-:- @1-4 Missing script: "nowhere""#];
        assert_eq!(rows("npm/old_missing_script"), expected);
    }

    #[test]
    fn fixtures_without_diagnostics() {
        for name in ["old_script_failed", "script_failed", "success"] {
            assert!(rows(&format!("npm/{name}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn scripts_of_workspaces_are_errors_of_their_own() {
        let text = concat!(
            "npm error Lifecycle script `build` failed with error:\n",
            "npm error code 1\n",
            "npm error path /w/a\n",
            "npm error code 2\n",
            "npm error path /w/b\n",
            "npm warn deprecated rimraf@3.0.2: old\n",
            "npm warn deprecated glob@7.2.3: old",
        );
        let expected = [
            "E - -:-:- @2-3 path /w/a",
            "E - -:-:- @4-5 path /w/b",
            "W deprecated -:-:- @6-6 rimraf@3.0.2: old",
            "W deprecated -:-:- @7-7 glob@7.2.3: old",
        ];
        assert_eq!(rows_in("npm", text), expected);
    }
}
