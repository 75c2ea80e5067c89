//! The batch APIs: submitting, polling, results, canceling. Main type: [`BatchClient`].
//!
//! Anthropic's Message Batches: `POST /v1/messages/batches` with `{"requests": [{"custom_id", "params"}]}`, `GET …/{id}` until `processing_status` is
//! `ended`, `GET …/{id}/results` with a line of JSON for each request in any order (platform.claude.com/docs, "Batch processing" and the pages of
//! the API reference about message batches, November 2026). `OpenAI`'s Batch API: the requests are uploaded as a file (`POST /files`, `purpose=batch`),
//! `POST /batches`, `GET /batches/{id}` until `status` is `completed`, `expired`, `cancelled` or `failed`, and the files `output_file_id` and
//! `error_file_id` (platform.openai.com/docs, "Batch API" and its pages of the API reference, November 2026).
//!
//! `results_url` is not followed: the key goes to the address that the user chose and to no other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::llm::frames::{FRAME, ResponseFault};
use crate::llm::request_error::{ErrorResponse, FailedRequest, FaultSource};
use crate::llm::wire::parts::{error_from, list, text};
use crate::llm::wire_format::WireFormat;
use crate::sys::http::{BoxedCause, Http, HttpResponse, ServerAddress};

/// Headers of some requests, which hold for a whole batch.
pub(super) type ExtraHeaders = &'static [(&'static str, &'static str)];

/// Time in which a reply must go on.
const REPLY_TIMEOUT: Duration = Duration::from_mins(2);
/// Maximum bytes of a reply that is not the results.
const DOCUMENT: usize = 1024 * 1024;
/// Maximum bytes of the results of one batch: four times what is submitted at most, and more than any model answers.
const RESULTS: usize = 1024 * 1024 * 1024;
/// Separates the fields of an upload. No line of JSON begins with it.
const BOUNDARY: &str = "----review-batch";
/// The longest id of a batch or a file.
const LONGEST_ID: usize = 128;
/// Status of a request that the batch did not get to.
const EXPIRED: u16 = 408;
/// Status of a request whose batch was canceled.
const CANCELED: u16 = 409;

/// Client of a provider's batch API.
pub(in crate::llm) struct BatchClient {
    pub(in crate::llm) wire: WireFormat,
    /// Address of the provider.
    pub(in crate::llm) base: ServerAddress,
    pub(in crate::llm) headers: Vec<(Arc<str>, String)>,
    pub(in crate::llm) http: Http,
    pub(in crate::llm) blame: FaultSource,
}

/// State of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BatchState {
    /// It is not over.
    Running,
    /// It is over, and these are the addresses of its results.
    Ended(Vec<ServerAddress>),
    /// None of its requests was accepted: the code and the whole reason.
    Failed(String, String),
}

/// The results of a batch, by the id of the request.
#[derive(Debug, Default)]
pub(super) struct BatchResults {
    items: HashMap<String, Result<Vec<u8>, FailedRequest>>,
    /// Lines that are no JSON.
    broken: usize,
    /// Lines that were too long to be read.
    long: usize,
}

/// Checks whether an id is one that can be part of an address.
pub(super) fn is_plain_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

impl BatchClient {
    /// Submits requests, each an id and a body of JSON; returns the id of the batch.
    pub(super) async fn submit(&self, items: &[(&str, &[u8])], extra: ExtraHeaders) -> Result<String, FailedRequest> {
        const JSON: &str = "application/json";
        let created = if self.wire == WireFormat::Messages {
            self.post(&self.batches(), extra, JSON, requests(items)).await?
        } else {
            let endpoint = self.wire.batch_endpoint().unwrap_or_default();
            let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
            let file = self.post(&self.base.join(&["files"]), extra, &media_type, upload(items, endpoint)).await?;
            let file = self.id(&file, "id")?;
            let batch = json!({ "input_file_id": file, "endpoint": endpoint, "completion_window": "24h" });
            self.post(&self.batches(), extra, JSON, batch.to_string().into_bytes()).await?
        };
        self.id(&created, "id")
    }

