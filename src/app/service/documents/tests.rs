//! Tests of the shelf, on folders without a repository.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::context::environment::ProcessEnv;
use super::super::super::context::forge::ForgeEnvironment;
use super::super::super::context::model::ProviderEnvironment;
use super::super::ServiceOptions;
use super::*;
use crate::config::Flags;
use crate::domain::presented::PresentMode;

/// A server's folder, and a state folder beside it.
struct TempFolder {
    folder: tempfile::TempDir,
}

impl TempFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work/sub", "work/subtle", "other"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn serve(&self, directory: &str) -> Service {
        let flags = Flags::default();
        let directory = self.path(directory);
        let options = ServiceOptions { directory, roots: Vec::new(), flags, allow_write: false, log: None };
        let (user_settings, environment, providers) = (None, Vec::new(), ProviderEnvironment::default());
        let around = ProcessEnv {
            user_settings,
            environment,
            providers,
            forge: ForgeEnvironment::default(),
            state: self.path("state"),
            store: Store::at(&self.path("state")),
            parser: None,
        };
        Service::open(options, around).unwrap()
    }
}

fn ask(content: &str, mode: PresentMode) -> PresentReview {
    PresentReview { content: content.to_owned(), mode, base: None, document: DocumentSelector::Own }
}

fn replace(content: &str) -> PresentReview {
    ask(content, PresentMode::Replace)
}

fn append(content: &str) -> PresentReview {
    ask(content, PresentMode::Append)
}

fn of(document: DocumentSelector, ask: PresentReview) -> PresentReview {
    PresentReview { document, ..ask }
}

fn from(base: &Path, ask: PresentReview) -> PresentReview {
    PresentReview { base: Some(base.to_owned()), ..ask }
}

fn session(name: &str) -> ClientConnection {
    ClientConnection::Session(name.to_owned())
}

#[test]
fn a_connection_has_one_document() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let first = service.present(&ClientConnection::Process, append("a")).unwrap().presented;
    assert_eq!((first.markdown.as_str(), &first.base), ("a", &place.path("work")));
    let second = service.present(&ClientConnection::Process, append("b")).unwrap();
    assert_eq!(&second.presented.markdown[second.written.clone()], "b", "what this call wrote");
    assert_eq!((second.presented.id, second.presented.markdown.as_str()), (first.id, "a\n\nb"));
    assert_eq!(second.note, None);
    let third = service.present(&session("1"), append("c")).unwrap().presented;
    assert_eq!(third.markdown, "c", "another connection, another document");
    assert_eq!(service.present(&session("1"), append("d")).unwrap().presented.markdown, "c\n\nd");
    assert_eq!(service.present(&session("2"), append("e")).unwrap().presented.markdown, "e");
    let replaced = service.present(&ClientConnection::Process, replace("z")).unwrap().presented;
    assert_eq!((replaced.id, replaced.markdown.as_str()), (first.id, "z"));
    assert_eq!(service.documents().unwrap().len(), 3);
}

#[test]
fn requests_that_stand_alone_share_a_document_of_their_place() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let (work, sub) = (place.path("work"), place.path("work/sub"));
    let shown = |ask| service.present(&ClientConnection::Stateless, ask).unwrap().presented;
    let first = shown(append("a"));
    assert_eq!(shown(from(&work, append("b"))).id, first.id, "no base is the folder of the server");
    assert_ne!(shown(from(&sub, append("c"))).id, first.id, "there is no repository to share");
}

#[test]
fn a_further_document_is_asked_for_by_name() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let shown = |ask| service.present(&ClientConnection::Process, ask).unwrap().presented;
    let first = shown(of(DocumentSelector::New, append("a")));
    assert_eq!(shown(append("b")).id, first.id, "the first document is the connection's own");
    let second = shown(of(DocumentSelector::New, append("c")));
    assert_eq!(second.markdown, "c");
    assert_eq!(shown(append("d")).markdown, "a\n\nb\n\nd");
    assert_eq!(shown(of(DocumentSelector::Known(second.id), append("e"))).markdown, "c\n\ne");
    let unknown = DocumentId::random();
    let fault =
        service.present(&ClientConnection::Process, of(DocumentSelector::Known(unknown), append("f"))).unwrap_err();
    assert!(matches!(&fault, PresentFault::Unknown(id) if *id == unknown), "{fault}");
    assert!(matches!(service.document(unknown), Err(PresentFault::Unknown(_))));
}

