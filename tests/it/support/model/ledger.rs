//! Requests held against the answers that went before them. Main type: [`Ledger`].
//!
//! For each request of a conversation:
//! - its system message, its tools and the messages of the request before it came again, byte for byte, cache marks aside; tools may
//!   only be taken away, and where the session expects it, results may be taken out to make room: the line in their place says so;
//! - what the model said came back as it was said: texts, calls, and opaque parts in their places;
//! - each call has exactly one result, in the order of the calls, right after them.

use serde_json::{Value, json};

use super::answer::Answer;
use super::asked::{Asked, Block, TAKEN_OUT, Turn, list};
use super::script::{Input, StopWord};
use super::wires::Wire;

/// All conversations so far.
#[derive(Debug, Default)]
pub struct Ledger {
    conversations: Vec<Conversation>,
    /// Whether results may be taken out to make room.
    may_shorten: bool,
}

#[derive(Debug)]
struct Conversation {
    opening: String,
    prefix: Prefix,
    answers: Vec<Delivered>,
    tokens: u64,
}

/// What a cache would key on.
#[derive(Debug)]
struct Prefix {
    system: String,
    tools: Vec<String>,
    messages: Vec<String>,
}

/// An answer that arrived whole.
#[derive(Debug)]
struct Delivered {
    blocks: Vec<Block>,
    may_vanish: bool,
}

/// What the ledger says of a request.
#[derive(Debug)]
pub struct Entry {
    /// Which conversation it belongs to.
    pub conversation: usize,
    /// How many tokens of it a cache would know.
    pub seen: u64,
    /// What is wrong with it.
    pub faults: Vec<String>,
}

impl Ledger {
    /// A ledger of a session in which results may be taken out, or not.
    pub fn new(may_shorten: bool) -> Self {
        Self { conversations: Vec::new(), may_shorten }
    }

    /// Enters a request.
    pub fn enter(&mut self, wire: Wire, asked: &Asked, body: &Value) -> Entry {
        let opening = match asked.turns.first() {
            Some(Turn::User(text)) => text.clone(),
            Some(Turn::Model(_) | Turn::Results(_)) | None => String::new(),
        };
        let prefix = Prefix::of(wire, body);
        let mut faults = answered_once(&asked.turns);
        let known = self.conversations.iter().position(|known| known.opening == opening);
        let Some(conversation) = known else {
            if asked.turns.len() != 1 || opening.is_empty() {
                faults.push("a conversation must begin with one message of the user".to_owned());
            }
            let tokens = asked.tokens();
            self.conversations.push(Conversation { opening, prefix, answers: Vec::new(), tokens });
            return Entry { conversation: self.conversations.len() - 1, seen: 0, faults };
        };
        let known = &mut self.conversations[conversation];
        // Where calls are written in the text from now on, all is said anew, once.
        let in_text = prefix.tools.is_empty() && asked.system.contains("@@call");
        if !in_text || known.prefix.tools.is_empty() {
            faults.extend(prefix.departs_from(&known.prefix, self.may_shorten));
        }
        let said: Vec<&[Block]> = asked.turns.iter().filter_map(Turn::blocks).collect();
        if !aligned(&said, &known.answers, in_text) {
            faults.push(format!("what the model said came back changed:\n  {said:?}\n  was\n  {:?}", known.answers));
        }
        let before = std::mem::replace(&mut known.tokens, asked.tokens());
        // Of a conversation that was shortened a cache knows next to nothing.
        let seen = if before > known.tokens { 0 } else { before };
        known.prefix = prefix;
        Entry { conversation, seen, faults }
    }

    /// Enters an answer that arrived whole.
    pub fn deliver(&mut self, conversation: usize, wire: Wire, answer: &Answer, may_vanish: bool) {
        let cut_short = matches!(answer.stop, StopWord::Limit | StopWord::Refusal | StopWord::Filter);
        let may_vanish = may_vanish || cut_short || answer.is_empty();
        self.conversations[conversation].answers.push(Delivered { blocks: wire.blocks(answer), may_vanish });
    }
}

impl Turn {
    fn blocks(&self) -> Option<&[Block]> {
        match self {
            Self::Model(blocks) => Some(blocks),
            Self::User(_) | Self::Results(_) => None,
        }
    }
}

