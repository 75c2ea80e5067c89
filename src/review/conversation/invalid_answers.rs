//! Invalid answers: each kind is reprompted once, and ends the conversation when it happens again. If another format of calls may help, it is tried
//! in between. Main types: [`InvalidAnswer`], [`InvalidAnswerPolicy`].

use crate::domain::review::StopReason;
use crate::domain::text::{mask, strip_line};
use crate::llm::{FinishReason, ToolCallFormat, TurnResponse, is_refusal, leaked_markup_answer};
use crate::prompt::{PromptError, Prompts};
use crate::review::outcome::EngineOutcome;

/// Maximum number of corrective prompts per run.
const MOST_TOLD: u32 = 3;

/// Kind of an invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) enum InvalidAnswer {
    /// Text without a call, and without saying that the review is done.
    Unfinished,
    /// Empty answer.
    Empty,
    /// Tool calls written as text, in this dialect.
    Leaked(&'static str),
    /// It was cut before any call.
    OutputLimit,
    /// All of its calls are unreadable.
    Malformed,
    /// Text without a call that refuses the task.
    Declined,
}

/// Reaction to an invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) enum InvalidAnswerStep {
    /// Reprompt the model.
    Tell,
    /// From now on calls are written in the text, for this reason.
    Switch(&'static str),
    /// The model was reprompted: end the conversation.
    End,
}

impl InvalidAnswer {
    /// Classifies an answer without calls.
    pub(in crate::review) fn of(response: &TurnResponse) -> Self {
        let text = response.text();
        match leaked_markup_answer(&text) {
            Some(dialect) => Self::Leaked(dialect),
            None if response.stop == FinishReason::OutputLimit => Self::OutputLimit,
            None if text.trim().is_empty() => Self::Empty,
            None if is_refusal(&text) => Self::Declined,
            None => Self::Unfinished,
        }
    }

    /// Returns the corrective prompt.
    pub(in crate::review) fn reprompt(self, prompts: &Prompts, speech: ToolCallFormat) -> Result<String, PromptError> {
        match (self, speech) {
            (Self::Unfinished | Self::Declined, _) => prompts.nudge(),
            (Self::Empty, _) => prompts.empty_answer(),
            (Self::OutputLimit, _) => prompts.output_limit(),
            (Self::Leaked(_) | Self::Malformed, ToolCallFormat::Text) => prompts.text_repair(),
            (Self::Leaked(_), ToolCallFormat::Native) => prompts.leaked_markup(),
            (Self::Malformed, ToolCallFormat::Native) => prompts.malformed_calls(),
        }
    }

    /// Returns the outcome of the run when it happens again.
    pub(in crate::review) fn outcome(self) -> EngineOutcome {
        let (ended, why) = match self {
            Self::Unfinished => (
                StopReason::Unfinished,
                "the model stopped without calling finish_review, and did so again when told".to_owned(),
            ),
            Self::Empty => {
                (StopReason::EmptyAnswer, "the model answered nothing, and did so again when told".to_owned())
            }
            Self::Leaked(dialect) => (
                StopReason::LeakedMarkup,
                format!(
                    "the model wrote its tool calls as text ({dialect}), and did so again when told; nothing of it is shown"
                ),
            ),
            Self::OutputLimit => (
                StopReason::OutputLimit,
                "the model's answers were cut at the most it may answer, and again when told".to_owned(),
            ),
            Self::Malformed => (
                StopReason::MalformedCalls,
                "the model's tool calls could not be read, and again not when told".to_owned(),
            ),
            Self::Declined => {
                (StopReason::Refused, "the model said that it will not do this, and did so again when told".to_owned())
            }
        };
        EngineOutcome::Short { ended, why }
    }

    /// Returns the outcome of the run when the model refuses; there is no second try.
    pub(in crate::review) fn refusal(text: &str) -> EngineOutcome {
        // The refusal may contain a call that was written as text: its markup is not for readers.
        let text = if leaked_markup_answer(text).is_some() { "" } else { text };
        let said: String = strip_line(&mask(text).text).chars().take(200).collect();
        let said = if said.trim().is_empty() { String::new() } else { format!(": {said}") };
        EngineOutcome::Short { ended: StopReason::Refused, why: format!("the model refused{said}") }
    }
}

/// State of the corrective prompts.
#[derive(Debug, Default)]
pub(in crate::review) struct InvalidAnswerPolicy {
    in_a_row: u32,
    told: u32,
    /// Number of answers with only unreadable calls.
    garbled: u32,
    /// `true` if the model ever made a valid call.
    called: bool,
}

