//! Variables of the prompts about a part of a large change. Main types: [`PartVars`], [`CrossPartVars`].

use minijinja::Value;

use super::data::{FenceMark, UntrustedText};
use super::vars::ChangeVars;

/// For `part.md`, beside the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartVars {
    /// Number of the part, from 1.
    pub part: usize,
    /// Number of parts.
    pub parts: usize,
    /// Number of files in the part.
    pub part_files: usize,
    /// Number of files that were reviewed before and are in no part.
    pub carried: usize,
}

/// Variables of `across.md`: the cross-part pass.
#[derive(Debug, Clone, Default)]
pub struct CrossPartVars {
    /// Repository, target and head: names and ids.
    pub change: UntrustedText,
    /// Contents of each part and the summary of its review.
    pub parts: UntrustedText,
    /// Number of parts.
    pub parts_total: usize,
    /// Number of changed files.
    pub files_total: usize,
    /// Names that one part removes or adds and another uses; may be empty.
    pub names: UntrustedText,
    /// Number of names that were omitted for lack of space.
    pub names_left_out: usize,
    /// Findings so far; may be empty.
    pub findings: UntrustedText,
    /// Number of findings that were omitted for lack of space.
    pub findings_left_out: usize,
}

impl PartVars {
    pub(super) fn value(self, change: &ChangeVars, salt: &str) -> Value {
        let own = [
            ("part", Value::from(self.part)),
            ("parts", self.parts.into()),
            ("part_files", self.part_files.into()),
            ("carried", self.carried.into()),
        ];
        Value::from_pairs(change.pairs(salt).into_iter().chain(own))
    }

    pub(super) fn samples() -> Vec<Value> {
        let one_of_many = Self { part: 2, parts: 5, part_files: 1, carried: 0 };
        let rest = Self { part: 1, parts: 1, part_files: 1, carried: 3 };
        let shapes = ChangeVars::shapes();
        shapes.iter().flat_map(|change| [one_of_many, rest].map(|vars| vars.value(change, ""))).collect()
    }
}

impl CrossPartVars {
    pub(super) fn value(&self) -> Value {
        let mark = FenceMark::of(&[&self.change, &self.parts, &self.names, &self.findings]);
        let fence = |what: &str, data: &UntrustedText| Value::from(mark.fence(what, data));
        Value::from_pairs([
            ("mark", Value::from(mark.digits())),
            ("change", fence("change", &self.change)),
            ("parts", fence("parts", &self.parts)),
            ("parts_total", self.parts_total.into()),
            ("files_total", self.files_total.into()),
            ("names", fence("names", &self.names)),
            ("names_left_out", self.names_left_out.into()),
            ("findings", fence("findings", &self.findings)),
            ("findings_left_out", self.findings_left_out.into()),
        ])
    }

    pub(super) fn samples() -> Vec<Value> {
        let data = |text: &str| UntrustedText::new(text.to_owned());
        let full = Self {
            change: data("target: main"),
            parts: data("part 1: 2 files\n    It is well."),
            parts_total: 2,
            files_total: 3,
            names: data("part 1 takes away `load`"),
            names_left_out: 1,
            findings: data("medium logic src/a.rs:3: A title"),
            findings_left_out: 2,
        };
        let bare = Self {
            names: UntrustedText::default(),
            names_left_out: 0,
            findings: UntrustedText::default(),
            findings_left_out: 0,
            ..full.clone()
        };
        [full, bare].iter().map(Self::value).collect()
    }
}
