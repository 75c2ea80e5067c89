//! The reading tools as a model calls them.

#![allow(clippy::expect_used, reason = "the steps of a test fail loudly")]

use std::sync::Arc;

use proptest::prelude::*;
use review_runner::domain::change::{ChangeSet, FileChange, FileStatus, Hunk, HunkSpan};
use review_runner::domain::filter::PathFilter;
use review_runner::domain::path::RepoPath;
use review_runner::domain::place::{DiffSide, WorkspaceAt};
use review_runner::evidence::GrammarLanguages;
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::tools::{
    Checkout, DiffError, DiffPart, DiffPlace, DiffSource, ErrorKind, TOOLS, ToolContext, ToolLimits, ToolOutcome,
    Toolbox,
};
use review_runner::workspace::{self, Workspace, memory::MemoryTree};
use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::schema::assert_conforms;

fn path(spelled: &str) -> RepoPath {
    RepoPath::parse(spelled).expect("a path")
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn context(new: Arc<dyn Workspace>) -> ToolContext {
    ToolContext {
        change: None,
        new,
        old: None,
        diff: None,
        from_merge_base: false,
        checkout: Checkout::default(),
        cancel: Cancel::never(),
        builds: None,
        languages: Some(GrammarLanguages::default()),
        limits: ToolLimits::default(),
    }
}

fn tools_of(files: &[(&str, &str)]) -> Toolbox {
    let mut tree = MemoryTree::default();
    for (name, text) in files {
        tree.insert(path(name), text);
    }
    Toolbox::new(context(Arc::new(tree)))
}

fn tools_at_head(repo: &TestRepo, filter: PathFilter) -> Toolbox {
    let pool = RepoPool::new(Repo::open(repo.root()).expect("a repository"));
    let at = WorkspaceAt::Revision(pool.acquire().expect("a handle").commit("HEAD").expect("a commit"));
    Toolbox::new(context(workspace::open(Some(&pool), at, DiffSide::New, &[], filter).expect("a tree")))
}

fn answer(outcome: &ToolOutcome) -> Value {
    serde_json::from_str(outcome.json()).expect("JSON")
}

fn ok(tools: &Toolbox, name: &str, input: Value) -> Value {
    let outcome = tools.call(name, input);
    assert!(!outcome.is_error, "{}", outcome.text);
    assert!(outcome.text.len().max(outcome.json().len()) <= 64 << 10, "{} bytes", outcome.json().len());
    let tool = TOOLS.iter().find(|tool| tool.name == name).expect("a tool");
    let answer = answer(&outcome);
    assert_conforms(&(tool.answer)(), &answer);
    answer
}

fn fault(tools: &Toolbox, name: &str, input: Value) -> (String, Value) {
    let outcome = tools.call(name, input);
    assert!(outcome.is_error, "{}", outcome.text);
    let error = answer(&outcome)["error"].clone();
    assert_eq!(Some(error["kind"].as_str().expect("a kind")), outcome.error.map(ErrorKind::word));
    (error["kind"].as_str().expect("a kind").to_owned(), error)
}

/// Calls, and then what `next` says until nothing is left.
fn all_pages(tools: &Toolbox, name: &str, input: Value) -> Vec<Value> {
    let mut pages = vec![ok(tools, name, input)];
    while let Some(next) = pages.last().and_then(|page| page.get("next")).cloned() {
        assert!(pages.len() < 1000, "paging does not end: {next}");
        pages.push(ok(tools, next["tool"].as_str().expect("a tool"), next["input"].clone()));
    }
    pages
}

fn lines_of(page: &Value) -> Vec<String> {
    let content = page["content"].as_str().expect("content");
    content.lines().map(|line| line.split_once('\t').expect("a tab").1.to_owned()).collect()
}

#[test]
fn lines_are_numbered_six_wide() {
    let tools = tools_of(&[("src/a.rs", "one\r\n\ttwo\n\nlast")]);
    let page = ok(&tools, "read_file_part", json!({ "file_path": "./src//a.rs" }));
    assert_eq!(
        page,
        json!({ "file_path": "src/a.rs", "content": "     1\tone\n     2\t\ttwo\n     3\t\n     4\tlast\n",
            "start_line": 1, "end_line": 4, "total_lines": 4 })
    );
}

#[test]
fn ranges_are_read_however_they_are_written() {
    let text = joined((1..=20).map(|line| format!("line {line}")));
    let tools = tools_of(&[("a", &text)]);
    for (input, first, last) in [
        (json!({ "file_path": "a", "start_line": 3, "end_line": 5 }), 3, 5),
        (json!({ "file_path": "a", "start_line": "3", "num_lines": "3" }), 3, 5),
        (json!({ "file_path": "a", "num_lines": 2 }), 1, 2),
        (json!({ "file_path": "a", "start_line": 19.0 }), 19, 20),
        (json!({ "file_path": "a", "start_line": 19, "end_line": 999 }), 19, 20),
        (json!({ "file_path": "a", "start_line": null, "end_line": 1, "side": null }), 1, 1),
        (json!({ "file_path": "a", "start_line": 4, "end_line": 5, "num_lines": 2 }), 4, 5),
    ] {
        let page = ok(&tools, "read_file_part", input.clone());
        assert_eq!((page["start_line"].as_u64(), page["end_line"].as_u64()), (Some(first), Some(last)), "{input}");
        assert_eq!(lines_of(&page)[0], format!("line {first}"));
    }
}

#[test]
fn a_range_that_is_not_there_says_how_long_the_file_is() {
    let tools = tools_of(&[("a", "1\n2\n3\n"), ("empty", "")]);
    for input in [
        json!({ "file_path": "a", "start_line": 4 }),
        json!({ "file_path": "a", "start_line": 3, "end_line": 2 }),
        json!({ "file_path": "a", "start_line": 0 }),
        json!({ "file_path": "a", "num_lines": 0 }),
    ] {
        let (kind, error) = fault(&tools, "read_file_part", input.clone());
        assert_eq!((kind.as_str(), error["total_lines"].as_u64()), ("invalid_range", Some(3)), "{input}");
    }
    let page = ok(&tools, "read_file_part", json!({ "file_path": "empty" }));
    assert_eq!((page["total_lines"].as_u64(), page["note"].as_str()), (Some(0), Some("The file is empty.")));
    let (kind, error) = fault(&tools, "read_file_part", json!({ "file_path": "empty", "start_line": 2 }));
    assert_eq!((kind.as_str(), error["total_lines"].as_u64()), ("invalid_range", Some(0)));
}

#[test]
fn a_long_line_is_cut_and_said() {
    let tools = tools_of(&[("min.js", &format!("{}needle\nshort\n", "ä".repeat(600)))]);
    let page = ok(&tools, "read_file_part", json!({ "file_path": "min.js" }));
    assert_eq!(lines_of(&page)[0], format!("{} [truncated due to line size]", "ä".repeat(500)));
    assert!(page["note"].as_str().unwrap().contains("1 lines are longer than 500 characters"));
    let found = ok(&tools, "search_in_files", json!({ "pattern": "needle" }));
    let shown = format!("[beginning not shown] {}needle", "ä".repeat(75));
    assert_eq!(found["matches"][0]["line_content"], shown);
    let text = tools.call("search_in_files", json!({ "pattern": "needle", "context_lines": 0 })).text;
    assert_eq!(text, format!("1 matching line in 1 file\n=== min.js\n1> {shown}\n"));
}

#[test]
fn a_large_file_is_read_in_parts_of_500_lines() {
    let text = joined((1..=1201).map(|line| line.to_string()));
    let tools = tools_of(&[("a", &text)]);
    let pages = all_pages(&tools, "read_file_part", json!({ "file_path": "a" }));
    let ends: Vec<_> = pages.iter().map(|page| page["end_line"].as_u64().unwrap()).collect();
    assert_eq!(ends, [500, 1000, 1201]);
    assert!(pages[0]["note"].as_str().unwrap().contains("Lines 501-1201"));
    let part = all_pages(&tools, "read_file_part", json!({ "file_path": "a", "start_line": 100, "end_line": 700 }));
    assert_eq!(part[1]["end_line"], 700, "the next call keeps the end that was asked for");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn pages_together_are_the_file(lines in proptest::collection::vec("[ -~\t\"\\\\äß🦀\u{1b}]{0,120}", 0..900), end in any::<bool>()) {
        let mut text = lines.join("\n");
        if end { text.push('\n'); }
        let tools = tools_of(&[("a", &text)]);
        let pages = all_pages(&tools, "read_file_part", json!({ "file_path": "a" }));
        let read: Vec<_> = pages.iter().flat_map(lines_of).collect();
        let expected: Vec<_> = text.lines().map(str::to_owned).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn pages_of_a_search_together_are_all_matches(count in 1usize..300, most in 1usize..90, around in 0u32..25) {
        let text = joined((0..count).map(|line| format!("hit {line} {}", "x".repeat(line % 290))));
        let tools = tools_of(&[("a", &text), ("b", "hit\n")]);
        let input = json!({ "pattern": "hit", "max_results": most, "context_lines": around });
        let pages = all_pages(&tools, "search_in_files", input);
        let found: Vec<_> = pages.iter().flat_map(|page| page["matches"].as_array().unwrap().clone()).collect();
        let places: Vec<_> = found.iter().map(|hit| (hit["file_path"].as_str().unwrap(), hit["line_number"].as_u64().unwrap())).collect();
        let mut expected: Vec<_> = (1..=count as u64).map(|line| ("a", line)).collect();
        expected.push(("b", 1));
        prop_assert_eq!(places, expected);
        prop_assert_eq!(pages.last().unwrap()["total"].as_u64(), Some(count as u64 + 1));
    }
}

#[test]
fn errors_are_told_in_words_a_model_can_act_on() {
    let tools = tools_of(&[("src/parser.rs", "x\n")]);
    for (name, input, kind, word) in [
        ("read_file_part", json!({ "file_path": "src/parsr.rs" }), "file_not_found", "src/parsr.rs"),
        ("read_file_part", json!({ "file_path": "../x" }), "refused_path", ".."),
        ("read_file_part", json!({ "file_path": "/etc/passwd" }), "refused_path", "absolute"),
        ("read_file_part", json!({ "file_path": "/proc/self/environ" }), "refused_path", "absolute"),
        ("read_file_part", json!({ "file_path": "a/.git/config" }), "refused_path", "git"),
        ("read_file_part", json!({ "file_path": "" }), "invalid_input", "empty"),
        ("read_file_part", json!({}), "invalid_input", "file_path"),
        ("read_file_part", json!({ "path": "a" }), "invalid_input", "start_line"),
        ("read_file_part", json!({ "file_path": "a", "start_line": -1 }), "invalid_input", "-1"),
        ("read_file_part", json!({ "file_path": "a", "side": "left" }), "invalid_input", "left"),
        ("read_file_part", json!({ "file_path": "a", "side": "old" }), "invalid_input", "old side"),
        (
            "read_file_part",
            json!({ "file_path": "src/parser.rs", "end_line": 3, "num_lines": 1 }),
            "invalid_input",
            "disagree",
        ),
        ("search_in_files", json!({ "pattern": "" }), "invalid_input", "pattern"),
        ("search_in_files", json!({ "pattern": "x", "file_pattern": "a[" }), "invalid_input", "a["),
        ("list_files", json!({ "directory": "../.." }), "refused_path", ".."),
        ("list_files", json!({ "directory": "/" }), "refused_path", "absolute"),
        ("list_files", json!({ "directory": "src/parser.rs" }), "invalid_input", "read_file_part"),
        ("list_files", json!({ "directory": "scr" }), "file_not_found", "scr"),
        ("read_diff", json!({ "file_path": "src/parser.rs" }), "invalid_input", "no change"),
        ("write_file", json!({}), "unknown_tool", "read_file_part"),
    ] {
        let (found, error) = fault(&tools, name, input.clone());
        assert_eq!(found, kind, "{name} {input}");
        assert!(error["message"].as_str().unwrap().contains(word), "{name} {input}: {error}");
    }
    let (_, error) = fault(&tools, "list_files", json!({ "directory": "scr" }));
    assert_eq!(error["near"], json!(["src"]));
}

#[test]
fn a_stopped_run_answers_that_it_was_stopped() {
    let mut tree = MemoryTree::default();
    tree.insert(path("a"), "x\n");
    let cancel = Cancel::never();
    cancel.interrupt();
    let tools = Toolbox::new(ToolContext { cancel, ..context(Arc::new(tree)) });
    assert_eq!(fault(&tools, "list_files", json!({})).0, "stopped");
}

#[test]
fn matches_carry_the_lines_around_them() {
    let tools = tools_of(&[("a", "hit\nb\nc\nhit\nhit\nf\n")]);
    let found = ok(&tools, "search_in_files", json!({ "pattern": "^hit$", "context_lines": 1 }));
    insta::assert_json_snapshot!(found);
}

/// The text that a model reads.
fn text(tools: &Toolbox, name: &str, input: Value) -> String {
    ok(tools, name, input.clone());
    tools.call(name, input).text
}

#[test]
fn a_search_is_shown_by_file_with_each_line_once() {
    let rust = "struct Cart;\n\nimpl Cart {\n    fn total(&self) {\n        let a = 1;\n        let b = 2;\n        hit(a);\n        hit(b);\n    }\n}\n";
    let tools = tools_of(&[("a.txt", "hit\nb\nc\nd\ne\nf\nhit\n"), ("src/cart.rs", rust)]);
    let shown = text(&tools, "search_in_files", json!({ "pattern": "hit", "context_lines": 1 }));
    insta::assert_snapshot!(shown, @r"
    4 matching lines in 2 files
    === a.txt
    1> hit
    2: b
    6: f
    7> hit
    === src/cart.rs
    @@ total
    6:         let b = 2;
    7>         hit(a);
    8>         hit(b);
    9:     }
    ");
    let shown = text(&tools, "search_in_files", json!({ "pattern": "hit", "context_lines": 0, "max_results": 2 }));
    insta::assert_snapshot!(shown, @r#"
    matching lines 1-2 of more
    === a.txt
    1> hit
    7> hit
    Note: Matches 1-2 are shown and there are more; `next` is the call that goes on, or narrow the search with file_pattern or exclude.
    Next: search_in_files {"pattern":"hit","context_lines":0,"max_results":2,"skip":2}
    "#);
    let nothing = text(&tools, "search_in_files", json!({ "pattern": "nowhere" }));
    assert_eq!(nothing, "Note: Nothing found in 2 files.\n");
    let narrowed = json!({ "pattern": "nowhere", "exclude": ["*.txt"] });
    assert_eq!(text(&tools, "search_in_files", narrowed), "Note: Nothing found in 1 file.\n");
}

#[test]
fn lines_around_several_matches_take_room_once() {
    let tools = tools_of(&[("a.txt", &"hit\n".repeat(300)), ("b.txt", &"hit\n".repeat(3))]);
    let input = json!({ "pattern": "hit", "context_lines": 5, "max_results": 200 });
    let pages = all_pages(&tools, "search_in_files", input);
    let counts: Vec<_> = pages.iter().map(|page| page["matches"].as_array().expect("matches").len()).collect();
    assert_eq!(counts, [200, 103]);
    // The limit of lines is that of the text: 21 for each of these matches, which are too far from each other to share any.
    let apart = format!("hit\n{}", "-\n".repeat(30)).repeat(40);
    let tools = tools_of(&[("a.txt", &apart)]);
    let found = ok(&tools, "search_in_files", json!({ "pattern": "hit", "context_lines": 10 }));
    assert_eq!(found["matches"].as_array().map(Vec::len), Some(24));
}

#[test]
fn globs_of_what_is_left_out_are_one_or_several() {
    let tools = tools_of(&[("a.rs", "hit\n"), ("b.py", "hit\n"), ("tests/c.rs", "hit\n")]);
    for (exclude, left) in [
        (json!(["tests"]), vec!["a.rs", "b.py"]),
        (json!(["tests", "*.py"]), vec!["a.rs"]),
        (json!("*.rs"), vec!["b.py"]),
        (json!([""]), vec!["a.rs", "b.py", "tests/c.rs"]),
        (json!(null), vec!["a.rs", "b.py", "tests/c.rs"]),
    ] {
        let input = json!({ "pattern": "hit", "exclude": exclude, "max_results": 1 });
        let pages = all_pages(&tools, "search_in_files", input);
        let names: Vec<_> = pages.iter().map(|page| page["matches"][0]["file_path"].as_str().unwrap()).collect();
        assert_eq!(names, left, "{exclude}");
    }
    let both = ok(&tools, "search_in_files", json!({ "pattern": "hit", "file_pattern": "*.rs", "exclude": ["tests"] }));
    assert_eq!(both["total"], 1);
    let (kind, error) = fault(&tools, "search_in_files", json!({ "pattern": "hit", "exclude": ["a["] }));
    assert!(kind == "invalid_input" && error["message"].as_str().unwrap().contains("exclude: the glob"), "{error}");
    let (kind, _) = fault(&tools, "search_in_files", json!({ "pattern": "hit", "exclude": [7] }));
    assert_eq!(kind, "invalid_input");
}

#[test]
fn generated_files_come_last_and_on_pages_of_their_own() {
    let minified = "hit();".repeat(2_000);
    let tools = tools_of(&[
        ("dist/app.js", &minified),
        ("src/api.rs", "// @generated\nhit\n"),
        ("src/own.rs", "hit\nhit\n"),
        ("vendor/lib.rs", "hit\n"),
    ]);
    let pages = all_pages(&tools, "search_in_files", json!({ "pattern": "hit", "context_lines": 0 }));
    let files = |page: &Value| -> Vec<String> {
        page["matches"].as_array().unwrap().iter().map(|hit| hit["file_path"].as_str().unwrap().to_owned()).collect()
    };
    let files: Vec<_> = pages.iter().map(files).collect();
    assert_eq!(files, [vec!["src/own.rs"; 2], vec!["dist/app.js", "src/api.rs", "vendor/lib.rs"]]);
    let shown = text(&tools, "search_in_files", json!({ "pattern": "hit", "context_lines": 0 }));
    insta::assert_snapshot!(shown, @r#"
    matching lines 1-2 of 5
    === src/own.rs
    1> hit
    2> hit
    Note: 3 more matches are in generated, vendored or minified files (dist/app.js, src/api.rs, vendor/lib.rs); `next` is the call that shows them.
    Next: search_in_files {"pattern":"hit","context_lines":0,"skip":2}
    "#);
    let alone = ok(&tools, "search_in_files", json!({ "pattern": "hit", "file_pattern": "vendor" }));
    assert_eq!((&alone["total"], alone.get("next")), (&json!(1), None), "those alone are shown at once");
    let many = all_pages(&tools, "search_in_files", json!({ "pattern": "hit", "max_results": 1 }));
    assert_eq!(many.len(), 5);
}

#[test]
fn reads_are_shown_as_lines_of_text() {
    let tools = tools_of(&[("src/a.rs", "one\n\t\"two\"\n")]);
    let shown = text(&tools, "read_file_part", json!({ "file_path": "src/a.rs" }));
    assert_eq!(shown, "=== src/a.rs (lines 1-2 of 2)\n1: one\n2: \t\"two\"\n");
    assert_eq!(text(&tools, "list_files", json!({})), "1 file below .\nsrc/a.rs\n");
    let hunk = |number: usize| -> Vec<String> {
        [format!("@@ -{n},2 +{n},3 @@", n = 10 * number), " same".into(), "-old".into(), "+new".into(), "+more".into()]
            .into()
    };
    let tools = tools_with_change(vec![changed("after.rs", Some("before.rs"), 2)], Made(vec![hunk(1), hunk(2)]));
    insta::assert_snapshot!(text(&tools, "read_diff", json!({ "file_path": "after.rs", "start": 0 })), @r"
    === after.rs, before before.rs (in main..HEAD; from hunk 0 of 2, counted from 0)
    @@ -10,2 +10,3 @@
    10  same
    -old
    11 +new
    12 +more
    @@ -20,2 +20,3 @@
    20  same
    -old
    21 +new
    22 +more
    ");
}

#[test]
fn what_is_not_a_regular_expression_is_searched_as_text() {
    let tools = tools_of(&[("a.c", "call(a[0], b);\n"), ("b.c", "calla\n")]);
    for pattern in ["call(a[", "a[0]) {0", "(?=x)", "*b", "x{99999}{99999}"] {
        let found = ok(&tools, "search_in_files", json!({ "pattern": pattern }));
        assert!(found["note"].as_str().unwrap().contains("searched as plain text"), "{pattern}");
    }
    let found = ok(&tools, "search_in_files", json!({ "pattern": "call(a[" }));
    assert_eq!(found["matches"][0]["file_path"], "a.c");
    let regex = ok(&tools, "search_in_files", json!({ "pattern": "call\\(|calla" }));
    assert_eq!((regex["total"].as_u64(), regex.get("note")), (Some(2), None));
}

#[test]
fn a_search_is_narrowed_by_globs() {
    let repo = TestRepo::new();
    for name in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.py", "docs/e.md"] {
        repo.write(name, "hit\n");
    }
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::all());
    for (glob, files) in [
        (json!("*.rs"), &["a.rs", "src/b.rs", "src/deep/c.rs"][..]),
        (json!("src/**/*.rs"), &["src/b.rs", "src/deep/c.rs"]),
        (json!("src/"), &["src/b.rs", "src/d.py", "src/deep/c.rs"]),
        (json!("*.{md,py}"), &["docs/e.md", "src/d.py"]),
        (json!("docs/e.md"), &["docs/e.md"]),
        (json!(null), &["a.rs", "docs/e.md", "src/b.rs", "src/d.py", "src/deep/c.rs"]),
        (json!("*.go"), &[]),
    ] {
        let found = ok(&tools, "search_in_files", json!({ "pattern": "hit", "file_pattern": glob }));
        let found: Vec<_> =
            found["matches"].as_array().unwrap().iter().map(|hit| hit["file_path"].as_str().unwrap()).collect();
        assert_eq!(found, files, "{glob}");
    }
}

#[test]
fn the_total_is_told_when_it_is_known() {
    let text = "hit\n".repeat(70);
    let tools = tools_of(&[("a", &text)]);
    let found = ok(&tools, "search_in_files", json!({ "pattern": "hit" }));
    assert_eq!(found["matches"].as_array().unwrap().len(), 50);
    assert_eq!((&found["truncated"], &found["total"]), (&json!(true), &json!(null)));
    let found = ok(&tools, "search_in_files", json!({ "pattern": "hit", "max_results": 70 }));
    assert_eq!((&found["truncated"], &found["total"]), (&json!(false), &json!(70)));
}

#[test]
fn files_are_listed_under_a_folder() {
    let repo = TestRepo::new();
    for name in ["a.rs", "src/b.rs", "src/deep/c.rs", "src-x/d.rs", "src.txt", "odd \"q\".rs"] {
        repo.write(name, "x\n");
    }
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::all());
    let every = json!(["a.rs", "odd \"q\".rs", "src-x/d.rs", "src.txt", "src/b.rs", "src/deep/c.rs"]);
    for (input, files) in [
        (json!({}), every.clone()),
        (json!({ "directory": "" }), every.clone()),
        (json!({ "directory": "./" }), every.clone()),
        (json!({ "directory": null, "pattern": null }), every),
        (json!({ "directory": "./src/" }), json!(["src/b.rs", "src/deep/c.rs"])),
        (json!({ "directory": "src", "pattern": "deep/*.rs" }), json!(["src/deep/c.rs"])),
        (json!({ "directory": "src", "pattern": "src/*.rs" }), json!(["src/b.rs"])),
        (json!({ "pattern": "*.txt" }), json!(["src.txt"])),
    ] {
        assert_eq!(ok(&tools, "list_files", input.clone())["files"], files, "{input}");
    }
    let none = ok(&tools, "list_files", json!({ "pattern": "*.go" }));
    assert_eq!((&none["files"], &none["note"]), (&json!([]), &json!("No path matches the pattern.")));
}

#[test]
fn a_long_listing_goes_on_where_it_was_cut() {
    let repo = TestRepo::new();
    for file in 0..1203 {
        repo.write(format!("d{}/f{file:04}", file % 7), "");
    }
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::all());
    let pages = all_pages(&tools, "list_files", json!({}));
    assert_eq!(pages.len(), 3);
    assert_eq!((&pages[0]["total"], &pages[0]["truncated"]), (&json!(1203), &json!(true)));
    let listed: Vec<_> = pages.iter().flat_map(|page| page["files"].as_array().unwrap().clone()).collect();
    let git = repo.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(listed, git.lines().map(Value::from).collect::<Vec<_>>());
}

#[test]
fn a_name_that_is_not_text_is_read_by_its_spelling() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = TestRepo::new();
    repo.write(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"), "needle\n");
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::all());
    let listed = ok(&tools, "list_files", json!({}));
    assert_eq!(listed["files"][0], "\"caf\\351.txt\"");
    let page = ok(&tools, "read_file_part", json!({ "file_path": listed["files"][0] }));
    assert_eq!(lines_of(&page), ["needle"]);
    assert_eq!(
        ok(&tools, "search_in_files", json!({ "pattern": "needle" }))["matches"][0]["file_path"],
        listed["files"][0]
    );
}

