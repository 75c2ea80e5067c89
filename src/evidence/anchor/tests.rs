//! Tests of claims against a small change in memory.

use super::*;
use crate::domain::change::{ChangeRun, Hunk, HunkSpan};
use crate::domain::finding::{Category, FindingOrigin, Severity};
use crate::domain::place::WorkspaceAt;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::memory::MemoryTree;
use crate::workspace::{TreeEntry, WorkspaceError};
use proptest::prelude::*;

const OLD: &str = "fn load() {\n    open();\n    check();\n    read();\n}\n\nfn other() {\n    read();\n}\n";
const NEW: &str = "fn load() {\n    open();\n    read();\n}\n\nfn other() {\n    read();\n    write();\n}\n";

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn file(name: &str, status: FileStatus, runs: Vec<ChangeRun>) -> FileChange {
    FileChange { status, hunks: vec![Hunk { runs, ..Hunk::default() }], ..FileChange::modified(path(name)) }
}

fn run(old: (u32, u32), new: (u32, u32)) -> ChangeRun {
    ChangeRun { old: HunkSpan { start: old.0, count: old.1 }, new: HunkSpan { start: new.0, count: new.1 } }
}

/// `src/a.rs` lost line 3 and gained line 8; `new.rs` was `was.rs`; `gone.rs` is deleted, `twice.rs` is new; `far.rs` did not change.
struct AnchorFixture {
    change: ChangeSet,
    new: MemoryTree,
    old: MemoryTree,
}

fn world() -> AnchorFixture {
    let mut renamed = file("new.rs", FileStatus::Renamed, vec![run((1, 1), (1, 1))]);
    renamed.old_path = Some(path("was.rs"));
    let files = vec![
        file("src/a.rs", FileStatus::Modified, vec![run((3, 1), (2, 0)), run((8, 0), (8, 1))]),
        file("gone.rs", FileStatus::Deleted, vec![run((1, 2), (0, 0))]),
        renamed,
        file("twice.rs", FileStatus::Added, vec![run((0, 0), (1, 3))]),
    ];
    let mut new = MemoryTree::default();
    let mut old = MemoryTree::default();
    old.insert(path("src/a.rs"), OLD);
    new.insert(path("src/a.rs"), NEW);
    old.insert(path("gone.rs"), "removed_code();\nmore_code();\n");
    old.insert(path("was.rs"), "let old_name = 1;\nunchanged();\n");
    new.insert(path("new.rs"), "let new_name = 1;\nunchanged();\n");
    new.insert(path("twice.rs"), "repeat();\n\nrepeat();\n");
    for tree in [&mut old, &mut new] {
        tree.insert(path("far.rs"), "load().unwrap();\n");
    }
    let change = ChangeSet {
        repository: "r".to_owned(),
        target: "main".to_owned(),
        head_name: "HEAD".to_owned(),
        old_at: WorkspaceAt::Empty,
        new_at: WorkspaceAt::Empty,
        ..ChangeSet::of(files)
    };
    AnchorFixture { change, new, old }
}

fn place(name: &str, quote: Option<&str>, line: Option<u32>) -> ClaimedPlace {
    ClaimedPlace {
        path: path(name),
        side: DiffSide::New,
        quote: quote.map(str::to_owned),
        lines: line.map(LineRange::line),
        note: None,
    }
}

fn claim(place: ClaimedPlace) -> Claim {
    Claim {
        title: "t".to_owned(),
        body: "b".to_owned(),
        severity: Severity::High,
        category: Category::Logic,
        confidence: None,
        place,
        related: Vec::new(),
        replacement: None,
        origin: FindingOrigin { kind: OriginKind::Model, name: "m".to_owned() },
    }
}

fn check(claim: &Claim) -> Result<AnchoredClaim, Rejection> {
    let world = world();
    anchor(claim, &world.change, &world.new, &world.old)
}

fn told(claim: &Claim) -> String {
    check(claim).unwrap_err().to_string()
}

