//! Report of a finding: accepted, or stored as rejected until it is corrected or withdrawn. Main type: [`RefusedReport`].

use super::ReviewBuilder;
use super::answer::{CallEffect, EngineToolResponse, ResponseFields, mask_secrets};
use super::engine_tools::{FindingReport, UnreadableReport};
use super::finding::receipt_for;
use crate::domain::change::Omission;
use crate::domain::claim::Claim;
use crate::domain::path::RepoPath;
use crate::domain::text::mask;
use crate::evidence::{self, AnchoredClaim, Rejection};
use crate::review::outcome::into_finding;
use crate::review::outcome::{are_similar, normalize_title};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::tools::input;

/// Maximum number of findings of a run; more would not be read.
const MOST_FINDINGS: usize = 200;
/// More refused reports are counted together.
const MOST_REFUSED: usize = 200;
/// Number of rejections of one report after which the nearest lines have not helped.
const MOST_TRIES: u32 = 3;
/// Maximum length of a title stored from an unreadable report.
const TITLE_KEPT: usize = 120;
/// Title of an unreadable report.
const UNTITLED: &str = "(a report without a readable title)";

/// Rejected report.
#[derive(Clone)]
pub(super) struct RefusedReport {
    /// `W` and this is what the model calls it.
    pub(super) number: u32,
    title: String,
    path: Option<RepoPath>,
    reason: String,
    /// `true` if the tool's response referred to another file.
    elsewhere: bool,
    /// `true` if its content is unknown.
    unread: bool,
    /// The turn of its last refusal.
    turn: u32,
    tries: u32,
}

impl ReviewBuilder {
    /// Checks a report as soon as it is made.
    pub(super) fn report(
        &mut self,
        report: FindingReport,
        cancel: &Cancel,
    ) -> Result<EngineToolResponse, CancelReason> {
        cancel.check()?;
        if self.findings.len() >= MOST_FINDINGS {
            self.beyond += 1;
            let reason = format!("there are {MOST_FINDINGS} findings already; no more are taken: finish the review");
            let effect = CallEffect::Withheld { title: report.claim.title, reason: reason.clone() };
            return Ok(ResponseFields::status("not_accepted").with_field("reason", reason).with_effect(effect));
        }
        match evidence::anchor(&report.claim, &self.change, self.new.as_ref(), self.old.as_ref()) {
            Ok(anchored) => Ok(self.accept(report, anchored)),
            Err(Rejection::Stopped(stopped)) => Err(stopped),
            Err(rejection) => Ok(self.refuse(&report, &rejection)),
        }
    }

    fn accept(&mut self, report: FindingReport, anchored: AnchoredClaim) -> EngineToolResponse {
        let FindingReport { claim, lead, guideline, mut notes } = report;
        notes.extend(anchored.notes.iter().cloned());
        let suggestion = match (&anchored.suggestion, &anchored.prose_suggestion) {
            (Some(proven), _) => {
                let (first, last) = (proven.lines.start(), proven.lines.end());
                Some(format!("proven: it replaces lines {first}-{last}"))
            }
            (None, Some((_, fault))) => Some(format!("shown as prose, not as a patch: {fault}")),
            (None, None) => claim.replacement.as_ref().map(|_| "dropped".to_owned()),
        };
        let corrected = self.corrected_by(&claim);
        let mut finding = into_finding(&claim, anchored);
        finding.guideline = guideline.and_then(|named| self.guideline(&named, &finding.anchors, &mut notes));
        let (places, tried) = (finding.anchors.clone(), finding.suggestion.clone());
        let filed = self.add_finding(finding);
        let kept = tried.is_none() || self.findings[filed.at].finding.suggestion == tried;
        let suggestion = if kept { suggestion } else { Some("dropped: the finding has one already".to_owned()) };
        let number = self.findings[filed.at].number;
        self.confirm(number, lead.as_deref(), &places, &claim, &mut notes);
        if !corrected.is_empty() {
            notes.push(format!("It stands for {}, which need not be withdrawn.", corrected.join(", ")));
        }
        receipt_for(&self.findings[filed.at], filed.merged, suggestion, notes)
    }

    /// Forgets the refused reports that a claim corrects; their ids.
    fn corrected_by(&mut self, claim: &Claim) -> Vec<String> {
        let turn = self.turn;
        let (mut corrected, kept): (Vec<RefusedReport>, Vec<RefusedReport>) = std::mem::take(&mut self.refused)
            .into_iter()
            .partition(|refused| refused.is_corrected_by(&claim.title, Some(&claim.place.path), turn));
        self.refused = kept;
        // An unreadable report cannot be matched to another: each accepted one afterwards counts as the correction of one.
        if corrected.is_empty()
            && let Some(at) =
                self.refused.iter().position(|refused| refused.title == UNTITLED && refused.was_known_in(turn))
        {
            corrected.push(self.refused.remove(at));
        }
        corrected.iter().map(|refused| format!("W{}", refused.number)).collect()
    }

