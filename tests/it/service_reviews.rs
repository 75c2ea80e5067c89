//! Reviews in the background of a server: started, waited for, stopped, joined, kept, and found again by repository.

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use review_runner::app::{
    AT_ONCE, ChangeNotice, FindFault, ForgeEnvironment, Overrides, ProcessEnv, ProviderEnvironment, ReviewListing,
    ReviewSnapshot, ReviewState, Service, ServiceOptions, StartFault, StartReview,
};
use review_runner::domain::finding::{FindingId, FindingStatus};
use review_runner::domain::review::{ReviewOutcome, StopReason};
use review_runner::domain::run::RunId;

use crate::support::TestRepo;
use crate::support::model::{KEY, Options, Server, Session, Wire};
use crate::support::session::{file, shop};

const LONG: Duration = Duration::from_mins(1);

/// Where runs are kept, and which model reviews.
struct Setup {
    state: tempfile::TempDir,
    environment: Vec<(String, String)>,
    model: Option<&'static str>,
    allow_write: bool,
}

impl Setup {
    fn new(model: &'static str) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        Self { state, environment: Vec::new(), model: Some(model), allow_write: false }
    }

    /// With a model that says what a session has.
    fn scripted(server: &Server) -> Self {
        let mut setup = Self::new("anthropic/scripted");
        setup.set("REVIEW_ANTHROPIC_BASE_URL", server.address());
        setup.set("REVIEW_ANTHROPIC_API_KEY", KEY);
        // A session is one conversation.
        setup.set("REVIEW_VERIFY", "none");
        setup
    }

    /// With a model that takes every request and never answers.
    fn silent(listener: &TcpListener) -> Self {
        let mut setup = Self::new("ollama/silent");
        setup.set("REVIEW_OLLAMA_BASE_URL", &format!("http://{}", listener.local_addr().expect("an address")));
        setup
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    fn serve(&self, folder: &Path) -> Arc<Service> {
        let around = ProcessEnv {
            user_settings: None,
            environment: self.environment.clone(),
            providers: ProviderEnvironment::default(),
            forge: ForgeEnvironment::default(),
            state: self.state.path().to_owned(),
            store: review_runner::app::Store::at(self.state.path()),
            parser: None,
        };
        let flags = Overrides { model: self.model.map(str::to_owned), ..Overrides::default() };
        let directory = folder.to_owned();
        let options = ServiceOptions { directory, roots: Vec::new(), flags, allow_write: self.allow_write, log: None };
        Arc::new(Service::open(options, around).expect("a service"))
    }
}

fn server(session: &str, name: &str) -> Server {
    let session = Session { name: name.to_owned(), ..Session::load(&file(session)) };
    let options = Options { wire: Some(Wire::Messages), ..Options::default() };
    // It brings a runtime of its own, which cannot be started from within another one.
    std::thread::spawn(move || Server::start(session, options)).join().expect("a server")
}

fn silence() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a port")
}

fn main_to_head() -> StartReview {
    StartReview { target: Some("main".to_owned()), ..StartReview::default() }
}

fn begin(service: &Arc<Service>, start: &StartReview) -> RunId {
    service.start_review(start).expect("it starts").id
}

async fn ended(service: &Service, id: RunId) -> ReviewSnapshot {
    let snapshot = service.wait_review(id, LONG, |_| {}).await.expect("it is known");
    assert!(snapshot.state.is_over(), "{snapshot:?}");
    snapshot
}

