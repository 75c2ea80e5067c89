//! What the scripted model says, ready to be written in any language. Main type: [`Answer`].

use serde_json::{Value, json};

use super::asked::Asked;
use super::script::{Figures, Input, Say, StopWord, Thought, Usage};
use super::wires::Wire;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its id.
    pub id: String,
    /// The model that gave it.
    pub model: String,
    /// What comes first.
    pub thinking: Vec<Thought>,
    /// Text; empty for none.
    pub text: String,
    /// Calls.
    pub calls: Vec<Call>,
    /// Why it ends.
    pub stop: StopWord,
    /// What it took; `None` when the server does not say.
    pub usage: Option<Figures>,
    /// How many characters a piece of text or of arguments has.
    pub delta: usize,
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Input,
}

impl Call {
    /// The input as text, well-formed or not.
    pub fn arguments(&self) -> String {
        match &self.input {
            Input::Object(fields) => Value::Object(fields.clone()).to_string(),
            Input::Malformed(text) => text.clone(),
        }
    }

    /// The input as a value; a malformed one is a text.
    pub fn value(&self) -> Value {
        match &self.input {
            Input::Object(fields) => Value::Object(fields.clone()),
            Input::Malformed(text) => Value::String(text.clone()),
        }
    }
}

impl Answer {
    /// The words of a step as an answer to a request; `number` counts the answers, `seen` is how much of it the server saw before.
    pub fn new(say: &Say, asked: &Asked, wire: Wire, number: usize, seen: u64) -> Self {
        let calls = say.calls.iter().enumerate().map(|(n, call)| Call {
            id: wire.call_id(number, n),
            name: call.name.clone(),
            input: filled(&call.input, asked),
        });
        let calls: Vec<_> = calls.collect();
        let stop = say.stop.unwrap_or(if calls.is_empty() { StopWord::Done } else { StopWord::Calls });
        let mut answer = Self {
            id: format!("{}{number:04}", wire.answer_prefix()),
            model: asked.model.clone(),
            thinking: say.thinking.clone(),
            text: say.text.clone().unwrap_or_default(),
            calls,
            stop,
            usage: None,
            delta: say.delta.unwrap_or(11).max(1),
        };
        answer.usage = match &say.usage {
            Some(Usage::Given(figures)) => Some(*figures),
            Some(Usage::Word(_)) => None,
            None => Some(answer.figures(asked, wire, seen)),
        };
        answer
    }

    fn figures(&self, asked: &Asked, wire: Wire, seen: u64) -> Figures {
        let input = asked.tokens();
        let cached = seen.min(input);
        let spoken =
            self.text.len() + self.calls.iter().map(|call| call.name.len() + call.arguments().len()).sum::<usize>();
        let output = u64::try_from(spoken / 4).expect("a size") + 1;
        // Only this wire tells what it wrote, and only where a mark asks for it.
        let written = if wire == Wire::Messages && !asked.marks.is_empty() { input - cached } else { 0 };
        Figures { input, cached, written, output }
    }

    /// Whether nothing at all is said.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }
}

/// What stands in a script for the run that the last results name.
const RUN: &str = "THE_RUN";

/// An input with the run of a build that the model was told, which no script can know.
fn filled(input: &Input, asked: &Asked) -> Input {
    let Input::Object(fields) = input else { return input.clone() };
    let text = serde_json::to_string(fields).expect("an object");
    if !text.contains(RUN) {
        return input.clone();
    }
    let told = asked.last_results().into_iter().find_map(|(_, result)| {
        let (_, rest) = result.text.split_once(", run ")?;
        rest.split_once(':').map(|(run, _)| run.to_owned())
    });
    let text = text.replace(RUN, &told.expect("a run among the last results"));
    Input::Object(serde_json::from_str(&text).expect("an object"))
}

/// A text in pieces of so many characters.
pub fn deltas(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A server-sent event with a name.
pub fn event(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

/// A server-sent event without a name.
pub fn data(data: &Value, end: &str) -> Vec<u8> {
    format!("data: {data}{end}{end}").into_bytes()
}

/// The body of an error as both APIs of `OpenAI` write it.
pub fn openai_error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
}
