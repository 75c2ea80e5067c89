//! Sessions as they are written down: one step a line. Main types: [`Session`], [`Step`], [`When`], [`Say`].

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a model says during one conversation.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its name: that of its file.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// One answer, and when it is given.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the request must be like.
    #[serde(default)]
    pub when: When,
    /// What is answered.
    pub say: Say,
    /// How many requests it answers; 1 when not said.
    #[serde(default = "once")]
    pub times: usize,
    /// Whether it answers any number of requests, none included.
    #[serde(default)]
    pub reuse: bool,
    /// Why it is there: for the reader.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a request must be like. A condition that is not written holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// How often the model has spoken.
    pub turn: Option<usize>,
    /// The results since it spoke, in order.
    pub last_results: Option<Vec<Expected>>,
    /// What the program said at any time.
    pub user_contains: Vec<String>,
    /// What the program said at no time.
    pub user_lacks: Vec<String>,
    /// What the program said since the model spoke, results not counted.
    pub last_user_contains: Vec<String>,
    /// Whether it said anything since the model spoke.
    pub nudged: Option<bool>,
    /// What the system message holds.
    pub system_contains: Vec<String>,
    /// Tools that are offered.
    pub tools_include: Vec<String>,
    /// Tools that are not.
    pub tools_exclude: Vec<String>,
    /// Whether any earlier results were taken out to make room. Where no step says so, that is a fault.
    pub taken_out: Option<bool>,
    /// Whether usage is asked for in a streamed answer.
    pub stream_usage: Option<bool>,
}

/// A result that is expected: the tool's name, or that and what the text is like.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// The tool.
    Name(String),
    /// The tool and its result.
    Like {
        /// The tool.
        name: String,
        /// What its result holds.
        #[serde(default)]
        contains: Vec<String>,
        /// What its result does not hold.
        #[serde(default)]
        lacks: Vec<String>,
        /// Whether it is an error: said by the wire where it can, else by the text.
        #[serde(default)]
        is_error: Option<bool>,
    },
}

/// What is answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Say {
    /// What the model thinks first: opaque parts.
    pub thinking: Vec<Thought>,
    /// Text.
    pub text: Option<String>,
    /// Calls.
    pub calls: Vec<SaidCall>,
    /// Why it ends, where it does not follow from the calls.
    pub stop: Option<StopWord>,
    /// What it took: figures, or `none` for a server that does not say.
    pub usage: Option<Usage>,
    /// Milliseconds before anything is sent.
    pub delay_ms: u64,
    /// Characters of one piece of text or arguments.
    pub delta: Option<usize>,
    /// How the bytes are cut.
    pub cut: Option<Cut>,
    /// What goes wrong instead.
    pub fault: Option<Fault>,
    /// How the whole answer is sent, where that is odd but no fault.
    pub odd: Option<Odd>,
    /// Whether the client may leave this answer out of the conversation.
    pub may_vanish: bool,
}

/// Something that goes back as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thought {
    /// What is thought, where it may be read.
    pub text: String,
    /// Its signature, or the encrypted whole.
    pub signature: String,
    /// Whether only the encrypted whole is sent.
    pub redacted: bool,
}

/// A call.
#[derive(Debug, Clone, Deserialize)]
pub struct SaidCall {
    /// The tool.
    pub name: String,
    /// Its input.
    #[serde(flatten)]
    pub input: Input,
}

/// The input of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// As it should be.
    #[serde(rename = "input")]
    Object(Map<String, Value>),
    /// Text that is no JSON object.
    Malformed(String),
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopWord {
    /// All is said.
    Done,
    /// Results are waited for.
    Calls,
    /// The most was answered.
    Limit,
    /// The model refuses.
    Refusal,
    /// A filter does.
    Filter,
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Usage {
    /// These figures.
    Given(Figures),
    /// `none`.
    Word(NoUsage),
}

/// The word for no figures at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoUsage {
    /// The server does not say.
    None,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Sent, cached ones included.
    pub input: u64,
    /// Of those, read from a cache.
    #[serde(default)]
    pub cached: u64,
    /// Of those, written to one.
    #[serde(default)]
    pub written: u64,
    /// Received.
    pub output: u64,
}

/// How the bytes of an answer are cut on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Not at all.
    Whole,
    /// Event by event.
    Events,
    /// At odd places: inside characters, lines and strings.
    Odd,
    /// At odd places, with a pause after each piece, so that each is read alone.
    Slow,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// An error status.
    Status(BadStatus),
    /// The connection is reset before anything is answered.
    Reset,
    /// The answer breaks off after so many bytes.
    Half(usize),
    /// The answer ends in good order after so many bytes, but is not complete.
    Ends(usize),
    /// Nothing is ever answered.
    Hang,
    /// Nothing comes after so many bytes.
    Stall(usize),
    /// An error inside the stream, after the answer's first half.
    Event(String),
    /// Something that is not what the wire promises, with status 200.
    Garbage(String),
    /// The connection is reset after so many bytes of the answer.
    ResetAt(usize),
    /// These bytes instead of any HTTP; then the connection is closed.
    Raw(String),
    /// The answer, compressed although nobody asked for that.
    Zipped,
    /// The event in the middle is this instead.
    Malformed(String),
    /// All values in the answer have another type.
    WrongTypes,
    /// After its first half the answer goes on and on.
    Flood(Flood),
    /// Byte by byte, with so many milliseconds after each.
    Trickle(u64),
}

/// What an answer goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flood {
    /// Comments, or empty lines.
    Nothing,
    /// One event that does not end.
    Event,
}

/// How a whole answer is sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Odd {
    /// Byte by byte.
    Trickle,
    /// As HTTP/1.0: the end of the connection is the end of the answer.
    Http10,
    /// After a head that is none yet.
    Hints,
    /// With comments between the events.
    Comments,
    /// With events between the events that nobody knows.
    Unknown,
    /// With events between the events that are empty.
    Empties,
    /// With the other ends of lines.
    Returns,
    /// After a byte order mark.
    Mark,
    /// Without the mark at the very end.
    NoDone,
    /// Not streamed.
    Whole,
    /// And then once more.
    Twice,
    /// With its last event twice.
    DoubleEnd,
    /// As another type of content.
    Type(String),
    /// And then the connection is kept, and nothing comes.
    KeptOpen,
}

/// An error status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadStatus {
    /// The status.
    pub code: u16,
    /// The header `retry-after`, as it is.
    #[serde(default)]
    pub retry_after: Option<String>,
    /// What it says.
    #[serde(default)]
    pub message: Option<String>,
    /// The whole body, where it is not the provider's.
    #[serde(default)]
    pub body: Option<String>,
    /// More headers; a content type takes the place of the usual one.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

fn once() -> usize {
    1
}

impl Session {
    /// Whether results may be taken out to make room.
    pub fn may_shorten(&self) -> bool {
        self.steps.iter().any(|step| step.when.taken_out == Some(true))
    }

    /// Reads a session from a file.
    pub fn load(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a file name").to_string_lossy();
        Self::parse(&name, &text)
    }

    /// Reads a session from a text: one step a line; empty lines and lines that begin with `//` are left out.
    pub fn parse(name: &str, text: &str) -> Self {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with("//"));
        let steps = lines.map(|(n, line)| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}:{}: {error}\n{line}", n + 1))
        });
        Self { name: name.to_owned(), steps: steps.collect() }
    }
}
