//! What the server knows, and what it makes of a request. Main types: [`State`], [`Reply`].

use std::path::PathBuf;

use serde_json::{Value, json};

use super::answer::Answer;
use super::asked::Asked;
use super::batches::{self, Batches};
use super::choose::choose;
use super::ledger::Ledger;
use super::odd::oddly;
use super::pieces::pieces;
use super::script::{Cut, Say, Session};
use super::server::Options;
use super::spoilt::spoil;
use super::wires::Wire;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Its path and query.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// What is sent back.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Headers besides the length.
    pub headers: Vec<(String, String)>,
    /// The body in the pieces in which it is written.
    pub pieces: Vec<Vec<u8>>,
    /// Milliseconds before anything is sent.
    pub delay_ms: u64,
    /// Milliseconds after each piece.
    pub pause_ms: u64,
    /// How it ends.
    pub ending: Ending,
    /// What is written to the connection instead of all this; then it is closed.
    pub raw: Option<Vec<u8>>,
}

impl Reply {
    /// A document.
    pub fn json(status: u16, document: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let pieces = vec![document.to_string().into_bytes()];
        Self { status, headers, pieces, delay_ms: 0, pause_ms: 0, ending: Ending::Whole, raw: None }
    }

    /// Lines of text.
    pub fn text(lines: &[&str]) -> Self {
        let pieces = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        Self { pieces, ..Self::json(200, &Value::Null) }
    }
}

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// In good order.
    Whole,
    /// The connection breaks off.
    Broken,
    /// Nothing more comes, and the connection stays.
    Stalled,
    /// Nothing at all comes, and the connection stays.
    Silent,
    /// Nothing at all comes: the connection is reset.
    Reset,
    /// The connection is reset.
    BrokenHard,
}

/// The server's memory.
#[derive(Debug)]
pub struct State {
    options: Options,
    session: Session,
    used: Vec<usize>,
    ledger: Ledger,
    answers: usize,
    /// The batch API, where the options have a plan for it.
    pub batches: Batches,
    /// Every request.
    pub raw: Vec<Raw>,
    /// Every request that could be read.
    pub asked: Vec<Asked>,
    /// What was wrong with them.
    pub faults: Vec<String>,
    /// Whether somebody looked at the faults.
    pub judged: bool,
}

/// The status of a request that the session does not know: one that no client tries again.
const UNEXPECTED: u16 = 418;

