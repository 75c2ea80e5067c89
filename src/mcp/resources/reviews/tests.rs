//! Tests of reviews as resources, over saved documents and a running review.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::app::StartReview;
use crate::mcp::fixture::ServerFixture;
use crate::mcp::resources::FAMILIES;

const TYPICAL: &[u8] = include_bytes!("../../../../fixtures/documents/typical.json");
const EMPTY: &[u8] = include_bytes!("../../../../fixtures/documents/empty.json");

fn json_at(fixture: &ServerFixture, uri: &str) -> Value {
    let contents = read(&fixture.service, uri).unwrap().unwrap_or_else(|fault| panic!("{uri}: {fault}"));
    assert_eq!(contents.mime, JSON);
    serde_json::from_str(&contents.text).unwrap()
}

fn not_found(fixture: &ServerFixture, uri: &str) -> String {
    match read(&fixture.service, uri) {
        Some(Err(ReadFault::NotFound(why))) => why,
        other => panic!("{uri}: {other:?}"),
    }
}

#[test]
fn a_kept_review_is_read_in_every_shape() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let review: Value = serde_json::from_slice(TYPICAL).unwrap();
    assert_eq!(json_at(&fixture, &uri(id)), review);
    assert_eq!(json_at(&fixture, "review://latest"), review);
    let folder = query::escape(fixture.folder.to_str().unwrap());
    assert_eq!(json_at(&fixture, &format!("review://latest?repo={folder}")), review);
    let markdown = read(&fixture.service, &format!("{}/markdown", uri(id))).unwrap().unwrap();
    assert!(markdown.mime == MARKDOWN && markdown.text.starts_with("# Code review\n"), "{}", markdown.text);
    for finding in review["findings"].as_array().unwrap() {
        let read = json_at(&fixture, &format!("{}/findings/{}", uri(id), finding["id"].as_str().unwrap()));
        assert_eq!((&read["body"], read["review"].as_str()), (&finding["body"], Some(&*id.to_string())));
    }
}

#[test]
fn what_is_not_there_says_what_is() {
    let fixture = ServerFixture::new(false);
    assert!(not_found(&fixture, "review://latest").contains("start one with the tool review"));
    let id = fixture.save_review(TYPICAL);
    let first = serde_json::from_slice::<Value>(TYPICAL).unwrap()["findings"][0]["id"].as_str().unwrap().to_owned();
    assert!(not_found(&fixture, "review://ffffffff-0000-4000-8000-000000000000").contains(&id.to_string()));
    assert!(not_found(&fixture, &format!("{}/findings/0", uri(id))).contains(&first));
    assert!(not_found(&fixture, &format!("{}/html", uri(id))).contains(AS_MARKDOWN));
    assert!(not_found(&fixture, "review://latest?repo=%2F").contains("outside the folders"));
    let first = |uri: &str| FAMILIES.iter().position(|family| (family.read)(&fixture.service, uri).is_some());
    let ours = FAMILIES.len() - 1;
    assert_eq!(first("review://latest"), Some(ours));
    for of_others in ["review://presented/00000002-0000-4000-8000-000000000000", "review://status"] {
        assert!(first(of_others).is_some_and(|family| family < ours), "{of_others}");
    }
    assert!(read(&fixture.service, "file:///etc/passwd").is_none());
}

#[test]
fn reviews_of_other_repositories_are_neither_listed_nor_read() {
    let fixture = ServerFixture::new(false);
    let mine = fixture.save_review(TYPICAL);
    let theirs = fixture.save_review_of(EMPTY, Path::new("/"), "2026-02-01T00:00:00.000Z");
    let listed = list(&fixture.service).unwrap();
    let markdown = format!("{}/markdown", uri(mine));
    assert_eq!(listed.iter().map(|one| one.uri.as_str()).collect::<Vec<_>>(), [uri(mine), markdown]);
    assert_eq!(listed[1].mime, MARKDOWN);
    assert_eq!(listed[0].changed.as_deref(), Some("2026-01-01T00:00:00.000Z"));
    assert!(listed[0].description.starts_with("shop: main → feature: complete, "), "{}", listed[0].description);
    not_found(&fixture, &uri(theirs));
    assert_eq!(json_at(&fixture, "review://latest")["id"], mine.to_string());
}

#[test]
fn ids_are_completed() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let first = fixture.service.review(id).unwrap().findings[0].id.to_string();
    assert_eq!(complete(&fixture.service, AS_MARKDOWN, "id", "0000"), [id.to_string()]);
    assert_eq!(complete(&fixture.service, FINDING, "finding", &first[..6]), [first]);
    assert_eq!(complete(&fixture.service, LATEST, "repo", ""), [fixture.folder.to_str().unwrap()]);
    for (template, variable, typed) in [(ONE, "id", "f"), (ONE, "x", ""), ("review://presented/{id}", "id", "")] {
        assert!(complete(&fixture.service, template, variable, typed).is_empty(), "{template} {variable} {typed}");
    }
}

#[test]
fn a_change_names_every_uri_that_shows_it() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let findings = fixture.service.review(id).unwrap().findings.len();
    let here = format!("review://latest?repo={}", query::escape(fixture.folder.to_str().unwrap()));
    let watched = BTreeSet::from(["review://latest".to_owned(), here.clone(), "review://latest?repo=%2F".to_owned()]);
    let uris = changed(&fixture.service, &ChangeNotice::Review(id), &watched);
    assert!(
        uris.contains(&uri(id)) && uris.contains(&"review://latest".to_owned()) && uris.contains(&here),
        "{uris:?}"
    );
    assert_eq!(uris.len(), 4 + findings, "{uris:?}");
    for uri in uris {
        assert!(read(&fixture.service, &uri).is_some_and(|read| read.is_ok()), "{uri}");
    }
    assert!(changed(&fixture.service, &ChangeNotice::List, &BTreeSet::new()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_read_while_it_runs() {
    let fixture = ServerFixture::silent();
    let start = StartReview { at: Some("uncommitted".to_owned()), ..StartReview::default() };
    let id = fixture.service.start_review(&start).unwrap().id;
    let told = json_at(&fixture, &uri(id));
    assert_eq!(
        (&told["schema"], &told["state"], &told["total"]),
        (&json!(RUN_SCHEMA), &json!("running"), &json!(0)),
        "{told}"
    );
    let markdown_uri = format!("{}/markdown", uri(id));
    let markdown = || read(&fixture.service, &markdown_uri).unwrap().unwrap().text;
    assert!(markdown().contains("**In progress**"), "{}", markdown());
    let listed = list(&fixture.service).unwrap();
    assert!(listed.len() == 1 && listed[0].description.starts_with("running"), "{listed:?}");
    // Before the first review has ended, the latest is the one that runs: whoever watches it reads the same text.
    let (latest, text) = loop {
        // It may get further between two reads.
        let before = markdown();
        let latest = json_at(&fixture, "review://latest");
        if markdown() == before {
            break (latest, before);
        }
    };
    assert_eq!((&latest["id"], &latest["markdown"]), (&json!(id.to_string()), &json!(text)));
    let watched = BTreeSet::from(["review://latest".to_owned()]);
    let uris = changed(&fixture.service, &ChangeNotice::Review(id), &watched);
    assert_eq!(uris, [uri(id), markdown_uri, "review://latest".to_owned()]);
    not_found(&fixture, &format!("{}/findings/F1", uri(id)));
    fixture.service.shut_down(Duration::from_mins(1)).await;
    let over = json_at(&fixture, &uri(id));
    assert!(over["ended"] == "interrupted" || over["state"] == "interrupted", "{over:#}");
}
