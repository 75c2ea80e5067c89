//! Turns by message batch, at half the price. Main type: [`MessageBatches`].
//!
//! A batch turn is a slow turn: its request goes to the next round instead of a connection of its own, and the body that comes back is read as any
//! other response. The turns of all running reviews that come within a short window are one round, and each round is one batch; while a batch runs,
//! turns of other reviews begin other rounds. A canceled turn ends only its own wait. A batch that nobody waits for any more is canceled at the provider.
//!
//! A submitted batch is written down before anything waits for it. A process that asks for the same turn later, be it after a crash, takes the answer
//! of that batch. Only between the submission and the record can a crash cost a batch.
//!
//! Retries, limits and records of turns belong in `review`: an expired request, for instance, is a fault that passes, so it is tried again.

#![expect(clippy::result_large_err, reason = "a failed request is made for a turn that took minutes")]

mod api;
mod line;
mod record;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub(super) use api::BatchClient;
use line::{BatchAnswer, BatchLine, BatchedTurn};
use record::BatchRecord;

use super::provider::{Prices, StreamObserver};
use super::request_error::FailedRequest;
use super::turn::TurnUsage;
use super::wire::WireRequest;
use super::wire_format::WireFormat;
use crate::domain::batch::BatchSavings;
use crate::domain::id::{hash_part, hex};
use crate::domain::money::Money;
use crate::domain::text::strip_line;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;

/// The time without a new turn after which a round begins.
const WINDOW: Duration = Duration::from_secs(2);
/// The time for batches to be canceled at the end.
const FINISH: Duration = Duration::from_secs(10);
/// Characters of a request's hash in its id.
const HASH: usize = 40;

/// The message batches of a process. Clones share them.
#[derive(Clone)]
pub struct MessageBatches(Arc<BatchesState>);

struct BatchesState {
    window: Duration,
    /// The folder of the records.
    folder: PathBuf,
    /// The lines, each with the key that it uses.
    lines: Mutex<HashMap<(String, String), Arc<BatchLine>>>,
    tasks: Mutex<JoinSet<()>>,
    savings: Mutex<BatchSavings>,
    /// Batches of which every result was delivered. They stay recorded until a later one is: by then the answers are in the journals.
    delivered: Mutex<Vec<BatchRecord>>,
    warnings: Mutex<BTreeSet<String>>,
}

