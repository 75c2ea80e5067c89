//! Runs single parts by hand: one tool call, and the settings with their origins.

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::change;
use crate::app::prepare::uncommitted::UncommittedRequest;
use crate::app::prepare::view::RepositoryView;
use crate::app::prepare::view::ViewCache;
use crate::config::Flags;
use crate::domain::event::NullEventSink;
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::tools::{ToolLimits, ToolOutcome, Toolbox};

/// A tool call by hand.
#[derive(Debug, Clone)]
pub struct ManualToolCall {
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
pub fn call_tool(call: &ManualToolCall, around: &ProcessEnv, cancel: &Cancel) -> Result<ToolOutcome, AppError> {
    let input = serde_json::from_str(&call.input).map_err(|error| {
        AppError::Unusable(format!(
            "the tool's input is not JSON: {error}; write it like '{{\"file_path\": \"src/main.rs\"}}'"
        ))
    })?;
    let ManualToolCall { name, request, flags, .. } = call;
    if let ReviewScope::Patch(_) = request.scope {
        let patch = change::read_patch(&request.scope)?;
        let subject = change::collect(request, None, &patch, flags, around, cancel, &NullEventSink)?;
        return Ok(Toolbox::new(subject.tool_context()).call(name, input));
    }
    let view = RepositoryView {
        repository: 0,
        pool: &RepoPool::new(Repo::open(&request.directory)?),
        opened: &ViewCache::default(),
        around,
        flags,
        settings_from_worktree: request.settings_from_worktree,
        asking: UncommittedRequest::ByFlag,
        limits: ToolLimits::default(),
    };
    view.call(&request.scope, name, input, cancel)
}
