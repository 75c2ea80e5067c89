//! Walks `fixtures/remarks`: a folder for each bot, in it for each case a text (`name.md`) and what it is and comes to (`name.json`).
//!
//! `REMARKS=write` writes what each case comes to; what changed is then to be read in the difference.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::{read_remarks, summarize_remarks};
use super::{comment, only};
use crate::domain::finding::Severity;
use crate::domain::forge::{Comment, PullFile, Remark, RemarkSeverity};
use crate::domain::path::RepoPath;

/// A case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BotCase {
    /// `thread`, `review` or `comment`.
    place: String,
    /// A login; empty where the account is gone.
    author: String,
    #[serde(default)]
    person: bool,
    /// The severity that the mark of our own comment says.
    #[serde(default)]
    ours: Option<String>,
    /// The files of the pull request.
    #[serde(default)]
    files: Vec<String>,
    /// Text that is put behind the text, so many times.
    #[serde(default)]
    then: Option<(String, usize)>,
}

fn told(remark: &Remark, whole: &str) -> Value {
    let body = if remark.body == whole { "=" } else { &remark.body };
    json!({
        "id": remark.id, "thread": remark.thread, "held": remark.held.word(), "parent": remark.parent,
        "path": remark.path.as_ref().map(ToString::to_string), "lines": remark.lines,
        "severity": remark.severity.word(), "kind": kind(remark.severity), "source": remark.source.word(),
        "author": remark.author, "title": remark.title, "body": body,
        "prompt": remark.prompt.as_ref().map(|prompt| json!({
            "certain": prompt.is_certain,
            "text": if prompt.text == whole.trim() { "=" } else { &prompt.text },
        })),
        "can_resolve": remark.can_resolve, "listed_only": remark.is_listed_only,
    })
}

fn comes_to(case: &BotCase, text: &str) -> Value {
    let path = |spelled: &String| RepoPath::parse(spelled).unwrap();
    let file =
        |name| PullFile { path: path(name), old_path: None, status: "modified".to_owned(), additions: 1, deletions: 0 };
    let files: Vec<PullFile> = case.files.iter().map(file).collect();
    let said = only(&case.place, comment(&case.author, !case.person, text));
    let mark = case.ours.as_deref().map(|word| Severity::from_word(word).unwrap());
    let found = read_remarks(&said, &files, &|_: &Comment| mark);
    let sums = summarize_remarks(&found.remarks);
    assert_eq!(sums.total, sums.resolved + sums.unresolved);
    let again = read_remarks(&said, &files, &|_: &Comment| mark);
    assert_eq!(found, again);
    let by_severity: Map<String, Value> =
        sums.by_severity.iter().map(|(severity, count)| (severity.word().to_owned(), json!(count))).collect();
    json!({
        "remarks": found.remarks.iter().map(|remark| told(remark, text)).collect::<Vec<_>>(),
        "notes": found.notes,
        "summary": {
            "total": sums.total, "by_severity": by_severity, "by_file": sums.by_file,
            "nitpicks": sums.nitpicks.map(|nitpicks| nitpicks.total),
        },
    })
}

fn cases() -> Vec<PathBuf> {
    let inside =
        |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/remarks");
    let folders = inside(&root).into_iter().filter(|path| path.is_dir());
    let mut cases: Vec<PathBuf> = folders.flat_map(|folder| inside(&folder)).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    cases.sort();
    cases
}

#[test]
fn every_case_comes_to_what_its_file_says() {
    let is_writing = std::env::var_os("REMARKS").is_some_and(|word| word == "write");
    let all = cases();
    assert!(all.len() >= 40, "only {} cases", all.len());
    let mut wrong = Vec::new();
    for path in all {
        let mut kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let case = BotCase::deserialize(&kept["is"]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut text = fs::read_to_string(path.with_extension("md")).unwrap();
        if let Some((then, times)) = &case.then {
            text.push_str(&then.repeat(*times));
        }
        let comes_to = comes_to(&case, &text);
        if is_writing {
            kept["comes_to"] = comes_to;
            fs::write(&path, serde_json::to_string_pretty(&kept).unwrap() + "\n").unwrap();
        } else if kept["comes_to"] != comes_to {
            wrong.push(format!("{}: {}", path.display(), serde_json::to_string_pretty(&comes_to).unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_text_has_a_case() {
    for path in cases() {
        assert!(path.with_extension("md").is_file(), "{}", path.display());
        for beside in fs::read_dir(path.parent().unwrap()).unwrap() {
            let beside = beside.unwrap().path();
            assert!(beside.with_extension("json").is_file(), "{}", beside.display());
        }
    }
}

/// The kind of remark that has this severity, as the cases name it.
fn kind(severity: RemarkSeverity) -> &'static str {
    match severity {
        RemarkSeverity::Critical | RemarkSeverity::Major | RemarkSeverity::Minor | RemarkSeverity::Issue => "issue",
        RemarkSeverity::Refactor => "refactor",
        RemarkSeverity::Nitpick | RemarkSeverity::Trivial => "nitpick",
        RemarkSeverity::Docs => "docs",
        RemarkSeverity::Unknown => "other",
    }
}
