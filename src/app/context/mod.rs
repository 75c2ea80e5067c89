//! Foundation of every use case: the environment of the process, settings, providers, the forge, saved runs, and the error of a command. Main types:
//! [`ProcessEnv`](environment::ProcessEnv), [`AppError`](error::AppError).
//!
//! Anything about one change belongs in `prepare` or above.

pub(in crate::app) mod environment;
pub(in crate::app) mod error;
pub(in crate::app) mod forge;
pub(in crate::app) mod limit_hint;
pub(in crate::app) mod lru;
pub(in crate::app) mod model;
pub(in crate::app) mod on_disk;
pub(in crate::app) mod project;
pub(in crate::app) mod prompts;
pub(in crate::app) mod provider_table;
pub(in crate::app) mod saved_runs;
pub(in crate::app) mod secret_file;
pub(in crate::app) mod settings;
