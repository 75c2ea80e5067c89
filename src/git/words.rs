//! Words of a command line that name the change: revisions, ranges, pull requests and paths. Main function: [`read_words`].
//!
//! As in git, a revision is preferred to a path of the same name, unless the path comes after `--`.

use std::path::{Component, Path, PathBuf};

use super::target::{default_target, name_of_head};
use super::{GitError, InvalidWord};
use crate::domain::forge::PullSpecifier;
use crate::domain::id::CommitId;
use crate::domain::nearest::nearest;
use crate::domain::request::ReviewScope;
use crate::domain::text::{shell_word, strip_line};
use crate::sys::files;
use crate::sys::repo::{Repo, raw_id};
use crate::sys::repo_error::RepoError;

/// The number of digits from which a number may be the beginning of a commit's id; pull requests have fewer.
const DIGITS_OF_COMMIT: usize = 7;

/// The words of a command line, and the flags that are about the same.
pub struct CommandWords<'a> {
    /// The folder in which the command runs.
    pub directory: &'a Path,
    /// The words before `--`.
    pub words: &'a [String],
    /// The words after `--`: paths only.
    pub paths: &'a [String],
    /// The value of `--target`.
    pub target: Option<&'a str>,
    /// The value of `--head`.
    pub head: Option<&'a str>,
    /// The flag that names the change, such as `--staged`; words can then only be paths.
    pub scope_flag: Option<&'static str>,
    /// Finds the command that a word stands for, such as `review rules explain`.
    pub find_command: &'a dyn Fn(&str) -> Option<String>,
}

/// The meaning of the words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WordsMeaning {
    /// The change, if the words name one.
    pub scope: Option<ReviewScope>,
    /// Globs for the files that the words name, from the root of the tree.
    pub include: Vec<String>,
    /// A note for the user on how an ambiguous word was read.
    pub notice: Option<String>,
}

/// The meaning of one word.
enum WordKind {
    Pull(PullSpecifier),
    Range { from: String, to: String, from_merge_base: bool },
    Revision,
    Path,
}

/// Reads the words of a command line. Fails if a word is neither a revision, a range, a pull request nor a path, or if they do not fit together.
pub fn read_words(given: &CommandWords<'_>) -> Result<WordsMeaning, GitError> {
    let mut meaning = WordsMeaning::default();
    let mut revisions: Vec<&String> = Vec::new();
    // The page of a pull request needs no repository.
    let repo = Repo::open(given.directory);
    for word in given.words {
        let kind = match &repo {
            Ok(repo) => kind_of(repo, given, word)?,
            Err(_) => WordKind::Pull(pull_without_repository(word, given)?),
        };
        match kind {
            WordKind::Path => {
                let repo = required(&repo, given)?;
                meaning.include.push(glob_of(repo, given.directory, word)?);
            }
            WordKind::Revision => {
                let is_path = given.directory.join(word).exists();
                meaning.notice = is_path.then(|| {
                    let word_shown = strip_line(word);
                    let shown = shell_word(&word_shown);
                    format!(
                        "{shown} is a revision and a path: read as the revision (review -- {shown} reviews the path)"
                    )
                });
                revisions.push(word);
            }
            WordKind::Pull(pull) => set_scope(&mut meaning, ReviewScope::Pull(pull), word)?,
            WordKind::Range { from, to, from_merge_base } => {
                set_scope(&mut meaning, ReviewScope::Range { from, to, from_merge_base }, word)?;
            }
        }
    }
    if !revisions.is_empty() {
        let repo = required(&repo, given)?;
        let (scope, notice) = branch_of(repo, given, &revisions)?;
        meaning.notice = meaning.notice.or(notice);
        set_scope(&mut meaning, scope, revisions.first().map_or("", |word| word.as_str()))?;
    }
    for path in given.paths {
        let repo = required(&repo, given)?;
        meaning.include.push(glob_of(repo, given.directory, path)?);
    }
    // Paths go with every scope; two scopes contradict each other.
    let own_ends = [("--target", given.target), ("--head", given.head)];
    let flag = given.scope_flag.or_else(|| own_ends.iter().find(|(_, value)| value.is_some()).map(|(flag, _)| *flag));
    match (&meaning.scope, flag) {
        (Some(ReviewScope::Branch { .. }), Some("--target" | "--head")) | (_, None) | (None, _) => Ok(meaning),
        (Some(_), Some(flag)) => {
            let word = given.words.first().map(|word| strip_line(word)).unwrap_or_default();
            Err(InvalidWord::AndFlag { word, flag }.into())
        }
    }
}

