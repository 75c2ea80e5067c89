//! Previews a review without sending anything: `review --preview`. Main function: [`preview`].
//!
//! It follows the path of a review up to the first request, and needs no key. Nothing is saved.

use crate::app::context::settings;
use std::sync::Arc;
use std::time::Instant;

use super::engine::{failover_candidates, identify_reviewer, threshold, verification};
use super::job::EngineInputs;
use super::job::ReviewInputs;
use super::job::ReviewJob;
use super::job::gather_inputs;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ChosenModel;
use crate::app::context::model::ProviderEnvironment;
use crate::app::context::model::limits;
use crate::app::prepare::builds::recorded_builds;
use crate::app::prepare::change::PreparedChange;
use crate::app::prepare::instructions::TrustLevel;
use crate::app::prepare::packs;
use crate::app::prepare::previous;
use crate::config::ResolvedSettings;
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::preview::{CodeReceiver, Preview};
use crate::domain::provider_info::PriceList;
use crate::domain::request::Compare;
use crate::llm;
use crate::review::{self, JournalReplay, ModelRun, ReviewPlan};
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::tools::{ToolContext, Toolbox};

/// The models that would be called, and what is missing for their keys.
struct PreviewModels {
    chosen: Option<ChosenModel>,
    second: Option<ChosenModel>,
    /// The variables missing a key, by provider.
    missing: Vec<(String, String)>,
}

/// Reports what a review would send to whom, what it would leave out, and the expected cost. No request is made.
pub async fn preview(
    job: ReviewJob,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<Preview, AppError> {
    let ReviewJob { run, request, flags, compare, leads, .. } = job;
    let compare = Compare { with: compare.with.for_scope(&request.scope), ..compare };
    let resolved = settings::resolve(None, &flags, &around)?;
    let PreviewModels { chosen, second, missing } = choose_models(&resolved, &around.providers)?;
    model::priced(&resolved.settings, chosen.iter().chain(&second))?;
    let gathering = ReviewInputs {
        request,
        flags,
        compare,
        leads,
        checks: Vec::new(),
        whose: TrustLevel::User,
        is_model: chosen.is_some(),
        pulled: None,
        repository: None,
    };
    let EngineInputs { mut subject, instructions, guidelines, prompts, .. } =
        gather_inputs(gathering, &around, &events, &cancel).await?;
    events.emit(Event::Stage { stage: ReviewStage::Review });
    let from = instructions.as_ref().map(|instructions| instructions.from.clone());
    let packs = packs::load(&subject)?;
    let (given, guidelines) = (guidelines.provenance(), Arc::new(guidelines));
    let (change, settings) = (Arc::clone(&subject.change), subject.settings.clone());
    let (Some(chosen), Some(prompts)) = (chosen, prompts) else {
        return Ok(of_rules(change, subject.notes));
    };
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?);
    let who = identify_reviewer(provider.capabilities(), &prompts, &packs, instructions.as_ref(), &guidelines);
    subject = previous::load_history(subject, &around, who, &events).await?;
    let next = failover_candidates(&settings, &chosen)?;
    let looks = verification(&settings, &provider, second.as_ref())?;
    let receiver = |chosen: &ChosenModel, capabilities: &llm::Capabilities| receiver(chosen, capabilities, &missing);
    let model = receiver(&chosen, provider.capabilities())?;
    let others = chosen.next.iter().zip(&next).map(|(chosen, next)| receiver(chosen, next.provider.capabilities()));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let other = second.as_ref().zip(looks.as_ref()).map(|(own, look)| receiver(own, look.provider.capabilities()));
    let plan = review::preview(ModelRun {
        run,
        tools: recorded_tools(&subject),
        packs,
        reports: subject.reports,
        prompts,
        limits: limits(&settings, provider.capabilities())?,
        pool: None,
        journal: None,
        provider,
        next,
        relay: review::Failover::default(),
        second_look: looks,
        instructions: instructions.map(|instructions| instructions.text),
        guidelines,
        change: subject.change,
        new: subject.new,
        old: subject.old,
        floor: threshold(&settings),
        known: subject.known,
        past: JournalReplay::default(),
        notes: subject.notes,
        started: (clock::now(), Instant::now()),
        cancel: subject.cancel,
        events,
    });
    let ReviewPlan { files, sent, notes } = plan.await?;
    let guidelines = given.into_iter().map(|given| given.path.to_string()).collect();
    let notices = chosen.notices.into_iter().chain(second.into_iter().flat_map(|second| second.notices));
    let notes = collect_notes(&change, notices.chain(notes).collect());
    Ok(Preview {
        change,
        model: Some(model),
        next: others,
        second: other.transpose()?,
        files,
        instructions: from,
        guidelines,
        sent,
        notes,
    })
}

/// Previews a review by the built-in rules: nothing is sent.
fn of_rules(change: Arc<ChangeSet>, more: Vec<String>) -> Preview {
    let ReviewPlan { files, sent, mut notes } = review::preview_rules(&change);
    notes.extend(more);
    let notes = collect_notes(&change, notes);
    let (next, guidelines) = (Vec::new(), Vec::new());
    Preview { change, model: None, next, second: None, files, instructions: None, guidelines, sent, notes }
}

/// Collects the notes of the receipt, each sentence once, including those about files left out by collection.
fn collect_notes(change: &ChangeSet, notes: Vec<String>) -> Vec<String> {
    let omissions = change.omissions.iter().map(|omission| match &omission.path {
        Some(path) => format!("{path}: {}", omission.reason),
        None => omission.reason.clone(),
    });
    let mut told: Vec<String> = Vec::new();
    for note in omissions.chain(notes) {
        if !told.contains(&note) {
            told.push(note);
        }
    }
    told
}

/// Determines the models that would be called. A missing key is reported, not refused.
fn choose_models(resolved: &ResolvedSettings, environment: &ProviderEnvironment) -> Result<PreviewModels, AppError> {
    let mut missing: Vec<(String, String)> = Vec::new();
    let mut environment = environment.clone();
    loop {
        let chosen = model::choose(resolved, &environment).and_then(|chosen| {
            let second = model::choose_verifier(resolved, &environment, chosen.as_ref())?;
            Ok((chosen, second))
        });
        match chosen {
            Err(AppError::NoKey { variable, provider, .. }) if !missing.iter().any(|(known, _)| *known == provider) => {
                environment = environment.with_a_key_for(&provider);
                missing.push((provider, variable));
            }
            Err(error) => return Err(error),
            Ok((chosen, second)) => return Ok(PreviewModels { chosen, second, missing }),
        }
    }
}

/// Returns the tools that a model would be offered; nothing runs.
fn recorded_tools(subject: &PreparedChange) -> Toolbox {
    let builds = recorded_builds(&subject.settings.allow_build);
    Toolbox::new(ToolContext { builds, ..subject.tool_context() })
}

fn receiver(
    chosen: &ChosenModel,
    capabilities: &llm::Capabilities,
    missing: &[(String, String)],
) -> Result<CodeReceiver, AppError> {
    let of_it = |(provider, _): &&(String, String)| **provider == *capabilities.provider;
    Ok(CodeReceiver {
        model: capabilities.name(),
        address: llm::address(&chosen.row, &chosen.access)?,
        missing_key: missing.iter().find(of_it).map(|(_, variable)| variable.clone()),
        context_window: capabilities.context_window,
        // Prices from the table only: the defaults assumed for budgets are no prices.
        prices: chosen.row.facts(&chosen.model).prices.map(PriceList::from),
    })
}
