//! A real bare repository, and what git says of it. Main types: [`Bare`], [`FileDiff`].

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use git2::{Oid, Repository};

use crate::support::{Template, git_command};

static EMPTY: LazyLock<Template> = LazyLock::new(|| Template::init(&["--bare"]));

/// What git said of commits.
static ANSWERS: LazyLock<Mutex<HashMap<Vec<String>, String>>> = LazyLock::new(Mutex::default);

/// The file in a repository from which commits were removed.
const HIDDEN: &str = "hidden";

fn is_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A bare repository.
#[derive(Debug, Clone)]
pub struct Bare(pub PathBuf);

/// What happens to one file.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// Its path after; before, where it is removed.
    pub path: String,
    /// Its path before, where it was renamed or copied.
    pub old_path: Option<String>,
    /// GitHub's word.
    pub status: &'static str,
    /// Its blob after.
    pub blob: String,
    /// Hunks.
    pub hunks: Vec<Hunk>,
}

/// A hunk.
#[derive(Debug, Clone)]
pub struct Hunk {
    /// As git writes it, its first line included.
    pub text: String,
    /// Its lines: the number before, and after.
    pub lines: Vec<(Option<u64>, Option<u64>)>,
}

impl FileDiff {
    /// Lines added.
    pub fn additions(&self) -> u64 {
        self.count(|line| line.0.is_none())
    }

    /// Lines deleted.
    pub fn deletions(&self) -> u64 {
        self.count(|line| line.1.is_none())
    }

    fn count(&self, is: impl Fn(&(Option<u64>, Option<u64>)) -> bool) -> u64 {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| is(line)).count() as u64
    }

    /// The hunk that shows a line of a side.
    pub fn hunk_of(&self, side: &str, line: u64) -> Option<usize> {
        self.hunks.iter().position(|hunk| hunk.shows(side, line))
    }

    /// The number after of a line before, in a diff without context; `None` where it was changed.
    pub fn moved(&self, line: u64) -> Option<u64> {
        let mut shift = 0_i64;
        for (before, after) in self.hunks.iter().flat_map(|hunk| &hunk.lines) {
            match (before, after) {
                (Some(before), None) if *before == line => return None,
                (Some(before), None) if *before < line => shift -= 1,
                // Whether an added line stands before: where it would be, seen from the lines that were moved so far.
                (None, Some(after)) if i64::try_from(*after).expect("a line") <= at(line) + shift => shift += 1,
                _ => {}
            }
        }
        u64::try_from(at(line) + shift).ok()
    }
}

fn at(line: u64) -> i64 {
    i64::try_from(line).expect("a line")
}

impl Hunk {
    /// Whether a line of a side is in it.
    pub fn shows(&self, side: &str, line: u64) -> bool {
        self.lines
            .iter()
            .any(|(before, after)| if side == "LEFT" { *before == Some(line) } else { *after == Some(line) })
    }
}

impl Bare {
    /// A new one.
    pub fn new(path: PathBuf) -> Self {
        std::fs::create_dir_all(&path).expect("a folder");
        EMPTY.write(&path);
        Self(path)
    }

