//! Shared budget of the conversations of a run. Main types: [`SharedBudget`], [`BudgetShare`].
//!
//! Tokens and money belong to the run; turns to each conversation. Three amounts are always reserved, so that every started conversation can also
//! end:
//!
//! - the request that is under way in each open conversation;
//! - the last turn of each open conversation;
//! - the minimum of each conversation that was promised a start, in the order of the parts: so the first one cannot use up what all the others need.
//!   The rest is used on a first come, first served basis.
//!
//! No conversation waits for another: one that finds too little takes its last turn, or is not started. All conversations of a run are driven by one
//! task, so that nothing happens between a check of the budget and the action that follows; other runs with the same budget are held off (`pool`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::amount::{Amount, Reservation};
use super::pool::{BudgetPool, PoolMember};
use super::verification::VerificationReserve;
use super::{BudgetLimits, PROMISED, last_turn_takes};
use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::llm::TurnUsage;

/// Budget that all conversations of a run share.
#[derive(Debug, Clone)]
pub(in crate::review) struct SharedBudget {
    state: Arc<Mutex<SharedBudgetState>>,
    /// The budget of this and other runs together, if there is one.
    pool: Option<BudgetPool>,
}

/// Share of one conversation.
#[derive(Debug)]
pub(in crate::review) struct BudgetShare {
    shared: SharedBudget,
    at: usize,
    /// Provider's count in percent of the estimate, as far as known when the conversation began.
    pub(super) scale: u64,
}

#[derive(Debug)]
struct SharedBudgetState {
    limits: BudgetLimits,
    pool: Option<PoolMember>,
    /// Consumption of all conversations, estimated if the provider did not report it.
    spent: Amount,
    turns: u32,
    /// Sums of known numbers; `None` as soon as one turn's number is unknown.
    usage: TurnUsage,
    /// The longest turn.
    longest: Duration,
    /// Provider's latest count, in percent of the estimate.
    scale: u64,
    shares: Vec<ShareState>,
    /// Minimum of each part that was promised a start and has not begun.
    promised: Vec<Amount>,
    reserve: VerificationReserve,
}

/// State of one conversation.
#[derive(Debug, Clone, Copy, Default)]
struct ShareState {
    reserved: Reservation,
    /// Number of its findings that will be verified.
    findings: usize,
}

impl SharedBudget {
    /// Creates the budget for parts whose first requests have these sizes, in tokens, in the order in which they begin.
    pub(in crate::review) fn new(limits: BudgetLimits, sizes: &[u64]) -> Self {
        Self::in_pool(limits, sizes, None)
    }

    /// Creates such a budget, bounded also by what other runs leave in the pool.
    pub(in crate::review) fn in_pool(limits: BudgetLimits, sizes: &[u64], pool: Option<&BudgetPool>) -> Self {
        let member = pool.map(|pool| {
            // Twice the minimum of all parts: of a larger budget, that much is taken before they are promised anything.
            let needs = sizes.iter().map(|size| limits.least(*size)).fold(Amount::default(), Amount::plus).times(2);
            drop(pool.hold(needs.min_each(limits.total())));
            pool.join()
        });
        // The part that verification may reserve is promised to no conversation.
        let total = total_of(&limits, member.as_ref());
        let mut left = total.saturating_sub(total.part(PROMISED));
        let needs = sizes.iter().map(|size| limits.least(*size));
        let promised = needs.map(|need| {
            // The riskiest come first: after the first one that does not fit, nothing more is promised.
            let fits = need.check_within(left).is_ok();
            left = if fits { left.saturating_sub(need) } else { Amount::default() };
            if fits { need } else { Amount::default() }
        });
        let state = SharedBudgetState {
            limits,
            spent: Amount::default(),
            turns: 0,
            usage: TurnUsage::NOTHING,
            longest: Duration::ZERO,
            scale: 100,
            shares: Vec::new(),
            promised: promised.collect(),
            reserve: VerificationReserve::default(),
            pool: member,
        };
        Self { state: Arc::new(Mutex::new(state)), pool: pool.cloned() }
    }

