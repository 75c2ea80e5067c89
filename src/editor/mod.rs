//! The window of an editor, through its Dialectic extension. Main types: [`EditorSearch`], [`EditorClient`].
//!
//! `discovery` finds the socket, `client` holds the connection, `review` has the requests; `decoder` and `message` are the protocol. All
//! published generations are served: A and B (an extension that listens, and parses each piece that arrives as one message), C and D (one
//! message a line) and E (a bus of a daemon, with several participants). What is shown, and what a failure means, belong in `app`.
//!
//! Whatever a peer sends is data: bounded, sanitised before it is shown, and every wait has a limit.

mod client;
mod decoder;
mod dialer;
mod discovery;
mod error;
mod message;
mod review;
#[cfg(test)]
mod test_mode;
#[cfg(test)]
mod tests;

pub use client::{EditorClient, EditorTimer};
pub use dialer::EditorDialer;
pub use discovery::{EditorAddress, EditorSearch, FOLDER, MOST_ANCESTORS, VARIABLE};
pub use error::EditorError;
pub use review::{DisplayedReview, ReferenceForm};
#[cfg(test)]
pub use test_mode::{SimulatedEditor, SimulatedOutcome};
