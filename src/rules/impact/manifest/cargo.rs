//! `Cargo.toml` and `Cargo.lock`.

use toml::{Table, Value};

use super::{Pair, Wanted};

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The requirements of a manifest under their own names; what it takes from elsewhere by path or from a repository has no version to compare.
pub(super) fn wanted(text: &str) -> Option<Vec<Wanted>> {
    let table: Table = text.parse().ok()?;
    let mut found = Vec::new();
    let mut take = |holder: &Table, sections: &[&str]| {
        for section in sections {
            let Some(Value::Table(listed)) = holder.get(*section) else { continue };
            found.extend(listed.iter().map(|(key, value)| one(key, value)));
        }
    };
    take(&table, &SECTIONS);
    if let Some(Value::Table(workspace)) = table.get("workspace") {
        take(workspace, &["dependencies"]);
    }
    if let Some(Value::Table(targets)) = table.get("target") {
        for target in targets.values().filter_map(Value::as_table) {
            take(target, &SECTIONS);
        }
    }
    Some(found)
}

/// The name is the key, so that its line is found; what the package is called, and from where it comes, stands in the version.
fn one(key: &str, value: &Value) -> Wanted {
    let version = match value {
        Value::String(version) => version.clone(),
        Value::Table(table) => {
            let of = |key: &str| table.get(key).and_then(Value::as_str);
            let is_workspace = table.get("workspace").and_then(Value::as_bool) == Some(true);
            let elsewhere = ["path", "git", "registry"].iter().any(|key| table.contains_key(*key));
            match of("package") {
                Some(package) => format!("package {package}"),
                None if is_workspace => "workspace".to_owned(),
                None if elsewhere => "elsewhere".to_owned(),
                None => of("version").unwrap_or_default().to_owned(),
            }
        }
        _ => String::new(),
    };
    Wanted { name: key.to_owned(), version }
}

pub(super) fn lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let manifest: Table = pair.manifest.parse().ok()?;
    let package = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    let locked = |name: &str| -> Vec<&str> {
        let mut lines = pair.lock.lines();
        let entry = format!("name = \"{name}\"");
        let mut versions = Vec::new();
        while let Some(line) = lines.next() {
            if line == entry {
                let version = lines.next().and_then(|line| line.strip_prefix("version = \""));
                versions.push(version.map_or("", |version| version.trim_end_matches('"')));
            }
        }
        versions
    };
    // A lock file that does not know the package speaks for another workspace.
    match package {
        Some(own) if locked(own).is_empty() => return None,
        None if manifest.get("workspace").is_none() => return None,
        _ => {}
    }
    let (name, version) = match wanted.version.strip_prefix("package ") {
        Some(package) => (package, ""),
        None => (wanted.name.as_str(), wanted.version.as_str()),
    };
    let only_offered = package.is_none() || !required_by_package(&manifest, &wanted.name);
    let versions = locked(name);
    match version {
        // What the workspace offers may have another name.
        "workspace" => {
            let root: Table = pair.root.unwrap_or(pair.manifest).parse().ok()?;
            let offered = root.get("workspace")?.get("dependencies")?.get(name)?;
            let name = offered.get("package").and_then(Value::as_str).unwrap_or(name);
            Some(locked(name).is_empty())
        }
        // What a workspace offers is locked once a package takes it.
        _ if versions.is_empty() => (!only_offered).then_some(true),
        "elsewhere" | "" => Some(false),
        version => Some(!versions.iter().any(|locked| satisfies(locked, version).unwrap_or(true))),
    }
}

fn required_by_package(manifest: &Table, name: &str) -> bool {
    let has = |holder: &Table| {
        SECTIONS.iter().any(|section| holder.get(*section).is_some_and(|list| list.get(name).is_some()))
    };
    let targets = manifest.get("target").and_then(Value::as_table);
    has(manifest) || targets.is_some_and(|targets| targets.values().filter_map(Value::as_table).any(has))
}

/// Checks whether a locked version is one that a plain requirement (`1`, `^1.2`, `=1.2.3`) allows; `None` for any other.
fn satisfies(locked: &str, requirement: &str) -> Option<bool> {
    let exact = requirement.trim().strip_prefix('=');
    let plain = exact.unwrap_or_else(|| requirement.trim().trim_start_matches('^')).trim();
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let text = text.split('+').next()?;
        text.split('.').map(|part| part.parse().ok()).collect()
    };
    let (wanted, have) = (numbers(plain)?, numbers(locked)?);
    if have.len() != 3 || wanted.is_empty() || wanted.len() > 3 {
        return None;
    }
    if exact.is_some() {
        return Some(have.starts_with(&wanted));
    }
    // Up to the first number that is not 0, all must be the same.
    let fixed = wanted.iter().position(|number| *number != 0).map_or(wanted.len(), |at| at + 1);
    let mut padded = wanted.clone();
    padded.resize(3, 0);
    Some(have[..fixed] == padded[..fixed] && have >= padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_compared_as_cargo_does() {
        for (locked, requirement, expected) in [
            ("1.2.3", "1", Some(true)),
            ("1.2.3", "1.3", Some(false)),
            ("1.2.3", "^1.2.0", Some(true)),
            ("2.0.0", "1.2", Some(false)),
            ("0.3.1", "0.2", Some(false)),
            ("0.2.9", "0.2.4", Some(true)),
            ("0.0.3", "0.0.2", Some(false)),
            ("1.2.3", "=1.2.3", Some(true)),
            ("1.2.4", "=1.2.3", Some(false)),
            ("1.2.3", ">=1, <3", None),
            ("1.2.3-rc.1", "1.2.3", None),
        ] {
            assert_eq!(satisfies(locked, requirement), expected, "{locked} {requirement}");
        }
    }
}