#[test]
fn a_changed_line_is_anchored() {
    let anchored = check(&claim(place("src/a.rs", Some("    write();"), Some(8)))).unwrap();
    let anchor = &anchored.anchors[0];
    assert_eq!((anchor.lines, anchor.matched), (Some(LineRange::line(8)), AnchorMatch::Exact));
    assert_eq!(anchor.quote, "    write();");
    assert!(!anchor.masked && anchored.notes.is_empty());
}

#[test]
fn a_claim_on_other_lines_moves_to_the_quote() {
    let anchored = check(&claim(place("src/a.rs", Some("write();"), Some(2)))).unwrap();
    assert_eq!(anchored.anchors[0].lines, Some(LineRange::line(8)));
    assert_eq!(anchored.anchors[0].matched, AnchorMatch::Moved);
}

#[test]
fn of_equal_places_the_one_that_touches_the_change_is_meant() {
    let anchored = check(&claim(place("src/a.rs", Some("    read();"), None))).unwrap();
    assert_eq!(anchored.anchors[0].lines, Some(LineRange::line(3)), "below the deletion");
}

#[test]
fn the_point_of_a_deletion_counts_and_one_line_further_does_not() {
    assert!(check(&claim(place("src/a.rs", Some("    open();"), Some(2)))).is_ok());
    let message = told(&claim(place("src/a.rs", Some("fn other() {"), Some(6))));
    assert_eq!(
        message,
        "lines 6 of src/a.rs are not changed (the nearest changed lines: 2-3, 8); give the changed line that causes it as \
         related, or quote that line"
    );
}

#[test]
fn a_removed_line_stands_on_the_old_side() {
    let mut removed = claim(place("src/a.rs", Some("    check();"), None));
    let message = told(&removed);
    assert!(message.contains("it stands on lines 3 before the change: say side \"old\""), "{message}");
    removed.place.side = DiffSide::Old;
    assert_eq!(check(&removed).unwrap().anchors[0].side, DiffSide::Old);
    let gone = check(&claim(place("gone.rs", Some("removed_code();"), None))).unwrap();
    assert_eq!(gone.anchors[0].side, DiffSide::Old, "a deleted file has no other");
}

#[test]
fn a_renamed_file_goes_by_either_name() {
    for name in ["new.rs", "was.rs"] {
        let anchored = check(&claim(place(name, Some("let new_name = 1;"), None))).unwrap();
        assert_eq!(anchored.anchors[0].path, path("new.rs"));
    }
    let mut old = claim(place("new.rs", Some("let old_name = 1;"), None));
    old.place.side = DiffSide::Old;
    assert_eq!(check(&old).unwrap().anchors[0].path, path("was.rs"));
}

#[test]
fn a_whole_file_must_be_in_the_change() {
    let anchored = check(&claim(place("src/a.rs", None, None))).unwrap();
    assert_eq!(anchored.anchors[0].lines, None);
    assert!(matches!(check(&claim(place("far.rs", None, None))), Err(Rejection::NotInChange { .. })));
    let message = told(&claim(place("lib/a.rs", None, None)));
    assert!(
        message.starts_with("lib/a.rs is not a changed file (changed files with names like it: src/a.rs)"),
        "{message}"
    );
}

#[test]
fn other_places_may_prove_the_effect() {
    let mut far = claim(place("src/a.rs", Some("fn other() {"), None));
    far.related = vec![
        place("far.rs", Some("load().unwrap();"), None),
        place("src/a.rs", Some("    write();"), None),
        place("far.rs", Some("not there at all"), None),
        place("nowhere.rs", Some("something"), None),
        place("src/a.rs", Some("    write();"), None),
    ];
    let anchored = check(&far).unwrap();
    let quotes: Vec<&str> = anchored.anchors.iter().map(|anchor| anchor.quote.as_str()).collect();
    assert_eq!(quotes, ["fn other() {", "load().unwrap();", "    write();"], "the quoted place stays the first");
    assert_eq!(anchored.touching, Some(2));
    assert_eq!(anchored.notes.len(), 2, "{:?}", anchored.notes);
    assert!(anchored.notes[1].contains("nowhere.rs was dropped"), "{:?}", anchored.notes);
}

