//! Tests of the family of pull requests without a forge. Its contents are tested against a fake one.

use super::*;
use crate::mcp::fixture::ServerFixture;

async fn fault(fixture: &ServerFixture, uri: &str) -> ReadFault {
    fetch(&fixture.service, uri).unwrap().await.unwrap_err()
}

#[tokio::test]
async fn a_uri_that_cannot_be_one_is_told_in_the_known_words() {
    let fixture = ServerFixture::new(false);
    for uri in ["pr://a/b/0", "pr://a/b/1/", "pr://a/b/1?x", "pr://{owner}/{repo}/{pr}", "pr://"] {
        assert_eq!(fault(&fixture, uri).await, malformed(), "{uri}");
        assert_eq!(watch(&fixture.service, uri).err(), Some(malformed()), "{uri}");
    }
    assert!(fetch(&fixture.service, "review://latest").is_none());
}

#[tokio::test]
async fn without_a_token_the_known_words_are_said_and_the_advice_stands_beside_them() {
    let fixture = ServerFixture::new(false);
    let fault = fault(&fixture, "pr://a/b/1").await;
    assert_eq!(fault.to_string(), "Authentication failed");
    let ReadFault::Afar(fault) = fault else { panic!("{fault:?}") };
    assert!(fault.action.contains("GITHUB_TOKEN"), "{fault:?}");
}

#[test]
fn the_list_has_the_entry_that_clients_know() {
    let fixture = ServerFixture::new(false);
    let listed = list(&fixture.service).unwrap();
    let [entry] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((entry.uri.as_str(), entry.name.as_str()), ("pr://{owner}/{repo}/{pr}", "Pull Request Resource"));
    let words = "Dynamic PR resource with summary and metadata. Use pr://{owner}/{repo}/{pr} format.";
    assert_eq!((entry.description.as_str(), entry.mime), (words, "application/json"));
}

#[test]
fn a_change_reaches_every_uri_that_shows_it() {
    let fixture = ServerFixture::new(false);
    let id = PullId { repo: "octo/demo".parse().unwrap(), number: "7".parse().unwrap() };
    let of_pull = [
        "pr://Octo/demo/7",
        "pr://octo/demo/7/comments?cursor=x",
        "pr://octo/demo/7/files",
        "pr://octo/demo/7/threads/T",
    ];
    let others = ["pr://octo/demo/8", "pr://octo/demo", "pr://other/demo/7", "review://latest", "pr://x"];
    let watched: BTreeSet<String> = of_pull.iter().chain(&others).map(|uri| (*uri).to_owned()).collect();
    let told = |change| changed(&fixture.service, &change, &watched);
    assert_eq!(told(ChangeNotice::Pull(id.clone())), of_pull);
    assert_eq!(told(ChangeNotice::Pulls(id.repo)), ["pr://octo/demo"]);
    assert!(told(ChangeNotice::List).is_empty());
}
