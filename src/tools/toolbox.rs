//! Calling a tool by its name. Main types: [`Toolbox`], [`ToolContext`].

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::build_runner::BuildRunner;
use super::checkout::Checkout;
use super::diff_source::DiffSource;
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{ToolOutcome, ToolReply};
use super::{BUILD_TOOL, TOOLS, ToolSpec};
use crate::domain::change::ChangeSet;
use crate::domain::place::DiffSide;
use crate::domain::text::reveal;
use crate::evidence::GrammarLanguages;
use crate::sys::cancel::Cancel;
use crate::workspace::Workspace;

/// The time of a call that reads.
const LONGEST_CALL: Duration = Duration::from_mins(1);
/// The time of a run of a build tool.
const LONGEST_BUILD: Duration = Duration::from_mins(10);

/// Size limits of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Lines.
    pub lines: usize,
    /// Bytes of the whole response.
    pub bytes: usize,
    /// Paths of one listing.
    pub paths: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self { lines: 500, bytes: 64 << 10, paths: 500 }
    }
}

/// Data that the tools read. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// Change; `None` if a tree is read without one.
    pub change: Option<Arc<ChangeSet>>,
    /// The tree after the change.
    pub new: Arc<dyn Workspace>,
    /// Tree before the change; `None` without a change.
    pub old: Option<Arc<dyn Workspace>>,
    /// The diffs.
    pub diff: Option<Arc<dyn DiffSource>>,
    /// `true` if the range was requested as `A...B`, from the merge base.
    pub from_merge_base: bool,
    /// The folder that is checked out.
    pub checkout: Checkout,
    /// The project's builds and tests, where the user lets the model run them.
    pub builds: Option<Arc<dyn BuildRunner>>,
    /// The grammars that name the functions around what is found; `None` leaves them unnamed.
    pub languages: Option<GrammarLanguages>,
    /// Stop signal.
    pub cancel: Cancel,
    /// Size limits.
    pub limits: ToolLimits,
}

impl ToolContext {
    /// Returns the tree of a side.
    pub(super) fn tree(&self, side: DiffSide) -> Result<&dyn Workspace, ToolFault> {
        let none = || ToolFault::new(ErrorKind::InvalidInput, "there is no old side here: no change is being reviewed");
        match side {
            DiffSide::New => Ok(self.new.as_ref()),
            DiffSide::Old => self.old.as_deref().ok_or_else(none),
        }
    }
}

/// The tools, ready to be called from any thread.
#[derive(Clone)]
pub struct Toolbox {
    context: ToolContext,
}

impl Toolbox {
    /// Creates tools that read `context`.
    pub fn new(context: ToolContext) -> Self {
        Self { context }
    }

    /// Returns the tools that it offers, in a fixed order.
    pub fn specs(&self) -> impl Iterator<Item = &'static ToolSpec> {
        TOOLS.iter().chain(self.runs_builds().then_some(BUILD_TOOL))
    }

    /// Checks whether it offers a tool.
    pub fn offers(&self, name: &str) -> bool {
        self.specs().any(|tool| tool.name == name)
    }

    /// Checks whether the model may run builds.
    pub fn runs_builds(&self) -> bool {
        self.context.builds.is_some()
    }

    /// Returns the time that one call has.
    pub fn longest_call(&self, name: &str) -> Duration {
        if name == BUILD_TOOL.name { LONGEST_BUILD } else { LONGEST_CALL }
    }

    /// Returns the flag and deadline that its calls watch.
    pub fn cancel(&self) -> &Cancel {
        &self.context.cancel
    }

    /// Returns the same tools with another flag and deadline.
    #[must_use]
    pub fn with_cancel(&self, cancel: Cancel) -> Self {
        Self { context: ToolContext { cancel, ..self.context.clone() } }
    }

    /// Returns the same tools with a time limit for each call.
    #[must_use]
    pub fn with_time_limit(&self, limit: Duration) -> Self {
        self.with_cancel(self.context.cancel.with_deadline(limit))
    }

    /// Calls a tool. Errors are part of the outcome.
    pub fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let mut outcome: ToolOutcome = self.reply(name, input).map_or_else(Into::into, Into::into);
        // Models, clients and people read it: what cannot be seen in the repository's text is spelled out for all of them.
        for text in [Some(&mut outcome.text), outcome.json.as_mut()].into_iter().flatten() {
            if let Cow::Owned(revealed) = reveal(text) {
                *text = revealed;
            }
        }
        outcome
    }

    fn reply(&self, name: &str, input: Value) -> Result<ToolReply, ToolFault> {
        self.context.cancel.check()?;
        let Some(tool) = self.specs().find(|tool| tool.name == name) else {
            let names: Vec<_> = self.specs().map(|tool| tool.name).collect();
            let message = format!("there is no tool {name:?}; there are: {}", names.join(", "));
            return Err(ToolFault::new(ErrorKind::UnknownTool, message));
        };
        (tool.call)(&self.context, input)
    }
}
