//! What a repository could make git do: attributes that hide, and settings that start programs.

use serde_json::Value;

use crate::support::{Program, TestRepo};

const DEFECT: &str = "def add(item, items=[]):\n    items.append(item)\n    return items\n";

fn reviewed(review: &Value) -> Vec<String> {
    let files = review["coverage"]["files"].as_array().expect("files").iter();
    files.map(|file| format!("{} {}", file["path"].as_str().unwrap(), file["state"].as_str().unwrap())).collect()
}

#[test]
fn the_change_cannot_hide_its_files_by_attributes() {
    for attributes in
        ["*.py binary", "*.py -diff", "*.py linguist-generated", "*.py linguist-vendored=true", "*.py diff=evil"]
    {
        let repo = TestRepo::new();
        repo.write("README", "read me\n").commit("begin");
        repo.branch("feature").write(".gitattributes", format!("{attributes}\n")).write("a.py", DEFECT);
        // The same where the checkout and the repository itself say it.
        repo.write(".git/info/attributes", format!("{attributes}\n"));
        repo.commit("hide");
        let program = Program::in_folder(repo.root());
        for line in ["--target main", "--commit HEAD", "--range main..HEAD"] {
            let (code, review) = program.review(line);
            assert_eq!(code, 0, "{attributes}");
            assert_eq!(reviewed(&review), [".gitattributes text_only", "a.py checked"], "{attributes} {line}");
            assert_eq!(review["summary"]["total"], 1, "{attributes} {line}: {review:#}");
            assert_eq!(review["change"]["files"][1]["additions"], 3, "{attributes} {line}");
        }
        repo.write("b.py", format!("import x\n\n\n{DEFECT}"));
        let (_, review) = program.review("--uncommitted");
        let counts = &review["change"]["files"][0];
        assert_eq!((&counts["binary"], &counts["additions"]), (&Value::from(false), &Value::from(6)), "{attributes}");
    }
}

#[test]
fn the_target_says_what_is_generated() {
    let repo = TestRepo::new();
    repo.write(".gitattributes", "gen/** linguist-generated\nlib/** linguist-vendored\n").commit("begin");
    repo.branch("feature").write("gen/a.py", DEFECT).write("lib/b.py", DEFECT).write("app/c.py", DEFECT);
    // The head takes it back for its own files, which changes nothing.
    repo.write(".gitattributes", "app/** linguist-generated\n").commit("change");
    let program = Program::in_folder(repo.root());
    let (code, review) = program.review("--target main");
    assert_eq!(code, 0);
    let states = [".gitattributes text_only", "app/c.py checked", "gen/a.py skipped", "lib/b.py skipped"];
    let mut told = reviewed(&review);
    told.sort();
    assert_eq!(told, states);
    assert_eq!(review["outcome"], "complete", "generated files do not make it incomplete");
    let reasons: Vec<&str> =
        review["coverage"]["files"].as_array().unwrap().iter().filter_map(|file| file["reason"].as_str()).collect();
    assert_eq!(
        reasons,
        ["no rules for files of this kind", "generated (linguist-generated)", "vendored (linguist-vendored)"]
    );
}

#[cfg(unix)]
#[test]
fn no_program_of_the_repository_is_started() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = TestRepo::new();
    let trace = repo.beside("started");
    let evil = repo.beside("evil.sh");
    std::fs::write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trace.display())).expect("a script");
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let ours = evil.display().to_string();
    let attributes = "*.py diff=evil filter=evil text eol=crlf ident merge=evil\n";
    repo.write(".gitattributes", attributes).write("a.py", "x = 1\n").commit("begin");
    repo.branch("feature").write("a.py", format!("x = 1\n{DEFECT}")).write("b.py", DEFECT).commit("change");
    for (key, value) in [
        ("diff.evil.textconv", ours.as_str()),
        ("diff.evil.command", &ours),
        ("diff.external", &ours),
        ("filter.evil.clean", &ours),
        ("filter.evil.smudge", &ours),
        ("filter.evil.process", &ours),
        ("filter.evil.required", "true"),
        ("merge.evil.driver", &ours),
        ("core.fsmonitor", &ours),
        ("core.hooksPath", repo.beside("hooks").to_str().expect("UTF-8")),
        ("core.pager", &ours),
        ("core.sshCommand", &ours),
        ("core.askPass", &ours),
        ("core.editor", &ours),
        ("credential.helper", &ours),
        ("uploadpack.packObjectsHook", &ours),
        ("gpg.program", &ours),
        ("alias.diff", &format!("!{ours}")),
    ] {
        repo.git(["config", key, value]);
    }
    std::fs::create_dir(repo.beside("hooks")).expect("a folder");
    for hook in ["post-checkout", "post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"] {
        std::fs::copy(&evil, repo.beside("hooks").join(hook)).expect("a hook");
    }
    repo.write("c.py", DEFECT).write("a.py", "y = 2\n");

    let program = Program::in_folder(repo.root());
    for line in ["--target main", "--commit HEAD", "--range main..HEAD", "--staged", "--uncommitted"] {
        let ran = program.words(line).ended(0);
        assert!(!trace.exists(), "{line} started {}\n{}", std::fs::read_to_string(&trace).unwrap(), ran.stderr);
    }
    for line in ["--at HEAD", "--target main", "--uncommitted", "--staged"] {
        let pattern = serde_json::json!({ "pattern": "items" });
        program.tool("search_in_files", &pattern, line);
        program.tool("list_files", &serde_json::json!({}), line);
        program.tool("read_diff", &serde_json::json!({ "file_path": "a.py" }), line);
        program.tool("read_file_part", &serde_json::json!({ "file_path": "a.py" }), line);
        assert!(!trace.exists(), "{line} started {}", std::fs::read_to_string(&trace).unwrap());
    }
    // The trap works: git itself falls into it.
    let _ = crate::support::git_command(repo.root()).args(["diff", "main", "HEAD"]).output();
    assert!(trace.exists(), "the trap is not set");
}
