//! The prompts of the server: one file each, and the table [`PROMPTS`]. Main type: [`Prompt`].

mod explain_finding;
mod review;

use std::collections::BTreeMap;

use crate::app::Service;

/// Words with which a person sets an assistant to work.
pub(super) struct Prompt {
    /// Its name.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// What it is for.
    pub(super) description: &'static str,
    /// What it asks of the person.
    pub(super) arguments: &'static [Argument],
    /// The message; it may take its time: it is called away from the async threads.
    pub(super) get: fn(&Service, &BTreeMap<String, String>) -> Result<String, String>,
    /// Values for an argument that begin with what was typed.
    pub(super) complete: fn(&Service, argument: &str, typed: &str) -> Vec<String>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) description: &'static str,
    /// Whether it must be given.
    pub(super) required: bool,
}

/// Every prompt.
pub(super) const PROMPTS: &[Prompt] = &[review::PROMPT, explain_finding::PROMPT];

/// A value that was given, and is not blank.
fn given<'v>(values: &'v BTreeMap<String, String>, name: &str) -> Option<&'v str> {
    values.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_and_its_arguments_are_documented() {
        let page = include_str!("../../../docs/mcp.md");
        for prompt in PROMPTS {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{}` |", prompt.name)) && line.contains("is given"));
            let row = row.unwrap_or_else(|| panic!("{} is not documented", prompt.name));
            for argument in prompt.arguments {
                let name =
                    if argument.required { format!("`{}`", argument.name) } else { format!("`{}?`", argument.name) };
                assert!(row.contains(&name), "{name} of {}", prompt.name);
            }
        }
    }

    #[test]
    fn an_argument_that_is_blank_was_not_given() {
        let values: BTreeMap<String, String> = [("a", "  "), ("b", " x ")].map(|(a, b)| (a.into(), b.into())).into();
        assert_eq!((given(&values, "a"), given(&values, "b"), given(&values, "c")), (None, Some("x"), None));
    }
}
