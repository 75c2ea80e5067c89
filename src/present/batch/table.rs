//! A batch for a terminal: a line for each review, the reasons, and the sums. Main function: [`table`].

use super::{cost, findings_of, outcome, totals};
use crate::domain::batch::BatchIndex;
use crate::domain::text::{shorten, strip_line};
use crate::present::columns::align_columns;

/// Upper bound on the characters of a name.
const LONGEST: usize = 60;

/// Renders the batch. Every row that is not complete has its reason below the table.
pub fn table(index: &BatchIndex) -> String {
    let has_several = index.entries.iter().any(|entry| entry.repository != index.entries[0].repository);
    let name = |repository: &str, name: &str| {
        let name = if has_several { format!("{repository} {name}") } else { name.to_owned() };
        shorten(&strip_line(&name), LONGEST)
    };
    let mut out = String::new();
    if !index.entries.is_empty() {
        let mut rows = vec![["change", "outcome", "findings", "cost", "review"].map(str::to_owned)];
        rows.extend(index.entries.iter().map(|entry| {
            let run = entry.run.map_or_else(|| "-".to_owned(), |run| run.to_string().chars().take(8).collect());
            let review = entry.folder.as_deref().map_or(run, strip_line);
            [name(&entry.repository, &entry.name), outcome(entry), findings_of(entry), cost(entry), review]
        }));
        out.push_str(&align_columns(&rows, <[String]>::len));
        out.push('\n');
    }
    let reasons = index.entries.iter().filter_map(|entry| Some((entry, entry.reason.as_deref()?)));
    let reasons: Vec<String> =
        reasons
            .map(|(entry, reason)| format!("{}: {}\n", name(&entry.repository, &entry.name), strip_line(reason)))
            .chain(index.left_out.iter().map(|left| {
                format!("{}: left out, {}\n", name(&left.repository, &left.name), strip_line(&left.reason))
            }))
            .collect();
    if !reasons.is_empty() {
        out.push_str(&reasons.concat());
        out.push('\n');
    }
    out.push_str(&totals(index));
    out.push('\n');
    out
}
