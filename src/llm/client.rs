//! One provider, ready to be asked. Main type: [`Client`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use genai::chat::{ChatOptions, ChatRequest};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, channel};

use super::fault::TurnFault;
use super::frames::Frames;
use super::optional::{Optional, Refused, Sent};
use super::provider::{Capabilities, Provider, Waited, Watch};
use super::table::Wire;
use super::text;
use super::trouble::{Blame, Failed, Rejected};
use super::turn::{ToolChoice, TurnRequest, TurnResponse};
use super::wire::{self, ForLibrary, Said, Setup};
use crate::sys::http::{Address, Http};

/// The most bytes of a line that has not ended.
const LINE: usize = 16 * 1024 * 1024;

/// A provider behind HTTP.
pub(super) struct Client {
    pub(super) wire: Wire,
    pub(super) capabilities: Capabilities,
    /// Where a turn is sent.
    pub(super) endpoint: Address,
    /// The key, as its header wants it.
    pub(super) headers: Vec<(Arc<str>, String)>,
    pub(super) http: Http,
    pub(super) library: genai::Client,
    pub(super) refused: Refused,
    pub(super) blame: Blame,
}

impl Provider for Client {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        quiet: Duration,
        watch: &'a dyn Watch,
    ) -> Waited<'a, Result<TurnResponse, TurnFault>> {
        Box::pin(self.ask(request, quiet, watch))
    }
}

impl Client {
    /// One attempt. A request that is refused for a field it can do without is none: it is sent again without it.
    async fn ask(&self, request: &TurnRequest, quiet: Duration, watch: &dyn Watch) -> Result<TurnResponse, TurnFault> {
        loop {
            let given = self.refused.given();
            let setup =
                Setup { model: &self.capabilities.model, context_window: self.capabilities.context_window, given };
            let frames = Arc::new(Frames::new(wire::decoder(self.wire)));
            let native = request.speech.is_native() && self.capabilities.tools && given.has(Optional::Tools);
            let in_text = (!native).then(|| text::say(request));
            let said = in_text.as_ref().unwrap_or(request);
            let streamed = match wire::say(self.wire, said, &setup) {
                Said::Library(said) => self.by_library(*said, &frames, quiet, watch).await,
                Said::Own(body) => self.by_ourselves(&body, &frames, quiet, watch).await,
            };
            match streamed {
                Ok(()) => {
                    frames.tell(watch);
                    let draft = frames.finish().map_err(|trouble| self.blame.answer(trouble))?;
                    let response = wire::response(self.wire, draft, said);
                    return Ok(if native { response } else { text::hear(response, request) });
                }
                Err(Failed::Fault(fault)) => return Err(fault),
                Err(Failed::Rejected(rejected)) => {
                    let forced = said.choice == ToolChoice::Required;
                    let sent = Sent { given, forced, tools: !said.tools.is_empty() };
                    if !self.refused.learn(self.wire, sent, rejected.status, &rejected.body) {
                        return Err(self.blame.rejected(&rejected));
                    }
                }
            }
        }
    }

    /// Streams an answer through the client library into `frames`.
    async fn by_library(
        &self,
        said: ForLibrary,
        frames: &Arc<Frames>,
        quiet: Duration,
        watch: &dyn Watch,
    ) -> Result<(), Failed> {
        let ForLibrary { kind, name, chat, options, headers } = said;
        let query = if self.wire == Wire::Gemini { "?alt=sse" } else { "" };
        let own = self.headers.iter().map(|(name, value)| (name.to_string(), value.clone()));
        let more = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let headers: Vec<(String, String)> = own.chain(more).collect();
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(self.endpoint.reveal()),
            // Address and headers as they are: the library would read the model's name into the one and send an empty key in the other.
            auth: AuthData::RequestOverride {
                url: format!("{}{query}", self.endpoint.reveal()),
                headers: Headers::from(headers),
            },
            model: ModelIden::new(kind, name),
        };
        let options = ChatOptions {
            stream_header_timeout: Some(quiet),
            stream_read_timeout: Some(quiet),
            raw_frame_sink: Some(frames.clone()),
            ..options
        };
        let mut stream = beside(self.library.clone(), target, chat, options);
        while let Some(event) = stream.recv().await {
            frames.tell(watch);
            if frames.settled() {
                break;
            }
            let failed = match event {
                Ok(()) => continue,
                Err(Broken::Stream(error)) => self.blame.library(error, frames.began(), quiet),
                Err(Broken::Start(error)) => {
                    let unwritten = || Failed::Fault(self.blame.unreadable("the request cannot be written"));
                    Some(self.blame.library(error, false, quiet).unwrap_or_else(unwritten))
                }
            };
            let Some(failed) = failed else { continue };
            // Some servers hang up without a good-bye after they have said all.
            return if frames.ended() { Ok(()) } else { Err(failed) };
        }
        Ok(())
    }

    /// Streams an answer of one JSON document a line into `frames`.
    async fn by_ourselves(
        &self,
        body: &Value,
        frames: &Frames,
        quiet: Duration,
        watch: &dyn Watch,
    ) -> Result<(), Failed> {
        let silent = |_| Failed::Fault(self.blame.silent(quiet));
        let lost = |cause, began| Failed::Fault(self.blame.lost(cause, began));
        let sent = self.http.post(&self.endpoint, &self.headers, body);
        let mut reply = tokio::time::timeout(quiet, sent).await.map_err(silent)?.map_err(|cause| lost(cause, false))?;
        let status = reply.status();
        if !(200..300).contains(&status) {
            let mut rejected = Rejected::new(status, String::new(), |name| reply.header(name));
            let read = tokio::time::timeout(quiet, reply.error_body()).await;
            rejected.body = read.unwrap_or_default();
            return Err(Failed::Rejected(rejected));
        }
        let mut line = Vec::new();
        loop {
            let piece = tokio::time::timeout(quiet, reply.piece()).await.map_err(silent)?;
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) if frames.ended() => break,
                Err(cause) => return Err(lost(cause, frames.began())),
            };
            for part in piece.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if line.ends_with(b"\n") || line.len() > LINE {
                    frames.take(&String::from_utf8_lossy(&std::mem::take(&mut line)));
                }
            }
            frames.tell(watch);
            if frames.settled() {
                return Ok(());
            }
        }
        frames.take(&String::from_utf8_lossy(&line));
        Ok(())
    }
}

/// What the client library says while it reads a stream.
type Heard = Result<(), Broken>;

/// Where an error of the library's is from.
enum Broken {
    /// The request.
    Start(genai::Error),
    /// The answer.
    Stream(genai::Error),
}

/// Reads the stream in a task of its own: the library goes on for as long as bytes come and no event ends, and whoever polls it hears
/// neither a deadline nor an interrupt meanwhile. Dropping the receiver abandons the task.
fn beside(library: genai::Client, target: ServiceTarget, chat: ChatRequest, options: ChatOptions) -> Receiver<Heard> {
    let (tell, heard) = channel(1);
    tokio::spawn(async move {
        let reading = async {
            let mut stream = match library.exec_chat_stream(target, chat, Some(&options)).await {
                Ok(started) => started.stream,
                Err(error) => return drop(tell.send(Err(Broken::Start(error))).await),
            };
            while let Some(event) = stream.next().await {
                let event = event.map(|_| ()).map_err(Broken::Stream);
                if tell.send(event).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = reading => {}
            () = tell.closed() => {}
        }
    });
    heard
}
