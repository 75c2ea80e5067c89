//! The parts by hand: one tool call, and the settings with their origins.

use super::error::AppError;
use super::subject::{self, Surroundings};
use crate::config::{Flags, Resolved};
use crate::domain::event::Silent;
use crate::domain::place::{Side, WorkspaceAt};
use crate::domain::request::{ReviewRequest, Scope};
use crate::git::{self, GitError};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoError, RepoPool};
use crate::tools::{Limits, ToolBox, ToolContext, ToolOutcome};
use crate::workspace;

/// A tool to be called by hand.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Its name.
    pub name: String,
    /// Its input, JSON.
    pub input: String,
    /// The change it is asked about.
    pub request: ReviewRequest,
    /// What the command line says about settings.
    pub flags: Flags,
}

/// Calls one tool as a model would, over the trees of the request.
pub fn call_tool(call: &ToolCall, around: &Surroundings, cancel: &Cancel) -> Result<ToolOutcome, AppError> {
    let input = serde_json::from_str(&call.input).map_err(AppError::ToolInput)?;
    let tools = ToolBox::new(context(call, around, cancel)?);
    Ok(tools.call(&call.name, input))
}

fn context(call: &ToolCall, around: &Surroundings, cancel: &Cancel) -> Result<ToolContext, AppError> {
    let patch = subject::read_patch(&call.request.scope)?;
    let collected = subject::collect(&call.request, &patch, &call.flags, around, cancel, &Silent);
    let subject = match (collected, &call.request.scope) {
        // Reading and searching need no change: where no target can be found, the head alone is enough.
        (Err(AppError::Git(GitError::NoTarget { .. } | GitError::TargetIsHead { .. })), Scope::Branch { head, .. }) => {
            return head_only(call, head.as_deref().unwrap_or("HEAD"), around, cancel);
        }
        (collected, _) => collected?,
    };
    Ok(subject.tool_context())
}

fn head_only(call: &ToolCall, head: &str, around: &Surroundings, cancel: &Cancel) -> Result<ToolContext, AppError> {
    let repo = Repo::open(&call.request.directory)?;
    let commit = repo.commit(head)?;
    let project = subject::project_settings(&repo, Some(commit), call.request.settings_from_worktree)?;
    let settings = subject::resolve(project, &call.flags, around)?.settings;
    let pool = RepoPool::new(repo);
    let filter = subject::filter(&settings)?;
    let new = workspace::open(Some(&pool), WorkspaceAt::Revision(commit), Side::New, &[], filter)?;
    Ok(ToolContext { change: None, new, old: None, diff: None, cancel: cancel.clone(), limits: Limits::default() })
}

/// Every setting with its origin: the user's alone outside a repository, the project's too inside one.
pub fn settings(request: &ReviewRequest, flags: &Flags, around: &Surroundings) -> Result<Resolved, AppError> {
    let project = match Repo::open(&request.directory) {
        Err(RepoError::NotARepository(_)) => None,
        Err(error) => return Err(error.into()),
        Ok(repo) => match git::resolve(&repo, &request.scope) {
            Ok(range) => subject::project_settings(&repo, range.settings_at, request.settings_from_worktree)?,
            Err(GitError::NoTarget { .. } | GitError::TargetIsHead { .. } | GitError::Repo(RepoError::Unborn)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    subject::resolve(project, flags, around)
}
