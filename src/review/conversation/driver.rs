//! Conversation loop: request, tool calls, results, until the model concludes or something ends it. Main type: [`Conversation`].
//!
//! The effect of a call belongs to the role, limits in `budget`, waiting for a response in `attempts`, a turn without a response in `recovery`.

use std::ops::ControlFlow::{self, Break, Continue};

use super::attempts::{AttemptContext, AttemptError};
use super::call_outcome::CallOutcome;
use super::calls::describe_call;
use super::compact::{CompactionGoal, expected_results};
use super::end::ConversationEnd;
use super::exchange::{RequestDetails, TurnOutcome};
use super::failover::ActiveModel;
use super::first_request::FirstRequest;
use super::invalid_answers::{InvalidAnswer, InvalidAnswerPolicy, InvalidAnswerStep};
use super::role::{CallTurn, ConversationRole};
use super::stats::ConversationStats;
use crate::domain::event::{Event, EventSink};
use crate::domain::review::StopReason;
use crate::domain::text::strip_line;
use crate::llm::{
    FinishReason, Message, ModelToolCall, ToolCallFormat, ToolInput, ToolResult, TurnRequest, TurnResponse, was_text,
};
use crate::prompt::{MakingRoomVars, Prompts};
use crate::review::budget::{ConversationBudget, TurnPermit};
use crate::review::builder::CallEffect;
use crate::review::error::EngineError;
use crate::review::journal::{FinalTurn, NextReplayStep, RecordedEnd, ReplayDivergence, Transcript};
use crate::review::tokens::estimate_tokens;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::Cancel;

/// A conversation under way.
pub(in crate::review) struct Conversation<'a, R> {
    pub(in crate::review) role: R,
    pub(in crate::review) model: ActiveModel<'a>,
    pub(in crate::review) budget: ConversationBudget,
    /// Source of each step.
    pub(in crate::review) transcript: Transcript,
    pub(in crate::review) stats: ConversationStats,
    pub(in crate::review) invalid_answers: InvalidAnswerPolicy,
    pub(in crate::review) cancel: Cancel,
    pub(in crate::review) events: &'a dyn EventSink,
    pub(super) prompts: &'a Prompts,
    /// Conversation so far.
    pub(super) request: TurnRequest,
    /// Messages of this program since the last request.
    pub(super) unsent: Vec<String>,
    /// Tokens of the conversation, estimated.
    pub(super) size: u64,
    /// Set once the model was asked to finish.
    pub(super) final_turn: Option<FinalTurn>,
    /// Last requested turn of this session, while it has no response.
    pub(super) pending_request: PendingRequest,
}

/// Requested turn without a response.
#[derive(Debug, Default)]
pub(super) struct PendingRequest {
    /// Turn, from 1; 0 if none is pending.
    pub(super) turn: u32,
    /// Model for which the conversation is too long.
    pub(super) too_long: Option<u32>,
}

/// Continuation of a conversation, or its end.
pub(super) type Flow<R, T = ()> =
    Result<ControlFlow<ConversationEnd<<R as ConversationRole>::Conclusion>, T>, EngineError>;

impl<'a, R: ConversationRole> Conversation<'a, R> {
    pub(in crate::review) fn new(
        role: R,
        model: ActiveModel<'a>,
        budget: ConversationBudget,
        transcript: Transcript,
        first: FirstRequest,
    ) -> Self {
        let FirstRequest { request, message, size } = first;
        Self {
            role,
            budget,
            transcript,
            stats: ConversationStats::default(),
            invalid_answers: InvalidAnswerPolicy::default(),
            cancel: model.run().cancel.clone(),
            events: model.run().events.as_ref(),
            prompts: &model.run().prompts,
            model,
            request,
            unsent: vec![message],
            size,
            final_turn: None,
            pending_request: PendingRequest::default(),
        }
    }

