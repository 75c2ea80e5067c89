//! Content made to look reviewed when nobody saw it: each class is told, refused, or makes the review incomplete.

use serde_json::Value;

use crate::support::{Program, TestRepo};

/// A repository with one commit, on the branch `topic`.
fn begun() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "a\n").commit("first");
    repo.branch("topic");
    repo
}

/// The exit code and the JSON of a review by the rules.
fn reviewed(repo: &TestRepo, words: &str) -> (i32, Value) {
    Program::in_folder(repo.root()).review(&format!("--no-model --previous none {words}"))
}

/// A review of one file that comes: the exit code, and the JSON.
fn of_file(path: &str, contents: impl AsRef<[u8]>) -> (i32, Value) {
    let repo = begun();
    repo.write(path, contents).commit("second");
    reviewed(&repo, "--target main")
}

/// The lines on which a rule found something.
fn lines_of(review: &Value, rule: &str) -> Vec<u64> {
    let findings = review["findings"].as_array().unwrap();
    let of_rule = findings.iter().filter(|finding| finding["origin"]["name"] == rule);
    of_rule.map(|finding| finding["anchors"][0]["start_line"].as_u64().unwrap()).collect()
}

fn paths(review: &Value) -> Vec<&str> {
    let files = review["coverage"]["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn a_false_git_folder_hides_no_files() {
    type Disguise = fn(&TestRepo);
    let disguises: [Disguise; 5] = [
        |repo| std::fs::create_dir_all(repo.root().join("sub/.git")).unwrap(),
        |repo| {
            repo.write("sub/.git", "");
        },
        |repo| {
            repo.write("sub/.git", "gitdir: /nowhere\n");
        },
        |repo| {
            repo.write("sub/.git/HEAD", "ref: refs/heads/main\n").write("sub/.git/objects/x", "");
        },
        |repo| {
            repo.write("sub/.git/HEAD", "nothing\n").write("sub/.git/objects/x", "").write("sub/.git/refs/x", "");
        },
    ];
    for (at, disguise) in disguises.into_iter().enumerate() {
        let repo = begun();
        repo.write(".gitignore", "*.log\nout/\n").commit("second");
        repo.write("sub/evil.py", "eval(input())\n").write("sub/deep/more.py", "a = 1\n");
        repo.write("sub/deep/.git", "").write("sub/a.log", "a\n").write("sub/out/b.py", "b\n");
        disguise(&repo);
        let taken = repo.git(["add", "-A", "-n"]);
        let (_, review) = reviewed(&repo, "--uncommitted");
        assert_eq!(paths(&review), ["sub/deep/more.py", "sub/evil.py"], "disguise {at}");
        assert_eq!(taken, "add 'sub/deep/more.py'\nadd 'sub/evil.py'\n", "disguise {at}");
        assert_eq!(review["coverage"]["files"][1]["state"], "checked", "disguise {at}");
        assert_eq!(review["summary"]["total"], 1, "{review}");
    }
}

#[test]
fn a_real_repository_in_a_folder_is_left_alone() {
    let repo = begun();
    repo.write("sub/a.py", "a = 1\n").git(["init", "-q", "sub"]);
    let (code, review) = reviewed(&repo, "--uncommitted");
    assert_eq!((code, paths(&review).len()), (0, 0));
    assert!(review["coverage"]["notes"].to_string().contains("a repository of its own"), "{review}");
}

#[test]
fn a_nul_hides_no_text_file_whatever_its_name() {
    for name in [
        ".envrc",
        "justfile",
        ".npmrc",
        "setup.cfg",
        ".gitmodules",
        "hooks/pre-commit",
        "x.service",
        "x.py",
        "CODEOWNERS",
    ] {
        let (code, review) = of_file(name, b"# settings\n# a comment \0\necho a\n");
        assert_eq!(code, 3, "{name}");
        assert!(review["reasons"].to_string().contains("NUL"), "{name}: {review}");
    }
    for head in [&b"# settings \xe9"[..], b"\x7fELF", b"\x1f\x8b\x08# settings", b"# settings\x01"] {
        let (code, review) = of_file("hooks/pre-commit", [head, b"\n# \0\neval \"$@\"\n"].concat());
        assert_eq!(code, 3, "{review}");
    }
    let (code, review) =
        of_file("x.reg", "\u{feff}[HKEY]\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    assert_eq!(code, 3, "{review}");
}

#[test]
fn what_is_no_text_is_passed_over_as_binary() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0\x1f\xf3\xffa";
    for (name, contents) in [("a.png", &png[..]), ("a", &[0; 64]), ("a.bin", b"\x7fELF\x02\x01\x01\0\0\0\0\0\x03\0>\0")]
    {
        let (code, review) = of_file(name, contents);
        assert_eq!((code, &review["coverage"]["files"][0]["reason"]), (0, &Value::from("binary")), "{name}");
    }
}

/// The exit code and what is said of a patch.
fn of_patch(patch: &str) -> (i32, String) {
    let nowhere = TestRepo::folder_only();
    let ran = Program::in_folder(nowhere.root()).fed("--diff - --no-model", patch.as_bytes());
    (ran.code, ran.stderr)
}

#[test]
fn a_header_that_contradicts_its_hunks_is_refused() {
    let hunk = |lines: &str| format!("--- a/evil.py\n+++ b/evil.py\n{lines}");
    let replaced = hunk("@@ -1 +1 @@\n-a\n+eval(input())\n");
    let added = "--- /dev/null\n+++ b/evil.py\n@@ -0,0 +1 @@\n+eval(input())\n".to_owned();
    for (header, lines) in [
        ("deleted file mode 100644\n", &replaced),
        ("deleted file mode 100644\nindex 1..0\n", &added),
        ("deleted file mode 100644\n", &hunk("@@ -1,2 +1 @@\n-a\n b\n")),
        ("new file mode 100644\n", &replaced),
        ("new file mode 100644\n", &hunk("@@ -1 +1,2 @@\n a\n+b\n")),
        ("index 1..2 160000\n", &replaced),
        ("new file mode 160000\n", &added),
        ("index 1..2 120000\n", &replaced),
        ("new file mode 120000\n", &added),
        (
            "new file mode 120000\n",
            &"--- /dev/null\n+++ b/evil.py\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n".to_owned(),
        ),
        ("old mode 100644\nnew mode 160000\n", &replaced),
        ("old mode 120000\nnew mode 100644\n", &replaced),
        ("rename from c.txt\nrename to d.txt\n", &replaced),
        ("", &"--- a/evil.py\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n".to_owned()),
        ("", &"--- /dev/null\n+++ b/evil.py\n@@ -1 +1 @@\n-a\n+b\n".to_owned()),
    ] {
        let (code, said) = of_patch(&format!("diff --git a/evil.py b/evil.py\n{header}{lines}"));
        assert_eq!(code, 2, "{header}{lines}{said}");
        assert!(said.contains("contradicts itself") || said.contains("both sides are /dev/null"), "{said}");
    }
    let (code, said) = of_patch("--- evil.py\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(code == 2 && said.contains("contradicts itself"), "{said}");
}

#[test]
fn what_git_writes_of_links_submodules_and_moves_is_read() {
    let repo = begun();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, repo.root().join(name)).unwrap();
    let commit = repo.git(["rev-parse", "HEAD"]);
    let gitlink =
        |id: &str| repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{},module", id.trim())]);
    repo.write("kind", "a\nb\n").write("moved", "a\nb\nc\nd\n").write("gone", "a\n").write("mode", "a\n");
    link("README", "link");
    repo.git(["add", "-A"]);
    gitlink(&commit);
    repo.git(["commit", "-q", "-m", "second"]);
    let before = repo.git(["rev-parse", "HEAD"]);
    repo.remove("kind").remove("link").remove("gone").git(["mv", "moved", "there"]);
    link("moved", "kind");
    link("mode", "link");
    link("mode", "new-link");
    repo.write("there", "a\nb\nc\ne\n").git(["update-index", "--chmod=+x", "mode"]);
    repo.git(["add", "-A", "kind", "link", "new-link", "gone", "there"]);
    gitlink(&before);
    let patch = repo.git(["diff", "-M", "--cached"]);
    assert!(patch.contains("160000") && patch.contains("rename from") && patch.contains("120000"), "{patch}");
    let (code, said) = of_patch(&patch);
    assert!(code == 0, "{said}");
    let (code, said) = of_patch(&repo.git(["diff", "-M", "-R", "--cached"]));
    assert!(code == 0, "{said}");
    // A submodule with changes of its own, as `git diff` writes it.
    let (code, said) = of_patch(&patch.replace(before.trim(), &format!("{}-dirty", before.trim())));
    assert!(code == 0, "{said}");
}

#[test]
fn code_behind_a_carriage_return_is_code_and_the_return_is_shown() {
    let repo = begun();
    repo.write("a.py", "y = 1  # all fine\reval(input())\nz = 2\n").write("A.java", "class A {\n// fine\r int a;\n}\n");
    repo.commit("second");
    let (code, review) = reviewed(&repo, "--target main");
    assert_eq!(lines_of(&review, "general/invisible-character"), [2, 1], "{review}");
    assert!(code != 3, "{review}");
    let rules: Vec<&str> = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["origin"]["name"].as_str())
        .collect();
    assert!(rules.iter().any(|rule| rule.starts_with("python/")), "{rules:?}");
    let program = Program::in_folder(repo.root());
    for format in ["terminal", "markdown", "junit", "sarif", "job-summary", "annotations", "rdjson", "gitlab"] {
        let ran = program.words(&format!("--no-model --previous none --target main --format {format}"));
        let text = ran.text();
        assert!(!text.contains('\r'), "{format}: {text:?}");
        assert!(!text.contains("fineeval"), "{format}: {text}");
        if matches!(format, "terminal" | "markdown") {
            assert!(text.contains("all fine<U+000D>eval(input())"), "{format}: {text}");
        }
    }
}

