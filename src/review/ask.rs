//! Answers a question about a saved review: one conversation that reads the reviewed trees and ends with text. Main function: [`answer_question`].
//!
//! The loop is that of a review, with a role of its own; nothing is recorded and the review stays as it is.

use std::sync::Arc;

use super::budget::ConversationBudget;
use super::conversation::{
    ActiveModel, CallOutcome, CallTurn, Conversation, ConversationRole, FirstRequest, InvalidAnswer,
    InvalidAnswerPolicy, ToolList, make_reading_calls,
};
use super::error::EngineError;
use super::journal::{ConversationId, Journal};
use super::run::ModelRun;
use crate::domain::change::ChangeSet;
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::domain::text::mask;
use crate::llm::{FinishReason, ModelToolCall, ToolCallFormat, TurnResponse};
use crate::prompt::{PromptError, Prompts, QuestionVars};
use crate::sys::blocking::BlockingFailure;
use crate::tools::Toolbox;

/// The name of the conversation.
const UNIT: &str = "ask";

/// The outcome of a question.
#[derive(Debug)]
pub struct QuestionOutcome {
    /// The answer, Markdown with secrets masked; else the stop reason with a sentence.
    pub answer: Result<String, (StopReason, String)>,
    /// The model that answered last.
    pub model: String,
    /// Turns with a response.
    pub turns: u32,
    /// Tokens and cost of all turns.
    pub usage: Usage,
}

/// Asks the model of a run a question. `run` is what a review would be given; its journal, leads and history are not used.
pub async fn answer_question(run: ModelRun, question: &QuestionVars) -> Result<QuestionOutcome, EngineError> {
    let speech = run.provider.capabilities().speech();
    let tools = ToolList::with(&run.tools, []);
    let (system, message) = (run.prompts.ask()?, run.prompts.ask_question(question)?);
    let first = FirstRequest::new(&run.prompts, &tools, speech, run.limits.max_output, system, message)?;
    let journal = Journal::new(None);
    let transcript = run.past.transcript(&journal, &ConversationId::Named(UNIT.to_owned()));
    let budget = ConversationBudget::in_pool(run.limits, run.pool.as_ref());
    let role = AnswererRole { tools: &run.tools, change: &run.change };
    let mut conversation = Conversation::new(role, ActiveModel::of(&run), budget, transcript, first);
    conversation.invalid_answers = InvalidAnswerPolicy::for_verification();
    let end = conversation.run().await?;
    let Conversation { model, budget, .. } = conversation;
    let answer = end.into_conclusion().map_err(|outcome| {
        let why = outcome.reason().unwrap_or_else(|| "the model gave no answer".to_owned());
        (outcome.stop_reason(), why)
    });
    Ok(QuestionOutcome { answer, model: model.name(), turns: budget.turns(), usage: budget.usage() })
}

/// Role of a model that answers: it reads, and its first text without a call ends the conversation.
struct AnswererRole<'a> {
    tools: &'a Toolbox,
    change: &'a Arc<ChangeSet>,
}

impl ConversationRole for AnswererRole<'_> {
    type Conclusion = String;
    /// The saved review may be enough for an answer.
    const MAY_BEGIN_WITH_FINAL_TURN: bool = true;
    const HANDS_OVER_WHEN_FULL: bool = true;
    const CONTINUES_AFTER_FINAL_TURN: bool = false;
    const END_REQUEST: &'static str = "Answer with what you have";

    fn describe_limit(&self, limit: StopReason, budget: &ConversationBudget) -> String {
        budget.describe_limit(limit)
    }

    fn begin_final_turn(&mut self, reason: &str, _: &Prompts) -> Result<String, PromptError> {
        Ok(format!(
            "This is your last turn, because {reason}. Answer the question now in text; nothing is read any more."
        ))
    }

    fn reprompt(
        &self,
        invalid: InvalidAnswer,
        prompts: &Prompts,
        speech: ToolCallFormat,
    ) -> Result<String, PromptError> {
        match invalid {
            InvalidAnswer::Leaked(_) | InvalidAnswer::Malformed => invalid.reprompt(prompts, speech),
            InvalidAnswer::Unfinished | InvalidAnswer::Declined | InvalidAnswer::Empty | InvalidAnswer::OutputLimit => {
                Ok("Your last response held no answer. Answer the question in text, briefly.".to_owned())
            }
        }
    }

    fn unreadable_calls(_: &FinishReason) -> InvalidAnswer {
        InvalidAnswer::Malformed
    }

    async fn make_calls(&mut self, turn: CallTurn<'_>) -> Result<Vec<CallOutcome>, BlockingFailure> {
        let is_final = turn.is_final;
        let refuse = |call: &ModelToolCall| {
            if !self.tools.offers(&call.name) {
                CallOutcome::unknown_tool(&call.name, self.tools, std::iter::empty())
            } else if is_final {
                CallOutcome::refuse("last_turn", "nothing is read any more: answer in text")
            } else {
                CallOutcome::too_many()
            }
        };
        make_reading_calls(turn, self.tools, refuse).await
    }

    fn result_room(&self, budget: &ConversationBudget, size: u64) -> u64 {
        budget.result_room(size).min(budget.room_of_tokens(size))
    }

    fn record_omissions(&self) {}

    fn is_changed(&self, path: &str) -> bool {
        self.change.has_path(path)
    }

    /// Returns the text of a response without calls. A cut answer is better than none.
    fn conclude(&mut self, response: &TurnResponse, calls: &[ModelToolCall], _: bool) -> Option<String> {
        if !calls.is_empty() {
            return None;
        }
        let text = mask(response.text().trim()).text;
        match InvalidAnswer::of(response) {
            InvalidAnswer::Unfinished | InvalidAnswer::Declined => Some(text),
            InvalidAnswer::OutputLimit if !text.is_empty() => {
                Some(format!("{text}\n\n[cut: the response limit of the model]"))
            }
            InvalidAnswer::OutputLimit | InvalidAnswer::Empty | InvalidAnswer::Leaked(_) | InvalidAnswer::Malformed => {
                None
            }
        }
    }
}
