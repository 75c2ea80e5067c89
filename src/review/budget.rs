//! What a run may spend: turns, tokens, money, the model's window, time. Main types: [`Budget`] of one conversation, [`Purse`] of all.
//!
//! Reserved before a turn, settled after it. A limit is never met by surprise: one last turn is always kept back, in which the model is
//! asked to finish. Where several conversations share a run, their tokens and their money come from one [`Purse`].

mod amount;
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
    /// Tokens of one request and its answer together.
    pub window: u64,
    /// Tokens of one answer.
    pub max_output: u32,
    /// The time of the whole run.
    pub time: Duration,
    /// The money of the whole run, where it is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostLimit>,
}

impl Limits {
    /// The same for a model with this window. What it may answer is a share of a small one.
    #[must_use]
    pub(super) fn within(self, window: u64, max_output: u32) -> Self {
        let share = u32::try_from(window / ANSWER_SHARE).unwrap_or(u32::MAX).max(1);
        Self { window, max_output: max_output.min(share), ..self }
    }

    /// What of the window is planned for.
    fn planned(&self) -> u64 {
        self.window - self.window / SLACK
    }

    fn landing(&self) -> u64 {
        LANDING.min(self.window / LANDING_SHARE)
    }

    /// The answer without which no turn is paid for: what most answers take less than, and a last one.
    pub(super) fn usual_answer(&self) -> u64 {
        self.landing().min(u64::from(self.max_output))
    }

    /// What a conversation needs to be begun whose first request takes so many tokens: that request, one more turn, and the last.
    pub(super) fn least(&self, size: u64) -> Amount {
        self.amount(size.saturating_add(self.landing()), self.usual_answer()).times(3)
    }

    /// The largest request that may be more than the last one: its answer and the last turn fit the window after it.
    pub(super) fn most_request(&self) -> u64 {
        self.planned().saturating_sub(u64::from(self.max_output) + self.landing())
    }
}

/// What a turn may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    /// One of many.
    Turn,
    /// The last: the model is asked to finish because of this limit.
    Landing(Ended),
    /// Not even that.
    Nothing(Ended),
}

/// What a run keeps back for the second look while it reviews.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) turns: u32,
    pub(super) tokens: u64,
    /// Nothing where money is no limit.
    pub(super) cost: Money,
    pub(super) time: Duration,
}

impl Kept {
    fn amount(&self) -> Amount {
        Amount { tokens: self.tokens, cost: self.cost }
    }
}

/// What is left of a run's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) turns: u32,
    /// No end of money where that is no limit.
    pub(super) all: Amount,
}

impl Left {
    /// The same after so many turns that took so much.
    pub(super) fn without(self, turns: u32, taken: Amount) -> Self {
        Self { turns: self.turns.saturating_sub(turns), all: self.all.less(taken) }
    }
}

/// A last question and the room for what the model reports when asked to finish, in tokens; less where the window is small.
pub(super) const LANDING: u64 = 6_000;
/// Of a small window this share is kept for it: one part in so many.
const LANDING_SHARE: u64 = 10;
/// Of a window that turned out to be small an answer takes this share at most: one part in so many.
const ANSWER_SHARE: u64 = 6;
/// What this program says before a last turn, in tokens, at most.
const LAST_WORDS: u64 = 300;
/// Of the window nothing is planned for this share, because sizes are estimates: one part in so many.
const SLACK: u64 = 20;
/// No part of the run's time beyond this share is kept for the last turn: one part in so many.
const LAST_SHARE: u32 = 4;
/// At least this share is: one part in so many.
const LEAST_SHARE: u32 = 40;
/// Of the run's tokens all but this share is promised to units: one part in so many.
const PROMISED: u64 = 5;

/// Limits, and what is spent of them, for one conversation.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    kept: Kept,
    turns: u32,
    /// What this conversation took so far.
    spent: Amount,
    longest: Duration,
    /// The longest answer, in tokens.
    longest_answer: u64,
    /// What the provider counted for what was estimated last, in percent.
    scale: u64,
    seat: Seat,
    /// Whether others spend from the same purse.
    is_shared: bool,
}

impl Budget {
    /// For a conversation that has the run to itself.
    pub(super) fn new(limits: Limits) -> Self {
        Self::alone(&Purse::new(limits, &[]), limits)
    }

    /// The same with a purse from which something was taken.
    pub(super) fn alone(purse: &Purse, limits: Limits) -> Self {
        Self::of(purse.sit(), limits, false)
    }

    /// For one of several that share a purse: turns are its own, tokens are the run's, or as many of them as its own limits allow.
    pub(super) fn begun(seat: Seat, limits: Limits) -> Self {
        Self::of(seat, limits, true)
    }

    /// For what follows them.
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

    /// Turns of this conversation that were answered.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// Turns of the whole run that were answered.
    pub(super) fn turns_of_run(&self) -> u32 {
        self.seat.turns()
    }

    /// Says how many findings of this conversation get a second look; how many there are in the run.
    pub(super) fn findings(&self, count: usize) -> usize {
        self.seat.findings(count)
    }

    /// Keeps so much back from now on. It is given to nothing but the last turn.
    pub(super) fn keep(&mut self, kept: Kept) {
        // The second look after several conversations has turns of its own.
        self.kept = if self.is_shared { Kept { turns: 0, ..kept } } else { kept };
        self.seat.keep(self.kept);
    }

