//! One second look: ask, read, ask again, until there is a verdict or something ends it. Main type: [`Look`].

use std::time::Instant;

use super::answers::{is_reading, not_made, verdict_of};
use super::as_text;
use super::question::Question;
use super::verdict::{Given, NAME, Verdict};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::{Ended, Usage};
use crate::domain::text::strip_line;
use crate::llm::{Message, Provider, Stop, ToolCall, TurnRequest, TurnResponse, leaked};
use crate::prompt::{LastTurnVars, PromptError, Prompts};
use crate::review::attempts::{Ask, NoAnswer, ask};
use crate::review::budget::{Budget, Limits, Reserved};
use crate::review::calls::{Called, MOST_CALLS, Panicked, read};
use crate::review::compact::{Compaction, Wanted};
use crate::review::exchange;
use crate::review::journal::{Journal, Record};
use crate::review::opening::estimate_tokens;
use crate::review::strikes::Strikes;
use crate::sys::cancel::{Cancel, Stopped};
use crate::tools::ToolBox;

/// A conversation about one finding.
pub(super) struct Look<'a> {
    provider: &'a dyn Provider,
    prompts: &'a Prompts,
    tools: &'a ToolBox,
    cancel: Cancel,
    events: Retries<'a>,
    budget: Budget,
    journal: Journal,
    request: TurnRequest,
    /// What this program said since the last request, for the journal.
    said: Vec<String>,
    /// Tokens of the conversation, estimated.
    size: u64,
    /// How much of it was taken out to make room.
    compaction: Compaction,
    /// Whether a verdict was sent back once, because results of the same turn were not seen yet.
    waited: bool,
    strikes: Strikes,
    tally: Tally,
}

/// What all looks of a run are taken with.
#[derive(Clone, Copy)]
pub(super) struct Hands<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) prompts: &'a Prompts,
    pub(super) tools: &'a ToolBox,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
}

/// What a look took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts whose cost nobody told.
    pub(super) broken_off: u32,
    /// Results that were taken out of the conversation to make room.
    pub(super) taken_out: u32,
}

/// How a look ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// With a verdict.
    Verdict(Verdict),
    /// Without one: why, a clause.
    Unchecked(String),
}

/// Something of this program's own that ended a look.
enum Broken {
    Prompt(PromptError),
    Panicked,
}

impl From<PromptError> for Broken {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}

impl From<Panicked> for Broken {
    fn from(_: Panicked) -> Self {
        Self::Panicked
    }
}

fn unchecked(why: impl Into<String>) -> Judged {
    Judged::Unchecked(why.into())
}

impl<'a> Look<'a> {
    pub(super) fn new(hands: Hands<'a>, question: Question, limits: Limits, journal: Journal) -> Self {
        let Question { request, message, size } = question;
        Self {
            provider: hands.provider,
            prompts: hands.prompts,
            tools: hands.tools,
            cancel: hands.cancel.clone(),
            events: Retries(hands.events),
            budget: Budget::new(limits),
            journal,
            request,
            said: vec![message],
            size,
            compaction: Compaction::default(),
            waited: false,
            strikes: Strikes::default(),
            tally: Tally::default(),
        }
    }

    /// Runs to the end.
    pub(super) async fn run(mut self) -> (Judged, Tally) {
        // From here on: it may have waited for others.
        self.cancel = self.cancel.within(self.budget.limits().time);
        let judged = match self.judge().await {
            Ok(judged) => judged,
            Err(Broken::Prompt(error)) => unchecked(strip_line(&error.to_string())),
            Err(Broken::Panicked) => {
                unchecked("a part of the program failed unexpectedly; this is a defect of review, please report it")
            }
        };
        let (state, confidence, why) = match &judged {
            Judged::Verdict(verdict) => (verdict.word.word(), verdict.confidence.over(None), verdict.rationale.clone()),
            Judged::Unchecked(why) => ("unchecked", None, why.clone()),
        };
        let confidence = confidence.map(crate::domain::finding::Confidence::value);
        self.journal.record(None, Record::Verdict { state: state.to_owned(), confidence, why });
        self.journal.sync();
        self.tally.taken_out = self.compaction.results;
        self.tally.turns = self.budget.turns();
        self.tally.usage = self.budget.usage();
        (judged, self.tally)
    }

