//! Failures of an editor. Main type: [`EditorError`].

use crate::sys::local_socket::SocketFault;

/// The first words of every failure to reach an extension; clients know them.
const COMMUNICATION: &str = "Failed to communicate with VSCode extension";

/// The reason why an editor did not do what was requested.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EditorError {
    #[error(
        "{COMMUNICATION}: Failed to connect to socket/pipe at {address}: {fault}; reload the window of the editor, or start this program \
         in a terminal of that window"
    )]
    Connect { address: String, fault: SocketFault },
    /// The connection ended before the reply.
    #[error("{COMMUNICATION}: IPC connection closed; see whether the editor is still open, and try again")]
    Closed,
    #[error("{COMMUNICATION}: Request timeout after {seconds} seconds{hint}")]
    Timeout { seconds: u64, hint: &'static str },
    #[error(
        "{COMMUNICATION}: it could not parse the message of {bytes} bytes. Extensions of before August 2025 read at most about 64 KiB at \
         once: shorten the review, or update the extension"
    )]
    Unparsed { bytes: usize },
    #[error("{COMMUNICATION}: its reply {0}")]
    Malformed(&'static str),
    /// The earlier requests were not answered in time.
    #[error("{COMMUNICATION}: the editor is busy with earlier requests; try again")]
    Busy,
    /// The extension's own error, sanitised.
    #[error("Failed to display review: {0}")]
    Refused(String),
    /// The same for its selection.
    #[error("the editor did not return its selection: {0}")]
    NoSelection(String),
}
