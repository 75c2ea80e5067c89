//! End of a verification. Main types: [`VerificationEnd`], [`FinishedVerification`].

use crate::domain::finding::Confidence;
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::domain::text::strip_line;
use crate::review::budget::BudgetLimits;
use crate::review::conversation::{ConversationEnd, ConversationStats, InvalidAnswer};
use crate::review::journal::{FinalTurn, JournalRecord, RecordedEnd};
use crate::review::outcome::VerificationVerdict;
use crate::sys::cancel::CancelReason;

/// Recorded state of a finding without a verdict.
const UNCHECKED: &str = "unchecked";

/// A verification that ended.
pub(super) struct FinishedVerification {
    pub(super) end: VerificationEnd,
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) stats: ConversationStats,
    /// Last model, by its index in the list.
    pub(super) model: u32,
}

impl FinishedVerification {
    /// Creates one that sent nothing.
    pub(super) fn unchecked(why: &str) -> Self {
        let end = VerificationEnd::Unchecked(why.to_owned());
        Self { end, turns: 0, usage: Usage::default(), stats: ConversationStats::default(), model: 0 }
    }
}

/// End of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VerificationEnd {
    Verdict(VerificationVerdict),
    /// Without one: why, a clause.
    Unchecked(String),
    /// Likewise, because it was interrupted: another session may continue it.
    BrokenOff(String),
}

impl VerificationEnd {
    /// Returns the end as it is recorded, and the journal record.
    pub(super) fn record(&self) -> (RecordedEnd, JournalRecord) {
        let (state, why, broken_off, confidence) = match self {
            Self::Verdict(verdict) => {
                let confidence = verdict.confidence.adjusted_confidence(None).map(Confidence::value);
                (verdict.word.word(), verdict.rationale.clone(), false, confidence)
            }
            Self::Unchecked(why) => (UNCHECKED, why.clone(), false, None),
            Self::BrokenOff(why) => (UNCHECKED, why.clone(), true, None),
        };
        let state = state.to_owned();
        let end = RecordedEnd::Verdict { state: state.clone(), why: why.clone(), broken_off };
        (end, JournalRecord::Verdict { state, confidence, why, broken_off })
    }

    /// Returns the end for that of its conversation. A verdict comes from the response that gave it, never from a recorded end.
    pub(super) fn of(end: ConversationEnd<VerificationVerdict>) -> Self {
        match end {
            ConversationEnd::Concluded(verdict) => Self::Verdict(verdict),
            ConversationEnd::Recorded(RecordedEnd::Verdict { why, broken_off: false, .. }) => Self::Unchecked(why),
            ConversationEnd::Recorded(RecordedEnd::Verdict { why, .. }) => Self::BrokenOff(why),
            ConversationEnd::Recorded(RecordedEnd::Ended { why, .. }) => Self::BrokenOff(why.unwrap_or_default()),
            ConversationEnd::Stopped(CancelReason::Interrupted) => Self::BrokenOff("it was interrupted".to_owned()),
            ConversationEnd::Stopped(CancelReason::DeadlinePassed) => {
                Self::BrokenOff("its time was used up (raise it with --timeout)".to_owned())
            }
            ConversationEnd::Abandoned(lost) => Self::Unchecked(lost.to_string()),
            // Others have their share, and the model need not be at fault.
            ConversationEnd::Limit { words, .. } => Self::Unchecked(words),
            ConversationEnd::FinalTurn(FinalTurn { words, .. }) => {
                Self::Unchecked(format!("the model gave no verdict before {words}"))
            }
            ConversationEnd::Failed { words, .. } => Self::BrokenOff(strip_line(&words)),
            ConversationEnd::Refused(_) => Self::Unchecked("the model refused".to_owned()),
            ConversationEnd::Invalid(invalid) => Self::Unchecked(describe_invalid(invalid).to_owned()),
        }
    }
}

fn describe_invalid(invalid: InvalidAnswer) -> &'static str {
    match invalid {
        InvalidAnswer::Leaked(_) => "the model wrote its tool calls as text, and did so again when told",
        InvalidAnswer::Malformed => "the model's tool calls could not be read, and again not when it was told",
        InvalidAnswer::Empty => "the model answered nothing, and did so again when told",
        InvalidAnswer::Declined => "the model said that it will not do this, and did so again when told",
        InvalidAnswer::Unfinished | InvalidAnswer::OutputLimit => "the model gave no verdict, and did not when told",
    }
}

/// Describes why a verification must end, as a clause.
pub(super) fn describe_wait(limit: StopReason, limits: &BudgetLimits) -> String {
    match limit {
        StopReason::TurnLimit => format!("its {} turns are used up", limits.turns),
        StopReason::TokenLimit => "its share of the tokens is used up (raise it with --max-tokens)".to_owned(),
        StopReason::CostLimit => "its share of the money is used up (raise it with --max-cost)".to_owned(),
        StopReason::WindowLimit => format!("it does not fit the model's window of {} tokens", limits.window),
        _ => "its time is used up (raise it with --timeout)".to_owned(),
    }
}
