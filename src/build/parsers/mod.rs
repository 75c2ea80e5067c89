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

pub(super) const BIOME_JSON: NamedParser = ("biome_json", biome_json::parse);
pub(super) const BUN: NamedParser = ("bun", bun::parse);
pub(super) const CARGO_JSON: NamedParser = ("cargo_json", cargo_json::parse);
pub(super) const CARGO_TEST: NamedParser = ("cargo_test", cargo_test::parse);
pub(super) const CHECKSTYLE_XML: NamedParser = ("checkstyle_xml", checkstyle_xml::parse);
pub(super) const DOTNET_TEST: NamedParser = ("dotnet_test", dotnet_test::parse);
pub(super) const ESLINT_JSON: NamedParser = ("eslint_json", eslint_json::parse);
pub(super) const GCC: NamedParser = ("gcc", gcc::parse);
pub(super) const GENERIC: NamedParser = ("generic", generic::parse);
pub(super) const GO: NamedParser = ("go", go::parse);
pub(super) const GO_TEST_JSON: NamedParser = ("go_test_json", go_test_json::parse);
pub(super) const GOLANGCI_JSON: NamedParser = ("golangci_json", golangci_json::parse);
pub(super) const GRADLE: NamedParser = ("gradle", gradle::parse);
pub(super) const JAVAC: NamedParser = ("javac", javac::parse);
pub(super) const JEST: NamedParser = ("jest", jest::parse);
pub(super) const JUNIT_XML: NamedParser = ("junit_xml", junit_xml::parse);
pub(super) const MAVEN: NamedParser = ("maven", maven::parse);
pub(super) const MINITEST: NamedParser = ("minitest", minitest::parse);
pub(super) const MSBUILD: NamedParser = ("msbuild", msbuild::parse);
pub(super) const MYPY_JSON: NamedParser = ("mypy_json", mypy_json::parse);
pub(super) const MYPY_TEXT: NamedParser = ("mypy_text", mypy_text::parse);
pub(super) const NEXTJS: NamedParser = ("nextjs", nextjs::parse);
pub(super) const NPM: NamedParser = ("npm", npm::parse);
pub(super) const PHPSTAN_JSON: NamedParser = ("phpstan_json", phpstan_json::parse);
pub(super) const PNPM: NamedParser = ("pnpm", pnpm::parse);
pub(super) const PYRIGHT_JSON: NamedParser = ("pyright_json", pyright_json::parse);
pub(super) const PYTEST: NamedParser = ("pytest", pytest::parse);
pub(super) const RSPEC: NamedParser = ("rspec", rspec::parse);
pub(super) const RUBOCOP_JSON: NamedParser = ("rubocop_json", rubocop_json::parse);
pub(super) const RUFF_JSON: NamedParser = ("ruff_json", ruff_json::parse);
pub(super) const RUSTC: NamedParser = ("rustc", rustc::parse);
pub(super) const RUSTFMT: NamedParser = ("rustfmt", rustfmt::parse);
pub(super) const SARIF: NamedParser = ("sarif", sarif::parse);
pub(super) const SHELLCHECK_JSON: NamedParser = ("shellcheck_json", shellcheck_json::parse);
pub(super) const TRX: NamedParser = ("trx", trx::parse);
pub(super) const TSC: NamedParser = ("tsc", tsc::parse);
pub(super) const VITEST: NamedParser = ("vitest", vitest::parse);
pub(super) const YARN: NamedParser = ("yarn", yarn::parse);

/// The parsers by name. A new one is a file and a line here.
pub const PARSERS: &[NamedParser] = &[
    BIOME_JSON,
    BUN,
    CARGO_JSON,
    CARGO_TEST,
    CHECKSTYLE_XML,
    DOTNET_TEST,
    ESLINT_JSON,
    GCC,
    GENERIC,
    GO,
    GO_TEST_JSON,
    GOLANGCI_JSON,
    GRADLE,
    JAVAC,
    JEST,
    JUNIT_XML,
    MAVEN,
    MINITEST,
    MSBUILD,
    MYPY_JSON,
    MYPY_TEXT,
    NEXTJS,
    NPM,
    PHPSTAN_JSON,
    PNPM,
    PYRIGHT_JSON,
    PYTEST,
    RSPEC,
    RUBOCOP_JSON,
    RUFF_JSON,
    RUSTC,
    RUSTFMT,
    SARIF,
    SHELLCHECK_JSON,
    TRX,
    TSC,
    VITEST,
    YARN,
];
