//! The fetch itself: what is asked for, what is asked for instead when the server refuses, and when it is enough. Main function: [`fetch`].

use std::path::Path;

use crate::domain::forge::{PullRequest, PullState};
use crate::domain::id::CommitId;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

use super::error::{Trouble, said, trouble};
use super::mirror::{self, Mirror};
use super::scratch::Scratch;
use super::shallow::{DEPTHS, Shallow, is_enough};
use super::{FetchError, FetchJob, FetchedCommits, Place, host_of, mirror_path};

/// What git says beside the objects, in bytes.
const MOST_SAID: usize = 64 << 10;

/// The one protocol that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Https,
    /// With this machine only.
    Http,
    Ssh,
    #[cfg(test)]
    File,
}

impl Transport {
    fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            #[cfg(test)]
            Self::File => "file",
        }
    }

    /// What an address of the forge is spoken to with.
    pub(super) fn of(address: &str) -> Result<Self, FetchError> {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(FetchError::Address {
                why: "it has a name or a password in it, which everybody on this machine could read",
            });
        }
        let host = host_of(address);
        let host = host.strip_prefix('[').and_then(|host| host.split(']').next()).or_else(|| host.split(':').next());
        let host = host.unwrap_or_default();
        let here = || host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match scheme.to_ascii_lowercase().as_str() {
            "https" => Ok(Self::Https),
            "http" if here() => Ok(Self::Http),
            "http" => Err(FetchError::Address { why: "it is not encrypted (http), and not of this machine" }),
            _ => Err(FetchError::Address { why: "it begins with neither https:// nor http://" }),
        }
    }
}

/// Where git is sent.
struct Way<'j> {
    transport: Transport,
    address: &'j str,
}

pub(super) fn fetch(
    job: &FetchJob,
    pull: &PullRequest,
    transport: Transport,
    cancel: &Cancel,
) -> Result<FetchedCommits, FetchError> {
    match &job.place {
        Place::Here { folder, ssh } => {
            let repo = Repo::open(folder)?;
            // A folder with files belongs to it where the way back leads to it, too: a setting may name any folder, also of another repository.
            let leads_back = |folder: &&Path| Repo::open(folder).is_ok_and(|there| there.git_dir() == repo.git_dir());
            let directory = repo.workdir().filter(leads_back).unwrap_or_else(|| repo.git_dir()).to_owned();
            let brought = Bringing::new(job, pull, &repo, false, cancel)?.by_all_ways(transport, ssh.as_deref())?;
            Ok(FetchedCommits { directory, ..brought })
        }
        Place::Mirror => {
            let mirror = Mirror::take(mirror_path(&job.mirrors, &job.server, &pull.id.repo), cancel)?;
            let bring = || {
                let repo = mirror.open()?;
                let brought = Bringing::new(job, pull, &repo, true, cancel)?.by_all_ways(transport, None)?;
                mirror::keep(&repo, &pull.id, brought.base, brought.head)?;
                Ok(FetchedCommits { directory: mirror.folder.clone(), ..brought })
            };
            match bring() {
                // Something in it is damaged: it is only a copy.
                Err(FetchError::Failed { .. } | FetchError::Repo(_)) => {
                    mirror.remake()?;
                    bring()
                }
                ended => ended,
            }
        }
    }
}

/// One fetch, with all that it needs.
struct Bringing<'j> {
    job: &'j FetchJob,
    pull: &'j PullRequest,
    repo: &'j Repo,
    scratch: Scratch,
    shallow: Shallow,
    /// Whether the history is brought in steps.
    in_steps: bool,
    cancel: &'j Cancel,
    /// Whether the head is asked for by its reference, since the server does not hand it out by its id.
    head_by_name: bool,
    /// The base branch, where its tip is what is asked for.
    branch: Option<String>,
    notices: Vec<String>,
}

impl<'j> Bringing<'j> {
    fn new(
        job: &'j FetchJob,
        pull: &'j PullRequest,
        repo: &'j Repo,
        is_mirror: bool,
        cancel: &'j Cancel,
    ) -> Result<Self, FetchError> {
        let scratch = Scratch::of(repo, &job.environment, cancel)?;
        let shallow = Shallow::of(repo)?;
        shallow.begin(&scratch)?;
        // A new mirror begins with a cut history: whole ones of large projects take minutes.
        let is_new = is_mirror && repo.raw().references().is_ok_and(|mut all| all.next().is_none());
        let branch = Some(format!("refs/heads/{}", pull.base_ref)).filter(|_| pull.state == PullState::Open);
        let branch = branch.filter(|name| git2::Reference::is_valid_name(name) && !name.contains('*'));
        let in_steps = is_new || shallow.is_cut();
        let (head_by_name, notices) = (false, Vec::new());
        Ok(Self { job, pull, repo, scratch, shallow, in_steps, cancel, head_by_name, branch, notices })
    }

