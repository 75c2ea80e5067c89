//! Conversations about the parts of a change, some of them concurrent. Main function: [`review`].
//!
//! A part begins after the one before it, if the budget has room for it and its provider responds; a failed part does not affect the others. All of
//! them are driven by one task.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};

use super::across::{self, Parts};
use super::layout::Layout;
use super::merge::Ended as End;
use super::together::{Done, Together};
use crate::domain::event::{Event, UnitState};
use crate::domain::review::Ended;
use crate::llm::{Message, ToolDefinition, TurnRequest, TurnUsage, Waited};
use crate::prompt::PromptError;
use crate::review::budget::{Budget, Kept, Purse, Seat, words};
use crate::review::by_model::ModelRun;
use crate::review::by_rules::abandoned;
use crate::review::course::Course;
use crate::review::desk::Desk;
use crate::review::draft::Ending;
use crate::review::error::EngineError;
use crate::review::exchange::number;
use crate::review::journal::{Journal, Record, SharedName, Unit};
use crate::review::opening::{Opening, estimate_tokens};
use crate::review::past::{Coming, Diverged, Told};
use crate::review::relay::Line;
use crate::review::strikes::Strikes;
use crate::review::tally::{Tally, Unanswered};
use crate::review::turns::{Asked, Turns};
use crate::sys::blocking::{self, Unfinished};

/// Number of concurrent conversations.
const AT_ONCE: usize = 3;
/// Number of consecutive provider failures after which no further part is begun.
const MOST_FAULTS: u32 = 3;

/// Input of a review with a model.
pub(in crate::review) struct Begin {
    /// Desk of the whole change, with the results of the rules.
    pub(in crate::review) desk: Desk,
    pub(in crate::review) tools: Vec<ToolDefinition>,
    /// Size of the tools in a request, in tokens.
    pub(in crate::review) tools_size: u64,
    pub(in crate::review) layout: Layout,
    /// Desk and first message of each part; empty if the change is reviewed as a whole.
    pub(in crate::review) parts: Vec<(Desk, Opening)>,
    /// First message if it is reviewed as a whole.
    pub(in crate::review) whole: Option<Opening>,
}

/// Outcome of the review.
pub(in crate::review) struct Reviewed {
    pub(in crate::review) desk: Desk,
    pub(in crate::review) ending: Ending,
    pub(in crate::review) tally: Tally,
    /// Budget with what was spent and what remains.
    pub(in crate::review) budget: Budget,
    pub(in crate::review) journal: Journal,
}

/// Reviews a change, as a whole or in its parts. `over` is the outcome if it ended before it began.
pub(in crate::review) async fn review(
    run: &Arc<ModelRun>,
    begin: Begin,
    journal: Journal,
    over: Option<Ending>,
) -> Result<Reviewed, EngineError> {
    let Begin { desk, tools, tools_size, layout, parts, whole } = begin;
    let conversation = |desk: Desk, opening: Opening, budget: Budget, (told, journal): (Told, Journal)| {
        conversation(run, &tools, tools_size, (desk, opening), budget, (told, journal))
    };
    let taken = run.past.taken();
    let before = taken.usage.unwrap_or(TurnUsage::NOTHING);
    if let Some(opening) = whole {
        let purse = Purse::new(run.limits, &[]);
        purse.count(taken.turns, &before, taken.known);
        let told = run.past.told(&Unit::WHOLE);
        let mut turns = conversation(desk, opening, Budget::alone(&purse, run.limits), (told, journal))?;
        let ending = match over {
            Some(over) => turns.end(over)?,
            None => turns.run().await?,
        };
        let Turns { tally, budget, desk, journal, .. } = turns;
        return Ok(Reviewed { desk: back(desk)?, ending, tally, budget, journal });
    }
    let sizes: Vec<u64> = parts.iter().map(|(_, opening)| tools_size + size_of(opening)).collect();
    let look = tools_size + across::room(&run.limits);
    let purse = Purse::new(run.limits, &[&sizes[..], &[look]].concat());
    let team = Team { run, tools_size, purse, of: sizes.len(), faults: AtomicU32::new(0), over };
    let promised = team.purse.promised();
    team.purse.count(taken.turns, &before, taken.known);
    let mut units: Vec<Waited<'_, Result<Done, EngineError>>> = Vec::with_capacity(sizes.len());
    for ((at, (desk, opening)), size) in parts.into_iter().enumerate().zip(sizes) {
        let files = layout.units.get(at).cloned().unwrap_or_default();
        let unit = Unit::Part(number(at));
        let (told, journal) = (run.past.told(&unit), journal.of(unit));
        // Parts begun in an earlier session have priority over the others, in any position.
        let seat = told.was_asked().then(|| team.purse.go_on(at, if told.is_open() { size } else { 0 }));
        let (team, conversation) = (&team, &conversation);
        units.push(Box::pin(async move {
            let begun = team.begins(at, (files.len(), size), seat, (told, journal))?;
            let done = match begun {
                Ok((seat, line)) => {
                    let turns = conversation(desk, opening, Budget::begun(seat, run.limits), line)?;
                    team.drive(at, files, turns).await?
                }
                Err(ending) => Done {
                    end: End { at, files: files.len(), ending, begun: false },
                    desk,
                    files,
                    tally: Tally::default(),
                },
            };
            Ok(done)
        }));
    }
    // Parts without a promise depend on what the others leave: each waits for the end of all before it, so that its budget does not depend on timing,
    // and an interrupted run begins the same ones when resumed.
    let rest = units.split_off(promised.min(units.len()));
    let mut done: Vec<Done> = Vec::with_capacity(team.of);
    for (units, at_once) in [(units, AT_ONCE), (rest, 1)] {
        let mut driven = stream::iter(units).buffer_unordered(at_once);
        while let Some(unit) = driven.next().await {
            done.push(unit?);
        }
    }
    done.sort_by_key(|done| done.end.at);
    let mut together = Together::of(desk, done);
    let desk = together.desk.beside();
    let units = layout.units;
    let line = (run.past.told(&Unit::across()), journal.of(Unit::across()));
    let looked = match team.looks(&together, units, line).await? {
        Ok((seat, opening, line)) => {
            let budget = Budget::begun(seat, across::limits(&run.limits));
            let mut turns = conversation(desk, opening, budget, line)?;
            let ending = turns.run().await?;
            let Turns { mut tally, desk, told, .. } = turns;
            let before = told.abandoned();
            tally.calls += before.calls;
            tally.errors += before.errors;
            tally.broken_off += before.broken_off;
            Ok((ending, tally, back(desk)?))
        }
        Err(why) => Err(why),
    };
    together.take(looked);
    Ok(together.reviewed(Budget::shared(&team.purse, run.limits), journal))
}

