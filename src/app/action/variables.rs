//! The environment variables of a workflow step, as of the start of the process. Main type: [`ActionVariables`].
//!
//! Parsing their values belongs in [`inputs`](super::inputs) and [`event`](super::event).

use std::fmt;

use crate::domain::secret::Secret;

/// An input of the Action, and the variable that brings it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The name in `action.yml`.
    pub name: &'static str,
    /// The variable that carries the value.
    pub variable: &'static str,
}

/// The forge's token; it is read with the forge's other variables.
pub const TOKEN: Input = input("github-token", "GITHUB_TOKEN");

pub(super) const MODEL: Input = input("model", "INPUT_MODEL");
pub(super) const KEY: Input = input("key", "INPUT_KEY");
pub(super) const BASE_URL: Input = input("base-url", "INPUT_BASE_URL");
pub(super) const CONTEXT_WINDOW: Input = input("context-window", "INPUT_CONTEXT_WINDOW");
pub(super) const PULL: Input = input("pull", "INPUT_PULL");
pub(super) const FAIL_ON: Input = input("fail-on", "INPUT_FAIL_ON");
pub(super) const REQUEST_CHANGES_ON: Input = input("request-changes-on", "INPUT_REQUEST_CHANGES_ON");
pub(super) const COMMENT_ON: Input = input("comment-on", "INPUT_COMMENT_ON");
pub(super) const MAX_COMMENTS: Input = input("max-comments", "INPUT_MAX_COMMENTS");
pub(super) const MIN_SEVERITY: Input = input("min-severity", "INPUT_MIN_SEVERITY");
pub(super) const VERIFY: Input = input("verify", "INPUT_VERIFY");
pub(super) const MIN_CONFIDENCE: Input = input("min-confidence", "INPUT_MIN_CONFIDENCE");
pub(super) const POST: Input = input("post", "INPUT_POST");
pub(super) const FORMATS: Input = input("formats", "INPUT_FORMATS");
pub(super) const INCLUDE: Input = input("include", "INPUT_INCLUDE");
pub(super) const EXCLUDE: Input = input("exclude", "INPUT_EXCLUDE");
pub(super) const INSTRUCTIONS: Input = input("instructions", "INPUT_INSTRUCTIONS");
pub(super) const MAX_TURNS: Input = input("max-turns", "INPUT_MAX_TURNS");
pub(super) const MAX_TOKENS: Input = input("max-tokens", "INPUT_MAX_TOKENS");
pub(super) const MAX_COST: Input = input("max-cost", "INPUT_MAX_COST");
pub(super) const TIMEOUT: Input = input("timeout", "INPUT_TIMEOUT");
pub(super) const DRAFTS: Input = input("drafts", "INPUT_DRAFTS");
pub(super) const ON_ERROR: Input = input("on-error", "INPUT_ON_ERROR");
pub(super) const ARTIFACT: Input = input("artifact", "INPUT_ARTIFACT");

/// Every input that the program reads. The others are for the step that installs it.
pub const INPUTS: &[Input] = &[
    MODEL,
    KEY,
    BASE_URL,
    CONTEXT_WINDOW,
    TOKEN,
    PULL,
    FAIL_ON,
    REQUEST_CHANGES_ON,
    COMMENT_ON,
    MAX_COMMENTS,
    MIN_SEVERITY,
    VERIFY,
    MIN_CONFIDENCE,
    POST,
    FORMATS,
    INCLUDE,
    EXCLUDE,
    INSTRUCTIONS,
    MAX_TURNS,
    MAX_TOKENS,
    MAX_COST,
    TIMEOUT,
    DRAFTS,
    ON_ERROR,
    ARTIFACT,
];

const fn input(name: &'static str, variable: &'static str) -> Input {
    Input { name, variable }
}

pub(super) const EVENT_NAME: &str = "GITHUB_EVENT_NAME";
pub(super) const EVENT_PATH: &str = "GITHUB_EVENT_PATH";
pub(super) const REPOSITORY: &str = "GITHUB_REPOSITORY";
pub(super) const TEMP: &str = "RUNNER_TEMP";
pub(super) const OUTPUT: &str = "GITHUB_OUTPUT";
pub(super) const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
pub(super) const WORKSPACE: &str = "GITHUB_WORKSPACE";
const ACTIONS: &str = "GITHUB_ACTIONS";

/// The variables set by the runner.
const RUNNER: [&str; 8] = [EVENT_NAME, EVENT_PATH, REPOSITORY, TEMP, OUTPUT, SUMMARY, WORKSPACE, ACTIONS];

/// The variables of a step. `Debug` shows the names of those that are set: a value may be a key.
#[derive(Clone, Default)]
pub struct ActionVariables(Vec<(&'static str, Secret)>);

impl fmt::Debug for ActionVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl ActionVariables {
    /// Reads the variables of this process. Bytes that are not UTF-8 become U+FFFD, so that parsing refuses them.
    pub fn of_this_process() -> Self {
        Self::of(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads each variable through `read`; a blank value counts as unset.
    pub fn of(read: impl Fn(&str) -> Option<String>) -> Self {
        let inputs = INPUTS.iter().map(|input| input.variable).filter(|name| *name != TOKEN.variable);
        let names = inputs.chain(RUNNER);
        let found = names.filter_map(|name| {
            let value = Secret::new(read(name)?).trimmed();
            (!value.reveal().is_empty()).then_some((name, value))
        });
        Self(found.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.secret(name).map(Secret::reveal)
    }

    pub(super) fn secret(&self, name: &str) -> Option<&Secret> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn input(&self, input: Input) -> Option<&str> {
        self.get(input.variable)
    }

    /// `true` if the output goes to a build log that obeys commands.
    pub fn is_runner(&self) -> bool {
        self.get(ACTIONS) == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_shown() {
        let given = ActionVariables::of(|name| Some(format!(" canary of {name}\n")));
        assert_eq!(given.input(KEY), Some("canary of INPUT_KEY"));
        let shown = format!("{given:?}");
        assert!(shown.contains("INPUT_KEY") && !shown.contains("canary"), "{shown}");
        assert_eq!(given.get("GITHUB_TOKEN"), None, "it is the forge's");
        assert!(ActionVariables::of(|_| Some(" \n".to_owned())).0.is_empty());
    }

    #[test]
    fn every_input_is_passed_on_by_its_name() {
        for input in INPUTS.iter().filter(|input| **input != TOKEN) {
            assert_eq!(input.variable, format!("INPUT_{}", input.name.replace('-', "_").to_uppercase()));
        }
    }
}
