//! Reopens what a run reviews, and compares it with the recording. Main type: [`ResumeCheck`].
//!
//! Commits are read as recorded, whatever branches point to now. Uncommitted files (the working tree, the index, a patch) are collected
//! again, and must be equal.

use crate::app::context::project;
use crate::app::context::settings;
use crate::app::prepare::rule_files;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::drift::DriftReport;
use super::error::ResumeError;
use super::record::RecordedRun;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::project::project_settings;
use crate::app::context::prompts;
use crate::app::prepare::change;
use crate::app::prepare::change::PreparedChange;
use crate::app::prepare::diff_source::DiffOrigin;
use crate::app::prepare::guidelines;
use crate::app::prepare::inputs::ContentHashes;
use crate::app::prepare::inputs::PinnedSettings;
use crate::app::prepare::instructions;
use crate::app::prepare::instructions::Instructions;
use crate::app::prepare::packs;
use crate::app::prepare::pull::sign_in;
use crate::config::{Flags, Settings};
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink, NullEventSink};
use crate::domain::forge::ReviewedPull;
use crate::domain::guideline::Guidelines;
use crate::domain::id::CommitId;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::git;
use crate::prompt::Prompts;
use crate::syntax::ProbeScope;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::workspace;

/// The reviewed change, and the request resolved today.
pub(super) struct ResumeCheck<'a> {
    pub(super) opened: &'a RecordedRun,
    pub(super) request: &'a ReviewRequest,
    pub(super) flags: &'a Flags,
    pub(super) around: &'a ProcessEnv,
    pub(super) cancel: &'a Cancel,
}

/// The input of an engine for resuming.
pub(super) struct ResumeState {
    pub(super) subject: PreparedChange,
    pub(super) instructions: Option<Instructions>,
    pub(super) guidelines: Guidelines,
    pub(super) prompts: Prompts,
}

/// Records whether a pull request has other ends than the reviewed ones. A forge that does not respond does not block.
pub(super) async fn pull(
    of: &ReviewedPull,
    change: &ChangeSet,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
    changes: &mut DriftReport,
) -> Result<(), AppError> {
    let github = sign_in(around, cancel).await?;
    let server = github.server().reveal().trim_end_matches('/').to_owned();
    let answer = if server == of.server {
        github.within(cancel).about(&of.id.repo).pull(&of.id).await.map_err(|error| error.to_string())
    } else {
        Err(format!("it is on {}, and {server} is what is asked", of.server))
    };
    match answer {
        Ok(pull) => changes.compare_pull(change, &pull),
        Err(why) => {
            cancel.check()?;
            let text = format!("nobody knows whether {} moved on since the run began: {why}", of.id);
            events.emit(Event::Notice { text });
        }
    }
    Ok(())
}