/// Context of all parts.
struct Team<'a> {
    run: &'a Arc<ModelRun>,
    /// Size of the tools in a request, in tokens.
    tools_size: u64,
    purse: Purse,
    /// Number of parts.
    of: usize,
    /// Number of consecutive parts that the provider failed.
    faults: AtomicU32,
    /// Set if no request is sent at all.
    over: Option<Ending>,
}

/// Budget share of a started part, with its recording and its journal; otherwise the reason why it was not started.
type Begun = Result<(Seat, (Told, Journal)), Ending>;

impl Team<'_> {
    /// Starts a part, or continues one of an earlier session; otherwise returns the reason, which is recorded.
    fn begins(
        &self,
        at: usize,
        (files, size): (usize, u64),
        seat: Option<Seat>,
        (told, mut journal): (Told, Journal),
    ) -> Result<Begun, Diverged> {
        let begun = match (seat, told.coming()) {
            (Some(seat), _) => Ok(seat),
            (None, Coming::End(end)) => {
                let (ended, why) = end.words();
                Err(Ending::told(ended, why))
            }
            (None, Coming::Turn { .. } | Coming::New) => self.may_begin(at, size),
        };
        self.tell(at, files, if begun.is_ok() { UnitState::Begun } else { UnitState::NotBegun });
        Ok(match begun {
            Ok(seat) => Ok((seat, (told, journal))),
            Err(ending) => {
                let (ended, why) = (ending.ended(), ending.reason());
                if told.ends(0, ended, why.as_deref())? {
                    journal.record(None, Record::End { ended, why });
                    journal.sync();
                }
                Err(ending)
            }
        })
    }

    fn may_begin(&self, at: usize, size: u64) -> Result<Seat, Ending> {
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        self.run.cancel.check().map_err(Ending::Stopped)?;
        if self.faults.load(Ordering::Relaxed) >= MOST_FAULTS {
            let why = format!("the provider failed for good in {MOST_FAULTS} other parts");
            return Err(Ending::Short { ended: Ended::ProviderFault, why });
        }
        let seat = self.purse.may_begin(at, size, self.run.cancel.remaining());
        seat.map_err(|ended| Ending::Short { ended, why: words(ended, &self.run.limits, &Kept::default()) })
    }

    async fn drive(&self, at: usize, files: Vec<usize>, mut turns: Turns<'_>) -> Result<Done, EngineError> {
        let ending = turns.run().await?;
        let is_done = ending == Ending::Done;
        match ending.ended() {
            Ended::ProviderFault | Ended::RequestRefused => self.faults.fetch_add(1, Ordering::Relaxed),
            _ => self.faults.swap(0, Ordering::Relaxed),
        };
        self.tell(at, files.len(), if is_done { UnitState::Done } else { UnitState::BrokenOff });
        let Turns { tally, desk, .. } = turns;
        Ok(Done { end: End { at, files: files.len(), ending, begun: true }, desk: back(desk)?, files, tally })
    }

    /// Starts the cross-part pass, or continues that of an earlier session, with its first message; otherwise returns the reason, which is recorded.
    async fn looks(
        &self,
        together: &Together,
        units: Vec<Vec<usize>>,
        (mut told, mut journal): (Told, Journal),
    ) -> Result<Result<(Seat, Opening, (Told, Journal)), String>, EngineError> {
        let why_not = across::why_not(&together.ends);
        if why_not.is_some() || !told.was_asked() {
            told.begin_anew();
        }
        let taken = match (why_not, told.coming()) {
            (Some(why), _) => Err((Ended::Unfinished, why)),
            (None, Coming::End(end)) => Err(end.words()),
            (None, Coming::Turn { .. }) => {
                let opening = self.question(together, units, &mut journal).await?;
                opening.map(|opening| (self.purse.go_on(self.of, self.tools_size + size_of(&opening)), opening))
            }
            (None, Coming::New) => self.question(together, units, &mut journal).await?.and_then(|opening| {
                match self.may_look(size_of(&opening)) {
                    Ok(seat) => Ok((seat, opening)),
                    Err(ending) => Err((ending.ended(), ending.reason().unwrap_or_default())),
                }
            }),
        };
        Ok(match taken {
            Ok((seat, opening)) => {
                let text = "looking at how the parts of the change go together".to_owned();
                self.run.events.emit(Event::Notice { text });
                Ok((seat, opening, (told, journal)))
            }
            Err((ended, why)) => {
                if told.ends(0, ended, Some(&why))? {
                    journal.record(None, Record::End { ended, why: Some(why.clone()) });
                    journal.sync();
                }
                Err(why)
            }
        })
    }

    fn may_look(&self, size: u64) -> Result<Seat, Ending> {
        self.run.cancel.check().map_err(Ending::Stopped)?;
        let seat = self.purse.may_begin(self.of, self.tools_size + size, self.run.cancel.remaining());
        seat.map_err(|ended| Ending::Short { ended, why: words(ended, &self.run.limits, &Kept::default()) })
    }

    /// Returns the first message of the cross-part pass; otherwise the reason why there is none, which must not affect the findings of the parts.
    async fn question(
        &self,
        together: &Together,
        units: Vec<Vec<usize>>,
        journal: &mut Journal,
    ) -> Result<Result<Opening, (Ended, String)>, EngineError> {
        let run = Arc::clone(self.run);
        let mut journal = journal.of(Unit::across());
        let (ends, farewells) = (together.ends.clone(), together.farewells.clone());
        let findings = together.desk.found();
        let work = move || {
            let told = run.past.names().map(<[SharedName]>::to_vec);
            let shared = told.unwrap_or_else(|| {
                let names = across::shared(&run, &units);
                // A stopped reader has not read all of them.
                if run.cancel.check().is_ok() {
                    journal.record(None, Record::Names { names: names.clone() });
                }
                names
            });
            let parts = Parts { units: &units, ends: &ends, farewells: &farewells, findings: &findings };
            across::question(&run, &parts, &shared)
        };
        match blocking::run("the question across the parts", &self.run.cancel, work).await {
            Err(work @ Unfinished::Abandoned { .. }) => {
                let ending = abandoned(&work);
                Ok(Err((ending.ended(), ending.reason().unwrap_or_default())))
            }
            opening => Ok(Ok(opening??)),
        }
    }

    fn tell(&self, at: usize, files: usize, state: UnitState) {
        self.run.events.emit(Event::Unit { number: number(at + 1), of: number(self.of), files: number(files), state });
    }
}

