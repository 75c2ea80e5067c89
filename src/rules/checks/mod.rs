//! Language-independent checks: lines and marks that mean the same in nearly every language.
//!
//! Main type: [`Check`]. A check is a file here and a line in [`CHECKS`]. Rules that need a parser belong in a pack.

mod authorization;
mod conflict_marker;
mod debug_leftover;
mod disabled_test;
mod duplicate_key;
mod invisible_character;
mod links;
mod prompt_injection;
mod secret_added;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use CheckSearch::{Gained, InText, Lost};

pub(super) use secret_added::RemovedWords;

use super::recorded_hits::grade;
use super::sides::BothSides;
use super::target::{RuleMatch, RuleTarget};
use crate::domain::finding::{Category, Severity};
use crate::domain::rule_info::RuleInfo;
use crate::sys::cancel::CancelReason;

/// Every check. The order is that of findings on one line.
pub(super) const CHECKS: &[Check] = &[
    Check { info: &secret_added::INFO, search: InText(secret_added::find) },
    Check { info: &conflict_marker::INFO, search: InText(conflict_marker::find) },
    Check { info: &disabled_test::DISABLED, search: InText(disabled_test::find_disabled) },
    Check { info: &disabled_test::FOCUSED, search: InText(disabled_test::find_focused) },
    Check { info: &debug_leftover::INFO, search: InText(debug_leftover::find) },
    Check { info: &invisible_character::INFO, search: InText(invisible_character::find) },
    Check { info: &prompt_injection::INFO, search: InText(prompt_injection::find) },
    Check { info: &authorization::INFO, search: Lost(authorization::find) },
    Check { info: &links::INFO, search: Gained(links::find) },
    Check { info: &duplicate_key::INFO, search: Gained(duplicate_key::find) },
];

/// Description of a check; the same as [`RuleInfo`], known at compile time.
pub(super) struct CheckInfo {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) message: &'static str,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) cwe: Option<&'static str>,
}

impl CheckInfo {
    pub(super) fn to_rule_info(&self) -> RuleInfo {
        grade(RuleInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            message: self.message.to_owned(),
            severity: self.severity,
            category: self.category,
            cwe: self.cwe.map(str::to_owned),
            skips_tests: false,
            is_hint: false,
        })
    }
}

/// Notes on what the checks did not examine in one run, one sentence each.
#[derive(Default)]
pub(super) struct CheckNotes(Mutex<BTreeSet<String>>);

impl CheckNotes {
    /// Records what was not examined.
    pub(super) fn note(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
    }

    /// Returns the recorded notes.
    pub(super) fn notes(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Maximum number of matches of a check in one text, as of the rules with a parser: a match takes a thousand times the memory of its line.
pub(super) const MOST_MATCHES: usize = 5000;

/// A language-independent check.
pub(super) struct Check {
    /// Its name and description.
    pub(super) info: &'static CheckInfo,
    pub(super) search: CheckSearch,
}

impl Check {
    /// Checks for the one that finds secrets.
    pub(super) fn is_secret(&self) -> bool {
        self.info.name == secret_added::INFO.name
    }
}

/// The search of a check.
pub(super) enum CheckSearch {
    /// Finds its matches in one text of either side, of which more than [`MOST_MATCHES`] need not be found; base matches are subtracted afterwards.
    InText(fn(&RuleTarget<'_>) -> Vec<RuleMatch>),
    /// Finds its matches on the old side, already compared with the new side.
    Lost(ChangeSearch),
    /// Finds its matches on the new side, already compared with the old side.
    Gained(ChangeSearch),
}

/// Finds matches in the changed files, each with the file's index in the change.
type ChangeSearch = fn(&BothSides<'_>, &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason>;
