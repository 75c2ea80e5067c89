//! The settings of a run that affect its outcome. Main type: [`PinnedSettings`].
//!
//! Budgets, outputs and gates are not among them: a resumed run may change them.

use crate::app::context::settings;
use serde::{Deserialize, Serialize};

use crate::app::context::error::AppError;
use crate::config::{Settings, Verify};
use crate::domain::filter::PathFilter;
use crate::domain::finding::{Confidence, Severity};
use crate::review::FindingThresholds;

/// The settings that affect the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct PinnedSettings {
    include: Vec<Vec<String>>,
    exclude: Vec<String>,
    min_severity: Option<Severity>,
    min_confidence: Option<Confidence>,
    max_commits: u32,
    verify: Verify,
    /// The build tools that the model may run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::app) allow_build: Vec<String>,
    pub(in crate::app) rules_off: Vec<String>,
    #[serde(default)]
    pub(in crate::app) rules_all_lines: bool,
    #[serde(default)]
    pub(in crate::app) rules_hints: bool,
    #[serde(default)]
    pub(in crate::app) rules_severity: Vec<(String, Severity)>,
}

impl PinnedSettings {
    /// Extracts them for a new run.
    pub(in crate::app) fn of(settings: &Settings) -> Self {
        // Destructured completely, so that a new setting forces a decision here.
        let Settings {
            include,
            exclude,
            min_severity,
            min_confidence,
            max_commits,
            verify,
            allow_build,
            rules_off,
            rules_all_lines,
            rules_hints,
            rules_severity,
            // A resumed run may change them.
            timeout: _,
            max_turns: _,
            max_tokens: _,
            max_cost: _,
            keep_runs: _,
            colour: _,
            format: _,
            fail_on: _,
            request_changes_on: _,
            comment_on: _,
            max_comments: _,
            // Stored in resolved form: see `reviewer`.
            model: _,
            next_models: _,
            verify_model: _,
            instructions: _,
            prompts: _,
            guidelines: _,
            guideline_files: _,
            providers_file: _,
            // Stored as the texts of the packs.
            rule_packs: _,
            providers: _,
        } = settings;
        Self {
            include: include.clone(),
            exclude: exclude.clone(),
            min_severity: *min_severity,
            min_confidence: *min_confidence,
            max_commits: *max_commits,
            verify: *verify,
            allow_build: allow_build.clone(),
            rules_off: rules_off.clone(),
            rules_all_lines: *rules_all_lines,
            rules_hints: *rules_hints,
            rules_severity: rules_severity.clone(),
        }
    }

    /// Applies them to the current settings.
    pub(in crate::app) fn apply_to(&self, settings: &mut Settings) {
        let Self {
            include,
            exclude,
            min_severity,
            min_confidence,
            max_commits,
            verify,
            allow_build,
            rules_off,
            rules_all_lines,
            rules_hints,
            rules_severity,
        } = self.clone();
        settings.include = include;
        settings.exclude = exclude;
        settings.min_severity = min_severity;
        settings.min_confidence = min_confidence;
        settings.max_commits = max_commits;
        settings.allow_build = allow_build;
        settings.rules_off = rules_off;
        settings.rules_all_lines = rules_all_lines;
        settings.rules_hints = rules_hints;
        settings.rules_severity = rules_severity;
        settings.verify = verify;
    }

    /// The path filter.
    pub(in crate::app) fn filter(&self) -> Result<PathFilter, AppError> {
        settings::filter_of(&self.include, &self.exclude)
    }

    /// The threshold below which findings are counted but not shown.
    pub(in crate::app) fn threshold(&self) -> FindingThresholds {
        FindingThresholds { severity: self.min_severity, confidence: self.min_confidence }
    }

    /// Compares the settings: name, old value, new value of each one that differs.
    pub(in crate::app) fn differences(&self, now: &Self) -> Vec<(&'static str, String, String)> {
        let rows = self.rows().into_iter().zip(now.rows());
        rows.filter(|(was, is)| was != is).map(|((name, was), (_, is))| (name, was, is)).collect()
    }

    fn rows(&self) -> [(&'static str, String); 11] {
        let list = |list: &[String]| if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
        let groups: Vec<String> = self.include.iter().map(|group| list(group)).collect();
        let grades: Vec<String> =
            self.rules_severity.iter().map(|(name, severity)| format!("{name}={severity}")).collect();
        let severity = self.min_severity.map_or_else(|| "none".to_owned(), |severity| severity.to_string());
        let confidence = self.min_confidence.map_or_else(|| "none".to_owned(), |least| least.value().to_string());
        [
            ("include", if groups.is_empty() { "everything".to_owned() } else { groups.join(" and ") }),
            ("exclude", list(&self.exclude)),
            ("min_severity", severity),
            ("min_confidence", confidence),
            ("max_commits", self.max_commits.to_string()),
            ("verify", self.verify.as_str().to_owned()),
            ("allow_build", list(&self.allow_build)),
            ("rules.off", list(&self.rules_off)),
            ("rules.hints", if self.rules_hints { "told" } else { "leads" }.to_owned()),
            ("rules.lines", if self.rules_all_lines { "all" } else { "changed" }.to_owned()),
            ("rules.severity", list(&grades)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Flags, SettingsSources};

    fn settings(flags: Flags) -> Settings {
        config::resolve(&SettingsSources { flags, ..SettingsSources::default() }).unwrap().settings
    }

    #[test]
    fn what_differs_is_named_and_can_be_put_back() {
        let was = settings(Flags { exclude: vec!["a".to_owned()], verify: Some("all".to_owned()), ..Flags::default() });
        let mut now = settings(Flags {
            include: vec!["b".to_owned(), "c".to_owned()],
            min_confidence: Some("7".to_owned()),
            max_tokens: Some("9k".to_owned()),
            ..Flags::default()
        });
        let kept = PinnedSettings::of(&was);
        let kept: PinnedSettings = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        let changed = kept.differences(&PinnedSettings::of(&now));
        let told: Vec<_> = changed.iter().map(|(name, was, is)| format!("{name}: {was} → {is}")).collect();
        assert_eq!(
            told,
            ["include: everything → b, c", "exclude: a → nothing", "min_confidence: none → 7", "verify: all → auto"]
        );
        kept.apply_to(&mut now);
        assert_eq!(kept.differences(&PinnedSettings::of(&now)), []);
        assert_eq!(now.max_tokens, 9_000, "budgets are the sitting's");
    }
}
