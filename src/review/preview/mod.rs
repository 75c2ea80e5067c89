//! Preview of the requests of a run, by the run's own code up to the first request. Main function: [`preview`].
//!
//! The change is laid out as in a review; where the first model would be asked, it ends. The rules do not run, so that a preview costs what
//! collecting the change costs. The possible cost is computed in `estimate`. No request is sent, and nothing is written.

mod estimate;

use std::collections::HashMap;
use std::sync::Arc;

use super::budget::SharedBudget;
use super::by_model::{PreparedReview, prepare_without_rules};
use super::error::EngineError;
use super::journal::Journal;
use super::parts::ModelReviewInput;
use super::plan::Opening;
use super::run::ModelRun;
use super::tokens::estimate_tokens;
use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::path::RepoPath;
use crate::domain::preview::{FilePlan, FileState, PartPlan, SentContent};
use crate::llm::ToolCallFormat;
use crate::prompt::PromptError;
use crate::sys::blocking;

use estimate::{EstimateInput, EstimatedConversation, binding_limits, estimate};

/// Plan of a run.
#[derive(Debug, Clone)]
pub struct ReviewPlan {
    /// Plan for each changed file.
    pub files: Vec<FilePlan>,
    /// Content that would be sent; `None` if there is nothing to review.
    pub sent: Option<SentContent>,
    /// Receipt notes.
    pub notes: Vec<String>,
}

/// Returns what a run would send. No request is sent, and the journal is not written.
pub async fn preview(run: ModelRun) -> Result<ReviewPlan, EngineError> {
    let cancel = run.cancel.clone();
    let work = move || {
        let PreparedReview { input, .. } = prepare_without_rules(&run, &Journal::new(None))?;
        let mut plan = plan(&run, input)?;
        plan.notes.extend(run.notes.iter().cloned());
        Ok(plan)
    };
    blocking::run("preparing the review", &cancel, work).await?
}

/// Returns what the rules engine would review.
pub fn preview_rules(change: &ChangeSet) -> ReviewPlan {
    let files = change.files.iter().map(|file| {
        let skipped = why_skipped(file);
        let state = if skipped.is_none() { FileState::Shown } else { FileState::Skipped };
        FilePlan { path: file.path.clone(), state, reason: skipped, part: None }
    });
    ReviewPlan { files: files.collect(), sent: None, notes: Vec::new() }
}

fn plan(run: &ModelRun, input: ModelReviewInput) -> Result<ReviewPlan, PromptError> {
    let grammar = match run.provider.capabilities().speech() {
        ToolCallFormat::Native => 0,
        ToolCallFormat::Text => estimate_tokens(&run.prompts.text_protocol()?),
    };
    let ModelReviewInput { mut builder, tools, opener, whole, .. } = input;
    let (leads, layout) = (builder.leads().len(), &opener.layout);
    let open = |at: usize| opener.open_part(run, at, &mut builder).map(|(_, opening)| opening);
    let openings: Vec<Opening> = match whole {
        Some(whole) => vec![whole],
        None => (0..layout.units.len()).map(open).collect::<Result<_, _>>()?,
    };
    let notes = openings.iter().flat_map(|opening| opening.notes.iter().cloned()).collect();
    let files = files(run, &layout.units, &openings);
    if layout.units.iter().all(Vec::is_empty) {
        return Ok(ReviewPlan { files, sent: None, notes });
    }
    let sizes: Vec<u64> = openings.iter().map(|opening| tools.size + opening.size()).collect();
    // The first conversation may always try.
    let promised = if sizes.len() > 1 { SharedBudget::new(run.limits, &sizes).promised_parts().max(1) } else { 1 };
    let parts: Vec<PartPlan> = openings
        .iter()
        .zip(&layout.units)
        .enumerate()
        .map(|(at, (opening, unit))| PartPlan {
            files: unit.len(),
            system: estimate_tokens(&opening.system) + grammar,
            tools: tools.size,
            message: estimate_tokens(&opening.message),
            is_promised: at < promised,
        })
        .collect();
    let leads_left_out = openings.iter().map(|opening| opening.leads_left_out.len()).sum();
    let conversations: Vec<EstimatedConversation> =
        parts.iter().map(|part| EstimatedConversation { size: part.request(), files: part.files as u64 }).collect();
    let ground = EstimateInput {
        conversations: &conversations,
        limits: &run.limits,
        prices: run.provider.capabilities().prices,
        has_looks: run.second_look.is_some(),
        prices_of_looks: run.second_look.as_ref().and_then(|second| second.provider.capabilities().prices),
    };
    let estimate = estimate(&ground);
    let limits = binding_limits(&estimate, &run.limits, &parts);
    let sent = SentContent { parts, room: layout.room, leads, leads_left_out, estimate, limits };
    Ok(ReviewPlan { files, sent: Some(sent), notes })
}

/// Returns the plan for each file.
fn files(run: &ModelRun, units: &[Vec<usize>], openings: &[Opening]) -> Vec<FilePlan> {
    let change: &Arc<ChangeSet> = &run.change;
    let part_of: HashMap<usize, usize> =
        units.iter().enumerate().flat_map(|(part, files)| files.iter().map(move |at| (*at, part))).collect();
    let mut shown: HashMap<&RepoPath, usize> = HashMap::new();
    let mut left_out: HashMap<&RepoPath, &str> = HashMap::new();
    for opening in openings {
        for file in &opening.shown {
            *shown.entry(&file.path).or_default() += file.hunks;
        }
        left_out.extend(opening.left_out.iter().map(|file| (&file.path, file.reason.as_str())));
    }
    let carried = run.known.carried_files();
    let plan = |(at, file): (usize, &FileChange)| {
        let (state, reason) = if let Some(why) = carried.get(&file.path) {
            (FileState::Carried, Some(why.clone()))
        } else if let Some(why) = why_skipped(file) {
            (FileState::Skipped, Some(why))
        } else {
            match (shown.get(&file.path), left_out.get(&file.path)) {
                (Some(hunks), _) if *hunks >= file.hunks.len() => (FileState::Shown, None),
                (Some(hunks), _) => {
                    let all = file.hunks.len();
                    (FileState::Cut, Some(format!("{hunks} of {all} hunks are shown whole; the model can read on")))
                }
                (None, why) => (FileState::LeftOut, why.map(|why| (*why).to_owned())),
            }
        };
        let part = part_of.get(&at).filter(|_| units.len() > 1).and_then(|part| u32::try_from(part + 1).ok());
        FilePlan { path: file.path.clone(), state, reason, part }
    };
    change.files.iter().enumerate().map(plan).collect()
}

/// Returns the reason why a file needs no review; `None` if it needs one.
fn why_skipped(file: &FileChange) -> Option<String> {
    let none = || (!file.reviewable()).then_some("no lines changed");
    file.without_text().or_else(none).map(str::to_owned)
}
