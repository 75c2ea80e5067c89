//! Waiting for blocking work that may never come back: libgit2, a parse, a walk, a pipe, a read. Main functions: [`run`], [`run_here`]; main
//! type: [`Workers`].
//!
//! Work that watches its [`Cancel`] ends on its own within [`GRACE`] of a stop, with what it has. Work that does not is abandoned: its thread is
//! left behind, and the caller goes on with an error that names it. A thread cannot be ended from outside; it goes with the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, oneshot};

use super::cancel::{Cancel, CancelReason};

/// The time that stopped work has to end on its own. Shorter than the time after which an interrupted command gives up altogether, so that an
/// interrupt still ends with what was found.
pub const GRACE: Duration = Duration::from_secs(2);

/// The stack of a worker, in bytes: as much as the main thread of a process has on most systems.
const STACK: usize = 8 << 20;

/// The interval at which a waiting caller looks whether it was stopped.
const TICK: Duration = Duration::from_millis(20);

/// Work without a result; `what` is the work, as the subject of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BlockingFailure {
    /// It did not end in time, and was left behind.
    #[error(
        "{what} did not end: {why}. The usual cause is a damaged object (`git fsck` finds it), a named pipe in the place of a file, or a \
         repository that was made to take forever"
    )]
    Abandoned { what: &'static str, why: CancelReason },
    /// It took more memory than any input needs.
    #[error(
        "{what} was given up: the program holds more than {} GiB. The usual cause is a link to an endless file (`/dev/zero`) in the place of one \
         that git reads (`.gitignore`, `~/.gitconfig`)",
        MOST_MEMORY >> 30
    )]
    Memory { what: &'static str },
    /// The system has no thread for it.
    #[error(
        "{what} could not start: the system allows no more threads; end other programs, or raise the limit (`ulimit -u`)"
    )]
    NoThread { what: &'static str },
    /// Too many calls before it never ended.
    #[error(
        "{what} was not begun: {MOST_STUCK} calls before it did not end; start the server anew, and leave out the repository that holds them up"
    )]
    Crowded { what: &'static str },
    #[error("{what} failed unexpectedly; this is a defect of review, please report it")]
    Panicked { what: &'static str },
}

/// Runs `work` on a thread of its own, and waits until it ends, or until [`GRACE`] has passed since `cancel` stopped.
///
/// `what` is the subject of the sentence that says what was left behind. The threads of a runtime's pool are not used: there are only so many of
/// them, and work that never ends would use them up.
pub async fn run<T: Send + 'static>(
    what: &'static str,
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BlockingFailure> {
    let (sender, mut ended) = oneshot::channel();
    let runtime = Handle::current();
    start(what, move || {
        // Work may start tasks of the caller's runtime.
        let _entered = runtime.enter();
        // Nobody waits any more when the work was abandoned.
        drop(sender.send(work()));
    })?;
    let mut limit = AbandonDeadline::default();
    loop {
        tokio::select! {
            done = &mut ended => return done.map_err(|_| BlockingFailure::Panicked { what }),
            () = tokio::time::sleep(TICK) => limit.check(what, cancel)?,
        }
    }
}

/// Runs `work` likewise, for a caller that may block itself.
pub fn run_here<T: Send + 'static>(
    what: &'static str,
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BlockingFailure> {
    let (sender, ended) = mpsc::sync_channel(1);
    start(what, move || drop(sender.send(work())))?;
    let mut limit = AbandonDeadline::default();
    loop {
        match ended.recv_timeout(TICK) {
            Ok(done) => return Ok(done),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(BlockingFailure::Panicked { what }),
            Err(mpsc::RecvTimeoutError::Timeout) => limit.check(what, cancel)?,
        }
    }
}

/// Runs short work that waits for the disk, without holding up the other tasks of a runtime with several threads.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// Work that was begun in the background.
#[derive(Debug)]
pub struct BackgroundWork<T>(Mutex<mpsc::Receiver<T>>);

impl<T: Send + 'static> BackgroundWork<T> {
    /// Begins short work that waits for the disk, on a thread of the runtime's pool; outside of a runtime, it ends before this returns.
    pub fn begin(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, ended) = mpsc::channel();
        let work = move || drop(sender.send(work()));
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
        Self(Mutex::new(ended))
    }

    /// Waits for its result; `None` if the runtime was shut down before.
    pub fn wait(self) -> Option<T> {
        let ended = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.try_recv().ok().or_else(|| in_place(|| ended.recv().ok()))
    }
}

