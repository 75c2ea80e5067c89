//! The fetch itself: what is asked for, what is asked for instead when the server refuses, and when it is enough. Main function: [`fetch`].

use std::path::Path;

use crate::domain::id::CommitId;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

use super::error::{FetchError, GitTrouble, classify_stderr, summarize_stderr};
use super::mirror::{self, Mirror, mirror_path};
use super::remotes::{RepositoryPlace, host_of};
use super::scratch::{MOST_SAID, ScratchRepository};
use super::shallow::{DEPTHS, Shallow, is_enough};
use super::wanted_commits::WantedCommits;
use super::{FetchJob, FetchedCommits};

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
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            #[cfg(test)]
            Self::File => "file",
        }
    }

    /// Returns the transport for an address of the forge.
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

/// The address and transport for git.
struct FetchRoute<'j> {
    transport: Transport,
    address: &'j str,
}

pub(super) fn fetch(
    job: &FetchJob,
    wanted: &WantedCommits,
    transport: Transport,
    cancel: &Cancel,
) -> Result<FetchedCommits, FetchError> {
    match &job.place {
        RepositoryPlace::Here { folder, ssh } => {
            let repo = Repo::open(folder)?;
            // A folder with files belongs to it where the way back leads to it, too: a setting may name any folder, also of another repository.
            let leads_back = |folder: &&Path| Repo::open(folder).is_ok_and(|there| there.git_dir() == repo.git_dir());
            let directory = repo.workdir().filter(leads_back).unwrap_or_else(|| repo.git_dir()).to_owned();
            let brought =
                FetchContext::new(job, wanted, &repo, false, cancel)?.by_all_ways(transport, ssh.as_deref())?;
            Ok(FetchedCommits { directory, ..brought })
        }
        RepositoryPlace::Mirror => {
            let mirror =
                Mirror::open_or_create(mirror_path(&job.mirrors, &job.server, wanted.of.repo()), None, cancel)?;
            mirror.fill(&job.environment, cancel, || {
                let repo = mirror.open()?;
                let brought = FetchContext::new(job, wanted, &repo, true, cancel)?.by_all_ways(transport, None)?;
                mirror::protect_commits(&repo, &wanted.under, brought.base, brought.head)?;
                Ok(FetchedCommits { directory: mirror.folder.clone(), ..brought })
            })
        }
    }
}

/// One fetch, with all that it needs.
struct FetchContext<'j> {
    job: &'j FetchJob,
    wanted: &'j WantedCommits,
    repo: &'j Repo,
    scratch: ScratchRepository,
    shallow: Shallow,
    /// `true` if the history is brought in steps.
    in_steps: bool,
    cancel: &'j Cancel,
    /// `true` if the head is asked for by its reference, since the server does not hand it out by its id.
    head_by_name: bool,
    /// The base branch, where its tip is what is asked for.
    branch: Option<String>,
    notices: Vec<String>,
}

impl<'j> FetchContext<'j> {
    fn new(
        job: &'j FetchJob,
        wanted: &'j WantedCommits,
        repo: &'j Repo,
        is_mirror: bool,
        cancel: &'j Cancel,
    ) -> Result<Self, FetchError> {
        let scratch = ScratchRepository::borrowing_objects(repo, &job.environment, cancel)?;
        let shallow = Shallow::of(repo)?;
        shallow.write_initial(&scratch)?;
        // A new mirror begins with a cut history: whole ones of large projects take minutes.
        let is_new = is_mirror && repo.raw().references().is_ok_and(|mut all| all.next().is_none());
        let in_steps = is_new || shallow.is_cut();
        let (head_by_name, branch, notices) = (false, wanted.base_ref.clone(), Vec::new());
        Ok(Self { job, wanted, repo, scratch, shallow, in_steps, cancel, head_by_name, branch, notices })
    }

    /// Over the forge's address, and over ssh where that refuses and the user's own remote says ssh.
    fn by_all_ways(mut self, transport: Transport, ssh: Option<&str>) -> Result<FetchedCommits, FetchError> {
        let refused = match self.by(&FetchRoute { transport, address: &self.job.address }) {
            Err(error @ FetchError::Access { .. }) => error,
            ended => return ended,
        };
        let Some(address) = ssh else { return Err(refused) };
        let brought = self.by(&FetchRoute { transport: Transport::Ssh, address });
        let mut brought = brought.map_err(|error| match error {
            FetchError::Stopped(_) | FetchError::Process(_) => error,
            // What the user can do is said best by the first one.
            _ => refused,
        })?;
        brought.notices.push("the commits were fetched over ssh: the server refused https".to_owned());
        Ok(brought)
    }

