//! The language of a file, by its name. Main function: [`from_path`].
//!
//! Data only; what a language's grammar is belongs in `syntax`.

use serde::{Deserialize, Deserializer};

use super::path::RepoPath;

/// Whole file names.
const NAMES: &[(&str, &str)] = &[
    (".bash_profile", "shell"),
    (".bashrc", "shell"),
    (".editorconfig", "ini"),
    (".env", "dotenv"),
    (".envrc", "shell"),
    (".gitconfig", "ini"),
    (".gitmodules", "ini"),
    (".npmrc", "ini"),
    (".profile", "shell"),
    (".pypirc", "ini"),
    (".zprofile", "shell"),
    (".zshenv", "shell"),
    (".zshrc", "shell"),
    ("BUILD", "starlark"),
    ("BUILD.bazel", "starlark"),
    ("CMakeLists.txt", "cmake"),
    ("Cargo.lock", "toml"),
    ("Containerfile", "dockerfile"),
    ("Dockerfile", "dockerfile"),
    ("GNUmakefile", "make"),
    ("Gemfile", "ruby"),
    ("Jenkinsfile", "groovy"),
    ("Justfile", "just"),
    ("Makefile", "make"),
    ("Podfile", "ruby"),
    ("Rakefile", "ruby"),
    ("Vagrantfile", "ruby"),
    ("WORKSPACE", "starlark"),
    ("go.mod", "go-mod"),
    ("justfile", "just"),
    ("makefile", "make"),
    ("meson.build", "meson"),
];

