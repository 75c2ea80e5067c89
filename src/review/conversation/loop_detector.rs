//! Loop detector: repeated calls, and turns without progress. Main type: [`LoopDetector`].
//!
//! Everything follows from the calls and their results, so that a replay has the same outcome.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use super::call_outcome::CallOutcome;
use crate::llm::{ModelToolCall, ToolInput};
use crate::review::builder::is_engine_tool;

/// Number of times the same call is made; after that the model is told that it has the result.
pub(in crate::review) const MOST_SAME: u32 = 3;
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
pub(in crate::review) struct LoopDetector {
    /// Number of each call whose result the conversation still holds.
    made: HashMap<CallKey, u32>,
    repeated: u32,
    /// The call that was repeated last, for the reason.
    last: Option<String>,
    /// Turns in a row without anything new.
    idle: u32,
}

impl LoopDetector {
    /// Records the calls of a turn, and returns which are new, and which are refused as repetitions. Equal calls in one turn count as one.
    pub(in crate::review) fn record_calls(&mut self, calls: &[ModelToolCall]) -> Vec<CallRepetition> {
        let mut entered: HashMap<CallKey, CallRepetition> = HashMap::new();
        let repetitions = calls.iter().map(|call| match key(call) {
            Some(key) => *entered.entry(key).or_insert_with(|| self.enter_one(call, key)),
            // An unreadable call is neither new nor repeated.
            None => CallRepetition::Again,
        });
        repetitions.collect()
    }

    fn enter_one(&mut self, call: &ModelToolCall, key: CallKey) -> CallRepetition {
        let made = self.made.entry(key).or_insert(0);
        *made += 1;
        match *made {
            1 => CallRepetition::New,
            // The engine's own tools handle repetitions themselves.
            made if made > MOST_SAME && !is_engine_tool(&call.name) => {
                self.repeated += 1;
                self.last = Some(&call.name).filter(|name| is_name(name)).cloned();
                CallRepetition::Refused
            }
            _ => CallRepetition::Again,
        }
    }

    /// Records the results of the calls.
    pub(in crate::review) fn record_outcomes(&mut self, repetitions: &[CallRepetition], outcomes: &[CallOutcome]) {
        let is_new = repetitions
            .iter()
            .zip(outcomes)
            .any(|(repetition, outcome)| *repetition == CallRepetition::New && !outcome.is_error);
        self.idle = if is_new { 0 } else { self.idle + 1 };
    }

    /// Checks whether the model must be prompted for lack of progress.
    pub(in crate::review) fn needs_nudge(&self) -> bool {
        self.idle == IDLE_TOLD
    }

    /// Results were taken out of the conversation: what was read may be read again.
    pub(in crate::review) fn reset(&mut self) {
        self.made.clear();
    }

    /// Returns the reason why no more progress is expected, if so.
    pub(in crate::review) fn is_stuck(&self) -> Option<String> {
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
pub(in crate::review) enum CallRepetition {
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

    fn turn(detector: &mut LoopDetector, call: &ModelToolCall, is_error: bool) -> CallRepetition {
        let repetitions = detector.record_calls(std::slice::from_ref(call));
        let called = CallOutcome { is_error, ..CallOutcome::refuse("x", "y") };
        detector.record_outcomes(&repetitions, &[called]);
        repetitions[0]
    }

    #[test]
    fn the_same_call_is_made_three_times_and_then_answered_without_being_made() {
        let mut detector = LoopDetector::default();
        let (one, same) = (json!({ "file_path": "a", "start_line": 1 }), json!({ "start_line": 1, "file_path": "a" }));
        let read = |input: &serde_json::Value| call("read_file_part", input);
        let repetitions = [&one, &same, &one, &same].map(|input| turn(&mut detector, &read(input), false));
        assert_eq!(
            repetitions,
            [CallRepetition::New, CallRepetition::Again, CallRepetition::Again, CallRepetition::Refused]
        );
        assert_eq!(turn(&mut detector, &read(&json!({ "file_path": "b" })), false), CallRepetition::New);
        let thrice = [read(&one), read(&one), read(&one)];
        assert_eq!(detector.record_calls(&thrice), [CallRepetition::Refused; 3]);
        detector.reset();
        assert_eq!(detector.record_calls(&thrice), [CallRepetition::New; 3], "its answer was not seen between them");
        detector.reset();
        assert_eq!(turn(&mut detector, &read(&one), false), CallRepetition::New, "its result is gone");
        assert_eq!(detector.is_stuck(), None);
    }

    #[test]
    fn repeating_for_ever_is_an_end() {
        let mut detector = LoopDetector::default();
        let read = call("list_files", &json!({}));
        for _ in 0..MOST_SAME + MOST_REPEATED {
            assert_eq!(detector.is_stuck(), None);
            detector.record_calls(std::slice::from_ref(&read));
        }
        assert!(detector.is_stuck().unwrap().contains("list_files"));
        let markup = call("<invoke name=\"read\">", &json!({}));
        for _ in 0..=MOST_SAME {
            detector.record_calls(std::slice::from_ref(&markup));
        }
        let why = detector.is_stuck().unwrap();
        assert!(why.contains("last a call") && !why.contains("invoke"), "{why}");
    }

    #[test]
    fn turns_that_bring_nothing_are_told_once_and_end() {
        let mut detector = LoopDetector::default();
        let mut told = 0;
        for n in 0..IDLE_MOST {
            assert_eq!(detector.is_stuck(), None);
            turn(&mut detector, &call("read_file_part", &json!({ "file_path": format!("none/{n}") })), true);
            told += u32::from(detector.needs_nudge());
        }
        assert_eq!(told, 1);
        assert!(detector.is_stuck().is_some());
        turn(&mut detector, &call("read_file_part", &json!({ "file_path": "a" })), false);
        assert_eq!(detector.is_stuck(), None, "something new came");
    }

    #[test]
    fn the_engines_own_tools_answer_for_themselves() {
        let mut detector = LoopDetector::default();
        let finish = call("finish_review", &json!({ "summary": "x" }));
        let repetitions: Vec<CallRepetition> = (0..6).map(|_| turn(&mut detector, &finish, false)).collect();
        assert!(repetitions[1..].iter().all(|repetitions| *repetitions == CallRepetition::Again));
    }
}
