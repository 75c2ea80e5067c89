//! The client of an extension: one connection, requests matched by their ids. Main type: [`EditorClient`].
//!
//! The peer's generation is unknown until it answers. Until then, and with extensions that read one message at a time, a request waits for
//! the reply to the one before it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use uuid::Uuid;

use super::decoder::{DecodedPiece, ObjectDecoder};
use super::dialer::{BUS, BY_PID, EditorDialer};
use super::error::EditorError;
use super::message::{EditorReply, PeerMessage, encode, parse};
use crate::domain::text::{shorten, strip_line};
use crate::sys::local_socket::{LocalStream, SocketFault};

/// Time limit of a request, and of each attempt to connect.
pub(super) const REPLY: Duration = Duration::from_secs(5);
/// Time limit of waiting for the requests before.
const TURN: Duration = Duration::from_secs(30);
/// The number of attempts to connect, and the wait before the second one, which doubles from there.
const ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Limit on concurrent requests to extensions that read messages by line.
const AT_ONCE: usize = 16;
/// Maximum size in bytes of a reply.
const LONGEST_REPLY: usize = 1 << 20;
/// Maximum length in characters of an error text of the peer.
const LONGEST_ERROR: usize = 500;

/// The clock of all waits, so that tests need none.
#[derive(Clone)]
pub struct EditorTimer(Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>);

impl EditorTimer {
    /// Creates a timer from the function that waits.
    pub fn new(wait: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(wait))
    }

    fn wait(&self, length: Duration) -> BoxFuture<'static, ()> {
        (self.0)(length)
    }
}

impl Default for EditorTimer {
    fn default() -> Self {
        Self::new(|length| Box::pin(tokio::time::sleep(length)))
    }
}

/// The framing of a peer, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerFraming {
    Unknown,
    /// It parses each piece that arrives as one message (generations A and B).
    Pieces,
    /// It reads lines (C and later).
    Lines,
}

/// The known properties of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerTraits {
    pub(super) framing: PeerFraming,
    /// `true` if the socket is a bus with several participants (E).
    pub(super) is_bus: bool,
    /// `true` if it knows `present-review` alone (A).
    pub(super) is_hyphenated: bool,
}

/// A client. Cloning it shares the connection.
#[derive(Clone)]
pub struct EditorClient {
    shared: Arc<ClientState>,
}

struct ClientState {
    dialer: Box<dyn EditorDialer>,
    timer: EditorTimer,
    /// The process of the terminal's shell, by which a bus finds the window; 0 is every window.
    shell: u32,
    peer: Mutex<PeerState>,
    /// Notified when a request ends.
    room: Notify,
    link: tokio::sync::Mutex<Option<EditorLink>>,
}

struct PeerState {
    traits: PeerTraits,
    pending: HashMap<Uuid, PendingReply>,
    /// The number of requests that have their turn.
    active: usize,
    /// The number of the current connection, and `true` while it is open.
    connection: u64,
    is_open: bool,
    /// `true` if a reply has begun and not ended.
    is_inside: bool,
    /// `true` while an announcement is being sent.
    is_announcing: bool,
}

struct PendingReply {
    reply: oneshot::Sender<Result<EditorReply, EditorError>>,
    /// The length of the request, in bytes.
    bytes: usize,
}

/// The writing side of a connection; dropping it ends the reader too.
struct EditorLink {
    writer: WriteHalf<LocalStream>,
    connection: u64,
    /// `true` if a message was written in part: nothing can follow it.
    is_cut: bool,
    reader: AbortHandle,
}

impl Drop for EditorLink {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The turn of a request, given back when it is dropped.
struct RequestTurn<'c>(&'c ClientState);

impl Drop for RequestTurn<'_> {
    fn drop(&mut self) {
        self.0.peer().active -= 1;
        self.0.room.notify_waiters();
    }
}

/// The entry of a request in the list of pending ones, removed when it is dropped.
struct PendingEntry<'c>(&'c ClientState, Uuid);

