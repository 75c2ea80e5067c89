//! The engine by itself, on a real change and with a model that is a function: runs that are killed, taken up and told again. Main types:
//! [`Scene`], [`Model`], [`Disk`].

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use review_runner::domain::change::{ChangeSet, Omission};
use review_runner::domain::event::NullEventSink;
use review_runner::domain::filter::PathFilter;
use review_runner::domain::path::RepoPath;
use review_runner::domain::place::DiffSide;
use review_runner::domain::review::Review;
use review_runner::domain::run::RunId;
use review_runner::domain::text::FileText;
use review_runner::llm::{
    BoxFuture, Capabilities, FinishReason, MessagePart, ModelToolCall, Prices, Provider, StreamObserver, ToolInput,
    TurnFault, TurnRequest, TurnResponse, TurnUsage,
};
use review_runner::present::{self, RenderOptions};
use review_runner::prompt::Prompts;
use review_runner::review::{
    Admission, BranchHistory, BudgetLimits, EngineError, Failover, FailoverCandidate, FindingThresholds, JournalEntry,
    JournalRecord, JournalReplay, JournalSink, JournalSummary, ModelRun, ReviewPlan, VerificationScope,
    VerificationSettings, preview, read_journal, review_with_model,
};
use review_runner::rules::{Packs, ScannerReports};
use review_runner::store::StoreError;
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::tools::{Checkout, ToolContext, ToolLimits, Toolbox};
use review_runner::workspace::{self, TreeEntry, Workspace, WorkspaceError};
use serde_json::Value;

use super::TestRepo;
use super::change::change_of;

/// A change with its trees, and how it is reviewed.
pub struct Scene {
    change: Arc<ChangeSet>,
    trees: [Arc<dyn Workspace>; 2],
    run: RunId,
    /// What may be spent.
    pub limits: BudgetLimits,
    /// What gets a second look.
    pub second_look: Option<VerificationScope>,
    /// Who takes over.
    pub next: Vec<FailoverCandidate>,
    /// The words.
    pub prompts: Prompts,
    /// Asked in every loop.
    pub cancel: Cancel,
    /// Where it waits for a place.
    pub admission: Option<Arc<dyn Admission>>,
    notes: Vec<String>,
}

impl Scene {
    /// About the checked-out branch of a repository.
    pub fn of(repo: &TestRepo, limits: BudgetLimits) -> Self {
        let change = Arc::new(change_of(repo));
        let pool = RepoPool::new(Repo::open(repo.root()).expect("a repository"));
        let open = |at, side| workspace::open(Some(&pool), at, side, &[], PathFilter::all()).expect("a tree");
        let trees = [open(change.new_at, DiffSide::New), open(change.old_at, DiffSide::Old)];
        Self {
            change,
            trees,
            limits,
            run: RunId::random(),
            second_look: None,
            next: Vec::new(),
            prompts: Prompts::built_in().expect("prompts"),
            cancel: Cancel::never(),
            admission: None,
            notes: vec!["as it came".to_owned()],
        }
    }

    /// The same with a second look at these findings.
    pub fn with_looks(self, which: VerificationScope) -> Self {
        Self { second_look: Some(which), ..self }
    }

    /// The same with models that take over, each with a window.
    pub fn then(self, next: &[(&Model, u64)]) -> Self {
        let runner = |(model, window): &(&Model, u64)| FailoverCandidate {
            provider: Arc::new((*model).clone()),
            limits: BudgetLimits { window: *window, ..self.limits },
        };
        Self { next: next.iter().map(runner).collect(), ..self }
    }

    /// The same with a tree that must not be touched.
    pub fn without_trees(&self) -> Self {
        let trees: [Arc<dyn Workspace>; 2] = [Arc::new(Gone), Arc::new(Gone)];
        let (change, notes) = (Arc::clone(&self.change), self.notes.clone());
        let next = self.next.clone();
        let (prompts, cancel, admission) = (self.prompts.clone(), Cancel::never(), None);
        Self { change, trees, next, prompts, cancel, admission, notes, ..*self }
    }

    /// The same with a file that interrupts the run when it is read, and whose text never comes.
    pub fn stuck_at(mut self, path: &'static str) -> Self {
        let [new, _] = &mut self.trees;
        *new = Arc::new(StuckFile { tree: Arc::clone(new), path, cancel: self.cancel.clone() });
        self
    }

