//! Leads: what the rules found, for the model to confirm or refute. Main type: [`Lead`].
//!
//! A lead without an answer is delivered as the rule's own finding if it is high or critical: a defect of that kind must not vanish because a model
//! did not mention it. Lower leads that a model left unanswered at its regular end are withheld, and the receipt names them. A fact ([`is_fact`]) is
//! delivered whatever the model says: the code under review may have influenced it. A hint is only for the model, and is never delivered on its own.

use std::collections::HashSet;

use super::ReviewBuilder;
use super::answer::{CallEffect, EngineToolResponse, ResponseFields};
use super::finding::anchors_overlap;
use crate::domain::claim::Claim;
use crate::domain::day::Day;
use crate::domain::finding::{
    Anchor, Category, Confidence, Finding, FindingStatus, FindingVerification, OriginKind, Severity, VerificationState,
};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::prior::{EarlierFinding, EarlierFindingStatus};
use crate::domain::review::LeadCounts;
use crate::evidence::{self, Rejection};
use crate::review::branch_history::BranchHistory;
use crate::review::outcome::are_related;
use crate::review::outcome::into_finding;
use crate::rules::is_fact;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::tools::{ErrorKind, ToolFault};

/// Maximum number of earlier findings that are submitted again; the others stay as they are.
const MOST_EARLIER: usize = 50;

/// A proven claim of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    /// Name for the model: `L1`, `L2`, ….
    pub id: String,
    /// The rule.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Severity according to the rule.
    pub severity: Severity,
    /// Category.
    pub category: Category,
    /// The file.
    pub path: RepoPath,
    /// The side of the change.
    pub side: DiffSide,
    /// Lines; `None` for the whole file.
    pub lines: Option<LineRange>,
}

/// Lead and its result.
#[derive(Clone)]
pub(super) struct TrackedLead {
    pub(super) lead: Lead,
    /// The rule's own finding.
    pub(super) finding: Finding,
    /// `true` if it is a finding of the previous review instead of a rule.
    pub(super) is_earlier: bool,
    state: LeadState,
}

#[derive(Clone)]
enum LeadState {
    Unanswered,
    /// By a finding.
    Confirmed {
        by: u32,
        /// `true` if the finding names the lead, and is not only on its lines.
        named: bool,
    },
    /// For this reason.
    Refuted(String),
}

impl TrackedLead {
    pub(super) fn confirmed_by(&self) -> Option<u32> {
        match self.state {
            LeadState::Confirmed { by, .. } => Some(by),
            LeadState::Unanswered | LeadState::Refuted(_) => None,
        }
    }

    /// Returns the minimum severity of a finding that confirms the lead. Only a finding that names the lead may lower it, so that a nit on the same
    /// lines cannot hide it. The severity of a fact is fixed.
    pub(super) fn least_severity(&self) -> Option<Severity> {
        match self.state {
            LeadState::Confirmed { named, .. } if !named || self.is_fact() => Some(self.lead.severity),
            LeadState::Confirmed { .. } | LeadState::Unanswered | LeadState::Refuted(_) => None,
        }
    }

    /// Renumbers the finding that confirmed it.
    pub(super) fn renumber(&mut self, number: impl Fn(u32) -> Option<u32>) {
        if let LeadState::Confirmed { by, named } = self.state {
            self.state = number(by).map_or(LeadState::Unanswered, |by| LeadState::Confirmed { by, named });
        }
    }

    /// Forgets that a finding confirmed it; whether it did.
    pub(super) fn release(&mut self, number: u32) -> bool {
        let confirmed = self.confirmed_by() == Some(number);
        if confirmed {
            self.state = LeadState::Unanswered;
        }
        confirmed
    }

    fn is_fact(&self) -> bool {
        self.finding.origin.kind == OriginKind::Rule && is_fact(&self.lead.rule)
    }

    /// Checks whether it is too minor to deliver if a model left it unanswered.
    fn is_minor(&self) -> bool {
        !self.is_earlier && !self.is_fact() && (self.lead.severity > Severity::High || self.is_hint())
    }

    /// Checks whether it is only a hint for the model.
    fn is_hint(&self) -> bool {
        !self.is_earlier
            && self.finding.origin.kind == OriginKind::Rule
            && self.finding.confidence == Some(Confidence::HINT)
    }