    /// What is left, kept back or not.
    pub(super) fn left(&self) -> Left {
        let turns = if self.is_shared { self.limits.turns } else { self.limits.turns.saturating_sub(self.turns) };
        Left { turns, all: self.seat.left() }
    }

    /// The limits.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// From here on the window, the answers and the prices are these. `is_other` where another model counts the tokens from now on.
    pub(super) fn adopt(&mut self, limits: Limits, is_other: bool) {
        (self.limits.window, self.limits.max_output) = (limits.window, limits.max_output);
        self.limits = self.limits.priced_as(&limits);
        if is_other {
            self.seat.priced_as(&limits);
            // How it counts is not known; too much reckoned with costs less than too little.
            self.scale = self.scale.max(100);
        }
    }

    /// Whether a request of about `estimate` tokens could be sent within `limits`, if only as the last one.
    pub(super) fn fits(&self, estimate: u64, limits: &Limits) -> bool {
        let answer = u64::from(limits.max_output).min(limits.landing());
        self.scaled(estimate).saturating_add(answer) <= limits.planned()
    }

    /// What to reckon with as the window after a server refused a request of about `estimate` tokens as too long: no more than it says, and so
    /// little that the same request could only be the last one.
    pub(super) fn narrower(&self, estimate: u64, said: Option<u64>) -> u64 {
        let size = self.scaled(estimate);
        let last = size.saturating_add(LANDING.min(size / LANDING_SHARE));
        let window = last.saturating_mul(SLACK) / (SLACK - 1) + 1;
        window.min(said.unwrap_or(u64::MAX)).min(self.limits.window.saturating_sub(1))
    }

    /// What a request of about `estimate` tokens may be, with so much time left; it counts as sent from now on.
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
        // The turn after this one sends at least all of this again. Where others spend meanwhile, the longest answer is reckoned with.
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

    /// Sets apart what a last request of about `estimate` tokens takes: results were taken in as far as there was room.
    pub(super) fn hold(&self, estimate: u64) {
        let size = self.scaled(estimate);
        self.seat.ask(Amount::default(), self.last_turn(size, size.saturating_add(LAST_WORDS)));
    }

    /// How many tokens of results the request of about `estimate` tokens may still take.
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

    /// The same where the next request is the last one and the tokens of the run bound it.
    pub(super) fn room_of_tokens(&self, estimate: u64) -> u64 {
        let size = self.scaled(estimate);
        let room = self.seat.left().tokens.saturating_sub(size).min(self.payable(size));
        // What is said before the last turn is sent with it.
        (room.saturating_mul(100) / self.scale.max(1)).saturating_sub(LAST_WORDS)
    }

    /// The most that the last answer may be, in tokens: a server refuses what does not fit its window beside a request of about `estimate`.
    pub(super) fn last_answer(&self, estimate: u64) -> u32 {
        let size = self.scaled(estimate);
        let room = self.limits.planned().saturating_sub(size);
        let last = size.saturating_add(LAST_WORDS);
        let bare = self.limits.amount(last, 0);
        let answerable = |free: Amount| self.limits.answerable(free.cost, last);
        // The answer that was set apart for may be given whatever happens; a longer one does not live on what others were promised.
        let set_apart = answerable(self.seat.free_to_land(bare)).min(self.limits.usual_answer());
        let room = room.min(answerable(self.seat.free(bare)).max(set_apart));
        u32::try_from(room).unwrap_or(u32::MAX).min(self.limits.max_output)
    }

    /// Counts a turn: what it was estimated at, what it took.
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

    /// Counts what a turn of this conversation took.
    fn settled(&mut self, sent: u64, usage: &TurnUsage) -> Amount {
        let spent = self.limits.spent(sent, usage);
        self.spent = self.spent.plus(spent);
        self.longest_answer = self.longest_answer.max(usage.output.unwrap_or(0));
        spent
    }

    /// The most that an attempt at a request of about `estimate` tokens may cost that is answered with `most` at most; nothing where money is no
    /// limit.
    pub(super) fn attempt(&self, estimate: u64, most: u32) -> Money {
        self.limits.amount(self.scaled(estimate), u64::from(most)).cost
    }

    /// Counts what an attempt may have cost of which nobody told, at once: others spend from the same purse. Whether another one can be paid for.
    pub(super) fn lose(&self, cost: Money) -> bool {
        self.seat.lose(cost)
    }

    /// Counts the same to this conversation.
    pub(super) fn lost(&mut self, cost: Money) {
        self.spent.cost = self.spent.cost.plus(cost);
    }

    /// Counts a turn of a sitting before, which the purse has counted.
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

    /// What all turns of the run took; unknown where nothing was answered.
    pub(super) fn usage(&self) -> Usage {
        self.seat.usage()
    }

    /// The largest request that fits the window and is not the last one, in estimated tokens.
    pub(super) fn most(&self) -> u64 {
        self.limits.most_request().saturating_mul(100) / self.scale.max(1)
    }

    /// A limit in words.
    pub(super) fn words(&self, ended: Ended) -> String {
        words(ended, &self.limits, &self.kept)
    }

    /// What is left of its own limit.
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

/// The time to keep for a last turn where the longest so far took `longest`.
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