    /// As the program began a run whose journal is kept, and the model of that run, which must not be asked again.
    pub fn kept(repo: &TestRepo, entries: &[JournalEntry]) -> (Self, Model) {
        let account = JournalSummary::of(entries).expect("an account");
        let JournalRecord::Run { id, provider, model, .. } = &account.run else { panic!("a run") };
        let mut mute = Model::mute();
        (mute.capabilities.provider, mute.capabilities.model) = (provider.as_str().into(), model.clone());
        let scene = Self::of(repo, account.limits.expect("limits"));
        (Self { run: id.parse().expect("an id"), notes: Vec::new(), ..scene }, mute)
    }

    /// What a run would send.
    pub fn planned(&self, model: &Model) -> ReviewPlan {
        let run = self.run_with(JournalReplay::default(), model, None);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("a runtime").block_on(preview(run)).expect("a plan")
    }

    fn run_with(&self, past: JournalReplay, model: &Model, journal: Option<Box<dyn JournalSink>>) -> ModelRun {
        let [new, old] = &self.trees;
        let provider: Arc<dyn Provider> = Arc::new(model.clone());
        ModelRun {
            run: self.run,
            change: Arc::clone(&self.change),
            new: Arc::clone(new),
            old: Arc::clone(old),
            tools: Toolbox::new(ToolContext {
                change: Some(Arc::clone(&self.change)),
                new: Arc::clone(new),
                old: Some(Arc::clone(old)),
                diff: None,
                from_merge_base: false,
                checkout: Checkout::default(),
                cancel: self.cancel.clone(),
                builds: None,
                languages: None,
                limits: ToolLimits::default(),
            }),
            packs: Packs::built_in().expect("rules"),
            reports: ScannerReports::default(),
            provider: Arc::clone(&provider),
            next: self.next.clone(),
            relay: Failover::default(),
            prompts: self.prompts.clone(),
            instructions: None,
            guidelines: Arc::default(),
            limits: self.limits,
            pool: None,
            second_look: self.second_look.map(|which| VerificationSettings { which, provider, limits: self.limits }),
            floor: FindingThresholds::default(),
            known: BranchHistory::default(),
            past,
            notes: self.notes.clone(),
            started: ("2026-01-01T00:00:00.000Z".to_owned(), Instant::now()),
            cancel: self.cancel.clone(),
            events: Arc::new(NullEventSink),
            journal,
        }
    }

    /// A sitting of the run. A kill is `None`.
    pub fn sit(&self, past: JournalReplay, model: &Model, disk: &Disk) -> Option<Result<Review, EngineError>> {
        let run = self.run_with(past, model, Some(Box::new(disk.clone())));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let review = AssertUnwindSafe(review_with_model(run, self.admission.as_deref()));
        let ended = runtime.expect("a runtime").block_on(review.catch_unwind());
        if disk.was_killed() { None } else { Some(ended.expect("no panic of its own")) }
    }

    /// From the beginning to the end.
    pub fn review(&self, model: &Model, disk: &Disk) -> Review {
        self.sit(JournalReplay::default(), model, disk).expect("it is not killed").expect("a review")
    }

    /// The run of a journal, told again without trees and without a model.
    pub fn told(&self, entries: &[JournalEntry]) -> Result<Review, EngineError> {
        self.told_by(entries, &Model::mute())
    }

    /// The same of a run with this model.
    pub fn told_by(&self, entries: &[JournalEntry], mute: &Model) -> Result<Review, EngineError> {
        let past = JournalReplay::replay(entries).expect("a past");
        let disk = Disk::default();
        let told = self.without_trees().sit(past, mute, &disk).expect("nothing is killed");
        assert!(disk.bytes().is_empty(), "what is told is not written down");
        told
    }
}

/// What people and programs get.
pub fn rendered(review: &Review) -> String {
    let presenter = present::presenter("json").expect("JSON");
    String::from_utf8((presenter.render)(review, &RenderOptions::default())).expect("UTF-8")
}

type Says = dyn Fn(&TurnRequest) -> Result<TurnResponse, TurnFault> + Send + Sync;

/// A model that is a function of what it is asked.
#[derive(Clone)]
pub struct Model {
    says: Arc<Says>,
    asked: Arc<AtomicU32>,
    capabilities: Capabilities,
}

