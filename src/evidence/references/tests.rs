//! Tests of references against a small tree in memory.

use super::*;
use crate::document::references;
use crate::workspace::memory::MemoryTree;

fn tree() -> MemoryTree {
    let mut tree = MemoryTree::default();
    let mut put = |path: &str, text: &str| tree.insert(RepoPath::parse(path).unwrap(), text);
    put("src/auth.ts", "import x\n\nexport function validateUser(name) {\n  return true\n}\n");
    put("web/src/login.ts", "login()\n");
    put("web/README.md", "# Web\n");
    put("empty.txt", "");
    put("\"src/b\\377.py\"", "import x\n\ndef load_state(path):\n    pass\n");
    put("tests/helloworld/hello.py", "");
    put("my docs/a b.md", "one\ntwo\n");
    tree
}

fn checked(markdown: &str, folder: &str) -> Vec<CheckedRef> {
    let base = ReferenceBase { folder: folder.as_bytes(), root: Some(Path::new("/w/app")) };
    check(references(markdown), base, &tree(), &Cancel::never()).unwrap()
}

fn stands(markdown: &str) -> String {
    let checked = checked(markdown, "");
    let place = checked[0].found.as_ref().unwrap_or_else(|broken| panic!("{markdown}: {broken:?}"));
    let lines = place.lines.map(|lines| format!(":{}-{}", lines.start(), lines.end())).unwrap_or_default();
    format!("{}{lines} {}", place.path, place.preview.as_deref().unwrap_or("")).trim_end().to_owned()
}

fn broken(markdown: &str) -> (String, Vec<String>) {
    let checked = checked(markdown, "");
    let broken = checked[0].found.as_ref().expect_err(markdown);
    (broken.why.clone(), broken.near.clone())
}

#[test]
fn references_that_stand_have_a_place_and_a_preview() {
    for (markdown, place) in [
        ("[x](src/auth.ts)", "src/auth.ts"),
        ("[x](src/auth.ts#L3-L5)", "src/auth.ts:3-5 export function validateUser(name) {"),
        ("[x](src/auth.ts?function validateUser)", "src/auth.ts:3-3 export function validateUser(name) {"),
        ("[x](src/auth.ts?return#L3-L5)", "src/auth.ts:4-4 return true"),
        ("[x](dialectic:src/auth.ts?line=2&regex=return)", "src/auth.ts:4-4 return true"),
        ("[`src/auth.ts:4`][]", "src/auth.ts:4-4 return true"),
        ("[x](my%20docs/a%20b.md#L2)", "my docs/a b.md:2-2 two"),
        ("[x](/w/app/src/auth.ts#L1)", "src/auth.ts:1-1 import x"),
        ("[x](file:///w/app/src/auth.ts)", "src/auth.ts"),
        ("[x](web/../src/./auth.ts#L2)", "src/auth.ts:2-2"),
        ("[x](src/auth.ts#4)", "src/auth.ts:4-4 return true"),
        ("[x](\"src/b\\377.py\"#L3)", "\"src/b\\377.py\":3-3 def load_state(path):"),
        ("[x](\"src/b\\377.py\"?def load)", "\"src/b\\377.py\":3-3 def load_state(path):"),
        ("\"src/b\\377.py\":3", "\"src/b\\377.py\":3-3 def load_state(path):"),
        ("[x](src/b%ff.py)", "\"src/b\\377.py\""),
        ("[x](file:///w/app/src/b%ff.py#L1)", "\"src/b\\377.py\":1-1 import x"),
    ] {
        assert_eq!(stands(markdown), place, "{markdown}");
    }
}

#[test]
fn broken_references_say_why_and_what_may_have_been_meant() {
    for (markdown, why, near) in [
        ("src/auht.ts:3", "there is no file src/auht.ts", vec!["src/auth.ts:3"]),
        ("auth.ts:400", "there is no file auth.ts", vec!["src/auth.ts"]),
        ("src/auth.ts:400", "src/auth.ts has 5 lines, so there is no line 400", vec!["src/auth.ts"]),
        ("src/auth.ts:4-9", "src/auth.ts has 5 lines, so there are no lines 4-9", vec!["src/auth.ts:4-5"]),
        ("[x](empty.txt#L1)", "empty.txt is empty", vec!["empty.txt"]),
        (
            "[x](src/auth.ts?validateUser\\(id)",
            "src/auth.ts: the pattern \"validateUser\\\\(id\" is not found",
            vec!["src/auth.ts:3"],
        ),
        ("[x](../../src/auth.ts#L2)", "the path leaves the reviewed tree (`..`)", vec!["src/auth.ts:2"]),
        (
            "[x](/elsewhere/src/auth.ts)",
            "absolute paths outside of the repository are refused; give one relative to baseUri",
            vec!["src/auth.ts"],
        ),
        (
            "[x](src/auth.ts?function validteUser)",
            "src/auth.ts: the pattern \"function validteUser\" is not found",
            vec!["src/auth.ts:3"],
        ),
        (
            "[x](\"src/b\\377.py\"?def load_stte)",
            "\"src/b\\377.py\": the pattern \"def load_stte\" is not found",
            vec!["\"src/b\\377.py\":3"],
        ),
        ("[x](\"b\\377.py\"#L2)", "there is no file \"b\\377.py\"", vec!["\"src/b\\377.py\":2"]),
        ("[x](src/helpers.py)", "there is no file src/helpers.py", vec![]),
        ("[x](.git/config)", "git's own folder is not part of the reviewed tree", vec![]),
        ("[x](src\\auth.ts)", "the path has backslashes; write / between folders", vec![]),
        ("[x](src/auth.ts#L5-L3)", "lines 5-3 are not a range: lines count from 1 and the end is included", vec![]),
    ] {
        let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
        assert_eq!(broken(markdown), (why.to_owned(), near), "{markdown}");
    }
}

#[test]
fn a_path_is_looked_for_from_the_base_then_from_the_root() {
    let checked = checked(
        "[a](src/login.ts) [b](src/auth.ts) [c](../src/auth.ts) [d](/w/app/web/README.md) [e](README.rst)",
        "web",
    );
    let written: Vec<&str> = checked.iter().map(|reference| reference.to.path.as_str()).collect();
    assert_eq!(written, ["src/login.ts", "../src/auth.ts", "../src/auth.ts", "README.md", "README.rst"]);
    assert!(checked[..4].iter().all(|reference| reference.found.is_ok()));
    assert_eq!(checked[4].found.as_ref().unwrap_err().near, ["README.md"]);
}

#[test]
fn a_document_of_references_is_checked_as_far_as_it_is_sensible() {
    let many = "src/auth.ts:1 nowhere.ts:1 ".repeat(MOST_REFERENCES);
    let checked = checked(&many, "");
    assert_eq!(checked.len(), 2 * MOST_REFERENCES);
    assert!(checked[MOST_REFERENCES - 2].found.is_ok());
    assert!(checked[MOST_REFERENCES].found.as_ref().unwrap_err().why.starts_with("not checked"));
}

#[test]
fn a_check_can_be_stopped() {
    let cancel = Cancel::never();
    cancel.interrupt();
    let base: &[u8] = b"";
    assert_eq!(check(references("a.rs:1"), base, &tree(), &cancel), Err(CancelReason::Interrupted));
}

#[test]
fn a_preview_is_one_clean_line() {
    assert_eq!(preview("  \t"), None);
    assert_eq!(preview("\u{1b}[31m x\u{202e}"), Some(" x<U+202E>".to_owned()));
    assert_eq!(preview(&"é".repeat(101)), Some(format!("{}…", "é".repeat(100))));
}
