//! Parsers of what tools write: pure functions over a log, a file each. Main types: [`Parsed`], [`Parser`].
//!
//! A parser takes what it knows and skips everything else; it never fails. Which tool uses which parsers belongs in `tools`.

mod biome_json;
mod bun;
mod cargo_json;
mod cargo_test;
mod checkstyle_xml;
mod compared;
mod dotnet_test;
mod eslint_json;
mod gcc;
mod generic;
mod go;
mod go_failure;
mod go_test_json;
mod golangci_json;
mod gradle;
mod javac;
mod jest;
mod junit_xml;
mod machine;
mod maven;
mod minitest;
mod msbuild;
mod mypy_json;
mod mypy_text;
mod nextjs;
mod npm;
mod phpstan_json;
mod pnpm;
mod pyright_json;
mod pytest;
mod rspec;
mod rubocop_json;
mod ruff_json;
mod rustc;
mod rustfmt;
mod sarif;
mod shellcheck_json;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_text;
mod text;
mod trx;
mod tsc;
mod vitest;
mod xml;
mod yarn;

use super::log::Log;
use crate::domain::diagnostic::{Diagnostic, TestSummary};

/// The result of a parser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The diagnostics, in the order of the log.
    pub diagnostics: Vec<Diagnostic>,
    /// The numbers of the tests, if it is a test run.
    pub summary: Option<TestSummary>,
}

/// Maximum number of diagnostics of one log; a parser stops there.
pub(super) const MOST_DIAGNOSTICS: usize = 10_000;

/// A parser.
pub type Parser = fn(&Log) -> Parsed;

/// A parser with its name.
pub type NamedParser = (&'static str, Parser);

/// Declares a parser for each module, named like it, and the list of them.
macro_rules! parsers {
    ($($name:ident = $module:ident),+ $(,)?) => {
        $(pub(super) const $name: NamedParser = (stringify!($module), $module::parse);)+

        /// The parsers by name. A new one is a file and a line here.
        pub const PARSERS: &[NamedParser] = &[$($name),+];
    };
}

parsers! {
    BIOME_JSON = biome_json,
    BUN = bun,
    CARGO_JSON = cargo_json,
    CARGO_TEST = cargo_test,
    CHECKSTYLE_XML = checkstyle_xml,
    DOTNET_TEST = dotnet_test,
    ESLINT_JSON = eslint_json,
    GCC = gcc,
    GENERIC = generic,
    GO = go,
    GO_TEST_JSON = go_test_json,
    GOLANGCI_JSON = golangci_json,
    GRADLE = gradle,
    JAVAC = javac,
    JEST = jest,
    JUNIT_XML = junit_xml,
    MAVEN = maven,
    MINITEST = minitest,
    MSBUILD = msbuild,
    MYPY_JSON = mypy_json,
    MYPY_TEXT = mypy_text,
    NEXTJS = nextjs,
    NPM = npm,
    PHPSTAN_JSON = phpstan_json,
    PNPM = pnpm,
    PYRIGHT_JSON = pyright_json,
    PYTEST = pytest,
    RSPEC = rspec,
    RUBOCOP_JSON = rubocop_json,
    RUFF_JSON = ruff_json,
    RUSTC = rustc,
    RUSTFMT = rustfmt,
    SARIF = sarif,
    SHELLCHECK_JSON = shellcheck_json,
    TRX = trx,
    TSC = tsc,
    VITEST = vitest,
    YARN = yarn,
}
