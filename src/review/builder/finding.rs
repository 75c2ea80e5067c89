//! Accepted findings: duplicates, receipts for the model, and withdrawal. Main type: [`AcceptedFinding`].

use super::ReviewBuilder;
use super::answer::{CallEffect, EngineToolResponse, ResponseFields};
use crate::domain::finding::{Anchor, AnchorMatch, Finding, OriginKind};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::first_characters;
use crate::review::outcome::SupersededRuleFinding;
use crate::review::outcome::{are_related, are_similar};
use crate::tools::{BuildProof, ErrorKind, ToolFault};

/// Maximum number of anchors of a finding.
const MOST_ANCHORS: usize = 20;
/// The body of one that others were put into does not grow beyond this, in bytes.
const MOST_BODY: usize = 64 << 10;
/// Maximum number of code lines in a receipt.
const LINES_SHOWN: usize = 12;
/// Maximum number of characters of each line.
const LINE_SHOWN: usize = 200;

/// Finding with verified evidence.
#[derive(Clone)]
pub(super) struct AcceptedFinding {
    /// `F` and this is what the model calls it.
    pub(super) number: u32,
    pub(super) finding: Finding,
    /// The run that proves it.
    pub(super) proof: Option<BuildProof>,
}

impl AcceptedFinding {
    pub(super) fn id(&self) -> String {
        format!("F{}", self.number)
    }
}

/// Result of adding a finding.
pub(super) struct FiledReceipt {
    /// Index among the findings.
    pub(super) at: usize,
    /// `true` if it was known already.
    pub(super) merged: bool,
}

impl ReviewBuilder {
    /// Adds a finding, or merges it into the one that it repeats.
    pub(super) fn add_finding(&mut self, finding: Finding) -> FiledReceipt {
        if let Some(at) = self.findings.iter().position(|known| repeats(&known.finding, &finding)) {
            merge(&mut self.findings[at].finding, finding);
            return FiledReceipt { at, merged: true };
        }
        self.accepted += 1;
        self.findings.push(AcceptedFinding { number: self.accepted, finding, proof: None });
        FiledReceipt { at: self.findings.len() - 1, merged: false }
    }

    /// Puts a corrected finding in the place of the one with this number. If it then repeats another, it becomes part of that.
    pub(super) fn replace_finding(&mut self, number: u32, finding: Finding) -> FiledReceipt {
        let repeated = |known: &AcceptedFinding| known.number != number && repeats(&known.finding, &finding);
        let merged = self.findings.iter().find(|known| repeated(known)).map(|known| known.number);
        let keep = merged.unwrap_or(number);
        if merged.is_some() {
            self.findings.retain(|known| known.number != number);
            for leading in &mut self.leads {
                leading.renumber(|by| Some(if by == number { keep } else { by }));
            }
        }
        let at = self.findings.iter().position(|known| known.number == keep).unwrap_or_default();
        match self.findings.get_mut(at) {
            Some(known) if merged.is_some() => merge(&mut known.finding, finding),
            Some(known) => known.finding = finding,
            None => self.findings.push(AcceptedFinding { number, finding, proof: None }),
        }
        FiledReceipt { at, merged: merged.is_some() }
    }

    /// Withdraws a finding or a rejected report.
    pub(super) fn withdraw(&mut self, id: &str) -> Result<EngineToolResponse, ToolFault> {
        let number = id.get(1..).and_then(|digits| digits.parse::<u32>().ok());
        match (id.chars().next(), number) {
            (Some('F'), Some(number)) => {
                let at =
                    self.findings.iter().position(|stood| stood.number == number).ok_or_else(|| self.unknown(id))?;
                self.findings.remove(at);
                let released = self.release_uncovered(number, &[]);
                let mut notes: Vec<String> = self.notes_on_released(&released).collect();
                notes.extend(self.drop_corrections(number));
                self.withdrawn += 1;
                Ok(ResponseFields::status("withdrawn").with_field("id", id).notes(&notes).answer())
            }
            (Some('W'), Some(number)) => {
                let at =
                    self.refused.iter().position(|refused| refused.number == number).ok_or_else(|| self.unknown(id))?;
                self.refused.remove(at);
                self.withdrawn += 1;
                Ok(ResponseFields::status("withdrawn").with_field("id", id).answer())
            }
            (Some('L'), Some(_)) => {
                let message = format!("{id} is a lead: refute_lead says that it is no defect");
                Err(ToolFault::new(ErrorKind::InvalidInput, message))
            }
            _ => Err(self.unknown(id)),
        }
    }

    fn unknown(&self, id: &str) -> ToolFault {
        const NAMED: usize = 30;
        let refused = self.refused.iter().map(|refused| format!("W{}", refused.number));
        let ids: Vec<String> = self.findings.iter().map(AcceptedFinding::id).chain(refused).take(NAMED).collect();
        let there = if ids.is_empty() { "there are none".to_owned() } else { format!("there are: {}", ids.join(", ")) };
        ToolFault::new(ErrorKind::InvalidInput, format!("there is no finding {id:?}; {there}"))
    }

