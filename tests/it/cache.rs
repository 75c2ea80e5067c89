//! What a provider's cache can give back, measured on the requests as they were sent: each begins with the one before it, on every wire, and marks
//! stand where the providers want them. The numbers are those of `docs/cache.md`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::generated::assert_part;
use crate::support::looks::{DISCOUNT, GUARD, STOCK, given, look, reporting, session};
use crate::support::model::{Asked, Session, Wire};
use crate::support::session::{Talk, many, shop};

/// Turns in which the model reads; in one more it ends.
const READS: usize = 20;

/// Bytes of a token, as everywhere where a provider does not count them.
const TOKEN: usize = 4;

/// A request in the order in which providers cache it: tools, system, messages. Cache marks are taken away: they move on, and are no part of
/// what is cached.
struct Sent {
    tools: String,
    system: String,
    messages: Vec<String>,
    raw: Vec<u8>,
    asked: Asked,
}

impl Sent {
    fn read(raw: &[u8], asked: Asked) -> Self {
        let mut body: Value = serde_json::from_slice(raw).expect("JSON");
        unmarked(&mut body);
        let field = |names: &[&str]| names.iter().find_map(|name| body.get(*name)).cloned();
        let mut messages = match field(&["messages", "input", "contents"]) {
            Some(Value::Array(messages)) => messages,
            other => panic!("messages: {other:?}"),
        };
        let system = match field(&["system", "instructions", "systemInstruction"]) {
            Some(system) => system,
            None => messages.remove(0),
        };
        Self {
            tools: field(&["tools"]).unwrap_or_default().to_string(),
            system: system.to_string(),
            messages: messages.iter().map(Value::to_string).collect(),
            raw: raw.to_vec(),
            asked,
        }
    }

    fn text(&self) -> String {
        [&[self.tools.clone(), self.system.clone()][..], &self.messages].concat().concat()
    }
}

fn unmarked(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(unmarked);
        }
        Value::Array(values) => values.iter_mut().for_each(unmarked),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The requests of each conversation, in order; conversations by their first message.
fn conversations(talk: &Talk) -> Vec<Vec<Sent>> {
    let mut all: BTreeMap<String, Vec<Sent>> = BTreeMap::new();
    for (raw, asked) in talk.server.raw().into_iter().zip(talk.server.asked()) {
        let sent = Sent::read(&raw.body, asked);
        all.entry(sent.messages[0].clone()).or_default().push(sent);
    }
    all.into_values().collect()
}

/// How many bytes two texts have in common at their beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Hundredths, rounded down.
fn percent(part: usize, whole: usize) -> usize {
    part * 100 / whole
}

/// What was measured of one run.
#[derive(Debug)]
struct Measured {
    conversations: usize,
    requests: usize,
    /// The fewest tokens that a turn brought.
    new: usize,
    /// The smallest part of a request that the next one begins with.
    held: usize,
    /// The same of the bytes as they were sent.
    raw: usize,
    marks: usize,
    /// The largest share of a conversation's first request that all of them begin with.
    shared: usize,
}

fn measure(wire: Wire, talk: &Talk) -> Measured {
    let all = conversations(talk);
    let mut measured = Measured {
        conversations: all.len(),
        requests: all.iter().map(Vec::len).sum(),
        new: usize::MAX,
        held: 100,
        raw: 100,
        marks: 0,
        shared: 0,
    };
    for sent in all.iter().flatten() {
        measured.marks = measured.marks.max(sent.asked.marks.len());
        assert!(sent.asked.marks.len() <= 4, "{wire:?}: {:?}", sent.asked.marks);
        if wire == Wire::Messages {
            // What every request of the run begins with, and where this one ends.
            assert!(sent.asked.marks.contains(&"system".to_owned()), "{:?}", sent.asked.marks);
            let end = format!("messages.{}", sent.messages.len() - 1);
            assert!(sent.asked.marks.contains(&end), "no mark at the end, {end}: {:?}", sent.asked.marks);
        } else {
            assert!(sent.asked.marks.is_empty(), "{wire:?}: {:?}", sent.asked.marks);
        }
    }
    for pair in all.iter().flat_map(|sent| sent.windows(2)) {
        let [earlier, later] = pair else { continue };
        assert_eq!((&earlier.tools, &earlier.system), (&later.tools, &later.system), "{wire:?}");
        let (before, after) = (earlier.text(), later.text());
        measured.held = measured.held.min(percent(common(before.as_bytes(), after.as_bytes()), before.len()));
        measured.raw = measured.raw.min(percent(common(&earlier.raw, &later.raw), earlier.raw.len()));
        measured.new = measured.new.min((after.len() - before.len()) / TOKEN);
        if wire == Wire::Messages {
            let end = format!("messages.{}", earlier.messages.len() - 1);
            assert!(later.asked.marks.contains(&end), "where the cache was written, {end}: {:?}", later.asked.marks);
        }
    }
    let firsts: Vec<String> = all.iter().map(|sent| sent[0].text()).collect();
    if let [first, rest @ ..] = firsts.as_slice() {
        let least = rest.iter().map(|other| common(first.as_bytes(), other.as_bytes())).min();
        measured.shared = least.map_or(100, |least| percent(least, first.len()));
    }
    measured
}

