//! Other programs: found in `PATH`, started without a shell, bounded in time and in output. Main types: [`Program`], [`Environment`].
//!
//! The only place that starts a child. A child gets the environment that its caller made and nothing of this process's own, has no standard
//! input unless a file is given for it, and ends with its whole process group when the caller's [`Cancel`] says so. What its output means belongs to the caller.

mod background;
#[cfg(target_os = "linux")]
mod descendants;
mod environment;
#[cfg(unix)]
mod hangup;
mod helper;
mod launch;
mod pager;
mod sandbox;
mod streamed;
mod supervisor;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

pub use background::BackgroundRun;
pub use environment::Environment;
#[cfg(unix)]
pub use hangup::is_hangup_ignored;
pub use helper::{Helper, HelperReply};
pub use launch::{LaunchError, LaunchSession, launch, run_in_terminal};
pub use pager::show_in_pager;
pub use sandbox::{SandboxLevel, SandboxReport, SandboxSpec};
pub use streamed::{LineSink, MOST_OUTPUT, StopCause, StreamedCall, StreamedError, StreamedOutput};
pub use supervisor::{COMMAND as SUPERVISOR, SupervisorError, supervise};

use super::cancel::{Cancel, CancelReason};

/// The interval at which a running child is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The grace period of a child that was told to terminate, to clean up (git removes its lock files) before it is killed.
const TIDY_UP: Duration = Duration::from_secs(2);
/// The time for which a pipe is read after its child ended: a background program may keep it open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The reason why a program did not do what it was started for. What the program itself says is in [`ProcessOutput`].
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProcessError {
    #[error(
        "the program {name} was not found: install it, or put its folder into PATH (folders that are not absolute are not looked in)"
    )]
    Missing { name: String },
    /// The system would not start it.
    #[error("{} could not be started: {source}; see whether it runs by hand", path.display())]
    Start {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It was ended because it wrote without end.
    #[error("{} wrote more than {most} bytes and was stopped", path.display())]
    TooMuch { path: PathBuf, most: usize },
    /// It was ended with the run.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

/// Checks whether a process with this id exists, whoever owns it. Where that cannot be known it does.
#[cfg(not(unix))]
pub fn is_process_alive(_id: u32) -> bool {
    true
}

/// Checks whether a process with this id exists, whoever owns it.
#[cfg(unix)]
pub fn is_process_alive(id: u32) -> bool {
    let id = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id) != Err(rustix::io::Errno::SRCH))
}

/// Returns the executable of this program, to start another process of it.
pub fn own_executable() -> io::Result<PathBuf> {
    // The file itself, even if another one has taken its name since.
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// One start of a program.
#[derive(Debug, Clone)]
pub struct ProcessCall {
    /// The arguments. Every user of the machine may see them: no secrets.
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Environment,
    /// The working directory.
    pub directory: PathBuf,
    /// The most bytes of standard output; a program that writes more is ended. Of standard error the last as many are kept.
    pub most: usize,
}

/// A program that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// `true` if it says that it did what it was asked.
    pub success: bool,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The standard output.
    pub output: Vec<u8>,
    /// The end of what it wrote to standard error.
    pub errors: Vec<u8>,
}

