//! Pairs of findings that may be one: in one function, with one cause or one remedy. Main function: [`ReviewBuilder::pairs_to_merge`].
//!
//! They are only offered to the model, which knows whether they are one; equal reports are merged in `finding`.

use super::ReviewBuilder;
use super::finding::{AcceptedFinding, anchors_overlap};
use crate::domain::finding::Finding;
use crate::domain::place::DiffSide;
use crate::review::outcome::{are_related, are_similar, normalize_title};

/// The words that a remedy must have to say which it is.
const REMEDY_WORDS: usize = 4;

impl ReviewBuilder {
    /// Describes the pairs of findings of which a reader may need only one, in the order of their reports.
    pub(super) fn pairs_to_merge(&self) -> Vec<String> {
        let symbols: Vec<Option<String>> =
            self.findings.iter().map(|stood| self.enclosing_symbol(&stood.finding)).collect();
        let mut pairs = Vec::new();
        for (at, (a, symbol)) in self.findings.iter().zip(&symbols).enumerate() {
            let Some(symbol) = symbol else { continue };
            for (b, other) in self.findings.iter().zip(&symbols).skip(at + 1) {
                if other.as_ref() == Some(symbol) && may_be_one(&a.finding, &b.finding) {
                    pairs.push(describe(a, b, symbol));
                }
            }
        }
        pairs
    }

    /// Returns the name of the function or type around a finding.
    fn enclosing_symbol(&self, finding: &Finding) -> Option<String> {
        let anchor = finding.anchors.first()?;
        let tree = match anchor.side {
            DiffSide::New => &self.new,
            DiffSide::Old => &self.old,
        };
        let text = tree.read(&anchor.path).ok()?;
        self.draft.languages().enclosing_symbol(&anchor.path, &text, anchor.lines?.start())
    }
}

/// Checks whether two findings of one symbol may have one cause or one remedy.
fn may_be_one(a: &Finding, b: &Finding) -> bool {
    let same_file = match (a.anchors.first(), b.anchors.first()) {
        (Some(a), Some(b)) => a.path == b.path && a.side == b.side,
        _ => false,
    };
    let related = |a: &Finding, b: &Finding| {
        a.anchors.iter().skip(1).any(|place| b.anchors.iter().any(|other| anchors_overlap(place, other)))
    };
    same_file && (are_related(&a.title, &b.title) || has_same_remedy(a, b) || related(a, b) || related(b, a))
}

/// Checks whether two findings are to be fixed alike: by equal replacements, or by last sentences that say the same.
fn has_same_remedy(a: &Finding, b: &Finding) -> bool {
    let replacement = |finding: &Finding| finding.suggestion.as_ref().map(|one| normalize_title(&one.replacement));
    let same = replacement(a).filter(|text| !text.is_empty()).is_some_and(|text| Some(text) == replacement(b));
    let (first, second) = (remedy(&a.body), remedy(&b.body));
    let tells = |text: &str| text.split_whitespace().count() >= REMEDY_WORDS;
    same || (tells(first) && tells(second) && are_similar(first, second))
}

/// Returns the last sentence of a body: there stands what to do.
fn remedy(body: &str) -> &str {
    let text = body.trim().trim_end_matches('.');
    text.rfind(". ").map_or(text, |at| &text[at + 2..])
}

fn describe(a: &AcceptedFinding, b: &AcceptedFinding, symbol: &str) -> String {
    format!("{} ({}) and {} ({}), both in {symbol}", a.id(), a.finding.title, b.id(), b.finding.title)
}
