//! Runs the chosen engine: the rules, or a model with its tools, prompts and journal. Main function: [`engine`].

use std::sync::Arc;
use std::time::Instant;

use super::error::AppError;
use super::given::{self, Asked, Contents, Given, PROGRAM, Reviewer, Shaping, Told};
use super::instructions::Instructions;
use super::model::Chosen;
use super::packs;
use super::prior::{self, Who};
use super::subject::{Subject, Surroundings};
use super::symbols::Remembered;
use crate::config::{Settings, Verify};
use crate::domain::event::{Event, EventSink};
use crate::domain::guideline::Guidelines;
use crate::domain::review::{Engine, Review};
use crate::domain::run::{BegunRun, RunId};
use crate::llm;
use crate::prompt::Prompts;
use crate::review::{
    self, CostLimit, Floor, JOURNAL, JournalSink, Limits, ModelRun, Past, RulesRun, Runner, SecondLook, Which,
    by_rules, without_rules,
};
use crate::rules::Packs;
use crate::store::{Store, StoreError};
use crate::syntax::ProbeScope;
use crate::sys::blocking::{self, Unfinished};
use crate::sys::files::{AppendFile, Held};
use crate::tools::ToolBox;

/// The start of a run: RFC 3339 in UTC, and an instant to measure the duration.
pub(super) type Started = (String, Instant);

/// The input of an engine.
pub(super) struct Work {
    pub(super) run: RunId,
    pub(super) started: Started,
    pub(super) subject: Subject,
    /// The model and its context; `None` for the built-in rules.
    pub(super) by_model: Option<ByModel>,
    pub(super) sitting: Sitting,
}

/// A model and its context besides the change.
pub(super) struct ByModel {
    pub(super) chosen: Chosen,
    /// The model for verification, if it is another one.
    pub(super) second: Option<Chosen>,
    pub(super) instructions: Option<Instructions>,
    /// The project's guidelines.
    pub(super) guidelines: Arc<Guidelines>,
    pub(super) prompts: Prompts,
}

/// New or resumed run.
pub(super) enum Sitting {
    /// A new run: its inputs are saved.
    First(Box<First>),
    /// A resumed run: its inputs are already saved.
    Again(Box<Again>),
}

/// The request behind a new run, saved with its inputs.
pub(super) struct First {
    pub(super) asked: Asked,
    pub(super) contents: Contents,
}

/// A resumed run.
pub(super) struct Again {
    /// The lock that keeps other processes from the run.
    pub(super) held: Held,
    pub(super) given: Given,
    pub(super) past: Past,
}

/// Reviews the change with the engine that the settings select.
pub(super) async fn engine(
    mut work: Work,
    around: &Surroundings,
    events: Arc<dyn EventSink>,
) -> Result<Review, AppError> {
    let memory = Arc::new(Remembered::at(&around.forge.mirrors(&around.state).with_file_name("symbols")));
    let mut packs = packs::load(&work.subject)?.remembering(memory);
    if work.by_model.is_some() {
        // A crash would waste the cost so far.
        packs = packs.probing(around.parser(ProbeScope::Everything));
    }
    let store = Store::at(&around.state);
    let Some(by_model) = work.by_model.take() else { return rules_alone(work, packs, store, around, events).await };
    let ByModel { chosen, second, instructions, guidelines, prompts } = by_model;
    let Work { run, started, mut subject, sitting, .. } = work;
    let is_first = matches!(sitting, Sitting::First(_));
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?);
    let capabilities = provider.capabilities();
    // A resumed run already has the salt and the history of its first session.
    let prompts = if is_first { prompts.salted(&RunId::random().to_string()) } else { prompts };
    if is_first {
        let who = who(capabilities, &prompts, &packs, instructions.as_ref(), &guidelines);
        subject = prior::recall(run, subject, around, who, &events).await?;
    }
    let limits = limits(&subject.settings, capabilities)?;
    let second_look = second_look(&subject.settings, &provider, second.as_ref())?;
    let next = next(&subject.settings, &chosen)?;
    let told = Told { instructions: instructions.as_ref(), guidelines: &guidelines };
    let reviewer = Reviewer::new(provider.capabilities(), &limits, &prompts, told, second_look.as_ref(), &next);
    let begun = begin(&store, run, &started, &subject, packs.hash(), Some(reviewer), &sitting);
    let journal = begun.and_then(|held| Ok((held, journal_of(&store, run)?)));
    let (held, journal) = match journal {
        Ok((held, file)) => (held, Some(Box::new(file) as Box<dyn JournalSink>)),
        Err(error) => {
            // A run that cannot save a journal continues without one and says so.
            let text = format!("this run has no journal: {error}");
            subject.notes.push(text.clone());
            events.emit(Event::Notice { text });
            (None, None)
        }
    };
    let (past, taken_up) = match sitting {
        Sitting::First(_) => (Past::default(), None),
        Sitting::Again(again) => (again.past, Some(again.held)),
    };
    let mut context = subject.tool_context();
    context.limits.bytes = context.limits.bytes.min(bytes_of_a_result(limits.window));
    let tools = ToolBox::new(context);
    let review = review::by_model(ModelRun {
        run,
        tools,
        packs,
        reports: subject.reports,
        prompts,
        limits,
        journal,
        provider,
        next,
        relay: review::Relay::default(),
        second_look,
        instructions: instructions.map(|instructions| instructions.text),
        guidelines,
        change: subject.change,
        new: subject.new,
        old: subject.old,
        floor: floor(&subject.settings),
        known: subject.known,
        past,
        notes: subject.notes,
        started,
        cancel: subject.cancel,
        events,
    });
    let review = review.await?;
    drop((held, taken_up));
    Ok(review)
}

