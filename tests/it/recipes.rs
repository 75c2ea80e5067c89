//! The recipes for build services: their scripts are run as the service runs them, where that can be done without it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{TestRepo, place_program, program_path};

fn recipe(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes").join(name);
    serde_saphyr::from_str(&std::fs::read_to_string(file).expect("the recipe")).expect("it is YAML")
}

/// A checkout of a merge request that adds a file, as a service makes it, and the repository it came from.
struct Checkout {
    repo: TestRepo,
    folder: std::path::PathBuf,
}

impl Checkout {
    /// The target went on meanwhile, and what it has now is nobody's change.
    fn of(text: &str) -> Self {
        let repo = TestRepo::new();
        repo.write("README", "read me\n").commit("begin");
        repo.branch("feature").write("a.py", text).commit("change");
        repo.git(["checkout", "-q", "main"]);
        repo.write("b.py", "def add(item, items=[]):\n    return items\n").commit("meanwhile");
        let folder = repo.beside("checkout");
        repo.git(["clone", "-q", repo.root().to_str().expect("UTF-8"), folder.to_str().expect("UTF-8")]);
        Self { repo, folder }
    }

    fn git(&self, words: &str) -> String {
        let folder = self.folder.to_str().expect("UTF-8");
        self.repo.git(["-C", folder].into_iter().chain(words.split_whitespace())).trim().to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a service starts a shell with the script of a recipe")]
    fn run(&self, shell: &str, script: &str, set: &[(&str, &str)], variables: &Value) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_review")).parent().expect("a folder").to_owned();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&rest))).expect("a PATH");
        let home = self.repo.beside("home");
        std::fs::create_dir_all(&home).expect("a home");
        let variables = variables.as_object().into_iter().flatten();
        Command::new(program_path(shell))
            .args(["-c", script])
            .current_dir(&self.folder)
            .env_clear()
            .envs(variables.filter_map(|(name, value)| value.as_str().map(|value| (name, value))))
            .env("PATH", path)
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(set.iter().copied())
            .output()
            .expect("a shell")
    }

    fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }
}

#[track_caller]
fn ended(output: &Output, code: i32) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
}

const GOOD: &str = "def add(a, b):\n    return a + b\n";

/// Made up, and shaped like the real thing; put together here so that no scanner takes this file for a leak.
fn bad() -> String {
    format!("KEY = \"{}\"\n", ["ghp_", "q7XW3lmN5p2R", "t6YZk9B1cD4f", "G8hJ0sVaEuOi"].concat())
}

#[test]
fn gitlab_reviews_a_merge_request_against_the_target_as_it_is_now() {
    let recipe = recipe("gitlab-ci.yml");
    let job = &recipe["review"];
    let script: Vec<&str> = job["script"].as_array().expect("a script").iter().filter_map(Value::as_str).collect();
    let script = format!("set -e\n{}", script.join("\n"));
    for (text, code) in [(GOOD.to_owned(), 0), (bad(), 1)] {
        let checkout = Checkout::of(&text);
        let head = checkout.git("rev-parse origin/feature");
        checkout.git(&format!("checkout -q {head}"));
        let here = [
            ("CI_PROJECT_DIR", checkout.folder.to_str().expect("UTF-8")),
            ("CI_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_COMMIT_SHA", &head),
            ("GITLAB_CI", "true"),
        ];
        ended(&checkout.run("sh", &script, &here, &job["variables"]), code);
        for file in job["artifacts"]["paths"].as_array().expect("paths") {
            checkout.written(file.as_str().expect("a path"));
        }
        let review: Value = serde_json::from_str(&checkout.written("review.json")).expect("JSON");
        let files = review["change"]["files"].as_array().expect("files");
        assert_eq!(files.len(), 1, "what the target got meanwhile is not reviewed: {files:?}");
        assert_eq!(review["change"]["head"], head.as_str());
        assert_eq!(review["provenance"]["engine"], "rules");

        // From a fork: the branch of that name there is another one.
        let fork = Checkout::of(&text);
        let url = fork.repo.beside("target");
        fork.repo.git([
            "clone",
            "-q",
            "--bare",
            fork.repo.root().to_str().expect("UTF-8"),
            &format!("{}.git", url.display()),
        ]);
        fork.git("remote set-url origin /no/such/folder");
        let head = fork.git("rev-parse origin/feature");
        let url = url.display().to_string();
        let there = [
            ("CI_PROJECT_DIR", fork.folder.to_str().expect("UTF-8")),
            ("CI_PROJECT_ID", "2"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_PROJECT_URL", &url),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", &head),
            ("CI_COMMIT_SHA", "no commit at all"),
        ];
        ended(&fork.run("sh", &script, &there, &job["variables"]), code);
    }
}

