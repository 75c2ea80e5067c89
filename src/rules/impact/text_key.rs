//! Code that asks for a text by a name that no language has. Main type: [`TextKeyMissing`].
//!
//! That the calls are such questions is proven by the file itself: most of the names it asks for are there. How files of texts are read
//! belongs in `translated`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path};
use super::ImpactRule;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::translated::{KeyedString, TranslationFormat, is_first, parse_strings, source_paths};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;

pub(super) struct TextKeyMissing;

static INFO: CheckInfo = CheckInfo {
    name: "impact/text-key-missing",
    title: "A text is asked for that no language has",
    message: "Its readers see the name itself, or nothing. Add the text, or correct the name.",
    severity: Severity::Medium,
    category: Category::Logic,
    cwe: None,
};

/// Files of code that asks for texts.
const CODE: &[&str] = &["ts", "tsx", "mts", "js", "jsx", "mjs", "vue", "svelte"];
/// Larger files are not read, in bytes, …
const LARGEST: usize = 2 << 20;
/// … and no more files of texts than this: with those of a monorepo nobody can say which one is meant.
const MOST_FILES: usize = 200;
/// Minimum number of other names of the file that must exist.
const FEWEST: usize = 3;

/// A question with nothing but the name and the values in it: what follows may be a default.
static ASKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let call = r"(?:^|[^\w.$'-])(?:\$?t|this\.\$t|i18n\.t|i18n\.global\.t|i18next\.t)\(\s*";
    Regex::new(&format!(r#"{call}(?:'([^'\n]{{1,120}})'|"([^"\n]{{1,120}})")\s*(?:\)|,\s*(\[|\{{[^{{}}\n]*\}}\s*\)))"#))
        .ok()
});

/// A name that is asked for, and the line.
struct TextRequest<'a> {
    name: &'a str,
    line: u32,
}

/// The names of all texts.
struct Known {
    /// Every name, what it is called below each name above it, and those above it.
    names: BTreeSet<String>,
    /// The texts of the language that most are written in first.
    first: Vec<(RepoPath, Vec<KeyedString>)>,
    /// `true` if the names of the other languages are among them.
    whole: bool,
    too_many: bool,
}

impl Known {
    /// Checks whether there is such a text, in a namespace or not.
    fn has(&self, name: &str) -> bool {
        self.names.contains(bare(name))
    }
}

/// The name in its namespace: `namespace:name`.
fn bare(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

impl ImpactRule for TextKeyMissing {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut effects = Vec::new();
        let mut known: Option<Known> = None;
        for (at, file) in ground.input.change.files.iter().enumerate() {
            ground.input.cancel.check()?;
            let is_code = CODE.contains(&file.path.extension().unwrap_or_default());
            if !is_code
                || file.status == FileStatus::Deleted
                || file.without_text().is_some()
                || is_test_path(&file.path)
            {
                continue;
            }
            let Some(text) = ground.read(DiffSide::New, &file.path)?.filter(|text| text.text().len() <= LARGEST) else {
                continue;
            };
            let fresh = fresh(ground, file, &text)?;
            if fresh.is_empty() {
                continue;
            }
            let known = match &mut known {
                Some(known) => known,
                none => none.insert(learn(ground, true)?),
            };
            let lost = lost(&text, &fresh, known);
            if lost.is_empty() {
                continue;
            }
            // The other languages are read only now that one lacks something: there are many of them.
            if !known.whole {
                let others = learn(ground, false)?;
                known.names.extend(others.names);
                known.whole = true;
                known.too_many |= others.too_many;
            }
            if known.too_many {
                return Ok(Vec::new());
            }
            for (name, line) in lost {
                if !known.has(name) && !was_requested(ground, name)? {
                    effects.extend(effect(at, &text, name, line, known));
                }
            }
        }
        Ok(effects)
    }
}

/// The names that the change makes a file ask for.
fn fresh(
    ground: &ImpactContext<'_>,
    file: &FileChange,
    text: &FileText,
) -> Result<BTreeMap<String, u32>, CancelReason> {
    let touched = ChangedLineIndex::of(file, DiffSide::New);
    let mut fresh = BTreeMap::new();
    for asked in requested_texts(text).into_iter().filter(|asked| is_key_like(asked.name) && touched.covers(asked.line))
    {
        fresh.entry(asked.name.to_owned()).or_insert(asked.line);
    }
    if !fresh.is_empty()
        && let Some(before) = ground.read(DiffSide::Old, file.path_at(DiffSide::Old))?
    {
        fresh.retain(|name, _| !before.text().contains(name.as_str()));
    }
    Ok(fresh)
}

