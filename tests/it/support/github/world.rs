//! What the fake knows: accounts, repositories, pull requests and what was said on them. Main types: [`World`], [`PullState`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::bare::{Bare, FileDiff};
use super::trouble::Script;

/// An account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its number.
    pub id: u64,
    /// Its login; an app's ends with `[bot]`.
    pub login: String,
    /// What it is to every repository: `OWNER`, `MEMBER`, `CONTRIBUTOR`, `NONE`, …
    pub association: String,
}

impl Account {
    /// Whether it is an app.
    pub fn is_bot(&self) -> bool {
        self.login.ends_with("[bot]")
    }

    /// As GraphQL writes it: without `[bot]`.
    pub fn plain(&self) -> &str {
        self.login.strip_suffix("[bot]").unwrap_or(&self.login)
    }
}

/// What the token may do.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each can be taken away alone")]
pub struct Rights {
    /// Reviews and comments.
    pub write: bool,
    /// Resolving and reopening threads.
    pub resolve: bool,
    /// Dismissing reviews.
    pub dismiss: bool,
    /// Anything at all that is not public.
    pub read: bool,
}

/// A text that somebody wrote.
#[derive(Debug, Clone)]
pub struct Said {
    /// Its number.
    pub id: u64,
    /// Who; `None` where the account is gone.
    pub author: Option<String>,
    /// Markdown.
    pub body: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// Whether it is hidden.
    pub minimized: bool,
    /// The review that it belongs to, where it is in a thread.
    pub review: Option<u64>,
}

/// A review.
#[derive(Debug, Clone)]
pub struct ReviewState {
    /// Its text.
    pub said: Said,
    /// `PENDING`, `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`.
    pub state: String,
    /// The commit.
    pub commit: String,
}

/// A thread.
#[derive(Debug, Clone)]
pub struct ThreadState {
    /// Its number.
    pub id: u64,
    /// The file.
    pub path: String,
    /// `RIGHT` or `LEFT`.
    pub side: String,
    /// The last line now.
    pub line: Option<u64>,
    /// The first line now, where there are several.
    pub start_line: Option<u64>,
    /// The last line when it was written.
    pub original_line: Option<u64>,
    /// The first line when it was written.
    pub original_start_line: Option<u64>,
    /// Whether it is about the file as a whole.
    pub on_file: bool,
    /// Whether its lines changed since.
    pub outdated: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// By whom.
    pub resolved_by: Option<String>,
    /// The commit it was written on.
    pub original_commit: String,
    /// The hunk it was written on.
    pub diff_hunk: String,
    /// Its comments, oldest first.
    pub comments: Vec<Said>,
}

/// A pull request.
#[derive(Debug, Clone)]
pub struct PullState {
    /// Its number in the repository.
    pub number: u64,
    /// Its number among all.
    pub id: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Who opened it.
    pub author: Option<String>,
    /// `OPEN`, `CLOSED`, `MERGED`.
    pub state: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// The branch it asks to be merged into.
    pub base_ref: String,
    /// The branch it comes from.
    pub head_ref: String,
    /// `owner/name` of where it comes from; `None` where that is gone.
    pub head_repo: Option<String>,
    /// The tip of the base when it was last looked at.
    pub base: String,
    /// The tip of the head.
    pub head: String,
    /// Where they meet.
    pub merge_base: String,
    /// All heads that it ever had, and the commits between.
    pub commits: Vec<String>,
    /// What it changes.
    pub diff: Vec<FileDiff>,
    /// `MERGEABLE`, `CONFLICTING`, `UNKNOWN`.
    pub mergeable: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// Oldest first.
    pub reviews: Vec<ReviewState>,
    /// Oldest first.
    pub threads: Vec<ThreadState>,
    /// On the pull request as a whole, oldest first.
    pub comments: Vec<Said>,
}

/// A repository.
#[derive(Debug, Clone)]
pub struct RepoState {
    /// Its number.
    pub id: u64,
    /// Who it belongs to.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Whether only those who are signed in may see it.
    pub private: bool,
    /// The real repository.
    pub bare: Bare,
    /// Its pull requests.
    pub pulls: Vec<PullState>,
}

