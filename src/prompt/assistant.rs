//! The variables of what is said to a person's own assistant. Main types: [`AssistantVars`], [`FindingVars`].

use minijinja::Value;

use super::data::{Data, Mark};
use super::vars::ChangeVars;
use crate::domain::finding::{Category, Severity};

/// For `assistant_review.md`, beside the change.
#[derive(Debug, Clone, Default)]
pub struct AssistantVars {
    /// What tools are to be asked with, so that they show the same change.
    pub at: String,
    /// What the person asked to look at most; empty where nothing.
    pub focus: String,
    /// The instructions of the person; empty where there are none.
    pub instructions: String,
}

/// For `explain_finding.md`.
#[derive(Debug, Clone)]
pub struct FindingVars {
    /// The finding's id.
    pub id: String,
    /// How bad it is said to be.
    pub severity: Severity,
    /// What kind of defect it is said to be.
    pub category: Category,
    /// What it says: somebody else's words.
    pub finding: Data,
    /// The places it rests on, with the code around them.
    pub code: Data,
    /// The repository that tools are to be asked about, as JSON; empty where it is the server's own.
    pub repo: String,
    /// What tools are to be asked with, so that they show what was reviewed; empty where nothing would.
    pub at: String,
    /// What there is to know about `code`, whole sentences; empty where nothing.
    pub note: String,
}

impl AssistantVars {
    /// As the template sees them. It gets no leads: they are for who can answer them; no pull request: an assistant
    /// asks about what is here; and no guidelines: it reads those of the project by itself.
    pub(super) fn value(&self, change: &ChangeVars) -> Value {
        let own = [
            ("at", Value::from(self.at.as_str())),
            ("focus", Value::from(self.focus.as_str())),
            ("instructions", Value::from(self.instructions.as_str())),
        ];
        let is_not_its = |name: &str| ["leads", "pull", "guidelines"].iter().any(|other| name.starts_with(other));
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
        let mark = Mark::of(&[&self.finding, &self.code]);
        let fence = |what: &str, data: &Data| Value::from(mark.fence(what, data));
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
            finding: Data::new("A title\n\nWhat goes wrong.".to_owned()),
            code: Data::new("=== src/a.rs:1\n> 1 | a".to_owned()),
            repo: "\"/srv/shop\"".to_owned(),
            at: "0123..4567".to_owned(),
            note: "Something is to be known.".to_owned(),
        };
        let none = String::new;
        let bare = Self { code: Data::default(), repo: none(), at: none(), note: none(), ..full.clone() };
        [full, bare].iter().map(Self::value).collect()
    }
}