fn start(what: &'static str, work: impl FnOnce() + Send + 'static) -> Result<(), BlockingFailure> {
    let thread = std::thread::Builder::new().name(what.to_owned()).stack_size(STACK);
    thread.spawn(work).map(drop).map_err(|_| BlockingFailure::NoThread { what })
}

/// The most calls that nobody waits for any more and that have not ended: as many threads are left behind at most.
const MOST_STUCK: usize = 64;

/// Workers of a server: a bounded number of calls runs at once, the others wait their turn.
#[derive(Debug, Clone)]
pub struct Workers {
    turns: Arc<Semaphore>,
    stuck: Arc<AtomicUsize>,
}

/// The turn of a call, given back once, by whichever of its two ends goes first: that of the work, or that of who waits for it.
#[derive(Debug)]
struct WorkerPermit {
    workers: Workers,
    is_over: AtomicBool,
}

/// The end of the work.
struct WorkEnd(Arc<WorkerPermit>);

/// The end of who waits.
struct CallerEnd(Arc<WorkerPermit>);

impl Drop for WorkEnd {
    fn drop(&mut self) {
        if self.0.is_over.swap(true, Ordering::AcqRel) {
            self.0.workers.stuck.fetch_sub(1, Ordering::AcqRel);
        } else {
            self.0.workers.turns.add_permits(1);
        }
    }
}

impl Drop for CallerEnd {
    fn drop(&mut self) {
        if !self.0.is_over.swap(true, Ordering::AcqRel) {
            self.0.workers.stuck.fetch_add(1, Ordering::AcqRel);
            self.0.workers.turns.add_permits(1);
        }
    }
}

impl Workers {
    /// At most `count` of them at once.
    pub fn new(count: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(count)), stuck: Arc::default() }
    }

    /// Runs `work` when it is its turn, as [`run`] does. The turn ends with the work; work that is abandoned, also because the caller went away, has
    /// its place taken by another worker, so that stuck ones never use them up.
    pub async fn run<T: Send + 'static>(
        &self,
        what: &'static str,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingFailure> {
        let permit = unless_stopped(cancel, self.turns.acquire()).await;
        permit
            .map_err(|why| BlockingFailure::Abandoned { what, why })?
            .map_err(|_| BlockingFailure::Panicked { what })?
            .forget();
        let turn = Arc::new(WorkerPermit { workers: self.clone(), is_over: AtomicBool::new(false) });
        let (working, _waiting) = (WorkEnd(Arc::clone(&turn)), CallerEnd(turn));
        if self.stuck.load(Ordering::Acquire) >= MOST_STUCK {
            return Err(BlockingFailure::Crowded { what });
        }
        run(what, cancel, move || {
            let _working = working;
            work()
        })
        .await
    }
}

/// Waits for a future that cannot hear an interrupt, and abandons it when one comes.
pub async fn unless_stopped<T>(cancel: &Cancel, work: impl Future<Output = T>) -> Result<T, CancelReason> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        why = cancel.until_stopped() => Err(why),
    }
}

/// The memory of the process, in bytes, above which nothing is waited for: twice what [`LIMITS`](crate::domain::limits::LIMITS) let any input
/// take. It stops what the limits cannot see, since a library reads it.
const MOST_MEMORY: u64 = 2 << 30;

/// Checks whether a process holds too much memory, by its `/proc/<pid>/status`. Files that it maps (the packs of repositories) do not count.
fn is_memory_exhausted(status: &str) -> bool {
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes = resident.and_then(|held| held.trim_end_matches("kB").trim().parse::<u64>().ok());
    kibibytes.is_some_and(|held| held > MOST_MEMORY >> 10)
}

/// The moment at which stopped work is abandoned.
#[derive(Default)]
struct AbandonDeadline(Option<(CancelReason, Instant)>);

