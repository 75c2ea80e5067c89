//! Runs single parts by hand: one tool call, and the settings with their origins.

use super::error::AppError;
use super::pending::Asking;
use super::project::project_settings;
use super::subject::{self, Surroundings};
use super::view::{Opened, View};
use crate::config::{Flags, Resolved};
use crate::domain::event::Silent;
use crate::domain::request::{ReviewRequest, Scope};
use crate::git::{self, GitError};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoError, RepoPool};
use crate::tools::{ToolBox, ToolOutcome};

/// A tool call by hand.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Its name.
    pub name: String,
    /// Its input, JSON.
    pub input: String,
    /// The change to run the tool on.
    pub request: ReviewRequest,
    /// The settings from the command line.
    pub flags: Flags,
}

/// Calls one tool as a model would, on the trees of the request.
pub fn call_tool(call: &ToolCall, around: &Surroundings, cancel: &Cancel) -> Result<ToolOutcome, AppError> {
    let input = serde_json::from_str(&call.input).map_err(AppError::ToolInput)?;
    let ToolCall { name, request, flags, .. } = call;
    if let Scope::Patch(_) = request.scope {
        let patch = subject::read_patch(&request.scope)?;
        let subject = subject::collect(request, &patch, flags, around, cancel, &Silent)?;
        return Ok(ToolBox::new(subject.tool_context()).call(name, input));
    }
    let view = View {
        repository: 0,
        pool: &RepoPool::new(Repo::open(&request.directory)?),
        opened: &Opened::default(),
        around,
        flags,
        settings_from_worktree: request.settings_from_worktree,
        asking: Asking::ByFlag,
    };
    view.call(&request.scope, name, input, cancel)
}

/// Lists every setting with its origin: only the user's outside a repository, also the project's inside one.
pub fn settings(request: &ReviewRequest, flags: &Flags, around: &Surroundings) -> Result<Resolved, AppError> {
    let project = match Repo::open(&request.directory) {
        Err(RepoError::NotARepository(_)) => None,
        Err(error) => return Err(error.into()),
        Ok(repo) => match git::resolve(&repo, &request.scope) {
            Ok(range) => project_settings(&repo, range.settings_at, request.settings_from_worktree)?,
            Err(GitError::NoTarget { .. } | GitError::TargetIsHead { .. } | GitError::Repo(RepoError::Unborn)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    subject::resolve(project, flags, around)
}
