//! `review queue`, `review worker` and `review serve`: jobs that several workers share.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use serde_json::{Value, json};

use crate::support::github::Fake;
use crate::support::looks::session;
use crate::support::model::{Options, Server, Wire};
use crate::support::{Program, Ran, TestRepo};

const MODEL: &str = "--model anthropic/scripted";

/// A repository with `main` and branches of one commit each.
fn repository(branches: &[&str]) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    for (at, name) in branches.iter().enumerate() {
        repo.git(["checkout", "-q", "-b", name, "main"]);
        repo.write(format!("a{at}.py"), format!("def add{at}():\n    return 1\n")).commit(&format!("add {at}"));
    }
    repo.git(["checkout", "-q", "main"]);
    repo
}

fn program(repo: &TestRepo) -> Program {
    Program::in_folder(repo.root()).with("REVIEW_VERIFY", "none")
}

fn talking(repo: &TestRepo, server: &Server) -> Program {
    program(repo).with_all(server.environment(Wire::Messages))
}

fn hanging(name: &str) -> Server {
    hanging_at(name, "a1.py")
}

/// A model that lists the files, and then finishes; its second turn about this file hangs once.
fn hanging_at(name: &str, file: &str) -> Server {
    let finish =
        json!({ "name": "finish_review", "input": { "summary": "Read.", "no_findings_reason": "It was read." } });
    let read = json!({ "name": "list_files", "input": { "path": "." } });
    let begin = json!({ "when": { "turn": 0 }, "say": { "calls": [read] }, "reuse": true });
    let hang = json!({ "when": { "turn": 1, "user_contains": [file] }, "say": { "fault": "hang" } });
    let end = json!({ "when": { "turn": 1 }, "say": { "calls": [finish] }, "reuse": true });
    Server::start(session(name, &[begin, hang, end]), Options { wire: Some(Wire::Messages), ..Options::default() })
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn status(program: &Program) -> Value {
    program.run(words("queue status --format json")).ended(0).json()
}

/// The events of a worker's log.
fn events(ran: &Ran) -> Vec<Value> {
    ran.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn ends<'e>(events: &'e [Value], field: &str) -> Vec<&'e str> {
    let ended = events.iter().filter(|event| event["event"] == "ended");
    ended.map(|event| event[field].as_str().unwrap_or("-")).collect()
}

#[test]
fn jobs_are_added_once_reviewed_and_served_when_they_are_forced() {
    let repo = repository(&["a", "b"]);
    let program = program(&repo);
    let add = "queue add --all-branches --target main";
    let added = program.run(words(add)).ended(0);
    assert!(added.stderr.contains("added 3 jobs"), "{}", added.stderr);
    let again = program.run(words(add)).ended(0);
    assert!(again.stderr.contains("added 0 jobs; 3 were in the queue already"), "{}", again.stderr);
    let worker = "worker --no-model --until-empty --log json";
    let mut outcomes = events(&program.run(words(worker)).ended(0));
    outcomes.sort_by_key(|event| event["source"].to_string());
    assert_eq!(ends(&outcomes, "source"), ["reviewed", "reviewed", "-"], "the target itself is left out");
    program.run(words(&format!("{add} --force"))).ended(0);
    let mut served = events(&program.run(words(worker)).ended(0));
    served.sort_by_key(|event| event["source"].to_string());
    assert_eq!(ends(&served, "source"), ["unchanged", "unchanged", "-"]);
    let status = status(&program);
    assert_eq!(status["status"]["jobs"], json!({ "done": 6 }));
    assert!(program.run(["list"]).ended(0).text().to_owned().contains("main → a"));
}

#[test]
fn a_worker_that_is_killed_is_taken_over_where_it_was() {
    let repo = repository(&["a", "b"]);
    let server = hanging("queue_killed");
    let program = talking(&repo, &server);
    program.run(words("queue add b --target main --priority 1")).ended(0);
    program.run(words("queue add a --target main")).ended(0);
    let line = format!("worker {MODEL} --jobs 1 --until-empty --lease 3s --log json");
    let mut child = program.command(words(&line)).spawn().expect("the program starts");
    server.wait_for(2);
    child.kill().expect("it is killed");
    Ran::wait(child);
    let ended = events(&program.run(words(&line)).ended(0));
    assert_eq!(ends(&ended, "end"), ["done", "done"], "{ended:?}");
    let mut sources = ends(&ended, "source");
    sources.sort_unstable();
    assert_eq!(sources, ["resumed", "reviewed"]);
    assert_eq!(status(&program)["status"]["jobs"], json!({ "done": 2 }));
    assert_eq!(server.raw().len(), 2 + 1 + 2, "only the turn in flight is asked again");
}

