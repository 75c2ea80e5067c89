//! Answers a question about a finding or a run with a model that reads the reviewed trees. Main function: [`ask`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::task::{describe_finding, find_subject};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::{AppError, UseCaseError};
use crate::app::context::limit_hint::raise_limit;
use crate::app::context::{model, prompts, saved_runs, settings};
use crate::app::prepare::diff_source::DiffOrigin;
use crate::app::prepare::inputs;
use crate::config::{Flags, ModelChoice};
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink};
use crate::domain::filter::PathFilter;
use crate::domain::finding::Finding;
use crate::domain::guideline::Guidelines;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::review::{Review, StopReason};
use crate::domain::text::mask;
use crate::llm;
use crate::prompt::{QuestionVars, UntrustedText};
use crate::review::{
    self, BranchHistory, FindingThresholds, JournalReplay, ModelRun, QuestionOutcome, answer_question,
};
use crate::rules::{Packs, ScannerReports};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::sys::repo::{Repo, RepoPool};
use crate::tools::{Checkout, ToolContext, ToolLimits, Toolbox};
use crate::workspace::memory::MemoryTree;
use crate::workspace::{self, Workspace};

/// Limit in bytes on a question.
const QUESTION: usize = 8 << 10;
/// Limit in bytes on a review that a question is about.
const REVIEW: usize = 48 << 10;

/// A question about a saved review.
#[derive(Debug, Clone)]
pub struct AskRequest {
    /// The current folder.
    pub directory: PathBuf,
    /// The id of a finding or of a run, a prefix of one, or `last`.
    pub name: String,
    /// The run with the finding, if not the newest one.
    pub run: Option<String>,
    /// The question.
    pub question: String,
    /// The model and the limits from the command line.
    pub flags: Flags,
}

/// An error that ends a question without an answer.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum AskError {
    /// No model is configured.
    #[error(
        "a question needs a model: name one with --model, set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY), or run review init"
    )]
    NoModel,
    /// The question is empty or too long.
    #[error("a question has 1 to 8192 bytes")]
    Length,
    /// The reviewed commits are not found.
    #[error(
        "the reviewed code is not here ({0}); run it in the repository with those commits, or name its folder with -C"
    )]
    NoTrees(String),
    /// The model gave no answer.
    #[error("{why}{}; the saved review is unchanged", remedy(*ended, key.as_deref()))]
    NoAnswer { ended: StopReason, why: String, key: Option<String> },
}

fn remedy(ended: StopReason, key: Option<&str>) -> String {
    let key = key.filter(|_| ended.is_provider_fault()).map(|key| format!("; the key is from {key}"));
    raise_limit(ended).map(|more| format!("; {more}")).or(key).unwrap_or_default()
}

impl UseCaseError for AskError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::NoModel | Self::Length | Self::NoTrees(_) => 2,
            Self::NoAnswer { ended: StopReason::Interrupted, .. } => 130,
            Self::NoAnswer { ended, .. } if ended.is_provider_fault() => 4,
            Self::NoAnswer { .. } => 3,
        }
    }
}

/// The answer to a question, with its cost.
#[derive(Debug)]
pub struct AnsweredQuestion {
    /// The answer: Markdown of a model, secrets masked.
    pub text: String,
    /// The model.
    pub model: String,
    /// Its turns.
    pub turns: u32,
    /// Tokens and cost.
    pub usage: crate::domain::run::Usage,
}