/// The texts that a file asks for.
fn requested_texts(text: &FileText) -> Vec<TextRequest<'_>> {
    let Some(pattern) = ASKED.as_ref().filter(|_| text.text().contains("t(")) else { return Vec::new() };
    let lines = text.all_lines().filter(|(_, line)| line.contains("t(") && line.len() < 2_000);
    lines
        .flat_map(|(line, words)| {
            let found = pattern.captures_iter(words);
            let of_values = |values: &str| values.contains("efault");
            let plain = found.filter(move |found| !found.get(3).is_some_and(|values| of_values(values.as_str())));
            plain.filter_map(move |found| Some(TextRequest { name: found.get(1).or(found.get(2))?.as_str(), line }))
        })
        .collect()
}

/// Checks whether nobody would take a name for a text: `users.title`, `usersTitle`, `users_title`.
fn is_key_like(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':'));
    let whole = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with(['.', '_', '-', ':']);
    let humps = name.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    plain && whole && name.len() >= 6 && (name.contains(['.', '_']) || humps)
}

/// Reads the texts of the language that most are written in first, or those of all others.
fn learn(ground: &ImpactContext<'_>, first: bool) -> Result<Known, CancelReason> {
    let mut known = Known { names: BTreeSet::new(), first: Vec::new(), whole: false, too_many: false };
    let mut read = 0;
    for entry in ground.files()? {
        let path = entry.path.display_name();
        let Some(kind) = TranslationFormat::of(&path).filter(|kind| {
            matches!(kind, TranslationFormat::Json | TranslationFormat::Module | TranslationFormat::Yaml)
        }) else {
            continue;
        };
        if is_first(&path) != first || !first && !translates(ground, &path, kind)? {
            continue;
        }
        ground.input.cancel.check()?;
        let Some(text) = ground.read(DiffSide::New, &entry.path)?.filter(|text| text.text().len() <= LARGEST) else {
            continue;
        };
        read += 1;
        if read > MOST_FILES {
            known.too_many = true;
            break;
        }
        let texts = parse_strings(&path, kind, text.text());
        for text in &texts {
            add(&mut known.names, &text.key);
        }
        if first {
            known.first.push((entry.path.clone(), texts));
        }
    }
    Ok(known)
}

/// Checks whether there is a source that a file translates.
fn translates(ground: &ImpactContext<'_>, path: &str, kind: TranslationFormat) -> Result<bool, CancelReason> {
    for source in source_paths(path, kind) {
        if ground.exists(source.as_bytes())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds a name as it may be asked for: whole, below a name above it, without the form of a plural; and what it stands below.
fn add(names: &mut BTreeSet<String>, key: &str) {
    let mut rest = key;
    loop {
        names.insert(rest.to_owned());
        if let Some((base, _)) = rest.rsplit_once('_') {
            names.insert(base.to_owned());
        }
        for (at, _) in rest.match_indices('.') {
            names.insert(rest[..at].to_owned());
        }
        match rest.split_once('.') {
            Some((_, below)) => rest = below,
            None => return,
        }
    }
}

/// Of the names that a file asks for since the change, those that there are not.
fn lost<'a>(text: &FileText, fresh: &'a BTreeMap<String, u32>, known: &Known) -> Vec<(&'a str, u32)> {
    let lost: Vec<(&str, u32)> =
        fresh.iter().filter(|(name, _)| !known.has(name)).map(|(name, line)| (name.as_str(), *line)).collect();
    if lost.is_empty() {
        return lost;
    }
    let (there, all) = there(text, known);
    // Where more than a few are not there, they come from somewhere else.
    if there.len() < FEWEST || there.len() * 2 < all {
        return Vec::new();
    }
    // What stands below a name that nobody has comes from a part of the program that is not here.
    let above = |name: &str| bare(name).split_once('.').is_none_or(|(above, _)| known.names.contains(above));
    lost.into_iter().filter(|(name, _)| above(name)).collect()
}

/// The names that a file asks for and that there are, and how many it asks for.
fn there<'a>(text: &'a FileText, known: &Known) -> (Vec<&'a str>, usize) {
    let all: BTreeSet<&str> =
        requested_texts(text).into_iter().map(|asked| asked.name).filter(|name| is_key_like(name)).collect();
    (all.iter().copied().filter(|name| known.has(name)).collect(), all.len())
}

