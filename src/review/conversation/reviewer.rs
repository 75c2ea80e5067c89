//! Role of the model that reviews: its calls build the review. Main type: [`ReviewerRole`].

use super::call_outcome::{CallOutcome, MOST_CALLS};
use super::calls::run_reading_calls;
use super::driver::Conversation;
use super::invalid_answers::InvalidAnswer;
use super::loop_detector::{CallRepetition, LoopDetector, MOST_SAME};
use super::role::{CallTurn, ConversationRole};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::StopReason;
use crate::llm::{FinishReason, ModelToolCall, ToolCallFormat, ToolInput};
use crate::prompt::{LastTurnVars, PromptError, Prompts};
use crate::review::budget::{ConversationBudget, reserve_for};
use crate::review::builder::{CallEffect, ReviewBuilder};
use crate::review::builder::{ENGINE_TOOLS, FINISH, is_engine_tool};
use crate::review::error::EngineError;
use crate::review::journal::Transcript;
use crate::review::outcome::{EngineOutcome, ShownDiff};
use crate::review::run::ModelRun;
use crate::sys::blocking::{self, BlockingFailure};
use crate::sys::cancel::Cancel;
use crate::tools::{BUILD, ShownLines, Toolbox, read_proof};

/// Role of the model that reviews a change, or a part of it.
pub(in crate::review) struct ReviewerRole<'a> {
    pub(in crate::review) builder: ReviewBuilder,
    run: &'a ModelRun,
    /// Diffs of the request under way; they count as covered when the response arrives.
    shown_diffs: Vec<ShownDiff>,
    /// References that tools showed, likewise.
    shown_lines: Vec<ShownLines>,
    loop_detector: LoopDetector,
    /// Verdict of the loop detector on each call of the last turn.
    repetitions: Vec<CallRepetition>,
}

impl<'a> ReviewerRole<'a> {
    /// Creates the role; `shown_diffs` are those of the first message.
    pub(in crate::review) fn new(run: &'a ModelRun, builder: ReviewBuilder, shown_diffs: Vec<ShownDiff>) -> Self {
        let (shown_lines, repetitions) = (Vec::new(), Vec::new());
        Self { builder, run, shown_diffs, shown_lines, loop_detector: LoopDetector::default(), repetitions }
    }
}

impl ReviewerRole<'_> {
    async fn call_engine_tools(
        &mut self,
        calls: Vec<(usize, ModelToolCall, Cancel)>,
        pending: usize,
    ) -> Result<Vec<(usize, CallOutcome)>, BlockingFailure> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        // Calls that never end keep their copy.
        let mut copy = self.builder.clone();
        let work = blocking::run("checking the model's reports", &self.run.cancel, move || {
            copy.begin_turn();
            let answer = |(at, call, cancel): (usize, ModelToolCall, Cancel)| {
                let stopped = |stopped| CallOutcome::refuse("stopped", &format!("{stopped}"));
                let outcome = match call.input {
                    ToolInput::Object(input) => {
                        copy.call(&call.name, input, pending, &cancel).map_or_else(stopped, CallOutcome::from)
                    }
                    ToolInput::Malformed(text) => {
                        CallOutcome { well_formed: false, ..CallOutcome::from(copy.call_malformed(&call.name, &text)) }
                    }
                };
                (at, outcome)
            };
            let outcomes = calls.into_iter().map(answer).collect();
            (outcomes, copy)
        });
        let outcomes;
        (outcomes, self.builder) = work.await?;
        Ok(outcomes)
    }
}

/// Returns the result of a call that has no effect.
fn refused_call(
    at: usize,
    call: &ModelToolCall,
    is_final: bool,
    repetition: Option<&CallRepetition>,
    tools: &Toolbox,
) -> Option<CallOutcome> {
    let own = is_engine_tool(&call.name);
    if at >= MOST_CALLS && !own {
        return Some(CallOutcome::too_many());
    }
    if !own && !tools.offers(&call.name) {
        let own = ENGINE_TOOLS.iter().map(|tool| tool.name);
        return Some(CallOutcome::unknown_tool(&call.name, tools, own));
    }
    if repetition == Some(&CallRepetition::Refused) && !is_final {
        let message = format!(
            "you made this call {MOST_SAME} times, and its answer stands above: use that. Go on to what you have not looked at, report what you \
             found, or call finish_review"
        );
        return Some(CallOutcome::refuse("repeated", &message));
    }
    if is_final && !own {
        let message = "nothing is read any more: report what you have and call finish_review";
        return Some(CallOutcome::refuse("last_turn", message));
    }
    None
}

impl Conversation<'_, ReviewerRole<'_>> {
    /// Reviews to the end, and writes down how it ended.
    pub(in crate::review) async fn review(&mut self) -> Result<EngineOutcome, EngineError> {
        let outcome = self.run().await?.into_outcome();
        self.end(outcome)
    }

    /// Writes down how it ended.
    pub(in crate::review) fn end(&mut self, outcome: EngineOutcome) -> Result<EngineOutcome, EngineError> {
        self.transcript.end(self.budget.turns(), &outcome)?;
        self.role.report_journal_fault(&mut self.transcript, self.events);
        Ok(outcome)
    }
}

