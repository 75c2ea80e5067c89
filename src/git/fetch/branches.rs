//! All branches of a repository below one address, in a mirror of our own. Main types: [`RepositoryBase`], [`BranchFetch`]; main function:
//! [`fetch_branches`].

use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::error::{FetchError, GitTrouble, classify_stderr, summarize_stderr};
use super::mirror::Mirror;
use super::remotes::RemoteAddress;
use super::scratch::{MOST_SAID, ScratchRepository};
use super::steps::Transport;
use crate::domain::id::hex;
use crate::domain::secret::Secret;
use crate::domain::text::strip_line;
use crate::sys::cancel::Cancel;
use crate::sys::process::Environment;
use crate::sys::repo::Repo;

/// The time limit of a fetch: the first one brings a whole history.
const LIMIT: Duration = Duration::from_mins(30);
/// The longest name of a repository, in bytes.
const LONGEST_NAME: usize = 200;

/// The address below which repositories are: `https://host/owner`, `ssh://git@host/path`, `file:///folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryBase {
    address: String,
    protocol: &'static str,
}

impl RepositoryBase {
    /// Reads an address; `None` if the text is none, but a path.
    pub fn parse(text: &str) -> Option<Result<Self, FetchError>> {
        let (scheme, rest) = text.split_once("://")?;
        Some(Self::read(text, scheme, rest))
    }

    fn read(text: &str, scheme: &str, rest: &str) -> Result<Self, FetchError> {
        let fault = |why| FetchError::Base { why };
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#' | '\\')) {
            return Err(fault("it has a space, a control character or one of ?#\\ in it"));
        }
        let is_remote = || RemoteAddress::parse(&format!("{}/", text.trim_end_matches('/'))).is_some();
        let protocol = match scheme.to_ascii_lowercase().as_str() {
            "file" if rest.starts_with('/') => "file",
            "ssh" if is_remote() && !rest.split('/').next().is_some_and(password_in) => "ssh",
            "https" | "http" if is_remote() => match Transport::of(text) {
                Ok(transport) => transport.word(),
                Err(FetchError::Address { why }) => return Err(fault(why)),
                Err(error) => return Err(error),
            },
            _ => return Err(fault("it is not https://HOST/…, ssh://USER@HOST/… or file:///…")),
        };
        Ok(Self { address: text.trim_end_matches('/').to_owned(), protocol })
    }

    /// The address of the server, without a path.
    pub fn server(&self) -> &str {
        let start = self.address.find("://").map_or(0, |at| at + 3);
        let end = self.address[start..].find('/').map_or(self.address.len(), |at| start + at);
        &self.address[..end]
    }

    /// Checks whether a login could be sent there: over HTTPS.
    pub fn takes_login(&self) -> bool {
        self.protocol == "https"
    }

    /// Returns the address of a repository and the path of its mirror below the folder of all. Servers that speak HTTP know repositories by names
    /// that end in `.git`.
    fn place(&self, name: &str) -> Result<(String, PathBuf), FetchError> {
        let bare = name.strip_suffix(".git").unwrap_or(name);
        let is_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with(['.', '-'])
                && !part.ends_with('.')
                && !part.to_ascii_lowercase().ends_with(".lock")
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        };
        if bare.len() > LONGEST_NAME || !bare.split('/').all(is_part) {
            return Err(FetchError::Name { name: strip_line(name) });
        }
        let ending = if self.protocol.starts_with("http") { ".git" } else { &name[bare.len()..] };
        let folder = hex(&Sha256::digest(&self.address))[..16].to_owned();
        Ok((format!("{}/{bare}{ending}", self.address), PathBuf::from(folder).join(format!("{bare}.git"))))
    }
}

