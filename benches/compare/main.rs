//! Compares collection, search, listing, reading, start and peak memory with `git` and `rg`, each pair in turn in the same run.
//!
//! ```text
//! cargo bench --bench compare -- REPOSITORY [--runs N] [--only WORD] [--base REV]
//! ```
//!
//! `--base` adds a collection from REV to HEAD to those from ten commits, 1 000 and 10 000 changed files back.
//!
//! Prints ratios of CPU (user + system), wall time and peak memory, ours over theirs, medians of N runs (5). CPU is the figure to trust on
//! a busy machine. The two are run A B A B, so that a drift of the machine's speed falls on both. `rg` must be installed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod measure;
mod ours;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use measure::{Pair, Program, git};

fn main() -> ExitCode {
    // `cargo bench` adds `--bench` to what it was given.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == ours::MARK) {
        return ours::run(&words[1..]);
    }
    match compare(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("compare: {why}");
            ExitCode::from(2)
        }
    }
}

struct Ranges {
    head: String,
    small: String,
    thousand: Option<String>,
    ten_thousand: Option<String>,
    given: Option<String>,
}

fn compare(words: &[String]) -> Result<(), String> {
    let mut repository = None;
    let (mut runs, mut only, mut base) = (5, None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--runs" => runs = words.next().and_then(|n| n.parse().ok()).ok_or("--runs takes a number")?,
            "--only" => only = words.next().cloned(),
            "--base" => base = words.next().cloned(),
            path => repository = Some(PathBuf::from(path)),
        }
    }
    let repository = repository.ok_or("name a repository: cargo bench --bench compare -- REPOSITORY")?;
    let repository = repository.canonicalize().map_err(|error| format!("{}: {error}", repository.display()))?;
    let ranges = Ranges { given: base, ..ranges(&repository)? };
    let files = git(&repository, &["ls-tree", "-r", "--name-only", &ranges.head])?.lines().count();
    let commits = git(&repository, &["rev-list", "--count", &ranges.head])?;
    println!("repository {}: {files} files, {} commits", repository.display(), commits.trim());
    println!("medians of {runs}; ours / theirs; CPU is user + system\n");
    println!("{:<42} {:>6} {:>6} {:>6}   ours cpu, peak | theirs cpu, peak", "operation", "cpu", "wall", "peak");
    let checkout = tempfile::tempdir().map_err(|error| error.to_string())?;
    for pair in pairs(&repository, &ranges, checkout.path())? {
        if only.as_ref().is_none_or(|word| pair.name.contains(word.as_str())) {
            println!("{}", pair.measure(runs)?);
        }
    }
    Ok(())
}

/// The last ten first-parent commits; and, as far as the history reaches, about 1 000 and 10 000 changed files.
fn ranges(repository: &Path) -> Result<Ranges, String> {
    let head = git(repository, &["rev-parse", "HEAD^{commit}"])?.trim().to_owned();
    let history = git(repository, &["rev-list", "--first-parent", "-n", "20000", "HEAD"])?;
    let history: Vec<&str> = history.lines().collect();
    let changed = |back: usize| -> Result<usize, String> {
        Ok(git(repository, &["diff", "--no-renames", "--name-only", history[back], &head])?.lines().count())
    };
    let find = |wanted: usize| -> Result<Option<String>, String> {
        let (mut low, mut high) = (1, history.len() - 1);
        if changed(high)? < wanted {
            return Ok(None);
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            if changed(middle)? < wanted { low = middle + 1 } else { high = middle }
        }
        Ok(Some(history[low].to_owned()))
    };
    let small = history.get(10.min(history.len() - 1)).ok_or("no commits")?;
    Ok(Ranges { small: (*small).to_owned(), thousand: find(1000)?, ten_thousand: find(10_000)?, given: None, head })
}

