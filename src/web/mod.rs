//! HTTP endpoints: the numbers of a worker, the deliveries of GitHub, the page of a review. Main functions: [`serve_metrics`],
//! [`serve_webhook`], [`serve_report`].
//!
//! What a delivery means belongs in `app::queue`, MCP over HTTP in `mcp::protocol`, which shares the [connections](serve_connections).

mod connections;
mod report;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use connections::serve_connections;
pub use report::serve_report;

use crate::app::{QueueHandle, WebhookDelivery, WebhookReceiver, WorkerMetrics};

/// Upper bound on the size of a delivery in bytes. Those of a pull request are far below it.
const MAX_DELIVERY: usize = 2 << 20;
/// Upper bound on the deliveries that are read and taken at once, and so on the memory for them; others wait.
const DELIVERIES: usize = 32;
/// Time limit for reading a delivery, its wait included.
const READ: Duration = Duration::from_secs(3);

/// Reasons why an address cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {source}; choose another address or port")]
pub struct ListenError {
    address: SocketAddr,
    /// The reason.
    #[source]
    source: std::io::Error,
}

/// Listens at an address.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError { address, source })
}

/// The state that the endpoints of a worker show.
#[derive(Clone)]
struct WorkerState {
    metrics: Arc<WorkerMetrics>,
    queue: QueueHandle,
}

/// Serves `/metrics` and `/healthz` until `stop`.
pub async fn serve_metrics(
    listener: TcpListener,
    metrics: Arc<WorkerMetrics>,
    queue: QueueHandle,
    stop: CancellationToken,
) {
    let routes = Router::new()
        .route("/metrics", get(show_metrics))
        .route("/healthz", get(show_health))
        .with_state(WorkerState { metrics, queue });
    serve_connections(listener, routes, stop).await;
}

async fn show_metrics(State(state): State<WorkerState>) -> Response {
    let status = state.queue.recent_status().await;
    let text = state.metrics.render(status.as_ref());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn show_health(State(state): State<WorkerState>) -> Response {
    health(&state.queue).await
}

/// Healthy is who can reach the queue.
async fn health(queue: &QueueHandle) -> Response {
    match queue.recent_status().await {
        Some(_) => (StatusCode::OK, "ok\n").into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the queue is away\n").into_response(),
    }
}

/// The state that a server of deliveries shares between them.
#[derive(Clone)]
struct WebhookState {
    receiver: Arc<WebhookReceiver>,
    places: Arc<Semaphore>,
}

/// Serves `/webhook` for the deliveries of GitHub, and `/healthz`, until `stop`.
pub async fn serve_webhook(listener: TcpListener, receiver: Arc<WebhookReceiver>, stop: CancellationToken) {
    let routes = Router::new()
        .route("/webhook", post(take_delivery))
        .route("/healthz", get(async |State(state): State<WebhookState>| health(state.receiver.queue()).await))
        .layer(DefaultBodyLimit::max(MAX_DELIVERY))
        .with_state(WebhookState { receiver, places: Arc::new(Semaphore::new(DELIVERIES)) });
    serve_connections(listener, routes, stop).await;
}

async fn take_delivery(State(state): State<WebhookState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let read = async { (state.places.acquire().await, Bytes::from_request(request, &()).await) };
    let (_place, body) = match tokio::time::timeout(READ, read).await {
        Ok((place, Ok(body))) => (place, body),
        Ok((_, Err(refused))) => return incomplete(refused.status()),
        Err(_) => return incomplete(StatusCode::REQUEST_TIMEOUT),
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let delivery = WebhookDelivery {
        id: text("x-github-delivery"),
        event: text("x-github-event"),
        signature: text("x-hub-signature-256"),
        body: body.to_vec(),
    };
    let answer = state.receiver.take(delivery).await;
    let code = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, format!("{}\n", answer.text)).into_response()
}

fn incomplete(code: StatusCode) -> Response {
    (code, "the delivery is too large or incomplete\n").into_response()
}
