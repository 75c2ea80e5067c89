//! Matched findings, and remarks on entries that match none.

use super::*;
use crate::domain::dismissal::DismissalGlob;
use crate::domain::filter::PathFilter;
use crate::domain::finding::{FindingFingerprint, FindingId, Severity};
use crate::domain::review::CoverageState;
use crate::domain::review::Review;
use crate::present::json;

const SAME: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "0123456789abcdef0123456789abcdee";

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn typical() -> Review {
    json::parse(include_bytes!("../../../../fixtures/documents/typical.json")).unwrap()
}

fn finding(id: &str, fingerprint: &str, at: &str) -> Finding {
    let mut finding = typical().findings.remove(0);
    (finding.id, finding.fingerprint) = (FindingId(id.to_owned()), FindingFingerprint(fingerprint.to_owned()));
    (finding.status, finding.anchors[0].path) = (FindingStatus::New, path(at));
    finding
}

fn entry(id: &str, at: &str, glob: Option<&str>, until: Option<&str>) -> Dismissal {
    Dismissal {
        id: FindingId(id.to_owned()),
        fingerprint: FindingFingerprint(SAME.to_owned()),
        title: String::new(),
        severity: None,
        path: path(at),
        glob: glob.map(|glob| DismissalGlob {
            pattern: glob.to_owned(),
            filter: PathFilter::new(&[glob.to_owned()], &[]).unwrap(),
        }),
        reason: "meant so".to_owned(),
        until: until.map(|day| day.parse().unwrap()),
        on: None,
    }
}

/// Returns the findings that are dismissed on 2026-11-21, and the remarks.
fn settled(entries: &[Dismissal], findings: &mut [Finding], change: Option<&ChangeSet>) -> (Vec<bool>, Vec<String>) {
    let mut all: Vec<&mut Finding> = findings.iter_mut().collect();
    let empty = ChangeSet { files: Vec::new(), ..(*typical().change).clone() };
    let files: Vec<FileCoverage> = change.map_or_else(Vec::new, |change| {
        let state = CoverageState::Reviewed;
        change.files.iter().map(|file| FileCoverage { path: file.path.clone(), state, reason: None }).collect()
    });
    let scene = DismissalScope { change: change.unwrap_or(&empty), files: &files, today: "2026-11-21".parse().ok() };
    let notes = apply(entries, &mut all, &scene);
    for finding in findings.iter() {
        assert_eq!(finding.dismissed.is_some(), finding.status == FindingStatus::Dismissed, "{finding:?}");
    }
    (findings.iter().map(|finding| finding.status == FindingStatus::Dismissed).collect(), notes)
}

fn dismissed(entries: &[Dismissal], findings: &[(&str, &str, &str)]) -> Vec<bool> {
    let mut findings: Vec<Finding> = findings.iter().map(|(id, print, at)| finding(id, print, at)).collect();
    let (dismissed, notes) = settled(entries, &mut findings, None);
    assert_eq!(notes, [""; 0]);
    dismissed
}

#[test]
fn a_dismissal_means_its_finding_and_no_other() {
    let id = "0123456789ab";
    let here = [(id, SAME, "a.rs"), ("0123456789ab-2", OTHER, "a.rs"), ("0123456789ab-3", SAME, "b/a.rs")];
    assert_eq!(dismissed(&[entry(id, "a.rs", None, None)], &here), [true, false, false]);
    assert_eq!(dismissed(&[entry(id, "c.rs", None, None)], &here), [false, false, false], "another file");
    assert_eq!(dismissed(&[entry("ffffffffffff", "a.rs", None, None)], &here), [true, false, false], "another id");
    // The digits of an id are no proof: what it is about must be the same.
    assert_eq!(dismissed(&[entry(id, "a.rs", None, None)], &[(id, OTHER, "a.rs")]), [false]);
}

#[test]
fn a_glob_says_where_it_holds() {
    let id = "0123456789ab";
    let here = [(id, SAME, "src/a.rs"), ("0123456789ab-2", SAME, "src/a.rs"), ("0123456789ab-3", SAME, "lib/a.rs")];
    assert_eq!(dismissed(&[entry(id, "src/a.rs", Some("src/**"), None)], &here), [true, true, false]);
    assert_eq!(dismissed(&[entry(id, "src/a.rs", Some("*.rs"), None)], &here), [true, true, true]);
    assert_eq!(dismissed(&[entry(id, "src/a.rs", Some("*.py"), None)], &here), [false, false, false]);
}

#[test]
fn twins_of_one_file_are_told_apart_by_their_ids_or_not_at_all() {
    let twins = [("0123456789ab", SAME, "a.rs"), ("0123456789ab-2", SAME, "a.rs")];
    let first = entry("0123456789ab", "a.rs", None, None);
    let second = entry("0123456789ab-2", "a.rs", None, None);
    assert_eq!(dismissed(std::slice::from_ref(&second), &twins), [false, true]);
    assert_eq!(dismissed(&[second.clone(), first], &twins), [true, true]);
    let unknown = entry("0123456789ab-9", "a.rs", None, None);
    let mut findings: Vec<Finding> = twins.iter().map(|(id, print, at)| finding(id, print, at)).collect();
    let (silent, notes) = settled(&[unknown], &mut findings, None);
    assert_eq!(silent, [false, false]);
    assert!(notes[0].contains("could mean any of several") && notes[0].contains("0123456789ab-9 (a.rs)"), "{notes:?}");
}

