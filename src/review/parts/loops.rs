//! Conversations about the parts of a change, some of them concurrent. Main function: [`review`].
//!
//! A part begins after the one before it, if the budget has room for it and its provider responds; a failed part does not affect the others. All of
//! them are driven by one task. The rules run on the files of the first part before it begins, and on the others while its model responds; before
//! these, the names that the parts share are read.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::future::try_join;
use futures_util::{StreamExt as _, stream};
use tokio::sync::OnceCell;

use super::combined::{CombinedParts, FinishedCrossPart, FinishedPart, ModelReviewOutcome};
use super::cross_part::{self, CrossPartInput};
use super::merge::PartResult;
use super::opener::PartOpener;
use super::shared_names::shared_names;
use crate::domain::event::{Event, UnitState};
use crate::domain::review::StopReason;
use crate::llm::{BoxFuture, TurnUsage};
use crate::prompt::PromptError;
use crate::review::budget::{BudgetShare, ConversationBudget, SharedBudget, VerificationReserve, describe_limit};
use crate::review::builder::ReviewBuilder;
use crate::review::conversation::{ActiveModel, Conversation, ConversationStats, FirstRequest, ReviewerRole, ToolList};
use crate::review::error::EngineError;
use crate::review::journal::{ConversationId, Journal, JournalRecord, NextReplayStep, SharedName, Transcript};
use crate::review::outcome::EngineOutcome;
use crate::review::plan::{Opening, RelationsByFile};
use crate::review::run::ModelRun;
use crate::sys::blocking::{self, BlockingFailure};

/// Number of concurrent conversations.
const AT_ONCE: usize = 3;
/// Number of consecutive provider failures after which no further part is begun.
const MOST_FAULTS: u32 = 3;

/// Input of a review with a model.
pub(in crate::review) struct ModelReviewInput {
    /// Desk of the whole change, with the results of the rules.
    pub(in crate::review) builder: ReviewBuilder,
    pub(in crate::review) tools: ToolList,
    pub(in crate::review) opener: PartOpener,
    /// First message if it is reviewed as a whole.
    pub(in crate::review) whole: Option<Opening>,
    /// Adds the leads of the parts after the first, if the rules are still to be run on them.
    pub(in crate::review) later: Option<LaterLeads>,
}

/// Work that adds leads to the desk of the whole change.
pub(in crate::review) type LaterLeads = Box<dyn FnOnce(&ModelRun, &mut ReviewBuilder) + Send>;

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
    input: ModelReviewInput,
    journal: &Journal,
    over: Option<EngineOutcome>,
) -> Result<ModelReviewOutcome, EngineError> {
    let ModelReviewInput { builder, tools, mut opener, whole, later } = input;
    let recorded = run.past.recorded_time();
    let add_recorded = |shared: &SharedBudget| {
        shared.add_recorded_turns(recorded.turns, &recorded.usage.unwrap_or(TurnUsage::NOTHING), recorded.known);
    };
    if let Some(opening) = whole {
        let shared = SharedBudget::in_pool(run.limits, &[], run.pool.as_ref());
        add_recorded(&shared);
        let budget = ConversationBudget::for_single_conversation(&shared, run.limits);
        let transcript = run.past.transcript(journal, &ConversationId::WHOLE);
        let mut conversation = conversation(run, &tools, builder, opening, budget, transcript)?;
        let ending = match over {
            Some(over) => conversation.end(over)?,
            None => conversation.review().await?,
        };
        let Conversation { stats, budget, role: ReviewerRole { builder, .. }, .. } = conversation;
        return Ok(ModelReviewOutcome { builder, ending, stats, budget });
    }
    let sizes = opener.sizes(run)?;
    let cross_part = tools.size + cross_part::opening_room(&run.limits);
    let shared = SharedBudget::in_pool(run.limits, &[&sizes[..], &[cross_part]].concat(), run.pool.as_ref());
    let promised = shared.promised_parts();
    add_recorded(&shared);
    let (whole, later) = (Mutex::new(builder), Mutex::new(later));
    let (faults, leads, names, of) = (AtomicU32::new(0), OnceCell::new(), OnceLock::new(), sizes.len());
    let known = Mutex::new(std::mem::take(&mut opener.layout.relations));
    let context =
        PartContext { run, tools, journal, shared, of, faults, over, opener, whole, later, known, leads, names };
    let mut units: Vec<BoxFuture<'_, Result<FinishedPart, EngineError>>> = Vec::with_capacity(sizes.len());
    let mut opened = Some(context.open(0)?);
    for (at, size) in sizes.into_iter().enumerate() {
        let transcript = run.past.transcript(journal, &ConversationId::Part(number(at)));
        // Parts begun in an earlier session have priority over the others, in any position.
        let share = transcript.has_request();
        let share = share.then(|| context.shared.resume_part(at, if transcript.is_open() { size } else { 0 }));
        units.push(Box::pin(context.review_part(at, opened.take(), transcript, share)));
    }
    // The first part is polled first: its request leaves before the rules begin on the others.
    let (done, ()) = try_join(drive_parts(units, promised), context.add_later_leads()).await?;
    let mut combined = CombinedParts::combine(lock(&context.whole).clone(), done);
    let cross_part = match context.start_cross_part(&combined).await? {
        Ok((share, opening, transcript)) => {
            let budget = ConversationBudget::for_share(share, cross_part::limits(&run.limits));
            let builder = combined.builder.without_coverage();
            let mut conversation = conversation(run, &context.tools, builder, opening, budget, transcript)?;
            let ending = conversation.review().await?;
            let Conversation { mut stats, role: ReviewerRole { builder, .. }, transcript, .. } = conversation;
            stats.add_abandoned(&transcript.discarded_usage());
            Ok(FinishedCrossPart { ending, stats, builder })
        }
        Err(why) => Err(why),
    };
    combined.add_cross_part(cross_part);
    Ok(combined.reviewed(ConversationBudget::shared(&context.shared, run.limits), journal.fault()))
}

