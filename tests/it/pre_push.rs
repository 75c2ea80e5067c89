//! The recipe `docs/recipes/pre-push`, run by git itself when it pushes into a bare repository.

use std::path::Path;

use crate::support::{TestRepo, git_command, place_program};

/// Made up, and shaped like the real thing; put together here so that no scanner takes this file for a leak.
fn bad() -> String {
    format!("KEY = \"{}\"\n", ["ghp_", "q7XW3lmN5p2R", "t6YZk9B1cD4f", "G8hJ0sVaEuOi"].concat())
}

const GOOD: &str = "def add(a, b):\n    return a + b\n";

/// A clone with the hook, and the other side.
struct Clone {
    repo: TestRepo,
}

/// How a push ended, and what was said.
struct Pushed {
    ok: bool,
    said: String,
}

impl Clone {
    /// `main` is on the other side already.
    fn new() -> Self {
        let it = Self::unpushed();
        it.repo.git(["push", "-q", "--no-verify", "origin", "main"]);
        it
    }

    /// Nothing is on the other side.
    fn unpushed() -> Self {
        let repo = TestRepo::new();
        repo.write("README", "read me\n").commit("begin");
        let remote = repo.beside("remote.git");
        repo.git(["init", "-q", "--bare", "-b", "main", remote.to_str().expect("UTF-8")]);
        repo.git(["remote", "add", "origin", remote.to_str().expect("UTF-8")]);
        let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes/pre-push");
        std::fs::create_dir_all(repo.root().join(".git/hooks")).expect("a folder");
        place_program(hook, repo.root().join(".git/hooks/pre-push"));
        Self { repo }
    }

    /// Commits a file on the branch that is checked out.
    fn with(&self, path: &str, text: &str) -> &Self {
        self.repo.write(path, text).commit("change");
        self
    }

    fn push(&self, words: &str) -> Pushed {
        let program = Path::new(env!("CARGO_BIN_EXE_review"));
        self.push_with(words, program.parent(), &[])
    }

    /// Pushes with the program in this folder, or with none.
    fn push_with(&self, words: &str, program: Option<&Path>, set: &[(&str, &str)]) -> Pushed {
        self.push_from(self.repo.root(), words, program, set)
    }

    fn push_from(&self, folder: &Path, words: &str, program: Option<&Path>, set: &[(&str, &str)]) -> Pushed {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = program.map(Path::to_owned).into_iter().chain(std::env::split_paths(&rest));
        let output = git_command(folder)
            .env("PATH", std::env::join_paths(folders).expect("a PATH"))
            .env("HOME", self.repo.beside("home"))
            .env("XDG_STATE_HOME", self.repo.beside("state"))
            .env("XDG_CONFIG_HOME", self.repo.beside("config"))
            .envs(set.iter().copied())
            .arg("push")
            .args(words.split_whitespace())
            .output()
            .expect("the git program");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Pushed { ok: output.status.success(), said }
    }

    /// What the other side has of a ref.
    fn there(&self, name: &str) -> String {
        self.repo.git(["ls-remote", "origin", name]).split_whitespace().next().unwrap_or_default().to_owned()
    }

    fn head(&self) -> String {
        self.repo.git(["rev-parse", "HEAD"]).trim().to_owned()
    }
}

impl Pushed {
    #[track_caller]
    fn passed(self) -> Self {
        assert!(self.ok, "{}", self.said);
        self
    }

    #[track_caller]
    fn stopped(self, words: &str) {
        assert!(!self.ok && self.said.contains(words), "{}", self.said);
        assert!(self.said.contains("git push --no-verify"), "it says how to go on: {}", self.said);
    }

    /// How many ranges were reviewed.
    fn reviews(&self) -> usize {
        self.said.matches("review: reviewing refs/").count()
    }
}

