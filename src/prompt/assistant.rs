//! Variables of the prompts for a person's own assistant. Main types: [`AssistantVars`], [`FindingVars`].

use minijinja::Value;

use super::data::{FenceMark, UntrustedText};
use super::vars::ChangeVars;
use crate::domain::finding::{Category, Severity};

/// For `assistant_review.md`, beside the change.
#[derive(Debug, Clone, Default)]
pub struct AssistantVars {
    /// Arguments for tools, so that they show the same change.
    pub at: String,
    /// Focus that the person asked for; may be empty.
    pub focus: String,
    /// Instructions of the person; may be empty.
    pub instructions: String,
}

/// For `explain_finding.md`.
#[derive(Debug, Clone)]
pub struct FindingVars {
    /// The finding's id.
    pub id: String,
    /// Severity, as reported.
    pub severity: Severity,
    /// Category of the defect, as reported.
    pub category: Category,
    /// Text of the finding, which is untrusted.
    pub finding: UntrustedText,
    /// The places it rests on, with the code around them.
    pub code: UntrustedText,
    /// Repository to pass to tools, as JSON; empty if it is the server's own.
    pub repo: String,
    /// Arguments for tools, so that they show what was reviewed; empty if nothing would.
    pub at: String,
    /// Remarks on `code`, whole sentences; may be empty.
    pub note: String,
}

impl AssistantVars {
    /// Returns the variables of the template. There are no leads, which only a reviewer can answer; no pull request, because an assistant asks about
    /// the local state; no guidelines, which it reads on its own; and no limits, which are not ours.
    pub(super) fn value(&self, change: &ChangeVars) -> Value {
        let own = [
            ("at", Value::from(self.at.as_str())),
            ("focus", Value::from(self.focus.as_str())),
            ("instructions", Value::from(self.instructions.as_str())),
        ];
        let is_not_its =
            |name: &str| ["leads", "pull", "guidelines", "turns", "window"].iter().any(|other| name.starts_with(other));
        let change = change.pairs("").into_iter().filter(|(name, _)| !is_not_its(name));
        Value::from_pairs(change.chain(own))
    }

    pub(super) fn samples() -> Vec<Value> {
        let plain = Self { at: "0123...4567".to_owned(), ..Self::default() };
        let full =
            Self { focus: "The *clock*, {{ x }}".to_owned(), instructions: "Mind <b>".to_owned(), ..plain.clone() };
        let shapes = ChangeVars::shapes();
        shapes.iter().flat_map(|change| [&plain, &full].map(|vars| vars.value(change))).collect()
    }
}

impl FindingVars {
    pub(super) fn value(&self) -> Value {
        let mark = FenceMark::of(&[&self.finding, &self.code]);
        let fence = |what: &str, data: &UntrustedText| Value::from(mark.fence(what, data));
        Value::from_pairs([
            ("mark", Value::from(mark.digits())),
            ("id", self.id.as_str().into()),
            ("severity", self.severity.word().into()),
            ("category", self.category.word().into()),
            ("finding", fence("finding", &self.finding)),
            ("code", fence("code", &self.code)),
            ("repo", self.repo.as_str().into()),
            ("at", self.at.as_str().into()),
            ("note", self.note.as_str().into()),
        ])
    }

    pub(super) fn samples() -> Vec<Value> {
        let full = Self {
            id: "0123456789ab".to_owned(),
            severity: Severity::Medium,
            category: Category::Logic,
            finding: UntrustedText::new("A title\n\nWhat goes wrong.".to_owned()),
            code: UntrustedText::new("=== src/a.rs:1\n> 1 | a".to_owned()),
            repo: "\"/srv/shop\"".to_owned(),
            at: "0123..4567".to_owned(),
            note: "Something is to be known.".to_owned(),
        };
        let none = String::new;
        let bare = Self { code: UntrustedText::default(), repo: none(), at: none(), note: none(), ..full.clone() };
        [full, bare].iter().map(Self::value).collect()
    }
}
