//! The language server: findings of saved reviews as diagnostics in editors, over stdio.
//!
//! Main function: [`serve`]. `server` holds the state and dispatches messages, one at a time; `folder` maps the newest review of a workspace
//! folder to the text of its files as the editor has it; `actions` and `commands` are what a user can do about a finding; `running` follows
//! the reviews that the client started. The types of the protocol are generated from its own model; `transport` is the only module that reads
//! and writes bytes. The work belongs in `app`: reviews in [`Service`](crate::app::Service), places in
//! [`CurrentReview`](crate::app::CurrentReview).
//!
//! Texts of a model reach the client as inert Markdown or stripped of control characters; nothing outside the workspace folders is read.

mod actions;
mod client;
mod commands;
mod documents;
mod edit;
mod folder;
mod position;
mod report;
mod running;
mod server;
mod session;
mod transport;

use std::io::{self, BufReader};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::app::{self, Overrides, ProcessEnv};
use crate::domain::text::BuildLogs;
use server::LanguageServer;
use transport::Outbox;

/// Number of messages that are read ahead of the one being handled.
const AHEAD: usize = 64;
/// Time limit for finishing writes at the end; a client that does not read does not delay it.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Serves the one client on standard input and output until it is gone, or the process is interrupted; then running reviews are stopped, and
/// saved with their findings so far, within `grace`. Returns `true` if the client ended the session as the protocol demands.
///
/// `flags` hold for the reviews that the client starts.
pub async fn serve(env: ProcessEnv, flags: Overrides, logs: BuildLogs, grace: Duration) -> io::Result<bool> {
    let (outbox, written) = Outbox::start(io::stdout(), logs)?;
    let (sender, mut messages) = mpsc::channel(AHEAD);
    // It waits for input forever, so nothing waits for it.
    std::thread::Builder::new().name("lsp-reader".to_owned()).spawn(move || {
        transport::read_messages(BufReader::new(io::stdin()), |received| sender.blocking_send(received).is_ok());
    })?;
    let gone = outbox.gone();
    let mut server = LanguageServer::new(env, flags, outbox);
    let interrupt = app::wait_for_interrupt();
    tokio::pin!(interrupt);
    loop {
        let ended = tokio::select! {
            received = messages.recv() => received.is_none_or(|received| server.receive(received)),
            () = gone.cancelled() => true,
            () = &mut interrupt => true,
            () = tokio::time::sleep_until(server.next_tick()) => server.tick(),
        };
        if ended {
            break;
        }
    }
    let is_orderly = server.shut_down(grace).await;
    // The last responses are written when the outbox is gone.
    drop(server);
    let _ = tokio::task::spawn_blocking(move || written.recv_timeout(LAST_WRITES)).await;
    Ok(is_orderly)
}