    fn account(&self) -> MutexGuard<'_, SharedBudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether a part whose first request takes `size` tokens may begin with this much time left: there must be room for that request, for one
    /// more turn and for the last one, which is reserved from now on. The first part of all may always try. Its promise ends either way.
    pub(in crate::review) fn start_part(
        &self,
        unit: usize,
        size: u64,
        left: Option<Duration>,
    ) -> Result<BudgetShare, StopReason> {
        let room = self.account().limits.room_for(size);
        let _held = self.pool.as_ref().map(|pool| pool.hold(room));
        let mut account = self.account();
        let need = account.end_promise(unit, size);
        if !account.shares.is_empty() {
            let taken = account.taken_with_promised(None).plus(account.reserve.amount());
            taken.plus(need).check_within(account.total())?;
            // With one request followed by an order to end, nothing would have been read.
            let turns = last_turn_takes(account.longest, &account.limits).saturating_mul(2);
            if left.is_some_and(|left| left < turns + account.reserve.time) {
                return Err(StopReason::Deadline);
            }
        }
        Ok(self.open(account, need))
    }

    /// Opens a share with this reservation for its last turn.
    fn open(&self, mut account: MutexGuard<'_, SharedBudgetState>, next: Amount) -> BudgetShare {
        account.shares.push(ShareState { reserved: Reservation { next, ..Reservation::default() }, findings: 0 });
        account.publish();
        BudgetShare { at: account.shares.len() - 1, scale: account.scale, shared: self.clone() }
    }

    /// Counts turns and consumption of earlier sessions. They are not counted again in a replay.
    pub(in crate::review) fn add_recorded_turns(&self, turns: u32, usage: &TurnUsage, known: Amount) {
        let mut account = self.account();
        account.turns += turns;
        account.spent = account.spent.plus(known);
        account.usage = account.usage.plus(*usage);
        account.pool.iter().for_each(|pool| pool.add_recorded(known));
        account.publish();
    }

    /// Returns the share of a part that was begun in an earlier session and may continue: its last turn gets the same reservation as at its start.
    pub(in crate::review) fn resume_part(&self, unit: usize, size: u64) -> BudgetShare {
        let mut account = self.account();
        let need = account.end_promise(unit, size);
        self.open(account, need)
    }

    /// Returns a share without any reservation.
    pub(super) fn open_share(&self) -> BudgetShare {
        self.open(self.account(), Amount::default())
    }

    /// Returns the number of parts that were promised a start.
    pub(in crate::review) fn promised_parts(&self) -> usize {
        self.account().promised.iter().filter(|promised| promised.tokens > 0).count()
    }

    pub(in crate::review) fn turns(&self) -> u32 {
        self.account().turns
    }
}

/// Returns everything that a run may spend.
fn total_of(limits: &BudgetLimits, pool: Option<&PoolMember>) -> Amount {
    pool.map_or(limits.total(), |pool| limits.total().min_each(pool.available()))
}

impl SharedBudgetState {
    /// Returns everything that may be spent: the limits of the run, or what other runs leave in the pool.
    fn total(&self) -> Amount {
        total_of(&self.limits, self.pool.as_ref())
    }

    /// Tells the pool what is spent and reserved.
    fn publish(&mut self) {
        let taken = self.taken(None);
        if let Some(pool) = &mut self.pool {
            pool.publish(taken);
        }
    }

    /// Ends the promise to a part, and returns the minimum for it if its first request takes `size` tokens.
    fn end_promise(&mut self, unit: usize, size: u64) -> Amount {
        if let Some(promised) = self.promised.get_mut(unit) {
            *promised = Amount::default();
        }
        self.limits.least(size.saturating_mul(self.scale) / 100)
    }

    /// Returns what is spent, and reserved by all conversations but one. A last turn has priority over a part that has not begun.
    fn taken(&self, but: Option<usize>) -> Amount {
        let others = self.shares.iter().enumerate().filter(|(at, _)| Some(*at) != but);
        others.map(|(_, share)| share.reserved.total()).fold(self.spent, Amount::plus)
    }

    /// Returns that amount plus the promises to parts that have not begun.
    fn taken_with_promised(&self, but: Option<usize>) -> Amount {
        self.promised.iter().copied().fold(self.taken(but), Amount::plus)
    }
}

