//! Verification of one finding: requests and tool calls until there is a verdict or another end. Main type: [`Look`].

mod held_up;
mod takeover;

use super::answers::{is_reading, not_made, verdict_of};
use super::as_text;
use super::judged::{Broken, Judged, Tally, no_verdict, stopped_words, unchecked};
use super::question::Question;
use super::verdict::{Given, NAME};
use crate::domain::event::EventSink;
use crate::domain::finding::Confidence;
use crate::domain::text::strip_line;
use crate::llm::{Message, Speech, Stop, ToolCall, TurnRequest, TurnResponse, was_text};
use crate::prompt::{LastTurnVars, Prompts};
use crate::review::attempts::{Ask, NoAnswer};
use crate::review::budget::{Budget, Limits, Reserved};
use crate::review::calls::{Called, MOST_CALLS, read};
use crate::review::compact::{Compaction, Wanted};
use crate::review::exchange::{self, Asking, Heard};
use crate::review::journal::{Journal, Landing, Record};
use crate::review::opening::estimate_tokens;
use crate::review::past::{Coming, Diverged, End, Told, Trees};
use crate::review::relay::Line;
use crate::review::strikes::{Step, Strike, Strikes};
use crate::sys::cancel::Cancel;
use crate::tools::ToolBox;

use held_up::{Retries, limit_words};

/// A conversation about one finding.
pub(super) struct Look<'a> {
    line: Line<'a>,
    prompts: &'a Prompts,
    tools: &'a ToolBox,
    cancel: Cancel,
    events: Retries<'a>,
    budget: Budget,
    journal: Journal,
    told: Told,
    trees: &'a Trees,
    request: TurnRequest,
    /// Messages of this program since the last request, for the journal.
    said: Vec<String>,
    /// Tokens of the conversation, estimated.
    size: u64,
    /// Compaction of the conversation.
    compaction: Compaction,
    /// `true` if a verdict was sent back once, because results of the same turn were not seen yet.
    waited: bool,
    strikes: Strikes,
    tally: Tally,
    /// Set once the model was asked for its final verdict.
    landed: Option<Landing>,
    /// Last requested turn of this session, and the model for which the conversation is too long.
    asked: (u32, Option<u32>),
}

/// Context of all verifications of a run.
#[derive(Clone, Copy)]
pub(super) struct Hands<'a> {
    pub(super) line: Line<'a>,
    pub(super) prompts: &'a Prompts,
    pub(super) tools: &'a ToolBox,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
    pub(super) trees: &'a Trees,
}

impl<'a> Look<'a> {
    pub(super) fn new(hands: Hands<'a>, question: Question, limits: Limits, (told, journal): (Told, Journal)) -> Self {
        let Question { request, message, size } = question;
        Self {
            line: hands.line,
            prompts: hands.prompts,
            tools: hands.tools,
            cancel: hands.cancel.clone(),
            events: Retries(hands.events),
            budget: Budget::new(limits),
            journal,
            told,
            trees: hands.trees,
            request,
            said: vec![message],
            size,
            compaction: Compaction::default(),
            waited: false,
            strikes: Strikes::of_look(),
            tally: Tally::default(),
            landed: None,
            asked: (0, None),
        }
    }

    /// Runs to the end.
    pub(super) async fn run(mut self) -> Result<(Judged, Tally), Diverged> {
        // From here on: it may have waited for others.
        self.cancel = self.cancel.within(self.budget.limits().time);
        let before = self.told.abandoned();
        let judged = match self.judge().await {
            Ok(judged) => judged,
            Err(Broken::Prompt(error)) => unchecked(strip_line(&error.to_string())),
            Err(Broken::Unfinished(work)) => unchecked(work.to_string()),
            Err(Broken::Diverged(diverged)) => return Err(diverged),
        };
        self.told.check()?;
        self.write(&judged)?;
        self.tally.at = self.line.at();
        self.tally.taken_out = self.compaction.results_sent();
        self.tally.turns = self.budget.turns() + before.turns;
        self.tally.usage = match before.usage {
            Some(usage) if self.budget.turns() > 0 => usage.told().plus(self.budget.usage()),
            Some(usage) => usage.told(),
            None => self.budget.usage(),
        };
        self.tally.calls += before.calls;
        self.tally.errors += before.errors;
        self.tally.broken_off += before.broken_off;
        Ok((judged, self.tally))
    }

    /// Records its end, unless it is replayed.
    fn write(&mut self, judged: &Judged) -> Result<(), Diverged> {
        let end = judged.end();
        let End::Verdict { state, why, broken_off } = &end else { return Ok(()) };
        if !self.told.end(self.budget.turns(), &end)? {
            return Ok(());
        }
        let confidence = match judged {
            Judged::Verdict(verdict) => verdict.confidence.over(None).map(Confidence::value),
            Judged::Unchecked(_) | Judged::BrokenOff(_) => None,
        };
        let (state, why, broken_off) = (state.clone(), why.clone(), *broken_off);
        self.journal.record(None, Record::Verdict { state, confidence, why, broken_off });
        self.journal.sync();
        Ok(())
    }

