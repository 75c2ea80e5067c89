//! Runs a tool: its program in a sandbox, its output in a saved run. Main function: [`execute`].
//!
//! What its lines mean belongs in `parsers`, which tool takes which arguments in `tools`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use super::log::{Log, LogStream};
use super::runs::{BuildRunWriter, BuildRuns, BuildRunsError};
use crate::sys::cancel::Cancel;
use crate::sys::files::{self, FileError};
use crate::sys::process::{
    Environment, MOST_OUTPUT, OutputStream, ProcessError, Program, SandboxReport, SandboxSpec, StopCause, StreamedCall,
    StreamedError, StreamedOutput,
};
use crate::sys::temporary::TemporaryFolder;

/// Upper bound on the bytes of a log that are parsed.
const MOST_PARSED: u64 = 10 << 20;
/// Upper bound on the bytes that wait for the end of a line of the other stream.
const MOST_HELD: usize = 1 << 20;

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct BuildCall {
    /// The name of the tool.
    pub tool: String,
    /// The program and its arguments. A program without a slash is looked for in the `PATH` of the environment.
    pub argv: Vec<String>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// All of the environment; a private folder for temporary files is added.
    pub environment: Environment,
    /// The time after which it is ended.
    pub timeout: Duration,
    /// The most bytes of output.
    pub cap: u64,
    /// Its permissions; the folder for temporary files is added.
    pub sandbox: SandboxSpec,
    /// The executable of this program.
    pub supervisor: PathBuf,
}

impl BuildCall {
    /// The usual limits: 10 minutes, 200 MB of output.
    pub fn new(tool: &str, argv: Vec<String>, cwd: PathBuf, sandbox: SandboxSpec, supervisor: PathBuf) -> Self {
        let (environment, timeout) = (Environment::default(), Duration::from_mins(10));
        Self { tool: tool.to_owned(), argv, cwd, environment, timeout, cap: MOST_OUTPUT, sandbox, supervisor }
    }
}

