//! Rules that a project or a user brings: where they are read, who may say what of them, and what is told where one is broken.

use std::path::Path;

use serde_json::Value;

use crate::support::model::Wire;
use crate::support::session::{Talk, shop};
use crate::support::sitting::{hanging_at, killed, refused, session, steps};
use crate::support::{Program, Ran, TestRepo};

/// A rule that finds every call of `danger`.
const RULE: &str = "\
id: no-danger
title: Something dangerous is called
message: It breaks things. Call something else.
severity: high
category: logic
literals: [danger]
rule: {pattern: danger($$$)}
";
const PACK: &str = ".review/rules/python-house.yml";

/// `main` with these files; a branch that calls `danger`.
fn project(on_main: &[(&str, &str)]) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n");
    for (path, text) in on_main {
        repo.write(path, text);
    }
    repo.commit("begin");
    repo.branch("feature").write("app/a.py", "def f():\n    danger(1)\n").commit("change");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// `<rule> <severity>` of every finding.
fn found(review: &Value) -> Vec<String> {
    let findings = review["findings"].as_array().expect("findings").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    findings.map(|found| format!("{} {}", text(&found["origin"]["name"]), text(&found["severity"]))).collect()
}

const FOUND: [&str; 1] = ["project/no-danger high"];

/// What it says where it refuses to review.
#[track_caller]
fn refuses(program: &Program, line: &str) -> String {
    let Ran { stderr, .. } = program.words(line).ended(2);
    let said = stderr.lines().find_map(|line| line.strip_prefix("error: "));
    said.unwrap_or_else(|| panic!("{stderr}")).to_owned()
}

#[test]
fn a_projects_rules_are_those_of_the_target_tip() {
    let (repo, program) = project(&[(PACK, RULE)]);
    for line in ["--target main", "--range main..feature", "--commit feature"] {
        let (code, review) = program.review(line);
        assert_eq!((code, found(&review)), (0, FOUND.map(str::to_owned).to_vec()), "{line}");
    }
    // A head that takes the rule away, or replaces it, is reviewed by it all the same, and that is told.
    repo.remove(PACK).write(".review/rules/rust.yml", "broken: [\n").commit("away with it");
    let (_, review) = program.review("--target main");
    assert_eq!(found(&review), FOUND);
    let notes = review["coverage"]["notes"].to_string();
    assert!(notes.contains("touches the project's review settings"), "{notes}");
    // The tip counts, not where the branch left it.
    repo.git(["checkout", "-q", "main"]);
    repo.write(PACK, RULE.replace("severity: high", "severity: low")).commit("less so");
    repo.git(["checkout", "-q", "feature"]);
    assert_eq!(found(&program.review("--target main").1), ["project/no-danger low"]);
}

#[test]
fn the_disk_is_asked_only_where_somebody_says_so_and_a_patch_has_no_rules() {
    let (repo, program) = project(&[]);
    repo.write(PACK, RULE);
    assert_eq!(found(&program.review("--target main").1), [""; 0]);
    assert_eq!(found(&program.review("--target main --settings worktree").1), FOUND);
    repo.commit("rules");
    assert_eq!(found(&program.review("--target main").1), [""; 0], "the head's are not followed");
    repo.git(["checkout", "-q", "main"]);
    repo.git(["merge", "-q", "feature"]);
    let patch = "--- a/app/a.py\n+++ b/app/a.py\n@@ -1,2 +1,3 @@\n def f():\n+    danger(2)\n     danger(1)\n";
    let review = program.fed("--diff - --format json", patch.as_bytes()).ended(0).json();
    assert_eq!(found(&review), [""; 0]);
    // What is not committed follows HEAD.
    repo.write("app/b.py", "danger(3)\n");
    assert_eq!(found(&program.review("--uncommitted").1), FOUND);
}