#[test]
fn a_finding_at_the_gate_stops_the_push_and_what_is_clean_passes() {
    let clone = Clone::new();
    let before = clone.head();
    clone.with("a.py", &bad()).push("origin main").stopped("findings at or above high");
    assert_eq!(clone.there("refs/heads/main"), before);
    clone.push("--no-verify origin main").passed();
    assert_eq!(clone.there("refs/heads/main"), clone.head());
    // What is there already is not looked at again.
    let pushed = clone.with("b.py", GOOD).push("origin main").passed();
    assert_eq!(pushed.reviews(), 1, "{}", pushed.said);
    assert_eq!(clone.there("refs/heads/main"), clone.head());
}

#[test]
fn the_gate_is_a_setting() {
    let clone = Clone::new();
    clone.repo.git(["config", "review.failOn", "none"]);
    let pushed = clone.with("a.py", &bad()).push("origin main").passed();
    assert_eq!(pushed.reviews(), 1, "{}", pushed.said);
    clone.repo.git(["config", "review.failOn", "sometimes"]);
    clone.with("b.py", GOOD).push("origin main").stopped("could not be reviewed (exit 2)");
    clone.repo.git(["config", "review.failOn", "high"]);
    clone.repo.git(["config", "review.incomplete", "perhaps"]);
    clone.push("origin main").stopped("pass or block");
}

#[test]
fn a_new_branch_is_reviewed_from_where_it_left_what_is_known() {
    let clone = Clone::new();
    clone.with("a.py", &bad()).push("--no-verify origin main").passed();
    clone.repo.branch("feature");
    let pushed = clone.push("origin feature").passed();
    assert_eq!(pushed.reviews(), 0, "it brings nothing: {}", pushed.said);
    let pushed = clone.with("b.py", GOOD).push("origin feature:other").passed();
    assert_eq!(pushed.reviews(), 1, "{}", pushed.said);
    clone.with("c.py", &bad()).push("origin feature:third").stopped("findings");
    assert_eq!(clone.there("refs/heads/third"), "");
}

#[test]
fn deletions_bring_nothing() {
    let clone = Clone::new();
    clone.repo.git(["push", "-q", "--no-verify", "origin", "main:old"]);
    let pushed = clone.push_with("origin :old", None, &[]).passed();
    assert_eq!(pushed.reviews(), 0, "{}", pushed.said);
    assert_eq!(clone.there("refs/heads/old"), "");
}

#[test]
fn a_tag_counts_for_the_commits_it_brings() {
    let clone = Clone::new();
    clone.repo.git(["tag", "known"]);
    assert_eq!(clone.push("origin known").passed().reviews(), 0);
    clone.with("a.py", &bad()).repo.git(["tag", "-a", "-m", "a tag", "v1"]);
    clone.push("origin v1").stopped("findings");
    assert_eq!(clone.there("refs/tags/v1"), "");
    // A tag of a file holds no change.
    clone.repo.git(["tag", "file", "HEAD:README"]);
    assert_eq!(clone.push("origin file").passed().reviews(), 0);
}

#[test]
fn several_refs_are_all_looked_at_and_each_commit_once() {
    let clone = Clone::new();
    clone.repo.branch("one");
    clone.with("a.py", GOOD).repo.git(["branch", "same"]);
    clone.repo.git(["checkout", "-q", "main"]);
    clone.repo.branch("two");
    clone.with("b.py", &bad());
    let pushed = clone.push("origin one same two");
    assert_eq!(pushed.reviews(), 2, "{}", pushed.said);
    pushed.stopped("findings");
    assert_eq!(clone.there("refs/heads/one"), "", "all or nothing");
    assert_eq!(clone.push("origin one same").passed().reviews(), 1);
}