/// Why a program was not run to its end.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExecuteError {
    #[error("there is no program to run: the tool has an empty command")]
    Empty,
    #[error(transparent)]
    Program(#[from] ProcessError),
    #[error(transparent)]
    Streamed(#[from] StreamedError),
    #[error(transparent)]
    Temporary(#[from] FileError),
    #[error("the log cannot be kept: {0}")]
    Log(#[from] BuildRunsError),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildExit {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The reason why it was ended; `None` if it ended by itself.
    pub stopped: Option<StopCause>,
}

/// A run of a tool that has ended.
#[derive(Debug)]
pub struct BuildRun {
    /// Its id.
    pub run_id: Uuid,
    /// How the program ended, or why it was not run to its end.
    pub exit: Result<BuildExit, ExecuteError>,
    /// Its lines, up to 10 MiB; all of them are in the saved run.
    pub log: Log,
    /// Notes for the user: that it was ended, that not all was parsed.
    pub notes: Vec<String>,
    /// `true` if not all lines are in `log`.
    pub is_cut: bool,
    /// The enforced limits; `None` if the program was not started.
    pub sandbox: Option<SandboxReport>,
}

/// Runs a tool. The error is that of the place for the run; everything else, a program that is missing too, is in the run.
pub fn execute(
    call: &BuildCall,
    runs: &BuildRuns,
    cancel: &Cancel,
    on_line: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<BuildRun, BuildRunsError> {
    let mut recorder = BuildRecorder::new(runs.start(&call.tool, &call.cwd, &call.argv)?);
    let run_id = recorder.writer.id();
    let ended = run(call, cancel, &mut recorder, on_line);
    let (log, is_cut, end) = recorder.finish(ended.as_ref().ok());
    let ended = ended.and_then(|output| end.map(|()| output).map_err(ExecuteError::Log));
    let mut notes = Vec::new();
    if is_cut {
        notes.push(format!(
            "only the first {} MiB of the log were parsed; the saved log is complete",
            MOST_PARSED >> 20
        ));
    }
    let (exit, sandbox) = match ended {
        Ok(StreamedOutput { exit_code, signal, stopped, sandbox, left, .. }) => {
            notes.extend(stopped.map(|cause| stop_note(cause, call)));
            if left > 0 {
                notes.push(format!("{left} of its processes could not be ended: they hang in the kernel"));
            }
            (Ok(BuildExit { code: exit_code, signal, stopped }), Some(sandbox))
        }
        Err(error) => (Err(error), None),
    };
    Ok(BuildRun { run_id, exit, log, notes, is_cut, sandbox })
}

fn stop_note(cause: StopCause, call: &BuildCall) -> String {
    match cause {
        StopCause::TimedOut => format!("it was ended after {} s, or with the whole run", call.timeout.as_secs()),
        StopCause::Cancelled => "it was cancelled".to_owned(),
        StopCause::TooMuchOutput => {
            format!("it wrote more than {} bytes and was ended; the log has that many", call.cap)
        }
        StopCause::TooManyProcesses => {
            format!("it started more than {} processes and was ended", call.sandbox.processes)
        }
        StopCause::Unwanted => "its log could not be written, so it was ended".to_owned(),
    }
}

fn run(
    call: &BuildCall,
    cancel: &Cancel,
    recorder: &mut BuildRecorder,
    on_line: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<StreamedOutput, ExecuteError> {
    let (name, arguments) = call.argv.split_first().ok_or(ExecuteError::Empty)?;
    let program =
        if name.contains('/') { Program::at(call.cwd.join(name))? } else { Program::find(name, &call.environment)? };
    let temporary = TemporaryFolder::new()?;
    // Beside what says that the folder is in use.
    let folder = temporary.path().join("tmp");
    files::private_folder(&folder)?;
    let environment = call.environment.clone().with("TMPDIR", &folder);
    let sandbox = SandboxSpec { temporary: Some(folder), ..call.sandbox.clone() };
    let streamed = StreamedCall {
        arguments: arguments.iter().map(Into::into).collect(),
        environment,
        directory: call.cwd.clone(),
        timeout: call.timeout,
        most: call.cap,
        sandbox,
        supervisor: call.supervisor.clone(),
    };
    let mut sink = |stream, line: &[u8]| {
        on_line(stream, line);
        recorder.take(stream, line)
    };
    Ok(program.run_streamed(&streamed, cancel, &mut sink)?)
}

/// Puts the lines of both streams one behind the other, into the saved log and into the one that is parsed.
struct BuildRecorder {
    writer: BuildRunWriter,
    log: Log,
    /// Number of bytes that were written.
    written: u64,
    is_cut: bool,
    fault: Option<BuildRunsError>,
    /// A line whose end is still to come: no line of the other stream may break it. Its bytes are written already.
    open: Option<(OutputStream, Vec<u8>)>,
    /// The text of the other stream meanwhile.
    held: Vec<u8>,
}

impl BuildRecorder {
    fn new(writer: BuildRunWriter) -> Self {
        Self { writer, log: Log::default(), written: 0, is_cut: false, fault: None, open: None, held: Vec::new() }
    }

    fn take(&mut self, stream: OutputStream, line: &[u8]) -> ControlFlow<()> {
        match &self.open {
            Some((open, _)) if *open != stream => {
                self.held.extend_from_slice(line);
                if self.held.len() > MOST_HELD {
                    self.close();
                }
            }
            _ => self.write(stream, line),
        }
        if self.fault.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Writes bytes of one line, and behind its end what waited for that.
    fn write(&mut self, stream: OutputStream, bytes: &[u8]) {
        if self.fault.is_none()
            && let Err(fault) = self.writer.append(bytes)
        {
            self.fault = Some(fault);
        }
        self.written += bytes.len() as u64;
        let (_, line) = self.open.get_or_insert_with(|| (stream, Vec::new()));
        self.is_cut |= self.written > MOST_PARSED;
        if !self.is_cut {
            line.extend_from_slice(bytes);
        }
        if bytes.ends_with(b"\n") {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let Some((stream, line)) = self.open.take() else { return };
        if !self.is_cut {
            let log_stream = match stream {
                OutputStream::Output => LogStream::Output,
                OutputStream::Errors => LogStream::Errors,
            };
            self.log.push(log_stream, &line, self.written - line.len() as u64);
        }
        let other = match stream {
            OutputStream::Output => OutputStream::Errors,
            OutputStream::Errors => OutputStream::Output,
        };
        for line in std::mem::take(&mut self.held).split_inclusive(|byte| *byte == b'\n') {
            self.write(other, line);
        }
    }

    /// Ends the line that has no end, so that the next one is another one.
    fn close(&mut self) {
        while let Some((stream, _)) = self.open {
            self.write(stream, b"\n");
        }
    }

    /// Ends the run; `true` if not all was kept for parsing.
    fn finish(mut self, output: Option<&StreamedOutput>) -> (Log, bool, Result<(), BuildRunsError>) {
        if self.held.is_empty() {
            self.end_line();
        } else {
            self.close();
        }
        let finished = self.writer.finish(output).map(drop);
        (self.log, self.is_cut, self.fault.map_or(finished, Err))
    }
}
