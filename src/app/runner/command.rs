//! The one job of a command: it runs until it ends, or until it is interrupted twice. Main function: [`run_command`].

use std::time::Duration;

use crate::app::context::error::AppError;
use crate::domain::event::{Event, EventSink};
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};

/// Runs the job of a command on a runtime of its own (see `interruptible`). Threads that do not end by themselves are left behind: one
/// that waits for a pipe or an unresponsive server must not keep the process alive.
pub fn run_command<T>(
    cancel: &Cancel,
    events: &dyn EventSink,
    grace: Duration,
    work: impl Future<Output = Result<T, AppError>>,
) -> Result<T, AppError> {
    // Two threads, so that one that a server keeps busy cannot stop the clock.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(interruptible(cancel, events, grace, work));
    runtime.shutdown_background();
    ended
}

/// Runs `work` until it ends, or until the second of two interrupts: the first requests that it stops and delivers what it has.
///
/// Work that cannot observe the first one (for instance while it waits for a pipe) is abandoned after `grace`.
pub(in crate::app) async fn interruptible<T>(
    cancel: &Cancel,
    events: &dyn EventSink,
    grace: Duration,
    work: impl Future<Output = Result<T, AppError>>,
) -> Result<T, AppError> {
    tokio::pin!(work);
    tokio::select! {
        ended = &mut work => return ended,
        () = wait_for_interrupt() => cancel.interrupt(),
    }
    let text = "stopping; what was found is being kept (interrupt once more to stop at once)".to_owned();
    events.emit(Event::Notice { text });
    tokio::select! {
        ended = work => ended,
        () = wait_for_interrupt() => Err(AppError::Stopped(CancelReason::Interrupted)),
        () = tokio::time::sleep(grace) => Err(AppError::Stopped(CancelReason::Interrupted)),
    }
}

/// Runs a command whose reads may block forever, on a thread that may wait. `what` names it in the error after a timeout.
pub fn with_time_limit<T: Send + 'static>(
    what: &'static str,
    limit: Duration,
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    blocking::run_here(what, &Cancel::after(limit), work)?
}

/// Waits for Ctrl-C, or for the termination signal of runners and service managers.
pub async fn wait_for_interrupt() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
