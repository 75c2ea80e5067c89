//! Chooses the changes of a batch. Main function: [`select`]; main type: [`BatchItem`].
//!
//! Nothing is reviewed or compared here: a branch that has nothing of its own, or is too old, is found when its commits are resolved.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::BatchRequest;
use super::error::BatchError;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::pull::{repository_of, sign_in};
use crate::domain::batch::{BatchEntry, BatchOutcome, LeftOutChange};
use crate::domain::forge::{PullSpecifier, PullState};
use crate::domain::queue::pull_version;
use crate::domain::request::ReviewScope;
use crate::domain::text::{shorten, strip_line};
use crate::forge::PullFilter;
use crate::git;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Limit on the changes of a batch.
const MOST: usize = 10_000;
/// Maximum size in bytes of a list on standard input.
const MAX_LIST: u64 = 8 << 20;
/// Maximum length of a name in a row, in characters.
const LONGEST_NAME: usize = 120;

/// The request for the changes of a batch.
#[derive(Debug, Clone)]
pub enum BatchSelection {
    /// Branches of one repository.
    Branches {
        /// Globs for their names.
        globs: Vec<String>,
        /// `true` for all of them.
        all: bool,
        /// The remote whose remote-tracking branches are meant; `None` for local branches.
        remote: Option<String>,
    },
    /// Each commit of `A..B` by itself.
    EachCommit {
        /// A.
        from: String,
        /// B.
        to: String,
    },
    /// The open pull requests of the repository.
    OpenPulls,
    /// A list on standard input: `REPO<TAB>HEAD<TAB>TARGET`, one change a line.
    List,
}

/// A change to review, or a row for one that cannot be.
pub(in crate::app) struct BatchItem {
    /// The repository, as it was named or by its display name; one line.
    pub(in crate::app) repository: String,
    /// The branch, commit or pull request; one line.
    pub(in crate::app) name: String,
    /// A name that is the same on every machine.
    pub(in crate::app) key: String,
    /// The version of a pull request, so that the same one is known again; empty for others.
    pub(in crate::app) version: String,
    /// The folder of the repository.
    pub(in crate::app) directory: PathBuf,
    /// The name of the repository in the identity of a review, where its folder is another one on each machine.
    pub(in crate::app) home: Option<PathBuf>,
    pub(in crate::app) change: ItemChange,
}

/// The change of an item; else the outcome, the reason and the exit code of its row.
pub(in crate::app) type ItemChange = Result<ReviewScope, (BatchOutcome, String, u8)>;

impl BatchItem {
    /// An item of a repository that is known by its folder, with the version that its names stand for left empty.
    pub(in crate::app) fn new(
        repository: String,
        name: String,
        key: String,
        directory: PathBuf,
        change: ItemChange,
    ) -> Self {
        Self { repository, name, key, version: String::new(), directory, home: None, change }
    }

    /// The name under which its failures are counted.
    pub(super) fn breaker_name(&self) -> String {
        format!("{}\n{}", self.repository, self.name)
    }

    /// A row without a review.
    pub(in crate::app) fn row(&self, outcome: BatchOutcome, reason: &str, code: u8) -> BatchEntry {
        BatchEntry::without_review(&self.repository, &self.name, outcome, strip_line(reason), code)
    }
}

