//! Locks of runs in a database: leases that a thread renews by the clock of the database. Main type: [`RunLease`].
//!
//! A process that dies leaves its lease, which ends soon. Who takes over a lease that has ended gets a token of its own; whatever the former
//! owner still writes names the old token and is refused (see [`SharedRuns::execute_as`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::error::StoreError;
use super::SharedRuns;
use crate::domain::run::RunId;

/// The times of leases.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseTimes {
    /// The time after which a lease that is not renewed ends.
    pub(super) lease: Duration,
    /// The time between renewals.
    pub(super) renewal: Duration,
}

/// The times that the program uses: several renewals may fail before a lease ends.
pub(super) const TIMES: LeaseTimes = LeaseTimes { lease: Duration::from_secs(30), renewal: Duration::from_secs(5) };
/// The longest delay before a lease of another process is looked at again.
const POLL: Duration = Duration::from_millis(200);

/// The tokens of the runs that this process holds or has lost.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<HashMap<RunId, OwnToken>>);

#[derive(Debug)]
struct OwnToken {
    token: String,
    is_held: bool,
}

impl Tokens {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<RunId, OwnToken>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the token with which this process writes to a run; `None` if it never locked the run, or gave it back.
    pub(super) fn of(&self, id: RunId) -> Option<String> {
        self.with(|tokens| tokens.get(&id).map(|own| own.token.clone()))
    }

    /// Sets the token of a run about to be locked; refused if this process holds the run already.
    fn claim(&self, id: RunId, token: &str) -> Result<Option<OwnToken>, StoreError> {
        let own = OwnToken { token: token.to_owned(), is_held: true };
        self.with(|tokens| match tokens.entry(id) {
            Entry::Occupied(old) if old.get().is_held => Err(StoreError::Busy(id)),
            Entry::Occupied(mut old) => Ok(Some(old.insert(own))),
            Entry::Vacant(place) => {
                place.insert(own);
                Ok(None)
            }
        })
    }

    /// Puts back what was there before a claim that came to nothing.
    fn restore(&self, id: RunId, old: Option<OwnToken>) {
        self.with(|tokens| match old {
            Some(old) => tokens.insert(id, old),
            None => tokens.remove(&id),
        });
    }

    /// Ends a lease. The token of a lost run stays, so that nothing more of this process is written to it.
    fn give_back(&self, id: RunId, is_lost: bool) {
        self.with(|tokens| match tokens.get_mut(&id) {
            Some(own) if is_lost => own.is_held = false,
            _ => drop(tokens.remove(&id)),
        });
    }
}

/// The lock of a run. It ends when dropped, or a while after the process has died.
#[derive(Debug)]
pub(super) struct RunLease {
    runs: Arc<SharedRuns>,
    id: RunId,
    token: String,
    renewal: Arc<Renewal>,
}

/// The switch that ends the thread of a lease.
#[derive(Debug, Default)]
struct Renewal {
    is_over: Mutex<bool>,
    wake: Condvar,
}

impl RunLease {
    /// Locks a run. With `wait`, the lease of a process that may have died is waited for, as long as no one renews it.
    pub(super) fn acquire(runs: &Arc<SharedRuns>, id: RunId, wait: bool) -> Result<Self, StoreError> {
        let token = RunId::random().to_string();
        let old = runs.tokens.claim(id, &token)?;
        if let Err(error) = take(runs, id, &token, wait) {
            runs.tokens.restore(id, old);
            return Err(error);
        }
        // From here on, dropping the lease gives the run back.
        let lease = Self { runs: Arc::clone(runs), id, token, renewal: Arc::default() };
        let (runs, token, renewal) = (Arc::clone(runs), lease.token.clone(), Arc::clone(&lease.renewal));
        let thread = std::thread::Builder::new().name("lease".to_owned());
        thread.spawn(move || renewal.run(&runs, id, &token)).map_err(|source| StoreError::Renewal { id, source })?;
        Ok(lease)
    }

    /// Returns the token that what is written under the lease must name.
    pub(super) fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        // A renewal that is under way ends first: it would extend the lease that is given back here.
        *self.renewal.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.renewal.wake.notify_all();
        let released = self.runs.release(self.id, &self.token);
        self.runs.tokens.give_back(self.id, !matches!(released, Ok(true)));
    }
}

impl Renewal {
    /// Renews a lease until it is given back or lost.
    fn run(&self, runs: &SharedRuns, id: RunId, token: &str) {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            is_over = self.wake.wait_timeout(is_over, runs.times.renewal).unwrap_or_else(PoisonError::into_inner).0;
            // A database that is away may come back: the lease then goes on, if no other process has taken it.
            if *is_over || matches!(runs.renew(id, token), Ok(false)) {
                return;
            }
        }
    }
}

/// Takes the lease of a run that is free, or as soon as it is.
fn take(runs: &SharedRuns, id: RunId, token: &str, wait: bool) -> Result<(), StoreError> {
    let (began, mut seen) = (Instant::now(), None);
    loop {
        if runs.try_lease(id, token)? {
            return Ok(());
        }
        let Some((until, left)) = runs.lease_end(id)? else { continue };
        // One that was extended in the meantime has a process that is alive.
        let is_renewed = *seen.get_or_insert(until) < until;
        if !wait || is_renewed || began.elapsed() > runs.times.lease * 2 {
            return Err(StoreError::Busy(id));
        }
        std::thread::sleep(left.min(POLL));
    }
}