#[test]
fn a_broken_pack_of_the_target_ends_the_review_with_its_line() {
    for (path, text, told) in [
        (
            PACK,
            RULE.replace("high", "hgih"),
            "python-house.yml at {at}:4:11: rule project/no-danger: not a rule: unknown variant `hgih`",
        ),
        (
            PACK,
            format!(
                "{RULE}---\n{}",
                RULE.replace("id: no-danger", "id: b").replace("pattern: danger($$$)", "kind: no_such_kind")
            ),
            "python-house.yml at {at}:9: rule project/b: it does not work for python: ",
        ),
        (
            PACK,
            format!("{RULE}---\n{RULE}"),
            "python-house.yml at {at}:9: rule project/no-danger: it is defined twice, at .review/rules/python-house.yml at {at}:1 too",
        ),
        (
            PACK,
            format!("{RULE}command: [sh]\n"),
            "python-house.yml at {at}:8: rule project/no-danger: the key \"command\" means nothing",
        ),
        (
            ".review/rules/house.yml",
            RULE.to_owned(),
            "house.yml at {at}:1: rule project/no-danger: it does not say which language it is for",
        ),
        (PACK, format!("{RULE}# {}\n", "x".repeat(300_000)), "python-house.yml at {at} has 300"),
        (".review/rules/a.yml/b.yml", RULE.to_owned(), "a.yml at {at} is a folder: rules of a project are plain files"),
    ] {
        let (repo, program) = project(&[(path, &text)]);
        let at = repo.git(["rev-parse", "--short=10", "main"]).trim().to_owned();
        let said = refuses(&program, "--target main");
        assert!(said.starts_with(&format!(".review/rules/{}", told.replace("{at}", &at))), "{said}");
        // A head with the same fault is nobody's business.
        repo.git(["checkout", "-q", "main"]);
        repo.git(["rm", "-rq", ".review"]);
        repo.commit("without");
        repo.git(["checkout", "-q", "feature"]);
        assert_eq!(found(&program.review("--target main").1), [""; 0]);
    }
    let (repo, program) = project(&[]);
    repo.git(["checkout", "-q", "main"]);
    repo.write(PACK, [b"id: a\n# caf", &[0xe9][..], b"\n"].concat()).commit("bytes");
    repo.git(["checkout", "-q", "feature"]);
    assert!(refuses(&program, "--target main").ends_with(":2: not UTF-8 text"));
}

#[cfg(unix)]
#[test]
fn a_link_is_no_pack_at_the_target_and_on_the_disk() {
    for (link, told) in [(".review", ".review"), (".review/rules", ".review/rules"), (PACK, PACK)] {
        let (repo, program) = project(&[]);
        std::fs::create_dir_all(repo.beside("outside/rules")).expect("a folder");
        std::fs::write(repo.beside("outside/rules/python-house.yml"), RULE).expect("a pack");
        let place = repo.root().join(link);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("folders");
        let at = match link {
            ".review" => "outside",
            ".review/rules" => "outside/rules",
            _ => "outside/rules/python-house.yml",
        };
        std::os::unix::fs::symlink(repo.beside(at), &place).expect("a link");
        let said = refuses(&program, "--target main --settings worktree");
        // The dismissals stand in the same folder.
        let is_told =
            said.starts_with(&format!("{told} is a link")) || link == ".review" && said.contains("cannot read");
        assert!(is_told, "{said}");
        repo.git(["checkout", "-q", "main"]);
        repo.commit("a link");
        repo.git(["checkout", "-q", "feature"]);
        let said = refuses(&program, "--target main");
        assert!(said.starts_with(&format!("{told} at ")) && said.contains("is a link"), "{said}");
        assert!(!said.contains("no-danger"), "nothing of it is shown: {said}");
    }
}

