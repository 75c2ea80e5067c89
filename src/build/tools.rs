//! The tools that can be run, one row of data each. Main type: [`BuildTool`]; the table is [`TOOLS`].
//!
//! A row names parsers of `parsers`. Tools that a user or a project declares are read in `declared`; running one belongs in `mod`.

use super::parsers::{self, NamedParser};

/// The place of a caller's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// Behind those of the tool.
    Last,
    /// Behind `--`: a script gets them.
    AfterDashes,
    /// The first one names the script, the others go behind `--`.
    ScriptFirst,
}

/// A tool.
#[derive(Clone, Copy)]
pub struct BuildTool {
    /// Its name, as callers know it.
    pub name: &'static str,
    /// Its purpose.
    pub description: &'static str,
    /// The program, looked for in the project's own folders first.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// The place of the caller's arguments.
    pub place: ArgumentPlace,
    /// Files of which one is there where the tool applies; none: it always does. `*.x` is any file of that kind.
    pub manifests: &'static [&'static str],
    /// The parsers of its output, in order.
    pub parsers: &'static [NamedParser],
    /// `true` if it changes files of the project.
    pub mutates: bool,
    /// How it serves as a check of a change; `None` if it does not.
    pub check: Option<CheckUse>,
}

/// A tool as a check of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckUse {
    /// Files that show that the project uses it. `file#text` is a file with a line that begins with this text.
    pub configured_by: &'static [&'static str],
    /// The file name endings of what it looks at.
    pub endings: &'static [&'static str],
    /// `true` if it takes the changed files as arguments; otherwise it looks at the project.
    pub takes_files: bool,
}

const RUST: &[&str] = &["Cargo.toml"];
const NODE: &[&str] = &["package.json"];
const GO: &[&str] = &["go.mod"];
const DOTNET: &[&str] = &["*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"];
const PYTHON: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "*.py"];
const GRADLE: &[&str] = &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
const MAVEN: &[&str] = &["pom.xml"];
const RUBY: &[&str] = &["Gemfile", "*.gemspec", ".rubocop.yml"];

const SCRIPTS: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"];

const fn row(
    name: &'static str,
    description: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    manifests: &'static [&'static str],
    parsers: &'static [NamedParser],
) -> BuildTool {
    let place = ArgumentPlace::Last;
    BuildTool { name, description, program, arguments, place, manifests, parsers, mutates: false, check: None }
}

impl BuildTool {
    const fn mutating(self) -> Self {
        Self { mutates: true, ..self }
    }

    const fn with(self, place: ArgumentPlace) -> Self {
        Self { place, ..self }
    }

    const fn project_check(self, configured_by: &'static [&'static str], endings: &'static [&'static str]) -> Self {
        Self { check: Some(CheckUse { configured_by, endings, takes_files: false }), ..self }
    }

    const fn file_check(self, configured_by: &'static [&'static str], endings: &'static [&'static str]) -> Self {
        Self { check: Some(CheckUse { configured_by, endings, takes_files: true }), ..self }
    }
}

/// The rows of a package manager of JavaScript.
macro_rules! scripts {
    ($program:literal, $parser:expr) => {
        [
            row(
                concat!($program, ".install"),
                concat!("Install packages with ", $program),
                $program,
                &["install"],
                NODE,
                &[$parser],
            )
            .mutating(),
            row(
                concat!($program, ".build"),
                concat!("Run the build script with ", $program),
                $program,
                &["run", "build"],
                NODE,
                &[$parser, parsers::TSC, parsers::NEXTJS],
            )
            .with(ArgumentPlace::AfterDashes),
            row(
                concat!($program, ".test"),
                concat!("Run the test script with ", $program),
                $program,
                &["run", "test"],
                NODE,
                &[$parser, parsers::TSC, parsers::JEST, parsers::VITEST],
            )
            .with(ArgumentPlace::AfterDashes),
            row(
                concat!($program, ".run"),
                concat!("Run a script with ", $program, ": its name is the first argument"),
                $program,
                &["run"],
                NODE,
                &[$parser, parsers::TSC],
            )
            .with(ArgumentPlace::ScriptFirst)
            .mutating(),
        ]
    };
}

const NPM: [BuildTool; 4] = scripts!("npm", parsers::NPM);
const PNPM: [BuildTool; 4] = scripts!("pnpm", parsers::PNPM);
const YARN: [BuildTool; 4] = scripts!("yarn", parsers::YARN);
const BUN: [BuildTool; 4] = scripts!("bun", parsers::BUN);

