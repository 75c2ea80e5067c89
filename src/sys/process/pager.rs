//! The user's pager: a program that shows text on the terminal of this process. Main function: [`show_in_pager`].

use std::ffi::OsStr;

use super::environment::Environment;
use super::{ProcessError, Program};

/// Shows text with a shell command that reads it from standard input, and waits until the user leaves it, however long that takes. Returns
/// `false` if the command could not be run, so that nothing was shown.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "children are started in this folder")]
pub fn show_in_pager(command: &OsStr, text: &[u8], environment: &Environment) -> Result<bool, ProcessError> {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    /// The exit codes of a shell that cannot run the command.
    const NOT_RUN: [i32; 2] = [126, 127];
    let shell = Program::find("sh", environment)?;
    let fault = |source| ProcessError::Start { path: shell.path().to_owned(), source };
    let mut call = Command::new(shell.path());
    call.arg("-c").arg(command).env_clear().envs(environment.0.iter().map(|(name, value)| (name, value)));
    // It stays in the group of this process, so that it can read keys from the terminal.
    let mut child = call.stdin(Stdio::piped()).spawn().map_err(fault)?;
    if let Some(mut input) = child.stdin.take() {
        // A pager may be left before its end.
        let _ = input.write_all(text);
    }
    let status = child.wait().map_err(fault)?;
    Ok(!status.code().is_some_and(|code| NOT_RUN.contains(&code)))
}

/// Shows nothing: there is no shell to run the command.
#[cfg(not(unix))]
pub fn show_in_pager(_: &OsStr, _: &[u8], _: &Environment) -> Result<bool, ProcessError> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_the_text_and_one_that_is_missing_shows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let command = format!("cat > '{}'", seen.display());
        let environment = Environment::of_this_process();
        assert!(show_in_pager(command.as_ref(), b"a\nb\n", &environment).unwrap());
        assert_eq!(std::fs::read(&seen).unwrap(), b"a\nb\n");
        assert!(show_in_pager("true".as_ref(), &vec![b'x'; 1 << 20], &environment).unwrap(), "it may be left early");
        assert!(!show_in_pager("/nonexistent/pager 2>&1".as_ref(), b"x", &environment).unwrap());
    }
}