    /// Runs the conversation to its end. The role holds the results, whatever happens.
    pub(in crate::review) async fn run(&mut self) -> Result<ConversationEnd<R::Conclusion>, EngineError> {
        self.transcript.restart_unless_same(&self.request);
        if !self.request.speech.is_native() {
            self.stats.in_text = Some("it cannot call them in any other way");
        }
        loop {
            let next = match self.next_turn()? {
                Continue(final_turn) => self.run_turn(final_turn).await?,
                Break(end) => Break(end),
            };
            match next {
                Continue(()) => {}
                Break(ConversationEnd::FinalTurn(_)) if self.resume_after_final_turn()? => {}
                Break(end) => return Ok(end),
            }
        }
    }

    /// Returns the next turn, with the reason if it is the final one: the recorded turn, or the one that the budget permits.
    pub(super) fn next_turn(&mut self) -> Flow<R, Option<FinalTurn>> {
        self.follow_failover();
        self.make_room(&[]);
        match self.transcript.next_step() {
            NextReplayStep::Turn { final_turn, max_output, .. } => self.begin_turn(final_turn, max_output),
            NextReplayStep::End(end) => {
                if let RecordedEnd::Ended { ended, why } = &end
                    && matches!(
                        ended,
                        StopReason::TurnLimit
                            | StopReason::TokenLimit
                            | StopReason::CostLimit
                            | StopReason::WindowLimit
                    )
                {
                    self.stats.limits.push(why.clone().unwrap_or_default());
                }
                Ok(Break(ConversationEnd::Recorded(end)))
            }
            NextReplayStep::New => match self.cancel.check() {
                Err(stopped) => Ok(Break(ConversationEnd::Stopped(stopped))),
                Ok(()) => self.permitted_turn(),
            },
        }
    }

    fn permitted_turn(&mut self) -> Flow<R, Option<FinalTurn>> {
        let (is_retry, permit) = (self.is_retry(), self.reserve());
        let last_answer = self.budget.last_answer(self.size);
        match permit {
            TurnPermit::Nothing(limit) if is_retry => self.end_retry(limit),
            TurnPermit::Nothing(limit) => {
                let words = self.role.describe_limit(limit, &self.budget);
                self.stats.limits.push(words.clone());
                Ok(Break(ConversationEnd::Limit { limit, words, detail: String::new() }))
            }
            // The model was told that this is the last turn before the request failed.
            TurnPermit::Turn | TurnPermit::Landing(_) if is_retry && self.final_turn.is_some() => {
                self.begin_turn(self.final_turn.clone(), last_answer)
            }
            TurnPermit::Turn => match self.role.is_stuck() {
                Some(words) => self.begin_turn(Some(FinalTurn { ended: StopReason::Unfinished, words }), last_answer),
                None => self.begin_turn(None, self.budget.max_answer(self.size)),
            },
            TurnPermit::Landing(limit) => {
                let words = self.role.describe_limit(limit, &self.budget);
                if self.budget.turns() == 0 && !R::MAY_BEGIN_WITH_FINAL_TURN {
                    return Ok(Break(ConversationEnd::Limit { limit, words, detail: String::new() }));
                }
                self.begin_turn(Some(FinalTurn { ended: limit, words }), last_answer)
            }
        }
    }

    pub(super) fn reserve(&mut self) -> TurnPermit {
        self.role.reserve(&mut self.budget);
        self.budget.reserve_turn(self.size, self.cancel.remaining())
    }

    /// Begins a turn. In the final one only the tools that end the conversation work, and the model is told so, once. All stay in the list: another
    /// list would invalidate the provider's cache, and some bind a model's thinking to it.
    fn begin_turn(&mut self, final_turn: Option<FinalTurn>, max_output: u32) -> Flow<R, Option<FinalTurn>> {
        self.request.max_output = max_output;
        if let Some(FinalTurn { ended, words }) = final_turn.as_ref().filter(|_| self.final_turn.is_none()) {
            if ended.is_resumable() {
                self.stats.limits.push(words.clone());
            }
            let text = self.role.begin_final_turn(words, self.prompts)?;
            self.final_turn.clone_from(&final_turn);
            self.say(text);
        }
        Ok(Continue(final_turn))
    }

