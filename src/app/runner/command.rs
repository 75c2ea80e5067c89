//! The one job of a command: it runs until it ends, or until it is interrupted twice. Main function: [`run_command`].

use std::time::Duration;

use crate::app::context::error::AppError;
use crate::domain::event::{Event, EventSink};
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};
#[cfg(unix)]
use crate::sys::process::is_hangup_ignored;

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
/// Work that cannot observe the first one (for instance while it waits for a pipe) is abandoned after `grace`; with none, at once and silently.
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
    if grace.is_zero() {
        return Err(AppError::Stopped(CancelReason::Interrupted));
    }
    let text = "stopping; what was found is being kept (interrupt once more to stop at once)".to_owned();
    events.emit(Event::Notice { text });
    tokio::select! {
        ended = work => ended,
        // A terminal that is closed may send its hangup twice.
        () = wait_for_signal(false) => Err(AppError::Stopped(CancelReason::Interrupted)),
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

/// Waits for Ctrl-C, for the termination signal of runners and service managers, or for the hangup of a terminal that is closed.
pub async fn wait_for_interrupt() {
    wait_for_signal(true).await;
}

async fn wait_for_signal(with_hangup: bool) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let wants_hangup = with_hangup && !is_hangup_ignored();
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            let mut hangup = if wants_hangup { signal(SignalKind::hangup()).ok() } else { None };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
                Some(()) = async { hangup.as_mut()?.recv().await } => {}
            }
            return;
        }
    }
    #[cfg(not(unix))]
    let _ = with_hangup;
    let _ = tokio::signal::ctrl_c().await;
}
