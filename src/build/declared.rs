//! Tools that a user or a project declares, in TOML. Main type: [`ResolvedTool`]; main function: [`read`].
//!
//! ```toml
//! [[tool]]
//! name = "just.lint"
//! description = "Lint with just"
//! command = ["just", "lint"]
//! parsers = ["generic"]
//! mutates = false
//! ```
//!
//! What a project declares may run only once the user has trusted the very bytes that declare it ([`fingerprint`]).

use std::path::Path;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::parsers::{PARSERS, Parser};
use super::tools::{self, ArgumentPlace, BuildTool};
use crate::domain::id::hex;

/// The name of the file in a repository.
pub const PROJECT_FILE: &str = ".review/build.toml";
/// The most bytes of the file.
pub const MOST_BYTES: u64 = 1 << 20;
/// The most tools that one file declares.
const MOST_TOOLS: usize = 200;

/// Why a file of tools cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DeclarationError {
    /// It is not TOML of this shape.
    #[error("{file} cannot be read: {why}; docs/build.md has its shape")]
    Shape { file: String, why: String },
    /// A tool has no usable name.
    #[error(
        "{file}: {name:?} is no name of a tool: letters, digits, \".\", \"-\" and \"_\", and none that is built in"
    )]
    Name { file: String, name: String },
    /// A tool has no program.
    #[error("{file}: the tool {name} has no command: name a program, as in command = [\"just\", \"lint\"]")]
    Command { file: String, name: String },
    /// A parser is not known.
    #[error("{file}: the tool {name} names the parser {parser:?}; there are: {known}")]
    UnknownParser { file: String, name: String, parser: String, known: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclarationFile {
    #[serde(default)]
    tool: Vec<ToolDeclaration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolDeclaration {
    name: String,
    #[serde(default)]
    description: String,
    command: Vec<String>,
    #[serde(default)]
    parsers: Vec<String>,
    /// One that says nothing is taken to change files.
    #[serde(default = "yes")]
    mutates: bool,
}

fn yes() -> bool {
    true
}

/// A tool that may be run: built in or declared.
#[derive(Clone)]
pub struct ResolvedTool {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The place of the caller's arguments.
    pub place: ArgumentPlace,
    /// The parsers of its output.
    pub parsers: Vec<Parser>,
    /// `true` if it changes files of the project.
    pub mutates: bool,
    /// `true` if it is there to bring something from the network; never one that is declared.
    pub network: bool,
}

impl std::fmt::Debug for ResolvedTool {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("ResolvedTool")
            .field("name", &self.name)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl From<&BuildTool> for ResolvedTool {
    fn from(row: &BuildTool) -> Self {
        Self {
            name: row.name.to_owned(),
            description: row.description.to_owned(),
            program: row.program.to_owned(),
            arguments: row.arguments.iter().map(|&word| word.to_owned()).collect(),
            place: row.place,
            parsers: row.parsers.iter().map(|(_, parser)| *parser).collect(),
            mutates: row.mutates,
            network: row.mutates && [".install", ".restore"].iter().any(|ending| row.name.ends_with(ending)),
        }
    }
}

/// Reads the tools of a file. `file` is its name in messages.
pub fn read(file: &str, text: &str) -> Result<Vec<ResolvedTool>, DeclarationError> {
    let shape = |why: String| DeclarationError::Shape { file: file.to_owned(), why };
    let declared: DeclarationFile = toml::from_str(text).map_err(|error| shape(error.message().to_owned()))?;
    if declared.tool.len() > MOST_TOOLS {
        return Err(shape(format!("it declares more than {MOST_TOOLS} tools")));
    }
    declared.tool.into_iter().map(|tool| resolve(file, tool)).collect()
}

fn resolve(file: &str, tool: ToolDeclaration) -> Result<ResolvedTool, DeclarationError> {
    let ToolDeclaration { name, description, command, parsers, mutates } = tool;
    let file = || file.to_owned();
    let is_word = |name: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || ".-_".contains(char));
    if name.is_empty() || name.starts_with('-') || name.len() > 80 || !is_word(&name) || tools::find(&name).is_some() {
        return Err(DeclarationError::Name { file: file(), name });
    }
    let mut words = command.into_iter();
    let Some(program) = words.next().filter(|program| !program.trim().is_empty()) else {
        return Err(DeclarationError::Command { file: file(), name });
    };
    let mut chosen = Vec::new();
    for parser in parsers {
        let Some((_, known)) = PARSERS.iter().find(|(known, _)| *known == parser) else {
            let known = PARSERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(DeclarationError::UnknownParser { file: file(), name, parser, known });
        };
        chosen.push(*known);
    }
    let place = ArgumentPlace::Last;
    Ok(ResolvedTool {
        name,
        description,
        program,
        arguments: words.collect(),
        place,
        parsers: chosen,
        mutates,
        network: false,
    })
}

/// Returns what a user trusts: the hash of a repository's folder and of the bytes that declare its tools. A command may name a script of the
/// repository, so another one with the same bytes is not the same.
pub fn fingerprint(root: &Path, bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [root.as_os_str().as_encoded_bytes(), &[0], bytes] {
        hash.update(part);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[[tool]]\nname = \"just.lint\"\ncommand = [\"just\", \"lint\"]\nparsers = [\"generic\"]\n";

    #[test]
    fn a_tool_is_a_command_with_a_parser_and_changes_files_unless_it_says_otherwise() {
        let tools = read("f", FILE).unwrap();
        assert_eq!(
            (tools[0].program.as_str(), tools[0].arguments.as_slice()),
            ("just", ["lint".to_owned()].as_slice())
        );
        assert!(tools[0].mutates && tools[0].parsers.len() == 1);
        assert!(!read("f", &format!("{FILE}mutates = false\n")).unwrap()[0].mutates);
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let fault = |text: &str| read("f", text).unwrap_err().to_string();
        assert!(fault(&FILE.replace("generic", "nothing")).contains("there are: "));
        assert!(fault(&FILE.replace("just.lint", "eslint")).contains("none that is built in"));
        assert!(fault(&FILE.replace("[\"just\", \"lint\"]", "[]")).contains("has no command"));
        assert!(fault(&format!("{FILE}shell = true\n")).contains("docs/build.md"));
        assert!(fault(&FILE.replace("just.lint", "-x")).contains("no name"));
    }
}