    /// Checks whether the conversation continues after its final turn, because a later session has a larger budget; then the model is told so.
    fn resume_after_final_turn(&mut self) -> Result<bool, EngineError> {
        let Some(FinalTurn { ended, words }) = self.final_turn.clone() else { return Ok(false) };
        if !R::CONTINUES_AFTER_FINAL_TURN || !ended.is_resumable() {
            return Ok(false);
        }
        let may = self.transcript.was_continued()
            || self.transcript.may_continue() && self.cancel.check().is_ok() && self.reserve() == TurnPermit::Turn;
        if may {
            self.final_turn = None;
            self.stats.limits.retain(|limit| *limit != words);
            self.request.max_output = self.budget.limits().max_output;
            self.role.reopen();
            let text = self.prompts.resume()?;
            self.say(text);
        }
        Ok(may)
    }

    /// Removes results from the conversation: the recorded ones, or as many as necessary for it and the new results to fit the window.
    fn make_room(&mut self, coming: &[u64]) {
        let goal = CompactionGoal { size: self.size, most: self.budget.max_request(), coming };
        let made = match self.transcript.next_step() {
            NextReplayStep::Turn { removed, .. } => self.stats.compaction.repeat(&mut self.request, &removed),
            NextReplayStep::End(_) => None,
            NextReplayStep::New => {
                let is_changed = |path: &str| self.role.is_changed(path);
                self.stats.compaction.make_room(&mut self.request, &goal, &is_changed)
            }
        };
        if let Some(made) = made {
            self.size = self.size.saturating_sub(made.freed);
            self.role.forget_results();
            self.events.emit(Event::Notice { text: made.progress_note(self.budget.limits().window) });
        }
    }

    /// Tells the model which results the next ones will push out, after results of `last` tokens: in a replay, where it was told.
    fn announce_removals(&mut self, last: u64) -> Result<(), EngineError> {
        let recorded = match self.transcript.next_step() {
            NextReplayStep::Turn { announced: Some(text), .. } => Some(text),
            NextReplayStep::Turn { announced: None, .. } | NextReplayStep::End(_) => return Ok(()),
            NextReplayStep::New => None,
        };
        let most = self.budget.max_request();
        let goal = CompactionGoal { size: self.size, most, coming: &[expected_results(last, most)] };
        let is_changed = |path: &str| self.role.is_changed(path);
        let calls = self.stats.compaction.announce(&self.request, &goal, &is_changed);
        if let Some(text) = recorded {
            self.say(text);
        } else if !calls.is_empty() {
            let results = calls.iter().map(|call| format!("- {call}")).collect::<Vec<_>>().join("\n");
            let text = self.prompts.making_room(&MakingRoomVars { results })?;
            self.stats.compaction.set_announcement(text.clone());
            self.say(text);
        }
        Ok(())
    }

    /// Adds a message of ours.
    fn say(&mut self, text: String) {
        self.size += estimate_tokens(&text);
        self.unsent.push(text.clone());
        self.request.push(Message::User { text, mark: false });
    }

    async fn run_turn(&mut self, final_turn: Option<FinalTurn>) -> Flow<R> {
        let (turn, most) = (self.budget.turns() + 1, self.budget.limits().turns);
        self.events.emit(Event::Turn { turn, most });
        let most = self.budget.max_attempt_cost(self.size, self.request.max_output);
        let details = RequestDetails {
            said: std::mem::take(&mut self.unsent),
            is_first: turn == 1 && self.pending_request.turn != turn,
            final_turn: final_turn.clone(),
            compaction: self.stats.compaction.mark_sent(),
            to: self.model.index(),
            most,
        };
        self.pending_request.turn = turn;
        let (provider, request, cancel, events) = (self.model.provider(), &self.request, &self.cancel, self.events);
        let budget = &self.budget;
        let attempt =
            AttemptContext { provider, request, turn, cancel, events, lost: &|| budget.record_unbilled(most) };
        let (outcome, losses) = self.transcript.respond(details, &attempt).await?;
        self.stats.broken_off += losses.all();
        self.budget.count_unbilled(losses.recorded.cost, losses.now.cost);
        let response = match outcome {
            TurnOutcome::Answer(response, took, is_recorded) => {
                self.pending_request = PendingRequest::default();
                if !is_recorded {
                    self.model.mark_answering();
                }
                self.budget.count_turn(self.size, &response.usage, took, is_recorded);
                response
            }
            TurnOutcome::Ended(end) => return Ok(Break(ConversationEnd::Recorded(end))),
            TurnOutcome::Nothing(AttemptError::Stopped(stopped)) => {
                return Ok(Break(ConversationEnd::Stopped(stopped)));
            }
            TurnOutcome::Nothing(AttemptError::Fault(fault)) => return Ok(self.recover(fault)),
        };
        self.report_spending(turn);
        let next = self.handle_response(turn, response, final_turn).await;
        // The next request, or the end, syncs what was recorded.
        self.transcript.check()?;
        self.role.report_journal_fault(&mut self.transcript, self.events);
        next
    }

