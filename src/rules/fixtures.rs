//! Tests of the built-in rules on their fixtures, `fixtures/rules/<pack>/<id>/`; `rule_test` describes the format.

use std::path::Path;

use super::PACKS;
use super::changed_lines::ChangedLines;
use super::checks::CHECKS;
use super::packs::Packs;
use super::per_file::PerFileResults;
use super::rule_test::{RuleFixtures, review, test_rules};
use super::run::{RulesReport, run_with};
use super::synthetic_change::SyntheticChange;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;
use crate::sys::folder::read_folder;
use crate::workspace::Workspace as _;

/// Queries of tests about a synthetic change, answered by the built-in rules.
impl SyntheticChange {
    pub(super) fn was(mut self, path: &str, text: &str) -> Self {
        self.add_file(DiffSide::Old, RepoPath::parse(path).unwrap(), text);
        self
    }

    pub(super) fn now(mut self, path: &str, text: &str) -> Self {
        self.add_file(DiffSide::New, RepoPath::parse(path).unwrap(), text);
        self
    }

    pub(super) fn review(&self) -> RulesReport {
        self.review_with(&Packs::built_in().unwrap())
    }

    pub(super) fn review_with(&self, packs: &Packs) -> RulesReport {
        review(self, packs, &Cancel::never())
    }

    /// `<rule> <path>:<line>` of every claim.
    pub(super) fn reported(&self) -> Vec<String> {
        let claims = self.review().claims;
        let line = |claim: &crate::domain::claim::Claim| claim.place.lines.unwrap().start();
        claims.iter().map(|claim| format!("{} {}:{}", claim.origin.name, claim.place.path, line(claim))).collect()
    }
}

fn fixtures() -> RuleFixtures {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    RuleFixtures::of(&read_folder(&root, 64 << 20, 20_000, &Cancel::never()).unwrap())
}

#[test]
fn every_rule_matches_its_hits_and_nothing_else() {
    let tried = test_rules(&Packs::built_in().unwrap(), &fixtures(), &Cancel::never()).unwrap();
    let told = |fault: &crate::domain::rule_info::FixtureFault| {
        let case = fault.case.as_ref().map(|case| format!(": {case}")).unwrap_or_default();
        format!("{}{case}: {}", fault.rule, fault.what)
    };
    assert!(tried.faults.is_empty(), "{}", tried.faults.iter().map(told).collect::<Vec<_>>().join("\n"));
    assert!(tried.rules > CHECKS.len() && !PACKS.is_empty());
}

#[test]
fn every_claim_quotes_its_lines_and_touches_the_change() {
    let packs = Packs::built_in().unwrap();
    for (name, made_up) in fixtures().changes() {
        let (change, old, new) = made_up.build();
        for claim in review(made_up, &packs, &Cancel::never()).claims {
            let place = &claim.place;
            let tree = if place.side == DiffSide::Old { &old } else { &new };
            let lines = place.lines.unwrap();
            let text: std::sync::Arc<FileText> = tree.read(&place.path).unwrap();
            let quoted: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
            assert_eq!(place.quote.as_deref(), Some(quoted.join("\n").as_str()), "{name}");
            assert!(lines.count() <= 8, "{name}");
            let file = change.files.iter().find(|file| file.path == place.path).unwrap();
            assert!(file.touches(place.side, lines), "{name}: {claim:?}");
        }
    }
}