    fn is_unanswered(&self) -> bool {
        matches!(self.state, LeadState::Unanswered)
    }

    fn covers_any(&self, anchors: &[Anchor]) -> bool {
        let own = self.finding.anchors.first();
        own.is_some_and(|own| anchors.iter().any(|anchor| anchors_overlap(own, anchor)))
    }
}

impl ReviewBuilder {
    /// Checks the claims of the rules; verified ones become leads, the others are withheld. A stop leaves the rest unchecked, and is reported with
    /// their number and the reason.
    pub fn add_leads(&mut self, claims: &[Claim], cancel: &Cancel) -> Option<(usize, CancelReason)> {
        let mut told = HashSet::new();
        for (at, claim) in claims.iter().enumerate() {
            let checked = cancel.check().map_err(Rejection::from);
            let checked =
                checked.and_then(|()| evidence::anchor(claim, &self.change, self.new.as_ref(), self.old.as_ref()));
            let anchored = match checked {
                Ok(anchored) => anchored,
                Err(Rejection::Stopped(stopped)) => {
                    let rest = claims.len() - at;
                    self.draft.add_note(format!("{rest} matches of the rules were not checked: {stopped}"));
                    return Some((rest, stopped));
                }
                Err(rejection) => {
                    self.draft.withhold(claim.title.clone(), rejection.brief());
                    continue;
                }
            };
            let notes = anchored.notes.iter().map(|note| format!("{}: {note}", claim.title));
            notes.for_each(|note| self.draft.add_note(note));
            let finding = into_finding(claim, anchored);
            let Some(anchor) = finding.anchors.first().cloned() else { continue };
            let place = (anchor.path.clone(), anchor.side, anchor.lines);
            if !told.insert((claim.origin.name.as_str(), claim.title.as_str(), place)) {
                continue;
            }
            let lead = Lead {
                id: self.next_lead_id(),
                rule: claim.origin.name.clone(),
                title: finding.title.clone(),
                body: claim.body.clone(),
                severity: finding.severity,
                category: finding.category,
                path: anchor.path,
                side: anchor.side,
                lines: anchor.lines,
            };
            self.leads.push(TrackedLead { lead, finding, is_earlier: false, state: LeadState::Unanswered });
        }
        None
    }

    fn next_lead_id(&mut self) -> String {
        self.led += 1;
        format!("L{}", self.led)
    }

    /// Adds model findings of the previous review as leads, if their lines still exist and their file is reviewed again. Rules find theirs again.
    pub fn add_earlier(&mut self, known: &BranchHistory) {
        let Some(prior) = &known.prior else { return };
        let carried = prior.unchanged_paths(&self.change);
        let asks = |earlier: &&EarlierFinding| {
            let finding = &earlier.finding;
            let again = finding.anchors.iter().any(|anchor| !carried.contains(&anchor.path));
            let over = finding.status.is_resolved() || finding.origin.kind != OriginKind::Model;
            earlier.standing == EarlierFindingStatus::Stands && again && !over
        };
        for EarlierFinding { finding, .. } in prior.findings.iter().filter(asks).take(MOST_EARLIER) {
            let Some(anchor) = finding.anchors.first() else { continue };
            let lead = Lead {
                id: self.next_lead_id(),
                rule: format!("earlier/{}", finding.id),
                title: finding.title.clone(),
                body: format!("The review before this one said, and its lines stand as they were:\n\n{}", finding.body),
                severity: finding.severity,
                category: finding.category,
                path: anchor.path.clone(),
                side: anchor.side,
                lines: anchor.lines,
            };
            let finding = Finding { status: FindingStatus::New, ..finding.clone() };
            self.leads.push(TrackedLead { lead, finding, is_earlier: true, state: LeadState::Unanswered });
        }
    }

