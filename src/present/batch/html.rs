//! A batch as an HTML page. Main function: [`html`].

use minijinja::{Value, context};

use super::{cost, findings_of, outcome, totals};
use crate::domain::batch::{BatchEntry, BatchIndex, BatchOutcome};
use crate::present::html::page;

/// Renders the batch: the sums, a row for each review with a link to its files, and what was left out. `has_page` checks whether the folder of a
/// review, which is beside the index, has a page of its own.
pub fn html(index: &BatchIndex, has_page: &dyn Fn(&str) -> bool) -> Vec<u8> {
    let rows = index.entries.iter().map(|entry| {
        let link = entry.folder.as_deref().map(|folder| {
            (if has_page(folder) { format!("{folder}/review.html") } else { format!("{folder}/") }, folder)
        });
        context! {
            name => entry.name.as_str(),
            repository => entry.repository.as_str(),
            outcome => outcome(entry),
            tone => tone(entry.outcome),
            findings => findings_of(entry),
            cost => cost(entry),
            link => link.as_ref().map(|(link, _)| link.as_str()),
            link_name => link.as_ref().map(|(_, folder)| *folder),
            run => entry.run.map(|run| run.to_string()),
            reason => entry.reason.as_deref().unwrap_or_default(),
        }
    });
    let left_out = index.left_out.iter().map(|left| {
        context! { name => left.name.as_str(), repository => left.repository.as_str(), reason => left.reason.as_str() }
    });
    page(
        "batch.html",
        context! {
            totals => totals(index),
            tone => index.entries.iter().map(|entry: &BatchEntry| tone(entry.outcome)).max_by_key(rank).unwrap_or("plain"),
            rows => rows.collect::<Vec<Value>>(),
            left_out => left_out.collect::<Vec<Value>>(),
            version => index.version.as_str(),
            started => index.started_at.as_str(),
        },
    )
}

/// Returns the color of an outcome. None is green: a row does not show the limits of its review.
const fn tone(outcome: BatchOutcome) -> &'static str {
    match outcome {
        BatchOutcome::Complete => "plain",
        BatchOutcome::Incomplete | BatchOutcome::NotBegun => "partial",
        BatchOutcome::Failed | BatchOutcome::Error => "failed",
    }
}

fn rank(tone: &&'static str) -> usize {
    ["plain", "partial", "failed"].iter().position(|one| one == tone).unwrap_or_default()
}
