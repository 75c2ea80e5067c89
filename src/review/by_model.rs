//! The engine with a model: leads from the rules, the opening, the turns, the review. Main function: [`by_model`].

use std::sync::Arc;
use std::time::Instant;

use super::budget::Limits;
use super::desk::{Desk, Lead};
use super::draft::{Asked, Ending, Floor, Made, instructions_hash};
use super::journal::{Journal, JournalSink, Record};
use super::known::Known;
use super::opening::{Opening, estimate_tokens};
use super::past::Past;
use super::turns::{EngineError, Tally};
use super::units::{self, Begin, Laid, Layout, Reviewed};
use super::verify::{Looked, SecondLook, second_look};
use crate::domain::change::ChangeSet;
use crate::domain::event::EventSink;
use crate::domain::place::Side;
use crate::domain::review::{Engine, Review, Usage};
use crate::domain::run::RunId;
use crate::domain::second_look::SecondLook as Numbers;
use crate::llm::{Provider, ToolDefinition};
use crate::prompt::{LeadVars, PromptError, Prompts};
use crate::rules::{self, Packs, RulesInput};
use crate::sys::cancel::{Cancel, Stopped};
use crate::tools::{TOOLS, ToolBox};
use crate::workspace::Workspace;

/// What the engine needs.
pub struct ModelRun {
    /// The run that the review belongs to.
    pub run: RunId,
    /// What is reviewed.
    pub change: Arc<ChangeSet>,
    /// Its files after the change.
    pub new: Arc<dyn Workspace>,
    /// Its files before the change.
    pub old: Arc<dyn Workspace>,
    /// The tools that read them.
    pub tools: ToolBox,
    /// The rules that give leads.
    pub packs: Packs,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The words for it.
    pub prompts: Prompts,
    /// What the user asks of this review.
    pub instructions: Option<String>,
    /// What may be spent.
    pub limits: Limits,
    /// Who takes a second look at the findings; `None` where nobody does.
    pub second_look: Option<SecondLook>,
    /// Findings below it are counted, not shown.
    pub floor: Floor,
    /// What is known of the branch from before.
    pub known: Known,
    /// What an earlier sitting of this run wrote down; nothing for a new run.
    pub past: Past,
    /// What the receipt says about how the change came here.
    pub notes: Vec<String>,
    /// When the run began, RFC 3339 in UTC, and on the clock that measures how long it takes.
    pub started: (String, Instant),
    /// Asked in every loop.
    pub cancel: Cancel,
    /// Hears of the progress.
    pub events: Arc<dyn EventSink>,
    /// Where the journal goes.
    pub journal: Option<Box<dyn JournalSink>>,
}

/// Reviews a change with a model. A provider that fails, a limit, an interrupt are no errors: what stands is in the review, and why it is
/// not complete.
pub async fn by_model(mut run: ModelRun) -> Result<Review, EngineError> {
    let mut journal = Journal::new(run.journal.take());
    let run = Arc::new(run);
    let prepared = Arc::clone(&run);
    let prepared = tokio::task::spawn_blocking(move || prepare(&prepared)).await.map_err(|_| EngineError::Broken)??;
    let Prepared { begin, plan, stopped } = prepared;
    record_begin(&run, &mut journal, plan);
    let over = match stopped {
        Some(stopped) => Some(Ending::Stopped(stopped)),
        // No finding could touch a changed line, so asking would only cost.
        None if begin.layout.units.iter().all(Vec::is_empty) => Some(Ending::Done),
        None => None,
    };
    let Reviewed { mut desk, ending, mut tally, budget, mut journal } =
        units::review(&run, begin, journal, over).await?;
    let draft = desk.settle(&name_of(run.provider.as_ref()));
    draft.recall(&run.known);
    let looked = second_look(&run, draft.findings(), &ending, &budget, &journal).await;
    let ending = match (ending, run.cancel.check()) {
        // Whoever interrupts the second look interrupts the review.
        (Ending::Done, Err(Stopped::Interrupted)) if looked.is_some() => Ending::Stopped(Stopped::Interrupted),
        (ending, _) => ending,
    };
    let mut spent = Spent { turns: budget.turns_of_run(), usage: budget.usage(), second_look: None };
    if let Some(Looked { verdicts, notes, numbers, calls, errors, broken_off }) = looked {
        draft.judge(verdicts, &numbers.by);
        notes.into_iter().chain(journal.fault()).for_each(|note| draft.note(note));
        tally.calls += calls;
        tally.errors += errors;
        tally.broken_off += broken_off;
        spent.turns += numbers.turns;
        spent.usage = spent.usage.plus(numbers.usage);
        spent.second_look = Some(numbers);
    }
    Ok(finish(&run, desk, &ending, &tally, spent))
}

/// What the model took, in the review and in the second look.
struct Spent {
    turns: u32,
    usage: Usage,
    second_look: Option<Numbers>,
}

/// What its findings say of their origin.
fn name_of(provider: &dyn Provider) -> String {
    let capabilities = provider.capabilities();
    format!("{}/{}", capabilities.provider, capabilities.model)
}

/// What is there before the model is asked.
struct Prepared {
    begin: Begin,
    /// How the change is laid out, for the journal.
    plan: Record,
    /// Set when the rules were stopped.
    stopped: Option<Stopped>,
}

