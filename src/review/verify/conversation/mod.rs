//! Verification of one finding: requests and tool calls until there is a verdict or another end. Main type: [`VerificationConversation`].

mod failover;
mod retries;

use super::answers::{is_reading, refused_call, verdict_of};
use super::as_text;
use super::end::{
    VerificationEnd, VerificationFailure, VerificationStats, describe_stop, no_verdict_end, unchecked_end,
};
use super::request::VerificationRequest;
use super::verdict::{NAME, VerdictAnswer};
use crate::domain::event::EventSink;
use crate::domain::finding::Confidence;
use crate::domain::text::strip_line;
use crate::llm::{FinishReason, Message, ModelToolCall, ToolCallFormat, TurnRequest, TurnResponse, was_text};
use crate::prompt::{LastTurnVars, Prompts};
use crate::review::attempts::{AttemptContext, AttemptError};
use crate::review::budget::{BudgetLimits, ConversationBudget, TurnPermit};
use crate::review::calls::{CallOutcome, MOST_CALLS, run_reading_calls};
use crate::review::compact::{Compaction, CompactionGoal};
use crate::review::exchange::{self, ExchangeContext, TurnOutcome};
use crate::review::failover::ActiveModel;
use crate::review::invalid_answers::{InvalidAnswer, InvalidAnswerPolicy, InvalidAnswerStep};
use crate::review::journal::{FinalTurn, Journal, JournalRecord};
use crate::review::opening::estimate_tokens;
use crate::review::replay::{NextReplayStep, RecordedEnd, RecordedTrees, ReplayDivergence, ReplayedConversation};
use crate::sys::cancel::Cancel;
use crate::tools::Toolbox;

use retries::{RetryReporter, describe_wait};

/// A conversation about one finding.
pub(super) struct VerificationConversation<'a> {
    line: ActiveModel<'a>,
    prompts: &'a Prompts,
    tools: &'a Toolbox,
    cancel: Cancel,
    events: RetryReporter<'a>,
    budget: ConversationBudget,
    journal: Journal,
    told: ReplayedConversation,
    trees: &'a RecordedTrees,
    request: TurnRequest,
    /// Messages of this program since the last request, for the journal.
    said: Vec<String>,
    /// Tokens of the conversation, estimated.
    size: u64,
    /// Compaction of the conversation.
    compaction: Compaction,
    /// `true` if a verdict was sent back once, because results of the same turn were not seen yet.
    waited: bool,
    strikes: InvalidAnswerPolicy,
    tally: VerificationStats,
    /// Set once the model was asked for its final verdict.
    landed: Option<FinalTurn>,
    /// Last requested turn of this session, and the model for which the conversation is too long.
    asked: (u32, Option<u32>),
}

/// Context of all verifications of a run.
#[derive(Clone, Copy)]
pub(super) struct VerificationContext<'a> {
    pub(super) line: ActiveModel<'a>,
    pub(super) prompts: &'a Prompts,
    pub(super) tools: &'a Toolbox,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
    pub(super) trees: &'a RecordedTrees,
}

impl<'a> VerificationConversation<'a> {
    pub(super) fn new(
        hands: VerificationContext<'a>,
        question: VerificationRequest,
        limits: BudgetLimits,
        (told, journal): (ReplayedConversation, Journal),
    ) -> Self {
        let VerificationRequest { request, message, size } = question;
        Self {
            line: hands.line,
            prompts: hands.prompts,
            tools: hands.tools,
            cancel: hands.cancel.clone(),
            events: RetryReporter(hands.events),
            budget: ConversationBudget::new(limits),
            journal,
            told,
            trees: hands.trees,
            request,
            said: vec![message],
            size,
            compaction: Compaction::default(),
            waited: false,
            strikes: InvalidAnswerPolicy::for_verification(),
            tally: VerificationStats::default(),
            landed: None,
            asked: (0, None),
        }
    }

