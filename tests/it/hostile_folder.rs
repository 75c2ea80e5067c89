//! Repositories whose own links lead elsewhere, pipes in the place of files, and names that pass for local ones: each is refused.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use review_runner::app::{Cancel, Overrides, Service};
use serde_json::{Value, json};

use crate::support::mcp::Http;
use crate::support::service::service;
use crate::support::session::shop;
use crate::support::{Limits, Program, Ran, TestRepo, git_command, pipe};

/// A word of a folder that nobody named.
const CANARY: &str = "CANARY";

#[track_caller]
fn git(folder: &Path, args: &[&str]) {
    let ran = git_command(folder).args(args).output().expect("git");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A repository beside another one, with a file that holds the canary.
fn private(repo: &TestRepo) -> PathBuf {
    let folder = repo.beside("private");
    std::fs::create_dir(&folder).expect("a folder");
    git(&folder, &["init", "-q", "-b", "main", "."]);
    for text in ["begin\n".to_owned(), format!("eval(input())  # {CANARY}\n")] {
        std::fs::write(folder.join("secret.py"), text).expect("a file");
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "-m", "private"]);
    }
    folder
}

fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("begin");
    repo.branch("topic").write("a.py", "eval(input())\n").commit("change");
    repo
}

fn run(folder: &Path, line: &str) -> Ran {
    let program = Program::in_folder(folder);
    program.confined(line.split_whitespace(), Limits { seconds: 60, ..Limits::USUAL })
}

/// Every way of looking at the repository that one stands in is refused, with a reason, and tells nothing of the other one.
#[track_caller]
fn is_refused(folder: &Path, reason: &str) {
    for line in [
        "--uncommitted --no-model",
        "--staged --no-model",
        "--commit HEAD --no-model",
        "--range HEAD~1..HEAD --no-model",
        "tool list_files {} --uncommitted",
        "tool read_file_part {\"file_path\":\"secret.py\"} --uncommitted",
        "tool search_in_files {\"pattern\":\"CANARY\"}",
    ] {
        let ran = run(folder, line);
        assert!(ran.code == 2 || line.starts_with("tool"), "{line}: {}\n{}{}", ran.code, ran.text(), ran.stderr);
        assert_ne!(ran.code, 0, "{line}: {}", ran.text());
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(said.contains(reason) && !said.contains(CANARY), "{line}: {said}");
    }
}

#[track_caller]
fn is_reviewed(folder: &Path, file: &str) {
    std::fs::write(folder.join(file), "eval(input())\n").expect("a file");
    let ran = run(folder, "--uncommitted --no-model --format json");
    assert!(ran.code <= 1, "{}", ran.stderr);
    assert!(ran.text().contains(file), "{}", ran.text());
}

/// Names a place as the checkout of a repository.
type Bend = fn(&TestRepo, &str);

#[test]
fn settings_that_name_another_checkout_are_refused_wherever_they_stand() {
    let ways: [(&str, Bend); 5] = [
        ("the settings", |repo, place| drop(repo.git(["config", "core.worktree", place]))),
        ("an included file", |repo, place| {
            repo.write(".git/more", format!("[core]\n\tworktree = {place}\n"));
            repo.git(["config", "include.path", "more"]);
        }),
        ("a file included on a condition", |repo, place| {
            repo.write(".git/more", format!("[core]\n\tworktree = {place}\n"));
            repo.git(["config", "includeIf.gitdir:**.path", "more"]);
        }),
        ("the worktree's settings", |repo, place| {
            repo.git(["config", "extensions.worktreeConfig", "true"]);
            repo.write(".git/config.worktree", format!("[core]\n\tworktree = {place}\n"));
        }),
        ("a relative path", |repo, _| drop(repo.git(["config", "core.worktree", "../../private"]))),
    ];
    for (what, way) in ways {
        let repo = project();
        let other = private(&repo);
        way(&repo, &other.display().to_string());
        // Git alone decides what it reads of them.
        let read = git_command(repo.root()).args(["rev-parse", "--show-toplevel"]).output().expect("git");
        if String::from_utf8_lossy(&read.stdout).contains("private") {
            let ran = run(repo.root(), "--uncommitted --no-model");
            assert_eq!(ran.code, 2, "{what}: {}{}", ran.text(), ran.stderr);
            assert!(ran.stderr.contains("is another folder") && !ran.text().contains(CANARY), "{what}: {}", ran.stderr);
        } else {
            assert_ne!(what, "the settings");
        }
    }
    let repo = project();
    repo.git(["config", "core.worktree", &private(&repo).display().to_string()]);
    is_refused(repo.root(), "is another folder");
}

