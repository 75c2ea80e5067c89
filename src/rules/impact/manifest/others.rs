//! Composer, Bundler and Pipenv.

use serde_json::Value;
use toml::Table;

use super::{Pair, Wanted};

fn named(name: &str) -> Wanted {
    Wanted { name: name.to_owned(), version: String::new() }
}

pub(super) fn composer_wanted(text: &str) -> Option<Vec<Wanted>> {
    let manifest: Value = serde_json::from_str(text).ok()?;
    let sections = ["require", "require-dev"].into_iter().filter_map(|section| manifest.get(section)?.as_object());
    // What has no vendor is the platform's.
    Some(
        sections.flat_map(|section| section.keys()).filter(|name| name.contains('/')).map(|name| named(name)).collect(),
    )
}

pub(super) fn composer_lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let lock: Value = serde_json::from_str(pair.lock).ok()?;
    let lists = ["packages", "packages-dev"].into_iter().filter_map(|list| lock.get(list)?.as_array());
    let mut names = lists.flatten().filter_map(|package| package.get("name")?.as_str());
    Some(!names.any(|name| name.eq_ignore_ascii_case(&wanted.name)))
}

#[expect(clippy::unnecessary_wraps, reason = "one of several functions of a table")]
pub(super) fn gem_wanted(text: &str) -> Option<Vec<Wanted>> {
    let gem = |line: &str| {
        let rest = line.trim_start().strip_prefix("gem ")?.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (name, _) = rest[1..].split_once(quote)?;
        (!rest.contains("path:")).then(|| named(name))
    };
    Some(text.lines().filter_map(gem).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "one of several functions of a table")]
pub(super) fn gem_lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let start = format!("    {} (", wanted.name);
    Some(!pair.lock.lines().any(|line| line.starts_with(&start)))
}

pub(super) fn pip_wanted(text: &str) -> Option<Vec<Wanted>> {
    let manifest: Table = text.parse().ok()?;
    let sections = ["packages", "dev-packages"].into_iter().filter_map(|section| manifest.get(section)?.as_table());
    let remote = sections.flatten().filter(|(_, version)| version.get("path").is_none());
    Some(remote.map(|(name, _)| named(name)).collect())
}

pub(super) fn pip_lacks(pair: &Pair<'_>, wanted: &Wanted) -> Option<bool> {
    let lock: Value = serde_json::from_str(pair.lock).ok()?;
    let normal = |name: &str| name.to_ascii_lowercase().replace(['_', '.'], "-");
    let sections = ["default", "develop"].into_iter().filter_map(|section| lock.get(section)?.as_object());
    let name = normal(&wanted.name);
    Some(!sections.flat_map(|section| section.keys()).any(|locked| normal(locked) == name))
}
