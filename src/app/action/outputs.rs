//! The outputs of a step, as its runner reads them. Main type: [`ActionOutputs`].

use super::variables::{self, ActionVariables};
use crate::sys::files::{AppendFile, FileError};

/// The outputs of every step; each file has another one, named like its format.
pub const OUTPUTS: &[&str] = &["outcome", "findings", "blocking", "exit-code", "posted", "url", "run", "folder"];

/// The outputs with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ActionOutputs(Vec<(&'static str, String)>);

impl ActionOutputs {
    /// Adds an output.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.push((name, value.into()));
    }

    /// Appends them to the file that the runner names; does nothing if it names none.
    pub(super) fn write(&self, given: &ActionVariables) -> Result<(), FileError> {
        let Some(path) = given.get(variables::OUTPUT) else { return Ok(()) };
        // The author of a value cannot guess its delimiter.
        let end = format!("end-{}", uuid::Uuid::new_v4().simple());
        AppendFile::open(path.as_ref())?.append(self.text(&end).as_bytes())
    }

    fn text(&self, end: &str) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            text.push_str(&format!("{name}<<{end}\n{value}\n{end}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_several_lines_stays_one_value() {
        let mut outputs = ActionOutputs::default();
        outputs.set("outcome", "complete");
        outputs.set("url", "a\noutcome=failed\noutcome<<x\nfailed\nx");
        let text = outputs.text("END");
        assert_eq!(text, "outcome<<END\ncomplete\nEND\nurl<<END\na\noutcome=failed\noutcome<<x\nfailed\nx\nEND\n");
    }
}
