//! Loop detector: repeated calls, and turns without progress. Main type: [`LoopDetector`].
//!
//! Everything follows from the calls and their results, so that a replay has the same outcome.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use super::builder::ReviewBuilder;
use super::calls::CallOutcome;
use crate::llm::{ModelToolCall, ToolInput};

/// Number of times the same call is made; after that the model is told that it has the result.
pub(super) const MOST_SAME: u32 = 3;
/// Maximum number of refused repetitions of a conversation.
const MOST_REPEATED: u32 = 12;
/// Number of consecutive turns without progress after which the model is prompted.
const IDLE_TOLD: u32 = 4;
/// Number of consecutive turns without progress after which the model is asked to finish.
const IDLE_MOST: u32 = 8;

/// No tool has a longer name.
const LONGEST_NAME: usize = 64;

/// Identity of a call: its tool and its input, in any order of the fields.
type CallKey = [u8; 32];

/// Repetitions and progress of a conversation.
#[derive(Debug, Default)]
pub(super) struct LoopDetector {
    /// Number of each call whose result the conversation still holds.
    made: HashMap<CallKey, u32>,
    repeated: u32,
    /// The call that was repeated last, for the reason.
    last: Option<String>,
    /// Turns in a row without anything new.
    idle: u32,
}

impl LoopDetector {
    /// Records the calls of a turn, and returns which are new, and which are refused as repetitions. Equal calls in one turn count as one: the model
    /// has not seen the result.
    pub(super) fn record_calls(&mut self, calls: &[ModelToolCall]) -> Vec<CallRepetition> {
        let mut entered: HashMap<CallKey, CallRepetition> = HashMap::new();
        let turned = calls.iter().map(|call| match key(call) {
            Some(key) => *entered.entry(key).or_insert_with(|| self.enter_one(call, key)),
            // An unreadable call is neither new nor repeated.
            None => CallRepetition::Again,
        });
        turned.collect()
    }

    fn enter_one(&mut self, call: &ModelToolCall, key: CallKey) -> CallRepetition {
        let made = self.made.entry(key).or_insert(0);
        *made += 1;
        match *made {
            1 => CallRepetition::New,
            // The engine's own tools handle repetitions themselves.
            made if made > MOST_SAME && !ReviewBuilder::is_own(&call.name) => {
                self.repeated += 1;
                self.last = Some(&call.name).filter(|name| is_name(name)).cloned();
                CallRepetition::Refused
            }
            _ => CallRepetition::Again,
        }
    }

    /// Records the results of the calls.
    pub(super) fn record_outcomes(&mut self, turned: &[CallRepetition], called: &[CallOutcome]) {
        let is_new =
            turned.iter().zip(called).any(|(turned, called)| *turned == CallRepetition::New && !called.is_error);
        self.idle = if is_new { 0 } else { self.idle + 1 };
    }

    /// Checks whether the model must be prompted for lack of progress.
    pub(super) fn needs_nudge(&self) -> bool {
        self.idle == IDLE_TOLD
    }

    /// Results were taken out of the conversation: what was read may be read again.
    pub(super) fn reset(&mut self) {
        self.made.clear();
    }

    /// Returns the reason why no more progress is expected, if so.
    pub(super) fn is_stuck(&self) -> Option<String> {
        if self.repeated >= MOST_REPEATED {
            let call = self.last.as_deref().unwrap_or("a call");
            let times = self.repeated;
            return Some(format!(
                "the model made the same calls again and again ({times} times after it was told that it has the answers; last {call})"
            ));
        }
        (self.idle >= IDLE_MOST)
            .then(|| format!("{IDLE_MOST} turns in a row brought nothing new, although the model was told"))
    }
}

