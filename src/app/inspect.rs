//! The parts by hand: one tool call, and the settings with their origins.

use std::sync::Arc;

use super::error::AppError;
use super::subject::{self, Subject, Surroundings};
use crate::config::{self, Flags, Resolved};
use crate::domain::change::FileChange;
use crate::domain::event::{EventSink, Silent};
use crate::domain::filter::PathFilter;
use crate::domain::request::{ReviewRequest, Scope};
use crate::git;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::tools::{ToolBox, ToolContext};
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

/// What a tool said.
#[derive(Debug, Clone)]
pub struct Called {
    /// Exactly what a model would see.
    pub text: String,
    /// Whether it is an error.
    pub is_error: bool,
}
