//! Call metrics of a server: counts, times, and an optional log. Main type: [`CallMetrics`].
//!
//! Neither contains requests or responses: both are for the operator of the server, not for its users.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sys::clock;
use crate::sys::files::{AppendFile, FileError};

/// The number of latest calls per kind whose times are stored.
const TIMES: usize = 1000;
/// Lines that may wait to be written; further ones are counted and dropped.
const WAITING: usize = 1024;

/// The call metrics of a server.
pub struct CallMetrics {
    started: (String, Instant),
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
    log: Option<SyncSender<String>>,
}

#[derive(Default)]
struct Kind {
    calls: u64,
    failed: u64,
    /// A ring buffer of the latest times.
    times: Vec<Duration>,
}

impl CallMetrics {
    /// Creates empty metrics; with `log`, each call is also written to that file, one JSON object per line.
    pub(super) fn open(log: Option<&Path>) -> Result<Self, FileError> {
        let log = log.map(AppendFile::open).transpose()?.map(|mut file| {
            let (sender, lines) = sync_channel::<String>(WAITING);
            std::thread::spawn(move || {
                for line in lines {
                    // A log that cannot be written must not stop the server.
                    let _ = file.append(line.as_bytes());
                }
            });
            sender
        });
        Ok(Self { started: (clock::now(), Instant::now()), kinds: Mutex::default(), log })
    }

    /// Records one call.
    pub fn record(&self, kind: &'static str, took: Duration, went_well: bool) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kinds.entry(kind).or_default();
        let place = usize::try_from(entry.calls).unwrap_or_default() % TIMES;
        match entry.times.get_mut(place) {
            Some(oldest) => *oldest = took,
            None => entry.times.push(took),
        }
        entry.calls += 1;
        entry.failed += u64::from(!went_well);
        drop(kinds);
        if let Some(log) = &self.log {
            let line = json!({ "at": clock::now(), "call": kind, "took_us": micros(took), "ok": went_well });
            let _ = log.try_send(format!("{line}\n"));
        }
    }

    /// The counts and times so far, in microseconds: `{started_at, up_s, calls: {KIND: {calls, failed, p50_us, p95_us, max_us}}}`.
    pub fn summary(&self) -> Value {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let calls: serde_json::Map<String, Value> =
            kinds.iter().map(|(name, kind)| ((*name).to_owned(), kind.summary())).collect();
        json!({ "started_at": self.started.0, "up_s": self.started.1.elapsed().as_secs(), "calls": calls })
    }
}

impl Kind {
    fn summary(&self) -> Value {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len().saturating_sub(1)) * percent / 100).copied().map(micros);
        json!({ "calls": self.calls, "failed": self.failed, "p50_us": at(50), "p95_us": at(95), "max_us": at(100) })
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_and_the_newest_times_are_kept() {
        let ledger = CallMetrics::open(None).unwrap();
        for call in 0..2000_u64 {
            ledger.record("read_file_part", Duration::from_micros(call), call % 10 != 0);
        }
        let summary = ledger.summary();
        let kind = &summary["calls"]["read_file_part"];
        assert_eq!((&kind["calls"], &kind["failed"]), (&json!(2000), &json!(200)));
        assert_eq!((&kind["p50_us"], &kind["max_us"]), (&json!(1499), &json!(1999)));
        assert!(summary["calls"].get("search_in_files").is_none());
    }

    #[test]
    fn a_log_has_a_line_a_call() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let ledger = CallMetrics::open(Some(&path)).unwrap();
        ledger.record("review", Duration::from_micros(7), false);
        drop(ledger);
        // The writing thread ends when the ledger is dropped.
        let mut text = String::new();
        for _ in 0..500 {
            text = std::fs::read_to_string(&path).unwrap();
            if text.ends_with('\n') {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["call"], &line["took_us"], &line["ok"]), (&json!("review"), &json!(7), &json!(false)));
    }
}
