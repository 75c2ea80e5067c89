//! The page of a review that is followed, for a browser on this machine. Main function: [`serve_report`].
//!
//! Other programs and pages of the same machine reach the port as well: the path has a random word, and a request has to name the host that
//! was given to the browser, so that no name of another site leads here.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connections::serve_connections;
use crate::app::LiveReport;

/// Seconds after which a browser asks again for a review that is not done.
const AGAIN: &str = "2";

#[derive(Clone)]
struct ReportState {
    report: Arc<LiveReport>,
    /// The hosts that a request may name.
    hosts: Arc<[String; 2]>,
}

/// Serves the page at `/WORD/` until `stop`.
pub async fn serve_report(
    listener: TcpListener,
    at: SocketAddr,
    word: &str,
    report: Arc<LiveReport>,
    stop: CancellationToken,
) {
    let hosts = Arc::new([at.to_string(), format!("localhost:{}", at.port())]);
    let routes = Router::new().route(&format!("/{word}/"), get(show_page)).with_state(ReportState { report, hosts });
    serve_connections(listener, routes, stop).await;
}

async fn show_page(State(state): State<ReportState>, headers: HeaderMap) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| state.hosts.iter().any(|own| own == host)) {
        return (StatusCode::FORBIDDEN, "this page is for its own address only\n").into_response();
    }
    // Files are read, and a large page takes a while.
    let page = tokio::task::spawn_blocking(move || state.report.page()).await;
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    let html = (header::CONTENT_TYPE, "text/html; charset=utf-8");
    match page {
        Ok(Ok(page)) if page.is_final => (fixed, [html], page.html).into_response(),
        Ok(Ok(page)) => (fixed, [html, (header::REFRESH, AGAIN)], page.html).into_response(),
        Ok(Err(error)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, fixed, [(header::REFRESH, AGAIN)], format!("{error}\n")).into_response()
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, fixed, "the page could not be rendered\n").into_response(),
    }
}
