//! An artefact that somebody changed, or that is of something else: refused with its reason, and nothing is posted.

use review_runner::app::{AppError, ArtefactError, Overrides, PostOptions, UseCaseError as _};
use serde_json::{Value, json};

use crate::support::artefact::{Fork, finding, recount};
use crate::support::github::Fake;
use crate::support::posting::{bad, good};

fn fork() -> Fork {
    let text = format!("read me\n\nFirst words.\n\nSecond words.\n\n{}", good("readme"));
    Fork::on(Fake::unrecorded(), &[("README", text), ("a.py", format!("{}{}", bad("one"), bad("two")))])
}

/// Why it is refused after a change.
#[track_caller]
fn after(fork: &Fork, change: impl FnOnce(&mut Value)) -> ArtefactError {
    let kept = std::fs::read(fork.file()).unwrap();
    fork.tamper(change);
    let error = fork.refused();
    std::fs::write(fork.file(), kept).unwrap();
    error
}

fn key() -> String {
    ["AKIA", "Q7XW", "3LMN", "5P2R", "T6YZ"].concat()
}

#[test]
fn it_has_to_be_of_the_commit_that_the_run_was_of() {
    let fork = fork();
    let base = fork.document()["change"]["merge_base"].clone();
    let error = after(&fork, |document| document["change"]["head"] = base);
    assert!(matches!(error, ArtefactError::OtherHead { .. }), "{error}");
    assert!(error.to_string().contains(&fork.head), "{error}");
    let error = after(&fork, |document| document["change"]["head"] = Value::Null);
    assert!(matches!(error, ArtefactError::OtherHead { .. }), "{error}");
    // Even where it agrees with the pull request: the event counts.
    let mut expected = fork.expected();
    expected.head.clone_from(&review_runner::domain::id::CommitId("ab".repeat(20).parse().unwrap()));
    let error = fork.post_as(expected, &PostOptions::default(), &Overrides::default()).unwrap_err();
    assert!(matches!(error.of_use_case(), Some(ArtefactError::OtherHead { .. })) && error.exit_code() == 5, "{error}");
}

#[test]
fn it_has_to_be_of_the_pull_request_that_is_meant() {
    let fork = fork();
    let named = |owner: &str, repo: &str, number: u64| {
        let (owner, repo) = (owner.to_owned(), repo.to_owned());
        move |document: &mut Value| {
            let pull = &mut document["change"]["pull_request"];
            pull["url"] = format!("{}/{owner}/{repo}/pull/{number}", pull["server"].as_str().unwrap()).into();
            (pull["owner"], pull["repo"], pull["number"]) = (owner.into(), repo.into(), number.into());
        }
    };
    // The same number in another repository, also where that is there.
    let error = after(&fork, named("mallory", "demo", 7));
    assert!(
        matches!(error, ArtefactError::OtherPull { .. }) && error.to_string().contains("mallory/demo#7"),
        "{error}"
    );
    let error = after(&fork, |document| {
        named("octo", "demo", 7)(document);
        let pull = &mut document["change"]["pull_request"];
        (pull["server"], pull["url"]) = ("https://evil.example".into(), "https://evil.example/octo/demo/pull/7".into());
    });
    assert!(matches!(error, ArtefactError::OtherPull { .. }) && error.to_string().contains("evil.example"), "{error}");
    // Another pull request of the repository has another head.
    let work = &fork.desk.work;
    work.git(["checkout", "-q", "-b", "other", "main"]);
    work.write("c.py", bad("three")).commit("another change");
    let other = fork.desk.fake.pull("octo", "demo", 8).fork("mallory/demo").open(work, "main", "other");
    let error = after(&fork, named("octo", "demo", 8));
    assert!(matches!(error, ArtefactError::Superseded { .. }), "{error}");
    assert!(other.threads().is_empty() && other.comments().is_empty());
    // And where the event says which, no other is taken.
    let mut expected = fork.expected();
    expected.pull = Some(8);
    let error = fork.post_as(expected, &PostOptions::default(), &Overrides::default()).unwrap_err();
    assert!(matches!(error.of_use_case(), Some(ArtefactError::OtherPull { .. })), "{error}");
    // One that is not there.
    fork.tamper(named("octo", "demo", 99));
    assert!(matches!(fork.post().unwrap_err(), AppError::Forge(_)));
}

#[test]
fn nobody_says_which_pull_request() {
    let fork = fork();
    let error = after(&fork, |document| drop(document["change"].as_object_mut().unwrap().remove("pull_request")));
    assert_eq!(error, ArtefactError::NoPull);
}

