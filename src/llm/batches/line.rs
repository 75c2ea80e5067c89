//! The turns of one model: they are collected into rounds, and each round is one batch. Main type: [`BatchLine`].

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::MessageBatches;
use super::api::{BatchClient, BatchResults, BatchState, ExtraHeaders};
use super::record::{self, BatchRecord};
use crate::llm::fault::TurnFault;
use crate::llm::frames::ResponseFault;
use crate::llm::request_error::FailedRequest;
use crate::sys::cancel::Cancel;
use crate::sys::{blocking, clock};

/// Maximum number of turns in a batch. Both APIs take more.
const MOST_TURNS: usize = 10_000;
/// Maximum bytes of the requests of a batch. Both APIs take more.
const MOST_BYTES: usize = 128 * 1024 * 1024;
/// A round begins at the latest after this many windows.
const MOST_WINDOWS: u32 = 5;
/// The longest wait between two polls.
const LONGEST_POLL: Duration = Duration::from_mins(1);
/// The time after which a batch that has not ended counts as lost; both APIs end it after 24 hours.
const LIFE: Duration = Duration::from_hours(26);
/// Unreadable answers about a batch in a row before it counts as lost.
const MOST_UNREADABLE: u32 = 3;
/// The wait after a batch was refused because too many tokens are queued.
const CROWDED: Duration = Duration::from_mins(10);

/// An answer to a turn.
#[derive(Debug)]
pub(super) enum BatchAnswer {
    /// The body of the response, or the failure.
    Turn(Result<Vec<u8>, FailedRequest>),
    /// The provider has no batch API.
    NoBatches,
}

/// A turn that waits for its answer.
pub(super) struct BatchedTurn {
    /// The hash of its request; in a batch with a number after it, so that no two are the same.
    pub(super) id: String,
    pub(super) body: Vec<u8>,
    pub(super) extra: ExtraHeaders,
    pub(super) answer: oneshot::Sender<BatchAnswer>,
}

/// Turns that share a batch; `record` is set if it was submitted before.
struct BatchRound {
    record: Option<BatchRecord>,
    turns: Vec<BatchedTurn>,
}

/// The turns of one model with one key.
pub(in crate::llm) struct BatchLine {
    client: BatchClient,
    /// The hash of provider, address and model.
    identity: String,
    state: Mutex<LineState>,
}

#[derive(Default)]
struct LineState {
    waiting: Vec<BatchedTurn>,
    is_collecting: bool,
    has_no_batches: bool,
    /// Batches with requests that no turn of this process waits for; `None` before they are read.
    recorded: Option<Vec<BatchRecord>>,
}

/// Reasons why a batch has no results.
enum BatchFailure {
    /// It was not accepted: the code and the reason.
    Refused(String, String),
    /// The provider does not know it.
    Gone,
    /// Anything else.
    Other(FailedRequest),
}

