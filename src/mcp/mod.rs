//! The MCP server: tools, resources and prompts for other agents, over stdio or HTTP.
//!
//! Main function: [`serve`]. What is offered stands in three tables, [`tools`], [`resources`] and [`prompts`], whose rows know nothing of the
//! protocol; `protocol` is the only place that names the SDK. What the rows do belongs in `app`: state and work in
//! [`Service`](crate::app::Service), looking back in `app::runs`.
//!
//! Every text that leaves here went through [`clean`]: whoever wrote the repository cannot write to the terminal of whoever reads.

mod clean;
#[cfg(test)]
mod fixture;
mod offer;
mod prompts;
mod protocol;
mod resources;
mod tool;
mod tools;

pub use offer::{Offer, UnknownTool};
pub use protocol::{Door, ServeError, serve};
