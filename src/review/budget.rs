//! Limits of a run: turns, tokens, money, the context window, time. Main types: [`Budget`] of one conversation, [`Purse`] of all.
//!
//! A turn is reserved before it is sent and settled after its response. A limit never comes as a surprise: one last turn is always kept in reserve,
//! in which the model is asked to finish. If several conversations share a run, their tokens and their money come from one [`Purse`].

mod amount;
mod left;
mod paid;
mod purse;
mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::money::Money;
use crate::domain::review::{Ended, Usage};
use crate::llm::TurnUsage;

pub use amount::CostLimit;

pub(super) use amount::Amount;
pub(super) use left::{Kept, Left};
pub(super) use purse::{Purse, Seat};
pub(super) use words::words;

use paid::Asked;

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Turns of the model.
    pub turns: u32,
    /// Tokens sent in all turns together, cached ones included.
    pub input_tokens: u64,
    /// Tokens of one request and its response together.
    pub window: u64,
    /// Tokens of one response.
    pub max_output: u32,
    /// The time of the whole run.
    pub time: Duration,
    /// Cost limit of the whole run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostLimit>,
}

impl Limits {
    /// Returns the limits for a model with this window. In a small window, a response may take only a share.
    #[must_use]
    pub(super) fn within(self, window: u64, max_output: u32) -> Self {
        let share = u32::try_from(window / ANSWER_SHARE).unwrap_or(u32::MAX).max(1);
        Self { window, max_output: max_output.min(share), ..self }
    }

    /// Returns the planned part of the window.
    fn planned(&self) -> u64 {
        self.window - self.window / SLACK
    }

    fn landing(&self) -> u64 {
        LANDING.min(self.window / LANDING_SHARE)
    }

    /// Returns the minimum response that every turn must be able to pay for: most responses are shorter, and so is a last one.
    pub(super) fn usual_answer(&self) -> u64 {
        self.landing().min(u64::from(self.max_output))
    }

    /// Returns the minimum for a conversation whose first request has this size: that request, one more turn, and the last.
    pub(super) fn least(&self, size: u64) -> Amount {
        self.amount(size.saturating_add(self.landing()), self.usual_answer()).times(3)
    }

    /// Returns the largest request that need not be the last one: its response and the last turn fit the window after it.
    pub(super) fn most_request(&self) -> u64 {
        self.planned().saturating_sub(u64::from(self.max_output) + self.landing())
    }
}

/// Permission for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    /// One of many.
    Turn,
    /// The last turn: the model is asked to finish because of this limit.
    Landing(Ended),
    /// Not even that.
    Nothing(Ended),
}

/// Tokens for the last request and the response in which the model finishes; less if the window is small.
pub(super) const LANDING: u64 = 6_000;
/// Divisor: the share of a small window that is reserved for it.
const LANDING_SHARE: u64 = 10;
/// Divisor: the maximum share of a response in a window that was found to be small.
const ANSWER_SHARE: u64 = 6;
/// Maximum tokens of this program's message before a last turn.
const LAST_WORDS: u64 = 300;
/// Divisor: the share of the window that is left unplanned, because sizes are estimates.
const SLACK: u64 = 20;
/// Divisor: the maximum share of the run's time that is reserved for the last turn.
const LAST_SHARE: u32 = 4;
/// Divisor: the minimum share of the run's time that is reserved for the last turn.
const LEAST_SHARE: u32 = 40;
/// Divisor: the share of the run's tokens that is not promised to parts.
const PROMISED: u64 = 5;

/// Limits, and what is spent of them, for one conversation.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    kept: Kept,
    turns: u32,
    /// Consumption of this conversation so far.
    spent: Amount,
    longest: Duration,
    /// Longest response, in tokens.
    longest_answer: u64,
    /// Provider's count of the last request, in percent of the estimate.
    scale: u64,
    seat: Seat,
    /// `true` if other conversations share the budget.
    is_shared: bool,
}

impl Budget {
    /// Creates the budget of a conversation that has the run to itself.
    pub(super) fn new(limits: Limits) -> Self {
        Self::alone(&Purse::new(limits, &[]), limits)
    }

    /// Returns the budget of a single conversation, with a shared budget that was used before.
    pub(super) fn alone(purse: &Purse, limits: Limits) -> Self {
        Self::of(purse.sit(), limits, false)
    }

