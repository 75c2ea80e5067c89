//! The files of diagnostics, relative to the repository, and the arguments that a tool may get. Main type: [`FilePlaces`]; main
//! function: [`check_arguments`].
//!
//! Tools name files from the folder in which they ran, from the root of their workspace, or whole.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Flags with which a linter would load code or settings from elsewhere, or write a file, by program; without dashes and in lower case, as some
/// programs take them in both spellings.
const REFUSED: &[(&str, &[&str])] = &[(
    "eslint",
    &["config", "c", "rulesdir", "plugin", "resolvepluginsrelativeto", "parser", "format", "f", "outputfile", "o"],
)];
/// Flags with which a program that only looks changes files of the project, by program.
const WRITES: &[(&str, &[&str])] = &[
    ("biome", &["write", "fix", "apply", "applyunsafe"]),
    ("cargo", &["fix"]),
    ("eslint", &["fix", "fixtype"]),
    ("golangci-lint", &["fix"]),
    ("rubocop", &["a", "autocorrect", "autocorrectall", "autogenconfig", "x", "fixlayout"]),
    ("ruff", &["fix", "addnoqa", "unsafefixes"]),
];

/// The most files among which one is looked for by its name alone.
const MOST_ENTRIES: usize = 50_000;

/// Why an argument is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RefusedArgument {
    /// It would run other code.
    #[error("the argument {0:?} is refused: it names code or settings from elsewhere")]
    Flag(String),
    /// A script has no usable name.
    #[error("the first argument has to be the name of a script, and {0:?} is none")]
    Script(String),
    /// No program can get it.
    #[error("an argument contains a NUL character")]
    Nul,
}

/// Checks arguments of a caller.
pub fn check_arguments(program: &str, arguments: &[String], names_script: bool) -> Result<(), RefusedArgument> {
    if arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(RefusedArgument::Nul);
    }
    if let Some(argument) = flag_of(REFUSED, program, arguments) {
        return Err(RefusedArgument::Flag(argument.clone()));
    }
    if names_script {
        let script = arguments.first().map_or("", String::as_str);
        let is_known = |char: char| char.is_ascii_alphanumeric() || "_:@/.-".contains(char);
        if script.is_empty() || script.starts_with('-') || !script.chars().all(is_known) {
            return Err(RefusedArgument::Script(script.to_owned()));
        }
    }
    Ok(())
}

/// Checks whether arguments make a program change files that without them only looks.
pub fn writes(program: &str, arguments: &[String]) -> bool {
    flag_of(WRITES, program, arguments).is_some()
}

/// Finds the first argument that is one of a program's flags in a table.
fn flag_of<'a>(table: &[(&str, &[&str])], program: &str, arguments: &'a [String]) -> Option<&'a String> {
    let (_, flags) = table.iter().find(|(known, _)| *known == program)?;
    arguments.iter().find(|argument| {
        let Some(rest) = argument.strip_prefix('-') else { return false };
        let flag: String = rest.split('=').next().unwrap_or_default().chars().filter(|c| *c != '-').collect();
        // A short flag may have its value, or other flags, behind it.
        let is_short = !rest.starts_with('-');
        let flag = flag.to_ascii_lowercase();
        flags.iter().any(|known| flag == *known || is_short && known.len() == 1 && flag.starts_with(known))
    })
}

/// The files that the diagnostics of one run name.
pub struct FilePlaces<'a> {
    directory: &'a Path,
    root: &'a Path,
    /// The files by their names; `None` where several bear it. Made when it is needed.
    names: OnceCell<HashMap<OsString, Option<PathBuf>>>,
}

impl<'a> FilePlaces<'a> {
    /// Prepares to look for files that a tool names which ran in `directory`, below `root`; both without links.
    pub fn new(directory: &'a Path, root: &'a Path) -> Self {
        Self { directory, root, names: OnceCell::new() }
    }

