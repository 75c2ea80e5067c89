//! A program that runs beside the caller. Main type: [`BackgroundRun`].

use std::fs;
use std::thread::JoinHandle;

use super::{ProcessCall, ProcessError, ProcessOutput, Program};
use crate::sys::cancel::Cancel;

/// A program that runs on a thread of its own. It ends with this value, and everything that it started with it.
#[derive(Debug)]
pub struct BackgroundRun {
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundRun {
    /// Starts a program that reads `input`. The end goes to `done`, also when it could not be started.
    pub fn start(
        program: Program,
        call: ProcessCall,
        input: fs::File,
        done: impl FnOnce(Result<ProcessOutput, ProcessError>) + Send + 'static,
    ) -> Self {
        let cancel = Cancel::never();
        let own = cancel.clone();
        let thread = std::thread::spawn(move || done(program.run_on(&call, input.into(), &own)));
        Self { cancel, thread: Some(thread) }
    }
}

impl Drop for BackgroundRun {
    fn drop(&mut self) {
        self.cancel.interrupt();
        // It waits for the program, which has a short time to clean up: this process must not end before it.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
