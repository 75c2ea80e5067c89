//! Answers of the build tool: of a run, of its log, of the list of tools. Main type: [`BuildAnswer`].
//!
//! The shapes are those of Buildvise's tool `build`, so that prompts written for it work here. Parsing logs belongs in `build::parsers`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnostic::{Diagnostic, DiagnosticSeverity, TestSummary};

/// The code of a diagnostic that says that there is no such tool.
pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
/// The code of a diagnostic about a folder in which nothing may run.
pub const INVALID_CWD: &str = "INVALID_CWD";
/// The code of a diagnostic about a program that could not be run to its end.
pub const EXECUTION_ERROR: &str = "EXECUTION_ERROR";
/// The code of a diagnostic about a tool that changes files and was not confirmed.
pub const CONFIRMATION_REQUIRED: &str = "CONFIRMATION_REQUIRED";
/// The address for problems, as the hint names it. Whoever publishes a binary names an address when it is built.
const ISSUES: &str = match option_env!("REVIEW_ISSUES_URL") {
    Some(address) => address,
    None => "with the output of `review doctor`",
};

/// One diagnostic of an answer: what a caller needs to act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildDiagnostic {
    /// The message
    pub message: String,
    /// File, relative to the repository
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// First line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// First column
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The tool's name for it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl BuildDiagnostic {
    /// Builds one without a place.
    pub fn of(code: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), file: None, line: None, column: None, code: Some(code.to_owned()) }
    }
}

impl From<&Diagnostic> for BuildDiagnostic {
    fn from(full: &Diagnostic) -> Self {
        let Diagnostic { message, file, line, column, code, .. } = full.clone();
        Self { message, file, line, column, code }
    }
}

/// The answer of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildAnswer {
    /// `true` if the tool says that all is well
    pub success: bool,
    /// The errors; always there on failure
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<BuildDiagnostic>>,
    /// The warnings
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<BuildDiagnostic>>,
    /// The run, for its log
    pub run_id: String,
    /// The numbers of the tests
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<TestSummary>,
    /// Notes: what the sandbox does not hold, what was cut
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The next step
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl BuildAnswer {
    /// Builds the answer of a run that has ended. Nothing that a parser found is dropped: a tool that calls itself successful may have
    /// written errors.
    pub fn of(success: bool, run_id: &str, diagnostics: &[Diagnostic], summary: Option<TestSummary>) -> Self {
        let of = |severity| {
            let chosen = diagnostics.iter().filter(move |diagnostic| diagnostic.severity == severity);
            chosen.map(BuildDiagnostic::from).collect::<Vec<_>>()
        };
        let (errors, warnings) = (of(DiagnosticSeverity::Error), of(DiagnosticSeverity::Warning));
        Self {
            success,
            errors: Some(errors).filter(|errors| !success || !errors.is_empty()),
            warnings: Some(warnings).filter(|warnings| !warnings.is_empty()),
            run_id: run_id.to_owned(),
            summary,
            notes: Vec::new(),
            hint: None,
        }
    }

    /// Builds the answer of a run that could not be made, or not to its end.
    pub fn failed(run_id: &str, diagnostic: BuildDiagnostic) -> Self {
        Self {
            success: false,
            errors: Some(vec![diagnostic]),
            warnings: None,
            run_id: run_id.to_owned(),
            summary: None,
            notes: Vec::new(),
            hint: None,
        }
    }

    /// Adds notes; without any, the answer has the shape of Buildvise's.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Adds what to do next: where the log is, and where problems of this program are reported.
    #[must_use]
    pub fn with_hint(mut self) -> Self {
        let log = format!("To view full logs: {{ action: 'log', runId: '{}' }}. ", self.run_id);
        // Without a run there is no log to offer.
        let log = if self.success || self.run_id.is_empty() { "" } else { &log };
        self.hint = Some(format!("{log}Report issues: {ISSUES}"));
        self
    }
}

/// Lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogPage {
    /// The lines, without terminal sequences
    pub lines: Vec<String>,
    /// The number of the first, from 1
    pub start_line: u64,
    /// The number of the last; the one before the first if there are none
    pub end_line: u64,
    /// The number of lines of the log
    pub total_lines: u64,
    /// `true` if more follow
    pub has_more: bool,
}

/// Bytes of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawPage {
    /// The bytes as text.
    pub data: String,
    /// The first byte, from 0.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
    /// The number of bytes of the log.
    pub total_bytes: u64,
    /// `true` if more follow.
    pub has_more: bool,
}

/// A tool in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildToolRow {
    /// Its name
    pub name: String,
    /// Its purpose
    pub description: String,
}

/// The list of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildToolList {
    /// The tools
    pub tools: Vec<BuildToolRow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(severity: DiagnosticSeverity, message: &str) -> Diagnostic {
        let file = Some("Foo.cs".to_owned());
        Diagnostic { file, line: Some(42), ..Diagnostic::new(severity, message) }
    }

    fn json(answer: &BuildAnswer) -> String {
        serde_json::to_string(answer).unwrap()
    }

    #[test]
    fn answers_have_the_documented_shapes() {
        let error = diagnostic(DiagnosticSeverity::Error, "CS1002: ; expected");
        let warning = diagnostic(DiagnosticSeverity::Warning, "CS0168: unused");
        let failed = BuildAnswer::of(false, "abc-123", std::slice::from_ref(&error), None).with_hint();
        let text = format!(
            r#"{{"success":false,"errors":[{{"message":"CS1002: ; expected","file":"Foo.cs","line":42}}],"runId":"abc-123","hint":"To view full logs: {{ action: 'log', runId: 'abc-123' }}. Report issues: {ISSUES}"}}"#
        );
        assert_eq!(json(&failed), text);
        let passed = BuildAnswer::of(true, "abc-123", &[], None).with_hint();
        assert_eq!(json(&passed), format!(r#"{{"success":true,"runId":"abc-123","hint":"Report issues: {ISSUES}"}}"#));
        let warned = BuildAnswer::of(true, "r", &[warning], None);
        assert_eq!(
            json(&warned),
            r#"{"success":true,"warnings":[{"message":"CS0168: unused","file":"Foo.cs","line":42}],"runId":"r"}"#
        );
        assert_eq!(json(&BuildAnswer::of(false, "r", &[], None)), r#"{"success":false,"errors":[],"runId":"r"}"#);
        let kept = BuildAnswer::of(true, "r", &[error], None);
        assert_eq!(kept.errors.map(|errors| errors.len()), Some(1), "errors of a success are kept");
        let unknown = BuildAnswer::failed("", BuildDiagnostic::of(UNKNOWN_TOOL, "Unknown tool: x")).with_hint();
        assert_eq!(
            json(&unknown),
            format!(
                r#"{{"success":false,"errors":[{{"message":"Unknown tool: x","code":"UNKNOWN_TOOL"}}],"runId":"","hint":"Report issues: {ISSUES}"}}"#
            )
        );
    }
}