    /// Runs git in it; panics with its words when it fails.
    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        self.ask(&args).unwrap_or_else(|error| panic!("git {args:?}: {error}"))
    }

    /// Runs git in it.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, String> {
        let output = git_command(&self.0).args(args).output().expect("the git program");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// The same, once for all repositories if the words name commits by their ids alone: what these hold never changes.
    fn ask_once(&self, args: &[&str]) -> Result<String, String> {
        let ids = args.iter().filter(|arg| is_id(arg.trim_start_matches('^'))).count();
        if ids < 2 || self.0.join(HIDDEN).exists() {
            return self.ask(args);
        }
        let key: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        if let Some(known) = ANSWERS.lock().expect("no panic").get(&key) {
            return Ok(known.clone());
        }
        let answer = self.ask(args)?;
        ANSWERS.lock().expect("no panic").insert(key, answer.clone());
        Ok(answer)
    }

    /// Marks it as one from which commits were removed.
    pub fn mark_hidden(&self) {
        std::fs::write(self.0.join(HIDDEN), "").expect("a mark");
    }

    /// Takes a commit of another repository under these names; returns its id.
    pub fn take(&self, from: &Path, rev: &str, names: &[String]) -> String {
        if let Ok(id) = self.copy(from, rev, names) {
            return id.to_string();
        }
        let source = from.display().to_string();
        let each = names.iter().map(|name| format!("+{rev}:{name}"));
        self.git(["fetch", "-q", "--no-tags", &source].map(str::to_owned).into_iter().chain(each));
        self.tip(&names[0]).expect("what was fetched")
    }

    /// Copies a commit and what it needs in this process: a fetch starts half a dozen programs. Anything out of the ordinary is left to git.
    fn copy(&self, from: &Path, rev: &str, names: &[String]) -> Result<Oid, git2::Error> {
        let (from, to) = (Repository::open(from)?, Repository::open_bare(&self.0)?);
        let commit = from.revparse_single(rev)?.into_commit();
        let id = commit.map_err(|_| git2::Error::from_str("it is no commit"))?.id();
        let mut walk = from.revwalk()?;
        walk.push(id)?;
        for reference in to.references()? {
            let known = reference?.target().filter(|tip| from.find_commit(*tip).is_ok());
            known.map_or(Ok(()), |tip| walk.hide(tip))?;
        }
        let mut pack = from.packbuilder()?;
        pack.insert_walk(&mut walk)?;
        if pack.object_count() > 0 {
            let objects = to.odb()?;
            let mut writer = objects.packwriter()?;
            pack.foreach(|bytes| writer.write_all(bytes).is_ok())?;
            writer.commit()?;
        }
        for name in names {
            to.reference(name, id, true, "taken")?;
        }
        Ok(id)
    }

    /// The commit of a name.
    pub fn tip(&self, name: &str) -> Option<String> {
        let loose = std::fs::read_to_string(self.0.join(name)).ok().filter(|text| is_id(text.trim()));
        let id = loose.or_else(|| self.ask(&["rev-parse", "-q", "--verify", name]).ok());
        id.map(|id| id.trim().to_owned())
    }

    /// Where two commits meet; the first itself where they do not.
    pub fn merge_base(&self, one: &str, other: &str) -> String {
        self.ask_once(&["merge-base", one, other]).map_or_else(|_| one.to_owned(), |id| id.trim().to_owned())
    }

    /// The commits of a range.
    pub fn commits(&self, base: &str, head: &str) -> Vec<String> {
        let listed = self.ask_once(&["rev-list", head, &format!("^{base}")]).expect("a range");
        listed.lines().map(str::to_owned).collect()
    }

    /// What changes between two commits, with so many lines around.
    pub fn diff(&self, from: &str, to: &str, around: usize) -> Result<Vec<FileDiff>, String> {
        let common = ["diff", "--no-color", "--no-ext-diff", "-M", "--no-abbrev"];
        let listed = self.ask_once(&[&common[..], &["--raw", "-z", from, to]].concat())?;
        let shown = self.ask_once(&[&common[..], &["-p", &format!("-U{around}"), from, to]].concat())?;
        let mut files = read_list(&listed);
        let sections: Vec<&str> = sections(&shown);
        assert_eq!(files.len(), sections.len(), "each file has its part of the diff");
        for (file, section) in files.iter_mut().zip(sections) {
            file.hunks = read_hunks(section);
        }
        Ok(files)
    }
}

/// The parts of a diff, one a file.
fn sections(shown: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = shown.match_indices("\ndiff --git ").map(|(at, _)| at + 1).collect();
    if shown.starts_with("diff --git ") {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([shown.len()]);
    starts.iter().zip(ends).map(|(from, to)| &shown[*from..to]).collect()
}

/// `:100644 100644 old new M\0path\0`, and two paths where it was renamed.
fn read_list(listed: &str) -> Vec<FileDiff> {
    let mut words = listed.split('\0');
    let mut files = Vec::new();
    while let Some(head) = words.next().filter(|head| !head.is_empty()) {
        let parts: Vec<&str> = head.split(' ').collect();
        let first = words.next().expect("a path").to_owned();
        let (status, two) = match parts[4].as_bytes()[0] {
            b'A' => ("added", false),
            b'D' => ("removed", false),
            b'R' => ("renamed", true),
            b'C' => ("copied", true),
            b'T' => ("changed", false),
            _ => ("modified", false),
        };
        let (path, old_path) =
            if two { (words.next().expect("a path").to_owned(), Some(first)) } else { (first, None) };
        files.push(FileDiff { path, old_path, status, blob: parts[3].to_owned(), hunks: Vec::new() });
    }
    files
}

fn read_hunks(section: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut before, mut after) = (0, 0);
    for line in section.split_inclusive('\n') {
        if line.starts_with("@@ -") {
            let mut ranges = line.split(' ').skip(1).map(|range| {
                range[1..].split(',').next().and_then(|start| start.parse::<u64>().ok()).unwrap_or_default()
            });
            (before, after) = (ranges.next().unwrap_or_default(), ranges.next().unwrap_or_default());
            hunks.push(Hunk { text: line.to_owned(), lines: Vec::new() });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        hunk.text.push_str(line);
        match line.as_bytes()[0] {
            b'+' => {
                hunk.lines.push((None, Some(after)));
                after += 1;
            }
            b'-' => {
                hunk.lines.push((Some(before), None));
                before += 1;
            }
            b' ' => {
                hunk.lines.push((Some(before), Some(after)));
                before += 1;
                after += 1;
            }
            _ => {}
        }
    }
    hunks
}