impl AbandonDeadline {
    /// Refuses to wait on: the grace is over, or the process has taken too much memory.
    fn check(&mut self, what: &'static str, cancel: &Cancel) -> Result<(), BlockingFailure> {
        // There is none on some systems.
        if std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_memory_exhausted(&status)) {
            return Err(BlockingFailure::Memory { what });
        }
        self.passed(cancel).map_or(Ok(()), |why| Err(BlockingFailure::Abandoned { what, why }))
    }

    /// The reason to abandon the work, once its grace is over. The grace counts from when the stop was seen: a machine that was asleep or
    /// too busy to look gives the work its time all the same.
    fn passed(&mut self, cancel: &Cancel) -> Option<CancelReason> {
        let why = cancel.check().err()?;
        let (why, since) = *self.0.get_or_insert((why, Instant::now()));
        (since.elapsed() >= GRACE).then_some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: &str = "the test";

    #[test]
    fn work_that_never_ends_is_abandoned_and_named() {
        let (hold, held) = mpsc::channel::<()>();
        let lost = run_here(WHAT, &Cancel::after(Duration::ZERO), move || held.recv()).unwrap_err();
        assert_eq!(lost, BlockingFailure::Abandoned { what: WHAT, why: CancelReason::DeadlinePassed });
        assert!(lost.to_string().starts_with("the test did not end: the time limit"), "{lost}");
        drop(hold);
    }

    #[test]
    fn only_memory_beyond_the_limit_that_is_no_file_is_too_much() {
        let status = |held: u64| format!("VmRSS:\t9000000 kB\nRssAnon:\t {held} kB\nRssFile:\t9000000 kB\n");
        let most = MOST_MEMORY >> 10;
        assert_eq!([most, most + 1].map(|held| is_memory_exhausted(&status(held))), [false, true]);
        assert!(!is_memory_exhausted("VmRSS:\t9000000 kB\n") && !is_memory_exhausted("RssAnon:\tmuch kB\n"));
    }

    #[test]
    fn work_that_hears_the_stop_has_time_to_answer() {
        let cancel = Cancel::after(Duration::ZERO);
        assert_eq!(run_here(WHAT, &cancel, || 1), Ok(1));
        let late = || std::thread::sleep(TICK * 3);
        assert_eq!(run_here(WHAT, &cancel, late), Ok(()));
    }

    #[tokio::test]
    async fn async_callers_wait_alike() {
        let (hold, held) = mpsc::channel::<()>();
        let cancel = Cancel::never();
        cancel.interrupt();
        let lost = run(WHAT, &cancel, move || held.recv()).await.unwrap_err();
        assert_eq!(lost, BlockingFailure::Abandoned { what: WHAT, why: CancelReason::Interrupted });
        drop(hold);
        assert_eq!(run(WHAT, &cancel, || 1).await, Ok(1));
        let broken = run(WHAT, &Cancel::never(), || assert!(TICK.is_zero(), "a defect")).await;
        assert_eq!(broken, Err(BlockingFailure::Panicked { what: WHAT }));
    }

    #[tokio::test]
    async fn a_worker_that_is_stuck_is_replaced() {
        let workers = Workers::new(1);
        let (hold, held) = mpsc::channel::<()>();
        let lost = workers.run(WHAT, &Cancel::after(TICK), move || held.recv()).await.unwrap_err();
        assert!(matches!(lost, BlockingFailure::Abandoned { .. }), "{lost}");
        assert_eq!(workers.run(WHAT, &Cancel::never(), || 1).await, Ok(1), "its place was taken");
        drop(hold);
        // Whenever the stuck one ends, there is one worker.
        assert_eq!(workers.run(WHAT, &Cancel::never(), || 2).await, Ok(2));
        assert!(workers.turns.available_permits() <= 1);
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_takes_no_worker_and_only_so_many_are_left_behind() {
        let workers = Workers::new(1);
        let mut held = Vec::new();
        for _ in 0..MOST_STUCK {
            let (hold, stuck) = mpsc::channel::<()>();
            held.push(hold);
            let never = Cancel::never();
            let call = workers.run(WHAT, &never, move || stuck.recv());
            assert!(tokio::time::timeout(TICK, call).await.is_err(), "its caller went away");
        }
        assert_eq!(workers.run(WHAT, &Cancel::never(), || 1).await, Err(BlockingFailure::Crowded { what: WHAT }));
        drop(held);
        while workers.stuck.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(TICK).await;
        }
        assert_eq!(workers.run(WHAT, &Cancel::never(), || 2).await, Ok(2));
        assert_eq!(workers.turns.available_permits(), 1, "each turn was given back once");
    }

    #[tokio::test]
    async fn what_is_stopped_is_not_waited_for() {
        let ended = unless_stopped(&Cancel::after(Duration::ZERO), std::future::pending::<()>()).await;
        assert_eq!(ended, Err(CancelReason::DeadlinePassed));
        assert_eq!(unless_stopped(&Cancel::never(), async { 1 }).await, Ok(1));
    }

    #[test]
    fn work_in_the_background_gives_its_result_with_a_runtime_and_without() {
        assert_eq!(BackgroundWork::begin(|| 1).wait(), Some(1));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        assert_eq!(runtime.block_on(async { BackgroundWork::begin(|| 2).wait() }), Some(2));
    }
}