/// The tools, in the order in which they are listed. A new one is a row here.
pub const TOOLS: &[BuildTool] = &[
    row(
        "cargo.build",
        "Build a Rust project",
        "cargo",
        &["build", "--message-format=json"],
        RUST,
        &[parsers::CARGO_JSON],
    ),
    row(
        "cargo.check",
        "Type-check a Rust project",
        "cargo",
        &["check", "--all-targets", "--message-format=json"],
        RUST,
        &[parsers::CARGO_JSON],
    )
    .project_check(&[], &["rs"]),
    row(
        "cargo.clippy",
        "Lint a Rust project",
        "cargo",
        &["clippy", "--all-targets", "--message-format=json"],
        RUST,
        &[parsers::CARGO_JSON],
    )
    .project_check(RUST, &["rs"]),
    row(
        "cargo.test",
        "Run the tests of a Rust project",
        "cargo",
        &["test", "--no-fail-fast", "--message-format=json"],
        RUST,
        &[parsers::CARGO_JSON, parsers::CARGO_TEST],
    ),
    row("cargo.fmt", "Check the format of Rust code", "cargo", &["fmt", "--check"], RUST, &[parsers::RUSTFMT]),
    NPM[0],
    NPM[1],
    NPM[2],
    NPM[3],
    PNPM[0],
    PNPM[1],
    PNPM[2],
    PNPM[3],
    YARN[0],
    YARN[1],
    YARN[2],
    YARN[3],
    BUN[0],
    BUN[1],
    BUN[2],
    BUN[3],
    row("tsc", "Type-check TypeScript", "tsc", &["--noEmit", "--pretty", "false"], &["tsconfig.json"], &[parsers::TSC])
        .project_check(&["tsconfig.json"], SCRIPTS),
    row(
        "eslint.lint",
        "Lint JavaScript and TypeScript with ESLint",
        "eslint",
        &["--format", "json"],
        NODE,
        &[parsers::ESLINT_JSON],
    )
    .file_check(
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.yml",
            ".eslintrc",
        ],
        SCRIPTS,
    ),
    row(
        "biome",
        "Lint and check formatting with Biome",
        "biome",
        &["check", "--reporter=json", "--colors=off"],
        &["biome.json", "biome.jsonc"],
        &[parsers::BIOME_JSON],
    )
    .file_check(&["biome.json", "biome.jsonc"], SCRIPTS),
    row("jest", "Run tests with Jest", "jest", &["--ci"], NODE, &[parsers::JEST]),
    row("vitest", "Run tests with Vitest", "vitest", &["run"], NODE, &[parsers::VITEST]),
    row("next.build", "Build a Next.js project", "next", &["build"], NODE, &[parsers::NEXTJS, parsers::TSC]),
    row("dotnet.build", "Build a .NET project", "dotnet", &["build", "--nologo"], DOTNET, &[parsers::MSBUILD]),
    row(
        "dotnet.restore",
        "Restore the packages of a .NET project",
        "dotnet",
        &["restore"],
        DOTNET,
        &[parsers::MSBUILD],
    )
    .mutating(),
    row(
        "dotnet.test",
        "Run the tests of a .NET project",
        "dotnet",
        &["test", "--nologo"],
        DOTNET,
        &[parsers::MSBUILD, parsers::DOTNET_TEST],
    ),
    row("go.build", "Build a Go module", "go", &["build", "./..."], GO, &[parsers::GO]),
    row("go.vet", "Examine a Go module for suspicious code", "go", &["vet", "./..."], GO, &[parsers::GO])
        .project_check(GO, &["go"]),
    row(
        "go.test",
        "Run the tests of a Go module",
        "go",
        &["test", "-json", "./..."],
        GO,
        &[parsers::GO_TEST_JSON, parsers::GO],
    ),
    row(
        "golangci-lint",
        "Lint a Go module",
        "golangci-lint",
        &["run", "--output.json.path=stdout"],
        GO,
        &[parsers::GOLANGCI_JSON],
    )
    .project_check(&[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"], &["go"]),
    row(
        "pytest",
        "Run the tests of a Python project",
        "pytest",
        &["-q", "-rfE", "--tb=short", "--color=no"],
        PYTHON,
        &[parsers::PYTEST],
    ),
    row("ruff", "Lint Python with Ruff", "ruff", &["check", "--output-format", "json"], PYTHON, &[parsers::RUFF_JSON])
        .file_check(&["ruff.toml", ".ruff.toml", "pyproject.toml#[tool.ruff"], &["py", "pyi", "ipynb"]),
    row(
        "mypy",
        "Type-check Python with mypy",
        "mypy",
        &["--output", "json", "--no-color-output"],
        PYTHON,
        &[parsers::MYPY_JSON],
    )
    .file_check(&["mypy.ini", ".mypy.ini", "pyproject.toml#[tool.mypy", "setup.cfg#[mypy"], &["py", "pyi"]),
    row("pyright", "Type-check Python with Pyright", "pyright", &["--outputjson"], PYTHON, &[parsers::PYRIGHT_JSON])
        .file_check(&["pyrightconfig.json", "pyproject.toml#[tool.pyright"], &["py", "pyi"]),
    row("rubocop", "Lint Ruby with RuboCop", "rubocop", &["--format", "json"], RUBY, &[parsers::RUBOCOP_JSON])
        .file_check(&[".rubocop.yml"], &["rb", "rake", "gemspec"]),
    row(
        "phpstan",
        "Analyze PHP with PHPStan",
        "phpstan",
        &["analyse", "--error-format=json", "--no-progress"],
        &["composer.json", "phpstan.neon", "phpstan.neon.dist"],
        &[parsers::PHPSTAN_JSON],
    )
    .project_check(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"], &["php"]),
    row(
        "shellcheck",
        "Lint shell scripts: their paths are the arguments",
        "shellcheck",
        &["--format", "json1"],
        &["*.sh", ".shellcheckrc"],
        &[parsers::SHELLCHECK_JSON],
    )
    .file_check(&[".shellcheckrc"], &["sh", "bash"]),
    row("make", "Run make", "make", &[], &["Makefile", "makefile", "GNUmakefile"], &[parsers::GCC]),
    row(
        "cmake.build",
        "Build a CMake project in build/",
        "cmake",
        &["--build", "build"],
        &["CMakeLists.txt"],
        &[parsers::GCC],
    ),
    row(
        "gradle.build",
        "Build a Gradle project",
        "gradle",
        &["build", "--console=plain"],
        GRADLE,
        &[parsers::GRADLE, parsers::JAVAC],
    ),
    row(
        "gradle.test",
        "Run the tests of a Gradle project",
        "gradle",
        &["test", "--console=plain"],
        GRADLE,
        &[parsers::GRADLE, parsers::JAVAC],
    ),
    row("maven.build", "Compile a Maven project", "mvn", &["-B", "-ntp", "compile"], MAVEN, &[parsers::MAVEN]),
    row("maven.test", "Run the tests of a Maven project", "mvn", &["-B", "-ntp", "test"], MAVEN, &[parsers::MAVEN]),
];

/// Other names of tools: those that Buildvise and people use.
const ALIASES: &[(&str, &str)] =
    &[("eslint", "eslint.lint"), ("clippy", "cargo.clippy"), ("golangci", "golangci-lint"), ("ruff.check", "ruff")];

/// Finds a tool by its name.
pub fn find(name: &str) -> Option<&'static BuildTool> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    TOOLS.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::assert_part;

    #[test]
    fn names_are_told_once_and_aliases_lead_to_tools() {
        let mut names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        names.extend(ALIASES.iter().map(|(alias, _)| *alias));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ALIASES.iter().all(|(alias, _)| find(alias).is_some()));
        assert!(TOOLS.iter().all(|tool| !tool.parsers.is_empty() && !tool.description.is_empty()));
    }

    /// Holds the table of the documentation to the rows here.
    #[test]
    fn the_documentation_lists_every_tool_and_parser() {
        let row = |tool: &BuildTool| {
            let command = std::iter::once(&tool.program).chain(tool.arguments).copied().collect::<Vec<_>>().join(" ");
            let parsers = tool.parsers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let signs = |check: CheckUse| match check.configured_by {
                [] => "by name".to_owned(),
                signs => {
                    signs.iter().map(|sign| format!("`{}`", sign.replace('#', ": "))).collect::<Vec<_>>().join(", ")
                }
            };
            let check = tool.check.map(signs).unwrap_or_default();
            let mutates = if tool.mutates { "yes" } else { "" };
            format!("| `{}` | `{command}` | {parsers} | {mutates} | {check} |\n", tool.name)
        };
        let table: String = TOOLS.iter().map(row).collect();
        let names = parsers::PARSERS.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let head = "| --- | --- | --- | --- | --- |\n";
        assert_part("docs/build.md", head, "\n\n", table.trim_end());
        assert_part("docs/build.md", "Parsers: ", ".\n", &names);
    }

    #[test]
    fn what_checks_a_change_changes_nothing_itself() {
        assert!(TOOLS.iter().filter(|tool| tool.check.is_some()).all(|tool| !tool.mutates));
    }
}