#[test]
fn a_checkout_above_the_folder_that_does_not_lead_back_is_refused() {
    let repo = project();
    std::fs::write(repo.beside("secret.py"), format!("# {CANARY}\n")).expect("a file");
    repo.git(["config", "core.worktree", "../.."]);
    is_refused(repo.root(), "is another folder");
    // Neither does the git folder itself lead there.
    is_refused(&repo.root().join(".git"), "is another folder");
}

#[test]
fn a_git_file_or_link_to_another_repository_is_refused() {
    let repo = project();
    let other = private(&repo).join(".git");
    let trap = repo.beside("trap");
    std::fs::create_dir_all(trap.join("docs")).expect("a folder");
    std::fs::write(trap.join(".git"), format!("gitdir: {}\n", other.display())).expect("a file");
    is_refused(&trap, "does not name this folder");
    is_refused(&trap.join("docs"), "does not name this folder");
    std::fs::remove_file(trap.join(".git")).expect("removed");
    symlink(&other, trap.join(".git")).expect("a link");
    is_refused(&trap, "does not name this folder");
    // A copy of the `.git` file of a worktree elsewhere.
    let away = repo.beside("away");
    git(&repo.beside("private"), &["worktree", "add", "-q", "--detach", &away.display().to_string()]);
    std::fs::remove_file(trap.join(".git")).expect("removed");
    std::fs::copy(away.join(".git"), trap.join(".git")).expect("a copy");
    is_refused(&trap, "is another folder");
}

#[test]
fn a_git_folder_that_shares_what_another_repository_has_is_refused() {
    let repo = project();
    let other = private(&repo).join(".git");
    let trap = repo.beside("trap");
    std::fs::create_dir_all(trap.join(".git")).expect("a folder");
    std::fs::write(trap.join(".git/commondir"), format!("{}\n", other.display())).expect("a file");
    std::fs::write(trap.join(".git/gitdir"), format!("{}\n", trap.join(".git").display())).expect("a file");
    std::fs::write(trap.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    is_refused(&trap, "does not name this folder");
    for name in ["refs", "HEAD", "index", "packed-refs"] {
        let trap = repo.beside(&format!("linked-{name}"));
        git(&repo.beside("."), &["init", "-q", "-b", "main", &trap.display().to_string()]);
        git(&repo.beside("private"), &["pack-refs"]);
        let _ = std::fs::remove_dir_all(trap.join(".git").join(name));
        let _ = std::fs::remove_file(trap.join(".git").join(name));
        symlink(other.join(name), trap.join(".git").join(name)).expect("a link");
        std::fs::write(trap.join(".git/objects/info/alternates"), format!("{}\n", other.join("objects").display()))
            .expect("a file");
        is_refused(&trap, "outside of its repository");
    }
}

#[test]
fn worktrees_submodules_and_other_ways_of_git_need_no_permission() {
    let repo = project();
    is_reviewed(repo.root(), "new.py");
    std::fs::create_dir(repo.root().join("docs")).expect("a folder");
    assert_eq!(run(&repo.root().join("docs"), "--uncommitted --no-model").code, 0);
    assert_eq!(run(&repo.root().join(".git"), "--uncommitted --no-model").code, 0);
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "-q", "--detach", &linked.display().to_string()]);
    is_reviewed(&linked, "linked.py");
    let nested = repo.root().join("nested");
    repo.git(["worktree", "add", "-q", "--detach", &nested.display().to_string()]);
    is_reviewed(&nested, "nested.py");
    symlink(&linked, repo.beside("shortcut")).expect("a link");
    is_reviewed(&repo.beside("shortcut"), "again.py");
    // A repository and the objects that it borrows.
    let shared = repo.beside("shared");
    repo.git(["clone", "-q", "--shared", ".", &shared.display().to_string()]);
    is_reviewed(&shared, "shared.py");
    // A git folder beside its files, which names them, and one below them.
    let apart = repo.beside("apart");
    repo.git([
        "clone",
        "-q",
        "--separate-git-dir",
        &repo.beside("apart.git").display().to_string(),
        ".",
        &apart.display().to_string(),
    ]);
    assert_eq!(run(&apart, "--uncommitted --no-model").code, 2);
    git(&apart, &["config", "core.worktree", &apart.display().to_string()]);
    is_reviewed(&apart, "apart.py");
    let within = repo.beside("within");
    repo.git(["clone", "-q", "--bare", ".", &within.join(".bare").display().to_string()]);
    std::fs::write(within.join(".git"), "gitdir: ./.bare\n").expect("a file");
    assert!(run(&within, "--range topic~1..topic --no-model").code <= 1);
    git(&within, &["worktree", "add", "-q", "--detach", "one"]);
    is_reviewed(&within.join("one"), "one.py");
}