    /// Returns the budget of one of several conversations: turns are its own; tokens are those of the run, up to its own limits.
    pub(super) fn begun(seat: Seat, limits: Limits) -> Self {
        Self::of(seat, limits, true)
    }

    /// Creates the budget of a conversation after them.
    pub(super) fn shared(purse: &Purse, limits: Limits) -> Self {
        Self::of(purse.sit(), limits, true)
    }

    fn of(seat: Seat, limits: Limits, is_shared: bool) -> Self {
        let scale = seat.scale;
        Self {
            limits,
            kept: Kept::default(),
            turns: 0,
            spent: Amount::default(),
            longest: Duration::ZERO,
            longest_answer: 0,
            scale,
            seat,
            is_shared,
        }
    }

    /// Returns the turns of this conversation with a response.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns the turns of the whole run with a response.
    pub(super) fn turns_of_run(&self) -> u32 {
        self.seat.turns()
    }

    /// Sets the number of this conversation's findings that will be verified; returns the number of the run.
    pub(super) fn findings(&self, count: usize) -> usize {
        self.seat.findings(count)
    }

    /// Sets the reserve for verification. Only the last turn may use it.
    pub(super) fn keep(&mut self, kept: Kept) {
        // Verification after several conversations has turns of its own.
        self.kept = if self.is_shared { Kept { turns: 0, ..kept } } else { kept };
        self.seat.keep(self.kept);
    }

    /// Returns the remaining budget, including the reserve.
    pub(super) fn left(&self) -> Left {
        let turns = if self.is_shared { self.limits.turns } else { self.limits.turns.saturating_sub(self.turns) };
        Left { turns, all: self.seat.left() }
    }

    /// Returns the limits.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Switches to another window, response limit and prices. `is_other` if another model counts the tokens from now on.
    pub(super) fn adopt(&mut self, limits: Limits, is_other: bool) {
        (self.limits.window, self.limits.max_output) = (limits.window, limits.max_output);
        self.limits = self.limits.priced_as(&limits);
        if is_other {
            self.seat.priced_as(&limits);
            // Its way of counting is unknown; an estimate that is too high costs less than one that is too low.
            self.scale = self.scale.max(100);
        }
    }

    /// Checks whether a request of about `estimate` tokens could be sent within `limits`, if only as the last one.
    pub(super) fn fits(&self, estimate: u64, limits: &Limits) -> bool {
        let answer = u64::from(limits.max_output).min(limits.landing());
        self.scaled(estimate).saturating_add(answer) <= limits.planned()
    }

    /// Returns the window to assume after a server refused a request of about `estimate` tokens as too long: no more than it reports, and so small
    /// that the same request could only be the last one.
    pub(super) fn narrower(&self, estimate: u64, said: Option<u64>) -> u64 {
        let size = self.scaled(estimate);
        let last = size.saturating_add(LANDING.min(size / LANDING_SHARE));
        let window = last.saturating_mul(SLACK) / (SLACK - 1) + 1;
        window.min(said.unwrap_or(u64::MAX)).min(self.limits.window.saturating_sub(1))
    }

    /// Reserves a request of about `estimate` tokens with this much time left; it counts as sent from now on.
    pub(super) fn reserve(&self, estimate: u64, left: Option<Duration>) -> Reserved {
        let size = self.scaled(estimate);
        let answer = u64::from(self.limits.max_output);
        let landing = self.limits.landing();
        if size.saturating_add(answer.min(landing)) > self.limits.planned() {
            return Reserved::Nothing(Ended::WindowLimit);
        }
        let last = size.saturating_add(if self.is_shared { LAST_WORDS } else { 0 });
        if let Err(limit) = self.seat.may_land(self.last_turn(size, last)) {
            return Reserved::Nothing(limit);
        }
        // The next turn sends at least all of this again. If others spend meanwhile, the longest response is assumed.
        let next = if self.is_shared { last.saturating_add(landing.max(answer)) } else { size.saturating_add(landing) };
        let asked = self.asked(size, next, self.usual_answer());
        let may_go_on = self.may_go_on(asked);
        let reserved = match may_go_on {
            _ if self.turns + 1 + self.kept.turns >= self.limits.turns => Reserved::Landing(Ended::TurnLimit),
            Err(limit) => Reserved::Landing(limit),
            Ok(()) if size > self.limits.most_request() => Reserved::Landing(Ended::WindowLimit),
            Ok(()) if left.is_some_and(|left| left < self.last_turn_takes() + self.kept.time) => {
                Reserved::Landing(Ended::Deadline)
            }
            Ok(()) => Reserved::Turn,
        };
        match reserved {
            Reserved::Turn => {
                let Asked { now, next } = self.asked(size, next, u64::from(self.most_answer(estimate)));
                self.seat.ask(now, next);
            }
            Reserved::Landing(_) | Reserved::Nothing(_) => {
                let answer = u64::from(self.last_answer(estimate));
                let Amount { cost, .. } = self.limits.amount(size.saturating_add(LAST_WORDS), answer);
                self.seat.ask(Amount { tokens: last, cost }, Amount::default());
            }
        }
        reserved
    }