#[test]
fn a_base_may_not_leave_the_documents_root() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let (work, sub, subtle) = (place.path("work"), place.path("work/sub"), place.path("work/subtle"));
    let present = |ask| service.present(&ClientConnection::Process, ask);
    present(from(&sub, replace("a"))).unwrap();
    for outside in [&work, &subtle] {
        let fault = present(from(outside, append("b"))).unwrap_err();
        let told = fault.to_string();
        assert!(matches!(fault, PresentFault::LeavesRoot { .. }), "{told}");
        assert!(told.contains(&*sub.to_string_lossy()) && told.contains(&*outside.to_string_lossy()), "{told}");
        assert!(told.contains("leave baseUri out to go on from there"), "{told}");
        let section = PresentMode::UpdateSection { section: "x".to_owned() };
        assert!(matches!(present(from(outside, ask("b", section))), Err(PresentFault::LeavesRoot { .. })));
    }
    assert_eq!(present(append("c")).unwrap().presented.markdown, "a\n\nc", "what was refused changed nothing");
    assert_eq!(present(replace("d")).unwrap().presented.base, sub, "a document keeps its base");
    let moved = present(from(&work, replace("e"))).unwrap();
    assert_eq!((moved.presented.base, moved.note), (work.clone(), None));
    let narrower = present(from(&sub, append("f"))).unwrap();
    assert_eq!(narrower.presented.base, work);
    let note = narrower.note.unwrap();
    assert!(note.starts_with("All references of this document start from "), "{note}");
    assert!(note.ends_with("leave baseUri out, and write sub/ before paths that were meant from there."), "{note}");
}

#[test]
fn a_base_is_a_folder_below_those_of_the_server() {
    let place = TempFolder::new();
    let service = place.serve("work");
    std::fs::write(place.path("work/file"), "").unwrap();
    let fault = |base: &Path| service.present(&ClientConnection::Process, from(base, replace("a"))).unwrap_err();
    assert!(matches!(fault(&place.path("other")), PresentFault::Base(AllowedRootsError::Outside { .. })));
    assert!(matches!(fault(Path::new("../other")), PresentFault::Base(AllowedRootsError::Outside { .. })));
    assert!(matches!(fault(Path::new("nowhere")), PresentFault::Base(AllowedRootsError::Missing(_))));
    assert!(matches!(fault(Path::new("file")), PresentFault::NotAFolder(_)));
    assert!(matches!(fault(Path::new("https://forge.example/o/r")), PresentFault::Base(AllowedRootsError::Address(_))));
    let uri = format!("file://{}", place.path("work/sub").display());
    let shown = service.present(&ClientConnection::Process, from(Path::new(&uri), replace("a"))).unwrap();
    assert_eq!(shown.presented.base, place.path("work/sub"));
    let shown = service.present(&ClientConnection::Process, from(Path::new("sub"), replace("a"))).unwrap();
    assert_eq!(shown.presented.base, place.path("work/sub"), "a relative base starts where the server does");
}

#[test]
fn what_is_blank_or_too_long_is_refused() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let present = |content: &str| service.present(&ClientConnection::Process, append(content));
    assert!(matches!(present(" \n"), Err(PresentFault::Blank)));
    assert!(matches!(present(&"x".repeat(LONGEST + 1)), Err(PresentFault::TooLong { .. })));
    present(&"x".repeat(LONGEST)).unwrap();
    let fault = present("y").unwrap_err();
    assert!(matches!(fault, PresentFault::TooLong { size } if size == LONGEST + 3), "{fault}");
    assert!(fault.to_string().contains("4194304"), "{fault}");
}

#[test]
fn fifty_at_once_all_land() {
    let place = TempFolder::new();
    let service = Arc::new(place.serve("work"));
    let threads: Vec<_> = (0..50)
        .map(|number| {
            let service = Arc::clone(&service);
            std::thread::spawn(move || {
                let shown = service.present(&ClientConnection::Process, append(&format!("<{number}>"))).unwrap();
                assert!(shown.presented.markdown.ends_with(&format!("<{number}>")), "nobody came between");
                shown.presented.id
            })
        })
        .collect();
    let ids: BTreeSet<DocumentId> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let markdown = service.document(*ids.first().unwrap()).unwrap().markdown;
    let parts: BTreeSet<&str> = markdown.split("\n\n").collect();
    assert_eq!((parts.len(), markdown.split("\n\n").count()), (50, 50), "{markdown}");
}