/// Reviews the change with the rules only.
async fn rules_alone(
    work: Work,
    packs: Packs,
    store: Store,
    around: &Surroundings,
    events: Arc<dyn EventSink>,
) -> Result<Review, AppError> {
    let Work { run, started, subject, sitting, .. } = work;
    let subject = prior::recall(run, subject, around, Who::rules(packs.hash()), &events).await?;
    let cancel = subject.cancel.clone();
    let (subject, packs) = (Arc::new(subject), Arc::new(packs));
    let (lent, shared, began, told) = (Arc::clone(&subject), Arc::clone(&packs), started.clone(), Arc::clone(&events));
    let work = move || {
        // Inputs that cannot be saved are reported at the end, when the review cannot be saved either.
        let _held = begin(&store, run, &began, &lent, shared.hash(), None, &sitting).ok();
        by_rules(&rules_run(run, began, &lent, &shared, told.as_ref()))
    };
    match blocking::run("the rules", &cancel, work).await {
        Err(lost @ Unfinished::Abandoned { .. }) => {
            Ok(without_rules(&rules_run(run, started, &subject, &packs, events.as_ref()), &lost))
        }
        done => Ok(done?),
    }
}

/// Identifies the current reviewer, for comparison with an earlier review.
pub(super) fn who(
    model: &llm::Capabilities,
    prompts: &Prompts,
    packs: &Packs,
    instructions: Option<&Instructions>,
    guidelines: &Arc<Guidelines>,
) -> Who {
    Who {
        engine: Engine::Model,
        provider: Some(model.provider.to_string()),
        model: Some(model.model.clone()),
        prompts: Some(prompts.hash().to_owned()),
        rules: Some(packs.hash().to_owned()),
        instructions: instructions.map(|instructions| review::instructions_hash(&instructions.text)),
        guidelines: Arc::clone(guidelines),
    }
}

/// Opens the journal of a run for appending. A partial last line, left by a killed process, is removed.
fn journal_of(store: &Store, run: RunId) -> Result<AppendFile, StoreError> {
    if store.has(run, &[JOURNAL]) { Ok(store.take_up(run, JOURNAL)?.1) } else { store.append_alone(run, JOURNAL) }
}

