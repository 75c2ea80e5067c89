//! The doctor report: checks of everything a review depends on, the model and the environment. Main type: [`DoctorReport`].
//!
//! Running the checks belongs in `app`.

use std::time::Duration;

use super::run::Usage;
use crate::domain::words::words;

/// Everything that was looked at, in the order in which it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorReport {
    /// This program's version.
    pub version: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The duration.
    pub took: Duration,
    /// `true` if somebody broke it off.
    pub interrupted: bool,
    /// The checks.
    pub checks: Vec<DoctorCheck>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorCheck {
    /// Its area.
    pub area: CheckArea,
    /// Its word, the same in every version.
    pub name: &'static str,
    /// The model it is about, as `provider/name`.
    pub model: Option<String>,
    /// Its state.
    pub state: CheckState,
    /// The result: one sentence, without secrets.
    pub found: String,
    /// The advice; `None` if there is nothing to do.
    pub advice: Option<String>,
    /// The model's response time; `None` if it was not called.
    pub took: Option<Duration>,
    /// The usage of the call; `None` if it was not called.
    pub usage: Option<Usage>,
}

words! {
    /// The area of a check.
    pub enum CheckArea: as_str {
        /// Settings: files and variables.
        Settings = "settings",
        /// git, and the repository one stands in.
        Git = "git",
        /// This machine: where runs are kept, the terminal, the clock.
        Machine = "machine",
        /// The forge that pull requests are on.
        Forge = "forge",
        /// The reviewer.
        Model = "model",
    }
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// As it should.
    Fine,
    /// A review works, but not as well as it could, or not everywhere.
    Warning,
    /// A review would not work.
    Failed(FaultParty),
    /// It was not looked at.
    Skipped,
}

/// The party at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultParty {
    /// Settings, or this machine.
    Setup,
    /// Whoever serves the model.
    Provider,
}

impl CheckState {
    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Failed(_) => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl DoctorCheck {
    /// A check that is about no model.
    pub fn new(area: CheckArea, name: &'static str, state: CheckState, found: impl Into<String>) -> Self {
        Self { area, name, model: None, state, found: found.into(), advice: None, took: None, usage: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn with_advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Makes it a check of a model.
    #[must_use]
    pub fn about_model(self, model: &str) -> Self {
        Self { model: Some(model.to_owned()), ..self }
    }
}

impl DoctorReport {
    /// Returns the overall state: the word used in JSON.
    pub fn outcome(&self) -> &'static str {
        match self.exit_code() {
            0 => "fine",
            2 => "misconfigured",
            4 => "provider_failed",
            _ => "interrupted",
        }
    }

    /// The process's exit code: 0 where a review would work, 2 where settings or this machine keep it from that, 4 where the provider of the
    /// model does, 130 where it was interrupted.
    pub fn exit_code(&self) -> u8 {
        let failed = |culprit| self.checks.iter().any(|check| check.state == CheckState::Failed(culprit));
        if self.interrupted {
            130
        } else if failed(FaultParty::Setup) {
            2
        } else if failed(FaultParty::Provider) {
            4
        } else {
            0
        }
    }

    /// Returns the total usage of model calls; `None` if none was made.
    pub fn usage(&self) -> Option<Usage> {
        self.checks.iter().filter_map(|check| check.usage).reduce(|one, other| {
            let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
            Usage {
                input_tokens: sum(one.input_tokens, other.input_tokens),
                output_tokens: sum(one.output_tokens, other.output_tokens),
                cache_read_tokens: sum(one.cache_read_tokens, other.cache_read_tokens),
                cache_write_tokens: sum(one.cache_write_tokens, other.cache_write_tokens),
                cost: one.cost.zip(other.cost).map(|(a, b)| a.plus(b)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkup(states: &[CheckState]) -> DoctorReport {
        let checks = states.iter().map(|state| DoctorCheck::new(CheckArea::Git, "git", *state, "")).collect();
        DoctorReport {
            version: String::new(),
            started_at: String::new(),
            took: Duration::ZERO,
            interrupted: false,
            checks,
        }
    }

    #[test]
    fn what_the_person_can_repair_counts_before_what_the_provider_must() {
        use CheckState::{Failed, Fine, Skipped, Warning};
        for (states, code, word) in [
            (&[][..], 0, "fine"),
            (&[Fine, Warning, Skipped], 0, "fine"),
            (&[Fine, Failed(FaultParty::Provider)], 4, "provider_failed"),
            (&[Failed(FaultParty::Provider), Failed(FaultParty::Setup)], 2, "misconfigured"),
        ] {
            let checkup = checkup(states);
            assert_eq!((checkup.exit_code(), checkup.outcome()), (code, word), "{states:?}");
        }
        let broken_off = DoctorReport { interrupted: true, ..checkup(&[Failed(FaultParty::Setup)]) };
        assert_eq!((broken_off.exit_code(), broken_off.outcome()), (130, "interrupted"));
    }

    #[test]
    fn what_one_question_took_and_nobody_told_is_unknown_of_all() {
        let usage = |input, output| Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
        let mut checkup = checkup(&[CheckState::Fine; 3]);
        assert_eq!(checkup.usage(), None);
        checkup.checks[0].usage = Some(usage(Some(10), Some(1)));
        checkup.checks[2].usage = Some(usage(Some(5), None));
        assert_eq!(checkup.usage(), Some(usage(Some(15), None)));
    }
}
