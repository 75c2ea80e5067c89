//! Small LRU cache. Main type: [`LruCache`].

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sys::cancel::{Cancel, CancelReason};

/// Interval at which a waiting thread checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// A bounded LRU cache. Concurrent requests for one key compute its value once; other keys are not blocked.
pub(in crate::app) struct LruCache<K, V> {
    most: usize,
    /// The most recently used entry comes last.
    kept: Mutex<VecDeque<CacheEntry<K, V>>>,
}

struct CacheEntry<K, V> {
    key: K,
    slot: Arc<CacheSlot<V>>,
    asked: Instant,
}

struct CacheSlot<V> {
    state: Mutex<CacheState<V>>,
    changed: Condvar,
}

enum CacheState<V> {
    Empty,
    Making,
    Made(V),
}

impl<K: PartialEq, V: Clone> LruCache<K, V> {
    /// Creates a cache of at most `most` entries.
    pub(in crate::app) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: Mutex::default() }
    }

    /// Returns the cached value of `key`, or computes it with `make`. Failures are not cached.
    pub(in crate::app) fn get<E: From<CancelReason>>(
        &self,
        key: K,
        cancel: &Cancel,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let slot = self.slot(key);
        let mut state = slot.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                CacheState::Made(value) => return Ok(value.clone()),
                CacheState::Empty => break,
                CacheState::Making => {
                    cancel.check()?;
                    state = slot.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        *state = CacheState::Making;
        drop(state);
        let mut turn = MakeGuard { slot: &slot, made: None };
        let value = make()?;
        turn.made = Some(value.clone());
        Ok(value)
    }

    /// Drops the entries unused for `time`; `true` if any remain.
    pub(in crate::app) fn release(&self, time: Duration) -> bool {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|kept| kept.asked.elapsed() < time);
        !all.is_empty()
    }

    fn slot(&self, key: K) -> Arc<CacheSlot<V>> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|kept| kept.key == key).and_then(|at| all.remove(at));
        let slot = match known {
            Some(known) => known.slot,
            None => Arc::new(CacheSlot { state: Mutex::new(CacheState::Empty), changed: Condvar::new() }),
        };
        if all.len() >= self.most {
            all.pop_front();
        }
        all.push_back(CacheEntry { key, slot: Arc::clone(&slot), asked: Instant::now() });
        slot
    }
}

/// Guard of a computation in progress; however it ends, waiting threads are woken.
struct MakeGuard<'s, V> {
    slot: &'s CacheSlot<V>,
    made: Option<V>,
}

impl<V> Drop for MakeGuard<'_, V> {
    fn drop(&mut self) {
        let mut state = self.slot.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = self.made.take().map_or(CacheState::Empty, CacheState::Made);
        drop(state);
        self.slot.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn get(recent: &LruCache<u32, u32>, key: u32) -> (u32, bool) {
        let mut made = false;
        let make = || {
            made = true;
            Ok::<_, CancelReason>(key * 10)
        };
        let value = recent.get(key, &Cancel::never(), make).unwrap();
        (value, made)
    }

    #[test]
    fn what_was_asked_for_longest_ago_goes_first() {
        let recent = LruCache::new(2);
        assert_eq!(get(&recent, 1), (10, true));
        assert_eq!(get(&recent, 2), (20, true));
        assert_eq!(get(&recent, 1), (10, false));
        assert_eq!(get(&recent, 3), (30, true));
        assert_eq!(get(&recent, 1), (10, false));
        assert_eq!(get(&recent, 2), (20, true));
        assert!(recent.release(Duration::from_hours(1)));
        assert!(!recent.release(Duration::ZERO));
        assert_eq!(get(&recent, 2), (20, true));
    }

    #[test]
    fn many_who_ask_at_once_make_it_once() {
        let (recent, made, together) = (LruCache::new(2), AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    let make = || {
                        made.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, CancelReason>(7)
                    };
                    assert_eq!(recent.get(1, &Cancel::never(), make), Ok(7));
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failure_is_tried_again_by_the_next() {
        let recent = LruCache::<u32, u32>::new(2);
        assert_eq!(recent.get(1, &Cancel::never(), || Err(CancelReason::Interrupted)), Err(CancelReason::Interrupted));
        assert_eq!(get(&recent, 1), (10, true));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            recent.get(2, &Cancel::never(), || -> Result<u32, CancelReason> { std::panic::resume_unwind(Box::new(())) })
        }));
        assert!(panicked.is_err());
        assert_eq!(get(&recent, 2), (20, true));
    }

    #[test]
    fn whoever_waits_can_be_stopped() {
        let (recent, cancel) = (LruCache::<u32, u32>::new(2), Cancel::never());
        let (begun, end) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let make = || {
                    begun.wait();
                    end.wait();
                    Ok::<_, CancelReason>(1)
                };
                assert_eq!(recent.get(1, &Cancel::never(), make), Ok(1));
            });
            begun.wait();
            cancel.interrupt();
            assert_eq!(recent.get(1, &cancel, || Ok(2)), Err(CancelReason::Interrupted));
            end.wait();
        });
    }
}
