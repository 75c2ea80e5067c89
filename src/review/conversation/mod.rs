//! Conversations with a model: one loop for the review of a change and for the verification of a finding. Main type: [`Conversation`].
//!
//! `driver` goes from turn to turn; a [`ConversationRole`] says what its calls do and what ends it (`reviewer` here, another in `verify`). Each step
//! comes from a [`Transcript`](super::journal::Transcript), so that a recorded conversation takes the same path. `attempts` sends one request again where that helps, `failover`
//! goes on with another model, `compact` makes room, `invalid_answers` and `loop_detector` find what leads nowhere.

mod attempts;
mod call_outcome;
mod calls;
mod compact;
mod driver;
mod end;
mod exchange;
mod failover;
mod first_request;
mod invalid_answers;
mod loop_detector;
mod recovery;
mod reviewer;
mod role;
mod stats;

pub(super) use call_outcome::CallOutcome;
pub(super) use calls::make_reading_calls;
pub(super) use driver::Conversation;
pub(super) use end::ConversationEnd;
pub(super) use failover::ActiveModel;
pub(super) use first_request::{FirstRequest, ToolList};
pub(super) use invalid_answers::{InvalidAnswer, InvalidAnswerPolicy};
pub(super) use reviewer::ReviewerRole;
pub(super) use role::{CallTurn, ConversationRole};
pub(super) use stats::ConversationStats;