/// Everything.
#[derive(Debug)]
pub struct World {
    /// `http://127.0.0.1:port`.
    pub url: String,
    /// Where the repositories lie: `owner/name.git`.
    pub folder: PathBuf,
    /// Those who have an account, by login.
    pub accounts: BTreeMap<String, Account>,
    /// Whose token it is.
    pub viewer: String,
    /// The token.
    pub token: String,
    /// What it may do.
    pub rights: Rights,
    /// The App, its installation, and tokens that were given for it with the second at which they end.
    pub app: App,
    /// Repositories.
    pub repos: Vec<RepoState>,
    /// Old names of repositories: `owner/name`, in lower case, and the number of the repository.
    pub moved: BTreeMap<String, u64>,
    /// More comments in one review make the forge fail (502).
    pub most_comments: usize,
    /// Faults to come.
    pub script: Script,
    /// What was wrong with requests.
    pub wrong: Vec<String>,
    /// Files of releases, by their paths.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Requests of git: paths and queries.
    pub git: Vec<String>,
    /// Requests of REST and GraphQL: methods, paths with their queries, the statuses they were answered with.
    pub asked: Vec<(String, String, u16)>,
    /// Whether it has the addresses of an Enterprise server.
    pub enterprise: bool,
    /// Whether somebody looked at that.
    pub judged: bool,
    /// Numbers given.
    pub last_id: u64,
    /// Seconds since the beginning of the fake's time.
    pub clock: i64,
}

/// An App.
#[derive(Debug, Clone)]
pub struct App {
    /// Its number.
    pub id: u64,
    /// Its installation's.
    pub installation: u64,
    /// How many seconds its tokens last.
    pub lasts: i64,
    /// Tokens, and the second of the epoch at which each ends.
    pub tokens: Vec<(String, i64)>,
}

/// The second at which the fake's time begins: 2026-03-01T09:00:00Z.
const BEGINNING: i64 = 1_772_355_600;

impl World {
    /// A number that no other thing has.
    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The time; each look is a second later.
    pub fn now(&mut self) -> String {
        self.clock += 1;
        jiff::Timestamp::from_second(BEGINNING + self.clock).expect("a time").to_string()
    }

    /// The account of that login, made where there is none.
    pub fn account(&mut self, login: &str) -> &mut Account {
        if !self.accounts.contains_key(login) {
            let id = self.id();
            let account = Account { id, login: login.to_owned(), association: "NONE".to_owned() };
            self.accounts.insert(login.to_owned(), account);
        }
        self.accounts.get_mut(login).expect("it was made")
    }

    /// Something that was said now.
    pub fn said(&mut self, author: &str, body: &str) -> Said {
        self.account(author);
        let (id, now) = (self.id(), self.now());
        let author = Some(author.to_owned());
        let body = body.to_owned();
        Said { id, author, body, created_at: now.clone(), updated_at: now, minimized: false, review: None }
    }

    /// The repository of that name, or of that old name (then `true`): its place.
    pub fn find(&self, owner: &str, name: &str) -> Option<(usize, bool)> {
        let is = |repo: &RepoState| repo.owner.eq_ignore_ascii_case(owner) && repo.name.eq_ignore_ascii_case(name);
        if let Some(at) = self.repos.iter().position(is) {
            return Some((at, false));
        }
        let id = self.moved.get(&format!("{owner}/{name}").to_lowercase())?;
        self.repos.iter().position(|repo| repo.id == *id).map(|at| (at, true))
    }

    /// What an author is to a repository.
    pub fn association(&self, author: Option<&str>) -> &str {
        author.and_then(|login| self.accounts.get(login)).map_or("NONE", |account| &account.association)
    }
}

impl RepoState {
    /// `owner/name`.
    pub fn full(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Where a pull request of that number is.
    pub fn find(&self, number: u64) -> Option<usize> {
        self.pulls.iter().position(|pull| pull.number == number)
    }
}

impl PullState {
    /// Whether a review is one that only its author sees.
    pub fn is_pending(&self, review: Option<u64>) -> bool {
        self.reviews.iter().any(|one| Some(one.said.id) == review && one.state == "PENDING")
    }

    /// The comments of a thread that somebody sees.
    pub fn seen<'a>(&'a self, thread: &'a ThreadState, viewer: &'a str) -> impl Iterator<Item = &'a Said> {
        thread
            .comments
            .iter()
            .filter(move |said| !self.is_pending(said.review) || said.author.as_deref() == Some(viewer))
    }

    /// `APPROVED`, `CHANGES_REQUESTED`, or nothing: by the last word of each reviewer.
    pub fn decision(&self) -> Option<&'static str> {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for review in &self.reviews {
            if matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
                last.insert(review.said.author.as_deref().unwrap_or(""), &review.state);
            }
        }
        let words: Vec<&str> = last.into_values().collect();
        if words.contains(&"CHANGES_REQUESTED") {
            return Some("CHANGES_REQUESTED");
        }
        (!words.is_empty()).then_some("APPROVED")
    }
}
