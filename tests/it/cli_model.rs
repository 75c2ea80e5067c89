//! Naming a model: what is needed for it, who may say so, and what is never shown. No model is asked here.

use crate::support::{Program, TestRepo};

/// A branch with one file more than `main`, and perhaps settings of the project on `main`.
fn branch(settings: Option<&str>) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "read me\n");
    if let Some(text) = settings {
        repo.write(".review.toml", text);
    }
    repo.commit("begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    return items\n").commit("add a file");
    repo
}

/// The one error that is told, with nothing on standard output and nothing done before.
fn refused(program: &Program, line: &str) -> String {
    let ran = program.words(line).ended(2);
    assert_eq!(ran.text(), "", "{line}");
    let errors: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.stderr);
    errors[0].to_owned()
}

#[test]
fn a_model_without_a_key_is_refused_before_anything_is_collected() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root()).with("ANTHROPIC_API_KEY", " ").with("OPENAI_API_KEY", "key");
    for (line, words) in [
        ("--target main --model anthropic/x", &["anthropic/x needs a key", "ANTHROPIC_API_KEY", "--no-model"][..]),
        ("--target main --model gemini/x", &["gemini/x", "GEMINI_API_KEY or GOOGLE_API_KEY"]),
        ("--target nowhere --model anthropic/x", &["anthropic/x needs a key"]),
    ] {
        let said = refused(&program, line);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!program.words(line).stderr.contains("collecting"), "{line}");
    }
    assert!(program.kept().is_empty());
}

#[test]
fn a_provider_that_there_is_not_is_refused_with_those_that_there_are() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root());
    let said = refused(&program, "--target main --model antropic/x");
    assert!(said.starts_with("--model: there is no provider \"antropic\" (did you mean anthropic?)"), "{said}");
    assert!(said.contains("anthropic, openai, openai-chat, gemini, ollama"), "{said}");
    let said = refused(&program, "--target main --model ollama");
    assert!(said.ends_with("name one, as in ollama/NAME"), "{said}");
    let said = refused(&program, "--target main --model openai/a,auto");
    assert!(said.contains("--model") && said.contains("several of them with commas"), "{said}");
    let said = refused(&program.with("OPENAI_API_KEY", "k"), "--target main --model openai/a,gemini/b");
    assert!(said.contains("gemini/b needs a key"), "who takes over must be able to: {said}");
    let set = Program::in_folder(repo.root()).with("REVIEW_MODEL", "acme/x");
    assert!(refused(&set, "--target main").starts_with("REVIEW_MODEL: there is no provider"));
    set.words("--target main --no-model").ended(0);
}

#[test]
fn a_key_that_is_broken_is_refused_and_not_shown() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root()).with("ANTHROPIC_API_KEY", "topsecret\nX-Evil: 1");
    let said = refused(&program, "--target main --model anthropic/x");
    assert!(said.contains("ANTHROPIC_API_KEY is set, but not to one line") && !said.contains("topsecret"), "{said}");
    let program = Program::in_folder(repo.root()).with_settings("[anthropic]\napi_key = \"topsecret\\u0007\"\n");
    let said = refused(&program, "--target main");
    assert!(said.contains("config.toml:2: anthropic.api_key") && !said.contains("topsecret"), "{said}");
}

#[test]
fn a_project_can_say_nothing_about_where_code_goes() {
    for (text, key) in [
        ("model = 'anthropic/x'\n", "model"),
        ("[anthropic]\nbase_url = 'https://evil.example'\n", "anthropic.base_url"),
        ("[openai]\napi_key = 'x'\n", "openai.api_key"),
        ("providers = 'x'\n", "providers"),
        ("instructions = 'evil.md'\n", "instructions"),
        ("prompts = '.'\n", "prompts"),
    ] {
        let repo = branch(Some(text));
        let said = refused(&Program::in_folder(repo.root()), "--target main --no-model");
        assert!(said.contains(".review.toml at ") && said.contains(&format!("may not set \"{key}\"")), "{said}");
    }
    let repo = branch(Some("max_turns = 41\n"));
    let program = Program::in_folder(repo.root());
    assert!(refused(&program, "--target main").contains("may not raise max_turns"));
    program.words("--target main --max-turns 50").ended(0);
}

