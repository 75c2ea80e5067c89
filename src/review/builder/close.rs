//! End of a review: open items are reported to the model once, then the end is accepted. Main type: [`FinishGate`].

use serde_json::json;

use super::ReviewBuilder;
use super::answer::{CallEffect, EngineToolResponse, ResponseFields};
use super::engine_tools::Closing;
use super::report::RefusedReport;
use crate::domain::place::DiffSide;
use crate::domain::text::count_noun;
use crate::sys::cancel::{Cancel, CancelReason};

/// Maximum number of unseen hunks, leads or reports that are named, each.
const NAMED: usize = 20;
/// Maximum number of cut lines that are listed for one side of a file.
const MOST_CUT: usize = 60;
/// A model that reads and finishes in one turn again and again is let go.
const MOST_WAITS: u8 = 3;

/// State of the check before the end.
#[derive(Debug, Clone, Default)]
pub(super) struct FinishGate {
    /// `true` once the open items were reported to the model.
    told: bool,
    /// `true` once pairs of findings that may be one were offered.
    paired: bool,
    /// Number of times it finished beside calls whose results it must see.
    waits: u8,
    finished: bool,
}

impl FinishGate {
    pub(super) fn lift(&mut self) {
        (self.told, self.paired) = (true, true);
        self.waits = MOST_WAITS;
    }

    #[cfg(test)]
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }
}

impl ReviewBuilder {
    /// Ends the review, or reports open items once.
    pub(super) fn close(
        &mut self,
        farewell: Closing,
        pending_reads: usize,
        cancel: &Cancel,
    ) -> Result<EngineToolResponse, CancelReason> {
        cancel.check()?;
        if pending_reads > 0 && self.gate.waits < MOST_WAITS {
            self.gate.waits += 1;
            let reason = "other calls of this turn read something that you have not seen yet: look at the results, then call finish_review without reading";
            return Ok(ResponseFields::status("not_accepted").with_field("reason", reason).answer());
        }
        let pairs = if self.gate.paired { Vec::new() } else { self.pairs_to_merge() };
        self.gate.paired |= !pairs.is_empty();
        if let Some(answer) = self.still_open(&farewell, pairs) {
            self.gate.told = true;
            return Ok(answer);
        }
        // Results beside the end would otherwise be lost before the model sees them.
        let refused_now = self.refused.iter().filter(|refused| !refused.was_known_in(self.turn));
        let refused_now: Vec<String> = refused_now.take(NAMED).map(RefusedReport::describe).collect();
        if self.gate.waits < MOST_WAITS && !refused_now.is_empty() {
            self.gate.waits += 1;
            let reason = "not every report of this answer was accepted: correct or withdraw those in `reports`, and call finish_review in the same \
                          answer";
            let fields = ResponseFields::status("not_accepted").with_field("reason", reason);
            return Ok(fields.with_field("reports", refused_now).answer());
        }
        if self.gate.waits < MOST_WAITS && self.wording.take_request(self.turn) {
            let reason = "see what is asked of the words of your reports in this answer: report again with their ids what you change, and call \
                          finish_review in the same answer";
            return Ok(ResponseFields::status("not_accepted").with_field("reason", reason).answer());
        }
        let Closing { summary, no_findings_reason, mut notes, faults } = farewell;
        if !faults.is_empty() {
            notes.push("What cannot be shown was left out.".to_owned());
            self.draft.add_note(format!("some of the model's last words are left out: {}", faults.join("; ")));
        }
        // The reason for the absence of findings is only useful if there are none.
        let reason = no_findings_reason.filter(|_| self.findings.is_empty());
        self.summary = match (summary, reason) {
            (Some(summary), Some(reason)) => Some(format!("{summary}\n\n{reason}")),
            (summary, reason) => summary.or(reason),
        };
        self.gate.finished = true;
        let missed = self.seen.unseen_hunks().next().is_some();
        let seen = if missed { "not all of the change: the review is marked incomplete" } else { "all of the change" };
        Ok(ResponseFields::status("accepted").with_field("seen", seen).notes(&notes).with_effect(CallEffect::Finished))
    }

