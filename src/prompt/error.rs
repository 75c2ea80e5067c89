//! Errors of prompts. Main type: [`PromptError`].

/// Reasons why a prompt cannot be used: an error of the template's author, unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PromptError {
    /// A file that replaces no template.
    #[error("prompt {name}: there is no template of this name; rename or remove the file (there are: {known})")]
    Unknown { name: String, known: String },
    /// It does not compile, or cannot be rendered.
    #[error("prompt {name}, line {line}: {problem}; correct the file, or remove it to use the built-in one")]
    Broken {
        name: String,
        /// Line, from 1.
        line: usize,
        problem: String,
    },
    /// It uses a variable that it does not get.
    #[error("prompt {name}, line {line}: there is no variable {variable:?}; this template has: {known}")]
    Variable {
        name: String,
        /// Line of the first use, from 1.
        line: usize,
        variable: String,
        known: String,
    },
    /// It omits, or alters, content that the receipt claims was shown to the model.
    #[error(
        "prompt {name}: {{{{ {variable} }}}} is not shown as it is, and the model must see it whole; write it without a filter, where it \
         is always reached, or remove the file to use the built-in one"
    )]
    Dropped { name: String, variable: String },
    /// The first message cannot be made small enough: for the model's window, or for the tokens that the run may spend.
    #[error(
        "the first message may take {room} tokens, and the prompts alone take {needed}; raise max_tokens, use a model with a larger \
         window, or shorten your instructions"
    )]
    NoRoom {
        /// Number of tokens the prompts take without any of the change.
        needed: u64,
        /// Number of tokens available.
        room: u64,
    },
}