/// Everything before the model is asked: what the rules say, how the change is divided, and the first messages.
fn prepare(run: &ModelRun) -> Result<Prepared, EngineError> {
    let report = rules::run(&RulesInput {
        change: &run.change,
        new: run.new.as_ref(),
        old: run.old.as_ref(),
        packs: &run.packs,
        cancel: &run.cancel,
        events: run.events.as_ref(),
    });
    let mut desk = Desk::new(Arc::clone(&run.change), Arc::clone(&run.new), Arc::clone(&run.old));
    desk.add_leads(&report.claims, &run.cancel);
    if report.stopped.is_none() && run.cancel.check().is_ok() {
        desk.ran(&run.packs, &report.files);
    }
    desk.add_earlier(&run.known);
    desk.set_aside_dismissed(&run.known, &run.started.0);
    report.notes.iter().for_each(|note| desk.note(note.clone()));
    let carried = run.known.carried();
    desk.carry(&carried);
    let tools = definitions();
    let leads: Vec<LeadVars> = desk.leads().map(vars).collect();
    let laid = Laid { run, tools: size_of(&tools), leads: &leads, carried: &carried };
    let layout = Layout::of(&laid)?;
    let plan = layout.record(&run.change, &carried);
    let (mut parts, mut whole) = (Vec::new(), None);
    if layout.units.len() > 1 {
        let ranks = laid.ranks();
        for (at, mut part) in desk.split(&layout.units).into_iter().enumerate() {
            let opening = opened(&laid, &layout, at, &mut part, &ranks)?;
            parts.push((part, opening));
        }
    } else {
        whole = Some(opened(&laid, &layout, 0, &mut desk, &[])?);
    }
    let begin = Begin { desk, tools_size: laid.tools, tools, layout, parts, whole };
    Ok(Prepared { begin, plan, stopped: report.stopped })
}

/// The first message from a desk; what it does not show is told there.
fn opened(
    laid: &Laid<'_>,
    layout: &Layout,
    at: usize,
    desk: &mut Desk,
    ranks: &[usize],
) -> Result<Opening, PromptError> {
    let leads: Vec<LeadVars> = desk.leads().map(vars).collect();
    let opening = laid.opening(layout, at, &leads, ranks)?;
    opening.left_out.iter().for_each(|left_out| desk.left_out(left_out));
    desk.keep_back_leads(opening.leads_left_out.iter().cloned());
    opening.notes.iter().for_each(|note| desk.note(note.clone()));
    Ok(opening)
}

/// The reading tools and the engine's own, in an order that never changes.
fn definitions() -> Vec<ToolDefinition> {
    let reading = TOOLS.iter().map(|tool| ToolDefinition {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        schema: (tool.schema)(),
    });
    reading.chain(Desk::definitions()).collect()
}

/// What tools take, in tokens.
fn size_of(tools: &[ToolDefinition]) -> u64 {
    tools.iter().map(|tool| estimate_tokens(&tool.description) + estimate_tokens(&tool.schema.to_string())).sum()
}

/// Writes down what the run is about, and how the change is laid out.
fn record_begin(run: &ModelRun, journal: &mut Journal, plan: Record) {
    let capabilities = run.provider.capabilities();
    let begun = Record::Run {
        id: run.run.to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: capabilities.provider.to_owned(),
        model: capabilities.model.clone(),
        prompts: run.prompts.hash().to_owned(),
        rules: run.packs.hash().to_owned(),
        base: run.change.base.map(|commit| commit.to_string()),
        head: run.change.head.map(|commit| commit.to_string()),
        started_at: run.started.0.clone(),
    };
    journal.record(None, begun);
    journal.record(None, plan);
}

fn finish(run: &ModelRun, mut desk: Desk, ending: &Ending, tally: &Tally, spent: Spent) -> Review {
    run.notes.iter().for_each(|note| desk.note(note.clone()));
    if tally.broken_off > 0 {
        let times = tally.broken_off;
        desk.note(format!(
            "{times} answer(s) of the provider did not come to an end; what they cost is not known and not counted."
        ));
    }
    let unasked = *ending == Ending::Done && spent.turns == 0;
    if unasked {
        let carried = run.known.prior.as_ref().is_some_and(|prior| !prior.carried.is_empty());
        let why = if carried {
            "Every changed file with lines to review is as it was at the review before"
        } else {
            "No changed file has lines to review"
        };
        desk.note(format!("{why}, so the model was not asked and nothing was sent."));
    }
    let capabilities = run.provider.capabilities();
    desk.finish(
        ending,
        run.floor,
        &run.known,
        Made {
            run: run.run,
            engine: Engine::Model,
            rules: Some(run.packs.hash().to_owned()),
            model: Some(Asked {
                provider: capabilities.provider.to_owned(),
                model: capabilities.model.clone(),
                prompts: Some(run.prompts.hash().to_owned()),
                instructions: run.instructions.as_deref().map(instructions_hash),
                turns: spent.turns,
                usage: if unasked { Usage::NOTHING } else { spent.usage },
                second_look: spent.second_look,
                tool_calls: tally.calls,
                tool_errors: tally.errors,
                limits_hit: tally.limits.clone(),
            }),
            started_at: run.started.0.clone(),
            took_ms: u64::try_from(run.started.1.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
    )
}

/// A lead in the words of the first message.
fn vars(lead: &Lead) -> LeadVars {
    let place = match lead.lines {
        Some(lines) => format!("{}:{}", lead.path, lines.start()),
        None => lead.path.to_string(),
    };
    let place = match lead.side {
        Side::New => place,
        Side::Old => format!("{place} (before the change)"),
    };
    LeadVars {
        id: lead.id.clone(),
        rule: lead.rule.clone(),
        severity: lead.severity,
        category: lead.category,
        place,
        title: lead.title.clone(),
        body: lead.body.clone(),
    }
}
