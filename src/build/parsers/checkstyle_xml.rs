//! Checkstyle's XML, which many linters write (`phpcs`, `ktlint`, `shellcheck`, `eslint`, `detekt`). Main function: [`parse`].
//!
//! `error`, also where no severity is written, is an error and `warning` a warning; `info` and `ignore` inform.

use super::super::log::Log;
use super::Parsed;
use super::machine::{digits, filled, report, severity};
use super::xml::{XmlElement, xml_roots};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the errors of all files.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for root in xml_roots(log, &["checkstyle"]) {
        for file in &root.children {
            let errors: &[XmlElement] = if file.name == "file" { &file.children } else { std::slice::from_ref(file) };
            for error in errors {
                if let Some(found) = diagnostic(error) {
                    let found = Diagnostic { file: filled(file.attribute("name")), ..found };
                    parsed.add(log, error.lines.clone(), found);
                }
            }
        }
    }
    parsed
}

fn diagnostic(error: &XmlElement) -> Option<Diagnostic> {
    let word = error.attribute("severity");
    let severity = if word.is_empty() { DiagnosticSeverity::Error } else { severity(word) };
    match error.name.as_str() {
        "error" => Some(Diagnostic {
            line: digits(error.attribute("line")),
            column: digits(error.attribute("column")),
            ..report(severity, error.attribute("message"), error.attribute("source"))
        }),
        // Checkstyle itself failed: the text is a stack trace, whose first line says why.
        "exception" => {
            let reason = error.text.trim().lines().next().unwrap_or_default();
            Some(report(DiagnosticSeverity::Error, reason, "exception"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn errors_of_several_tools() {
        let parsed = parse(&fixture("checkstyle_xml/shellcheck"));
        let found = rows(&parsed);
        assert_eq!(found.len(), 8);
        assert_eq!(
            found[2],
            "Info a.sh:4:5-- ShellCheck.SC2006: Use $(...) notation instead of legacy backticks `...`."
        );
        assert_eq!(
            found[6],
            "Error b.sh:2:10-- ShellCheck.SC1073: Couldn't parse this then clause. Fix to allow more checks."
        );
        assert_eq!(log_lines(&parsed)[6], (12, 12));
        let found = rows(&parse(&fixture("checkstyle_xml/phpcs")));
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], "Error /w/a.php:2:1-- PEAR.Commenting.FileComment.Missing: Missing file doc comment");
        assert_eq!(parse(&fixture("checkstyle_xml/success")), Parsed::default());
    }

    #[test]
    fn checkstyle_itself() {
        let found = rows(&parse(&fixture("checkstyle_xml/checkstyle")));
        let expected = [
            "Warning /w/src/main/java/App.java:3:1-- com.puppycrawl.tools.checkstyle.checks.javadoc.MissingJavadocTypeCheck: Missing a Javadoc comment.",
            "Error /w/src/main/java/App.java:9:--- com.puppycrawl.tools.checkstyle.checks.sizes.LineLengthCheck: Line is longer than 100 characters (found 131).",
            "Error /w/src/main/java/Broken.java:-:--- exception: com.puppycrawl.tools.checkstyle.api.CheckstyleException: IllegalStateException occurred while parsing file /w/src/main/java/Broken.java.",
        ];
        assert_eq!(found, expected);
    }
}
