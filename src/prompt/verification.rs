//! Variables of the verification prompts. Main type: [`VerificationVars`].

use minijinja::Value;

use super::data::{FenceMark, UntrustedText};
use crate::domain::finding::{Category, Severity};

/// For `second_look_finding.md`: the first message.
#[derive(Debug, Clone)]
pub struct VerificationVars {
    /// Severity, as reported.
    pub severity: Severity,
    /// Category of the defect, as reported.
    pub category: Category,
    /// Text of the finding, written by another model.
    pub finding: UntrustedText,
    /// The places that it quotes.
    pub code: UntrustedText,
    /// Diff of its file; empty if there is no space for it.
    pub diff: UntrustedText,
}

impl VerificationVars {
    pub(super) fn value(&self) -> Value {
        let mark = FenceMark::of(&[&self.finding, &self.code, &self.diff]);
        let fence = |what: &str, data: &UntrustedText| Value::from(mark.fence(what, data));
        Value::from_pairs([
            ("mark", Value::from(mark.digits())),
            ("severity", self.severity.word().into()),
            ("category", self.category.word().into()),
            ("finding", fence("finding", &self.finding)),
            ("code", fence("code", &self.code)),
            ("diff", fence("diff", &self.diff)),
        ])
    }

    pub(super) fn samples() -> Vec<Value> {
        let full = Self {
            severity: Severity::High,
            category: Category::Logic,
            finding: UntrustedText::new("A title\n\nWhat goes wrong.".to_owned()),
            code: UntrustedText::new("=== src/a.rs\n     1\ta".to_owned()),
            diff: UntrustedText::new("=== src/a.rs\n@@ -1 +1 @@\n-a\n+b".to_owned()),
        };
        let bare = Self { code: UntrustedText::default(), diff: UntrustedText::default(), ..full.clone() };
        [full, bare].iter().map(Self::value).collect()
    }
}
