//! The supervisor: a process of this program that starts another program in a sandbox and ends all that it started. Main function:
//! [`supervise`].
//!
//! It is connected to its caller by a socket, its standard input. It reports there, and when the other end is closed, because the caller
//! wants it or is dead, it ends everything. The program cannot reach it: it is outside of the sandbox. What the sandbox is belongs in
//! `sandbox`.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use super::TIDY_UP;
use super::sandbox::{self, SandboxLevel, SandboxReport, SandboxSpec};

/// The first argument that makes this program a supervisor.
pub const COMMAND: &str = "__sandbox";
/// The interval at which the supervisor looks at its children and its caller.
const TICK: Duration = Duration::from_millis(5);
/// The interval at which the processes are counted.
const COUNT_AGAIN: Duration = Duration::from_millis(200);
/// The time after which a killed process is given up; it hangs in the kernel.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The reason why a process is no supervisor. Nobody sees it who does not start one by hand.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SupervisorError {
    #[error(
        "{COMMAND} is for this program itself: {COMMAND} <spec> -- <program> [arguments], with a socket as standard input"
    )]
    Usage,
    #[error("the caller cannot be reached: {0}; run it again")]
    Link(#[from] io::Error),
}

/// A message of the supervisor to its caller, one JSON document a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum SupervisorMessage {
    /// The program runs.
    Started { report: SandboxReport },
    /// It was not started: the sandbox is required and cannot be enforced.
    Refused { report: SandboxReport },
    /// It could not be started.
    Failed { reason: String },
    /// It has ended, and with it what it started.
    Ended { exit_code: Option<i32>, signal: Option<i32>, is_too_many: bool, left: usize },
}

/// Runs as a supervisor until the program has ended; `arguments` are those behind [`COMMAND`]. For a process without other threads.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> Result<(), SupervisorError> {
    let mut arguments = arguments.into_iter();
    let spec = arguments.next().and_then(|spec| serde_json::from_str::<SandboxSpec>(spec.to_str()?).ok());
    let dashes = arguments.next().is_some_and(|dashes| dashes == "--");
    let (Some(spec), true, Some(program)) = (spec, dashes, arguments.next()) else {
        return Err(SupervisorError::Usage);
    };
    let mut link = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // No terminal: what runs here must not read from it, nor write to it as if somebody typed.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)?;
    let isolation = sandbox::isolate(&spec);
    let arguments: Vec<OsString> = arguments.collect();
    // Restricted is this thread, and what it starts; the others must be able to end that.
    let start = std::thread::spawn(move || {
        start(&spec, &isolation, &program, &arguments).map(|(pid, report)| (pid, report, spec))
    });
    let started =
        start.join().unwrap_or_else(|_| Err(SupervisorMessage::Failed { reason: "the supervisor failed".to_owned() }));
    let (program, report, spec) = match started {
        Ok(started) => started,
        Err(message) => return send(&mut link, &message),
    };
    send(&mut link, &SupervisorMessage::Started { report })?;
    let hung_up = hang_up(&link)?;
    let message = watch(program, &spec, &hung_up);
    send(&mut link, &message)
}

#[expect(clippy::disallowed_methods, reason = "this module starts the children")]
fn start(
    spec: &SandboxSpec,
    isolation: &sandbox::Isolation,
    program: &OsString,
    arguments: &[OsString],
) -> Result<(Pid, SandboxReport), SupervisorMessage> {
    let report = sandbox::restrict(spec, isolation);
    if !spec.accepts(&report) {
        return Err(SupervisorMessage::Refused { report });
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    if let Some(temporary) = isolation.temporary.as_ref().or(spec.temporary.as_ref()) {
        command.env("TMPDIR", temporary);
        if spec.level == SandboxLevel::Strict {
            // The user's caches are closed: what a stranger's code leaves there others would use.
            command.env("XDG_CACHE_HOME", temporary.join("cache")).env("GOCACHE", temporary.join("go-build"));
        }
    }
    let child = command.spawn().map_err(|error| SupervisorMessage::Failed { reason: error.to_string() })?;
    // It is waited for by number, with all the others.
    Ok((Pid::from_child(&child), report))
}

fn send(link: &mut UnixStream, message: &SupervisorMessage) -> Result<(), SupervisorError> {
    let mut line = serde_json::to_string(message).map_err(io::Error::from)?;
    line.push('\n');
    match link.write_all(line.as_bytes()) {
        // The caller is gone and wants to know nothing.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Returns a flag that is set when the caller closes its end, or dies.
fn hang_up(link: &UnixStream) -> io::Result<Arc<AtomicBool>> {
    let (mut link, flag) = (link.try_clone()?, Arc::new(AtomicBool::new(false)));
    let set = Arc::clone(&flag);
    std::thread::spawn(move || {
        let mut byte = [0];
        while link.read(&mut byte).is_ok_and(|read| read > 0) {}
        set.store(true, Ordering::SeqCst);
    });
    Ok(flag)
}

/// The children of this process, as far as they have been waited for.
struct Reaper {
    program: Pid,
    status: Option<WaitStatus>,
}

impl Reaper {
    /// Waits for what has ended; `false` once there is no child left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Waits until there is no child left, at most for `limit`; says whether that is so.
    fn reap_all(&mut self, limit: Duration, mut again: impl FnMut()) -> bool {
        let began = Instant::now();
        while self.reap() {
            if began.elapsed() > limit {
                return false;
            }
            again();
            std::thread::sleep(TICK);
        }
        true
    }
}

/// Waits for the end of the program, or of the caller's patience, and ends everything.
fn watch(program: Pid, spec: &SandboxSpec, hung_up: &AtomicBool) -> SupervisorMessage {
    let mut reaper = Reaper { program, status: None };
    let (mut counted, mut is_too_many) = (Instant::now(), false);
    while reaper.reap() && reaper.status.is_none() && !hung_up.load(Ordering::SeqCst) && !is_too_many {
        std::thread::sleep(TICK);
        if counted.elapsed() > COUNT_AGAIN {
            is_too_many = count() > spec.processes;
            counted = Instant::now();
        }
    }
    // Too many of them would use the time to start more.
    let mut all_gone = false;
    if !is_too_many {
        terminate(program);
        all_gone = reaper.reap_all(TIDY_UP, || {});
    }
    let all_gone = all_gone || reaper.reap_all(GIVE_UP, || kill(program));
    let exit_code = reaper.status.and_then(WaitStatus::exit_status);
    let signal = reaper.status.and_then(WaitStatus::terminating_signal);
    SupervisorMessage::Ended { exit_code, signal, is_too_many, left: if all_gone { 0 } else { count().max(1) } }
}

#[cfg(target_os = "linux")]
mod below {
    use super::super::descendants;
    use super::Pid;

    pub(super) fn count() -> usize {
        descendants::list().len()
    }

    pub(super) fn terminate(_: Pid) {
        descendants::terminate();
    }

    pub(super) fn kill(_: Pid) {
        descendants::kill();
    }
}

/// Elsewhere only the group of the program is known.
#[cfg(not(target_os = "linux"))]
mod below {
    use super::Pid;
    use rustix::process::{Signal, kill_process_group};

    pub(super) fn count() -> usize {
        0
    }

    pub(super) fn terminate(program: Pid) {
        let _ = kill_process_group(program, Signal::TERM);
    }

    pub(super) fn kill(program: Pid) {
        let _ = kill_process_group(program, Signal::KILL);
    }
}

use below::{count, kill, terminate};
