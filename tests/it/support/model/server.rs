//! The server itself. Main types: [`Server`], [`Options`].

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::asked::Asked;
use super::batches::BatchPlan;
use super::script::{Cut, Session};
use super::socket::{Door, Line};
use super::state::{Ending, Raw, Reply, State};
use super::wires::Wire;

/// The key that clients are given. No provider would take it.
pub const KEY: &str = "test-key-of-no-provider-7d1b4e90";

/// An address where nobody answers. A port that was only just given back may be another test's a moment later; this one lies below
/// all that a system gives to who asks for any.
pub const NO_SERVER: &str = "127.0.0.1:1";

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// The one language it speaks; all of them when not said.
    pub wire: Option<Wire>,
    /// The key it looks for; `None` looks for none.
    pub key: Option<String>,
    /// Where requests are kept, as `<wire>/<session>/<nnn>.json`.
    pub record: Option<PathBuf>,
    /// Whether requests are held against those before them.
    pub strict: bool,
    /// How the bytes of answers are cut where the session does not say.
    pub cut: Cut,
    /// How its batch API behaves; it has none when not said.
    pub batches: Option<BatchPlan>,
}

impl Default for Options {
    fn default() -> Self {
        Self { wire: None, key: Some(KEY.to_owned()), record: None, strict: true, cut: Cut::Odd, batches: None }
    }
}

/// A server on a port of its own. What went wrong is told by [`finish`](Self::finish), or when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: String,
    runtime: Option<Runtime>,
}

struct Shared {
    state: Mutex<State>,
    came: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Starts it.
    pub fn start(session: Session, options: Options) -> Self {
        if let Some(folder) = &options.record {
            for wire in Wire::ALL.into_iter().filter(|wire| options.wire.is_none_or(|only| only == *wire)) {
                // What an earlier run left would be taken for this one's.
                let _ = std::fs::remove_dir_all(folder.join(wire.word()).join(&session.name));
            }
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared { state: Mutex::new(State::new(session, options)), came: Condvar::new() });
        let for_handler = Arc::clone(&shared);
        let router = Router::new().fallback(move |ConnectInfo(line): ConnectInfo<Line>, request: Request| {
            let shared = Arc::clone(&for_handler);
            async move { handle(&shared, &line, request).await }
        });
        let service = router.into_make_service_with_connect_info::<Line>();
        runtime.spawn(async move { axum::serve(Door(listener), service).await });
        Self { shared, address, runtime: Some(runtime) }
    }

    /// `http://127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The variables that lead a client of that language here.
    pub fn environment(&self, wire: Wire) -> Vec<(&'static str, String)> {
        let (key, base, path) = wire.variables();
        let mut variables: Vec<_> = key.map(|name| (name, KEY.to_owned())).into_iter().collect();
        variables.push((base, format!("{}{path}", self.address)));
        variables
    }

    /// Waits until so many requests have come; at most a minute.
    pub fn wait_for(&self, requests: usize) {
        let state = self.shared.state();
        let waiting = |state: &mut State| state.raw.len() < requests;
        let waited = self.shared.came.wait_timeout_while(state, Duration::from_mins(1), waiting);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "{} requests came of {requests}", state.raw.len());
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// The requests so far, as they arrived.
    pub fn raw(&self) -> Vec<Raw> {
        self.shared.state().raw.clone()
    }

    /// Lets no batch end, or lets them end again.
    pub fn hold_batches(&self, is_held: bool) {
        self.shared.state().batches.is_held = is_held;
    }

    /// How many requests each batch has.
    pub fn batch_sizes(&self) -> Vec<usize> {
        self.shared.state().batches.sizes.clone()
    }

    /// The batches that were canceled.
    pub fn canceled_batches(&self) -> Vec<String> {
        self.shared.state().batches.canceled.clone()
    }

    /// Waits until the batches have so many requests together; at most a minute.
    pub fn wait_for_batched(&self, requests: usize) {
        let state = self.shared.state();
        let waiting = |state: &mut State| state.batches.sizes.iter().sum::<usize>() < requests;
        let waited = self.shared.came.wait_timeout_while(state, Duration::from_mins(1), waiting);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "{:?} of {requests}", state.batches.sizes);
    }

    /// What is wrong so far; looking at it is all that is done.
    pub fn verdict(&self) -> Vec<String> {
        let mut state = self.shared.state();
        state.judged = true;
        state.verdict()
    }

    /// Ends it, and panics when a request was not as it must be or a step was never used.
    #[track_caller]
    pub fn finish(self) {
        let verdict = self.verdict();
        let name = self.shared.state().name().to_owned();
        assert!(verdict.is_empty(), "session {name}:\n- {}", verdict.join("\n- "));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let state = self.shared.state();
        if !state.judged && !std::thread::panicking() {
            let verdict = state.verdict();
            assert!(verdict.is_empty(), "session {}:\n- {}", state.name(), verdict.join("\n- "));
        }
    }
}

async fn handle(shared: &Shared, line: &Line, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default().to_vec();
    let path = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let mut reply = shared.state().answer(&Raw { path, headers: headers(&parts.headers), body });
    shared.came.notify_all();
    if reply.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    }
    match reply.ending {
        Ending::Silent => std::future::pending().await,
        Ending::Reset => line.reset(),
        Ending::Whole | Ending::Broken | Ending::BrokenHard | Ending::Stalled => {}
    }
    if let Some(raw) = reply.raw.take() {
        line.instead(raw);
    }
    respond(reply, line.clone())
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn respond(reply: Reply, line: Line) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(reply.status).expect("a status"));
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let pause = Duration::from_millis(reply.pause_ms);
    let pieces = stream::iter(reply.pieces).then(move |piece| async move {
        if pause.is_zero() {
            // Lets what was written before go out by itself.
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
        Ok::<_, std::io::Error>(Bytes::from(piece))
    });
    let ending = reply.ending;
    let end = stream::once(async move {
        match ending {
            Ending::Stalled => std::future::pending().await,
            Ending::Broken => Err(std::io::ErrorKind::ConnectionAborted.into()),
            Ending::BrokenHard => {
                // What was written before must have arrived: a reset takes back what nobody read yet.
                tokio::time::sleep(Duration::from_millis(30)).await;
                line.reset();
                Err(std::io::ErrorKind::ConnectionReset.into())
            }
            Ending::Whole | Ending::Silent | Ending::Reset => Ok(Bytes::new()),
        }
    });
    response.body(Body::from_stream(pieces.chain(end))).expect("a response")
}
