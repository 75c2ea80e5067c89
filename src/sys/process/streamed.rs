//! A program whose output is passed on line by line while it runs, and of which nothing stays. Main types: [`StreamedCall`],
//! [`StreamedOutput`].
//!
//! The program is started by a supervisor: another process of this program, which ends everything that it started, also when this process
//! is killed. What the program may do is in `sandbox`; what its lines mean belongs to the caller.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::environment::Environment;
use super::sandbox::{SandboxReport, SandboxSpec};
use super::supervisor::{self, SupervisorMessage};
use super::{LAST_WORDS, LOOK_AGAIN, OutputStream, Program};
use crate::sys::cancel::{Cancel, CancelReason};

/// Default upper bound on the bytes that a program may write.
pub const MOST_OUTPUT: u64 = 200_000_000;
/// Upper bound on the bytes of a line that is passed on whole.
const LONGEST_LINE: u64 = 1 << 20;
/// The time that the supervisor has to end everything: its grace period, and then some for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum number of lines that wait to be passed on; the program waits in its turn.
const WAITING_LINES: usize = 64;

/// The reason why a program was not run, or its end is not known.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StreamedError {
    #[error("the supervisor {} could not be started: {source}; see whether that file can be run", path.display())]
    Supervisor {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the call cannot be handed to the supervisor ({0}); use paths in UTF-8")]
    Spec(String),
    #[error("{} could not be started: {reason}; see whether it runs by hand", path.display())]
    Start { path: PathBuf, reason: String },
    #[error("the sandbox cannot be enforced here ({0}); use a newer kernel, or do not require the sandbox")]
    Refused(String),
    #[error(
        "the supervisor ended without a report; the machine may be out of memory: see its system log, then run it again"
    )]
    Lost,
}

/// One start of a program whose output is passed on.
#[derive(Debug, Clone)]
pub struct StreamedCall {
    /// The arguments. Every user of the machine may see them: no secrets.
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Environment,
    /// The working directory.
    pub directory: PathBuf,
    /// The time after which it is ended.
    pub timeout: Duration,
    /// The most bytes of output; a program that writes more is ended.
    pub most: u64,
    /// Its permissions.
    pub sandbox: SandboxSpec,
    /// The executable of this program, which becomes the supervisor.
    pub supervisor: PathBuf,
}

/// The reason why a program was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopCause {
    /// Its time was over, or that of the whole run.
    TimedOut,
    /// It was requested.
    Cancelled,
    /// It wrote more than it may.
    TooMuchOutput,
    /// It started more processes than it may.
    TooManyProcesses,
    /// Whoever took its lines wanted no more.
    Unwanted,
}

/// A program that ran to its end, or was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedOutput {
    /// Its exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The reason why it was ended; `None` if it ended by itself.
    pub stopped: Option<StopCause>,
    /// Number of bytes that were passed on.
    pub bytes: u64,
    /// The limits that were enforced.
    pub sandbox: SandboxReport,
    /// Number of its processes that could not be ended; they hang in the kernel.
    pub left: usize,
}

/// Takes the lines, their ends included; a line of more than 1 MiB comes in pieces, of which only the last has an end.
pub type LineSink<'a> = &'a mut dyn FnMut(OutputStream, &[u8]) -> ControlFlow<()>;

enum StreamedEvent {
    Line(OutputStream, Vec<u8>),
    Message(SupervisorMessage),
}

