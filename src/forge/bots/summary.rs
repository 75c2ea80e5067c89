//! Counts remarks. Main function: [`summarize_remarks`].

use std::collections::HashSet;

use crate::domain::forge::{Remark, RemarkSummary, SummaryNitpicks};

/// The name used for the file of a remark that names none.
const NO_FILE: &str = "general";

/// Counts the remarks. The total is always the resolved and the unresolved ones together; by severity and by file the unresolved ones are
/// counted alone. A thread that was split counts once among the outdated.
pub fn summarize_remarks(remarks: &[Remark]) -> RemarkSummary {
    let mut summary = RemarkSummary { total: remarks.len(), ..RemarkSummary::default() };
    let mut nitpicks = SummaryNitpicks::default();
    let mut outdated = HashSet::new();
    for remark in remarks {
        if remark.is_listed_only {
            nitpicks.total += 1;
            nitpicks.resolved += usize::from(remark.is_resolved);
        }
        if remark.is_outdated {
            outdated.insert(remark.thread.as_deref().unwrap_or(&remark.id));
        }
        if remark.is_resolved {
            summary.resolved += 1;
            continue;
        }
        *summary.by_severity.entry(remark.severity).or_default() += 1;
        let file = remark.path.as_ref().map_or(NO_FILE.into(), |path| path.display_name());
        *summary.by_file.entry(file.into_owned()).or_default() += 1;
    }
    summary.outdated = outdated.len();
    summary.unresolved = summary.total - summary.resolved;
    nitpicks.unresolved = nitpicks.total - nitpicks.resolved;
    summary.nitpicks = (nitpicks.total > 0).then_some(nitpicks);
    summary
}