impl ConversationRole for ReviewerRole<'_> {
    type Conclusion = ();
    const MAY_BEGIN_WITH_FINAL_TURN: bool = true;
    const HANDS_OVER_WHEN_FULL: bool = true;
    const CONTINUES_AFTER_FINAL_TURN: bool = true;
    const END_REQUEST: &'static str = "Report what you have and call finish_review";

    fn describe_limit(&self, limit: StopReason, budget: &ConversationBudget) -> String {
        budget.describe_limit(limit)
    }

    fn begin_final_turn(&mut self, reason: &str, prompts: &Prompts) -> Result<String, PromptError> {
        self.builder.last_turn();
        prompts.last_turn(&LastTurnVars { reason: reason.to_owned() })
    }

    fn reprompt(
        &self,
        invalid: InvalidAnswer,
        prompts: &Prompts,
        speech: ToolCallFormat,
    ) -> Result<String, PromptError> {
        invalid.reprompt(prompts, speech)
    }

    fn unreadable_calls(stop: &FinishReason) -> InvalidAnswer {
        if *stop == FinishReason::OutputLimit { InvalidAnswer::OutputLimit } else { InvalidAnswer::Malformed }
    }

    /// Makes the calls: those that read at once, then those that change the review.
    async fn make_calls(&mut self, turn: CallTurn<'_>) -> Result<Vec<CallOutcome>, BlockingFailure> {
        let CallTurn { calls, is_final, transcript } = turn;
        self.repetitions = self.loop_detector.record_calls(calls);
        let refused = |(at, call)| refused_call(at, call, is_final, self.repetitions.get(at), &self.run.tools);
        let mut outcomes: Vec<Option<CallOutcome>> = calls.iter().enumerate().map(refused).collect();
        let open = |outcomes: &[Option<CallOutcome>], own: bool| -> Vec<(usize, ModelToolCall)> {
            let is_open = |at: usize, name: &str| outcomes[at].is_none() && is_engine_tool(name) == own;
            let open = calls.iter().enumerate().filter(|(at, call)| is_open(*at, &call.name));
            open.map(|(at, call)| (at, call.clone())).collect()
        };

        let reads = open(&outcomes, false);
        let pending = reads.len();
        for (at, outcome) in run_reading_calls(reads, transcript, &self.run.tools).await? {
            if let Some(proof) =
                read_proof(&outcome.text).filter(|_| calls.get(at).is_some_and(|call| call.name == BUILD))
            {
                self.builder.record_build(proof);
            }
            outcomes[at] = Some(outcome);
        }

        for (at, _) in open(&outcomes, true) {
            outcomes[at] = transcript.is_call_skipped(at).then(CallOutcome::stopped);
        }
        let mut own = open(&outcomes, true);
        // Reports in the same turn count, in any order.
        own.sort_by_key(|(at, call)| (call.name == FINISH, *at));
        // Recorded calls are replayed completely, despite an interrupt: the outcome must be the recorded one.
        let cancel = |at| if transcript.result(at).is_some() { Cancel::never() } else { self.run.cancel.clone() };
        let own = own.into_iter().map(|(at, call)| (at, call, cancel(at))).collect();
        for (at, outcome) in self.call_engine_tools(own, pending).await? {
            outcomes[at] = Some(outcome);
        }
        // Every call was one of the three; each needs a result all the same.
        let missing = || CallOutcome::refuse("not_run", "this call was not made");
        Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(missing)).collect())
    }

    fn result_room(&self, budget: &ConversationBudget, size: u64) -> u64 {
        budget.result_room(size)
    }

    fn record_omissions(&self) {
        self.builder.record_omissions();
    }

    /// Reserves a part of the budget for the findings that will be verified.
    fn reserve(&mut self, budget: &mut ConversationBudget) {
        if let Some(second) = &self.run.second_look {
            let findings = self.builder.count_findings(|finding| second.which.requires(finding));
            let findings = budget.findings(findings);
            budget.set_reserve(reserve_for(findings, &budget.limits()));
        }
    }

    fn is_stuck(&self) -> Option<String> {
        self.loop_detector.is_stuck()
    }

    fn change_model(&mut self, before: &str, now: String) {
        self.builder.change_model(before, now);
    }

    fn reopen(&mut self) {
        self.builder.reopen();
    }

    fn conclusion_of(&self, outcomes: &[CallOutcome]) -> Option<()> {
        outcomes.iter().any(|outcome| matches!(outcome.effect, CallEffect::Finished)).then_some(())
    }

    fn credit_request(&mut self) {
        for shown in std::mem::take(&mut self.shown_diffs) {
            self.builder.record_shown_diff(&shown);
        }
        self.builder.record_shown_lines(&std::mem::take(&mut self.shown_lines));
    }

    fn needs_result(call: &ModelToolCall) -> bool {
        is_engine_tool(&call.name)
    }

    fn record_outcomes(&mut self, outcomes: &mut [CallOutcome]) {
        self.loop_detector.record_outcomes(&self.repetitions, outcomes);
        for outcome in outcomes {
            self.shown_lines.append(&mut outcome.shown);
        }
    }

    fn is_changed(&self, path: &str) -> bool {
        self.run.change.has_path(path)
    }

    fn forget_results(&mut self) {
        self.loop_detector.reset();
    }

    fn needs_nudge(&self) -> bool {
        self.loop_detector.needs_nudge()
    }

    fn report_journal_fault(&mut self, transcript: &mut Transcript, events: &dyn EventSink) {
        if let Some(fault) = transcript.journal.fault() {
            self.builder.add_note(fault.clone());
            events.emit(Event::Notice { text: fault });
        }
    }
}
