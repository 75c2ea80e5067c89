//! A scripted model behind a real HTTP server that speaks the wire formats of all providers. Main types: [`Server`], [`Session`].
//!
//! A request is read into one neutral form (`Asked`), a step of the session is chosen by its content, and the step's words are
//! written in the language the request came in, so that a session is written once and runs everywhere. On the way each request is
//! held against the one before it: see [`Ledger`](ledger::Ledger). The format of sessions is in `fixtures/sessions/README.md`.
//!
//! It stands on nothing else of the tests, so that a bench may take it in with `#[path]`.
//!
//! To add a wire format: one file in `wires` and one line in its table.

#![allow(dead_code, reason = "the tests and the benches each use a part of it")]
#![allow(unreachable_pub, reason = "everything here is for the one binary that takes it in")]
#![allow(clippy::expect_used, clippy::panic, reason = "a script that cannot be read must fail the test")]

mod answer;
mod asked;
mod batches;
mod choose;
mod ledger;
mod odd;
mod pieces;
mod script;
mod server;
mod socket;
mod spoilt;
mod state;
mod wires;

pub use asked::{Asked, CallResult, TAKEN_OUT, Turn};
pub use batches::BatchPlan;
pub use script::{Cut, Session, Step};
pub use server::{KEY, NO_SERVER, Options, Server};
pub use socket::{Door, Line};
pub use wires::Wire;