    /// Runs to the end.
    pub(super) async fn run(mut self) -> Result<(VerificationEnd, VerificationStats), ReplayDivergence> {
        // From here on: it may have waited for others.
        self.cancel = self.cancel.with_deadline(self.budget.limits().time);
        let before = self.told.discarded_usage();
        let judged = match self.judge().await {
            Ok(judged) => judged,
            Err(VerificationFailure::Prompt(error)) => unchecked_end(strip_line(&error.to_string())),
            Err(VerificationFailure::Unfinished(work)) => unchecked_end(work.to_string()),
            Err(VerificationFailure::Diverged(diverged)) => return Err(diverged),
        };
        self.told.check()?;
        self.write(&judged)?;
        self.tally.at = self.line.go_to();
        self.tally.taken_out = self.compaction.dropped_results();
        self.tally.turns = self.budget.turns() + before.turns;
        self.tally.usage = match before.usage {
            Some(usage) if self.budget.turns() > 0 => usage.into_usage().plus(self.budget.usage()),
            Some(usage) => usage.into_usage(),
            None => self.budget.usage(),
        };
        self.tally.calls += before.calls;
        self.tally.errors += before.errors;
        self.tally.broken_off += before.broken_off;
        Ok((judged, self.tally))
    }

    /// Records its end, unless it is replayed.
    fn write(&mut self, judged: &VerificationEnd) -> Result<(), ReplayDivergence> {
        let end = judged.end();
        let RecordedEnd::Verdict { state, why, broken_off } = &end else { return Ok(()) };
        if !self.told.check_end(self.budget.turns(), &end)? {
            return Ok(());
        }
        let confidence = match judged {
            VerificationEnd::Verdict(verdict) => verdict.confidence.adjusted_confidence(None).map(Confidence::value),
            VerificationEnd::Unchecked(_) | VerificationEnd::BrokenOff(_) => None,
        };
        let (state, why, broken_off) = (state.clone(), why.clone(), *broken_off);
        self.journal.record(None, JournalRecord::Verdict { state, confidence, why, broken_off });
        self.journal.sync();
        Ok(())
    }

    async fn judge(&mut self) -> Result<VerificationEnd, VerificationFailure> {
        loop {
            self.follow_failover();
            self.make_room(&[]);
            let again = self.asked.0 > self.budget.turns();
            let landing = match self.told.next_step() {
                NextReplayStep::Turn { landing: None, max_output, .. } => {
                    self.request.max_output = max_output;
                    None
                }
                NextReplayStep::Turn { landing: Some(landing), max_output, .. } => Some((landing, max_output)),
                NextReplayStep::End(end) => return Ok(VerificationEnd::from_recorded(end)),
                NextReplayStep::New => {
                    if let Err(stopped) = self.cancel.check() {
                        return Ok(VerificationEnd::BrokenOff(describe_stop(stopped).to_owned()));
                    }
                    match self.budget.reserve_turn(self.size, self.cancel.remaining()) {
                        // The model was told that this is the last turn before the request failed.
                        TurnPermit::Turn | TurnPermit::Landing(_) if again && self.landed.is_some() => {
                            self.landed.clone().map(|landing| (landing, self.budget.last_answer(self.size)))
                        }
                        TurnPermit::Turn => {
                            self.request.max_output = self.budget.max_answer(self.size);
                            None
                        }
                        // With the final verdict as its only turn, the model could only repeat the finding.
                        TurnPermit::Landing(limit) | TurnPermit::Nothing(limit) if self.budget.turns() == 0 => {
                            return Ok(unchecked_end(describe_wait(limit, &self.budget.limits())));
                        }
                        TurnPermit::Nothing(limit) => {
                            return Ok(unchecked_end(describe_wait(limit, &self.budget.limits())));
                        }
                        TurnPermit::Landing(limit) => {
                            let landing =
                                FinalTurn { ended: limit, words: describe_wait(limit, &self.budget.limits()) };
                            Some((landing, self.budget.last_answer(self.size)))
                        }
                    }
                }
            };
            let landing = landing.map(|(landing, max_output)| {
                self.request.max_output = max_output;
                landing
            });
            if let Some(FinalTurn { words, .. }) = landing.as_ref().filter(|_| self.landed.is_none()) {
                let text = self.prompts.verification_last_turn(&LastTurnVars { reason: words.clone() })?;
                self.say(text);
                self.landed.clone_from(&landing);
            }
            if let Some(judged) = self.run_turn(landing).await? {
                return Ok(judged);
            }
        }
    }

    /// Makes room by shortening the oldest results, as in a review.
    fn make_room(&mut self, coming: &[u64]) {
        let wanted = CompactionGoal { size: self.size, most: self.budget.max_request(), coming };
        if let Some(made) = self.compaction.make_room(&mut self.request, &self.told, &wanted) {
            self.size = self.size.saturating_sub(made.freed);
        }
    }

