//! Answers of the build tool, for people. Main functions: [`answer`], [`tools`], [`log`].

use super::columns::align_columns;
use crate::domain::build::{BuildAnswer, BuildDiagnostic, BuildToolList, LogPage};
use crate::domain::text::{count_noun, strip_block, strip_line};

/// Renders the answer of a run: one diagnostic a line, then one line that sums up.
pub fn answer(tool: &str, answer: &BuildAnswer) -> String {
    let mut text = String::new();
    let lists = [("error", &answer.errors), ("warning", &answer.warnings)];
    for (word, list) in lists {
        for diagnostic in list.iter().flatten() {
            text.push_str(&line(word, diagnostic));
        }
    }
    let counts = lists.map(|(word, list)| (word, list.as_ref().map_or(0, Vec::len)));
    let mut parts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| count_noun(*count, word)).collect();
    if let Some(summary) = &answer.summary {
        let numbers = [("passed", summary.passed), ("failed", summary.failed), ("skipped", summary.skipped)];
        let told = numbers.iter().filter(|(word, count)| *count > 0 || *word == "passed");
        parts.push(format!("tests: {}", told.map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")));
    }
    let end = match (answer.success, answer.run_id.is_empty()) {
        (true, _) => "passed",
        (false, false) => "failed",
        (false, true) => "was not run",
    };
    let details = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    text.push_str(&format!("{} {end}{details}\n", strip_line(tool)));
    if !answer.success && !answer.run_id.is_empty() {
        text.push_str(&format!("log: review build log {}\n", answer.run_id));
    }
    text
}

fn line(word: &str, diagnostic: &BuildDiagnostic) -> String {
    let mut place = diagnostic.file.as_deref().map(strip_line).unwrap_or_default();
    for number in [diagnostic.line, diagnostic.column].into_iter().map_while(|number| number) {
        place.push_str(&format!(":{number}"));
    }
    if !place.is_empty() {
        place.push_str(": ");
    }
    let code = diagnostic.code.as_deref().map(|code| format!("[{}]", strip_line(code))).unwrap_or_default();
    format!("{place}{word}{code}: {}\n", strip_block(&diagnostic.message).replace('\n', "\n    "))
}

/// Renders the list of tools.
pub fn tools(list: &BuildToolList) -> String {
    if list.tools.is_empty() {
        return "no tool applies here (review build list --all shows all)\n".to_owned();
    }
    let rows: Vec<_> = list.tools.iter().map(|tool| [strip_line(&tool.name), strip_line(&tool.description)]).collect();
    align_columns(&rows, |_| 1)
}

/// Renders lines of a log.
pub fn log(page: &LogPage) -> String {
    page.lines.iter().flat_map(|line| [strip_line(line), "\n".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::build::BuildToolRow;
    use crate::domain::diagnostic::TestSummary;

    #[test]
    fn a_run_is_a_line_for_each_diagnostic_and_one_for_all() {
        let error = BuildDiagnostic {
            message: "mismatched types\nexpected u8".to_owned(),
            file: Some("src/a\u{1b}[31m.rs".to_owned()),
            line: Some(3),
            column: Some(5),
            code: Some("E0308".to_owned()),
        };
        let warning = BuildDiagnostic { file: None, line: None, column: None, code: None, ..error.clone() };
        let failed = BuildAnswer {
            success: false,
            errors: Some(vec![error]),
            warnings: Some(vec![warning]),
            run_id: "abc".to_owned(),
            summary: Some(TestSummary { passed: 2, failed: 1, total: 3, ..TestSummary::default() }),
            notes: Vec::new(),
            hint: None,
        };
        let passed = BuildAnswer { success: true, errors: None, warnings: None, summary: None, ..failed.clone() };
        let list =
            BuildToolList { tools: vec![BuildToolRow { name: "make".to_owned(), description: "Run make".to_owned() }] };
        let page = LogPage {
            lines: vec!["one".to_owned(), "two".to_owned()],
            start_line: 1,
            end_line: 2,
            total_lines: 2,
            has_more: false,
        };
        let parts = [answer("cargo.test", &failed), answer("cargo.test", &passed), tools(&list), log(&page)];
        insta::assert_snapshot!(parts.join("---\n"));
    }
}