#[test]
fn a_submodule_is_reviewed_where_it_is_checked_out() {
    let (outer, inner) = (TestRepo::new(), project());
    outer.write("README", "a\n").commit("begin");
    outer.git(["submodule", "add", "-q", &inner.root().display().to_string(), "sub"]);
    outer.commit("submodule");
    is_reviewed(&outer.root().join("sub"), "sub.py");
    let linked = outer.beside("of-submodule");
    git(&outer.root().join("sub"), &["worktree", "add", "-q", "--detach", &linked.display().to_string()]);
    is_reviewed(&linked, "linked.py");
}

fn ask(service: &Service, repo: &Path, at: &str) -> (bool, String) {
    let input = json!({ "file_path": "secret.py" });
    let answer =
        service.call_tool("read_file_part", Some(&repo.display().to_string()), Some(at), input, &Cancel::never());
    (answer.is_error, answer.text)
}

/// A server over a root, a repository beside the root, and the id of its last commit.
fn rooted() -> (TestRepo, PathBuf, String, Arc<Service>) {
    let repo = project();
    let other = private(&repo);
    let head = git_command(&other).args(["rev-parse", "HEAD"]).output().expect("git").stdout;
    let head = String::from_utf8(head).expect("an id").trim().to_owned();
    let root = repo.beside("root");
    std::fs::create_dir(&root).expect("a folder");
    let service = service(repo.root(), &[root], Overrides::default());
    (repo, other, head, service)
}

/// A repository below the root, bent by `bend`, which gets its `.git` and the other one's.
#[track_caller]
fn does_not_escape(what: &str, bend: impl Fn(&Path, &Path)) {
    let (repo, other, head, service) = rooted();
    git(&other, &["repack", "-q", "-a", "-d"]);
    let trap = repo.beside("root/trap");
    git(&repo.beside("root"), &["init", "-q", "-b", "main", "trap"]);
    bend(&trap.join(".git"), &other.join(".git"));
    for at in [head.as_str(), "HEAD", "main", "staged", "uncommitted"] {
        let (is_error, text) = ask(&service, &trap, at);
        assert!(is_error && !text.contains(CANARY), "{what}, {at}: {text}");
        assert!(text.contains("refused_path") && text.contains("--root"), "{what}, {at}: {text}");
    }
}

fn relink(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(from);
    symlink(to, from).expect("a link");
}

fn write(path: &Path, text: String) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