impl BudgetShare {
    /// Checks whether a request may be sent at all, as the last one; otherwise returns the limit that forbids it.
    pub(super) fn check_final_turn(&self, last: Amount) -> Result<(), StopReason> {
        let account = self.shared.account();
        account.taken(Some(self.at)).plus(last).check_within(account.total())
    }

    /// Keeps other runs of the pool from reserving anything until the guard is dropped; see [`BudgetPool::hold`].
    pub(super) fn hold_pool(&self, room: Amount) -> Option<MutexGuard<'_, ()>> {
        self.shared.pool.as_ref().map(|pool| pool.hold(room))
    }

    /// Checks whether other runs spend from the same budget.
    pub(super) fn is_pooled(&self) -> bool {
        self.shared.pool.is_some()
    }

    /// Marks the pool as used up, if there is one.
    pub(super) fn mark_pool_exhausted(&self) {
        if let Some(pool) = &self.shared.pool {
            pool.mark_exhausted();
        }
    }

    /// Checks whether the source of the pool had no more.
    pub(super) fn is_pool_refused(&self) -> bool {
        self.shared.pool.as_ref().is_some_and(BudgetPool::is_refused)
    }

    /// Checks whether those have used it up.
    pub(super) fn is_pool_exhausted(&self) -> bool {
        self.shared.pool.as_ref().is_some_and(BudgetPool::is_exhausted)
    }

    /// Checks whether a turn may be reserved. `reserve` is this conversation's own reserve.
    pub(super) fn check_turn(&self, turn: Reservation, reserve: Amount) -> Result<(), StopReason> {
        let account = self.shared.account();
        let taken = account.taken_with_promised(Some(self.at)).plus(reserve);
        taken.plus(turn.total()).check_within(account.total())
    }

    /// Reserves a turn.
    pub(super) fn reserve_turn(&self, turn: Reservation) {
        let mut account = self.shared.account();
        if let Some(share) = account.shares.get_mut(self.at) {
            share.reserved = turn;
        }
        account.publish();
    }

    /// Sets the prices for conversations that start from now on.
    pub(super) fn set_prices(&self, limits: &BudgetLimits) {
        let mut account = self.shared.account();
        account.limits = account.limits.with_prices_of(limits);
    }

    /// Counts the possible cost of an attempt that was not reported. Returns `true` if it may be sent again, if only at the expense of the last turn.
    pub(super) fn record_unbilled(&self, cost: Money) -> bool {
        let mut account = self.shared.account();
        account.spent.cost = account.spent.cost.plus(cost);
        account.publish();
        let pending = account.shares.get(self.at).map_or(Amount::default(), |share| share.reserved.now);
        account.taken(Some(self.at)).plus(pending).check_within(account.total()).is_ok()
    }

    /// Returns the unreserved amount besides a last request.
    pub(super) fn unreserved(&self, last: Amount) -> Amount {
        let account = self.shared.account();
        account.total().saturating_sub(account.taken_with_promised(Some(self.at)).plus(last))
    }

    /// Returns that amount plus the promises to parts that have not begun.
    pub(super) fn available_for_final_turn(&self, last: Amount) -> Amount {
        let account = self.shared.account();
        account.total().saturating_sub(account.taken(Some(self.at)).plus(last))
    }

    /// Counts a turn. Without `usage` it is one of an earlier session, of which only the estimated numbers are new.
    pub(super) fn record_turn(&self, spent: Amount, usage: Option<&TurnUsage>, took: Duration, scale: u64) {
        let mut account = self.shared.account();
        if let Some(usage) = usage {
            if let Some(share) = account.shares.get_mut(self.at) {
                share.reserved.now = Amount::default();
            }
            account.turns += 1;
            account.usage = account.usage.plus(*usage);
        }
        account.longest = account.longest.max(took);
        account.scale = scale;
        account.spent = account.spent.plus(spent);
        account.publish();
    }

    /// Returns the consumption of all conversations; unknown if there was no response.
    pub(super) fn usage(&self) -> Usage {
        let account = self.shared.account();
        if account.turns == 0 {
            return Usage::default();
        }
        account.usage.into_usage()
    }

    /// Returns the rest of the run's budget, including reservations.
    pub(super) fn remaining(&self) -> Amount {
        let account = self.shared.account();
        account.total().saturating_sub(account.spent)
    }

    /// Sets the number of this conversation's findings that will be verified; returns the number of the run.
    pub(super) fn findings(&self, count: usize) -> usize {
        let mut account = self.shared.account();
        if let Some(share) = account.shares.get_mut(self.at) {
            share.findings = count;
        }
        account.shares.iter().map(|share| share.findings).sum()
    }

    /// Sets the reserve for the verification of all findings.
    pub(super) fn set_reserve(&self, reserve: VerificationReserve) {
        self.shared.account().reserve = reserve;
    }

    pub(super) fn turns(&self) -> u32 {
        self.shared.turns()
    }
}

