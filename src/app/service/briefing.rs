//! Messages that set a person's own assistant to work: review a change, or explain a finding.
//!
//! Main methods: [`Service::brief_review`], [`Service::brief_finding`]. The texts are templates of `prompt`; the layout of a change is the
//! engine's (`review::brief`), so that both present it alike.

use crate::app::context::project;
use crate::app::context::saved_runs;
use crate::app::context::settings;
use crate::app::prepare::uncommitted_count::{self, UncommittedCount};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::Service;
use super::fault::for_client;
use super::finding_code::{FindingCode, read_places};
use super::reviews::FindFault;
use super::reviews::ReviewState;
use crate::app::context::error::AppError;
use crate::app::context::prompts;
use crate::app::findings::runs;
use crate::app::prepare::change;
use crate::app::prepare::instructions;
use crate::domain::change::ChangeSet;
use crate::domain::event::NullEventSink;
use crate::domain::filter::PathFilter;
use crate::domain::finding::Finding;
use crate::domain::request::{InvalidScope, ReviewRequest, ReviewScope};
use crate::domain::run::RunId;
use crate::git::{self, GitError};
use crate::prompt::{AssistantVars, ChangeVars, FindingVars, PromptError, UntrustedText};
use crate::review;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Token limit of a message about a change, besides the person's own words.
const ROOM: u64 = 12_000;
/// Maximum size in bytes of a focus: it is a remark, not a document.
const MOST_FOCUS: usize = 8 << 10;
/// Time limit for collecting a change for a message.
const TIME: Duration = Duration::from_mins(1);
/// Limit on completion values.
const MOST_VALUES: usize = 100;
/// Time limit for a completion.
const TYPING: Duration = Duration::from_secs(2);
/// Limit on the findings named when one was not found.
const MOST_NAMED: usize = 20;

/// An error in building a message.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BriefingError {
    /// The change or the run cannot be read.
    #[error("{}", for_client(.0, "target").1)]
    App(#[from] AppError),
    /// The change is empty.
    #[error(
        "there is nothing to review: {head} has no commits that are not on {target}; name another target, or uncommitted{}, staged or a range A..B",
        uncommitted_words(*uncommitted)
    )]
    Nothing { target: String, head: String, uncommitted: usize },
    /// No base was given, and none can be found.
    #[error(
        "no target found to compare {head} with: give the branch that it is meant for as target (or uncommitted, staged, or a range A..B)"
    )]
    NoTarget { head: String },
    /// The scope has an invalid form.
    #[error(transparent)]
    Scope(#[from] InvalidScope),
    /// The review does not exist.
    #[error(transparent)]
    Review(#[from] FindFault),
    #[error("the review {0} is still running; its findings can be explained when it has ended")]
    Running(RunId),
    /// The focus is too long.
    #[error("the focus has more than {} KiB; say in a few sentences what to look at", MOST_FOCUS >> 10)]
    Focus,
    /// The template is larger than a message may be.
    #[error(
        "the template assistant_review.md takes {needed} tokens without any of the change, and the message may take {room}; shorten it"
    )]
    NoRoom {
        /// The required number of tokens.
        needed: u64,
        /// The available number of tokens.
        room: u64,
    },
    /// The run has no such finding.
    #[error("the review {run} has no finding {wanted:?}; {known}")]
    NoFinding {
        run: String,
        wanted: String,
        /// The existing ones, as a phrase.
        known: String,
    },
}

impl From<GitError> for BriefingError {
    fn from(error: GitError) -> Self {
        Self::App(error.into())
    }
}

impl From<PromptError> for BriefingError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::NoRoom { needed, room } => Self::NoRoom { needed, room },
            other => Self::App(other.into()),
        }
    }
}

impl Service {
    /// Builds the message with which an assistant reviews a change of the server's repository itself.
    ///
    /// `target` is the base to compare `HEAD` with (found automatically if `None`), or `uncommitted`, `staged`, `A..B` or `A...B`; `focus`
    /// is the aspect that matters most to the person. A target that names no revision is taken as the focus: clients split what a person
    /// types into arguments. A placeholder of a client's command (`$1`) gives a message without a change.
    pub fn brief_review(
        &self,
        target: Option<&str>,
        focus: Option<&str>,
        cancel: &Cancel,
    ) -> Result<String, BriefingError> {
        if let Some(target) = target.filter(|target| is_placeholder(target)) {
            return self.brief_placeholder(target, focus);
        }
        let error = match self.brief_change(target, focus, cancel) {
            Err(error) if is_unknown_revision(&error) => error,
            other => return other,
        };
        let Some(words) = target.filter(|target| !target.contains("..")) else { return Err(error) };
        let both = format!("{words} {}", focus.unwrap_or_default());
        let Ok(message) = self.brief_change(None, Some(&both), cancel) else { return Err(error) };
        let note = format!(
            "{} names no branch or commit here, so it was taken as the focus. Say so in the chat.",
            json!(words)
        );
        Ok(format!("{}\n\n{note}\n", message.trim_end()))
    }