/// Context of all parts.
struct PartContext<'a> {
    run: &'a Arc<ModelRun>,
    tools: ToolList,
    journal: &'a Journal,
    shared: SharedBudget,
    /// Number of parts.
    of: usize,
    /// Number of consecutive parts that the provider failed.
    faults: AtomicU32,
    /// Set if no request is sent at all.
    over: Option<EngineOutcome>,
    opener: PartOpener,
    /// Desk of the whole change, with the leads of parts that were not opened.
    whole: Mutex<ReviewBuilder>,
    later: Mutex<Option<LaterLeads>>,
    /// The relations of files that dividing the change read.
    known: Mutex<RelationsByFile>,
    /// Set once all leads are known.
    leads: OnceCell<()>,
    /// The names that the parts share, once they are read.
    names: OnceLock<Vec<SharedName>>,
}

/// Start of the cross-part pass.
type StartedCrossPart = (BudgetShare, Opening, Transcript);

impl PartContext<'_> {
    /// Opens a part with the leads known so far.
    fn open(&self, at: usize) -> Result<(ReviewBuilder, Opening), PromptError> {
        blocking::in_place(|| self.opener.open_part(self.run, at, &mut lock(&self.whole)))
    }

    /// Adds the leads of the parts after the first, once. If they never come, the run was stopped, and no further part begins.
    async fn add_later_leads(&self) -> Result<(), EngineError> {
        let add = || async {
            self.read_names().await;
            let Some(later) = lock(&self.later).take() else { return Ok(()) };
            let (run, mut builder) = (Arc::clone(self.run), lock(&self.whole).clone());
            let work = move || {
                later(&run, &mut builder);
                builder
            };
            match blocking::run("the rules", &self.run.cancel, work).await {
                Ok(builder) => *lock(&self.whole) = builder,
                Err(BlockingFailure::Abandoned { .. }) => {}
                Err(lost) => return Err(lost.into()),
            }
            self.run.past.check()?;
            Ok::<(), EngineError>(())
        };
        self.leads.get_or_try_init(add).await.copied()
    }

    /// Reads the names that the parts share while the model of the first one responds. They are read before the rules run on the others, so that the
    /// relations that they come from are not in memory beside the trees.
    async fn read_names(&self) {
        let known = std::mem::take(&mut *lock(&self.known));
        if self.over.is_some() || self.run.past.names().is_some() {
            return;
        }
        let (run, units) = (Arc::clone(self.run), self.opener.parts().to_vec());
        let work = move || shared_names(&run, &units, known);
        let names = blocking::run("the names that the parts share", &self.run.cancel, work).await;
        // A stopped reader has not read all of them; the pass itself reads them then, and tells what went wrong.
        if let (Ok(names), true) = (names, self.run.cancel.check().is_ok()) {
            let _ = self.names.set(names);
        }
    }

    /// Reviews a part, or continues the review of an earlier session; if it is not begun, records the reason. `share` is set for one that was begun,
    /// `opened` for one that was opened.
    async fn review_part(
        &self,
        at: usize,
        opened: Option<(ReviewBuilder, Opening)>,
        mut transcript: Transcript,
        share: Option<BudgetShare>,
    ) -> Result<FinishedPart, EngineError> {
        let files = self.opener.parts().get(at).cloned().unwrap_or_default();
        let (builder, opening) = match opened {
            Some(opened) => opened,
            None => {
                self.add_later_leads().await?;
                self.open(at)?
            }
        };
        let size = self.tools.size + opening.size();
        let begun = match (share, transcript.next_step()) {
            (Some(share), _) => Ok(share),
            (None, NextReplayStep::End(end)) => {
                let (ended, why) = end.into_reason();
                Err(EngineOutcome::from_recorded(ended, why))
            }
            (None, NextReplayStep::Turn { .. } | NextReplayStep::New) => self.may_begin(at, size),
        };
        self.report(at, files.len(), if begun.is_ok() { UnitState::Begun } else { UnitState::NotBegun });
        let share = match begun {
            Ok(share) => share,
            Err(ending) => {
                transcript.end(0, &ending)?;
                let end = PartResult { at, files: files.len(), ending, begun: false };
                return Ok(FinishedPart { end, builder, files, stats: ConversationStats::default() });
            }
        };
        let budget = ConversationBudget::for_share(share, self.run.limits);
        let mut conversation = conversation(self.run, &self.tools, builder, opening, budget, transcript)?;
        let ending = conversation.review().await?;
        let is_done = ending == EngineOutcome::Done;
        match ending.stop_reason() {
            StopReason::ProviderFault | StopReason::RequestRefused => self.faults.fetch_add(1, Ordering::Relaxed),
            _ => self.faults.swap(0, Ordering::Relaxed),
        };
        self.report(at, files.len(), if is_done { UnitState::Done } else { UnitState::BrokenOff });
        let Conversation { stats, role: ReviewerRole { builder, .. }, .. } = conversation;
        Ok(FinishedPart { end: PartResult { at, files: files.len(), ending, begun: true }, builder, files, stats })
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
        self.start(at, size)
    }

    fn start(&self, at: usize, size: u64) -> Result<BudgetShare, EngineOutcome> {
        let share = self.shared.start_part(at, size, self.run.cancel.remaining());
        share.map_err(|ended| EngineOutcome::Short {
            ended,
            why: describe_limit(ended, &self.run.limits, &VerificationReserve::default()),
        })
    }

    /// Starts the cross-part pass, or continues that of an earlier session, with its first message; otherwise returns the reason, which is recorded.
    async fn start_cross_part(
        &self,
        combined: &CombinedParts,
    ) -> Result<Result<StartedCrossPart, String>, EngineError> {
        let mut transcript = self.run.past.transcript(self.journal, &ConversationId::cross_part());
        let why_not = cross_part::skip_reason(&combined.ends);
        if why_not.is_some() || !transcript.has_request() {
            transcript.restart_if_stale();
        }
        let size = |opening: &Opening| self.tools.size + opening.size();
        let taken = match (why_not, transcript.next_step()) {
            (Some(why), _) => Err((StopReason::Unfinished, why)),
            (None, NextReplayStep::End(end)) => Err(end.into_reason()),
            (None, NextReplayStep::Turn { .. }) => {
                let opening = self.question(combined).await?;
                opening.map(|opening| (self.shared.resume_part(self.of, size(&opening)), opening))
            }
            (None, NextReplayStep::New) => self.question(combined).await?.and_then(|opening| {
                let stopped = self.run.cancel.check().map_err(EngineOutcome::Stopped);
                match stopped.and_then(|()| self.start(self.of, size(&opening))) {
                    Ok(share) => Ok((share, opening)),
                    Err(ending) => Err((ending.stop_reason(), ending.reason().unwrap_or_default())),
                }
            }),
        };
        Ok(match taken {
            Ok((share, opening)) => {
                let text = "looking at how the parts of the change go together".to_owned();
                self.run.events.emit(Event::Notice { text });
                Ok((share, opening, transcript))
            }
            Err((ended, why)) => {
                transcript.end(0, &EngineOutcome::Short { ended, why: why.clone() })?;
                Err(why)
            }
        })
    }

    /// Returns the first message of the cross-part pass; otherwise the reason why there is none, which must not affect the findings of the parts.
    async fn question(&self, combined: &CombinedParts) -> Result<Result<Opening, (StopReason, String)>, EngineError> {
        let (run, units) = (Arc::clone(self.run), self.opener.parts().to_vec());
        let mut journal = self.journal.of(ConversationId::cross_part());
        let (ends, farewells) = (combined.ends.clone(), combined.farewells.clone());
        let findings = combined.builder.accepted_findings();
        let read = self.names.get().cloned();
        let work = move || {
            let recorded = run.past.names().map(<[SharedName]>::to_vec);
            let shared = recorded.unwrap_or_else(|| {
                let names = read.unwrap_or_else(|| shared_names(&run, &units, RelationsByFile::new()));
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
                let ending = EngineOutcome::abandoned(&work);
                Ok(Err((ending.stop_reason(), ending.reason().unwrap_or_default())))
            }
            opening => Ok(Ok(opening??)),
        }
    }

    fn report(&self, at: usize, files: usize, state: UnitState) {
        self.run.events.emit(Event::Unit { number: number(at + 1), of: number(self.of), files: number(files), state });
    }
}

fn conversation<'a>(
    run: &'a ModelRun,
    tools: &ToolList,
    builder: ReviewBuilder,
    opening: Opening,
    budget: ConversationBudget,
    transcript: Transcript,
) -> Result<Conversation<'a, ReviewerRole<'a>>, PromptError> {
    let speech = transcript.first_format().unwrap_or_else(|| run.provider.capabilities().speech());
    let Opening { system, message, shown, .. } = opening;
    let first = FirstRequest::new(&run.prompts, tools, speech, run.limits.max_output, system, message)?;
    Ok(Conversation::new(ReviewerRole::new(run, builder, shown), ActiveModel::of(run), budget, transcript, first))
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts a count to its stored type.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