#[test]
fn no_alternates_lead_out_of_a_root() {
    let list = |objects: &Path, text: String| write(&objects.join("info/alternates"), text);
    let place = |theirs: &Path| theirs.join("objects").display().to_string();
    does_not_escape("absolute", |own, theirs| list(&own.join("objects"), format!("{}\n", place(theirs))));
    does_not_escape("relative", |own, _| list(&own.join("objects"), "../../../../private/.git/objects\n".to_owned()));
    does_not_escape("dotted", |own, _| list(&own.join("objects"), "./../../../../private/.git/objects\r\n".to_owned()));
    does_not_escape("quoted", |own, theirs| list(&own.join("objects"), format!("\"{}\"\n", place(theirs))));
    does_not_escape("escaped", |own, theirs| {
        list(&own.join("objects"), format!("\"{}\"\n", place(theirs).replace('/', "\\057")));
    });
    does_not_escape("recursive", |own, theirs| {
        let between = own.with_file_name("between/objects");
        list(&between, format!("{}\n", place(theirs)));
        list(&own.join("objects"), format!("# a comment\n\n/nowhere\n{}\n", between.display()));
    });
    does_not_escape("relative to what was linked", |own, _| {
        let info = own.with_file_name("info");
        write(&info.join("alternates"), "./../../../../private/.git/objects\n".to_owned());
        relink(&own.join("objects/info"), &info);
    });
    does_not_escape("a linked file", |own, theirs| {
        write(&own.with_file_name("list"), format!("{}\n", place(theirs)));
        symlink(own.with_file_name("list"), own.join("objects/info/alternates")).expect("a link");
    });
}

#[test]
fn no_linked_part_leads_out_of_a_root() {
    for part in ["objects", "objects/pack", "refs", "refs/heads", "HEAD", "index", "logs"] {
        does_not_escape(part, |own, theirs| {
            let _ = std::fs::remove_file(own.join(part));
            relink(&own.join(part), &theirs.join(part));
        });
    }
    does_not_escape("each pack", |own, theirs| {
        for entry in std::fs::read_dir(theirs.join("objects/pack")).expect("packs") {
            let entry = entry.expect("a pack");
            symlink(entry.path(), own.join("objects/pack").join(entry.file_name())).expect("a link");
        }
    });
    does_not_escape("a folder of loose objects", |own, theirs| {
        let other = theirs.with_file_name("loose");
        std::fs::create_dir_all(&other).expect("a folder");
        symlink(&other, own.join("objects/aa")).expect("a link");
    });
    does_not_escape("a loose object", |own, theirs| {
        std::fs::create_dir(own.join("objects/aa")).expect("a folder");
        symlink(theirs.join("HEAD"), own.join("objects/aa/bb")).expect("a link");
    });
    does_not_escape("a reference", |own, theirs| {
        symlink(theirs.join("refs/heads/main"), own.join("refs/heads/main")).expect("a link");
    });
    does_not_escape("by way of the root", |own, theirs| {
        let between = own.with_file_name("between");
        std::fs::create_dir_all(between.join("pack")).expect("a folder");
        relink(&between.join("pack"), &theirs.join("objects/pack"));
        relink(&own.join("objects"), &between);
    });
    does_not_escape("commondir", |own, theirs| {
        write(&own.join("commondir"), format!("{}\n", theirs.display()));
        write(&own.join("gitdir"), format!("{}\n", own.display()));
    });
}

#[test]
fn what_stays_below_a_root_is_served() {
    let (repo, other, head, service) = rooted();
    let below = |name: &str| repo.beside("root").join(name);
    let (own, shared) = (below("own").display().to_string(), below("shared"));
    git(&other, &["clone", "-q", "--no-hardlinks", ".", &own]);
    git(&other, &["clone", "-q", "--shared", &own, &shared.display().to_string()]);
    git(&below("own"), &["worktree", "add", "-q", "--detach", "../linked"]);
    // Git keeps this one's objects elsewhere, and the repository there names it.
    git(&other, &["worktree", "add", "-q", "--detach", &below("away").display().to_string()]);
    git(&below("own"), &["clone", "-q", ".", "../inner"]);
    relink(&below("inner").join(".git/objects"), &below("own/.git/objects"));
    for name in ["own", "shared", "linked", "away", "inner"] {
        for at in [head.as_str(), "HEAD", "uncommitted"] {
            let (is_error, text) = ask(&service, &below(name), at);
            assert!(!is_error && text.contains(CANARY), "{name}, {at}: {text}");
        }
    }
}

#[test]
fn a_pipe_where_git_has_a_file_is_named_at_once() {
    for name in [
        "index",
        "info/exclude",
        "info/grafts",
        "shallow",
        "objects/info/alternates",
        "packed-refs",
        "commondir",
        "HEAD",
        "config",
    ] {
        let repo = project();
        let path = repo.root().join(".git").join(name);
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        pipe(&path);
        let ran = run(repo.root(), "--target main --no-model --timeout 1h");
        assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("is a pipe or a device") || name == "HEAD", "{name}: {}", ran.stderr);
    }
    let repo = project();
    pipe(&repo.root().join(".git/refs/heads/other"));
    assert!(run(repo.root(), "--target main --no-model --timeout 1h").stderr.contains("is a pipe or a device"));
}