    /// Asks for the state of a batch.
    pub(super) async fn state(&self, batch: &str) -> Result<BatchState, FailedRequest> {
        let address = self.batches().join(&[batch]);
        let state = self.document(self.http.get(&address, &[], &self.headers)).await?;
        let (is_messages, field) = match self.wire {
            WireFormat::Messages => (true, "processing_status"),
            _ => (false, "status"),
        };
        match (is_messages, text(&state, field)) {
            (_, "") => Err(self.unreadable(&format!("the state of a batch has no {field}"))),
            (true, "ended") => Ok(BatchState::Ended(vec![address.join(&["results"])])),
            (false, "completed" | "expired" | "cancelled") => {
                // A file without any line does not exist.
                let files = ["output_file_id", "error_file_id"].into_iter().filter(|name| state[name].is_string());
                let files = files.map(|name| -> Result<ServerAddress, FailedRequest> {
                    Ok(self.base.join(&["files", &self.id(&state, name)?, "content"]))
                });
                Ok(BatchState::Ended(files.collect::<Result<_, _>>()?))
            }
            (false, "failed") => {
                let code = list(&state["errors"], "data").first().map_or("", |error| text(error, "code"));
                Ok(BatchState::Failed(code.to_owned(), json!({ "error": first_error(&state) }).to_string()))
            }
            // Both may add words for what comes before the end.
            _ => Ok(BatchState::Running),
        }
    }

    /// Reads the results for the wanted requests.
    pub(super) async fn results(
        &self,
        files: &[ServerAddress],
        wanted: &HashSet<String>,
    ) -> Result<BatchResults, FailedRequest> {
        let (mut results, mut bytes) = (BatchResults::default(), 0_usize);
        for file in files {
            let mut reply = self.open(self.http.get(file, &[], &self.headers)).await?;
            let mut lines = ResultLines::default();
            let mut add = |line: Option<&[u8]>| self.add(&mut results, line, wanted);
            while let Some(piece) = self.piece(&mut reply).await? {
                tokio::task::consume_budget().await;
                bytes = bytes.saturating_add(piece.len());
                if bytes > RESULTS {
                    return Err(self.unreadable("the results of a batch have more than 1 GiB"));
                }
                lines.feed(&piece, &mut add);
            }
            lines.end(&mut add);
        }
        Ok(results)
    }

    /// Cancels a batch. One that cannot be canceled ends by itself.
    pub(super) async fn cancel(&self, batch: &str) {
        let address = self.batches().join(&[batch, "cancel"]);
        let _ = self.post(&address, &[], "application/json", b"{}".to_vec()).await;
    }

    /// Creates an error of one request.
    pub(super) fn rejected(status: u16, body: String) -> FailedRequest {
        FailedRequest::Rejected(ErrorResponse::new(status, |_| None).saying(body))
    }

    /// Returns the result of a request, or the reason why there is none.
    pub(super) fn take(&self, results: &mut BatchResults, id: &str, batch: &str) -> Result<Vec<u8>, FailedRequest> {
        results.items.remove(id).unwrap_or_else(|| {
            let message = match (results.broken, results.long) {
                (0, 0) => return Err(self.fault(ResponseFault::Cut(format!("batch {batch} has no result for it")))),
                (0, _) => format!("batch {batch} has a result of more than {} MiB", FRAME / 1024 / 1024),
                (_, _) => format!("batch {batch} has a result that is no JSON"),
            };
            Err(self.unreadable(&format!("{message}, and none for this request")))
        })
    }

    fn batches(&self) -> ServerAddress {
        let path: &[&str] =
            if self.wire == WireFormat::Messages { &["v1", "messages", "batches"] } else { &["batches"] };
        self.base.join(path)
    }

    fn fault(&self, fault: ResponseFault) -> FailedRequest {
        FailedRequest::Fault(self.blame.answer(fault))
    }

    fn unreadable(&self, message: &str) -> FailedRequest {
        FailedRequest::Fault(self.blame.unreadable(message))
    }

    fn id(&self, document: &Value, field: &str) -> Result<String, FailedRequest> {
        let id = text(document, field);
        if is_plain_id(id) { Ok(id.to_owned()) } else { Err(self.unreadable(&format!("{field} is no id: {id:.60?}"))) }
    }

