//! URIs of pull requests and of their parts. Main type: [`PullUri`].

use super::super::query::{self, escape};
use crate::domain::forge::{PullId, RepoName};
use crate::domain::percent::decode;

/// The prefix of every URI.
pub(in crate::mcp) const SCHEME: &str = "pr://";

/// A parsed URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PullUri {
    /// A pull request, or one of its parts.
    Pull(PullId, PullPart),
    /// The open pull requests of a repository.
    Open(RepoName),
}

/// A part of a pull request; with a cursor for the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PullPart {
    /// Its facts and the counts of its remarks.
    Whole,
    Comments(Option<String>),
    Files(Option<String>),
    /// A thread, by its id.
    Thread(String, Option<String>),
}

impl PullUri {
    /// Parses a URI; `None` if it is invalid. Owners, names and numbers are taken literally: nothing is decoded in them.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let mut parts = path.split('/');
        let repo = RepoName::new(parts.next()?, parts.next()?).ok()?;
        let Some(number) = parts.next() else { return query.is_none().then_some(Self::Open(repo)) };
        let id = PullId { repo, number: number.parse().ok()? };
        let below: Vec<&str> = parts.collect();
        let cursor = match query {
            None => None,
            Some(query) => Some(query::value(query, "cursor").filter(|cursor| !cursor.is_empty())?),
        };
        let part = match below.as_slice() {
            [] if query.is_none() => PullPart::Whole,
            ["comments"] => PullPart::Comments(cursor),
            ["files"] => PullPart::Files(cursor),
            ["threads", thread] if !thread.is_empty() => {
                PullPart::Thread(String::from_utf8(decode(thread).0).ok()?, cursor)
            }
            _ => return None,
        };
        Some(Self::Pull(id, part))
    }
}

/// Returns the URI of a pull request.
pub(in crate::mcp) fn uri(id: &PullId) -> String {
    format!("{SCHEME}{}/{}", id.repo, id.number)
}

pub(super) fn thread_uri(id: &PullId, thread: &str) -> String {
    format!("{}/threads/{}", uri(id), escape(thread))
}

/// Appends a cursor to a URI.
pub(super) fn with_cursor(uri: &str, cursor: &str) -> String {
    format!("{uri}?cursor={}", escape(cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_pull_requests_and_what_belongs_to_them() {
        let id = PullId { repo: RepoName::new("Octo-Org", "a.b_c").unwrap(), number: "12".parse().unwrap() };
        let of = |part| Some(PullUri::Pull(id.clone(), part));
        let cursor = || Some("a=/b".to_owned());
        for (given, named) in [
            ("pr://Octo-Org/a.b_c/12", of(PullPart::Whole)),
            ("pr://Octo-Org/a.b_c/012", of(PullPart::Whole)),
            ("pr://Octo-Org/a.b_c", Some(PullUri::Open(id.repo.clone()))),
            ("pr://Octo-Org/a.b_c/12/comments", of(PullPart::Comments(None))),
            ("pr://Octo-Org/a.b_c/12/comments?cursor=a%3D%2Fb", of(PullPart::Comments(cursor()))),
            ("pr://Octo-Org/a.b_c/12/files", of(PullPart::Files(None))),
            ("pr://Octo-Org/a.b_c/12/threads/PRRT_x%3D", of(PullPart::Thread("PRRT_x=".to_owned(), None))),
        ] {
            assert_eq!(PullUri::parse(given), named, "{given}");
        }
        assert_eq!(PullUri::parse(&uri(&id)), of(PullPart::Whole));
        assert_eq!(PullUri::parse(&thread_uri(&id, "a/b ?=")), of(PullPart::Thread("a/b ?=".to_owned(), None)));
        assert_eq!(PullUri::parse(&with_cursor(&format!("{}/files", uri(&id)), "a=/b")), of(PullPart::Files(cursor())));
    }

    #[test]
    fn what_names_nothing_is_told_apart() {
        for given in [
            "pr://",
            "pr://a",
            "pr:///b/1",
            "pr://a//1",
            "pr://a/b/",
            "pr://a/b/0",
            "pr://a/b/2147483648",
            "pr://a/b/+1",
            "pr://a/b/-1",
            "pr://a/b/1.0",
            "pr://a/b/x",
            "pr://a/b/1/",
            "pr://a/b/1?x=1",
            "pr://a/b/1?",
            "pr://a/b?x",
            "pr://a/b/1#x",
            "pr://a/b/%31",
            "pr://a%2Fb/c/1",
            "pr://a/../1",
            "pr://a/b/1/comments/",
            "pr://a/b/1/comments?x=1",
            "pr://a/b/1/comments?cursor=",
            "pr://a/b/1/commits",
            "pr://a/b/1/threads",
            "pr://a/b/1/threads/",
            "pr://a/b/1/threads/x/y",
            "pr://a/b/1/threads/%ff",
            "pr://{owner}/{repo}/{pr}",
            "PR://a/b/1",
            "review://a/b/1",
        ] {
            assert_eq!(PullUri::parse(given), None, "{given}");
        }
    }
}