#[test]
fn a_submodule_is_no_pack() {
    for (path, told) in [(PACK, "is no file of the repository"), (".review/rules", "is no folder of the repository")] {
        let (repo, program) = project(&[]);
        let commit = repo.git(["rev-parse", "HEAD"]).trim().to_owned();
        repo.git(["checkout", "-q", "main"]);
        repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
        repo.git(["commit", "-q", "-m", "a submodule"]);
        repo.git(["checkout", "-q", "feature"]);
        let said = refuses(&program, "--target main");
        assert!(said.starts_with(&format!("{path} at ")) && said.contains(told), "{said}");
    }
}

#[test]
fn a_projects_rule_takes_no_other_rules_place_whatever_it_is_called() {
    let of_built_in = RULE.replace("no-danger", "mutable-default").replace("danger", "nothing");
    let (repo, program) = project(&[
        (".review/rules/python.yml", &of_built_in),
        (".review/rules/general.yml", &RULE.replace("category", "languages: [python]\ncategory")),
    ]);
    repo.write("app/b.py", "def add(item, items=[]):\n    items.append(item)\n").commit("more");
    assert_eq!(found(&program.review("--target main").1), ["project/no-danger high", "python/mutable-default medium"]);
    let listed = program.words("rules list --target main --format json").ended(0).json();
    let names: Vec<&str> =
        listed["rules"].as_array().expect("rules").iter().filter_map(|rule| rule["id"].as_str()).collect();
    for name in ["python/mutable-default", "project/mutable-default", "project/no-danger", "general/secret-added"] {
        assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{name}");
    }
}

#[test]
fn severities_are_set_by_the_project_and_the_user_and_count_for_the_gate() {
    let settings = "[rules]\nseverity = ['project/no-danger=critical', 'python=nit']\n";
    let (repo, program) = project(&[(PACK, RULE), (".review.toml", settings)]);
    repo.write("app/b.py", "def add(item, items=[]):\n    items.append(item)\n").commit("more");
    let (code, review) = program.review("--target main --fail-on critical");
    assert_eq!(
        (code, found(&review)),
        (1, vec!["project/no-danger critical".to_owned(), "python/mutable-default nit".to_owned()])
    );
    let program = program.with("REVIEW_RULES_SEVERITY", "project/no-danger=low,python/mutable-default=high");
    let (code, review) = program.review("--target main --fail-on critical");
    assert_eq!(
        (code, found(&review)),
        (0, vec!["python/mutable-default high".to_owned(), "project/no-danger low".to_owned()])
    );
    let shown = program.words("config --target main").ended(0);
    assert!(shown.text().contains("rules.severity      project/no-danger=critical, python=nit"), "{}", shown.text());
    let explained = program.words("rules explain no-danger --target main").ended(0);
    assert!(
        explained.text().contains("severity  low by the setting rules.severity, high of itself"),
        "{}",
        explained.text()
    );
    for (value, told) in [
        ("python/mutable-defualt=low", "rules.severity names \"python/mutable-defualt\", which is neither a rule"),
        (
            "python/mutable-default=loud",
            "REVIEW_RULES_SEVERITY: rules.severity cannot be \"python/mutable-default=loud\"",
        ),
    ] {
        let (_repo, program) = project(&[]);
        let program = program.with("REVIEW_RULES_SEVERITY", value);
        assert!(refuses(&program, "--target main").starts_with(told), "{}", refuses(&program, "--target main"));
    }
    // A rule of another project is in the settings of somebody who has several.
    let (_repo, program) = project(&[]);
    program
        .with("REVIEW_RULES_SEVERITY", "project/of-another=low")
        .with("REVIEW_RULES_OFF", "project")
        .words("--target main")
        .ended(0);
}

#[test]
fn a_rule_that_is_off_is_listed_as_off() {
    let (_repo, program) = project(&[(PACK, RULE), (".review.toml", "[rules]\noff = ['project']\n")]);
    assert_eq!(found(&program.review("--target main").1), [""; 0]);
    let listed = program.words("rules list --target main --format json").ended(0).json();
    let rule =
        listed["rules"].as_array().expect("rules").iter().find(|rule| rule["id"] == "project/no-danger").expect("it");
    assert_eq!(
        (&rule["off"], &rule["from"]["kind"], &rule["from"]["line"]),
        (&true.into(), &"project".into(), &1.into())
    );
    assert!(program.words("rules list --target main").text().contains("high      (off) "));
}

