//! Imports results of other scanners in SARIF 2.1.0; they become claims like those of a rule. Main types: [`ScannerReports`], [`ScannerResult`]; main
//! function: [`read`].
//!
//! A report is untrusted data, often about untrusted code: its texts are masked, stripped and cut, its numbers bounded, and no path leads
//! out of the tree. Only results in the change are imported; the others are counted. The format belongs in `wire` and `sarif`, locations
//! in `place`, texts in `words`, claims in `leads`.

mod fields;
mod leads;
mod place;
mod sarif;
mod wire;

use serde::{Deserialize, Serialize};

use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;

pub use leads::add_reports;
pub use sarif::{ReportContext, ScannerReportError, read};

/// The reports passed to a review, in the order in which they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannerReports(pub Vec<ScannerReport>);

impl ScannerReports {
    /// `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One report, reduced to the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannerReport {
    /// The name of the file, as given by the user.
    pub from: String,
    /// The results in files of the change.
    pub results: Vec<ScannerResult>,
    /// Number of results in the file.
    pub given: usize,
    /// Numbers of skipped results by reason (`lie outside the change`), in order of first occurrence.
    pub left_out: Vec<(String, usize)>,
    /// Why a check that the project configures could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A result of a scanner. Its texts are masked and stripped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannerResult {
    /// Its source: `<tool>/<rule>`.
    pub name: String,
    /// Its message; never blank.
    pub text: String,
    /// Its severity.
    pub severity: Severity,
    /// Its category of defect.
    pub category: Category,
    /// The weakness, if it names one (`CWE-79`).
    pub cwe: Option<String>,
    /// The file at the head.
    pub path: RepoPath,
    /// The lines; `None` for the whole file.
    pub lines: Option<LineRange>,
    /// The text of the first of these lines, if the report shows it; masked.
    pub snippet: Option<String>,
}