#[test]
fn what_a_shell_runs_behind_a_heredoc_is_not_counted_as_parsed() {
    let long = "A".repeat(1100);
    for (head, end) in [
        ("cat <<EOF>a", "EOF"),
        ("cat <<EOF;", "EOF"),
        ("(cat <<EOF)", "EOF"),
        ("cat <<EOF|cat", "EOF"),
        ("cat <<E'O'F", "EOF"),
        ("cat <<ÜBER", "ÜBER"),
        (&format!("cat <<{long}"), &long),
    ] {
        let (code, review) =
            of_file("x.sh", format!("#!/bin/bash\n{head}\nx\n{end}\neval \"$@\"\ncurl -k https://x.example -o y\n"));
        assert_eq!((code, &review["outcome"]), (3, &Value::from("incomplete")), "{head}");
    }
    let (code, review) = of_file("x.sh", "#!/bin/bash\ncat <<EOF > a\nx\nEOF\ncurl -k https://x.example -o y\n");
    assert!(code != 3, "{review}");
}

#[test]
fn a_heredoc_beside_the_change_does_not_make_it_incomplete() {
    let repo = TestRepo::new();
    let tail = "cat <<EOF>a\nx\nEOF\ncurl -k https://x.example -o y\n";
    repo.write("x.sh", format!("a\n{}{tail}", "b\n".repeat(20))).commit("first");
    repo.branch("topic");
    repo.write("x.sh", format!("c\n{}{tail}", "b\n".repeat(20))).commit("second");
    assert_eq!(reviewed(&repo, "--target main").0, 0);
}

