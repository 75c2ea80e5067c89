//! The client of GitHub when things go wrong: limits, gateways, broken connections, refusals, other servers, Apps.

use std::time::Duration;

use review_runner::domain::place::DiffSide;
use review_runner::domain::secret::Secret;
use review_runner::forge::{FaultKind, ForgeError, GitHub, Login};
use review_runner::sys::cancel::Cancel;
use serde_json::json;

use crate::github_client::{comment, review, run};
use crate::support::github::{Fake, On, Pull, Trouble, demo};

fn files(github: &GitHub, pull: &Pull) -> Result<usize, ForgeError> {
    run(github.files(&pull.id())).map(|(files, _)| files.len())
}

/// How many requests had a method, and a path that ends so.
fn count(fake: &Fake, method: &str, end: &str) -> usize {
    fake.asked()
        .iter()
        .filter(|one| one.0 == method && one.1.split('?').next().is_some_and(|path| path.ends_with(end)))
        .count()
}

#[test]
fn questions_are_asked_again_after_a_failure() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    for trouble in
        [Trouble::status(502), Trouble::status(503), Trouble::Drop, Trouble::secondary(Some(1)), Trouble::primary(0)]
    {
        fake.fail_next(On::rest("GET", "/files"), trouble.clone());
        assert_eq!(files(&github, &pull).unwrap(), 1, "{trouble:?}");
    }
    let told = Trouble::graphql("RATE_LIMITED", "You have exceeded a secondary rate limit.");
    let Trouble::Status(status, _, body) = told else { panic!("a status") };
    let told = Trouble::Status(status, vec![("retry-after".to_owned(), "0".to_owned())], body);
    for trouble in [Trouble::status(502), Trouble::Drop, Trouble::secondary(Some(0)), told] {
        fake.fail_next(On::graphql("PullRequest"), trouble.clone());
        run(github.pull(&pull.id())).unwrap_or_else(|error| panic!("{trouble:?}: {error:?}"));
    }
    fake.finish();
}

#[test]
fn a_limit_that_lasts_is_told_with_its_time() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.fail_next(On::rest("GET", "/files"), Trouble::primary(3000));
    let github = fake.client();
    let error = files(&github, &pull).unwrap_err();
    assert_eq!(error.kind, FaultKind::RateLimit);
    assert!(error.retry_after.is_some_and(|wait| wait > Duration::from_secs(2900)), "{error:?}");
    let before = fake.asked().len();
    assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::RateLimit);
    assert_eq!(fake.asked().len(), before, "nobody is asked before the limit ends");
    fake.finish();
}

#[test]
fn an_order_that_may_have_been_carried_out_is_not_given_twice() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    for (trouble, done) in
        [(Trouble::status(502), 0), (Trouble::Drop, 0), (Trouble::StatusAfter(502), 1), (Trouble::DropAfter, 2)]
    {
        fake.fail_next(On::rest("POST", "/issues/7/comments"), trouble.clone());
        let error = run(github.create_comment(&pull.id(), "Summary.")).unwrap_err();
        assert_eq!((error.kind, error.may_have_happened), (FaultKind::Network, true), "{trouble:?}: {error:?}");
        assert_eq!(pull.comments().len(), done, "{trouble:?}");
    }
    assert_eq!(count(&fake, "POST", "/comments"), 4, "each was sent once");
    fake.finish();
}

#[test]
fn a_lost_answer_to_a_review_is_not_a_second_review() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.fail_next(On::rest("POST", "/reviews"), Trouble::DropAfter);
    let asked = review(&pull, None, vec![comment((10, 10), DiffSide::New, "one")]);
    let error = run(fake.client().create_review(&pull.id(), &asked)).unwrap_err();
    assert!(error.may_have_happened, "{error:?}");
    assert_eq!((pull.reviews().len(), pull.threads().len()), (1, 1));
    fake.finish();
}

#[test]
fn an_order_that_a_limit_refused_is_given_again_when_it_ends() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.secondary_limit(1, 1, 1);
    let github = fake.client();
    run(github.create_comment(&pull.id(), "one")).unwrap();
    run(github.create_comment(&pull.id(), "two")).unwrap();
    assert_eq!(pull.comments().iter().map(|one| one.body.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(count(&fake, "POST", "/comments"), 3);
    fake.finish();
}

#[test]
fn an_order_that_does_no_harm_twice_is_given_again() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let node = pull.thread("eve", "a.txt", 10, "Hm.");
    fake.fail_next(On::graphql("resolveReviewThread"), Trouble::StatusAfter(502));
    run(fake.client().resolve(&node)).unwrap();
    assert!(pull.threads()[0].resolved);
    fake.finish();
}