impl Drop for BudgetShare {
    /// Gives back what was set apart, however the conversation ended.
    fn drop(&mut self) {
        self.reserve_turn(Reservation::default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::amount::CostLimit;
    use super::super::fixtures::{LIMITS, prices};
    use super::super::{ConversationBudget, TurnPermit};
    use super::*;

    fn answered(size: u64) -> TurnUsage {
        TurnUsage { input: Some(size), output: Some(10), cache_read: None, cache_write: None, cost: None }
    }

    #[test]
    fn the_riskiest_are_promised_to_begin_as_far_as_there_is_room() {
        let promised = |tokens, sizes: &[u64]| {
            SharedBudget::new(BudgetLimits { input_tokens: tokens, ..LIMITS }, sizes).promised_parts()
        };
        assert_eq!(promised(2_000_000, &[40_000; 20]), 11, "each needs 138 000, and a fifth is for the second look");
        assert_eq!(promised(300_000, &[40_000, 90_000, 1_000]), 1, "nobody overtakes");
        assert_eq!((promised(100_000, &[40_000]), promised(100_000, &[])), (0, 0));
    }

    #[test]
    fn the_first_may_always_try_and_the_others_where_there_is_room() {
        let shared = SharedBudget::new(BudgetLimits { input_tokens: 100_000, ..LIMITS }, &[40_000, 40_000]);
        let first = ConversationBudget::for_share(shared.start_part(0, 40_000, None).unwrap(), LIMITS);
        assert_eq!(first.reserve_turn(40_000, None), TurnPermit::Turn);
        assert_eq!(
            shared.start_part(1, 10_000, None).err(),
            Some(StopReason::TokenLimit),
            "its last turn would be eaten"
        );
        drop(first);
        assert!(shared.start_part(1, 10_000, None).is_ok(), "whoever is over gives back what was set apart");
    }

    #[test]
    fn nobody_begins_when_time_is_up() {
        let shared = SharedBudget::new(LIMITS, &[1_000; 2]);
        let mut first = ConversationBudget::for_share(shared.start_part(0, 1_000, None).unwrap(), LIMITS);
        first.count_turn(1_000, &answered(1_000), Duration::from_mins(2), false);
        let soon = shared.start_part(1, 1_000, Some(Duration::from_mins(5))).err();
        assert_eq!(soon, Some(StopReason::Deadline));
        assert!(shared.start_part(1, 1_000, Some(Duration::from_mins(7))).is_ok());
    }

    #[test]
    fn what_one_reads_leaves_the_others_what_they_were_promised() {
        let limits = BudgetLimits { input_tokens: 400_000, ..LIMITS };
        let shared = SharedBudget::new(limits, &[40_000, 40_000]);
        let mut first = ConversationBudget::for_share(shared.start_part(0, 40_000, None).unwrap(), limits);
        let mut size = 40_000;
        while first.reserve_turn(size, None) == TurnPermit::Turn {
            first.count_turn(size, &answered(size), Duration::ZERO, false);
            size += first.result_room(size).min(30_000);
        }
        first.count_turn(size, &answered(size), Duration::ZERO, false);
        drop(first);
        assert!(shared.start_part(1, 40_000, None).is_ok());
    }

    #[test]
    fn turns_are_each_ones_own_and_what_was_spent_is_everybodys() {
        let limits = BudgetLimits { turns: 3, ..LIMITS };
        let shared = SharedBudget::new(limits, &[1_000; 2]);
        let (mut a, mut b) = (ConversationBudget::shared(&shared, limits), ConversationBudget::shared(&shared, limits));
        for budget in [&mut a, &mut b] {
            for _ in 0..2 {
                assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Turn);
                budget.count_turn(1_000, &answered(1_000), Duration::ZERO, false);
            }
            assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Landing(StopReason::TurnLimit));
        }
        assert_eq!((a.turns(), a.turns_of_run(), shared.turns()), (2, 4, 4));
        assert_eq!((a.usage().input_tokens, a.remaining().all.tokens), (Some(4_000), LIMITS.input_tokens - 4_000));
        assert_eq!(
            ConversationBudget::shared(&shared, limits).remaining().turns,
            3,
            "the second look has turns of its own"
        );
        assert_eq!((a.findings(2), b.findings(3)), (2, 5));
    }