fn conversation<'a>(
    run: &'a ModelRun,
    tools: &[ToolDefinition],
    tools_size: u64,
    (desk, opening): (Desk, Opening),
    budget: Budget,
    (told, journal): (Told, Journal),
) -> Result<Turns<'a>, PromptError> {
    let grammar = run.prompts.text_protocol()?;
    let speech = told.began_in().unwrap_or_else(|| run.provider.capabilities().speech());
    let size = tools_size + size_of(&opening) + if speech.is_native() { 0 } else { estimate_tokens(&grammar) };
    let Opening { system, message, shown, .. } = opening;
    let request = TurnRequest {
        system,
        tools: tools.to_vec(),
        messages: vec![Message::User { text: message.clone(), mark: true }],
        max_output: run.limits.max_output,
        speech,
        grammar,
        ..TurnRequest::default()
    };
    Ok(Turns {
        line: Line::of(run),
        prompts: &run.prompts,
        tools: &run.tools,
        desk: Arc::new(Mutex::new(desk)),
        budget,
        second_look: run.second_look.as_ref().map(|second| second.which),
        journal,
        told,
        cancel: &run.cancel,
        events: run.events.as_ref(),
        request,
        unanswered: Unanswered { opening: shown, results: Vec::new(), user: vec![message], size },
        tally: Tally::default(),
        strikes: Strikes::default(),
        course: Course::default(),
        landed: None,
        asking: Asked::default(),
    })
}

/// Returns the size of an opening, in tokens.
fn size_of(opening: &Opening) -> u64 {
    estimate_tokens(&opening.system) + estimate_tokens(&opening.message)
}

/// Returns the desk of a finished conversation: all its calls have ended, so there is no other reference.
fn back(desk: Arc<Mutex<Desk>>) -> Result<Desk, EngineError> {
    let desk = Arc::into_inner(desk).ok_or(EngineError::Broken)?;
    Ok(desk.into_inner().unwrap_or_else(PoisonError::into_inner))
}
