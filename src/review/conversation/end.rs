//! Reasons why a conversation ended. Main type: [`ConversationEnd`].

use super::invalid_answers::InvalidAnswer;
use crate::domain::review::StopReason;
use crate::llm::TurnFault;
use crate::review::journal::{FinalTurn, RecordedEnd};
use crate::review::outcome::EngineOutcome;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::CancelReason;

/// Reason why a conversation ended; `C` is what its role concludes.
#[derive(Debug)]
pub(in crate::review) enum ConversationEnd<C> {
    /// The model came to its conclusion.
    Concluded(C),
    /// The end of an earlier session.
    Recorded(RecordedEnd),
    /// The run was stopped.
    Stopped(CancelReason),
    /// Its calls did not return when the run was stopped.
    Abandoned(BlockingFailure),
    /// A limit permits no request. `detail` continues the description.
    Limit { limit: StopReason, words: String, detail: String },
    /// The final turn did not lead to a conclusion.
    FinalTurn(FinalTurn),
    /// The provider failed for good; `words` also say which models were passed over.
    Failed { fault: TurnFault, words: String },
    /// The model refused, with these words.
    Refused(String),
    /// An invalid answer was repeated.
    Invalid(InvalidAnswer),
}

impl ConversationEnd<()> {
    /// Returns the outcome of a conversation of the review.
    pub(super) fn into_outcome(self) -> EngineOutcome {
        self.into_conclusion().err().unwrap_or(EngineOutcome::Done)
    }
}

impl<C> ConversationEnd<C> {
    /// Returns the conclusion; if there is none, the outcome that says why.
    pub(in crate::review) fn into_conclusion(self) -> Result<C, EngineOutcome> {
        let short = |ended, why| EngineOutcome::Short { ended, why };
        Err(match self {
            Self::Concluded(conclusion) => return Ok(conclusion),
            Self::Recorded(end) => {
                let (ended, why) = end.into_reason();
                EngineOutcome::from_recorded(ended, why)
            }
            Self::Stopped(stopped) => EngineOutcome::Stopped(stopped),
            Self::Abandoned(lost) => EngineOutcome::abandoned(&lost),
            Self::Limit { limit, words, detail } => short(limit, words + &detail),
            Self::FinalTurn(FinalTurn { ended, words }) => short(ended, words),
            Self::Failed { fault: TurnFault::TooLong { .. }, words } => short(StopReason::WindowLimit, words),
            Self::Failed { fault, words } if fault.is_refusal() => short(StopReason::RequestRefused, words),
            Self::Failed { words, .. } => short(StopReason::ProviderFault, words),
            Self::Refused(text) => InvalidAnswer::refusal(&text),
            Self::Invalid(invalid) => invalid.outcome(),
        })
    }
}