/// Waits until a review has a finding.
async fn found_one(service: &Service, id: RunId) {
    let look = async {
        loop {
            match service.snapshot(id).expect("it is known").state {
                ReviewState::Running(running) if running.total() > 0 => return,
                ReviewState::Running(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(LONG, look).await.expect("a finding");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_goes_on_in_the_background_until_it_is_kept() {
    let (repo, server) = (shop(), server("found", "service_found"));
    let service = Setup::scripted(&server).serve(repo.root());
    let mut changes = service.notifier().subscribe();
    let id = begin(&service, &main_to_head());
    let said = Mutex::new(Vec::new());
    let snapshot =
        service.wait_review(id, LONG, |line| said.lock().expect("lines").push(line)).await.expect("it is known");
    let ReviewState::Ended(ended) = &snapshot.state else { panic!("{snapshot:?}") };
    assert_eq!((ended.outcome, ended.interrupted), (ReviewOutcome::Complete, false));
    assert_eq!((&ended.not_kept, snapshot.folder.as_path()), (&None, repo.root()));
    assert!(!said.lock().expect("lines").is_empty());
    let review = service.review(id).expect("it is kept");
    assert_eq!((review.id, review.findings.len()), (id, 1));
    assert_eq!(review.provenance.model.as_deref(), Some("scripted"));
    let list = service.list_reviews().expect("a list");
    assert!(
        matches!(list.as_slice(), [ReviewListing::Kept(record)] if record.id == id && record.folder.as_deref() == Some(repo.root()))
    );
    let mut told = Vec::new();
    while told.iter().filter(|one| **one == ChangeNotice::List).count() < 2 {
        let change = tokio::time::timeout(LONG, changes.recv()).await.expect("in time").expect("a change");
        told.push(change.1);
    }
    assert_eq!(told.first(), Some(&ChangeNotice::List));
    assert_eq!(told[told.len() - 2..], [ChangeNotice::Review(id), ChangeNotice::List], "the end is always said");
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_keeps_what_was_found() {
    let (repo, server) = (shop(), server("found_then_hang", "service_stopped"));
    let service = Setup::scripted(&server).serve(repo.root());
    let id = begin(&service, &main_to_head());
    found_one(&service, id).await;
    // The model is asked again, and hangs.
    tokio::task::block_in_place(|| server.wait_for(2));
    assert!(service.stop_review(id));
    let snapshot = ended(&service, id).await;
    assert!(matches!(&snapshot.state, ReviewState::Ended(ended) if ended.interrupted), "{snapshot:?}");
    let review = service.review(id).expect("it is kept");
    assert_eq!(
        (review.ended, review.outcome, review.findings.len()),
        (StopReason::Interrupted, ReviewOutcome::Incomplete, 1)
    );
    assert!(!service.stop_review(id), "it ended");
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_keeps_what_was_found() {
    let (repo, server) = (shop(), server("found_then_hang", "service_shut_down"));
    let setup = Setup::scripted(&server);
    let service = setup.serve(repo.root());
    let id = begin(&service, &main_to_head());
    found_one(&service, id).await;
    // The model is asked again, and hangs.
    tokio::task::block_in_place(|| server.wait_for(2));
    service.shut_down(LONG).await;
    assert!(matches!(service.start_review(&main_to_head()), Err(StartFault::ShuttingDown)));
    drop(service);
    let review = setup.serve(repo.root()).review(id).expect("it is kept");
    assert_eq!((review.ended, review.findings.len()), (StopReason::Interrupted, 1));
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_question_is_joined_and_a_third_has_to_wait() {
    let (repo, listener) = (shop(), silence());
    let service = Setup::silent(&listener).serve(repo.root());
    let first = service.start_review(&main_to_head()).expect("it starts");
    let again =
        service.start_review(&StartReview { at: Some("feature".to_owned()), ..main_to_head() }).expect("it starts");
    assert_eq!((first.joined, again.joined, again.id), (false, true, first.id), "the same commits by another name");
    let second = begin(&service, &StartReview { at: Some("uncommitted".to_owned()), ..StartReview::default() });
    assert_eq!(AT_ONCE, 2);
    let third = service.start_review(&StartReview { rules_only: true, ..main_to_head() });
    match third {
        Err(StartFault::TooMany { mut ids }) => {
            ids.sort();
            let mut running = [first.id, second];
            running.sort();
            assert_eq!(ids, running);
        }
        other => panic!("{other:?}"),
    }
    assert!(service.stop_review(second));
    ended(&service, second).await;
    let by_rules = begin(&service, &StartReview { rules_only: true, ..main_to_head() });
    let snapshot = ended(&service, by_rules).await;
    assert!(
        matches!(&snapshot.state, ReviewState::Ended(ended) if ended.outcome == ReviewOutcome::Complete),
        "{snapshot:?}"
    );
    service.shut_down(LONG).await;
    assert!(service.snapshot(first.id).is_some_and(|snapshot| snapshot.state.is_over()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_question_is_told_at_once_and_with_the_settings_by_the_run() {
    let repo = shop();
    let service = Setup::new("anthropic/without-a-key").serve(repo.root());
    for (start, said) in [
        (StartReview { at: Some("nowhere".to_owned()), ..main_to_head() }, "unknown revision \"nowhere\""),
        (StartReview { at: Some("staged".to_owned()), ..main_to_head() }, "leave out the target"),
        (StartReview { repo: Some("..".to_owned()), ..main_to_head() }, "outside the folders"),
        (StartReview { repo: Some("missing".to_owned()), ..main_to_head() }, "missing"),
    ] {
        let fault = service.start_review(&start).expect_err("it does not start");
        assert!(fault.to_string().contains(said), "{fault}");
    }
    assert!(service.list_reviews().expect("a list").is_empty());
    let id = begin(&service, &main_to_head());
    let snapshot = ended(&service, id).await;
    let ReviewState::Failed { message, exit_code } = &snapshot.state else { panic!("{snapshot:?}") };
    assert!(message.contains("needs a key") && *exit_code == 2, "{exit_code}: {message}");
    assert!(matches!(service.list_reviews().expect("a list").as_slice(), [ReviewListing::Here(_)]));
    assert!(matches!(service.find_review(None, None), Err(FindFault::NoneOf(_))), "there is nothing to read of it");
    let by_rules = begin(&service, &StartReview { rules_only: true, ..main_to_head() });
    assert!(matches!(ended(&service, by_rules).await.state, ReviewState::Ended(_)), "no model is asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_review_is_that_of_a_repository_and_not_of_a_name() {
    let (one, two) = (shop(), shop());
    assert_eq!(one.root().file_name(), two.root().file_name(), "their names are the same");
    let setup = Setup::new("none");
    let (first, second) = (setup.serve(one.root()), setup.serve(two.root()));
    let of_one = begin(&first, &main_to_head());
    ended(&first, of_one).await;
    let of_two = begin(&second, &main_to_head());
    ended(&second, of_two).await;
    assert_eq!(first.find_review(None, None).expect("one"), of_one);
    assert_eq!(first.find_review(Some("last"), Some("src")).expect("a folder inside is the repository"), of_one);
    assert_eq!(second.find_review(None, None).expect("one"), of_two);
    let id = of_two.to_string();
    for given in [&id, &id[..13]] {
        assert!(matches!(first.find_review(Some(given), None), Err(FindFault::Unknown { .. })), "{given}");
    }
    assert_eq!(first.list_reviews().expect("a list").iter().map(ReviewListing::id).collect::<Vec<_>>(), [of_one]);
    // Where it is on this machine is said by the record alone.
    let run = setup.state.path().join("runs").join(&id);
    let holds =
        |name: &str| std::fs::read_to_string(run.join(name)).expect("a file").contains(two.root().to_str().unwrap());
    assert_eq!((holds("run.json"), holds("review.json"), holds("review.md")), (true, false, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_repository_has_reviews_too() {
    let repo = shop();
    let bare = repo.beside("bare.git");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().expect("a path")]);
    let service = Setup::new("none").serve(&bare);
    let id = begin(&service, &StartReview { at: Some("main..feature".to_owned()), ..StartReview::default() });
    ended(&service, id).await;
    assert_eq!(service.find_review(None, None).expect("it is found"), id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dismissed_finding_is_dismissed_in_everything_that_is_kept() {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    return items\n").commit("add a file");
    let mut setup = Setup::new("none");
    setup.allow_write = true;
    let service = setup.serve(repo.root());
    let id = begin(&service, &main_to_head());
    ended(&service, id).await;
    let finding = service.review(id).expect("it is kept").findings[0].id.clone();
    let secret = ["AKIA", "QWERTYUIOPASDFGH"].concat();
    service.dismiss(id, &finding, &format!("the list is meant to be shared, {secret}")).expect("it is dismissed");
    let read = |name: &str| {
        std::fs::read_to_string(setup.state.path().join("runs").join(id.to_string()).join(name)).expect("a file")
    };
    let review: serde_json::Value = serde_json::from_str(&read("review.json")).expect("JSON");
    let summary = &review["summary"];
    assert_eq!((&summary["total"], &summary["resolved"], &summary["unresolved"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!((&review["coverage"]["dismissed"], &summary["bySeverity"]), (&1.into(), &serde_json::json!({})));
    let note = review["coverage"]["notes"].to_string();
    assert!(note.contains("the list is meant to be shared") && !note.contains(&secret), "{note}");
    let markdown = read("review.md");
    assert!(markdown.contains("## Resolved\n\n- dismissed: ") && markdown.contains("meant to be shared"), "{markdown}");
    let list = service.list_reviews().expect("a list");
    assert!(
        matches!(&list[0], ReviewListing::Kept(record) if record.findings.is_empty() && record.folder.is_some()),
        "{list:?}"
    );
    assert_eq!(service.review(id).expect("it is kept").findings[0].status, FindingStatus::Dismissed);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_receives_the_code_is_named_where_nobody_asked_for_a_model() {
    let (repo, server) = (shop(), server("well", "service_found_key"));
    let mut setup = Setup::scripted(&server);
    setup.model = None;
    let service = setup.serve(repo.root());
    let id = begin(&service, &main_to_head());
    let snapshot = ended(&service, id).await;
    let ReviewState::Ended(run) = &snapshot.state else { panic!("{snapshot:?}") };
    assert!(run.warnings.iter().any(|line| line.contains("receives its code")), "{:?}", run.warnings);
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_cannot_be_kept_can_still_be_read() {
    let repo = shop();
    let mut setup = Setup::new("none");
    setup.allow_write = true;
    std::fs::write(setup.state.path().join("runs"), "a file where a folder should be").expect("a file");
    let service = setup.serve(repo.root());
    let id = begin(&service, &main_to_head());
    let snapshot = ended(&service, id).await;
    let ReviewState::Ended(run) = &snapshot.state else { panic!("{snapshot:?}") };
    assert!(run.not_kept.is_some());
    assert_eq!(service.review(id).expect("it is here").id, id);
    assert_eq!(service.find_review(None, None).expect("it is here"), id);
    let fault = service.dismiss(id, &FindingId("0".to_owned()), "because").expect_err("there is nothing to write to");
    assert!(!fault.to_string().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_that_ended_are_remembered() {
    let repo = shop();
    let service = Setup::new("anthropic/without-a-key").serve(repo.root());
    let mut ids = Vec::new();
    for _ in 0..40 {
        let id = begin(&service, &main_to_head());
        assert!(matches!(ended(&service, id).await.state, ReviewState::Failed { .. }));
        ids.push(id);
    }
    // The last one is counted a moment after it ended.
    let forgotten = |service: &Service| ids.iter().take_while(|id| service.snapshot(**id).is_none()).count();
    let wait = async {
        while forgotten(&service) < 8 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("the oldest are forgotten");
    assert_eq!(forgotten(&service), 8);
    assert!(ids[8..].iter().all(|id| service.snapshot(*id).is_some()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_several_repositories_asks_which_one() {
    let folder = TestRepo::folder_only();
    folder.git(["init", "-q", "-b", "main", "one"]);
    let service = Setup::new("none").serve(folder.root());
    let fault = service.start_review(&StartReview::default()).expect_err("there is none");
    assert!(fault.to_string().contains("name the folder of one as repo"), "{fault}");
    let fault = service.find_review(None, None).expect_err("there is none");
    assert!(fault.to_string().contains("name the folder of one as repo"), "{fault}");
    folder.write("one/a.py", "def add(item, items=[]):\n    return items\n");
    let start =
        StartReview { repo: Some("one".to_owned()), at: Some("uncommitted".to_owned()), ..StartReview::default() };
    let id = begin(&service, &start);
    ended(&service, id).await;
    assert_eq!(service.find_review(None, Some("one")).expect("it is found"), id);
    assert_eq!(service.list_reviews().expect("a list").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_git_file_leads_a_review_to_another_repository() {
    let (repo, other) = (shop(), TestRepo::new());
    other.write("secret.py", "SECRET = 1\n").commit("one");
    other.write("secret.py", "SECRET = 2\n").commit("two");
    let service = Setup::new("none").serve(repo.root());
    let git_dir = other.root().join(".git");
    repo.write("trap/.git", format!("gitdir: {}\n", git_dir.display()));
    let start = StartReview {
        repo: Some("trap".to_owned()),
        at: Some("HEAD~1..HEAD".to_owned()),
        rules_only: true,
        ..StartReview::default()
    };
    let fault = service.start_review(&start).expect_err("it lies outside");
    assert!(fault.to_string().contains("outside the folders"), "{fault}");
    let fault = service.find_review(None, Some("trap")).expect_err("it lies outside");
    assert!(fault.to_string().contains("outside the folders"), "{fault}");
}