/// Extensions, in lower case.
const EXTENSIONS: &[(&str, &str)] = &[
    ("adoc", "asciidoc"),
    ("bash", "shell"),
    ("bat", "batch"),
    ("bzl", "starlark"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cfg", "ini"),
    ("cjs", "javascript"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("cmake", "cmake"),
    ("cnf", "ini"),
    ("conf", "ini"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("csv", "csv"),
    ("cts", "typescript"),
    ("cu", "cuda"),
    ("cxx", "cpp"),
    ("d", "d"),
    ("dart", "dart"),
    ("dockerfile", "dockerfile"),
    ("el", "elisp"),
    ("elm", "elm"),
    ("env", "dotenv"),
    ("erb", "erb"),
    ("erl", "erlang"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("fs", "fsharp"),
    ("fsx", "fsharp"),
    ("gemspec", "ruby"),
    ("go", "go"),
    ("gql", "graphql"),
    ("gradle", "groovy"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("h", "c"),
    ("hcl", "hcl"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hrl", "erlang"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("hxx", "cpp"),
    ("ini", "ini"),
    ("inl", "cpp"),
    ("ipynb", "jupyter"),
    ("java", "java"),
    ("jl", "julia"),
    ("js", "javascript"),
    ("json", "json"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsx", "javascript"),
    ("just", "just"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("less", "less"),
    ("lua", "lua"),
    ("m", "objc"),
    ("markdown", "markdown"),
    ("md", "markdown"),
    ("mdx", "markdown"),
    ("mjs", "javascript"),
    ("mk", "make"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("mm", "objcpp"),
    ("mts", "typescript"),
    ("nim", "nim"),
    ("nix", "nix"),
    ("pas", "pascal"),
    ("php", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("properties", "properties"),
    ("proto", "protobuf"),
    ("ps1", "powershell"),
    ("psm1", "powershell"),
    ("py", "python"),
    ("pyi", "python"),
    ("pyx", "cython"),
    ("r", "r"),
    ("rake", "ruby"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("rst", "rst"),
    ("sass", "sass"),
    ("sbt", "scala"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("service", "ini"),
    ("sh", "shell"),
    ("sol", "solidity"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("svg", "xml"),
    ("swift", "swift"),
    ("tex", "latex"),
    ("tf", "hcl"),
    ("tfvars", "hcl"),
    ("timer", "ini"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsx", "tsx"),
    ("txt", "text"),
    ("v", "verilog"),
    ("vb", "vb"),
    ("vim", "vim"),
    ("vue", "vue"),
    ("xml", "xml"),
    ("xsd", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "shell"),
];

/// The language of a file, where its name tells.
pub fn from_path(path: &RepoPath) -> Option<&'static str> {
    let look_up = |table: &'static [(&'static str, &'static str)], key: &str| {
        let place = table.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?;
        table.get(place).map(|(_, language)| *language)
    };
    let name = std::str::from_utf8(path.file_name()).ok();
    name.and_then(|name| look_up(NAMES, name))
        .or_else(|| look_up(EXTENSIONS, &path.extension()?.to_ascii_lowercase()))
        // `Dockerfile.dev`, `Makefile.am`
        .or_else(|| look_up(NAMES, name?.split('.').next()?))
}

/// Names of programming languages as people write them; of markup and data, which no linter would review, there is none here.
const PROGRAMMING: &[(&str, &str)] = &[
    ("c", "C"),
    ("clojure", "Clojure"),
    ("cpp", "C++"),
    ("csharp", "C#"),
    ("cuda", "CUDA"),
    ("cython", "Cython"),
    ("d", "D"),
    ("dart", "Dart"),
    ("elisp", "Emacs Lisp"),
    ("elixir", "Elixir"),
    ("elm", "Elm"),
    ("erb", "ERB"),
    ("erlang", "Erlang"),
    ("fsharp", "F#"),
    ("go", "Go"),
    ("groovy", "Groovy"),
    ("haskell", "Haskell"),
    ("java", "Java"),
    ("javascript", "JavaScript"),
    ("julia", "Julia"),
    ("kotlin", "Kotlin"),
    ("lua", "Lua"),
    ("nim", "Nim"),
    ("nix", "Nix"),
    ("objc", "Objective-C"),
    ("objcpp", "Objective-C++"),
    ("ocaml", "OCaml"),
    ("pascal", "Pascal"),
    ("perl", "Perl"),
    ("php", "PHP"),
    ("powershell", "PowerShell"),
    ("python", "Python"),
    ("r", "R"),
    ("ruby", "Ruby"),
    ("rust", "Rust"),
    ("scala", "Scala"),
    ("shell", "shell"),
    ("solidity", "Solidity"),
    ("sql", "SQL"),
    ("svelte", "Svelte"),
    ("swift", "Swift"),
    ("tsx", "TSX"),
    ("typescript", "TypeScript"),
    ("vb", "Visual Basic"),
    ("verilog", "Verilog"),
    ("vue", "Vue"),
    ("zig", "Zig"),
];

/// Returns the display name of a programming language by its id; `None` for markup, data and configuration.
pub fn display_name(language: &str) -> Option<&'static str> {
    PROGRAMMING.iter().find(|(id, _)| *id == language).map(|(_, name)| *name)
}

/// Beginning of the reason for which a file of a language without rules has text checks only.
const NO_RULES: &str = "no rules for ";

/// Returns the reason for which a file of a language without rules has text checks only; `name` is its display name.
pub fn no_rules_for(name: Option<&str>) -> String {
    format!("{NO_RULES}{}", name.unwrap_or("files of this kind"))
}

/// Returns the display name of the programming language that a reason names; `None` for another reason.
pub fn without_rules(reason: &str) -> Option<&'static str> {
    let named = reason.strip_prefix(NO_RULES)?;
    PROGRAMMING.iter().map(|(_, name)| *name).find(|name| *name == named)
}

/// The name of a language, of those in the tables.
pub type LanguageName = &'static str;

/// Reads a language back by its name; one that is not known is none.
pub fn deserialize<'de, D: Deserializer<'de>>(name: D) -> Result<Option<LanguageName>, D::Error> {
    let name = Option::<String>::deserialize(name)?;
    let mut known = NAMES.iter().chain(EXTENSIONS).map(|(_, language)| *language);
    Ok(known.find(|language| name.as_deref() == Some(language)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        for table in [NAMES, EXTENSIONS, PROGRAMMING] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
        let known: Vec<&str> = NAMES.iter().chain(EXTENSIONS).map(|(_, language)| *language).collect();
        assert!(PROGRAMMING.iter().all(|(id, _)| known.contains(id)));
    }

    #[test]
    fn names_and_extensions_tell_the_language() {
        let language = |path: &str| from_path(&RepoPath::parse(path).unwrap());
        assert_eq!(language("src/main.rs"), Some("rust"));
        assert_eq!(language("web/App.TSX"), Some("tsx"));
        assert_eq!(language("Makefile"), Some("make"));
        assert_eq!(language("docker/Dockerfile.dev"), Some("dockerfile"));
        assert_eq!(language(".bashrc"), Some("shell"));
        assert_eq!(language("LICENSE"), None);
    }
}