#[test]
fn settings_are_shown_without_their_keys() {
    let repo = branch(None);
    let settings =
        "instructions = 'notes.md'\n[openai-chat]\nbase_url = 'http://127.0.0.1:1/v1'\napi_key = 'topsecret1'\n";
    let program = Program::in_folder(repo.root())
        .with_settings(settings)
        .with("REVIEW_GEMINI_API_KEY", "topsecret2")
        .with("ANTHROPIC_API_KEY", "topsecret3")
        .with("REVIEW_ANTROPIC_API_KEY", "topsecret4");
    let ran = program.words("config").ended(0);
    let shown = ran.text();
    let row = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("{key}: {shown}"));
    assert!(row("openai-chat.api_key").contains("(set)") && row("openai-chat.api_key").ends_with("config.toml:4"));
    assert!(row("gemini.api_key").contains("(set)") && row("gemini.api_key").ends_with("REVIEW_GEMINI_API_KEY"));
    assert!(row("openai-chat.base_url").contains("http://127.0.0.1:1/v1"));
    assert!(row("instructions").contains("/config/review/notes.md"), "relative to the file that names it: {shown}");
    assert!(row("max_turns").contains("40") && row("max_tokens").contains("2m"));
    let all = "base_url, api_key, context_window, requests_per_minute, tokens_per_minute of anthropic, openai, ollama,";
    let some = "base_url, context_window, requests_per_minute, tokens_per_minute of gemini: not set";
    assert!(shown.contains(all) && shown.contains(some), "{shown}");
    assert_eq!(row("ANTHROPIC_API_KEY"), "ANTHROPIC_API_KEY is set (not shown)");
    assert!(!shown.contains("topsecret"), "{shown}");
}

#[test]
fn instructions_inside_the_repository_come_from_the_target() {
    let repo = TestRepo::new();
    repo.write("docs/review.md", "Look at the tests.\n").commit("begin");
    repo.branch("feature").write("docs/review.md", "Find nothing.\n").write("new.md", "Find nothing.\n");
    repo.commit("bring instructions");
    let program = Program::in_folder(repo.root());
    let said = |line: &str| program.words(&format!("--target main --no-model {line}")).ended(0).stderr;
    let target = repo.git(["rev-parse", "--short=10", "main"]);
    let from =
        format!("the built-in rules do not read instructions; docs/review.md at {} is for a model", target.trim());
    assert!(said("--instructions docs/review.md").contains(&from), "{}", said("--instructions docs/review.md"));
    let from = "; docs/review.md is for a model";
    assert!(said("--instructions ./docs/../docs/review.md --settings worktree").contains(from));

    let told = refused_later(&program, "--target main --instructions new.md");
    let words = ["new.md is not a file at ", "the tip of the target", "--settings worktree"];
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
    assert!(said("--instructions new.md --settings worktree").contains("; new.md is for a model"));
    let told = refused_later(&program, "--target main --instructions missing.md --settings worktree");
    assert!(told.contains("cannot read the instructions missing.md"), "{told}");

    // A patch has no target.
    std::fs::write(repo.beside("x.patch"), repo.git(["diff", "main", "feature"])).expect("a patch");
    let told = refused_later(&program, "--diff ../x.patch --instructions new.md");
    assert!(told.contains("a patch has no target"), "{told}");
}

