//! Standard input and output as a transport: one JSON message a line. Main type: [`Lines`].
//!
//! The SDK's own transport passes over what it cannot read, and whoever sent it waits for ever. This one answers: with the id of the request
//! where it has one.

use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{QuitReason, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::MAX_MESSAGE;
use super::handler::Handler;

/// So many messages are read ahead of the one that is being handed on.
const AHEAD: usize = 64;

/// Serves the one client behind standard input and output until it closes them.
pub(super) async fn serve(handler: Handler, stop: CancellationToken) {
    let lines = Lines::start(tokio::io::stdin(), tokio::io::stdout());
    // A client that goes before it said anything is no fault.
    if let Ok(running) = handler.serve_with_ct(lines, stop).await {
        let _: Result<QuitReason, _> = running.waiting().await;
    }
}

/// A transport over two streams of bytes.
pub(super) struct Lines<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    writer: Arc<Mutex<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// Reads from now on.
    pub(super) fn start(reader: impl AsyncRead + Send + Unpin + 'static, writer: W) -> Self {
        let (sender, messages) = mpsc::channel(AHEAD);
        let writer = Arc::new(Mutex::new(writer));
        tokio::spawn(read(BufReader::new(reader), sender, Arc::clone(&writer)));
        Self { messages, writer }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move { write(&writer, &item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.messages.close();
        self.writer.lock().await.flush().await
    }
}

/// Hands on what can be read, and answers what cannot, until the stream ends.
async fn read<R, W>(mut reader: BufReader<R>, sender: mpsc::Sender<ClientJsonRpcMessage>, writer: Arc<Mutex<W>>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    loop {
        let message = match next_line(&mut reader, &mut line).await {
            Line::End => return,
            Line::TooLong => {
                let text = format!("the message is longer than {} MiB", MAX_MESSAGE >> 20);
                Err((ErrorData::new(ErrorCode::INVALID_REQUEST, text, None), None))
            }
            Line::Whole if line.trim_ascii().is_empty() => continue,
            Line::Whole => parse(&line),
        };
        line.clear();
        // A long line must not be kept once it has been read.
        line.shrink_to(64 << 10);
        match message {
            Ok(message) => {
                if sender.send(message).await.is_err() {
                    return;
                }
            }
            Err((error, id)) => {
                if write(&writer, &ServerJsonRpcMessage::error(error, id)).await.is_err() {
                    return;
                }
            }
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads a line into `line`; the rest of one that is too long is passed over. What follows the last line end is no message.
async fn next_line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>, line: &mut Vec<u8>) -> Line {
    let mut too_long = false;
    loop {
        let Ok(available) = reader.fill_buf().await else { return Line::End };
        if available.is_empty() {
            return Line::End;
        }
        let end = memchr::memchr(b'\n', available);
        let taken = end.map_or(available.len(), |end| end + 1);
        too_long = too_long || line.len() + taken > MAX_MESSAGE;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(&available[..taken]);
        }
        reader.consume(taken);
        match (end, too_long) {
            (Some(_), true) => return Line::TooLong,
            (Some(_), false) => return Line::Whole,
            (None, _) => {}
        }
    }
}

/// A message, or what is wrong with it and the id of the request that it would have been.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, (ErrorData, Option<RequestId>)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (ErrorData::new(ErrorCode::PARSE_ERROR, format!("this is not JSON: {error}"), None), None))?;
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let fault = |text: String| (ErrorData::new(ErrorCode::INVALID_REQUEST, text, None), id.clone());
    if value.is_array() {
        return Err(fault("a batch is not served: send each message on a line of its own".to_owned()));
    }
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(fault("this is no JSON-RPC message: \"jsonrpc\" must be \"2.0\"".to_owned()));
    }
    serde_json::from_value(value).map_err(|error| {
        fault(format!("this is no message of the protocol ({error}): a request has method, id and params"))
    })
}

async fn write<W: AsyncWrite + Unpin>(writer: &Mutex<W>, message: &ServerJsonRpcMessage) -> Result<(), std::io::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}
