//! Asking a model: each question is a conversation of its own, and all words are ours. Main type: [`Prober`].
//!
//! What the answers mean belongs in `judged`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::llm::{
    Message, Provider, Speech, ToolChoice, ToolDefinition, ToolResult, TurnFault, TurnRequest, TurnResponse, TurnUsage,
    Watch, was_text,
};
use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, Stopped};

const SYSTEM: &str = "You are asked by a program that wants to know whether it can work with you. It shows you no code and \
    nobody reads your answer. Do exactly what is asked, and say no more than that.";
const COUNT: &str = "Count from 1 to 60 in digits, separated by blanks. Write nothing else.";
const FORCED: &str = "Call the tool `note_number` with the number 7.";
const TWO: &str = "Call two tools in one answer: `colour_of` with the thing \"box\", and `sum_of` with the numbers 20 and 22. \
    When you have both results, write one sentence that holds both of them.";

const IN_TEXT: &str = "Write the calls of two tools: `colour_of` with the thing \"box\", and `sum_of` with the numbers 20 and 22. Both \
    in one answer. When you have both results, write one sentence that holds both of them.";

/// The tool of the forced call, and what it must be called with.
pub(super) const NOTE: (&str, &str, u64) = ("note_number", "number", 7);
/// The tools of the two-tool turn.
pub(super) const COLOUR: &str = "colour_of";
pub(super) const SUM: &str = "sum_of";
/// What `colour_of` says: nobody can guess it, so whoever repeats it has read the result.
pub(super) const RESULT: &str = "violet-5138";

/// Answers to these questions are short; a model that thinks first needs more than their length.
const LONGEST_ANSWER: u32 = 4_000;
/// So many answers are waited for where two tools shall be called.
const MOST_TURNS: usize = 4;
/// How long a silent server is waited for where nothing else ends the waiting.
const QUIET: Duration = Duration::from_mins(2);

/// Asks one model.
pub(super) struct Prober<'a> {
    pub(super) provider: &'a dyn Provider,
    /// What explains to a model how calls are written in text.
    pub(super) grammar: &'a str,
    pub(super) cancel: &'a Cancel,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The time is over, or somebody interrupted.
    Stopped(Stopped),
    /// The provider failed.
    Fault(TurnFault),
}

/// What a question came to.
#[derive(Debug)]
pub(super) struct Heard {
    /// Every answer, in order.
    pub(super) answers: Vec<TurnResponse>,
    /// Why there is no further one, where one was waited for.
    pub(super) broken: Option<NoAnswer>,
    /// How the first answer came.
    pub(super) pace: Pace,
}

/// How an answer came in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pace {
    /// How long until anything of it came.
    pub(super) first: Duration,
    /// How long from the first of it to the last.
    pub(super) spread: Duration,
    /// How often it grew.
    pub(super) pieces: u32,
    /// How long all took, further answers too.
    pub(super) took: Duration,
}

impl Heard {
    /// What all answers took; unknown where one is.
    pub(super) fn usage(&self) -> Option<TurnUsage> {
        self.answers.iter().map(|answer| answer.usage).reduce(TurnUsage::plus)
    }

    /// Whether its calls came in text.
    pub(super) fn in_text(&self) -> bool {
        self.answers.iter().flat_map(TurnResponse::calls).any(was_text)
    }

    /// How long one of its turns took.
    pub(super) fn a_turn(&self) -> Duration {
        self.pace.took / u32::try_from(self.answers.len()).unwrap_or(u32::MAX).max(1)
    }
}

impl Prober<'_> {
    /// A plain text, long enough to come in pieces.
    pub(super) async fn counting(&self) -> Heard {
        self.hear(self.question(COUNT, Vec::new()), |_| None).await
    }

    /// A call that is the only answer it may give.
    pub(super) async fn forced_call(&self) -> Heard {
        let request = TurnRequest { choice: ToolChoice::Required, ..self.question(FORCED, vec![note()]) };
        self.hear(request, |_| None).await
    }

    /// Two calls, their results, and what it makes of them.
    pub(super) async fn two_tools(&self) -> Heard {
        self.hear(self.question(TWO, vec![colour(), sum()]), results).await
    }

    /// The same where calls and results are written in text.
    pub(super) async fn in_text(&self) -> Heard {
        let request = TurnRequest { speech: Speech::Text, ..self.question(IN_TEXT, vec![colour(), sum()]) };
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

    /// Asks, and goes on for as long as `results` has some for what was answered.
    async fn hear(&self, mut request: TurnRequest, results: fn(&TurnResponse) -> Option<Vec<ToolResult>>) -> Heard {
        let began = Instant::now();
        let watch = Stopwatch::default();
        let mut heard = Heard { answers: Vec::new(), broken: None, pace: Pace::default() };
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
                    heard.broken = Some(NoAnswer::Stopped(stopped));
                    break;
                }
                Ok(Err(fault)) => {
                    heard.broken = Some(NoAnswer::Fault(fault));
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

/// What the two tools say; `None` where none was called.
fn results(response: &TurnResponse) -> Option<Vec<ToolResult>> {
    let answer = |call: &crate::llm::ToolCall| {
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

/// Notes when an answer grew.
#[derive(Default)]
struct Stopwatch(Mutex<Option<Grown>>);

/// When it grew first and last, and how often.
#[derive(Clone, Copy)]
struct Grown {
    first: Instant,
    last: Instant,
    times: u32,
}

impl Watch for Stopwatch {
    fn grew(&self, _: u64) {
        let now = Instant::now();
        let mut grown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *grown = Some(match *grown {
            None => Grown { first: now, last: now, times: 1 },
            Some(grown) => Grown { last: now, times: grown.times.saturating_add(1), ..grown },
        });
    }
}

impl Stopwatch {
    fn pace(&self, began: Instant, took: Duration) -> Pace {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Pace { first: took, took, ..Pace::default() },
            Some(Grown { first, last, times }) => Pace {
                first: first.saturating_duration_since(began),
                spread: last.saturating_duration_since(first),
                pieces: times,
                took,
            },
        }
    }
}
