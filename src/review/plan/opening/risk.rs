//! Risk of a changed file, estimated without reading all of it. Main function: [`rank_files`].
//!
//! It decides which diffs a model is shown when not all of them fit, never whether something is a defect. The points:
//!
//! | what | points |
//! | --- | --- |
//! | code | 60 |
//! | a kind that is not known | 40 |
//! | what runs or builds things (CI, containers, infrastructure, scripts) | 60 |
//! | settings and data | 25 |
//! | tests | 20 |
//! | documents | 5 |
//! | a file that is gone: what used it is in other files | 20 less |
//! | a path about permissions, money, secrets, stored data … | 30 |
//! | changed lines | 4 for each doubling, at most 40 (tests and documents: a quarter) |
//! | removed lines that look like a guard | 6 each, at most 30 |
//! | the worst lead | nit 5, low 10, medium 25, high 45, critical 60 |
//!
//! Equal points keep the order of the change.

use std::collections::HashMap;

use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::text::lines_with_ends;
use crate::prompt::LeadVars;

/// Role of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileRole {
    Code,
    Operations,
    Settings,
    Test,
    Document,
    Unknown,
}

/// Words in paths of code where a defect is most costly.
const DELICATE: &[&str] = &[
    "access",
    "account",
    "acl",
    "admin",
    "audit",
    "auth",
    "authn",
    "authorization",
    "authz",
    "billing",
    "cert",
    "cipher",
    "cookie",
    "cors",
    "credential",
    "credentials",
    "crypto",
    "csrf",
    "decrypt",
    "deserialize",
    "encrypt",
    "escape",
    "exec",
    "grant",
    "identity",
    "invoice",
    "jwt",
    "key",
    "keys",
    "lock",
    "login",
    "migrate",
    "migration",
    "migrations",
    "money",
    "oauth",
    "parser",
    "passwd",
    "password",
    "pay",
    "payment",
    "payments",
    "permission",
    "permissions",
    "policy",
    "price",
    "query",
    "rbac",
    "role",
    "roles",
    "saml",
    "sandbox",
    "sanitize",
    "schema",
    "secret",
    "secrets",
    "security",
    "session",
    "sessions",
    "sign",
    "signature",
    "sql",
    "sso",
    "sudo",
    "tenant",
    "tls",
    "token",
    "tokens",
    "transaction",
    "upload",
    "user",
    "users",
    "validate",
    "validation",
    "validator",
];

/// Words in removed lines that checked something.
const GUARDS: &[&str] = &[
    "if",
    "assert",
    "check",
    "ensure",
    "guard",
    "lock",
    "mutex",
    "raise",
    "require",
    "sanitize",
    "throw",
    "throws",
    "unless",
    "valid",
    "validate",
    "verify",
    "escape",
    "authorize",
    "permission",
    "catch",
    "except",
    "rescue",
    "finally",
    "defer",
    "limit",
    "timeout",
];

/// Maximum number of patch lines that are searched for removed lines.
const LOOKED_AT: usize = 4_000;

/// Returns the places of all files, the riskiest first. Files without lines to review come last.
pub(super) fn rank_files(change: &ChangeSet, leads: &[LeadVars]) -> Vec<usize> {
    let worst = worst_leads(leads);
    let points = |file: &FileChange| {
        let lead = if worst.is_empty() { None } else { worst.get(&*file.path.display_name()).copied() };
        (file.reviewable(), risk(file, lead))
    };
    let mut ranked: Vec<((bool, u32), usize)> = change.files.iter().map(points).zip(0..).collect();
    ranked.sort_by_key(|(points, at)| (std::cmp::Reverse(*points), *at));
    ranked.into_iter().map(|(_, at)| at).collect()
}

/// Returns the worst lead of each path.
fn worst_leads(leads: &[LeadVars]) -> HashMap<&str, Severity> {
    let mut worst: HashMap<&str, Severity> = HashMap::new();
    for lead in leads {
        let is_lines = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let numbered = lead.place.rsplit_once(':').filter(|(_, lines)| is_lines(lines));
        let path = numbered.map_or(lead.place.as_str(), |(path, _)| path);
        // The worst severity is the least.
        worst.entry(path).and_modify(|known| *known = lead.severity.min(*known)).or_insert(lead.severity);
    }
    worst
}

/// Returns the points of one file.
fn risk(file: &FileChange, lead: Option<Severity>) -> u32 {
    let words = words_of(&file.path);
    let kind = kind(file, &words);
    let base = match kind {
        FileRole::Code | FileRole::Operations => 60,
        FileRole::Unknown => 40,
        FileRole::Settings => 25,
        FileRole::Test => 20,
        FileRole::Document => 5,
    };
    let harmless = matches!(kind, FileRole::Test | FileRole::Document);
    let delicate = words.iter().any(|word| DELICATE.contains(&word.as_str()));
    let lines = file.additions.saturating_add(file.deletions);
    let size = (4 * (u32::BITS - lines.leading_zeros())).min(40);
    let lead = match lead {
        None => 0,
        Some(Severity::Nit) => 5,
        Some(Severity::Low) => 10,
        Some(Severity::Medium) => 25,
        Some(Severity::High) => 45,
        Some(Severity::Critical) => 60,
    };
    let gone = if file.status == FileStatus::Deleted { 20 } else { 0 };
    let delicate = if delicate && !harmless { 30 } else { 0 };
    let changed = if harmless { size / 4 } else { size + removed_guards(file) };
    (base + delicate + changed + lead).saturating_sub(gone)
}

