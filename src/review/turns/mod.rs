//! Conversation loop: request, tool calls, results, until the model finishes or something ends it. Main type: [`ReviewConversation`].
//!
//! The effect of a call belongs in `calls` and `builder`, limits in `budget`, waiting for a response in `attempts`.

mod failover;
mod invalid_answer;
mod last;

use super::attempts::{AttemptContext, AttemptError};
use super::budget::{ConversationBudget, TurnPermit};
use super::builder::{CallEffect, ReviewBuilder};
use super::by_rules::abandoned_outcome;
use super::calls::{CallContext, CallOutcome, describe_call, execute};
use super::compact::CompactionGoal;
use super::draft::EngineOutcome;
use super::error::EngineError;
use super::exchange::{self, ExchangeContext, TurnOutcome};
use super::failover::ActiveModel;
use super::invalid_answers::{InvalidAnswer, InvalidAnswerPolicy};
use super::journal::{FinalTurn, Journal};
use super::loop_detector::LoopDetector;
use super::opening::estimate_tokens;
use super::replay::{NextReplayStep, ReplayDivergence, ReplayedConversation};
use super::stats::{ConversationStats, InFlightRequest};
use super::verify::{self, VerificationScope};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::StopReason;
use crate::domain::text::strip_line;
use crate::llm::{FinishReason, Message, ModelToolCall, ToolInput, TurnRequest, TurnResponse, was_text};
use crate::prompt::Prompts;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::Cancel;
use crate::tools::Toolbox;

pub(super) use failover::PendingFailover;

/// A conversation under way.
pub(super) struct ReviewConversation<'a> {
    /// Active model.
    pub(super) line: ActiveModel<'a>,
    pub(super) prompts: &'a Prompts,
    pub(super) tools: &'a Toolbox,
    pub(super) builder: ReviewBuilder,
    pub(super) budget: ConversationBudget,
    /// Findings that will be verified: a part of the budget is reserved for them.
    pub(super) second_look: Option<VerificationScope>,
    pub(super) journal: Journal,
    /// Recording of earlier sessions.
    pub(super) told: ReplayedConversation,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
    /// Conversation so far.
    pub(super) request: TurnRequest,
    /// Content of the next request; it counts as covered when the response arrives.
    pub(super) unanswered: InFlightRequest,
    pub(super) tally: ConversationStats,
    pub(super) strikes: InvalidAnswerPolicy,
    /// Loop detector.
    pub(super) course: LoopDetector,
    /// Set once the model was asked to finish.
    pub(super) landed: Option<FinalTurn>,
    /// Last requested turn of this session, while it has no response.
    pub(super) asking: PendingFailover,
}

/// Next action.
enum DueTurn {
    /// Send a request, for the last time for this reason.
    Turn(Option<FinalTurn>),
    End(EngineOutcome),
}

/// Continuation of the loop.
enum LoopControl {
    Turn,
    End(EngineOutcome),
}

fn short(ended: StopReason, why: impl Into<String>) -> EngineOutcome {
    EngineOutcome::Short { ended, why: why.into() }
}