    /// One conversation of the simulation.
    struct SimulatedConversation {
        budget: ConversationBudget,
        size: u64,
        /// Permission, and maximum response.
        asked: Option<(TurnPermit, u64)>,
    }

    proptest! {
        #[test]
        fn no_run_sends_more_than_it_may_and_whoever_began_can_end(
            tokens in 20_000u64..900_000,
            cents in prop::option::of(5u64..400),
            sizes in prop::collection::vec(6_000u64..60_000, 1..12),
            steps in prop::collection::vec((0usize..3, 0u64..16_000, 0u64..60_000, 0u8..10), 1..300),
        ) {
            let most = cents.map(|cents| Money::from_nanos(cents * 10_000_000));
            let cost = most.map(|most| CostLimit { most, prices: prices() });
            let limits = BudgetLimits { input_tokens: tokens, cost, ..LIMITS };
            let shared = SharedBudget::new(limits, &sizes);
            let promised = shared.promised_parts();
            let (mut waiting, mut open, mut sent, mut paid, mut begun) = (0, Vec::<SimulatedConversation>::new(), 0, Money::NOTHING, Vec::new());
            for (which, answer, wanted, end) in steps {
                while open.len() < 3 && waiting < sizes.len() {
                    if let Ok(share) = shared.start_part(waiting, sizes[waiting], None) {
                        open.push(SimulatedConversation { budget: ConversationBudget::for_share(share, limits), size: sizes[waiting], asked: None });
                        begun.push(waiting);
                    }
                    waiting += 1;
                }
                if open.is_empty() {
                    break;
                }
                let at = which % open.len();
                let it = &mut open[at];
                match it.asked {
                    None => {
                        let reserved = it.budget.reserve_turn(it.size, None);
                        if let TurnPermit::Nothing(_) = reserved {
                            prop_assert!(it.budget.turns() == 0 && begun == [0], "{reserved:?} after {} turns", it.budget.turns());
                            open.remove(at);
                        } else {
                            let most = match reserved {
                                TurnPermit::Turn => it.budget.max_answer(it.size),
                                TurnPermit::Landing(_) | TurnPermit::Nothing(_) => it.budget.last_answer(it.size),
                            };
                            it.asked = Some((reserved, u64::from(most)));
                        }
                    }
                    Some((reserved, most)) => {
                        let answer = answer.min(most);
                        it.asked = None;
                        it.size += if reserved == TurnPermit::Turn { 0 } else { super::super::LAST_WORDS };
                        sent += it.size;
                        let usage = TurnUsage { output: Some(answer), cost: limits.cost.map(|_| limits.amount(it.size, answer).cost), ..answered(it.size) };
                        it.budget.count_turn(it.size, &usage, Duration::ZERO, false);
                        prop_assert!(sent <= tokens, "{sent} of {tokens}");
                        paid = paid.plus(usage.cost.unwrap_or_default());
                        prop_assert!(limits.cost.is_none_or(|limit| paid <= limit.most), "{paid}");
                        it.size += answer;
                        it.size += wanted.min(it.budget.result_room(it.size));
                        it.budget.reserve_final_turn(it.size);
                        if reserved != TurnPermit::Turn || end == 0 {
                            open.remove(at);
                        }
                    }
                }
            }
            if waiting == sizes.len() {
                prop_assert!((0..promised).all(|unit| begun.contains(&unit)), "{begun:?} of {promised} promised");
            }
        }
    }
}