/// Asks a model about a finding or a run. It reads the reviewed trees with the reading tools; the saved review is not changed.
pub async fn ask(
    request: AskRequest,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<AnsweredQuestion, AppError> {
    let question = request.question.trim().to_owned();
    if question.is_empty() || question.len() > QUESTION {
        return Err(AskError::Length.into());
    }
    let resolved = settings::resolve(None, &request.flags, &around)?;
    let chosen = model::choose(&resolved, &around.providers)?.filter(|_| resolved.settings.model != ModelChoice::Rules);
    let chosen = chosen.ok_or(AskError::NoModel)?;
    let limits_of = |provider: &dyn llm::Provider| model::limits(&resolved.settings, provider.capabilities());
    let provider: Arc<dyn llm::Provider> = Arc::from(llm::connect(&chosen.row, &chosen.model, &chosen.access)?);
    let limits = limits_of(provider.as_ref())?;
    let cancel = cancel.with_deadline(resolved.settings.timeout);
    let prompts = prompts::load(resolved.settings.prompts.as_deref())?;
    let (own, limit) = (around.clone(), cancel.clone());
    let opened = blocking::run("opening the saved review", &cancel, move || open_subject(&own, &request, &limit));
    let OpenedSubject { review, context, change, trees, tools, is_uncommitted } = opened.await??;
    if is_uncommitted {
        let text = "the review was of uncommitted files, which are read as they are now";
        events.emit(Event::Notice { text: text.to_owned() });
    }
    let text = format!("{}/{} gets the question, and code of the reviewed change", chosen.row.name, chosen.model);
    events.emit(Event::Notice { text });
    let key = chosen.key_from.clone();
    let [new, old] = trees;
    let run = ModelRun {
        run: review,
        change,
        new,
        old,
        tools,
        packs: Packs::only(&[])?,
        reports: ScannerReports::default(),
        provider,
        next: Vec::new(),
        relay: review::Failover::default(),
        prompts,
        instructions: None,
        guidelines: Arc::new(Guidelines::default()),
        limits,
        pool: None,
        second_look: None,
        floor: FindingThresholds { severity: None, confidence: None },
        known: BranchHistory::default(),
        past: JournalReplay::default(),
        notes: Vec::new(),
        started: (clock::now(), Instant::now()),
        cancel,
        events,
        journal: None,
    };
    let vars = QuestionVars { review: UntrustedText::new(context), question };
    let outcome = answer_question(run, &vars).await?;
    let QuestionOutcome { answer, model, turns, usage } = outcome;
    match answer {
        Ok(text) => Ok(AnsweredQuestion { text, model, turns, usage }),
        Err((ended, why)) => Err(AskError::NoAnswer { ended, why: why.trim_end_matches('.').to_owned(), key }.into()),
    }
}

/// The subject of a question, with the trees of its review.
struct OpenedSubject {
    review: crate::domain::run::RunId,
    context: String,
    change: Arc<ChangeSet>,
    trees: [Arc<dyn Workspace>; 2],
    tools: Toolbox,
    /// `true` if a reviewed tree was never committed.
    is_uncommitted: bool,
}

fn open_subject(around: &ProcessEnv, request: &AskRequest, cancel: &Cancel) -> Result<OpenedSubject, AppError> {
    let (review, finding) = find_subject(around, request.name.trim(), request.run.as_deref(), &request.directory)?;
    let context = describe(&review, finding.as_ref())?;
    let record = saved_runs::record(around, review.id)?;
    // Paths that the review left out are not read here either.
    let filter = match inputs::read(&around.store, review.id) {
        Ok((given, ..)) => given.shaping.filter()?,
        Err(_) => settings::filter(&settings::resolve(None, &Flags::default(), around)?.settings)?,
    };
    let change = Arc::clone(&review.change);
    let is_of = |at| change.new_at == at || change.old_at == at;
    let is_uncommitted = is_of(WorkspaceAt::Worktree) || is_of(WorkspaceAt::Index);
    let (trees, diff) = if is_of(WorkspaceAt::PatchOnly) {
        let empty = || Arc::new(MemoryTree::default()) as Arc<dyn Workspace>;
        ([empty(), empty()], None)
    } else {
        let folders: Vec<&Path> = record.folder.as_deref().into_iter().chain([request.directory.as_path()]).collect();
        let (pool, trees) = open_trees(&change, &folders, &filter)?;
        (trees, Some(DiffOrigin::Repository(pool).source(&change)))
    };
    let tools = Toolbox::new(ToolContext {
        change: Some(Arc::clone(&change)),
        new: Arc::clone(&trees[0]),
        old: Some(Arc::clone(&trees[1])),
        diff,
        from_merge_base: false,
        checkout: Checkout::default(),
        builds: None,
        languages: None,
        cancel: cancel.clone(),
        limits: ToolLimits { bytes: 32 << 10, ..ToolLimits::default() },
    });
    Ok(OpenedSubject { review: review.id, context, change, trees, tools, is_uncommitted })
}

/// Describes the subject for the model.
fn describe(review: &Review, finding: Option<&Finding>) -> Result<String, AppError> {
    let text = match finding {
        Some(finding) => describe_finding(finding),
        None => {
            let page = saved_runs::render(review, "markdown", None).ok_or(AppError::Broken)?;
            String::from_utf8_lossy(&page).into_owned()
        }
    };
    let text = mask(&text).text;
    if text.len() <= REVIEW {
        return Ok(text);
    }
    Ok(format!("{}\n[cut: the rest of the review is not shown]", &text[..text.floor_char_boundary(REVIEW)]))
}

/// Opens the trees of a change in the first folder whose repository has them.
fn open_trees(
    change: &ChangeSet,
    folders: &[&Path],
    filter: &PathFilter,
) -> Result<(RepoPool, [Arc<dyn Workspace>; 2]), AppError> {
    let mut why = "no folder is known".to_owned();
    for folder in folders {
        let opened = Repo::open(folder).map_err(|error| error.to_string()).and_then(|repo| {
            let pool = RepoPool::new(repo);
            let open = |at, side| {
                workspace::open(Some(&pool), at, side, &[], filter.clone()).map_err(|error| error.to_string())
            };
            let trees = [open(change.new_at, DiffSide::New)?, open(change.old_at, DiffSide::Old)?];
            Ok((pool, trees))
        });
        match opened {
            Ok(opened) => return Ok(opened),
            Err(error) => why = error,
        }
    }
    Err(AskError::NoTrees(why).into())
}
