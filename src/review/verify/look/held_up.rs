//! What of a second look is told while it goes on. Main type: [`Retries`].

use crate::domain::event::{Event, EventSink};

/// Of a look, only what holds it up is told: its turns would be taken for those of the review.
pub(super) struct Retries<'a>(pub(super) &'a dyn EventSink);

impl EventSink for Retries<'_> {
    fn emit(&self, event: Event) {
        let text = match event {
            Event::Retry { attempt, wait_ms, reason, .. } => {
                format!("the second look waits {} s for attempt {attempt}: {reason}", wait_ms.div_ceil(1_000))
            }
            Event::Paced { wait_ms, .. } => {
                format!("the second look waits {} s until the provider may be asked again", wait_ms.div_ceil(1_000))
            }
            Event::Notice { text } => text,
            // Said even where silence is wanted.
            event @ Event::Warning { .. } => return self.0.emit(event),
            _ => return,
        };
        self.0.emit(Event::Notice { text });
    }
}
