//! Sends probes to a model: each is a conversation of its own, with fixed texts. Main type: [`ModelProbe`].
//!
//! Evaluating the responses belongs in `judged`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::llm::{
    Message, Provider, StreamObserver, ToolCallFormat, ToolChoice, ToolDefinition, ToolResult, TurnFault, TurnRequest,
    TurnResponse, TurnUsage, was_text,
};
use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

const SYSTEM: &str = "You are asked by a program that wants to know whether it can work with you. It shows you no code and \
    nobody reads your answer. Do exactly what is asked, and say no more than that.";
const COUNT: &str = "Count from 1 to 60 in digits, separated by blanks. Write nothing else.";
const FORCED: &str = "Call the tool `note_number` with the number 7.";
const TWO: &str = "Call two tools in one answer: `colour_of` with the thing \"box\", and `sum_of` with the numbers 20 and 22. \
    When you have both results, write one sentence that holds both of them.";

const IN_TEXT: &str = "Write the calls of two tools: `colour_of` with the thing \"box\", and `sum_of` with the numbers 20 and 22. Both \
    in one answer. When you have both results, write one sentence that holds both of them.";

/// The tool of the forced call, with its required argument.
pub(super) const NOTE: (&str, &str, u64) = ("note_number", "number", 7);
/// The tools of the two-tool turn.
pub(super) const COLOUR: &str = "colour_of";
pub(super) const SUM: &str = "sum_of";
/// The result of `colour_of`: it cannot be guessed, so a model that repeats it has read the result.
pub(super) const RESULT: &str = "violet-5138";

/// Limit on the tokens of a response. The responses are short, but reasoning needs more than their length.
const LONGEST_ANSWER: u32 = 4_000;
/// Limit on the turns of the two-tool probe.
const MOST_TURNS: usize = 4;
/// Time limit for a silent server, if no other one applies.
const QUIET: Duration = Duration::from_mins(2);

/// A prober for one model.
pub(super) struct ModelProbe<'a> {
    pub(super) provider: &'a dyn Provider,
    /// The instructions for tool calls in text.
    pub(super) grammar: &'a str,
    pub(super) cancel: &'a Cancel,
}

/// The reason why there is no response.
#[derive(Debug)]
pub(super) enum ProbeFailure {
    /// The time limit was reached, or the user interrupted.
    Stopped(CancelReason),
    /// The provider failed.
    Fault(TurnFault),
}

/// The result of a probe.
#[derive(Debug)]
pub(super) struct ProbeResponse {
    /// Every response, in order.
    pub(super) answers: Vec<TurnResponse>,
    /// The reason why an expected response is missing.
    pub(super) broken: Option<ProbeFailure>,
    /// The timing of the first response.
    pub(super) pace: ResponseTiming,
}

/// The timing of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResponseTiming {
    /// The time until its first piece.
    pub(super) first: Duration,
    /// The time from the first piece to the last.
    pub(super) spread: Duration,
    /// The number of pieces.
    pub(super) pieces: u32,
    /// The total time, including further responses.
    pub(super) took: Duration,
}

impl ProbeResponse {
    /// The usage of all responses; `None` if that of one is unknown.
    pub(super) fn usage(&self) -> Option<TurnUsage> {
        self.answers.iter().map(|answer| answer.usage).reduce(TurnUsage::plus)
    }

    /// `true` if its calls came in text.
    pub(super) fn in_text(&self) -> bool {
        self.answers.iter().flat_map(TurnResponse::calls).any(was_text)
    }

    /// The duration of one of its turns.
    pub(super) fn turn_time(&self) -> Duration {
        self.pace.took / u32::try_from(self.answers.len()).unwrap_or(u32::MAX).max(1)
    }
}

