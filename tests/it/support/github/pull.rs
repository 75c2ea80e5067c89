//! A pull request as tests open it, move it and look at it. Main types: [`NewPull`], [`Pull`].

use std::sync::Arc;

use review_runner::domain::forge::{PullId, PullNumber, RepoName};

use super::bare::FileDiff;
use super::fake::Fake;
use super::server::Shared;
use super::world::{PullState, RepoState, ReviewState, Said, ThreadState, World};
use crate::support::TestRepo;

/// A pull request that is still to be opened.
pub struct NewPull<'a> {
    fake: &'a Fake,
    owner: String,
    name: String,
    number: u64,
    title: String,
    body: String,
    author: String,
    fork: Option<String>,
}

impl<'a> NewPull<'a> {
    pub(super) fn new(fake: &'a Fake, owner: &str, name: &str, number: u64) -> Self {
        Self {
            fake,
            owner: owner.to_owned(),
            name: name.to_owned(),
            number,
            title: "A change".to_owned(),
            body: String::new(),
            author: "ada".to_owned(),
            fork: None,
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// Its description.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Who opens it; `ada` where not said.
    #[must_use]
    pub fn author(mut self, author: &str) -> Self {
        author.clone_into(&mut self.author);
        self
    }

    /// The fork that it comes from, `owner/name`: its branch is there, not in the repository itself.
    #[must_use]
    pub fn fork(mut self, full: &str) -> Self {
        self.fork = Some(full.to_owned());
        self
    }

    /// Pushes both branches of the repository and opens it.
    pub fn open(self, work: &TestRepo, base: &str, head: &str) -> Pull {
        if let Some((owner, name)) = self.fork.as_deref().and_then(|full| full.split_once('/')) {
            self.fake.repo(owner, name);
        }
        let id = {
            let world = &mut self.fake.shared.world();
            world.account(&self.author);
            let (at, _) = world.find(&self.owner, &self.name).expect("its repository");
            world.repos[at].bare.take(work.root(), base, &[format!("refs/heads/{base}")]);
            let (id, now) = (world.id(), world.now());
            world.repos[at].pulls.push(PullState {
                number: self.number,
                id,
                title: self.title,
                body: self.body,
                author: Some(self.author),
                state: "OPEN".to_owned(),
                draft: false,
                base_ref: base.to_owned(),
                head_ref: head.to_owned(),
                head_repo: Some(self.fork.unwrap_or_else(|| format!("{}/{}", self.owner, self.name))),
                base: String::new(),
                head: String::new(),
                merge_base: String::new(),
                commits: Vec::new(),
                diff: Vec::new(),
                mergeable: "MERGEABLE".to_owned(),
                created_at: now.clone(),
                updated_at: now,
                reviews: Vec::new(),
                threads: Vec::new(),
                comments: Vec::new(),
            });
            world.repos[at].id
        };
        let pull = Pull { shared: Arc::clone(&self.fake.shared), repo: id, number: self.number };
        pull.push(work, head);
        pull
    }
}

/// A pull request of a fake.
#[derive(Clone)]
pub struct Pull {
    shared: Arc<Shared>,
    repo: u64,
    number: u64,
}

impl Pull {
    /// Its name, as the client takes it.
    pub fn id(&self) -> PullId {
        self.with(|world, at, n| {
            let (repo, number) = (&world.repos[at], world.repos[at].pulls[n].number);
            let repo = RepoName::new(&repo.owner, &repo.name).expect("a name");
            PullId { repo, number: PullNumber::new(number).expect("a number") }
        })
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.with(|world, at, n| {
            format!("{}/{}/pull/{}", world.url, world.repos[at].full(), world.repos[at].pulls[n].number)
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut World, usize, usize) -> T) -> T {
        let mut world = self.shared.world();
        let at = world.repos.iter().position(|repo| repo.id == self.repo).expect("its repository");
        let n = world.repos[at].find(self.number).expect("it is there");
        look(&mut world, at, n)
    }

    /// Everything about it, as it is now.
    pub fn state(&self) -> PullState {
        self.with(|world, at, n| world.repos[at].pulls[n].clone())
    }

    /// Changes anything about it.
    pub fn change(&self, change: impl FnOnce(&mut PullState)) {
        self.with(|world, at, n| change(&mut world.repos[at].pulls[n]));
    }

    /// Pushes a commit as the new head, whatever the old one was; returns its id.
    pub fn push(&self, work: &TestRepo, rev: &str) -> String {
        self.with(|world, at, n| {
            let (own, pull) = (world.repos[at].full(), &world.repos[at].pulls[n]);
            let (kept, branch) = (format!("refs/pull/{}/head", pull.number), format!("refs/heads/{}", pull.head_ref));
            let fork = pull.head_repo.clone().filter(|full| *full != own);
            let bare = world.repos[at].bare.clone();
            let names = if fork.is_some() { vec![kept] } else { vec![kept, branch.clone()] };
            let head = bare.take(work.root(), rev, &names);
            let fork =
                fork.as_deref().and_then(|full| full.split_once('/')).and_then(|(owner, name)| world.find(owner, name));
            if let Some((fork, _)) = fork {
                world.repos[fork].bare.take(work.root(), rev, &[branch]);
            }
            let now = world.now();
            moved(&mut world.repos[at], n, &head, now);
            head
        })
    }

    /// Pushes to the branch that it asks to be merged into. The pull request does not look at it before the next push to its head.
    pub fn push_base(&self, work: &TestRepo, rev: &str) -> String {
        self.with(|world, at, n| {
            let name = format!("refs/heads/{}", world.repos[at].pulls[n].base_ref);
            world.repos[at].bare.take(work.root(), rev, &[name])
        })
    }

    /// Makes a commit unknown to git: names that lead to it are removed, and what no name leads to is pruned.
    pub fn hide_commit(&self, commit: &str) {
        self.with(|world, at, _| {
            let bare = &world.repos[at].bare;
            for name in bare.git(["for-each-ref", "--format=%(refname)", "--contains", commit]).lines() {
                bare.git(["update-ref", "-d", name]);
            }
            bare.mark_hidden();
            bare.git(["repack", "-adq"]);
            bare.git(["prune", "--expire=now"]);
        });
    }

    /// Somebody writes on a line of the head; returns the thread's id.
    pub fn thread(&self, author: &str, path: &str, line: u64, body: &str) -> String {
        self.thread_on(author, path, "RIGHT", (line, line), body)
    }

    /// Somebody writes on lines of a side; returns the thread's id. Nothing is checked.
    pub fn thread_on(&self, author: &str, path: &str, side: &str, (from, to): (u64, u64), body: &str) -> String {
        self.with(|world, at, n| {
            let mut said = world.said(author, body);
            let review = world.said(author, "");
            let (id, start) = (world.id(), (from != to).then_some(from));
            let pull = &mut world.repos[at].pulls[n];
            said.review = Some(review.id);
            pull.reviews.push(ReviewState { said: review, state: "COMMENTED".to_owned(), commit: pull.head.clone() });
            let file = pull.diff.iter().find(|file| file.path == path);
            let hunk = file.and_then(|file| file.hunk_of(side, to).map(|hunk| file.hunks[hunk].text.clone()));
            pull.threads.push(ThreadState {
                id,
                path: path.to_owned(),
                side: side.to_owned(),
                line: Some(to),
                start_line: start,
                original_line: Some(to),
                original_start_line: start,
                on_file: false,
                outdated: false,
                resolved: false,
                resolved_by: None,
                original_commit: pull.head.clone(),
                diff_hunk: hunk.unwrap_or_default().trim_end().to_owned(),
                comments: vec![said],
            });
            format!("PRRT_{id:06}")
        })
    }

    /// Somebody answers in a thread.
    pub fn reply(&self, thread: &str, author: &str, body: &str) {
        self.with(|world, at, n| {
            let said = world.said(author, body);
            thread_of(&mut world.repos[at].pulls[n], thread).comments.push(said);
        });
    }

    /// Somebody resolves a thread.
    pub fn resolve(&self, thread: &str, by: &str) {
        self.with(|world, at, n| {
            world.account(by);
            let thread = thread_of(&mut world.repos[at].pulls[n], thread);
            (thread.resolved, thread.resolved_by) = (true, Some(by.to_owned()));
        });
    }

    /// Changes anything about a thread.
    pub fn change_thread(&self, thread: &str, change: impl FnOnce(&mut ThreadState)) {
        self.with(|world, at, n| change(thread_of(&mut world.repos[at].pulls[n], thread)));
    }

    /// Somebody reviews: `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `PENDING`. Returns its number.
    pub fn review(&self, author: &str, state: &str, body: &str) -> u64 {
        self.with(|world, at, n| {
            let said = world.said(author, body);
            let (id, pull) = (said.id, &mut world.repos[at].pulls[n]);
            pull.reviews.push(ReviewState { said, state: state.to_owned(), commit: pull.head.clone() });
            id
        })
    }

    /// Somebody writes on the pull request as a whole. Returns its number.
    pub fn comment(&self, author: &str, body: &str) -> u64 {
        self.with(|world, at, n| {
            let said = world.said(author, body);
            let id = said.id;
            world.repos[at].pulls[n].comments.push(said);
            id
        })
    }

    /// Reviews, oldest first.
    pub fn reviews(&self) -> Vec<ReviewState> {
        self.state().reviews
    }

    /// Threads, oldest first.
    pub fn threads(&self) -> Vec<ThreadState> {
        self.state().threads
    }

    /// Comments on the pull request as a whole, oldest first.
    pub fn comments(&self) -> Vec<Said> {
        self.state().comments
    }
}

fn thread_of<'a>(pull: &'a mut PullState, node: &str) -> &'a mut ThreadState {
    let is = |thread: &&mut ThreadState| format!("PRRT_{:06}", thread.id) == node;
    pull.threads.iter_mut().find(is).unwrap_or_else(|| panic!("there is no thread {node}"))
}

/// The pull request after a push: its diff anew, its threads where their lines are now.
fn moved(repo: &mut RepoState, n: usize, head: &str, now: String) {
    let bare = repo.bare.clone();
    let pull = &mut repo.pulls[n];
    pull.base = bare.tip(&format!("refs/heads/{}", pull.base_ref)).expect("the base branch");
    let merge_base = bare.merge_base(&pull.base, head);
    pull.diff = bare.diff(&merge_base, head, 3).expect("a diff");
    let commits = bare.commits(&merge_base, head);
    // What was replaced by force is no part of the pull request any more.
    pull.commits = commits;
    (pull.head, pull.updated_at) = (head.to_owned(), now);
    let old_base = std::mem::replace(&mut pull.merge_base, merge_base.clone());
    let on_left = if old_base.is_empty() { None } else { bare.diff(&old_base, &merge_base, 0).ok() };
    let mut known: Vec<(String, Option<Vec<FileDiff>>)> = Vec::new();
    for thread in &mut pull.threads {
        if !known.iter().any(|(from, _)| *from == thread.original_commit) {
            known.push((thread.original_commit.clone(), bare.diff(&thread.original_commit, head, 0).ok()));
        }
        let on_right =
            known.iter().find(|(from, _)| *from == thread.original_commit).and_then(|(_, diff)| diff.as_ref());
        let left = thread.side == "LEFT";
        let changes = if left { on_left.as_ref() } else { on_right };
        let (from, line) =
            if left { (thread.start_line, thread.line) } else { (thread.original_start_line, thread.original_line) };
        if thread.on_file {
            continue;
        }
        let file = pull.diff.iter().find(|file| file.path == thread.path);
        let now = |line: u64| {
            let changed = changes?.iter().find(|file| file.old_path.as_deref().unwrap_or(&file.path) == thread.path);
            let line = match changed {
                None => line,
                Some(file) if file.status == "modified" => file.moved(line)?,
                Some(_) => return None,
            };
            file?.hunk_of(&thread.side, line).map(|_| line)
        };
        let (line, start) = (line.and_then(now), from.map(now));
        let lost = line.is_none() || start == Some(None);
        thread.outdated = lost;
        (thread.line, thread.start_line) = if lost { (None, None) } else { (line, start.flatten()) };
    }
}