impl Drop for PendingEntry<'_> {
    fn drop(&mut self) {
        self.0.peer().pending.remove(&self.1);
    }
}

impl EditorClient {
    /// Creates a client; nothing is connected yet. `shell` is the process of the terminal's shell, 0 if unknown.
    pub fn new(dialer: impl EditorDialer + 'static, timer: EditorTimer, shell: u32) -> Self {
        let address = dialer.address();
        let name = address.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_bus = name.starts_with(BUS);
        let is_lines = is_bus || name.starts_with(BY_PID);
        let framing = if is_lines { PeerFraming::Lines } else { PeerFraming::Unknown };
        let peer = PeerState {
            traits: PeerTraits { framing, is_bus, is_hyphenated: false },
            pending: HashMap::new(),
            active: 0,
            connection: 0,
            is_open: false,
            is_inside: false,
            is_announcing: false,
        };
        let shared = ClientState {
            dialer: Box::new(dialer),
            timer,
            shell,
            peer: Mutex::new(peer),
            room: Notify::new(),
            link: tokio::sync::Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn traits(&self) -> PeerTraits {
        self.shared.peer().traits
    }

    pub(super) fn use_hyphen(&self) {
        self.shared.peer().traits.is_hyphenated = true;
    }

    /// Sends a request and waits for its reply. A reply that reports a failure is a reply. Requests have no effect when they are repeated: one
    /// that finds its old connection gone is sent again on a new one.
    pub(super) async fn request(&self, kind: &str, payload: Value) -> Result<EditorReply, EditorError> {
        let client = &*self.shared;
        let _turn = client.turn().await?;
        let was_open = client.peer().is_open;
        match self.attempt(kind, payload.clone()).await {
            Err(EditorError::Closed) if was_open => self.attempt(kind, payload).await,
            ended => ended,
        }
    }

    async fn attempt(&self, kind: &str, payload: Value) -> Result<EditorReply, EditorError> {
        let client = &*self.shared;
        let id = Uuid::new_v4();
        let message = encode(kind, payload, client.shell, id);
        let _entry = PendingEntry(client, id);
        let reply = client.send(&self.shared, id, &message).await?;
        match client.within(REPLY, reply).await {
            Some(Ok(received)) => {
                let clean = |text: String| shorten(&strip_line(&text), LONGEST_ERROR);
                received.map(|reply| EditorReply { error: reply.error.map(clean), ..reply })
            }
            Some(Err(_)) => Err(EditorError::Closed),
            None => {
                let PeerState { traits: PeerTraits { is_bus, .. }, is_inside, .. } = *client.peer();
                if is_inside {
                    // The rest of a reply that is never completed would swallow the next one.
                    *client.link.lock().await = None;
                    client.lose(None);
                }
                Err(timeout(is_bus))
            }
        }
    }

    /// Sends a message to the participants of a bus that has no reply; nothing is sent to other peers.
    pub(super) async fn announce(&self, kind: &str, payload: Value) {
        self.shared.announce(kind, payload).await;
    }

    /// Ends the connection; the next request opens another one.
    pub async fn close(&self) {
        self.announce("goodbye", json!({})).await;
        *self.shared.link.lock().await = None;
        self.shared.lose(None);
    }
}

fn timeout(is_bus: bool) -> EditorError {
    let hint = if is_bus {
        "; no window of the editor answered: run this in a terminal of VS Code, with an extension that still has present_review (before \
         September 2025)"
    } else {
        "; see whether the editor hangs, or reload its window"
    };
    EditorError::Timeout { seconds: REPLY.as_secs(), hint }
}

impl ClientState {
    fn peer(&self) -> MutexGuard<'_, PeerState> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a result, for a limited time.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // What is done in time counts, even if nobody looked in time.
            biased;
            done = work => Some(done),
            () = self.timer.wait(limit) => None,
        }
    }