#[test]
fn it_has_to_come_from_the_fork_that_the_run_was_of() {
    let fork = fork();
    fork.desk.pull.change(|pull| pull.head_repo = Some("eve/demo".to_owned()));
    fork.desk.fake.repo("eve", "demo");
    let error = fork.refused();
    assert!(matches!(error, ArtefactError::OtherPull { .. }) && error.to_string().contains("eve/demo"), "{error}");
    fork.desk.pull.change(|pull| pull.head_repo = None);
    let error = fork.refused();
    assert!(error.to_string().contains("a repository that is gone"), "{error}");
}

#[test]
fn a_head_that_moved_on_is_no_tampering() {
    let fork = fork();
    fork.desk.push(&[("b.py", good("more"))]);
    let error = fork.refused();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("the run for the new head posts its own review"), "{error}");
    let ran = fork.program("").ended(3);
    assert!(ran.stderr.contains("is at "), "{}", ran.stderr);
}

#[test]
fn a_pull_request_that_is_not_open_gets_nothing() {
    for (state, words) in [("CLOSED", "is closed"), ("MERGED", "is merged already")] {
        let fork = fork();
        fork.desk.pull.change(|pull| state.clone_into(&mut pull.state));
        let error = fork.refused();
        assert!(matches!(error, ArtefactError::Closed { .. }) && error.to_string().contains(words), "{error}");
        fork.program("").ended(5);
    }
}

#[test]
fn it_has_to_be_of_the_same_change() {
    let fork = fork();
    let change = |change: &dyn Fn(&mut Value)| after(&fork, |document| change(&mut document["change"])).to_string();
    let told = change(&|change| change["merge_base"] = "ab".repeat(20).into());
    assert!(told.contains("it begins at abababab"), "{told}");
    let told = change(&|change| change["target"] = "release".into());
    assert!(told.contains("compared with release, not with main"), "{told}");
    let told = change(&|change| change["files"][0]["path"] = "src/other.rs".into());
    assert!(told.contains("it names src/other.rs, which is not changed; it leaves out README"), "{told}");
    let told = change(&|change| drop(change["files"].as_array_mut().unwrap().pop()));
    assert!(told.contains("it leaves out a.py"), "{told}");
    let told = change(&|change| change["files"][1]["status"] = "modified".into());
    assert!(told.contains("it says that a.py changed otherwise"), "{told}");
    let told = change(&|change| {
        let first = change["files"][0].clone();
        change["files"].as_array_mut().unwrap().push(first);
    });
    assert!(told.contains("it names README twice"), "{told}");
    // The branch that it asks to be merged into was changed since.
    fork.desk.work.git(["branch", "release", "main"]);
    fork.desk.fake.pull("octo", "demo", 9).open(&fork.desk.work, "release", "feature");
    fork.desk.pull.change(|pull| "release".clone_into(&mut pull.base_ref));
    assert!(matches!(fork.refused(), ArtefactError::OtherChange { .. }));
}

#[test]
fn a_finding_has_to_stand_in_the_change() {
    let fork = fork();
    let told = |change: &dyn Fn(&mut Value)| {
        let error = after(&fork, |document| {
            change(finding(document, 1));
            recount(document);
        });
        assert!(matches!(error, ArtefactError::Unproven { .. }), "{error}");
        error.to_string()
    };
    let anchor = |path: &str, line: u64, quote: &str| json!({"kind": "lines", "path": path, "side": "new", "start_line": line, "end_line": line, "quote": quote, "match": "exact", "masked": false});
    // Outside of every hunk: the quote stands there, but nothing was changed.
    let text = told(&|finding| finding["anchors"][0] = anchor("README", 1, "read me"));
    assert!(text.contains("findings[1]: line 1 of README is not changed"), "{text}");
    // A file that is not changed at all, or not there.
    assert!(told(&|finding| finding["anchors"][0] = anchor("src/lib.rs", 1, "x")).contains("not a changed file"));
    // Another quote, another line, another side, more lines, a mask that is not there.
    assert!(
        told(&|finding| finding["anchors"][0]["quote"] = "    assert False, 'changed'".into())
            .contains("stands nowhere")
    );
    assert!(
        told(&|finding| finding["anchors"][0]["start_line"] = 5.into()).contains("anchors[0] is not what stands there")
    );
    assert!(
        told(&|finding| finding["anchors"][0] = anchor("a.py", 1, "    assert (done, 'one is not done')"))
            .contains("anchors[0]")
    );
    assert!(told(&|finding| finding["anchors"][0]["side"] = "old".into()).contains("anchors[0]"));
    assert!(told(&|finding| finding["anchors"][0]["masked"] = true.into()).contains("anchors[0]"));
    // The same words, but not as they stand there.
    assert!(
        told(&|finding| finding["anchors"][0]["quote"] =
            format!("{} ", finding["anchors"][0]["quote"].as_str().unwrap()).into())
        .contains("anchors[0]")
    );
    // Another place that proves nothing.
    let more = anchor("a.py", 1, "no such line");
    assert!(told(&|finding| finding["anchors"].as_array_mut().unwrap().push(more.clone())).contains("anchors[1]"));
    // A whole file is in the change or not.
    let whole = json!({"kind": "file", "path": "a.py", "side": "new", "start_line": null, "end_line": null, "quote": "x", "match": "exact", "masked": false});
    assert!(told(&|finding| finding["anchors"] = json!([whole])).contains("quotes something"));
    // All of them are named, and no honest finding is posted beside them.
    let error = after(&fork, |document| {
        for n in 0..2 {
            finding(document, n)["anchors"][0]["quote"] = "nothing like it".into();
        }
    });
    assert!(error.to_string().contains("findings[0]: ") && error.to_string().contains("findings[1]: "), "{error}");
}