    fn report_spending(&self, turn: u32) {
        let usage = self.budget.usage();
        self.events.emit(Event::Spent {
            turn,
            input_tokens: usage.input_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            output_tokens: usage.output_tokens,
            cost: usage.cost,
        });
    }

    /// Handles a response: its conclusion, its calls, or what was wrong with it.
    async fn handle_response(&mut self, turn: u32, response: TurnResponse, final_turn: Option<FinalTurn>) -> Flow<R> {
        // A refusing provider revokes what came before, including calls.
        if response.stop == FinishReason::Refused {
            return Ok(Break(ConversationEnd::Refused(response.text())));
        }
        let calls: Vec<ModelToolCall> = response.calls().cloned().collect();
        if let Some(conclusion) = self.role.conclude(&response, &calls, final_turn.is_some()) {
            self.stats.calls += u32::try_from(calls.len()).unwrap_or(u32::MAX);
            return Ok(Break(ConversationEnd::Concluded(conclusion)));
        }
        if calls.is_empty() {
            let Some(final_turn) = final_turn else {
                return self.handle_invalid_answer(InvalidAnswer::of(&response), Some(&response));
            };
            // Another session may continue it.
            self.keep_answer(&response);
            return Ok(Break(ConversationEnd::FinalTurn(final_turn)));
        }
        if !self.transcript.has_all_results(calls.len()) {
            return Ok(Break(ConversationEnd::Recorded(Transcript::end_of_journal())));
        }
        if self.request.speech.is_native() && calls.iter().any(was_text) {
            self.switch_to_text_protocol("the server takes no tools for it");
        }
        self.keep_answer(&response);
        for call in &calls {
            self.events.emit(Event::Call { turn, tool: strip_line(&call.name), about: describe_call(call) });
        }
        // A readable response proves that the model has seen the request, before any of its calls is made: `finish_review` checks that.
        if calls.iter().any(|call| matches!(call.input, ToolInput::Object(_))) {
            self.role.credit_request();
        }
        let made = CallTurn { calls: &calls, is_final: final_turn.is_some(), transcript: &self.transcript };
        let mut outcomes = match self.role.make_calls(made).await {
            Err(lost @ BlockingFailure::Abandoned { .. }) => {
                // The next session makes them all.
                self.count(&calls.iter().map(|_| CallOutcome::stopped()).collect::<Vec<_>>());
                return Ok(Break(ConversationEnd::Abandoned(lost)));
            }
            outcomes => outcomes?,
        };
        let conclusion = self.role.conclusion_of(&outcomes);
        // A result that is not sent needs no room.
        if conclusion.is_none() && final_turn.is_none() {
            self.make_room(&outcomes.iter().map(|outcome| estimate_tokens(&outcome.text)).collect::<Vec<_>>());
        }
        let all_unreadable = outcomes.iter().all(|outcome| !outcome.well_formed);
        self.add_results(&calls, &mut outcomes)?;
        match (final_turn, conclusion) {
            (Some(final_turn), _) => Ok(Break(ConversationEnd::FinalTurn(final_turn))),
            (None, Some(conclusion)) => Ok(Break(ConversationEnd::Concluded(conclusion))),
            (None, None) if all_unreadable => self.handle_invalid_answer(R::unreadable_calls(&response.stop), None),
            (None, None) => {
                self.invalid_answers.reset();
                if self.role.needs_nudge() {
                    let text = self.prompts.no_progress()?;
                    self.say(text);
                }
                self.announce_removals(outcomes.iter().map(|outcome| estimate_tokens(&outcome.text)).sum())?;
                Ok(Continue(()))
            }
        }
    }