    /// Waits until the peer can take another request.
    async fn turn(&self) -> Result<RequestTurn<'_>, EditorError> {
        let waiting = async {
            loop {
                // Made before the check, so that it sees every later notification.
                let room = self.room.notified();
                {
                    let mut peer = self.peer();
                    let most = if peer.traits.framing == PeerFraming::Lines { AT_ONCE } else { 1 };
                    if peer.active < most {
                        peer.active += 1;
                        return RequestTurn(self);
                    }
                }
                room.await;
            }
        };
        self.within(TURN, waiting).await.ok_or(EditorError::Busy)
    }

    /// Writes a request, on a new connection if there is none.
    async fn send(
        &self,
        shared: &Arc<Self>,
        id: Uuid,
        message: &[u8],
    ) -> Result<oneshot::Receiver<Result<EditorReply, EditorError>>, EditorError> {
        let mut link = self.link.lock().await;
        let open = self.open(shared, &mut link).await?;
        let (reply, receiver) = oneshot::channel();
        self.peer().pending.insert(id, PendingReply { reply, bytes: message.len() });
        match self.write(open, message).await {
            Some(Ok(())) => Ok(receiver),
            failed => {
                *link = None;
                self.lose(None);
                let is_bus = self.peer().traits.is_bus;
                Err(if failed.is_some() { EditorError::Closed } else { timeout(is_bus) })
            }
        }
    }

    fn is_usable(&self, link: &EditorLink) -> bool {
        let peer = self.peer();
        peer.is_open && peer.connection == link.connection && !link.is_cut
    }

    /// Writes a whole message; `None` if that took too long.
    async fn write(&self, link: &mut EditorLink, message: &[u8]) -> Option<std::io::Result<()>> {
        link.is_cut = true;
        let written = self
            .within(REPLY, async {
                link.writer.write_all(message).await?;
                link.writer.flush().await
            })
            .await;
        link.is_cut = !matches!(written, Some(Ok(())));
        written
    }

    /// Returns the open connection, or opens one.
    async fn open<'l>(
        &self,
        shared: &Arc<Self>,
        link: &'l mut Option<EditorLink>,
    ) -> Result<&'l mut EditorLink, EditorError> {
        if link.as_ref().is_some_and(|link| !self.is_usable(link)) {
            *link = None;
            self.lose(None);
        }
        let open = match link.take() {
            Some(open) => open,
            None => self.connect(shared).await?,
        };
        Ok(link.insert(open))
    }

    async fn connect(&self, shared: &Arc<Self>) -> Result<EditorLink, EditorError> {
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            let late = || SocketFault::System(std::io::ErrorKind::TimedOut.into());
            let fault = match self.within(REPLY, self.dialer.dial()).await.unwrap_or_else(|| Err(late())) {
                Ok(stream) => return Ok(self.begin(shared, stream).await),
                Err(fault) => fault,
            };
            // Nothing that time changes.
            let is_final = matches!(fault, SocketFault::NotASocket | SocketFault::Foreign);
            if is_final || attempt >= ATTEMPTS {
                return Err(EditorError::Connect { address: self.dialer.address(), fault });
            }
            self.timer.wait(wait).await;
            wait *= 2;
        }
        Err(EditorError::Closed)
    }

    async fn begin(&self, shared: &Arc<Self>, stream: LocalStream) -> EditorLink {
        let (reader, writer) = tokio::io::split(stream);
        let (connection, is_bus) = {
            let mut peer = self.peer();
            peer.connection += 1;
            (peer.is_open, peer.is_inside) = (true, false);
            (peer.connection, peer.traits.is_bus)
        };
        let reading = tokio::spawn(read(Arc::downgrade(shared), reader, connection));
        let mut link = EditorLink { writer, connection, is_cut: false, reader: reading.abort_handle() };
        if is_bus {
            self.write(&mut link, &encode("polo", json!({}), self.shell, Uuid::new_v4())).await;
        }
        link
    }

    async fn announce(&self, kind: &str, payload: Value) {
        let mut link = self.link.lock().await;
        if let Some(open) = link.as_mut().filter(|link| self.peer().traits.is_bus && self.is_usable(link)) {
            self.write(open, &encode(kind, payload, self.shell, Uuid::new_v4())).await;
        }
    }

    /// Ends a connection (the current one if `None`): all requests that wait for it fail.
    fn lose(&self, connection: Option<u64>) {
        let mut peer = self.peer();
        if connection.is_some_and(|connection| connection != peer.connection) {
            return;
        }
        peer.is_open = false;
        peer.fail(|| EditorError::Closed);
    }

    /// Handles what arrived; the error ends the connection.
    fn receive(self: &Arc<Self>, pieces: Vec<DecodedPiece>, is_inside: bool) -> Result<(), EditorError> {
        let mut marco = false;
        {
            let mut peer = self.peer();
            peer.is_inside = is_inside;
            let mut unended = 0;
            for piece in pieces {
                match piece {
                    DecodedPiece::LineEnd => {
                        unended = 0;
                        peer.traits.framing = PeerFraming::Lines;
                    }
                    DecodedPiece::Object(bytes) => {
                        unended += 1;
                        match parse(&bytes) {
                            Some(PeerMessage::Reply(id, reply)) => {
                                if let Some(pending) = peer.pending.remove(&id) {
                                    let _ = pending.reply.send(Ok(reply));
                                }
                            }
                            Some(PeerMessage::Unparsed) if !peer.traits.is_bus => return Err(peer.unparsed()),
                            Some(PeerMessage::Bus { is_marco }) => {
                                (peer.traits.is_bus, peer.traits.framing) = (true, PeerFraming::Lines);
                                marco |= is_marco;
                            }
                            None if !peer.traits.is_bus => peer.fail(|| EditorError::Malformed("has no known form")),
                            None | Some(PeerMessage::Unparsed) => {}
                        }
                    }
                    DecodedPiece::Oversized if !peer.traits.is_bus => {
                        peer.fail(|| EditorError::Malformed("is longer than 1 MiB"));
                    }
                    DecodedPiece::Noise if !peer.traits.is_bus => peer.fail(|| EditorError::Malformed("is not JSON")),
                    DecodedPiece::Oversized | DecodedPiece::Noise => {}
                }
            }
            if unended > 0 && peer.traits.framing == PeerFraming::Unknown {
                peer.traits.framing = PeerFraming::Pieces;
            }
            marco &= !peer.is_announcing;
            peer.is_announcing |= marco;
        }
        self.room.notify_waiters();
        if marco {
            let shared = Arc::clone(self);
            tokio::spawn(async move {
                shared.announce("polo", json!({})).await;
                shared.peer().is_announcing = false;
            });
        }
        Ok(())
    }
}

impl PeerState {
    /// Fails all pending requests. For a malformed reply, too: it is not known which one it was for.
    fn fail(&mut self, why: impl Fn() -> EditorError) {
        for (_, pending) in self.pending.drain() {
            // An error means that the request was given up.
            let _ = pending.reply.send(Err(why()));
        }
    }

    fn unparsed(&mut self) -> EditorError {
        self.traits.framing = PeerFraming::Pieces;
        let bytes = self.pending.values().map(|pending| pending.bytes).max().unwrap_or(0);
        self.fail(|| EditorError::Unparsed { bytes });
        EditorError::Closed
    }
}

/// Reads the peer's messages until the connection ends.
async fn read(client: Weak<ClientState>, mut reader: ReadHalf<LocalStream>, connection: u64) {
    let mut decoder = ObjectDecoder::new(LONGEST_REPLY);
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = reader.read(&mut buffer).await.unwrap_or(0);
        let Some(client) = client.upgrade() else { return };
        let mut pieces = Vec::new();
        decoder.push(&buffer[..count], |piece| pieces.push(piece));
        if count == 0 || client.receive(pieces, decoder.is_inside()).is_err() {
            client.lose(Some(connection));
            return;
        }
    }
}
