//! What other scanners report, as leads: their results in SARIF 2.1.0 become claims like those of a rule. Main types: [`Reports`], [`Reported`];
//! main functions: [`read`], [`run_with`].
//!
//! A report is data that somebody else wrote, often about code that somebody hostile wrote: its texts are masked, stripped and cut, its numbers
//! bounded, and no path leads out of the tree. Only what lies in the change is taken; whatever is not is counted. What the format means stands
//! in `wire` and `sarif`, where a result lies in `place`, how it reads in `words`, and how it becomes a claim in `leads`.

mod leads;
mod place;
mod sarif;
mod wire;
mod words;

use serde::{Deserialize, Serialize};

use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;

pub use leads::run_with;
pub use sarif::{Around, ReportError, read};

/// The reports that a review was given, in the order in which they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reports(pub Vec<Report>);

impl Reports {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One report, as far as it is about the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The name of the file, as it was given.
    pub from: String,
    /// What is in files of the change.
    pub results: Vec<Reported>,
    /// How many results were in the file.
    pub given: usize,
    /// How many of them were not taken, and why (`lie outside the change`), in the order of their first.
    pub left_out: Vec<(String, usize)>,
}

/// A result of a scanner. Its texts are masked and stripped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Who says so: `<tool>/<rule>`.
    pub name: String,
    /// What it says; never blank.
    pub text: String,
    /// How bad.
    pub severity: Severity,
    /// What kind of defect.
    pub category: Category,
    /// The weakness it is, where it names one (`CWE-79`).
    pub cwe: Option<String>,
    /// The file, as it is after the change.
    pub path: RepoPath,
    /// The lines; `None` for the whole file.
    pub lines: Option<LineRange>,
    /// How the first of these lines reads, where the report shows it; masked.
    pub snippet: Option<String>,
}
