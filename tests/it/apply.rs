//! `review apply`: a proven suggestion reaches the disk only where it belongs, and changes nothing else there.

use serde_json::Value;

use crate::support::{Program, Ran, TestRepo};

/// Two findings with a suggestion each, and one without.
const CODE: &str = "\
def first(name):
    if name is 'a':
        return 1
    return 2


def second(name):
    if name is not 'b':
        return 1
    return 2


def third(done):
    assert (done, 'not done')
";

/// A branch that adds `a.py`, reviewed; and the ids of its findings by the line where they are.
struct Reviewed {
    repo: TestRepo,
    program: Program,
    review: Value,
}

fn reviewed(code: impl AsRef<[u8]>) -> Reviewed {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", code).commit("change");
    let program = Program::in_folder(repo.root());
    let review = program.review("--target main --hints").1;
    Reviewed { repo, program, review }
}

impl Reviewed {
    /// The id of the finding at a line.
    fn at(&self, line: u32) -> String {
        let is = |one: &&Value| one["anchors"][0]["start_line"] == line;
        let found = self.review["findings"].as_array().expect("findings").iter().find(is);
        found.unwrap_or_else(|| panic!("{:#}", self.review))["id"].as_str().expect("an id").to_owned()
    }

    fn apply(&self, lines: &[u32], more: &[&str]) -> Ran {
        let ids: Vec<String> = lines.iter().map(|line| self.at(*line)).collect();
        self.program.run(["apply"].into_iter().chain(ids.iter().map(String::as_str)).chain(more.iter().copied()))
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.repo.root().join("a.py")).expect("the file")
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes()).expect("text")
    }

    /// Nothing is written and this is said.
    #[track_caller]
    fn refuses(&self, lines: &[u32], told: &str) {
        let before = self.bytes();
        let ran = self.apply(lines, &[]).ended(2);
        assert!(ran.stderr.contains("a.py was left as it is") && ran.stderr.contains(told), "{}", ran.stderr);
        assert_eq!(self.bytes(), before);
        let left = std::fs::read_dir(self.repo.root()).unwrap().count();
        assert!(left <= 4, "no temporary file is left");
    }
}

#[test]
fn a_suggestion_is_written_and_only_that() {
    let here = reviewed(CODE);
    let ran = here.apply(&[2], &[]).ended(0);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("review: replaced a.py:2 for "), "{}", ran.stderr);
    assert_eq!(here.text(), CODE.replace("name is 'a'", "name == 'a'"));
    here.refuses(&[2], "do not stand there any more");
}

#[test]
fn a_check_writes_nothing_and_prints_a_diff_that_git_takes() {
    let here = reviewed(CODE);
    let ran = here.apply(&[2, 8], &["--check"]).ended(0);
    assert_eq!(here.text(), CODE);
    assert!(ran.text().starts_with("--- a/a.py\n+++ b/a.py\n@@ -1,"), "{}", ran.text());
    assert!(
        ran.stderr.contains("would replace a.py:2") && ran.stderr.contains("would replace a.py:8"),
        "{}",
        ran.stderr
    );
    here.repo.write("../the.patch", &ran.stdout);
    here.repo.git(["apply", "../the.patch"]);
    let wanted = CODE.replace("name is 'a'", "name == 'a'").replace("name is not 'b'", "name != 'b'");
    assert_eq!(here.text(), wanted);
    here.repo.write("a.py", CODE);
    here.apply(&[8, 2, 8], &[]).ended(0);
    assert_eq!(here.text(), wanted, "all in one go, whatever the order");
}

#[test]
fn lines_that_moved_are_found_again() {
    let here = reviewed(CODE);
    let moved = format!("import os\n\n\n{}", CODE.replace("return 2\n\n\n", "return 2\n\n\nX = 1\n\n\n"));
    here.repo.write("a.py", &moved);
    let ran = here.apply(&[2, 8], &[]).ended(0);
    assert!(ran.stderr.contains("a.py:5 for") && ran.stderr.contains("a.py:14 for"), "{}", ran.stderr);
    assert_eq!(here.text(), moved.replace("name is 'a'", "name == 'a'").replace("name is not 'b'", "name != 'b'"));
}

#[test]
fn lines_that_changed_are_left_and_so_is_all_of_their_file() {
    let here = reviewed(CODE);
    for edited in [
        CODE.replace("name is 'a'", "name is 'aa'"),
        CODE.replace("    if name is 'a'", "        if name is 'a'"),
        CODE.replace("name is 'a':", "name is 'a':  # why"),
        CODE.replace("name is 'a':", "name is 'a': "),
    ] {
        here.repo.write("a.py", &edited);
        here.refuses(&[2], "do not stand there any more");
        here.refuses(&[2, 8], "do not stand there any more");
        here.apply(&[8], &["--check"]).ended(0);
    }
}

