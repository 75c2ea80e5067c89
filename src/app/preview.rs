//! Previews a review without sending anything: `review --preview`. Main function: [`preview`].
//!
//! It follows the path of a review up to the first request, and needs no key. Nothing is saved.

use std::sync::Arc;
use std::time::Instant;

use super::engine::{floor, limits, next, second_look, who};
use super::error::AppError;
use super::instructions::Whose;
use super::model::{self, Chosen, ProviderEnvironment};
use super::packs;
use super::prior;
use super::review::{Gathered, Gathering, Job, gather};
use super::subject::{self, Surroundings};
use crate::config::Resolved;
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink, Stage};
use crate::domain::offer::PriceList;
use crate::domain::preview::{Preview, Receiver};
use crate::domain::request::Compare;
use crate::llm;
use crate::review::{self, ModelRun, Past, Plan};
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::tools::ToolBox;

/// The models that would be called, and what is missing for their keys.
struct Asked {
    chosen: Option<Chosen>,
    second: Option<Chosen>,
    /// The variables missing a key, by provider.
    missing: Vec<(String, String)>,
}

/// Reports what a review would send to whom, what it would leave out, and the expected cost. No request is made.
pub async fn preview(
    job: Job,
    around: Surroundings,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<Preview, AppError> {
    let Job { run, request, flags, compare, leads, .. } = job;
    let compare = Compare { with: compare.with.of(&request.scope), ..compare };
    let resolved = subject::resolve(None, &flags, &around)?;
    let Asked { chosen, second, missing } = choose_models(&resolved, &around.providers)?;
    model::priced(&resolved.settings, chosen.iter().chain(&second))?;
    let gathering = Gathering { request, flags, compare, leads, whose: Whose::User, is_model: chosen.is_some() };
    let Gathered { mut subject, instructions, guidelines, prompts, .. } =
        gather(gathering, &around, &events, &cancel).await?;
    events.emit(Event::Stage { stage: Stage::Review });
    let from = instructions.as_ref().map(|instructions| instructions.from.clone());
    let packs = packs::load(&subject)?;
    let (given, guidelines) = (guidelines.given(), Arc::new(guidelines));
    let (change, settings) = (Arc::clone(&subject.change), subject.settings.clone());
    let (Some(chosen), Some(prompts)) = (chosen, prompts) else {
        let preview = of_rules(change, subject.notes);
        return Ok(preview);
    };
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?);
    let who = who(provider.capabilities(), &prompts, &packs, instructions.as_ref(), &guidelines);
    subject = prior::known(subject, &around, who, &events).await?;
    let next = next(&settings, &chosen)?;
    let looks = second_look(&settings, &provider, second.as_ref())?;
    let receiver = |chosen: &Chosen, capabilities: &llm::Capabilities| receiver(chosen, capabilities, &missing);
    let model = receiver(&chosen, provider.capabilities())?;
    let others = chosen.next.iter().zip(&next).map(|(chosen, next)| receiver(chosen, next.provider.capabilities()));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let other = second.as_ref().zip(looks.as_ref());
    let other = other.map(|(second, look)| receiver(second, look.provider.capabilities())).transpose()?;
    let plan = review::preview(ModelRun {
        run,
        tools: ToolBox::new(subject.tool_context()),
        packs,
        reports: subject.reports,
        prompts,
        limits: limits(&settings, provider.capabilities())?,
        journal: None,
        provider,
        next,
        relay: review::Relay::default(),
        second_look: looks,
        instructions: instructions.map(|instructions| instructions.text),
        guidelines,
        change: subject.change,
        new: subject.new,
        old: subject.old,
        floor: floor(&settings),
        known: subject.known,
        past: Past::default(),
        notes: subject.notes,
        started: (clock::now(), Instant::now()),
        cancel: subject.cancel,
        events,
    });
    let Plan { files, sent, notes } = plan.await?;
    let guidelines = given.into_iter().map(|given| given.path.to_string()).collect();
    let notices = chosen.notices.into_iter().chain(second.into_iter().flat_map(|second| second.notices));
    let notes = collect_notes(&change, notices.chain(notes).collect());
    Ok(Preview {
        change,
        model: Some(model),
        next: others,
        second: other,
        files,
        instructions: from,
        guidelines,
        sent,
        notes,
    })
}

/// Previews a review by the built-in rules: nothing is sent.
fn of_rules(change: Arc<ChangeSet>, more: Vec<String>) -> Preview {
    let Plan { files, sent, mut notes } = review::preview_rules(&change);
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
fn choose_models(resolved: &Resolved, environment: &ProviderEnvironment) -> Result<Asked, AppError> {
    let mut missing: Vec<(String, String)> = Vec::new();
    let mut environment = environment.clone();
    loop {
        let chosen = model::choose(resolved, &environment).and_then(|chosen| {
            let second = model::choose_second(resolved, &environment, chosen.as_ref())?;
            Ok((chosen, second))
        });
        match chosen {
            Err(AppError::NoKey { variable, provider, .. }) if !missing.iter().any(|(known, _)| *known == provider) => {
                environment = environment.with_a_key_for(&provider);
                missing.push((provider, variable));
            }
            Err(error) => return Err(error),
            Ok((chosen, second)) => return Ok(Asked { chosen, second, missing }),
        }
    }
}

fn receiver(
    chosen: &Chosen,
    capabilities: &llm::Capabilities,
    missing: &[(String, String)],
) -> Result<Receiver, AppError> {
    let of_it = |(provider, _): &&(String, String)| **provider == *capabilities.provider;
    Ok(Receiver {
        model: format!("{}/{}", capabilities.provider, capabilities.model),
        address: llm::address(&chosen.row, &chosen.access)?,
        missing_key: missing.iter().find(of_it).map(|(_, variable)| variable.clone()),
        context_window: capabilities.context_window,
        // Prices from the table only: the defaults assumed for budgets are no prices.
        prices: chosen.row.facts(&chosen.model).prices.map(PriceList::from),
    })
}
