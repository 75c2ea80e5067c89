//! `go.mod` and `go.sum`.

use super::{Pair, Wanted};

/// The direct requirements; what came with that is for the tool to list.
#[expect(clippy::unnecessary_wraps, reason = "one of several functions of a table")]
pub(super) fn wanted(text: &str) -> Option<Vec<Wanted>> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let code = code.trim();
        match code {
            ")" => inside = false,
            "require (" => inside = true,
            _ => {
                let entry = if inside { Some(code) } else { code.strip_prefix("require ") };
                let mut words = entry.unwrap_or_default().split_whitespace();
                if let (Some(name), Some(version), false) =
                    (words.next(), words.next(), comment.trim().starts_with("indirect"))
                {
                    found.push(Wanted { name: name.to_owned(), version: version.to_owned() });
                }
            }
        }
    }
    Some(found)
}

pub(super) fn lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let replaced = pair.manifest.lines().any(|line| {
        let line = line.trim().trim_start_matches("replace ").trim();
        line.contains("=>") && line.split_whitespace().next() == Some(&wanted.name)
    });
    let listed = |version: &str| {
        let start = format!("{} {version} ", wanted.name);
        pair.lock.lines().any(|line| line.starts_with(&start))
    };
    (!replaced).then(|| !listed(&wanted.version) && !listed(&format!("{}/go.mod", wanted.version)))
}
