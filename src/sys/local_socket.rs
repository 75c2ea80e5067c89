//! Connections to other programs of this machine: Unix sockets, named pipes of Windows. Main function: [`connect`]; main type:
//! [`LocalListener`].

use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection that carries bytes both ways.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// An open connection.
pub type LocalStream = Box<dyn ByteStream>;

/// The accepted owners of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOwner {
    /// Any user: a person named the socket.
    Anyone,
    /// The user of this process alone: the path could have been guessed by another one.
    User,
}

/// Reasons why a path cannot be connected to.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SocketFault {
    #[error("there is nothing at this path")]
    Missing,
    #[error("it is not a socket")]
    NotASocket,
    #[error("it belongs to another user")]
    Foreign,
    /// The file is there, and no program listens.
    #[error("the program that made it is gone (connection refused)")]
    Stale,
    #[error(transparent)]
    System(io::Error),
}

impl From<io::Error> for SocketFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::ConnectionRefused => Self::Stale,
            _ => Self::System(error),
        }
    }
}

/// Checks that a path is a socket of an accepted owner, without connecting to it.
#[cfg(unix)]
pub fn check(path: &Path, owner: SocketOwner) -> Result<(), SocketFault> {
    check_for(path, owner, rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn check_for(path: &Path, owner: SocketOwner, user: u32) -> Result<(), SocketFault> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    // A link that somebody else may have made is not followed.
    let found = match owner {
        SocketOwner::Anyone => std::fs::metadata(path)?,
        SocketOwner::User => std::fs::symlink_metadata(path)?,
    };
    if !found.file_type().is_socket() {
        return Err(SocketFault::NotASocket);
    }
    if owner == SocketOwner::User && found.uid() != user {
        return Err(SocketFault::Foreign);
    }
    Ok(())
}

/// Connects to the socket at a path, if its owner is accepted. The process that listens is checked as well as the file.
#[cfg(unix)]
pub async fn connect(path: &Path, owner: SocketOwner) -> Result<LocalStream, SocketFault> {
    check(path, owner)?;
    let stream = tokio::net::UnixStream::connect(path).await?;
    if owner == SocketOwner::User && stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(SocketFault::Foreign);
    }
    Ok(Box::new(stream))
}

/// Checks that a path is that of a named pipe.
#[cfg(windows)]
pub fn check(path: &Path, _: SocketOwner) -> Result<(), SocketFault> {
    let is_pipe = path.to_string_lossy().replace('/', "\\").to_lowercase().starts_with("\\\\.\\pipe\\");
    if is_pipe { Ok(()) } else { Err(SocketFault::NotASocket) }
}

/// Connects to the named pipe at a path.
#[cfg(windows)]
pub async fn connect(path: &Path, owner: SocketOwner) -> Result<LocalStream, SocketFault> {
    check(path, owner)?;
    Ok(Box::new(tokio::net::windows::named_pipe::ClientOptions::new().open(path)?))
}

/// A socket on which this process waits for other processes of the same user; on Windows there is none yet.
#[derive(Debug)]
pub struct LocalListener(#[cfg(unix)] tokio::net::UnixListener);

#[cfg(unix)]
impl LocalListener {
    /// Makes a socket at a path, in a folder that only this user can enter.
    pub fn bind(path: &Path) -> io::Result<Self> {
        tokio::net::UnixListener::bind(path).map(Self)
    }

    /// Waits for the next connection of a process of this user; the ones of others are closed.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        loop {
            let (stream, _) = self.0.accept().await?;
            // A peer that left at once has no credentials any more.
            if stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw()) {
                return Ok(Box::new(stream));
            }
        }
    }
}

#[cfg(windows)]
impl LocalListener {
    /// Refuses: a named pipe that only one user can open is not made here.
    pub fn bind(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this works on Linux and macOS only"))
    }

    /// Never returns a connection.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        std::future::pending().await
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_of_the_user_are_accepted_where_the_path_was_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, file, link) = (folder.path().join("s"), folder.path().join("f"), folder.path().join("l"));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        let user = rustix::process::geteuid().as_raw();
        assert!(check(&socket, SocketOwner::User).is_ok());
        assert!(matches!(check(&file, SocketOwner::Anyone), Err(SocketFault::NotASocket)));
        assert!(matches!(check(&folder.path().join("none"), SocketOwner::Anyone), Err(SocketFault::Missing)));
        assert!(matches!(check_for(&socket, SocketOwner::User, user + 1), Err(SocketFault::Foreign)));
        assert!(check_for(&socket, SocketOwner::Anyone, user + 1).is_ok());
        assert!(matches!(check(&link, SocketOwner::User), Err(SocketFault::NotASocket)));
        assert!(check(&link, SocketOwner::Anyone).is_ok());
    }

    #[tokio::test]
    async fn a_file_that_its_program_left_behind_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        assert!(matches!(connect(&socket, SocketOwner::User).await, Err(SocketFault::Stale)));
    }
}
