//! Examples of the built-in rules: code that a rule reports, and code that it leaves alone. Main function: [`examples_of`].
//!
//! They are the smallest fixtures of each rule, so they are known to be right. A test keeps `examples.txt` equal to them:
//! `REVIEW_REFRESH=1 cargo test --lib rules::examples`.

use crate::domain::rule_info::RuleExamples;

/// Sections that begin with `=== NAME bad FILE` or `=== NAME good FILE`. It is read only when a rule is explained.
const TEXT: &str = include_str!("examples.txt");

/// Returns the examples of a rule; none for a rule that is not about the text of one file.
pub(super) fn examples_of(rule: &str) -> RuleExamples {
    let section = |kind: &str| {
        let head = format!("=== {rule} {kind} ");
        let start = TEXT.find(&head)?;
        let body = TEXT.get(start..)?.split_once('\n')?.1;
        Some(body.split("\n=== ").next().unwrap_or(body).trim_end().to_owned())
    };
    RuleExamples { bad: section("bad"), good: section("good") }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::rules::PACKS;

    /// The size of an example in bytes, and in lines.
    const MOST: (usize, usize) = (900, 24);

    /// Finds the smallest fixture of a kind that is one small text file.
    fn smallest(folder: &Path, kind: &str) -> Option<(String, String)> {
        let mut all: Vec<(String, String)> = fs::read_dir(folder)
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let text = fs::read_to_string(entry.path()).ok()?;
                let fits = text.len() <= MOST.0 && text.lines().count() <= MOST.1 && !text.contains("\n=== ");
                (name.starts_with(kind) && fits && !text.trim().is_empty()).then_some((name, text))
            })
            .collect();
        all.sort_by_key(|(name, text)| (text.len(), name.clone()));
        all.into_iter().next()
    }

    /// Leaves out the comments that say on which lines the rule matches.
    fn without_marks(text: &str) -> String {
        let unmarked = |line: &str| {
            let bare = line.trim_end().trim_end_matches(" below").trim_end_matches(" */");
            let Some(code) = bare.strip_suffix("HIT") else { return Some(line.to_owned()) };
            let code = code.trim_end().trim_end_matches(['#', '/', '*']).trim_end();
            (!code.is_empty()).then(|| code.to_owned())
        };
        text.lines().filter_map(unmarked).collect::<Vec<_>>().join("\n")
    }

    fn generate() -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut out = String::new();
        for pack in PACKS {
            let fixtures = root.join("fixtures/rules").join(pack.name);
            let mut rules: Vec<_> = fs::read_dir(fixtures).unwrap().flatten().map(|entry| entry.path()).collect();
            rules.sort();
            for rule in rules {
                let id = rule.file_name().unwrap().to_str().unwrap();
                for (kind, prefix) in [("bad", "hit-"), ("good", "ok-")] {
                    if let Some((name, text)) = smallest(&rule, prefix) {
                        out.push_str(&format!(
                            "=== {}/{id} {kind} {name}\n{}\n",
                            pack.name,
                            without_marks(&text).trim_matches('\n')
                        ));
                    }
                }
            }
        }
        out
    }

    #[test]
    fn examples_are_the_fixtures() {
        crate::generated::assert_file("src/rules/examples.txt", &generate());
        let known = examples_of("python/is-with-literal");
        assert!(known.bad.unwrap().contains(" is ") && known.good.is_some());
        assert_eq!(examples_of("python/no-such"), RuleExamples::default());
    }
}
