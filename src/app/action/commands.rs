//! Commands of a step to its runner, besides the annotations of a review. Main functions: [`mask`], [`annotate`].

use super::variables::{self, ActionVariables};
use crate::present::annotations::{command, plain};

/// The level of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnnotationLevel {
    Notice,
    Warning,
    Error,
}

/// The title of every annotation.
const TITLE: &str = "review";

/// Formats an annotation for the page of the run.
pub(super) fn annotate(level: AnnotationLevel, text: &str) -> String {
    let name = match level {
        AnnotationLevel::Notice => "notice",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Error => "error",
    };
    format!("{}\n", command(name, &[("title", TITLE)], &plain(text)))
}

/// Has the runner mask the key wherever it would show it. Empty outside a runner: there the command itself would show the key.
pub fn mask(given: &ActionVariables) -> String {
    match given.secret(variables::KEY.variable) {
        Some(key) if given.is_runner() => format!("{}\n", command("add-mask", &[], key.reveal())),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_to_a_runner_alone() {
        let given = |runner: &'static str| {
            ActionVariables::of(move |name| match name {
                "INPUT_KEY" => Some("a%b\nc".to_owned()),
                "GITHUB_ACTIONS" => Some(runner.to_owned()),
                _ => None,
            })
        };
        assert_eq!(mask(&given("true")), "::add-mask::a%25b%0Ac\n");
        assert_eq!(mask(&given("")), "");
        assert_eq!(mask(&ActionVariables::default()), "");
    }

    #[test]
    fn what_is_said_stays_one_line() {
        let line = annotate(AnnotationLevel::Warning, "a\n::error::b % \u{1b}[31m");
        assert!(line.starts_with("::warning title=review::a%0A") && line.ends_with('\n'), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
    }
}
