//! Standard input and output as a transport: one JSON message a line. Main type: [`StdioTransport`].
//!
//! The SDK's own transport ignores unreadable messages, and their sender waits forever. This one responds: with the id of the request if it
//! has one.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::pending_requests::PendingRequests;
use super::{MAX_MESSAGE, ServeError};
use crate::domain::text::{BuildLogs, Syntax};

/// Number of messages that are read ahead of the one being handled.
const AHEAD: usize = 64;
/// Time limit for finishing writes at the end; a client that does not read does not delay it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves the one client on standard input and output until it closes them.
pub(super) async fn serve(handler: Handler, logs: BuildLogs, stop: CancellationToken) -> Result<(), ServeError> {
    let lines = StdioTransport::start(tokio::io::stdin(), output(), logs);
    match handler.serve_with_ct(lines, stop).await {
        Ok(running) => {
            let _: Result<QuitReason, _> = running.waiting().await;
            Ok(())
        }
        // A client that disconnects before its first message is not an error, nor is an interrupt.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(ServeError::Handshake(error.to_string())),
    }
}

/// Returns the standard output.
pub(super) fn output() -> tokio::io::Stdout {
    tokio::io::stdout()
}

/// A transport over two byte streams.
pub(super) struct StdioTransport<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Arc<ClientWriter<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> StdioTransport<W> {
    /// Starts reading.
    pub(super) fn start(reader: impl AsyncRead + Send + Unpin + 'static, writer: W, logs: BuildLogs) -> Self {
        let (sender, messages) = mpsc::channel(AHEAD);
        let out = Arc::new(ClientWriter {
            writer: Mutex::new(writer),
            logs,
            due: PendingRequests::default(),
            deaf: CancellationToken::new(),
        });
        tokio::spawn(read(BufReader::new(reader), sender, Arc::clone(&out)));
        Self { messages, out }
    }
}

/// The writing side of the connection.
struct ClientWriter<W> {
    writer: Mutex<W>,
    logs: BuildLogs,
    due: PendingRequests,
    /// Set when nothing can be written any more.
    deaf: CancellationToken,
}

