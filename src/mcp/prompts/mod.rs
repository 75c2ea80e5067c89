//! The prompts of the server: one file each, and the table [`PROMPTS`]. Main type: [`Prompt`].

mod explain_finding;
mod review;

use std::collections::BTreeMap;

use crate::app::Service;

/// A prompt with which a person starts an assistant's work.
pub(super) struct Prompt {
    pub(super) name: &'static str,
    /// An older name, which is not listed.
    pub(super) alias: Option<&'static str>,
    /// Its display name.
    pub(super) title: &'static str,
    /// Its purpose.
    pub(super) description: &'static str,
    /// The arguments that the person fills in.
    pub(super) arguments: &'static [Argument],
    /// Renders the message; may block: it is called off the async threads.
    pub(super) get: fn(&Service, &BTreeMap<String, String>) -> Result<String, String>,
    /// Returns values for an argument that begin with the typed text.
    pub(super) complete: fn(&Service, argument: &str, typed: &str) -> Vec<String>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    /// Its meaning.
    pub(super) description: &'static str,
    /// `true` if it is required.
    pub(super) required: bool,
}

pub(super) const PROMPTS: &[Prompt] = &[review::PROMPT, explain_finding::PROMPT];

/// Finds a prompt by its name or its older one.
pub(super) fn find(name: &str) -> Option<&'static Prompt> {
    PROMPTS.iter().find(|prompt| prompt.name == name || prompt.alias == Some(name))
}

/// Returns a value that was given and is not blank.
fn non_blank<'v>(values: &'v BTreeMap<String, String>, name: &str) -> Option<&'v str> {
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
        assert_eq!(
            (non_blank(&values, "a"), non_blank(&values, "b"), non_blank(&values, "c")),
            (None, Some("x"), None)
        );
    }
}
