//! The offline reviewer: packs of structural rules, and checks that know no language.
//!
//! Main types: [`Packs`] (the rules), [`RulesInput`] → [`run()`] → [`RulesReport`]. A rule fires if the change *introduced* a match: base
//! matches are subtracted, over all changed files, by rule and text (`introduced`). Checking the evidence of a claim belongs in
//! `evidence`; parsing and matching belong in `syntax`.
//!
//! **Where do I add…** a rule: a document in `packs/<pack>.yml` and a folder of fixtures `fixtures/rules/<pack>/<id>/` with a
//! `hit-*` and an `ok-*` file. A pack: its file and a line in `PACKS`. A check: a file in `checks/`, a line in
//! `checks::CHECKS` and a folder of fixtures `fixtures/rules/general/<id>/`.

mod affected;
mod allow_comments;
mod base_matches;
mod bounds;
mod cause;
mod changed_lines;
mod checks;
mod claims;
mod document;
mod examples;
mod fault;
mod impact;
mod input;
mod introduced;
mod pack;
mod packs;
mod per_file;
mod recorded_hits;
mod removed;
mod report;
mod rule_doc;
mod rule_test;
mod run;
mod scan;
mod scanners;
mod sides;
mod synthetic_change;
mod target;
mod text_condition;

pub use crate::syntax::TreeCache;

pub use changed_lines::ChangedLines;
pub use fault::{PackFault, PackPlace, RuleError};
pub use input::RulesInput;
pub use pack::PackFile;
pub use packs::Packs;
pub use recorded_hits::is_fact;
pub use rule_test::{RuleFixtures, test_rules};
pub use run::{RulesReport, run};
pub use scanners::{
    ReportContext, ScannerReport, ScannerReportError, ScannerReports, ScannerResult, add_reports, read as read_report,
};

use crate::syntax::Grammar;
use pack::PackSource;

/// The built-in packs. A pack of several languages holds rules that apply to all of them.
const PACKS: &[PackSource<'static>] = &[
    PackSource { name: "rust", grammars: &[Grammar::Rust], paths: &[], text: include_str!("packs/rust.yml") },
    PackSource { name: "python", grammars: &[Grammar::Python], paths: &[], text: include_str!("packs/python.yml") },
    PackSource {
        name: "javascript",
        grammars: &[Grammar::JavaScript, Grammar::TypeScript, Grammar::Tsx],
        paths: &[],
        text: include_str!("packs/javascript.yml"),
    },
    PackSource {
        name: "typescript",
        grammars: &[Grammar::TypeScript, Grammar::Tsx],
        paths: &[],
        text: include_str!("packs/typescript.yml"),
    },
    PackSource { name: "go", grammars: &[Grammar::Go], paths: &[], text: include_str!("packs/go.yml") },
    PackSource { name: "java", grammars: &[Grammar::Java], paths: &[], text: include_str!("packs/java.yml") },
    // C rules apply to C++ too.
    PackSource { name: "c", grammars: &[Grammar::C, Grammar::Cpp], paths: &[], text: include_str!("packs/c.yml") },
    PackSource { name: "shell", grammars: &[Grammar::Bash], paths: &[], text: include_str!("packs/shell.yml") },
    PackSource {
        name: "workflow",
        grammars: &[Grammar::Yaml],
        paths: &[".github/workflows/*.yml", ".github/workflows/*.yaml", "action.yml", "action.yaml"],
        text: include_str!("packs/workflow.yml"),
    },
];

#[cfg(test)]
mod fixtures;
