//! A repository with many branches of one commit each. Main type: [`BranchRepository`].

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repository::Repository;

/// The files of a made repository.
const FILES: usize = 5000;
/// The largest commit that becomes a branch, in files and in lines: it is shown whole to the model.
const LARGEST: (usize, usize) = (8, 120);

/// A repository on the disk: `main`, and the branches `bench/…` with one commit each on top of it.
pub(crate) struct BranchRepository {
    pub folder: PathBuf,
    /// The files of `main` that a model may read.
    pub files: Vec<String>,
}

impl BranchRepository {
    /// Makes the repository: each branch changes one to three files.
    pub(crate) fn make(folder: &Path, branches: usize) -> Result<Self, String> {
        let made = Repository::make(folder, (FILES / 2).max(branches))?;
        let listed = git(folder, &["ls-tree", "-r", "work"], "")?;
        let blobs: std::collections::HashMap<&str, &str> =
            listed.lines().filter_map(|line| line.split_once('\t')).map(|(entry, path)| (path, &entry[12..])).collect();
        let changes = (0..branches).map(|at| {
            let mut text = String::new();
            for (path, _, _) in (0..=at % 3).map(|n| &made.changed[(at + n * 997) % made.changed.len()]) {
                let _ = writeln!(text, "M 100644 {} {path}", blobs[path.as_str()]);
            }
            text
        });
        let changes: Vec<String> = changes.collect();
        git(folder, &["checkout", "-q", "-f", "main"], "")?;
        Self::branch(folder, &changes)
    }

    /// Applies commits of a repository, each by itself, to a commit before all of them. Its objects are borrowed; one that has such branches
    /// already is used as it is.
    pub(crate) fn of(source: &Path, folder: &Path, branches: usize) -> Result<Self, String> {
        let made = git(source, &["for-each-ref", "refs/heads/bench"], "")?;
        if made.lines().count() == branches {
            return Self::with_files(source);
        }
        let (from, to) = (source.to_string_lossy(), folder.to_string_lossy());
        git(Path::new("."), &["clone", "-q", "--bare", "--shared", "--single-branch", "--no-tags", &from, &to], "")?;
        let ends = git(folder, &["rev-parse", "HEAD", &format!("HEAD~{}", branches * 3)], "")?;
        let (head, base) = ends.trim().split_once('\n').ok_or("git rev-parse printed no two commits")?;
        git(folder, &["symbolic-ref", "HEAD", "refs/heads/main"], "")?;
        git(folder, &["update-ref", "refs/heads/main", base], "")?;
        let range = format!("{base}..{head}");
        let main_tree = git(folder, &["rev-parse", "main^{tree}"], "")?;
        let log = git(folder, &["log", "--no-merges", "--reverse", "--format=%x00%H %P", "--numstat", &range], "")?;
        let mut changes = Vec::new();
        for commit in log.split('\0').filter(|commit| is_small(commit)) {
            if changes.len() == branches {
                break;
            }
            let Some((id, parent)) = commit.lines().next().and_then(|line| line.split_once(' ')) else { continue };
            let base = format!("--merge-base={parent}");
            // One that does not apply, or changes nothing, is left out.
            match git(folder, &["merge-tree", "--write-tree", "--no-messages", &base, "main", id], "") {
                Ok(tree) if tree != main_tree => changes.push(format!("M 040000 {} \n", tree.trim())),
                Ok(_) | Err(_) => {}
            }
        }
        if changes.len() < branches {
            return Err(format!(
                "only {} of the last commits apply to an older one: take fewer --branches",
                changes.len()
            ));
        }
        Self::branch(folder, &changes)
    }

    /// Makes a branch of each change, given in the language of `git fast-import`.
    fn branch(folder: &Path, changes: &[String]) -> Result<Self, String> {
        // A commit that is older than its parent makes git walk through all of the history between them.
        let base = git(folder, &["log", "-1", "--format=%H %ct", "main"], "")?;
        let (base, time) = base.trim().split_once(' ').ok_or("git log printed no commit")?;
        let who = format!("Ada <ada@example.invalid> {time} +0000");
        let mut script = String::new();
        for (at, change) in changes.iter().enumerate() {
            let message = format!("Change {at}");
            let _ = writeln!(script, "commit refs/heads/bench/{at:05}\nauthor {who}\ncommitter {who}");
            let _ = writeln!(script, "data {}\n{message}\nfrom {}\n{change}", message.len(), base);
        }
        git(folder, &["fast-import", "--quiet"], &script)?;
        Self::with_files(folder)
    }

    fn with_files(folder: &Path) -> Result<Self, String> {
        let listed = git(folder, &["ls-tree", "-r", "--name-only", "main"], "")?;
        let texts = [".rb", ".py", ".rs", ".go", ".ts", ".js", ".java", ".md"];
        let files: Vec<String> =
            listed.lines().filter(|path| texts.iter().any(|end| path.ends_with(end))).map(str::to_owned).collect();
        if files.is_empty() { Err("no file to read".to_owned()) } else { Ok(Self { folder: folder.to_owned(), files }) }
    }
}

/// Checks the size of a commit, as `git log --numstat` prints it.
fn is_small(commit: &str) -> bool {
    let counts = commit.lines().skip(1).filter(|line| !line.is_empty()).map(|line| {
        let mut fields = line.split('\t').map(|field| field.parse::<usize>().unwrap_or(usize::MAX / 4));
        fields.next().unwrap_or(0).saturating_add(fields.next().unwrap_or(0))
    });
    let (files, lines) = counts.fold((0, 0_usize), |(files, lines), more| (files + 1, lines.saturating_add(more)));
    (1..=LARGEST.0).contains(&files) && lines <= LARGEST.1
}

fn git(folder: &Path, args: &[&str], input: &str) -> Result<String, String> {
    let fault = |error: std::io::Error| format!("git: {error}");
    let mut command = Command::new("git");
    command.args(args).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(fault)?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(fault)?;
    }
    let done = child.wait_with_output().map_err(fault)?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() { Ok(text) } else { Err(format!("git {args:?} ended with {}", done.status)) }
}