/// Without the keys.
impl fmt::Debug for MessageBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageBatches").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MessageBatches {
    /// Creates the batches of a process, with a folder for their records and the time without a new turn after which a round begins.
    pub fn new(folder: PathBuf, window: Option<Duration>) -> Self {
        Self(Arc::new(BatchesState {
            window: window.unwrap_or(WINDOW),
            folder,
            lines: Mutex::default(),
            tasks: Mutex::default(),
            savings: Mutex::default(),
            delivered: Mutex::default(),
            warnings: Mutex::default(),
        }))
    }

    /// Ends when the batches that nobody waits for are canceled, and returns what the others saved.
    pub async fn finish(&self) -> BatchSavings {
        let mut tasks = std::mem::take(&mut *lock(&self.0.tasks));
        // Canceling is an attempt: what runs on ends by itself.
        let _ = tokio::time::timeout(FINISH, async { while tasks.join_next().await.is_some() {} }).await;
        let delivered = std::mem::take(&mut *lock(&self.0.delivered));
        let folder = self.0.folder.clone();
        let remove = move || {
            for record in &delivered {
                record.remove(&folder);
            }
        };
        // One that stays is removed when it is old.
        let _ = blocking::run("removing the records of batches", &Cancel::never(), remove).await;
        *lock(&self.0.savings)
    }

    /// Returns the transport of a model's turns.
    pub(super) fn transport(&self, client: BatchClient, model: &str, key: Option<&str>) -> BatchTransport {
        let address = client.base.to_string();
        let mut hash = Sha256::new();
        for text in [&*client.blame.provider, &address, model] {
            hash_part(&mut hash, text);
        }
        let (identity, wire) = (hex(&hash.finalize()), client.wire);
        let mut lines = lock(&self.0.lines);
        let line = lines.entry((identity.clone(), key.unwrap_or_default().to_owned()));
        let line = line.or_insert_with(|| Arc::new(BatchLine::new(client, identity)));
        BatchTransport { batches: self.clone(), line: Arc::clone(line), wire }
    }

    fn window(&self) -> Duration {
        self.0.window
    }

    fn folder(&self) -> &Path {
        &self.0.folder
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        let mut tasks = lock(&self.0.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Writes down a batch that was submitted.
    async fn submitted(&self, record: &BatchRecord) {
        lock(&self.0.savings).batches += 1;
        let delivered = std::mem::take(&mut *lock(&self.0.delivered));
        let (folder, new) = (self.0.folder.clone(), record.clone());
        let write = move || {
            for record in &delivered {
                record.remove(&folder);
            }
            new.save(&folder)
        };
        let written = blocking::run("recording a batch", &Cancel::never(), write).await;
        let why = match written {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let text =
            format!("a message batch is not recorded, so an interruption would lose its answers: {}", strip_line(&why));
        lock(&self.0.warnings).insert(text);
    }

    /// Lets the record of a batch go whose requests all have their answers.
    fn forget(&self, record: BatchRecord) {
        lock(&self.0.delivered).push(record);
    }
}

/// The way of a model's turns into batches.
#[derive(Clone)]
pub(super) struct BatchTransport {
    batches: MessageBatches,
    line: Arc<BatchLine>,
    wire: WireFormat,
}

impl BatchTransport {
    /// Sends a request with the next round, and waits for the body of its response; `None` if the provider has no batches.
    pub(super) async fn send(
        &self,
        request: &WireRequest,
        watch: &dyn StreamObserver,
    ) -> Option<Result<Vec<u8>, FailedRequest>> {
        let body = batch_body(request.body.clone()).to_string().into_bytes();
        let mut id = hex(&Sha256::digest(&body));
        id.truncate(HASH);
        let (answer, answered) = oneshot::channel();
        let is_sent = self.line.enqueue(&self.batches, BatchedTurn { id, body, extra: request.headers, answer });
        let answer = if is_sent { answered.await.ok() } else { Some(BatchAnswer::NoBatches) };
        let warnings = lock(&self.batches.0.warnings).clone();
        for text in &warnings {
            watch.warns(text);
        }
        match answer {
            Some(BatchAnswer::Turn(result)) => Some(result),
            Some(BatchAnswer::NoBatches) => {
                watch.warns(&format!(
                    "{} has no message batches at its address, so its turns are sent one by one at the normal price",
                    self.line.provider()
                ));
                None
            }
            None => Some(Err(self.line.lost())),
        }
    }

    /// Returns the cost of a turn at the prices of batches, and counts what it saved.
    pub(super) fn book(&self, usage: &TurnUsage, prices: Option<Prices>) -> Option<Money> {
        let at = |prices: Option<Prices>| usage.cost.or_else(|| prices?.cost(usage));
        let normal = at(prices);
        let cost = at(prices.map(|prices| prices.in_batch(self.wire == WireFormat::Messages)));
        let mut savings = lock(&self.batches.0.savings);
        savings.turns += 1;
        match cost.zip(normal) {
            Some((cost, normal)) => {
                savings.cost = savings.cost.plus(cost);
                savings.normal_cost = savings.normal_cost.plus(normal);
            }
            None => savings.unknown_costs += 1,
        }
        cost
    }
}

/// Returns the body of a request in a batch: nothing is streamed, and what is cached must last until the next round.
fn batch_body(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove("stream");
        fields.shift_remove("stream_options");
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    let contents: Vec<&mut Value> = messages.filter_map(|message| message.get_mut("content")).collect();
    for part in contents.into_iter().filter_map(Value::as_array_mut).flatten() {
        mark_for_an_hour(part);
    }
    for part in body.get_mut("system").and_then(Value::as_array_mut).into_iter().flatten() {
        mark_for_an_hour(part);
    }
    body
}

/// Lets a cache mark last for an hour instead of five minutes (platform.claude.com/docs, "Prompt caching" and "Batch processing", November 2026).
fn mark_for_an_hour(part: &mut Value) {
    if let Some(mark) = part.get_mut("cache_control").and_then(Value::as_object_mut) {
        mark.insert("ttl".to_owned(), json!("1h"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_a_batch_is_not_streamed_and_cached_for_an_hour() {
        let mark = json!({ "type": "ephemeral" });
        let body = json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "system": [{ "type": "text", "text": "s", "cache_control": mark }],
            "messages": [
                { "role": "user", "content": "plain" },
                { "role": "user", "content": [{ "type": "text", "text": "cache_control" }, { "type": "text", "cache_control": mark }] },
            ],
        });
        let sent = batch_body(body);
        assert!(sent.get("stream").is_none() && sent.get("stream_options").is_none());
        assert_eq!(sent["system"][0]["cache_control"], json!({ "type": "ephemeral", "ttl": "1h" }));
        assert_eq!(sent["messages"][1]["content"][1]["cache_control"]["ttl"], "1h");
        assert!(sent["messages"][1]["content"][0].get("cache_control").is_none());
    }
}