impl ModelProbe<'_> {
    /// Requests a plain text, long enough to be streamed in pieces.
    pub(super) async fn ask_to_count(&self) -> ProbeResponse {
        self.hear(self.question(COUNT, Vec::new()), |_| None).await
    }

    /// Forces a tool call.
    pub(super) async fn ask_for_forced_call(&self) -> ProbeResponse {
        let request = TurnRequest { choice: ToolChoice::Required, ..self.question(FORCED, vec![note()]) };
        self.hear(request, |_| None).await
    }

    /// Requests two calls, returns their results, and asks for a conclusion.
    pub(super) async fn ask_for_two_tools(&self) -> ProbeResponse {
        self.hear(self.question(TWO, vec![colour(), sum()]), results).await
    }

    /// Requests two calls in the text format.
    pub(super) async fn ask_in_text(&self) -> ProbeResponse {
        let request = TurnRequest { speech: ToolCallFormat::Text, ..self.question(IN_TEXT, vec![colour(), sum()]) };
        self.hear(request, results).await
    }

    fn question(&self, text: &str, tools: Vec<ToolDefinition>) -> TurnRequest {
        let max_output = self.provider.capabilities().max_output.min(LONGEST_ANSWER);
        let mut request = TurnRequest {
            system: SYSTEM.to_owned(),
            tools,
            max_output,
            grammar: self.grammar.to_owned(),
            ..TurnRequest::default()
        };
        request.push(Message::User { text: text.to_owned(), mark: false });
        request
    }

    /// Sends the request, and continues as long as `results` has results for the response.
    async fn hear(
        &self,
        mut request: TurnRequest,
        results: fn(&TurnResponse) -> Option<Vec<ToolResult>>,
    ) -> ProbeResponse {
        let began = Instant::now();
        let watch = Stopwatch::default();
        let mut heard = ProbeResponse { answers: Vec::new(), broken: None, pace: ResponseTiming::default() };
        while heard.answers.len() < MOST_TURNS {
            let quiet = self.cancel.remaining().unwrap_or(QUIET);
            let is_first = heard.answers.is_empty();
            let asked = if is_first {
                unless_stopped(self.cancel, self.provider.turn(&request, quiet, &watch)).await
            } else {
                unless_stopped(self.cancel, self.provider.turn(&request, quiet, &())).await
            };
            let response = match asked {
                Err(stopped) => {
                    heard.broken = Some(ProbeFailure::Stopped(stopped));
                    break;
                }
                Ok(Err(fault)) => {
                    heard.broken = Some(ProbeFailure::Fault(fault));
                    break;
                }
                Ok(Ok(response)) => response.with_plain_names(),
            };
            let more = results(&response);
            request.push_answer(&response);
            heard.answers.push(response);
            let Some(results) = more else { break };
            request.push(Message::Results { results, mark: false });
        }
        heard.pace = watch.pace(began, began.elapsed());
        heard
    }
}

/// The results of the two tools; `None` if neither was called.
fn results(response: &TurnResponse) -> Option<Vec<ToolResult>> {
    let answer = |call: &crate::llm::ModelToolCall| {
        let (text, is_error) = match call.name.as_str() {
            COLOUR => (RESULT.to_owned(), false),
            SUM => ("42".to_owned(), false),
            other => (format!("there is no tool {other}"), true),
        };
        ToolResult { id: call.id.clone(), name: call.name.clone(), text, is_error }
    };
    let results: Vec<ToolResult> = response.calls().map(answer).collect();
    (!results.is_empty()).then_some(results)
}

fn tool(name: &str, description: &str, properties: &Value) -> ToolDefinition {
    let required: Vec<&String> = properties.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    let schema =
        json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false });
    ToolDefinition { name: name.to_owned(), description: description.to_owned(), schema }
}

fn note() -> ToolDefinition {
    let (name, field, _) = NOTE;
    tool(name, "Notes a number.", &json!({ field: { "type": "integer", "description": "The number." } }))
}

fn colour() -> ToolDefinition {
    tool(COLOUR, "Says the colour of a thing.", &json!({ "thing": { "type": "string", "description": "The thing." } }))
}

fn sum() -> ToolDefinition {
    let number = |which| json!({ "type": "integer", "description": format!("The {which} number.") });
    tool(SUM, "Adds two numbers.", &json!({ "first": number("first"), "second": number("second") }))
}

/// Records when a response grew.
#[derive(Default)]
struct Stopwatch(Mutex<Option<StreamTiming>>);

/// The times of the first and last growth, and their number.
#[derive(Clone, Copy)]
struct StreamTiming {
    first: Instant,
    last: Instant,
    times: u32,
}

impl StreamObserver for Stopwatch {
    fn grew(&self, _: u64) {
        let now = Instant::now();
        let mut grown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *grown = Some(match *grown {
            None => StreamTiming { first: now, last: now, times: 1 },
            Some(grown) => StreamTiming { last: now, times: grown.times.saturating_add(1), ..grown },
        });
    }
}

impl Stopwatch {
    fn pace(&self, began: Instant, took: Duration) -> ResponseTiming {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => ResponseTiming { first: took, took, ..ResponseTiming::default() },
            Some(StreamTiming { first, last, times }) => ResponseTiming {
                first: first.saturating_duration_since(began),
                spread: last.saturating_duration_since(first),
                pieces: times,
                took,
            },
        }
    }
}
