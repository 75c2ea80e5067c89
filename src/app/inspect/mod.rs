//! Parts looked at by hand: a tool call, the rules, the models.
//!
//! The settings are listed by `context::settings`.

pub(in crate::app) mod candidates;
pub(in crate::app) mod models;
pub(in crate::app) mod pager;
pub(in crate::app) mod rules;
pub(in crate::app) mod settings_file;
pub(in crate::app) mod tool_call;