    /// Returns a file relative to the root. It is looked for from the folder of the run, then from those above it: tools of a workspace name
    /// files from its root; then by its name alone, as some test runners write it. A file outside of the root keeps its name.
    pub fn relative(&self, file: &str) -> String {
        let (directory, root) = (self.directory, self.root);
        let plain = file.strip_prefix("file://").unwrap_or(file);
        let named = Path::new(plain);
        let above = directory.ancestors().take_while(|folder| folder.starts_with(root));
        let there = above.map(|folder| folder.join(named)).find(|path| path.exists());
        let is_name = named.parent() == Some(Path::new(""));
        let there = there.or_else(|| if is_name { self.by_name(named) } else { None });
        let whole = normal(&there.unwrap_or_else(|| directory.join(named)));
        // A tool may name folders through links.
        let canonical = || whole.canonicalize().ok();
        let inside = |path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
        let found = inside(&whole).or_else(|| inside(&canonical()?));
        found.map_or_else(|| plain.to_owned(), |path| path.to_string_lossy().replace('\\', "/"))
    }

    fn by_name(&self, name: &Path) -> Option<PathBuf> {
        let names = self.names.get_or_init(|| {
            let mut names: HashMap<OsString, Option<PathBuf>> = HashMap::new();
            let entries = ignore::WalkBuilder::new(self.directory).follow_links(false).build().flatten();
            for entry in entries.take(MOST_ENTRIES).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            {
                let path = entry.path().to_owned();
                names.entry(entry.file_name().to_owned()).and_modify(|known| *known = None).or_insert(Some(path));
            }
            names
        });
        names.get(name.as_os_str()).cloned().flatten()
    }
}

/// Removes `.` and `..` without looking at the disk.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_root_wherever_the_tool_ran() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let member = root.join("crates/one");
        std::fs::create_dir_all(member.join("src")).unwrap();
        std::fs::write(member.join("src/lib.rs"), "").unwrap();
        let files = FilePlaces::new(&member, &root);
        let at = |file: &str| files.relative(file);
        assert_eq!(at("src/lib.rs"), "crates/one/src/lib.rs");
        assert_eq!(at("crates/one/src/lib.rs"), "crates/one/src/lib.rs");
        assert_eq!(at("./src/../src/lib.rs"), "crates/one/src/lib.rs");
        assert_eq!(at(&format!("file://{}", member.join("src/lib.rs").display())), "crates/one/src/lib.rs");
        assert_eq!(at("gone.rs"), "crates/one/gone.rs");
        assert_eq!(at("lib.rs"), "crates/one/src/lib.rs", "a name alone");
        assert_eq!(at("/usr/include/stdio.h"), "/usr/include/stdio.h");
        assert_eq!(at("../../../../etc/passwd"), "../../../../etc/passwd");
    }

    #[test]
    fn code_from_elsewhere_is_refused_in_every_spelling() {
        let check = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            check_arguments("eslint", &words, false)
        };
        for refused in [
            "--config",
            "--config=x.js",
            "-c",
            "-cx.js",
            "--rulesdir=x",
            "--plugin=x",
            "--format=./x.js",
            "-f./x.js",
            "--resolvePluginsRelativeTo=x",
            "--output-file",
        ] {
            assert!(matches!(check(&["src", refused]), Err(RefusedArgument::Flag(_))), "{refused}");
        }
        assert_eq!(check(&["src", "--fix-dry-run", "--cache"]), Ok(()));
        let writing = |program: &str, flag: &str| writes(program, &[flag.to_owned()]);
        assert!(writing("eslint", "--fix") && writing("rubocop", "-A") && writing("ruff", "--fix"));
        assert!(!writing("eslint", "--fix-dry-run") && !writing("ruff", "src") && !writing("go", "-fix"));
        let script = |name: &str| check_arguments("npm", &[name.to_owned()], true);
        assert_eq!(script("lint:fix"), Ok(()));
        for odd in ["", "--ignore-scripts", "a;b", "a b"] {
            assert!(script(odd).is_err(), "{odd}");
        }
        assert_eq!(check_arguments("go", &["a\0b".to_owned()], false), Err(RefusedArgument::Nul));
    }
}