/// Whether what came back is what was said, answers that may vanish aside. In the text, calls come back as they should have been written.
fn aligned(said: &[&[Block]], answers: &[Delivered], in_text: bool) -> bool {
    match (said.split_first(), answers.split_first()) {
        (None, None) => true,
        (Some(_), None) => false,
        (None, Some(_)) => answers.iter().all(|answer| answer.may_vanish),
        (Some((first, rest)), Some((answer, later))) => {
            let fits = answer.may_vanish || same(first, &answer.blocks) || in_text && retold(first, &answer.blocks);
            (fits && aligned(rest, later, in_text)) || (answer.may_vanish && aligned(said, later, in_text))
        }
    }
}

fn same(back: &[Block], said: &[Block]) -> bool {
    let (back, said) = (joined(back), joined(said));
    back.len() == said.len() && back.iter().zip(&said).all(|(back, said)| same_block(back, said))
}

/// Whether an answer with calls came back as text.
fn retold(back: &[Block], said: &[Block]) -> bool {
    let has_calls = said.iter().any(|block| match block {
        Block::Text(text) => text.contains("@@call"),
        Block::Call { .. } | Block::Opaque(_) => true,
    });
    has_calls && back.iter().all(|block| matches!(block, Block::Text(_)))
}

fn same_block(back: &Block, said: &Block) -> bool {
    match (back, said) {
        (Block::Text(back), Block::Text(said)) | (Block::Opaque(back), Block::Opaque(said)) => back == said,
        (Block::Call { id: back_id, name: back, input: b }, Block::Call { id: said_id, name: said, input: a }) => {
            let ids = back_id.is_none() || said_id.is_none() || back_id == said_id;
            // How a malformed input goes back is the client's to choose: not every wire can carry it.
            ids && back == said && (a == b || a.is_string())
        }
        (Block::Text(_) | Block::Call { .. } | Block::Opaque(_), _) => false,
    }
}

/// Neighbouring texts joined: not every wire keeps them apart.
fn joined(blocks: &[Block]) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    for block in blocks {
        match (all.last_mut(), block) {
            (Some(Block::Text(text)), Block::Text(more)) => text.push_str(more),
            (_, Block::Text(text)) if text.is_empty() => {}
            (_, block) => all.push(block.clone()),
        }
    }
    all
}

/// What is wrong with the results.
fn answered_once(turns: &[Turn]) -> Vec<String> {
    let mut faults = Vec::new();
    for (n, turn) in turns.iter().enumerate() {
        let next = turns.get(n + 1);
        match turn {
            Turn::User(_) => {
                if matches!(next, Some(Turn::Results(_))) {
                    faults.push(format!("message {} holds results of no call", n + 1));
                }
            }
            Turn::Results(_) => {}
            Turn::Model(blocks) => {
                let calls = super::asked::calls(blocks);
                let results = match next {
                    Some(Turn::Results(results)) => results.as_slice(),
                    Some(Turn::User(_) | Turn::Model(_)) | None => &[],
                };
                if next.is_none() {
                    faults.push("the last message is the model's".to_owned());
                }
                let fits = results.len() == calls.len()
                    && calls.iter().zip(results).all(|((id, name), result)| {
                        let other_id = result.id.as_deref().zip(*id).is_some_and(|(a, b)| a != b);
                        let other_name = result.name.as_deref().is_some_and(|given| given != *name);
                        !other_id && !other_name
                    });
                if !fits {
                    faults.push(format!("the calls {calls:?} have the results {results:.900?}"));
                }
            }
        }
    }
    faults
}

impl Prefix {
    fn of(wire: Wire, body: &Value) -> Self {
        let field = |names: &[&str]| {
            let mut found = names.iter().find_map(|name| body.get(*name)).cloned().unwrap_or(Value::Null);
            bare(&mut found);
            found
        };
        let texts = |values: Value| match values {
            Value::Array(values) => values.iter().map(Value::to_string).collect(),
            Value::Null => Vec::new(),
            other => vec![other.to_string()],
        };
        let tools: Vec<String> = match body.get("tools").and_then(Value::as_array) {
            // One wire puts its declarations into one entry.
            Some(tools) if tools.iter().any(|tool| tool.get("functionDeclarations").is_some()) => {
                tools.iter().flat_map(|tool| list(tool, "functionDeclarations")).map(Value::to_string).collect()
            }
            Some(_) | None => texts(field(&["tools"])),
        };
        let system = field(&["system", "instructions", "systemInstruction"]).to_string();
        let messages = field(&["messages", "input", "contents"]);
        let messages = match wire {
            Wire::Messages => texts(parts(&messages, "content")),
            Wire::Gemini => texts(parts(&messages, "parts")),
            Wire::Responses | Wire::Chat | Wire::Ollama => texts(messages),
        };
        Self { system, tools, messages }
    }

