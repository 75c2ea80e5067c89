//! Connections that can be reset, and on which something else than HTTP can be said. Main types: [`Door`], [`Line`].

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Takes connections.
pub struct Door(pub TcpListener);

/// What a handler holds of its connection.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<Fate>);

#[derive(Debug, Default)]
struct Fate {
    reset: AtomicBool,
    instead: Mutex<Option<Vec<u8>>>,
}

/// A connection.
pub struct Socket {
    stream: TcpStream,
    line: Line,
    /// What is still to be written instead of anything else; then the connection is closed.
    instead: Option<Vec<u8>>,
}

impl Line {
    /// Resets the connection as soon as anything would be written to it.
    pub fn reset(&self) {
        self.0.reset.store(true, Ordering::SeqCst);
    }

    /// Writes these bytes instead of whatever would be written next, and closes the connection.
    pub fn instead(&self, bytes: Vec<u8>) {
        *self.0.instead.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
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
                return (Socket { stream, line: line.clone(), instead: None }, line);
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
        if !self.line.0.reset.load(Ordering::SeqCst) {
            return Ok(());
        }
        // Without this the end would be an orderly one.
        self.stream.set_zero_linger()?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl Socket {
    /// Writes what is to be written instead; ready where there is nothing of the kind.
    fn say_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(bytes) = self.line.0.instead.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.instead = Some(bytes);
        }
        let Some(bytes) = &mut self.instead else { return Poll::Ready(Ok(())) };
        while !bytes.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
            bytes.drain(..written);
        }
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
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
        ready!(self.say_instead(cx))?;
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
