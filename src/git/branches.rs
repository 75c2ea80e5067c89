//! The names of branches, for whoever types one. Main function: [`branches`].

use super::GitError;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Where branches are kept, in the order in which they are looked through.
const PLACES: &[&str] = &["refs/heads/", "refs/remotes/"];

/// The branches whose short names begin with `typed`, those of this clone first, each kind by name; at most `most`.
pub fn branches(repo: &Repo, typed: &str, most: usize, cancel: &Cancel) -> Result<Vec<String>, GitError> {
    let mut found = Vec::new();
    for place in PLACES {
        let mut here = Vec::new();
        // What was typed may hold characters of a glob, so it is compared here.
        for reference in repo.raw().references_glob(&format!("{place}*"))? {
            cancel.check()?;
            let Ok(reference) = reference else { continue };
            let Ok(name) = std::str::from_utf8(reference.name_bytes()) else { continue };
            let short = name.strip_prefix(place).unwrap_or(name);
            // `origin/HEAD` is another name of a branch.
            if short.starts_with(typed) && !short.ends_with("/HEAD") {
                here.push(short.to_owned());
            }
        }
        here.sort();
        found.extend(here);
    }
    found.truncate(most);
    Ok(found)
}