/// Lists the changes of a request, those of its shard only; and those that are left out by name.
pub(in crate::app) async fn select(
    request: &BatchRequest,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<(Vec<BatchItem>, Vec<LeftOutChange>), AppError> {
    let mut items = match &request.selection {
        BatchSelection::OpenPulls => open_pulls(&request.directory, around, cancel).await?,
        BatchSelection::Branches { .. } | BatchSelection::EachCommit { .. } | BatchSelection::List => {
            let (request, limit) = (request.clone(), cancel.clone());
            blocking::run("listing the changes", cancel, move || list(&request, &limit)).await??
        }
    };
    if let Some(shard) = request.shard {
        items.retain(|item| shard.contains(&item.key));
    }
    let mut known = HashSet::new();
    let mut left_out = Vec::new();
    items.retain(|item| {
        let is_new = known.insert(item.key.clone());
        if !is_new {
            let (repository, name) = (item.repository.clone(), item.name.clone());
            left_out.push(LeftOutChange { repository, name, reason: "it is listed twice".to_owned() });
        }
        is_new
    });
    if let Some(more) = items.len().checked_sub(MOST).filter(|more| *more > 0) {
        let reason = format!("a batch takes {MOST} changes at most; choose fewer, or review it in shards");
        let name = format!("{more} more");
        let rest = (BatchOutcome::NotBegun, reason, 3);
        let last = items.drain(MOST..).next();
        items.extend(last.map(|last| BatchItem { name: name.clone(), key: name, change: Err(rest), ..last }));
    }
    Ok((items, left_out))
}

fn list(request: &BatchRequest, cancel: &Cancel) -> Result<Vec<BatchItem>, AppError> {
    match &request.selection {
        BatchSelection::Branches { globs, all, remote } => {
            let repo = Repo::open(&request.directory)?;
            let names = git::branches_of(&repo, remote.as_deref(), cancel)?;
            let branches = SelectedBranches { request, repository: repo.name(), remote: remote.as_deref() };
            branches.select(&names, globs, *all)
        }
        BatchSelection::EachCommit { from, to } => each_commit(&request.directory, from, to, cancel),
        BatchSelection::List => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().take(MAX_LIST + 1).read_to_end(&mut bytes)?;
            Ok(parse_list(&bytes, &request.directory))
        }
        BatchSelection::OpenPulls => Ok(Vec::new()),
    }
}

/// The branches of one repository.
struct SelectedBranches<'a> {
    request: &'a BatchRequest,
    repository: String,
    remote: Option<&'a str>,
}

impl SelectedBranches<'_> {
    fn select(&self, names: &[String], globs: &[String], all: bool) -> Result<Vec<BatchItem>, AppError> {
        let globs: Vec<(&String, GlobMatcher)> =
            globs.iter().map(|glob| Ok((glob, matcher(glob)?))).collect::<Result<_, BatchError>>()?;
        let fits = |glob: &GlobMatcher, name: &str| {
            let bare = self.remote.and_then(|remote| name.strip_prefix(remote)?.strip_prefix('/'));
            glob.is_match(name) || bare.is_some_and(|bare| glob.is_match(bare))
        };
        let wanted = |name: &&String| all || globs.is_empty() || globs.iter().any(|(_, glob)| fits(glob, name));
        let mut items: Vec<BatchItem> = names.iter().filter(wanted).map(|name| self.branch(name)).collect();
        for (pattern, _) in globs.iter().filter(|(_, glob)| !names.iter().any(|name| fits(glob, name))) {
            let reason = "no branch matches this pattern".to_owned();
            items.push(BatchItem { change: Err((BatchOutcome::Error, reason, 2)), ..self.branch(pattern) });
        }
        Ok(items)
    }

    fn branch(&self, name: &str) -> BatchItem {
        let change = ReviewScope::Branch { target: self.request.target.clone(), head: Some(name.to_owned()) };
        let (repository, directory) = (self.repository.clone(), self.request.directory.clone());
        BatchItem::new(repository, strip_line(name), name.to_owned(), directory, Ok(change))
    }
}

/// As in `git branch --list`, `*` also stands for slashes.
fn matcher(pattern: &str) -> Result<GlobMatcher, BatchError> {
    let glob = GlobBuilder::new(pattern).literal_separator(false).build();
    let fault =
        |error: globset::Error| BatchError::Pattern { pattern: pattern.to_owned(), why: error.kind().to_string() };
    Ok(glob.map_err(fault)?.compile_matcher())
}

fn each_commit(directory: &Path, from: &str, to: &str, cancel: &Cancel) -> Result<Vec<BatchItem>, AppError> {
    let repo = Repo::open(directory)?;
    let (commits, more) = git::commits_between(&repo, from, to, MOST, cancel)?;
    let repository = repo.name();
    let item = |name, key, change| BatchItem::new(repository.clone(), name, key, directory.to_owned(), change);
    let mut items: Vec<BatchItem> = commits
        .into_iter()
        .map(|commit| {
            let name = shorten(&strip_line(&format!("{} {}", commit.id.short(), commit.subject)), LONGEST_NAME);
            item(name, commit.id.to_string(), Ok(ReviewScope::Commit(commit.id.to_string())))
        })
        .collect();
    if more > 0 {
        let reason = format!("a batch takes {MOST} changes at most; give a shorter range");
        let name = format!("{more} more commits");
        items.push(item(name.clone(), name, Err((BatchOutcome::NotBegun, reason, 3))));
    }
    Ok(items)
}

