//! The fake itself, as tests hold it. Main type: [`Fake`].

use std::collections::BTreeMap;
use std::sync::Arc;

use review_runner::domain::secret::Secret;
use review_runner::forge::{GitHub, GitHubOptions, Login};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::http::ServerAddress;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::bare::Bare;
use super::pull::NewPull;
use super::record::Recorder;
use super::server::{Shared, serve};
use super::trouble::{On, Script, Trouble};
use super::world::{App, RepoState, Rights, World};

/// The token that clients are given. No server would take it.
pub const TOKEN: &str = "ghp_testTokenOfNobody00000000000000001";

/// A fake GitHub on a port of its own.
pub struct Fake {
    pub(super) shared: Arc<Shared>,
    url: String,
    enterprise: bool,
    runtime: Option<Runtime>,
    // Last, so that it goes after the server.
    _folder: tempfile::TempDir,
}

impl Fake {
    /// Starts it; what it is asked is kept for the checks in `.ci`.
    pub fn start() -> Self {
        Self::with(Recorder::of_this_test(), false)
    }

    /// As [`start`](Self::start), with the addresses of an Enterprise server (`/api/v3`, `/api/graphql`).
    pub fn enterprise() -> Self {
        Self::with(Recorder::of_this_test(), true)
    }

    /// Starts it; nothing is kept. For requests that are wrong on purpose.
    pub fn unrecorded() -> Self {
        Self::with(Recorder::none(), false)
    }

