//! Fetches from repositories on the disk, and from servers that answer badly.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::steps::{self, Transport};
use super::*;
use crate::domain::forge::{PullId, PullNumber, PullState, RepoName};
use crate::sys::process::{Call, Program};
use crate::sys::repo::{Repo, object_id, raw_id};

/// A server's repository and a place for clones.
struct World {
    folder: tempfile::TempDir,
}

fn environment(home: &Path) -> Environment {
    let mut environment = Environment::of_this_process().with("HOME", home).without("XDG_CONFIG_HOME");
    for who in ["AUTHOR", "COMMITTER"] {
        environment =
            environment.with(&format!("GIT_{who}_NAME"), "Ada").with(&format!("GIT_{who}_EMAIL"), "a@b.invalid");
        environment = environment.with(&format!("GIT_{who}_DATE"), "2024-05-01T12:00:00+02:00");
    }
    environment.with("GIT_CONFIG_NOSYSTEM", "1")
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "server/o", "work"] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.git("", &["init", "-q", "--bare", "-b", "main", "server/o/r.git"]);
        world.git("", &["init", "-q", "-b", "main", "work"]);
        world.git("work", &["remote", "add", "server", &world.address()]);
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn address(&self) -> String {
        format!("file://{}", self.at("server/o/r.git").display())
    }

    /// Runs git by hand, below the folder of the world.
    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let git = Program::find("git", &Environment::of_this_process()).unwrap();
        let arguments = ["-c", "protocol.file.allow=always"].iter().chain(arguments).map(Into::into).collect();
        let (environment, directory) = (environment(&self.at("home")), self.at(folder));
        let call = Call { arguments, environment, directory, most: 1 << 20 };
        let ended = git.run(&call, &Cancel::never()).unwrap();
        assert!(ended.success, "{:?}: {}", call.arguments, String::from_utf8_lossy(&ended.errors));
        String::from_utf8(ended.output).unwrap().trim().to_owned()
    }

    fn commit(&self, subject: &str) -> CommitId {
        // By the library: some of these histories are long.
        let repo = git2::Repository::open(self.at("work")).unwrap();
        let who = git2::Signature::new("Ada", "a@b.invalid", &git2::Time::new(1_714_557_600, 120)).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let tree = repo.find_tree(repo.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let parents: Vec<_> = parent.iter().collect();
        CommitId(object_id(repo.commit(Some("HEAD"), &who, &who, subject, &tree, &parents).unwrap()))
    }

    /// A branch `main` of so many commits, and a pull request of two that leaves it so many commits before its tip.
    fn pull(&self, length: usize, behind: usize) -> (PullRequest, CommitId) {
        for n in 0..length - behind {
            self.commit(&format!("main {n}"));
        }
        let met = self.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
        self.git("work", &["branch", "topic"]);
        for n in 0..behind {
            self.commit(&format!("later {n}"));
        }
        let base = self.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
        self.git("work", &["checkout", "-q", "topic"]);
        self.commit("topic 1");
        let head = self.commit("topic 2");
        self.git("work", &["push", "-q", "server", "main", "topic:refs/pull/7/head"]);
        self.git("work", &["checkout", "-q", "main"]);
        (pull(base, head), met)
    }

    fn job(&self, place: Place) -> FetchJob {
        FetchJob {
            place,
            mirrors: self.at("cache/mirrors"),
            server: format!("file://{}", self.at("server").display()),
            address: self.address(),
            authorization: None,
            environment: environment(&self.at("home")),
        }
    }

    fn here(&self, clone: &str) -> FetchJob {
        let folder = Repo::open(&self.at(clone)).unwrap().git_dir().to_owned();
        self.job(Place::Here { folder, ssh: None })
    }

    /// All of a git folder but its objects and where its history is cut.
    fn kept(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.at(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if path.file_name().is_none_or(|name| name != "objects") {
                        folders.push(path);
                    }
                } else if path.file_name().is_none_or(|name| name != "shallow") {
                    found.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    /// A program that leaves a trace when somebody runs it.
    fn canary(&self) -> PathBuf {
        let path = self.at("canary");
        std::fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", self.at("sung").display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn pull(base: CommitId, head: CommitId) -> PullRequest {
    PullRequest {
        id: PullId { repo: RepoName::new("o", "r").unwrap(), number: PullNumber::new(7).unwrap() },
        node: "PR_7".to_owned(),
        url: "https://forge.invalid/o/r/pull/7".to_owned(),
        title: String::new(),
        body: String::new(),
        state: PullState::Open,
        is_draft: false,
        author: None,
        association: "NONE".to_owned(),
        head_ref: "topic".to_owned(),
        base_ref: "main".to_owned(),
        head,
        base,
        head_repo: None,
        mergeable: None,
        review_decision: None,
        created_at: String::new(),
        updated_at: String::new(),
        additions: 0,
        deletions: 0,
        changed_files: 0,
    }
}

fn run(job: &FetchJob, pull: &PullRequest) -> Result<FetchedCommits, FetchError> {
    steps::fetch(job, pull, Transport::File, &Cancel::after(Duration::from_mins(1)))
}

fn merge_base(fetched: &FetchedCommits) -> CommitId {
    let repo = Repo::open(&fetched.directory).unwrap();
    CommitId(object_id(repo.raw().merge_base(raw_id(fetched.base.0), raw_id(fetched.head.0)).unwrap()))
}

#[test]
fn a_whole_clone_gets_the_objects_and_nothing_else() {
    for bare in [false, true] {
        let world = World::new();
        let (pull, met) = world.pull(6, 2);
        let kind: &[&str] = if bare { &["--bare"] } else { &[] };
        world.git("", &[&["clone", "-q"], kind, &[&world.address(), "clone"]].concat());
        let newer = world.commit("newer");
        world.git("work", &["push", "-q", "server", "main"]);
        let git = if bare { "clone" } else { "clone/.git" };
        let before = world.kept(git);
        let fetched = run(&world.here("clone"), &pull).unwrap();
        assert_eq!((fetched.base, fetched.head, merge_base(&fetched)), (newer, pull.head, met));
        assert_eq!(fetched.directory, world.at("clone/"));
        assert_eq!(world.kept(git), before, "no reference, setting or file is written");
        assert!(!world.at(git).join("shallow").exists());
        assert_eq!(run(&world.here("clone"), &pull).unwrap(), fetched, "and once more");
    }
}

#[test]
fn a_linked_worktree_is_a_place_too() {
    let world = World::new();
    let (pull, met) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    world.git("clone", &["worktree", "add", "-q", "../linked", "-b", "other"]);
    let before = world.kept("clone/.git");
    let fetched = run(&world.here("linked"), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert_eq!(fetched.directory, world.at("linked/"));
    assert_eq!(world.kept("clone/.git"), before);
}

#[test]
fn a_cut_history_is_deepened_until_both_meet() {
    // What is needed: the first step, the second one, all of it.
    for (length, behind, whole) in [(80, 5, false), (400, 120, false), (1300, 1250, true)] {
        let world = World::new();
        let (pull, met) = world.pull(length, behind);
        world.git("", &["clone", "-q", "--depth=1", &world.address(), "clone"]);
        let before = world.kept("clone/.git");
        let fetched = run(&world.here("clone"), &pull).unwrap();
        assert_eq!(merge_base(&fetched), met, "{length}");
        assert_eq!(world.kept("clone/.git"), before);
        assert_eq!(world.at("clone/.git/shallow").exists(), !whole, "{length}");
        world.git("clone", &["fsck", "--connectivity-only"]);
        world.git("clone", &["log", "--oneline", &pull.head.to_string()]);
    }
}

#[test]
fn what_a_cut_clone_has_seen_is_not_hidden_from_it() {
    let world = World::new();
    let (pull, met) = world.pull(300, 3);
    world.git("", &["clone", "-q", "--depth=120", &world.address(), "clone"]);
    let count = || world.git("clone", &["rev-list", "--count", "HEAD"]).parse::<u32>().unwrap();
    assert_eq!(count(), 120);
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert_eq!(count(), 120);
    world.git("clone", &["fsck", "--connectivity-only"]);
}

#[test]
fn a_way_that_is_hidden_does_not_lead_to_a_wrong_merge_base() {
    let world = World::new();
    world.commit("x");
    world.git("work", &["branch", "side"]);
    let met = world.commit("y");
    world.git("work", &["branch", "topic"]);
    for n in 0..70 {
        world.commit(&format!("main {n}"));
    }
    world.git("work", &["checkout", "-q", "side"]);
    world.commit("side");
    world.git("work", &["checkout", "-q", "main"]);
    world.git("work", &["merge", "-q", "--no-edit", "side"]);
    let base = world.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
    world.git("work", &["checkout", "-q", "topic"]);
    let head = world.commit("topic");
    world.git("work", &["push", "-q", "server", "main", "topic:refs/pull/7/head"]);
    // At a depth of 50 the two meet in x, through the side.
    let fetched = run(&world.job(Place::Mirror), &pull(base, head)).unwrap();
    assert_eq!(merge_base(&fetched), met);
}

#[test]
fn outside_a_repository_a_mirror_is_made_and_used_again() {
    let world = World::new();
    let (mut pull, met) = world.pull(300, 3);
    let fetched = run(&world.job(Place::Mirror), &pull).unwrap();
    let mirror = mirror_path(&world.at("cache/mirrors"), "", &pull.id.repo);
    assert_eq!((&fetched.directory, merge_base(&fetched)), (&mirror, met));
    let about = std::fs::metadata(&mirror).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o700);
    assert!(mirror.join("shallow").exists(), "its history is cut");
    let count = || world.git("", &["--git-dir", mirror.to_str().unwrap(), "count-objects", "-v"]);
    let before = count();
    assert_eq!(run(&world.job(Place::Mirror), &pull).unwrap(), fetched);
    assert_eq!(count(), before, "nothing was new");

    world.git("work", &["checkout", "-q", "topic"]);
    pull.head = world.commit("topic 3");
    world.git("work", &["push", "-q", "server", "topic:refs/pull/7/head"]);
    let again = run(&world.job(Place::Mirror), &pull).unwrap();
    assert_eq!((again.head, merge_base(&again)), (pull.head, met));
    let kept = world.git("", &["--git-dir", mirror.to_str().unwrap(), "for-each-ref", "--format=%(refname)"]);
    assert_eq!(kept, "refs/pull/7/base\nrefs/pull/7/head");
}

#[test]
fn a_broken_mirror_is_made_anew() {
    let world = World::new();
    let (pull, met) = world.pull(4, 1);
    let mirror = mirror_path(&world.at("cache/mirrors"), "", &pull.id.repo);
    std::fs::create_dir_all(&mirror).unwrap();
    std::fs::write(mirror.join("rubbish"), "x").unwrap();
    let fetched = run(&world.job(Place::Mirror), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    let canary = world.canary();
    std::fs::write(mirror.join("config"), format!("[core]\n\tfsmonitor = {}\n\tbare = true\n", canary.display()))
        .unwrap();
    std::fs::remove_dir_all(mirror.join("objects")).unwrap();
    let fetched = run(&world.job(Place::Mirror), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert!(!std::fs::read_to_string(mirror.join("config")).unwrap().contains("canary"));
}

#[test]
fn a_head_that_was_replaced_is_told() {
    let world = World::new();
    let (mut pull, _) = world.pull(4, 1);
    let real = pull.head;
    pull.head = CommitId("1111111111111111111111111111111111111111".parse().unwrap());
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    for job in [world.here("clone"), world.job(Place::Mirror)] {
        match run(&job, &pull) {
            Err(FetchError::HeadMoved { now, .. }) => assert_eq!(now, real),
            other => panic!("{other:?}"),
        }
    }
    pull.id.number = PullNumber::new(8).unwrap();
    let fault = run(&world.here("clone"), &pull).unwrap_err();
    assert!(matches!(fault, FetchError::NoCommit { what: "head", .. }), "{fault}");
}

#[test]
fn a_force_push_brings_the_new_head() {
    let world = World::new();
    let (mut pull, met) = world.pull(4, 1);
    run(&world.job(Place::Mirror), &pull).unwrap();
    world.git("work", &["checkout", "-q", "-B", "topic", &met.to_string()]);
    pull.head = world.commit("another");
    world.git("work", &["push", "-q", "-f", "server", "topic:refs/pull/7/head"]);
    let fetched = run(&world.job(Place::Mirror), &pull).unwrap();
    assert_eq!((fetched.head, merge_base(&fetched)), (pull.head, met));
}

#[test]
fn a_base_branch_that_is_gone_is_said() {
    let world = World::new();
    let (mut pull, met) = world.pull(4, 1);
    pull.base_ref = "release".to_owned();
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!((fetched.base, merge_base(&fetched), fetched.notices.len()), (pull.base, met, 1));
    for name in ["--upload-pack=x", "a b", "x:refs/heads/y", "*", "../x"] {
        pull.base_ref = name.to_owned();
        assert_eq!(run(&world.here("clone"), &pull).unwrap().base, pull.base, "{name}");
    }
}

#[test]
fn what_was_merged_is_compared_with_what_the_forge_remembers() {
    let world = World::new();
    let (mut pull, met) = world.pull(4, 1);
    world.git("work", &["merge", "-q", "--no-edit", "topic"]);
    world.git("work", &["push", "-q", "server", "main"]);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    pull.state = PullState::Merged;
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!((fetched.base, merge_base(&fetched)), (pull.base, met));
}

#[test]
fn nothing_that_any_settings_name_is_run() {
    let world = World::new();
    let (pull, met) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let canary = world.canary();
    let canary = canary.display();
    let evil = format!(
        "[core]\n\tfsmonitor = {canary}\n\thooksPath = {hooks}\n\tsshCommand = {canary}\n\taskPass = {canary}\n\tgitProxy = {canary}\n\
         \talternateRefsCommand = {canary}\n[credential]\n\thelper = {canary}\n[url \"ext::{canary} \"]\n\tinsteadOf = file://\n\
         [protocol]\n\tallow = always\n[remote \"origin\"]\n\tuploadpack = {canary}\n[uploadpack]\n\tpackObjectsHook = {canary}\n\
         [gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n[alias]\n\tfetch = !{canary}\n",
        hooks = world.at("hooks").display()
    );
    std::fs::create_dir(world.at("hooks")).unwrap();
    for hook in ["reference-transaction", "post-checkout", "pre-auto-gc", "post-merge", "proc-receive"] {
        for folder in ["hooks", "clone/.git/hooks"] {
            std::fs::copy(world.at("canary"), world.at(folder).join(hook)).unwrap();
        }
    }
    let mut config = std::fs::read_to_string(world.at("clone/.git/config")).unwrap();
    config.push_str(&evil);
    std::fs::write(world.at("clone/.git/config"), config).unwrap();
    std::fs::write(world.at("home/.gitconfig"), &evil).unwrap();
    for job in [world.here("clone"), world.job(Place::Mirror)] {
        assert_eq!(merge_base(&run(&job, &pull).unwrap()), met);
    }
    assert!(!world.at("sung").exists(), "a program was run that a setting names");
    // That it would have been heard.
    let ended = Program::find("canary", &Environment::default().with("PATH", world.at(""))).unwrap();
    let call =
        Call { arguments: Vec::new(), environment: Environment::of_this_process(), directory: world.at(""), most: 99 };
    ended.run(&call, &Cancel::never()).unwrap();
    assert!(world.at("sung").exists());
}

/// A server that hands every head of a request to `told` and answers with `answer`; nothing where that is empty.
fn server(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let _ = tell.send(String::from_utf8_lossy(&head).into_owned());
            let _ = stream.write_all(answer.as_bytes());
            if answer.is_empty() {
                open.push(stream);
            }
        }
    });
    (address, told)
}

#[test]
fn the_token_goes_to_the_server_and_stands_in_no_command_line() {
    const REFUSED: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let world = World::new();
    let (pull, _) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let real = Program::find("git", &Environment::of_this_process()).unwrap();
    let (bin, record) = (world.at("bin"), world.at("record"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; env; }} >> '{}'\nexec '{}' \"$@\"\n",
        record.display(),
        real.path().display()
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());

    let (address, told) = server(REFUSED);
    let mut job = world.here("clone");
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    job.authorization = Some(Secret::new("basic Y2FuYXJ5LXRva2Vu"));
    job.environment = job.environment.clone().with("PATH", path).without("http_proxy").without("HTTP_PROXY");
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_mins(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Access { with_login: true, .. }), "{fault}");
    assert!(!fault.to_string().contains("Y2FuYXJ5"), "{fault}");
    let head = told.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(head.to_lowercase().contains("\r\nauthorization: basic y2fuyxj5lxrva2vu\r\n"), "{head}");
    let record = std::fs::read_to_string(record).unwrap();
    assert!(record.contains("fetch --quiet"), "{record}");
    assert!(!record.contains("Y2FuYXJ5") && !record.contains("GITHUB_TOKEN"), "{record}");
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, told) = server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let answer = format!(
        "HTTP/1.1 302 Found\r\nLocation: {elsewhere}/o/r.git/info/refs\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let (address, _told) = server(answer.leak());
    let world = World::new();
    let (pull, _) = world.pull(4, 1);
    let mut job = world.job(Place::Mirror);
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    job.authorization = Some(Secret::new("basic Y2FuYXJ5LXRva2Vu"));
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_mins(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Moved { .. }), "{fault}");
    assert!(told.try_recv().is_err());
}

