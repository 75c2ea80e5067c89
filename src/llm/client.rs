//! HTTP client of one provider. Main type: [`HttpProvider`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batches::BatchTransport;
use super::events::{EventSplitter, Framing};
use super::fault::TurnFault;
use super::frames::{FrameReader, PIECES, ResponseFault};
use super::optional_fields::{OptionalField, RefusedFields, UsedFields};
use super::provider::{BoxFuture, Capabilities, Provider, StreamObserver};
use super::rate_limit::{RateLimitHeaders, RateLimitTicket, RateLimiter};
use super::request_error::{ErrorResponse, FailedRequest, FaultSource};
use super::text;
use super::turn::{ToolChoice, TurnRequest, TurnResponse};
use super::wire::{self, WireRequest, WireSetup};
use super::wire_format::WireFormat;
use crate::sys::http::{Http, HttpResponse, ServerAddress};

/// A provider behind HTTP.
pub(super) struct HttpProvider {
    pub(super) wire: WireFormat,
    pub(super) capabilities: Capabilities,
    /// Address that turns are sent to.
    pub(super) endpoint: ServerAddress,
    /// The key, as its header wants it.
    pub(super) headers: Vec<(Arc<str>, String)>,
    pub(super) http: Http,
    pub(super) refused: RefusedFields,
    pub(super) first_wait: Duration,
    pub(super) blame: FaultSource,
    /// The line of its key.
    pub(super) pace: Arc<RateLimiter>,
    /// The way into message batches, if turns go by them.
    pub(super) batches: Option<BatchTransport>,
}

impl Provider for HttpProvider {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn first_wait(&self) -> Duration {
        self.first_wait
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        quiet: Duration,
        watch: &'a dyn StreamObserver,
    ) -> BoxFuture<'a, Result<TurnResponse, TurnFault>> {
        Box::pin(self.attempt(request, quiet, watch))
    }
}

impl HttpProvider {
    /// Makes one attempt. A request that is refused because of an optional field is sent again without it.
    async fn attempt(
        &self,
        request: &TurnRequest,
        quiet: Duration,
        watch: &dyn StreamObserver,
    ) -> Result<TurnResponse, TurnFault> {
        loop {
            let given = self.refused.fields_to_send();
            let setup =
                WireSetup { model: &self.capabilities.model, context_window: self.capabilities.context_window, given };
            let native = request.speech.is_native() && self.capabilities.tools && given.contains(OptionalField::Tools);
            let in_text = (!native).then(|| text::to_text_protocol(request));
            let said = in_text.as_ref().unwrap_or(request);
            let frames = FrameReader::new(wire::decoder(self.wire));
            let wire_request = wire::build_request(self.wire, said, &setup);
            // A batch is no request of a minute: it has limits of its own.
            let batched = match &self.batches {
                Some(batches) => batches.send(&wire_request, watch).await.map(|result| (batches, result)),
                None => None,
            };
            let mut ticket = None;
            let (batches, sent) = match batched {
                Some((batches, result)) => (Some(batches), result.map(|body| frames.feed_all(&body))),
                None => {
                    ticket = Some(self.wait(request, watch).await?);
                    (None, self.stream(wire_request, &frames, quiet, watch).await)
                }
            };
            match sent {
                Ok(()) => {
                    frames.notify(watch);
                    let draft = frames.finish().map_err(|trouble| self.blame.answer(trouble))?;
                    let response = wire::response(self.wire, draft, said);
                    let mut response = if native { response } else { text::parse_calls(response, request) };
                    // The same limit as for frames: each part needs a result, which is sent with every later request.
                    if response.parts.len() > PIECES {
                        let words = format!("more than {PIECES} pieces in one answer");
                        return Err(self.blame.answer(ResponseFault::Unreadable(words)));
                    }
                    let usage = &mut response.usage;
                    if let Some(ticket) = ticket {
                        ticket
                            .correct_tokens(usage.input.zip(usage.output).map(|(sent, got)| sent.saturating_add(got)));
                    }
                    let prices = self.capabilities.prices;
                    usage.cost = match batches {
                        Some(batches) => batches.book(usage, prices),
                        None => usage.cost.or_else(|| prices?.cost(usage)),
                    };
                    return Ok(response);
                }
                Err(FailedRequest::Fault(fault)) => return Err(fault),
                Err(FailedRequest::Rejected(rejected)) => {
                    if let Some(ticket) = ticket {
                        ticket.correct_tokens(Some(0));
                    }
                    self.pace.apply_headers(rejected.told);
                    let forced = said.choice == ToolChoice::Required;
                    let sent = UsedFields { given, forced, tools: !said.tools.is_empty() };
                    if !self.refused.learn(self.wire, sent, rejected.status, &rejected.body) {
                        return Err(self.blame.rejected(&rejected));
                    }
                }
            }
        }
    }

