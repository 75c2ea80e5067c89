//! Languages, and the limits within which a text is parsed. Main types: [`Grammar`], [`ParseLimits`].

use std::time::{Duration, Instant};

use ast_grep_language::SupportLang;

use crate::sys::cancel::{Cancel, CancelReason};

macro_rules! grammars {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// A supported language.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Grammar {
            $($(#[$doc])* $name),+
        }

        impl Grammar {
            /// Every grammar.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The id of its language, as `domain` spells it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            pub(super) const fn support(self) -> SupportLang {
                match self { $(Self::$name => SupportLang::$name),+ }
            }
        }
    };
}

grammars! {
    /// Rust.
    Rust = "rust",
    /// Python 3 (and the parts of Python 2 that still parse).
    Python = "python",
    /// JavaScript, JSX included.
    JavaScript = "javascript",
    /// TypeScript.
    TypeScript = "typescript",
    /// TypeScript with JSX.
    Tsx = "tsx",
    /// Go.
    Go = "go",
    /// Java.
    Java = "java",
    /// C.
    C = "c",
    /// C++.
    Cpp = "cpp",
    /// Shell scripts, parsed as Bash.
    Bash = "shell",
    /// YAML: workflows.
    Yaml = "yaml",
}

impl Grammar {
    /// Returns the grammar of a language by its id; `None` if there is none.
    pub fn of(language: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|grammar| grammar.word() == language)
    }
}

/// Limits on parsing and matching one text: time and cancellation.
#[derive(Debug, Clone)]
pub struct ParseLimits<'a> {
    cancel: &'a Cancel,
    until: Option<Instant>,
}

impl<'a> ParseLimits<'a> {
    /// Ends after `limit`, or on `cancel`.
    pub fn new(cancel: &'a Cancel, limit: Duration) -> Self {
        Self { cancel, until: Instant::now().checked_add(limit) }
    }

    /// Ends at that moment, or on `cancel`.
    pub(super) fn until(cancel: &'a Cancel, until: Option<Instant>) -> Self {
        Self { cancel, until }
    }

    /// Returns the cancellation and the end.
    pub(super) fn parts(&self) -> (Cancel, Option<Instant>) {
        (self.cancel.clone(), self.until)
    }

    /// Checks whether to continue.
    pub fn check(&self) -> Result<(), ParseFailure> {
        self.cancel.check()?;
        match self.until {
            Some(until) if Instant::now() >= until => Err(ParseFailure::TooSlow),
            _ => Ok(()),
        }
    }
}

/// Why a text was not parsed, or not matched to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseFailure {
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    /// The time limit for a text was reached.
    #[error("parsing it took too long")]
    TooSlow,
    /// It crashes the parser.
    #[error("it crashes the parser (please report the file)")]
    Crashed,
    /// It exceeds the limits of the grammar's scanner.
    #[error("{0}")]
    BeyondScanner(&'static str),
    /// The parser returned nothing.
    #[error("the parser could not read it")]
    NoTree,
}
