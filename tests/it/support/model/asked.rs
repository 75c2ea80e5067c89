//! A request in the words of no provider. Main type: [`Asked`].

use serde_json::{Map, Value};

/// How the line begins that stands in the place of a result that was taken out to make room.
pub const TAKEN_OUT: &str = "[taken out to make room]";

/// What a client asks.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The model.
    pub model: String,
    /// What the model is and must do; parts are joined by an empty line.
    pub system: String,
    /// The tools it may call, in their order.
    pub tools: Vec<String>,
    /// The conversation.
    pub turns: Vec<Turn>,
    /// Whether the answer shall come in pieces.
    pub stream: bool,
    /// Whether usage shall come with a streamed answer; `None` where the wire does not ask.
    pub stream_usage: Option<bool>,
    /// The most it may answer.
    pub max_output: Option<u64>,
    /// Where cache marks stand: `tools`, `system`, `messages.3`.
    pub marks: Vec<String>,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// From the program.
    User(String),
    /// From the model.
    Model(Vec<Block>),
    /// What its calls gave.
    Results(Vec<CallResult>),
}

/// A part of what the model said.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A call.
    Call {
        /// Its id, where the wire has one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// Its input: an object, or whatever came instead.
        input: Value,
    },
    /// Something that goes back as it came.
    Opaque(String),
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The call, where the wire has ids.
    pub id: Option<String>,
    /// The tool, where the wire names it here.
    pub name: Option<String>,
    /// What the model sees.
    pub text: String,
    /// Whether it is an error, where the wire can say so.
    pub is_error: Option<bool>,
}

impl Asked {
    /// How often the model has spoken.
    pub fn spoken(&self) -> usize {
        self.turns.iter().filter(|turn| matches!(turn, Turn::Model(_))).count()
    }

    /// How many results were taken out to make room.
    pub fn taken_out(&self) -> usize {
        let results = self.turns.iter().filter_map(|turn| match turn {
            Turn::Results(results) => Some(results),
            Turn::User(_) | Turn::Model(_) => None,
        });
        results.flatten().filter(|result| result.text.starts_with(TAKEN_OUT)).count()
    }

    /// What the program itself said, all of it.
    pub fn user_text(&self) -> String {
        user_text(&self.turns)
    }

    /// What the program itself said since the model spoke.
    pub fn last_user_text(&self) -> String {
        user_text(self.since_model())
    }

    /// The results since the model spoke: the tool's name, found through the call where the wire does not repeat it, and what it gave.
    pub fn last_results(&self) -> Vec<(String, &CallResult)> {
        let calls = self.turns.iter().rev().find_map(|turn| match turn {
            Turn::Model(blocks) => Some(calls(blocks)),
            Turn::User(_) | Turn::Results(_) => None,
        });
        let calls = calls.unwrap_or_default();
        let results = self.since_model().iter().filter_map(|turn| match turn {
            Turn::Results(results) => Some(results),
            Turn::User(_) | Turn::Model(_) => None,
        });
        let named = results.flatten().enumerate().map(|(n, result)| {
            let by_id = calls.iter().find(|(id, _)| id.is_some() && *id == result.id.as_deref());
            let name = by_id.or(calls.get(n)).map_or("?", |(_, name)| name);
            (result.name.clone().unwrap_or_else(|| name.to_owned()), result)
        });
        named.collect()
    }

    fn since_model(&self) -> &[Turn] {
        let last = self.turns.iter().rposition(|turn| matches!(turn, Turn::Model(_)));
        self.turns.get(last.map_or(0, |last| last + 1)..).unwrap_or_default()
    }

    /// A size in tokens that is the same on every wire: bytes of the texts, a quarter of them.
    pub fn tokens(&self) -> u64 {
        let turns = self.turns.iter().map(|turn| match turn {
            Turn::User(text) => text.len(),
            Turn::Model(blocks) => blocks.iter().map(Block::size).sum(),
            Turn::Results(results) => results.iter().map(|result| result.text.len()).sum(),
        });
        let tools: usize = self.tools.iter().map(String::len).sum();
        let bytes = self.system.len() + tools + turns.sum::<usize>();
        u64::try_from(bytes / 4).expect("a size")
    }

    /// A few lines that tell what was asked.
    pub fn told(&self) -> String {
        let mut text = format!(
            "model {}, stream {}, max {:?}, marks {:?}\n  tools: {}\n  system: {}\n",
            self.model,
            self.stream,
            self.max_output,
            self.marks,
            self.tools.join(" "),
            short(&self.system)
        );
        for turn in &self.turns {
            match turn {
                Turn::User(said) => text.push_str(&format!("  user: {}\n", short(said))),
                Turn::Model(blocks) => {
                    for block in blocks {
                        text.push_str(&format!("  model: {block:.300?}\n"));
                    }
                }
                Turn::Results(results) => {
                    for result in results {
                        let name = result.name.as_deref().unwrap_or("");
                        text.push_str(&format!("  result {name} {:?}: {}\n", result.id, short(&result.text)));
                    }
                }
            }
        }
        text
    }

    /// Adds a message, joining results that the wire keeps apart.
    pub(super) fn push(&mut self, turn: Turn) {
        match (self.turns.last_mut(), turn) {
            (Some(Turn::Results(all)), Turn::Results(more)) => all.extend(more),
            (Some(Turn::Model(all)), Turn::Model(more)) => all.extend(more),
            (_, turn) => self.turns.push(turn),
        }
    }
}

impl Block {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Call { name, input, .. } => name.len() + input.to_string().len(),
            // Not every wire has them.
            Self::Opaque(_) => 0,
        }
    }
}

/// The calls of a message.
pub(super) fn calls(blocks: &[Block]) -> Vec<(Option<&str>, &str)> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call { id, name, .. } => Some((id.as_deref(), name.as_str())),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    calls.collect()
}

fn user_text(turns: &[Turn]) -> String {
    let said = turns.iter().filter_map(|turn| match turn {
        Turn::User(text) => Some(text.as_str()),
        Turn::Model(_) | Turn::Results(_) => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(400).collect();
    let more = if cut.len() < text.len() { format!("… ({} bytes)", text.len()) } else { String::new() };
    format!("{}{more}", cut.replace('\n', "⏎"))
}

/// A field that is text.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// A field that is a list; nothing where it is none.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Content that is either a text or a list of parts with texts; `between` joins them.
pub(super) fn content(value: &Value, between: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join(between),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The input of a call as it is written into a string.
pub(super) fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        Ok(_) | Err(_) => Value::String(arguments.to_owned()),
    }
}

/// An empty object.
pub(super) fn nothing() -> Value {
    Value::Object(Map::new())
}