    fn say(&mut self, text: String) {
        self.size += estimate_tokens(&text);
        self.said.push(text.clone());
        self.request.push(Message::User { text, mark: false });
    }

    async fn run_turn(&mut self, landing: Option<FinalTurn>) -> Result<Option<VerificationEnd>, VerificationFailure> {
        let turn = self.budget.turns() + 1;
        let said = std::mem::take(&mut self.said);
        let asking = ExchangeContext {
            said,
            is_first: self.budget.turns() == 0,
            landing: landing.clone(),
            compacted: self.compaction.mark_sent(),
            to: self.line.go_to(),
            again: self.asked.0 == turn,
            most: self.budget.max_attempt_cost(self.size, self.request.max_output),
        };
        self.asked.0 = turn;
        let (provider, request, cancel, events) = (self.line.provider(), &self.request, &self.cancel, &self.events);
        let (budget, most) = (&self.budget, asking.most);
        let question =
            AttemptContext { provider, request, turn, cancel, events, lost: &|| budget.record_unbilled(most) };
        let (heard, losses) = exchange::record_response(&mut self.told, &mut self.journal, asking, &question).await?;
        self.tally.broken_off += losses.all();
        // Its budget is its own, and does not include earlier sessions.
        self.budget.record_unbilled(losses.told.cost);
        let (response, took) = match heard {
            TurnOutcome::Answer(response, took, is_told) => {
                self.asked = (0, None);
                if !is_told {
                    self.line.mark_answering();
                }
                (response, took)
            }
            TurnOutcome::Ended(end) => return Ok(Some(VerificationEnd::from_recorded(end))),
            TurnOutcome::Nothing(AttemptError::Stopped(stopped)) => {
                return Ok(Some(VerificationEnd::BrokenOff(describe_stop(stopped).to_owned())));
            }
            TurnOutcome::Nothing(AttemptError::Fault(fault)) => {
                return Ok(self.recover(&fault).err());
            }
        };
        self.budget.record_turn(self.size, &response.usage, took);
        let judged = self.handle_response(response, landing).await;
        self.journal.sync();
        judged
    }

