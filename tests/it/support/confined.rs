//! Runs the program under a watchdog that kills it, so that a test of hostile input can neither fill the machine nor hang. Main type: [`Limits`].

use std::ffi::OsStr;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wait4::Wait4 as _;

use super::{Program, Ran};

/// The interval between two looks of the watchdog at the process.
const LOOK: Duration = Duration::from_millis(5);

/// The bounds of one run. Seconds are generous, since they only tell a process that ends from one that does not; memory is the operating
/// system's own account of the process, which a busy machine does not change.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Wall seconds after which the process is killed.
    pub seconds: u64,
    /// Megabytes of resident memory above which it is killed.
    pub megabytes: u64,
}

impl Limits {
    /// Bounds for a run that ends on its own within moments on an idle machine.
    pub const USUAL: Self = Self { seconds: 600, megabytes: 500 };
}

impl Program {
    /// Runs the program to its end within `limits`; panics, with what it printed, when the watchdog had to kill it, when a signal ended it, or
    /// when its peak memory was above the limit.
    #[track_caller]
    pub fn confined<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I, limits: Limits) -> Ran {
        let mut child = self.command(args).spawn().expect("the program starts");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("a process id");
        let (stdout, stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let read = |mut pipe: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).expect("its output is read");
                bytes
            })
        };
        let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
        let ended = AtomicBool::new(false);
        let (used, (killed, seen)) = std::thread::scope(|scope| {
            let dog = scope.spawn(|| watch(pid, limits, &ended));
            let used = child.wait4().expect("the program is waited for");
            ended.store(true, Ordering::SeqCst);
            (used, dog.join().expect("the watchdog ends"))
        });
        let stderr = stderr.join().expect("the reader ends");
        let ran = Ran {
            code: used.status.code().unwrap_or(-1),
            stdout: stdout.join().expect("the reader ends"),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        // What is accounted to an ended process begins with the size of the one that started it, so it counts only where it is more.
        let accounted = used.rusage.maxrss >> 20;
        let own = peak_megabytes(
            Pid::from_raw(i32::try_from(std::process::id()).expect("a process id")).expect("a process id"),
        );
        let peak = if accounted > own { seen.max(accounted) } else { seen };
        assert!(killed.is_none(), "{}\nstderr:\n{}", killed.unwrap_or_default(), ran.stderr);
        assert!(ran.code >= 0, "a signal ended it: {:?}\nstderr:\n{}", used.status, ran.stderr);
        assert!(peak <= limits.megabytes, "{peak} MB of {} MB\nstderr:\n{}", limits.megabytes, ran.stderr);
        ran
    }
}

/// Kills the process when it exceeds its limits before it ended; says why, and what its peak memory was.
fn watch(pid: Pid, limits: Limits, ended: &AtomicBool) -> (Option<String>, u64) {
    let began = Instant::now();
    let mut peak = 0;
    while !ended.load(Ordering::SeqCst) {
        peak = if is_copy(pid) { peak } else { peak_megabytes(pid).max(peak) };
        let why = if peak > limits.megabytes {
            format!("killed: it took {peak} MB of {} MB", limits.megabytes)
        } else if began.elapsed() > Duration::from_secs(limits.seconds) {
            format!("killed: it did not end in {} s", limits.seconds)
        } else {
            std::thread::sleep(LOOK);
            continue;
        };
        let _ = kill_process(pid, Signal::KILL);
        return (Some(why), peak);
    }
    (None, peak)
}

/// True until the process is the program: before that it is a copy of these tests, with their size.
fn is_copy(pid: Pid) -> bool {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    of(&pid.as_raw_nonzero().to_string()) == of("self")
}

/// The most memory the process has had so far; 0 where the system does not tell while it runs.
fn peak_megabytes(pid: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib >> 10)
}