impl ReviewConversation<'_> {
    /// Runs the conversation to its end. The builder holds the results, whatever happens.
    pub(super) async fn run(&mut self) -> Result<EngineOutcome, EngineError> {
        self.told.restart_unless_same(&self.request);
        if !self.request.speech.is_native() {
            self.tally.in_text = Some("it cannot call them in any other way");
        }
        loop {
            let next = match self.next_action()? {
                DueTurn::Turn(landing) => self.run_turn(landing).await?,
                DueTurn::End(ending) => LoopControl::End(ending),
            };
            match next {
                LoopControl::Turn => {}
                LoopControl::End(ending) if self.resume_after_final_turn(&ending)? => {}
                LoopControl::End(ending) => return self.end(ending),
            }
        }
    }

    /// Returns the next action: the recorded one, or what the budget permits.
    fn next_action(&mut self) -> Result<DueTurn, EngineError> {
        self.follow_failover();
        self.make_room(&[]);
        match self.told.next_step() {
            NextReplayStep::Turn { landing: None, max_output, .. } => {
                self.request.max_output = max_output;
                return Ok(DueTurn::Turn(None));
            }
            NextReplayStep::Turn { landing: Some(landing), max_output, .. } => {
                self.begin_final_turn(&landing, max_output)?;
                return Ok(DueTurn::Turn(Some(landing)));
            }
            NextReplayStep::End(end) => {
                let (ended, why) = end.into_reason();
                if matches!(
                    ended,
                    StopReason::TurnLimit | StopReason::TokenLimit | StopReason::CostLimit | StopReason::WindowLimit
                ) {
                    self.tally.limits.push(why.clone());
                }
                return Ok(DueTurn::End(EngineOutcome::from_recorded(ended, why)));
            }
            NextReplayStep::New => {}
        }
        if let Err(stopped) = self.cancel.check() {
            return Ok(DueTurn::End(EngineOutcome::Stopped(stopped)));
        }
        let reserved = self.reserve();
        if self.is_retry() {
            return self.due_retry(reserved);
        }
        self.reserved(reserved)
    }

    fn reserved(&mut self, reserved: TurnPermit) -> Result<DueTurn, EngineError> {
        Ok(match (reserved, self.course.is_stuck()) {
            (TurnPermit::Turn, Some(words)) => {
                let landing = FinalTurn { ended: StopReason::Unfinished, words };
                self.begin_final_turn(&landing, self.budget.last_answer(self.unanswered.size))?;
                DueTurn::Turn(Some(landing))
            }
            (TurnPermit::Turn, None) => {
                self.request.max_output = self.budget.max_answer(self.unanswered.size);
                DueTurn::Turn(None)
            }
            (TurnPermit::Landing(limit), _) => {
                let landing = FinalTurn { ended: limit, words: self.budget.describe_limit(limit) };
                self.begin_final_turn(&landing, self.budget.last_answer(self.unanswered.size))?;
                DueTurn::Turn(Some(landing))
            }
            (TurnPermit::Nothing(limit), _) => {
                let words = self.budget.describe_limit(limit);
                self.tally.limits.push(words.clone());
                DueTurn::End(short(limit, words))
            }
        })
    }

    fn reserve(&mut self) -> TurnPermit {
        if let Some(which) = self.second_look {
            let findings = self.builder.count_findings(|finding| which.selects(finding));
            let findings = self.budget.findings(findings);
            self.budget.set_reserve(verify::reserve_for(findings, &self.budget.limits()));
        }
        self.budget.reserve_turn(self.unanswered.size, self.cancel.remaining())
    }

    /// Removes the oldest results from the conversation: the recorded ones, or as many as necessary for it and the new results to fit the window.
    fn make_room(&mut self, coming: &[u64]) {
        let wanted = CompactionGoal { size: self.unanswered.size, most: self.budget.max_request(), coming };
        if let Some(made) = self.tally.compaction.make_room(&mut self.request, &self.told, &wanted) {
            self.unanswered.size = self.unanswered.size.saturating_sub(made.freed);
            self.course.reset();
            self.events.emit(Event::Notice { text: made.progress_note(self.budget.limits().window) });
        }
    }

    /// Adds a message of ours.
    fn say(&mut self, text: String) {
        self.unanswered.size += estimate_tokens(&text);
        self.unanswered.user.push(text.clone());
        let mark = self.request.messages.is_empty();
        self.request.push(Message::User { text, mark });
    }

    async fn run_turn(&mut self, landing: Option<FinalTurn>) -> Result<LoopControl, EngineError> {
        let (turn, most) = (self.budget.turns() + 1, self.budget.limits().turns);
        self.events.emit(Event::Turn { turn, most });
        let asking = ExchangeContext {
            said: std::mem::take(&mut self.unanswered.user),
            is_first: self.budget.turns() == 0,
            landing: landing.clone(),
            compacted: self.tally.compaction.mark_sent(),
            to: self.line.go_to(),
            again: self.asking.turn == turn,
            most: self.budget.max_attempt_cost(self.unanswered.size, self.request.max_output),
        };
        self.asking.turn = turn;
        let (provider, request, cancel, events) = (self.line.provider(), &self.request, self.cancel, self.events);
        let (budget, most) = (&self.budget, asking.most);
        let question =
            AttemptContext { provider, request, turn, cancel, events, lost: &|| budget.record_unbilled(most) };
        let (heard, losses) = exchange::record_response(&mut self.told, &mut self.journal, asking, &question).await?;
        self.tally.broken_off += losses.all();
        self.budget.count_unbilled(losses.all().cost);
        let response = match heard {
            TurnOutcome::Answer(response, took, is_told) => {
                self.mark_answered(is_told);
                let settle =
                    if is_told { ConversationBudget::record_replayed_turn } else { ConversationBudget::record_turn };
                settle(&mut self.budget, self.unanswered.size, &response.usage, took);
                response
            }
            TurnOutcome::Ended(end) => {
                let (ended, why) = end.into_reason();
                return Ok(LoopControl::End(EngineOutcome::from_recorded(ended, why)));
            }
            TurnOutcome::Nothing(AttemptError::Stopped(stopped)) => {
                return Ok(LoopControl::End(EngineOutcome::Stopped(stopped)));
            }
            TurnOutcome::Nothing(AttemptError::Fault(fault)) => {
                return Ok(self.recover(&fault).map_or_else(LoopControl::End, |()| LoopControl::Turn));
            }
        };
        self.tell_spent(turn);
        let next = self.handle_response(turn, response, landing).await;
        self.told.check()?;
        self.journal.sync();
        self.report_journal_fault();
        next
    }

    fn tell_spent(&self, turn: u32) {
        let usage = self.budget.usage();
        self.events.emit(Event::Spent {
            turn,
            input_tokens: usage.input_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            output_tokens: usage.output_tokens,
            cost: usage.cost,
        });
    }

    /// Handles a response: makes its calls, or reports what was wrong with it.
    async fn handle_response(
        &mut self,
        turn: u32,
        response: TurnResponse,
        landing: Option<FinalTurn>,
    ) -> Result<LoopControl, EngineError> {
        // A refusing provider revokes what came before, including calls.
        if response.stop == FinishReason::Refused {
            return Ok(LoopControl::End(InvalidAnswer::refusal(&response.text())));
        }
        let calls: Vec<ModelToolCall> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.handle_answer_without_calls(&response, landing);
        }
        if !self.told.has_all_results(calls.len()) {
            let (ended, why) = ReplayedConversation::end_of_journal().into_reason();
            return Ok(LoopControl::End(EngineOutcome::from_recorded(ended, why)));
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
            self.credit();
        }
        let turned = self.course.record_calls(&calls);
        let hands = CallContext {
            tools: self.tools,
            turned: &turned,
            landing: landing.is_some(),
            told: &self.told,
            cancel: self.cancel,
        };
        let mut called = match execute(&calls, &hands, &mut self.builder).await {
            Err(lost @ BlockingFailure::Abandoned { .. }) => {
                // The next session makes them all.
                self.count(&calls.iter().map(|_| CallOutcome::stopped()).collect::<Vec<_>>());
                return Ok(LoopControl::End(abandoned_outcome(&lost)));
            }
            called => called?,
        };
        let finished = called.iter().any(|called| matches!(called.effect, CallEffect::Finished));
        let malformed = called.iter().all(|called| !called.well_formed);
        // A result that is not sent needs no room.
        if !finished && landing.is_none() {
            self.make_room(&exchange::sizes(&called));
        }
        self.answer(&calls, &mut called)?;
        self.count(&called);
        self.course.record_outcomes(&turned, &called);
        match landing {
            Some(FinalTurn { ended, words }) => return Ok(LoopControl::End(short(ended, words))),
            None if finished => return Ok(LoopControl::End(EngineOutcome::Done)),
            None => {}
        }
        let strike = match (malformed, &response.stop) {
            (true, FinishReason::OutputLimit) => Some(InvalidAnswer::OutputLimit),
            (true, _) => Some(InvalidAnswer::Malformed),
            (false, _) => None,
        };
        match strike {
            Some(strike) => self.handle_invalid_answer(strike, None),
            None => {
                self.strikes.reset();
                if self.course.needs_nudge() {
                    let text = self.prompts.no_progress()?;
                    self.say(text);
                }
                Ok(LoopControl::Turn)
            }
        }
    }

    fn keep_answer(&mut self, response: &TurnResponse) {
        // Known from now on, and sent with every later request.
        self.unanswered.size += exchange::size_of(response);
        self.request.push_answer(response);
    }

    /// Counts sent content as covered.
    fn credit(&mut self) {
        let opening = std::mem::take(&mut self.unanswered.opening);
        let results = std::mem::take(&mut self.unanswered.results);
        for shown in &opening {
            self.builder.record_shown_diff(shown);
        }
        self.builder.record_shown_lines(&results);
    }

    fn count(&mut self, called: &[CallOutcome]) {
        let (made, errors) = exchange::counts(called);
        self.tally.calls += made;
        self.tally.errors += errors;
        for called in called {
            match &called.effect {
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

    /// Puts the results into the conversation, as far as there is room.
    fn answer(&mut self, calls: &[ModelToolCall], called: &mut [CallOutcome]) -> Result<(), ReplayDivergence> {
        self.builder.record_omissions();
        let room = self.budget.result_room(self.unanswered.size);
        let (end, always) =
            ("Report what you have and call finish_review", |call: &ModelToolCall| ReviewBuilder::is_own(&call.name));
        let (results, size) = exchange::results((&self.told, &mut self.journal), (calls, called), room, end, always)?;
        self.unanswered.size += size;
        self.budget.reserve_final_turn(self.unanswered.size);
        for called in called {
            self.unanswered.results.append(&mut called.shown);
        }
        self.request.push(results);
        Ok(())
    }
}
