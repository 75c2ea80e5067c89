//! The engine that was chosen, put together: the rules, or a model with its tools, prompts and journal. Main function: [`engine`].

use std::sync::Arc;
use std::time::Instant;

use super::error::AppError;
use super::instructions::Instructions;
use super::model::Chosen;
use super::subject::{Subject, Surroundings};
use super::templates;
use crate::config::{Settings, Verify};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::llm;
use crate::review::{self, Floor, JOURNAL, JournalSink, Limits, ModelRun, Past, RulesRun, SecondLook, Which, by_rules};
use crate::rules::Packs;
use crate::store::Store;
use crate::tools::ToolBox;

/// When a run began, RFC 3339 in UTC, and on the clock that measures how long it takes.
pub(super) type Started = (String, Instant);

/// A model, and what it is told beside the change.
pub(super) struct ByModel {
    pub(super) chosen: Chosen,
    /// Who takes the second look, where it is another model.
    pub(super) second: Option<Chosen>,
    pub(super) instructions: Option<Instructions>,
}

/// Reviews the subject with the engine that the settings ask for.
pub(super) async fn engine(
    run: RunId,
    started: Started,
    mut subject: Subject,
    by_model: Option<ByModel>,
    around: &Surroundings,
    events: Arc<dyn EventSink>,
) -> Result<Review, AppError> {
    let packs = Packs::built_in()?.without(&subject.settings.rules_off)?;
    let Some(ByModel { chosen, second, instructions }) = by_model else {
        let work = move || with_rules(run, started, subject, &packs, events.as_ref());
        return tokio::task::spawn_blocking(work).await.map_err(|_| AppError::Broken);
    };
    let prompts = templates::load(subject.settings.prompts.as_deref())?;
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(chosen.row, &chosen.model, &chosen.access)?);
    let limits = limits(&subject, provider.capabilities());
    let second_look = second_look(&subject, &provider, second.as_ref())?;
    let mut context = subject.tool_context();
    context.limits.bytes = context.limits.bytes.min(bytes_of_a_result(limits.window));
    let tools = ToolBox::new(context);
    let journal = match Store::at(&around.state).append_alone(run, JOURNAL) {
        Ok(file) => Some(Box::new(file) as Box<dyn JournalSink>),
        Err(error) => {
            // A run that cannot keep a journal goes on without one, and says so.
            let text = format!("this run has no journal: {error}");
            subject.notes.push(text.clone());
            events.emit(Event::Notice { text });
            None
        }
    };
    let review = review::by_model(ModelRun {
        run,
        tools,
        packs,
        prompts,
        limits,
        journal,
        provider,
        second_look,
        instructions: instructions.map(|instructions| instructions.text),
        change: subject.change,
        new: subject.new,
        old: subject.old,
        floor: floor(&subject.settings),
        known: subject.known,
        past: Past::default(),
        notes: subject.notes,
        started,
        cancel: subject.cancel,
        events,
    });
    Ok(review.await?)
}

fn with_rules(run: RunId, started: Started, subject: Subject, packs: &Packs, events: &dyn EventSink) -> Review {
    by_rules(&RulesRun {
        run,
        change: subject.change,
        new: subject.new,
        old: subject.old,
        packs,
        floor: floor(&subject.settings),
        known: &subject.known,
        notes: subject.notes,
        started,
        cancel: &subject.cancel,
        events,
    })
}

fn floor(settings: &Settings) -> Floor {
    Floor { severity: settings.min_severity, confidence: settings.min_confidence }
}

/// Who takes the second look, and at what; `None` where nobody does.
fn second_look(
    subject: &Subject,
    same: &Arc<dyn llm::Provider>,
    other: Option<&Chosen>,
) -> Result<Option<SecondLook>, AppError> {
    let which = match subject.settings.verify {
        Verify::Auto => Which::Worst,
        Verify::All => Which::All,
        Verify::None => return Ok(None),
    };
    let provider = match other {
        Some(chosen) => Arc::from(llm::connect(chosen.row, &chosen.model, &chosen.access)?),
        None => Arc::clone(same),
    };
    let limits = limits(subject, provider.capabilities());
    Ok(Some(SecondLook { which, provider, limits }))
}

/// A design default: no answer is longer, whatever the model could.
const MAX_OUTPUT: u32 = 16_000;

fn limits(subject: &Subject, model: &llm::Capabilities) -> Limits {
    // A small window must hold more than answers.
    let share = u32::try_from(model.context_window / 6).unwrap_or(u32::MAX);
    Limits {
        turns: subject.settings.max_turns,
        input_tokens: subject.settings.max_tokens,
        window: model.context_window,
        max_output: model.max_output.min(MAX_OUTPUT).min(share),
        time: subject.settings.timeout,
    }
}

/// What one result of a tool may show, so that a small window holds a few: a dozenth of it, at four bytes a token.
fn bytes_of_a_result(window: u64) -> usize {
    usize::try_from(window / 3).unwrap_or(usize::MAX)
}
