//! What rules found on the lines of a model's finding, and what becomes of it when that finding goes. Main type: [`Behind`].
//!
//! A rule's finding is proven by code. One that a model confirms is told in the model's words; where those words are refuted, or nobody is
//! sure enough of them, the rule's own finding stands, as if the model had said nothing. Else a model that is talked into confirming a rule
//! and then into refuting itself would take away what no text in the code can argue with.

use super::Draft;
use crate::domain::finding::{Anchor, Finding, worst_first};
use crate::evidence;

/// A rule's finding behind a model's.
#[derive(Debug)]
pub(super) struct Behind {
    title: String,
    anchors: Vec<Anchor>,
    rule: Finding,
    /// Whether the model was given the lead.
    given: bool,
}

impl Draft {
    /// Remembers what a rule found of that which `model` says.
    pub(in crate::review) fn stand_behind(&mut self, model: &Finding, rule: Finding, given: bool) {
        let (title, anchors) = (model.title.clone(), model.anchors.clone());
        self.behind.push(Behind { title, anchors, rule, given });
    }

    /// Delivers the rules' findings behind those that are not delivered. Names of others stay as they are.
    pub(super) fn fall_back(&mut self, gone: &[Finding]) {
        if gone.is_empty() || self.behind.is_empty() {
            return;
        }
        let is_gone = |behind: &Behind| {
            gone.iter().any(|finding| finding.title == behind.title && finding.anchors == behind.anchors)
        };
        let (back, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.behind).into_iter().partition(is_gone);
        self.behind = kept;
        for Behind { mut rule, given, .. } in back {
            rule.id = evidence::free_id(&rule, &self.findings);
            self.leads.confirmed = self.leads.confirmed.saturating_sub(u32::from(given));
            self.leads.unanswered += u32::from(given);
            self.findings.push(rule);
        }
        worst_first(&mut self.findings);
    }
}
