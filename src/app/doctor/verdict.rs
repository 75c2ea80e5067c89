//! Evaluates a model's responses to the probes. Main type: [`ProbeVerdict`].
//!
//! A model that responds, but not as requested, is reported as weak: reviews can handle that. Failures of the server belong in `advice`.

use std::time::Duration;

use super::probe::{COLOUR, NOTE, ProbeResponse, RESULT, ResponseTiming, SUM};
use crate::domain::text::{mask, shorten, strip_line};
use crate::llm::{FinishReason, ModelToolCall, ToolInput, TurnResponse, find_leaked_markup};

/// Limit in characters on the quoted part of a response.
const SHOWN: usize = 80;
/// A faster response may arrive in one piece without a buffering proxy.
const SOON: Duration = Duration::from_secs(2);

/// The evaluation of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProbeVerdict {
    /// `true` if the response is as requested.
    pub(super) is_right: bool,
    /// The observation.
    pub(super) found: String,
    /// Specific advice, if any.
    pub(super) advice: Option<String>,
}

impl ProbeVerdict {
    fn right(found: impl Into<String>) -> Self {
        Self { is_right: true, found: found.into(), advice: None }
    }

    fn wrong(found: impl Into<String>) -> Self {
        Self { is_right: false, found: found.into(), advice: None }
    }

    /// Evaluates a server that refuses tools: the request fell back to the text format automatically.
    pub(super) fn in_text() -> Self {
        let advice = "nothing needs to be done: a review speaks to it in text";
        Self { advice: Some(advice.to_owned()), ..Self::wrong("the server takes no tools") }
    }

    /// Adds general advice if there is no specific one.
    pub(super) fn with_advice(self, advice: &str) -> Self {
        Self { advice: self.advice.or_else(|| Some(advice.to_owned())), ..self }
    }
}

/// Evaluates the streaming of a text.
pub(super) fn judge_counting(heard: &ProbeResponse) -> ProbeVerdict {
    let Some(answer) = heard.answers.first() else { return ProbeVerdict::wrong("it answered nothing") };
    if let Some(none) = judge_unusable(answer) {
        return none;
    }
    let text = answer.text();
    let came = describe_timing(&heard.pace);
    if is_held_back(&heard.pace) {
        let advice = "look for what stands between: a proxy that buffers, or a server that is told not to stream. Else a long answer \
                      looks like a silent server, and is given up";
        let found = format!("the answer came in one go, {came}: somebody holds it back");
        return ProbeVerdict { advice: Some(advice.to_owned()), ..ProbeVerdict::wrong(found) };
    }
    if text.split(|c: char| !c.is_ascii_digit()).filter(|word| ["57", "58", "59", "60"].contains(word)).count() < 4 {
        let found = format!("it answers, {came}, but not as asked: {}", quote_text(&text));
        return ProbeVerdict::wrong(found);
    }
    ProbeVerdict::right(format!("it answers, {came}"))
}

/// Describes the timing of a response.
fn describe_timing(pace: &ResponseTiming) -> String {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    match pace.pieces {
        0 | 1 => format!("after {}", seconds(pace.took)),
        pieces => {
            format!("first after {}, wholly after {}, in {pieces} pieces", seconds(pace.first), seconds(pace.took))
        }
    }
}

/// Checks whether a slow response arrived all at once.
fn is_held_back(pace: &ResponseTiming) -> bool {
    pace.took >= SOON && pace.spread < pace.took / 20
}

/// Evaluates a forced tool call.
pub(super) fn judge_forced_call(heard: &ProbeResponse) -> ProbeVerdict {
    let Some(answer) = heard.answers.first() else { return ProbeVerdict::wrong("it answered nothing") };
    if let Some(none) = judge_unusable(answer) {
        return none;
    }
    let calls: Vec<&ModelToolCall> = answer.calls().collect();
    let Some(call) = calls.first() else { return judge_missing_call(answer) };
    let (name, field, number) = NOTE;
    match &call.input {
        ToolInput::Malformed(text) => ProbeVerdict::wrong(format!("its call cannot be read: {}", quote_text(text))),
        ToolInput::Object(_) if call.name != name => {
            ProbeVerdict::wrong(format!("it called {}, which was not on offer", quote_text(&call.name)))
        }
        ToolInput::Object(input) if input.get(field).and_then(serde_json::Value::as_u64) == Some(number) => {
            ProbeVerdict::right("it calls a tool when it must, with what was asked")
        }
        ToolInput::Object(input) => {
            let input = serde_json::Value::Object(input.clone()).to_string();
            ProbeVerdict::wrong(format!("it called the tool, but with {}", quote_text(&input)))
        }
    }
}

