//! Tests of the resources of presented documents.

use super::*;
use crate::app::{
    ClientConnection, ForgeEnvironment, Overrides, ProcessEnv, ProviderEnvironment, ServiceOptions, Store,
};
use crate::domain::presented::{DocumentSelector, PresentMode, PresentReview};

fn service(folder: &std::path::Path) -> Service {
    let options = ServiceOptions {
        directory: folder.to_owned(),
        roots: Vec::new(),
        flags: Overrides::default(),
        allow_write: false,
        log: None,
    };
    let (user_settings, environment, providers) = (None, Vec::new(), ProviderEnvironment::default());
    let (forge, state) = (ForgeEnvironment::default(), folder.join("state"));
    let store = Store::at(&state);
    Service::open(options, ProcessEnv { user_settings, environment, providers, forge, state, store, parser: None })
        .unwrap()
}

fn present(service: &Service, content: &str, document: DocumentSelector) -> DocumentId {
    let ask = PresentReview { content: content.to_owned(), mode: PresentMode::Replace, base: None, document };
    service.present(&ClientConnection::Process, ask).unwrap().presented.id
}

#[test]
fn a_document_is_read_by_its_uri() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(folder.path());
    let id = present(&service, "# A\n\nSee [x](src/x.rs#L3).", DocumentSelector::Own);
    let contents = read(&service, &uri(id)).unwrap().unwrap();
    assert_eq!(contents.mime, MARKDOWN);
    assert!(contents.text.starts_with("# A\n\nSee "), "{}", contents.text);
    let contents = read(&service, &format!("{}/references", uri(id))).unwrap().unwrap();
    let fields: Value = serde_json::from_str(&contents.text).unwrap();
    assert_eq!((&fields["total"], &fields["broken"]), (&json!(1), &json!(1)));
    let one = &fields["references"][0];
    assert_eq!(
        (&one["form"], &one["path"], &one["lines"]),
        (&json!("link"), &json!("src/x.rs"), &json!({ "start": 3, "end": 3 }))
    );
    assert!(one["why"].as_str().unwrap().contains("is in no git repository"), "{one}");
}

#[test]
fn what_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(folder.path());
    assert_eq!(read(&service, "review://latest"), None);
    for uri in [uri(DocumentId::random()), "review://presented/x".to_owned(), "review://presented/".to_owned()] {
        assert!(matches!(read(&service, &uri), Some(Err(ReadFault::NotFound(_)))), "{uri}");
    }
}

#[test]
fn documents_are_listed_and_completed() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(folder.path());
    assert_eq!(list(&service).unwrap(), []);
    let (first, second) =
        (present(&service, "# First", DocumentSelector::Own), present(&service, "text", DocumentSelector::New));
    let mut names: Vec<String> = list(&service).unwrap().into_iter().map(|listed| listed.name).collect();
    names.sort();
    assert_eq!(names, ["First", "text"]);
    let complete = |typed: &str| complete(&service, FAMILY.templates[0].uri, "id", typed);
    assert_eq!(complete("").len(), 2);
    assert_eq!(complete(&first.to_string()[..20]), [first.to_string()]);
    assert!(super::complete(&service, "review://{id}", "id", "").is_empty(), "that is another family");
    assert_eq!(
        changed(&service, &ChangeNotice::Document(second), &BTreeSet::new()),
        [format!("review://presented/{second}"), format!("review://presented/{second}/references")]
    );
    assert!(changed(&service, &ChangeNotice::List, &BTreeSet::new()).is_empty());
}
