//! Our side of each pair: one piece of work through the library, in a process of its own.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use review_runner::domain::event::NullEventSink;
use review_runner::domain::filter::PathFilter;
use review_runner::domain::path::{PathSpeller, RepoPath};
use review_runner::domain::place::{DiffSide, LineRange, WorkspaceAt};
use review_runner::domain::request::ReviewScope;
use review_runner::git::{self, CollectOptions};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::workspace::{self, LineRegex, Query, Workspace};

/// The first word of a process that does our side.
pub(crate) const MARK: &str = "__ours";

type Failed = Box<dyn std::error::Error>;

/// Does the work that the words name, in the repository of the current folder.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["collect", base, head] => collect(base, head),
        ["search", head, pattern] => tree(head).and_then(|tree| search(&*tree, pattern, usize::MAX)),
        ["first", head, pattern] => tree(head).and_then(|tree| search(&*tree, pattern, 50)),
        ["session", head, patterns @ ..] => session(head, patterns),
        ["list", head] => tree(head).and_then(|tree| list(&*tree)),
        ["read", head, path] => read(head, path),
        ["disk", pattern] => disk().and_then(|tree| search(&*tree, pattern, usize::MAX)),
        _ => Err("unknown work".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{words:?}: {why}");
            ExitCode::from(3)
        }
    }
}

fn collect(base: &str, head: &str) -> Result<(), Failed> {
    let repo = Repo::open(Path::new("."))?;
    let scope = ReviewScope::Range { from: base.to_owned(), to: head.to_owned(), from_merge_base: true };
    let range = git::resolve(&repo, &scope)?;
    let options = CollectOptions { max_commits: usize::MAX, ..CollectOptions::default() };
    let change = git::collect(&repo, &range, &options, &Cancel::never(), &NullEventSink)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} commits", change.commits.len())?;
    for file in &change.files {
        writeln!(out, "{}\t{}\t{}", file.additions, file.deletions, file.path)?;
        out.write_all(file.patch.text.as_bytes())?;
    }
    Ok(())
}

fn open(repo: Repo, at: WorkspaceAt) -> Result<Arc<dyn Workspace>, Failed> {
    Ok(workspace::open(Some(&RepoPool::new(repo)), at, DiffSide::New, &[], PathFilter::all())?)
}

fn tree(head: &str) -> Result<Arc<dyn Workspace>, Failed> {
    let repo = Repo::open(Path::new("."))?;
    let commit = repo.commit(head)?;
    open(repo, WorkspaceAt::Revision(commit))
}

fn disk() -> Result<Arc<dyn Workspace>, Failed> {
    open(Repo::open(Path::new("."))?, WorkspaceAt::Worktree)
}

/// As `list_files` lists: path after path, each spelled for the reader.
fn list(tree: &dyn Workspace) -> Result<(), Failed> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut written, mut speller) = (Ok(()), PathSpeller::default());
    tree.visit(&Cancel::never(), &mut |path, _| {
        written = out.write_all(speller.spell(path).as_bytes()).and_then(|()| out.write_all(b"\n"));
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(written.and_then(|()| out.flush())?)
}

fn search(tree: &dyn Workspace, pattern: &str, most: usize) -> Result<(), Failed> {
    let pattern = LineRegex::new(pattern)?;
    let hits = tree.search(&Query { pattern: &pattern, files: None, most, generated_last: false }, &Cancel::never())?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for file in &hits.files {
        for line in &file.lines {
            writeln!(out, "{}:{line}:{}", file.path, file.text.line(*line).unwrap_or_default())?;
        }
    }
    Ok(out.flush()?)
}

/// As a model searches: fifty hits at most, in one tree.
fn session(head: &str, patterns: &[&str]) -> Result<(), Failed> {
    let tree = tree(head)?;
    patterns.iter().try_for_each(|pattern| search(&*tree, pattern, 50))
}

fn read(head: &str, path: &str) -> Result<(), Failed> {
    let text = tree(head)?.read(&RepoPath::parse(path)?)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in text.lines(LineRange::new(100, 200)?) {
        writeln!(out, "{number:6}\t{line}")?;
    }
    Ok(out.flush()?)
}
