//! The way to a peer, and what its name tells of it. Main type: [`EditorDialer`].

use futures_util::future::BoxFuture;

use crate::sys::local_socket::{LocalStream, SocketFault};

/// The beginnings of the names of sockets that are named after a process: of an extension, and of a daemon.
pub(super) const BY_PID: &str = "dialectic-vscode-";
pub(super) const BUS: &str = "dialectic-daemon-";

/// Opens connections to one peer.
pub trait EditorDialer: Send + Sync {
    /// Opens a connection.
    fn dial(&self) -> BoxFuture<'static, Result<LocalStream, SocketFault>>;
    /// Names the peer for messages.
    fn address(&self) -> String;
}
