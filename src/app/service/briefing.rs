//! What a person's own assistant is told when it is set to work: a change to review, or a finding to explain.
//!
//! Main methods: [`Service::brief_review`], [`Service::brief_finding`]. The words are templates of `prompt`; how a change is laid out is the
//! engine's own (`review::brief`), so that both see a change alike.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::fault::for_client;
use super::left_out::{self, LeftOut};
use super::places::{Places, places};
use super::{FindFault, ReviewState, Service};
use crate::app::error::AppError;
use crate::app::{instructions, runs, subject, templates};
use crate::domain::change::ChangeSet;
use crate::domain::event::Silent;
use crate::domain::finding::{Finding, VerificationState};
use crate::domain::request::{InvalidScope, ReviewRequest, Scope};
use crate::domain::run::RunId;
use crate::git::{self, GitError};
use crate::prompt::{AssistantVars, Data, FindingVars, PromptError};
use crate::review;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// What a message about a change may take beside the person's own words, in tokens.
const ROOM: u64 = 12_000;
/// A longer focus is refused, in bytes: it is a remark, not a document.
const MOST_FOCUS: usize = 8 << 10;
/// Collecting a change for a message takes at most so long.
const TIME: Duration = Duration::from_mins(1);
/// So many values are proposed for what is being typed.
const MOST_VALUES: usize = 100;
/// Proposing them takes at most so long.
const TYPING: Duration = Duration::from_secs(2);
/// So many findings are named where one was not found.
const MOST_NAMED: usize = 20;

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    /// The change or the run cannot be had.
    #[error("{}", for_client(.0, "target").1)]
    App(#[from] AppError),
    /// There is nothing in the change.
    #[error(
        "there is nothing to review: {head} has nothing that {target} has not; name another target, or uncommitted{}, staged or a range A..B",
        uncommitted_words(*uncommitted)
    )]
    Nothing {
        /// What it was compared with.
        target: String,
        /// What would be reviewed.
        head: String,
        /// How many files are not committed, as far as that is known.
        uncommitted: usize,
    },
    /// Nobody said what to compare with, and it cannot be found.
    #[error(
        "no target found to compare {head} with: give the branch that it is meant for as target (or uncommitted, staged, or a range A..B)"
    )]
    NoTarget {
        /// What would be reviewed.
        head: String,
    },
    /// What is to be reviewed is named in no way that there is.
    #[error(transparent)]
    Scope(#[from] InvalidScope),
    /// No such review.
    #[error(transparent)]
    Review(#[from] FindFault),
    /// The review has not ended.
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
        /// How many it takes.
        needed: u64,
        /// How many there may be.
        room: u64,
    },
    /// The run has no such finding.
    #[error("the review {run} has no finding {wanted:?}; {known}")]
    NoFinding {
        /// The run.
        run: String,
        /// What was asked for.
        wanted: String,
        /// What there is, in words.
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
    /// The message with which an assistant reviews a change of the server's repository itself.
    ///
    /// `target` is what `HEAD` is compared with (found where it is `None`), or `uncommitted`, `staged`, `A..B` or `A...B`; `focus` is what the
    /// person wants looked at most.
    pub fn brief_review(
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
            scope: Scope::named(target, None)?,
            settings_from_worktree: false,
        };
        let cancel = cancel.within(TIME);
        let left_out = LeftOut::of(&request.scope, &request.directory);
        let subject = subject::collect(&request, &[], &self.options.flags, &self.around, &cancel, &Silent);
        let subject = subject.map_err(|error| match error {
            AppError::Git(GitError::NoTarget { head } | GitError::TargetIsHead { branch: head }) => {
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
        let instructions = instructions::load(&request, &subject, instructions::Whose::User)?
            .map(|found| found.text)
            .unwrap_or_default();
        let prompts = templates::load(subject.settings.prompts.as_deref())?;
        let vars = AssistantVars { at: at(change, &request.scope), focus, instructions };
        let note = left_out.and_then(|left_out| left_out::note(left_out.count()));
        let note = note.map_or_else(String::new, |note| format!("\n\n{note}. Say so in the chat.\n"));
        let own = review::estimate_tokens(&vars.focus) + review::estimate_tokens(&vars.instructions);
        let room = ROOM + own - review::estimate_tokens(&note);
        // Behind what the template says, so that no template of the person's own can leave it out.
        let message = review::brief(&prompts, change, &vars, room)?;
        Ok(if note.is_empty() { message } else { message.trim_end().to_owned() + &note })
    }

    /// The message with which an assistant explains and judges a finding of a review that ended: of `run`, or of the repository's latest.
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
        let settings = subject::resolve(None, &self.options.flags, &self.around)?.settings;
        let folder = self.folder_of(id)?;
        let repo = self.roots().open(&folder).ok();
        instructions::prompts_may_be_used(&settings, repo.as_ref())?;
        let prompts = templates::load(settings.prompts.as_deref())?;
        let cancel = cancel.within(TIME);
        let Places { code, note, readable } = places(self, repo, &review.change, &found.anchors, &cancel)?;
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

    /// The folder of the repository that a review is of; the server's where that was not kept.
    fn folder_of(&self, id: RunId) -> Result<PathBuf, AppError> {
        let here = self.snapshot(id).map(|snapshot| snapshot.folder);
        let kept = || runs::record(&self.around, id).ok().and_then(|record| record.folder);
        match here.or_else(kept) {
            Some(folder) => Ok(self.roots().folder(Some(&folder))?),
            None => Ok(self.folder_of_start()),
        }
    }

    /// The folder of the server's own repository.
    fn folder_of_start(&self) -> PathBuf {
        let start = self.roots().start();
        let whole = Repo::open(start).ok().and_then(|repo| subject::folder_of(&repo));
        whole.unwrap_or_else(|| start.to_owned())
    }

    /// Branches of the server's repository that begin with what was typed, and the words that stand beside them; none where that fails.
    pub fn targets_like(&self, typed: &str) -> Vec<String> {
        let cancel = Cancel::after(TYPING);
        let found = Repo::open(self.roots().start()).map_err(GitError::from);
        let found = found.and_then(|repo| git::branches(&repo, typed, MOST_VALUES, &cancel));
        let mut values = found.unwrap_or_default();
        values.extend(Scope::WORDS.iter().filter(|word| word.starts_with(typed)).map(|word| (*word).to_owned()));
        values.truncate(MOST_VALUES);
        values
    }

    /// Reviews whose ids begin with what was typed, newest first; none where that fails.
    pub fn runs_like(&self, typed: &str) -> Vec<String> {
        let ids = self.list_reviews().unwrap_or_default().into_iter().map(|review| review.id().to_string());
        ids.filter(|id| id.starts_with(typed)).take(MOST_VALUES).collect()
    }

    /// Findings of a review (of the repository's latest) whose ids begin with what was typed, worst first; none where that fails.
    pub fn findings_like(&self, run: Option<&str>, typed: &str) -> Vec<String> {
        let found = self.find_review(run, None).ok().and_then(|id| self.review(id).ok());
        let findings = found.iter().flat_map(|review| &review.findings).map(|finding| finding.id.0.clone());
        findings.filter(|id| id.starts_with(typed)).take(MOST_VALUES).collect()
    }
}

fn uncommitted_words(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (1 file)".to_owned(),
        _ => format!(" ({count} files)"),
    }
}

/// What the reading tools are asked with to see exactly this change.
fn at(change: &ChangeSet, scope: &Scope) -> String {
    match scope {
        Scope::Staged => "staged".to_owned(),
        Scope::Uncommitted => "uncommitted".to_owned(),
        Scope::Branch { .. } | Scope::Range { from_merge_base: true, .. } | Scope::Pull(_) => {
            match (change.base, change.head) {
                (Some(base), Some(head)) => format!("{base}...{head}"),
                _ => change.head_name.clone(),
            }
        }
        Scope::Commit(_) | Scope::Range { .. } | Scope::Patch(_) => {
            range_of(change).unwrap_or_else(|| change.head_name.clone())
        }
    }
}

/// The commits of a kept change as a range; none where it has no head.
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

/// What a finding says.
fn words(finding: &Finding) -> Data {
    let mut text = format!("title: {}\nfound by: {} {}\n", finding.title, finding.origin.kind, finding.origin.name);
    if let Some(confidence) = finding.confidence {
        text.push_str(&format!("confidence: {} of 10\n", confidence.value()));
    }
    text.push_str(&format!("status: {}\n", finding.status));
    let look = &finding.verification;
    if look.state != VerificationState::Unchecked {
        let why = look.rationale.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        text.push_str(&format!("second look: {}{why}\n", look.state));
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
    Data::new(text)
}
