//! Restores the indentation of a replacement whose quote lost it. Main function: [`reindent`].
//!
//! Quotes often lose the indentation of their first line, or that of all lines; a replacement then lost the same. It is restored only if
//! that is certain.

use crate::domain::place::LineRange;
use crate::domain::text::{FileText, normal_line, quote_forms};

/// Adds the indentation that `quote` lacks compared to its lines; `None` if that is not certain.
pub(super) fn reindent(text: &FileText, lines: LineRange, quote: &str, replacement: &str) -> Option<String> {
    let standing: Vec<&str> = text.lines(lines).map(|(_, line)| normal_line(line)).collect();
    let same = |a: &str, b: &str| a.trim_start() == b.trim_start();
    let form = quote_forms(quote).into_iter().find(|form| {
        form.lines.len() == standing.len() && form.lines.iter().zip(&standing).all(|(quoted, line)| same(quoted, line))
    })?;
    let mut lost = Vec::new();
    for (quoted, line) in form.lines.iter().zip(&standing).filter(|(quoted, _)| !quoted.is_empty()) {
        lost.push(indentation(line).strip_suffix(indentation(quoted))?);
    }
    let (first, rest) = lost.split_first()?;
    let new: Vec<&str> = replacement.lines().collect();
    if rest.is_empty() {
        let later = new.iter().skip(1).filter(|line| !line.trim().is_empty());
        let shallowest = later.map(|line| indentation(line).len()).min();
        // It was written relative to the quote if a later line is indented less than the quote in the file; else it may be either.
        return shallowest.is_none_or(|depth| depth < first.len()).then(|| add_indentation(&new, first, first));
    }
    let is_even = rest.iter().all(|more| *more == rest[0]);
    let is_trimmed =
        rest[0].is_empty() && new.first().is_some_and(|line| indentation(line) == indentation(&form.lines[0]));
    (is_even && (rest[0] == *first || is_trimmed)).then(|| add_indentation(&new, first, rest[0]))
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn add_indentation(lines: &[&str], first: &str, rest: &str) -> String {
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !line.trim().is_empty() {
            out.push_str(if index == 0 { first } else { rest });
            out.push_str(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn f() {\n    if ready {\n        launch();\n    }\n}\n";

    fn given(start: u32, end: u32, quote: &str, replacement: &str) -> Option<String> {
        reindent(&FileText::new(FILE, "UTF-8"), LineRange::new(start, end).unwrap(), quote, replacement)
    }

    #[test]
    fn what_all_lines_lost_is_put_back() {
        let got = given(2, 4, "if ready {\n    launch();\n}", "if ready && safe {\n    launch();\n\n}");
        assert_eq!(got.unwrap(), "    if ready && safe {\n        launch();\n\n    }");
        assert_eq!(given(3, 3, "launch();", "launch()?;").unwrap(), "        launch()?;");
        assert_eq!(
            given(3, 3, "launch();", "try {\n    launch();\n}").unwrap(),
            "        try {\n            launch();\n        }"
        );
    }

    #[test]
    fn what_only_the_first_line_lost_is_put_back_there() {
        let got = given(2, 4, "if ready {\n        launch();\n    }", "if safe {\n        launch();\n    }");
        assert_eq!(got.unwrap(), "    if safe {\n        launch();\n    }");
    }

    #[test]
    fn what_is_not_certain_is_left() {
        assert_eq!(
            given(2, 4, "if ready {\n        launch();\n    }", "    if safe {\n        launch();\n    }"),
            None
        );
        assert_eq!(given(2, 4, "if ready {\n  launch();\n}", "if safe {\n  launch();\n}"), None, "another width");
        assert_eq!(given(3, 3, "launch();", "launch()\n            .twice();"), None, "relative or not");
        assert_eq!(given(3, 3, "\t\tlaunch();", "\t\tlaunch()?;"), None, "tabs for spaces");
    }
}
