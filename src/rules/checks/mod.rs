//! Language-independent checks: lines and marks that mean the same in nearly every language.
//!
//! Main type: the trait [`Check`]. A check is a file here and a line in [`CHECKS`]. Rules that need a parser belong in a pack.

mod conflict_marker;
mod debug_leftover;
mod disabled_test;
mod duplicate_key;
mod guards;
mod invisible_character;
mod links;
mod prompt_injection;
mod secret_added;

pub(super) use guards::{GUARDS, find_removed_guards};

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::recorded_hits::grade;
use super::sides::BothSides;
use super::target::{RuleMatch, RuleTarget};
use crate::domain::finding::{Category, Severity};
use crate::domain::rule_info::RuleInfo;
use crate::sys::cancel::CancelReason;
use guards::{ChangedText, RemovedGuard};

/// Every check. The order is that of findings on one line.
pub(super) const CHECKS: &[&dyn Check] = &[
    &secret_added::SecretAdded,
    &conflict_marker::ConflictMarker,
    &disabled_test::DisabledTest,
    &disabled_test::FocusedTest,
    &debug_leftover::DebugLeftover,
    &invisible_character::InvisibleCharacter,
    &prompt_injection::PromptInjection,
    &guards::GUARDS[0],
    &guards::GUARDS[1],
    &guards::GUARDS[2],
    &guards::GUARDS[3],
    &guards::GUARDS[4],
    &guards::GUARDS[5],
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

/// Results of the checks in one run, and notes on what they did not examine.
#[derive(Default)]
pub(super) struct CheckMemory {
    /// All added and removed lines.
    around: OnceLock<ChangedText>,
    /// Held while they are collected, so that one thread does it for all.
    collecting: Mutex<()>,
    /// The removed guards of each file.
    pub(super) files: Vec<OnceLock<Vec<RemovedGuard>>>,
    /// The removed guards of all files, each with the index of its file.
    taken: OnceLock<Result<Vec<(usize, RemovedGuard)>, CancelReason>>,
    /// Notes on what was not examined, one sentence each.
    notes: Mutex<BTreeSet<String>>,
}

impl CheckMemory {
    /// Creates an empty memory for `files` files.
    pub(super) fn new(files: usize) -> Self {
        Self { files: std::iter::repeat_with(OnceLock::new).take(files).collect(), ..Self::default() }
    }

    /// Records what was not examined. Stored here because the cached results do not mention it.
    pub(super) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
    }

    /// Returns the recorded notes.
    pub(super) fn notes(&self) -> BTreeSet<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
    fn lost(&self, _: &BothSides<'_>, _: &CheckMemory) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        Ok(Vec::new())
    }

    /// Its matches on the new side of changed files, already compared with the old side.
    fn gained(&self, _: &BothSides<'_>, _: &CheckMemory) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        Ok(Vec::new())
    }
}
