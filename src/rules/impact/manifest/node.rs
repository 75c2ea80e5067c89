//! `package.json` and the lock files of npm, pnpm and yarn.

use serde_json::{Map, Value};

use super::{Pair, Wanted};

/// Peers are asked of whoever installs the package, so no lock file must have them.
const SECTIONS: [&str; 3] = ["dependencies", "devDependencies", "optionalDependencies"];

pub(super) fn wanted(text: &str) -> Option<Vec<Wanted>> {
    let Value::Object(manifest) = serde_json::from_str(text).ok()? else { return None };
    let sections = SECTIONS.iter().filter_map(|section| manifest.get(*section)?.as_object());
    let entries = sections.flat_map(|section| section.iter());
    Some(
        entries
            .filter_map(|(name, version)| Some(Wanted { name: name.clone(), version: version.as_str()?.to_owned() }))
            .collect(),
    )
}

pub(super) fn lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    // A name that is put in the place of another's is locked as whatever that says.
    let overridden = [Some(pair.manifest), pair.root].into_iter().flatten().any(|text| overrides(text, &wanted.name));
    // A package of the workspace itself needs no lock.
    if overridden || wanted.version.starts_with("workspace:") {
        return None;
    }
    match pair.lock_name {
        "pnpm-lock.yaml" => pnpm(pair, wanted),
        "yarn.lock" => yarn(pair, wanted),
        _ => npm(pair, wanted),
    }
}

fn overrides(manifest: &str, name: &str) -> bool {
    let Ok(manifest) = serde_json::from_str::<Value>(manifest) else { return true };
    let lists = [manifest.get("overrides"), manifest.get("resolutions"), manifest.pointer("/pnpm/overrides")];
    let names = |list: &Map<String, Value>| list.keys().any(|key| key.contains(name));
    lists.into_iter().flatten().filter_map(Value::as_object).any(names)
}

fn npm(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let lock: Value = serde_json::from_str(pair.lock).ok()?;
    // Without `packages` it is of the first version and knows no workspaces.
    let Some(packages) = lock.get("packages").and_then(Value::as_object) else {
        let listed = lock.get("dependencies")?.as_object()?;
        return pair.below.is_empty().then(|| !listed.contains_key(&wanted.name));
    };
    let own = packages.get(pair.below)?;
    let version = |section: &&str| own.get(*section)?.get(&wanted.name)?.as_str().map(str::to_owned);
    Some(!SECTIONS.iter().filter_map(version).any(|version| version == wanted.version))
}

fn pnpm(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let importer = if pair.below.is_empty() { "." } else { pair.below };
    let mut lines = pair.lock.lines().peekable();
    // What the lock file says to override is written into it otherwise than it was asked for.
    let overridden = pair.lock.lines().skip_while(|line| *line != "overrides:").skip(1);
    let mut overridden = overridden.take_while(|line| line.starts_with(' ') || line.is_empty());
    if overridden.any(|line| line.contains(wanted.name.as_str())) {
        return None;
    }
    let is_key = |line: &str, depth: usize, key: &str| {
        let rest = line.get(depth..).filter(|_| line.bytes().take(depth).all(|byte| byte == b' '));
        rest.and_then(|rest| rest.strip_suffix(':')).is_some_and(|name| name.trim_matches(['\'', '"']) == key)
    };
    lines.by_ref().find(|line| *line == "importers:")?;
    let of_importers = |line: &&str| line.starts_with(' ') || line.is_empty();
    let mut inside = lines.take_while(of_importers).skip_while(|line| !is_key(line, 2, importer));
    inside.next()?;
    let mut own = inside.take_while(|line| line.starts_with("    ") || line.is_empty());
    while let Some(line) = own.next() {
        if is_key(line, 6, &wanted.name) {
            let specifier = own.next()?.trim().strip_prefix("specifier:")?.trim().trim_matches(['\'', '"']);
            return Some(specifier != wanted.version);
        }
    }
    Some(true)
}

fn yarn(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let own_protocol = |version: &str| version.split_once(':').is_some_and(|(protocol, _)| protocol != "npm");
    let is_catalogued = wanted.version.is_empty() || own_protocol(&wanted.version) || wanted.version.contains('/');
    // A version that says where it comes from is written in ways of its own.
    if is_catalogued {
        return None;
    }
    if !pair.below.is_empty() {
        let member = format!("@workspace:{}\"", pair.below);
        let berry = pair.lock.contains("__metadata:");
        let has_workspaces = || {
            let root: Option<Value> = pair.root.and_then(|root| serde_json::from_str(root).ok());
            root.is_some_and(|root| root.get("workspaces").is_some())
        };
        if if berry { !pair.lock.contains(&member) } else { !has_workspaces() } {
            return None;
        }
    }
    let version = wanted.version.strip_prefix("npm:").unwrap_or(&wanted.version);
    let (plain, with_npm) = (format!("{}@{version}", wanted.name), format!("{}@npm:{version}", wanted.name));
    let key = |line: &str| !line.starts_with([' ', '#']) && line.ends_with(':');
    let listed = |line: &str| {
        let line = line.trim_end_matches(':');
        line.split(',').map(|part| part.trim().trim_matches('"')).any(|part| part == plain || part == with_npm)
    };
    Some(!pair.lock.lines().filter(|line| key(line)).any(listed))
}
