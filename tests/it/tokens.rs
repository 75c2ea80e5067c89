//! Tokens that a long session sends, with results as text and as JSON.
//!
//! `REVIEW_TOKENS_IN` names another repository to read; its figures are printed and not held to anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use review_runner::domain::path::RepoPath;
use review_runner::evidence::GrammarLanguages;
use review_runner::review::estimate_tokens;
use review_runner::sys::cancel::Cancel;
use review_runner::tools::{Checkout, ToolContext, ToolLimits, Toolbox};
use review_runner::workspace::memory::MemoryTree;
use serde_json::{Value, json};

/// Tokens of system text, tools and first message.
const OPENING: u64 = 12_000;
/// Calls in a turn.
const AT_ONCE: usize = 2;
/// Calls of the session.
const CALLS: usize = 40;

/// Reads the text files below a folder.
fn read_files(folder: &Path, root: &Path, tree: &mut MemoryTree, paths: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".") || name == "target") {
            continue;
        }
        if entry.is_dir() {
            read_files(&entry, root, tree, paths);
        } else if let Ok(text) = std::fs::read_to_string(&entry) {
            let path = entry.strip_prefix(root).expect("a path below the root").to_str().expect("UTF-8").to_owned();
            tree.insert(RepoPath::parse(&path).expect("a path"), &text);
            paths.push(path);
        }
    }
}

/// A session as a reviewer makes it: who uses a name, and then the code around it. Names come from the files themselves.
fn session(tools: &Toolbox, paths: &[String]) -> Vec<(&'static str, Value)> {
    let code: Vec<&String> = paths
        .iter()
        .filter(|path| [".rs", ".py", ".go", ".ts", ".js", ".java"].iter().any(|ending| path.ends_with(ending)))
        .collect();
    let mut calls = Vec::new();
    for at in 0.. {
        if calls.len() >= CALLS {
            break;
        }
        let path = code[at * 37 % code.len()];
        let found = tools.call(
            "search_in_files",
            json!({ "pattern": r"\b(fn|def|func|class|struct)\s+\w{6,}", "file_pattern": path, "context_lines": 0 }),
        );
        let found: Value = serde_json::from_str(found.json()).expect("JSON");
        let Some(hit) = found["matches"].as_array().and_then(|hits| hits.get(hits.len() / 2)) else { continue };
        let line = hit["line_content"].as_str().expect("a line");
        let words: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() >= 6).collect();
        let Some(name) = words.iter().find(|word| **word != "struct") else { continue };
        calls.push(("search_in_files", json!({ "pattern": format!(r"\b{name}\b") })));
        if at % 4 == 0 {
            let word = name.split('_').next().unwrap_or(name);
            calls.push(("search_in_files", json!({ "pattern": format!("(?i){word}"), "context_lines": 5 })));
        }
        let start = hit["line_number"].as_u64().expect("a number").saturating_sub(20).max(1);
        calls.push(("read_file_part", json!({ "file_path": path, "start_line": start, "num_lines": 80 })));
    }
    calls.truncate(CALLS);
    calls
}

/// Tokens of all requests together, if every turn sends the conversation again.
fn input_tokens(results: &[u64], turns_after: usize) -> u64 {
    let turns = results.chunks(AT_ONCE).map(|turn| turn.iter().sum::<u64>());
    let mut size = OPENING;
    let mut sum = OPENING;
    for (at, turn) in turns.enumerate() {
        size += turn;
        let is_last = (at + 1) * AT_ONCE >= results.len();
        sum += size * if is_last { turns_after as u64 } else { 1 };
    }
    sum
}

#[test]
fn a_long_session_sends_far_fewer_tokens() {
    let other = std::env::var_os("REVIEW_TOKENS_IN").map(PathBuf::from);
    let root = other.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let (mut tree, mut paths) = (MemoryTree::default(), Vec::new());
    read_files(&root, &root, &mut tree, &mut paths);
    let tools = Toolbox::new(ToolContext {
        change: None,
        new: Arc::new(tree),
        old: None,
        diff: None,
        from_merge_base: false,
        checkout: Checkout::default(),
        builds: None,
        languages: Some(GrammarLanguages::default()),
        cancel: Cancel::never(),
        limits: ToolLimits::default(),
    });
    let (mut json_form, mut text_form, mut searches) = (Vec::new(), Vec::new(), [0, 0]);
    for (tool, input) in session(&tools, &paths) {
        let outcome = tools.call(tool, input);
        assert!(!outcome.is_error, "{}", outcome.text);
        json_form.push(estimate_tokens(outcome.json()));
        text_form.push(estimate_tokens(&outcome.text));
        if tool == "search_in_files" {
            searches[0] += estimate_tokens(outcome.json());
            searches[1] += estimate_tokens(&outcome.text);
        }
    }
    // As JSON the end takes a turn of its own after that of the reports; as text the reports and the end share one.
    let (before, after) = (input_tokens(&json_form, 2), input_tokens(&text_form, 1));
    let sum = |form: &[u64]| form.iter().sum::<u64>();
    println!(
        "{} files, {} calls: results {} -> {}, of these searches {} -> {}; input of the session {before} -> {after} ({} % less)",
        paths.len(),
        json_form.len(),
        sum(&json_form),
        sum(&text_form),
        searches[0],
        searches[1],
        100 - 100 * after / before
    );
    if other.is_none() {
        assert_eq!(json_form.len(), CALLS);
        // The sample moves with the sources; the bound of the whole session is the goal.
        assert!(searches[1] * 100 < searches[0] * 60, "searches take {} tokens of {}", searches[1], searches[0]);
        assert!(after * 100 <= before * 65, "{after} tokens of {before}");
    }
}