    /// Over the forge's address, and over ssh where that refuses and the user's own remote says ssh.
    fn by_all_ways(mut self, transport: Transport, ssh: Option<&str>) -> Result<FetchedCommits, FetchError> {
        let refused = match self.by(&Way { transport, address: &self.job.address }) {
            Err(error @ FetchError::Access { .. }) => error,
            ended => return ended,
        };
        let Some(address) = ssh else { return Err(refused) };
        let brought = self.by(&Way { transport: Transport::Ssh, address });
        let mut brought = brought.map_err(|error| match error {
            FetchError::Stopped(_) | FetchError::Process(_) => error,
            // What the user can do is said best by the first one.
            _ => refused,
        })?;
        brought.notices.push("the commits were fetched over ssh: the server refused https".to_owned());
        Ok(brought)
    }

    fn by(&mut self, way: &Way<'_>) -> Result<FetchedCommits, FetchError> {
        let secret = self.job.authorization.as_ref().filter(|_| way.transport != Transport::Ssh);
        self.scratch.speak(way.transport.word(), &self.job.server, secret)?;
        let depths: &[u32] = if self.in_steps { &DEPTHS } else { &[] };
        let mut depths = depths.iter().copied();
        loop {
            let depth = depths.next();
            self.ask(way, depth)?;
            let (base, head) = self.arrived()?;
            let cuts = self.shallow.after(&self.scratch, self.cancel)?;
            if depths.len() == 0 || is_enough(&self.scratch, &cuts, base, head, self.cancel)? {
                self.shallow.tell(self.repo, &cuts)?;
                let notices = std::mem::take(&mut self.notices);
                return Ok(FetchedCommits { directory: std::path::PathBuf::new(), base, head, notices });
            }
        }
    }

    /// Asks until the server has what is asked for.
    fn ask(&mut self, way: &Way<'_>, depth: Option<u32>) -> Result<(), FetchError> {
        loop {
            let ended = self.once(way, depth)?;
            if ended.success {
                return Ok(());
            }
            let errors = String::from_utf8_lossy(&ended.errors).into_owned();
            match trouble(&ended.errors) {
                Trouble::NoCommit if !self.head_by_name && errors.contains(&self.pull.head.to_string()) => {
                    self.head_by_name = true;
                }
                Trouble::NoRef if self.branch.as_ref().is_some_and(|branch| errors.contains(branch)) => {
                    let text =
                        "the base branch is gone; the change is compared with the commit that the forge remembers";
                    self.notices.push(text.to_owned());
                    self.branch = None;
                }
                _ => return Err(self.fault(&ended.errors)),
            }
        }
    }

    fn once(&self, way: &Way<'_>, depth: Option<u32>) -> Result<crate::sys::process::Ended, FetchError> {
        let number = self.pull.id.number;
        let head = if self.head_by_name { format!("refs/pull/{number}/head") } else { self.pull.head.to_string() };
        let base = self.branch.clone().unwrap_or_else(|| self.pull.base.to_string());
        let mut arguments: Vec<String> =
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--refmap="].map(str::to_owned).to_vec();
        arguments.extend(depth.map(|depth| format!("--depth={depth}")));
        arguments.extend(["--".to_owned(), way.address.to_owned()]);
        arguments.push(format!("+{head}:refs/pull/{number}/head"));
        arguments.push(format!("+{base}:refs/pull/{number}/base"));
        self.scratch.git(arguments, MOST_SAID, self.cancel)
    }

    /// The base and the head that were brought.
    fn arrived(&self) -> Result<(CommitId, CommitId), FetchError> {
        let end = |end: &str, what, expected| {
            let name = format!("refs/pull/{}/{end}", self.pull.id.number);
            self.scratch.commit(&name, self.cancel)?.ok_or_else(|| self.no_commit(what, expected))
        };
        let head = end("head", "head", self.pull.head)?;
        if head != self.pull.head {
            return Err(FetchError::HeadMoved { pull: self.pull.id.clone(), was: self.pull.head, now: head });
        }
        Ok((end("base", "base", self.pull.base)?, head))
    }

    fn no_commit(&self, what: &'static str, commit: CommitId) -> FetchError {
        FetchError::NoCommit { server: host_of(&self.job.server), pull: self.pull.id.clone(), what, commit }
    }

    fn fault(&self, errors: &[u8]) -> FetchError {
        let said = said(errors, self.job.authorization.as_ref().map(crate::domain::secret::Secret::reveal));
        let (server, pull) = (host_of(&self.job.server), self.pull.id.clone());
        match trouble(errors) {
            Trouble::Network => FetchError::Network { server, said },
            Trouble::Certificate => FetchError::Certificate { server, said },
            Trouble::Access => FetchError::Access { pull, said, with_login: self.job.authorization.is_some() },
            Trouble::Moved => FetchError::Moved { pull },
            Trouble::NoRef => self.no_commit("head", self.pull.head),
            Trouble::NoCommit => {
                let of_head = String::from_utf8_lossy(errors).contains(&self.pull.head.to_string());
                if of_head { self.no_commit("head", self.pull.head) } else { self.no_commit("base", self.pull.base) }
            }
            Trouble::Other => FetchError::Failed { pull, said },
        }
    }
}