    /// Passes all findings to the draft, with their reporter, and with equal findings of rules.
    pub(super) fn deliver_findings(&mut self, by: &str) {
        for AcceptedFinding { number, mut finding, proof } in std::mem::take(&mut self.findings) {
            if finding.origin.name.is_empty() {
                by.clone_into(&mut finding.origin.name);
            }
            if let Some(proof) = proof {
                finding.body.push_str(&format!("\n\n{}", proof.paragraph()));
            }
            let rules = self.leads.iter().filter(|leading| leading.confirmed_by() == Some(number));
            let mut behind = Vec::new();
            for leading in rules {
                if leading.is_earlier {
                    continue;
                }
                let (rule, title) = (&leading.lead.rule, &leading.lead.title);
                let who = if leading.finding.origin.kind == OriginKind::Build { "The scanner" } else { "The rule" };
                finding.body.push_str(&format!("\n\n{who} `{rule}` found here: {}.", title.trim_end_matches('.')));
                let least = leading.least_severity();
                finding.severity = least.map_or(finding.severity, |least| least.min(finding.severity));
                let given = !self.kept_back.contains(&leading.lead.id);
                behind.push(SupersededRuleFinding { finding: leading.finding.clone(), given, least });
            }
            self.draft.add(finding, behind);
        }
    }
}

/// Returns the first place of a finding.
fn main_anchor(finding: &Finding) -> Option<&Anchor> {
    finding.anchors.first()
}

/// Checks whether two anchors share a line, or are both about the same whole file.
pub(super) fn anchors_overlap(a: &Anchor, b: &Anchor) -> bool {
    let lines = match (a.lines, b.lines) {
        (Some(a), Some(b)) => a.overlaps(b),
        (None, None) => true,
        _ => false,
    };
    lines && a.side == b.side && a.path == b.path
}

/// Checks whether two findings are duplicates: on the same lines, with titles that say the same, or are about the same kind of defect. Two different
/// defects of one line are two findings.
fn repeats(known: &Finding, new: &Finding) -> bool {
    let same_place = match (main_anchor(known), main_anchor(new)) {
        (Some(a), Some(b)) => anchors_overlap(a, b),
        _ => false,
    };
    let same_kind = known.category == new.category;
    same_place && (are_similar(&known.title, &new.title) || (same_kind && are_related(&known.title, &new.title)))
}

/// Merges a repeated finding into the known one. The longer body is kept; both are, if it may be another defect.
fn merge(known: &mut Finding, new: Finding) {
    let worse = new.severity < known.severity;
    let both = !are_similar(&known.title, &new.title) && known.body.len() + new.body.len() <= MOST_BODY;
    if both && !known.body.contains(&new.body) {
        let (first, second) = if worse { (&new, &*known) } else { (&*known, &new) };
        known.body = format!("{}\n\n{}\n\n{}", first.body, second.title, second.body);
    } else if new.body.len() > known.body.len() {
        known.body = new.body;
    }
    if worse {
        known.severity = new.severity;
        known.title = new.title;
        known.category = new.category;
    }
    known.confidence = known.confidence.max(new.confidence);
    known.suggestion = known.suggestion.take().or(new.suggestion);
    known.guideline = known.guideline.take().or(new.guideline);
    for anchor in new.anchors {
        if known.anchors.len() < MOST_ANCHORS && !known.anchors.iter().any(|there| anchors_overlap(there, &anchor)) {
            known.anchors.push(anchor);
        }
    }
}

/// Returns the receipt of an accepted finding for the model.
pub(super) fn receipt_for(
    stood: &AcceptedFinding,
    merged: bool,
    corrects: Option<u32>,
    proven: Option<String>,
    notes: Vec<String>,
) -> EngineToolResponse {
    let finding = &stood.finding;
    let status = match corrects {
        _ if merged => "merged",
        Some(_) => "corrected",
        None => "accepted",
    };
    let mut fields = ResponseFields::status(status).with_field("id", stood.id());
    fields = fields.with_optional_field("corrects", corrects.map(|number| format!("F{number}")));
    let Some(anchor) = main_anchor(finding) else { return fields.notes(&notes).answer() };
    fields = fields.with_field("severity", finding.severity.word()).with_field("file_path", anchor.path.display_name());
    if anchor.side == DiffSide::Old {
        fields = fields.with_field("side", "old");
    }
    if let Some(lines) = anchor.lines {
        fields = fields.with_field("start_line", lines.start()).with_field("end_line", lines.end());
        fields = fields.with_field("match", anchor.matched.word()).with_field("content", shown(anchor));
    }
    if finding.anchors.len() > 1 {
        fields = fields.with_field("related", finding.anchors.len() - 1);
    }
    let mut said = Vec::new();
    if merged {
        said.push(format!("This was reported already: it is part of {} now.", stood.id()));
    } else if anchor.matched == AnchorMatch::Moved {
        said.push("The quote stands elsewhere than you said; it was anchored where it stands.".to_owned());
    }
    said.extend(notes);
    let effect = CallEffect::Finding {
        id: stood.id(),
        title: finding.title.clone(),
        severity: finding.severity,
        path: anchor.path.clone(),
        line: anchor.lines.map(LineRange::start),
    };
    let fields = fields.with_optional_field("suggestion", proven).notes(&said);
    // It was announced when it was first accepted.
    if merged || corrects.is_some() { fields.answer() } else { fields.with_effect(effect) }
}

/// Returns the anchored lines as the reading tools show them.
fn shown(anchor: &Anchor) -> String {
    let first = anchor.lines.map_or(1, LineRange::start);
    let mut text = String::new();
    for (number, line) in (first..).zip(anchor.quote.split('\n')).take(LINES_SHOWN) {
        text.push_str(&format!("{number:6}\t{}\n", first_characters(line, LINE_SHOWN)));
    }
    text
}
