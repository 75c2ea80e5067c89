//! The processes below one process, found in `/proc`. Main type: [`Descendant`].
//!
//! A process that is told to end is addressed by a handle, so that no other one that got its number meanwhile is hit. When and why they end
//! belongs in `supervisor`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::sys::process_stat::ProcessStat;

/// Upper bound on the rounds in which processes are stopped before they are killed; each finds what was started during the last one.
const MOST_ROUNDS: usize = 100;
/// The time for which children are killed without a pause.
const HOT: Duration = Duration::from_millis(10);

/// A process below another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Descendant {
    pid: i32,
    parent: i32,
    /// When it was started, in ticks: a later process with the same number differs in it.
    started: u64,
}

impl Descendant {
    /// Sends a signal, unless the process is gone.
    fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if read(self.pid).is_some_and(|now| now.started == self.started) {
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}

/// Lists the processes below this one. One whose parent ended is below this one too, if this one is a subreaper.
pub(super) fn list() -> Vec<Descendant> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<Descendant> = pids.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect();
    let mut family = HashSet::from([std::process::id().cast_signed()]);
    let mut found = Vec::new();
    // A parent may stand behind its child in the list: pass over it until nothing is new.
    loop {
        let known = family.len();
        for process in &all {
            if family.contains(&process.parent) && family.insert(process.pid) {
                found.push(*process);
            }
        }
        if family.len() == known {
            return found;
        }
    }
}

/// Asks all of them to end.
pub(super) fn terminate() {
    signal_all(Signal::TERM);
}

fn signal_all(signal: Signal) {
    for process in list() {
        process.signal(signal);
    }
}

/// Kills all of them. They are stopped first, so that none starts another one meanwhile.
pub(super) fn kill() {
    let mut stopped = HashSet::new();
    for _ in 0..MOST_ROUNDS {
        let new: Vec<Descendant> = list().into_iter().filter(|process| stopped.insert(*process)).collect();
        if new.is_empty() {
            break;
        }
        for process in new {
            process.signal(Signal::STOP);
        }
    }
    signal_all(Signal::KILL);
    kill_children();
}

/// Kills the direct children again and again for a moment. A process that starts its successor and ends is gone before the list of all is
/// read, but each of them is a child of this process then, and children are listed in a fraction of the time.
fn kill_children() {
    let began = Instant::now();
    while began.elapsed() < HOT {
        for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
                // Only this process waits for its children: the number is nobody else's before that.
                let _ = kill_process(child, Signal::KILL);
            }
        }
    }
}

/// Reads what `/proc` says of a process.
fn read(pid: i32) -> Option<Descendant> {
    let ProcessStat { parent, started } = ProcessStat::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)?;
    Some(Descendant { pid, parent, started })
}