#[test]
fn a_run_is_resumed_by_a_worker_that_has_the_repository_elsewhere() {
    let repo = repository(&["a"]);
    let server = hanging_at("queue_elsewhere", "a0.py");
    let program = talking(&repo, &server);
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().to_str().unwrap();
    repo.git(["clone", "-q", "--mirror", ".", &format!("{own}/first/demo")]);
    repo.git(["clone", "-q", "--mirror", ".", &format!("{own}/second/demo")]);
    program.run(words("queue add a --target main --repository demo")).ended(0);
    let line = |repos: &str| {
        format!("worker {MODEL} --jobs 1 --until-empty --lease 3s --log json --repos {own}/{repos} --timeout 5m")
    };
    let mut child = program.command(words(&line("first"))).spawn().expect("the program starts");
    server.wait_for(2);
    child.kill().expect("it is killed");
    Ran::wait(child);
    std::fs::remove_dir_all(format!("{own}/first")).unwrap();
    let ended = events(&program.run(words(&line("second"))).ended(0));
    assert_eq!(ends(&ended, "source"), ["resumed"], "{ended:?}");
}

#[test]
fn the_time_limit_of_a_worker_is_that_of_each_review_and_no_late_one_is_paid_again() {
    let repo = repository(&["a", "b"]);
    let server = hanging("queue_late");
    let program = talking(&repo, &server);
    program.run(words("queue add b --target main")).ended(0);
    let ran = program.run(words(&format!("worker {MODEL} --until-empty --timeout 8s --log json")));
    let ended = events(&ran);
    assert!(matches!(ends(&ended, "end")[..], ["done" | "dead"]), "{ended:?}");
    assert!(matches!(ends(&ended, "outcome")[..], ["incomplete" | "failed"]), "{ended:?}");
    let _ = server.verdict();
}

#[test]
fn what_cannot_be_reviewed_is_dead_with_its_reason_and_holds_nothing_up() {
    let repo = repository(&["a", "gone"]);
    let program = program(&repo);
    program.run(words("queue add a gone --target main")).ended(0);
    repo.git(["branch", "-q", "-D", "gone"]);
    let missing = program.run(words("queue add a missing* --target main")).ended(3);
    assert!(missing.stderr.contains("missing*: not added: no branch matches"), "{}", missing.stderr);
    program.run(words("worker --no-model --until-empty")).ended(1);
    let dead = program.run(words("queue status --state dead --format json")).ended(0).json();
    assert_eq!(dead["status"]["jobs"], json!({ "done": 1, "dead": 1 }));
    assert!(dead["jobs"][0]["reason"].as_str().unwrap().contains("gone"), "{dead}");
    let table = program.run(words("queue status")).ended(0).text().to_owned();
    assert!(table.starts_with("0 waiting, 0 running, 1 done, 1 dead, 0 canceled\n"), "{table}");
    repo.git(["branch", "gone", "a"]);
    let retried = program.run(words("queue retry")).ended(0);
    assert!(retried.stderr.contains("put 1 job back in the queue"), "{}", retried.stderr);
    program.run(words("worker --no-model --until-empty")).ended(0);
    let purged = program.run(words("queue purge --older-than 1ms")).ended(0);
    assert!(purged.stderr.contains("removed 2 jobs"), "{}", purged.stderr);
}