/// The shop, with twenty files beside the change that are five thousand tokens each.
fn archive() -> TestRepo {
    let repo = shop();
    repo.git(["checkout", "-q", "main"]);
    for file in 0..READS {
        let line = |line: usize| format!("entry_{file}_{line} = {line}  # nobody knows any more what it was for\n");
        repo.write(format!("archive/part{file}.py"), (0..330).map(line).collect::<String>());
    }
    repo.commit("Keep an archive");
    repo.git(["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    repo
}

/// A model that reads a file a turn, thinks and speaks about it, reports in the middle, and ends.
fn long() -> Session {
    let read = |turn: usize| {
        let thinking =
            json!([{ "text": format!("What is in part {turn}?"), "signature": format!("U2lnbmF0dXJl{turn:04}") }]);
        let call = json!({ "name": "read_file_part", "input": { "file_path": format!("archive/part{turn}.py") } });
        json!({ "when": { "turn": turn, "taken_out": false }, "say": { "thinking": thinking, "text": "I read on.", "calls": [call] } })
    };
    let end = json!([{ "name": "finish_review", "input": { "summary": "All of it was read.", "no_findings_reason": "It is well." } }]);
    let last = json!({ "when": { "turn": READS, "taken_out": false }, "say": { "calls": end } });
    let steps: Vec<Value> = (0..READS).map(read).chain([last]).collect();
    session("twenty_turns", &steps)
}

/// With a window of that size.
fn with_window(talk: Talk, wire: Wire, window: u64) -> Talk {
    talk.with_settings(&format!("[{}]\ncontext_window = {window}\n", wire.provider()))
}

/// A line of the table in the documentation.
fn line(words: &[String]) -> String {
    format!("| {} |\n", words.join(" | "))
}

/// Holds the table against the one in the documentation.
fn is_in_the_docs(name: &str, table: &str) {
    assert_part("docs/cache.md", &format!("<!-- cache:{name} -->\n"), "<!-- end -->", table);
}

#[test]
fn over_twenty_turns_each_request_begins_with_the_one_before_it() {
    let repo = archive();
    let measured: Vec<(Wire, Measured)> = std::thread::scope(|scope| {
        let run = |wire: Wire| {
            let repo = &repo;
            scope.spawn(move || {
                let talk = with_window(Talk::in_passing(repo, long(), wire), wire, 1_000_000);
                let told = talk.run("--max-tokens 10000000");
                let verdict = talk.server.verdict();
                assert!(verdict.is_empty(), "{wire:?}: {}\n{}", verdict.join("\n- "), told.all());
                assert_eq!((told.code, told.ended()), (0, "finished"), "{wire:?}: {}", told.all());
                (wire, measure(wire, &talk))
            })
        };
        let runs: Vec<_> = Wire::ALL.into_iter().map(run).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    let mut table = line(
        &["wire", "requests", "new tokens a turn, at least", "held by the next", "as raw bytes", "marks"]
            .map(str::to_owned),
    );
    table.push_str(&line(&["---"; 6].map(str::to_owned)));
    for (wire, measured) in &measured {
        assert_eq!((measured.conversations, measured.requests), (1, READS + 1), "{wire:?}");
        assert!(measured.new >= 4_000, "{wire:?}: {measured:?}");
        assert!(measured.held >= 90, "{wire:?}: {measured:?}");
        // Marks move, so the bytes of a request that has some are not those of the next.
        assert!(measured.raw >= 90 || *wire == Wire::Messages, "{wire:?}: {measured:?}");
        let raw = if *wire == Wire::Messages { "marks move".to_owned() } else { format!("{} %", measured.raw) };
        let (new, held) = (measured.new / 100 * 100, measured.held);
        let words =
            [wire.provider().to_owned(), measured.requests.to_string(), new.to_string(), format!("{held} %"), raw];
        table.push_str(&line(&[&words[..], &[measured.marks.to_string()]].concat()));
    }
    is_in_the_docs("turns", &table);
}

#[test]
fn parts_and_second_looks_begin_with_what_they_share() {
    let wire = Wire::Messages;
    let end = json!({ "calls": [{ "name": "finish_review", "input": { "summary": "It adds values." } }] });
    let list = json!({ "calls": [{ "name": "list_files", "input": {} }] });
    let steps = [
        json!({ "when": { "turn": 0 }, "say": list, "reuse": true }),
        json!({ "when": { "turn": 1 }, "say": end, "reuse": true }),
    ];
    let (large, small) = (many(200), shop());
    let parts = with_window(Talk::in_passing(&large, session("parts", &steps), wire), wire, 48_000);
    let told = parts.run("");
    assert_eq!((told.code, told.ended()), (0, "finished"), "{}", told.all());
    parts.server.verdict();

    let read = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "src/order.py" } }] });
    let looks = [DISCOUNT, STOCK, GUARD].into_iter().flat_map(|title| {
        [look(title, 0, read.clone()), look(title, 1, json!({ "calls": [given("confirmed", 9, "It is so.")] }))]
    });
    let steps: Vec<Value> = reporting(&[DISCOUNT, STOCK, GUARD]).into_iter().chain(looks).collect();
    let looks = Talk::in_passing(&small, session("looks", &steps), wire);
    let told = looks.run("--verify all");
    assert_eq!((told.code, told.ended()), (0, "finished"), "{}", told.all());
    looks.server.verdict();

    let of = |talk: &Talk, first: &dyn Fn(&Sent) -> bool| {
        let all: Vec<Vec<Sent>> = conversations(talk).into_iter().filter(|sent| first(&sent[0])).collect();
        let bases: Vec<String> = all.iter().map(|sent| sent[0].tools.clone() + &sent[0].system).collect();
        assert!(bases.len() > 2 && bases.iter().all(|base| *base == bases[0]), "tools and system are the same bytes");
        let least = all.iter().skip(1).map(|sent| common(all[0][0].text().as_bytes(), sent[0].text().as_bytes()));
        (bases.len(), bases[0].len(), least.min().unwrap_or_default())
    };
    let looking = |sent: &Sent| sent.tools.contains("give_verdict");
    let (count, base, shared) = of(&parts, &|_| true);
    assert!(shared >= base, "{shared} of {base}");
    let (looked, look_base, look_shared) = of(&looks, &looking);
    assert!(look_shared >= look_base, "{look_shared} of {look_base}");
    let (in_parts, in_looks) = (measure(wire, &parts), measure(wire, &looks));
    assert!(in_parts.held >= 90 && in_looks.held >= 90, "{in_parts:?} {in_looks:?}");

    let mut table =
        line(&["conversations", "begin alike with", "held by the next request", "marks"].map(str::to_owned));
    table.push_str(&line(&["---"; 4].map(str::to_owned)));
    let held = |measured: &Measured| format!("{} %", measured.held);
    let alike = "tools and system text";
    assert!(count > 2, "{count}");
    let rows = [("parts of a large change, and the look across them", &in_parts), ("second looks", &in_looks)];
    for (name, measured) in rows {
        table.push_str(&line(&[name.to_owned(), alike.to_owned(), held(measured), measured.marks.to_string()]));
    }
    assert_eq!(looked, 3);
    is_in_the_docs("conversations", &table);
}
