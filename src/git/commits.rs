//! The commits of a change, as `git log` lists them. Main functions: [`collect_commits`], [`commits_between`].

use crate::domain::change::Commit;
use crate::domain::id::CommitId;
use crate::domain::limits::{LIMITS, RemainingLimit};
use crate::domain::text::mask;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, object_id, raw_id};
use crate::sys::{charset, clock};

use super::GitError;
use super::range::CommitRange;

/// The commits, newest first, at most `limit`; and how many more there are.
pub(super) fn collect_commits(
    repo: &Repo,
    range: CommitRange,
    limit: usize,
    cancel: &Cancel,
) -> Result<(Vec<Commit>, usize), GitError> {
    match range {
        CommitRange::None => Ok((Vec::new(), 0)),
        CommitRange::One(id) => Ok((vec![read(repo, raw_id(id.0))?], 0)),
        CommitRange::Between(base, head) => {
            let mut walk = repo.raw().revwalk()?;
            // The default order of the library is git's: by date, parents never listed before they are reached.
            walk.push(raw_id(head.0))?;
            walk.hide(raw_id(base.0))?;
            let (mut found, mut omitted) = (Vec::new(), 0);
            let mut messages = RemainingLimit::of(LIMITS.message_bytes);
            for id in walk {
                cancel.check()?;
                let id = id?;
                let read = if found.len() < limit { Some(read(repo, id)?) } else { None };
                let size = |commit: &Commit| commit.subject.len() + commit.body.len() + commit.author.len();
                // Those without room are counted as those beyond the limit are.
                match read.filter(|commit| messages.charge(size(commit) as u64)) {
                    Some(commit) => found.push(commit),
                    None => omitted += 1,
                }
            }
            Ok((found, omitted))
        }
    }
}

/// The commits that `to` has and `from` has not, oldest first, at most `limit`; and how many more there are.
pub fn commits_between(
    repo: &Repo,
    from: &str,
    to: &str,
    limit: usize,
    cancel: &Cancel,
) -> Result<(Vec<Commit>, usize), GitError> {
    let range = CommitRange::Between(repo.commit(from)?, repo.commit(to)?);
    let (mut commits, omitted) = collect_commits(repo, range, limit, cancel)?;
    commits.reverse();
    Ok((commits, omitted))
}

/// The time at which a commit was made, in seconds since 1970.
pub fn committed_at(repo: &Repo, commit: CommitId) -> Result<i64, GitError> {
    Ok(repo.find_commit(commit)?.time().seconds())
}

fn read(repo: &Repo, id: git2::Oid) -> Result<Commit, GitError> {
    let commit = repo.find_commit(CommitId(object_id(id)))?;
    let header = commit.header_field_bytes("encoding").ok();
    let label = header.as_deref();
    let message = charset::decode_as(label, commit.message_raw_bytes());
    let message = mask(&message).text;
    let (subject, body) = split(&message);
    let author = commit.author();
    let when = author.when();
    Ok(Commit {
        id: CommitId(object_id(id)),
        subject,
        body,
        author: mask(&charset::decode_as(label, author.name_bytes())).text,
        date: clock::git_time(when.seconds(), when.offset_minutes()),
    })
}

/// The subject is the first paragraph on one line, the body the rest, as `%s` and `%b` of `git log` have them.
fn split(message: &str) -> (String, String) {
    let mut lines = message.lines().skip_while(|line| line.trim().is_empty());
    let subject: Vec<_> = lines.by_ref().take_while(|line| !line.trim().is_empty()).map(str::trim_end).collect();
    let body: Vec<_> = lines.skip_while(|line| line.trim().is_empty()).collect();
    (subject.join(" "), body.join("\n").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_subject_and_a_body() {
        let both = |message: &str| split(message);
        assert_eq!(both("one\n"), ("one".into(), String::new()));
        assert_eq!(both("\n\none\ntwo\n\n\nthree\n\nfour\n\n"), ("one two".into(), "three\n\nfour".into()));
        assert_eq!(both(""), (String::new(), String::new()));
        assert_eq!(both("a\r\n\r\nb\r\n"), ("a".into(), "b".into()));
    }
}