fn pairs(repository: &Path, ranges: &Ranges, checkout: &Path) -> Result<Vec<Pair>, String> {
    let head = ranges.head.as_str();
    let mut pairs = vec![Pair {
        name: "start: review --version / git --version".to_owned(),
        ours: vec![Program::new(env!("CARGO_BIN_EXE_review"), &["--version"])],
        theirs: vec![Program::new("git", &["--version"])],
    }];
    let spans = [
        ("10 commits", Some(&ranges.small)),
        ("1 000 files", ranges.thousand.as_ref()),
        ("10 000 files", ranges.ten_thousand.as_ref()),
        ("since --base", ranges.given.as_ref()),
    ];
    for (size, base) in spans {
        let Some(base) = base else { continue };
        let two = format!("{base}..{head}");
        let three = format!("{base}...{head}");
        let in_repo = |args: &[&str]| Program::git(repository, args);
        let ours = || vec![Program::ours(repository, &["collect", base, head])];
        let log = ["log", "--format=%H%x00%an%x00%aI%x00%B%x00", &two];
        let diff = |more: &[&str]| {
            let fixed = ["-c", "diff.algorithm=myers", "diff", "--no-textconv", "--no-ext-diff", "-M"];
            let args: Vec<&str> = fixed.iter().chain(more).copied().chain([three.as_str()]).collect();
            in_repo(&args)
        };
        pairs.push(Pair {
            name: format!("collect {size} / git, 4 processes"),
            ours: ours(),
            theirs: vec![in_repo(&["merge-base", base, head]), in_repo(&log), diff(&["--numstat"]), diff(&[])],
        });
        pairs.push(Pair {
            name: format!("collect {size} / git, 3 processes"),
            ours: ours(),
            theirs: vec![in_repo(&["merge-base", base, head]), in_repo(&log), diff(&["--raw", "--numstat", "-p"])],
        });
    }
    pairs.extend(reading(repository, head)?);
    pairs.extend(worktree(repository, head, checkout)?);
    Ok(pairs)
}

const RARE: &str = "unreachable_by_construction";
const COMMON: &str = "return";
const EITHER: &str = "(deprecat|obsolet|unsupport)ed";
const SESSION: [&str; 10] =
    ["TODO", "FIXME", "panic", "deprecated", "unsafe", "timeout", "password", "retry", "overflow", RARE];

fn reading(repository: &Path, head: &str) -> Result<Vec<Pair>, String> {
    let in_repo = |args: &[&str]| Program::git(repository, args);
    let listed = git(repository, &["ls-tree", "-r", "--name-only", head])?;
    let source = |path: &&str| [".rs", ".ts", ".js", ".rb", ".py", ".go"].iter().any(|ending| path.ends_with(ending));
    let file = listed.lines().filter(source).max_by_key(|path| path.len()).ok_or("no source file")?;
    let grep = |pattern: &str| in_repo(&["grep", "-n", "-I", "-F", "-e", pattern, head]);
    let pair = |name: &str, ours: &[&str], theirs: Vec<Program>| Pair {
        name: name.to_owned(),
        ours: vec![Program::ours(repository, ours)],
        theirs,
    };
    let mut session = vec!["session", head];
    session.extend(SESSION);
    Ok(vec![
        pair("search cold, rare literal / git grep REV", &["search", head, RARE], vec![grep(RARE)]),
        pair(
            "search cold, regex / git grep -E REV",
            &["search", head, EITHER],
            vec![in_repo(&["grep", "-n", "-I", "-E", "-e", EITHER, head])],
        ),
        pair(
            "search cold, first 50 / git grep | head",
            &["first", head, COMMON],
            vec![Program::git_head(repository, &["grep", "-n", "-I", "-F", "-e", COMMON, head], 50)],
        ),
        pair("10 searches, one session / 10 git grep", &session, SESSION.iter().map(|word| grep(word)).collect()),
        pair("list files / git ls-tree", &["list", head], vec![in_repo(&["ls-tree", "-r", "--name-only", head])]),
        pair(
            "read 100 lines / git show | sed",
            &["read", head, file],
            vec![Program::git_lines(repository, &format!("{head}:{file}"), 100, 200)],
        ),
    ])
}

fn worktree(repository: &Path, head: &str, checkout: &Path) -> Result<Vec<Pair>, String> {
    let folder = checkout.join("checkout");
    let (from, to) = (repository.to_string_lossy(), folder.to_string_lossy());
    git(checkout, &["clone", "-q", "--shared", "--no-checkout", &from, &to])?;
    git(&folder, &["checkout", "-q", "--detach", head])?;
    Ok(vec![Pair {
        name: "search the disk, rare literal / rg -n".to_owned(),
        ours: vec![Program::ours(&folder, &["disk", RARE])],
        theirs: vec![Program::new("rg", &["-n", "--hidden", "-g", "!.git", "-F", "-e", RARE, "."]).within(&folder)],
    }])
}