    /// Sets dismissed leads aside: they are delivered as dismissed, and the model is not asked to confirm them.
    ///
    /// Equal leads can be distinguished only by their names, which are assigned later: such leads stay.
    pub(in crate::review) fn set_aside_dismissed(&mut self, known: &BranchHistory, started_at: &str) {
        if known.dismissals.is_empty() {
            return;
        }
        let mut marked: Vec<Finding> = self.leads.iter().map(|leading| leading.finding.clone()).collect();
        // Stale entries are reported when the review is complete.
        let _ = known.dismiss(&mut marked.iter_mut().collect::<Vec<_>>(), &self.change, &[], Day::of(started_at));
        for (leading, marked) in std::mem::take(&mut self.leads).into_iter().zip(marked) {
            if marked.status == FindingStatus::Dismissed {
                self.draft.add(leading.finding, Vec::new());
            } else {
                self.leads.push(leading);
            }
        }
    }

    /// Returns the leads, in order.
    pub fn leads(&self) -> impl ExactSizeIterator<Item = &Lead> {
        self.leads.iter().map(|leading| &leading.lead)
    }

    /// Sets the leads that the model was not given. They are delivered as the rules' findings.
    pub fn withhold_leads(&mut self, ids: impl IntoIterator<Item = String>) {
        self.kept_back.extend(ids);
    }

    /// Marks the leads that a finding confirms: those that it names if it is on their lines, and those of the same category on its lines.
    pub(super) fn confirm(
        &mut self,
        number: u32,
        named: &[String],
        anchors: &[Anchor],
        claim: &Claim,
        notes: &mut Vec<String>,
    ) {
        for named in named {
            match self.leads.iter_mut().find(|leading| leading.lead.id == lead_id(named)) {
                None => notes.push(format!("There is no lead {named:?}.")),
                Some(leading) if !leading.covers_any(anchors) => notes.push(format!(
                    "{} is not confirmed: it is about {}, and none of the quotes stands there; quote that as related.",
                    leading.lead.id,
                    place(&leading.lead)
                )),
                Some(leading) => {
                    leading.state = LeadState::Confirmed { by: number, named: true };
                    notes.push(format!("{} is confirmed.", leading.lead.id));
                }
            }
        }
        for leading in self.leads.iter_mut().filter(|leading| leading.is_unanswered()) {
            let lead = &leading.lead;
            if leading.covers_any(anchors.get(..1).unwrap_or_default())
                && (lead.category == claim.category || are_related(&lead.title, &claim.title))
            {
                leading.state = LeadState::Confirmed { by: number, named: false };
                notes.push(format!("It confirms {}.", leading.lead.id));
            }
        }
    }

    /// Releases the leads of a corrected finding that its places do not cover any longer. The leads that are left are those it confirms.
    pub(super) fn release_uncovered(&mut self, number: u32, anchors: &[Anchor]) -> Vec<String> {
        let mut released = Vec::new();
        for leading in &mut self.leads {
            if leading.confirmed_by() == Some(number) && !leading.covers_any(anchors) && leading.release(number) {
                released.push(leading.lead.id.clone());
            }
        }
        released
    }

    /// Returns the notes on those of these leads that are unanswered.
    pub(super) fn notes_on_released<'a>(&'a self, released: &'a [String]) -> impl Iterator<Item = String> + 'a {
        let leads = self.leads.iter().filter(|leading| leading.is_unanswered() && released.contains(&leading.lead.id));
        leads.map(|leading| format!("{} is unanswered again: refute it, or report what it is about.", leading.lead.id))
    }

    /// Marks the unanswered leads that a finding of another part confirms.
    pub(super) fn confirm_all(&mut self) {
        for leading in self.leads.iter_mut().filter(|leading| leading.is_unanswered()) {
            let lead = &leading.lead;
            let confirms = |finding: &Finding| {
                leading.covers_any(finding.anchors.get(..1).unwrap_or_default())
                    && (lead.category == finding.category || are_related(&lead.title, &finding.title))
            };
            if let Some(stood) = self.findings.iter().find(|stood| confirms(&stood.finding)) {
                leading.state = LeadState::Confirmed { by: stood.number, named: false };
            }
        }
    }

