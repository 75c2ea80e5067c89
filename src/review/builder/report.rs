//! Report of a finding: accepted, or stored as rejected until it is corrected or withdrawn. Main type: [`RefusedReport`].

use super::ReviewBuilder;
use super::answer::{CallEffect, EngineToolResponse, ResponseFields, mask_secrets};
use super::engine_tools::{FindingReport, UnreadableReport};
use super::finding::{anchors_overlap, receipt_for};
use crate::domain::change::Omission;
use crate::domain::claim::Claim;
use crate::domain::finding::Anchor;
use crate::domain::path::RepoPath;
use crate::domain::text::mask;
use crate::evidence::{self, AnchoredClaim, Rejection};
use crate::present::digest;
use crate::review::outcome::into_finding;
use crate::review::outcome::{are_similar, normalize_title};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::tools::{BuildProof, input};

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
#[derive(Clone, Default)]
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
    /// The number of the accepted finding that it would have corrected.
    corrects: Option<u32>,
    /// The turn of its last refusal.
    turn: u32,
    tries: u32,
}

impl ReviewBuilder {
    /// Checks a report as soon as it is made.
    pub(super) fn report(
        &mut self,
        mut report: FindingReport,
        cancel: &Cancel,
    ) -> Result<EngineToolResponse, CancelReason> {
        cancel.check()?;
        let corrects = self.finding_to_correct(&report);
        if let Some(id) = report.id.as_deref().filter(|id| corrects.is_none() && self.refused_by_id(id).is_none()) {
            report.notes.push(format!("There is no finding {id}, so this is a report of its own."));
        }
        if corrects.is_none() && self.findings.len() >= MOST_FINDINGS {
            self.beyond += 1;
            let reason = format!("there are {MOST_FINDINGS} findings already; no more are taken: finish the review");
            let effect = CallEffect::Withheld { title: report.claim.title, reason: reason.clone() };
            return Ok(ResponseFields::status("not_accepted").with_field("reason", reason).with_effect(effect));
        }
        self.remove_labels(&mut report.claim, &mut report.notes);
        match evidence::anchor(&report.claim, &self.change, self.new.as_ref(), self.old.as_ref()) {
            Ok(anchored) => {
                let corrects = corrects.filter(|number| report.id.is_some() || self.is_at(*number, &anchored.anchors));
                Ok(self.accept(report, anchored, corrects))
            }
            Err(Rejection::Stopped(stopped)) => Err(stopped),
            Err(rejection) => Ok(self.refuse(&report, &rejection, corrects)),
        }
    }

    /// Returns the number of the accepted finding that a report corrects: the one that it names, or the one that a rejected correction named.
    fn finding_to_correct(&self, report: &FindingReport) -> Option<u32> {
        let (title, path) = (&report.claim.title, Some(&report.claim.place.path));
        let named = report.id.as_deref();
        let of_refused = || match named {
            Some(id) => self.refused_by_id(id),
            None => self.refused.iter().find(|refused| refused.is_corrected_by(title, path, self.turn)),
        };
        let number = named.and_then(finding_number).or_else(|| of_refused()?.corrects)?;
        self.findings.iter().any(|stood| stood.number == number).then_some(number)
    }

    /// Checks whether any of these places is one of an accepted finding: a report that names no finding corrects one only there, so that a defect
    /// of the same title elsewhere does not take its place.
    fn is_at(&self, number: u32, anchors: &[Anchor]) -> bool {
        let finding = self.findings.iter().find(|stood| stood.number == number);
        finding.is_some_and(|stood| {
            let own = &stood.finding.anchors;
            anchors.iter().any(|anchor| own.iter().any(|other| anchors_overlap(anchor, other)))
        })
    }

    fn refused_by_id(&self, id: &str) -> Option<&RefusedReport> {
        let number: u32 = id.strip_prefix('W')?.parse().ok()?;
        self.refused.iter().find(|refused| refused.number == number)
    }

    /// Forgets the rejected corrections of a finding that is withdrawn; a note if there are any.
    pub(super) fn drop_corrections(&mut self, number: u32) -> Option<String> {
        let is_moot = |refused: &RefusedReport| refused.corrects == Some(number);
        let (moot, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.refused).into_iter().partition(is_moot);
        self.refused = kept;
        settled_note(&moot)
    }

