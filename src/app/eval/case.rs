//! A case as written in `case.toml`, beside the folders of its change. Main type: [`EvalCase`].
//!
//! Building its change belongs in `recipe`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::EvalError;
use crate::domain::eval::{ExpectedResult, Golden};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{strip_block, strip_line};
use crate::sys::contained_folder::{ContainedFolder, ReadFile};

/// The file that makes a folder a case.
pub(super) const CASE_FILE: &str = "case.toml";
/// Maximum size in bytes of a case file.
const MAX_CASE: u64 = 256 << 10;
/// Limit on the issues of a case.
const MAX_ISSUES: usize = 100;
/// Limits on the number and length of an issue's words.
const MAX_WORDS: usize = 50;
const MAX_WORD: usize = 200;

/// The source of the change.
#[derive(Debug, Clone)]
pub(super) enum CaseRecipe {
    /// The folders `base` and `head` of the case, or its `change.patch`.
    Files {
        /// The commit message.
        message: String,
        /// Generated files.
        made: Vec<GeneratedFile>,
    },
    /// Two commits of a repository.
    Repository(RepositoryEnds),
}

/// A generated file that repeats one line.
#[derive(Debug, Clone)]
pub(super) struct GeneratedFile {
    pub(super) path: RepoPath,
    /// The line; `{n}` in it is replaced by its number.
    pub(super) line: String,
    /// The number of its lines.
    pub(super) times: u32,
    /// `new`: only in the head; `old`: only in the base.
    pub(super) side: DiffSide,
}

/// A change of a real repository.
#[derive(Debug, Clone)]
pub(super) struct RepositoryEnds {
    /// Its folder, below the one that the caller gave for repositories.
    pub(super) folder: PathBuf,
    /// The base of the change.
    pub(super) base: String,
    /// The head of the change.
    pub(super) head: String,
}