    async fn judge(&mut self) -> Result<Judged, Broken> {
        loop {
            if let Err(stopped) = self.cancel.check() {
                return Ok(unchecked(stopped_words(stopped)));
            }
            self.make_room(&[]);
            let landing = match self.budget.reserve(self.size, self.cancel.remaining()) {
                Reserved::Turn => None,
                Reserved::Landing(limit) => Some(limit),
                Reserved::Nothing(limit) => return Ok(unchecked(self.limit_words(limit))),
            };
            if let Some(limit) = landing {
                // Asked at once for its last word, it could say no more than the finding does.
                if self.budget.turns() == 0 {
                    return Ok(unchecked(self.limit_words(limit)));
                }
                let reason = self.limit_words(limit);
                self.request.max_output = self.budget.last_answer(self.size);
                let text = self.prompts.second_look_last_turn(&LastTurnVars { reason })?;
                self.say(text);
            }
            if let Some(judged) = self.turn(landing).await? {
                return Ok(judged);
            }
        }
    }

    /// As in a review: the oldest results make room.
    fn make_room(&mut self, coming: &[u64]) {
        let wanted = Wanted { size: self.size, most: self.budget.room(0), coming };
        if let Some(made) = self.compaction.make_room(&mut self.request, &wanted) {
            self.size = self.size.saturating_sub(made.freed);
        }
    }

    /// Why a look has to end, as a clause.
    fn limit_words(&self, limit: Ended) -> String {
        let limits = self.budget.limits();
        match limit {
            Ended::TurnLimit => format!("its {} turns are used up", limits.turns),
            Ended::TokenLimit => "its share of the tokens is used up (raise it with --max-tokens)".to_owned(),
            Ended::WindowLimit => format!("it does not fit the model's window of {} tokens", limits.window),
            _ => "its time is used up (raise it with --timeout)".to_owned(),
        }
    }

    fn say(&mut self, text: String) {
        self.size += estimate_tokens(&text);
        self.said.push(text.clone());
        self.request.push(Message::User { text, mark: false });
    }

    async fn turn(&mut self, landing: Option<Ended>) -> Result<Option<Judged>, Broken> {
        let turn = self.budget.turns() + 1;
        self.journal.turn(turn);
        let said = std::mem::take(&mut self.said);
        exchange::asked(&mut self.journal, &self.request, self.budget.turns() == 0, said, self.compaction.messages);
        let started = Instant::now();
        let asked =
            Ask { provider: self.provider, request: &self.request, turn, cancel: &self.cancel, events: &self.events };
        let (answer, failed) = ask(&asked).await;
        self.tally.broken_off += exchange::failed(&mut self.journal, &failed);
        let response = match answer {
            Ok(response) => response.with_plain_names(),
            Err(NoAnswer::Stopped(stopped)) => {
                self.tally.broken_off += 1;
                return Ok(Some(unchecked(stopped_words(stopped))));
            }
            Err(NoAnswer::Fault(fault)) => return Ok(Some(unchecked(strip_line(&fault.to_string())))),
        };
        let took = started.elapsed();
        self.budget.settle(self.size, &response.usage, took);
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.journal.record(None, Record::Answer { response: response.clone(), took_ms });
        let judged = self.take(response, landing).await;
        self.journal.sync();
        judged
    }