impl ResumeCheck<'_> {
    /// Opens what the run reviews, and records the differences. With `as_recorded`, the recorded inputs are used.
    pub(super) fn check(
        &self,
        patch: &[u8],
        moved: Option<&Path>,
        as_recorded: bool,
        changes: &mut DriftReport,
    ) -> Result<ResumeState, AppError> {
        let opened = self.opened;
        let given = &opened.given;
        let mut subject = match opened.change.new_at {
            WorkspaceAt::PatchOnly => self.patch(patch)?,
            WorkspaceAt::Index | WorkspaceAt::Worktree => self.uncommitted(as_recorded)?,
            WorkspaceAt::Revision(_) | WorkspaceAt::Empty => self.commits(moved, as_recorded, changes)?,
        };
        for (name, was, is) in given.shaping.differences(&PinnedSettings::of(&subject.settings)) {
            changes.compare(&format!("the setting {name}"), &was, &is);
        }
        if as_recorded {
            given.shaping.apply_to(&mut subject.settings);
        }
        self.rules(&mut subject, as_recorded, changes)?;
        subject.notes.clone_from(&given.notes);
        subject.known = opened.known.clone();
        let (instructions, prompts) = self.load_texts(&subject, as_recorded, changes)?;
        let guidelines = self.guidelines(&subject, as_recorded, changes)?;
        Ok(ResumeState { subject, instructions, guidelines, prompts })
    }

    /// Loads the rules, and records whether they differ.
    fn rules(
        &self,
        subject: &mut PreparedChange,
        as_recorded: bool,
        changes: &mut DriftReport,
    ) -> Result<(), AppError> {
        let given = &self.opened.given;
        match packs::load(subject) {
            Ok(packs) if packs.hash() == given.rules => {}
            Ok(_) => changes.push("the rules are others".to_owned()),
            Err(_) if as_recorded => changes.push("the rules cannot be used any more".to_owned()),
            Err(error) => return Err(error),
        }
        if as_recorded {
            subject.rule_files.clone_from(&given.rule_files);
        }
        Ok(())
    }

    /// Loads the model's prompts and instructions.
    fn load_texts(
        &self,
        subject: &PreparedChange,
        as_recorded: bool,
        changes: &mut DriftReport,
    ) -> Result<(Option<Instructions>, Prompts), AppError> {
        let given = &self.opened.given;
        let Some(reviewer) = &given.reviewer else { return Err(ResumeError::Rules(self.opened.run).into()) };
        let (was, kept) = (reviewer.instructions(), reviewer.prompts()?);
        let loaded = instructions::load(self.request, subject, given.asked.trust_level);
        let text = |given: &Option<Instructions>| given.as_ref().map(|given| given.text.clone());
        match loaded {
            Ok(now) if text(&was) != text(&now) => {
                let from = now.as_ref().or(was.as_ref()).map_or("", |given| &given.from);
                changes.push(format!("the instructions ({from}) changed"));
            }
            Ok(_) => {}
            Err(_) if as_recorded => changes.push("the instructions cannot be read any more".to_owned()),
            Err(error) => return Err(error),
        }
        match prompts::load(subject.settings.prompts.as_deref()) {
            Ok(now) if now.hash() != reviewer.prompts => {
                let was: Vec<_> = kept.texts().collect();
                let others: Vec<&str> = now.texts().filter(|now| !was.contains(now)).map(|(name, _)| name).collect();
                changes.push(format!("the prompts changed ({})", others.join(", ")));
            }
            Ok(_) => {}
            Err(_) if as_recorded => changes.push("the prompts cannot be read any more".to_owned()),
            Err(error) => return Err(error),
        }
        // Without changes they are equal; with changes, the recorded ones apply.
        Ok((was, kept))
    }

    /// Loads the project's guidelines as recorded.
    fn guidelines(
        &self,
        subject: &PreparedChange,
        as_recorded: bool,
        changes: &mut DriftReport,
    ) -> Result<Guidelines, AppError> {
        let given = &self.opened.given;
        let was = given.reviewer.as_ref().map(|reviewer| reviewer.guidelines.clone()).unwrap_or_default();
        match guidelines::load(subject, given.asked.settings_from_worktree) {
            Ok(now) if now.provenance() != was.provenance() => {
                let other = |one: &Guidelines, two: &Guidelines| -> Vec<String> {
                    let (one, two) = (one.provenance(), two.provenance());
                    one.into_iter().filter(|given| !two.contains(given)).map(|given| given.path.to_string()).collect()
                };
                let mut names = [other(&was, &now), other(&now, &was)].concat();
                names.sort_unstable();
                names.dedup();
                changes.push(format!("the project's guidelines changed ({})", names.join(", ")));
            }
            Ok(_) => {}
            Err(_) if as_recorded => changes.push("the project's guidelines cannot be read any more".to_owned()),
            Err(error) => return Err(error),
        }
        Ok(was)
    }

    fn patch(&self, patch: &[u8]) -> Result<PreparedChange, AppError> {
        let given = &self.opened.given;
        if given.contents.is_other_patch(&ContentHashes::of_patch(patch)) {
            let (run, fed) = (self.opened.run, given.asked.is_from_stdin());
            return Err(ResumeError::OtherPatch { run, fed }.into());
        }
        self.collected(patch)
    }

    /// Collects uncommitted files again.
    fn uncommitted(&self, as_recorded: bool) -> Result<PreparedChange, AppError> {
        let opened = self.opened;
        let subject = self.collected(&[])?;
        // A setting that excludes files would be reported as changed files.
        let same_settings = opened.given.shaping == PinnedSettings::of(&subject.settings);
        let mut edited = DriftReport::default();
        edited.compare_files(&opened.change, &subject.change);
        let now = ContentHashes::of(&subject.change, subject.new.as_ref(), &subject.cancel)?;
        if edited.is_empty() {
            let changed = opened.given.contents.changed_paths(&now);
            for path in changed {
                edited.push(format!("{path} changed again"));
            }
        }
        if edited.is_empty() && opened.change.base != subject.change.base {
            edited.push("HEAD moved".to_owned());
        }
        if edited.is_empty() || (!same_settings && !as_recorded) {
            let reports = opened.given.reports.clone();
            return Ok(PreparedChange { change: Arc::new(opened.change.clone()), reports, ..subject });
        }
        Err(ResumeError::Edited { run: opened.run, what: edited.into_sentences() }.into())
    }

    fn collected(&self, patch: &[u8]) -> Result<PreparedChange, AppError> {
        change::collect(self.request, None, patch, self.flags, self.around, self.cancel, &NullEventSink)
    }

    /// Reads the recorded commits, and compares them with what the request resolves to now.
    fn commits(
        &self,
        moved: Option<&Path>,
        as_recorded: bool,
        changes: &mut DriftReport,
    ) -> Result<PreparedChange, AppError> {
        let opened = self.opened;
        let (given, change) = (&opened.given, &opened.change);
        let place = moved.map(Path::to_owned).or_else(|| given.repository.as_ref().map(PathBuf::from));
        let place = place.ok_or(ResumeError::Unnamed(opened.run))?;
        let repo = Repo::open(&place)
            .map_err(|error| ResumeError::NoRepository { run: opened.run, why: error.to_string() })?;
        let settings_at = given.settings_at.as_deref().and_then(|id| id.parse().ok()).map(CommitId);
        let trees = [("what is reviewed", change.new_at), ("what it is compared with", change.old_at)];
        let read = trees.into_iter().filter_map(|(what, at)| match at {
            WorkspaceAt::Revision(commit) => Some((what, commit)),
            WorkspaceAt::Index | WorkspaceAt::Worktree | WorkspaceAt::PatchOnly | WorkspaceAt::Empty => None,
        });
        for (what, commit) in read.chain(settings_at.map(|commit| ("the target", commit))) {
            if repo.tree_of(commit).is_err() {
                let (run, commit, place) = (opened.run, commit.short(), place.display().to_string());
                return Err(ResumeError::Gone { run, what, commit, place }.into());
            }
        }
        if !matches!(self.request.scope, ReviewScope::Pull(_)) {
            match git::resolve(&repo, &self.request.scope) {
                Ok(range) => changes.compare_ends(change, &range),
                Err(error) => changes.push(format!("the change cannot be found by its names ({error})")),
            }
        }
        let project = project_settings(&repo, settings_at, given.asked.settings_from_worktree)?;
        let settings = settings::resolve(project, self.flags, self.around)?.settings;
        let from_worktree = given.asked.settings_from_worktree;
        let rule_files = match rule_files::read_all(&settings, Some((&repo, settings_at)), from_worktree) {
            Err(_) if as_recorded => {
                changes.push("the rules cannot be read any more".to_owned());
                given.rule_files.clone()
            }
            files => files?,
        };
        let subject = self.subject(repo, settings, settings_at, as_recorded)?;
        Ok(PreparedChange { rule_files, ..subject })
    }

    fn subject(
        &self,
        repo: Repo,
        settings: Settings,
        settings_at: Option<CommitId>,
        as_recorded: bool,
    ) -> Result<PreparedChange, AppError> {
        let (given, change) = (&self.opened.given, &self.opened.change);
        let mut shaped = settings.clone();
        if as_recorded {
            given.shaping.apply_to(&mut shaped);
        }
        let filter = settings::filter(&shaped)?;
        let checked_out = repo.commit("HEAD").ok();
        let root = repo.workdir().filter(|_| checked_out.is_some() && checked_out == change.head).map(Path::to_owned);
        let repository = project::folder_of(&repo);
        let pool = RepoPool::new(repo);
        let new = workspace::open(Some(&pool), change.new_at, DiffSide::New, &[], filter.clone())?;
        let old = workspace::open(Some(&pool), change.old_at, DiffSide::Old, &[], filter)?;
        let (notes, known) = (given.notes.clone(), self.opened.known.clone());
        let parser = self.around.parser(ProbeScope::Everything);
        let (change, cancel) = (Arc::new(change.clone()), self.cancel.clone());
        let prepared = PreparedChange::of(change, [new, old], settings, cancel, DiffOrigin::Repository(pool), parser);
        let reports = given.reports.clone();
        // Dismissals and the previous review are in `known`.
        Ok(PreparedChange { settings_at, repository, root, reports, notes, known, ..prepared })
    }
}
