//! Conversation loop: request, tool calls, results, until the model finishes or something ends it. Main type: [`Turns`].
//!
//! The effect of a call belongs in `calls` and `desk`, limits in `budget`, waiting for a response in `attempts`.

mod last;
mod strike;
mod takeover;

use std::sync::{Arc, Mutex, PoisonError};

use super::attempts::{Ask, NoAnswer};
use super::budget::{Budget, Reserved};
use super::calls::{Called, Hands, about, execute};
use super::compact::Wanted;
use super::course::Course;
use super::desk::{Desk, Effect};
use super::draft::Ending;
use super::error::EngineError;
use super::exchange::{self, Asking, Heard};
use super::journal::{Journal, Landing};
use super::opening::estimate_tokens;
use super::past::{Coming, Diverged, Told};
use super::relay::Line;
use super::strikes::{Strike, Strikes};
use super::tally::{Tally, Unanswered};
use super::verify::{self, Which};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::Ended;
use crate::domain::text::strip_line;
use crate::llm::{Message, Stop, ToolCall, ToolInput, TurnRequest, TurnResponse, was_text};
use crate::prompt::Prompts;
use crate::sys::cancel::Cancel;
use crate::tools::ToolBox;

pub(super) use takeover::Asked;

/// A conversation under way.
pub(super) struct Turns<'a> {
    /// Active model.
    pub(super) line: Line<'a>,
    pub(super) prompts: &'a Prompts,
    pub(super) tools: &'a ToolBox,
    pub(super) desk: Arc<Mutex<Desk>>,
    pub(super) budget: Budget,
    /// Findings that will be verified: a part of the budget is reserved for them.
    pub(super) second_look: Option<Which>,
    pub(super) journal: Journal,
    /// Recording of earlier sessions.
    pub(super) told: Told,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
    /// Conversation so far.
    pub(super) request: TurnRequest,
    /// Content of the next request; it counts as covered when the response arrives.
    pub(super) unanswered: Unanswered,
    pub(super) tally: Tally,
    pub(super) strikes: Strikes,
    /// Loop detector.
    pub(super) course: Course,
    /// Set once the model was asked to finish.
    pub(super) landed: Option<Landing>,
    /// Last requested turn of this session, while it has no response.
    pub(super) asking: Asked,
}

/// Next action.
enum Due {
    /// Send a request, for the last time for this reason.
    Turn(Option<Landing>),
    End(Ending),
}

/// Continuation of the loop.
enum Next {
    Turn,
    End(Ending),
}

fn short(ended: Ended, why: impl Into<String>) -> Ending {
    Ending::Short { ended, why: why.into() }
}