fn set_scope(meaning: &mut WordsMeaning, scope: ReviewScope, word: &str) -> Result<(), GitError> {
    match meaning.scope.replace(scope) {
        None => Ok(()),
        Some(_) => Err(InvalidWord::TwoChanges(strip_line(word)).into()),
    }
}

fn required<'r>(repo: &'r Result<Repo, RepoError>, given: &CommandWords<'_>) -> Result<&'r Repo, GitError> {
    match repo {
        Ok(repo) => Ok(repo),
        // The same error once more, to be owned.
        Err(_) => Err(Repo::open(given.directory).err().map_or(GitError::NotFetched, GitError::from)),
    }
}

fn pull_without_repository(word: &str, given: &CommandWords<'_>) -> Result<PullSpecifier, GitError> {
    let parsed = word.parse::<PullSpecifier>();
    if parsed.is_err()
        && let Some(command) = (given.find_command)(word)
    {
        return Err(InvalidWord::Unknown { word: strip_line(word), near: vec![format!("`{command}`")] }.into());
    }
    match parsed {
        Ok(pull @ PullSpecifier::Whole { .. }) => Ok(pull),
        Err(error) if word.contains("://") => Err(InvalidWord::Pull(error).into()),
        Ok(PullSpecifier::Number(_)) | Err(_) => {
            Err(Repo::open(given.directory).err().map_or(GitError::NotFetched, GitError::from))
        }
    }
}

fn kind_of(repo: &Repo, given: &CommandWords<'_>, word: &str) -> Result<WordKind, GitError> {
    if word.contains("://") {
        return Ok(WordKind::Pull(word.parse().map_err(InvalidWord::Pull)?));
    }
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_revision = if is_number && word.len() < DIGITS_OF_COMMIT {
        repo.raw().resolve_reference_from_short_name(word).is_ok()
    } else {
        !word.is_empty() && is_commit(repo, word)?
    };
    if is_revision {
        return Ok(WordKind::Revision);
    }
    if (is_number || word.contains('#'))
        && let Ok(pull) = word.parse()
    {
        return Ok(WordKind::Pull(pull));
    }
    let is_path = given.directory.join(word).symlink_metadata().is_ok() || word.contains('*');
    if is_path && !word.is_empty() {
        return Ok(WordKind::Path);
    }
    let is_relative = word.starts_with("../") || word.contains("/../");
    if let Some((from, to, from_merge_base)) = split_range(word).filter(|_| !is_relative) {
        let end = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        let (from, to) = (end(from), end(to));
        for end in [&from, &to] {
            repo.commit(end)?;
        }
        return Ok(WordKind::Range { from, to, from_merge_base });
    }
    // An expression names a revision and nothing else: its error says more.
    if word.contains(['~', '^']) && !word.starts_with(['~', '^']) {
        repo.commit(word)?;
    }
    Err(unknown(repo, given, word).into())
}

fn split_range(word: &str) -> Option<(&str, &str, bool)> {
    match word.split_once("...") {
        Some((from, to)) => Some((from, to, true)),
        None => word.split_once("..").map(|(from, to)| (from, to, false)),
    }
}

/// Checks whether a word is a revision; one that fits several objects is an error.
fn is_commit(repo: &Repo, word: &str) -> Result<bool, GitError> {
    match repo.commit(word) {
        Ok(_) => Ok(true),
        Err(RepoError::Ambiguous(word)) => Err(RepoError::Ambiguous(word).into()),
        Err(error @ RepoError::Unborn) if word == "HEAD" => Err(error.into()),
        Err(_) => Ok(false),
    }
}

/// Reads one revision, or two as `git diff` takes them.
fn branch_of(
    repo: &Repo,
    given: &CommandWords<'_>,
    revisions: &[&String],
) -> Result<(ReviewScope, Option<String>), GitError> {
    let branch = |target: Option<&str>, head: Option<&str>| ReviewScope::Branch {
        target: target.map(str::to_owned),
        head: head.map(str::to_owned),
    };
    match (revisions, given.target, given.head) {
        ([word], None, None) => one_revision(repo, word),
        ([word], Some(target), None) => Ok((branch(Some(target), Some(word)), None)),
        ([word], None, Some(head)) => Ok((branch(Some(word), Some(head)), None)),
        ([target, head], None, None) => Ok((branch(Some(target), Some(head)), None)),
        (all, ..) => {
            let last = all.last().map(|word| strip_line(word)).unwrap_or_default();
            Err(InvalidWord::TooMany(last).into())
        }
    }
}

