//! The hint that a run which ended early can be resumed, with the command for it. Main function: [`resume_hint`].
//!
//! Resuming it belongs in `resume`.

use crate::app::context::limit_hint::raise_limit;
use crate::domain::review::{CoverageState, Review, ReviewOutcome, StopReason};
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

/// The step that completes a review which no resuming completes; `None` for a complete one.
pub(super) fn next_step(review: &Review) -> Option<String> {
    if review.outcome == ReviewOutcome::Complete {
        return None;
    }
    let partial = || {
        let file = review.coverage.files.iter().find(|file| file.state == CoverageState::Truncated);
        file.map(|file| {
            let reason = file.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("--exclude '{}' leaves out a file that could not be reviewed whole{reason}", file.path)
        })
    };
    let step = match review.ended {
        StopReason::Interrupted => "review it again".to_owned(),
        StopReason::Deadline | StopReason::TurnLimit | StopReason::TokenLimit | StopReason::CostLimit => {
            let more = raise_limit(review.ended).unwrap_or_default();
            format!("{more}, or review less with --include or --exclude")
        }
        StopReason::WindowLimit => {
            "name a model with a larger window with --model, or review less with --include or --exclude".to_owned()
        }
        StopReason::ProviderFault | StopReason::RequestRefused => {
            "`review doctor` tests the model; name others to take over with --model A,B".to_owned()
        }
        StopReason::Unfinished
        | StopReason::Refused
        | StopReason::EmptyAnswer
        | StopReason::LeakedMarkup
        | StopReason::OutputLimit
        | StopReason::MalformedCalls => {
            "review it again, or name another model with --model: this one gave up".to_owned()
        }
        StopReason::Finished => partial().unwrap_or_else(|| {
            "review it again with --full, or leave out files that cannot be reviewed with --exclude".to_owned()
        }),
    };
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    #[test]
    fn every_incomplete_review_has_a_next_step_and_a_complete_one_has_none() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/incomplete.json")).unwrap();
        for ended in StopReason::ALL {
            review.ended = *ended;
            let step = next_step(&review).unwrap();
            assert!(step.contains("review") || step.contains("--"), "{step}");
        }
        review.outcome = ReviewOutcome::Complete;
        assert_eq!(next_step(&review), None);
    }

    #[test]
    fn a_file_that_was_reviewed_in_part_is_named_with_its_own_reason() {
        let mut review = json::parse(include_bytes!("../../../fixtures/documents/incomplete.json")).unwrap();
        review.ended = StopReason::Finished;
        let path = crate::domain::path::RepoPath::parse("a.py").unwrap();
        let reason = Some("the parser found no end".to_owned());
        let file = crate::domain::review::FileCoverage { path, state: CoverageState::Truncated, reason };
        review.coverage.files = vec![file];
        let step = next_step(&review).unwrap();
        assert!(step.starts_with("--exclude 'a.py'") && step.ends_with(": the parser found no end"), "{step}");
    }

    #[test]
    fn what_ended_for_want_of_something_may_go_on() {
        assert!(can_resume(StopReason::TokenLimit) && can_resume(StopReason::ProviderFault));
        assert!(!can_resume(StopReason::Finished) && !can_resume(StopReason::LeakedMarkup));
    }
}
