//! Tests of the store: over folders and over a database alike, and of what only one of them does.

use std::path::{Path, PathBuf};

use super::*;
use crate::domain::finding::Severity;
use crate::domain::review::ReviewOutcome;
use crate::domain::run::Engine;

const A: &str = "a0000000-0000-4000-8000-000000000001";
const B: &str = "a0000000-0000-4000-8000-000000000002";
const C: &str = "c0000000-0000-4000-8000-000000000003";

fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

fn record(run: &str, started_at: &str) -> RunRecord {
    RunRecord {
        pull: None,
        id: id(run),
        started_at: started_at.to_owned(),
        took_ms: 1200,
        repository: "demo".to_owned(),
        folder: Some(PathBuf::from("/home/ada/demo")),
        target: "main".to_owned(),
        head_name: "feature".to_owned(),
        outcome: ReviewOutcome::Incomplete,
        engine: Engine::Rules,
        cost: Some("0.25".parse().unwrap()),
        findings: [(Severity::High, 2)].into_iter().collect(),
        is_standalone: true,
        identity: None,
    }
}

/// A folder, and the stores of both kinds under it.
fn stores() -> (tempfile::TempDir, [Store; 2]) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("state/review");
    let database = root.path().join("database/runs.db");
    let stores = [Store::at(&folder), Store::configured(&folder, database.to_str()).unwrap()];
    (root, stores)
}

fn folders(root: &Path) -> PathBuf {
    root.join("state/review/runs")
}

#[test]
fn a_store_that_was_never_written_to_is_empty() {
    let (_root, stores) = stores();
    for store in stores {
        assert_eq!(store.list().unwrap(), []);
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 0);
        assert!(matches!(store.find("last"), Err(StoreError::Empty)));
    }
}

#[test]
fn runs_are_listed_newest_first_and_damage_is_no_fault() {
    let (root, stores) = stores();
    std::fs::create_dir_all(folders(root.path()).join("not-a-run")).unwrap();
    for store in stores {
        store.save_record(&record(A, "2020-01-01T00:00:00.000Z")).unwrap();
        store.save_record(&record(C, "2020-01-02T00:00:00.000Z")).unwrap();
        store.save(id(B), "run.json", b"{\"version\":1,").unwrap();
        let list = store.list().unwrap();
        assert_eq!(list.iter().map(SavedRun::id).collect::<Vec<_>>(), [id(B), id(C), id(A)]);
        assert!(
            matches!(&list[0], SavedRun::Damaged { reason, .. } if reason.contains("run.json cannot be read")),
            "{list:?}"
        );
        assert_eq!(list[2], SavedRun::Whole(record(A, "2020-01-01T00:00:00.000Z")));
        assert_eq!(store.find("last").unwrap(), id(C));
    }
}

#[test]
fn a_run_without_an_end_is_listed_as_one_that_goes_on_or_was_broken_off() {
    let (_root, stores) = stores();
    for store in stores {
        store.save_record(&record(A, "2020-01-01T00:00:00.000Z")).unwrap();
        let begun = StartedRun {
            id: id(B),
            started_at: "2020-01-02T00:00:00.000Z".to_owned(),
            repository: "demo".to_owned(),
            target: "main".to_owned(),
            head_name: "feature".to_owned(),
            pull: None,
            engine: Engine::Model,
            identity: None,
        };
        let held = store.start(&begun).unwrap();
        let listed = |is_running| SavedRun::Unfinished { run: begun.clone(), is_running };
        assert_eq!(store.list().unwrap()[0], listed(true));
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 1, "no run is removed while a process is at it");
        drop(held);
        // Another test that is just starting a child process has the file open for a moment.
        drop(store.lock(id(B)).unwrap());
        assert_eq!(store.list().unwrap(), [listed(false)]);
        assert_eq!(store.read_start(id(B)).unwrap(), begun);
        assert!(matches!(store.find("last"), Err(StoreError::Empty)), "there is no review of it to show");
        assert_eq!(store.find_started("last").unwrap(), id(B));
    }
}

