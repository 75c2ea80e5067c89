//! The variables of the templates. Main types: [`SystemVars`], [`ChangeVars`].
//!
//! `docs/prompts.md` lists them for users; a test holds it to these types.

use minijinja::{Value, context};

use super::data::{FenceMark, UntrustedText};
use crate::domain::finding::{Category, Severity};

/// For `system.md`.
#[derive(Debug, Clone, Default)]
pub struct SystemVars {
    /// Instructions of the person who started the review; may be empty.
    pub instructions: String,
    /// `true` if the model may run the project's builds and tests.
    pub builds: bool,
}

/// For `change.md`: the first message.
#[derive(Debug, Clone, Default)]
pub struct ChangeVars {
    /// Guidelines of the project.
    pub guidelines: UntrustedText,
    /// `true` if the guidelines were cut.
    pub guidelines_cut: bool,
    /// Repository, target and head: names and ids.
    pub change: UntrustedText,
    /// Title, author and description of the pull request; empty without one.
    pub pull_request: UntrustedText,
    /// `true` if the description was cut.
    pub pull_request_cut: bool,
    /// The commits.
    pub commits: UntrustedText,
    /// Number of commits in `commits`.
    pub commits_shown: usize,
    /// Number of commits left out.
    pub commits_left_out: usize,
    /// The changed files.
    pub files: UntrustedText,
    /// Number of files.
    pub files_total: usize,
    /// Number of files that are only counted.
    pub files_unlisted: usize,
    /// Lines added, over all files.
    pub additions: u64,
    /// Lines deleted, likewise.
    pub deletions: u64,
    /// The diffs.
    pub diffs: UntrustedText,
    /// Number of files with lines to review that are not in `diffs`.
    pub diffs_left_out: usize,
    /// The leads.
    pub leads: UntrustedText,
    /// Number of leads in `leads`.
    pub leads_shown: usize,
    /// Number of leads left out.
    pub leads_left_out: usize,
    /// Maximum number of turns; 0 if it is not stated.
    pub turns: u32,
    /// Window of the model, in tokens.
    pub window: u64,
}

/// Something that a rule suspects, for the model to confirm or to refute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadVars {
    /// Name in this run (`L1`).
    pub id: String,
    /// The rule.
    pub rule: String,
    /// Severity if it is confirmed.
    pub severity: Severity,
    /// Category of the suspected defect.
    pub category: Category,
    /// Place: `path:line` (a remark may follow the number), or a path.
    pub place: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
}

/// For `last_turn.md`.
#[derive(Debug, Clone)]
pub struct LastTurnVars {
    /// Reached limit: a clause without a full stop.
    pub reason: String,
}

/// For `making_room.md`.
#[derive(Debug, Clone)]
pub struct MakingRoomVars {
    /// Calls whose results will be removed, a line each.
    pub results: String,
}

impl MakingRoomVars {
    pub(super) fn value(&self) -> Value {
        Value::from_pairs([("results", self.results.as_str())])
    }

    pub(super) fn samples() -> Vec<Value> {
        vec![Self { results: "- list_files {}".to_owned() }.value()]
    }
}

impl ChangeVars {
    /// Returns the variables of the template: every piece of data in its fence, or empty.
    pub(super) fn value(&self, salt: &str) -> Value {
        Value::from_pairs(self.pairs(salt))
    }

    /// Returns names and values, the leads last. `salt` makes the mark of the guidelines unpredictable.
    pub(super) fn pairs(&self, salt: &str) -> [(&'static str, Value); 22] {
        let mut data = vec![&self.change, &self.commits, &self.files, &self.diffs, &self.leads];
        data.extend([&self.pull_request, &self.guidelines].into_iter().filter(|data| !data.is_empty()));
        let mark = FenceMark::of(&data);
        // The beginning must not change with what follows: a cache holds the prefix that requests share.
        let own = FenceMark::fence_all(salt, &self.guidelines, &data);
        let fence = |what: &str, data: &UntrustedText| Value::from(mark.fence(what, data));
        [
            ("guidelines_mark", Value::from(own.digits())),
            ("guidelines", Value::from(own.fence("guidelines", &self.guidelines))),
            ("guidelines_cut", self.guidelines_cut.into()),
            ("mark", Value::from(mark.digits())),
            ("change", fence("change", &self.change)),
            ("pull_request", fence("pull request", &self.pull_request)),
            ("pull_request_cut", self.pull_request_cut.into()),
            ("commits", fence("commits", &self.commits)),
            ("commits_shown", self.commits_shown.into()),
            ("commits_left_out", self.commits_left_out.into()),
            ("files", fence("files", &self.files)),
            ("files_total", self.files_total.into()),
            ("files_unlisted", self.files_unlisted.into()),
            ("additions", self.additions.into()),
            ("deletions", self.deletions.into()),
            ("diffs", fence("diffs", &self.diffs)),
            ("diffs_left_out", self.diffs_left_out.into()),
            ("leads", fence("leads", &self.leads)),
            ("leads_shown", self.leads_shown.into()),
            ("leads_left_out", self.leads_left_out.into()),
            ("turns", self.turns.into()),
            ("window", self.window.into()),
        ]
    }

    pub(super) fn samples() -> Vec<Value> {
        Self::shapes().iter().map(|shape| shape.value("")).collect()
    }

    /// Returns samples: a change that is shown whole, one that is not, and one without anything to show.
    pub(super) fn shapes() -> [Self; 3] {
        let data = |text: &str| UntrustedText::new(text.to_owned());
        let whole = Self {
            guidelines: data("=== AGENTS.md\n     1\tUse `&str`."),
            change: data("target: main"),
            pull_request: data("title: Fix it"),
            commits: data("0123456789 Fix it"),
            commits_shown: 1,
            files: data("modified +1 -1 src/a.rs"),
            files_total: 1,
            additions: 1,
            deletions: 1,
            diffs: data("=== src/a.rs\n@@ -1 +1 @@\n-a\n+b"),
            leads: data("L1 low logic: a title"),
            leads_shown: 1,
            turns: 40,
            window: 200_000,
            ..Self::default()
        };
        let short = Self {
            guidelines_cut: true,
            pull_request_cut: true,
            commits_left_out: 2,
            files_total: 9,
            files_unlisted: 3,
            diffs_left_out: 4,
            leads_left_out: 5,
            ..whole.clone()
        };
        let empty = Self { change: data("target: main"), ..Self::default() };
        [whole, short, empty]
    }
}

impl SystemVars {
    pub(super) fn value(&self) -> Value {
        context! { instructions => self.instructions.as_str(), builds => self.builds }
    }

    pub(super) fn samples() -> Vec<Value> {
        let of = |text: &str, builds| Self { instructions: text.to_owned(), builds }.value();
        vec![of("", false), of("Mind the *clock*.\n<b> & {{ x }}", true)]
    }
}

impl LastTurnVars {
    pub(super) fn value(&self) -> Value {
        Value::from_pairs([("reason", self.reason.as_str())])
    }

    pub(super) fn samples() -> Vec<Value> {
        vec![Self { reason: "the limit of 40 turns is reached".to_owned() }.value()]
    }
}

/// Returns the variables of a template without any.
pub(super) fn nothing() -> Value {
    Value::from_pairs::<_, &str, &str>([])
}

pub(super) fn no_samples() -> Vec<Value> {
    vec![nothing()]
}