#[test]
fn a_fork_that_left_no_review_is_told_from_one_whose_review_is_posted() {
    let recipe = recipe("github-fork-post.yml");
    let steps = recipe["jobs"]["post"]["steps"].as_array().expect("steps");
    assert!(steps.iter().all(|step| step.get("continue-on-error").is_none()), "a download that fails fails the job");
    let named = |name: &str| steps.iter().find(|step| step["name"] == name).expect("the step");
    let script = named("See what was left")["run"].as_str().expect("a script");
    assert_eq!(named("Check and post")["if"], "steps.left.outputs.review == 'true'");
    let checkout = Checkout::of(GOOD);
    let (folder, output) = (checkout.repo.beside("untrusted-review"), checkout.repo.beside("output"));
    let run = |conclusion: &str, code: i32, said: &str| {
        std::fs::write(&output, "").expect("a file");
        let (folder, file) = (folder.display().to_string(), output.display().to_string());
        let here = [("FOLDER", folder.as_str()), ("CONCLUSION", conclusion), ("GITHUB_OUTPUT", file.as_str())];
        let told = checkout.run("bash", &format!("set -e\n{script}"), &here, &Value::Null);
        ended(&told, code);
        assert!(String::from_utf8_lossy(&told.stdout).starts_with(said), "{told:?}");
        std::fs::read_to_string(&output).expect("a file")
    };
    for exists in [false, true] {
        assert_eq!(run("success", 1, "::error title=review::"), "", "exists: {exists}");
        assert_eq!(run("failure", 0, "::notice title=review::"), "");
        std::fs::create_dir_all(&folder).expect("a folder");
    }
    // What it is, the next step finds out.
    std::fs::write(folder.join("another.txt"), "").expect("a file");
    for conclusion in ["success", "failure"] {
        assert_eq!(run(conclusion, 0, ""), "review=true\n");
    }
}

#[test]
fn azure_reviews_the_two_parents_of_the_merge_that_it_checked_out() {
    let recipe = recipe("azure-pipelines.yml");
    let steps = recipe["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["displayName"] == "Review").expect("the step");
    let script = step["bash"].as_str().expect("a script");
    let published: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["publish"].as_str().or_else(|| step["inputs"]["testResultsFiles"].as_str()))
        .collect();
    assert_eq!(published.len(), 2);
    for (text, code) in [(GOOD.to_owned(), 0), (bad(), 1)] {
        let checkout = Checkout::of(&text);
        let temp = checkout.repo.beside("temp").display().to_string();
        let here = [("AGENT_TEMPDIRECTORY", temp.as_str()), ("TF_BUILD", "True")];
        // On a branch there is no merge, and nothing is green.
        ended(&checkout.run("bash", script, &here, &recipe["variables"]), 2);
        checkout.git("checkout -q --detach origin/main");
        checkout.git("merge -q --no-edit --no-ff origin/feature");
        ended(&checkout.run("bash", script, &here, &recipe["variables"]), code);
        for file in &published {
            checkout.written(file);
        }
        let review: Value = serde_json::from_str(&checkout.written("review.json")).expect("JSON");
        assert_eq!(review["change"]["files"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn jenkins_reviews_against_the_branch_that_it_fetched() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes/Jenkinsfile");
    let text = std::fs::read_to_string(file).expect("the recipe");
    let script = text.split("'''").nth(3).expect("the second script");
    for (text, code) in [(GOOD.to_owned(), 0), (bad(), 1)] {
        let checkout = Checkout::of(&text);
        checkout.git("checkout -q --detach origin/feature");
        let program = checkout.folder.join(".review-program");
        std::fs::create_dir(&program).expect("a folder");
        place_program(env!("CARGO_BIN_EXE_review"), program.join("review"));
        let here = [("CHANGE_TARGET", "main"), ("REVIEW_MODEL", "none"), ("REVIEW_FAIL_ON", "high")];
        ended(&checkout.run("sh", script, &here, &Value::Null), code);
        for name in ["review.junit.xml", "review.sarif", "review.json"] {
            checkout.written(name);
        }
    }
}