/// Checks whether a text is the name of a tool: it is published, and a model may write anything there.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn key(call: &ModelToolCall) -> Option<CallKey> {
    let ToolInput::Object(input) = &call.input else { return None };
    let sorted: BTreeMap<_, _> = input.iter().collect();
    let mut hash = Sha256::new();
    hash.update(call.name.as_bytes());
    hash.update([0]);
    hash.update(serde_json::to_vec(&sorted).ok()?);
    Some(hash.finalize().into())
}

/// Verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallRepetition {
    /// First call of its kind.
    New,
    /// A repetition that is made again.
    Again,
    /// Refused after too many repetitions.
    Refused,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, input: &serde_json::Value) -> ModelToolCall {
        let input = ToolInput::Object(input.as_object().unwrap().clone());
        ModelToolCall { id: "1".to_owned(), name: name.to_owned(), input, signatures: Vec::new() }
    }

    fn turn(course: &mut LoopDetector, call: &ModelToolCall, is_error: bool) -> CallRepetition {
        let turned = course.record_calls(std::slice::from_ref(call));
        let called = CallOutcome { is_error, ..CallOutcome::refuse("x", "y") };
        course.record_outcomes(&turned, &[called]);
        turned[0]
    }

    #[test]
    fn the_same_call_is_made_three_times_and_then_answered_without_being_made() {
        let mut course = LoopDetector::default();
        let (one, same) = (json!({ "file_path": "a", "start_line": 1 }), json!({ "start_line": 1, "file_path": "a" }));
        let read = |input: &serde_json::Value| call("read_file_part", input);
        let turned = [&one, &same, &one, &same].map(|input| turn(&mut course, &read(input), false));
        assert_eq!(
            turned,
            [CallRepetition::New, CallRepetition::Again, CallRepetition::Again, CallRepetition::Refused]
        );
        assert_eq!(turn(&mut course, &read(&json!({ "file_path": "b" })), false), CallRepetition::New);
        let thrice = [read(&one), read(&one), read(&one)];
        assert_eq!(course.record_calls(&thrice), [CallRepetition::Refused; 3]);
        course.reset();
        assert_eq!(course.record_calls(&thrice), [CallRepetition::New; 3], "its answer was not seen between them");
        course.reset();
        assert_eq!(turn(&mut course, &read(&one), false), CallRepetition::New, "its result is gone");
        assert_eq!(course.is_stuck(), None);
    }

    #[test]
    fn repeating_for_ever_is_an_end() {
        let mut course = LoopDetector::default();
        let read = call("list_files", &json!({}));
        for _ in 0..MOST_SAME + MOST_REPEATED {
            assert_eq!(course.is_stuck(), None);
            course.record_calls(std::slice::from_ref(&read));
        }
        assert!(course.is_stuck().unwrap().contains("list_files"));
        let markup = call("<invoke name=\"read\">", &json!({}));
        for _ in 0..=MOST_SAME {
            course.record_calls(std::slice::from_ref(&markup));
        }
        let why = course.is_stuck().unwrap();
        assert!(why.contains("last a call") && !why.contains("invoke"), "{why}");
    }

    #[test]
    fn turns_that_bring_nothing_are_told_once_and_end() {
        let mut course = LoopDetector::default();
        let mut told = 0;
        for n in 0..IDLE_MOST {
            assert_eq!(course.is_stuck(), None);
            turn(&mut course, &call("read_file_part", &json!({ "file_path": format!("none/{n}") })), true);
            told += u32::from(course.needs_nudge());
        }
        assert_eq!(told, 1);
        assert!(course.is_stuck().is_some());
        turn(&mut course, &call("read_file_part", &json!({ "file_path": "a" })), false);
        assert_eq!(course.is_stuck(), None, "something new came");
    }

    #[test]
    fn the_engines_own_tools_answer_for_themselves() {
        let mut course = LoopDetector::default();
        let finish = call("finish_review", &json!({ "summary": "x" }));
        let turned: Vec<CallRepetition> = (0..6).map(|_| turn(&mut course, &finish, false)).collect();
        assert!(turned[1..].iter().all(|turned| *turned == CallRepetition::Again));
    }
}