impl Program {
    /// Starts it and passes its lines on until it ends; no process that it started is left then. It blocks.
    pub fn run_streamed(
        &self,
        call: &StreamedCall,
        cancel: &Cancel,
        sink: LineSink<'_>,
    ) -> Result<StreamedOutput, StreamedError> {
        let began = Instant::now();
        let (mut running, events) = self.supervise(call)?;
        let mut progress =
            StreamedProgress { most: call.most, sink, bytes: 0, stopped: None, started: None, ended: None };
        let (mut stop_sent, mut last) = (None, None);
        loop {
            match events.recv_timeout(LOOK_AGAIN) {
                Ok(StreamedEvent::Line(stream, line)) => progress.line(stream, &line),
                Ok(StreamedEvent::Message(message)) => progress.message(message, self)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress.stopped = progress.stopped.or_else(|| match cancel.check() {
                Err(CancelReason::Interrupted) => Some(StopCause::Cancelled),
                Err(CancelReason::DeadlinePassed) => Some(StopCause::TimedOut),
                Ok(()) => (began.elapsed() >= call.timeout).then_some(StopCause::TimedOut),
            });
            let now = Instant::now();
            if progress.stopped.is_some() && stop_sent.is_none() {
                stop_sent = Some(now);
                running.ask_to_end();
            }
            if progress.ended.is_some() && last.is_none() {
                last = Some(now);
            }
            let over = |since: Option<Instant>, most| since.is_some_and(|since| now.duration_since(since) > most);
            if over(last, LAST_WORDS) || over(stop_sent, PATIENCE) {
                break;
            }
        }
        let StreamedProgress { bytes, stopped, started, ended, .. } = progress;
        let (Some(sandbox), Some(SupervisedEnd { exit_code, signal, is_too_many, left })) = (started, ended) else {
            return Err(StreamedError::Lost);
        };
        let stopped = if is_too_many { Some(StopCause::TooManyProcesses) } else { stopped };
        Ok(StreamedOutput { exit_code, signal, stopped, bytes, sandbox, left })
    }

    #[expect(clippy::disallowed_methods, reason = "this module starts the children")]
    fn supervise(
        &self,
        call: &StreamedCall,
    ) -> Result<(Supervised, std::sync::mpsc::Receiver<StreamedEvent>), StreamedError> {
        let fault = |source| StreamedError::Supervisor { path: call.supervisor.clone(), source };
        let spec = serde_json::to_string(&call.sandbox).map_err(|error| StreamedError::Spec(error.to_string()))?;
        let (link, theirs) = UnixStream::pair().map_err(fault)?;
        let mut command = Command::new(&call.supervisor);
        command.arg(supervisor::COMMAND).arg(spec).arg("--").arg(&self.path).args(&call.arguments);
        command.env_clear().envs(call.environment.0.iter().map(|(name, value)| (name, value)));
        command.current_dir(&call.directory).stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(fault)?;
        // Its copy of the other end of the link must not stay open here.
        drop(command);
        let (sender, events) = sync_channel(WAITING_LINES);
        pass_lines(child.stdout.take(), OutputStream::Output, &sender);
        pass_lines(child.stderr.take(), OutputStream::Errors, &sender);
        let running = Supervised { child, link };
        pass_messages(running.link.try_clone().map_err(fault)?, sender);
        Ok((running, events))
    }
}

/// The end, as the supervisor reports it.
struct SupervisedEnd {
    exit_code: Option<i32>,
    signal: Option<i32>,
    is_too_many: bool,
    left: usize,
}

struct StreamedProgress<'a> {
    most: u64,
    sink: LineSink<'a>,
    bytes: u64,
    stopped: Option<StopCause>,
    started: Option<SandboxReport>,
    ended: Option<SupervisedEnd>,
}

impl StreamedProgress<'_> {
    fn line(&mut self, stream: OutputStream, line: &[u8]) {
        if matches!(self.stopped, Some(StopCause::TooMuchOutput | StopCause::Unwanted)) {
            return;
        }
        let room = usize::try_from(self.most - self.bytes).unwrap_or(usize::MAX);
        let passed = &line[..line.len().min(room)];
        self.bytes += passed.len() as u64;
        if !passed.is_empty() && (self.sink)(stream, passed).is_break() {
            self.stopped = self.stopped.or(Some(StopCause::Unwanted));
        } else if passed.len() < line.len() {
            self.stopped = Some(StopCause::TooMuchOutput);
        }
    }

    fn message(&mut self, message: SupervisorMessage, program: &Program) -> Result<(), StreamedError> {
        match message {
            SupervisorMessage::Started { report } => self.started = Some(report),
            SupervisorMessage::Refused { report } => return Err(StreamedError::Refused(report.words)),
            SupervisorMessage::Failed { reason } => {
                return Err(StreamedError::Start { path: program.path.clone(), reason });
            }
            SupervisorMessage::Ended { exit_code, signal, is_too_many, left } => {
                self.ended = Some(SupervisedEnd { exit_code, signal, is_too_many, left });
            }
        }
        Ok(())
    }
}

/// A supervisor that does not outlive this value.
struct Supervised {
    child: Child,
    link: UnixStream,
}

impl Supervised {
    /// Closes this end of the link, which tells the supervisor to end everything.
    fn ask_to_end(&mut self) {
        let _ = self.link.shutdown(Shutdown::Write);
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.ask_to_end();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes on the lines of a pipe, from a thread of its own, until its end or until nobody listens any more.
fn pass_lines(pipe: Option<impl Read + Send + 'static>, stream: OutputStream, to: &SyncSender<StreamedEvent>) {
    let (Some(pipe), to) = (pipe, to.clone()) else { return };
    std::thread::spawn(move || {
        let mut pipe = BufReader::with_capacity(1 << 16, pipe);
        loop {
            let mut line = Vec::new();
            // What was read before a fault is passed on as well.
            let read = pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            if line.is_empty() || to.send(StreamedEvent::Line(stream, line)).is_err() || read.is_err() {
                break;
            }
        }
    });
}

fn pass_messages(link: UnixStream, to: SyncSender<StreamedEvent>) {
    std::thread::spawn(move || {
        for line in BufReader::new(link).lines() {
            let Some(message) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
            if to.send(StreamedEvent::Message(message)).is_err() {
                break;
            }
        }
    });
}
