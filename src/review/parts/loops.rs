//! Conversations about the parts of a change, some of them concurrent. Main function: [`review`].
//!
//! A part begins after the one before it, if the budget has room for it and its provider responds; a failed part does not affect the others. All of
//! them are driven by one task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{StreamExt as _, stream};

use super::combined::{CombinedParts, FinishedPart};
use super::cross_part::{self, CrossPartInput};
use super::layout::ReviewLayout;
use super::merge::PartResult as End;
use crate::domain::event::{Event, UnitState};
use crate::domain::review::StopReason;
use crate::llm::{BoxFuture, Message, ToolDefinition, TurnRequest, TurnUsage};
use crate::prompt::PromptError;
use crate::review::budget::{BudgetShare, ConversationBudget, SharedBudget, VerificationReserve, describe_limit};
use crate::review::builder::ReviewBuilder;
use crate::review::by_model::ModelRun;
use crate::review::by_rules::abandoned_outcome;
use crate::review::draft::EngineOutcome;
use crate::review::error::EngineError;
use crate::review::exchange::number;
use crate::review::failover::ActiveModel;
use crate::review::invalid_answers::InvalidAnswerPolicy;
use crate::review::journal::{ConversationId, Journal, JournalRecord, SharedName};
use crate::review::loop_detector::LoopDetector;
use crate::review::opening::{Opening, estimate_tokens};
use crate::review::replay::{NextReplayStep, ReplayDivergence, ReplayedConversation};
use crate::review::stats::{ConversationStats, InFlightRequest};
use crate::review::turns::{PendingFailover, ReviewConversation};
use crate::sys::blocking::{self, BlockingFailure};

/// Number of concurrent conversations.
const AT_ONCE: usize = 3;
/// Number of consecutive provider failures after which no further part is begun.
const MOST_FAULTS: u32 = 3;

/// Input of a review with a model.
pub(in crate::review) struct ModelReviewInput {
    /// Desk of the whole change, with the results of the rules.
    pub(in crate::review) builder: ReviewBuilder,
    pub(in crate::review) tools: Vec<ToolDefinition>,
    /// Size of the tools in a request, in tokens.
    pub(in crate::review) tools_size: u64,
    pub(in crate::review) layout: ReviewLayout,
    /// Desk and first message of each part; empty if the change is reviewed as a whole.
    pub(in crate::review) parts: Vec<(ReviewBuilder, Opening)>,
    /// First message if it is reviewed as a whole.
    pub(in crate::review) whole: Option<Opening>,
}

/// Outcome of the review.
pub(in crate::review) struct ModelReviewOutcome {
    pub(in crate::review) builder: ReviewBuilder,
    pub(in crate::review) ending: EngineOutcome,
    pub(in crate::review) tally: ConversationStats,
    /// Budget with what was spent and what remains.
    pub(in crate::review) budget: ConversationBudget,
    pub(in crate::review) journal: Journal,
}

/// Drives the parts to their ends, and returns them in their order. The first `promised` ones run side by side.
async fn drive_parts(
    mut units: Vec<BoxFuture<'_, Result<FinishedPart, EngineError>>>,
    promised: usize,
) -> Result<Vec<FinishedPart>, EngineError> {
    // Parts without a promise depend on what the others leave: each waits for the end of all before it, so that its budget does not depend on timing,
    // and an interrupted run begins the same ones when resumed.
    let rest = units.split_off(promised.min(units.len()));
    let mut done: Vec<FinishedPart> = Vec::with_capacity(units.len() + rest.len());
    for (units, at_once) in [(units, AT_ONCE), (rest, 1)] {
        let mut driven = stream::iter(units).buffer_unordered(at_once);
        while let Some(unit) = driven.next().await {
            done.push(unit?);
        }
    }
    done.sort_by_key(|done| done.end.at);
    Ok(done)
}