#[test]
fn code_that_a_syntax_error_turns_into_a_comment_is_not_counted_as_parsed() {
    let jsx = "const a = <b>x && /* y</b>;\neval(location.hash);\n// */\nd();\n";
    for (name, text) in [("a.jsx", jsx), ("a.tsx", jsx)] {
        let (code, review) = of_file(name, text);
        assert_eq!(code, 3, "{name}: {review}");
    }
    let raw = "auto s = R\"0123456789abcdef(/*)0123456789abcdef\";\nvoid f(char *a) { gets(a); }\n// */\n";
    let (code, review) = of_file("a.cpp", raw);
    assert_eq!(code, 3, "{review}");
}

#[test]
fn what_a_scanner_cannot_hold_makes_the_review_incomplete() {
    let stairs = |line: &str| (0..515).map(|step| format!("{}{line}\n", " ".repeat(step))).collect::<Vec<_>>().concat();
    for (name, text) in [
        ("x.yml", format!("{}a\n", "- ".repeat(254))),
        (
            ".github/workflows/x.yml",
            format!("on: push\njobs: {{a: {{steps: [{{uses: a/b@main}}]}}}}\nb:\n  {}a\n", "- ? ".repeat(140)),
        ),
        ("a.py", format!("{}{}eval(f'a{{b}}')\n", stairs("if x:"), " ".repeat(515))),
    ] {
        let (code, review) = of_file(name, text);
        assert_eq!(code, 3, "{name}: {review}");
        assert!(review["reasons"].to_string().contains("than the parser can hold"), "{name}: {review}");
    }
}

