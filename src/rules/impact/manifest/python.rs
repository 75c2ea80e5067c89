//! `pyproject.toml` and the lock files of uv, poetry and pdm.

use toml::{Table, Value};

use super::{Pair, Wanted};

pub(super) fn wanted(text: &str) -> Option<Vec<Wanted>> {
    let table: Table = text.parse().ok()?;
    let mut found = Vec::new();
    let mut listed = |value: Option<&Value>| {
        for entry in value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            found.extend(requirement(entry));
        }
    };
    let project = table.get("project");
    listed(project.and_then(|project| project.get("dependencies")));
    let extras = project.and_then(|project| project.get("optional-dependencies"));
    let groups = [extras, table.get("dependency-groups")];
    for group in groups.into_iter().flatten().filter_map(Value::as_table) {
        group.values().for_each(|list| listed(Some(list)));
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let mut named = |value: Option<&Value>| {
        for (name, version) in value.and_then(Value::as_table).into_iter().flatten() {
            if name != "python" && version.get("path").is_none() {
                found.push(Wanted { name: name.clone(), version: String::new() });
            }
        }
    };
    named(poetry.and_then(|poetry| poetry.get("dependencies")));
    let groups = poetry.and_then(|poetry| poetry.get("group")).and_then(Value::as_table);
    for group in groups.into_iter().flat_map(Table::values) {
        named(group.get("dependencies"));
    }
    Some(found)
}

/// The name of `name[extra]>=1; marker`. Only names are compared: tools write versions in orders of their own.
fn requirement(text: &str) -> Option<Wanted> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text = text.trim();
    let name = &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
    (!name.is_empty()).then(|| Wanted { name: name.to_owned(), version: String::new() })
}

/// Names are the same whatever their case and marks.
fn normal(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

pub(super) fn lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let has = |name: &str| {
        let name = normal(name);
        let entry = |line: &str| line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"')).map(normal);
        pair.lock.lines().any(|line| entry(line).as_ref() == Some(&name))
    };
    // uv lists the project itself: a lock that does not is another project's.
    if pair.lock_name == "uv.lock" {
        let table: Table = pair.manifest.parse().ok()?;
        let own = table.get("project")?.get("name")?.as_str()?;
        if !has(own) {
            return None;
        }
    } else if !pair.below.is_empty() {
        return None;
    }
    Some(!has(&wanted.name))
}
