//! Repositories and kept files made to take all memory or never to end: each takes a bounded part, and the receipt counts what was left out.

use std::path::Path;

use git2::ObjectType;
use serde_json::{Value, json};

use crate::support::{Limits, Program, Ran, TestRepo, pipe};

/// Memory in which the debug program itself and a bounded part of anything have room.
const BOUNDED: Limits = Limits { megabytes: 450, ..Limits::USUAL };

fn binary(id: &str) -> Vec<u8> {
    id.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// A tree object with these entries as they stand.
fn tree(repo: &TestRepo, entries: &[(&str, &str, &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(format!("{mode} {name}\0").bytes());
        bytes.extend(binary(id));
    }
    repo.object(ObjectType::Tree, &bytes)
}

/// Folders that hold the same two folders, so many levels deep.
fn doubled(repo: &TestRepo, mut inner: String, levels: usize, names: [&str; 2]) -> String {
    for _ in 0..levels {
        inner = tree(repo, &[("40000", names[0], &inner), ("40000", names[1], &inner)]);
    }
    inner
}

fn commit(repo: &TestRepo, name: &str, tree: &str, parent: Option<&str>) -> String {
    let mut words = vec!["commit-tree", tree, "-m", "hostile"];
    words.extend(parent.iter().flat_map(|parent| ["-p", *parent]));
    let id = repo.git(words).trim().to_owned();
    repo.git(["update-ref", &format!("refs/heads/{name}"), &id]);
    id
}

fn tool(program: &Program, name: &str, input: &Value, at: &str) -> (i32, Value) {
    let ran = program.confined(["tool", name, &input.to_string(), "--at", at], BOUNDED);
    (ran.code, ran.json())
}

/// The notes and reasons of a review in JSON, as one text.
fn told(ran: &Ran) -> String {
    let review = ran.json();
    format!("{} {}", review["coverage"]["notes"], review["reasons"])
}

/// `main` with a function, and `topic` without it and with a folder; names of the two commits are those of the branches.
fn with_folder(folder: &str, repo: &TestRepo) {
    let before =
        repo.object(ObjectType::Blob, b"def helper_function_one(a):\n    return a\n\ndef f():\n    return 1\n");
    let after = repo.object(ObjectType::Blob, b"def f():\n    return 1\n");
    let whole = |blob: &str| tree(repo, &[("100644", "a.py", blob), ("40000", "z", folder)]);
    let main = commit(repo, "main", &whole(&before), None);
    commit(repo, "topic", &whole(&after), Some(&main));
}

#[test]
fn a_path_that_no_checkout_could_hold_is_left_out() {
    let repo = TestRepo::new();
    let blob = repo.object(ObjectType::Blob, b"eval(input())\n");
    let mut folder = tree(&repo, &[("100644", "evil.py", &blob)]);
    for _ in 0..400 {
        folder = tree(&repo, &[("40000", &"d".repeat(4_000), &folder)]);
    }
    let main = commit(&repo, "main", &tree(&repo, &[("100644", "a.txt", &blob)]), None);
    commit(&repo, "topic", &tree(&repo, &[("100644", "a.txt", &blob), ("40000", "z", &folder)]), Some(&main));
    let ran =
        Program::in_folder(repo.root()).confined("--range main..topic --no-model --format json".split(' '), BOUNDED);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let told = told(&ran);
    assert!(told.contains("more than 32767 bytes"), "{}", &told[..told.len().min(2_000)]);
}

#[test]
fn a_tree_of_empty_folders_is_listed_to_its_end() {
    let repo = TestRepo::new();
    let empty = tree(&repo, &[]);
    with_folder(&doubled(&repo, empty.clone(), 60, ["a", "b"]), &repo);
    let program = Program::in_folder(repo.root());
    let (code, listed) = tool(&program, "list_files", &json!({}), "topic");
    assert_eq!((code, &listed["total"]), (0, &json!(1)), "{listed}");
    let (code, found) = tool(&program, "search_in_files", &json!({ "pattern": "return" }), "topic");
    assert_eq!((code, &found["total"]), (0, &json!(1)), "{found}");
    program.confined(["guidelines", "list", "--target", "topic"], BOUNDED).ended(0);
    let words = ["--target", "main", "--head", "topic", "--no-model", "--format", "json"];
    let ran = program.confined(words, BOUNDED);
    assert_eq!(ran.json()["outcome"], "complete", "{}", ran.text());
    // The same folders as the change itself.
    commit(&repo, "empty", &empty, None);
    let words = ["--range", "empty..topic", "--no-model", "--format", "json"];
    let ran = program.confined(words, BOUNDED);
    assert_eq!(ran.json()["change"]["files"].as_array().map(Vec::len), Some(1), "{}", ran.text());
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_paths_take_a_bounded_part_of_memory_and_lists_say_that_they_are_cut() {
    let repo = TestRepo::new();
    let blob = repo.object(ObjectType::Blob, b"x = 1\n");
    let inner = tree(&repo, &[("100644", "f.py", &blob), ("100644", "g.py", &blob)]);
    let names = ["a".repeat(200), "b".repeat(200)];
    with_folder(&doubled(&repo, inner, 19, [&names[0], &names[1]]), &repo);
    commit(&repo, "empty", &tree(&repo, &[]), None);
    let program = Program::in_folder(repo.root());
    let (_, missing) = tool(&program, "read_file_part", &json!({ "file_path": "nope.py" }), "topic");
    assert_eq!(missing["error"]["kind"], "file_not_found", "{missing}");
    let (code, listed) = tool(&program, "list_files", &json!({ "pattern": "a.py" }), "topic");
    assert_eq!(code, 0);
    assert!(listed.to_string().contains("This is not complete: only the first"), "{listed}");
    let (code, found) = tool(&program, "search_in_files", &json!({ "pattern": "def nothing" }), "topic");
    assert_eq!((code, &found["total"]), (0, &Value::Null), "{found}");
    assert!(found.to_string().contains("This is not complete: only the first"), "{found}");
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_a_change_of_too_many_paths_is_incomplete_and_says_how_many_are_listed() {
    let repo = TestRepo::new();
    let blob = repo.object(ObjectType::Blob, b"x\n");
    let inner = tree(&repo, &[("100644", "f", &blob), ("100644", "g", &blob)]);
    let names = ["a".repeat(1_000), "b".repeat(1_000)];
    with_folder(&doubled(&repo, inner, 13, [&names[0], &names[1]]), &repo);
    commit(&repo, "empty", &tree(&repo, &[]), None);
    let words = ["--range", "empty..topic", "--no-model", "--format", "json"];
    let ran = Program::in_folder(repo.root()).confined(words, BOUNDED);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(told(&ran).contains("changed files are listed"), "{}", told(&ran));
}

#[test]
fn omissions_beyond_a_number_are_counted() {
    let repo = TestRepo::new();
    let blob = repo.object(ObjectType::Blob, b"x\n");
    // Each name leads out of the tree.
    let inner = tree(&repo, &[("100644", "..", &blob)]);
    with_folder(&doubled(&repo, inner, 13, ["a", "b"]), &repo);
    commit(&repo, "empty", &tree(&repo, &[]), None);
    let words = ["--range", "empty..topic", "--no-model", "--format", "json"];
    let ran = Program::in_folder(repo.root()).confined(words, BOUNDED);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(told(&ran).contains("more places were left out"), "{}", ran.stderr);
    let notes = ran.json()["coverage"]["notes"].as_array().map_or(0, Vec::len);
    assert!((5_000..5_010).contains(&notes), "{notes}");
}

/// A zlib stream that holds its bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if bytes.is_empty() {
        out.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap();
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut low, mut high) = (1u32, 0u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    out.extend((high << 16 | low).to_be_bytes());
    out
}

/// An object of a pack: its id, its kind as a number, the id of its base for a delta, and its bytes.
struct Packed<'a>(&'a str, u8, Option<&'a str>, Vec<u8>);

/// Writes a pack with an index. Nothing in it is what its id says, which nobody checks on reading.
fn pack(repo: &TestRepo, objects: &[Packed<'_>]) {
    let mut data = b"PACK\0\0\0\x02".to_vec();
    data.extend(u32::try_from(objects.len()).unwrap().to_be_bytes());
    let mut entries = Vec::new();
    for Packed(id, kind, base, bytes) in objects {
        entries.push((binary(id), u32::try_from(data.len()).unwrap()));
        let (mut byte, mut size) = (kind << 4 | u8::try_from(bytes.len() & 15).unwrap(), bytes.len() >> 4);
        while size > 0 {
            data.push(byte | 0x80);
            (byte, size) = (u8::try_from(size & 0x7f).unwrap(), size >> 7);
        }
        data.push(byte);
        data.extend(base.map(binary).unwrap_or_default());
        data.extend(stored(bytes));
    }
    let checksum = [7u8; 20];
    data.extend(checksum);
    entries.sort();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=u8::MAX {
        let below = entries.iter().filter(|(id, _)| id[0] <= first).count();
        index.extend(u32::try_from(below).unwrap().to_be_bytes());
    }
    for (id, _) in &entries {
        index.extend(id);
    }
    index.resize(index.len() + 4 * entries.len(), 0);
    for (_, at) in &entries {
        index.extend(at.to_be_bytes());
    }
    index.extend(checksum);
    index.extend(checksum);
    let folder = repo.root().join(".git/objects/pack");
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("pack-{}", "7".repeat(40));
    std::fs::write(folder.join(format!("{name}.pack")), data).unwrap();
    std::fs::write(folder.join(format!("{name}.idx")), index).unwrap();
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

const A: &str = "aa00000000000000000000000000000000000001";
const B: &str = "bb00000000000000000000000000000000000002";
const C: &str = "cc00000000000000000000000000000000000003";

/// Reviews a commit that adds `x.py` with the blob `C`.
fn review_of_packed(objects: &[Packed<'_>]) -> Ran {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 1\n").commit("first");
    pack(&repo, objects);
    let whole = tree(&repo, &[("100644", "x.py", C)]);
    commit(&repo, "topic", &whole, Some("main"));
    let words = ["--range", "main..topic", "--no-model", "--format", "json"];
    Program::in_folder(repo.root()).confined(words, BOUNDED)
}

#[test]
fn a_small_file_that_is_made_from_a_large_one_is_not_read() {
    let base = b"x = 1\n".repeat(10_922);
    let (size, copies) = (base.len(), 4_000);
    // Copies all of the base (0x80: an offset of 0; 0x30: a size in two bytes), many times over.
    let all = [&[0xb0], &u16::try_from(size).unwrap().to_le_bytes()[..]].concat();
    let large = [varint(size), varint(size * copies), all.repeat(copies)].concat();
    let small = [varint(size * copies), varint(6), vec![0x90, 6]].concat();
    let ran = review_of_packed(&[Packed(A, 3, None, base), Packed(B, 7, Some(A), large), Packed(C, 7, Some(B), small)]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(told(&ran).contains("is too large to be read: it takes 249 MiB"), "{}", told(&ran));
}

#[test]
fn deltas_that_lead_nowhere_and_kinds_that_do_not_exist_are_damage() {
    let delta = || [varint(6), varint(6), vec![0x90, 6]].concat();
    let blob = || b"x = 1\n".to_vec();
    for objects in [
        vec![Packed(C, 7, Some(C), delta())],
        vec![Packed(C, 7, Some(B), delta()), Packed(B, 7, Some(C), delta())],
        vec![Packed(C, 7, Some(A), delta())],
        vec![Packed(C, 0, None, blob())],
        vec![Packed(C, 5, None, blob())],
        vec![Packed(C, 7, Some(B), delta()), Packed(B, 0, None, blob())],
    ] {
        let ran = review_of_packed(&objects);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(told(&ran).contains("is damaged; run `git fsck`"), "{}", told(&ran));
    }
}

#[test]
fn a_packed_file_is_read_through_its_deltas() {
    let delta = |size: usize| [varint(size), varint(6), vec![0x90, 6]].concat();
    let base = b"x = 1\ny = 2\n".to_vec();
    let ran = review_of_packed(&[
        Packed(A, 3, None, base),
        Packed(B, 7, Some(A), delta(12)),
        Packed(C, 7, Some(B), delta(6)),
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stderr, told(&ran));
    assert_eq!(ran.json()["change"]["files"][1]["additions"], 1);
}

#[test]
fn a_commit_of_many_megabytes_is_refused() {
    let repo = TestRepo::new();
    repo.write("a.py", "a = 1\n").commit("first");
    let whole = repo.git(["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    let person = "a <a@e.example> 1 +0000";
    let mut bytes = format!("tree {whole}\nauthor {person}\ncommitter {person}\n\n").into_bytes();
    bytes.resize(17 << 20, b'\n');
    let id = repo.object(ObjectType::Commit, &bytes);
    let ran = Program::in_folder(repo.root()).confined(["--commit", &id, "--no-model"], BOUNDED);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("is too large to be read"), "{}", ran.stderr);
}

fn only_run(program: &Program) -> std::path::PathBuf {
    program.kept().into_iter().next().expect("a kept run")
}

#[test]
fn files_of_a_kept_run_are_plain_and_bounded() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("first");
    repo.branch("topic").write("a.py", "eval(input())\n").commit("second");
    let program = Program::in_folder(repo.root());
    program.run(["--target", "main", "--no-model"]);
    let run = only_run(&program);
    let replace = |name: &str, with: &dyn Fn(&Path)| {
        let (path, kept) = (run.join(name), run.join("kept"));
        std::fs::rename(&path, &kept).unwrap();
        with(&path);
        for words in [&["show", "last"][..], &["replay", "last"], &["apply", "last"], &["resume", "last"], &["list"]] {
            let ran = program.confined(words.iter().copied(), BOUNDED);
            assert!(words[0] != "show" || ran.code != 0, "{name}: {}", ran.text());
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&kept, &path).unwrap();
    };
    for name in ["review.json", "run.json"] {
        replace(name, &|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap());
        replace(name, &pipe);
        replace(name, &|path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap());
    }
    program.confined(["show", "last"], BOUNDED);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_a_patch_takes_no_memory_for_lines_that_are_none_of_it() {
    let repo = TestRepo::folder_only();
    let mut patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
    patch.extend(b"\n".repeat(16 << 20));
    repo.write("p", &patch);
    let program = Program::in_folder(repo.root());
    program.confined(["--diff", "p", "--no-model"], Limits { megabytes: 300, ..BOUNDED }).ended(0);
}

#[test]
fn a_patch_of_too_many_lines_is_refused() {
    let repo = TestRepo::folder_only();
    let mut patch = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,1000001 @@\n".to_vec();
    patch.extend(b"+\n".repeat(1_000_001));
    repo.write("p", &patch);
    let ran = Program::in_folder(repo.root()).confined(["--diff", "p", "--no-model"], BOUNDED);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("hunks have more than 1000000 lines"), "{}", ran.stderr);
}
