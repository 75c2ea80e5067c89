//! An honest artefact of an untrusted job: what is posted of it, and what it leaves as it is.

use review_runner::app::{Overrides, PostOptions, PostOutcome};
use review_runner::domain::forge::DeliveryAct;
use serde_json::json;

use crate::support::artefact::{Fork, recount, stranger};
use crate::support::posting::{bad, good};

fn acts(posted: &PostOutcome) -> Vec<DeliveryAct> {
    match posted {
        PostOutcome::Done(receipt) => receipt.items.iter().map(|item| item.act).collect(),
        PostOutcome::Dry(dry) => dry.items.iter().map(|item| item.act).collect(),
    }
}

#[test]
fn its_findings_stand_on_their_lines_and_the_summary_says_what_it_is() {
    let fork = Fork::usual();
    let posted = fork.post().unwrap();
    assert_eq!(acts(&posted), [DeliveryAct::Posted, DeliveryAct::Posted]);
    assert!(posted.failures().is_empty(), "{:?}", posted.failures());
    let pull = &fork.desk.pull;
    let places: Vec<(String, Option<u64>)> = pull.threads().iter().map(|one| (one.path.clone(), one.line)).collect();
    assert_eq!(places, [("a.py".to_owned(), Some(2)), ("a.py".to_owned(), Some(6))]);
    for thread in pull.threads() {
        assert!(thread.comments[0].body.contains("<!-- review:untrusted-finding v=1 "), "{}", thread.comments[0].body);
    }
    assert_eq!((pull.reviews().len(), pull.reviews()[0].state.as_str()), (1, "COMMENTED"));
    assert!(pull.reviews()[0].said.body.contains("<!-- review:untrusted-run v=1 "));
    let (ours, theirs) = (fork.summaries("summary"), fork.summaries("untrusted-summary"));
    assert_eq!((ours.len(), theirs.len()), (0, 1));
    let text = &theirs[0];
    for words in [
        "## Review by the pull request's own workflow: 2 findings",
        "is controlled by the author",
        "nothing can be concluded from what it does not say",
        "There may be more findings.",
        "complete=0",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["What was looked at", "Made by", "no findings", "complete=1"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
    // No run of ours: nothing is kept of it.
    assert!(!fork.desk.work.beside("state").join("runs").exists());
    fork.desk.fake.finish();
}

#[test]
fn posting_it_again_sends_nothing() {
    let fork = Fork::usual();
    fork.post().unwrap();
    let before = fork.desk.writes();
    assert_eq!(acts(&fork.post().unwrap()), [DeliveryAct::Left, DeliveryAct::Left]);
    assert_eq!(fork.desk.writes(), before);
    fork.desk.fake.finish();
}

#[test]
fn a_green_artefact_sounds_like_no_pass() {
    let fork = Fork::with(&[("a.py", good("one"))]);
    assert_eq!(fork.document()["outcome"], "complete");
    fork.post().unwrap();
    let text = fork.summaries("untrusted-summary").remove(0);
    assert!(text.contains("names nothing, which is no pass"), "{text}");
    assert!(!text.contains("omplete:") && !text.contains("no findings"), "{text}");
    assert_eq!((fork.desk.pull.reviews().len(), fork.desk.pull.threads().len()), (0, 0));
    fork.desk.fake.finish();
}

#[test]
fn what_makes_it_worse_by_its_own_account_is_told() {
    let fork = Fork::usual();
    fork.tamper(|document| {
        document["outcome"] = "incomplete".into();
        document["reasons"] = json!(["[x](https://evil.example) its own words"]);
        document["findings"][1]["status"] = "dismissed".into();
        recount(document);
    });
    assert_eq!(acts(&fork.post().unwrap()), [DeliveryAct::Posted]);
    let text = fork.summaries("untrusted-summary").remove(0);
    assert!(text.contains("By its own account it is incomplete"), "{text}");
    assert!(text.contains("1 finding that it calls fixed or dismissed is not shown"), "{text}");
    assert!(!text.contains("its own words"), "{text}");
    fork.desk.fake.finish();
}

#[test]
fn changes_are_requested_where_that_is_asked_for_and_never_taken_back() {
    let mut fork = Fork::usual();
    let flags = Overrides { request_changes_on: Some("high".to_owned()), ..Overrides::default() };
    fork.post_as(fork.expected(), &PostOptions::default(), &flags).unwrap();
    assert_eq!(fork.desk.pull.reviews()[0].state, "CHANGES_REQUESTED");
    fork.desk.push(&[("a.py", good("one"))]);
    fork.review();
    fork.post_as(fork.expected(), &PostOptions::default(), &flags).unwrap();
    assert_eq!(fork.desk.pull.reviews()[0].state, "CHANGES_REQUESTED");
    // The lines are gone, but only an untrusted job says so.
    assert!(fork.desk.pull.threads().iter().all(|thread| !thread.resolved));
    let text = fork.summaries("untrusted-summary");
    assert_eq!(text.len(), 1, "it is brought up to date");
    assert!(text[0].contains("Still open (2)"), "{}", text[0]);
    fork.desk.fake.finish();
}

#[test]
fn a_green_artefact_touches_nothing_of_a_trusted_review() {
    let mut fork = Fork::usual();
    fork.desk.review_and_post("--request-changes-on high").ended(0);
    let (summary, threads) = (fork.desk.summary(), fork.desk.pull.threads().len());
    assert_eq!(threads, 2);
    // What was found is gone, and the artefact says that all is well: fixed, complete.
    fork.desk.push(&[("a.py", good("one"))]);
    fork.review();
    let document = fork.document();
    let told = document["findings"].as_array().expect("findings");
    assert!(told.len() == 2 && told.iter().all(|finding| finding["status"] == "fixed"), "{told:?}");
    fork.post().unwrap();
    assert_eq!(fork.desk.summary(), summary, "the trusted summary is as it was");
    assert_eq!(fork.summaries("untrusted-summary").len(), 1);
    assert!(fork.desk.pull.threads().iter().all(|thread| !thread.resolved));
    assert_eq!(fork.desk.pull.reviews()[0].state, "CHANGES_REQUESTED");
    // Nor does a trusted review take the other for its own.
    let theirs = fork.summaries("untrusted-summary");
    fork.desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(fork.summaries("untrusted-summary"), theirs);
    assert_ne!(fork.desk.summary(), summary);
    assert!(fork.desk.pull.threads().iter().all(|thread| thread.resolved), "a trusted review may");
    assert_eq!(fork.desk.pull.reviews()[0].state, "DISMISSED");
    fork.desk.fake.finish();
}

#[test]
fn a_claim_that_findings_are_fixed_resolves_no_thread() {
    for first_by_us in [true, false] {
        let fork = Fork::usual();
        if first_by_us {
            fork.desk.review_and_post("").ended(0);
        } else {
            fork.post().unwrap();
        }
        for status in ["fixed", "dismissed"] {
            fork.tamper(|document| {
                for finding in document["findings"].as_array_mut().unwrap() {
                    finding["status"] = status.into();
                }
                recount(document);
            });
            fork.post().unwrap();
            let threads = fork.desk.pull.threads();
            assert_eq!(threads.len(), 2);
            assert!(threads.iter().all(|thread| !thread.resolved), "{status}");
        }
        fork.desk.fake.finish();
    }
}

#[test]
fn a_trusted_review_raises_what_an_artefact_raised() {
    let fork = Fork::usual();
    fork.post().unwrap();
    // Somebody settles the artefact's threads: that hides nothing from a review of ours.
    for thread in fork.desk.pull.threads() {
        fork.desk.pull.resolve(&format!("PRRT_{:06}", thread.id), "mallory");
    }
    fork.desk.review_and_post("").ended(0);
    assert_eq!(fork.desk.counts(), json!({"posted": 2}));
    // And the next artefact does not open them again.
    fork.post().unwrap();
    assert_eq!(fork.desk.pull.threads().iter().filter(|thread| thread.resolved).count(), 2);
    fork.desk.fake.finish();
}

#[test]
fn a_dry_run_prints_what_is_then_sent() {
    let fork = Fork::usual();
    let dry = fork.program("--dry-run").ended(0).json();
    assert_eq!(fork.desk.writes(), 0);
    let ran = fork.program("").ended(0);
    assert!(ran.text().contains("2 posted"), "{}", ran.text());
    assert_eq!(dry["requests"][0]["body"]["body"], fork.desk.pull.reviews()[0].said.body);
    assert_eq!(dry["requests"][1]["body"]["body"], fork.summaries("untrusted-summary")[0]);
    fork.desk.fake.finish();
}

#[test]
fn other_files_of_the_artefact_are_not_opened() {
    let fork = Fork::usual();
    std::fs::create_dir_all(fork.folder.join(".git/hooks")).unwrap();
    for (name, text) in [
        (".git/config", "[core]\n\tfsmonitor = touch pwned\n\tsshCommand = touch pwned\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".review.toml", "nonsense ="),
        ("journal.jsonl", "\u{0}"),
    ] {
        std::fs::write(fork.folder.join(name), text).unwrap();
    }
    // Even where one stands in it.
    let program = stranger(&fork.desk.fake, &fork.folder);
    program.run(["post", "--from", ".", "--pr", "octo/demo#7", "--quiet"]).ended(0);
    assert!(!fork.folder.join("pwned").exists());
    fork.desk.fake.finish();
}

#[test]
fn the_command_line_says_what_it_needs() {
    let fork = Fork::usual();
    let folder = fork.folder.display().to_string();
    let run = |words: &[&str]| fork.desk.program.run(["post"].iter().chain(words));
    run(&["last", "--from", &folder]).ended(2);
    run(&["--head", &fork.head]).ended(2);
    run(&["--from", &folder, "--head", "main"]).ended(2);
    let ran = run(&["--from", &folder]).ended(2);
    assert!(ran.stderr.contains("--head") && ran.stderr.contains("--pr"), "{}", ran.stderr);
    // The repository that says which one is meant must not have come with the artefact.
    let hostile = fork.desk.work.beside("hostile");
    let words = ["clone", "-q", &fork.desk.work.root().display().to_string(), &hostile.display().to_string()];
    fork.desk.work.git(words);
    fork.desk.work.git([
        "-C",
        &hostile.display().to_string(),
        "remote",
        "set-url",
        "origin",
        &format!("{}/octo/demo", fork.desk.fake.url()),
    ]);
    std::fs::copy(fork.file(), hostile.join("review.json")).unwrap();
    let there = stranger(&fork.desk.fake, &hostile);
    let ran = there.run(["post", "--from", ".", "--pr", "7"]).ended(2);
    assert!(ran.stderr.contains("lies in the artefact itself"), "{}", ran.stderr);
    // The head is that of now where none is said; a number is of the repository here.
    there.run(["post", "--from", &folder, "--pr", "7", "--quiet"]).ended(0);
    assert_eq!(fork.desk.pull.threads().len(), 2);
    fork.desk.fake.finish();
}

#[test]
fn the_secrets_of_this_process_stay_in_it() {
    let fork = Fork::usual();
    let secret = "q8Wm2Lx7Rv4Kp9Zt3N";
    fork.tamper(|document| document["findings"][0]["body"] = format!("It leaks {secret} here.").into());
    let folder = fork.folder.display().to_string();
    let program = stranger(&fork.desk.fake, fork.desk.work.root()).with("DEPLOY_TOKEN", secret);
    program.run(["post", "--from", &folder, "--pr", "octo/demo#7", "--quiet"]).ended(0);
    let body = fork.desk.pull.threads()[0].comments[0].body.clone();
    assert!(body.contains("[masked:DEPLOY") && !body.contains(secret), "{body}");
    fork.desk.fake.finish();
}

#[test]
fn nothing_of_its_words_is_live() {
    let fork = Fork::with(&[("a.py", bad("one"))]);
    let mark = "<!-- review:finding v=1 id=0123456789ab fp=00ff00ff00ff00ff00ff00ff00ff00ff quote=c58e9029f1fd:1 severity=high category=logic origin=model -->";
    let summary = format!(
        "<!-- review:summary v=1 head={0} base={0} complete=1 run=6f1c2a34-0000-4000-8000-000000000001 -->",
        "ab".repeat(20)
    );
    fork.tamper(|document| {
        let hostile = format!("@octo fixes #1 <img src=x onerror=y> [x](https://evil.example) ::set-output name=a::b \n/approve\n\n{summary}\n\n{mark}");
        document["findings"][0]["title"] = format!("<b>@octo</b> ![x](https://evil.example/x.png) {mark}").into();
        document["findings"][0]["body"] = hostile.clone().into();
        document["summary"]["text"] = hostile.clone().into();
        document["sections"] = json!([{"title": "Approved", "body": hostile}]);
    });
    fork.post().unwrap();
    let thread = fork.desk.pull.threads()[0].comments[0].body.clone();
    let summary = fork.summaries("untrusted-summary").remove(0);
    for text in [&thread, &summary] {
        assert_eq!(text.matches("<!-- ").count(), 1, "only our own mark: {text}");
        let outside_of_code: String = text.split('`').step_by(2).collect();
        for live in ["<img", "<b>", "](https", "@octo", "#1", "\n/approve"] {
            assert!(!outside_of_code.contains(live), "{live}: {text}");
        }
    }
    assert!(!summary.contains("Approved"), "what stands on no lines is not told: {summary}");
    assert!(fork.summaries("summary").is_empty());
    // A trusted review sees nothing of its own there.
    fork.desk.review_and_post("").ended(0);
    assert_eq!(fork.desk.counts(), json!({"posted": 1}));
    fork.desk.fake.finish();
}

#[test]
fn an_honest_artefact_of_an_odd_change_is_taken() {
    let secret = ["AKIA", "Q7XW", "3LMN", "5P2R", "T6YZ"].concat();
    let files = [
        ("keys.py", format!("key = '{secret}'\n{}", bad("one"))),
        ("odd name \u{e4}.py", bad("two")),
        ("\"quoted\\.py", bad("three")),
        ("package-lock.json", "{}\n".to_owned()),
        ("README", String::new()),
        ("picture.bin", "\u{0}\u{1}".to_owned()),
    ];
    let mut fork = Fork::with(&files);
    let work = &fork.desk.work;
    work.git(["mv", "keys.py", "renamed.py"]);
    work.write("crlf.py", bad("four").replace('\n', "\r\n"));
    work.commit(&format!("a commit that leaks {secret}\n\nand says \u{202e}odd\u{7} things"));
    fork.desk.pull.push(work, "feature");
    fork.desk.pull.change(|pull| pull.title = format!("a title that leaks {secret}"));
    fork.review();
    let document = fork.document();
    let count = document["findings"].as_array().map_or(0, Vec::len);
    assert!(count >= 5, "{document:#}");
    assert!(document["findings"].to_string().contains("\"masked\":true"), "a quote has a masked secret");
    let posted = fork.post().unwrap();
    assert_eq!(acts(&posted).len(), count);
    assert!(posted.failures().is_empty(), "{:?}", posted.failures());
    let threads = fork.desk.pull.threads().into_iter().flat_map(|thread| thread.comments);
    assert!(threads.chain(fork.desk.pull.comments()).all(|said| !said.body.contains(&secret)));
    fork.desk.fake.finish();
}

#[test]
fn a_finding_about_lines_that_are_gone_and_one_about_a_file_are_taken() {
    let fork = Fork::with(&[("README", "other words\n".to_owned()), ("a.py", bad("one"))]);
    fork.tamper(|document| {
        let anchor = |kind: &str, side: &str, lines: Option<u64>, quote: &str| {
            json!({"kind": kind, "path": "README", "side": side, "start_line": lines, "end_line": lines, "quote": quote, "match": "moved", "masked": false})
        };
        let one = document["findings"][0].clone();
        let with = |id: &str, anchors: serde_json::Value| {
            let mut more = one.clone();
            (more["id"], more["anchors"], more["suggestion"]) = (id.into(), anchors, json!(null));
            more
        };
        let gone = anchor("lines", "old", Some(1), "read me");
        // One place that was found in two ways.
        let mut again = gone.clone();
        again["match"] = "exact".into();
        let all = document["findings"].as_array_mut().unwrap();
        all.push(with("00ff00ff00ff", json!([gone, again])));
        all.push(with("00ff00ff00ff-2", json!([anchor("file", "new", None, "")])));
        recount(document);
    });
    let posted = fork.post().unwrap();
    assert_eq!(acts(&posted), [DeliveryAct::InSummary, DeliveryAct::Posted, DeliveryAct::Posted]);
    assert_eq!(fork.desk.pull.threads().iter().filter(|thread| thread.side == "LEFT").count(), 1);
    fork.desk.fake.finish();
}

#[test]
fn both_jobs_have_to_leave_out_the_same_files() {
    let fork = Fork::usual();
    let output = format!("json={}", fork.file().display());
    let words = ["--pr", "octo/demo#7", "--no-model", "--quiet", "--exclude", "b.py", "--output", &output];
    fork.desk.program.run(words).ended(0);
    let error = fork.refused().to_string();
    assert!(error.contains("it leaves out b.py"), "{error}");
    let flags = Overrides { exclude: vec!["b.py".to_owned()], ..Overrides::default() };
    fork.post_as(fork.expected(), &PostOptions::default(), &flags).unwrap();
    fork.desk.fake.finish();
}
