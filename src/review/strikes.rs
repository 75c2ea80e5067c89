//! Invalid answers: each kind is reprompted once, and ends the conversation when it happens again. If another format of calls may help, it is tried
//! in between. Main types: [`Strike`], [`Strikes`].

use super::draft::Ending;
use crate::domain::review::Ended;
use crate::domain::text::{mask, strip_line};
use crate::llm::{Speech, Stop, TurnResponse, declines, leaked_answer};
use crate::prompt::{PromptError, Prompts};

/// Maximum number of corrective prompts per run.
const MOST_TOLD: u32 = 3;

/// Kind of an invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strike {
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
pub(super) enum Step {
    /// Reprompt the model.
    Tell,
    /// From now on calls are written in the text, for this reason.
    Switch(&'static str),
    /// The model was reprompted: end the conversation.
    End,
}

impl Strike {
    /// Classifies an answer without calls.
    pub(super) fn of(response: &TurnResponse) -> Self {
        let text = response.text();
        match leaked_answer(&text) {
            Some(dialect) => Self::Leaked(dialect),
            None if response.stop == Stop::OutputLimit => Self::OutputLimit,
            None if text.trim().is_empty() => Self::Empty,
            None if declines(&text) => Self::Declined,
            None => Self::Unfinished,
        }
    }

    /// Returns the corrective prompt.
    pub(super) fn told(self, prompts: &Prompts, speech: Speech) -> Result<String, PromptError> {
        match (self, speech) {
            (Self::Unfinished | Self::Declined, _) => prompts.nudge(),
            (Self::Empty, _) => prompts.empty_answer(),
            (Self::OutputLimit, _) => prompts.output_limit(),
            (Self::Leaked(_) | Self::Malformed, Speech::Text) => prompts.text_repair(),
            (Self::Leaked(_), Speech::Native) => prompts.leaked_markup(),
            (Self::Malformed, Speech::Native) => prompts.malformed_calls(),
        }
    }

    /// Returns the outcome of the run when it happens again.
    pub(super) fn ending(self) -> Ending {
        let (ended, why) = match self {
            Self::Unfinished => (
                Ended::Unfinished,
                "the model stopped without calling finish_review, and did so again when told".to_owned(),
            ),
            Self::Empty => (Ended::EmptyAnswer, "the model answered nothing, and did so again when told".to_owned()),
            Self::Leaked(dialect) => (
                Ended::LeakedMarkup,
                format!(
                    "the model wrote its tool calls as text ({dialect}), and did so again when told; nothing of it is shown"
                ),
            ),
            Self::OutputLimit => (
                Ended::OutputLimit,
                "the model's answers were cut at the most it may answer, and again when told".to_owned(),
            ),
            Self::Malformed => {
                (Ended::MalformedCalls, "the model's tool calls could not be read, and again not when told".to_owned())
            }
            Self::Declined => {
                (Ended::Refused, "the model said that it will not do this, and did so again when told".to_owned())
            }
        };
        Ending::Short { ended, why }
    }

    /// Returns the outcome of the run when the model refuses; there is no second try.
    pub(super) fn refusal(text: &str) -> Ending {
        // The refusal may contain a call that was written as text: its markup is not for readers.
        let text = if leaked_answer(text).is_some() { "" } else { text };
        let said: String = strip_line(&mask(text).text).chars().take(200).collect();
        let said = if said.trim().is_empty() { String::new() } else { format!(": {said}") };
        Ending::Short { ended: Ended::Refused, why: format!("the model refused{said}") }
    }
}

/// State of the corrective prompts.
#[derive(Debug, Default)]
pub(super) struct Strikes {
    in_a_row: u32,
    told: u32,
    /// Number of answers with only unreadable calls.
    garbled: u32,
    /// `true` if the model ever made a valid call.
    called: bool,
}

impl Strikes {
    /// Creates the state of a verification, which may end without any call.
    pub(super) fn of_look() -> Self {
        Self { called: true, ..Self::default() }
    }

    /// Records an invalid answer and returns the reaction: one prompt in a row, and a limited number in all. After malformed calls for a second time
    /// the text format is used from then on, and likewise for a model that makes no calls at all.
    pub(super) fn take(&mut self, strike: Strike, speech: Speech) -> Step {
        let again = self.in_a_row > 0;
        let why = match strike {
            Strike::Leaked(_) | Strike::Malformed => {
                self.garbled += 1;
                (self.garbled > 1).then_some("its calls could not be read otherwise")
            }
            Strike::Unfinished | Strike::Empty => {
                (again && !self.called).then_some("it made no calls in any other way")
            }
            Strike::OutputLimit | Strike::Declined => None,
        };
        let step = match why.filter(|_| speech.is_native()) {
            Some(why) => Step::Switch(why),
            None if again || self.told >= MOST_TOLD => return Step::End,
            None => Step::Tell,
        };
        self.in_a_row += 1;
        self.told += 1;
        step
    }

    /// Resets the row of invalid answers after valid calls.
    pub(super) fn forgive(&mut self) {
        self.in_a_row = 0;
        self.called = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAKED: Strike = Strike::Leaked("x");

    #[test]
    fn the_words_of_a_refusal_are_told_and_markup_is_not() {
        let why = |text: &str| Strike::refusal(text).reason().unwrap();
        assert_eq!(why("I can't help with that."), "the model refused: I can't help with that.");
        assert_eq!(
            why("Sure.\n<tool_call>{\"name\": \"read_file_part\", \"arguments\": {}}</tool_call>"),
            "the model refused"
        );
    }

    #[test]
    fn calls_that_are_none_are_told_then_written_in_the_text_and_then_the_end() {
        for strike in [LEAKED, Strike::Malformed] {
            let mut strikes = Strikes::default();
            assert_eq!(strikes.take(strike, Speech::Native), Step::Tell);
            // Also with valid calls in between.
            strikes.forgive();
            assert!(matches!(strikes.take(strike, Speech::Native), Step::Switch(_)));
            assert_eq!(strikes.take(strike, Speech::Text), Step::End);
        }
        let mut strikes = Strikes::default();
        assert_eq!(strikes.take(LEAKED, Speech::Text), Step::Tell);
        assert_eq!(strikes.take(Strike::Malformed, Speech::Text), Step::End, "there is no further way");
    }

    #[test]
    fn a_model_that_makes_no_calls_may_write_them_and_one_that_made_some_has_ended() {
        let mut strikes = Strikes::default();
        assert_eq!(strikes.take(Strike::Unfinished, Speech::Native), Step::Tell);
        assert!(matches!(strikes.take(Strike::Empty, Speech::Native), Step::Switch(_)));
        let mut strikes = Strikes::default();
        strikes.forgive();
        assert_eq!(strikes.take(Strike::Unfinished, Speech::Native), Step::Tell);
        assert_eq!(strikes.take(Strike::Unfinished, Speech::Native), Step::End);
    }

    #[test]
    fn nobody_is_told_for_ever() {
        let mut strikes = Strikes::default();
        for _ in 0..MOST_TOLD {
            strikes.forgive();
            assert_eq!(strikes.take(Strike::OutputLimit, Speech::Native), Step::Tell);
        }
        strikes.forgive();
        assert_eq!(strikes.take(Strike::Declined, Speech::Native), Step::End);
    }
}
