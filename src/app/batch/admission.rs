//! Admits the reviews of a batch to their conversations, when there is a place and neither the budget nor the provider forbids it. Main method:
//! [`BatchRun::begin_item`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use super::item::BatchRun;
use super::places::ConversationPlaces;
use super::select::BatchItem;
use crate::app::context::environment::ProcessEnv;
use crate::llm::BoxFuture;
use crate::review::{Admission, NotAdmitted};
use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

/// The gate of one review of a batch. Its place is given back at the latest when this is dropped.
struct BatchAdmission {
    run: Arc<BatchRun>,
    conversations: ConversationPlaces,
    is_prepared: AtomicBool,
    place: Mutex<Option<OwnedSemaphorePermit>>,
    /// The milliseconds for which it waited for the place.
    waited: Arc<AtomicU64>,
    /// The name by which the breaker knows the review.
    name: String,
}

/// A review of a batch that is in progress. It has its place among the conversations until it has left it, or this is dropped.
pub(super) struct BegunItem {
    /// The environment of the review.
    pub(super) around: ProcessEnv,
    began: Instant,
    waited: Arc<AtomicU64>,
}

impl BegunItem {
    /// Returns the milliseconds since it began, without those for which it waited for a place.
    pub(super) fn took_ms(&self) -> u64 {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        took.saturating_sub(self.waited.load(Ordering::Relaxed))
    }
}

impl BatchRun {
    /// Waits until a review may begin: in a batch, until it may be prepared.
    pub(super) async fn begin_item(self: &Arc<Self>, at: usize, item: &BatchItem) -> Result<BegunItem, CancelReason> {
        let (mut around, waited) = (self.around.clone(), Arc::default());
        if let Some(conversations) = self.conversations.clone() {
            let begun = conversations.begin(at, &self.limited).await;
            let (run, waited, name) = (Arc::clone(self), Arc::clone(&waited), item.breaker_name());
            let (is_prepared, place) = (AtomicBool::new(false), Mutex::default());
            let admission = Arc::new(BatchAdmission { run, conversations, is_prepared, place, waited, name });
            begun?;
            around.providers.admission = Some(admission);
        }
        Ok(BegunItem { around, began: Instant::now(), waited })
    }
}

impl Admission for BatchAdmission {
    fn admit(&self, left: Option<Duration>) -> BoxFuture<'_, Result<Cancel, NotAdmitted>> {
        Box::pin(async move {
            let (stop, began) = (&self.run.limited, Instant::now());
            let place = self.conversations.enter(stop).await?;
            self.take(Some(place));
            self.end_preparing();
            // The reviews before may have used up the budget, or found the provider dead.
            loop {
                stop.check()?;
                if let Some(reason) = self.run.reason_not_to_begin() {
                    return Err(NotAdmitted::Refused(reason));
                }
                match self.run.begin_with_provider(&self.name) {
                    Ok(()) => break,
                    Err(wait) => unless_stopped(stop, tokio::time::sleep(wait)).await?,
                }
            }
            self.waited.store(u64::try_from(began.elapsed().as_millis()).unwrap_or(0), Ordering::Relaxed);
            Ok(left.map_or_else(|| stop.clone(), |left| stop.with_deadline(left)))
        })
    }

    fn leave(&self) {
        self.take(None);
    }
}

impl BatchAdmission {
    fn take(&self, place: Option<OwnedSemaphorePermit>) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Lets another review be prepared.
    fn end_preparing(&self) {
        if !self.is_prepared.swap(true, Ordering::Relaxed) {
            self.conversations.end_preparing();
        }
    }
}

impl Drop for BatchAdmission {
    fn drop(&mut self) {
        self.end_preparing();
    }
}