#[test]
fn a_rebased_branch_is_reviewed_without_what_it_was_rebased_on() {
    let clone = Clone::new();
    clone.repo.branch("feature");
    clone.with("a.py", GOOD).push("origin feature").passed();
    clone.repo.git(["checkout", "-q", "main"]);
    // It is on the other side, so nobody asks this push about it.
    clone.with("b.py", &bad()).push("--no-verify origin main").passed();
    clone.repo.git(["checkout", "-q", "feature"]);
    clone.repo.git(["rebase", "-q", "main"]);
    assert_eq!(clone.push("--force origin feature").passed().reviews(), 1);
    // Merging it is the same, though there are two places now where known and new meet.
    clone.repo.git(["remote", "set-head", "origin", "main"]);
    clone.repo.git(["checkout", "-q", "main"]);
    clone.with("c.py", &bad()).push("--no-verify origin main").passed();
    clone.repo.git(["checkout", "-q", "feature"]);
    clone.repo.git(["merge", "-q", "--no-edit", "main"]);
    assert_eq!(clone.push("origin feature").passed().reviews(), 1);
    clone.with("d.py", &bad()).push("origin feature").stopped("findings");
}

#[test]
fn a_first_push_has_nothing_to_compare_with_and_says_so() {
    let clone = Clone::unpushed();
    let pushed = clone.with("a.py", GOOD).push("origin main").passed();
    assert!(pushed.said.contains("nothing on the other side to compare with"), "{}", pushed.said);
}

#[test]
fn an_address_in_place_of_a_remote_and_a_linked_worktree_are_no_obstacle() {
    let clone = Clone::new();
    let address = clone.repo.beside("remote.git").display().to_string();
    clone.with("a.py", &bad()).push(&format!("{address} main")).stopped("findings");
    clone.push(&format!("{address} main:new")).stopped("findings");
    let linked = clone.repo.beside("linked");
    clone.repo.git(["worktree", "add", "-q", "-b", "there", linked.to_str().expect("UTF-8"), "origin/main"]);
    std::fs::write(linked.join("b.py"), bad()).expect("a file");
    clone.repo.git(["-C", linked.to_str().expect("UTF-8"), "add", "b.py"]);
    clone.repo.git(["-C", linked.to_str().expect("UTF-8"), "commit", "-q", "-m", "change"]);
    let program = Path::new(env!("CARGO_BIN_EXE_review")).parent();
    clone.push_from(&linked, "origin there", program, &[]).stopped("findings");
}

#[test]
fn without_the_program_nothing_passes_silently() {
    let clone = Clone::new();
    clone.repo.git(["config", "review.program", "no-such-program-here"]);
    clone.with("a.py", GOOD).push("origin main").stopped("no-such-program-here is not on the PATH");
    let program = env!("CARGO_BIN_EXE_review");
    clone.repo.git(["config", "review.program", program]);
    assert_eq!(clone.push_with("origin main", None, &[]).passed().reviews(), 1);
}

#[test]
fn a_review_that_is_not_whole_passes_with_a_word_unless_asked_otherwise() {
    let clone = Clone::new();
    clone.repo.git(["config", "review.timeout", "1ms"]);
    clone.with("a.py", GOOD);
    clone.repo.git(["config", "review.incomplete", "block"]);
    clone.push("origin main").stopped("not reviewed as a whole (exit 3)");
    clone.repo.git(["config", "review.incomplete", "pass"]);
    let pushed = clone.push("origin main").passed();
    assert!(pushed.said.contains("not reviewed as a whole (exit 3); it is pushed all the same"), "{}", pushed.said);
}

#[test]
fn a_key_in_the_environment_sends_no_code_away_and_a_model_that_is_named_is_used() {
    let clone = Clone::new();
    let program = Path::new(env!("CARGO_BIN_EXE_review")).parent();
    let key = [("ANTHROPIC_API_KEY", "sk-nothing"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    let pushed = clone.with("a.py", GOOD).push_with("origin main", program, &key).passed();
    assert!(!pushed.said.contains("anthropic"), "{}", pushed.said);
    clone.repo.git(["config", "review.model", "acme/x"]);
    clone.with("b.py", GOOD).push("origin main").stopped("could not be reviewed (exit 2)");
}
