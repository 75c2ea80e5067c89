//! Links to places in the files of a pull request. Main type: [`SourceLinks`].

use super::markdown::CommentWriter;
use crate::domain::finding::Anchor;
use crate::domain::id::CommitId;
use crate::domain::percent::encode_path;
use crate::domain::place::DiffSide;

/// The pages of a repository that show a file at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLinks {
    /// The page of the repository, without a slash at its end.
    repository: String,
    /// The commit of each side; without one there are no links.
    head: CommitId,
    base: Option<CommitId>,
}

impl SourceLinks {
    /// Returns the links of the pull request with this page, whose findings have their places at `head` and `base`; `None` for another page.
    pub fn of(page: &str, head: CommitId, base: Option<CommitId>) -> Option<Self> {
        let (repository, _) = page.rsplit_once("/pull/")?;
        let is_plain = repository.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":/.-_~%[]".contains(&byte));
        let is_web = repository.starts_with("https://") || repository.starts_with("http://");
        (is_plain && is_web).then(|| Self { repository: repository.to_owned(), head, base })
    }

    /// Links the name of a place, already made Markdown, to its lines, if they have an address that may be shown.
    pub(super) fn link(&self, writer: &CommentWriter<'_>, anchor: &Anchor, name: String) -> String {
        let path = anchor.path.display_name();
        // What may be a secret must not stand in an address either.
        match self.address(anchor).filter(|_| writer.plain_line(&path) == path) {
            Some(address) => format!("[{name}]({address})"),
            None => name,
        }
    }

    /// Returns the address of an anchor; `None` if its path is masked or not text.
    fn address(&self, anchor: &Anchor) -> Option<String> {
        let commit = match anchor.side {
            DiffSide::New => self.head,
            DiffSide::Old => self.base?,
        };
        let path = anchor.path.as_bytes();
        if anchor.path.is_masked() || std::str::from_utf8(path).is_err() {
            return None;
        }
        let lines = match anchor.lines {
            Some(lines) if lines.count() == 1 => format!("#L{}", lines.start()),
            Some(lines) => format!("#L{}-L{}", lines.start(), lines.end()),
            None => String::new(),
        };
        Some(format!("{}/blob/{commit}/{}{lines}", self.repository, encode_path(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::ObjectId;
    use crate::domain::path::RepoPath;
    use crate::domain::place::LineRange;
    use crate::present::json;
    use crate::publish::guard::SecretGuard;

    fn commit(digit: &str) -> CommitId {
        CommitId(digit.repeat(40).parse::<ObjectId>().unwrap())
    }

    fn anchor(path: RepoPath, lines: Option<(u32, u32)>) -> Anchor {
        let typical = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let lines = lines.map(|(first, last)| LineRange::new(first, last).unwrap());
        Anchor { path, lines, side: DiffSide::New, ..typical.findings[0].anchors[0].clone() }
    }

    #[test]
    fn a_place_is_linked_to_its_lines_at_the_commit_of_its_side() {
        let guard = SecretGuard::default();
        let writer = CommentWriter::new(&guard);
        let links = |base| SourceLinks::of("https://forge.example/o/r/pull/7", commit("a"), base).unwrap();
        let link = |links: &SourceLinks, anchor: &Anchor| links.link(&writer, anchor, "`x`".to_owned());
        let page =
            |digit: &str, rest: &str| format!("[`x`](https://forge.example/o/r/blob/{}/{rest})", digit.repeat(40));
        let path = || RepoPath::parse("a b.rs").unwrap();
        assert_eq!(link(&links(None), &anchor(path(), Some((3, 3)))), page("a", "a%20b.rs#L3"));
        assert_eq!(link(&links(None), &anchor(path(), Some((3, 5)))), page("a", "a%20b.rs#L3-L5"));
        assert_eq!(link(&links(None), &anchor(path(), None)), page("a", "a%20b.rs"));
        let old = Anchor { side: DiffSide::Old, ..anchor(path(), None) };
        assert_eq!(link(&links(Some(commit("b"))), &old), page("b", "a%20b.rs"));
        assert_eq!(link(&links(None), &old), "`x`", "nobody knows the commit");
    }

    #[test]
    fn a_path_that_may_be_a_secret_or_is_no_text_has_no_address() {
        let links = SourceLinks::of("https://forge.example/o/r/pull/7", commit("a"), None).unwrap();
        let guard = SecretGuard::default();
        let writer = CommentWriter::new(&guard);
        let secret = format!("keys/{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a");
        for bytes in [secret.as_bytes(), b"a\xff.rs"] {
            let anchor = anchor(RepoPath::from_bytes(bytes).unwrap(), Some((1, 1)));
            assert_eq!(links.link(&writer, &anchor, "`x`".to_owned()), "`x`", "{:?}", anchor.path);
        }
    }

    #[test]
    fn only_the_page_of_a_pull_request_has_links() {
        for page in
            ["about:blank", "https://forge.example/o/r", "https://forge.example/o/r)[x](/pull/7", "ftp://f/o/r/pull/7"]
        {
            assert_eq!(SourceLinks::of(page, commit("a"), None), None, "{page}");
        }
    }
}