/// Checks whether a file of the change asked for it before: what moves was not brought in.
fn was_requested(ground: &ImpactContext<'_>, name: &str) -> Result<bool, CancelReason> {
    for file in &ground.input.change.files {
        let path = file.path_at(DiffSide::Old);
        if CODE.contains(&path.extension().unwrap_or_default())
            && let Some(text) = ground.read(DiffSide::Old, path)?
            && text.text().contains(name)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn effect(at: usize, text: &FileText, name: &str, line: u32, known: &Known) -> Option<RemoteEffect> {
    let (there, _) = there(text, known);
    let (path, first) = home(&known.first, &there)?;
    let name = bare(name);
    let near = first.iter().max_by_key(|text| (alike(&text.key, name), u32::MAX - text.from))?;
    Some(RemoteEffect {
        file: at,
        side: DiffSide::New,
        lines: Some(LineRange::line(line)),
        title: Some(format!("No language has the text `{name}` that is asked for here")),
        detail: format!(
            "{} other names that this file asks for are known to {path} and its like; this one is in none of them.",
            there.len()
        ),
        severity: None,
        elsewhere: vec![AffectedPlace {
            path: path.clone(),
            lines: LineRange::line(near.from),
            note: "What is named most like it.".to_owned(),
        }],
    })
}

/// The file that has most of the names.
fn home<'a>(first: &'a [(RepoPath, Vec<KeyedString>)], there: &[&str]) -> Option<&'a (RepoPath, Vec<KeyedString>)> {
    let count = |texts: &[KeyedString]| {
        let keys: BTreeSet<&str> = texts.iter().map(|text| text.key.as_str()).collect();
        there.iter().filter(|name| keys.contains(bare(name))).count()
    };
    let counted = first.iter().map(|one| (count(&one.1), one));
    // Of one and the same count the first one.
    let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (best.0 >= FEWEST).then_some(best.1)
}

/// How far two names begin alike.
fn alike(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;
    use super::*;

    #[test]
    fn names_are_told_from_texts() {
        for name in ["users.title", "usersTitle", "users_title", "ns:users.title"] {
            assert!(is_key_like(name), "{name}");
        }
        for name in ["Save", "save", "Save it", "auto-select", "iOS", "day(s)", "users.", "a.b", ""] {
            assert!(!is_key_like(name), "{name}");
        }
    }

    #[test]
    fn questions_with_a_default_are_none() {
        let code = "t('a.first'); $t(\"a.second\", { n: 1 }); set('a.third'); t('a.fourth', 'Fourth');\n\
                    t('a.fifth', { defaultValue: 'x' }); t('a.' + b); i18n.t('a.sixth', [1]); x.t('a.seventh')\n";
        let text = FileText::new(code, "UTF-8");
        let names: Vec<&str> = requested_texts(&text).into_iter().map(|asked| asked.name).collect();
        assert_eq!(names, ["a.first", "a.second", "a.sixth"]);
    }

    #[test]
    fn names_that_are_nowhere_near_are_not_told() {
        let en = "{\"a\": {\"first\": \"1\", \"second\": \"2\", \"third\": \"3\"}}\n";
        let there = SyntheticChange::default().was("l/en.json", en).now("l/en.json", en);
        let code = |last: &str| format!("t('a.first')\nt('a.second')\nt('a.third')\nt('{last}')\n");
        assert_eq!(there.clone().now("a.ts", &code("a.fourth")).reported(), ["impact/text-key-missing a.ts:4"]);
        assert_eq!(there.clone().now("a.ts", &code("pack.fourth")).reported(), [""; 0]);
        assert_eq!(there.clone().now("a.ts", &code("a")).reported(), [""; 0]);
        let fr = "{\"a\": {\"fourth_one\": \"4\"}}\n";
        let french = there.was("l/fr.json", fr).now("l/fr.json", fr);
        assert_eq!(french.now("a.ts", &code("a.fourth")).reported(), [""; 0]);
    }
}