    fn departs_from(&self, old: &Self, may_shorten: bool) -> Vec<String> {
        let mut faults = Vec::new();
        if self.system != old.system {
            faults.push("the system message changed".to_owned());
        }
        let mut left = old.tools.iter();
        if !self.tools.iter().all(|tool| left.any(|old| old == tool)) {
            faults.push(format!("the tools changed:\n  {:?}\n  were\n  {:?}", self.tools, old.tools));
        }
        let came_again = |n: &usize| match self.messages.get(*n) {
            Some(now) if now == &old.messages[*n] => true,
            Some(now) => may_shorten && shortened(now, &old.messages[*n]),
            None => false,
        };
        if let Some(n) = (0..old.messages.len()).find(|n| !came_again(n)) {
            let now = self.messages.get(n).map_or("gone", String::as_str);
            faults.push(format!("message {n} changed:\n  {now:.2000}\n  was\n  {:.2000}", old.messages[n]));
        }
        faults
    }
}

/// Whether one message is the other with results taken out.
fn shortened(now: &str, old: &str) -> bool {
    fn same(now: &Value, old: &Value) -> bool {
        match (now, old) {
            (Value::String(now), Value::String(old)) => {
                now == old || (now.starts_with(TAKEN_OUT) && !old.starts_with(TAKEN_OUT) && now.len() < old.len())
            }
            (Value::Array(now), Value::Array(old)) => {
                now.len() == old.len() && now.iter().zip(old).all(|(now, old)| same(now, old))
            }
            (Value::Object(now), Value::Object(old)) => {
                now.len() == old.len() && now.iter().all(|(name, now)| old.get(name).is_some_and(|old| same(now, old)))
            }
            _ => now == old,
        }
    }
    let values = serde_json::from_str(now).ok().zip(serde_json::from_str(old).ok());
    values.is_some_and(|(now, old)| same(&now, &old))
}

/// The parts of all messages, each with its role: neighbours of one role may be written as one message.
fn parts(messages: &Value, field: &str) -> Value {
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    let all = messages.iter().flat_map(|message| {
        let role = &message["role"];
        let parts = match &message[field] {
            Value::Array(parts) => parts.clone(),
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            other => vec![other.clone()],
        };
        parts.into_iter().map(move |part| json!([role, part]))
    });
    all.collect()
}

/// Takes cache marks away, and writes a list of one text as the text: a mark needs the list, and rolls on.
fn bare(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(bare);
        }
        Value::Array(parts) => {
            parts.iter_mut().for_each(bare);
            if let [Value::Object(part)] = parts.as_slice()
                && part.len() == 2
                && part.get("type").and_then(Value::as_str) == Some("text")
                && let Some(Value::String(text)) = part.get("text")
            {
                *value = Value::String(text.clone());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The blocks of an answer on a wire where opaque parts lead.
pub fn blocks(answer: &Answer, opaque: Vec<String>, with_ids: bool) -> Vec<Block> {
    let mut blocks: Vec<Block> = opaque.into_iter().map(Block::Opaque).collect();
    if !answer.text.is_empty() {
        blocks.push(Block::Text(answer.text.clone()));
    }
    blocks.extend(call_blocks(answer, with_ids));
    blocks
}

/// The calls of an answer.
pub fn call_blocks(answer: &Answer, with_ids: bool) -> impl Iterator<Item = Block> + '_ {
    answer.calls.iter().map(move |call| Block::Call {
        id: with_ids.then(|| call.id.clone()),
        name: call.name.clone(),
        input: match &call.input {
            Input::Object(fields) => Value::Object(fields.clone()),
            Input::Malformed(text) => Value::String(text.clone()),
        },
    })
}
