//! The outcome of a batch: as a table for a terminal, as a page in Markdown and in HTML, and as JSON. Main functions: [`table()`], [`markdown()`],
//! [`html()`], [`json()`].
//!
//! The names of branches and the reasons are text of others: each output strips or escapes them. The progress of a batch belongs in
//! `progress`.

mod html;
mod json;
mod markdown;
mod table;

pub use html::html;
pub use json::{IndexParseError, SCHEMA, json, lines, parse, row};
pub use markdown::markdown;
pub use table::table;

use std::collections::BTreeMap;

use crate::domain::batch::{BatchEntry, BatchIndex, BatchOutcome, ReviewSource};
use crate::domain::finding::Severity;
use crate::domain::run::Engine;
use crate::domain::text::count_noun;

/// Formats findings: `3 (1 high, 2 low)`.
fn findings<N: Copy + Into<u64>>(findings: &BTreeMap<Severity, N>) -> String {
    let count = |severity: &Severity| findings.get(severity).map(|count| (*count).into());
    let parts: Vec<String> = Severity::ALL
        .iter()
        .filter_map(|severity| count(severity).map(|count: u64| format!("{count} {severity}")))
        .collect();
    match findings.values().fold(0_u64, |sum, count| sum.saturating_add((*count).into())) {
        0 => "none".to_owned(),
        total => format!("{total} ({})", parts.join(", ")),
    }
}

/// Formats the findings of a row: a review that does not exist has none, not zero.
fn findings_of(entry: &BatchEntry) -> String {
    match entry.outcome {
        BatchOutcome::Complete | BatchOutcome::Incomplete => findings(&entry.findings),
        BatchOutcome::Failed if !entry.findings.is_empty() => findings(&entry.findings),
        BatchOutcome::Failed | BatchOutcome::Error | BatchOutcome::NotBegun => "-".to_owned(),
    }
}

fn outcome(entry: &BatchEntry) -> String {
    let word = entry.outcome.as_str().replace('_', " ");
    match entry.source {
        ReviewSource::Reviewed => word,
        source @ (ReviewSource::Resumed | ReviewSource::Unchanged) => format!("{word} ({})", source.as_str()),
    }
}

fn cost(entry: &BatchEntry) -> String {
    match (entry.engine, entry.cost) {
        (Some(Engine::Model), Some(cost)) => cost.to_string(),
        (Some(Engine::Model), None) => "unknown".to_owned(),
        (Some(Engine::Rules) | None, _) => "-".to_owned(),
    }
}

/// Formats the sums: `3 reviews: 2 complete (1 unchanged), 1 not begun · 4 findings (4 low) · $0.20 · 12 s`.
fn totals(index: &BatchIndex) -> String {
    let totals = index.totals();
    let outcomes = BatchOutcome::ALL.iter().filter_map(|outcome| {
        let count = totals.outcomes.get(outcome)?;
        let unchanged = match (outcome, totals.unchanged) {
            (BatchOutcome::Complete, unchanged) if unchanged > 0 => format!(" ({unchanged} unchanged)"),
            _ => String::new(),
        };
        Some(format!("{count} {}{unchanged}", outcome.as_str().replace('_', " ")))
    });
    let outcomes = outcomes.collect::<Vec<_>>().join(", ");
    let mut line = count_noun(index.entries.len(), "review");
    if !outcomes.is_empty() {
        line.push_str(&format!(": {outcomes}"));
    }
    line.push_str(&format!(" · findings: {}", findings(&totals.findings)));
    if index.entries.iter().any(|entry| entry.engine == Some(Engine::Model)) {
        line.push_str(&format!(" · {}", totals.cost));
        if totals.unknown_costs > 0 {
            let count = usize::try_from(totals.unknown_costs).unwrap_or(usize::MAX);
            line.push_str(&format!(" and the unknown cost of {}", count_noun(count, "review")));
        }
    }
    if let Some(savings) = &index.savings {
        line.push_str(&format!(" · {savings}"));
    }
    line.push_str(&format!(" · {} s", index.took_ms.div_ceil(1_000)));
    if let Some(shard) = index.shard {
        line.push_str(&format!(" · shard {shard}"));
    }
    if index.interrupted {
        line.push_str(" · interrupted");
    }
    line
}

#[cfg(test)]
mod fixtures {
    //! A batch with a row of each kind.

    use super::*;
    use crate::domain::batch::{BatchSavings, LeftOutChange, SpentTokens};