/// Reads a revision as the target, or as the head if there is nothing to review between it and `HEAD`, or if `HEAD` is what changes go into.
fn one_revision(repo: &Repo, word: &str) -> Result<(ReviewScope, Option<String>), GitError> {
    let as_target = ReviewScope::Branch { target: Some(word.to_owned()), head: None };
    let as_head = ReviewScope::Branch { target: None, head: Some(word.to_owned()) };
    let name = name_of_head(repo, "HEAD");
    if word == name || word == "HEAD" || word == "@" {
        return Ok((ReviewScope::Branch { target: None, head: None }, None));
    }
    let (head, named) = (repo.commit("HEAD")?, repo.commit(word)?);
    if is_ancestor(repo, named, head) {
        let is_name = repo.raw().resolve_reference_from_short_name(word).is_ok();
        let word_shown = strip_line(word);
        let shown = shell_word(&word_shown);
        let notice = (!is_name && named != head)
            .then(|| format!("reviewing the commits since {shown} (--commit {shown} reviews that commit alone)"));
        return Ok((as_target, notice));
    }
    let is_trunk = match default_target(repo, &name) {
        Err(GitError::TargetIsHead { .. }) => true,
        Ok(found) => found.name.ends_with(&format!("/{name}")),
        Err(_) => false,
    };
    if is_trunk || is_ancestor(repo, head, named) {
        let (shown, name) = (strip_line(word), strip_line(&name));
        return Ok((as_head, Some(format!("reviewing {shown} (--target {shown} would compare {name} with it)"))));
    }
    Ok((as_target, None))
}

/// Checks whether `old` is `new` or one of its ancestors.
fn is_ancestor(repo: &Repo, old: CommitId, new: CommitId) -> bool {
    old == new || repo.raw().graph_descendant_of(raw_id(new.0), raw_id(old.0)).unwrap_or(false)
}

/// Renders a path as a glob from the root of the tree.
fn glob_of(repo: &Repo, directory: &Path, word: &str) -> Result<String, GitError> {
    let outside = || GitError::from(InvalidWord::Outside(strip_line(word)));
    let has_wildcard = word.contains('*') && directory.join(word).symlink_metadata().is_err();
    let escape = |text: &str| if has_wildcard { text.to_owned() } else { globset::escape(text) };
    let path = match repo.workdir() {
        None => PathBuf::from(word),
        Some(root) => {
            let root = files::real_path(root).map_err(|_| outside())?;
            let here = files::real_path(directory).map_err(|_| outside())?;
            // A link is a file of the tree: it is named, not followed.
            let whole = normalize(&here.join(word)).ok_or_else(outside)?;
            whole.strip_prefix(&root).map_err(|_| outside())?.to_owned()
        }
    };
    let parts: Option<Vec<String>> = path.iter().map(|part| part.to_str().map(escape)).collect();
    let joined = parts.ok_or_else(outside)?.join("/");
    // The root is everything.
    Ok(if joined.is_empty() { "**".to_owned() } else { format!("/{joined}") })
}

fn normalize(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => out.pop().then_some(())?,
            part => out.push(part),
        }
    }
    Some(out)
}

/// Builds the error for a word without a meaning, with what is like it: a reference, a command, a path.
fn unknown(repo: &Repo, given: &CommandWords<'_>, word: &str) -> InvalidWord {
    let references = repo.reference_names();
    let reference = nearest(word, references.iter().map(String::as_str)).map(str::to_owned);
    let command = (given.find_command)(word).map(|command| format!("`{command}`"));
    let near: Vec<String> = [reference, command, near_path(given.directory, word)].into_iter().flatten().collect();
    let near = near.iter().map(|near| strip_line(near)).collect();
    InvalidWord::Unknown { word: strip_line(word), near }
}

/// Finds a file or folder that a path may stand for, in the folder that the path names.
fn near_path(directory: &Path, word: &str) -> Option<String> {
    /// Bound on the entries that are compared.
    const MOST: usize = 10_000;
    let path = Path::new(word);
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let entries = std::fs::read_dir(directory.join(parent).join(".")).ok()?.take(MOST);
    let names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(parent.join(near).display().to_string())
}