impl BatchLine {
    pub(super) fn new(client: BatchClient, identity: String) -> Self {
        Self { client, identity, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a turn to the next round. Returns `false` if the provider has no batch API.
    pub(super) fn enqueue(self: &Arc<Self>, batches: &MessageBatches, turn: BatchedTurn) -> bool {
        let mut state = self.state();
        if state.has_no_batches {
            return false;
        }
        state.waiting.push(turn);
        if !std::mem::replace(&mut state.is_collecting, true) {
            batches.spawn(Box::pin(Arc::clone(self).collect(batches.clone())));
        }
        true
    }

    /// Returns the failure of a turn whose round ended without an answer.
    pub(super) fn lost(&self) -> FailedRequest {
        FailedRequest::Fault(self.client.blame.answer(ResponseFault::Cut("its batch ended unexpectedly".to_owned())))
    }

    /// Returns the provider, for messages.
    pub(super) fn provider(&self) -> &str {
        &self.client.blame.provider
    }

    /// Waits until no more turns come, and starts their rounds.
    async fn collect(self: Arc<Self>, batches: MessageBatches) {
        let (began, window) = (Instant::now(), batches.window());
        let mut count = self.state().waiting.len();
        loop {
            tokio::time::sleep(window).await;
            let now = self.state().waiting.len();
            if now == count || now >= MOST_TURNS || began.elapsed() >= window * MOST_WINDOWS {
                break;
            }
            count = now;
        }
        if self.state().recorded.is_none() {
            let (folder, identity) = (batches.folder().to_owned(), self.identity.clone());
            let load = move || record::load(&folder, &identity, clock::unix_seconds());
            let found = blocking::run("reading the submitted batches", &Cancel::never(), load).await;
            self.state().recorded = Some(found.unwrap_or_default());
        }
        for round in self.rounds() {
            self.start(&batches, round);
        }
    }

    /// Divides the waiting turns: those of a batch that was submitted before, and new batches.
    fn rounds(&self) -> Vec<BatchRound> {
        let mut state = self.state();
        state.is_collecting = false;
        let turns = std::mem::take(&mut state.waiting);
        let recorded = state.recorded.get_or_insert_default();
        let (mut before, mut rounds) = (BTreeMap::<String, BatchRound>::new(), Vec::<(usize, BatchRound)>::new());
        for mut turn in turns.into_iter().filter(|turn| !turn.answer.is_closed()) {
            let is_same = |id: &String| id.strip_prefix(&turn.id).is_some_and(|number| number.starts_with('-'));
            let found = recorded.iter_mut().find_map(|record| {
                let at = record.items.iter().position(is_same)?;
                Some((record.items.remove(at), record.clone()))
            });
            if let Some((id, record)) = found {
                turn.id = id;
                let new = || BatchRound {
                    record: Some(BatchRecord { items: Vec::new(), ..record.clone() }),
                    turns: Vec::new(),
                };
                before.entry(record.batch.clone()).or_insert_with(new).turns.push(turn);
                continue;
            }
            let has_room = |(bytes, round): &(usize, BatchRound)| {
                let is_alike = round.turns.first().is_none_or(|first| first.extra == turn.extra);
                is_alike && round.turns.len() < MOST_TURNS && *bytes + turn.body.len() <= MOST_BYTES
            };
            let at = rounds.iter().position(has_room).unwrap_or_else(|| {
                rounds.push((0, BatchRound { record: None, turns: Vec::new() }));
                rounds.len() - 1
            });
            let (bytes, round) = &mut rounds[at];
            *bytes += turn.body.len();
            turn.id = format!("{}-{}", turn.id, round.turns.len());
            round.turns.push(turn);
        }
        recorded.retain(|record| !record.items.is_empty());
        before.into_values().chain(rounds.into_iter().map(|(_, round)| round)).collect()
    }

    /// Starts a round in a task of its own.
    fn start(self: &Arc<Self>, batches: &MessageBatches, round: BatchRound) {
        let task: BoxFuture<'static, ()> = Box::pin(Arc::clone(self).run(batches.clone(), round));
        batches.spawn(task);
    }

    /// Starts a round for each half of these turns: one of them may be the reason why all were refused.
    fn halve(self: &Arc<Self>, batches: &MessageBatches, mut turns: Vec<BatchedTurn>) {
        let rest = turns.split_off(turns.len() / 2);
        for turns in [turns, rest] {
            self.start(batches, BatchRound { record: None, turns });
        }
    }

    async fn run(self: Arc<Self>, batches: MessageBatches, round: BatchRound) {
        let BatchRound { record, turns } = round;
        let submitted = match record {
            Some(record) => Some((record, turns)),
            None => self.submit(&batches, turns).await,
        };
        let Some((record, mut turns)) = submitted else { return };
        let wanted: HashSet<String> = turns.iter().map(|turn| turn.id.clone()).collect();
        let ended = tokio::select! {
            ended = self.results(&record.batch, &wanted, batches.window()) => ended,
            () = until_all_are_canceled(&mut turns) => {
                self.client.cancel(&record.batch).await;
                // What was answered before is there for a review that is resumed.
                return self.put_back(record, wanted);
            }
        };
        let mut results = match ended {
            Ok(results) => results,
            Err(BatchFailure::Refused(code, _)) if code != "token_limit_exceeded" && turns.len() > 1 => {
                batches.forget(record);
                return self.halve(&batches, turns);
            }
            Err(BatchFailure::Refused(code, reason)) => {
                batches.forget(record);
                return answer_all(turns, &refused(&code, reason));
            }
            Err(BatchFailure::Gone) => {
                let message = format!("it has no batch {} any more", record.batch);
                batches.forget(record);
                let fault = FailedRequest::Fault(self.client.blame.answer(ResponseFault::Cut(message)));
                return answer_all(turns, &fault);
            }
            Err(BatchFailure::Other(fault)) => {
                self.put_back(record, wanted);
                return answer_all(turns, &fault);
            }
        };
        let mut left = HashSet::new();
        for turn in turns {
            let result = self.client.take(&mut results, &turn.id, &record.batch);
            if turn.answer.send(BatchAnswer::Turn(result)).is_err() {
                left.insert(turn.id);
            }
        }
        let is_wanted = |known: &BatchRecord| known.batch == record.batch;
        if !left.is_empty() {
            self.put_back(record, left);
        } else if !self.state().recorded.iter().flatten().any(is_wanted) {
            batches.forget(record);
        }
    }

    /// Keeps requests of a batch for turns that may come.
    fn put_back(&self, record: BatchRecord, items: HashSet<String>) {
        let record = BatchRecord { items: items.into_iter().collect(), ..record };
        self.state().recorded.get_or_insert_default().push(record);
    }

    /// Submits turns as a batch, and writes it down; `None` if they have their answers, or are on their way in others.
    async fn submit(
        self: &Arc<Self>,
        batches: &MessageBatches,
        turns: Vec<BatchedTurn>,
    ) -> Option<(BatchRecord, Vec<BatchedTurn>)> {
        let items: Vec<(&str, &[u8])> = turns.iter().map(|turn| (&*turn.id, &*turn.body)).collect();
        let extra = turns.first().map_or(&[][..], |turn| turn.extra);
        let fault = match self.client.submit(&items, extra).await {
            Ok(batch) => {
                let items = turns.iter().map(|turn| turn.id.clone()).collect();
                let identity = self.identity.clone();
                let record = BatchRecord { identity, batch, submitted_at: clock::unix_seconds(), items };
                batches.submitted(&record).await;
                return Some((record, turns));
            }
            Err(fault) => fault,
        };
        match &fault {
            FailedRequest::Rejected(rejected) if matches!(rejected.status, 404 | 405 | 501) => {
                self.state().has_no_batches = true;
                for turn in turns {
                    let _ = turn.answer.send(BatchAnswer::NoBatches);
                }
            }
            FailedRequest::Rejected(rejected) if matches!(rejected.status, 400 | 413 | 422) && turns.len() > 1 => {
                self.halve(batches, turns);
            }
            fault => answer_all(turns, fault),
        }
        None
    }

    /// Polls a batch with growing waits until it has ended, and reads its results. A provider that is away for a while is asked again.
    async fn results(
        &self,
        batch: &str,
        wanted: &HashSet<String>,
        window: Duration,
    ) -> Result<BatchResults, BatchFailure> {
        let (began, mut wait, mut unreadable) = (Instant::now(), window, 0);
        loop {
            tokio::time::sleep(wait).await;
            wait = (wait * 3 / 2).min(LONGEST_POLL);
            let ended = match self.client.state(batch).await {
                Ok(BatchState::Ended(files)) => self.client.results(&files, wanted).await.map(Some),
                Ok(BatchState::Failed(code, reason)) => return Err(BatchFailure::Refused(code, reason)),
                Ok(BatchState::Running) => Ok(None),
                Err(failed) => Err(failed),
            };
            let failed = match ended {
                Ok(Some(results)) => return Ok(results),
                Ok(None) if began.elapsed() < LIFE => {
                    unreadable = 0;
                    continue;
                }
                Ok(None) => FailedRequest::Fault(self.client.blame.timed_out(LIFE)),
                Err(failed) => failed,
            };
            let fault = match &failed {
                FailedRequest::Rejected(rejected) if matches!(rejected.status, 404 | 410) => {
                    return Err(BatchFailure::Gone);
                }
                FailedRequest::Rejected(rejected) => self.client.blame.rejected(rejected),
                FailedRequest::Fault(fault) => fault.clone(),
            };
            wait = fault.retry_after().map_or(wait, |asked| asked.clamp(wait, LONGEST_POLL.max(wait)));
            unreadable += u32::from(matches!(fault, TurnFault::Unreadable { .. }));
            let may_pass = fault.is_transient() || matches!(fault, TurnFault::Unreadable { .. });
            if !may_pass || unreadable >= MOST_UNREADABLE || began.elapsed() >= LIFE {
                return Err(BatchFailure::Other(FailedRequest::Fault(fault)));
            }
        }
    }
}

/// Creates the failure of the turns of a batch that was not accepted.
fn refused(code: &str, reason: String) -> FailedRequest {
    if code != "token_limit_exceeded" {
        return BatchClient::rejected(400, reason);
    }
    match BatchClient::rejected(429, reason) {
        FailedRequest::Rejected(mut rejected) => {
            rejected.retry_after = Some(CROWDED);
            FailedRequest::Rejected(rejected)
        }
        fault @ FailedRequest::Fault(_) => fault,
    }
}

fn answer_all(turns: Vec<BatchedTurn>, fault: &FailedRequest) {
    for turn in turns {
        // One that was canceled waits no more.
        let _ = turn.answer.send(BatchAnswer::Turn(Err(fault.clone())));
    }
}

/// Waits until all turns were canceled.
async fn until_all_are_canceled(turns: &mut [BatchedTurn]) {
    for turn in turns {
        turn.answer.closed().await;
    }
}