#[test]
fn commits_are_reviewed_without_a_look_at_the_checkout() {
    let repo = project();
    for name in [".gitattributes", ".gitignore"] {
        pipe(&repo.root().join(name));
    }
    let ran = run(repo.root(), "--target main --no-model --timeout 1h");
    assert!(ran.code <= 1, "{}", ran.stderr);
    assert!(ran.text().contains("a.py"), "{}", ran.text());
}

#[test]
fn a_pipe_in_the_place_of_an_ignore_file_is_named_by_those_who_read_the_disk() {
    for name in [".gitattributes", ".gitignore"] {
        let repo = project();
        pipe(&repo.root().join(name));
        let ran = run(repo.root(), "--uncommitted --no-model --timeout 1h");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(name) && ran.stderr.contains("is a pipe or a device"), "{}", ran.stderr);
    }
    let repo = project();
    repo.write("docs/x.txt", "x\n");
    pipe(&repo.root().join("docs/.gitignore"));
    let ran = run(repo.root(), "tool list_files {} --uncommitted");
    assert!(ran.text().contains("a.py") && !ran.text().contains("x.txt"), "{}{}", ran.text(), ran.stderr);
}

#[test]
fn files_that_a_library_reads_whole_are_refused_above_a_size() {
    let long = |line: &str, bytes: usize| line.repeat(bytes / line.len() + 1);
    for (name, text) in [
        (".gitignore", long("*.o\n", 1 << 20)),
        (".gitattributes", long("*.o text\n", 1 << 20)),
        (".git/info/exclude", long("*.o\n", 1 << 20)),
        (".git/config", long("# a\n", 4 << 20)),
    ] {
        let repo = project();
        repo.write(name, text);
        let ran = run(repo.root(), "--uncommitted --no-model");
        assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(name) && ran.stderr.contains("MiB; shorten"), "{name}: {}", ran.stderr);
    }
    let repo = project();
    repo.write("docs/x.txt", "x\n").write("docs/.gitignore", long("*.o\n", 1 << 20));
    let ran = run(repo.root(), "tool list_files {} --uncommitted");
    assert!(ran.text().contains("a.py") && !ran.text().contains("x.txt"), "{}{}", ran.text(), ran.stderr);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_an_endless_file_that_a_library_reads_is_given_up_by_its_memory() {
    let repo = project();
    let program = Program::in_folder(repo.root());
    repo.write("a.py", "x = 2\n");
    symlink("/dev/zero", program.home(".gitconfig")).expect("a link");
    let limits = Limits { seconds: 120, megabytes: 4_000 };
    let ran = program.confined("--uncommitted --no-model --timeout 1h".split(' '), limits);
    assert!(ran.code >= 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("holds more than 2 GiB"), "{}", ran.stderr);
}

#[test]
fn lists_of_borrowed_objects_end_somewhere() {
    let repo = project();
    let borrowed = (0..65).map(|at| repo.beside(&format!("borrowed/{at}"))).collect::<Vec<_>>();
    let mut many = String::new();
    for folder in &borrowed {
        std::fs::create_dir_all(folder).expect("a folder");
        many.push_str(&format!("{}\n", folder.display()));
    }
    for text in [many, "/nowhere\n".repeat(120_000)] {
        repo.write(".git/objects/info/alternates", text);
        let ran = run(repo.root(), "--target main --no-model");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("is not a short list of folders"), "{}", ran.stderr);
    }
}

#[test]
fn a_folder_whose_git_folder_is_a_link_to_that_of_the_checkout_is_part_of_it() {
    let repo = project();
    repo.write("deep/evil.py", "eval(input())\n");
    symlink("../.git", repo.root().join("deep/.git")).expect("a link");
    let ran = run(repo.root(), "--uncommitted --no-model --format json");
    assert!(ran.text().contains("deep/evil.py"), "{}{}", ran.text(), ran.stderr);
}