/// Evaluates two calls, and a sentence that proves that their results were read.
pub(super) fn judge_two_tools(heard: &ProbeResponse) -> ProbeVerdict {
    let Some(first) = heard.answers.first() else { return ProbeVerdict::wrong("it answered nothing") };
    if let Some(none) = heard.answers.iter().find_map(judge_unusable) {
        return none;
    }
    let called = |name: &str| heard.answers.iter().position(|answer| answer.calls().any(|call| call.name == name));
    let malformed = heard.answers.iter().flat_map(TurnResponse::calls).find_map(|call| match &call.input {
        ToolInput::Malformed(text) => Some(text),
        ToolInput::Object(_) => None,
    });
    if let Some(text) = malformed {
        return ProbeVerdict::wrong(format!("its call cannot be read: {}", quote_text(text)));
    }
    let last = heard.answers.last().map(TurnResponse::text).unwrap_or_default();
    match (called(COLOUR), called(SUM)) {
        (None, None) => judge_missing_call(first),
        (Some(_), None) | (None, Some(_)) => ProbeVerdict::wrong("it called one of two tools, and never the other"),
        (Some(_), Some(_)) if !last.contains(RESULT) => ProbeVerdict::wrong(format!(
            "it called both tools, and did not say what they answered: {}",
            quote_text(&last)
        )),
        (Some(colour), Some(sum)) if colour == sum => {
            ProbeVerdict::right("it calls two tools in one turn, and reads what they answer")
        }
        (Some(_), Some(_)) => ProbeVerdict::right("it calls two tools one after the other, and reads what they answer"),
    }
}

/// Evaluates a response that is unusable for every probe.
fn judge_unusable(answer: &TurnResponse) -> Option<ProbeVerdict> {
    let is_empty = answer.text().trim().is_empty() && answer.calls().next().is_none();
    match &answer.stop {
        FinishReason::Refused => Some(ProbeVerdict::wrong(format!("it refused: {}", quote_text(&answer.text())))),
        FinishReason::OutputLimit if is_empty => {
            Some(ProbeVerdict::wrong("its answer was cut before anything was said: it may think too long"))
        }
        FinishReason::Done | FinishReason::Calls | FinishReason::OutputLimit | FinishReason::Other(_) if is_empty => {
            Some(ProbeVerdict::wrong("it answered nothing"))
        }
        FinishReason::Done | FinishReason::Calls | FinishReason::OutputLimit | FinishReason::Other(_) => None,
    }
}

/// Describes the text given instead of a call.
fn judge_missing_call(answer: &TurnResponse) -> ProbeVerdict {
    let text = answer.text();
    match find_leaked_markup(&text) {
        Some(dialect) => ProbeVerdict {
            advice: Some(
                "have the server parse its tool calls: it needs the right template or parser for this model".to_owned(),
            ),
            ..ProbeVerdict::wrong(format!("it wrote its tool call as text ({dialect}): {}", quote_text(&text)))
        },
        None if text.trim().is_empty() => {
            ProbeVerdict::wrong("it called no tool that it was asked for, and wrote nothing")
        }
        None => ProbeVerdict::wrong(format!("it called no tool, and wrote: {}", quote_text(&text))),
    }
}