impl Model {
    /// One that says this.
    pub fn that(says: impl Fn(&TurnRequest) -> Result<TurnResponse, TurnFault> + Send + Sync + 'static) -> Self {
        let capabilities = Capabilities {
            tools: true,
            prices: None,
            provider: "ollama".into(),
            model: "scripted".to_owned(),
            context_window: 48_000,
            max_output: 2_000,
        };
        Self { says: Arc::new(says), asked: Arc::default(), capabilities }
    }

    /// The same with prices.
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.capabilities.prices = Some(prices);
        self
    }

    /// The same, which does not call tools as its interface has them.
    pub fn without_tools(mut self) -> Self {
        self.capabilities.tools = false;
        self
    }

    /// The same under another name.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.capabilities.model);
        self
    }

    /// One that must not be asked.
    pub fn mute() -> Self {
        Self::that(|_| panic!("the model is asked"))
    }

    /// How often it was asked.
    pub fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Provider for Model {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn first_wait(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        _: Duration,
        _: &'a dyn StreamObserver,
    ) -> BoxFuture<'a, Result<TurnResponse, TurnFault>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { (self.says)(request) })
    }
}

/// An answer with these calls, or with words alone.
pub fn calls(text: &str, calls: &[(&str, Value)]) -> TurnResponse {
    let call = |(at, (name, input)): (usize, &(&str, Value))| {
        let Value::Object(input) = input.clone() else { panic!("an input is an object") };
        let (id, name) = (format!("call{at}"), (*name).to_owned());
        MessagePart::Call(ModelToolCall { id, name, input: ToolInput::Object(input), signatures: Vec::new() })
    };
    let mut parts: Vec<MessagePart> = calls.iter().enumerate().map(call).collect();
    if !text.is_empty() {
        parts.insert(0, MessagePart::Text { text: text.to_owned() });
    }
    let stop = if calls.is_empty() { FinishReason::Done } else { FinishReason::Calls };
    let usage = TurnUsage { input: Some(3_000), output: Some(100), cost: None, ..TurnUsage::NOTHING };
    TurnResponse { parts, stop, usage }
}

/// A journal that a process writes until it is killed.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Platter>>);

#[derive(Default)]
struct Platter {
    bytes: Vec<u8>,
    /// So many lines are still written; then comes the kill.
    left: Option<usize>,
    /// So many bytes of the line are, in which it comes.
    part: usize,
    killed: bool,
}

impl Disk {
    /// With what is there already, for a process that is killed at its `nth` line, from 1, of which so many bytes are written.
    pub fn killed_at(bytes: &[u8], nth: usize, part: usize) -> Self {
        let (bytes, left) = (bytes.to_vec(), Some(nth - 1));
        Self(Arc::new(Mutex::new(Platter { bytes, left, part, killed: false })))
    }

    /// With what is there already.
    pub fn with(bytes: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(Platter { bytes: bytes.to_vec(), ..Platter::default() })))
    }

    /// What is there.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").bytes.clone()
    }

    /// What is there, as far as it is whole, and what it says.
    pub fn cut(&self) -> (Vec<u8>, Vec<JournalEntry>) {
        let mut bytes = self.bytes();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        let entries = read_journal(&bytes).expect("a journal");
        (bytes, entries)
    }

    fn was_killed(&self) -> bool {
        self.0.lock().expect("no panic").killed
    }
}

impl JournalSink for Disk {
    fn append(&mut self, line: &[u8]) -> Result<(), StoreError> {
        let mut platter = self.0.lock().expect("no panic");
        match platter.left {
            Some(0) => {
                if !platter.killed {
                    let part = platter.part.min(line.len() - 1);
                    platter.bytes.extend_from_slice(&line[..part]);
                }
                platter.killed = true;
                drop(platter);
                // It says nothing, as a process that is killed.
                std::panic::resume_unwind(Box::new("killed"));
            }
            Some(left) => platter.left = Some(left - 1),
            None => {}
        }
        platter.bytes.extend_from_slice(line);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A tree that must not be touched.
struct Gone;

impl Workspace for Gone {
    fn files(&self, _: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        panic!("the tree is listed")
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        panic!("{path} is read")
    }

    fn omissions(&self) -> Vec<Omission> {
        panic!("the tree is asked")
    }
}

/// A tree with a file that is never read to its end.
struct StuckFile {
    tree: Arc<dyn Workspace>,
    path: &'static str,
    cancel: Cancel,
}

impl Workspace for StuckFile {
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        self.tree.files(cancel)
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        if path.to_string() == self.path {
            self.cancel.interrupt();
            loop {
                std::thread::park();
            }
        }
        self.tree.read(path)
    }
}
