//! The forge repository that a local repository is a clone of. Main types: [`RemoteAddress`], [`RepositoryPlace`].

use std::path::{Path, PathBuf};

use crate::domain::forge::RepoName;
use crate::sys::repo::Repo;

use super::error::FetchError;

/// GitHub serves ssh on the port of https under this name.
const SSH_OVER_HTTPS: (&str, &str) = ("ssh.github.com", "github.com");

/// The protocol of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemoteProtocol {
    Http,
    Https,
    Ssh,
}

/// The address of a remote, taken apart. A password in it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteAddress {
    spoken: RemoteProtocol,
    user: Option<String>,
    host: String,
    port: Option<u16>,
    path: String,
}

/// A remote of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Its address; `None` for a folder or an address that was not understood.
    pub address: Option<RemoteAddress>,
}

/// The local location of a forge repository's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryPlace {
    /// In a repository that has it as a remote.
    Here {
        /// Its git folder.
        folder: PathBuf,
        /// The remote's address over ssh, where it is one.
        ssh: Option<String>,
    },
    /// In none.
    Mirror,
}

impl RemoteAddress {
    /// Reads `https://host/o/r.git`, `ssh://git@host:22/o/r.git`, `git@host:o/r.git`. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (spoken, rest) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let spoken = match scheme.to_ascii_lowercase().as_str() {
                    "https" => RemoteProtocol::Https,
                    "http" => RemoteProtocol::Http,
                    "ssh" | "git+ssh" | "ssh+git" => RemoteProtocol::Ssh,
                    _ => return None,
                };
                (spoken, rest.to_owned())
            }
            None => {
                // `ext::command` and other helpers have two colons, a path has a slash before its first one.
                let (host, path) = text.split_once(':')?;
                if host.contains('/') || path.starts_with(':') || path.starts_with('\\') {
                    return None;
                }
                (RemoteProtocol::Ssh, format!("{host}/{}", path.trim_start_matches('/')))
            }
        };
        let (authority, path) = rest.split_once('/')?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (user.split(':').next(), host),
            None => (None, authority),
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().ok()?)),
            _ => (host, None),
        };
        let plain = |text: &str| !text.starts_with('-') && text.bytes().all(is_plain);
        if host.is_empty() || !plain(host) || user.is_some_and(|user| !plain(user)) {
            return None;
        }
        let host = host.to_ascii_lowercase();
        Some(Self { spoken, user: user.map(str::to_owned), host, port, path: path.to_owned() })
    }

    /// The repository of `server` that it names; `None` if it is on another one.
    ///
    /// Ports are compared too, but for ssh, whose port is never that of the pages.
    pub fn repository_on(&self, server: &Self) -> Option<RepoName> {
        let (alias, stands_for) = SSH_OVER_HTTPS;
        let host = if self.spoken == RemoteProtocol::Ssh && self.host == alias { stands_for } else { &self.host };
        let same = host == server.host && (self.spoken == RemoteProtocol::Ssh || self.web_port() == server.web_port());
        let below = if self.spoken == RemoteProtocol::Ssh { "" } else { server.path.trim_matches('/') };
        let path = self.path.trim_matches('/').strip_prefix(below)?;
        let path = Some(path).filter(|path| below.is_empty() || path.starts_with('/'))?.trim_matches('/');
        let path = match path.len().checked_sub(4).and_then(|at| path.split_at_checked(at)) {
            Some((name, end)) if end.eq_ignore_ascii_case(".git") => name,
            _ => path,
        };
        path.parse().ok().filter(|_| same)
    }

    fn web_port(&self) -> u16 {
        self.port.unwrap_or(if self.spoken == RemoteProtocol::Http { 80 } else { 443 })
    }

    /// Rebuilds the address, if its protocol is ssh: nothing of the original that was not understood is in it.
    fn ssh(&self, repo: &RepoName) -> Option<String> {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        (self.spoken == RemoteProtocol::Ssh).then(|| format!("ssh://{user}{}{port}/{repo}.git", self.host))
    }

    /// The host, with a port that is not the usual one.
    fn shown(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'[' | b']' | b':')
}

/// The host of a server's address, with a port that is not the usual one; as in the address of a page.
pub fn host_of(server: &str) -> String {
    let parsed = parsed_server(server);
    parsed.map_or_else(String::new, |server| {
        let usual = if server.spoken == RemoteProtocol::Http { 80 } else { 443 };
        RemoteAddress { port: server.port.filter(|port| *port != usual), ..server }.shown()
    })
}

fn parsed_server(server: &str) -> Option<RemoteAddress> {
    RemoteAddress::parse(&format!("{}/", server.trim_end_matches('/')))
}

/// The remotes of a repository: `upstream`, `origin`, the rest by name.
pub fn remotes(repo: &Repo) -> Vec<Remote> {
    let Ok(names) = repo.raw().remotes() else { return Vec::new() };
    let mut names: Vec<String> = names.iter().filter_map(|name| name.ok().flatten()).map(str::to_owned).collect();
    let rank = |name: &str| ["upstream", "origin"].iter().position(|first| *first == name).unwrap_or(2);
    names.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
    let address = |name: &str| {
        let remote = repo.raw().find_remote(name).ok()?;
        RemoteAddress::parse(remote.url().ok()?)
    };
    names.into_iter().map(|name| Remote { address: address(&name), name }).collect()
}