    /// Reserves a last request of about `estimate` tokens: results were accepted as far as there was space.
    pub(super) fn hold(&self, estimate: u64) {
        let size = self.scaled(estimate);
        self.seat.ask(Amount::default(), self.last_turn(size, size.saturating_add(LAST_WORDS)));
    }

    /// Returns the tokens of results that the request of about `estimate` tokens may still take.
    pub(super) fn room(&self, estimate: u64) -> u64 {
        let size = self.scaled(estimate);
        let mut room = self.limits.most_request().saturating_sub(size);
        if self.is_shared {
            // What others live on is not read away: the next request must be one that can be sent.
            let tokens = Amount { tokens: size, cost: Money::NOTHING };
            let free = self.seat.free(tokens).tokens.min(self.own().less(tokens).tokens);
            room = room.min(free.saturating_sub(LAST_WORDS));
        }
        room = room.min(self.payable(size));
        room.saturating_mul(100) / self.scale.max(1)
    }

    /// Returns that number for the case that the next request is the last one and limited by the tokens of the run.
    pub(super) fn room_of_tokens(&self, estimate: u64) -> u64 {
        let size = self.scaled(estimate);
        let room = self.seat.left().tokens.saturating_sub(size).min(self.payable(size));
        // The message before the last turn is sent with it.
        (room.saturating_mul(100) / self.scale.max(1)).saturating_sub(LAST_WORDS)
    }

    /// Returns the maximum size of the last response, in tokens: a server refuses one that does not fit its window besides a request of about
    /// `estimate`.
    pub(super) fn last_answer(&self, estimate: u64) -> u32 {
        let size = self.scaled(estimate);
        let room = self.limits.planned().saturating_sub(size);
        let last = size.saturating_add(LAST_WORDS);
        let bare = self.limits.amount(last, 0);
        // A long response takes nothing from conversations that were promised a start; one of the usual length may.
        let usual = self.limits.answerable(self.seat.free_to_land(bare).cost, last).min(self.limits.usual_answer());
        let room = room.min(self.limits.answerable(self.seat.free(bare).cost, last).max(usual));
        u32::try_from(room).unwrap_or(u32::MAX).min(self.limits.max_output)
    }

    /// Counts a turn: its estimate, and its actual consumption.
    pub(super) fn settle(&mut self, estimate: u64, usage: &TurnUsage, took: Duration) {
        self.turns += 1;
        self.longest = self.longest.max(took);
        let sent = usage.input.unwrap_or_else(|| self.scaled(estimate));
        if let Some(input) = usage.input {
            self.scale = (input.saturating_mul(100) / estimate.max(1)).clamp(40, 400);
        }
        let spent = self.settled(sent, usage);
        self.seat.settle(spent, usage, took, self.scale);
    }

    /// Counts the consumption of a turn of this conversation.
    fn settled(&mut self, sent: u64, usage: &TurnUsage) -> Amount {
        let spent = self.limits.spent(sent, usage);
        self.spent = self.spent.plus(spent);
        self.longest_answer = self.longest_answer.max(usage.output.unwrap_or(0));
        spent
    }

    /// Returns the maximum cost of an attempt at a request of about `estimate` tokens with a response of at most `most`; zero if money is not
    /// limited.
    pub(super) fn attempt(&self, estimate: u64, most: u32) -> Money {
        self.limits.amount(self.scaled(estimate), u64::from(most)).cost
    }

    /// Counts the possible cost of an attempt that was not reported, at once, because others spend from the same budget. Returns `true` if another
    /// attempt can be paid for.
    pub(super) fn lose(&self, cost: Money) -> bool {
        self.seat.lose(cost)
    }