    /// Handles a response: its verdict, the results of its calls, or what was wrong with it.
    async fn handle_response(
        &mut self,
        response: TurnResponse,
        landing: Option<FinalTurn>,
    ) -> Result<Option<VerificationEnd>, VerificationFailure> {
        if response.stop == FinishReason::Refused {
            return Ok(Some(unchecked_end("the model refused")));
        }
        let calls: Vec<ModelToolCall> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.without_calls(&response, landing);
        }
        let (own, reads): (Vec<_>, Vec<_>) = calls.iter().cloned().enumerate().partition(|(_, call)| call.name == NAME);
        let given = own.into_iter().map(|(at, call)| (at, verdict_of(call)));
        let (mut done, mut verdicts): (Vec<Option<CallOutcome>>, Vec<VerdictAnswer>) =
            (calls.iter().map(|_| None).collect(), Vec::new());
        let unseen = reads.iter().any(|(_, call)| is_reading(call)) && landing.is_none() && !self.waited;
        for (at, given) in given {
            done[at] = Some(match given {
                Ok(given) => {
                    verdicts.push(given);
                    let reason = "other calls of this turn read something that you have not seen yet: look at the results, then \
                                  call give_verdict alone";
                    CallOutcome::refuse("not_accepted", reason)
                }
                Err(called) => *called,
            });
        }
        if let Some(verdict) = VerdictAnswer::combine(&verdicts).filter(|_| !unseen) {
            self.tally.calls += exchange::number(calls.len());
            return Ok(Some(VerificationEnd::Verdict(verdict)));
        }
        if !self.told.has_all_results(calls.len()) {
            return Ok(Some(VerificationEnd::from_recorded(ReplayedConversation::end_of_journal())));
        }
        self.waited |= !verdicts.is_empty();
        if self.request.speech.is_native() && calls.iter().any(was_text) {
            self.speak_in_text();
        }
        self.keep_answer(&response);
        let (reads, others): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(at, call)| is_reading(call) && landing.is_none() && *at < MOST_CALLS);
        for (at, called) in run_reading_calls(reads, &self.told, self.tools).await? {
            done[at] = Some(called);
        }
        for (at, call) in others {
            done[at] = Some(refused_call(&call, landing.is_some()));
        }
        let missing = || CallOutcome::refuse("not_run", "this call was not made");
        let mut called: Vec<CallOutcome> = done.into_iter().map(|called| called.unwrap_or_else(missing)).collect();
        if landing.is_none() {
            self.make_room(&exchange::sizes(&called));
        }
        self.answer(&calls, &mut called)?;
        if landing.is_some() {
            return Ok(Some(no_verdict_end(landing)));
        }
        if called.iter().all(|called| !called.well_formed) {
            if !self.strike(InvalidAnswer::Malformed, None)? {
                return Ok(Some(unchecked_end(
                    "the model's tool calls could not be read, and again not when it was told",
                )));
            }
        } else {
            self.strikes.reset();
        }
        Ok(None)
    }

    /// Reports what was wrong with a response, and returns `true` if it did, since it is not repeated endlessly. A response that is not part of the
    /// conversation yet is added.
    fn strike(&mut self, strike: InvalidAnswer, answer: Option<&TurnResponse>) -> Result<bool, VerificationFailure> {
        let step = self.strikes.record(strike, self.request.speech);
        if step == InvalidAnswerStep::End {
            return Ok(false);
        }
        if let Some(answer) = answer {
            self.keep_answer(answer);
        }
        let text = match (step, strike) {
            (InvalidAnswerStep::Switch(_), _) => {
                self.speak_in_text();
                self.prompts.text_switch()?
            }
            (_, InvalidAnswer::Leaked(_) | InvalidAnswer::Malformed | InvalidAnswer::OutputLimit) => {
                strike.reprompt(self.prompts, self.request.speech)?
            }
            (_, InvalidAnswer::Unfinished | InvalidAnswer::Empty | InvalidAnswer::Declined) => {
                self.prompts.verification_nudge()?
            }
        };
        self.say(text);
        Ok(true)
    }

    fn speak_in_text(&mut self) {
        self.request.speech = ToolCallFormat::Text;
        self.size += estimate_tokens(&self.request.grammar);
    }

    fn keep_answer(&mut self, response: &TurnResponse) {
        self.size += exchange::size_of(response);
        self.request.push_answer(response);
    }

    /// Handles a response in text alone: a verdict, or an invalid answer that is reprompted once.
    fn without_calls(
        &mut self,
        response: &TurnResponse,
        landing: Option<FinalTurn>,
    ) -> Result<Option<VerificationEnd>, VerificationFailure> {
        let text = response.text();
        let cut = response.stop == FinishReason::OutputLimit;
        // The missing end of a cut response may say something else.
        let verdict = if cut { None } else { VerdictAnswer::combine(&as_text::verdicts(&text)) };
        if let Some(verdict) = verdict {
            return Ok(Some(VerificationEnd::Verdict(verdict)));
        }
        if landing.is_some() {
            return Ok(Some(no_verdict_end(landing)));
        }
        let strike = InvalidAnswer::of(response);
        if self.strike(strike, Some(response))? {
            return Ok(None);
        }
        Ok(Some(unchecked_end(match strike {
            InvalidAnswer::Leaked(_) => "the model wrote its tool calls as text, and did so again when told",
            InvalidAnswer::Empty => "the model answered nothing, and did so again when told",
            InvalidAnswer::Declined => "the model said that it will not do this, and did so again when told",
            InvalidAnswer::Unfinished | InvalidAnswer::OutputLimit | InvalidAnswer::Malformed => {
                "the model gave no verdict, and did not when told"
            }
        })))
    }

    /// Puts the results into the conversation, as far as there is room.
    fn answer(&mut self, calls: &[ModelToolCall], called: &mut [CallOutcome]) -> Result<(), ReplayDivergence> {
        let _ = self.trees.new.omissions();
        // What it reads must leave tokens for the verdict.
        let room = self.budget.result_room(self.size).min(self.budget.room_of_tokens(self.size));
        let end = "Call give_verdict with what you have";
        let (results, size) =
            exchange::results((&self.told, &mut self.journal), (calls, called), room, end, |_| false)?;
        let (made, errors) = exchange::counts(called);
        self.tally.calls += made;
        self.tally.errors += errors;
        self.size += size;
        self.request.push(results);
        Ok(())
    }
}