#[test]
fn the_stamp_changes_with_the_runs_alone() {
    let (_root, stores) = stores();
    for store in stores {
        let empty = store.stamp().unwrap();
        store.save_record(&record(A, "2026-11-20T08:00:00Z")).unwrap();
        let one = store.stamp().unwrap();
        assert_ne!(empty, one);
        store.list().unwrap();
        store.read_record(id(A)).unwrap();
        assert_eq!(store.stamp().unwrap(), one);
        store.save_record(&record(B, "2026-11-20T09:00:00Z")).unwrap();
        assert_ne!(store.stamp().unwrap(), one);
    }
}

#[test]
fn a_prefix_finds_the_one_run_it_names() {
    let (_root, stores) = stores();
    for store in stores {
        for run in [A, B, C] {
            store.save(id(run), "review.md", b"x").unwrap();
        }
        assert_eq!(store.find("C0").unwrap(), id(C));
        assert_eq!(store.find(B).unwrap(), id(B));
        assert!(matches!(store.find("d"), Err(StoreError::Unknown(_))));
        assert!(matches!(store.find(""), Err(StoreError::Unknown(_))));
        let fault = store.find("a").unwrap_err();
        assert_eq!(fault.to_string(), format!("2 runs begin with \"a\" ({A}, {B}): give more of the id"));
    }
}

#[test]
fn files_read_back_and_no_name_leaves_the_folder() {
    let (_root, stores) = stores();
    for store in stores {
        store.save(id(A), "review.json", b"{}").unwrap();
        assert_eq!(store.read(id(A), "review.json").unwrap(), b"{}");
        let fault = store.read(id(A), "review.md").unwrap_err();
        assert!(fault.to_string().starts_with(&format!("the run {A} has no review.md")), "{fault}");
        for name in ["", "..", ".hidden", "a/b", "../x", "a\0b"] {
            assert!(matches!(store.save(id(A), name, b""), Err(StoreError::Name(_))), "{name:?}");
        }
    }
}

#[test]
fn pages_are_on_this_machine_and_go_with_their_age() {
    let (_root, stores) = stores();
    for store in stores {
        let page = store.save_page(id(A), b"<!doctype html>").unwrap();
        assert_eq!((store.list().unwrap().len(), store.prune(KEPT_FOR).unwrap()), (0, 0));
        assert!(page.is_file());
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 0, "a page is no run");
        assert!(!page.exists());
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let (root, [store, _]) = stores();
    store.save(id(A), "review.json", b"{}").unwrap();
    let (runs, folder) = (folders(root.path()), folders(root.path()).join(A));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.join("review.json")), mode(&folder), mode(&runs)), (0o600, 0o700, 0o700));
    let page = store.save_page(id(A), b"<!doctype html>").unwrap();
    assert_eq!((mode(&page), mode(page.parent().unwrap())), (0o600, 0o700));
}

#[cfg(unix)]
#[test]
fn old_runs_go_and_young_ones_stay() {
    let (root, [store, _]) = stores();
    for run in [A, B] {
        store.save(id(run), "review.json", b"{}").unwrap();
    }
    // A link is not a run, and its target must not be removed.
    let outside = root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, folders(root.path()).join(C)).unwrap();
    let old = SystemTime::now() - KEPT_FOR - Duration::from_mins(1);
    let page = store.save_page(id(A), b"<!doctype html>").unwrap();
    std::fs::File::open(folders(root.path()).join(A)).unwrap().set_modified(old).unwrap();
    assert_eq!(store.prune(KEPT_FOR).unwrap(), 1);
    assert!(!page.exists(), "a page goes with its run, however young it is");
    assert_eq!(store.list().unwrap().iter().map(SavedRun::id).collect::<Vec<_>>(), [id(B)]);
    assert_eq!(store.prune(Duration::ZERO).unwrap(), 1);
    assert!(outside.exists());
}