#[test]
fn a_suggestion_has_to_apply_where_the_finding_stands() {
    let fork = fork();
    let with = |path: &str, line: u64, replacement: &str| {
        let one = json!({"path": path, "start_line": line, "end_line": line, "replacement": replacement});
        move |document: &mut Value| finding(document, 0)["suggestion"] = one
    };
    for (change, words) in [
        (with("a.py", 6, "    assert done"), "not about the lines"),
        (with("README", 2, "    assert done"), "not about the lines"),
        (with("a.py", 99, "    assert done"), "not about the lines"),
        (with("a.py", 2, "    assert (done, 'one is not done')"), "changes nothing"),
        (with("a.py", 2, "    # ... existing code ..."), "leaves out code"),
        (with("a.py", 2, "    assert (done"), "no longer parse"),
    ] {
        let error = after(&fork, change);
        assert!(
            matches!(error, ArtefactError::Unproven { .. }) && error.to_string().contains(words),
            "{words}: {error}"
        );
    }
    let error = after(&fork, with("a.py", 2, "    assert done\u{7}"));
    assert!(error.to_string().contains("control character"), "{error}");
    fork.tamper(with("a.py", 2, "    assert done, 'one is not done'"));
    fork.post().unwrap();
    let body = fork.desk.pull.threads()[0].comments[0].body.clone();
    assert!(body.contains("```suggestion\n    assert done, 'one is not done'\n```"), "{body}");
}

#[test]
fn no_path_leads_out_of_the_tree() {
    let fork = fork();
    let places = ["/findings/0/anchors/0/path", "/change/files/0/path", "/coverage/files/0/path"];
    for path in [
        "../a.py",
        "/etc/passwd",
        "a/../../b.py",
        "..",
        ".",
        "",
        ".git/config",
        "a/.GIT/hooks/pre-commit",
        "C:\\x",
        "..\\..\\a.py",
        "a\\..\\b",
        "./a.py",
        "a//a.py",
        "a.py/",
        "\"a\\303\"",
        "\"..\\057x\"",
        "a\u{0}b",
        "a.py\n",
        "a\u{202e}b",
    ] {
        for place in places {
            let error = after(&fork, |document| {
                *document.pointer_mut(place).unwrap() = path.into();
                if place.starts_with("/findings") {
                    recount(document);
                }
            });
            let is_no_place = matches!(error, ArtefactError::OtherChange { .. } | ArtefactError::Unproven { .. });
            assert!(is_no_place || matches!(error, ArtefactError::Document { .. }), "{path:?} in {place}: {error}");
        }
        let error = after(&fork, |document| {
            finding(document, 0)["suggestion"] =
                json!({"path": path, "start_line": 2, "end_line": 2, "replacement": "    assert done"});
        });
        assert!(matches!(error, ArtefactError::Document { .. } | ArtefactError::Unproven { .. }), "{path:?}: {error}");
    }
}

#[test]
fn a_secret_that_is_not_masked_is_refused_and_not_shown() {
    let fork = fork();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx8xK1mQ2nL7vR4tY9wZ3bC6d\nF5gH0jK8lM1nO4pQ7rS2tU5vX8yA1bD4eG7h\n-----END RSA PRIVATE KEY-----";
    let places = [
        "/findings/0/title",
        "/findings/0/body",
        "/findings/0/anchors/0/quote",
        "/summary/text",
        "/change/target",
        "/change/pull_request/title",
        "/coverage/files/0/reason",
        "/provenance/version",
        "/schema",
        "/id",
    ];
    for secret in [key(), token, pem.to_owned()] {
        for place in places {
            let error = after(&fork, |document| *document.pointer_mut(place).unwrap() = format!("see {secret}").into());
            let at = match &error {
                ArtefactError::Secret { at, .. } => at.clone(),
                other => panic!("{place}: {other}"),
            };
            assert_eq!(format!("/{}", at.replace(['.', '['], "/").replace(']', "")), place);
            assert!(!error.to_string().contains(&secret[5..18]), "{error}");
        }
    }
    let error = after(&fork, |document| document[key()] = 1.into());
    assert!(error.to_string().contains("the name of a field") && !error.to_string().contains(&key()), "{error}");
    fork.tamper(|document| finding(document, 0)["body"] = format!("see {}", key()).into());
    let ran = fork.program("").ended(5);
    assert!(ran.stderr.contains("unmasked secret") && !format!("{}{}", ran.stderr, ran.text()).contains(&key()[6..]));
}