#[test]
fn an_absolute_path_in_the_index_is_named_not_read() {
    let repo = project();
    let index = repo.root().join(".git/index");
    let mut bytes = std::fs::read(&index).expect("the index");
    let at = bytes.windows(4).position(|four| four == b"a.py").expect("the name");
    bytes[at] = b'/';
    let end = bytes.len() - 20;
    bytes[end..].fill(0);
    std::fs::write(&index, bytes).expect("the index");
    repo.write("a.py", "eval(input())  # again\n");
    let ran = run(repo.root(), "--uncommitted --no-model --format json");
    assert!(ran.text().contains("a.py") && !ran.stderr.contains("unexpectedly"), "{}{}", ran.text(), ran.stderr);
}

#[test]
fn a_pipe_that_somebody_named_is_given_up_at_the_deadline() {
    let repo = project();
    let path = repo.beside("pipe");
    pipe(&path);
    for line in ["--diff", "--target main --leads", "--target main --previous", "--target main --instructions"] {
        let ran = run(repo.root(), &format!("--no-model --timeout 1s {line} {}", path.display()));
        assert!(ran.code >= 2, "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_file_that_the_index_hides_is_named() {
    let repo = TestRepo::new();
    let names = ["assumed.py", "skipped.py", "same.py", "gone.py", "link.py"];
    for name in names {
        repo.write(name, "x = 1\n");
    }
    repo.commit("begin");
    repo.git(["update-index", "--assume-unchanged", "assumed.py", "link.py"]);
    repo.git(["update-index", "--skip-worktree", "skipped.py", "same.py", "gone.py"]);
    repo.write("assumed.py", "eval(input())\n")
        .write("skipped.py", "eval(input())\n")
        .remove("gone.py")
        .remove("link.py");
    symlink("same.py", repo.root().join("link.py")).expect("a link");
    let (code, review) = Program::in_folder(repo.root()).review("--uncommitted --no-model");
    assert_eq!(code, 0, "git passes over them, too: {review}");
    let notes = review["coverage"]["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
    let named: Vec<_> =
        notes.filter(|note| note.contains("is marked")).filter_map(|note| Some(note.split_once(':')?.0)).collect();
    assert_eq!(named, ["assumed.py", "link.py", "skipped.py"], "{review}");
}

#[test]
fn grafts_empty_no_range() {
    let repo = project();
    let head = repo.git(["rev-parse", "HEAD"]);
    repo.write(".git/info/grafts", "");
    assert!(run(repo.root(), "--target main --no-model").code <= 1);
    repo.git(["checkout", "-q", "--orphan", "other"]);
    let other = repo.commit("other");
    repo.write(".git/info/grafts", format!("{other} {}\n", head.trim()));
    for line in ["--target topic --no-model", "--range topic...other --no-model", "--commit HEAD --no-model"] {
        let ran = run(repo.root(), line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("info/grafts"), "{line}: {}", ran.stderr);
    }
    // A replacement of the changed commit by the one before it would hide the change.
    std::fs::remove_file(repo.root().join(".git/info/grafts")).expect("removed");
    repo.git(["checkout", "-q", "topic"]);
    repo.git(["replace", "topic", "main"]);
    let (_, review) = Program::in_folder(repo.root()).review("--target main --no-model");
    assert!(review.to_string().contains("a.py"), "{review}");
}

#[test]
fn the_innermost_repository_decides_which_links_an_output_may_follow() {
    let home = TestRepo::new();
    let real = home.beside("real");
    std::fs::create_dir_all(real.join("shop")).expect("a folder");
    symlink(&real, home.root().join("work")).expect("a link");
    let shop = home.root().join("work/shop");
    git(&shop, &["init", "-q", "-b", "main", "."]);
    std::fs::write(shop.join("a.py"), "x = 1\n").expect("a file");
    let output = shop.join("out.json").display().to_string();
    let ran = Program::in_folder(&shop).words(&format!("--uncommitted --no-model --output json={output}"));
    assert!(ran.code <= 1 && real.join("shop/out.json").is_file(), "{}: {}", ran.code, ran.stderr);
}

#[test]
fn no_output_is_written_through_a_linked_folder_of_the_checkout() {
    let repo = project();
    let away = repo.beside("away");
    std::fs::create_dir_all(away.join("deep")).expect("a folder");
    std::fs::create_dir(repo.root().join("docs")).expect("a folder");
    symlink(&away, repo.root().join("out")).expect("a link");
    symlink("/nowhere/x", repo.root().join("file.json")).expect("a link");
    let program = Program::in_folder(repo.root());
    let written = |path: &str| program.words(&format!("--target main --no-model --output json={path}"));
    let absolute = repo.root().join("out/x.json").display().to_string();
    for path in ["out/x.json", "./out/x.json", "out/deep/x.json", "docs/../out/x.json", absolute.as_str()] {
        let ran = written(path);
        assert!(ran.stderr.contains("is a link, and in a checkout"), "{path}: {}", ran.stderr);
        assert!(!away.join("x.json").exists() && !away.join("deep/x.json").exists(), "{path}");
        assert_eq!(ran.code, 5, "{path}: {}", ran.stderr);
    }
    let elsewhere = away.join("y.json").display().to_string();
    for path in ["docs/x.json", "docs/../z.json", "file.json", elsewhere.as_str()] {
        assert_eq!(written(path).code, 0, "{path}");
        let file = repo.root().join(path);
        assert!(file.is_file() && !file.is_symlink(), "{path}");
    }
    let names = std::fs::read_dir(repo.root().join("docs")).expect("a folder").count();
    assert_eq!(names, 1, "no temporary file is left");
}

fn hello() -> Vec<u8> {
    let about =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let hello: Value = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about });
    hello.to_string().into_bytes()
}

#[test]
fn names_that_only_look_local_are_refused_over_http() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    let server = Http::start(&program, "--no-model");
    let own = server.address.clone();
    let status = |more: &[(&str, &str)]| {
        let usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let headers: Vec<_> = usual.into_iter().chain(more.iter().copied()).collect();
        server.send("POST", &hello(), &headers).status
    };
    for host in
        ["evil@127.0.0.1", "evil.example@localhost:80", "localhost:evil", "localhost:80.evil.example", "localhost:"]
    {
        assert_eq!(status(&[("Host", host)]), 403, "{host}");
    }
    for origin in [
        "http://localhost:80.evil.example",
        "http://localhost:evil",
        "http://evil@localhost",
        "http://localhost:80@evil.example",
        "http://localhost/",
        "http://localhost#evil.example",
        "http://localhost, http://evil.example",
        "localhost",
    ] {
        assert_eq!(status(&[("Origin", origin)]), 403, "{origin}");
    }
    let fine = format!("http://{own}");
    for second in ["http://evil.example", "http://localhost"] {
        assert_eq!(status(&[("Origin", &fine), ("Origin", second)]), 403, "{second}");
    }
    assert_eq!(status(&[("Origin", &fine)]), 200);
    assert_eq!(status(&[("Origin", "http://localhost"), ("Host", "LOCALHOST:80")]), 200);
}

