//! Text of pnpm. Main function: [`parse`].
//!
//! Severities: `ERR_PNPM_…`, `ELIFECYCLE` and `ERROR` are errors, `WARN` and an unmet peer dependency are warnings.
//! Output of the scripts that pnpm runs belongs in the parsers of their tools.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan};
use crate::domain::diagnostic::DiagnosticSeverity;

// In a workspace the folder and a bar are written before the line.
static ERROR: LinePattern =
    LinePattern::new(r"^(?:\S[^|]*\|)?\s*(?:ERR_PNPM_(?<code>[A-Z0-9_]+)|\sERROR)\s+(?<message>\S.*)$");
static LIFECYCLE: LinePattern = LinePattern::new(r"^(?:\S[^|]*\|)?\s*(?<code>ELIFECYCLE)\s+(?<message>\S.*)$");
static WARNING: LinePattern =
    LinePattern::new(r"^(?:\S[^|]*\|)?\s+(?<severity>WARN)\s+(?:(?<code>deprecated)\s+)?(?<message>\S.*)$");
static PEER: LinePattern = LinePattern::new(r"^[\s│├└─┬]*✕ (?<message>(?:unmet|missing) peer .*)$");

/// Finds the errors and warnings of pnpm itself.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = [&ERROR, &LIFECYCLE, &WARNING].into_iter().find_map(|pattern| pattern.find(line)) {
            scan.add(index..=index, found.diagnostic());
        } else if let Some(found) = PEER.find(line) {
            let mut peer = found.diagnostic();
            peer.severity = DiagnosticSeverity::Warning;
            scan.add(index..=index, peer);
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_install() {
        let expected = [
            "W - -:-:- @11-11 Issues with peer dependencies found",
            "W - -:-:- @14-14 unmet peer react@^18.2.0: found 17.0.2",
        ];
        assert_eq!(rows("pnpm/install"), expected);
    }

    #[test]
    fn fixture_missing_script() {
        let expected = ["E NO_SCRIPT -:-:- @1-1 Missing script: nowhere"];
        assert_eq!(rows("pnpm/missing_script"), expected);
    }

    #[test]
    fn fixture_not_found() {
        let expected = ["E FETCH_404 -:-:- @1-1 GET https://registry.example.com/no-such-package-of-this-dem"];
        assert_eq!(rows("pnpm/not_found"), expected);
    }

    #[test]
    fn fixture_outdated_lockfile() {
        let expected =
            [r#"E OUTDATED_LOCKFILE -:-:- @1-1 Cannot install with "frozen-lockfile" because pnpm-lock.yaml"#];
        assert_eq!(rows("pnpm/outdated_lockfile"), expected);
    }

    #[test]
    fn fixture_script_failed() {
        let expected = [
            "E ELIFECYCLE -:-:- @5-5 Command failed with exit code 2.",
            "W - -:-:- @6-6 Local package.json exists, but node_modules missing, did you",
        ];
        assert_eq!(rows("pnpm/script_failed"), expected);
    }

    #[test]
    fn fixtures_without_diagnostics() {
        for name in ["frozen", "success"] {
            assert!(rows(&format!("pnpm/{name}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn folders_of_a_workspace_before_the_line() {
        let text = concat!(
            "packages/a                               |  WARN  deprecated rimraf@3.0.2: old\n",
            "/w/packages/b:\n",
            " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  b@1.0.0 build: `tsc`\n",
            " ERROR  Unknown option: 'x'\n",
            "WARN is a word",
        );
        let expected = [
            "W deprecated -:-:- @1-1 rimraf@3.0.2: old",
            "E RECURSIVE_RUN_FIRST_FAIL -:-:- @3-3 b@1.0.0 build: `tsc`",
            "E - -:-:- @4-4 Unknown option: 'x'",
        ];
        assert_eq!(rows_in("pnpm", text), expected);
    }
}