/// A program of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// Looks for a program in the absolute folders of `PATH`. A relative one would be looked for in the reviewed repository.
    pub fn find(name: &str, environment: &Environment) -> Result<Self, ProcessError> {
        let file = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
        let folders = std::env::split_paths(environment.get("PATH").unwrap_or_default());
        let mut paths = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(&file));
        let found = paths.find(|path| is_executable(path));
        found.map(|path| Self { path }).ok_or_else(|| ProcessError::Missing { name: name.to_owned() })
    }

    /// Takes the program at an absolute path.
    pub fn at(path: PathBuf) -> Result<Self, ProcessError> {
        if path.is_absolute() && is_executable(&path) {
            return Ok(Self { path });
        }
        Err(ProcessError::Missing { name: path.display().to_string() })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it and waits until it ends. It blocks; a failure of the program itself is in the answer.
    pub fn run(&self, call: &ProcessCall, cancel: &Cancel) -> Result<ProcessOutput, ProcessError> {
        self.run_on(call, Stdio::null(), cancel)
    }

    /// Runs it like [`Self::run`], on this standard input.
    fn run_on(&self, call: &ProcessCall, input: Stdio, cancel: &Cancel) -> Result<ProcessOutput, ProcessError> {
        cancel.check()?;
        let mut running = self.start(call, input)?;
        let (sender, pieces) = sync_channel(8);
        listen(running.child.stdout.take(), OutputStream::Output, &sender);
        listen(running.child.stderr.take(), OutputStream::Errors, &sender);
        drop(sender);
        let mut heard = StreamOutput { output: Vec::new(), errors: Vec::new(), most: call.most };
        let too_much = || ProcessError::TooMuch { path: self.path.clone(), most: call.most };
        let status = loop {
            cancel.check()?;
            let open = match pieces.recv_timeout(LOOK_AGAIN) {
                Ok(piece) => {
                    heard.take(piece).ok_or_else(too_much)?;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => true,
                // Both pipes are at their end, which is not yet the end of the program.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(Duration::from_millis(1));
                    false
                }
            };
            let start = |source| ProcessError::Start { path: self.path.clone(), source };
            if let Some(status) = running.ended().map_err(start)? {
                if open {
                    heard.rest(&pieces).ok_or_else(too_much)?;
                }
                break status;
            }
        };
        let StreamOutput { output, errors, .. } = heard;
        Ok(ProcessOutput { success: status.success(), code: status.code(), output, errors })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    fn start(&self, call: &ProcessCall, input: Stdio) -> Result<ChildProcess, ProcessError> {
        let mut command = Command::new(&self.path);
        command.args(&call.arguments).current_dir(&call.directory);
        command.env_clear().envs(call.environment.0.iter().map(|(name, value)| (name, value)));
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own group, so that what it starts ends with it, and so that it cannot read from the terminal.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|source| ProcessError::Start { path: self.path.clone(), source })?;
        Ok(ChildProcess { child, status: None })
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// A child that does not outlive this value.
struct ChildProcess {
    child: Child,
    status: Option<ExitStatus>,
}

impl ChildProcess {
    /// Returns the exit status, once it has ended.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        // Until it was waited for, its number is nobody else's.
        let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(&self.child), signal);
    }

    #[cfg(unix)]
    fn end(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        let began = Instant::now();
        while matches!(self.ended(), Ok(None)) && began.elapsed() < TIDY_UP {
            std::thread::sleep(LOOK_AGAIN);
        }
        if self.status.is_none() {
            self.signal(rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn end(&mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if matches!(self.ended(), Ok(None)) {
            self.end();
            let _ = self.child.wait();
        }
    }
}

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

type OutputPiece = (OutputStream, Vec<u8>);

/// Reads a pipe on a thread of its own until its end, or until nobody listens any more.
fn listen(pipe: Option<impl Read + Send + 'static>, stream: OutputStream, to: &SyncSender<OutputPiece>) {
    let (Some(mut pipe), to) = (pipe, to.clone()) else { return };
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    if to.send((stream, buffer[..read].to_vec())).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    });
}

struct StreamOutput {
    output: Vec<u8>,
    errors: Vec<u8>,
    most: usize,
}

impl StreamOutput {
    /// Keeps a piece; `None` if it is one too many.
    fn take(&mut self, (stream, bytes): OutputPiece) -> Option<()> {
        match stream {
            OutputStream::Output => {
                self.output.extend_from_slice(&bytes);
                (self.output.len() <= self.most).then_some(())
            }
            OutputStream::Errors => {
                self.errors.extend_from_slice(&bytes);
                // What went wrong stands at the end.
                if self.errors.len() > self.most.saturating_mul(2) {
                    self.errors.drain(..self.errors.len() - self.most);
                }
                Some(())
            }
        }
    }

    /// Reads the rest of the pipes of a program that has ended.
    fn rest(&mut self, pieces: &Receiver<OutputPiece>) -> Option<()> {
        let began = Instant::now();
        while let Some(left) = LAST_WORDS.checked_sub(began.elapsed()) {
            match pieces.recv_timeout(left) {
                Ok(piece) => self.take(piece)?,
                Err(_) => break,
            }
        }
        Some(())
    }
}

#[cfg(all(test, unix))]
mod tests;