#[test]
fn a_growing_file_has_one_writer_and_whole_lines() {
    let (_root, stores) = stores();
    for store in stores {
        assert!(matches!(store.reopen(id(A), "journal.jsonl"), Err(StoreError::Missing { .. })));
        let mut journal = store.append_exclusive(id(A), "journal.jsonl").unwrap();
        assert!(matches!(store.append_exclusive(id(A), "journal.jsonl"), Err(StoreError::Busy(_))));
        assert!(store.has_files(id(A), &["journal.jsonl"]).unwrap(), "an empty one is there too");
        journal.append(b"one\n").unwrap();
        journal.sync().unwrap();
        assert_eq!(store.read(id(A), "journal.jsonl").unwrap(), b"one\n");
        let long = vec![b'x'; 100_000];
        journal.append(&long).unwrap();
        assert_eq!(store.read(id(A), "journal.jsonl").unwrap().len(), 100_004, "no more than a part is held back");
        journal.append(b"\ntwo\nthr").unwrap();
        drop(journal);
        assert_eq!(store.read(id(A), "journal.jsonl").unwrap().len(), 100_012, "what was appended is not lost");
        // A child that another test is just starting has the lock open for a moment.
        let again = (0..1_000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            store.reopen(id(A), "journal.jsonl").ok()
        });
        let (bytes, mut journal) = again.unwrap();
        assert!(bytes.len() == 100_009 && bytes.ends_with(b"x\ntwo\n"));
        journal.append(b"three\n").unwrap();
        journal.sync().unwrap();
        assert!(store.read(id(A), "journal.jsonl").unwrap().ends_with(b"x\ntwo\nthree\n"));
        drop(journal);
        store.save(id(B), "journal.jsonl", b"o\nne").unwrap();
        assert_eq!(store.reopen(id(B), "journal.jsonl").unwrap().0, b"o\n");
        assert_eq!(store.read(id(B), "journal.jsonl").unwrap(), b"o\n");
    }
}

#[test]
fn a_setting_names_the_place_and_is_never_shown_with_a_password() {
    let root = tempfile::tempdir().unwrap();
    let store = |setting: Option<&str>| Store::configured(root.path(), setting);
    for none in [None, Some(""), Some(" ")] {
        assert_eq!(store(none).unwrap().location(), StoreLocation::Folder(root.path().to_owned()));
    }
    let address = "postgres://ada:s3cret@127.0.0.1:1/reviews";
    let there = store(Some(address)).unwrap();
    let error = there.list().unwrap_err().to_string();
    assert!(error.contains("postgres://127.0.0.1:1/reviews"), "{error}");
    assert!(!format!("{error} {there:?}").contains("s3cret"), "{error} {there:?}");
    for odd in ["mysql://ada:s3cret@db/reviews", "postgres:/ada:s3cret@db/reviews", "host=db password=s3cret"] {
        let error = store(Some(odd)).unwrap_err().to_string();
        assert!(error.starts_with("REVIEW_STORE names no database") && !error.contains("s3cret"), "{error}");
    }
}

mod database_only {
    //! Tests of what several processes see of one database.

    use super::super::database::fixtures::{address, runs, set_version, unrenewed};
    use super::*;

    fn store(root: &Path, runs: DatabaseRuns) -> Store {
        Store::of(root, runs)
    }

    fn begun(run: &str) -> StartedRun {
        StartedRun {
            id: id(run),
            started_at: "2020-01-02T00:00:00.000Z".to_owned(),
            repository: "demo".to_owned(),
            target: "main".to_owned(),
            head_name: "feature".to_owned(),
            pull: None,
            engine: Engine::Model,
            identity: Some("abc".to_owned()),
        }
    }

