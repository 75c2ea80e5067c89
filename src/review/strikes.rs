//! Answers that are none: each kind is told to the model once, and has a name when it happens again. Main types: [`Strike`], [`Strikes`].

use super::draft::Ending;
use crate::domain::review::Ended;
use crate::domain::text::{mask, strip_line};
use crate::llm::{Stop, TurnResponse, leaked};
use crate::prompt::{PromptError, Prompts};

/// In a whole run the model is told no more often than this.
const MOST_TOLD: u32 = 3;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strike {
    /// Text without a call: it stopped and did not say that it was done.
    Unfinished,
    /// Nothing at all.
    Empty,
    /// Tool calls written as text, in this dialect.
    Leaked(&'static str),
    /// It was cut before it came to a call.
    OutputLimit,
    /// None of its calls could be read.
    Malformed,
}

impl Strike {
    /// What is wrong with an answer without calls.
    pub(super) fn of(response: &TurnResponse) -> Self {
        let text = response.text();
        match leaked(&text) {
            Some(dialect) => Self::Leaked(dialect),
            None if response.stop == Stop::OutputLimit => Self::OutputLimit,
            None if text.trim().is_empty() => Self::Empty,
            None => Self::Unfinished,
        }
    }

    /// What the model is told.
    pub(super) fn told(self, prompts: &Prompts) -> Result<String, PromptError> {
        match self {
            Self::Unfinished => prompts.nudge(),
            Self::Empty => prompts.empty_answer(),
            Self::Leaked(_) => prompts.leaked_markup(),
            Self::OutputLimit => prompts.output_limit(),
            Self::Malformed => prompts.malformed_calls(),
        }
    }

    /// How the run ends when it happens again.
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
        };
        Ending::Short { ended, why }
    }

    /// How the run ends when the model refuses; there is no second try.
    pub(super) fn refusal(text: &str) -> Ending {
        let said: String = strip_line(&mask(text).text).chars().take(200).collect();
        let said = if said.trim().is_empty() { String::new() } else { format!(": {said}") };
        Ending::Short { ended: Ended::Refused, why: format!("the model refused{said}") }
    }
}

/// How often the model was told.
#[derive(Debug, Default)]
pub(super) struct Strikes {
    in_a_row: u32,
    told: u32,
}

impl Strikes {
    /// Whether the model may be told: once in a row, and not for ever. Telling counts.
    pub(super) fn may_be_told(&mut self) -> bool {
        if self.in_a_row > 0 || self.told >= MOST_TOLD {
            return false;
        }
        self.in_a_row += 1;
        self.told += 1;
        true
    }

    /// It made calls that could be read.
    pub(super) fn forgive(&mut self) {
        self.in_a_row = 0;
    }
}
