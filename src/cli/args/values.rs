//! Values that clap checks, completes and lists in the help. Main functions: [`severity`], [`time`]; main types: [`ModelParser`],
//! [`AgentParser`].
//!
//! They stay text: the settings of every source are read in one place, `config`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::app::{agent_model, agent_words, providers};
use crate::config::parse_duration;

/// Returns the parser of a severity, or of none.
pub(in crate::cli) fn severity() -> PossibleValuesParser {
    ["critical", "high", "medium", "low", "nit", "none"].into()
}

/// Returns the parser of which findings are verified.
pub(in crate::cli) fn verify() -> PossibleValuesParser {
    ["auto", "all", "none"].into()
}

/// Returns the parser of when the output has color.
pub(in crate::cli) fn colour() -> PossibleValuesParser {
    ["auto", "always", "never"].into()
}

/// Returns the parser of a length of time such as 90s.
pub(in crate::cli) fn time() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().try_map(|text| parse_duration(&text).map(|_| text))
}

/// Parses a model, or several with commas between; completion offers the providers.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct ModelParser;

impl TypedValueParser for ModelParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(providers().into_iter().map(|provider| PossibleValue::new(provider.name))))
    }
}

/// Parses an assistant, alone or with a model behind a slash, to the name of that model; completion offers the assistants.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct AgentParser;

impl TypedValueParser for AgentParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let parse = |text: String| {
            let known = || agent_words().collect::<Vec<_>>().join(", ");
            agent_model(&text).ok_or_else(|| format!("there is no such assistant; name one of {}", known()))
        };
        StringValueParser::new().try_map(parse).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(agent_words().map(PossibleValue::new)))
    }
}