    /// Refutes a lead with the model's reason, which is shown to people. A fact is still delivered, with that reason.
    pub(super) fn refute(&mut self, id: &str, reason: &str, notes: &[String]) -> Result<EngineToolResponse, ToolFault> {
        let invalid = |message: String| ToolFault::new(ErrorKind::InvalidInput, message);
        let wanted = lead_id(id);
        let open: Vec<&str> = self.open_leads().map(|lead| lead.id.as_str()).take(30).collect();
        let there = if open.is_empty() {
            "no lead is unanswered".to_owned()
        } else {
            format!("unanswered: {}", open.join(", "))
        };
        let Some(leading) = self.leads.iter_mut().find(|leading| leading.lead.id == wanted) else {
            let hint = if id.starts_with(['F', 'W']) { " (withdraw_finding takes a finding back)" } else { "" };
            return Err(invalid(format!("there is no lead {id:?}{hint}; {there}")));
        };
        if let LeadState::Confirmed { by, .. } = leading.state {
            return Err(invalid(format!("{wanted} is confirmed by F{by}: withdraw that finding first")));
        }
        leading.state = LeadState::Refuted(reason.to_owned());
        if leading.is_fact() {
            let fact =
                format!("{wanted} is told all the same, with your reason: what it says is not a matter of judgement.");
            let notes: Vec<String> = notes.iter().cloned().chain([fact]).collect();
            return Ok(ResponseFields::status("accepted").with_field("id", wanted).notes(&notes).answer());
        }
        let effect = CallEffect::Withheld { title: leading.lead.title.clone(), reason: refuted(reason) };
        Ok(ResponseFields::status("accepted").with_field("id", wanted).notes(notes).with_effect(effect))
    }

    /// Returns the leads that the model was given and left unanswered.
    pub(super) fn open_leads(&self) -> impl Iterator<Item = &Lead> {
        let given = self.leads.iter().filter(|leading| !self.kept_back.contains(&leading.lead.id));
        given.filter(|leading| leading.is_unanswered()).map(|leading| &leading.lead)
    }

    /// Passes the leads to the draft: refuted ones are withheld, unanswered ones become findings, or are withheld if they are minor and the model
    /// ended regularly. `by` is the model.
    pub(super) fn deliver_leads(&mut self, by: &str, ended: bool) {
        let mut leads = LeadCounts::default();
        for leading in std::mem::take(&mut self.leads) {
            let (is_fact, is_minor, is_hint) = (leading.is_fact(), leading.is_minor(), leading.is_hint());
            let TrackedLead { lead, mut finding, is_earlier, state } = leading;
            let given = u32::from(!self.kept_back.contains(&lead.id));
            leads.given += given;
            match state {
                LeadState::Unanswered => {
                    leads.unanswered += given;
                    if is_hint || (is_minor && ended && given > 0) {
                        self.draft.withhold(finding.title.clone(), unanswered(&lead, is_hint));
                        self.draft.record_withheld(finding);
                    } else {
                        self.draft.add(finding, Vec::new());
                    }
                }
                LeadState::Refuted(reason) if is_fact => {
                    leads.refuted += given;
                    finding.verification = FindingVerification {
                        state: VerificationState::Uncertain,
                        by: Some(by.to_owned()),
                        rationale: Some(reason),
                        corrections: Vec::new(),
                    };
                    self.draft.add(finding, Vec::new());
                }
                LeadState::Confirmed { .. } => leads.confirmed += given,
                LeadState::Refuted(reason) => {
                    leads.refuted += given;
                    // An earlier finding is not withheld now: the review says that it is resolved, and why.
                    if !is_earlier {
                        self.draft.withhold(finding.title.clone(), refuted(&reason));
                    }
                    self.draft.record_refuted(finding, reason);
                }
            }
        }
        self.draft.set_leads(leads);
    }
}

fn unanswered(lead: &Lead, is_hint: bool) -> String {
    let then =
        if is_hint { "a hint is never told by itself" } else { "what is so left open is told from high upwards" };
    format!("the model neither confirmed nor refuted it ({}, {}); {then}", lead.rule, place(lead))
}

fn refuted(reason: &str) -> String {
    format!("refuted by the model: {reason}")
}

/// Normalizes a name: `3` and `l3` are `L3`.
fn lead_id(named: &str) -> String {
    let named = named.to_uppercase();
    if named.starts_with(|c: char| c.is_ascii_digit()) { format!("L{named}") } else { named }
}

fn place(lead: &Lead) -> String {
    match lead.lines {
        Some(lines) => format!("{}:{}", lead.path, lines.start()),
        None => lead.path.to_string(),
    }
}