#[test]
fn after_its_last_day_it_is_heard_again_and_said() {
    let mut findings = [finding("0123456789ab", SAME, "a.rs")];
    let on_the_day = entry("0123456789ab", "a.rs", None, Some("2026-11-21"));
    assert_eq!(settled(&[on_the_day], &mut findings.clone(), None), (vec![true], Vec::new()));
    let over = entry("0123456789ab", "a.rs", None, Some("2026-11-20"));
    let (silent, notes) = settled(std::slice::from_ref(&over), &mut findings, None);
    assert_eq!(silent, [false]);
    let told = "1 entry of .review/dismissed.toml holds no longer: its last day is over";
    assert!(notes[0].starts_with(told) && notes[0].contains("0123456789ab (a.rs)"), "{notes:?}");
    // On an unknown day, entries with an end do not apply.
    let mut all: Vec<&mut Finding> = findings.iter_mut().collect();
    let empty = ChangeSet { files: Vec::new(), ..(*typical().change).clone() };
    apply(&[over], &mut all, &DismissalScope { change: &empty, files: &[], today: None });
    assert_eq!(findings[0].status, FindingStatus::New);
}

#[test]
fn what_a_history_says_of_dismissals_does_not_outlive_them() {
    let why = |by, until: Option<&str>| DismissalNote {
        reason: "x".to_owned(),
        until: until.map(|day| day.parse().unwrap()),
        by,
    };
    for (why, holds) in [
        (why(DismissedBy::Project, None), false),
        (why(DismissedBy::Reader, None), true),
        (why(DismissedBy::Reader, Some("2026-11-21")), true),
        (why(DismissedBy::Reader, Some("2026-11-20")), false),
    ] {
        let mut findings = [finding("0123456789ab", SAME, "a.rs")];
        findings[0].dismiss(why);
        assert_eq!(settled(&[], &mut findings, None).0, [holds]);
        let wanted = if holds { FindingStatus::Dismissed } else { FindingStatus::Open };
        assert_eq!(findings[0].status, wanted);
    }
    let mut fixed = [finding("0123456789ab", SAME, "a.rs")];
    fixed[0].status = FindingStatus::Fixed;
    assert_eq!(settled(&[entry("0123456789ab", "a.rs", None, None)], &mut fixed, None).0, [false], "it stays fixed");
}

#[test]
fn a_file_that_the_change_moves_is_still_the_same_file() {
    let mut change = (*typical().change).clone();
    let file = FileChange {
        status: FileStatus::Renamed,
        old_path: Some(path("old.rs")),
        ..FileChange::modified(path("new.rs"))
    };
    change.files = vec![file.clone()];
    let moved = |change: &ChangeSet| {
        settled(
            &[entry("0123456789ab", "old.rs", None, None)],
            &mut [finding("0123456789ab", SAME, "new.rs")],
            Some(change),
        )
        .0
    };
    assert_eq!(moved(&change), [true]);
    change.files = vec![FileChange { old_path: None, ..file }];
    assert_eq!(moved(&change), [false]);
}

#[test]
fn an_entry_for_a_new_file_that_matches_nothing_is_stale() {
    let mut change = (*typical().change).clone();
    let modified = FileChange::modified(path("known.rs"));
    change.files = vec![FileChange { status: FileStatus::Added, ..FileChange::modified(path("new.rs")) }, modified];
    let entries: Vec<Dismissal> =
        ["new.rs", "known.rs", "elsewhere.rs"].iter().map(|at| entry("0123456789ab", at, None, None)).collect();
    let (_, notes) = settled(&entries, &mut [], Some(&change));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("matches no finding") && notes[0].contains("(new.rs)") && !notes[0].contains("known"),
        "{notes:?}"
    );
    assert_eq!(settled(&entries, &mut [finding("0123456789ab", SAME, "new.rs")], Some(&change)).1, [""; 0]);
}

#[test]
fn thousands_of_entries_are_a_line_and_no_long_wait() {
    let entries: Vec<Dismissal> =
        (0..5000).map(|n| entry("0123456789ab", &format!("f{n}.rs"), None, Some("2020-01-01"))).collect();
    let mut findings: Vec<Finding> = (0..2000).map(|n| finding("0123456789ab", SAME, &format!("f{n}.rs"))).collect();
    let (_, notes) = settled(&entries, &mut findings, None);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("and 4995 more") && notes[0].len() < 500, "{}", notes[0]);
}

#[test]
fn what_is_worse_than_what_was_dismissed_is_heard() {
    let known = Dismissal { severity: Some(Severity::Low), ..entry("1", "src/a.rs", None, None) };
    let said = |severity| Finding { severity, ..finding("1", SAME, "src/a.rs") };
    for (severity, dismissed) in
        [(Severity::Nit, true), (Severity::Low, true), (Severity::Medium, false), (Severity::Critical, false)]
    {
        let (told, _) = settled(std::slice::from_ref(&known), &mut [said(severity)], None);
        assert_eq!(told, [dismissed], "{severity}");
    }
}
