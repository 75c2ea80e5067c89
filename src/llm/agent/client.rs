//! The bridge's end of the socket. Main type: [`BridgeTools`].

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::io::{BufReader, WriteHalf};
use tokio::sync::oneshot;

use super::wire::{self, CallLine, OfferedTools, ResultLine};
use crate::llm::turn::ToolDefinition;
use crate::sys::local_socket::{self, LocalStream, SocketFault, SocketOwner};

/// Reasons why the review cannot be reached.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BridgeError {
    #[error(
        "the review at this socket cannot be reached ({0}): it has ended; this command is started by an assistant that reviews"
    )]
    Socket(#[from] SocketFault),
    #[error("the review ended")]
    Gone,
}

/// The calls that wait for their results; `None` once the review is gone.
type WaitingCalls = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<ResultLine>>>>>;

/// The tools of a review in another process.
pub struct BridgeTools {
    tools: Vec<ToolDefinition>,
    writer: tokio::sync::Mutex<(u64, WriteHalf<LocalStream>)>,
    waiting: WaitingCalls,
}

impl BridgeTools {
    /// Connects to the review that listens at a path.
    pub async fn connect(socket: &Path) -> Result<Self, BridgeError> {
        let (reader, writer) = tokio::io::split(local_socket::connect(socket, SocketOwner::User).await?);
        let mut reader = BufReader::new(reader);
        let OfferedTools { tools } = wire::read(&mut reader).await.ok_or(BridgeError::Gone)?;
        let waiting: WaitingCalls = Arc::new(Mutex::new(Some(HashMap::new())));
        let known = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Some(result) = wire::read::<ResultLine>(&mut reader).await {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sender) = known.as_mut().and_then(|known| known.remove(&result.number)) {
                    let _ = sender.send(result);
                }
            }
            // Whoever waits learns that nothing comes any more.
            known.lock().unwrap_or_else(PoisonError::into_inner).take();
        });
        Ok(Self { tools, writer: tokio::sync::Mutex::new((0, writer)), waiting })
    }

    /// Returns the tools.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str(), &tool.schema))
    }

    /// Makes a call, and returns the text of the result and whether it is an error.
    pub async fn call(&self, tool: String, input: Map<String, Value>) -> Result<(String, bool), BridgeError> {
        let result = {
            let mut writer = self.writer.lock().await;
            writer.0 += 1;
            let number = writer.0;
            let result = self.await_result(number)?;
            let call = CallLine { number, tool, input };
            wire::write(&mut writer.1, &call).await.map_err(|_| BridgeError::Gone)?;
            result
        };
        let ResultLine { text, is_error, .. } = result.await.map_err(|_| BridgeError::Gone)?;
        Ok((text, is_error))
    }

    /// Registers a call before it is made.
    fn await_result(&self, number: u64) -> Result<oneshot::Receiver<ResultLine>, BridgeError> {
        let (sender, result) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().ok_or(BridgeError::Gone)?.insert(number, sender);
        Ok(result)
    }
}