    async fn post(
        &self,
        address: &ServerAddress,
        extra: ExtraHeaders,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<Value, FailedRequest> {
        let extra = extra.iter().map(|(name, value)| (Arc::from(*name), (*value).to_owned()));
        let headers: Vec<_> = self.headers.iter().cloned().chain(extra).collect();
        self.document(self.http.post_bytes(address, &headers, media_type, body)).await
    }

    /// Reads a small document.
    async fn document(
        &self,
        sent: impl Future<Output = Result<HttpResponse, BoxedCause>>,
    ) -> Result<Value, FailedRequest> {
        let (mut reply, mut body) = (self.open(sent).await?, Vec::new());
        while let Some(piece) = self.piece(&mut reply).await? {
            body.extend_from_slice(&piece);
            if body.len() > DOCUMENT {
                return Err(self.unreadable("an answer about a batch has more than 1 MiB"));
            }
        }
        serde_json::from_slice(&body).map_err(|_| self.unreadable("an answer about a batch is no JSON"))
    }

    /// Waits for the head of a reply.
    async fn open(
        &self,
        sent: impl Future<Output = Result<HttpResponse, BoxedCause>>,
    ) -> Result<HttpResponse, FailedRequest> {
        let reply = self.timely(sent).await?;
        let reply = reply.map_err(|cause| FailedRequest::Fault(self.blame.connection_failed(cause, false)))?;
        if (200..300).contains(&reply.status()) {
            return Ok(reply);
        }
        let rejected = ErrorResponse::new(reply.status(), |name| reply.header(name));
        let body = self.timely(reply.error_body()).await.unwrap_or_default();
        Err(FailedRequest::Rejected(rejected.saying(body)))
    }

    async fn piece(&self, reply: &mut HttpResponse) -> Result<Option<Vec<u8>>, FailedRequest> {
        let piece = self.timely(reply.next_piece()).await?;
        piece.map_err(|cause| FailedRequest::Fault(self.blame.connection_failed(cause, true)))
    }

    async fn timely<T>(&self, work: impl Future<Output = T>) -> Result<T, FailedRequest> {
        let silent = |_| FailedRequest::Fault(self.blame.timed_out(REPLY_TIMEOUT));
        tokio::time::timeout(REPLY_TIMEOUT, work).await.map_err(silent)
    }

    /// Adds a line of the results; `None` is one that was too long.
    fn add(&self, results: &mut BatchResults, line: Option<&[u8]>, wanted: &HashSet<String>) {
        let Some(line) = line else {
            results.long += 1;
            return;
        };
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            results.broken += 1;
            return;
        };
        let Some(id) = wanted.get(text(&value, "custom_id")) else { return };
        let outcome = if results.items.contains_key(id) {
            Err(self.unreadable("a batch has two results for this request"))
        } else {
            self.outcome(&value)
        };
        results.items.insert(id.clone(), outcome);
    }

    /// Returns the body of an answer, or why there is none.
    fn outcome(&self, line: &Value) -> Result<Vec<u8>, FailedRequest> {
        let failed = |status: u16, error: &Value| Err(Self::rejected(status, json!({ "error": error }).to_string()));
        let expired = || failed(EXPIRED, &json!("the batch ended before it got to this request"));
        let canceled = || failed(CANCELED, &json!("the batch was canceled before it got to this request"));
        if self.wire == WireFormat::Messages {
            let result = &line["result"];
            return match text(result, "type") {
                "succeeded" => Ok(result["message"].to_string().into_bytes()),
                "expired" => expired(),
                "canceled" => canceled(),
                "errored" => {
                    let error = result["error"].get("error").filter(|error| error.is_object());
                    let error = error.unwrap_or(&result["error"]);
                    failed(status_of(error), error)
                }
                other => Err(self.unreadable(&format!("a batch has a result of the kind {other:.60?}"))),
            };
        }
        let (error, response) = (&line["error"], &line["response"]);
        match (text(error, "code"), response["status_code"].as_u64().and_then(|status| u16::try_from(status).ok())) {
            ("batch_expired", _) => expired(),
            ("batch_cancelled", _) => canceled(),
            _ if !error.is_null() => failed(status_of(error), error),
            (_, Some(200..=299)) => Ok(response["body"].to_string().into_bytes()),
            (_, Some(status @ 400..=599)) => Err(Self::rejected(status, response["body"].to_string())),
            (_, status) => Err(self.unreadable(&format!("a batch has a result with the status {status:?}"))),
        }
    }
}