/// Reviews a change, as a whole or in its parts. `over` is the outcome if it ended before it began.
pub(in crate::review) async fn review(
    run: &Arc<ModelRun>,
    begin: ModelReviewInput,
    journal: Journal,
    over: Option<EngineOutcome>,
) -> Result<ModelReviewOutcome, EngineError> {
    let ModelReviewInput { builder, tools, tools_size, layout, parts, whole } = begin;
    let conversation = |builder: ReviewBuilder,
                        opening: Opening,
                        budget: ConversationBudget,
                        (told, journal): (ReplayedConversation, Journal)| {
        conversation(run, &tools, tools_size, (builder, opening), budget, (told, journal))
    };
    let taken = run.past.recorded_time();
    let before = taken.usage.unwrap_or(TurnUsage::NOTHING);
    if let Some(opening) = whole {
        let purse = SharedBudget::new(run.limits, &[]);
        purse.add_recorded_turns(taken.turns, &before, taken.known);
        let told = run.past.replayed_conversation(&ConversationId::WHOLE);
        let mut turns = conversation(
            builder,
            opening,
            ConversationBudget::for_single_conversation(&purse, run.limits),
            (told, journal),
        )?;
        let ending = match over {
            Some(over) => turns.end(over)?,
            None => turns.run().await?,
        };
        let ReviewConversation { tally, budget, builder, journal, .. } = turns;
        return Ok(ModelReviewOutcome { builder, ending, tally, budget, journal });
    }
    let sizes: Vec<u64> = parts.iter().map(|(_, opening)| tools_size + size_of(opening)).collect();
    let look = tools_size + cross_part::opening_room(&run.limits);
    let purse = SharedBudget::new(run.limits, &[&sizes[..], &[look]].concat());
    let team = PartContext { run, tools_size, purse, of: sizes.len(), faults: AtomicU32::new(0), over };
    let promised = team.purse.promised_parts();
    team.purse.add_recorded_turns(taken.turns, &before, taken.known);
    let mut units: Vec<BoxFuture<'_, Result<FinishedPart, EngineError>>> = Vec::with_capacity(sizes.len());
    for ((at, (builder, opening)), size) in parts.into_iter().enumerate().zip(sizes) {
        let files = layout.units.get(at).cloned().unwrap_or_default();
        let unit = ConversationId::Part(number(at));
        let (told, journal) = (run.past.replayed_conversation(&unit), journal.of(unit));
        // Parts begun in an earlier session have priority over the others, in any position.
        let seat = told.has_request().then(|| team.purse.resume_part(at, if told.is_open() { size } else { 0 }));
        let (team, conversation) = (&team, &conversation);
        units.push(Box::pin(async move {
            let begun = team.start_part(at, (files.len(), size), seat, (told, journal))?;
            let done = match begun {
                Ok((seat, line)) => {
                    let turns = conversation(builder, opening, ConversationBudget::for_share(seat, run.limits), line)?;
                    team.drive(at, files, turns).await?
                }
                Err(ending) => FinishedPart {
                    end: End { at, files: files.len(), ending, begun: false },
                    builder,
                    files,
                    tally: ConversationStats::default(),
                },
            };
            Ok(done)
        }));
    }
    let done = drive_parts(units, promised).await?;
    let mut together = CombinedParts::combine(builder, done);
    let builder = together.builder.without_coverage();
    let units = layout.units;
    let line =
        (run.past.replayed_conversation(&ConversationId::cross_part()), journal.of(ConversationId::cross_part()));
    let looked = match team.start_cross_part(&together, units, line).await? {
        Ok((seat, opening, line)) => {
            let budget = ConversationBudget::for_share(seat, cross_part::limits(&run.limits));
            let mut turns = conversation(builder, opening, budget, line)?;
            let ending = turns.run().await?;
            let ReviewConversation { mut tally, builder, told, .. } = turns;
            let before = told.discarded_usage();
            tally.calls += before.calls;
            tally.errors += before.errors;
            tally.broken_off += before.broken_off;
            Ok((ending, tally, builder))
        }
        Err(why) => Err(why),
    };
    together.add_cross_part(looked);
    Ok(together.reviewed(ConversationBudget::shared(&team.purse, run.limits), journal))
}

