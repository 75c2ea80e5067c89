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
/// Time limit for the responses in flight when the server stops: longer than a delivery takes. A connection that has sent no request counts as
/// in flight, too.
const LAST: Duration = Duration::from_secs(9);
/// Delay after the system fails to accept a connection.
const AFTER_A_FAULT: Duration = Duration::from_millis(500);

/// Serves connections until `stop`; then responses in flight may finish.
pub async fn serve_connections(listener: TcpListener, routes: Router, stop: CancellationToken) {
    serve_until(listener, routes, stop, LAST).await;
}

async fn serve_until(listener: TcpListener, routes: Router, stop: CancellationToken, last: Duration) {
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
    let _ = tokio::time::timeout(last, graceful.shutdown()).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_client_that_says_nothing_does_not_hold_up_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve_until(listener, Router::new(), stop.clone(), Duration::from_millis(20)));
        let _silent = TcpStream::connect(address).await.unwrap();
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n").await.unwrap();
        // A third one is answered, so the others were accepted before.
        let mut asks = TcpStream::connect(address).await.unwrap();
        asks.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut asks, &mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 404"));
        stop.cancel();
        server.await.unwrap();
    }
}
