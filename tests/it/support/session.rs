//! The program against the scripted model, on a small repository. Main types: [`Talk`], [`Told`].

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::model::{KEY, Options, Server, Session, Wire};
use super::{Program, Ran, TestRepo};

/// What every run is asked for: the stream of events has everything.
const WORDS: &str = "--target main --events";

const CART: &str = r#""""Carts and what they cost."""


def total(items):
    """What all items cost together."""
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount


def discount(amount, percent):
    """What is taken off an amount."""
    if percent < 0 or percent > 100:
        raise ValueError("percent must be between 0 and 100")
    return amount * percent / 100


def shipping(weight):
    """What sending costs."""
    if weight > 20:
        return 12
    return 5
"#;

const GUARD: &str = r#"    if percent < 0 or percent > 100:
        raise ValueError("percent must be between 0 and 100")
    return amount * percent / 100
"#;

const STOCK: &str = r#"def reserve(stock, name, count):
    """Takes items out of the stock."""
    if stock[name] < count:
        raise LookupError(f"{name} is sold out")
    stock[name] -= count
    return stock[name]
"#;

const ORDER: &str = r#"from cart import discount, total


def price(order):
    """What an order costs: `order.percent` is a whole number."""
    amount = total(order.items)
    return amount - discount(amount, order.percent)
"#;

/// Settings with which the first message states the same window on every wire.
pub const SAME_WINDOW: &str = "[ollama]\ncontext_window = 200000\n";

/// A shop whose newest change takes a guard out and gets a bound wrong; no rule matches it.
pub fn shop() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "A shop.\n")
        .write("src/cart.py", CART)
        .write("src/stock.py", STOCK)
        .write("src/order.py", ORDER);
    repo.commit("Begin");
    let careless = CART.replace(GUARD, "    rate = percent / 10\n    return amount * rate\n");
    repo.branch("feature").write("src/cart.py", careless);
    repo.write("src/stock.py", STOCK.replace("stock[name] < count", "stock[name] <= count"));
    repo.commit("Take the guard out\n\nNobody passes anything else.");
    repo
}

/// A change of so many small files in folders of ten.
pub fn many(files: usize) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Many.\n").commit("Begin");
    repo.branch("feature");
    for n in 0..files {
        let line = |line| format!("value_{n}_{line} = {n} * {line}  # a line that has no meaning\n");
        repo.write(format!("src/part{}/file{n}.py", n / 10), (0..20).map(line).collect::<String>());
    }
    repo.commit("Add many files");
    repo
}

/// The path of a session.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions").join(format!("{name}.jsonl"))
}

/// A program that will talk to a scripted model.
pub struct Talk {
    /// The model.
    pub server: Server,
    /// The program.
    pub program: Program,
    wire: Wire,
    model: String,
}

/// What a run told.
pub struct Told {
    /// The exit code.
    pub code: i32,
    /// The review.
    pub review: Value,
    /// The events before it.
    pub events: Vec<Value>,
    /// What it said on standard error.
    pub stderr: String,
}

/// Runs a talk, made anew each time, with ever longer time limits until the model was asked so often before the limit was met. What is tested
/// is what happens at the limit; how long a busy machine takes until then is not.
pub fn until_late(limits: &[&str], requests: usize, talk: impl Fn() -> Talk, words: &str) -> (Talk, Told) {
    for limit in limits {
        let talk = talk();
        let told = talk.run(&format!("{words} --timeout {limit}"));
        if talk.server.raw().len() >= requests {
            return (talk, told);
        }
        let _ = talk.server.verdict();
    }
    panic!("the model was not asked {requests} times within {limits:?}");
}

impl Talk {
    /// About a repository, by a session of `fixtures/sessions`.
    pub fn about(repo: &TestRepo, session: &str, wire: Wire) -> Self {
        Self::named(repo, session, session, wire)
    }

    /// The same, its requests kept under a name of their own: sessions that several tests use need one each.
    pub fn named(repo: &TestRepo, session: &str, name: &str, wire: Wire) -> Self {
        let session = Session { name: name.to_owned(), ..Session::load(&file(session)) };
        Self::scripted(repo, session, wire)
    }