    fn refuse(&mut self, report: &FindingReport, rejection: &Rejection) -> EngineToolResponse {
        let elsewhere = match rejection {
            Rejection::NotInChange { .. } | Rejection::NotTouching { .. } | Rejection::Unreadable(_) => true,
            Rejection::Stopped(_)
            | Rejection::Empty
            | Rejection::Nowhere { .. }
            | Rejection::Ambiguous { .. }
            | Rejection::NotDistinctive { .. } => false,
        };
        let claim = &report.claim;
        let (id, tries) = self.keep_refused(&claim.title, Some(&claim.place.path), rejection.brief(), elsewhere, false);
        let fields = ResponseFields::status("not_accepted").with_field("id", id.as_str());
        let fields = if tries >= MOST_TRIES {
            let reason = format!("{}; this is refusal number {tries} of this report", rejection.brief());
            fields
                .with_field("reason", reason)
                .with_field("note", format!("Drop it: withdraw_finding {id}, and go on."))
        } else {
            let mut notes = report.notes.clone();
            notes.push(format!(
                "It is withheld unless you report it again with the same title and what is wrong corrected, or withdraw_finding {id}."
            ));
            fields.with_field("reason", rejection.to_string()).notes(&notes)
        };
        fields.with_effect(CallEffect::Withheld { title: claim.title.clone(), reason: rejection.brief() })
    }

    /// Stores a report with unreadable input.
    pub(super) fn store_unreadable(&mut self, report: &UnreadableReport) -> EngineToolResponse {
        let UnreadableReport { title, path, fault } = report;
        let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = mask(&line).text.chars().take(TITLE_KEPT).collect();
        let leaked = crate::llm::find_leaked_markup(&title).is_some();
        let title = if title.is_empty() || leaked { UNTITLED.to_owned() } else { title };
        let path = RepoPath::parse(path.trim()).ok();
        // The message may quote what the model wrote.
        let fault = mask_secrets(fault.clone());
        // What the fields are called is for the model alone.
        let said = fault.message.lines().next().unwrap_or_default();
        let said = said.split_once(input::FIELDS).map_or(said, |(said, _)| said);
        let reason = format!("the report could not be read: {said}");
        let (id, _) = self.keep_refused(&title, path.as_ref(), reason.clone(), true, true);
        let error = fault.to_json().get("error").cloned();
        let note = format!("It is withheld unless you report it again with the same title, or withdraw_finding {id}.");
        let fields = ResponseFields::status("not_accepted")
            .with_field("id", id)
            .with_optional_field("error", error)
            .with_field("note", note);
        fields.error(CallEffect::Withheld { title, reason })
    }

    /// Stores a rejected report, or counts a further rejection of a known one: returns its id, and the number of rejections.
    fn keep_refused(
        &mut self,
        title: &str,
        path: Option<&RepoPath>,
        reason: String,
        elsewhere: bool,
        unread: bool,
    ) -> (String, u32) {
        let turn = self.turn;
        if let Some(known) = self.refused.iter_mut().find(|refused| refused.is_corrected_by(title, path, turn)) {
            known.tries += 1;
            known.reason = reason;
            known.elsewhere = elsewhere;
            known.unread = unread;
            known.turn = turn;
            known.path = path.cloned().or(known.path.take());
            return (format!("W{}", known.number), known.tries);
        }
        self.refusals += 1;
        let number = self.refusals;
        let (title, path) = (title.to_owned(), path.cloned());
        self.refused.push(RefusedReport { number, title, path, reason, elsewhere, unread, turn, tries: 1 });
        (format!("W{number}"), 1)
    }

    /// Passes the rejected reports to the draft.
    pub(super) fn withhold_refused(&mut self) {
        let refused = std::mem::take(&mut self.refused);
        // Rejected reports were judged; unread or untaken ones are lost.
        let unread = refused.iter().filter(|refused| refused.unread).count();
        let lost = [(unread, "could not be read"), (self.beyond as usize, "came after the most that are taken")];
        for (count, why) in lost.into_iter().filter(|(count, _)| *count > 0) {
            let reason = format!("reports of the model that {why}: {count}");
            self.draft.add_omissions(vec![Omission { path: None, reason, unseen: true }]);
        }
        let more = refused.len().saturating_sub(MOST_REFUSED);
        for refused in refused.into_iter().take(MOST_REFUSED) {
            self.draft.withhold(refused.title, refused.reason);
        }
        if more > 0 {
            self.draft.withhold(format!("{more} further reports"), "they did not stand either".to_owned());
        }
        if self.beyond > 0 {
            let title = format!("{} further reports", self.beyond);
            self.draft.withhold(title, format!("there were {MOST_FINDINGS} findings already"));
        }
        match self.withdrawn {
            0 => {}
            1 => self.draft.add_note("1 finding was withdrawn by the model".to_owned()),
            more => self.draft.add_note(format!("{more} findings were withdrawn by the model")),
        }
    }
}

impl RefusedReport {
    /// Returns the report with another number.
    pub(super) fn with_number(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// Checks whether a report corrects this one: the same title, or a similar one in the same file, and made after the model knew of the rejection.
    fn is_corrected_by(&self, title: &str, path: Option<&RepoPath>, turn: u32) -> bool {
        let same_file = self.path.as_ref() == path;
        let may_be_there = same_file || self.elsewhere || self.path.is_none();
        self.was_known_in(turn)
            && ((normalize_title(&self.title) == normalize_title(title) && may_be_there)
                || (same_file && are_similar(&self.title, title)))
    }

    /// Checks whether the model knew of the rejection in that turn.
    pub(super) fn was_known_in(&self, turn: u32) -> bool {
        turn == 0 || turn > self.turn
    }

    pub(super) fn describe(&self) -> String {
        format!("W{} ({}): {}", self.number, self.title, self.reason)
    }
}
