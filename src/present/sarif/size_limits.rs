//! Keeps a file within the limits of code scanning. Main function: [`render_within`].
//!
//! The limits are those of GitHub's "SARIF support for code scanning". The least severe results are removed first, and the file reports
//! that. The result about an incomplete review is never removed.

use super::{SarifDraft, log, notice};
use crate::present::digest::count_noun;
use crate::present::json::escape_invisible;

/// Upper bounds on a file.
pub(super) struct SarifLimits {
    /// Results of a run.
    results: usize,
    /// Artifacts that no result names.
    unnamed: usize,
    /// Bytes of the file. The limit is on the compressed file, which is never longer than this one.
    bytes: usize,
}

#[cfg(test)]
impl SarifLimits {
    pub(super) const fn of(results: usize, unnamed: usize, bytes: usize) -> Self {
        Self { results, unnamed, bytes }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Code scanning rejects a run with more results, and a file of more than ten megabytes when it is compressed.
pub(super) const LIMITS: SarifLimits = SarifLimits { results: 25_000, unnamed: 10_000, bytes: 10_000_000 };

/// Renders the file within the limits.
pub(super) fn render_within(mut draft: SarifDraft<'_>, limits: &SarifLimits) -> String {
    let (all_results, all_artifacts) = (draft.results.len(), draft.artifacts.len());
    truncate(&mut draft, limits.results, limits.unnamed);
    loop {
        let cut = cut(&draft, all_results, all_artifacts);
        let text = render(&mut draft, &cut);
        let (results, unnamed) = (draft.results.len(), draft.artifacts.len() - count_named(&draft).1);
        if text.len() <= limits.bytes || (results <= draft.own && unnamed == 0) {
            return text;
        }
        // In proportion, and a little more, so that few rounds are needed.
        let fewer = results * limits.bytes / text.len();
        let fewer = (fewer - fewer / 10).max(draft.own);
        truncate(&mut draft, if unnamed > 0 { results } else { fewer }, 0);
    }
}

/// Keeps the first results with their rules and artifacts, and `unnamed` further artifacts.
fn truncate(draft: &mut SarifDraft<'_>, results: usize, unnamed: usize) {
    let fewer = draft.results.len() > results;
    draft.results.truncate(results);
    let (rules, artifacts) = count_named(draft);
    draft.rules.truncate(rules);
    // An artifact that only removed results name is a changed file like any other.
    draft.artifacts.truncate(artifacts.saturating_add(if fewer { 0 } else { unnamed }));
}

/// Returns the number of rules and artifacts that the results name.
fn count_named(draft: &SarifDraft<'_>) -> (usize, usize) {
    draft.results.len().checked_sub(1).and_then(|last| draft.named.get(last)).copied().unwrap_or_default()
}

fn cut(draft: &SarifDraft<'_>, all_results: usize, all_artifacts: usize) -> Vec<String> {
    let mut cut = Vec::new();
    let results = all_results - draft.results.len();
    if results > 0 {
        cut.push(format!(
            "{} left out, the least severe ones: with them the file would be refused. --format json has all",
            count_noun(results, "finding")
        ));
    }
    let artifacts = all_artifacts - draft.artifacts.len();
    if artifacts > 0 {
        cut.push(format!("{} left out of the list of artifacts", count_noun(artifacts, "file")));
    }
    cut
}

fn render(draft: &mut SarifDraft<'_>, cut: &[String]) -> String {
    draft.run.invocations = Some(vec![notice::invocation(draft.review, cut)]);
    draft.run.tool.driver.rules = Some(draft.rules.clone());
    draft.run.results = Some(draft.results.clone());
    draft.run.artifacts = (!draft.artifacts.is_empty()).then(|| draft.artifacts.clone());
    // Maps with string keys and plain fields always serialize.
    let mut text = serde_json::to_string_pretty(&log(draft.run.clone())).unwrap_or_default();
    text.push('\n');
    escape_invisible(text)
}