/// Quotes a part of a model's text, safe for display.
fn quote_text(text: &str) -> String {
    format!("\"{}\"", shorten(strip_line(&mask(text).text).trim(), SHOWN))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::llm::{MessagePart, TurnUsage};

    fn call(name: &str, input: ToolInput) -> MessagePart {
        MessagePart::Call(ModelToolCall { id: "1".to_owned(), name: name.to_owned(), input, signatures: Vec::new() })
    }

    fn object(value: Value) -> ToolInput {
        let Value::Object(fields) = value else { panic!("no object") };
        ToolInput::Object(fields)
    }

    fn text(text: &str) -> MessagePart {
        MessagePart::Text { text: text.to_owned() }
    }

    fn heard(answers: Vec<Vec<MessagePart>>) -> ProbeResponse {
        let answers = answers.into_iter();
        let answer = |parts| TurnResponse { parts, stop: FinishReason::Done, usage: TurnUsage::default() };
        let pace = ResponseTiming { pieces: 3, ..ResponseTiming::default() };
        ProbeResponse { answers: answers.map(answer).collect(), broken: None, pace }
    }

    fn ended(stop: FinishReason, said: &str) -> ProbeResponse {
        let mut heard = heard(vec![vec![text(said)]]);
        heard.answers[0].stop = stop;
        heard
    }

    #[test]
    fn a_text_is_as_asked_or_is_shown() {
        let counted = (1..=60).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        assert!(judge_counting(&heard(vec![vec![text(&counted)]])).is_right);
        let other = judge_counting(&heard(vec![vec![text("Sure, I can\u{1b}[31m count!")]]));
        assert!(!other.is_right && other.found.ends_with("not as asked: \"Sure, I can count!\""), "{}", other.found);
        assert!(judge_counting(&heard(vec![vec![]])).found.contains("nothing"));
        assert!(judge_counting(&ended(FinishReason::Refused, "No.")).found.contains("refused: \"No.\""));
        assert!(judge_counting(&ended(FinishReason::OutputLimit, "")).found.contains("think too long"));
    }

    #[test]
    fn an_answer_that_somebody_holds_back_is_known_by_its_pace() {
        let pace = |took, spread| ResponseTiming {
            first: Duration::from_millis(took - spread),
            spread: Duration::from_millis(spread),
            pieces: 9,
            took: Duration::from_millis(took),
        };
        assert!(is_held_back(&pace(8_000, 5)));
        assert!(!is_held_back(&pace(8_000, 3_000)));
        assert!(!is_held_back(&pace(300, 0)), "a fast server may do that");
        let mut slow = heard(vec![vec![text("57 58 59 60")]]);
        slow.pace = pace(8_000, 5);
        let judged = judge_counting(&slow);
        assert!(!judged.is_right && judged.advice.is_some(), "{judged:?}");
    }

    #[test]
    fn a_forced_call_is_right_wrong_or_none() {
        let right = heard(vec![vec![call("note_number", object(json!({ "number": 7 })))]]);
        assert!(judge_forced_call(&right).is_right);
        for (parts, words) in [
            (vec![call("note_number", object(json!({ "number": "seven" })))], "but with"),
            (vec![call("write_file", ToolInput::Object(Map::new()))], "\"write_file\", which was not on offer"),
            (vec![call("note_number", ToolInput::Malformed("{\"number\": ".to_owned()))], "cannot be read"),
            (
                vec![text("<tool_call>\n{\"name\": \"note_number\", \"arguments\": {\"number\": 7}}\n</tool_call>")],
                "as text (tool_call tags)",
            ),
            (vec![text("I noted the number 7.")], "called no tool, and wrote: \"I noted"),
            (vec![], "nothing"),
        ] {
            let judged = judge_forced_call(&heard(vec![parts]));
            assert!(!judged.is_right && judged.found.contains(words), "{words}: {}", judged.found);
        }
    }

    #[test]
    fn two_tools_are_called_and_their_results_read() {
        let colour = || call("colour_of", object(json!({ "thing": "box" })));
        let sum = || call("sum_of", object(json!({ "first": 20, "second": 22 })));
        let end = || vec![text("The box is violet-5138, and the sum is 42.")];
        let at_once = judge_two_tools(&heard(vec![vec![colour(), sum()], end()]));
        assert!(at_once.is_right && at_once.found.contains("in one turn"), "{at_once:?}");
        let in_turn = judge_two_tools(&heard(vec![vec![sum()], vec![colour()], end()]));
        assert!(in_turn.is_right && in_turn.found.contains("one after the other"), "{in_turn:?}");
        for (answers, words) in [
            (vec![vec![sum()], end()], "one of two tools"),
            (vec![vec![colour(), sum()], vec![text("Done.")]], "did not say what they answered: \"Done.\""),
            (vec![vec![text("42")]], "called no tool"),
            (vec![vec![colour(), sum()], vec![]], "nothing"),
        ] {
            let judged = judge_two_tools(&heard(answers));
            assert!(!judged.is_right && judged.found.contains(words), "{words}: {}", judged.found);
        }
    }
}
