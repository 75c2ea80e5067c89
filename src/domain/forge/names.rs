//! The names of repositories and pull requests. Main types: [`RepoName`], [`PullNumber`], [`PullId`], [`PullSpecifier`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A repository of a forge: `owner/name`. Both parts are letters, digits, `-`, `_` and `.`, so that they stand in any address as they are.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RepoName {
    owner: String,
    name: String,
}

/// The number of a pull request, 1 to 2³¹ − 1 (what GitHub's GraphQL can say).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PullNumber(u32);

/// One pull request of one repository. Shown and kept as `owner/name#12`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "PullSpecifier")]
pub struct PullId {
    /// The repository that it asks to be merged into.
    pub repo: RepoName,
    /// Its number there.
    pub number: PullNumber,
}

/// A pull request as named by a user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PullSpecifier {
    /// `12` or `#12`: of the repository that one stands in.
    Number(PullNumber),
    /// `owner/name#12`, or the address of its page.
    Whole {
        /// The host of the page, where an address was given; lower case, with its port.
        host: Option<String>,
        /// The pull request.
        id: PullId,
    },
}

/// Text that names no pull request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} names no pull request{hint}: write its number, owner/repository#number, or the address of its page",
    name = .0,
    hint = if .0.contains("://") && !.0.contains("/pull/") { " (only those of GitHub are supported)" } else { "" }
)]
pub struct InvalidPullName(pub String);

/// The longest owner or repository name that is believed.
const LONGEST: usize = 100;

fn plain(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= LONGEST
        && part != "."
        && part != ".."
        && !part.starts_with('-')
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Addresses of repositories end so; a name that does too would be taken for another.
fn has_git_suffix(name: &str) -> bool {
    name.len() >= 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".git")
}

impl RepoName {
    /// Checks both parts.
    pub fn new(owner: &str, name: &str) -> Result<Self, InvalidPullName> {
        let bad = || InvalidPullName(format!("{owner}/{name}"));
        let fits = plain(owner) && plain(name) && !has_git_suffix(name);
        fits.then(|| Self { owner: owner.to_owned(), name: name.to_owned() }).ok_or_else(bad)
    }

    /// Returns the owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks whether both name the same repository: forges ignore case.
    pub fn is(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl FromStr for RepoName {
    type Err = InvalidPullName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (owner, name) = text.split_once('/').ok_or_else(|| InvalidPullName(text.to_owned()))?;
        Self::new(owner, name).map_err(|_| InvalidPullName(text.to_owned()))
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl PullNumber {
    /// Checks the range.
    pub fn new(number: u64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| (1..=0x7fff_ffff).contains(number)).map(Self)
    }

    /// The number.
    pub fn value(self) -> u32 {
        self.0
    }
}

impl FromStr for PullNumber {
    type Err = InvalidPullName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits).and_then(Self::new);
        number.ok_or_else(|| InvalidPullName(text.to_owned()))
    }
}

impl fmt::Display for PullNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PullId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

impl From<PullId> for String {
    fn from(id: PullId) -> Self {
        id.to_string()
    }
}

impl TryFrom<PullSpecifier> for PullId {
    type Error = &'static str;

    fn try_from(named: PullSpecifier) -> Result<Self, Self::Error> {
        match named {
            PullSpecifier::Whole { host: None, id } => Ok(id),
            PullSpecifier::Whole { .. } | PullSpecifier::Number(_) => Err("owner/name#number is needed"),
        }
    }
}

/// Writes it as on the command line.
impl From<PullSpecifier> for String {
    fn from(named: PullSpecifier) -> Self {
        match named {
            PullSpecifier::Number(number) => number.to_string(),
            PullSpecifier::Whole { host: None, id } => id.to_string(),
            PullSpecifier::Whole { host: Some(host), id } => format!("https://{host}/{}/pull/{}", id.repo, id.number),
        }
    }
}

impl TryFrom<String> for PullSpecifier {
    type Error = InvalidPullName;

    fn try_from(name: String) -> Result<Self, InvalidPullName> {
        name.parse()
    }
}

impl FromStr for PullSpecifier {
    type Err = InvalidPullName;

    /// `12`, `#12`, `owner/name#12`, `pr://owner/name/12`, `https://host/owner/name/pull/12` with whatever follows it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let bad = || InvalidPullName(text.to_owned());
        let whole = |host: Option<&str>, owner: &str, name: &str, number: &str| {
            let id = PullId {
                repo: RepoName::new(owner, name).map_err(|_| bad())?,
                number: number.parse().map_err(|_| bad())?,
            };
            Ok(Self::Whole { host: host.map(str::to_ascii_lowercase), id })
        };
        if let Some(rest) = text.strip_prefix("pr://") {
            let [owner, name, number] = parts(rest).ok_or_else(bad)?;
            return whole(None, owner, name, number);
        }
        if let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
            let path = rest.split(['?', '#']).next().unwrap_or(rest);
            let words: Vec<&str> = path.split('/').collect();
            return match words.as_slice() {
                // Nobody who writes a name before the host means that host.
                [host, owner, name, "pull", number, ..] if !host.is_empty() && !host.contains('@') => {
                    whole(Some(host), owner, name, number)
                }
                _ => Err(bad()),
            };
        }
        if let Some((repo, number)) = text.split_once('#').filter(|(repo, _)| !repo.is_empty()) {
            let (owner, name) = repo.split_once('/').ok_or_else(bad)?;
            return whole(None, owner, name, number);
        }
        text.trim_start_matches('#').parse().map(Self::Number).map_err(|_| bad())
    }
}

fn parts(text: &str) -> Option<[&str; 3]> {
    let mut parts = text.split('/');
    let three = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_named_in_every_way() {
        let id = PullId { repo: RepoName::new("Octo-Org", "a.b_c").unwrap(), number: PullNumber(12) };
        let whole = |host: Option<&str>| PullSpecifier::Whole { host: host.map(str::to_owned), id: id.clone() };
        for (text, ask) in [
            ("12", PullSpecifier::Number(PullNumber(12))),
            (" #12 ", PullSpecifier::Number(PullNumber(12))),
            ("Octo-Org/a.b_c#12", whole(None)),
            ("pr://Octo-Org/a.b_c/12", whole(None)),
            ("https://GitHub.com/Octo-Org/a.b_c/pull/12", whole(Some("github.com"))),
            ("https://github.com/Octo-Org/a.b_c/pull/12/files?w=1#diff-0", whole(Some("github.com"))),
            ("http://localhost:8080/Octo-Org/a.b_c/pull/12#x", whole(Some("localhost:8080"))),
        ] {
            assert_eq!(text.parse(), Ok(ask), "{text}");
        }
        assert_eq!(id.to_string(), "Octo-Org/a.b_c#12");
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "2147483648",
            "99999999999999999999",
            "x",
            "a/b",
            "a/b#0",
            "a/b#x",
            "a b/c#1",
            "a/../b#1",
            "../x#1",
            "./x#1",
            "-a/b#1",
            "a/b.git#1",
            "pr://a/b",
            "pr://a/b/1/",
            "pr://a/b/1/c",
            "https://github.com/a/b/issues/1",
            "https://evil@github.com/a/b/pull/1",
            "https:///a/b/pull/1",
            "ftp://github.com/a/b/pull/1",
        ] {
            assert!(text.parse::<PullSpecifier>().is_err(), "{text}");
        }
    }
}
