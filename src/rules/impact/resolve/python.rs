//! Python: modules by their paths.

use super::super::context::ImpactContext;
use super::{ResolvedUse, UseCandidate, joined};
use crate::domain::path::RepoPath;
use crate::sys::cancel::CancelReason;

pub(super) fn uses(here: &UseCandidate<'_>) -> Result<Vec<ResolvedUse>, CancelReason> {
    let home = here.home;
    let mut found = Vec::new();
    if let Some(owner) = home.owner.as_ref().filter(|_| !home.is_constructor()) {
        if here.is_home() {
            found.extend(here.of_self("self", owner));
        }
        return Ok(found);
    }
    if here.is_home() {
        return Ok(here.by_itself());
    }
    for import in here.symbols.imports.iter().filter(|import| !import.conditional) {
        match &import.name {
            Some(name)
                if name == home.searched_name()
                    && imports_module(here.ground, here.user, &import.path, &home.path)? =>
            {
                found.push(ResolvedUse { line: import.line, call: None });
                found.extend(here.named(import.alias.as_deref().unwrap_or(name)));
            }
            // `from a import b` may import the module `b`.
            Some(name) if name != "*" && stem(&home.path) == name.as_bytes() => {
                let path = format!("{}{}{name}", import.path, if import.path.ends_with('.') { "" } else { "." });
                if imports_module(here.ground, here.user, &path, &home.path)? {
                    found.extend(here.of_member(import.alias.as_deref().unwrap_or(name)));
                }
            }
            None if imports_module(here.ground, here.user, &import.path, &home.path)? => {
                found.extend(here.of_member(import.alias.as_deref().unwrap_or(&import.path)));
            }
            Some(_) | None => {}
        }
    }
    Ok(found)
}

/// Checks whether anything at the head still has the name of a module: a file of another kind, or a folder.
pub(in crate::rules::impact) fn module_exists(
    ground: &ImpactContext<'_>,
    path: &RepoPath,
) -> Result<bool, CancelReason> {
    let bytes = path.as_bytes();
    let Some(stem) = bytes.strip_suffix(b"/__init__.py").or_else(|| bytes.strip_suffix(b".py")) else {
        return Ok(true);
    };
    let files = ground.files()?;
    let goes_by = |end: &[u8]| {
        let start = [stem, end].concat();
        let at = files.partition_point(|entry| entry.path.as_bytes() < start.as_slice());
        files.get(at).is_some_and(|entry| entry.path.as_bytes().starts_with(&start))
    };
    Ok(goes_by(b".") || goes_by(b"/"))
}

/// Checks whether a folder above `user`, but not that of the repository, has the module: a package that moved with everything beside it into a
/// program of its own is imported by the same path.
pub(in crate::rules::impact) fn exists_above(
    ground: &ImpactContext<'_>,
    user: &RepoPath,
    import: &str,
) -> Result<bool, CancelReason> {
    let (name, place) = (user.display_name(), import.replace('.', "/"));
    if import.starts_with('.') {
        return Ok(false);
    }
    for (at, _) in name.match_indices('/') {
        if let Ok(path) = RepoPath::parse(&format!("{}/{place}.py", &name[..at]))
            && module_exists(ground, &path)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn stem(path: &RepoPath) -> &[u8] {
    let name = path.file_name();
    name.strip_suffix(b".py").unwrap_or(name)
}

/// Checks whether the module `path`, imported in `user`, is the file `target`.
pub(in crate::rules::impact) fn imports_module(
    ground: &ImpactContext<'_>,
    user: &RepoPath,
    path: &str,
    target: &RepoPath,
) -> Result<bool, CancelReason> {
    let dots = path.len() - path.trim_start_matches('.').len();
    let rest = path[dots..].replace('.', "/");
    let ends = |whole: &[u8]| [[whole, b".py"].concat(), [whole, b"/__init__.py"].concat()];
    if dots > 0 {
        let up = format!("{}{rest}", "../".repeat(dots - 1));
        let Some(whole) = joined(user.folder(), &up) else { return Ok(false) };
        return Ok(ends(&whole).iter().any(|file| file == target.as_bytes()));
    }
    let bytes = target.as_bytes();
    let Some(prefix) = ends(rest.as_bytes()).iter().find_map(|end| bytes.strip_suffix(end.as_slice())) else {
        return Ok(false);
    };
    // A single word may be any package: it is resolved from the root, or from the folder of the file itself.
    let (Some(root), depth) =
        (prefix.strip_suffix(b"/").or(prefix.is_empty().then_some(b"".as_slice())), rest.split('/').count())
    else {
        return Ok(false);
    };
    let is_usual = root.is_empty() || root == b"src" || root == b"lib";
    let beside = depth == 1 && user.folder() == root;
    if !(is_usual || depth > 1 || beside) {
        return Ok(false);
    }
    // The folder that modules are resolved from is not a package itself, and another tree may have its own.
    let marker = [root, b"/__init__.py"].concat();
    let shares = root.is_empty() || user.as_bytes().starts_with(&[root, b"/"].concat()) || is_usual;
    Ok(shares && (root.is_empty() || !ground.exists(&marker)?))
}