async fn open_pulls(directory: &Path, around: &ProcessEnv, cancel: &Cancel) -> Result<Vec<BatchItem>, AppError> {
    let github = sign_in(around, cancel).await?.within(cancel);
    let (_, repo) = repository_of(directory, &github, cancel).await?;
    let page = github.about(&repo).pulls(&repo, PullFilter { state: Some(PullState::Open), limit: MOST }).await?;
    let more = page.total.saturating_sub(page.pulls.len());
    let item = |name, key, change| BatchItem::new(repo.to_string(), name, key, directory.to_owned(), change);
    let pull = |listed: crate::forge::ListedPull| {
        let id = listed.pull.id;
        let name = shorten(&strip_line(&format!("#{} {}", id.number, listed.pull.title)), LONGEST_NAME);
        let scope = ReviewScope::Pull(PullSpecifier::Whole { host: None, id: id.clone() });
        let version = pull_version(&listed.pull.base_ref, &listed.pull.head.to_string());
        BatchItem { version, ..item(name, format!("#{}", id.number), Ok(scope)) }
    };
    let mut items: Vec<BatchItem> = page.pulls.into_iter().map(pull).collect();
    if more > 0 {
        let reason = format!("the newest {MOST} are listed; review the others one by one with --pr");
        let name = format!("{more} more open pull requests");
        items.push(item(name.clone(), name, Err((BatchOutcome::NotBegun, reason, 3))));
    }
    Ok(items)
}

/// Parses the lines of a list. Empty lines and those that begin with `#` are skipped; any other line is a row.
fn parse_list(bytes: &[u8], directory: &Path) -> Vec<BatchItem> {
    let mut items = Vec::new();
    let row = |name, key, fault| BatchItem::new("-".to_owned(), name, key, directory.to_owned(), Err(fault));
    if bytes.len() as u64 > MAX_LIST {
        let reason = format!("a list has {} MiB at most; give a shorter one", MAX_LIST >> 20);
        return vec![row("the list".to_owned(), "the list".to_owned(), (BatchOutcome::NotBegun, reason, 3))];
    }
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        let fields = std::str::from_utf8(line).ok().map(|line| line.split('\t').collect::<Vec<_>>());
        let fields = fields.filter(|fields| !fields.iter().any(|field| field.trim().is_empty()));
        let (repository, head, target) = match fields.as_deref() {
            Some([repository, head]) => (*repository, *head, None),
            Some([repository, head, target]) => (*repository, *head, Some((*target).to_owned())),
            _ => {
                let reason = "the line must be REPO, HEAD and optionally TARGET, separated by tabs".to_owned();
                let text = strip_line(&String::from_utf8_lossy(line));
                let name = shorten(&format!("line {}: {text}", at + 1), LONGEST_NAME);
                items.push(row(name, format!("line {}", at + 1), (BatchOutcome::Error, reason, 2)));
                continue;
            }
        };
        let (name, key) = (shorten(&strip_line(head), LONGEST_NAME), String::from_utf8_lossy(line).into_owned());
        let change = ReviewScope::Branch { target, head: Some(head.to_owned()) };
        items.push(BatchItem::new(strip_line(repository), name, key, directory.join(repository), Ok(change)));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_none_is_a_row_and_the_others_are_changes() {
        let text = b"# comment\n\nrepo\tfeature\tmain\r\n/abs/other\ttopic\nnothing\n\tx\ty\na\tb\tc\td\n\xff\tx\ty\n";
        let items = parse_list(text, Path::new("/here"));
        let folders: Vec<_> = items.iter().filter(|item| item.change.is_ok()).map(|item| &*item.directory).collect();
        assert_eq!(folders, [Path::new("/here/repo"), Path::new("/abs/other")]);
        let bad: Vec<&str> = items.iter().filter(|item| item.change.is_err()).map(|item| &*item.name).collect();
        assert_eq!(bad.len(), 4, "{bad:?}");
        assert!(bad[0].starts_with("line 5: nothing") && bad[3].starts_with("line 8: "), "{bad:?}");
    }

    #[test]
    fn a_list_that_is_too_long_says_so() {
        let text = "r\th\n".repeat(usize::try_from(MAX_LIST).unwrap() / 4 + 1);
        let items = parse_list(text.as_bytes(), Path::new("/here"));
        assert!(matches!(items.as_slice(), [BatchItem { change: Err((BatchOutcome::NotBegun, _, 3)), .. }]));
    }
}
