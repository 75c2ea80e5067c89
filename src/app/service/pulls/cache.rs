//! A short-lived cache, so that a resource and its children are requested once. Main type: [`AsyncCache`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as Turn;

/// A bounded cache with a lifetime. Concurrent requests for one key share one call; failures are not cached.
pub(super) struct AsyncCache<K, V> {
    /// The most recently used slot comes last.
    slots: Mutex<Vec<(K, AsyncCacheSlot<V>)>>,
    most: usize,
    life: Duration,
}

/// A slot: the value, if any, and the time of its request.
type AsyncCacheSlot<V> = Arc<Turn<Option<(Instant, Arc<V>)>>>;

impl<K: Clone + PartialEq, V> AsyncCache<K, V> {
    /// Creates a cache of at most `most` values, each valid for `life`.
    pub(super) fn new(most: usize, life: Duration) -> Self {
        Self { slots: Mutex::default(), most, life }
    }

    /// Returns the value for `key`; calls `ask` if there is none or it expired.
    pub(super) async fn get<E>(&self, key: &K, ask: impl AsyncFnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let slot = self.slot(key);
        let mut held = slot.lock().await;
        if let Some((at, value)) = &*held
            && at.elapsed() < self.life
        {
            return Ok(Arc::clone(value));
        }
        // Taken before the request: a change made meanwhile must not count as included.
        let at = Instant::now();
        let value = Arc::new(ask().await?);
        *held = Some((at, Arc::clone(&value)));
        Ok(value)
    }

    /// Drops the value of `key`; a request in flight reaches only the callers that already wait for it.
    pub(super) fn forget(&self, key: &K) {
        self.slots().retain(|(known, _)| known != key);
    }

    fn slot(&self, key: &K) -> AsyncCacheSlot<V> {
        let mut slots = self.slots();
        let found = slots.iter().position(|(known, _)| known == key).map(|at| slots.remove(at));
        // Expired values are dropped, so that an idle server holds nothing large.
        slots.retain(|(_, slot)| {
            slot.try_lock().map_or(true, |held| held.as_ref().is_none_or(|(at, _)| at.elapsed() < self.life))
        });
        if slots.len() >= self.most {
            slots.remove(0);
        }
        let (key, slot) = found.unwrap_or_else(|| (key.clone(), AsyncCacheSlot::default()));
        slots.push((key, Arc::clone(&slot)));
        slot
    }

    fn slots(&self) -> MutexGuard<'_, Vec<(K, AsyncCacheSlot<V>)>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    async fn ask(cache: &AsyncCache<u32, u32>, key: u32, asked: &AtomicU32) -> u32 {
        let answer = cache.get(&key, async || Ok::<_, Infallible>(asked.fetch_add(1, Ordering::SeqCst))).await;
        *answer.unwrap()
    }

    #[tokio::test]
    async fn what_was_just_read_is_not_asked_for_again() {
        let (cache, asked) = (AsyncCache::new(2, LONG), AtomicU32::new(0));
        assert_eq!((ask(&cache, 1, &asked).await, ask(&cache, 1, &asked).await), (0, 0));
        cache.forget(&1);
        assert_eq!(ask(&cache, 1, &asked).await, 1);
        let (old, asked) = (AsyncCache::new(2, Duration::ZERO), AtomicU32::new(0));
        assert_eq!((ask(&old, 1, &asked).await, ask(&old, 1, &asked).await), (0, 1));
    }

    #[tokio::test]
    async fn only_a_few_answers_are_kept() {
        let (cache, asked) = (AsyncCache::new(2, LONG), AtomicU32::new(0));
        for key in [1, 2, 1, 3] {
            ask(&cache, key, &asked).await;
        }
        assert_eq!(ask(&cache, 1, &asked).await, 0, "the one asked for last stays");
        assert_eq!(ask(&cache, 2, &asked).await, 3);
        assert_eq!(cache.slots().len(), 2);
    }

    #[tokio::test]
    async fn who_asks_at_the_same_time_gets_the_same_answer_and_a_failure_is_not_kept() {
        let (cache, asked) = (AsyncCache::new(2, LONG), AtomicU32::new(0));
        let slow = async || {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(asked.fetch_add(1, Ordering::SeqCst))
        };
        let (one, other) = tokio::join!(cache.get(&1, slow), cache.get(&1, slow));
        assert_eq!((*one.unwrap(), *other.unwrap()), (0, 0));
        assert_eq!(cache.get(&2, async || Err("no")).await, Err("no"));
        assert_eq!(ask(&cache, 2, &asked).await, 1);
    }
}