/// The repository of the forge that a number alone is about: that of `upstream`, of `origin`, or of the only other one there is.
pub fn repository_of(remotes: &[Remote], server: &str) -> Result<RepoName, FetchError> {
    let parsed = parsed_server(server).ok_or(FetchError::Address { why: "it cannot be read" })?;
    let on_it = |remote: &Remote| remote.address.as_ref().and_then(|address| address.repository_on(&parsed));
    for remote in remotes.iter().filter(|remote| matches!(remote.name.as_str(), "upstream" | "origin")) {
        if let Some(found) = on_it(remote) {
            return Ok(found);
        }
    }
    let mut found: Vec<RepoName> = Vec::new();
    for repo in remotes.iter().filter_map(on_it) {
        if !found.iter().any(|known| known.is(&repo)) {
            found.push(repo);
        }
    }
    if found.len() > 1 {
        return Err(FetchError::SeveralRemotes { seen: found.iter().map(ToString::to_string).collect() });
    }
    found.pop().ok_or_else(|| {
        let host = |remote: &Remote| remote.address.as_ref().map_or("on no server".to_owned(), RemoteAddress::shown);
        let seen = remotes.iter().map(|remote| format!("{}: {}", remote.name, host(remote))).collect();
        FetchError::NoRemote { server: host_of(server), seen }
    })
}

/// Finds the local objects of `wanted`: in `repo`, if one of its remotes is that repository.
pub fn find_local(repo: &Repo, wanted: &RepoName, server: &str) -> RepositoryPlace {
    // What git brings only when it is asked for cannot be completed by us, nor be read by libgit2.
    let Some(server) = parsed_server(server).filter(|_| !repo.is_partial()) else { return RepositoryPlace::Mirror };
    let mut matching = remotes(repo).into_iter().filter_map(|remote| {
        let address = remote.address?;
        address.repository_on(&server).filter(|name| name.is(wanted)).map(|name| address.ssh(&name))
    });
    let Some(first) = matching.next() else { return RepositoryPlace::Mirror };
    let ssh = first.or_else(|| matching.flatten().next());
    RepositoryPlace::Here { folder: Path::to_owned(repo.git_dir()), ssh }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(server: &str, text: &str) -> Option<String> {
        let repo = RemoteAddress::parse(text)?.repository_on(&parsed_server(server).unwrap())?;
        Some(repo.to_string())
    }

    #[test]
    fn a_remote_is_known_in_every_spelling() {
        for text in [
            "https://github.com/Octo/a.b",
            "https://github.com/Octo/a.b.git",
            "https://GitHub.com:443/Octo/a.b.git/",
            "https://token:x@github.com/Octo/a.b.git",
            "git@github.com:Octo/a.b.git",
            "github.com:/Octo/a.b",
            "ssh://git@github.com/Octo/a.b.git",
            "ssh://git@github.com:22/Octo/a.b",
            "ssh://git@ssh.github.com:443/Octo/a.b.git",
        ] {
            assert_eq!(on("https://github.com", text).as_deref(), Some("Octo/a.b"), "{text}");
        }
        assert_eq!(on("http://localhost:8080", "http://localhost:8080/o/r.git").as_deref(), Some("o/r"));
        assert_eq!(on("https://ghe.example/git", "https://ghe.example/git/o/r").as_deref(), Some("o/r"));
        assert_eq!(on("https://ghe.example/git", "https://ghe.example/gito/r"), None);
    }

    #[test]
    fn a_remote_elsewhere_is_none() {
        for text in [
            "https://github.com.evil.example/o/r",
            "https://evil.example/github.com/o/r",
            "https://github.com:8443/o/r",
            "https://github.com/o",
            "https://github.com/o/r/s",
            "https://github.com@evil.example/o/r",
            "git@evil.example:o/r.git",
            "ext::sh -c true github.com/o/r",
            "/srv/github.com/o/r",
            "../o/r",
            "C:\\o\\r",
            "file:///github.com/o/r",
            "-oProxyCommand=x:o/r",
            "ssh://-oProxyCommand=x/o/r",
            "",
        ] {
            assert_eq!(on("https://github.com", text), None, "{text}");
        }
    }

    #[test]
    fn the_ssh_address_is_written_anew() {
        let address = RemoteAddress::parse("ssh://git:secret@github.com:2222/o/r.git/").unwrap();
        let repo = RepoName::new("o", "r").unwrap();
        assert_eq!(address.ssh(&repo).as_deref(), Some("ssh://git@github.com:2222/o/r.git"));
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn a_number_alone_is_looked_for_in_this_order() {
        let remote = |name: &str, url: &str| Remote { name: name.to_owned(), address: RemoteAddress::parse(url) };
        let server = "https://github.com";
        let (fork, main) = (remote("origin", "git@github.com:me/r"), remote("upstream", "https://github.com/o/r"));
        assert_eq!(repository_of(&[main, fork.clone()], server).unwrap().to_string(), "o/r");
        let foreign = remote("upstream", "https://gitlab.example/o/r");
        assert_eq!(repository_of(&[foreign.clone(), fork], server).unwrap().to_string(), "me/r");
        let others = [remote("a", "git@github.com:o/r"), remote("b", "https://github.com/O/R.git")];
        assert_eq!(repository_of(&others, server).unwrap().to_string(), "o/r");
        let several = [remote("a", "git@github.com:o/r"), remote("b", "git@github.com:o/s")];
        assert!(matches!(repository_of(&several, server), Err(FetchError::SeveralRemotes { .. })));
        let fault = repository_of(&[foreign, remote("x", "/srv/r")], server).unwrap_err().to_string();
        assert!(fault.contains("upstream: gitlab.example") && fault.contains("x: on no server"), "{fault}");
        assert!(repository_of(&[], server).unwrap_err().to_string().contains("it has none"));
    }

    #[test]
    fn hosts_are_named_as_in_addresses_of_pages() {
        assert_eq!(host_of("https://GitHub.com"), "github.com");
        assert_eq!(host_of("https://github.com:443"), "github.com");
        assert_eq!(host_of("http://127.0.0.1:8080"), "127.0.0.1:8080");
    }
}
