//! Languages, and the limits within which a text is parsed. Main types: [`Grammar`], [`ParseLimits`].

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ast_grep_language::SupportLang;
use regex::Regex;

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

    /// Checks whether it is JavaScript or TypeScript.
    pub(super) const fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }

    /// Checks whether rules for it look at one function or type at a time, whatever its names mean elsewhere.
    pub const fn has_local_rules(self) -> bool {
        matches!(self, Self::Go | Self::Rust)
    }

    /// Returns the grammar of a text in a language: a header whose name says C may be C++.
    pub fn of_text(language: &str, text: &str) -> Option<Self> {
        let grammar = Self::of(language)?;
        let is_cpp = || CPP.as_ref().is_some_and(|pattern| pattern.is_match(text));
        Some(if grammar == Self::C && is_cpp() { Self::Cpp } else { grammar })
    }
}

/// Code that C does not have.
static CPP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let heads =
        r"namespace\s+[\w:]*\s*\{|class\s+[\w\s]+[:{;]|template\s*<|(?:public|private|protected)\s*:|enum\s+class\s";
    let uses = r"using\s+(?:namespace\s|\w+\s*=)|#\s*include\s*<[a-z_]+>";
    Regex::new(&format!(r"(?m)^[ \t]*(?:{heads}|{uses})|\bstd::\w|\)\s*(?:const\s+)?(?:noexcept|override)\b")).ok()
});

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_code_of_cpp_is_cpp() {
        for text in [
            "#pragma once\n\nnamespace a\n{\n\tstruct B { int c(); };\n}\n",
            "class A final : public B {\n};\n",
            "class A;\n",
            "template <typename T> struct A { T b; };\n",
            "struct A {\nprivate:\n    int b;\n};\n",
            "enum class A : u8 { b };\n",
            "#include <vector>\n",
            "using A = int;\n",
            "inline std::size_t a();\n",
            "struct A : B {\n    void c() const override;\n};\n",
        ] {
            assert_eq!(Grammar::of_text("c", text), Some(Grammar::Cpp), "{text}");
        }
        for text in [
            "#include <stdio.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a(void);\n",
            "/* The class of a device is\n * what std says,\n   and its namespace is another.\n */\nint class = 1;\n",
            "switch (a) {\ndefault: b();\n}\nint public, template;\n",
        ] {
            assert_eq!(Grammar::of_text("c", text), Some(Grammar::C), "{text}");
        }
        assert_eq!(Grammar::of_text("java", "class A {\n}\n"), Some(Grammar::Java));
        assert_eq!(Grammar::of_text("ruby", "class A;\n"), None);
    }
}