    async fn judge(&mut self) -> Result<Judged, Broken> {
        loop {
            self.follow();
            self.make_room(&[]);
            let again = self.asked.0 > self.budget.turns();
            let landing = match self.told.coming() {
                Coming::Turn { landing: None, max_output, .. } => {
                    self.request.max_output = max_output;
                    None
                }
                Coming::Turn { landing: Some(landing), max_output, .. } => Some((landing, max_output)),
                Coming::End(end) => return Ok(Judged::told(end)),
                Coming::New => {
                    if let Err(stopped) = self.cancel.check() {
                        return Ok(Judged::BrokenOff(stopped_words(stopped).to_owned()));
                    }
                    match self.budget.reserve(self.size, self.cancel.remaining()) {
                        // The model was told that this is the last turn before the request failed.
                        Reserved::Turn | Reserved::Landing(_) if again && self.landed.is_some() => {
                            self.landed.clone().map(|landing| (landing, self.budget.last_answer(self.size)))
                        }
                        Reserved::Turn => {
                            self.request.max_output = self.budget.most_answer(self.size);
                            None
                        }
                        // With the final verdict as its only turn, the model could only repeat the finding.
                        Reserved::Landing(limit) | Reserved::Nothing(limit) if self.budget.turns() == 0 => {
                            return Ok(unchecked(limit_words(limit, &self.budget.limits())));
                        }
                        Reserved::Nothing(limit) => return Ok(unchecked(limit_words(limit, &self.budget.limits()))),
                        Reserved::Landing(limit) => {
                            let landing = Landing { ended: limit, words: limit_words(limit, &self.budget.limits()) };
                            Some((landing, self.budget.last_answer(self.size)))
                        }
                    }
                }
            };
            let landing = landing.map(|(landing, max_output)| {
                self.request.max_output = max_output;
                landing
            });
            if let Some(Landing { words, .. }) = landing.as_ref().filter(|_| self.landed.is_none()) {
                let text = self.prompts.second_look_last_turn(&LastTurnVars { reason: words.clone() })?;
                self.say(text);
                self.landed.clone_from(&landing);
            }
            if let Some(judged) = self.turn(landing).await? {
                return Ok(judged);
            }
        }
    }

    /// Makes room by shortening the oldest results, as in a review.
    fn make_room(&mut self, coming: &[u64]) {
        let wanted = Wanted { size: self.size, most: self.budget.most(), coming };
        if let Some(made) = self.compaction.make_room(&mut self.request, &self.told, &wanted) {
            self.size = self.size.saturating_sub(made.freed);
        }
    }

    fn say(&mut self, text: String) {
        self.size += estimate_tokens(&text);
        self.said.push(text.clone());
        self.request.push(Message::User { text, mark: false });
    }

    async fn turn(&mut self, landing: Option<Landing>) -> Result<Option<Judged>, Broken> {
        let turn = self.budget.turns() + 1;
        let said = std::mem::take(&mut self.said);
        let asking = Asking {
            said,
            is_first: self.budget.turns() == 0,
            landing: landing.clone(),
            compacted: self.compaction.sent(),
            to: self.line.at(),
            again: self.asked.0 == turn,
            most: self.budget.attempt(self.size, self.request.max_output),
        };
        self.asked.0 = turn;
        let (provider, request, cancel, events) = (self.line.provider(), &self.request, &self.cancel, &self.events);
        let (budget, most) = (&self.budget, asking.most);
        let question = Ask { provider, request, turn, cancel, events, lost: &|| budget.lose(most) };
        let (heard, losses) = exchange::hear(&mut self.told, &mut self.journal, asking, &question).await?;
        self.tally.broken_off += losses.all();
        // Its budget is its own, and does not include earlier sessions.
        self.budget.lose(losses.told.cost);
        let (response, took) = match heard {
            Heard::Answer(response, took, is_told) => {
                self.asked = (0, None);
                if !is_told {
                    self.line.answers();
                }
                (response, took)
            }
            Heard::Ended(end) => return Ok(Some(Judged::told(end))),
            Heard::Nothing(NoAnswer::Stopped(stopped)) => {
                return Ok(Some(Judged::BrokenOff(stopped_words(stopped).to_owned())));
            }
            Heard::Nothing(NoAnswer::Fault(fault)) => {
                return Ok(self.recover(&fault).err());
            }
        };
        self.budget.settle(self.size, &response.usage, took);
        let judged = self.take(response, landing).await;
        self.journal.sync();
        judged
    }