#[test]
fn a_drained_queue_gives_no_jobs_and_a_canceled_job_is_not_reviewed() {
    let repo = repository(&["a", "b"]);
    let program = program(&repo);
    program.run(words("queue add a b --target main")).ended(0);
    let first = status(&program)["jobs"][0]["id"].as_str().unwrap().to_owned();
    program.run(["queue", "cancel", &first]).ended(0);
    program.run(["queue", "cancel", &first]).ended(2);
    program.run(["queue", "cancel", "' or 1=1 --"]).ended(2);
    program.run(words("queue drain")).ended(0);
    assert_eq!(status(&program)["status"]["is_drained"], true);
    // It ends although a job waits: no worker may take it.
    let worker = program.run(words("worker --no-model --until-empty --log json")).ended(0);
    assert!(worker.stderr.contains("\"started\"") && !worker.stderr.contains("\"taken\""), "{}", worker.stderr);
    assert_eq!(status(&program)["status"]["jobs"], json!({ "waiting": 1, "canceled": 1 }));
    program.run(words("queue drain --off")).ended(0);
    program.run(words("worker --no-model --until-empty")).ended(0);
    assert_eq!(status(&program)["status"]["jobs"], json!({ "done": 1, "canceled": 1 }));
}

#[test]
fn a_target_that_moves_on_adds_no_jobs_and_a_merge_of_it_does() {
    let repo = repository(&["a", "b"]);
    let program = program(&repo);
    let add = |said: &str| {
        let ran = program.run(words("queue add a b --target main")).ended(0);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    };
    add("added 2 jobs");
    repo.write("more", "more\n").commit("more");
    add("added 0 jobs; 2 were in the queue already");
    repo.git(["checkout", "-q", "a"]);
    repo.git(["merge", "-q", "--no-edit", "main"]);
    add("added 1 job; 1 was in the queue already");
}

#[test]
fn a_branch_that_needs_no_review_is_no_error() {
    let repo = repository(&["a"]);
    let program = program(&repo);
    let ran = program.run(words("queue add --all-branches")).ended(0);
    assert!(ran.stderr.contains("main: left out: it is the target of the comparison"), "{}", ran.stderr);
    let line = format!("{}\ta\tmain\n", repo.root().display());
    let ran = program.fed("queue add --stdin", line.repeat(2).as_bytes()).ended(0);
    assert!(ran.stderr.contains("a: left out: it is listed twice"), "{}", ran.stderr);
}

#[test]
fn one_name_is_not_given_to_the_repositories_of_a_list() {
    let [one, other] = [(); 2].map(|()| repository(&["a"]));
    let program = program(&one);
    let [first, second] = [&one, &other].map(|repo| format!("{}\ta\tmain\n", repo.root().display()));
    for (line, list) in [
        ("queue add --stdin --repository demo", format!("{first}{second}")),
        ("queue add - --repository demo --shard 1/2", first.clone()),
    ] {
        let ran = program.fed(line, list.as_bytes()).ended(2);
        assert!(ran.stderr.contains("--repository names one repository"), "{}", ran.stderr);
    }
    assert_eq!(status(&program)["status"]["jobs"], json!({}));
    program.fed("queue add --stdin --repository demo", first.as_bytes()).ended(0);
    assert_eq!(status(&program)["jobs"][0]["name"], "demo a");
}

