//! Role of the model that verifies: it reads, and its verdict ends the conversation. Main type: [`VerifierRole`].

use super::as_text;
use super::check::{CheckedVerdict, VerdictCheck};
use super::end::describe_wait;
use super::verdict::{self, NAME, VerdictAnswer};
use crate::domain::event::{Event, EventSink};
use crate::domain::review::StopReason;
use crate::domain::text::mask;
use crate::llm::{FinishReason, ModelToolCall, ToolCallFormat, ToolInput, TurnResponse};
use crate::prompt::{LastTurnVars, PromptError, Prompts};
use crate::review::budget::ConversationBudget;
use crate::review::conversation::{CallOutcome, CallTurn, ConversationRole, InvalidAnswer, make_reading_calls};
use crate::review::outcome::VerificationVerdict;
use crate::sys::blocking::BlockingFailure;
use crate::tools::Toolbox;

/// Role of a model that verifies one finding.
pub(super) struct VerifierRole<'a> {
    tools: &'a Toolbox,
    check: VerdictCheck<'a>,
    /// `true` if a verdict was sent back once, because results of the same turn were not seen yet.
    waited: bool,
    /// `true` if a verdict was sent back once, because something in it does not stand.
    objected: bool,
    /// The objection to the verdict of this turn.
    objection: Option<String>,
}

impl<'a> VerifierRole<'a> {
    pub(super) fn new(tools: &'a Toolbox, check: VerdictCheck<'a>) -> Self {
        Self { tools, check, waited: false, objected: false, objection: None }
    }

    /// Returns the verdict that counts. One that something in it speaks against is sent back once, if it can be.
    fn judge(&mut self, given: &[VerdictAnswer], can_send_back: bool) -> Option<VerificationVerdict> {
        let CheckedVerdict { verdict, objection } = self.check.check(given)?;
        if objection.is_some() && can_send_back && !self.objected {
            (self.objected, self.objection) = (true, objection);
            return None;
        }
        Some(verdict)
    }
}

impl ConversationRole for VerifierRole<'_> {
    type Conclusion = VerificationVerdict;
    /// With the final verdict as its only turn, the model could only repeat the finding.
    const MAY_BEGIN_WITH_FINAL_TURN: bool = false;
    const HANDS_OVER_WHEN_FULL: bool = false;
    const CONTINUES_AFTER_FINAL_TURN: bool = false;
    const END_REQUEST: &'static str = "Call give_verdict with what you have";

    fn describe_limit(&self, limit: StopReason, budget: &ConversationBudget) -> String {
        describe_wait(limit, &budget.limits())
    }

    fn begin_final_turn(&mut self, reason: &str, prompts: &Prompts) -> Result<String, PromptError> {
        prompts.verification_last_turn(&LastTurnVars { reason: reason.to_owned() })
    }

    fn reprompt(
        &self,
        invalid: InvalidAnswer,
        prompts: &Prompts,
        speech: ToolCallFormat,
    ) -> Result<String, PromptError> {
        match invalid {
            InvalidAnswer::Leaked(_) | InvalidAnswer::Malformed | InvalidAnswer::OutputLimit => {
                invalid.reprompt(prompts, speech)
            }
            InvalidAnswer::Unfinished | InvalidAnswer::Empty | InvalidAnswer::Declined => prompts.verification_nudge(),
        }
    }

    fn unreadable_calls(_: &FinishReason) -> InvalidAnswer {
        InvalidAnswer::Malformed
    }

    async fn make_calls(&mut self, turn: CallTurn<'_>) -> Result<Vec<CallOutcome>, BlockingFailure> {
        let (is_final, objection) = (turn.is_final, self.objection.take());
        let refuse = |call: &ModelToolCall| unread_outcome(call, self.tools, is_final, objection.as_deref());
        make_reading_calls(turn, self.tools, refuse).await
    }

    fn result_room(&self, budget: &ConversationBudget, size: u64) -> u64 {
        // What it reads must leave tokens for the verdict.
        budget.result_room(size).min(budget.room_of_tokens(size))
    }

    fn is_changed(&self, path: &str) -> bool {
        self.check.change.has_path(path)
    }

    fn record_omissions(&self) {
        let _ = self.check.trees.new.omissions();
    }

    /// Notes what the model sees, which it may cite.
    fn record_outcomes(&mut self, outcomes: &mut [CallOutcome]) {
        outcomes.iter().filter(|outcome| !outcome.is_error).for_each(|outcome| self.check.shown.add_outcome(outcome));
    }

    /// Returns the verdict of the calls, or of the text of a response without calls. A verdict beside calls that read waits once for their results.
    fn conclude(
        &mut self,
        response: &TurnResponse,
        calls: &[ModelToolCall],
        is_final: bool,
    ) -> Option<VerificationVerdict> {
        if calls.is_empty() {
            // The missing end of a cut response may say something else.
            let is_cut = response.stop == FinishReason::OutputLimit;
            return if is_cut { None } else { self.judge(&as_text::verdicts(&response.text()), false) };
        }
        let given = calls.iter().filter(|call| call.name == NAME).filter_map(|call| verdict_of(call).ok());
        let given: Vec<VerdictAnswer> = given.collect();
        if !given.is_empty() && calls.iter().any(|call| self.tools.offers(&call.name)) && !is_final && !self.waited {
            self.waited = true;
            return None;
        }
        self.judge(&given, !is_final)
    }
}

/// Returns the verdict of a call, or the result for it.
fn verdict_of(call: &ModelToolCall) -> Result<VerdictAnswer, Box<CallOutcome>> {
    match &call.input {
        ToolInput::Object(input) => verdict::read(serde_json::Value::Object(input.clone())).map_err(|fault| {
            // What a model writes there may repeat a secret.
            Box::new(CallOutcome::refuse("invalid_input", &mask(&fault.message).text))
        }),
        ToolInput::Malformed(text) => Err(Box::new(CallOutcome::malformed(text))),
    }
}

/// Returns the result for a call that reads nothing; `objection` is what speaks against the verdict of this turn.
fn unread_outcome(call: &ModelToolCall, tools: &Toolbox, is_final: bool, objection: Option<&str>) -> CallOutcome {
    if call.name == NAME {
        let waits = "other calls of this turn read something that you have not seen yet: look at the results, then \
                      call give_verdict alone";
        let reason = mask(objection.unwrap_or(waits)).text;
        return verdict_of(call).map_or_else(|refused| *refused, |_| CallOutcome::refuse("not_accepted", &reason));
    }
    if !tools.offers(&call.name) {
        return CallOutcome::unknown_tool(&call.name, tools, [NAME].into_iter());
    }
    if is_final {
        return CallOutcome::refuse("last_turn", "nothing is read any more: call give_verdict");
    }
    CallOutcome::too_many()
}

/// Forwards only the delays of a verification: its turns would be mistaken for those of the review.
pub(super) struct RetryReporter<'a>(pub(super) &'a dyn EventSink);

impl EventSink for RetryReporter<'_> {
    fn emit(&self, event: Event) {
        let text = match event {
            Event::Retry { attempt, wait_ms, reason, .. } => {
                format!("the second look waits {} s for attempt {attempt}: {reason}", wait_ms.div_ceil(1_000))
            }
            Event::Paced { wait_ms, .. } => {
                format!("the second look waits {} s until the provider may be asked again", wait_ms.div_ceil(1_000))
            }
            _ => return,
        };
        self.0.emit(Event::Notice { text });
    }
}