#[test]
fn an_unchanged_file_is_the_place_where_a_related_one_touches_the_change() {
    let mut far = claim(place("far.rs", Some("load().unwrap();"), None));
    far.related = vec![place("src/a.rs", Some("fn other() {"), None)];
    assert!(matches!(check(&far), Err(Rejection::NotInChange { .. })), "neither is changed");
    far.related.push(place("src/a.rs", Some("    write();"), None));
    let anchored = check(&far).unwrap();
    assert_eq!((&anchored.anchors[0].path, anchored.touching), (&path("far.rs"), Some(2)));
    far.place.path = path("nowhere.rs");
    assert!(told(&far).starts_with("nowhere.rs is not a changed file"));
    far.place = place("far.rs", None, None);
    assert!(matches!(check(&far), Err(Rejection::NotInChange { .. })), "a whole file that is not changed");
}

#[test]
fn a_unique_short_line_of_the_change_is_specific_enough() {
    let mut world = world();
    world.change.files[0] = file("src/a.rs", FileStatus::Modified, vec![run((1, 0), (2, 2))]);
    world.new.insert(path("src/a.rs"), "x = 1\nreturn x / 0\n})\nif y\nif z\nif z\n");
    let anchor =
        |quote, line| anchor(&claim(place("src/a.rs", Some(quote), line)), &world.change, &world.new, &world.old);
    let short = anchor("return x / 0", None).unwrap();
    assert_eq!((short.anchors[0].lines, short.anchors[0].matched), (Some(LineRange::line(2)), AnchorMatch::Exact));
    assert_eq!(anchor("return x / 0", Some(5)).unwrap().anchors[0].matched, AnchorMatch::Moved);
    for (quote, why) in [("})", "only punctuation"), ("if y", "not changed"), ("if z", "twice")] {
        assert!(matches!(anchor(quote, None), Err(Rejection::NotDistinctive { .. })), "{why}");
    }
}

#[test]
fn a_model_is_told_what_is_wrong_and_the_nearest_lines() {
    let nowhere = told(&claim(place("src/a.rs", Some("    writes();"), None)));
    assert_eq!(
        nowhere,
        "the quote stands nowhere in src/a.rs (after the change); the nearest lines are:\n     8\t    write();"
    );
    assert!(told(&claim(place("src/a.rs", Some("}"), None))).contains("no telling line"));
    assert!(told(&claim(place("src/a.rs", Some("  "), None))).contains("the quote is empty"));
    let twice = told(&claim(place("twice.rs", Some("repeat();"), None)));
    assert!(twice.contains("2 places in twice.rs: 1, 3; give start_line"), "{twice}");
}

#[test]
fn a_replacement_is_proven_or_shown_as_prose() {
    let mut with = claim(place("src/a.rs", Some("    write();"), Some(8)));
    with.replacement = Some("    write()?;".to_owned());
    let anchored = check(&with).unwrap();
    assert_eq!(anchored.suggestion.unwrap().replacement, "    write()?;");

    with.replacement = Some("    write();".to_owned());
    let anchored = check(&with).unwrap();
    assert!(anchored.suggestion.is_none() && anchored.prose_suggestion.is_none() && anchored.notes.len() == 1);

    with.replacement = Some("    // ... rest of the code".to_owned());
    assert_eq!(check(&with).unwrap().prose_suggestion.unwrap().1, SuggestionFault::LeavesOut);

    with.place.quote = Some("write();".to_owned());
    with.replacement = Some("write()?;".to_owned());
    assert_eq!(check(&with).unwrap().suggestion.unwrap().replacement, "    write()?;");
    with.place.quote = Some("\twrite();".to_owned());
    with.replacement = Some("\twrite()?;".to_owned());
    assert_eq!(
        check(&with).unwrap().prose_suggestion.unwrap(),
        ("\twrite()?;".to_owned(), SuggestionFault::Reindented)
    );

    with.place.quote = Some("+    write();".to_owned());
    with.replacement = Some("+    write()?;".to_owned());
    assert_eq!(check(&with).unwrap().suggestion.unwrap().replacement, "    write()?;");

    with.place = place("src/a.rs", None, None);
    assert_eq!(check(&with).unwrap().prose_suggestion.unwrap().1, SuggestionFault::WholeFile);

    with.place = place("gone.rs", Some("removed_code();"), None);
    assert_eq!(check(&with).unwrap().prose_suggestion.unwrap().1, SuggestionFault::OldSide);
}