/// Returns the status for an error without one of its own; an unknown error may pass.
fn status_of(error: &Value) -> u16 {
    match error_from(error) {
        ResponseFault::Said { status: Some(status), .. } => status,
        _ => 500,
    }
}

/// Returns the first error of a batch that failed as a whole.
fn first_error(state: &Value) -> Value {
    list(&state["errors"], "data").first().cloned().unwrap_or_else(|| json!({ "message": "the batch failed" }))
}

/// Writes the requests of a message batch.
fn requests(items: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = br#"{"requests":["#.to_vec();
    for (at, (id, body)) in items.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        out.extend_from_slice(format!(r#"{{"custom_id":"{id}","params":"#).as_bytes());
        out.extend_from_slice(body);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    out
}

/// Writes the upload of requests, a line each, as a form with a file.
fn upload(items: &[(&str, &[u8])], endpoint: &str) -> Vec<u8> {
    let field = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n");
    let file =
        "content-disposition: form-data; name=\"file\"; filename=\"batch.jsonl\"\r\ncontent-type: application/jsonl";
    let mut out = format!("{field}--{BOUNDARY}\r\n{file}\r\n\r\n").into_bytes();
    for (id, body) in items {
        let head = format!(r#"{{"custom_id":"{id}","method":"POST","url":"{endpoint}","body":"#);
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(b"}\n");
    }
    out.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    out
}

/// Splits results into lines. A line that is too long is dropped as it arrives.
#[derive(Default)]
struct ResultLines {
    line: Vec<u8>,
    is_long: bool,
}

impl ResultLines {
    fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(Option<&[u8]>)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.is_long |= self.line.len() + part.len() > FRAME;
            if self.is_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.end(each);
            }
        }
    }

    fn end(&mut self, each: &mut impl FnMut(Option<&[u8]>)) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if std::mem::take(&mut self.is_long) {
            each(None);
        } else if !line.is_empty() {
            each(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_each_api_reads_them() {
        let items: &[(&str, &[u8])] = &[("a-0", br#"{"x":1}"#), ("b-0", br#"{"y":"--z\n"}"#)];
        assert_eq!(
            String::from_utf8(requests(items)).unwrap(),
            r#"{"requests":[{"custom_id":"a-0","params":{"x":1}},{"custom_id":"b-0","params":{"y":"--z\n"}}]}"#
        );
        let form = String::from_utf8(upload(items, "/v1/responses")).unwrap();
        let parts: Vec<&str> = form.split(&format!("--{BOUNDARY}")).collect();
        assert_eq!(parts.len(), 4, "{form}");
        assert!(parts[1].ends_with("name=\"purpose\"\r\n\r\nbatch\r\n") && parts[3] == "--\r\n", "{form}");
        let lines: Vec<Value> = parts[2]
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[1]["body"]["y"], "--z\n");
        assert_eq!((&lines[0]["url"], &lines[0]["method"]), (&json!("/v1/responses"), &json!("POST")));
    }

    #[test]
    fn a_long_line_is_dropped_and_those_around_it_stay() {
        let (mut lines, mut seen) = (ResultLines::default(), Vec::new());
        let mut add = |line: Option<&[u8]>| seen.push(line.map(<[u8]>::to_vec));
        lines.feed(b"one\r\n\nt", &mut add);
        lines.feed(b"wo\n", &mut add);
        for _ in 0..=FRAME / 65_536 {
            lines.feed(&vec![b'x'; 65_536], &mut add);
        }
        lines.feed(b"\nlast", &mut add);
        assert!(lines.line.capacity() < 65_536);
        lines.end(&mut add);
        assert_eq!(seen, [Some(b"one".to_vec()), Some(b"two".to_vec()), None, Some(b"last".to_vec())]);
    }

    #[test]
    fn no_id_leads_to_another_address() {
        assert!(is_plain_id("msgbatch_01Ab-9") && is_plain_id("file-x"));
        for id in ["", ".", "..", "a/b", "a?b", "a b", "ü", &"a".repeat(LONGEST_ID + 1)] {
            assert!(!is_plain_id(id), "{id}");
        }
    }
}