#[test]
fn its_form_is_the_one_that_this_program_writes() {
    let fork = fork();
    let told = |change: &dyn Fn(&mut Value)| {
        let error = after(&fork, |document| change(document));
        assert!(matches!(error, ArtefactError::Document { .. }), "{error}");
        error.to_string()
    };
    assert!(told(&|document| document["approve"] = true.into()).contains("approve: there is no such field"));
    assert!(told(&|document| finding(document, 0)["resolve"] = true.into()).contains("findings[0].resolve"));
    assert!(told(&|document| document["schema"] = "review/2".into()).contains("review/2"));
    assert!(told(&|document| finding(document, 0)["severity"] = "blocker".into()).contains("unknown variant"));
    assert!(told(&|document| finding(document, 0)["title"] = "a\u{1b}]0;x\u{7}b".into()).contains("findings[0].title"));
    assert!(told(&|document| finding(document, 0)["title"] = "two\nlines".into()).contains("findings[0].title"));
    assert!(told(&|document| finding(document, 0)["body"] = "a\u{202e}b".into()).contains("findings[0].body"));
    assert!(told(&|document| finding(document, 0)["id"] = "latest".into()).contains("findings[0].id"));
    assert!(
        told(&|document| finding(document, 0)["fingerprint"] = "FF".repeat(16).into())
            .contains("findings[0].fingerprint")
    );
    assert!(
        told(&|document| document["findings"][1]["id"] = document["findings"][0]["id"].clone())
            .contains("has the same")
    );
    assert!(told(&|document| document["summary"]["unresolved"] = 0.into()).contains("summary.unresolved"));
    assert!(told(&|document| document["id"] = "last".into()).contains("not a run id"));

    let kept = std::fs::read_to_string(fork.file()).unwrap();
    for (text, words) in [
        (kept.replacen('{', "{\"schema\": \"review/1\",", 1), "a key twice"),
        (String::new(), "not JSON"),
        ("[".repeat(100_000), "recursion limit"),
        (kept.clone() + "{}", "trailing"),
        ("{}".to_owned(), "not a review document"),
    ] {
        std::fs::write(fork.file(), text).unwrap();
        let error = fork.refused().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    std::fs::write(fork.file(), b"\xff\xfe").unwrap();
    assert_eq!(fork.refused(), ArtefactError::NotText);
}

#[test]
fn it_is_bounded() {
    let fork = fork();
    let error = after(&fork, |document| finding(document, 0)["title"] = "x".repeat(1_001).into());
    assert!(
        matches!(error, ArtefactError::TooMuch { .. }) && error.to_string().contains("findings[0].title, at most 1000"),
        "{error}"
    );
    let error = after(&fork, |document| finding(document, 0)["body"] = "x".repeat(70_000).into());
    assert!(error.to_string().contains("70000 characters in findings[0].body"), "{error}");
    let error = after(&fork, |document| document["sections"] = vec![json!({"title": "t", "body": "b"}); 101].into());
    assert!(error.to_string().contains("101 sections"), "{error}");
    let error = after(&fork, |document| {
        let anchor = finding(document, 0)["anchors"][0].clone();
        finding(document, 0)["anchors"] = vec![anchor; 22].into();
    });
    assert!(error.to_string().contains("22 anchors"), "{error}");
    let error = after(&fork, |document| {
        let one = finding(document, 0).clone();
        document["findings"] = vec![one; 2_001].into();
        recount(document);
    });
    assert!(error.to_string().contains("2001 findings"), "{error}");
    let error = after(&fork, |document| finding(document, 0)["body"] = "x".repeat(9 << 20).into());
    assert!(matches!(error, ArtefactError::TooLarge { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn only_a_plain_file_is_read() {
    let fork = fork();
    let (file, elsewhere) = (fork.file(), fork.desk.work.beside("elsewhere.json"));
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let error = fork.refused();
    assert!(error.to_string().contains("a symbolic link"), "{error}");
    std::fs::remove_file(&file).unwrap();
    let error = fork.refused();
    assert!(matches!(error, ArtefactError::Missing { .. }) && error.to_string().contains("review.json"), "{error}");
    // One level below is not looked into.
    std::fs::create_dir(fork.folder.join("review")).unwrap();
    std::fs::copy(&elsewhere, fork.folder.join("review/review.json")).unwrap();
    assert!(matches!(fork.refused(), ArtefactError::Missing { .. }));
    fork.program("").ended(5);
}
