//! An editor without a socket: same client, same messages, a scripted outcome. Main type: [`SimulatedEditor`].

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::dialer::EditorDialer;
use crate::sys::local_socket::{LocalStream, SocketFault};

/// The behaviour of a simulated editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimulatedOutcome {
    /// It confirms every request.
    Success,
    /// It refuses every request with this text.
    Failure(String),
    /// It never answers.
    Silence,
}

/// A dialer whose peer lives in this process.
#[derive(Debug, Clone)]
pub struct SimulatedEditor {
    outcome: SimulatedOutcome,
    received: Arc<Mutex<Vec<Value>>>,
}

impl SimulatedEditor {
    /// Creates one with this outcome.
    pub fn new(outcome: SimulatedOutcome) -> Self {
        Self { outcome, received: Arc::default() }
    }

    /// Returns the messages that it received so far.
    pub fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EditorDialer for SimulatedEditor {
    fn dial(&self) -> BoxFuture<'static, Result<LocalStream, SocketFault>> {
        let editor = self.clone();
        Box::pin(async move {
            let (here, there) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                let (reader, mut writer) = tokio::io::split(there);
                let mut lines = BufReader::new(reader).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let message: Value = serde_json::from_str(&line).unwrap_or_default();
                    let id = message["id"].clone();
                    editor.received.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                    let reply = match &editor.outcome {
                        SimulatedOutcome::Success => json!({ "id": id, "success": true }),
                        SimulatedOutcome::Failure(error) => json!({ "id": id, "success": false, "error": error }),
                        SimulatedOutcome::Silence => continue,
                    };
                    if writer.write_all(format!("{reply}\n").as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
            let stream: LocalStream = Box::new(here);
            Ok(stream)
        })
    }

    fn address(&self) -> String {
        "a simulated editor".to_owned()
    }
}
