//! Connections of an HTTP server. Main function: [`serve_connections`].
//!
//! Axum's own loop waits forever for the head of a request; silent connections would use up all of them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Time limit for the head of a request, and for a connection's next request.
const HEAD: Duration = Duration::from_secs(30);
/// Upper bound on open connections; further ones wait to be accepted.
const CONNECTIONS: usize = 4096;
/// Delay after the system fails to accept a connection.
const AFTER_A_FAULT: Duration = Duration::from_millis(500);

/// Serves connections until `stop`; then responses in flight may finish.
pub async fn serve_connections(listener: TcpListener, routes: Router, stop: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    let (open, graceful) = (Arc::new(Semaphore::new(CONNECTIONS)), GracefulShutdown::new());
    loop {
        let accepted = async {
            let place = Arc::clone(&open).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(AFTER_A_FAULT).await;
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service).into_owned());
        tokio::spawn(async move {
            let _place = place;
            // A connection error concerns only its client.
            let _ = connection.await;
        });
    }
    drop(listener);
    graceful.shutdown().await;
}