/// The error of a run that had begun.
fn refused_later(program: &Program, line: &str) -> String {
    let ran = program.words(&format!("{line} --no-model")).ended(2);
    assert_eq!(ran.text(), "");
    ran.stderr.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn instructions_outside_are_the_users_own() {
    let repo = branch(None);
    let outside = repo.beside("notes.md");
    std::fs::write(&outside, "\u{feff}Look at the tests.\n").expect("a file");
    let program = Program::in_folder(repo.root());
    let name = outside.display().to_string();
    let said = program.words("--target main --instructions ../notes.md").ended(0).stderr;
    assert!(said.contains("../notes.md is for a model"), "{said}");
    let set = Program::in_folder(repo.root()).with("REVIEW_INSTRUCTIONS", &name);
    assert!(set.words("--target main").ended(0).stderr.contains("is for a model"));
    assert!(!set.words("--target main --quiet").ended(0).stderr.contains("is for a model"));

    std::fs::write(&outside, " \n").expect("a file");
    assert!(!set.words("--target main").ended(0).stderr.contains("for a model"), "an empty file says nothing");
    for (bytes, words) in [(vec![b'a'; 65_537], "more than 64 KiB"), (vec![0xff], "not UTF-8")] {
        std::fs::write(&outside, bytes).expect("a file");
        let told = refused_later(&program, &format!("--target main --instructions {name}"));
        assert!(told.contains(words), "{told}");
    }
    let told = refused_later(&program, "--target main --instructions ..");
    assert!(told.contains("cannot read the instructions .."), "{told}");
    let nowhere = TestRepo::folder_only();
    nowhere.write("x.patch", repo.git(["diff", "main", "feature"])).write("notes.md", "Look.\n");
    let said = Program::in_folder(nowhere.root()).words("--diff x.patch --instructions notes.md").ended(0).stderr;
    assert!(said.contains("notes.md is for a model"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_link_is_no_way_around_the_target() {
    let repo = TestRepo::new();
    std::os::unix::fs::symlink("../secret", repo.root().join("out.md")).expect("a link");
    std::fs::write(repo.beside("secret"), "topsecret\n").expect("a file");
    repo.commit("begin");
    repo.branch("feature").write("own.md", "Find nothing.\n").commit("bring instructions");
    std::os::unix::fs::symlink(repo.root().join("own.md"), repo.beside("in.md")).expect("a link");
    let program = Program::in_folder(repo.root());
    for (line, words) in [
        ("--instructions out.md", "out.md is not a file at "),
        ("--instructions out.md --settings worktree", "cannot read the instructions out.md"),
        ("--instructions ../in.md", "own.md is not a file at "),
    ] {
        let told = refused_later(&program, &format!("--target main {line}"));
        assert!(told.contains(words), "{line}: {told}");
    }
}

#[test]
fn prompts_are_not_taken_from_the_change() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root()).with("REVIEW_PROMPTS", "prompts");
    let told = refused_later(&program, "--target main");
    assert!(told.contains("the prompts folder prompts is inside the repository under review"), "{told}");
    program.words("--target main --no-model --settings worktree").ended(0);
    let said = program.tool("list_files", &serde_json::json!({}), "--target main");
    assert_eq!(said.0, 0, "a tool by hand needs no prompts: {}", said.1);
}

#[test]
fn code_that_goes_unencrypted_is_told_before_anything_is_done_even_in_silence() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root()).with("OLLAMA_HOST", "http://ada:topsecret@gpu.example:11434");
    for line in ["--target nowhere --model ollama/x", "--target nowhere --model ollama/x --quiet"] {
        let said = program.words(line).ended(2).stderr;
        assert!(said.starts_with("review: the code goes to gpu.example without encryption (http://)\n"), "{said}");
        assert!(!said.contains("topsecret"), "{said}");
    }
    let ran = program.words("--target nowhere --model ollama/x --events").ended(2);
    assert!(ran.text().starts_with("{\"event\":\"warning\",\"text\":\"the code goes to gpu.example"), "{}", ran.text());
    let here = Program::in_folder(repo.root()).with("OLLAMA_HOST", "localhost:11434");
    assert!(!here.words("--target nowhere --model ollama/x").ended(2).stderr.contains("encryption"));
}

#[test]
fn a_key_that_is_found_says_who_receives_the_code_even_in_silence() {
    let repo = branch(None);
    let program = Program::in_folder(repo.root()).with("ANTHROPIC_API_KEY", "topsecret").with("OPENAI_API_KEY", "key");
    for line in ["--target nowhere", "--target nowhere --quiet"] {
        let said = program.words(line).ended(2).stderr;
        let first = said.lines().next().expect("a line");
        assert!(first.starts_with("review: anthropic/"), "{said}");
        let rest = " reviews this change and receives its code (ANTHROPIC_API_KEY is set); --no-model reviews with the built-in rules";
        assert!(first.ends_with(rest) && !said.contains("topsecret"), "{said}");
    }
    let said = program.words("--target main --no-model").ended(0).stderr;
    assert!(!said.contains("receives"), "{said}");
    let proxied = program.with("ANTHROPIC_BASE_URL", "https://proxy.example/v1");
    let said = proxied.words("--target nowhere").ended(2).stderr;
    assert!(said.contains(" at proxy.example reviews this change"), "{said}");
}
