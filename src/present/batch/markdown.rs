//! A batch as a Markdown page. Main function: [`markdown`].

use super::{cost, findings_of, outcome, totals};
use crate::domain::batch::BatchIndex;
use crate::present::markdown::escape::{cell_code, inline, table_cell};

/// Renders the batch: the sums, a row for each review with a link to its folder, and what was left out.
pub fn markdown(index: &BatchIndex) -> String {
    let mut out = format!("# Reviews of a batch\n\n{}\n", inline(&totals(index)));
    if !index.entries.is_empty() {
        out.push_str("\n| Repository | Change | Outcome | Findings | Cost | Review | Reason |\n");
        out.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    }
    for entry in &index.entries {
        // The name of a folder has no characters that would end the link.
        let review = match (&entry.folder, entry.run) {
            (Some(folder), _) => format!("[{}]({folder}/)", table_cell(folder)),
            (None, Some(run)) => cell_code(&run.to_string()),
            (None, None) => String::new(),
        };
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {review} | {} |\n",
            cell_code(&entry.repository),
            cell_code(&entry.name),
            outcome(entry),
            findings_of(entry),
            table_cell(&cost(entry)),
            table_cell(entry.reason.as_deref().unwrap_or_default()),
        ));
    }
    if !index.left_out.is_empty() {
        out.push_str("\n## Left out\n\n| Repository | Change | Reason |\n| --- | --- | --- |\n");
    }
    for left in &index.left_out {
        let (repository, name) = (cell_code(&left.repository), cell_code(&left.name));
        out.push_str(&format!("| {repository} | {name} | {} |\n", table_cell(&left.reason)));
    }
    out
}
