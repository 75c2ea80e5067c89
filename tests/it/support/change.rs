//! Collecting in tests, and what the git program says about the same change.

use std::path::Path;

use review_runner::domain::change::{ChangeSet, FileChange, FileStatus};
use review_runner::domain::event::NullEventSink;
use review_runner::domain::path::{RepoPath, quote};
use review_runner::domain::request::ReviewScope;
use review_runner::git::{CollectOptions, GitError, ResolvedRange, collect, resolve};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::Repo;

use super::TestRepo;

/// `main...HEAD`.
pub fn against_main() -> ReviewScope {
    ReviewScope::Branch { target: Some("main".to_owned()), head: None }
}

/// Resolves and collects with default options.
pub fn collected(folder: &Path, scope: &ReviewScope) -> Result<(ResolvedRange, ChangeSet), GitError> {
    with_options(folder, scope, &CollectOptions::default())
}

/// Resolves and collects.
pub fn with_options(
    folder: &Path,
    scope: &ReviewScope,
    options: &CollectOptions,
) -> Result<(ResolvedRange, ChangeSet), GitError> {
    let repo = Repo::open(folder)?;
    let range = resolve(&repo, scope)?;
    let change = collect(&repo, &range, options, &Cancel::never(), &NullEventSink)?;
    Ok((range, change))
}

/// The change of the checked-out branch against `main`.
pub fn change_of(repo: &TestRepo) -> ChangeSet {
    collected(repo.root(), &against_main()).expect("a change").1
}

/// The file at a path.
pub fn file<'a>(change: &'a ChangeSet, path: &str) -> &'a FileChange {
    let path = RepoPath::parse(path).expect("a path");
    let paths: Vec<_> = change.files.iter().map(|file| file.path.to_string()).collect();
    change.files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is not in {paths:?}"))
}

/// A line of `git diff --numstat`: path, old path, added, deleted (`None` for a binary file).
pub type Counted = (Vec<u8>, Option<Vec<u8>>, Option<(u32, u32)>);

const DIFF: [&str; 5] = ["-c", "diff.algorithm=myers", "diff", "--no-textconv", "--no-ext-diff"];

/// What git counts.
pub fn numstat(repo: &TestRepo, args: &[&str]) -> Vec<Counted> {
    let out = repo.git_bytes([&DIFF[..], &["--numstat", "-z", "-M"][..], args].concat());
    let mut parts = out.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let Some(line) = parts.next().filter(|line| !line.is_empty()) {
        let mut columns = line.splitn(3, |byte| *byte == b'\t');
        let mut number = || String::from_utf8_lossy(columns.next().expect("a count")).parse::<u32>().ok();
        let counts = number().zip(number());
        let path = columns.next().expect("a path").to_vec();
        if path.is_empty() {
            let old = parts.next().expect("the old path").to_vec();
            files.push((parts.next().expect("the new path").to_vec(), Some(old), counts));
        } else {
            files.push((path, None, counts));
        }
    }
    files.sort();
    files
}

/// The same of a collected change.
pub fn counted(change: &ChangeSet) -> Vec<Counted> {
    let one = |file: &FileChange| {
        let counts = (!file.binary).then_some((file.additions, file.deletions));
        (file.path.as_bytes().to_vec(), file.old_path.as_ref().map(|path| path.as_bytes().to_vec()), counts)
    };
    let mut files: Vec<_> = change.files.iter().map(one).collect();
    files.sort();
    files
}

/// The text of `git diff`, three lines of context, with paths that nothing configures away.
pub fn diff_text(repo: &TestRepo, args: &[&str]) -> Vec<u8> {
    repo.git_bytes([&DIFF[..], &["-M", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"][..], args].concat())
}

/// The hunk headers of git's diff, per path as git quotes it, for files whose diff has any.
pub fn hunk_headers(text: &[u8]) -> Vec<String> {
    let lines = text.split(|byte| *byte == b'\n');
    let headers = lines.filter(|line| line.starts_with(b"@@ "));
    headers
        .map(|line| String::from_utf8_lossy(line).split(" @@").next().expect("a header").to_owned() + " @@")
        .collect()
}

/// The same of a collected change, in the order of paths; type changes and submodules left out.
pub fn own_headers(change: &ChangeSet) -> Vec<String> {
    let mut files: Vec<_> = change.files.iter().filter(|file| file.status != FileStatus::TypeChanged).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let span = |span: review_runner::domain::change::HunkSpan| match span.count {
        1 => span.start.to_string(),
        count => format!("{},{count}", span.start),
    };
    let hunks = files.iter().flat_map(|file| &file.hunks);
    hunks.map(|hunk| format!("@@ -{} +{} @@", span(hunk.old), span(hunk.new))).collect()
}

/// Asserts that counts and hunks are git's.
pub fn assert_as_git(repo: &TestRepo, change: &ChangeSet, args: &[&str]) {
    let spell = |files: Vec<Counted>| -> Vec<_> {
        files.into_iter().map(|(path, old, counts)| (quote(&path), old.map(|old| quote(&old)), counts)).collect()
    };
    assert_eq!(spell(counted(change)), spell(numstat(repo, args)));
    assert_eq!(own_headers(change), hunk_headers(&diff_text(repo, args)));
}