fn password_in(authority: &str) -> bool {
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// The source and destination of a fetch of all branches.
#[derive(Debug, Clone)]
pub struct BranchFetch {
    /// The address of all repositories.
    pub base: RepositoryBase,
    /// The folder with their mirrors.
    pub mirrors: PathBuf,
    /// The value of the `Authorization` header, where there is a login.
    pub authorization: Option<Secret>,
    /// The environment of the programs that are started.
    pub environment: Environment,
}

/// Brings all branches of a repository to its mirror, unless it has what is needed; returns the mirror, and `true` if something was fetched.
/// It blocks, also while another process fetches into the mirror.
pub fn fetch_branches(
    job: &BranchFetch,
    name: &str,
    has_all: impl Fn(&Repo) -> bool,
    cancel: &Cancel,
) -> Result<(PathBuf, bool), FetchError> {
    let cancel = &cancel.with_deadline(LIMIT);
    let (address, folder) = job.base.place(name)?;
    let mirror = Mirror::open_or_create(job.mirrors.join(folder), Some(&address), cancel)?;
    if has_all(&mirror.open()?) {
        return Ok((mirror.folder, false));
    }
    mirror.fill(&job.environment, cancel, || fetch_into(job, name, &address, &mirror, cancel))?;
    Ok((mirror.folder, true))
}

fn fetch_into(
    job: &BranchFetch,
    name: &str,
    address: &str,
    mirror: &Mirror,
    cancel: &Cancel,
) -> Result<(), FetchError> {
    let repo = mirror.open()?;
    let mut scratch = ScratchRepository::borrowing_objects(&repo, &job.environment, cancel)?.in_folder(&mirror.folder);
    scratch.allow_protocol(job.base.protocol, job.base.server(), job.authorization.as_ref())?;
    let arguments = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--prune", "--refmap=", "--"];
    let ended = scratch.git(arguments.into_iter().chain([address, "+refs/heads/*:refs/heads/*"]), MOST_SAID, cancel)?;
    if ended.success {
        return Ok(());
    }
    let said = summarize_stderr(&ended.errors, job.authorization.as_ref().map(Secret::reveal));
    let (server, name) = (strip_line(job.base.server()), strip_line(name));
    Err(match classify_stderr(&ended.errors) {
        GitTrouble::Network => FetchError::Network { server, said },
        GitTrouble::Certificate => FetchError::Certificate { server, said },
        GitTrouble::Access | GitTrouble::Moved => FetchError::Branches { name, said, is_refused: true },
        GitTrouble::NoCommit | GitTrouble::NoRef | GitTrouble::Other => {
            // Also a folder where no repository is.
            let is_refused = String::from_utf8_lossy(&ended.errors).contains("does not appear to be a git repository");
            FetchError::Branches { name, said, is_refused }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_server_and_a_path_and_nothing_else() {
        let parse = |text: &str| RepositoryBase::parse(text).map(Result::ok);
        for (text, server) in [
            ("https://git.example/team/", "https://git.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("ssh://git@git.example:2222/srv", "ssh://git@git.example:2222"),
            ("file:///srv/git", "file://"),
        ] {
            assert_eq!(parse(text).unwrap().unwrap().server(), server, "{text}");
        }
        assert_eq!(parse("/srv/git"), None);
        for text in [
            "http://git.example/team",
            "https://ada:secret@git.example",
            "ssh://ada:secret@git.example/srv",
            "ssh://-oProxyCommand=x/srv",
            "ext::sh://x",
            "file://relative",
            "https://git.example/a b",
            "https://git.example/?x",
            "git://git.example/x",
        ] {
            assert_eq!(parse(text), Some(None), "{text}");
        }
    }

    #[test]
    fn no_name_leads_out_of_the_address() {
        let base = RepositoryBase::parse("https://git.example/team").unwrap().unwrap();
        let (address, folder) = base.place("group/demo").unwrap();
        assert_eq!(address, "https://git.example/team/group/demo.git");
        assert!(folder.ends_with("group/demo.git") && folder.components().count() == 3, "{folder:?}");
        assert_eq!(base.place("group/demo.git").unwrap(), (address, folder));
        let long = "x".repeat(300);
        for name in [
            "", ".", "..", "a/../b", "/a", "a//b", "a/", "-x", "a/.git", "a b", "a\0", "a\n", "é", "a:b", "a?x",
            "a.lock", &long,
        ] {
            assert!(matches!(base.place(name), Err(FetchError::Name { .. })), "{name:?}");
        }
        let files = RepositoryBase::parse("file:///srv/").unwrap().unwrap();
        assert_eq!(files.place("demo").unwrap().0, "file:///srv/demo");
    }
}