/// A parsed and validated case.
#[derive(Debug, Clone)]
pub(super) struct EvalCase {
    /// Its name: that of its folder.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// A description in one line.
    pub(super) about: String,
    /// The expected result of a review.
    pub(super) expected: ExpectedResult,
    /// The change to review.
    pub(super) recipe: CaseRecipe,
    /// The bytes of its file, for the hash.
    pub(super) text: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseToml {
    about: String,
    #[serde(default)]
    clean: bool,
    message: Option<String>,
    repository: Option<String>,
    base: Option<String>,
    head: Option<String>,
    #[serde(default)]
    issue: Vec<IssueToml>,
    #[serde(default)]
    made: Vec<GeneratedFileToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssueToml {
    path: String,
    #[serde(default)]
    side: DiffSide,
    lines: Option<Vec<u32>>,
    words: Vec<String>,
    severity: Option<Severity>,
    category: Option<Category>,
    #[serde(default)]
    optional: bool,
    cause: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GeneratedFileToml {
    path: String,
    line: String,
    times: u32,
    #[serde(default)]
    side: DiffSide,
}

/// Reads the case in `folder`.
pub(super) fn read(folder: &Path) -> Result<EvalCase, EvalError> {
    let file = folder.join(CASE_FILE);
    // The error may quote the file.
    let fault = |why: String| EvalError::Case { case: file.clone(), why: strip_block(&why) };
    let mut buffer = Vec::new();
    let read = ContainedFolder::new(folder).and_then(|beneath| {
        match beneath.read(CASE_FILE.as_bytes(), MAX_CASE, &mut buffer) {
            Ok(ReadFile::Bytes(bytes)) => Ok(Some(bytes.to_vec())),
            Ok(ReadFile::TooLarge(_) | ReadFile::NotPlain(_)) => Ok(None),
            Err(error) => Err(error),
        }
    });
    let bytes = read.map_err(|error| fault(format!("cannot be read: {error}")))?;
    let bytes = bytes.ok_or_else(|| fault("it must be a plain file of at most 256 KiB".to_owned()))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| fault("it is not UTF-8 text".to_owned()))?;
    let written: CaseToml = toml::from_str(text).map_err(|error| fault(error.to_string().trim_end().to_owned()))?;
    let name = folder.file_name().map_or_else(String::new, |name| strip_line(&name.to_string_lossy()));
    let recipe = recipe(&written, &fault)?;
    let expected = expected(&written, &fault)?;
    let about = strip_line(&written.about);
    Ok(EvalCase { name, folder: folder.to_owned(), about, expected, recipe, text: bytes })
}

fn expected(written: &CaseToml, fault: &impl Fn(String) -> EvalError) -> Result<ExpectedResult, EvalError> {
    match (written.clean, written.issue.len()) {
        (true, 0) => return Ok(ExpectedResult::Clean),
        (true, _) => {
            return Err(fault("a clean change has no issue: leave out clean = true, or the issues".to_owned()));
        }
        (false, 0) => return Err(fault("it expects nothing: write clean = true, or an [[issue]]".to_owned())),
        (false, count) if count > MAX_ISSUES => return Err(fault(format!("a case has at most {MAX_ISSUES} issues"))),
        (false, _) => {}
    }
    let golden =
        |(at, issue): (usize, &IssueToml)| golden(issue).map_err(|why| fault(format!("[[issue]] {}: {why}", at + 1)));
    let issues: Vec<Golden> = written.issue.iter().enumerate().map(golden).collect::<Result<_, _>>()?;
    if issues.iter().all(|issue| issue.optional) {
        return Err(fault(
            "all its issues are optional, so nothing could be missed: expect one, or write clean = true".to_owned(),
        ));
    }
    let is_shared = |cause: &String| issues.iter().filter(|issue| issue.cause.as_ref() == Some(cause)).count() > 1;
    if let Some(cause) = issues.iter().filter_map(|issue| issue.cause.as_ref()).find(|cause| !is_shared(cause)) {
        return Err(fault(format!(
            "only one issue has the cause {cause:?}: name the others of that cause, or leave it out"
        )));
    }
    Ok(ExpectedResult::Issues(issues))
}

fn golden(issue: &IssueToml) -> Result<Golden, String> {
    let path = RepoPath::parse(&issue.path).map_err(|error| format!("path: {error}"))?;
    let lines = match issue.lines.as_deref() {
        None => None,
        Some(&[line]) => Some(LineRange::new(line, line)),
        Some(&[start, end]) => Some(LineRange::new(start, end)),
        Some(_) => return Err("lines takes one line or the first and the last, like [12] or [12, 14]".to_owned()),
    };
    let lines = lines.transpose().map_err(|error| error.to_string())?;
    let says_something = |word: &String| !word.trim().is_empty() && word.len() <= MAX_WORD;
    if issue.words.is_empty() || issue.words.len() > MAX_WORDS || !issue.words.iter().all(says_something) {
        return Err(format!(
            "words takes 1 to {MAX_WORDS} words or phrases, none of them empty or longer than {MAX_WORD} bytes"
        ));
    }
    Ok(Golden {
        path,
        side: issue.side,
        lines,
        words: issue.words.clone(),
        severity: issue.severity,
        category: issue.category,
        optional: issue.optional,
        cause: issue.cause.clone(),
    })
}

fn recipe(written: &CaseToml, fault: &impl Fn(String) -> EvalError) -> Result<CaseRecipe, EvalError> {
    let made = |made: &GeneratedFileToml| {
        let path = RepoPath::parse(&made.path).map_err(|error| fault(format!("[[made]]: path: {error}")))?;
        Ok(GeneratedFile { path, line: made.line.clone(), times: made.times, side: made.side })
    };
    let made: Vec<GeneratedFile> = written.made.iter().map(made).collect::<Result<_, EvalError>>()?;
    match (&written.repository, &written.base, &written.head) {
        (None, None, None) => {
            let message = written.message.clone().unwrap_or_else(|| "Change".to_owned());
            Ok(CaseRecipe::Files { message, made })
        }
        (Some(repository), Some(base), Some(head)) if made.is_empty() && written.message.is_none() => {
            let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && !name.contains("..");
            if !is_name(base) || !is_name(head) {
                return Err(fault("base and head each name one commit: a branch, a tag or an id".to_owned()));
            }
            let (folder, base, head) = (PathBuf::from(repository), base.clone(), head.clone());
            Ok(CaseRecipe::Repository(RepositoryEnds { folder, base, head }))
        }
        _ => Err(fault(
            "a change in a repository is named by repository, base and head together, and by nothing else".to_owned(),
        )),
    }
}