    /// Lists what the model should look at before it ends: what is open, once, and these pairs of findings; `None` if there is nothing.
    fn still_open(&self, farewell: &Closing, pairs: Vec<String>) -> Option<EngineToolResponse> {
        let fields = ResponseFields::status("not_accepted");
        let (mut fields, mut reasons) =
            if self.gate.told { (fields, Vec::new()) } else { self.open_items(fields, farewell) };
        if !pairs.is_empty() {
            reasons.push(format!(
                "{} of findings in one function may have one cause or one remedy: if so, correct one of them so that it speaks of both, and \
                 withdraw the other",
                count_noun(pairs.len(), "pair")
            ));
            fields = fields.with_field("pairs", pairs.into_iter().take(NAMED).collect::<Vec<_>>());
        }
        if reasons.is_empty() {
            return None;
        }
        let note = "A second finish_review is accepted as it is; the review is then marked incomplete for hunks that were never seen.";
        Some(fields.with_field("reason", reasons.join("; ")).with_field("note", note).answer())
    }

    /// Adds what is open, and returns why that is not the end.
    fn open_items(&self, mut fields: ResponseFields, farewell: &Closing) -> (ResponseFields, Vec<String>) {
        let mut reasons = farewell.faults.clone();
        if farewell.summary.is_none() && reasons.is_empty() {
            reasons
                .push("`summary` is empty: say in a few sentences what the change does and what you found".to_owned());
        }
        let (mut calls, mut hunks, mut files) = (Vec::new(), 0, 0);
        for unseen in self.seen.unseen_hunks() {
            files += 1;
            hunks += unseen.hunks.iter().map(std::ops::Range::len).sum::<usize>();
            for side in [DiffSide::Old, DiffSide::New] {
                let on_side = unseen.cut.iter().filter(|(on, _)| *on == side).map(|(_, line)| *line);
                let lines: Vec<u32> = on_side.take(MOST_CUT).collect();
                let Some(first) = lines.first().filter(|_| calls.len() < NAMED) else { continue };
                let mut input = json!({ "file_path": unseen.file.path_at(side).display_name(), "start_line": first, "end_line": first });
                if side == DiffSide::Old {
                    input["side"] = "old".into();
                }
                let how = "these lines were shown cut: one call for each, side by side";
                calls.push(json!({ "lines": lines, "how": how, "tool": "read_file_part", "input": input }));
            }
            for run in unseen.hunks.iter().take(NAMED.saturating_sub(calls.len())) {
                calls.push(json!({
                    "hunks": if run.len() == 1 { run.start.to_string() } else { format!("{}-{}", run.start, run.end - 1) },
                    "of": unseen.file.hunks.len(),
                    "tool": "read_diff",
                    "input": { "file_path": unseen.file.path.display_name(), "start": run.start },
                }));
            }
        }
        if hunks > 0 {
            let (hunks, files) = (count_noun(hunks, "hunk"), count_noun(files, "file"));
            reasons.push(format!(
                "not all of the change was seen: {hunks} of {files} (`unseen` has calls that show them)"
            ));
            fields = fields.with_field("unseen", calls);
        }
        let leads: Vec<&str> = self.open_leads().map(|lead| lead.id.as_str()).collect();
        if !leads.is_empty() {
            reasons.push(format!("{} neither confirmed nor refuted", count_noun(leads.len(), "lead")));
            fields = fields.with_field("leads", leads.into_iter().take(NAMED).collect::<Vec<_>>());
        }
        if !self.refused.is_empty() {
            reasons.push(format!("{} not accepted: correct or withdraw", count_noun(self.refused.len(), "report")));
            fields = fields.with_field(
                "reports",
                self.refused.iter().take(NAMED).map(RefusedReport::describe).collect::<Vec<_>>(),
            );
        }
        (fields, reasons)
    }
}
