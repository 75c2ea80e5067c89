//! Which files hold translations, and which file holds the texts that they were made from. Main functions: [`Kind::of`], [`sources`].

/// How a file of texts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// gettext's `.po`, with the source in each entry.
    Gettext,
    Json,
    /// A module of JavaScript or TypeScript; or a `.ts` of Qt's, which has the source in each entry as well and is told by how it begins.
    Module,
    Properties,
    Ini,
    Yaml,
}

impl Kind {
    /// By the name of the file.
    pub(in super::super) fn of(path: &str) -> Option<Self> {
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

/// Names of the language that most texts are written in first.
const FIRST: &[&str] = &["en", "en-US", "en_US", "en-us", "en_us", "en-GB", "en_GB"];

/// Folders of code that are called like a language.
const FOLDERS: &[&str] = &[
    "api", "app", "bin", "cli", "cmd", "css", "db", "dev", "doc", "e2e", "gui", "io", "js", "lib", "net", "pkg", "src",
    "sys", "ts", "ui", "usr", "vs", "web", "www",
];

/// The paths at which the source of a translation may stand, the likeliest first; none for what is no translation by its name, or is the
/// source itself.
pub(in super::super) fn sources(path: &str, kind: Kind) -> Vec<String> {
    let (folders, name) = path.rsplit_once('/').map_or(("", path), |(folders, name)| (folders, name));
    let Some((stem, extension)) = name.rsplit_once('.') else { return Vec::new() };
    let within = |name: String| if folders.is_empty() { name } else { format!("{folders}/{name}") };
    // A module may be called anything: `log.ts`, `use-api.ts`.
    let is_module = kind == Kind::Module;
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
            if kind == Kind::Properties {
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
    // More than one may look like a language: whether there is such a source decides.
    let mut found = Vec::new();
    let named = |at: &usize| is_language(parts[*at]) && !FOLDERS.contains(&parts[*at]);
    for at in (0..parts.len()).rev().filter(named).take(3) {
        let other = |first: &&str| [&parts[..at], &[*first], &parts[at + 1..], &[name]].concat().join("/");
        found.extend(FIRST.iter().map(other));
    }
    found
}

/// The language that the name of a file says, for what is written under it again in the file.
pub(super) fn language(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, _) = name.rsplit_once('.')?;
    let last = stem.rsplit('.').next()?;
    is_language(last).then_some(last)
}

/// Whether a file, by its path, has texts of the language that most are written in first.
pub(in super::super) fn is_first(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.split('.').chain(folders.split('/')).any(|part| FIRST.contains(&part))
}

/// `de`, `pt-BR`, `zh_Hans`, `zh-Hant-TW`, `es-419`.
fn is_language(text: &str) -> bool {
    let mut parts = text.split(['-', '_']);
    let Some(first) = parts.next() else { return false };
    let named = (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_lowercase());
    // What translators are told about the texts.
    named && first != "qqq" && parts.all(is_region)
}

/// A country, a script, or the number of a region.
fn is_region(part: &str) -> bool {
    match part.len() {
        2 | 4 => part.bytes().all(|byte| byte.is_ascii_alphabetic()),
        3 => part.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}