    fn with(recorder: Recorder, enterprise: bool) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut world = World {
            url: url.clone(),
            folder: folder.path().canonicalize().expect("the temporary folder"),
            accounts: BTreeMap::new(),
            viewer: "review-app[bot]".to_owned(),
            token: TOKEN.to_owned(),
            rights: Rights { write: true, resolve: true, dismiss: true, read: true },
            app: App { id: 4711, installation: 815, lasts: 3600, tokens: Vec::new() },
            repos: Vec::new(),
            moved: BTreeMap::new(),
            most_comments: usize::MAX,
            script: Script::default(),
            wrong: Vec::new(),
            git: Vec::new(),
            files: BTreeMap::new(),
            asked: Vec::new(),
            enterprise,
            judged: false,
            last_id: 100,
            clock: 0,
        };
        world.account("review-app[bot]");
        let shared = Arc::new(Shared::new(world, recorder));
        serve(&runtime, listener, &shared);
        Self { shared, url, enterprise, runtime: Some(runtime), _folder: folder }
    }

    /// `http://127.0.0.1:port`: the address of pages and git.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of REST.
    pub fn api(&self) -> String {
        if self.enterprise { format!("{}/api/v3", self.url) } else { self.url.clone() }
    }

    /// The address of GraphQL.
    pub fn graphql(&self) -> String {
        if self.enterprise { format!("{}/api/graphql", self.url) } else { format!("{}/graphql", self.url) }
    }

    /// The variables that lead the program here.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GITHUB_API_URL", self.api()),
            ("GITHUB_GRAPHQL_URL", self.graphql()),
            ("GITHUB_SERVER_URL", self.url.clone()),
            ("GITHUB_TOKEN", self.shared.world().token.clone()),
        ]
    }

    /// A client that is signed in with the token.
    pub fn client(&self) -> GitHub {
        let token = self.shared.world().token.clone();
        self.client_as(Login::Token(Secret::new(token)), &Cancel::never())
    }

    /// A client.
    pub fn client_as(&self, login: Login, cancel: &Cancel) -> GitHub {
        let address = |text: &str| ServerAddress::parse(text).expect("an address");
        let options = GitHubOptions {
            api: address(&self.api()),
            graphql: address(&self.graphql()),
            server: address(&self.url),
            login,
            cancel: cancel.clone(),
            first_wait: std::time::Duration::from_millis(5),
        };
        GitHub::new(options).expect("a client")
    }

    /// A repository, made where there is none yet.
    pub fn repo(&self, owner: &str, name: &str) {
        let mut world = self.shared.world();
        if world.find(owner, name).is_none() {
            world.account(owner);
            let (id, bare) = (world.id(), Bare::new(world.folder.join(owner).join(format!("{name}.git"))));
            let (owner, name) = (owner.to_owned(), name.to_owned());
            world.repos.push(RepoState { id, owner, name, private: false, bare, pulls: Vec::new() });
        }
    }

    /// A pull request that is still to be opened; its repository is made where there is none.
    pub fn pull(&self, owner: &str, name: &str, number: u64) -> NewPull<'_> {
        self.repo(owner, name);
        NewPull::new(self, owner, name, number)
    }

    /// Makes a repository private.
    pub fn make_private(&self, owner: &str, name: &str) {
        self.change(|world| {
            let (at, _) = world.find(owner, name).expect("a repository");
            world.repos[at].private = true;
        });
    }

    /// Gives a repository another name; the old one leads there.
    pub fn rename(&self, owner: &str, name: &str, to: &str) {
        self.change(|world| {
            let (at, _) = world.find(owner, name).expect("a repository");
            let repo = &mut world.repos[at];
            let target = world.folder.join(owner).join(format!("{to}.git"));
            std::fs::rename(&repo.bare.0, &target).expect("a renamed folder");
            (repo.bare, repo.name) = (Bare(target), to.to_owned());
            world.moved.insert(format!("{owner}/{name}").to_lowercase(), repo.id);
        });
    }

    /// Whose token it is: an app's login ends with `[bot]`.
    pub fn set_viewer(&self, login: &str) {
        self.change(|world| {
            world.account(login);
            login.clone_into(&mut world.viewer);
        });
    }

    /// What an account is to every repository (`OWNER`, `MEMBER`, …).
    pub fn associate(&self, login: &str, association: &str) {
        self.change(|world| association.clone_into(&mut world.account(login).association));
    }

    /// Gives rights or takes them away.
    pub fn rights(&self, set: impl FnOnce(&mut Rights)) {
        set(&mut self.shared.world().rights);
    }

    /// Reviews with more comments fail with 502.
    pub fn most_comments(&self, most: usize) {
        self.shared.world().most_comments = most;
    }

    /// Changes anything at all.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.shared.world())
    }

    /// The next matching request goes wrong.
    pub fn fail_next(&self, on: On, trouble: Trouble) {
        self.fail_times(1, on, trouble);
    }

    /// So many matching requests go wrong.
    pub fn fail_times(&self, times: usize, on: On, trouble: Trouble) {
        self.shared.world().script.add(on, trouble, times);
    }

    /// Every matching request goes wrong from now on.
    pub fn fail_always(&self, on: On, trouble: Trouble) {
        self.fail_times(usize::MAX, on, trouble);
    }

    /// After so many more writes the secondary limit answers `refusals` writes.
    pub fn secondary_limit(&self, writes: usize, refusals: usize, retry_after: u64) {
        let mut world = self.shared.world();
        world.script.limit = Some((writes, refusals));
        world.script.retry_after = retry_after;
    }

    /// A login as the App, by its installation where `named`, else by that of the repository.
    pub fn app(&self, named: bool) -> Login {
        let world = self.shared.world();
        // Made for tests, and kept without its armour, so that nobody takes it for one that opens anything.
        let body = include_str!("../../../../fixtures/forge/app-key.b64");
        let key = Secret::new(format!("-----BEGIN {0}-----\n{body}-----END {0}-----\n", "RSA PRIVATE KEY"));
        Login::App { id: world.app.id, key, installation: named.then_some(world.app.installation) }
    }

    /// Requests of git so far: paths and queries.
    pub fn git_asked(&self) -> Vec<String> {
        self.shared.world().git.clone()
    }

    /// Requests of REST and GraphQL so far: methods, and paths with their queries.
    pub fn asked(&self) -> Vec<(String, String)> {
        self.answered().into_iter().map(|(method, target, _)| (method, target)).collect()
    }

    /// As [`asked`](Self::asked), with the status that each was answered with.
    pub fn answered(&self) -> Vec<(String, String, u16)> {
        self.shared.world().asked.clone()
    }

    /// Serves a file to whoever asks for it, as a release has them.
    pub fn serve(&self, path: &str, bytes: Vec<u8>) {
        self.shared.world().files.insert(path.to_owned(), bytes);
    }

    /// What was wrong with requests so far, which is then forgotten.
    pub fn take_wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.world().wrong)
    }

    /// Ends it, and panics when a request was not as it must be or a fault never came.
    #[track_caller]
    pub fn finish(self) {
        let verdict = self.verdict();
        self.shared.world().judged = true;
        assert!(verdict.is_empty(), "the fake GitHub:\n- {}", verdict.join("\n- "));
    }

    fn verdict(&self) -> Vec<String> {
        let world = self.shared.world();
        world.wrong.iter().cloned().chain(world.script.unused()).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        if !std::thread::panicking() && !self.shared.world().judged {
            let verdict = self.verdict();
            assert!(verdict.is_empty(), "the fake GitHub:\n- {}", verdict.join("\n- "));
        }
    }
}