#[test]
fn exclusions_hold_for_every_tool() {
    let repo = TestRepo::new();
    repo.write("a", "needle\n").write("private/key", "needle\n");
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::new(&[], &["private/".to_owned()]).unwrap());
    assert_eq!(fault(&tools, "read_file_part", json!({ "file_path": "private/key" })).0, "excluded");
    assert_eq!(ok(&tools, "search_in_files", json!({ "pattern": "needle" }))["total"], 1);
    assert_eq!(ok(&tools, "list_files", json!({}))["files"], json!(["a"]));
    assert_eq!(fault(&tools, "list_files", json!({ "directory": "private" })).0, "file_not_found");
}

#[test]
fn a_masked_secret_cannot_be_guessed_by_searching() {
    // Put together here so that no scanner takes this file for a leak.
    let secret = ["AKIA", "Q3EGRTW7Z2MPLN5X"].concat();
    let line = format!("aws_access_key_id = \"{secret}\"\n");
    let repo = TestRepo::new();
    repo.write("a", &line);
    repo.commit("x");
    let tools = tools_at_head(&repo, PathFilter::all());
    for pattern in [&secret[..9], "[A-Z0-9]{20}", "\"AKIA"] {
        assert_eq!(ok(&tools, "search_in_files", json!({ "pattern": pattern }))["total"], 0, "{pattern}");
    }
    let found = ok(&tools, "search_in_files", json!({ "pattern": "aws_access_key_id" }));
    assert_eq!(found["total"], 1);
    let page = ok(&tools, "read_file_part", json!({ "file_path": "a" }));
    assert!(page["note"].as_str().unwrap().contains("masked"), "{page}");
    for shown in [found.to_string(), page.to_string()] {
        assert!(!shown.contains(&secret[4..12]) && shown.contains("[masked:"), "{shown}");
    }
}

