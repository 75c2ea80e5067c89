//! Work on many files, on a few threads. Main function: [`for_each_file`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Maximum number of threads; more gain nothing, since reading files is shared work.
const THREADS: usize = 4;

/// Returns the number of threads that work on files at the same time.
pub fn thread_count() -> usize {
    // To learn it, files of the system are read.
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).clamp(1, THREADS))
}

/// Calls `work` for every file on a few threads and returns the results in the order of the files.
pub fn for_each_file<T: Send>(total: usize, work: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..total).map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let threads = thread_count().min(total.max(1));
    let turn = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= total {
                return;
            }
            let result = work(at);
            if let Some(place) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *place = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(turn);
        }
        turn();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