impl<W: AsyncWrite + Unpin> ClientWriter<W> {
    async fn write(&self, message: &ServerJsonRpcMessage) -> Result<(), std::io::Error> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut writer = self.writer.lock().await;
        let written = match writer.write_all(&self.logs.escape(&line, Syntax::Json)).await {
            Ok(()) => writer.flush().await,
            failed => failed,
        };
        drop(writer);
        if written.is_err() {
            self.deaf.cancel();
        }
        self.due.remove_answered(message);
        written
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for StdioTransport<W> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let out = Arc::clone(&self.out);
        async move { out.write(&item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        tokio::select! {
            message = self.messages.recv() => message,
            // A client that closed its reading end is gone, though its writing end may still be open.
            () = self.out.deaf.cancelled() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.messages.close();
        let last = async { self.out.writer.lock().await.flush().await };
        tokio::time::timeout(LAST_WORDS, last).await.unwrap_or(Ok(()))
    }
}

/// Forwards readable messages, and responds to unreadable ones, until the stream ends.
async fn read<R, W>(mut reader: BufReader<R>, sender: mpsc::Sender<ClientJsonRpcMessage>, out: Arc<ClientWriter<W>>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    let mut begun = false;
    loop {
        out.due.wait_for_room().await;
        let message = match next_line(&mut reader, &mut line).await {
            LineRead::End => return,
            LineRead::TooLong => {
                let text = format!("the message is longer than {} MiB", MAX_MESSAGE >> 20);
                Err(refusal(ErrorCode::INVALID_REQUEST, text, None))
            }
            LineRead::Whole if line.trim_ascii().is_empty() => continue,
            LineRead::Whole => parse(&line),
        };
        let size = line.len();
        line.clear();
        // The buffer of a long line must not stay allocated after it was read.
        line.shrink_to(64 << 10);
        match message {
            // The SDK disconnects a client that begins with anything but a request; such a message needs no response.
            Ok(message) if !begun && !matches!(message, ClientJsonRpcMessage::Request(_)) => {}
            Ok(message) => {
                begun = begun || is_a_beginning(&message);
                out.due.add(&message, size);
                if sender.send(message).await.is_err() {
                    return;
                }
            }
            Err(refusal) => {
                if out.write(&refusal).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Checks whether a request settles the protocol version: `ping` and `discover` do not.
fn is_a_beginning(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    !matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_))
}

enum LineRead {
    Whole,
    TooLong,
    End,
}

/// Reads a line into `line`; the rest of one that is too long is skipped. Text after the last line ending is not a message.
async fn next_line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>, line: &mut Vec<u8>) -> LineRead {
    let mut too_long = false;
    loop {
        let Ok(available) = reader.fill_buf().await else { return LineRead::End };
        if available.is_empty() {
            return LineRead::End;
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
            (Some(_), true) => return LineRead::TooLong,
            (Some(_), false) => return LineRead::Whole,
            (None, _) => {}
        }
    }
}

fn refusal(code: ErrorCode, why: String, id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    Box::new(ServerJsonRpcMessage::error(ErrorData::new(code, why, None), id))
}

/// Parses a message; the error is the response to send, with the id of the request if there is one.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| refusal(ErrorCode::PARSE_ERROR, format!("this is not JSON: {error}"), None))?;
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let fault = |text: String| refusal(ErrorCode::INVALID_REQUEST, text, id.clone());
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

#[cfg(test)]
mod tests {
    use super::super::pending_requests;
    use super::*;
    use serde_json::json;
    use tokio::io::{DuplexStream, duplex};

    /// Returns a transport, the client's end of its input, and the lines it writes.
    fn connected() -> (StdioTransport<DuplexStream>, DuplexStream, tokio::io::Lines<BufReader<DuplexStream>>) {
        let (client, reader) = duplex(1 << 16);
        let (writer, answers) = duplex(1 << 16);
        (StdioTransport::start(reader, writer, BuildLogs::default()), client, BufReader::new(answers).lines())
    }

    fn ping(id: u32) -> Vec<u8> {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n").into_bytes()
    }

    async fn answer(answers: &mut tokio::io::Lines<BufReader<DuplexStream>>) -> Value {
        serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_answered_and_what_follows_is_handed_on() {
        let (mut lines, mut client, mut answers) = connected();
        for (bad, code, id) in [
            (&b"{\"jsonrpc\"\n"[..], -32700, Value::Null),
            (b"\xff\xfe\n", -32700, Value::Null),
            (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n", -32600, Value::Null),
            (b"{\"id\":3,\"method\":\"ping\"}\n", -32600, json!(3)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"nothing\":1}\n", -32600, json!("x")),
            (b"7\n", -32600, Value::Null),
        ] {
            client.write_all(bad).await.unwrap();
            let answer = answer(&mut answers).await;
            let shown = String::from_utf8_lossy(bad);
            assert_eq!(answer["error"]["code"], code, "{shown} {answer}");
            assert_eq!(answer["id"], id, "{shown} {answer}");
        }
        client.write_all(b"\r\n \n").await.unwrap();
        client.write_all(&ping(9)).await.unwrap();
        assert!(
            matches!(lines.receive().await, Some(ClientJsonRpcMessage::Request(request)) if request.id == RequestId::Number(9))
        );
        drop(client);
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_kept() {
        let (mut lines, mut client, mut answers) = connected();
        let writing = tokio::spawn(async move {
            let block = vec![b'x'; 1 << 16];
            for _ in 0..=(MAX_MESSAGE >> 16) {
                client.write_all(&block).await.unwrap();
            }
            client.write_all(b"\n").await.unwrap();
            client.write_all(&ping(1)).await.unwrap();
            client
        });
        let answer = answer(&mut answers).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("longer than 8 MiB"), "{answer}");
        assert!(lines.receive().await.is_some());
        writing.await.unwrap();
    }

    fn answered(id: u32) -> ServerJsonRpcMessage {
        serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "result": {} })).unwrap()
    }

    /// Returns the number of requests that are handled before a pause, which is longer while fewer than `least` have come: on a busy machine
    /// they take their time.
    async fn taken(lines: &mut StdioTransport<DuplexStream>, least: usize) -> usize {
        let mut count = 0;
        let moment = |count| if count < least { Duration::from_secs(30) } else { Duration::from_millis(200) };
        while let Ok(Some(message)) = tokio::time::timeout(moment(count), lines.receive()).await {
            count += usize::from(matches!(message, ClientJsonRpcMessage::Request(_)));
        }
        count
    }

    #[tokio::test]
    async fn whoever_is_owed_many_answers_is_not_read_until_it_has_some() {
        let (mut lines, mut client, mut answers) = connected();
        let cancelled = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n";
        client.write_all(&ping(0)).await.unwrap();
        for id in 1..=10 {
            client.write_all(&ping(id)).await.unwrap();
        }
        client.write_all(cancelled).await.unwrap();
        for id in 11..700 {
            client.write_all(&ping(id)).await.unwrap();
        }
        // One of them was cancelled, and gets no response.
        assert_eq!(taken(&mut lines, pending_requests::MOST + 1).await, pending_requests::MOST + 1);
        for id in [5, 6] {
            lines.send(answered(id)).await.unwrap();
            answer(&mut answers).await;
        }
        assert_eq!(taken(&mut lines, 2).await, 2);
    }

    #[tokio::test]
    async fn large_requests_are_not_read_ahead_in_numbers() {
        let (mut lines, mut client, _answers) = connected();
        let writing = tokio::spawn(async move {
            let text = "x".repeat(MAX_MESSAGE - 1024);
            for id in 0..20 {
                let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": text } });
                client.write_all(format!("{request}\n").as_bytes()).await.unwrap();
            }
        });
        let first = lines.receive().await;
        assert!(first.is_some());
        drop(first);
        let mut count = 1;
        while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(3), lines.receive()).await {
            count += 1;
        }
        assert!(count < 8, "{count}");
        writing.abort();
    }

    #[tokio::test]
    async fn a_client_that_cannot_be_answered_is_gone() {
        let (mut lines, client, answers) = connected();
        drop(answers);
        assert!(lines.send(answered(1)).await.is_err());
        assert!(lines.receive().await.is_none());
        drop(client);
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_does_not_hold_up_the_end() {
        let (mut lines, client, answers) = connected();
        let long = json!({ "jsonrpc": "2.0", "id": 1, "result": { "text": "x".repeat(1 << 20) } });
        let sending = tokio::spawn(lines.send(serde_json::from_value(long).unwrap()));
        tokio::task::yield_now().await;
        tokio::time::timeout(LAST_WORDS * 20, lines.close()).await.unwrap().unwrap();
        sending.abort();
        drop((client, answers));
    }

    #[tokio::test]
    async fn what_asks_for_nothing_is_passed_over_before_the_beginning() {
        let (mut lines, mut client, _answers) = connected();
        let notice = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
        client.write_all(notice).await.unwrap();
        client.write_all(&ping(1)).await.unwrap();
        client.write_all(notice).await.unwrap();
        assert!(matches!(lines.receive().await, Some(ClientJsonRpcMessage::Request(_))));
        assert!(matches!(lines.receive().await, Some(ClientJsonRpcMessage::Notification(_))));
    }
}