#[test]
fn two_servers_can_write_to_one_document() {
    let place = TempFolder::new();
    let id = place.serve("work").present(&ClientConnection::Process, replace("begin")).unwrap().presented.id;
    let threads: Vec<_> = (0..4)
        .map(|server| {
            let service = place.serve("work");
            std::thread::spawn(move || {
                for number in 0..5 {
                    let content = append(&format!("<{server}.{number}>"));
                    service.present(&ClientConnection::Process, of(DocumentSelector::Known(id), content)).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let markdown = place.serve("work").document(id).unwrap().markdown;
    assert_eq!(markdown.split("\n\n").collect::<BTreeSet<_>>().len(), 21, "{markdown}");
}

#[test]
fn a_document_outlives_its_server() {
    let place = TempFolder::new();
    let before = place.serve("work").present(&session("1"), replace("# Before")).unwrap().presented;
    let after = place.serve("work");
    assert_eq!(after.document(before.id).unwrap(), before);
    assert_eq!(after.documents().unwrap().remove(0).title, "Before");
    let on = after.present(&session("2"), of(DocumentSelector::Known(before.id), append("after"))).unwrap().presented;
    assert_eq!(on.markdown, "# Before\n\nafter");
}

#[test]
fn a_server_shows_no_documents_of_other_places() {
    let place = TempFolder::new();
    let id = place.serve("other").present(&ClientConnection::Process, replace("a")).unwrap().presented.id;
    let service = place.serve("work");
    assert_eq!(service.documents().unwrap(), []);
    assert!(matches!(service.document(id), Err(PresentFault::Elsewhere(_))));
    let onto = of(DocumentSelector::Known(id), from(&place.path("work"), replace("b")));
    assert!(matches!(service.present(&ClientConnection::Process, onto), Err(PresentFault::Elsewhere(_))));
}

#[test]
fn a_document_that_the_disk_does_not_take_is_held_and_said() {
    let place = TempFolder::new();
    std::fs::write(place.path("state"), "a file where a folder should be").unwrap();
    let service = place.serve("work");
    let shown = service.present(&ClientConnection::Process, append("a")).unwrap();
    let note = shown.note.unwrap();
    assert!(note.starts_with("It could not be kept on the disk and is gone when this server ends: cannot "), "{note}");
    let on = service.present(&ClientConnection::Process, append("b")).unwrap().presented;
    assert_eq!(on.markdown, "a\n\nb");
    assert_eq!(service.document(on.id).unwrap(), on);
    assert_eq!(service.documents().unwrap().len(), 1);
    std::fs::remove_file(place.path("state")).unwrap();
    assert_eq!(service.present(&ClientConnection::Process, append("c")).unwrap().note, None, "the disk takes it now");
    assert_eq!(place.serve("work").document(on.id).unwrap().markdown, "a\n\nb\n\nc");
}

#[test]
fn a_document_that_was_removed_meanwhile_begins_anew_and_says_so() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let first = service.present(&ClientConnection::Process, append("a")).unwrap().presented;
    std::fs::remove_dir_all(place.path("state")).unwrap();
    let shown = service.present(&ClientConnection::Process, append("b")).unwrap();
    assert_eq!((shown.presented.id, shown.presented.markdown.as_str()), (first.id, "b"));
    let note = shown.note.unwrap();
    assert!(note.starts_with("What was presented here before is kept no more"), "{note}");
}

#[test]
fn connections_that_are_gone_are_forgotten() {
    let place = TempFolder::new();
    let shelf = DocumentStore::new(&Store::at(&place.path("state")));
    let own = |number: usize| shelf.which(DocumentSelector::Own, DocumentOwner::Session(number.to_string()));
    let first = own(0);
    assert_eq!(own(0), first);
    (1..=CONNECTIONS).for_each(|number| {
        own(number);
    });
    assert_eq!(shelf.held().own.len(), CONNECTIONS);
    assert_ne!(own(0), first);
}

#[test]
fn listeners_hear_of_every_change() {
    let place = TempFolder::new();
    let service = place.serve("work");
    let mut heard = service.notifier().subscribe();
    let id = service.present(&ClientConnection::Process, append("a")).unwrap().presented.id;
    service.present(&ClientConnection::Process, append("b")).unwrap();
    let said: Vec<ChangeNotice> = std::iter::from_fn(|| heard.try_recv().ok().map(|(_, changed)| changed)).collect();
    assert_eq!(said, [ChangeNotice::Document(id), ChangeNotice::List, ChangeNotice::Document(id)]);
}

#[test]
fn a_note_is_a_sentence() {
    assert_eq!(sentence("there is none: it was added"), "There is none: it was added.");
    assert_eq!(sentence("Done."), "Done.");
    assert_eq!(sentence(""), ".");
}