/// A change of one file with hunks whose text is made up.
struct Made(Vec<Vec<String>>);

impl DiffSource for Made {
    fn part(&self, _: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        let mut part = DiffPart::default();
        let mut count = 0;
        for (hunk, all) in self.0.iter().enumerate().skip(from.hunk) {
            let skip = if hunk == from.hunk { from.line } else { 0 };
            for (line, text) in all.iter().enumerate().skip(skip) {
                if count > 0 && (count >= lines || part.text.len() + text.len() + 1 > bytes) {
                    part.next = part.next.or(Some(DiffPlace { hunk, line }));
                    part.lines_left += 1;
                } else {
                    part.text.push_str(text);
                    part.text.push('\n');
                    count += 1;
                }
            }
        }
        Ok(part)
    }
}

fn changed(name: &str, old: Option<&str>, hunks: usize) -> FileChange {
    FileChange {
        old_path: old.map(path),
        status: if old.is_some() { FileStatus::Renamed } else { FileStatus::Modified },
        hunks: vec![Hunk { new: HunkSpan { start: 1, count: 1 }, ..Hunk::default() }; hunks],
        ..FileChange::modified(path(name))
    }
}

fn tools_with_change(files: Vec<FileChange>, diff: Made) -> Toolbox {
    let change = ChangeSet {
        repository: "r".into(),
        target: "main".into(),
        head_name: "HEAD".into(),
        old_at: WorkspaceAt::Empty,
        new_at: WorkspaceAt::Empty,
        ..ChangeSet::of(files)
    };
    let (mut old, mut new) = (MemoryTree::default(), MemoryTree::default());
    old.insert(path("before.rs"), "old\n");
    old.insert(path("gone.rs"), "old\n");
    new.insert(path("after.rs"), "new\n");
    Toolbox::new(ToolContext {
        change: Some(Arc::new(change)),
        old: Some(Arc::new(old)),
        diff: Some(Arc::new(diff)),
        ..context(Arc::new(new))
    })
}

