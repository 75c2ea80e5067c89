//! The branches of a clone: their names, for whoever types one, and all of one kind. Main functions: [`list_branches`], [`branches_of`].

use super::GitError;
use crate::domain::text::mask;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// The namespaces of branches, in search order.
const PLACES: &[&str] = &["refs/heads/", "refs/remotes/"];

/// The branches whose short names, as everybody is shown them, begin with `typed`, those of this clone first, each kind by name; at most `most`.
pub fn list_branches(repo: &Repo, typed: &str, most: usize, cancel: &Cancel) -> Result<Vec<String>, GitError> {
    let mut found = Vec::new();
    for place in PLACES {
        let mut here = Vec::new();
        // What was typed may hold characters of a glob, so it is compared here.
        for reference in repo.raw().references_glob(&format!("{place}*"))? {
            cancel.check()?;
            let Ok(reference) = reference else { continue };
            let Ok(name) = std::str::from_utf8(reference.name_bytes()) else { continue };
            let short = mask(name.strip_prefix(place).unwrap_or(name)).text;
            // `origin/HEAD` is another name of a branch.
            if short.starts_with(typed) && !short.ends_with("/HEAD") {
                here.push(short);
            }
        }
        here.sort();
        found.extend(here);
    }
    found.truncate(most);
    Ok(found)
}

/// The branches of this clone, or its remote-tracking branches of one remote: short names that resolve to nothing else, sorted.
pub fn branches_of(repo: &Repo, remote: Option<&str>, cancel: &Cancel) -> Result<Vec<String>, GitError> {
    let place = remote.map_or_else(|| "refs/heads/".to_owned(), |remote| format!("refs/remotes/{remote}/"));
    let mut found = Vec::new();
    for reference in repo.raw().references()? {
        cancel.check()?;
        let Ok(reference) = reference else { continue };
        let Ok(full) = std::str::from_utf8(reference.name_bytes()) else { continue };
        let Some(name) = full.strip_prefix(&place) else { continue };
        // `origin/HEAD` is another name of a branch.
        if remote.is_some() && name == "HEAD" {
            continue;
        }
        let short = full.strip_prefix(if remote.is_some() { "refs/remotes/" } else { "refs/heads/" }).unwrap_or(full);
        // A tag of the name would be taken, as git does.
        let is_tag_too = repo.raw().find_reference(&format!("refs/tags/{short}")).is_ok();
        let name = if is_tag_too { full.strip_prefix("refs/").unwrap_or(full) } else { short };
        found.push(mask(name).text);
    }
    found.sort();
    Ok(found)
}