impl Turns<'_> {
    /// Runs the conversation to its end. The desk holds the results, whatever happens.
    pub(super) async fn run(&mut self) -> Result<Ending, EngineError> {
        self.told.begin_with(&self.request);
        if !self.request.speech.is_native() {
            self.tally.in_text = Some("it cannot call them in any other way");
        }
        loop {
            let next = match self.due()? {
                Due::Turn(landing) => self.turn(landing).await?,
                Due::End(ending) => Next::End(ending),
            };
            match next {
                Next::Turn => {}
                Next::End(ending) if self.goes_on(&ending)? => {}
                Next::End(ending) => return self.end(ending),
            }
        }
    }

    /// Returns the next action: the recorded one, or what the budget permits.
    fn due(&mut self) -> Result<Due, EngineError> {
        self.follow();
        self.make_room(&[]);
        match self.told.coming() {
            Coming::Turn { landing: None, max_output, .. } => {
                self.request.max_output = max_output;
                return Ok(Due::Turn(None));
            }
            Coming::Turn { landing: Some(landing), max_output, .. } => {
                self.land(&landing, max_output)?;
                return Ok(Due::Turn(Some(landing)));
            }
            Coming::End(end) => {
                let (ended, why) = end.words();
                if matches!(ended, Ended::TurnLimit | Ended::TokenLimit | Ended::CostLimit | Ended::WindowLimit) {
                    self.tally.limits.push(why.clone());
                }
                return Ok(Due::End(Ending::told(ended, why)));
            }
            Coming::New => {}
        }
        if let Err(stopped) = self.cancel.check() {
            return Ok(Due::End(Ending::Stopped(stopped)));
        }
        let reserved = self.reserve();
        if self.is_asked_again() {
            return self.due_again(reserved);
        }
        self.reserved(reserved)
    }

    fn reserved(&mut self, reserved: Reserved) -> Result<Due, EngineError> {
        Ok(match (reserved, self.course.is_stuck()) {
            (Reserved::Turn, Some(words)) => {
                let landing = Landing { ended: Ended::Unfinished, words };
                self.land(&landing, self.budget.last_answer(self.unanswered.size))?;
                Due::Turn(Some(landing))
            }
            (Reserved::Turn, None) => {
                self.request.max_output = self.budget.most_answer(self.unanswered.size);
                Due::Turn(None)
            }
            (Reserved::Landing(limit), _) => {
                let landing = Landing { ended: limit, words: self.budget.words(limit) };
                self.land(&landing, self.budget.last_answer(self.unanswered.size))?;
                Due::Turn(Some(landing))
            }
            (Reserved::Nothing(limit), _) => {
                let words = self.budget.words(limit);
                self.tally.limits.push(words.clone());
                Due::End(short(limit, words))
            }
        })
    }

    fn reserve(&mut self) -> Reserved {
        if let Some(which) = self.second_look {
            let findings = self.desk().counted(|finding| which.takes(finding));
            let findings = self.budget.findings(findings);
            self.budget.keep(verify::kept(findings, &self.budget.limits()));
        }
        self.budget.reserve(self.unanswered.size, self.cancel.remaining())
    }

    /// Removes the oldest results from the conversation: the recorded ones, or as many as necessary for it and the new results to fit the window.
    fn make_room(&mut self, coming: &[u64]) {
        let wanted = Wanted { size: self.unanswered.size, most: self.budget.most(), coming };
        if let Some(made) = self.tally.compaction.make_room(&mut self.request, &self.told, &wanted) {
            self.unanswered.size = self.unanswered.size.saturating_sub(made.freed);
            self.course.forget();
            self.events.emit(Event::Notice { text: made.words(self.budget.limits().window) });
        }
    }

    /// Adds a message of ours.
    fn say(&mut self, text: String) {
        self.unanswered.size += estimate_tokens(&text);
        self.unanswered.user.push(text.clone());
        let mark = self.request.messages.is_empty();
        self.request.push(Message::User { text, mark });
    }

    async fn turn(&mut self, landing: Option<Landing>) -> Result<Next, EngineError> {
        let (turn, most) = (self.budget.turns() + 1, self.budget.limits().turns);
        self.events.emit(Event::Turn { turn, most });
        let asking = Asking {
            said: std::mem::take(&mut self.unanswered.user),
            is_first: self.budget.turns() == 0,
            landing: landing.clone(),
            compacted: self.tally.compaction.sent(),
            to: self.line.at(),
            again: self.asking.turn == turn,
            most: self.budget.attempt(self.unanswered.size, self.request.max_output),
        };
        self.asking.turn = turn;
        let (provider, request, cancel, events) = (self.line.provider(), &self.request, self.cancel, self.events);
        let (budget, most) = (&self.budget, asking.most);
        let question = Ask { provider, request, turn, cancel, events, lost: &|| budget.lose(most) };
        let (heard, losses) = exchange::hear(&mut self.told, &mut self.journal, asking, &question).await?;
        self.tally.broken_off += losses.all();
        self.budget.lost(losses.all().cost);
        let response = match heard {
            Heard::Answer(response, took, is_told) => {
                self.answered(is_told);
                let settle = if is_told { Budget::settle_told } else { Budget::settle };
                settle(&mut self.budget, self.unanswered.size, &response.usage, took);
                response
            }
            Heard::Ended(end) => {
                let (ended, why) = end.words();
                return Ok(Next::End(Ending::told(ended, why)));
            }
            Heard::Nothing(NoAnswer::Stopped(stopped)) => return Ok(Next::End(Ending::Stopped(stopped))),
            Heard::Nothing(NoAnswer::Fault(fault)) => {
                return Ok(self.recover(&fault).map_or_else(Next::End, |()| Next::Turn));
            }
        };
        self.tell_spent(turn);
        let next = self.take(turn, response, landing).await;
        self.told.check()?;
        self.journal.sync();
        self.tell_journal_fault();
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

    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a response: makes its calls, or reports what was wrong with it.
    async fn take(&mut self, turn: u32, response: TurnResponse, landing: Option<Landing>) -> Result<Next, EngineError> {
        // A refusing provider revokes what came before, including calls.
        if response.stop == Stop::Refused {
            return Ok(Next::End(Strike::refusal(&response.text())));
        }
        let calls: Vec<ToolCall> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.without_calls(&response, landing);
        }
        if !self.told.has_all(calls.len()) {
            let (ended, why) = Told::broken_off().words();
            return Ok(Next::End(Ending::told(ended, why)));
        }
        if self.request.speech.is_native() && calls.iter().any(was_text) {
            self.speak_in_text("the server takes no tools for it");
        }
        self.keep_answer(&response);
        for call in &calls {
            self.events.emit(Event::Call { turn, tool: strip_line(&call.name), about: about(call) });
        }
        // A readable response proves that the model has seen the request, before any of its calls is made: `finish_review` checks that.
        if calls.iter().any(|call| matches!(call.input, ToolInput::Object(_))) {
            self.credit();
        }
        let turned = self.course.enter(&calls);
        let hands = Hands {
            tools: self.tools,
            desk: &self.desk,
            turned: &turned,
            landing: landing.is_some(),
            told: &self.told,
            cancel: self.cancel,
        };
        let mut called = execute(&calls, &hands).await?;
        let finished = called.iter().any(|called| matches!(called.effect, Effect::Finished));
        let malformed = called.iter().all(|called| !called.well_formed);
        // A result that is not sent needs no room.
        if !finished && landing.is_none() {
            self.make_room(&exchange::sizes(&called));
        }
        self.answer(&calls, &mut called)?;
        self.count(&called);
        self.course.answered(&turned, &called);
        match landing {
            Some(Landing { ended, words }) => return Ok(Next::End(short(ended, words))),
            None if finished => return Ok(Next::End(Ending::Done)),
            None => {}
        }
        let strike = match (malformed, &response.stop) {
            (true, Stop::OutputLimit) => Some(Strike::OutputLimit),
            (true, _) => Some(Strike::Malformed),
            (false, _) => None,
        };
        match strike {
            Some(strike) => self.strike(strike, None),
            None => {
                self.strikes.forgive();
                if self.course.is_to_be_told() {
                    let text = self.prompts.stalled()?;
                    self.say(text);
                }
                Ok(Next::Turn)
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
        let mut desk = self.desk();
        for shown in &opening {
            desk.shown(shown);
        }
        desk.saw(&results);
    }

    fn count(&mut self, called: &[Called]) {
        let (made, errors) = exchange::counts(called);
        self.tally.calls += made;
        self.tally.errors += errors;
        for called in called {
            match &called.effect {
                Effect::Finding { id, title, severity, path, line } => self.events.emit(Event::Finding {
                    id: id.clone(),
                    title: strip_line(title),
                    severity: *severity,
                    path: path.to_string(),
                    line: *line,
                }),
                Effect::Withheld { title, reason } => {
                    self.events.emit(Event::Withheld { title: strip_line(title), reason: strip_line(reason) });
                }
                Effect::None | Effect::Finished => {}
            }
        }
    }

    /// Puts the results into the conversation, as far as there is room.
    fn answer(&mut self, calls: &[ToolCall], called: &mut [Called]) -> Result<(), Diverged> {
        self.desk().tell_omissions();
        let room = self.budget.room(self.unanswered.size);
        let (end, always) = ("Report what you have and call finish_review", |call: &ToolCall| Desk::is_own(&call.name));
        let (results, size) = exchange::results((&self.told, &mut self.journal), (calls, called), room, end, always)?;
        self.unanswered.size += size;
        self.budget.hold(self.unanswered.size);
        for called in called {
            self.unanswered.results.append(&mut called.shown);
        }
        self.request.push(results);
        Ok(())
    }
}
