//! Fetching the commits of a pull request over HTTP, from inside the program.

use std::path::Path;
use std::time::Duration;

use review_runner::app::{
    AppError, Cancel, FetchedPull, ForgeEnvironment, ProcessEnv, ProviderEnvironment, fetch_pull,
};
use review_runner::git::{self, FetchError};
use review_runner::sys::process::Environment;

use crate::support::TestRepo;
use crate::support::github::Fake;

fn surroundings(work: &TestRepo) -> ProcessEnv {
    let programs = Environment::of_this_process().with("HOME", work.beside("home"));
    ProcessEnv {
        user_settings: None,
        environment: Vec::new(),
        providers: ProviderEnvironment::default(),
        forge: ForgeEnvironment::default().with_git(programs, work.beside("mirrors")),
        state: work.beside("state"),
        store: review_runner::app::Store::at(&work.beside("state")),
        parser: None,
    }
}

fn fetched(fake: &Fake, work: &TestRepo, ask: &str, folder: &Path) -> Result<FetchedPull, AppError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let cancel = Cancel::after(Duration::from_mins(1));
    runtime.block_on(fetch_pull(&ask.parse().unwrap(), folder, &fake.client(), &surroundings(work), &cancel))
}

/// A pull request of a branch with a long history, which it left long ago.
fn long(fake: &Fake) -> TestRepo {
    let work = TestRepo::new();
    work.write("a", "1\n").commit("begin");
    work.branch("feature").write("b", "1\n").commit("feature");
    work.git(["checkout", "-q", "main"]);
    for n in 0..70 {
        work.git(["commit", "-q", "--allow-empty", "-m", &format!("main {n}")]);
    }
    fake.pull("octo", "demo", 7).open(&work, "main", "feature");
    work
}

#[test]
fn a_mirror_grows_only_as_far_as_it_must() {
    let fake = Fake::unrecorded();
    let work = long(&fake);
    let first = fetched(&fake, &work, "octo/demo#7", work.root()).unwrap();
    assert_eq!(first.directory, git::mirror_path(&work.beside("mirrors"), fake.url(), &first.of.id.repo));
    let asked = fake.git_asked().len();
    let again = fetched(&fake, &work, "octo/demo#7", work.root()).unwrap();
    assert_eq!((again.base, again.head), (first.base, first.head));
    assert!(fake.git_asked().len() - asked < asked, "what is here is not brought again");
}

#[test]
fn a_head_that_moves_between_two_questions_is_asked_for_again() {
    let fake = Fake::unrecorded();
    let work = long(&fake);
    // The forge's pages still say the old head for a moment, and git has it no more.
    let pull = fake.pull("octo", "other", 3).open(&work, "main", "feature");
    let old = pull.state().head;
    work.git(["checkout", "-q", "-B", "feature", "main"]);
    work.write("c", "1\n").commit("again");
    pull.push(&work, "feature");
    pull.hide_commit(&old);
    pull.change(|state| state.head.clone_from(&old));
    let fault = fetched(&fake, &work, "octo/other#3", work.root()).unwrap_err();
    assert!(matches!(fault, AppError::Fetch(FetchError::HeadMoved { .. })), "{fault}");
    assert_eq!(fault.exit_code(), 3);
}

#[test]
fn two_fetches_into_one_mirror_do_not_collide() {
    let fake = Fake::unrecorded();
    let work = long(&fake);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| fetched(&fake, &work, "octo/demo#7", work.root()))).collect();
        for run in runs {
            run.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_token_that_may_not_read_is_told_so() {
    let fake = Fake::unrecorded();
    let work = long(&fake);
    let client = fake.client();
    fake.change(|world| world.repos[0].bare.0 = work.beside("gone.git"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let cancel = Cancel::after(Duration::from_mins(1));
    let ask = "octo/demo#7".parse().unwrap();
    // Its folder is still there under its name: away with it.
    let _ = std::fs::remove_dir_all(fake.change(|world| world.folder.join("octo/demo.git")));
    let fault = runtime.block_on(fetch_pull(&ask, work.root(), &client, &surroundings(&work), &cancel)).unwrap_err();
    assert!(matches!(fault, AppError::Fetch(FetchError::Access { with_login: true, .. })), "{fault}");
    assert_eq!(fault.exit_code(), 2);
}