    /// Handles a response: its verdict, the results of its calls, or what was wrong with it.
    async fn take(&mut self, response: TurnResponse, landing: Option<Landing>) -> Result<Option<Judged>, Broken> {
        if response.stop == Stop::Refused {
            return Ok(Some(unchecked("the model refused")));
        }
        let calls: Vec<ToolCall> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.without_calls(&response, landing);
        }
        let (own, reads): (Vec<_>, Vec<_>) = calls.iter().cloned().enumerate().partition(|(_, call)| call.name == NAME);
        let given = own.into_iter().map(|(at, call)| (at, verdict_of(call)));
        let (mut done, mut verdicts): (Vec<Option<Called>>, Vec<Given>) =
            (calls.iter().map(|_| None).collect(), Vec::new());
        let unseen = reads.iter().any(|(_, call)| is_reading(call)) && landing.is_none() && !self.waited;
        for (at, given) in given {
            done[at] = Some(match given {
                Ok(given) => {
                    verdicts.push(given);
                    let reason = "other calls of this turn read something that you have not seen yet: look at the results, then \
                                  call give_verdict alone";
                    Called::refused("not_accepted", reason)
                }
                Err(called) => *called,
            });
        }
        if let Some(verdict) = Given::judge(&verdicts).filter(|_| !unseen) {
            self.tally.calls += exchange::number(calls.len());
            return Ok(Some(Judged::Verdict(verdict)));
        }
        if !self.told.has_all(calls.len()) {
            return Ok(Some(Judged::told(Told::broken_off())));
        }
        self.waited |= !verdicts.is_empty();
        if self.request.speech.is_native() && calls.iter().any(was_text) {
            self.speak_in_text();
        }
        self.keep_answer(&response);
        let (reads, others): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(at, call)| is_reading(call) && landing.is_none() && *at < MOST_CALLS);
        for (at, called) in read(reads, &self.told, self.tools).await? {
            done[at] = Some(called);
        }
        for (at, call) in others {
            done[at] = Some(not_made(&call, landing.is_some()));
        }
        let missing = || Called::refused("not_run", "this call was not made");
        let mut called: Vec<Called> = done.into_iter().map(|called| called.unwrap_or_else(missing)).collect();
        if landing.is_none() {
            self.make_room(&exchange::sizes(&called));
        }
        self.answer(&calls, &mut called)?;
        if landing.is_some() {
            return Ok(Some(no_verdict(landing)));
        }
        if called.iter().all(|called| !called.well_formed) {
            if !self.strike(Strike::Malformed, None)? {
                return Ok(Some(unchecked("the model's tool calls could not be read, and again not when it was told")));
            }
        } else {
            self.strikes.forgive();
        }
        Ok(None)
    }

    /// Reports what was wrong with a response, and returns `true` if it did, since it is not repeated endlessly. A response that is not part of the
    /// conversation yet is added.
    fn strike(&mut self, strike: Strike, answer: Option<&TurnResponse>) -> Result<bool, Broken> {
        let step = self.strikes.take(strike, self.request.speech);
        if step == Step::End {
            return Ok(false);
        }
        if let Some(answer) = answer {
            self.keep_answer(answer);
        }
        let text = match (step, strike) {
            (Step::Switch(_), _) => {
                self.speak_in_text();
                self.prompts.text_switch()?
            }
            (_, Strike::Leaked(_) | Strike::Malformed | Strike::OutputLimit) => {
                strike.told(self.prompts, self.request.speech)?
            }
            (_, Strike::Unfinished | Strike::Empty | Strike::Declined) => self.prompts.second_look_nudge()?,
        };
        self.say(text);
        Ok(true)
    }

    fn speak_in_text(&mut self) {
        self.request.speech = Speech::Text;
        self.size += estimate_tokens(&self.request.grammar);
    }

    fn keep_answer(&mut self, response: &TurnResponse) {
        self.size += exchange::size_of(response);
        self.request.push_answer(response);
    }

    /// Handles a response in text alone: a verdict, or an invalid answer that is reprompted once.
    fn without_calls(&mut self, response: &TurnResponse, landing: Option<Landing>) -> Result<Option<Judged>, Broken> {
        let text = response.text();
        let cut = response.stop == Stop::OutputLimit;
        // The missing end of a cut response may say something else.
        let verdict = if cut { None } else { Given::judge(&as_text::verdicts(&text)) };
        if let Some(verdict) = verdict {
            return Ok(Some(Judged::Verdict(verdict)));
        }
        if landing.is_some() {
            return Ok(Some(no_verdict(landing)));
        }
        let strike = Strike::of(response);
        if self.strike(strike, Some(response))? {
            return Ok(None);
        }
        Ok(Some(unchecked(match strike {
            Strike::Leaked(_) => "the model wrote its tool calls as text, and did so again when told",
            Strike::Empty => "the model answered nothing, and did so again when told",
            Strike::Declined => "the model said that it will not do this, and did so again when told",
            Strike::Unfinished | Strike::OutputLimit | Strike::Malformed => {
                "the model gave no verdict, and did not when told"
            }
        })))
    }

    /// Puts the results into the conversation, as far as there is room.
    fn answer(&mut self, calls: &[ToolCall], called: &mut [Called]) -> Result<(), Diverged> {
        let _ = self.trees.new.omissions();
        // What it reads must leave tokens for the verdict.
        let room = self.budget.room(self.size).min(self.budget.room_of_tokens(self.size));
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
