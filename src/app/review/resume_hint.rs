//! The hint that a run which ended early can be resumed, with the command for it. Main function: [`resume_hint`].
//!
//! Resuming it belongs in `resume`.

use crate::domain::review::StopReason;
use crate::domain::run::RunId;

/// The command that resumes a run with this stop reason, if resuming can help.
pub(super) fn resume_hint(run: RunId, ended: StopReason) -> Option<String> {
    let more = match ended {
        StopReason::Deadline => " --timeout TIME (more than it had)",
        StopReason::TurnLimit => " --max-turns N (more than it had)",
        StopReason::TokenLimit => " --max-tokens N (more than it had)",
        StopReason::CostLimit => " --max-cost DOLLARS (more than it had)",
        _ => "",
    };
    can_resume(ended).then(|| format!("review --resume {run}{more}"))
}

/// Checks whether resuming a run with this stop reason can help, with more budget or another day. No budget extends a context window.
pub(super) fn can_resume(ended: StopReason) -> bool {
    ended.is_resumable() && ended != StopReason::WindowLimit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_for_want_of_something_may_go_on() {
        assert!(can_resume(StopReason::TokenLimit) && can_resume(StopReason::ProviderFault));
        assert!(!can_resume(StopReason::Finished) && !can_resume(StopReason::LeakedMarkup));
    }
}
