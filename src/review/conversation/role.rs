//! Role of a model in a conversation: what its calls do, and what is peculiar to its turns. Main type: [`ConversationRole`].

use super::call_outcome::CallOutcome;
use super::invalid_answers::InvalidAnswer;
use crate::domain::event::EventSink;
use crate::domain::review::StopReason;
use crate::llm::{FinishReason, ModelToolCall, ToolCallFormat, TurnResponse};
use crate::prompt::{PromptError, Prompts};
use crate::review::budget::ConversationBudget;
use crate::review::journal::Transcript;
use crate::sys::blocking::BlockingFailure;

/// Calls of a turn, as far as a role must know it.
pub(in crate::review) struct CallTurn<'a> {
    pub(in crate::review) calls: &'a [ModelToolCall],
    /// `true` in the final turn, in which nothing is read any more.
    pub(in crate::review) is_final: bool,
    pub(in crate::review) transcript: &'a Transcript,
}

/// Role of a model in a conversation.
pub(in crate::review) trait ConversationRole: Send {
    /// Conclusion that ends the conversation.
    type Conclusion: Send;
    /// `true` if the final turn is of use although nothing was read.
    const MAY_BEGIN_WITH_FINAL_TURN: bool;
    /// `true` if another model takes over where a request that failed no longer fits the window.
    const HANDS_OVER_WHEN_FULL: bool;
    /// `true` if a later session with a larger budget continues after a final turn.
    const CONTINUES_AFTER_FINAL_TURN: bool;
    /// Clause that asks the model to end when a result no longer fits.
    const END_REQUEST: &'static str;

    /// Describes a limit, for people and for the model.
    fn describe_limit(&self, limit: StopReason, budget: &ConversationBudget) -> String;

    /// Returns the message that announces the final turn, which is for ending alone.
    fn begin_final_turn(&mut self, reason: &str, prompts: &Prompts) -> Result<String, PromptError>;

    /// Returns the corrective prompt for an invalid answer.
    fn reprompt(
        &self,
        invalid: InvalidAnswer,
        prompts: &Prompts,
        speech: ToolCallFormat,
    ) -> Result<String, PromptError>;

    /// Classifies an answer all of whose calls are unreadable.
    fn unreadable_calls(stop: &FinishReason) -> InvalidAnswer;

    /// Makes the calls of a turn; the outcomes are in their order.
    fn make_calls(
        &mut self,
        turn: CallTurn<'_>,
    ) -> impl Future<Output = Result<Vec<CallOutcome>, BlockingFailure>> + Send;

    /// Returns the tokens that results may still take beside a conversation of `size`.
    fn result_room(&self, budget: &ConversationBudget, size: u64) -> u64;

    /// Records everything that the trees could not provide so far.
    fn record_omissions(&self);

    /// Reserves what must be left of the budget after the conversation.
    fn reserve(&mut self, _budget: &mut ConversationBudget) {}

    /// Returns the reason why no more progress is expected, if so.
    fn is_stuck(&self) -> Option<String> {
        None
    }

    /// Marks that another model answers from now on.
    fn change_model(&mut self, _before: &str, _now: String) {}

    /// Marks that the conversation continues after its final turn.
    fn reopen(&mut self) {}

    /// Returns the conclusion that a response gives by itself, before any call of it is made.
    fn conclude(
        &mut self,
        _response: &TurnResponse,
        _calls: &[ModelToolCall],
        _is_final: bool,
    ) -> Option<Self::Conclusion> {
        None
    }

    /// Returns the conclusion that the calls led to.
    fn conclusion_of(&self, _outcomes: &[CallOutcome]) -> Option<Self::Conclusion> {
        None
    }

    /// Marks that the model has seen the last request.
    fn credit_request(&mut self) {}

    /// Checks whether a call gets its result, however full the conversation is.
    fn needs_result(_call: &ModelToolCall) -> bool {
        false
    }

    /// Takes note of the outcomes, as they enter the conversation.
    fn record_outcomes(&mut self, _outcomes: &mut [CallOutcome]) {}

    /// Checks whether a path, as a model writes it, is of a file of the change.
    fn is_changed(&self, path: &str) -> bool;

    /// Marks that results were taken out of the conversation.
    fn forget_results(&mut self) {}

    /// Checks whether the model must be prompted for lack of progress.
    fn needs_nudge(&self) -> bool {
        false
    }

    /// Reports a journal that could not be written.
    fn report_journal_fault(&mut self, _transcript: &mut Transcript, _events: &dyn EventSink) {}
}
