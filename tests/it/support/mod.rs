//! What all integration tests share: real git repositories built by a recipe.

#![allow(unreachable_pub, reason = "everything here is for the one test binary")]

pub mod artefact;
#[cfg(target_os = "linux")]
pub mod build;
pub mod change;
mod confined;
#[cfg(unix)]
pub mod editor;
pub mod engine;
pub mod generated;
pub mod github;
pub mod looks;
pub mod lsp;
pub mod mcp;
mod memory;
pub mod model;
pub mod posting;
mod program;
mod repo;
pub mod schema;
pub mod service;
pub mod session;
pub mod sitting;
pub mod step;

pub use confined::Limits;
pub use program::{Program, Ran};
pub use repo::{Template, TestRepo, git_command, git_http_backend, pipe, place_program, program_path};
