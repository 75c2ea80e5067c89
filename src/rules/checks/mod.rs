//! Checks that know no language: lines and marks that mean the same everywhere, or nearly so.
//!
//! Main type: the trait [`Check`]. A check is a file here and a line in [`CHECKS`]. What needs a parser belongs in a pack.

mod conflict_marker;
mod debug_leftover;
mod deleted_tests;
mod disabled_test;
mod guards;
mod invisible_character;
mod key_twice;
mod links;
mod secret_added;
mod steers_reviewer;
mod tested;

pub(super) use guards::{Around, GUARDS, Taken, taken_from};

use std::sync::OnceLock;

use super::alone::Alone;
use super::packs::RuleInfo;
use super::run::RulesInput;
use super::subject::{Hit, Subject};
use crate::domain::change::ChangeSet;
use crate::domain::finding::{Category, Severity};
use crate::syntax::Trees;
use crate::sys::cancel::{Cancel, Stopped};
use crate::workspace::Workspace;

/// Every check. The order is that of findings on one line.
pub(super) const CHECKS: &[&dyn Check] = &[
    &secret_added::SecretAdded,
    &conflict_marker::ConflictMarker,
    &deleted_tests::DeletedTests,
    &disabled_test::DisabledTest,
    &disabled_test::FocusedTest,
    &debug_leftover::DebugLeftover,
    &invisible_character::InvisibleCharacter,
    &steers_reviewer::SteersReviewer,
    &guards::GUARDS[0],
    &guards::GUARDS[1],
    &guards::GUARDS[2],
    &guards::GUARDS[3],
    &guards::GUARDS[4],
    &guards::GUARDS[5],
    &guards::GUARDS[6],
    &guards::GUARDS[7],
    &guards::GUARDS[8],
    &guards::GUARDS[9],
    &guards::GUARDS[10],
    &guards::GUARDS[11],
    &guards::GUARDS[12],
    &guards::AssertsNothing,
    &guards::AssertionRemoved,
    &links::LeadsNowhere,
    &key_twice::KeyTwice,
];

/// Checks that tell a fact, which no reading of the code around it can make untrue: a secret stands there, or a text that is aimed at the reviewer.
/// A change that talks a model out of one of them has not talked it away.
const FACTS: &[&str] =
    &["general/secret-added", "general/steers-reviewer", "general/invisible-character", "general/conflict-marker"];

/// Whether a rule tells such a fact.
pub fn is_fact(rule: &str) -> bool {
    FACTS.contains(&rule)
}

/// Checks, here and in `impact`, most of whose matches on real changes turned out to be meant (`docs/rules-measured.md`).
const HINTS: &[&str] =
    &["general/test-asserts-nothing", "general/assertion-removed", "impact/changed-constant-mirrored"];

/// A check in words; the same as [`RuleInfo`], known at compile time.
pub(super) struct CheckInfo {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) message: &'static str,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) cwe: Option<&'static str>,
}

impl CheckInfo {
    pub(super) fn owned(&self) -> RuleInfo {
        RuleInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            message: self.message.to_owned(),
            severity: self.severity,
            category: self.category,
            cwe: self.cwe.map(str::to_owned),
            skips_tests: false,
            is_hint: HINTS.contains(&self.name),
        }
    }
}

/// Both sides of a change, for a check that compares them itself.
pub(super) struct BothSides<'a> {
    pub(super) change: &'a ChangeSet,
    pub(super) old: &'a dyn Workspace,
    pub(super) new: &'a dyn Workspace,
    pub(super) trees: &'a Trees,
    pub(super) cancel: &'a Cancel,
    /// What files have said by themselves.
    pub(super) alone: &'a Alone,
    /// What the change takes away, once somebody has asked.
    pub(super) taken: OnceLock<Result<Vec<(usize, Taken)>, Stopped>>,
}

impl<'a> BothSides<'a> {
    pub(super) fn of(input: &RulesInput<'a>, alone: &'a Alone) -> Self {
        let RulesInput { change, old, new, trees, cancel, .. } = *input;
        Self { change, old, new, trees, cancel, alone, taken: OnceLock::new() }
    }

    /// Says what was not looked at.
    pub(super) fn note(&self, note: String) {
        self.alone.note(note);
    }
}

/// A check that knows no language.
pub(super) trait Check: Sync {
    /// What it is called and what it says.
    fn info(&self) -> &CheckInfo;

    /// Its matches in one text, whichever side that is from; what stood at the base is subtracted afterwards.
    fn find(&self, subject: &Subject<'_>) -> Vec<Hit>;

    /// Its matches on the old side of changed files (as counted in the change), already compared with the new side.
    fn lost(&self, _: &BothSides<'_>) -> Result<Vec<(usize, Hit)>, Stopped> {
        Ok(Vec::new())
    }

    /// Its matches on the new side of changed files, already compared with the old side.
    fn gained(&self, _: &BothSides<'_>) -> Result<Vec<(usize, Hit)>, Stopped> {
        Ok(Vec::new())
    }
}
