//! One planted defect a language: it is found, and git itself says that each quote stands where the anchor says.

use std::path::Path;

use serde_json::Value;

use crate::support::{Program, TestRepo};

struct Planted {
    language: &'static str,
    path: &'static str,
    before: &'static str,
    after: &'static str,
    rule: &'static str,
}

const PLANTED: &[Planted] = &[
    Planted {
        language: "Rust",
        path: "src/level.rs",
        before: "//! Levels.\n\n/// Whether a level is known.\npub fn known(value: f64) -> bool {\n    !value.is_nan()\n}\n",
        after: "//! Levels.\n\n/// Whether a level is known.\npub fn known(value: f64) -> bool {\n    value != f64::NAN\n}\n",
        rule: "rust/compared-with-nan",
    },
    Planted {
        language: "Python",
        path: "app/basket.py",
        before: "def add(item, items):\n    items.append(item)\n    return items\n",
        after: "import os\n\n\ndef add(\n    item,\n    items=[],\n):\n    items.append(item)\n    return items\n",
        rule: "python/mutable-default",
    },
    Planted {
        language: "JavaScript",
        path: "lib/parse.js",
        before: "export function known(text) {\r\n  return !Number.isNaN(parse(text));\r\n}\r\n",
        after: "export function known(text) {\r\n  return parse(text) !== NaN;\r\n}\r\n",
        rule: "javascript/compared-with-nan",
    },
    Planted {
        language: "TypeScript",
        path: "web/user.ts",
        before: "export function nameOf(user?: User): string {\n  return user?.name ?? '';\n}\n",
        after: "export function nameOf(user?: User): string {\n  const name = user?.name!;\n  return name;\n}\n",
        rule: "typescript/asserted-optional-chain",
    },
    Planted {
        language: "Go",
        path: "store/store.go",
        before: "package store\n\nfunc (s *Store) Get() int {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.n\n}\n",
        after: "package store\n\nfunc (s *Store) Get() int {\n\ts.mu.Lock()\n\tdefer s.mu.Lock()\n\treturn s.n\n}\n",
        rule: "go/deferred-lock",
    },
];

/// The lines of a file as git has it, without their ends.
fn lines_by_git(repo: &TestRepo, at: &str, path: &str) -> Vec<String> {
    let text = repo.git(["show", &format!("{at}:{path}")]);
    text.split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

/// Holds every anchor of a review to git; says how many there were.
fn hold_to_git(repo: &TestRepo, review: &Value) -> usize {
    let mut held = 0;
    for finding in review["findings"].as_array().expect("findings") {
        for anchor in finding["anchors"].as_array().expect("anchors") {
            let side = if anchor["side"] == "old" { "merge_base" } else { "head" };
            let at = review["change"][side].as_str().expect("a commit");
            let lines = lines_by_git(repo, at, anchor["path"].as_str().expect("a path"));
            assert_eq!(anchor["kind"], "lines", "{finding:#}");
            let line = |name: &str| usize::try_from(anchor[name].as_u64().expect("a line")).expect("a small number");
            let there = lines[line("start_line") - 1..line("end_line")].join("\n");
            assert_eq!(anchor["quote"].as_str(), Some(there.as_str()), "{finding:#}");
            held += 1;
        }
    }
    held
}

#[test]
fn a_planted_defect_of_each_language_is_found_where_git_has_it() {
    for planted in PLANTED {
        let Planted { language, path, before, after, rule } = planted;
        let repo = TestRepo::new();
        repo.write(path, before).write("README", "read me\n").commit("begin");
        repo.branch("feature").write(path, after).commit("plant");
        let program = Program::in_folder(repo.root());
        let (code, review) = program.review("--target main --hints");
        assert_eq!((code, review["outcome"].as_str()), (0, Some("complete")), "{language}: {review:#}");
        let found: Vec<&Value> = review["findings"].as_array().expect("findings").iter().collect();
        assert_eq!(found.len(), 1, "{language}: {review:#}");
        assert_eq!(found[0]["origin"]["name"], *rule, "{language}");
        assert_eq!(found[0]["anchors"][0]["path"], *path, "{language}");
        assert!(hold_to_git(&repo, &review) >= 1, "{language}");
    }
}

#[test]
fn all_languages_at_once_and_far_down_in_renamed_files() {
    let repo = TestRepo::new();
    let filler = |path: &str| {
        let mark = if Path::new(path).extension().is_some_and(|extension| extension == "py") { "#" } else { "//" };
        (0..120).map(|n| format!("{mark} line {n} of the file\n")).collect::<Vec<_>>().concat()
    };
    for Planted { path, before, .. } in PLANTED {
        repo.write(path, format!("{before}{}", filler(path)));
    }
    repo.commit("begin");
    repo.branch("feature");
    for Planted { path, before, after, .. } in PLANTED {
        repo.remove(path);
        repo.write(format!("moved/{path}"), format!("{before}{}{after}", filler(path)));
    }
    repo.commit("move and plant");
    let program = Program::in_folder(repo.root());
    let (code, review) = program.review("--target main --hints");
    assert_eq!((code, review["outcome"].as_str()), (0, Some("complete")), "{review:#}");
    let statuses: Vec<_> =
        review["change"]["files"].as_array().expect("files").iter().map(|file| &file["status"]).collect();
    assert_eq!(statuses, ["renamed"; 5], "{review:#}");
    let mut rules: Vec<&str> = PLANTED.iter().map(|planted| planted.rule).collect();
    rules.sort_unstable();
    let found = review["findings"].as_array().expect("findings").iter();
    let mut told: Vec<&str> = found.filter_map(|finding| finding["origin"]["name"].as_str()).collect();
    told.sort_unstable();
    assert_eq!(told, rules);
    assert!(hold_to_git(&repo, &review) >= PLANTED.len());
}

#[test]
fn what_was_deleted_is_anchored_in_the_old_file() {
    let repo = TestRepo::new();
    let rules = "class Rules {\n    @PreAuthorize(\"hasAuthority('ADMIN')\")\n    public void deleteRule(String id) {\n        service.delete(id);\n    }\n}\n";
    repo.write("src/main/java/Rules.java", rules).commit("begin");
    repo.branch("feature")
        .write("src/main/java/Rules.java", rules.replace("    @PreAuthorize(\"hasAuthority('ADMIN')\")\n", ""));
    repo.commit("lose the check");
    let (code, review) = Program::in_folder(repo.root()).review("--target main --hints");
    assert_eq!((code, review["outcome"].as_str()), (0, Some("complete")));
    let findings = review["findings"].as_array().expect("findings");
    assert!(!findings.is_empty(), "{review:#}");
    assert_eq!(findings[0]["anchors"][0]["side"], "old", "{review:#}");
    assert!(hold_to_git(&repo, &review) >= 1);
}
