//! Assistants of the user as models: a headless program reviews with the tools of this process. Main function: [`connect`].
//!
//! The program is started in an empty folder, with its own tools switched off. It reaches the tools of the review through a bridge: another
//! process of this program that speaks MCP to it and hands each call to this one over a local socket. A call of the program is a call of the
//! model, so one run of the program is one conversation: coverage, evidence, verification and the journal are those of any model.
//!
//! To add an assistant: one row in `table`.

mod client;
mod provider;
mod session;
mod table;
mod transcript;
mod wire;

pub use client::{BridgeError, BridgeTools};
pub use provider::AgentError;
pub(super) use provider::connect;
pub(super) use table::DEFAULT_MODEL;
pub use table::{AGENTS, AgentSpec};
