//! Forges: pull requests are asked for, remarked on and watched here. GitHub is the one there is.
//!
//! Main types: [`GitHub`] (the client), [`ForgeError`]. [`read_remarks`](read_remarks()) tells what bots and people remarked ([`bots`]); the data itself is
//! `domain::forge`. What is to be posted is worked out in `publish`; the token is known here and nowhere above.

pub mod bots;
mod error;
mod github;

pub use bots::{Remarks, read_remarks, summarize_remarks};
pub use error::{FaultKind, ForgeError};
pub use github::{GitHub, GitHubOptions, ListedPull, Login, Marks, NewComment, NewReview, PullFilter, PullPage};
