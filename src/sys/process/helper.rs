//! A helper: another process of this program, for work that may abort a process. Main type: [`Helper`].
//!
//! It is asked in frames over its standard input and answers each with one byte. It ends when its input does, and on Linux with this process
//! in any case. The words of a frame belong to the caller.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

/// The interval at which a waiting caller looks whether it was stopped.
const TICK: Duration = Duration::from_millis(5);

/// A helper that waits for its next question.
pub struct Helper {
    input: Option<ChildStdin>,
    answers: Receiver<u8>,
    /// Dropped with the handle: then the thread beside it ends the process.
    #[expect(dead_code, reason = "it says that the handle is there")]
    alive: Sender<()>,
}

/// The end of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum HelperReply<E> {
    /// The helper answered.
    Answer(u8),
    /// The helper is gone: the question took it down.
    Died,
    /// The caller stopped waiting; the helper is gone with its question.
    Stopped(E),
}

impl Helper {
    /// Starts `program` with one argument. It gets no environment, no terminal and no folder of the user's.
    #[expect(clippy::disallowed_methods, reason = "this module starts the children")]
    pub fn start(program: &Path, argument: &str) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(argument).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let (started, start) = sync_channel(1);
        let (answer, answers) = channel();
        let (alive, dropped) = channel::<()>();
        // One thread starts the child and outlives it: on Linux a child may ask to be killed with the thread that started it.
        std::thread::Builder::new().name("helper".to_owned()).spawn(move || {
            let child = command.spawn();
            let mut child = match child {
                Ok(child) => child,
                Err(error) => return drop(started.send(Err(error))),
            };
            let (input, output) = (child.stdin.take(), child.stdout.take());
            let _ = started.send(Ok(input));
            let reader = std::thread::spawn(move || {
                let mut byte = [0];
                if let Some(mut output) = output {
                    while output.read_exact(&mut byte).is_ok() && answer.send(byte[0]).is_ok() {}
                }
            });
            // Until the handle is gone.
            let _ = dropped.recv();
            let _ = child.kill();
            let _ = child.wait();
            let _ = reader.join();
        })?;
        let input = start.recv().map_err(io::Error::other)??;
        Ok(Self { input, answers, alive })
    }

    /// Asks one question, in pieces, and waits for the answer as long as `go_on` says so. The helper is given back where it can be asked again.
    pub fn ask<E>(
        mut self,
        question: &[&[u8]],
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> (Option<Self>, HelperReply<E>) {
        let Some(input) = &mut self.input else { return (None, HelperReply::Died) };
        let sent = question.iter().try_for_each(|piece| input.write_all(piece)).and_then(|()| input.flush());
        if sent.is_err() {
            return (None, HelperReply::Died);
        }
        loop {
            match self.answers.recv_timeout(TICK) {
                Ok(answer) => return (Some(self), HelperReply::Answer(answer)),
                Err(RecvTimeoutError::Disconnected) => return (None, HelperReply::Died),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(why) = go_on() {
                        return (None, HelperReply::Stopped(why));
                    }
                }
            }
        }
    }

    /// Makes this process one that ends with its parent and leaves no core file. For the helper itself, at its start.
    pub fn confine() {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        }
    }
}