#[test]
fn a_branch_called_alternates_is_a_branch() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("Begin");
    repo.branch("alternates").write("a.py", "x = 2\n").commit("Change");
    repo.write(".git/logs/refs/heads/alternates", "0\n".repeat(600_000));
    let ran = Program::in_folder(repo.root()).words("--target main --no-model");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn an_object_that_was_cut_where_it_is_borrowed_from_is_damaged() {
    let source = TestRepo::new();
    source.write("a.py", "x = 1\n").commit("Begin");
    let folder = source.beside("clone");
    git(source.root(), &["clone", "-q", "--shared", ".", folder.to_str().expect("a path")]);
    let id = source.git(["rev-parse", "HEAD:a.py"]);
    let (first, rest) = id.trim().split_at(2);
    let path = source.root().join(".git/objects").join(first).join(rest);
    let bytes = std::fs::read(&path).expect("a loose object");
    std::fs::remove_file(&path).expect("the whole one goes");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("half of it");
    let program = Program::in_folder(&folder);
    let ran = program
        .confined(["tool", "read_file_part", "{\"file_path\": \"a.py\"}"], Limits { seconds: 60, ..Limits::USUAL });
    assert!(ran.text().contains("damaged"), "exit {}: {}{}", ran.code, ran.text(), ran.stderr);
}