    /// Takes an answer: its verdict, or the results of what it reads, or what was wrong with it.
    async fn take(&mut self, response: TurnResponse, landing: Option<Ended>) -> Result<Option<Judged>, Broken> {
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
        self.waited |= !verdicts.is_empty();
        self.keep_answer(&response);
        let (reads, others): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(at, call)| is_reading(call) && landing.is_none() && *at < MOST_CALLS);
        for (at, called) in read(reads, self.tools).await? {
            done[at] = Some(called);
        }
        for (at, call) in others {
            done[at] = Some(not_made(&call, landing.is_some()));
        }
        let missing = || Called::refused("not_run", "this call was not made");
        let mut called: Vec<Called> = done.into_iter().map(|called| called.unwrap_or_else(missing)).collect();
        if landing.is_none() {
            self.make_room(&called.iter().map(|called| estimate_tokens(&called.text)).collect::<Vec<_>>());
        }
        self.answer(&calls, &mut called);
        if landing.is_some() {
            return Ok(Some(self.no_verdict(landing)));
        }
        if called.iter().all(|called| !called.well_formed) {
            if !self.strikes.may_be_told() {
                return Ok(Some(unchecked("the model's tool calls could not be read, and again not when it was told")));
            }
            let text = self.prompts.malformed_calls()?;
            self.say(text);
        } else {
            self.strikes.forgive();
        }
        Ok(None)
    }

    fn no_verdict(&self, landing: Option<Ended>) -> Judged {
        unchecked(landing.map_or_else(
            || "the model gave no verdict".to_owned(),
            |limit| format!("the model gave no verdict before {}", self.limit_words(limit)),
        ))
    }

    fn keep_answer(&mut self, response: &TurnResponse) {
        self.size += exchange::size_of(response);
        self.request.push_answer(response);
    }

    /// An answer in text alone: a verdict, or something to be told once.
    fn without_calls(&mut self, response: &TurnResponse, landing: Option<Ended>) -> Result<Option<Judged>, Broken> {
        let text = response.text();
        let cut = response.stop == Stop::OutputLimit;
        // The end of an answer that was cut may say something else.
        let verdict = if cut { None } else { Given::judge(&as_text::verdicts(&text)) };
        if let Some(verdict) = verdict {
            return Ok(Some(Judged::Verdict(verdict)));
        }
        if landing.is_some() {
            return Ok(Some(self.no_verdict(landing)));
        }
        let is_leaked = leaked(&text).is_some();
        if !self.strikes.may_be_told() {
            return Ok(Some(unchecked(match (is_leaked, text.trim().is_empty()) {
                (true, _) => "the model wrote its tool calls as text, and did so again when told",
                (false, true) => "the model answered nothing, and did so again when told",
                (false, false) => "the model gave no verdict, and did not when told",
            })));
        }
        self.keep_answer(response);
        let text = match (is_leaked, cut) {
            (true, _) => self.prompts.leaked_markup()?,
            (false, true) => self.prompts.output_limit()?,
            (false, false) => self.prompts.second_look_nudge()?,
        };
        self.say(text);
        Ok(None)
    }

    /// Puts the results into the conversation, as far as there is room.
    fn answer(&mut self, calls: &[ToolCall], called: &mut [Called]) {
        let (made, errors) = exchange::counts(called);
        self.tally.calls += made;
        self.tally.errors += errors;
        // What it reads must leave tokens for the verdict.
        let room = self.budget.room(self.size).min(self.budget.room_of_tokens(self.size));
        let end = "Call give_verdict with what you have";
        let (results, size) = exchange::results(&mut self.journal, calls, called, room, end, |_| false);
        self.size += size;
        self.request.push(results);
    }
}

fn stopped_words(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Interrupted => "it was interrupted",
        Stopped::DeadlinePassed => "its time was used up (raise it with --timeout)",
    }
}

/// Of a look, only what holds it up is told: its turns would be taken for those of the review.
struct Retries<'a>(&'a dyn EventSink);

impl EventSink for Retries<'_> {
    fn emit(&self, event: Event) {
        if let Event::Retry { attempt, wait_ms, reason, .. } = event {
            let wait = wait_ms.div_ceil(1_000);
            let text = format!("the second look waits {wait} s for attempt {attempt}: {reason}");
            self.0.emit(Event::Notice { text });
        }
    }
}