    /// Builds the message for a target that the client fills in later: the assistant reads the change itself.
    fn brief_placeholder(&self, target: &str, focus: Option<&str>) -> Result<String, BriefingError> {
        let at = format!("{target}...HEAD");
        let text = format!(
            "It is not in this message. `read_diff` of `.` with `\"at\": \"{at}\"` lists its files. If nothing stands before the dots there, leave `at` \
             out; if a whole change does (`uncommitted`, `staged`, `A..B`), give that alone."
        );
        let vars =
            AssistantVars { at, focus: focus.unwrap_or_default().trim().to_owned(), instructions: String::new() };
        let change = ChangeVars { change: UntrustedText::new(text), ..ChangeVars::default() };
        let settings = settings::resolve(None, &self.options.flags, &self.around)?.settings;
        let repo = self.roots().open(self.roots().start()).ok();
        instructions::check_prompts(&settings, repo.as_ref())?;
        Ok(prompts::load(settings.prompts.as_deref())?.assistant_review(&change, &vars)?)
    }

    fn brief_change(
        &self,
        target: Option<&str>,
        focus: Option<&str>,
        cancel: &Cancel,
    ) -> Result<String, BriefingError> {
        let focus = focus.unwrap_or_default().trim().to_owned();
        if focus.len() > MOST_FOCUS {
            return Err(BriefingError::Focus);
        }
        let request = ReviewRequest {
            directory: self.roots().start().to_owned(),
            scope: ReviewScope::from_name(target, None)?,
            settings_from_worktree: false,
        };
        let cancel = cancel.with_deadline(TIME);
        let left_out = UncommittedCount::of(&request.scope, &request.directory, PathFilter::all());
        let subject = change::collect(&request, None, &[], &self.options.flags, &self.around, &cancel, &NullEventSink);
        let subject = subject.map_err(|error| match error {
            AppError::Git(GitError::NoTarget { head } | GitError::TargetIsHead { branch: head, .. }) => {
                BriefingError::NoTarget { head }
            }
            other => other.into(),
        })?;
        let change = &*subject.change;
        if change.files.is_empty() {
            let (target, head) = (change.target.clone(), change.head_name.clone());
            let uncommitted = left_out.map_or(0, |left_out| left_out.count());
            return Err(BriefingError::Nothing { target, head, uncommitted });
        }
        let instructions = instructions::load(&request, &subject, instructions::TrustLevel::User)?
            .map(|found| found.text)
            .unwrap_or_default();
        let prompts = prompts::load(subject.settings.prompts.as_deref())?;
        let vars = AssistantVars { at: at(change, &request.scope), focus, instructions };
        let note = left_out.and_then(|left_out| uncommitted_count::format_note(left_out.count()));
        let note = note.map_or_else(String::new, |note| format!("\n\n{note}. Say so in the chat.\n"));
        let own = review::estimate_tokens(&vars.focus) + review::estimate_tokens(&vars.instructions);
        let room = ROOM + own - review::estimate_tokens(&note);
        // Appended after the template's text, so that no user template can omit it.
        let message = review::brief(&prompts, change, &vars, room)?;
        Ok(if note.is_empty() { message } else { message.trim_end().to_owned() + &note })
    }

    /// Builds the message with which an assistant explains and judges a finding of an ended review: of `run`, or the latest.
    pub fn brief_finding(&self, run: Option<&str>, finding: &str, cancel: &Cancel) -> Result<String, BriefingError> {
        let id = self.find_review(run, None)?;
        if self.snapshot(id).is_some_and(|snapshot| matches!(snapshot.state, ReviewState::Running(_))) {
            return Err(BriefingError::Running(id));
        }
        let review = self.review(id)?;
        let found = runs::finding_like(&review.findings, finding.trim()).ok_or_else(|| BriefingError::NoFinding {
            run: review.id.to_string(),
            wanted: finding.to_owned(),
            known: known(&review.findings),
        })?;
        let settings = settings::resolve(None, &self.options.flags, &self.around)?.settings;
        let folder = self.folder_of(id)?;
        let repo = self.roots().open(&folder).ok();
        instructions::check_prompts(&settings, repo.as_ref())?;
        let prompts = prompts::load(settings.prompts.as_deref())?;
        let cancel = cancel.with_deadline(TIME);
        let FindingCode { code, note, readable } = read_places(self, repo, &review.change, &found.anchors, &cancel)?;
        let at = if readable { range_of(&review.change).unwrap_or_default() } else { String::new() };
        let own = folder == self.folder_of_start();
        let vars = FindingVars {
            id: found.id.to_string(),
            severity: found.severity,
            category: found.category,
            finding: words(found),
            code,
            repo: if own { String::new() } else { json!(folder.display().to_string()).to_string() },
            at,
            note,
        };
        Ok(prompts.explain_finding(&vars)?)
    }

    /// The repository folder of a review; the server's if the run has none on record.
    pub fn folder_of(&self, id: RunId) -> Result<PathBuf, AppError> {
        let here = self.snapshot(id).map(|snapshot| snapshot.folder);
        let kept = || saved_runs::record(&self.around, id).ok().and_then(|record| record.folder);
        match here.or_else(kept) {
            Some(folder) => Ok(self.roots().folder(Some(&folder))?),
            None => Ok(self.folder_of_start()),
        }
    }