/// Context of all parts.
struct PartContext<'a> {
    run: &'a Arc<ModelRun>,
    /// Size of the tools in a request, in tokens.
    tools_size: u64,
    purse: SharedBudget,
    /// Number of parts.
    of: usize,
    /// Number of consecutive parts that the provider failed.
    faults: AtomicU32,
    /// Set if no request is sent at all.
    over: Option<EngineOutcome>,
}

/// Budget share of a started part, with its recording and its journal; otherwise the reason why it was not started.
type StartedPart = Result<(BudgetShare, (ReplayedConversation, Journal)), EngineOutcome>;

impl PartContext<'_> {
    /// Starts a part, or continues one of an earlier session; otherwise returns the reason, which is recorded.
    fn start_part(
        &self,
        at: usize,
        (files, size): (usize, u64),
        seat: Option<BudgetShare>,
        (told, mut journal): (ReplayedConversation, Journal),
    ) -> Result<StartedPart, ReplayDivergence> {
        let begun = match (seat, told.next_step()) {
            (Some(seat), _) => Ok(seat),
            (None, NextReplayStep::End(end)) => {
                let (ended, why) = end.into_reason();
                Err(EngineOutcome::from_recorded(ended, why))
            }
            (None, NextReplayStep::Turn { .. } | NextReplayStep::New) => self.may_begin(at, size),
        };
        self.tell(at, files, if begun.is_ok() { UnitState::Begun } else { UnitState::NotBegun });
        Ok(match begun {
            Ok(seat) => Ok((seat, (told, journal))),
            Err(ending) => {
                let (ended, why) = (ending.stop_reason(), ending.reason());
                if told.check_engine_end(0, ended, why.as_deref())? {
                    journal.record(None, JournalRecord::End { ended, why });
                    journal.sync();
                }
                Err(ending)
            }
        })
    }

    fn may_begin(&self, at: usize, size: u64) -> Result<BudgetShare, EngineOutcome> {
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        self.run.cancel.check().map_err(EngineOutcome::Stopped)?;
        if self.faults.load(Ordering::Relaxed) >= MOST_FAULTS {
            let why = format!("the provider failed for good in {MOST_FAULTS} other parts");
            return Err(EngineOutcome::Short { ended: StopReason::ProviderFault, why });
        }
        let seat = self.purse.start_part(at, size, self.run.cancel.remaining());
        seat.map_err(|ended| EngineOutcome::Short {
            ended,
            why: describe_limit(ended, &self.run.limits, &VerificationReserve::default()),
        })
    }

    async fn drive(
        &self,
        at: usize,
        files: Vec<usize>,
        mut turns: ReviewConversation<'_>,
    ) -> Result<FinishedPart, EngineError> {
        let ending = turns.run().await?;
        let is_done = ending == EngineOutcome::Done;
        match ending.stop_reason() {
            StopReason::ProviderFault | StopReason::RequestRefused => self.faults.fetch_add(1, Ordering::Relaxed),
            _ => self.faults.swap(0, Ordering::Relaxed),
        };
        self.tell(at, files.len(), if is_done { UnitState::Done } else { UnitState::BrokenOff });
        let ReviewConversation { tally, builder, .. } = turns;
        Ok(FinishedPart { end: End { at, files: files.len(), ending, begun: true }, builder, files, tally })
    }

    /// Starts the cross-part pass, or continues that of an earlier session, with its first message; otherwise returns the reason, which is recorded.
    async fn start_cross_part(
        &self,
        together: &CombinedParts,
        units: Vec<Vec<usize>>,
        (mut told, mut journal): (ReplayedConversation, Journal),
    ) -> Result<Result<(BudgetShare, Opening, (ReplayedConversation, Journal)), String>, EngineError> {
        let why_not = cross_part::skip_reason(&together.ends);
        if why_not.is_some() || !told.has_request() {
            told.restart_if_stale();
        }
        let taken = match (why_not, told.next_step()) {
            (Some(why), _) => Err((StopReason::Unfinished, why)),
            (None, NextReplayStep::End(end)) => Err(end.into_reason()),
            (None, NextReplayStep::Turn { .. }) => {
                let opening = self.question(together, units, &mut journal).await?;
                opening.map(|opening| (self.purse.resume_part(self.of, self.tools_size + size_of(&opening)), opening))
            }
            (None, NextReplayStep::New) => self.question(together, units, &mut journal).await?.and_then(|opening| {
                match self.may_look(size_of(&opening)) {
                    Ok(seat) => Ok((seat, opening)),
                    Err(ending) => Err((ending.stop_reason(), ending.reason().unwrap_or_default())),
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
                if told.check_engine_end(0, ended, Some(&why))? {
                    journal.record(None, JournalRecord::End { ended, why: Some(why.clone()) });
                    journal.sync();
                }
                Err(why)
            }
        })
    }

    fn may_look(&self, size: u64) -> Result<BudgetShare, EngineOutcome> {
        self.run.cancel.check().map_err(EngineOutcome::Stopped)?;
        let seat = self.purse.start_part(self.of, self.tools_size + size, self.run.cancel.remaining());
        seat.map_err(|ended| EngineOutcome::Short {
            ended,
            why: describe_limit(ended, &self.run.limits, &VerificationReserve::default()),
        })
    }

    /// Returns the first message of the cross-part pass; otherwise the reason why there is none, which must not affect the findings of the parts.
    async fn question(
        &self,
        together: &CombinedParts,
        units: Vec<Vec<usize>>,
        journal: &mut Journal,
    ) -> Result<Result<Opening, (StopReason, String)>, EngineError> {
        let run = Arc::clone(self.run);
        let mut journal = journal.of(ConversationId::cross_part());
        let (ends, farewells) = (together.ends.clone(), together.farewells.clone());
        let findings = together.builder.accepted_findings();
        let work = move || {
            let told = run.past.names().map(<[SharedName]>::to_vec);
            let shared = told.unwrap_or_else(|| {
                let names = cross_part::shared_names(&run, &units);
                // A stopped reader has not read all of them.
                if run.cancel.check().is_ok() {
                    journal.record(None, JournalRecord::Names { names: names.clone() });
                }
                names
            });
            let parts = CrossPartInput { units: &units, ends: &ends, farewells: &farewells, findings: &findings };
            cross_part::opening_message(&run, &parts, &shared)
        };
        match blocking::run("the question across the parts", &self.run.cancel, work).await {
            Err(work @ BlockingFailure::Abandoned { .. }) => {
                let ending = abandoned_outcome(&work);
                Ok(Err((ending.stop_reason(), ending.reason().unwrap_or_default())))
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
    (builder, opening): (ReviewBuilder, Opening),
    budget: ConversationBudget,
    (told, journal): (ReplayedConversation, Journal),
) -> Result<ReviewConversation<'a>, PromptError> {
    let grammar = run.prompts.text_protocol()?;
    let speech = told.first_format().unwrap_or_else(|| run.provider.capabilities().speech());
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
    Ok(ReviewConversation {
        line: ActiveModel::of(run),
        prompts: &run.prompts,
        tools: &run.tools,
        builder,
        budget,
        second_look: run.second_look.as_ref().map(|second| second.which),
        journal,
        told,
        cancel: &run.cancel,
        events: run.events.as_ref(),
        request,
        unanswered: InFlightRequest { opening: shown, results: Vec::new(), user: vec![message], size },
        tally: ConversationStats::default(),
        strikes: InvalidAnswerPolicy::default(),
        course: LoopDetector::default(),
        landed: None,
        asking: PendingFailover::default(),
    })
}

/// Returns the size of an opening, in tokens.
fn size_of(opening: &Opening) -> u64 {
    estimate_tokens(&opening.system) + estimate_tokens(&opening.message)
}
