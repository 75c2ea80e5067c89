//! Why commits could not be brought, and what git's words mean. Main type: [`FetchError`].

use crate::domain::id::CommitId;
use crate::domain::text::{mask, shorten, strip_line};
use crate::sys::cancel::CancelReason;
use crate::sys::files::FileError;
use crate::sys::process::ProcessError;
use crate::sys::repo_error::RepoError;

use super::wanted_commits::FetchOf;

/// The most characters of a server's or git's words in a message.
const MOST_SAID: usize = 300;

/// The reason why commits could not be brought. Each message says what to do next; what others said in it is made harmless.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FetchError {
    /// `git` or `ssh` could not be run, or was stopped.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    /// A file of a mirror or of a temporary folder.
    #[error("{0}; the mirrors are a cache: set XDG_CACHE_HOME to a folder that can be written")]
    File(#[from] FileError),
    /// The repository that one stands in.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// A number alone means a pull request of the repository that one stands in, and none is known.
    #[error(
        "no remote of this repository is on {server}{}: write owner/repository#number, or set GITHUB_SERVER_URL and GITHUB_API_URL to the \
         forge that it is on",
        if seen.is_empty() { " (it has none)".to_owned() } else { format!(" (it has {})", seen.join(", ")) }
    )]
    NoRemote { server: String, seen: Vec<String> },
    /// Several could be meant.
    #[error("the remotes of this repository are several repositories ({}): write owner/repository#number", seen.join(", "))]
    SeveralRemotes { seen: Vec<String> },
    /// There is no repository whose pull request a number could be.
    #[error(
        "{0}; a number alone is a pull request of the repository that one stands in: write owner/repository#number"
    )]
    Nowhere(RepoError),
    /// The page that was named is not the forge's.
    #[error(
        "{host} is not the forge that is asked ({server}): set GITHUB_SERVER_URL and GITHUB_API_URL to it, and GITHUB_TOKEN to a token of it"
    )]
    OtherServer { host: String, server: String },
    /// The address of the forge cannot be used.
    #[error("git cannot be sent to the forge's address: {why}; see GITHUB_SERVER_URL")]
    Address {
        /// The problem, without showing the value.
        why: &'static str,
    },
    #[error(
        "git could not reach {server}: {said}; look at the network and the proxy (https_proxy, or http.proxy of your git settings), and try again"
    )]
    Network { server: String, said: String },
    /// The responding host could not prove that it is the server.
    #[error(
        "git does not trust who answers as {server}: {said}; set http.sslCAInfo in your git settings to the certificates of your network"
    )]
    Certificate { server: String, said: String },
    /// It is private, or not there.
    #[error(
        "git may not read {of}'s repository: {said}; {}",
        if *with_login { "give the token the right to read its contents" } else { "set GITHUB_TOKEN to a token that may read its contents" }
    )]
    Access {
        of: FetchOf,
        said: String,
        /// `true` if we said who we are.
        with_login: bool,
    },
    /// It has another name now.
    #[error("{of}'s repository was moved, and git does not follow: name it by its new name")]
    Moved { of: FetchOf },
    /// The server has not got the commit.
    #[error(
        "{server} does not hand out {commit}, the {what} of {of}; it may have been replaced a moment ago: try again"
    )]
    NoCommit { server: String, of: FetchOf, what: &'static str, commit: CommitId },
    /// The branch that something is compared with is not there.
    #[error("{server} has no {branch} in {of}: name a branch that is there, or try again if it was made a moment ago")]
    NoBranch { server: String, of: FetchOf, branch: String },
    /// The branch was pushed to meanwhile.
    #[error("the head of {of} was {was} and is {now} now: try again")]
    HeadMoved { of: FetchOf, was: CommitId, now: CommitId },
    /// Another program cut or deepened the history meanwhile.
    #[error("another program changed where the history of {folder} is cut, meanwhile: try again")]
    ShallowChanged { folder: String },
    /// The address of all repositories cannot be used. `why` does not show the value.
    #[error("the address of --repos cannot be used: {why}")]
    Base { why: &'static str },
    /// The name of a repository could lead anywhere.
    #[error(
        "{name:?} is not the name of a repository below an address: it has letters, digits, `.`, `_`, `-`, and `/` between its parts"
    )]
    Name { name: String },
    /// The branches of a repository could not be fetched. With `is_refused`, trying again would not help.
    #[error(
        "git could not fetch the branches of {name}: {said}; check --repos, the name, and that the repository may be read"
    )]
    Branches { name: String, said: String, is_refused: bool },
    /// Anything else.
    #[error("git could not bring {of}: {said}; try the same with `git fetch`, which must be 2.17 or newer")]
    Failed { of: FetchOf, said: String },
}