    /// Counts the same to this conversation.
    pub(super) fn lost(&mut self, cost: Money) {
        self.spent.cost = self.spent.cost.plus(cost);
    }

    /// Counts a turn of an earlier session, which the shared budget has counted.
    pub(super) fn settle_told(&mut self, estimate: u64, usage: &TurnUsage, took: Duration) {
        self.turns += 1;
        self.longest = self.longest.max(took);
        let estimated = if usage.input.is_none() { self.scaled(estimate) } else { 0 };
        if let Some(input) = usage.input {
            self.scale = (input.saturating_mul(100) / estimate.max(1)).clamp(40, 400);
        }
        let spent = self.settled(usage.input.unwrap_or(estimated), usage);
        let cost = if usage.cost.is_none() { spent.cost } else { Money::NOTHING };
        self.seat.settle_told(Amount { tokens: estimated, cost }, took, self.scale);
    }

    /// Returns the usage of all turns of the run; unknown if there was no response.
    pub(super) fn usage(&self) -> Usage {
        self.seat.usage()
    }

    /// Returns the largest request that fits the window and is not the last one, in estimated tokens.
    pub(super) fn most(&self) -> u64 {
        self.limits.most_request().saturating_mul(100) / self.scale.max(1)
    }

    /// Describes a limit.
    pub(super) fn words(&self, ended: Ended) -> String {
        words(ended, &self.limits, &self.kept)
    }

    /// Returns the rest of the conversation's own limit.
    fn own(&self) -> Amount {
        self.limits.all().less(self.spent)
    }

    fn scaled(&self, estimate: u64) -> u64 {
        estimate.saturating_mul(self.scale) / 100
    }

    fn last_turn_takes(&self) -> Duration {
        last_turn_takes(self.longest, &self.limits)
    }
}

