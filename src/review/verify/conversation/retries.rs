//! Delays and early ends of a verification. Main type: [`RetryReporter`].

use crate::domain::event::{Event, EventSink};
use crate::domain::review::StopReason;
use crate::review::budget::BudgetLimits;

/// Forwards only the delays of a verification: its turns would be mistaken for those of the review.
pub(super) struct RetryReporter<'a>(pub(super) &'a dyn EventSink);

impl EventSink for RetryReporter<'_> {
    fn emit(&self, event: Event) {
        let text = match event {
            Event::Retry { attempt, wait_ms, reason, .. } => {
                format!("the second look waits {} s for attempt {attempt}: {reason}", wait_ms.div_ceil(1_000))
            }
            Event::Paced { wait_ms, .. } => {
                format!("the second look waits {} s until the provider may be asked again", wait_ms.div_ceil(1_000))
            }
            Event::Notice { text } => text,
            // Emitted even in quiet mode.
            event @ Event::Warning { .. } => return self.0.emit(event),
            _ => return,
        };
        self.0.emit(Event::Notice { text });
    }
}

/// Describes why a verification must end, as a clause.
pub(super) fn describe_wait(limit: StopReason, limits: &BudgetLimits) -> String {
    match limit {
        StopReason::TurnLimit => format!("its {} turns are used up", limits.turns),
        StopReason::TokenLimit => "its share of the tokens is used up (raise it with --max-tokens)".to_owned(),
        StopReason::CostLimit => "its share of the money is used up (raise it with --max-cost)".to_owned(),
        StopReason::WindowLimit => format!("it does not fit the model's window of {} tokens", limits.window),
        _ => "its time is used up (raise it with --timeout)".to_owned(),
    }
}
