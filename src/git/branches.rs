//! The names of branches, for whoever types one. Main function: [`list_branches`].

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
