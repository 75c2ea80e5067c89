//! Descriptions of rules, and the result of testing some. Main types: [`RuleInfo`], [`RulePage`], [`FixtureReport`].
//!
//! How a rule matches belongs in `rules`.

use serde::{Deserialize, Serialize};

use super::finding::{Category, Severity};

/// Description of a rule, without how it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its name in all output: `<pack>/<id>`.
    pub name: String,
    /// One line: the defect.
    pub title: String,
    /// The consequence and what to do about it: Markdown.
    pub message: String,
    /// Its severity.
    pub severity: Severity,
    /// Its category of defect.
    pub category: Category,
    /// The weakness it is an instance of (`CWE-78`), if there is one.
    pub cwe: Option<String>,
    /// `true` if it skips test-only code.
    pub skips_tests: bool,
    /// `true` if most of its matches on real code turned out to be intentional: leads for a model, else reported only on request.
    pub is_hint: bool,
}

/// The owner of a pack that is not built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackOwner {
    /// The user: a file with a built-in pack's name replaces that pack, any other is added.
    User,
    /// The project: its rules are named `project/<id>` and replace none.
    Project,
}

/// The reference page of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePage {
    /// Its description, with the effective severity.
    pub info: RuleInfo,
    /// Its default severity.
    pub own_severity: Severity,
    /// `true` if the settings switch it off.
    pub is_off: bool,
    /// The languages that it applies to; empty for a language-independent check.
    pub languages: Vec<&'static str>,
    /// `true` if it is about removed code.
    pub on_removed: bool,
    /// Its owner, its file, and the line on which it begins there; `None` for built-in rules.
    pub from: Option<(PackOwner, String, u32)>,
    /// The document that defines it; `None` for a check.
    pub text: Option<String>,
    /// Examples, for a built-in rule.
    pub examples: RuleExamples,
}

/// Code that a rule reports, and code that it leaves alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleExamples {
    /// A whole small file that it reports.
    pub bad: Option<String>,
    /// One that it leaves alone.
    pub good: Option<String>,
}

/// The result of a fixture run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixtureReport {
    /// Number of rules.
    pub rules: usize,
    /// Number of cases.
    pub cases: usize,
    /// The faults, in the order of the rules.
    pub faults: Vec<FixtureFault>,
}

/// An error in a rule or its fixtures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureFault {
    /// The rule, or the folder without one.
    pub rule: String,
    /// The case, if the fault is about one.
    pub case: Option<String>,
    /// The fault: a clause.
    pub what: String,
}