    pub(super) fn index() -> BatchIndex {
        let row = |name: &str, outcome, reason: &str, code| {
            BatchEntry::without_review("demo", name, outcome, reason.to_owned(), code)
        };
        let complete = BatchEntry {
            target: Some("main".to_owned()),
            reason: None,
            engine: Some(Engine::Model),
            cost: Some("0.42".parse().unwrap()),
            tokens: Some(SpentTokens { input: 123_456, output: 789 }),
            findings: [(Severity::High, 1), (Severity::Low, 2)].into(),
            run: Some("a0000000-0000-4000-8000-000000000001".parse().unwrap()),
            folder: Some("feature-a-0a1b2c3d".to_owned()),
            head: Some("1".repeat(40)),
            base: Some("2".repeat(40)),
            took_ms: 1_200,
            ..row("feature/a", BatchOutcome::Complete, "", 1)
        };
        let unchanged = BatchEntry {
            name: "x|y `z` <b>[l](u)</b> @octo #1\u{202e}".to_owned(),
            source: ReviewSource::Unchanged,
            cost: Some(crate::domain::money::Money::NOTHING),
            findings: BTreeMap::new(),
            folder: None,
            exit_code: 0,
            ended: None,
            ..complete.clone()
        };
        let incomplete = BatchEntry {
            outcome: BatchOutcome::Incomplete,
            reason: Some("2 files were not reviewed\u{1b}[31m".to_owned()),
            cost: None,
            exit_code: 3,
            ended: None,
            ..complete.clone()
        };
        BatchIndex {
            version: "1.2.3".to_owned(),
            started_at: "2026-11-20T18:56:58.123Z".to_owned(),
            took_ms: 12_340,
            shard: "2/5".parse().ok(),
            interrupted: true,
            savings: Some(BatchSavings {
                turns: 9,
                batches: 2,
                cost: "0.42".parse().unwrap(),
                normal_cost: "0.84".parse().unwrap(),
                unknown_costs: 1,
            }),
            entries: vec![
                complete,
                unchanged,
                incomplete,
                row("gone", BatchOutcome::Error, "there is no revision gone", 2),
                row("late", BatchOutcome::NotBegun, "interrupted", 130),
            ],
            left_out: vec![LeftOutChange {
                repository: "demo".to_owned(),
                name: "merged".to_owned(),
                reason: "it has no commits that main has not".to_owned(),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_each_row_with_its_reason_and_the_sums() {
        insta::assert_snapshot!(table(&fixtures::index()));
        insta::assert_snapshot!(markdown(&fixtures::index()));
    }

    #[test]
    fn numbers_of_a_hostile_index_are_added_up() {
        let mut index = fixtures::index();
        for entry in &mut index.entries {
            entry.outcome = BatchOutcome::Complete;
            entry.findings = [(Severity::High, u32::MAX), (Severity::Low, u32::MAX)].into();
        }
        assert_eq!(index.entries.len(), 5);
        let sum = 5 * u64::from(u32::MAX);
        assert_eq!(index.totals().findings, [(Severity::High, sum), (Severity::Low, sum)].into());
        assert!(table(&index).contains(&format!("findings: {} ({sum} high, {sum} low)", 2 * sum)));
        assert!(parse(&json(&index)).is_ok());
    }

    #[test]
    fn a_page_links_the_pages_of_its_reviews_and_escapes_the_rest() {
        let page = |has_page| String::from_utf8(html(&fixtures::index(), &|_| has_page)).unwrap();
        let linked = page(true);
        assert!(linked.contains("<a href=\"feature-a-0a1b2c3d/review.html\">"), "{linked}");
        assert!(page(false).contains("<a href=\"feature-a-0a1b2c3d/\">"));
        assert!(linked.contains("x|y `z` &lt;b&gt;[l](u)&lt;/b&gt; @octo #1&lt;U+202E&gt;"), "{linked}");
        assert!(linked.contains("class=\"outcome failed\"") && linked.contains(&totals(&fixtures::index())));
    }

    #[test]
    fn no_text_of_a_branch_leaves_its_cell() {
        let (page, text) = (markdown(&fixtures::index()), table(&fixtures::index()));
        assert!(page.contains("`x`&#124;``y `z` <b>[l](u)</b>") && !page.contains('\u{202e}'), "{page}");
        assert!(!page.contains('\u{1b}'), "{page}");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
    }
}