#[test]
fn a_users_packs_are_listed_and_may_replace_a_built_in_one() {
    let (repo, program) = project(&[]);
    let packs = program.home("packs");
    std::fs::create_dir_all(&packs).expect("a folder");
    std::fs::write(packs.join("python.yml"), RULE).expect("a pack");
    std::fs::write(packs.join("house.yml"), RULE.replace("category", "languages: [python, go]\ncategory"))
        .expect("a pack");
    let program = program.with_settings(&format!("[rules]\npacks = '{}'\n", packs.display()));
    assert_eq!(found(&program.review("--target main").1), ["python/no-danger high", "house/no-danger high"]);
    let listed = program.words("rules list --target main").ended(0);
    assert!(listed.text().contains(&format!("yours, {}", packs.join("house.yml").display())), "{}", listed.text());
    assert!(!listed.text().contains("python/mutable-default"), "{}", listed.text());
    std::fs::rename(packs.join("house.yml"), packs.join("general.yml")).expect("renamed");
    assert!(refuses(&program, "--target main").contains("general.yml: a pack of your own cannot be called general"));
    drop(repo);
}

#[test]
fn the_doctor_looks_at_the_packs_that_a_review_would_read() {
    let found = |on_main: &str| {
        let (_repo, program) = project(&[(PACK, on_main)]);
        let told = program.words("doctor --target main --no-model --format json").json();
        let check = told["checks"].as_array().expect("checks").iter().find(|check| check["check"] == "rules").cloned();
        check.unwrap_or_else(|| panic!("{told:#}")).to_string()
    };
    assert!(found(RULE).contains("1 rule pack of your own or the project's can be used"), "{}", found(RULE));
    let broken = found(&RULE.replace("high", "hgih"));
    assert!(broken.contains("python-house.yml at ") && broken.contains("unknown variant `hgih`"), "{broken}");
}

/// A folder with packs and fixtures, from paths and texts.
fn written(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(file, text).expect("a file");
    }
}

#[test]
fn packs_are_tested_on_their_fixtures() {
    let (repo, program) = project(&[]);
    let missing = refuses(&program, "rules test");
    assert!(missing.contains(".review/rules"), "{missing}");
    let hit = "python-house/no-danger/hit-call.py";
    let away = "python-house/no-danger/ok-away";
    written(
        &repo.root().join(".review/rules"),
        &[
            ("python-house.yml", RULE),
            (hit, "def f():\n    danger(1)  # HIT\n"),
            ("python-house/no-danger/ok-other.py", "def f():\n    safe(1)\n"),
            (&format!("{away}/base/app/a.py"), "danger(1)\ndanger(2)\n"),
            (&format!("{away}/head/app/a.py"), "danger(1)\n"),
        ],
    );
    assert!(
        program
            .words("rules test")
            .ended(0)
            .text()
            .ends_with(".review/rules: 1 rule, 3 fixtures: all as they should be\n")
    );
    repo.write(format!(".review/rules/{hit}"), "def f():\n    # HIT below\n    safe(1)\n");
    let ran = program.words("rules test .review/rules").ended(1);
    assert!(
        ran.text().starts_with("project/no-danger hit-call.py: nothing is found at new src/hit-call.py:3\n"),
        "{}",
        ran.text()
    );
    let told = program.words("rules test --format json").ended(1).json();
    assert_eq!(
        (&told["passed"], &told["rules"], &told["faults"][0]["fixture"]),
        (&false.into(), &1.into(), &"hit-call.py".into())
    );
    repo.write(".review/rules/python-house.yml", "id: a\n");
    assert!(refuses(&program, "rules test").contains("python-house.yml:1: rule project/a: not a rule: missing field"));
    // A folder of one's own, whose rules are called after its files.
    let own = repo.beside("mine");
    written(&own, &[("go-mine.yml", RULE), ("go-mine/no-danger/hit.go", "package a\n")]);
    let ran = program.words(&format!("rules test {}", own.display())).ended(1);
    assert!(ran.text().contains("go-mine/no-danger hit.go: a case is called hit-* or ok-*"), "{}", ran.text());
    std::fs::remove_file(own.join("go-mine.yml")).expect("removed");
    assert!(refuses(&program, &format!("rules test {}", own.display())).contains("holds no rules"));
}