#[test]
fn a_replacement_at_a_place_that_was_chosen_is_prose() {
    let mut with = claim(place("src/a.rs", Some("    read();"), None));
    with.replacement = Some("    read()?;".to_owned());
    assert_eq!(check(&with).unwrap().prose_suggestion.unwrap().1, SuggestionFault::SeveralPlaces);
    with.place.lines = Some(LineRange::line(3));
    assert!(check(&with).unwrap().suggestion.is_some(), "the claim says which one");
}

#[test]
fn a_related_place_may_be_gone_and_says_why_it_matters() {
    let mut with = claim(place("src/a.rs", Some("    write();"), Some(8)));
    with.related =
        vec![place("src/a.rs", Some("    check();"), Some(3)), place("far.rs", Some("load().unwrap();"), None)];
    with.related[1].note = Some("it is called here".to_owned());
    let anchored = check(&with).unwrap();
    let places: Vec<_> = anchored.anchors.iter().map(|anchor| (anchor.side, anchor.quote.as_str())).collect();
    assert_eq!(
        places,
        [(DiffSide::New, "    write();"), (DiffSide::Old, "    check();"), (DiffSide::New, "load().unwrap();")]
    );
    assert_eq!(anchored.remarks, [(2, "it is called here".to_owned())]);
}

#[test]
fn the_fingerprint_does_not_hear_titles_lines_or_paths() {
    let one = check(&claim(place("src/a.rs", Some("    write();"), Some(8)))).unwrap().fingerprint;
    let mut world = world();
    world.change.files[0] = file("src/b.rs", FileStatus::Added, vec![run((0, 0), (1, 99))]);
    world.new.insert(path("src/b.rs"), &format!("// moved\n\n{NEW}"));
    let mut other = claim(place("src/b.rs", Some("    write();"), None));
    other.title = "worded otherwise".to_owned();
    assert_eq!(anchor(&other, &world.change, &world.new, &world.old).unwrap().fingerprint, one);
    other.category = Category::Security;
    assert_ne!(anchor(&other, &world.change, &world.new, &world.old).unwrap().fingerprint, one);
}

/// A tree whose run was stopped.
struct StoppedTree;

impl Workspace for StoppedTree {
    fn files(&self, _: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        Err(CancelReason::Interrupted.into())
    }

    fn read(&self, _: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        Err(CancelReason::Interrupted.into())
    }
}

#[test]
fn an_interrupt_is_not_the_claims_fault() {
    let world = world();
    let stopped =
        anchor(&claim(place("src/a.rs", Some("    write();"), None)), &world.change, &StoppedTree, &world.old);
    assert!(matches!(stopped, Err(Rejection::Stopped(CancelReason::Interrupted))));
}

proptest! {
    #[test]
    fn touching_is_looked_up_as_the_change_says(
        runs in proptest::collection::vec((0..40u32, 0..4u32, 0..40u32, 0..4u32), 0..8), start in 1..45u32, more in 0..6u32
    ) {
        let runs = runs.into_iter().map(|(old, removed, new, added)| run((old, removed), (new, added))).collect();
        let file = file("a", FileStatus::Modified, runs);
        let lines = LineRange::new(start, start + more).unwrap();
        for side in [DiffSide::Old, DiffSide::New] {
            prop_assert_eq!(ReachableLines::of(&file, side).touches(lines), file.touches(side, lines));
        }
    }

    #[test]
    fn whatever_is_claimed_the_anchors_are_in_the_file(
        quote in "[ -~\n]{0,40}", line in proptest::option::of(0..20u32), replacement in proptest::option::of("[ -~\n]{0,40}")
    ) {
        let mut wild = claim(place("src/a.rs", Some(&quote), line));
        wild.replacement = replacement;
        if let Ok(anchored) = check(&wild) {
            for anchor in anchored.anchors {
                let text = FileText::new(NEW, "UTF-8");
                let lines: Vec<&str> = text.lines(anchor.lines.unwrap()).map(|(_, line)| line).collect();
                prop_assert_eq!(lines.join("\n"), anchor.quote);
            }
        }
    }
}