    /// By a session that is no file.
    pub fn scripted(repo: &TestRepo, session: Session, wire: Wire) -> Self {
        Self::start(repo, session, wire, Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests")))
    }

    /// The same, its requests kept nowhere: they hold what only some servers understand.
    pub fn unkept(repo: &TestRepo, session: &str, wire: Wire) -> Self {
        Self::start(repo, Session::load(&file(session)), wire, None)
    }

    /// By a session that is no file, its requests kept nowhere.
    pub fn in_passing(repo: &TestRepo, session: Session, wire: Wire) -> Self {
        Self::start(repo, session, wire, None)
    }

    fn start(repo: &TestRepo, session: Session, wire: Wire, record: Option<PathBuf>) -> Self {
        let server = Server::start(session, Options { wire: Some(wire), record, ..Options::default() });
        let mut program = Program::in_folder(repo.root());
        for (name, value) in server.environment(wire) {
            program = program.with(name, &value);
        }
        // A session is one conversation; those of a second look are scripted where they are meant, and asked for with --verify.
        program = program.with("REVIEW_VERIFY", "none");
        Self { server, program, wire, model: "scripted".to_owned() }
    }

    /// With another model.
    pub fn with_model(mut self, model: &str) -> Self {
        model.clone_into(&mut self.model);
        self
    }

    /// With a settings file of the user.
    pub fn with_settings(mut self, text: &str) -> Self {
        self.program = self.program.with_settings(text);
        self
    }

    /// With one more environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.program = self.program.with(name, value);
        self
    }

    /// The model and the program, for a run that has another model, too.
    pub fn apart(self) -> (Server, Program) {
        (self.server, self.program)
    }

    /// The words that name the model.
    pub fn words(&self, more: &str) -> String {
        format!("{WORDS} --model {}/{} {more}", self.wire.provider(), self.model)
    }

    /// Runs it.
    pub fn run(&self, more: &str) -> Told {
        Told::read(&self.program.words(&self.words(more)))
    }

    /// Runs it, holds its end against what is expected, and looks at what the server saw.
    #[track_caller]
    pub fn ends(self, more: &str, code: i32, ended: &str) -> Told {
        let told = self.run(more);
        // What the server saw tells more than how the program ended.
        let verdict = self.server.verdict();
        assert!(verdict.is_empty(), "{:?}: {}\n{}", self.wire, verdict.join("\n- "), told.all());
        assert_eq!((told.code, told.ended()), (code, ended), "{:?}: {}", self.wire, told.all());
        told
    }

    /// The journals of the kept runs.
    pub fn journals(&self) -> Vec<String> {
        let files = self.program.kept().into_iter().map(|folder| folder.join("journal.jsonl"));
        files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
    }
}

impl Told {
    /// Reads what a run gave out; it must not hold the key.
    pub fn read(ran: &Ran) -> Self {
        assert!(!ran.text().contains(KEY) && !ran.stderr.contains(KEY), "the key is shown");
        let lines = ran.text().lines().map(serde_json::from_str::<Value>);
        let events: Result<Vec<Value>, _> = lines.collect();
        let mut events = events.unwrap_or_else(|error| panic!("{error}\n{}\n{}", ran.text(), ran.stderr));
        let last = events.pop().unwrap_or_else(|| panic!("exit {}: nothing was given out\n{}", ran.code, ran.stderr));
        Self { code: ran.code, review: last["review"].clone(), events, stderr: ran.stderr.clone() }
    }

    /// What ended the engine's work.
    pub fn ended(&self) -> &str {
        self.review["ended"].as_str().unwrap_or("?")
    }

    /// The events of a kind.
    pub fn events(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == kind).collect()
    }

    /// The titles of the findings.
    pub fn titles(&self) -> Vec<&str> {
        let findings = self.review["findings"].as_array().map_or(&[][..], Vec::as_slice);
        findings.iter().filter_map(|finding| finding["title"].as_str()).collect()
    }

    /// The sentences on why it is not complete.
    pub fn reasons(&self) -> String {
        self.review["reasons"].to_string()
    }

    /// Everything, for a failure.
    pub fn all(&self) -> String {
        let events: Vec<_> = self.events.iter().map(ToString::to_string).collect();
        format!("exit {}\n{}\n{}\n{:#}", self.code, events.join("\n"), self.stderr, self.review)
    }
}
