//! Tests of the store of presented documents.

use super::*;
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;
use crate::domain::presented::{BrokenRef, FileRef, RefForm, RefPlace};
use crate::store::{KEPT_FOR, Store};

fn store() -> (tempfile::TempDir, Store) {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(&root.path().join("state/review"));
    (root, store)
}

fn reference(at: std::ops::Range<usize>, form: RefForm, found: Result<RefPlace, BrokenRef>) -> CheckedRef {
    let lines = LineRange::new(3, 4).ok();
    let to =
        FileRef { path: "src/a b.rs".to_owned(), lines, columns: (Some(1), None), pattern: Some("fn .*".to_owned()) };
    CheckedRef { at, form, text: "a".to_owned(), to, found }
}

fn presented() -> Presented {
    let place = |path: &[u8]| {
        let path = RepoPath::from_bytes(path).unwrap();
        Ok(RefPlace { path, lines: LineRange::new(3, 4).ok(), preview: Some("fn main() {".to_owned()) })
    };
    let broken = BrokenRef { why: "file not found".to_owned(), near: vec!["src/a.rs:3".to_owned()] };
    Presented {
        id: DocumentId::random(),
        markdown: "# A review\r\n\n[a](b) ä [a](b)\n".to_owned(),
        base: PathBuf::from("/srv/project"),
        references: vec![
            reference(13..19, RefForm::Link, place(b"src/\xff.rs")),
            reference(13..19, RefForm::Plain, place(b"src/a b.rs")),
            reference(22..28, RefForm::Rustdoc, Err(broken.clone())),
            reference(22..28, RefForm::Dialectic, Err(broken)),
        ],
    }
}

#[test]
fn a_document_reads_back_as_it_was_kept() {
    let (_root, store) = store();
    let presented = presented();
    assert_eq!(store.documents().read(presented.id).unwrap(), None);
    store.documents().save(&presented).unwrap();
    let Presented { id, markdown, base, references } = presented.clone();
    let kept = SavedDocument { id, markdown, base, references: Some(references) };
    assert_eq!(store.documents().read(presented.id).unwrap(), Some(kept));
    let record = store.documents().list(5).unwrap().remove(0);
    assert_eq!((record.title.as_str(), record.references, record.broken), ("A review", 4, 2));
    assert_eq!(record.bytes, presented.markdown.len() as u64);
}

#[cfg(unix)]
#[test]
fn a_base_that_is_not_utf_8_reads_back() {
    use std::os::unix::ffi::OsStringExt as _;
    let (_root, store) = store();
    let base = PathBuf::from(std::ffi::OsString::from_vec(b"/srv/\xff\n".to_vec()));
    let presented = Presented { base: base.clone(), ..presented() };
    store.documents().save(&presented).unwrap();
    assert_eq!(store.documents().read(presented.id).unwrap().unwrap().base, base);
}

#[test]
fn a_text_that_was_edited_by_hand_is_to_be_checked_again() {
    let (_root, store) = store();
    let presented = presented();
    store.documents().save(&presented).unwrap();
    std::fs::write(store.documents().of(presented.id).join(TEXT), "edited").unwrap();
    let kept = store.documents().read(presented.id).unwrap().unwrap();
    assert_eq!((kept.markdown.as_str(), kept.references), ("edited", None));
}

#[test]
fn a_place_that_the_text_does_not_have_is_to_be_checked_again() {
    let (_root, store) = store();
    let mut presented = presented();
    // In the middle of a character.
    presented.references[0].at = 21..22;
    store.documents().save(&presented).unwrap();
    assert_eq!(store.documents().read(presented.id).unwrap().unwrap().references, None);
}