#[test]
fn each_refusal_has_its_kind() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    for (status, kind) in [
        (401, FaultKind::Auth),
        (403, FaultKind::Permission),
        (404, FaultKind::NotFound),
        (409, FaultKind::Refused),
        (422, FaultKind::Refused),
    ] {
        fake.fail_next(On::rest("GET", "/files"), Trouble::status(status));
        let error = files(&github, &pull).unwrap_err();
        assert_eq!((error.kind, error.status, error.may_have_happened), (kind, Some(status), false), "{error:?}");
        assert!(!error.action.is_empty() && error.request_id.is_some(), "{error:?}");
    }
    for (word, kind) in [("FORBIDDEN", FaultKind::Permission), ("NOT_FOUND", FaultKind::NotFound)] {
        fake.fail_next(On::graphql("PullRequest"), Trouble::graphql(word, "Words of the forge."));
        assert_eq!(run(github.pull(&pull.id())).unwrap_err().kind, kind, "{word}");
    }
    fake.rights(|rights| rights.write = false);
    assert_eq!(run(github.create_comment(&pull.id(), "x")).unwrap_err().kind, FaultKind::Permission);
    fake.fail_next(On::rest("GET", "/files"), Trouble::Text(200, "<html>not JSON</html>".to_owned()));
    assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::Parse);
    let gone: review_runner::domain::forge::PullSpecifier = "octo/demo#99".parse().unwrap();
    let review_runner::domain::forge::PullSpecifier::Whole { id, .. } = gone else { panic!("a whole name") };
    assert_eq!(run(github.pull(&id)).unwrap_err().kind, FaultKind::NotFound);
    fake.finish();
}

#[test]
fn a_wrong_token_and_none_are_told_apart_from_what_is_not_there() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let wrong = fake.client_as(Login::Token(Secret::new("ghp_wrong000000000000000000000000000000")), &Cancel::never());
    assert_eq!(files(&wrong, &pull).unwrap_err().kind, FaultKind::Auth);
    assert_eq!(run(wrong.pull(&pull.id())).unwrap_err().kind, FaultKind::Auth);
    let nobody = fake.client_as(Login::None, &Cancel::never());
    assert_eq!(files(&nobody, &pull).unwrap(), 1);
    let before = fake.asked().len();
    assert_eq!(run(nobody.pull(&pull.id())).unwrap_err().kind, FaultKind::Auth);
    assert_eq!(run(nobody.create_comment(&pull.id(), "x")).unwrap_err().kind, FaultKind::Auth);
    assert_eq!(fake.asked().len(), before, "nobody asks where a token is needed");
    fake.make_private("octo", "demo");
    assert_eq!(files(&nobody, &pull).unwrap_err().kind, FaultKind::NotFound);
    fake.finish();
}

#[test]
fn a_renamed_repository_is_found_under_its_old_name() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let (old, github) = (pull.id(), fake.client());
    fake.rename("octo", "demo", "other");
    assert_eq!(run(github.files(&old)).unwrap().0.len(), 1);
    assert_eq!(run(github.pull(&old)).unwrap().id.repo.to_string(), "octo/other");
    run(github.create_comment(&old, "by its old name")).unwrap();
    assert_eq!(pull.comments().len(), 1);
    fake.finish();
}

#[test]
fn the_token_goes_to_no_other_server() {
    let (fake, other) = (Fake::start(), Fake::unrecorded());
    let (_work, pull) = demo(&fake);
    demo(&other);
    for status in [301, 302, 307, 308] {
        let to = format!("{}/repos/octo/demo/pulls/7/files", other.url());
        fake.fail_next(
            On::rest("GET", "/files"),
            Trouble::Status(status, vec![("location".to_owned(), to)], json!({})),
        );
        assert!(files(&fake.client(), &pull).is_err(), "{status}");
    }
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    fake.finish();
    other.finish();
}

