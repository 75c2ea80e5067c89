//! The pull requests of a server: read from the forge on request, cached briefly, and watched for subscribers.
//!
//! Main types: [`PullView`], [`PullFault`]; main method: [`Service::pull`]. Requests to the forge belong in `forge`, the presentation to
//! clients in `mcp`. All texts in it come from others: they are data.

mod cache;
mod fault;
mod mask;
mod named;
mod resolve;
mod updates;
mod watch;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

pub use crate::forge::{FaultKind, ListedPull, PullPage};
pub use fault::{PullFault, PullFaultKind};
pub use named::NamedPull;
pub use resolve::{ResolvedBy, ResolvedRemark};
pub use updates::{PullUpdates, RemarkChange};
pub use watch::{PullWatch, WatchTarget};

use super::Service;
use super::notifier::ChangeNotice;
use crate::domain::finding::Severity;
use crate::domain::forge::{
    Comment, FindingMark, PullConversation, PullFile, PullId, PullRequest, PullState, Remark, RemarkSummary, RepoName,
    Thread,
};
use crate::forge::bots::state::RemarkState;
use crate::forge::bots::tracker::Tracker;
use crate::forge::{self, GitHub, PullFilter, Remarks};
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::Cancel;
use cache::AsyncCache;

/// Time limit for all forge requests of one call.
const TIME: Duration = Duration::from_mins(1);
/// Lifetime of cached data.
const LIFE: Duration = Duration::from_secs(10);
/// Limit on cached pull requests; each may be many megabytes.
const KEPT: usize = 8;
/// Limit on listed pull requests that were read.
const SEEN: usize = 50;

/// The options for serving pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullServing {
    /// `true` to serve them.
    pub on: bool,
    /// The polling interval of a watched pull request.
    pub every: Duration,
}

impl Default for PullServing {
    fn default() -> Self {
        Self { on: true, every: Duration::from_mins(1) }
    }
}

/// A pull request with its conversation, remarks and summary.
#[derive(Debug)]
pub struct PullView {
    /// The pull request.
    pub pull: PullRequest,
    /// The conversation, without secrets.
    pub conversation: PullConversation,
    /// The actionable remarks in it; in the order of the threads, then of the lists that bots maintain.
    pub remarks: Vec<Remark>,
    /// The summary of the remarks.
    pub summary: RemarkSummary,
    /// Notes on what could not be read, one sentence each.
    pub notes: Vec<String>,
    /// The resolutions recorded in comments.
    state: RemarkState,
    tracker: Tracker,
}

impl PullView {
    /// Finds the thread of a remark.
    pub fn thread_of(&self, remark: &Remark) -> Option<&Thread> {
        let node = remark.thread.as_deref()?;
        self.conversation.threads.iter().find(|thread| thread.node == node)
    }

    /// Finds the remark with this id, or with the only id that has this suffix.
    pub fn remark(&self, given: &str) -> Result<&Remark, PullFault> {
        if let Some(exact) = self.remarks.iter().find(|remark| remark.id == given) {
            return Ok(exact);
        }
        let fits: Vec<&Remark> = match given {
            "" => Vec::new(),
            given => self.remarks.iter().filter(|remark| remark.id.ends_with(given)).collect(),
        };
        match fits.as_slice() {
            [one] => Ok(one),
            [] => {
                let message = format!("no remark of {} has the id {given:?}", self.pull.id);
                Err(PullFault::not_found(message, "list them with the tool pr_list"))
            }
            several => {
                let ids: Vec<&str> = several.iter().take(NAMED).map(|remark| remark.id.as_str()).collect();
                let more = several.len() - ids.len();
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                let message = format!("{given:?} ends {} ids: {}{more}", several.len(), ids.join(", "));
                Err(PullFault::new(PullFaultKind::Ambiguous, message, "give one of these ids whole"))
            }
        }
    }
}

/// Limit on the ids named if several match.
const NAMED: usize = 10;

/// The files of a pull request.
#[derive(Debug)]
pub struct PullFiles {
    /// The files, as the forge lists them.
    pub files: Vec<PullFile>,
    /// `true` if the forge truncated the list.
    pub cut: bool,
}

/// A pull request that a client read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPull {
    /// Its id.
    pub id: PullId,
    /// Its title when read.
    pub title: String,
    /// Its state when read.
    pub state: PullState,
    /// The time of its last change when read: RFC 3339.
    pub updated_at: String,
}

/// The pull request state of a service.
pub(super) struct PullStore {
    served: PullServing,
    client: OnceCell<GitHub>,
    reads: AsyncCache<PullId, PullView>,
    files: AsyncCache<PullId, PullFiles>,
    lists: AsyncCache<(RepoName, Option<PullState>), PullPage>,
    /// The newest first.
    seen: Mutex<VecDeque<ReadPull>>,
    cursors: updates::Cursors,
    watched: watch::WatchRegistry,
    /// Serializes resolving: the comments that record it are written whole.
    resolving: tokio::sync::Mutex<()>,
}

impl Default for PullStore {
    fn default() -> Self {
        Self {
            served: PullServing::default(),
            client: OnceCell::new(),
            reads: AsyncCache::new(KEPT, LIFE),
            files: AsyncCache::new(KEPT, LIFE),
            lists: AsyncCache::new(KEPT, LIFE),
            seen: Mutex::default(),
            cursors: updates::Cursors::default(),
            watched: watch::WatchRegistry::default(),
            resolving: tokio::sync::Mutex::default(),
        }
    }
}

/// The cache key of a pull request: forges ignore case.
fn folded(id: &PullId) -> PullId {
    PullId { repo: folded_repo(&id.repo), number: id.number }
}

