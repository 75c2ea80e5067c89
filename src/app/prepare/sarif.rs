//! SARIF reports of other scanners given to a review: `--leads FILE.sarif`. Main function: [`read`].

use std::path::{Path, PathBuf};

use super::change::PreparedChange;
use crate::app::context::error::AppError;
use crate::domain::request::ReviewRequest;
use crate::rules::{ReportContext, ScannerReportError, ScannerReports, read_report};
use crate::sys::files;

/// Maximum size in bytes of a report: it is held in memory completely, and reports about one change are far smaller.
const MAX_REPORT: u64 = 64 << 20;
/// Limit on the report files of one review.
const MOST_FILES: usize = 50;

/// Reads the reports about the change. An unreadable file is an error, because the user named it.
pub(in crate::app) fn read(
    leads: &[PathBuf],
    request: &ReviewRequest,
    subject: &PreparedChange,
) -> Result<ScannerReports, AppError> {
    if leads.len() > MOST_FILES {
        return Err(ScannerReportError::TooMany { given: leads.len(), most: MOST_FILES }.into());
    }
    let roots = roots(request, subject);
    let mut reports = Vec::new();
    for path in leads {
        let bytes =
            files::open(path).and_then(|file| files::read_within(file, path, MAX_REPORT)).map_err(AppError::Input)?;
        let around = ReportContext { change: &subject.change, roots: &roots, cancel: &subject.cancel };
        let report = read_report(&path.display().to_string(), &bytes, around).map_err(|error| match error {
            ScannerReportError::Stopped(stopped) => AppError::Stopped(stopped),
            error => error.into(),
        })?;
        reports.push(report);
    }
    Ok(ScannerReports(reports))
}

/// The folders that absolute paths of a report may start with: the repository as named, and its canonical path.
fn roots(request: &ReviewRequest, subject: &PreparedChange) -> Vec<Vec<u8>> {
    let named = std::path::absolute(&request.directory).ok();
    let folders = [subject.root.clone(), subject.repository.clone(), named];
    let bytes = |folder: &Path| {
        let bytes = folder.as_os_str().as_encoded_bytes();
        bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec()
    };
    let mut roots: Vec<Vec<u8>> = folders.iter().flatten().map(|folder| bytes(folder)).collect();
    roots.retain(|root| !root.is_empty());
    roots.dedup();
    roots
}
