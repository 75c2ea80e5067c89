//! Hints about limits that ended a run. Main function: [`raise_limit`].

use crate::domain::review::StopReason;

/// Names the flag that raises the limit with which a run ended; `None` if it ended otherwise.
pub(in crate::app) fn raise_limit(ended: StopReason) -> Option<&'static str> {
    match ended {
        StopReason::Deadline => Some("give it more time with --timeout"),
        StopReason::TurnLimit => Some("give it more turns with --max-turns"),
        StopReason::TokenLimit => Some("give it more tokens with --max-tokens"),
        StopReason::CostLimit => Some("give it more money with --max-cost"),
        _ => None,
    }
}
