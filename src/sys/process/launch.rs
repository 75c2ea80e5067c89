//! Programs of the user's desktop, which go on after this process. Main items: [`launch`], [`LaunchSession`].

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::environment::Environment;
use super::{LOOK_AGAIN, ProcessError, Program};

/// The time in which an opener reports that it failed. One that still runs then is itself the program that was to be opened.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reason why a program of the desktop was not started.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LaunchError {
    #[error("this session is one over SSH")]
    Remote,
    #[error("there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)")]
    NoDisplay,
    #[error("{} failed ({status})", path.display())]
    Failed { path: PathBuf, status: String },
    #[error(transparent)]
    Start(#[from] ProcessError),
}

/// The kind of session of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchSession {
    /// One with a desktop.
    Desktop,
    /// One over SSH: a window would open on another machine, or nowhere.
    Remote,
    /// One without a display.
    NoDisplay,
}

impl LaunchSession {
    /// Returns the session of this process.
    pub fn of_this_process() -> Self {
        Self::of(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    fn of(is_set: impl Fn(&str) -> bool) -> Self {
        let needs_display = cfg!(unix) && !cfg!(target_os = "macos");
        if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
            Self::Remote
        } else if needs_display && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
            Self::NoDisplay
        } else {
            Self::Desktop
        }
    }
}

/// Starts a program of the desktop and leaves it running; fails if it ends with a failure soon.
pub fn launch(
    name: &str,
    arguments: Vec<OsString>,
    environment: &Environment,
    session: LaunchSession,
) -> Result<(), LaunchError> {
    match session {
        LaunchSession::Desktop => launch_within(PATIENCE, name, arguments, environment),
        LaunchSession::Remote => Err(LaunchError::Remote),
        LaunchSession::NoDisplay => Err(LaunchError::NoDisplay),
    }
}

/// Runs a program of the user's choice in this terminal, as an editor, and waits for the user to close it. It gets the user's environment.
#[expect(clippy::disallowed_methods, reason = "children are started in this folder")]
pub fn run_in_terminal(name: &OsStr, arguments: impl Iterator<Item = OsString>) -> Result<ExitStatus, ProcessError> {
    let path = match PathBuf::from(name) {
        path if path.is_absolute() => Program::at(path)?,
        path => Program::find(&path.to_string_lossy(), &Environment::of_desktop())?,
    };
    let fault = |source| ProcessError::Start { path: path.path().to_owned(), source };
    Command::new(path.path()).args(arguments).status().map_err(fault)
}

#[expect(clippy::disallowed_methods, reason = "children are started in this folder")]
fn launch_within(
    patience: Duration,
    name: &str,
    arguments: Vec<OsString>,
    environment: &Environment,
) -> Result<(), LaunchError> {
    let program = Program::find(name, environment)?;
    let path = program.path();
    let fault = |source| ProcessError::Start { path: path.to_owned(), source };
    let mut command = Command::new(path);
    command.args(arguments).env_clear().envs(environment.0.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its own group: an interrupt in the terminal does not end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(fault)?;
    let began = Instant::now();
    while began.elapsed() < patience {
        match child.try_wait().map_err(fault)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(LaunchError::Failed { path: path.to_owned(), status: status.to_string() }),
            None => std::thread::sleep(LOOK_AGAIN),
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_a_desktop_is_seen() {
        assert_eq!(LaunchSession::of(|_| true), LaunchSession::Remote);
        assert_eq!(LaunchSession::of(|name| name == "WAYLAND_DISPLAY"), LaunchSession::Desktop);
        let nothing = if cfg!(target_os = "macos") { LaunchSession::Desktop } else { LaunchSession::NoDisplay };
        assert_eq!(LaunchSession::of(|_| false), nothing);
        let refused = launch("sh", Vec::new(), &Environment::of_this_process(), LaunchSession::Remote).unwrap_err();
        assert!(refused.to_string().contains("SSH"), "{refused}");
    }

    #[test]
    fn a_program_that_fails_is_reported_and_one_that_runs_is_left() {
        let launch = |script: &str| {
            let arguments = vec!["-c".into(), script.into()];
            launch_within(Duration::from_millis(300), "sh", arguments, &Environment::of_this_process())
        };
        launch("exit 0").unwrap();
        launch("sleep 2").unwrap();
        // On a busy machine it may not have ended in time.
        let failed = (0..50).find_map(|_| launch("exit 3").err()).expect("a failure");
        assert!(matches!(&failed, LaunchError::Failed { status, .. } if status.contains('3')), "{failed}");
    }
}