/// The classification of git's error output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitTrouble {
    Network,
    Certificate,
    Access,
    Moved,
    NoCommit,
    NoRef,
    Other,
}

/// Words that git, curl, ssh or a server use, in lower case, and what they mean; the first that fits counts.
const WORDS: [(&str, GitTrouble); 32] = [
    ("not our ref", GitTrouble::NoCommit),
    ("does not allow request for unadvertised object", GitTrouble::NoCommit),
    ("couldn't find remote ref", GitTrouble::NoRef),
    ("unable to update url base from redirection", GitTrouble::Moved),
    ("returned error: 301", GitTrouble::Moved),
    ("returned error: 302", GitTrouble::Moved),
    ("returned error: 307", GitTrouble::Moved),
    ("returned error: 308", GitTrouble::Moved),
    ("ssl certificate", GitTrouble::Certificate),
    ("certificate verification failed", GitTrouble::Certificate),
    ("certificate verify", GitTrouble::Certificate),
    ("host key verification failed", GitTrouble::Certificate),
    ("could not read username", GitTrouble::Access),
    ("could not read password", GitTrouble::Access),
    ("terminal prompts disabled", GitTrouble::Access),
    ("authentication failed", GitTrouble::Access),
    ("permission denied", GitTrouble::Access),
    ("returned error: 401", GitTrouble::Access),
    ("returned error: 403", GitTrouble::Access),
    ("returned error: 404", GitTrouble::Access),
    ("not found", GitTrouble::Access),
    ("could not resolve", GitTrouble::Network),
    ("failed to connect", GitTrouble::Network),
    ("couldn't connect", GitTrouble::Network),
    ("connection refused", GitTrouble::Network),
    ("connection reset", GitTrouble::Network),
    ("timed out", GitTrouble::Network),
    ("operation too slow", GitTrouble::Network),
    ("returned error: 5", GitTrouble::Network),
    ("hung up unexpectedly", GitTrouble::Network),
    ("early eof", GitTrouble::Network),
    ("unable to access", GitTrouble::Network),
];

/// Reads git's standard error (which it writes in English for us).
pub(super) fn classify_stderr(errors: &[u8]) -> GitTrouble {
    let text = String::from_utf8_lossy(errors).to_lowercase();
    WORDS.iter().find(|(words, _)| text.contains(words)).map_or(GitTrouble::Other, |(_, trouble)| *trouble)
}

/// The line that says most, made harmless: one line, nothing invisible, no secret, not long.
pub(super) fn summarize_stderr(errors: &[u8], secret: Option<&str>) -> String {
    let text = String::from_utf8_lossy(errors);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = |start: &str| lines().rev().find(|line| line.starts_with(start)).map(str::to_owned);
    let line = telling("fatal:").or_else(|| telling("error:")).or_else(|| lines().next_back().map(str::to_owned));
    let mut line = line.unwrap_or_else(|| "it said nothing".to_owned());
    if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
        line = line.replace(secret, "***");
    }
    shorten(&mask(&strip_line(&line)).text, MOST_SAID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_git_are_understood() {
        for (words, meant) in [
            ("fatal: unable to access 'https://h/o/r.git/': Could not resolve host: h", GitTrouble::Network),
            ("fatal: unable to access 'https://h/o/r.git/': The requested URL returned error: 403", GitTrouble::Access),
            (
                "fatal: unable to access 'https://h/o/r.git/': The requested URL returned error: 502",
                GitTrouble::Network,
            ),
            ("remote: Repository not found.\nfatal: repository 'https://h/o/r.git/' not found", GitTrouble::Access),
            ("fatal: could not read Username for 'https://h': terminal prompts disabled", GitTrouble::Access),
            ("fatal: remote error: upload-pack: not our ref 0123", GitTrouble::NoCommit),
            ("fatal: couldn't find remote ref refs/heads/main", GitTrouble::NoRef),
            ("git@h: Permission denied (publickey).", GitTrouble::Access),
            ("fatal: unable to access 'https://h/': SSL certificate problem: self-signed", GitTrouble::Certificate),
            ("something else", GitTrouble::Other),
        ] {
            assert_eq!(classify_stderr(words.as_bytes()), meant, "{words}");
        }
    }

    #[test]
    fn what_a_server_says_is_made_harmless() {
        let text = b"remote: \x1b[31mhi\nfatal: bad \x1b]8;;x\x07 basic c2VjcmV0 \xff\n";
        let said = summarize_stderr(text, Some("basic c2VjcmV0"));
        assert!(said.starts_with("fatal: bad") && !said.contains("c2VjcmV0") && !said.contains('\x1b'), "{said}");
        assert!(super::summarize_stderr(&[b'x'; 5000], None).chars().count() <= MOST_SAID + 1);
        assert_eq!(super::summarize_stderr(b"", None), "it said nothing");
    }
}
