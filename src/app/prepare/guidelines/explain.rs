//! Lists guidelines, and explains those that apply to one file. Main functions: [`explain`], [`list`].

use std::ops::ControlFlow;

use super::super::target_tree::TargetTree;
use super::find::{GuidelineCandidate, GuidelineForm, by_name};
use super::front::FrontMatter;
use super::gather::{GuidelineRequest, GuidelineScope, gather, scope};
use super::resolve::resolve;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::settings::list_settings;
use crate::config::Flags;
use crate::domain::filter::PathFilter;
use crate::domain::guideline::GuidelineKind;
use crate::domain::guideline_info::{ApplicableGuideline, GuidelinesReport, ListedGuideline};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::request::ReviewRequest;
use crate::domain::text::mask;
use crate::git;
use crate::sys::cancel::Cancel;
use crate::sys::charset;
use crate::sys::repo::{Repo, RepoPool};
use crate::workspace;

/// Limit in bytes on the part of a file read for a list.
const MOST_HEAD: u64 = 1 << 20;
/// Limit on the listed guidelines.
const MOST_LISTED: usize = 10_000;

/// Explains the guidelines that a review would give a model about one file.
pub fn explain(
    request: &ReviewRequest,
    file: &RepoPath,
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<GuidelinesReport, AppError> {
    let resolved = list_settings(request, flags, around)?;
    let asked = GuidelineRequest::of(&resolved.settings);
    let repo = Repo::open(&request.directory)?;
    let mut explained = GuidelinesReport {
        file: file.clone(),
        from: None,
        applies: Vec::new(),
        passed_over: Vec::new(),
        notes: Vec::new(),
    };
    let Some(ground) = open_tree(&repo, request)? else { return Ok(explained) };
    let found = gather(&ground, asked, &[file], cancel)?;
    explained.from = Some(found.guidelines.from.clone());
    explained.notes.clone_from(&found.guidelines.notes);
    explained.passed_over = found.passed_over.into_iter().map(|over| (over.path, over.why)).collect();
    for kind in GuidelineKind::FOUND.into_iter().filter(|kind| !asked.kinds.contains(kind)) {
        explained
            .passed_over
            .push((format!("files of {}", kind.as_str()), "the setting guidelines leaves them out".to_owned()));
    }
    explained.applies = found
        .guidelines
        .texts
        .into_iter()
        .filter(|text| text.applies_to(file))
        .map(|guideline| {
            let mut kinds: Vec<GuidelineKind> = guideline.reach.iter().map(|reach| reach.kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            ApplicableGuideline { guideline, kinds }
        })
        .collect();
    Ok(explained)
}

/// Lists every guideline of the tree that a review would use, by path, and names the source.
pub fn list(
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<(Option<String>, Vec<ListedGuideline>), AppError> {
    let resolved = list_settings(request, flags, around)?;
    let asked = GuidelineRequest::of(&resolved.settings);
    let pool = RepoPool::new(Repo::open(&request.directory)?);
    let repo = pool.acquire()?;
    let Some(ground) = open_tree(&repo, request)? else { return Ok((None, Vec::new())) };
    let at = match &ground {
        TargetTree::Commit { commit, .. } => WorkspaceAt::Revision(*commit),
        TargetTree::Disk { .. } => WorkspaceAt::Worktree,
    };
    let tree = workspace::open(Some(&pool), at, DiffSide::New, &[], PathFilter::all())?;
    let mut found = Vec::new();
    tree.visit(cancel, &mut |path, _| {
        found.extend(by_name(path));
        if found.len() >= MOST_LISTED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let mut listed = Vec::with_capacity(found.len() + asked.named.len());
    for path in asked.named {
        let there = resolve(&ground, b"", path.as_bytes())?;
        let applies = there.map(|_| "every file".to_owned()).map_err(|astray| astray.to_string());
        listed.push(ListedGuideline { path: path.clone(), kind: GuidelineKind::Named, applies });
    }
    for candidate in found {
        cancel.check()?;
        let Ok(path) = RepoPath::from_bytes(&candidate.path) else { continue };
        let applies = if asked.kinds.contains(&candidate.kind) {
            describe_scope(&ground, &path, &candidate)?
        } else {
            Err("the setting guidelines leaves it out".to_owned())
        };
        listed.push(ListedGuideline { path, kind: candidate.kind, applies });
    }
    Ok((Some(ground.describe()), listed))
}

/// Describes the scope of a file, or the reason why it is not used.
fn describe_scope(
    ground: &TargetTree<'_>,
    path: &RepoPath,
    candidate: &GuidelineCandidate,
) -> Result<Result<String, String>, AppError> {
    let there = match resolve(ground, b"", path.as_bytes())? {
        Ok(there) => there,
        Err(astray) => return Ok(Err(astray.to_string())),
    };
    let front = match candidate.form {
        GuidelineForm::Place => FrontMatter::default(),
        GuidelineForm::Rule | GuidelineForm::Instruction => match ground.read(there.as_bytes(), MOST_HEAD)? {
            // Masked like all text that is shown: patterns appear in the output.
            Some(Ok(bytes)) => FrontMatter::of(&mask(&charset::text(&bytes)).text),
            Some(Err(_)) | None => return Ok(Err("it cannot be read".to_owned())),
        },
    };
    Ok(match scope(candidate, &front) {
        GuidelineScope::Applies(applies) => Ok(applies.describe()),
        GuidelineScope::Not(why) => Err(why.to_owned()),
        GuidelineScope::Bad(why) => Err(why),
    })
}

/// Opens the tree that a review of the request would read guidelines from.
fn open_tree<'r>(repo: &'r Repo, request: &ReviewRequest) -> Result<Option<TargetTree<'r>>, AppError> {
    TargetTree::of(repo, git::range_ends(repo, &request.scope)?.settings_at, request.settings_from_worktree)
}
