//! The files of diagnostics, relative to the repository, and the arguments that a tool may get. Main functions: [`relative`],
//! [`check_arguments`].
//!
//! Tools name files from the folder in which they ran, from the root of their workspace, or whole.

use std::path::{Component, Path, PathBuf};

/// Flags with which a linter would load code or settings from elsewhere, by program.
const REFUSED: &[(&str, &[&str])] =
    &[("eslint", &["--config", "-c", "--rulesdir", "--plugin", "--resolve-plugins-relative-to", "--parser"])];

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
    let refused = REFUSED.iter().find(|(known, _)| *known == program).map_or(&[][..], |(_, flags)| flags);
    let is_refused = |argument: &&String| {
        let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
        // A short flag may have its value behind it.
        refused.iter().any(|known| flag == *known || (known.len() == 2 && flag.starts_with(known)))
    };
    if let Some(argument) = arguments.iter().find(is_refused) {
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

/// Returns a file of a diagnostic relative to `root`. One that was named from `directory` is looked for there first, then in the folders
/// above it: tools of a workspace name files from its root. A file outside of `root` keeps its name.
pub fn relative(file: &str, directory: &Path, root: &Path) -> String {
    let plain = file.strip_prefix("file://").unwrap_or(file);
    let named = Path::new(plain);
    let above = directory.ancestors().take_while(|folder| folder.starts_with(root));
    let there = above.map(|folder| folder.join(named)).find(|path| path.exists());
    // Some test runners write the name alone.
    let there =
        there.or_else(|| (named.parent() == Some(Path::new(""))).then(|| find_below(directory, named)).flatten());
    let whole = normal(&there.unwrap_or_else(|| directory.join(named)));
    // A tool may name folders through links.
    let canonical = || whole.canonicalize().ok();
    let inside = |path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
    let found = inside(&whole).or_else(|| inside(&canonical()?));
    found.map_or_else(|| plain.to_owned(), |path| path.to_string_lossy().replace('\\', "/"))
}

/// Finds the one file of this name below a folder; `None` if there are several, or if too many files are there.
fn find_below(folder: &Path, name: &Path) -> Option<PathBuf> {
    let mut found = None;
    for (nth, entry) in ignore::WalkBuilder::new(folder).follow_links(false).build().enumerate() {
        let entry = entry.ok().filter(|_| nth < MOST_ENTRIES)?;
        if entry.file_name() == name.as_os_str() && entry.file_type().is_some_and(|kind| kind.is_file()) {
            if found.is_some() {
                return None;
            }
            found = Some(entry.into_path());
        }
    }
    found
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
        let at = |file: &str| relative(file, &member, &root);
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
        for refused in ["--config", "--config=x.js", "-c", "-cx.js", "--rulesdir=x", "--plugin=x"] {
            assert!(matches!(check(&["src", refused]), Err(RefusedArgument::Flag(_))), "{refused}");
        }
        assert_eq!(check(&["src", "--fix-dry-run", "--cache"]), Ok(()));
        let script = |name: &str| check_arguments("npm", &[name.to_owned()], true);
        assert_eq!(script("lint:fix"), Ok(()));
        for odd in ["", "--ignore-scripts", "a;b", "a b"] {
            assert!(script(odd).is_err(), "{odd}");
        }
        assert_eq!(check_arguments("go", &["a\0b".to_owned()], false), Err(RefusedArgument::Nul));
    }
}