#[test]
fn a_rule_is_explained_by_its_name_or_by_what_is_enough_of_it() {
    let (_repo, program) = project(&[(PACK, RULE)]);
    for name in ["project/no-danger", "no-danger"] {
        let told = program.words(&format!("rules explain {name} --target main")).ended(0);
        for words in [
            "Something dangerous is called",
            "It breaks things.",
            "python-house.yml at ",
            "pattern: danger($$$)",
            "review:allow(project/no-danger)",
        ] {
            assert!(told.text().contains(words), "{words}: {}", told.text());
        }
    }
    let json = program.words("rules explain general/secret-added --format json").ended(0).json();
    assert_eq!((&json["from"]["kind"], &json["text"]), (&"built-in".into(), &Value::Null));
    assert!(
        refuses(&program, "rules explain project/no-dnager --target main").contains("did you mean project/no-danger?")
    );
    assert!(refuses(&program, "rules explain mutable-default/x").contains("there is no rule"));
}

#[test]
fn a_run_with_rules_of_the_project_and_of_the_user_is_told_again_without_them() {
    let repo = shop();
    repo.git(["checkout", "-q", "main"]);
    repo.write(PACK, RULE.replace("danger", "percent"))
        .write(".review.toml", "[rules]\nseverity = ['python=low']\n")
        .commit("rules");
    repo.git(["checkout", "-q", "feature"]);
    let packs = repo.beside("packs");
    written(&packs, &[("go-mine.yml", RULE)]);
    let talk = Talk::scripted(&repo, session("own_rules", &steps("well")), Wire::Messages);
    let talk = talk.with("REVIEW_RULES_PACKS", packs.to_str().expect("a path"));
    let told = talk.run("");
    assert_eq!(told.code, 0, "{}", told.all());
    let kept = std::fs::read(crate::support::sitting::folder(&talk).join("review.json")).expect("it is kept");
    std::fs::remove_dir_all(repo.root()).expect("the repository is gone");
    std::fs::remove_dir_all(&packs).expect("the packs are gone");
    let mut command = talk.program.command(["replay", "last", "--format", "json"]);
    command.current_dir(talk.program.home("")).env_remove("REVIEW_RULES_PACKS");
    let ran = Ran::wait(command.spawn().expect("the program starts")).ended(0);
    assert_eq!(ran.stdout, kept);
    talk.server.finish();
}

#[test]
fn a_run_is_not_taken_up_with_other_rules_unless_as_it_was_recorded() {
    let repo = shop();
    let packs = repo.beside("packs");
    written(&packs, &[("go-mine.yml", RULE)]);
    let talk = Talk::scripted(&repo, session("other_rules", &hanging_at(steps("well"), 0)), Wire::Messages);
    let talk = talk.with("REVIEW_RULES_PACKS", packs.to_str().expect("a path"));
    killed(&talk, "", 1);
    written(&packs, &[("go-mine.yml", &RULE.replace("no-danger", "other"))]);
    assert!(refused(&talk, "").contains("the rules are others"));
    let ran = talk.program.words("--resume last --resume-as-recorded --format json").ended(0);
    assert!(ran.json()["coverage"]["notes"].to_string().contains("the rules are others"), "{}", ran.text());
    talk.server.finish();
}