    #[test]
    fn what_one_process_saves_another_lists_and_a_lock_keeps_it_out() {
        let root = tempfile::tempdir().unwrap();
        let [a, b] = [(); 2].map(|()| store(root.path(), runs(root.path())));
        let held = a.start(&begun(A)).unwrap();
        a.save_record(&record(B, "2020-01-01T00:00:00.000Z")).unwrap();
        let running = SavedRun::Unfinished { run: begun(A), is_running: true };
        assert_eq!(b.list().unwrap(), [running, SavedRun::Whole(record(B, "2020-01-01T00:00:00.000Z"))]);
        assert!(matches!(b.append_exclusive(id(A), "journal.jsonl"), Err(StoreError::Busy(_))));
        assert!(matches!(b.lock(id(A)), Err(StoreError::Busy(_))), "a lease that is renewed is not waited for");
        assert_eq!(b.prune(Duration::ZERO).unwrap(), 1);
        drop(held);
        let held = b.lock(id(A)).unwrap();
        // Saving a run that has ended needs no lock, and what another process locks is its own to write.
        b.append_exclusive(id(A), "journal.jsonl").unwrap();
        drop(held);
        a.save(id(A), "review.md", b"x").unwrap();
        assert_eq!(b.read(id(A), "review.md").unwrap(), b"x");
        assert_eq!(b.prune(Duration::ZERO).unwrap(), 1);
        assert!(a.list().unwrap().is_empty() && !a.has_files(id(A), &["journal.jsonl"]).unwrap());
    }

    #[test]
    fn a_former_owner_writes_nothing_more() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (store(root.path(), unrenewed(root.path())), store(root.path(), runs(root.path())));
        let held = a.start(&begun(A)).unwrap();
        let mut journal = a.append_exclusive(id(A), "journal.jsonl").unwrap();
        journal.append(b"one\n").unwrap();
        journal.sync().unwrap();
        journal.append(b"late\n").unwrap();
        let taken = b.lock(id(A)).unwrap();
        let (bytes, mut after) = b.reopen(id(A), "journal.jsonl").unwrap();
        assert_eq!(bytes, b"one\n");
        assert!(matches!(journal.sync(), Err(StoreError::Lost(_))));
        after.append(b"two\n").unwrap();
        after.sync().unwrap();
        assert!(matches!(a.save(id(A), "review.json", b"{}"), Err(StoreError::Lost(_))));
        drop((journal, held));
        assert!(matches!(a.save(id(A), "review.json", b"{}"), Err(StoreError::Lost(_))), "nor after its end");
        assert!(matches!(a.append_exclusive(id(A), "journal.jsonl"), Err(StoreError::Lost(_))));
        assert_eq!(b.read(id(A), "journal.jsonl").unwrap(), b"one\ntwo\n");
        assert!(matches!(a.lock(id(A)), Err(StoreError::Busy(_))));
        drop((after, taken));
        let again = a.lock(id(A)).unwrap();
        a.save(id(A), "review.json", b"{}").unwrap();
        drop(again);
    }

    #[test]
    fn the_lease_of_a_dead_process_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (store(root.path(), unrenewed(root.path())), store(root.path(), runs(root.path())));
        let held = a.start(&begun(A)).unwrap();
        let taken = b.lock(id(A)).unwrap();
        assert!(matches!(a.save(id(A), "review.json", b"{}"), Err(StoreError::Lost(_))));
        drop((held, taken));
    }

    #[test]
    fn tables_of_a_later_version_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        store(root.path(), runs(root.path())).save(id(A), "review.md", b"x").unwrap();
        set_version(root.path(), 2);
        let error = store(root.path(), runs(root.path())).list().unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().contains(&address(root.path()).to_string()), "{error}");
    }

    #[test]
    fn a_file_that_could_not_be_read_again_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), runs(root.path()));
        let bytes = vec![0; usize::try_from(crate::domain::limits::LIMITS.kept_file_bytes).unwrap() + 1];
        assert!(matches!(store.save(id(A), "change.json", &bytes), Err(StoreError::TooLarge { .. })));
        assert_eq!(store.prune(Duration::ZERO).unwrap(), 0);
    }
}