#[test]
fn the_rest_of_a_diff_is_read_hunk_by_hunk() {
    let hunk = |number: usize, lines: usize| -> Vec<String> {
        (0..lines).map(|line| format!("+\t\"hunk {number} line {line}\" {}", "\"".repeat(80))).collect()
    };
    let made = vec![hunk(0, 3), hunk(1, 900), hunk(2, 5)];
    let expected = made.concat();
    let tools = tools_with_change(vec![changed("after.rs", Some("before.rs"), 3)], Made(made));
    let pages = all_pages(&tools, "read_diff", json!({ "file_path": "after.rs" }));
    assert!(pages.len() > 2);
    let read: Vec<_> = pages
        .iter()
        .flat_map(|page| page["content"].as_str().unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(read, expected);
    let last = ok(&tools, "read_diff", json!({ "file_path": "before.rs", "start": "2" }));
    assert_eq!((&last["file_path"], &last["old_path"]), (&json!("after.rs"), &json!("before.rs")));
    assert_eq!(last["content"].as_str().unwrap().lines().count(), 5);
    let (kind, error) = fault(&tools, "read_diff", json!({ "file_path": "after.rs", "start": 3 }));
    assert_eq!((kind.as_str(), &error["total_hunks"]), ("invalid_range", &json!(3)));
    let (kind, error) = fault(&tools, "read_diff", json!({ "file_path": "aftr.rs" }));
    assert_eq!((kind.as_str(), &error["near"]), ("file_not_found", &json!(["after.rs"])));
}

#[test]
fn a_file_on_the_other_side_is_pointed_to() {
    let mut gone = changed("gone.rs", None, 1);
    gone.status = FileStatus::Deleted;
    let tools = tools_with_change(vec![changed("after.rs", Some("before.rs"), 1), gone], Made(Vec::new()));
    let page = ok(&tools, "read_file_part", json!({ "file_path": "before.rs", "side": "old" }));
    assert_eq!((&page["side"], lines_of(&page)[0].as_str()), (&json!("old"), "old"));
    for (input, word) in [
        (json!({ "file_path": "before.rs" }), "renames it to after.rs"),
        (json!({ "file_path": "after.rs", "side": "old" }), "before the change it was before.rs"),
        (json!({ "file_path": "gone.rs" }), "side \"old\""),
    ] {
        let (kind, error) = fault(&tools, "read_file_part", input);
        assert_eq!(kind, "file_not_found");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn a_match_without_surroundings_carries_its_line_once() {
    let tools = tools_of(&[("a", "one\ntwo\n")]);
    let found = ok(&tools, "search_in_files", json!({ "pattern": "two", "context_lines": 0 }));
    assert_eq!(found["matches"], json!([{ "file_path": "a", "line_number": 2, "line_content": "two" }]));
    let found = ok(&tools, "search_in_files", json!({ "pattern": "two", "context_lines": 1 }));
    assert_eq!(found["matches"][0]["match_context"], "     1\tone\n     2\ttwo\n");
}

#[test]
fn the_bare_name_of_a_folder_means_the_one_at_the_root() {
    let files = ["a/lib/x", "a/src/x", "a/Makefile", "src-2/x", "src/deep/src/x", "src/x", "z/src/x"];
    let tools = tools_of(&files.map(|file| (file, "word\n")));
    let found = |glob: &str| {
        let input = json!({ "pattern": "word", "file_pattern": glob, "context_lines": 0, "max_results": 1 });
        let pages = all_pages(&tools, "search_in_files", input);
        let names = pages.iter().map(|page| page["matches"][0]["file_path"].as_str().expect("a path").to_owned());
        names.collect::<Vec<_>>()
    };
    let listed = |input| {
        let files = ok(&tools, "list_files", input)["files"].clone();
        serde_json::from_value::<Vec<String>>(files).expect("paths")
    };
    for (glob, files) in [
        ("src", vec!["src/deep/src/x", "src/x"]),
        ("src/", vec!["src/deep/src/x", "src/x"]),
        ("lib", vec!["a/lib/x"]),
        ("Makefile", vec!["a/Makefile"]),
        ("**/src", vec!["a/src/x", "src/deep/src/x", "src/x", "z/src/x"]),
        ("s?c", vec!["a/src/x", "src/deep/src/x", "src/x", "z/src/x"]),
    ] {
        assert_eq!(found(glob), files, "{glob}");
        assert_eq!(listed(json!({ "pattern": glob })), files, "{glob}");
    }
    assert_eq!(listed(json!({ "pattern": "src", "directory": "a" })), ["a/src/x"]);
}