    fn by(&mut self, way: &FetchRoute<'_>) -> Result<FetchedCommits, FetchError> {
        let secret = self.job.authorization.as_ref().filter(|_| way.transport != Transport::Ssh);
        self.scratch.allow_protocol(way.transport.word(), &self.job.server, secret)?;
        let depths: &[u32] = if self.in_steps { &DEPTHS } else { &[] };
        let mut depths = depths.iter().copied();
        loop {
            let depth = depths.next();
            self.ask(way, depth)?;
            let (base, head) = self.arrived()?;
            let cuts = self.shallow.update_cuts(&self.scratch, self.cancel)?;
            if depths.len() == 0 || is_enough(&self.scratch, &cuts, base, head, self.cancel)? {
                self.shallow.publish_cuts(self.repo, &cuts)?;
                let notices = std::mem::take(&mut self.notices);
                return Ok(FetchedCommits { directory: std::path::PathBuf::new(), base, head, notices });
            }
        }
    }

    /// Asks until the server has what is asked for.
    fn ask(&mut self, way: &FetchRoute<'_>, depth: Option<u32>) -> Result<(), FetchError> {
        loop {
            let ended = self.once(way, depth)?;
            if ended.success {
                return Ok(());
            }
            let errors = String::from_utf8_lossy(&ended.errors).into_owned();
            match classify_stderr(&ended.errors) {
                GitTrouble::NoCommit
                    if !self.head_by_name
                        && self.wanted.head_ref.is_some()
                        && errors.contains(&self.wanted.head.to_string()) =>
                {
                    self.head_by_name = true;
                }
                GitTrouble::NoRef
                    if self.wanted.base.is_some()
                        && self.branch.as_ref().is_some_and(|branch| errors.contains(branch)) =>
                {
                    let text =
                        "the base branch is gone; the change is compared with the commit that the forge remembers";
                    self.notices.push(text.to_owned());
                    self.branch = None;
                }
                _ => return Err(self.fault(&ended.errors)),
            }
        }
    }

    fn once(&self, way: &FetchRoute<'_>, depth: Option<u32>) -> Result<crate::sys::process::ProcessOutput, FetchError> {
        let WantedCommits { under, .. } = self.wanted;
        let by_name = self.wanted.head_ref.clone().filter(|_| self.head_by_name);
        let head = by_name.unwrap_or_else(|| self.wanted.head.to_string());
        let base = self.branch.clone().or_else(|| self.wanted.base.map(|base| base.to_string()));
        // One of the two is always known.
        let base = base.unwrap_or_default();
        let mut arguments: Vec<String> =
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--refmap="].map(str::to_owned).to_vec();
        arguments.extend(depth.map(|depth| format!("--depth={depth}")));
        arguments.extend(["--".to_owned(), way.address.to_owned()]);
        arguments.push(format!("+{head}:{under}/head"));
        arguments.push(format!("+{base}:{under}/base"));
        self.scratch.git(arguments, MOST_SAID, self.cancel)
    }

    /// The base and the head that were brought.
    fn arrived(&self) -> Result<(CommitId, CommitId), FetchError> {
        let end = |end: &'static str| {
            let name = format!("{}/{end}", self.wanted.under);
            self.scratch.commit(&name, self.repo)?.ok_or_else(|| self.no_commit(end))
        };
        let head = end("head")?;
        if head != self.wanted.head {
            return Err(FetchError::HeadMoved { of: self.wanted.of.clone(), was: self.wanted.head, now: head });
        }
        Ok((end("base")?, head))
    }

    fn no_commit(&self, what: &'static str) -> FetchError {
        let commit = self.wanted.base.filter(|_| what == "base").unwrap_or(self.wanted.head);
        FetchError::NoCommit { server: host_of(&self.job.server), of: self.wanted.of.clone(), what, commit }
    }

    fn fault(&self, errors: &[u8]) -> FetchError {
        let said = summarize_stderr(errors, self.job.authorization.as_ref().map(crate::domain::secret::Secret::reveal));
        let (server, of) = (host_of(&self.job.server), self.wanted.of.clone());
        match classify_stderr(errors) {
            GitTrouble::Network => FetchError::Network { server, said },
            GitTrouble::Certificate => FetchError::Certificate { server, said },
            GitTrouble::Access => FetchError::Access { of, said, with_login: self.job.authorization.is_some() },
            GitTrouble::Moved => FetchError::Moved { of },
            GitTrouble::NoRef => match &self.branch {
                Some(branch) if self.wanted.base.is_none() => {
                    FetchError::NoBranch { server, of, branch: branch.clone() }
                }
                _ => self.no_commit("head"),
            },
            GitTrouble::NoCommit => {
                let of_head = String::from_utf8_lossy(errors).contains(&self.wanted.head.to_string());
                self.no_commit(if of_head { "head" } else { "base" })
            }
            GitTrouble::Other => FetchError::Failed { of, said },
        }
    }
}
