//! Identifies translation files and the files with their source strings. Main functions: [`TranslationFormat::of`], [`source_paths`].

/// The format of a translation file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranslationFormat {
    /// gettext's `.po`, with the source in each entry.
    Gettext,
    Json,
    /// A module of JavaScript or TypeScript; or a `.ts` file of Qt, recognized by its beginning, with the source in each entry.
    Module,
    Properties,
    Ini,
    Yaml,
}

impl TranslationFormat {
    /// Determines the format by the name of the file.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
        Some(match extension {
            "po" => Self::Gettext,
            "json" | "json5" | "jsonc" | "arb" => Self::Json,
            "ts" | "js" | "mjs" => Self::Module,
            "properties" => Self::Properties,
            "ini" => Self::Ini,
            "yml" | "yaml" => Self::Yaml,
            _ => return None,
        })
    }
}

/// Names of the usual source language.
const FIRST: &[&str] = &["en", "en-US", "en_US", "en-us", "en_us", "en-GB", "en_GB"];

/// Folders of code with the name of a language.
const FOLDERS: &[&str] = &[
    "api", "app", "bin", "cli", "cmd", "css", "db", "dev", "doc", "e2e", "gui", "io", "js", "lib", "net", "pkg", "src",
    "sys", "ts", "ui", "usr", "vs", "web", "www",
];

/// Returns the paths at which the source of a translation may be, the likeliest first; none if the name is no translation's.
pub(super) fn source_paths(path: &str, kind: TranslationFormat) -> Vec<String> {
    let (folders, name) = path.rsplit_once('/').map_or(("", path), |(folders, name)| (folders, name));
    let Some((stem, extension)) = name.rsplit_once('.') else { return Vec::new() };
    let within = |name: String| if folders.is_empty() { name } else { format!("{folders}/{name}") };
    // A module may have any name: `log.ts`, `use-api.ts`.
    let is_module = kind == TranslationFormat::Module;
    if is_language(stem) && !(is_module && stem.find(['-', '_']).unwrap_or(stem.len()) == 3) {
        if FIRST[..1].contains(&stem) {
            return Vec::new();
        }
        let others = FIRST.iter().take_while(|first| **first != stem);
        return others.map(|first| within(format!("{first}.{extension}"))).collect();
    }
    // `messages_de`, `client.de`, `app-de`.
    for (at, mark) in stem.match_indices(['_', '.', '-']).filter(|_| !is_module) {
        let (base, language) = (&stem[..at], &stem[at + 1..]);
        if is_language(language) && !base.is_empty() && !FIRST.contains(&language) {
            let mut found: Vec<String> =
                FIRST.iter().map(|first| within(format!("{base}{mark}{first}.{extension}"))).collect();
            if kind == TranslationFormat::Properties {
                found.insert(0, within(format!("{base}.{extension}")));
            }
            return found;
        }
    }
    // `locales/de/common.json`
    let parts: Vec<&str> = folders.split('/').collect();
    if parts.iter().any(|part| FIRST.contains(part)) {
        return Vec::new();
    }
    // Several parts may look like a language: the existing source decides.
    let mut found = Vec::new();
    let named = |at: &usize| is_language(parts[*at]) && !FOLDERS.contains(&parts[*at]);
    for at in (0..parts.len()).rev().filter(named).take(3) {
        let other = |first: &&str| [&parts[..at], &[*first], &parts[at + 1..], &[name]].concat().join("/");
        found.extend(FIRST.iter().map(other));
    }
    found
}

/// Returns the language in the name of a file, which may be repeated as a key in the file.
pub(super) fn language(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, _) = name.rsplit_once('.')?;
    let last = stem.rsplit('.').next()?;
    is_language(last).then_some(last)
}

/// `de`, `pt-BR`, `zh_Hans`, `zh-Hant-TW`, `es-419`.
fn is_language(text: &str) -> bool {
    let mut parts = text.split(['-', '_']);
    let Some(first) = parts.next() else { return false };
    let named = (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_lowercase());
    // Notes to translators about the strings.
    named && first != "qqq" && parts.all(is_region)
}

/// Checks for a country, a script, or the number of a region.
fn is_region(part: &str) -> bool {
    match part.len() {
        2 | 4 => part.bytes().all(|byte| byte.is_ascii_alphabetic()),
        3 => part.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}
