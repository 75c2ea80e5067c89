//! Reports of builds, test runs and linters. Main types: [`Diagnostic`], [`TestSummary`].
//!
//! Plain data, of any tool. How a tool writes it belongs in `build::parsers`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a tool says that something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticSeverity {
    /// It fails the build, the test run or the check.
    Error,
    /// It does not.
    Warning,
    /// A note, a suggestion.
    Info,
}

/// One report of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// How bad the tool says it is.
    pub severity: DiagnosticSeverity,
    /// The message; never blank, without terminal sequences.
    pub message: String,
    /// The tool's name for it (`TS2345`, `no-unused-vars`, `E0308`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The file, as the tool writes it; made relative to the repository later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The first column, from 1, in the tool's own counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The last line, where the tool names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Its lines in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_range: Option<LogRange>,
    /// The same in bytes of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offsets: Option<ByteRange>,
}

impl Diagnostic {
    /// Builds one with a message, and without a place.
    pub fn new(severity: DiagnosticSeverity, message: impl Into<String>) -> Self {
        Self {
            severity,
            message: message.into(),
            code: None,
            file: None,
            line: None,
            column: None,
            end_line: None,
            log_range: None,
            byte_offsets: None,
        }
    }
}

/// Lines of a log, both ends included, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogRange {
    /// The first line.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
}

/// Bytes of a log, the end excluded, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// The numbers of a test run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestSummary {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    /// Number of tests that were skipped, ignored or marked as to do.
    pub skipped: u64,
    /// Number of all of them.
    pub total: u64,
    /// Number of test projects that did not build (.NET).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects_build_failed: Option<u64>,
}