#[test]
fn damage_is_said_with_the_place_and_does_not_hide_the_others() {
    let (_root, store) = store();
    let (whole, damaged) = (presented(), presented());
    for document in [&whole, &damaged] {
        store.documents().save(document).unwrap();
    }
    std::fs::write(store.documents().of(damaged.id).join(RECORD), "{\"version\":9}").unwrap();
    let fault = store.documents().read(damaged.id).unwrap_err().to_string();
    assert!(fault.contains("document.json has version 9, this program reads 1"), "{fault}");
    assert!(fault.contains(&damaged.id.to_string()) && fault.contains("it is kept in "), "{fault}");
    let listed: Vec<_> = store.documents().list(9).unwrap().into_iter().map(|record| record.id).collect();
    assert_eq!(listed, [whole.id]);
    std::fs::write(store.documents().of(whole.id).join(TEXT), b"\xff").unwrap();
    assert!(store.documents().read(whole.id).unwrap_err().to_string().contains("not UTF-8"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_root, store) = store();
    let presented = presented();
    assert!(store.documents().lock(presented.id).unwrap().is_none(), "there is nothing to hold yet");
    store.documents().save(&presented).unwrap();
    assert!(store.documents().lock(presented.id).unwrap().is_some());
    let folder = store.documents().of(presented.id);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o700, 0o700));
    for name in [TEXT, RECORD, LOCK] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
}

#[cfg(unix)]
fn written(store: &Store, id: DocumentId, ago: Duration) {
    std::fs::File::open(store.documents().of(id)).unwrap().set_modified(SystemTime::now() - ago).unwrap();
}

#[cfg(unix)]
#[test]
fn the_oldest_go_first() {
    let (_root, store) = store();
    let documents: Vec<Presented> = (0..3).map(|_| presented()).collect();
    for (document, minutes) in documents.iter().zip([2, 3, 1]) {
        store.documents().save(document).unwrap();
        written(&store, document.id, Duration::from_mins(minutes));
    }
    let ids = || store.documents().list(9).unwrap().into_iter().map(|record| record.id).collect::<Vec<_>>();
    assert_eq!(ids(), [documents[2].id, documents[0].id, documents[1].id]);
    assert_eq!(store.documents().find("last").unwrap(), documents[2].id);
    assert_eq!(store.documents().list(1).unwrap().len(), 1);
    assert_eq!(store.documents().prune_to_newest(2).unwrap(), [documents[1].id]);
    assert_eq!(ids(), [documents[2].id, documents[0].id]);
}

#[cfg(unix)]
#[test]
fn a_document_that_somebody_writes_to_is_not_removed() {
    let (_root, store) = store();
    let documents = store.documents();
    let (old, young) = (presented(), presented());
    for document in [&old, &young] {
        documents.save(document).unwrap();
    }
    let held = documents.lock(old.id).unwrap();
    written(&store, old.id, KEPT_FOR + Duration::from_mins(1));
    assert_eq!(documents.prune_to_newest(1).unwrap(), []);
    assert_eq!(documents.prune(KEPT_FOR).unwrap(), 0);
    assert!(documents.read(old.id).unwrap().is_some());
    drop(held);
    let (_, listed) = documents.newest_first().unwrap().pop().unwrap();
    documents.save(&old).unwrap();
    assert!(!remove(&listed).unwrap(), "it was written to after it was listed");
    written(&store, old.id, KEPT_FOR + Duration::from_mins(1));
    assert_eq!(documents.prune(KEPT_FOR).unwrap(), 1);
}

#[cfg(unix)]
#[test]
fn old_documents_go_with_old_runs() {
    let (_root, store) = store();
    let (old, young) = (presented(), presented());
    for document in [&old, &young] {
        store.documents().save(document).unwrap();
    }
    written(&store, old.id, KEPT_FOR + Duration::from_mins(1));
    assert_eq!(store.prune(KEPT_FOR).unwrap(), 0, "no run was removed");
    assert_eq!(store.documents().read(old.id).unwrap(), None);
    assert!(store.documents().read(young.id).unwrap().is_some());
}

#[test]
fn the_beginning_of_an_id_finds_the_one_document_it_names() {
    let (_root, store) = store();
    assert!(matches!(store.documents().find("last"), Err(DocumentFault::Empty)));
    let mut ids =
        ["a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"].map(|id| id.parse().unwrap());
    for id in ids {
        store.documents().save(&Presented { id, ..presented() }).unwrap();
    }
    ids.sort();
    let find = |given: &str| store.documents().find(given);
    assert_eq!(find("A0000000-0000-4000-8000-000000000002").unwrap(), ids[1]);
    assert!(matches!(find("a0"), Err(DocumentFault::Ambiguous { count: 2, .. })));
    assert!(matches!(find(""), Err(DocumentFault::Unknown(_))));
    assert!(matches!(find("../.."), Err(DocumentFault::Unknown(_))));
}