/// Counts removed lines that look like a guard. A deleted file has removed everything, which is not significant.
fn removed_guards(file: &FileChange) -> u32 {
    if file.deletions == 0 || file.status == FileStatus::Deleted {
        return 0;
    }
    let text = &file.patch.text[..file.patch.text.floor_char_boundary(LOOKED_AT)];
    let removed = lines_with_ends(text).filter_map(|line| line.strip_prefix('-'));
    let is_guard = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        words.any(|word| GUARDS.iter().any(|guard| word.eq_ignore_ascii_case(guard)))
    };
    let guards = u32::try_from(removed.filter(is_guard).take(5).count()).unwrap_or(5);
    6 * guards
}

/// Returns the words of a path in lower case: `src/userAuth_v2.rs` has `src`, `user`, `auth`, `v2`, `rs`.
fn words_of(path: &RepoPath) -> Vec<String> {
    let text = String::from_utf8_lossy(path.as_bytes());
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && was_lower;
        was_lower = c.is_lowercase();
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn kind(file: &FileChange, words: &[String]) -> FileRole {
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let path = String::from_utf8_lossy(file.path.as_bytes()).to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let starts = |any: &[&str]| any.iter().any(|start| path.starts_with(start));
    let operations =
        starts(&[".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".ci/", ".husky/"])
            || matches!(name, ".gitlab-ci.yml" | "jenkinsfile" | "azure-pipelines.yml" | "procfile" | "action.yml")
            || name.starts_with("docker-compose")
            || has(&["k8s", "kubernetes", "helm", "terraform", "ansible"]);
    if operations {
        return FileRole::Operations;
    }
    if has(&[
        "test",
        "tests",
        "spec",
        "specs",
        "testdata",
        "fixture",
        "fixtures",
        "mock",
        "mocks",
        "snapshots",
        "e2e",
        "bench",
        "benches",
    ]) {
        return FileRole::Test;
    }
    match file.language {
        Some("dockerfile" | "make" | "cmake" | "shell" | "powershell" | "hcl" | "starlark" | "batch") => {
            FileRole::Operations
        }
        Some("markdown" | "rst" | "text" | "tex" | "asciidoc") => FileRole::Document,
        Some("json" | "yaml" | "toml" | "xml" | "ini" | "properties" | "csv" | "nix") => FileRole::Settings,
        Some(_) => FileRole::Code,
        None if matches!(name, "license" | "readme" | "changelog" | "authors" | "notice" | "copying") => {
            FileRole::Document
        }
        None => FileRole::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{change, edited};
    use super::*;

    fn order(paths: &[&str]) -> Vec<String> {
        let change = change(paths.iter().map(|path| edited(path, 4)).collect());
        rank_files(&change, &[]).into_iter().map(|at| change.files[at].path.to_string()).collect()
    }

    #[test]
    fn code_goes_before_settings_tests_and_documents() {
        assert_eq!(
            order(&["README.md", "config.yaml", "src/list.rs", "strange", "tests/list.rs"]),
            ["src/list.rs", "strange", "config.yaml", "tests/list.rs", "README.md"]
        );
    }

    #[test]
    fn delicate_paths_and_what_runs_in_ci_go_first() {
        assert_eq!(
            order(&[
                "src/list.rs",
                "src/userAuth.rs",
                "docs/auth.md",
                ".github/workflows/ci.yml",
                "db/migrations/1.sql"
            ]),
            ["src/userAuth.rs", "db/migrations/1.sql", "src/list.rs", ".github/workflows/ci.yml", "docs/auth.md"]
        );
    }

    #[test]
    fn larger_changes_removed_guards_and_leads_weigh_more() {
        let mut guarded = edited("src/c.rs", 4);
        guarded.deletions = 1;
        guarded.patch.text = "@@ -1,2 +1 @@\n-    if !allowed(user) { return Err(Denied) }\n a\n".into();
        let change = change(vec![edited("src/a.rs", 4), edited("src/b.rs", 400), guarded, edited("tests/d.rs", 4)]);
        let names = |leads: &[LeadVars]| rank_files(&change, leads);
        assert_eq!(names(&[]), [1, 2, 0, 3]);
        let lead = LeadVars {
            id: "L1".into(),
            rule: "rust/x".into(),
            severity: Severity::Critical,
            category: crate::domain::finding::Category::Testing,
            place: "tests/d.rs:3-4 (before the change)".into(),
            title: "t".into(),
            body: String::new(),
        };
        assert_eq!(names(&[lead]), [1, 3, 2, 0]);
    }

    #[test]
    fn a_file_that_is_gone_matters_less_than_one_that_changed() {
        let mut gone = edited("src/a.rs", 4);
        gone.status = FileStatus::Deleted;
        assert_eq!(rank_files(&change(vec![gone, edited("src/b.rs", 4)]), &[]), [1, 0]);
    }

    #[test]
    fn files_without_lines_to_review_come_last() {
        let mut locked = edited("Cargo.lock", 4000);
        locked.generated = Some(crate::domain::change::Generated::LockFile);
        let change = change(vec![locked, edited("README.md", 1)]);
        assert_eq!(rank_files(&change, &[]), [1, 0]);
    }

    #[test]
    fn words_of_a_path_are_split_as_people_write_them() {
        let words = words_of(&RepoPath::parse("src/userAuth_v2-HTTP.rs").unwrap());
        assert_eq!(words, ["src", "user", "auth", "v2", "http", "rs"]);
    }
}