#[test]
fn a_server_that_does_not_answer_is_left_at_the_deadline() {
    let (address, _told) = server("");
    let world = World::new();
    let (pull, _) = world.pull(4, 1);
    let mut job = world.job(Place::Mirror);
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_secs(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Process(crate::sys::process::ProcessError::Stopped(_))), "{fault}");
}

#[test]
fn addresses_that_would_leak_are_refused() {
    for address in [
        "http://forge.invalid/o/r.git",
        "https://me:secret@forge.invalid/o/r.git",
        "ext::x",
        "file:///o/r",
        "ssh://h/o/r",
    ] {
        let fault = Transport::of(address).unwrap_err().to_string();
        assert!(!fault.contains("secret"), "{fault}");
    }
    for (address, transport) in [
        ("https://forge.invalid/o/r.git", Transport::Https),
        ("http://127.0.0.1:80/o/r.git", Transport::Http),
        ("http://localhost:8080/o/r.git", Transport::Http),
        ("http://[::1]:8080/o/r.git", Transport::Http),
    ] {
        assert_eq!(Transport::of(address).unwrap(), transport, "{address}");
    }
}

#[test]
fn only_how_the_network_is_reached_is_taken_from_the_users_settings() {
    let world = World::new();
    let text = "[http]\n\tproxy = http://p:1\n\tsslVerify = false\n\textraHeader = X: y\n\tsslCAInfo = ~/ca.pem\n\
                [http \"https://forge.invalid\"]\n\tproxy = \"\"\n[url \"https://evil.invalid/\"]\n\tinsteadOf = https://forge.invalid/\n";
    std::fs::write(world.at("home/.gitconfig"), text).unwrap();
    let git = Program::find("git", &Environment::of_this_process()).unwrap();
    let found = settings::network(&git, &environment(&world.at("home")), &world.at(""), &Cancel::never()).unwrap();
    let ca = world.at("home/ca.pem").display().to_string();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let wanted =
        [pair("http.proxy", "http://p:1"), pair("http.https://forge.invalid.proxy", ""), pair("http.sslcainfo", &ca)];
    assert_eq!(found, wanted);
    // And git reads them back as they were.
    let written = settings::text("https", "https://forge.invalid", None, &found);
    std::fs::write(world.at("written"), written).unwrap();
    let read = world.git("", &["config", "-f", "written", "--get-regexp", "^http\\..*(proxy|sslcainfo)$"]);
    assert_eq!(read, format!("http.proxy http://p:1\nhttp.https://forge.invalid.proxy \nhttp.sslcainfo {ca}"));
}
