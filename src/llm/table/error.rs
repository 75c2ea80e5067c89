//! Errors of a file of providers. Main type: [`TableError`].

/// No table of providers is larger, in bytes.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// A file of providers that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct TableError {
    /// The file, as it is shown.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Description of the error.
    pub fault: TableFault,
}

/// Kinds of errors in a file of providers. Quoted words are stripped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TableFault {
    /// It is larger than any such file is.
    #[error("a table of providers has at most {MAX_BYTES} bytes")]
    TooLarge,
    #[error("a table of providers must be UTF-8 text")]
    NotText,
    /// It is not TOML, or has keys or values that it should not have.
    #[error("{0}")]
    Shape(String),
    /// A provider has no name that can be written before a slash.
    #[error("{0:?} is no name of a provider: small letters, digits and dashes, and none of auto, none and same")]
    Name(String),
    #[error("{0:?} is no name of a model, nor the beginning of one")]
    Model(String),
    /// The same provider, or the same model of it, is listed twice.
    #[error("{0:?} stands in line {1} already")]
    Twice(String, u32),
    /// A new provider lacks what cannot be guessed.
    #[error("the new provider {0:?} needs a base_url")]
    NoAddress(String),
    /// The address is invalid.
    #[error(
        "base_url must be an address such as \"https://llm.example/v1\", with nothing secret in it; a variable stands in it as {{NAME}}"
    )]
    Address,
    #[error("{0:?} is no name of a variable; a key itself never stands here")]
    Variable(String),
    #[error("{0:?} is no name of a header")]
    Header(String),
    /// A number is out of range.
    #[error("{key} must be from {least} to {most}")]
    Number { key: &'static str, least: u64, most: u64 },
    /// Prices of large requests without the regular ones.
    #[error("a model with dearer needs prices, too")]
    DearerAlone,
    /// A model is named both ways, or not at all.
    #[error("a model has either a name or a prefix")]
    NameOrPrefix,
}