    fn accept(&mut self, report: FindingReport, anchored: AnchoredClaim, corrects: Option<u32>) -> EngineToolResponse {
        let FindingReport { claim, id, leads, guideline, build_run, mut notes } = report;
        let proof = build_run.and_then(|named| self.build_named(&named, &mut notes));
        notes.extend(anchored.notes.iter().cloned());
        notes.extend(note_on_place(&anchored));
        let suggestion = match (&anchored.suggestion, &anchored.prose_suggestion) {
            (Some(proven), _) => {
                let (first, last) = (proven.lines.start(), proven.lines.end());
                Some(format!("proven: it replaces lines {first}-{last}"))
            }
            (None, Some((_, fault))) => Some(format!("shown as prose, not as a patch: {fault}")),
            (None, None) => claim.replacement.as_ref().map(|_| "dropped".to_owned()),
        };
        let corrected = self.corrected_by(&claim, id.as_deref(), corrects);
        let mut finding = into_finding(&claim, anchored);
        finding.guideline = guideline.and_then(|named| self.guideline(&named, &finding.anchors, &mut notes));
        let (places, tried) = (finding.anchors.clone(), finding.suggestion.clone());
        let filed = match corrects {
            Some(number) => self.replace_finding(number, finding),
            None => self.add_finding(finding),
        };
        if proof.is_some() {
            self.findings[filed.at].proof = proof;
        }
        let kept = tried.is_none() || self.findings[filed.at].finding.suggestion == tried;
        let suggestion = if kept { suggestion } else { Some("dropped: the finding has one already".to_owned()) };
        let number = self.findings[filed.at].number;
        let covered = self.findings[filed.at].finding.anchors.clone();
        let released = if corrects.is_some() { self.release_uncovered(number, &covered) } else { Vec::new() };
        self.confirm(number, &leads, &places, &claim, &mut notes);
        self.request_wording(number, &claim.title, &claim.body, &mut notes);
        notes.extend(self.notes_on_released(&released));
        notes.extend(settled_note(&corrected));
        receipt_for(&self.findings[filed.at], filed.merged, corrects, suggestion, notes)
    }

    /// Finds the run that a report names.
    fn build_named(&self, named: &str, notes: &mut Vec<String>) -> Option<BuildProof> {
        let found = self.builds.iter().find(|run| run.run == named.trim()).cloned();
        if found.is_none() {
            notes.push(format!("`build_run` was dropped: no run {:?} of this review has ended.", mask(named).text));
        }
        found
    }

    /// Takes out the refused reports that an accepted one corrects.
    fn corrected_by(&mut self, claim: &Claim, id: Option<&str>, corrects: Option<u32>) -> Vec<RefusedReport> {
        let turn = self.turn;
        let named = id.and_then(|id| self.refused_by_id(id)).map(|refused| refused.number);
        let is_corrected = |refused: &RefusedReport| {
            named == Some(refused.number)
                || refused.is_correction_of(corrects, turn)
                || refused.is_corrected_by(&claim.title, Some(&claim.place.path), turn)
        };
        let (mut corrected, kept): (Vec<RefusedReport>, Vec<RefusedReport>) =
            std::mem::take(&mut self.refused).into_iter().partition(is_corrected);
        self.refused = kept;
        // An unreadable report cannot be matched to another: each accepted one afterwards counts as the correction of one.
        if corrected.is_empty()
            && let Some(at) =
                self.refused.iter().position(|refused| refused.title == UNTITLED && refused.was_known_in(turn))
        {
            corrected.push(self.refused.remove(at));
        }
        corrected
    }

    fn refuse(&mut self, report: &FindingReport, rejection: &Rejection, corrects: Option<u32>) -> EngineToolResponse {
        let elsewhere = match rejection {
            Rejection::NotInChange { .. } | Rejection::NotTouching { .. } | Rejection::Unreadable(_) => true,
            Rejection::Stopped(_)
            | Rejection::Empty
            | Rejection::Nowhere { .. }
            | Rejection::Ambiguous { .. }
            | Rejection::NotDistinctive { .. } => false,
        };
        let claim = &report.claim;
        let refused = RefusedReport {
            title: claim.title.clone(),
            path: Some(claim.place.path.clone()),
            reason: rejection.brief(),
            elsewhere,
            corrects,
            ..RefusedReport::default()
        };
        let (id, tries) = self.keep_refused(refused);
        let fields = ResponseFields::status("not_accepted").with_field("id", id.as_str());
        let fields = fields.with_optional_field("corrects", corrects.map(|number| format!("F{number}")));
        let fields = if tries >= MOST_TRIES {
            let reason = format!("{}; this is refusal number {tries} of this report", rejection.brief());
            fields
                .with_field("reason", reason)
                .with_field("note", format!("Drop it: withdraw_finding {id}, and go on."))
        } else {
            let mut notes = report.notes.clone();
            notes.push(match corrects {
                Some(number) => format!(
                    "F{number} stays as it is. Report the correction again with its id and what is wrong corrected, or withdraw_finding {id}."
                ),
                None => format!(
                    "It is withheld unless you report it again with the same title and what is wrong corrected, or withdraw_finding {id}."
                ),
            });
            fields.with_field("reason", rejection.to_string()).notes(&notes)
        };
        fields.with_effect(CallEffect::Withheld { title: claim.title.clone(), reason: rejection.brief() })
    }