#[test]
fn a_server_that_fails_again_and_again_is_left_alone() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    // A status that is not tried again by itself.
    fake.fail_times(5, On::rest("GET", "/files"), Trouble::status(501));
    for _ in 0..5 {
        assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::Network);
    }
    let before = fake.asked().len();
    assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::CircuitOpen);
    assert_eq!(run(github.clone().pull(&pull.id())).unwrap_err().kind, FaultKind::CircuitOpen, "a clone knows it too");
    assert_eq!(fake.asked().len(), before);
    assert_eq!(files(&fake.client(), &pull).unwrap(), 1, "another client does not");
    fake.finish();
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.fail_next(On::rest("GET", "/files"), Trouble::Huge(33 << 20));
    let error = files(&fake.client(), &pull).unwrap_err();
    assert_eq!(error.kind, FaultKind::Parse, "{error:?}");
    fake.finish();
}

#[test]
fn a_deadline_ends_what_is_never_answered() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.fail_next(On::rest("GET", "/files"), Trouble::Hang);
    let github = fake.client().within(&Cancel::after(Duration::from_secs(1)));
    assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::Stopped);
    fake.finish();
}

#[test]
fn an_app_speaks_by_its_installation() {
    for named in [true, false] {
        let fake = Fake::start();
        let (_work, pull) = demo(&fake);
        let github = fake.client_as(fake.app(named), &Cancel::never());
        run(github.pull(&pull.id())).unwrap();
        assert_eq!(files(&github, &pull).unwrap(), 1);
        run(github.create_comment(&pull.id(), "from the App")).unwrap();
        assert_eq!(pull.comments()[0].author.as_deref(), Some("review-app[bot]"));
        let viewer = run(github.viewer()).unwrap();
        assert_eq!((viewer.login.as_str(), viewer.is_bot), ("review-app", true));
        assert_eq!(count(&fake, "POST", "/access_tokens"), 1, "one token serves for an hour");
        assert_eq!(count(&fake, "GET", "/installation"), usize::from(!named));
        assert!(run(github.git_secret()).unwrap().unwrap().reveal().starts_with("basic "));
        fake.finish();
    }
}

#[test]
fn an_app_whose_token_ended_asks_for_another() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client_as(fake.app(true), &Cancel::never());
    assert_eq!(files(&github, &pull).unwrap(), 1);
    fake.change(|world| world.app.tokens.iter_mut().for_each(|token| token.1 = 0));
    assert_eq!(files(&github, &pull).unwrap_err().kind, FaultKind::Auth, "the old token is not known any more");
    assert_eq!(files(&github, &pull).unwrap(), 1);
    assert_eq!(count(&fake, "POST", "/access_tokens"), 2);
    fake.finish();
}

#[test]
fn an_app_that_has_one_installation_need_not_be_told_which() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let node = pull.thread("eve", "a.txt", 10, "Hm.");
    let github = fake.client_as(fake.app(false), &Cancel::never());
    assert_eq!(run(github.thread(&node)).unwrap().node, node);
    assert_eq!((count(&fake, "GET", "/app/installations"), count(&fake, "GET", "/installation")), (1, 0));
    let github = fake.client_as(fake.app(false), &Cancel::never()).about(&pull.id().repo);
    assert_eq!(run(github.thread(&node)).unwrap().node, node);
    assert_eq!((count(&fake, "GET", "/app/installations"), count(&fake, "GET", "/installation")), (1, 1));
    fake.finish();
}

#[test]
fn an_app_uses_no_token_that_is_about_to_end() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.change(|world| world.app.lasts = 50);
    let github = fake.client_as(fake.app(true), &Cancel::never());
    for _ in 0..2 {
        assert_eq!(files(&github, &pull).unwrap(), 1);
    }
    assert_eq!(count(&fake, "POST", "/access_tokens"), 2, "fifty seconds are not enough to rely on");
    fake.finish();
}

#[test]
fn an_enterprise_server_has_other_addresses() {
    let fake = Fake::enterprise();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    run(github.pull(&pull.id())).unwrap();
    assert_eq!(files(&github, &pull).unwrap(), 1);
    run(github.create_comment(&pull.id(), "there")).unwrap();
    assert_eq!(github.git_address(&pull.id().repo).reveal(), format!("{}/octo/demo.git", fake.url()));
    fake.finish();
}