    /// Reports what was wrong with a response, unless it was reported before. A response that is not part of the conversation yet is added.
    fn handle_invalid_answer(&mut self, invalid: InvalidAnswer, answer: Option<&TurnResponse>) -> Flow<R> {
        let step = self.invalid_answers.record(invalid, self.request.speech);
        if step == InvalidAnswerStep::End {
            return Ok(Break(ConversationEnd::Invalid(invalid)));
        }
        if let Some(answer) = answer {
            self.keep_answer(answer);
        }
        let text = match step {
            InvalidAnswerStep::Switch(why) => {
                self.switch_to_text_protocol(why);
                self.prompts.text_switch()?
            }
            InvalidAnswerStep::Tell | InvalidAnswerStep::End => {
                self.role.reprompt(invalid, self.prompts, self.request.speech)?
            }
        };
        self.say(text);
        Ok(Continue(()))
    }

    /// Switches to calls and results in text.
    fn switch_to_text_protocol(&mut self, why: &'static str) {
        self.request.speech = ToolCallFormat::Text;
        self.size += estimate_tokens(&self.request.grammar);
        self.stats.in_text = Some(why);
        self.events.emit(Event::Notice { text: format!("the model calls its tools in the text from now on: {why}") });
    }

    /// Adds a response, which is sent with every later request. Its tokens are those that the provider reports, else estimated.
    fn keep_answer(&mut self, response: &TurnResponse) {
        self.size += response.usage.output.unwrap_or_else(|| {
            let text = serde_json::to_string(&response.parts).unwrap_or_default();
            estimate_tokens(&text)
        });
        self.request.push_answer(response);
    }

    fn count(&mut self, outcomes: &[CallOutcome]) {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        self.stats.calls += count(outcomes.len());
        self.stats.errors += count(outcomes.iter().filter(|outcome| outcome.is_error).count());
        for outcome in outcomes {
            match &outcome.effect {
                CallEffect::Finding { id, title, severity, path, line } => self.events.emit(Event::Finding {
                    id: id.clone(),
                    title: strip_line(title),
                    severity: *severity,
                    path: path.to_string(),
                    line: *line,
                }),
                CallEffect::Withheld { title, reason } => {
                    self.events.emit(Event::Withheld { title: strip_line(title), reason: strip_line(reason) });
                }
                CallEffect::None | CallEffect::Finished => {}
            }
        }
    }

    /// Puts the results into the conversation, as far as there is room. One that is larger is not shown, and the model is told so; except errors, and
    /// results that a call needs. Recorded results must be unchanged.
    fn add_results(&mut self, calls: &[ModelToolCall], outcomes: &mut [CallOutcome]) -> Result<(), ReplayDivergence> {
        self.role.record_omissions();
        let mut room = self.role.result_room(&self.budget, self.size);
        let mut results = Vec::with_capacity(calls.len());
        for (at, (call, outcome)) in calls.iter().zip(outcomes.iter_mut()).enumerate() {
            let size = estimate_tokens(&outcome.text);
            if size > room && !outcome.is_error && !outcome.is_recorded && !R::needs_result(call) {
                outcome.drop_for_lack_of_room(size, room, R::END_REQUEST);
            }
            let size = estimate_tokens(&outcome.text);
            room = room.saturating_sub(size);
            self.size += size;
            let result = ToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                text: outcome.text.clone(),
                is_error: outcome.is_error,
            };
            let shown = outcome.shown.clone();
            self.transcript.record_result(at, result.clone(), shown, outcome.was_stopped())?;
            results.push(result);
        }
        self.request.push(Message::Results { results, mark: true });
        self.budget.reserve_final_turn(self.size);
        self.count(outcomes);
        self.role.record_outcomes(outcomes);
        Ok(())
    }
}
