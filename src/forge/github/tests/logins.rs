//! Tests of logins: none, a token, an App.

use super::super::super::error::FaultKind;
use super::*;
use crate::domain::secret::Secret;

/// A key made for these tests; without its armour, so that nobody takes it for one that opens anything.
fn key() -> Secret {
    let body = include_str!("../../../../fixtures/forge/app-key.b64");
    Secret::new(format!("-----BEGIN {0}-----\n{body}-----END {0}-----\n", "RSA PRIVATE KEY"))
}

#[tokio::test]
async fn nobody_reads_public_data_over_rest_alone() {
    let server = MockServer::script(vec![MockReply::ok(&json!([]))]);
    let github = GitHub::new(server.options(Login::None)).unwrap();
    github.files(&id()).await.unwrap();
    assert_eq!(server.seen()[0].header("authorization"), None);
    for error in [github.pull(&id()).await.unwrap_err(), github.create_comment(&id(), "x").await.unwrap_err()] {
        assert_eq!(error.kind, FaultKind::Auth);
        assert!(error.action.contains("GITHUB_TOKEN"), "{error}");
    }
    assert!(github.git_secret().await.unwrap().is_none() && github.secrets().is_empty());
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn no_token_goes_out_without_encryption() {
    let mut options = MockServer::script(vec![]).options(Login::Token(Secret::new(TOKEN)));
    for take in [0, 1, 2] {
        let mut options = options.clone();
        let far = ServerAddress::parse("http://github.example").unwrap();
        match take {
            0 => options.api = far,
            1 => options.graphql = far,
            _ => options.server = far,
        }
        let error = GitHub::new(options).unwrap_err();
        assert_eq!(error.kind, FaultKind::Auth);
        assert!(error.message.contains("http://github.example"), "{error}");
    }
    options.api = ServerAddress::parse("http://user:hunter2@127.0.0.1").unwrap();
    let error = GitHub::new(options).unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn a_token_that_no_header_can_carry_is_refused() {
    for token in ["", " ", "a b", "a\nb", "gr\u{fc}n"] {
        let options = MockServer::script(vec![]).options(Login::Token(Secret::new(token)));
        assert_eq!(GitHub::new(options).unwrap_err().kind, FaultKind::Auth, "{token:?}");
    }
    let options = MockServer::script(vec![]).options(Login::Token(Secret::new(format!("{TOKEN}\n"))));
    assert!(GitHub::new(options).is_ok());
}

#[tokio::test]
async fn git_is_told_the_token_as_it_wants_it() {
    let github = MockServer::script(vec![]).github();
    let held = github.secrets();
    assert!(matches!(held.as_slice(), [token] if !token.reveal().is_empty()));
    let secret = github.git_secret().await.unwrap().unwrap();
    let encoded = secret.reveal().strip_prefix("basic ").unwrap();
    let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded).unwrap();
    assert_eq!(decoded, format!("x-access-token:{TOKEN}").into_bytes());
    assert!(github.git_address(&id().repo).reveal().ends_with("/octo-org/hello.world.git"));
}

#[tokio::test]
async fn the_viewer_is_known_without_what_one_interface_adds() {
    let viewer = json!({ "data": { "viewer": { "__typename": "User", "login": "github-actions[bot]" } } });
    let actor = MockServer::script(vec![MockReply::ok(&viewer)]).github().viewer().await.unwrap();
    assert_eq!((actor.login.as_str(), actor.is_bot), ("github-actions", true));
}

fn app_server() -> MockServer {
    MockServer::new(|seen, _| {
        let path = seen.line.split(' ').nth(1).unwrap_or_default();
        let login = seen.header("authorization").unwrap_or_default();
        let signed = login.starts_with("Bearer ey");
        match path {
            "/app" if signed => MockReply::ok(&json!({ "slug": "review-app" })),
            "/repos/octo-org/hello.world/installation" if signed => MockReply::ok(&json!({ "id": 42 })),
            "/app/installations" if signed => MockReply::ok(&json!([{ "id": 1 }, { "id": 2 }])),
            "/app/installations/42/access_tokens" if signed => {
                MockReply::new(201, &json!({ "token": "ghs_installation", "expires_at": "2999-01-01T01:00:00Z" }))
            }
            _ if login == "Bearer ghs_installation" => MockReply::ok(&json!([])),
            _ => MockReply::new(401, &json!({ "message": "Bad credentials" })),
        }
    })
}

fn app(installation: Option<u64>) -> Login {
    Login::App { id: 12, key: key(), installation }
}

#[tokio::test]
async fn an_app_asks_for_a_token_of_its_installation_once() {
    let server = app_server();
    let github = GitHub::new(server.options(app(None))).unwrap();
    github.files(&id()).await.unwrap();
    github.files(&id()).await.unwrap();
    assert_eq!(github.viewer().await.unwrap().login, "review-app");
    assert!(github.git_secret().await.unwrap().is_some(), "the installation that was used is the one that is meant");
    let files = "GET /repos/octo-org/hello.world/pulls/7/files?per_page=100&page=1";
    assert_eq!(
        server.lines(),
        [
            "GET /repos/octo-org/hello.world/installation",
            "POST /app/installations/42/access_tokens",
            files,
            files,
            "GET /app",
        ]
    );
    assert!(!format!("{github:?}").contains("ghs_"));
    let secrets = github.secrets();
    let holds = |text: &str| secrets.iter().any(|secret| secret.reveal().contains(text));
    assert!(holds("PRIVATE KEY") && holds("ghs_installation"), "what it was lent is to be told to nobody as well");
}

#[tokio::test]
async fn an_app_that_cannot_know_its_installation_says_how_to_name_it() {
    let server = app_server();
    let error = GitHub::new(server.options(app(None))).unwrap().git_secret().await.unwrap_err();
    assert!(error.action.contains("GITHUB_APP_INSTALLATION_ID"), "{error}");
    let github = GitHub::new(server.options(app(Some(42)))).unwrap();
    assert!(github.git_secret().await.unwrap().is_some());
    let github = GitHub::new(server.options(app(None))).unwrap().about(&id().repo);
    assert!(github.git_secret().await.unwrap().is_some(), "the repository tells which");
}

#[test]
fn a_key_with_its_line_ends_written_out_is_read() {
    let written = Secret::new(key().reveal().replace('\n', "\\n"));
    let server = MockServer::script(vec![]);
    let options = |key| server.options(Login::App { id: 1, key, installation: None });
    assert!(GitHub::new(options(written)).is_ok());
    let error = GitHub::new(options(Secret::new("nonsense"))).unwrap_err();
    assert_eq!(error.kind, FaultKind::Auth);
    assert!(!error.to_string().contains("nonsense"), "{error}");
}