impl InvalidAnswerPolicy {
    /// Creates the state of a verification, which may end without any call.
    pub(in crate::review) fn for_verification() -> Self {
        Self { called: true, ..Self::default() }
    }

    /// Records an invalid answer and returns the reaction: one prompt in a row, and a limited number in all. After malformed calls for a second time
    /// the text format is used from then on, and likewise for a model that makes no calls at all.
    pub(in crate::review) fn record(&mut self, invalid: InvalidAnswer, speech: ToolCallFormat) -> InvalidAnswerStep {
        let again = self.in_a_row > 0;
        let why = match invalid {
            InvalidAnswer::Leaked(_) | InvalidAnswer::Malformed => {
                self.garbled += 1;
                (self.garbled > 1).then_some("its calls could not be read otherwise")
            }
            InvalidAnswer::Unfinished | InvalidAnswer::Empty => {
                (again && !self.called).then_some("it made no calls in any other way")
            }
            InvalidAnswer::OutputLimit | InvalidAnswer::Declined => None,
        };
        let step = match why.filter(|_| speech.is_native()) {
            Some(why) => InvalidAnswerStep::Switch(why),
            None if again || self.told >= MOST_TOLD => return InvalidAnswerStep::End,
            None => InvalidAnswerStep::Tell,
        };
        self.in_a_row += 1;
        self.told += 1;
        step
    }

    /// Resets the row of invalid answers after valid calls.
    pub(in crate::review) fn reset(&mut self) {
        self.in_a_row = 0;
        self.called = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAKED: InvalidAnswer = InvalidAnswer::Leaked("x");

    #[test]
    fn the_words_of_a_refusal_are_told_and_markup_is_not() {
        let why = |text: &str| InvalidAnswer::refusal(text).reason().unwrap();
        assert_eq!(why("I can't help with that."), "the model refused: I can't help with that.");
        assert_eq!(
            why("Sure.\n<tool_call>{\"name\": \"read_file_part\", \"arguments\": {}}</tool_call>"),
            "the model refused"
        );
    }

    #[test]
    fn calls_that_are_none_are_told_then_written_in_the_text_and_then_the_end() {
        for invalid in [LEAKED, InvalidAnswer::Malformed] {
            let mut policy = InvalidAnswerPolicy::default();
            assert_eq!(policy.record(invalid, ToolCallFormat::Native), InvalidAnswerStep::Tell);
            // Also with valid calls in between.
            policy.reset();
            assert!(matches!(policy.record(invalid, ToolCallFormat::Native), InvalidAnswerStep::Switch(_)));
            assert_eq!(policy.record(invalid, ToolCallFormat::Text), InvalidAnswerStep::End);
        }
        let mut policy = InvalidAnswerPolicy::default();
        assert_eq!(policy.record(LEAKED, ToolCallFormat::Text), InvalidAnswerStep::Tell);
        assert_eq!(
            policy.record(InvalidAnswer::Malformed, ToolCallFormat::Text),
            InvalidAnswerStep::End,
            "there is no further way"
        );
    }

    #[test]
    fn a_model_that_makes_no_calls_may_write_them_and_one_that_made_some_has_ended() {
        let mut policy = InvalidAnswerPolicy::default();
        assert_eq!(policy.record(InvalidAnswer::Unfinished, ToolCallFormat::Native), InvalidAnswerStep::Tell);
        assert!(matches!(policy.record(InvalidAnswer::Empty, ToolCallFormat::Native), InvalidAnswerStep::Switch(_)));
        let mut policy = InvalidAnswerPolicy::default();
        policy.reset();
        assert_eq!(policy.record(InvalidAnswer::Unfinished, ToolCallFormat::Native), InvalidAnswerStep::Tell);
        assert_eq!(policy.record(InvalidAnswer::Unfinished, ToolCallFormat::Native), InvalidAnswerStep::End);
    }

    #[test]
    fn nobody_is_told_for_ever() {
        let mut policy = InvalidAnswerPolicy::default();
        for _ in 0..MOST_TOLD {
            policy.reset();
            assert_eq!(policy.record(InvalidAnswer::OutputLimit, ToolCallFormat::Native), InvalidAnswerStep::Tell);
        }
        policy.reset();
        assert_eq!(policy.record(InvalidAnswer::Declined, ToolCallFormat::Native), InvalidAnswerStep::End);
    }
}