fn folded_repo(repo: &RepoName) -> RepoName {
    let lower = RepoName::new(&repo.owner().to_ascii_lowercase(), &repo.name().to_ascii_lowercase());
    lower.unwrap_or_else(|_| repo.clone())
}

impl Service {
    /// Sets the options for serving pull requests.
    #[must_use]
    pub fn with_pulls(mut self, served: PullServing) -> Self {
        self.pulls.served = served;
        self
    }

    /// `true` if clients may read pull requests.
    pub fn serves_pulls(&self) -> bool {
        self.pulls.served.on
    }

    /// Returns an error if pull requests are not served.
    pub(super) fn check_forge_access(&self) -> Result<(), PullFault> {
        if self.serves_pulls() {
            return Ok(());
        }
        let message = "this server does not serve pull requests";
        Err(PullFault::new(PullFaultKind::Off, message, "start it with --tools default,pr"))
    }

    /// Creates a client of the forge, with a deadline for one call.
    async fn github(&self) -> Result<GitHub, PullFault> {
        self.check_forge_access()?;
        let client = self.pulls.client.get_or_try_init(|| client(self)).await?;
        Ok(client.within(&Cancel::after(TIME)))
    }

    /// Reads a pull request with its conversation.
    pub async fn pull(&self, id: &PullId) -> Result<Arc<PullView>, PullFault> {
        let github = self.github().await?;
        let read = self.pulls.reads.get(&folded(id), async || read(self, &github, id).await).await?;
        self.note_seen(id, &read.pull);
        Ok(read)
    }

    /// Reads its files.
    pub async fn pull_files(&self, id: &PullId) -> Result<Arc<PullFiles>, PullFault> {
        let github = self.github().await?;
        let ask = async || {
            let (files, cut) = github.files(id).await?;
            Ok(PullFiles { files, cut })
        };
        self.pulls.files.get(&folded(id), ask).await
    }

    /// Lists the pull requests of a repository in this state (in any if `None`), newest first: at most the first hundred.
    pub async fn pulls_of(&self, repo: &RepoName, state: Option<PullState>) -> Result<Arc<PullPage>, PullFault> {
        let github = self.github().await?;
        let ask = async || {
            let mut page = github.pulls(repo, PullFilter { state, limit: 100 }).await?;
            page.pulls.iter_mut().for_each(|listed| mask::mask_pull(&mut listed.pull));
            Ok(page)
        };
        self.pulls.lists.get(&(folded_repo(repo), state), ask).await
    }

    /// Lists the pull requests that were read, newest first. No request is made.
    pub fn seen_pulls(&self) -> Vec<ReadPull> {
        self.pulls.seen.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn note_seen(&self, id: &PullId, pull: &PullRequest) {
        let PullRequest { title, state, updated_at, .. } = pull;
        let new = ReadPull { id: id.clone(), title: title.clone(), state: *state, updated_at: updated_at.clone() };
        let mut seen = self.pulls.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.front() == Some(&new) {
            return;
        }
        let key = folded(id);
        let known = seen.iter().position(|one| folded(&one.id) == key).map(|at| seen.remove(at));
        seen.push_front(new);
        seen.truncate(SEEN);
        drop(seen);
        if known.is_none() {
            self.notifier().notify(ChangeNotice::List);
        }
    }

    /// Drops the cached data of a pull request, because it is outdated.
    fn forget_pull(&self, id: &PullId) {
        self.pulls.reads.forget(&folded(id));
        self.pulls.files.forget(&folded(id));
    }
}

/// Creates a client with the credentials of the environment, off the async threads, because `gh` may be called for its token.
async fn client(service: &Service) -> Result<GitHub, PullFault> {
    let environment = service.around.forge.clone();
    let limit = Cancel::after(super::readers::LONGEST);
    let watched = limit.clone();
    let made = service.workers.run("signing in to the forge", &limit, move || environment.client(&watched)).await;
    let broken = |lost: BlockingFailure| PullFault::new(PullFaultKind::Broken, lost.to_string(), "try again");
    Ok(made.map_err(broken)??)
}

async fn read(service: &Service, github: &GitHub, id: &PullId) -> Result<PullView, PullFault> {
    let (mut pull, mut conversation) = tokio::try_join!(github.pull(id), github.conversation(id))?;
    let mut notes = Vec::new();
    let listed = if needs_files(&conversation) { Some(service.pull_files(id).await) } else { None };
    let files: &[PullFile] = match &listed {
        Some(Ok(listed)) => &listed.files,
        Some(Err(fault)) => {
            notes.push(format!("Which files some remarks are about could not be asked: {fault}."));
            &[]
        }
        None => &[],
    };
    let Remarks { mut remarks, notes: more } = forge::read_remarks(&conversation, files, &own_severity);
    notes.extend(more.into_iter().map(sentence));
    let summary = forge::summarize_remarks(&remarks);
    let (state, tracker) = (RemarkState::read(&conversation.comments), Tracker::read(&conversation.comments));
    mask::mask_pull(&mut pull);
    mask::mask_conversation(&mut conversation, &mut remarks);
    Ok(PullView { pull, conversation, remarks, summary, notes, state, tracker })
}

/// Checks whether a remark names files by the hashes of their paths, as one bot does: these need the list of files.
fn needs_files(conversation: &PullConversation) -> bool {
    conversation.comments.iter().any(|comment| comment.body.contains("#diff-"))
}

/// The severity in the marker of our own comment.
fn own_severity(comment: &Comment) -> Option<Severity> {
    // Anyone can write the mark; only the forge knows the author of the text.
    if comment.mine { FindingMark::read(&comment.body).map(|mark| mark.severity) } else { None }
}

fn sentence(note: String) -> String {
    let mut letters = note.chars();
    let note = letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or(note);
    if note.ends_with('.') { note } else { format!("{note}.") }
}