/// Returns the time to reserve for a last turn, if the longest so far took `longest`.
fn last_turn_takes(longest: Duration, limits: &Limits) -> Duration {
    (longest.saturating_mul(3) / 2).clamp(limits.time / LEAST_SHARE, limits.time / LAST_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        turns: 3,
        input_tokens: 100_000,
        window: 60_000,
        max_output: 4_000,
        time: Duration::from_mins(20),
        cost: None,
    };

    fn usage(input: Option<u64>) -> TurnUsage {
        TurnUsage { input, output: Some(10), cache_read: Some(0), cache_write: None, cost: None }
    }

    #[test]
    fn one_turn_is_no_turns() {
        let said = |turns| words(Ended::TurnLimit, &Limits { turns, ..LIMITS }, &Kept::default());
        assert!(said(1).contains("of 1 turn was") && said(2).contains("of 2 turns was"));
    }

    #[test]
    fn what_is_kept_back_ends_the_run_earlier_and_is_said() {
        let mut budget = Budget::new(Limits { turns: 10, ..LIMITS });
        assert_eq!(budget.reserve(1_000, None), Reserved::Turn);
        budget.keep(Kept { turns: 9, ..Kept::default() });
        assert_eq!(budget.reserve(1_000, None), Reserved::Landing(Ended::TurnLimit));
        assert!(budget.words(Ended::TurnLimit).contains("10 turns but 9 for the second look was"));
        budget.keep(Kept { tokens: 95_000, ..Kept::default() });
        assert_eq!(budget.reserve(1_000, None), Reserved::Landing(Ended::TokenLimit));
        assert!(budget.words(Ended::TokenLimit).contains("100000 input tokens but 95000 for"));
        budget.keep(Kept { time: Duration::from_mins(5), ..Kept::default() });
        assert_eq!(budget.reserve(1_000, Some(Duration::from_mins(5))), Reserved::Landing(Ended::Deadline));
        budget.settle(1_000, &usage(Some(1_000)), Duration::ZERO);
        assert_eq!((budget.left().turns, budget.left().all.tokens), (9, 99_000));
    }

    #[test]
    fn the_last_turn_is_for_finishing() {
        let mut budget = Budget::new(LIMITS);
        for _ in 0..2 {
            assert_eq!(budget.reserve(1_000, None), Reserved::Turn);
            budget.settle(1_000, &usage(Some(1_000)), Duration::ZERO);
        }
        assert_eq!(budget.reserve(1_000, None), Reserved::Landing(Ended::TurnLimit));
    }

    #[test]
    fn a_turn_that_leaves_no_tokens_for_the_last_one_is_the_last() {
        let mut budget = Budget::new(LIMITS);
        assert_eq!(budget.reserve(40_000, None), Reserved::Turn);
        budget.settle(40_000, &usage(Some(40_000)), Duration::ZERO);
        assert_eq!(budget.reserve(41_000, None), Reserved::Landing(Ended::TokenLimit));
        assert_eq!(
            Budget::new(Limits { input_tokens: 10, ..LIMITS }).reserve(11, None),
            Reserved::Nothing(Ended::TokenLimit)
        );
    }

    #[test]
    fn what_does_not_fit_the_window_is_not_sent() {
        let budget = Budget::new(Limits { input_tokens: 200_000, ..LIMITS });
        assert_eq!(budget.reserve(48_000, None), Reserved::Landing(Ended::WindowLimit));
        assert_eq!(budget.reserve(55_000, None), Reserved::Nothing(Ended::WindowLimit));
        assert_eq!(budget.room(46_000), 1_000);
        assert_eq!(budget.room(60_000), 0);
        assert_eq!((budget.last_answer(46_000), budget.last_answer(54_000)), (4_000, 3_000));
    }

    #[test]
    fn results_that_fill_the_room_leave_a_turn() {
        for window in [8_000, 32_000, 200_000] {
            let budget = Budget::new(Limits { window, max_output: 1_000, input_tokens: u64::MAX, ..LIMITS });
            let full = 1_000 + budget.room(1_000);
            assert_eq!(budget.reserve(full, None), Reserved::Turn, "{window}");
            assert_eq!(budget.reserve(full + 1, None), Reserved::Landing(Ended::WindowLimit), "{window}");
        }
    }

    #[test]
    fn results_that_fill_the_room_of_tokens_leave_the_last_turn() {
        for (limit, input) in [(9_000, 3_000), (20_000, 900), (20_000, 9_000), (300_000, 3_000)] {
            let mut budget = Budget::new(Limits { turns: 8, window: 400_000, input_tokens: limit, ..LIMITS });
            budget.settle(3_000, &usage(Some(input)), Duration::ZERO);
            let full = 3_000 + budget.room_of_tokens(3_000);
            let reserved = budget.reserve(full + LAST_WORDS, None);
            assert!(!matches!(reserved, Reserved::Nothing(_)), "{limit} {input}: {reserved:?}");
            if limit == 20_000 {
                assert!(matches!(budget.reserve(full + LAST_WORDS + 100, None), Reserved::Nothing(Ended::TokenLimit)));
            }
        }
    }

    #[test]
    fn figures_that_nobody_can_have_sent_end_the_run_and_no_more() {
        let mut budget = Budget::new(LIMITS);
        budget.settle(10, &usage(Some(u64::MAX)), Duration::ZERO);
        budget.settle(10, &usage(Some(u64::MAX)), Duration::ZERO);
        assert_eq!(budget.reserve(10, None), Reserved::Nothing(Ended::TokenLimit));
        assert_eq!(budget.usage().input_tokens, Some(u64::MAX));
    }

    #[test]
    fn time_for_the_last_turn_is_kept_back() {
        let mut budget = Budget::new(LIMITS);
        assert_eq!(budget.reserve(10, Some(Duration::from_mins(1))), Reserved::Turn);
        budget.settle(10, &usage(Some(10)), Duration::from_mins(2));
        assert_eq!(budget.reserve(10, Some(Duration::from_mins(2))), Reserved::Landing(Ended::Deadline));
        assert_eq!(budget.reserve(10, Some(Duration::from_mins(4))), Reserved::Turn);
    }

    #[test]
    fn sizes_are_corrected_by_what_the_provider_counts() {
        let mut budget = Budget::new(LIMITS);
        budget.settle(10_000, &usage(Some(20_000)), Duration::ZERO);
        assert_eq!(budget.reserve(28_000, None), Reserved::Nothing(Ended::WindowLimit));
    }

    #[test]
    fn a_figure_that_is_missing_once_is_unknown_for_good() {
        let mut budget = Budget::new(LIMITS);
        assert_eq!(budget.usage(), Usage::default());
        budget.settle(10, &usage(Some(10)), Duration::ZERO);
        assert_eq!(budget.usage().input_tokens, Some(10));
        assert_eq!(budget.usage().cache_write_tokens, None);
        budget.settle(10, &usage(None), Duration::ZERO);
        assert_eq!((budget.usage().input_tokens, budget.usage().output_tokens), (None, Some(20)));
    }
}