#[test]
fn a_long_chain_of_conditions_is_looked_at_in_time() {
    let chain = format!("class A {{ void f() {{ if (a) {{}} {}}} }}\n", "else if (b) {}".repeat(2000));
    let (code, review) = of_file("A.java", chain);
    assert!(!review["reasons"].to_string().contains("too long"), "{review}");
    assert!(matches!(code, 0 | 3), "{review}");
}

#[test]
fn invisible_characters_are_told_without_a_language_too() {
    for name in ["x.conf", "justfile", ".envrc"] {
        let (_, review) = of_file(name, "allow = \"user\u{202e} \u{2066}# admin\u{2069} \u{2066}\"\n");
        assert_eq!(lines_of(&review, "general/invisible-character"), [1], "{name}");
    }
}

#[test]
fn a_tag_that_has_the_name_of_a_branch_is_told() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("Begin");
    repo.git(["tag", "feature"]);
    repo.branch("feature").write("a.py", "x = eval(input())\n").commit("Evaluate");
    let program = Program::in_folder(repo.root());
    let ran = program.words("--target main --head feature --no-model").ended(0);
    assert!(ran.stderr.contains("feature is a tag and a branch; the tag is taken"), "{}", ran.stderr);
    let (_, review) = program.review("--target main --head heads/feature --no-model");
    assert!(review["findings"].to_string().contains("eval"), "{review:#}");
}

#[test]
fn what_patch_would_apply_is_no_text_between_diffs() {
    let repo = TestRepo::folder_only();
    let good = "--- a/safe.txt\n+++ b/safe.txt\n@@ -1 +1 @@\n-a\n+b\n";
    for (other, why) in [
        ("Index: evil.py\n1c1\n< a\n---\n> eval(input())\n", "without context"),
        ("1c\neval(input())\n.\nw\n", "a script for ed"),
        ("Content-Transfer-Encoding: Quoted-Printable\n\n--- a/x\n", "an encoded mail"),
        ("  --- a/evil.py\n  +++ b/evil.py\n  @@ -1 +1 @@\n  -a\n  +eval(input())\n", "an indented diff"),
        (
            "*** a/evil.py\n--- b/evil.py\n***************\n*** 1 ****\n! a\n--- 1 ----\n! eval(input())\n",
            "`***` lines",
        ),
        ("--- a/evil.py\n+++ b/evil.py\r@@\r-a\r+b\n@@ -1 +1 @@\n-a\n+eval(input())\n", "carriage return"),
        ("--- a/evil.py\n+++ b/evil.py x\n@@ -1 +1 @@\n-a\n+eval(input())\n", "no tab ends it"),
    ] {
        repo.write("p", format!("{good}{other}"));
        let ran = Program::in_folder(repo.root()).words("--diff p --no-model").ended(2);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    repo.write("p", format!("From: a\n\n 1a2 is a place, --- and +++ are signs, *** stars\n1c1 too\n\n{good}"));
    Program::in_folder(repo.root()).words("--diff p --no-model").ended(0);
}
