//! Recorded hits of the built-in rules on real code, true and false, which decide what a rule may claim. Main function: [`grade`].
//!
//! The records are `fired.json`, `wrong.json` and `unseen.json` in `benches/precision`; a test keeps the table here equal to them. How hits are measured is in
//! `docs/rules-measured.md`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::domain::finding::Severity;
use crate::domain::rule_info::RuleInfo;

/// Checks that report a fact, which no reading of the surrounding code can refute: a secret, or a prompt injection. A model must not be
/// talked out of these by the change.
const FACTS: &[&str] =
    &["general/secret-added", "general/steers-reviewer", "general/invisible-character", "general/conflict-marker"];

/// Checks whether a rule reports such a fact.
pub fn is_fact(rule: &str) -> bool {
    FACTS.contains(&rule)
}

/// True hits that a rule needs for a severity above medium.
const HITS_FOR_HIGH: u32 = 3;
/// True hits that it needs for each false one.
const TRUE_FOR_EACH_FALSE: u32 = 9;

/// Findings of high severity on unseen code that must have been right for each that was arguable or wrong. What was mended counts too: a rule that
/// was wrong for one cause is likely to be wrong for the next.
const RIGHT_FOR_EACH_NOT_RIGHT: u32 = 3;

/// Recorded hits of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RecordedHits {
    real: u32,
    false_alarms: u32,
    /// Findings of high severity on code that no rule had seen, one for each commit.
    right_unseen: u32,
    /// Such findings that were arguable or wrong, one for each cause.
    not_right_unseen: u32,
}

/// The table, a row for each rule that has any hits.
pub(super) const TABLE: &str = include_str!("recorded_hits.txt");

/// The hits of each rule that has any.
static HITS: LazyLock<HashMap<&str, RecordedHits>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut words = line.split(' ');
        let rule = words.next()?;
        let mut number = || words.next()?.parse().ok();
        Some((
            rule,
            RecordedHits {
                real: number()?,
                false_alarms: number()?,
                right_unseen: number()?,
                not_right_unseen: number()?,
            },
        ))
    };
    TABLE.lines().filter_map(row).collect()
});

impl RecordedHits {
    fn of(rule: &str) -> Self {
        HITS.get(rule).copied().unwrap_or_default()
    }

    fn are_no_proof(self) -> bool {
        self.real == 0 || self.false_alarms > self.real
    }

    fn allow_high(self) -> bool {
        self.real >= HITS_FOR_HIGH
            && self.real >= self.false_alarms * TRUE_FOR_EACH_FALSE
            && self.right_unseen >= self.not_right_unseen * RIGHT_FOR_EACH_NOT_RIGHT
    }
}

/// Checks whether a built-in rule is a hint because no true hit of it is recorded, or more false ones.
pub(super) fn is_unproven(rule: &str) -> bool {
    RecordedHits::of(rule).are_no_proof() && !is_fact(rule)
}

/// Limits what a built-in rule claims to what is recorded: unproven it is a hint, and with fewer than three true hits, more than one false in ten, or more than one
/// in four not right of its findings of high severity on unseen code, it is at most of medium severity. Rules that report facts need no record: an attack is rare in real
/// code, and must not be talked away.
pub(super) fn grade(info: RuleInfo) -> RuleInfo {
    if is_fact(&info.name) {
        return info;
    }
    let hits = RecordedHits::of(&info.name);
    grade_by(info, hits)
}

fn grade_by(info: RuleInfo, hits: RecordedHits) -> RuleInfo {
    let severity = if hits.allow_high() { info.severity } else { info.severity.max(Severity::Medium) };
    RuleInfo { severity, is_hint: info.is_hint || hits.are_no_proof(), ..info }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::Category;

    fn info(name: &str, severity: Severity) -> RuleInfo {
        RuleInfo {
            name: name.to_owned(),
            title: String::new(),
            message: String::new(),
            severity,
            category: Category::Logic,
            cwe: None,
            skips_tests: false,
            is_hint: false,
        }
    }

    #[test]
    fn a_rule_claims_no_more_than_is_recorded() {
        let graded_unseen = |[real, false_alarms, right_unseen, not_right_unseen]: [u32; 4], severity: Severity| {
            let hits = RecordedHits { real, false_alarms, right_unseen, not_right_unseen };
            let info = grade_by(info("go/a-rule", severity), hits);
            (info.severity, info.is_hint)
        };
        let graded = |real, false_alarms, severity| graded_unseen([real, false_alarms, 0, 0], severity);
        assert_eq!(graded_unseen([9, 0, 3, 1], Severity::High), (Severity::High, false));
        assert_eq!(graded_unseen([9, 0, 2, 1], Severity::High), (Severity::Medium, false));
        assert_eq!(graded_unseen([9, 0, 0, 1], Severity::Low), (Severity::Low, false));
        assert_eq!(graded(HITS_FOR_HIGH, 0, Severity::High), (Severity::High, false));
        assert_eq!(graded(1, 0, Severity::High), (Severity::Medium, false));
        assert_eq!(graded(1, 0, Severity::Low), (Severity::Low, false));
        assert_eq!(graded(8, 1, Severity::High), (Severity::Medium, false));
        assert_eq!(graded(9, 1, Severity::High), (Severity::High, false));
        assert_eq!(graded(1, 1, Severity::Medium), (Severity::Medium, false));
        assert_eq!(graded(1, 2, Severity::Low), (Severity::Low, true));
        assert_eq!(graded(0, 0, Severity::Critical), (Severity::Medium, true));
    }

    #[test]
    fn the_record_of_a_rule_is_found_by_its_name() {
        let graded = |name: &str| {
            let info = grade(info(name, Severity::Critical));
            (info.severity, info.is_hint)
        };
        let may_be_high = HITS.iter().find(|(rule, hits)| hits.allow_high() && !is_fact(rule)).unwrap();
        assert_eq!(graded(may_be_high.0), (Severity::Critical, false));
        let seldom =
            HITS.iter().find(|(rule, hits)| hits.real == 1 && hits.false_alarms == 0 && !is_fact(rule)).unwrap();
        assert_eq!(graded(seldom.0), (Severity::Medium, false));
        assert_eq!(graded("go/never-seen"), (Severity::Medium, true));
        assert_eq!(graded("general/secret-added"), (Severity::Critical, false));
    }
}
