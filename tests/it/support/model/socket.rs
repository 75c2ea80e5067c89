//! Connections that can be reset. Main types: [`Door`], [`Line`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Takes connections.
pub struct Door(pub TcpListener);

/// What a handler holds of its connection.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<AtomicBool>);

/// A connection.
pub struct Socket {
    stream: TcpStream,
    line: Line,
}

impl Line {
    /// Resets the connection as soon as anything would be written to it.
    pub fn reset(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Listener for Door {
    type Io = Socket;
    type Addr = Line;

    async fn accept(&mut self) -> (Socket, Line) {
        loop {
            if let Ok((stream, _)) = self.0.accept().await {
                // Pieces must not wait for one another.
                let _ = stream.set_nodelay(true);
                let line = Line::default();
                return (Socket { stream, line: line.clone() }, line);
            }
            tokio::task::yield_now().await;
        }
    }

    fn local_addr(&self) -> io::Result<Line> {
        Ok(Line::default())
    }
}

impl Connected<IncomingStream<'_, Door>> for Line {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

impl Socket {
    fn check(&self) -> io::Result<()> {
        if !self.line.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        // Without this the end would be an orderly one.
        self.stream.set_zero_linger()?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Err(error) = self.check() {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Err(error) = self.check() {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