impl State {
    /// A fresh one.
    pub fn new(session: Session, options: Options) -> Self {
        let used = vec![0; session.steps.len()];
        let ledger = Ledger::new(session.may_shorten());
        Self {
            options,
            session,
            used,
            ledger,
            answers: 0,
            batches: Batches::default(),
            raw: Vec::new(),
            asked: Vec::new(),
            faults: Vec::new(),
            judged: false,
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, raw: &Raw) -> Reply {
        let number = self.raw.len() + 1;
        let path = raw.path.split('?').next().unwrap_or_default().to_owned();
        self.raw.push(raw.clone());
        if let Some(plan) = self.options.batches.clone()
            && let Some(reply) = batches::answer(self, &plan, raw)
        {
            return reply;
        }
        let Some(wire) = Wire::of(&path) else {
            return self.unexpected(number, None, &format!("no wire has the path {path}"));
        };
        let body: Value = match serde_json::from_slice(&raw.body) {
            Ok(body) => body,
            Err(error) => return self.unexpected(number, Some(wire), &format!("the body is no JSON: {error}")),
        };
        self.keep(number, wire, raw, &body);
        let asked = match wire.read(&path, &body) {
            Ok(asked) => asked,
            Err(refused) => return self.unexpected(number, Some(wire), &refused.join("; ")),
        };
        self.asked.push(asked.clone());
        if let Some(only) = self.options.wire.filter(|only| *only != wire) {
            return self.unexpected(
                number,
                Some(wire),
                &format!("it came in the language {}, not {}", wire.word(), only.word()),
            );
        }
        let entry = self.ledger.enter(wire, &asked, &body);
        if self.options.strict {
            let faults = entry.faults.into_iter().chain(self.credentials(wire, raw));
            let faults: Vec<_> = faults.map(|fault| format!("request {number}: {fault}")).collect();
            self.faults.extend(faults);
        }
        let step = match choose(&self.session.steps, &self.used, &asked) {
            Ok(step) => step,
            Err(why) => return self.unexpected(number, Some(wire), &format!("{why}\n{}", asked.told())),
        };
        self.used[step] += 1;
        let say = self.session.steps[step].say.clone();
        self.answers += 1;
        let answer = Answer::new(&say, &asked, wire, self.answers, entry.seen);
        if say.fault.is_none() {
            self.ledger.deliver(entry.conversation, wire, &answer, say.may_vanish);
        }
        self.reply(wire, &asked, &answer, &say)
    }

    fn reply(&self, wire: Wire, asked: &Asked, answer: &Answer, say: &Say) -> Reply {
        let cut = say.cut.unwrap_or(self.options.cut);
        let (kind, events) = if asked.stream {
            (wire.stream_type(), wire.streamed(answer, asked))
        } else {
            ("application/json", vec![wire.whole(answer).to_string().into_bytes()])
        };
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        let pause_ms = if cut == Cut::Slow { 2 } else { 0 };
        let (delay_ms, ending) = (say.delay_ms, Ending::Whole);
        let mut reply = Reply { status: 200, headers, pieces: Vec::new(), delay_ms, pause_ms, ending, raw: None };
        match (&say.fault, &say.odd) {
            (None, Some(odd)) => oddly(odd, wire, events, &wire.whole(answer), &mut reply),
            (None, None) => reply.pieces = pieces(events, cut),
            (Some(fault), _) => spoil(fault, wire, events, cut, &mut reply),
        }
        reply
    }

    fn unexpected(&mut self, number: usize, wire: Option<Wire>, why: &str) -> Reply {
        self.faults.push(format!("request {number} was not expected: {why}"));
        let message = format!("the session does not expect this request: {why:.300}");
        let body = wire.map_or_else(|| json!({ "error": message }), |wire| wire.error(UNEXPECTED, &message));
        Reply {
            status: UNEXPECTED,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            pieces: vec![body.to_string().into_bytes()],
            delay_ms: 0,
            pause_ms: 0,
            ending: Ending::Whole,
            raw: None,
        }
    }

    /// Whether the key came where it belongs, and nowhere else.
    fn credentials(&self, wire: Wire, raw: &Raw) -> Vec<String> {
        let Some(key) = &self.options.key else { return Vec::new() };
        let mut faults = Vec::new();
        let (needs_key, mut given) = (wire.variables().0.is_some(), 0);
        for (name, value) in &raw.headers {
            if wire.key_headers().iter().any(|(header, before)| name == header && *value == format!("{before}{key}")) {
                given += 1;
            } else if value.contains(key.as_str()) || wire.key_headers().iter().any(|(header, _)| name == header) {
                faults.push(format!("the header {name} holds the key, or another, where it does not belong"));
            }
        }
        if given > 1 || (needs_key && given == 0) {
            faults.push(format!("{given} headers hold the key"));
        }
        if raw.path.contains(key.as_str()) || String::from_utf8_lossy(&raw.body).contains(key.as_str()) {
            faults.push("the path or the body holds the key".to_owned());
        }
        if wire == Wire::Messages && !raw.headers.iter().any(|(name, _)| name == "anthropic-version") {
            faults.push("the header anthropic-version is missing".to_owned());
        }
        faults
    }

    /// Keeps a request for those who look at it later: path, names of headers, body.
    fn keep(&mut self, number: usize, wire: Wire, raw: &Raw, body: &Value) {
        let Some(folder) = &self.options.record else { return };
        let folder: PathBuf = folder.join(wire.word()).join(&self.session.name);
        let names: Vec<_> = raw.headers.iter().map(|(name, _)| name).collect();
        let kept = json!({ "path": raw.path, "headers": names, "body": body });
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(format!("{number:03}.json")), format!("{kept:#}\n")));
        if let Err(error) = written {
            self.faults.push(format!("{}: {error}", folder.display()));
        }
    }

    /// Everything that is wrong, steps that were never used included.
    pub fn verdict(&self) -> Vec<String> {
        let steps = self.session.steps.iter().zip(&self.used).enumerate();
        let unused = steps.filter(|(_, (step, used))| !step.reuse && **used < step.times).map(|(n, (step, used))| {
            let note = step.note.as_deref().unwrap_or("");
            format!("step {} was used {used} times of {}: {note} {:?}", n + 1, step.times, step.when)
        });
        self.faults.iter().cloned().chain(unused).collect()
    }

    /// The session's name.
    pub fn name(&self) -> &str {
        &self.session.name
    }
}
