//! Language-independent checks: lines and marks that mean the same in nearly every language.
//!
//! Main type: the trait [`Check`]. A check is a file here and a line in [`CHECKS`]. Rules that need a parser belong in a pack.

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

use super::recorded_hits::grade;
use super::sides::BothSides;
use super::target::{RuleMatch, RuleTarget};
use crate::domain::finding::{Category, Severity};
use crate::domain::rule_info::RuleInfo;
use crate::sys::cancel::CancelReason;

/// Every check. The order is that of findings on one line.
pub(super) const CHECKS: &[&dyn Check] = &[
    &secret_added::SecretAdded,
    &conflict_marker::ConflictMarker,
    &disabled_test::DisabledTest,
    &disabled_test::FocusedTest,
    &debug_leftover::DebugLeftover,
    &invisible_character::InvisibleCharacter,
    &prompt_injection::PromptInjection,
    &authorization::AuthorizationRemoved,
    &links::DeadLinkCheck,
    &duplicate_key::DuplicateKey,
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
pub(super) trait Check: Sync {
    /// Its name and description.
    fn info(&self) -> &CheckInfo;

    /// Its matches in one text of either side, of which more than [`MOST_MATCHES`] need not be found; base matches are subtracted afterwards.
    fn find(&self, subject: &RuleTarget<'_>) -> Vec<RuleMatch>;

    /// Its matches on the old side of changed files (by their index in the change), already compared with the new side.
    fn lost(&self, _: &BothSides<'_>, _: &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        Ok(Vec::new())
    }

    /// Its matches on the new side of changed files, already compared with the old side.
    fn gained(&self, _: &BothSides<'_>, _: &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        Ok(Vec::new())
    }
}