/// Single-file results are the same whether they are computed ahead or on demand.
#[test]
fn what_is_asked_beforehand_changes_nothing() {
    let packs = Packs::built_in().unwrap();
    let told = |made_up: &SyntheticChange, asks: bool| -> Vec<String> {
        let (change, old, new) = made_up.build();
        let (trees, cancel) = (crate::syntax::TreeCache::default(), Cancel::never());
        let input = super::input::RulesInput {
            change: &change,
            only: None,
            new: &new,
            old: &old,
            packs: &packs,
            lines: &ChangedLines::default(),
            trees: &trees,
            cancel: &cancel,
            events: &crate::domain::event::NullEventSink,
        };
        let report = run_with(&input, &PerFileResults::new(if asks { change.files.len() } else { 0 }));
        report.claims.iter().map(|claim| format!("{claim:?}")).chain(report.notes).collect()
    };
    let fixtures = fixtures();
    let mut all = SyntheticChange::default();
    for (at, (name, made_up)) in fixtures.changes().enumerate() {
        assert_eq!(told(made_up, true), told(made_up, false), "{name}");
        if at % 5 == 0 {
            all.add_folder(&format!("case{at}"), made_up);
        }
    }
    let (asked, unasked) = (told(&all, true), told(&all, false));
    assert!(asked.len() > 80);
    assert_eq!(asked, unasked);
}

#[test]
fn a_case_that_proves_nothing_is_told() {
    let file = |path: &str, text: &str| crate::sys::folder::FolderFile {
        path: path.as_bytes().to_vec(),
        executable: false,
        bytes: text.as_bytes().to_vec(),
    };
    let rule = "id: a\ntitle: t\nmessage: m\nseverity: low\ncategory: logic\nrule: {pattern: a()}\n";
    let packs = super::pack::PackFile {
        owner: crate::domain::rule_info::PackOwner::Project,
        file: "go-house.yml".to_owned(),
        stem: "go-house".to_owned(),
        text: rule.to_owned(),
    };
    let packs = Packs::only(&[packs]).unwrap();
    let told = |files: &[crate::sys::folder::FolderFile]| {
        let tried = test_rules(&packs, &RuleFixtures::of(files), &Cancel::never()).unwrap();
        assert_eq!(tried.rules, 1);
        tried
            .faults
            .into_iter()
            .map(|fault| format!("{} {:?} {}", fault.rule, fault.case, fault.what))
            .collect::<Vec<_>>()
    };
    let good = "package a\nfunc f() {\n\ta() // HIT\n}\n";
    let ok = file("go-house/a/ok-a.go", "package a\nfunc f() {\n\tb()\n}\n");
    assert_eq!(
        told(&[file("go-house/a/hit-a.go", good), ok.clone(), file("README.md", "read"), file("go-house.yml", rule)]),
        [""; 0]
    );
    assert_eq!(
        told(&[file("go-house/a/hit-a.go", &good.replace("a()", "b()"))]),
        [
            "project/a None it has no fixture go-house/a/ok-* that is near and right",
            "project/a Some(\"hit-a.go\") nothing is found at new src/hit-a.go:3"
        ]
    );
    assert_eq!(
        told(&[
            file("go-house/a/hit-a.go", &good.replace(" // HIT", " // here")),
            ok,
            file("go-house/a/ok-b/base/a.go", "package a\n"),
            file("go-house/a/ok-b/other/a.go", "package a\n"),
            file("go-house/b/ok-b.go", "package a\n"),
        ]),
        [
            "project/a Some(\"hit-a.go\") no line of it ends in a comment HIT",
            "project/a Some(\"hit-a.go\") something is found at new src/hit-a.go:3, where nothing should be",
            "project/a Some(\"ok-b\") a folder holds base/ and head/, and nothing else",
            "go-house/b None it has fixtures, and there is no such rule",
        ]
    );
}

#[test]
fn a_condition_that_is_left_of_a_misread_text_is_no_comparison() {
    let told = |text: &str| SyntheticChange::default().now("a.py", text).reported();
    let text = "def tick(it):\n    if it.at is None:\n        return None\n    else:\n        it.wait()\n\n    elif it.state == 'queued':\n        \
                it.start()\n\n    elif it.state == 'started':\n        if it.waits():\n            it.wait()\n        else:\n            it.seal()\n";
    assert_eq!(told(text), [""; 0]);
    assert_eq!(told("def tick(it):\n    it.state == 'started'\n"), ["python/comparison-thrown-away a.py:2"]);
}