/// Saves the inputs of a new run; for a resumed run, the inputs that changed. The run counts as running as long as the returned lock is
/// held; a resumed run already holds it.
fn begin(
    store: &Store,
    run: RunId,
    started: &Started,
    subject: &Subject,
    rules: &str,
    reviewer: Option<Reviewer>,
    sitting: &Sitting,
) -> Result<Option<Held>, AppError> {
    let First { asked, contents } = match sitting {
        Sitting::First(first) => first.as_ref(),
        Sitting::Again(again) => {
            let mut given = again.given.clone();
            if let (Some(now), Some(kept)) = (reviewer, &mut given.reviewer) {
                kept.last_limits = now.last_limits;
            }
            given::update(store, run, &given)?;
            return Ok(None);
        }
    };
    let change = &subject.change;
    let text = |path: &Option<std::path::PathBuf>| path.as_ref()?.to_str().map(str::to_owned);
    let begun = BegunRun {
        id: run,
        started_at: started.0.clone(),
        repository: change.repository.clone(),
        target: change.target.clone(),
        head_name: change.head_name.clone(),
        pull: change.pull.as_ref().map(|pull| pull.id.clone()),
        engine: if reviewer.is_some() { Engine::Model } else { Engine::Rules },
    };
    let given = Given {
        program: PROGRAM.to_owned(),
        asked: asked.clone(),
        shaping: Shaping::of(&subject.settings),
        settings_at: subject.settings_at.map(|commit| commit.to_string()),
        repository: text(&subject.repository),
        root: text(&subject.root),
        rules: rules.to_owned(),
        rule_files: subject.rule_files.clone(),
        reviewer,
        contents: contents.clone(),
        reports: subject.reports.clone(),
        notes: subject.notes.clone(),
    };
    Ok(Some(given::keep(store, &begun, &given, change, subject.dismissed.as_ref())?))
}

fn rules_run<'a>(
    run: RunId,
    started: Started,
    subject: &'a Subject,
    packs: &'a Packs,
    events: &'a dyn EventSink,
) -> RulesRun<'a> {
    RulesRun {
        run,
        change: Arc::clone(&subject.change),
        new: Arc::clone(&subject.new),
        old: Arc::clone(&subject.old),
        packs,
        reports: &subject.reports,
        floor: floor(&subject.settings),
        known: &subject.known,
        notes: subject.notes.clone(),
        started,
        cancel: &subject.cancel,
        events,
    }
}

pub(super) fn floor(settings: &Settings) -> Floor {
    Floor { severity: settings.min_severity, confidence: settings.min_confidence }
}

/// Collects the failover candidates.
pub(super) fn next(settings: &Settings, chosen: &Chosen) -> Result<Vec<Runner>, AppError> {
    let runner = |next: &Chosen| {
        let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&next.row, &next.model, &next.access)?);
        Ok(Runner { limits: limits(settings, provider.capabilities())?, provider })
    };
    chosen.next.iter().map(runner).collect()
}

/// Determines the verification model and its scope; `None` if verification is off.
pub(super) fn second_look(
    settings: &Settings,
    same: &Arc<dyn llm::Provider>,
    other: Option<&Chosen>,
) -> Result<Option<SecondLook>, AppError> {
    let which = match settings.verify {
        Verify::Auto => Which::Worst,
        Verify::All => Which::All,
        Verify::None => return Ok(None),
    };
    let provider = match other {
        Some(chosen) => Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?),
        None => Arc::clone(same),
    };
    let limits = limits(settings, provider.capabilities())?;
    Ok(Some(SecondLook { which, provider, limits }))
}

/// Design default: upper bound on the tokens of a response, whatever the model supports.
const MAX_OUTPUT: u32 = 16_000;

/// Determines the limits of a run with this model. A cost limit is refused if the model's prices are unknown, because it could not be
/// enforced.
pub(super) fn limits(settings: &Settings, model: &llm::Capabilities) -> Result<Limits, AppError> {
    let cost = match (settings.max_cost, model.prices) {
        (None, _) => None,
        (Some(most), Some(prices)) => Some(CostLimit { most, prices }),
        (Some(most), None) => {
            let model = format!("{}/{}", model.provider, model.model);
            return Err(AppError::NoPrice { model, most });
        }
    };
    // A small context window must hold more than responses.
    let share = u32::try_from(model.context_window / 6).unwrap_or(u32::MAX);
    Ok(Limits {
        turns: settings.max_turns,
        input_tokens: settings.max_tokens,
        window: model.context_window,
        max_output: model.max_output.min(MAX_OUTPUT).min(share),
        time: settings.timeout,
        cost,
    })
}

/// Returns the maximum size in bytes of one tool result, so that a small window holds several: a twelfth of it, at four bytes per token.
fn bytes_of_a_result(window: u64) -> usize {
    usize::try_from(window / 3).unwrap_or(usize::MAX)
}
