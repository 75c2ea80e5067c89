//! Finds the cases in a folder. Main function: [`cases`].

use std::path::Path;

use super::case::{self, CASE_FILE, EvalCase};
use super::error::EvalError;
use crate::domain::filter::PathFilter;
use crate::sys::files;

/// Collects the cases directly inside `folder`, by name; with `only`, those whose names match that glob.
///
/// A malformed case is an error even if it is not selected: a case silently missing would make every figure wrong.
pub(super) fn cases(folder: &Path, only: Option<&str>) -> Result<Vec<EvalCase>, EvalError> {
    let inside = files::folders(folder)?;
    let is_case = |path: &Path| files::modified(&path.join(CASE_FILE)).is_some();
    let mut paths: Vec<_> = inside.into_iter().map(|found| found.path).filter(|path| is_case(path)).collect();
    paths.sort();
    let mut cases: Vec<EvalCase> = paths.iter().map(|path| case::read(path)).collect::<Result<_, _>>()?;
    if cases.is_empty() {
        return Err(EvalError::NoCase(folder.to_owned()));
    }
    let count = cases.len();
    if let Some(pattern) = only {
        let filter = PathFilter::new(&[pattern.to_owned()], &[])?;
        cases.retain(|case| filter.allows_bytes(case.name.as_bytes()));
        if cases.is_empty() {
            return Err(EvalError::NoneLeft { pattern: pattern.to_owned(), count, folder: folder.to_owned() });
        }
    }
    Ok(cases)
}