    /// Stores a report with unreadable input.
    pub(super) fn store_unreadable(&mut self, report: &UnreadableReport) -> EngineToolResponse {
        let UnreadableReport { title, path, id, fault } = report;
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
        let corrects = id.as_deref().and_then(|id| finding_number(id).or_else(|| self.refused_by_id(id)?.corrects));
        let corrects = corrects.filter(|number| self.findings.iter().any(|stood| stood.number == *number));
        let refused = RefusedReport {
            title: title.clone(),
            path,
            reason: reason.clone(),
            elsewhere: true,
            unread: true,
            corrects,
            ..RefusedReport::default()
        };
        let (id, _) = self.keep_refused(refused);
        let error = fault.to_json().get("error").cloned();
        let note = match corrects {
            Some(number) => {
                format!("F{number} stays as it is. Report the correction again with its id, or withdraw_finding {id}.")
            }
            None => format!("It is withheld unless you report it again with the same title, or withdraw_finding {id}."),
        };
        let fields = ResponseFields::status("not_accepted")
            .with_field("id", id)
            .with_optional_field("corrects", corrects.map(|number| format!("F{number}")))
            .with_optional_field("error", error)
            .with_field("note", note);
        fields.error(CallEffect::Withheld { title, reason })
    }

    /// Stores a rejected report, or counts a further rejection of a known one: returns its id, and the number of rejections.
    fn keep_refused(&mut self, refused: RefusedReport) -> (String, u32) {
        let turn = self.turn;
        let is_known = |known: &&mut RefusedReport| {
            known.is_correction_of(refused.corrects, turn)
                || known.is_corrected_by(&refused.title, refused.path.as_ref(), turn)
        };
        if let Some(known) = self.refused.iter_mut().find(is_known) {
            let (number, tries, title) = (known.number, known.tries + 1, std::mem::take(&mut known.title));
            let path = refused.path.or(known.path.take());
            let corrects = refused.corrects.or(known.corrects);
            *known = RefusedReport { number, title, path, corrects, turn, tries, ..refused };
            return (format!("W{number}"), tries);
        }
        self.refusals += 1;
        let number = self.refusals;
        self.refused.push(RefusedReport { number, turn, tries: 1, ..refused });
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
            let reason = match refused.corrects {
                Some(_) => format!("a correction; the finding stays as it was reported: {}", refused.reason),
                None => refused.reason,
            };
            self.draft.withhold(refused.title, reason);
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

    /// Checks whether it was a correction of the finding that a later report corrects.
    fn is_correction_of(&self, corrects: Option<u32>, turn: u32) -> bool {
        corrects.is_some() && self.corrects == corrects && self.was_known_in(turn)
    }

    /// Checks whether the model knew of the rejection in that turn.
    pub(super) fn was_known_in(&self, turn: u32) -> bool {
        turn == 0 || turn > self.turn
    }

    pub(super) fn describe(&self) -> String {
        format!("W{} ({}): {}", self.number, self.title, self.reason)
    }
}

/// Returns the number of an accepted finding by its id; a bare number is one too.
fn finding_number(id: &str) -> Option<u32> {
    id.strip_prefix('F').unwrap_or(id).parse().ok()
}

/// Returns the note on the rejected reports that are settled.
fn settled_note(settled: &[RefusedReport]) -> Option<String> {
    let ids: Vec<String> = settled.iter().map(|refused| format!("W{}", refused.number)).collect();
    (!ids.is_empty()).then(|| format!("It stands for {}, which need not be withdrawn.", ids.join(", ")))
}

/// Returns what a finding on unchanged lines counts by.
fn note_on_place(anchored: &AnchoredClaim) -> Option<String> {
    let touching = anchored.touching.filter(|at| *at > 0).and_then(|at| anchored.anchors.get(at))?;
    let own = anchored.anchors.first()?;
    Some(format!(
        "Placed at {} (unchanged); it counts because its related place {} is changed.",
        digest::place(own),
        digest::place(touching)
    ))
}