    /// Waits until the request may be sent, as far as the observer has the time.
    async fn wait(&self, request: &TurnRequest, watch: &dyn StreamObserver) -> Result<RateLimitTicket, TurnFault> {
        let tokens = if self.pace.counts_tokens() { tokens(request) } else { 1 };
        let (mut ticket, mut wait) = self.pace.enqueue(tokens, Instant::now());
        while !wait.is_zero() {
            if !watch.waits(wait) {
                return Err(TurnFault::Paced { provider: self.blame.provider.clone(), wait });
            }
            tokio::time::sleep(wait).await;
            // Meanwhile the provider may have asked another conversation to wait.
            wait = self.pace.gate(tokens, Instant::now());
        }
        ticket.send();
        Ok(ticket)
    }

    /// Sends a request and streams its response into `frames`.
    async fn stream(
        &self,
        said: WireRequest,
        frames: &FrameReader,
        quiet: Duration,
        watch: &dyn StreamObserver,
    ) -> Result<(), FailedRequest> {
        let silent = |_| FailedRequest::Fault(self.blame.timed_out(quiet));
        let lost = |cause, began| FailedRequest::Fault(self.blame.connection_failed(cause, began));
        let more = said.headers.iter().map(|(name, value)| (Arc::from(*name), (*value).to_owned()));
        let headers: Vec<(Arc<str>, String)> = self.headers.iter().cloned().chain(more).collect();
        let address = self.address();
        let sent = self.http.post(&address, &headers, &said.body);
        let mut reply = tokio::time::timeout(quiet, sent).await.map_err(silent)?.map_err(|cause| lost(cause, false))?;
        let status = reply.status();
        if !(200..300).contains(&status) {
            let rejected = ErrorResponse::new(status, |name| reply.header(name));
            let body = tokio::time::timeout(quiet, reply.error_body()).await;
            return Err(FailedRequest::Rejected(rejected.saying(body.unwrap_or_default())));
        }
        self.pace.apply_headers(RateLimitHeaders::read(|name| reply.header(name), None, Instant::now()));
        // Compressed data must not be parsed as text: parts of it may look like events.
        if let Some(coding) = reply.header("content-encoding").filter(|coding| !coding.eq_ignore_ascii_case("identity"))
        {
            let words =
                format!("it is compressed ({coding}), and nobody asked for that; look at what stands in between");
            return Err(FailedRequest::Fault(self.blame.unreadable(&words)));
        }
        // A page for people, of a proxy or a portal, is no answer, however it is framed: what stands in between may be gone at the next attempt.
        if content_type(&reply).starts_with("text/html") {
            return Ok(());
        }
        let mut splitter = EventSplitter::new(self.framing(&reply));
        loop {
            // A server that always has more data ready would starve everything else on this thread, including a deadline.
            tokio::task::consume_budget().await;
            let piece = match tokio::time::timeout(quiet, reply.next_piece()).await.map_err(silent)? {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // Some servers close the connection without a proper end after a complete response.
                Err(_) if frames.is_ended() => break,
                // The head has arrived: the server may have begun to charge.
                Err(cause) => return Err(lost(cause, true)),
            };
            splitter.feed(&piece, &mut |frame| frames.feed(frame));
            frames.record_arrival(piece.len(), splitter.pending_bytes());
            frames.notify(watch);
            if frames.is_settled() {
                return Ok(());
            }
        }
        splitter.end(&mut |frame| frames.feed(frame));
        Ok(())
    }

    /// Returns the address of a turn, with the framing of the response.
    fn address(&self) -> ServerAddress {
        match self.wire {
            WireFormat::Gemini => self.endpoint.with_query("alt", "sse"),
            WireFormat::Messages | WireFormat::Responses | WireFormat::Chat | WireFormat::Ollama => {
                self.endpoint.clone()
            }
        }
    }

    /// Returns the framing of the response: that of the wire format, unless the server says that it did not stream.
    fn framing(&self, reply: &HttpResponse) -> Framing {
        match wire::framing(self.wire) {
            Framing::Events if content_type(reply).starts_with("application/json") => Framing::Whole,
            framing => framing,
        }
    }
}

/// Returns the media type of a response, in lower case; empty without one.
fn content_type(reply: &HttpResponse) -> String {
    reply.header("content-type").unwrap_or_default().trim().to_ascii_lowercase()
}

/// Estimates the tokens of a request: four bytes per token.
fn tokens(request: &TurnRequest) -> u64 {
    serde_json::to_vec(request).map_or(1, |text| (text.len() as u64 / 4).max(1))
}