#[test]
fn of_equal_lines_the_reviewed_ones_are_meant_or_none() {
    let twice = "def first(name):\n    if name is 'a':\n        return 1\n\n\ndef other(name):\n    if name is 'a':\n        return 2\n";
    let here = reviewed(twice);
    here.apply(&[7], &["--check"]).ended(0);
    here.apply(&[7], &[]).ended(0);
    let once = "def first(name):\n    if name is 'a':\n        return 1\n\n\ndef other(name):\n    if name == 'a':\n        return 2\n";
    assert_eq!(here.text(), once);
    // The first one stands on the lines of the second now.
    here.repo.write("a.py", format!("A = 1\nB = 2\nC = 3\nD = 4\nE = 5\n{twice}"));
    here.refuses(&[7], "at several places");
}

#[test]
fn line_endings_charset_and_permissions_stay() {
    let crlf = CODE.replace('\n', "\r\n");
    let here = reviewed(&crlf);
    here.apply(&[2], &[]).ended(0);
    assert_eq!(here.text(), crlf.replace("name is 'a'", "name == 'a'"));

    let marked = format!("\u{feff}{CODE}").trim_end().to_owned();
    let here = reviewed(&marked);
    here.apply(&[8], &[]).ended(0);
    assert_eq!(here.text(), marked.replace("name is not 'b'", "name != 'b'"));

    let mut latin = b"# -*- coding: latin-1 -*-\n# caf\xe9 au lait, d\xe9j\xe0 vu, na\xefve\n".to_vec();
    latin.extend(CODE.as_bytes());
    let here = reviewed(&latin);
    here.apply(&[4], &[]).ended(0);
    let text = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    assert_eq!(text(&here.bytes()), text(&latin).replace("name is 'a'", "name == 'a'"));
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let here = reviewed(CODE);
    let path = here.repo.root().join("a.py");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    here.apply(&[2], &[]).ended(0);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);

    let outside = here.repo.beside("outside.py");
    std::fs::write(&outside, CODE).unwrap();
    std::fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    here.refuses(&[2], "not a plain file");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), CODE);
    assert!(path.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn what_is_gone_or_no_text_is_left() {
    let here = reviewed(CODE);
    here.repo.write("a.py", [CODE.as_bytes(), b"\0"].concat());
    here.refuses(&[2], "not text");
    here.repo.remove("a.py");
    let ran = here.apply(&[2], &[]).ended(2);
    assert!(ran.stderr.contains("there is no such file here"), "{}", ran.stderr);
    here.repo.write("a.py/b", "x");
    assert!(here.apply(&[2], &[]).ended(2).stderr.contains("not a plain file"));
}

#[test]
fn a_head_that_is_gone_is_no_hindrance() {
    let here = reviewed(CODE);
    // The commit that was reviewed is on no branch any more, and its objects are removed.
    here.repo.git(["checkout", "-q", "main"]);
    here.repo.git(["branch", "-D", "feature"]);
    here.repo.git(["reflog", "expire", "--expire=now", "--all"]);
    here.repo.git(["gc", "-q", "--prune=now"]);
    here.repo.write("a.py", CODE);
    here.apply(&[2], &[]).ended(0);
    assert_eq!(here.text(), CODE.replace("name is 'a'", "name == 'a'"));
}

#[test]
fn what_has_no_suggestion_names_those_that_have_one() {
    let here = reviewed(CODE);
    let ran = here.apply(&[14], &[]).ended(2);
    let told = [here.at(2), here.at(8), "has no suggestion that was proven".to_owned()];
    assert!(told.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    assert!(here.program.run(["apply", "zzz"]).ended(2).stderr.contains("has no finding \"zzz\""));
    assert!(here.program.run(["apply"]).ended(2).stderr.contains("ID"));
    assert_eq!(here.text(), CODE);
    let bare = here.repo.beside("bare.git");
    here.repo.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let ran = Program::in_folder(&bare).run(["apply", "zzz"]).ended(2);
    assert!(ran.stderr.contains("no checkout"), "{}", ran.stderr);
}

#[test]
fn files_are_independent_of_each_other() {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", CODE).write("b.py", CODE).commit("change");
    let program = Program::in_folder(repo.root());
    let review = program.review("--target main --hints").1;
    let with = review["findings"].as_array().unwrap().iter().filter(|one| !one["suggestion"].is_null());
    let ids: Vec<&str> = with.map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4);
    repo.write("a.py", CODE.replace("name is 'a'", "name in 'a'"));
    let ran = program.run(["apply"].into_iter().chain(ids)).ended(2);
    assert!(ran.stderr.contains("a.py was left as it is") && ran.stderr.contains("replaced b.py:2"), "{}", ran.stderr);
    let text = |name: &str| std::fs::read_to_string(repo.root().join(name)).unwrap();
    assert_eq!(text("a.py"), CODE.replace("name is 'a'", "name in 'a'"));
    assert_eq!(text("b.py"), CODE.replace("name is 'a'", "name == 'a'").replace("name is not 'b'", "name != 'b'"));
}

#[test]
fn what_no_output_shows_is_not_written() {
    let here = reviewed(CODE);
    let file = here.program.kept().remove(0).join("review.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    for hidden in ["\\u202e", "\\u200b", "\\u001b", "\\r"] {
        std::fs::write(&file, kept.replace("if name == 'a'", &format!("if name == {hidden}'a'"))).unwrap();
        here.refuses(&[2], "characters that nobody sees");
    }
    std::fs::write(&file, kept).unwrap();
    here.apply(&[2], &[]).ended(0);
}