#[test]
fn an_address_that_is_no_queue_is_refused_without_its_password() {
    let repo = repository(&["a"]);
    let program = program(&repo).with("REVIEW_QUEUE", "mysql://ada:s3cret@db/reviews");
    for line in ["queue status", "queue add a --target main", "worker --no-model --until-empty"] {
        let ran = program.run(words(line)).ended(2);
        assert!(ran.stderr.contains("(--queue or REVIEW_QUEUE) names no database"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    program.with("REVIEW_QUEUE", " ").run(words("queue status")).ended(0);
}

#[test]
fn a_repository_outside_of_the_folder_is_dead() {
    let repo = repository(&["a"]);
    let program = program(&repo);
    program.run(words("queue add a --target main")).ended(0);
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().to_str().unwrap();
    program.run(["worker", "--no-model", "--until-empty", "--repos", folder]).ended(1);
    let reason = status(&program)["jobs"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("is not below the worker's --repos"), "{reason}");
}

/// A model that finishes each review at once.
fn finishing(name: &str) -> Server {
    let finish =
        json!({ "name": "finish_review", "input": { "summary": "Read.", "no_findings_reason": "It was read." } });
    // In whatever turn: one that was resumed for lack of budget has spoken before.
    let step = json!({ "say": { "calls": [finish] }, "reuse": true });
    Server::start(session(name, &[step]), Options { wire: Some(Wire::Messages), ..Options::default() })
}

#[test]
fn workers_share_the_budget_of_the_queue_and_leave_jobs_waiting() {
    let repo = repository(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    let server = finishing("queue_budget");
    let program = talking(&repo, &server);
    let worker = format!("worker {MODEL} --jobs 1 --until-empty --log json");
    program.run(words("queue add a --target main")).ended(0);
    program.run(words(&worker)).ended(0);
    let run = status(&program)["jobs"][0]["result"]["run"].as_str().expect("a run").to_owned();
    let shown = program.run(["show", &run, "--format", "json"]).ended(0).json();
    let one = shown["provenance"]["usage"]["input_tokens"].as_u64().expect("tokens");
    let (sent, limit) = (server.raw().len(), 4 * one + 30_000);
    program.run(words("queue add b c d e f g h i j --target main")).ended(0);
    program.run(words(&format!("queue limit --max-tokens {limit}"))).ended(0);
    // Three workers side by side, and one after them.
    let children: Vec<Child> = (0..3).map(|_| program.command(words(&worker)).spawn().expect("it starts")).collect();
    for child in children {
        Ran::wait(child);
    }
    let last = program.run(words(&worker)).ended(3);
    assert!(last.stderr.contains("the budget of the queue is used up: jobs are left waiting"), "{}", last.stderr);
    let all = (server.raw().len() - sent) as u64;
    assert!(all >= 1 && all * one <= limit, "{all} requests of {one} tokens were sent, of {limit}");
    let shown = status(&program);
    let (jobs, budget) = (&shown["status"]["jobs"], &shown["status"]["budget"]);
    assert!(jobs["waiting"].as_u64().is_some_and(|waiting| waiting > 0), "{shown}");
    assert!(jobs["dead"].is_null() && jobs["running"].is_null(), "{shown}");
    let spent = budget["spent"]["tokens"].as_u64().expect("tokens");
    assert!((1..=limit).contains(&spent), "{budget}");
    let table = program.run(words("queue status")).ended(0).text().to_owned();
    assert!(table.contains(&format!("of {limit} input tokens spent or reserved in total")), "{table}");
    program.run(words("queue limit --off")).ended(0);
    program.run(words(&worker)).ended(0);
    assert_eq!(status(&program)["status"]["jobs"], json!({ "done": 10 }));
    let _ = server.verdict();
}

#[test]
fn a_budget_in_money_needs_prices() {
    let repo = repository(&["a"]);
    let server = finishing("queue_prices");
    let program = talking(&repo, &server);
    program.run(words("queue add a --target main")).ended(0);
    program.run(words("queue limit --max-cost 5 --per day")).ended(0);
    let refused = program.run(words("worker --model anthropic/unheard-of --until-empty")).ended(2);
    assert!(refused.stderr.contains("price"), "{}", refused.stderr);
    assert_eq!(status(&program)["status"]["jobs"], json!({ "waiting": 1 }));
    for wrong in [
        "queue limit",
        "queue limit --off --max-cost 1",
        "queue limit --max-cost x",
        "queue limit --max-cost 1 --per week",
    ] {
        program.run(words(wrong)).ended(2);
    }
    let _ = server.verdict();
}

#[test]
fn repositories_below_an_address_are_fetched_when_something_is_missing() {
    let repo = repository(&["a"]);
    let served = tempfile::tempdir().unwrap();
    let bare = served.path().join("team/demo.git");
    let bare_text = bare.to_str().unwrap().to_owned();
    repo.git(["clone", "-q", "--bare", ".", &bare_text]);
    repo.git(["remote", "add", "server", &bare_text]);
    let empty = TestRepo::folder_only();
    let program = program(&empty);
    let url = format!("file://{}", served.path().display());
    let add = |name: &str| {
        program.run(["queue", "add", "--repos", &url, "--repository", name, "--all-branches", "--target", "main"])
    };
    add("team/demo").ended(0);
    for name in ["../demo", "/team/demo", "team//demo", "team/-x", "team/\u{7f}demo"] {
        assert!(add(name).ended(2).stderr.contains("is not the name of a repository"), "{name:?}");
    }
    let missing = add("team/none").ended(2);
    assert!(missing.stderr.contains("could not fetch the branches of team/none"), "{}", missing.stderr);
    let worker = ["worker", "--no-model", "--until-empty", "--log", "json", "--repos", &url];
    assert_eq!(ends(&events(&program.run(worker).ended(0)), "end"), ["done", "done"]);
    // A commit that the mirror does not have yet.
    repo.git(["checkout", "-q", "-b", "b", "main"]);
    repo.write("b.py", "def b():\n    return 1\n").commit("add b");
    repo.git(["push", "-q", "server", "b"]);
    add("team/demo").ended(0);
    let state = program.home("state/review/repositories");
    assert!(state.is_dir());
    std::fs::remove_dir_all(&state).unwrap();
    assert_eq!(ends(&events(&program.run(worker).ended(0)), "end"), ["done"], "the mirror is made again");
    std::fs::remove_dir_all(&bare).unwrap();
    program.run(["queue", "add", "--repository", "team/demo", "--repos", &url, "--all-branches", "--force"]).ended(2);
}

#[test]
fn a_schedule_of_pull_requests_needs_no_folder() {
    let fake = Fake::unrecorded();
    let work = repository(&["a", "b"]);
    fake.pull("octo", "demo", 7).title("Add a").body("").open(&work, "main", "a");
    fake.pull("octo", "demo", 8).title("Add b").body("").open(&work, "main", "b");
    let empty = TestRepo::folder_only();
    let program = program(&empty).with_all(fake.env());
    program.run(words("queue schedule add pulls --every 24h --prs open --repository octo/demo")).ended(0);
    let worker = ["worker", "--no-model", "--until-empty", "--log", "json", "--repos", fake.url()];
    let ran = program.run(worker).ended(0);
    assert_eq!(ends(&events(&ran), "end"), ["done", "done", "done"], "the schedule's own, and two: {}", ran.stderr);
    let jobs = status(&program)["jobs"].to_string();
    assert!(jobs.contains("#7 Add a") && jobs.contains("#8 Add b"), "{jobs}");
}

#[test]
fn a_schedule_adds_its_jobs_once_when_it_is_due() {
    let repo = repository(&["a", "b"]);
    let program = program(&repo);
    let add = "queue schedule add nightly --every 24h --all-branches --target main";
    program.run(words(add)).ended(0);
    let list = program.run(words("queue schedule list")).ended(0).text().to_owned();
    assert!(list.contains("nightly") && list.contains("now") && list.contains("all branches against main"), "{list}");
    for _ in 0..2 {
        program.run(words("worker --no-model --until-empty")).ended(0);
        assert_eq!(status(&program)["status"]["jobs"], json!({ "done": 4 }), "the schedule's own, and three");
    }
    let shown = status(&program);
    let own =
        shown["jobs"].as_array().unwrap().iter().find(|job| job["name"].as_str().unwrap().contains("schedule nightly"));
    assert_eq!(own.unwrap()["result"]["outcome"], "added 3, 0 were there", "{shown}");
    program.run(words(&format!("{add} --at 01:23"))).ended(0);
    assert!(!program.run(words("queue schedule list")).ended(0).text().contains("now"));
    for wrong in [
        "--every 5s --all-branches",
        "--every 24h --at 24:00 --all-branches",
        "--every 24h --each-commit a..b",
        "--every 24h",
    ] {
        program.run(words(&format!("queue schedule add x {wrong}"))).ended(2);
    }
    program.run(words("queue schedule add a/b --every 24h --all-branches")).ended(2);
    program.run(words("queue schedule remove nightly")).ended(0);
    program.run(words("queue schedule remove nightly")).ended(2);
}

#[test]
fn a_dead_provider_uses_up_no_attempts() {
    let names: Vec<String> = (0..7).map(|at| format!("b{at}")).collect();
    let repo = repository(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let refused = json!({ "fault": { "status": { "code": 401, "message": "no" } } });
    let steps = [json!({ "when": { "turn": 0 }, "say": refused, "reuse": true })];
    let server =
        Server::start(session("queue_dead", &steps), Options { wire: Some(Wire::Messages), ..Options::default() });
    let program = talking(&repo, &server);
    program.run(words("queue add b* --target main")).ended(0);
    let mut child = program.command(words(&format!("worker {MODEL} --jobs 1"))).spawn().expect("it starts");
    server.wait_for(8);
    child.kill().expect("it is killed");
    let ran = Ran::wait(child);
    assert!(ran.stderr.contains("the provider failed review after review: none is begun for"), "{}", ran.stderr);
    let shown = status(&program);
    let attempts: i64 = shown["jobs"].as_array().unwrap().iter().map(|job| job["attempts"].as_i64().unwrap()).sum();
    assert!(attempts <= 6, "those before the pause, and the one that was killed: {shown}");
    assert!(shown["status"]["jobs"]["dead"].is_null(), "{shown}");
}

/// A server of ours, killed when it is dropped.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    /// Starts it, and reads the address from the line that names it.
    fn start(program: &Program, line: &str) -> Self {
        let mut child = program.command(words(line)).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = lines.next().expect("it says where it serves").expect("a line");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().expect("an address").to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Sends a request, and returns the status and the body.
    fn send(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head =
            format!("{head}\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", self.address, body.len());
        stream.write_all(head.as_bytes()).expect("sent");
        // What is refused for its size is not read to its end.
        let _ = stream.write_all(body);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (code, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_worker_shows_its_numbers_without_names_of_others() {
    let repo = repository(&["a\"name"]);
    let program = program(&repo);
    program.run(words("queue add --all-branches --target main")).ended(0);
    let serving = Serving::start(&program, "worker --no-model --metrics 127.0.0.1:0");
    let text = loop {
        let (code, text) = serving.send("GET /metrics HTTP/1.1", b"");
        assert_eq!(code, 200, "{text}");
        if text.contains("review_queue_jobs{state=\"done\"} 2") {
            break text;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert!(text.contains("review_reviews_total{outcome=\"complete\",source=\"reviewed\"} 1"), "{text}");
    assert!(text.contains("review_seconds_count 1") && !text.contains("name"), "{text}");
    assert_eq!(serving.send("GET /healthz HTTP/1.1", b""), (200, "ok\n".to_owned()));
    assert_eq!(serving.send("GET /other HTTP/1.1", b"").0, 404);
}

#[test]
fn a_webhook_takes_signed_deliveries_of_its_repositories_only() {
    let repo = repository(&[]);
    let program = program(&repo).with("REVIEW_WEBHOOK_SECRET", "It's a Secret to Everybody");
    program.run(words("serve --listen 127.0.0.1:0")).ended(2);
    let serving = Serving::start(&program, "serve --listen 127.0.0.1:0 --repository octo/demo");
    let body = b"Hello, World!";
    let known = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let head = |event: &str, signature: &str| {
        format!(
            "POST /webhook HTTP/1.1\r\nX-GitHub-Delivery: 1\r\nX-GitHub-Event: {event}\r\nX-Hub-Signature-256: sha256={signature}"
        )
    };
    assert_eq!(serving.send(&head("ping", known), body).0, 200);
    assert_eq!(serving.send(&head("ping", known), b"Hello, world!").0, 401);
    assert_eq!(serving.send(&head("push", known), body).0, 400);
    assert_eq!(serving.send(&head("pull_request", known), body).0, 400, "it is no payload");
    assert_eq!(serving.send("POST /webhook HTTP/1.1", body).0, 401);
    assert_eq!(serving.send("GET /webhook HTTP/1.1", b"").0, 405);
    assert_eq!(serving.send(&head("ping", known), &vec![b'x'; 3 << 20]).0, 413);
    let mut silent = TcpStream::connect(&serving.address).expect("it listens");
    let head = format!("{}\r\nHost: x\r\nContent-Length: 9\r\n\r\n", head("ping", known));
    silent.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    silent.read_to_string(&mut answer).expect("it is not waited for");
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.ends_with("too large or incomplete\n"), "{answer}");
    assert_eq!(status(&program)["status"]["jobs"], json!({}));
}