    /// The folder of the server's own repository.
    fn folder_of_start(&self) -> PathBuf {
        let start = self.roots().start();
        let whole = Repo::open(start).ok().and_then(|repo| project::folder_of(&repo));
        whole.unwrap_or_else(|| start.to_owned())
    }

    /// Completes branches of the server's repository and the scope keywords; empty if that fails.
    pub fn targets_like(&self, typed: &str) -> Vec<String> {
        let cancel = Cancel::after(TYPING);
        let found = Repo::open(self.roots().start()).map_err(GitError::from);
        let found = found.and_then(|repo| git::list_branches(&repo, typed, MOST_VALUES, &cancel));
        let mut values = found.unwrap_or_default();
        values.extend(ReviewScope::WORDS.iter().filter(|word| word.starts_with(typed)).map(|word| (*word).to_owned()));
        values.truncate(MOST_VALUES);
        values
    }

    /// Completes ids of reviews, newest first; empty if that fails.
    pub fn runs_like(&self, typed: &str) -> Vec<String> {
        let ids = self.list_reviews().unwrap_or_default().into_iter().map(|review| review.id().to_string());
        ids.filter(|id| id.starts_with(typed)).take(MOST_VALUES).collect()
    }

    /// Completes ids of findings of a review (of the repository's latest), most severe first; empty if that fails.
    pub fn findings_like(&self, run: Option<&str>, typed: &str) -> Vec<String> {
        let found = self.find_review(run, None).ok().and_then(|id| self.review(id).ok());
        let findings = found.iter().flat_map(|review| &review.findings).map(|finding| finding.id.0.clone());
        findings.filter(|id| id.starts_with(typed)).take(MOST_VALUES).collect()
    }
}

/// Checks whether a target is the placeholder of an argument: `$1`.
fn is_placeholder(target: &str) -> bool {
    target.trim().strip_prefix('$').is_some_and(|digit| matches!(digit.as_bytes(), [b'1'..=b'9']))
}

fn is_unknown_revision(error: &BriefingError) -> bool {
    matches!(
        error,
        BriefingError::App(
            AppError::Git(GitError::Repo(RepoError::UnknownRevision(..)))
                | AppError::Repo(RepoError::UnknownRevision(..))
        )
    )
}

fn uncommitted_words(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (1 file)".to_owned(),
        _ => format!(" ({count} files)"),
    }
}

/// The scope to pass to the reading tools so that they see exactly this change.
fn at(change: &ChangeSet, scope: &ReviewScope) -> String {
    match scope {
        ReviewScope::Staged => "staged".to_owned(),
        ReviewScope::Uncommitted | ReviewScope::BranchWithWorktree { .. } => "uncommitted".to_owned(),
        ReviewScope::Branch { .. } | ReviewScope::Range { from_merge_base: true, .. } | ReviewScope::Pull(_) => {
            match (change.base, change.head) {
                (Some(base), Some(head)) => format!("{base}...{head}"),
                _ => change.head_name.clone(),
            }
        }
        ReviewScope::Commit(_) | ReviewScope::Range { .. } | ReviewScope::Patch(_) => {
            range_of(change).unwrap_or_else(|| change.head_name.clone())
        }
    }
}

/// The commits of a saved change as a range; `None` if it has no head.
fn range_of(change: &ChangeSet) -> Option<String> {
    let head = change.head?;
    Some(match (change.base, change.merge_base) {
        // Two trees as they are, whatever their histories.
        (Some(base), Some(old)) if base == old => format!("{base}..{head}"),
        (Some(base), Some(_)) => format!("{base}...{head}"),
        _ => head.to_string(),
    })
}

fn known(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "it has none".to_owned();
    }
    let named: Vec<&str> = findings.iter().take(MOST_NAMED).map(|finding| finding.id.0.as_str()).collect();
    let more = findings.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it has {}{more}", named.join(", "))
}

/// Formats the text of a finding.
fn words(finding: &Finding) -> UntrustedText {
    let mut text = format!("title: {}\nfound by: {} {}\n", finding.title, finding.origin.kind, finding.origin.name);
    if let Some(confidence) = finding.confidence {
        text.push_str(&format!("confidence: {} of 10\n", confidence.value()));
    }
    text.push_str(&format!("status: {}\n", finding.status));
    let look = &finding.verification;
    if let Some(mark) = finding.mark() {
        let why = look.rationale().map(|why| format!(": {why}")).unwrap_or_default();
        text.push_str(&format!("second look: {mark}{why}\n"));
    }
    if let Some(guideline) = &finding.guideline {
        text.push_str(&format!("guideline: {}:{}\n", guideline.path, guideline.line));
    }
    text.push_str(&format!("\n{}\n", finding.body.trim_end()));
    if let Some(suggestion) = &finding.suggestion {
        let (path, lines) = (&suggestion.path, suggestion.lines);
        let (start, end) = (lines.start(), lines.end());
        text.push_str(&format!("\nsuggested instead of {path}:{start}-{end}:\n{}\n", suggestion.replacement));
    }
    UntrustedText::new(text)
}
