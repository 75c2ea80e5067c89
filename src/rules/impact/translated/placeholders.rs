//! Placeholders of a string, and errors of a translation in them. Main functions: [`placeholder_faults`], [`has_placeholder`].
//!
//! Messages that choose between strings (ICU's `{n, plural, …}`) are skipped: comparing names does not show what they need.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::text::LazyPattern;

/// The placeholder syntax of the program that shows the string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PlaceholderDialect {
    /// `{name}` or `{{name}}`, as in the source.
    #[default]
    Braces,
    /// C's `printf`, in the order of the arguments.
    Printf,
    /// Python's `%`: `%(name)s`, or `%s` in order.
    Percent,
    /// Qt's `%1`, and `%n` for the number that selects the plural form.
    Qt,
}

/// A placeholder as written, without white space inside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placeholder {
    shape: PlaceholderShape,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceholderShape {
    Single,
    Double,
    Python,
    Printf,
    Qt,
}

impl Placeholder {
    /// Returns the placeholder as written.
    pub(super) fn to_text(&self) -> String {
        let name = &self.name;
        match self.shape {
            PlaceholderShape::Single => format!("{{{name}}}"),
            PlaceholderShape::Double => format!("{{{{{name}}}}}"),
            PlaceholderShape::Python => format!("%({name})s"),
            PlaceholderShape::Printf | PlaceholderShape::Qt => format!("%{name}"),
        }
    }
}

/// An error in a translation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceholderFault {
    /// A placeholder that the source does not have, with the missing one of the source if there is only one.
    Unknown(Placeholder, Option<Placeholder>),
    /// A missing placeholder, if that shifts or breaks the others.
    Lost(Placeholder),
    /// A placeholder of the source that is incomplete.
    Broken(Placeholder),
    /// An argument read as another type.
    Kind(Placeholder, Placeholder),
}

/// Maximum length of a string; longer ones are skipped.
const LONGEST: usize = 20_000;
/// Maximum number of placeholders; strings with more are skipped.
const MOST: usize = 40;

/// Finds the errors in a translation of `sources`: one string, or also its plural. One selected by a number (`plural`) may omit it.
pub(super) fn placeholder_faults(
    dialect: PlaceholderDialect,
    sources: &[&str],
    translation: &str,
    plural: bool,
) -> Vec<PlaceholderFault> {
    if sources.iter().copied().chain([translation]).any(|text| text.len() > LONGEST) {
        return Vec::new();
    }
    match dialect {
        PlaceholderDialect::Braces => named_placeholders(dialect, sources, translation, plural),
        PlaceholderDialect::Percent => {
            let mut found = named_placeholders(dialect, sources, translation, plural);
            if sources.iter().all(|source| names(dialect, source).is_empty()) {
                found.extend(in_order(sources, translation, plural));
            }
            found
        }
        PlaceholderDialect::Printf => in_order(sources, translation, plural),
        PlaceholderDialect::Qt => number_faults(sources, translation, plural),
    }
}

/// Checks whether a string could have a placeholder at all.
pub(super) fn has_placeholder(text: &str) -> bool {
    text.contains(['{', '}', '%', '｛', '｝', '％'])
}

static BRACES: LazyPattern = LazyPattern::new(r"\{\{\{?([^{}]{1,60})\}\}\}?|\{([^{}]{1,60})\}");
static PYTHON: LazyPattern = LazyPattern::new(r"%\(([^()]{1,60})\)[#0\- +]*[\d.]*[a-zA-Z]");
static QT: LazyPattern = LazyPattern::new(r"%L?(n\b|[1-9][0-9]?)");
static PRINTF: LazyPattern = LazyPattern::new(
    r"%(?:%|(?:([1-9][0-9]?)\$)?[#0\-+' I]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|q|j|z|t|L)?([diouxXeEfFgGaAcspn]|<PRI\w+>))",
);
/// An ICU argument with branches: `{count, plural, …}`.
static CHOOSING: LazyPattern = LazyPattern::new(r"(?:^|[^{])\{\s*[\w.]+\s*,|\{\s*\{?\s*[#/]|\{[%\[]");

/// Returns the named placeholders.
fn names(dialect: PlaceholderDialect, text: &str) -> BTreeSet<Placeholder> {
    let pattern = if dialect == PlaceholderDialect::Percent { &PYTHON } else { &BRACES };
    let Some(pattern) = pattern.regex() else { return BTreeSet::new() };
    let mut marks = BTreeSet::new();
    for found in pattern.captures_iter(text) {
        let (shape, inner) = match (dialect, found.get(1), found.get(2)) {
            (PlaceholderDialect::Percent, Some(inner), _) => (PlaceholderShape::Python, inner),
            (_, Some(inner), _) => (PlaceholderShape::Double, inner),
            (_, None, Some(inner)) => (PlaceholderShape::Single, inner),
            _ => continue,
        };
        // `{ and }` is prose about braces; a template may have blanks in double ones.
        if shape == PlaceholderShape::Single && inner.as_str().starts_with(char::is_whitespace) {
            continue;
        }
        // `{{count, number}}`, `{{- name}}`, `{price:.2f}`, `{name!r}`: the name is what counts.
        let name = inner.as_str().split([',', ':', '!', '|']).next().unwrap_or_default();
        let name = name.trim().trim_start_matches("- ").trim_start_matches('.').trim();
        if !name.starts_with(['\'', '"', '\\']) {
            marks.insert(Placeholder { shape, name: name.to_owned() });
        }
    }
    marks
}

fn is_choosing(text: &str) -> bool {
    CHOOSING.regex().is_none_or(|pattern| pattern.is_match(text)) || text.contains("'{")
}

/// Checks whether it was probably intended as a placeholder: several words are prose.
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '$'))
}

fn named_placeholders(
    dialect: PlaceholderDialect,
    sources: &[&str],
    translation: &str,
    plural: bool,
) -> Vec<PlaceholderFault> {
    if dialect == PlaceholderDialect::Braces && sources.iter().copied().chain([translation]).any(is_choosing) {
        return Vec::new();
    }
    let wanted: BTreeSet<Placeholder> = sources.iter().flat_map(|source| names(dialect, source)).collect();
    // If the source uses braces for something else, so may the translation.
    if wanted.is_empty() || wanted.iter().any(|mark| !is_name(&mark.name)) {
        return Vec::new();
    }
    let has = names(dialect, translation);
    if wanted.len().max(has.len()) > MOST {
        return Vec::new();
    }
    let lost: Vec<&Placeholder> = wanted.difference(&has).collect();
    let number = |mark: &Placeholder| plural && matches!(mark.name.as_str(), "count" | "n" | "num" | "number" | "0");
    let mut found = Vec::new();
    for mark in has.difference(&wanted).filter(|mark| is_name(&mark.name) && !number(mark)) {
        // The same name with other braces, the most similar name, or the only missing one.
        let other_braces = lost.iter().find(|one| one.name == mark.name);
        let alike = lost.iter().max_by(|a, b| likeness(a, mark).total_cmp(&likeness(b, mark)));
        let instead = other_braces.or_else(|| alike.filter(|one| lost.len() == 1 || likeness(one, mark) > 0.5));
        found.push(PlaceholderFault::Unknown(mark.clone(), instead.map(|one| (*one).clone())));
    }
    if found.is_empty() && dialect == PlaceholderDialect::Braces {
        found.extend(
            lost.iter()
                .filter(|mark| is_broken(mark, translation))
                .map(|mark| PlaceholderFault::Broken((*mark).clone())),
        );
    }
    if found.is_empty() && dialect == PlaceholderDialect::Percent {
        let part =
            |mark: &&&Placeholder| ["(", "%{"].iter().any(|open| translation.contains(&format!("{open}{}", mark.name)));
        found.extend(lost.iter().filter(part).map(|mark| PlaceholderFault::Broken((*mark).clone())));
    }
    found
}

fn likeness(a: &Placeholder, b: &Placeholder) -> f64 {
    strsim::normalized_damerau_levenshtein(&a.name.to_lowercase(), &b.name.to_lowercase())
}

/// Checks whether a name has a brace on one side only, or braces of another script.
fn is_broken(mark: &Placeholder, translation: &str) -> bool {
    translation.match_indices(&mark.name).any(|(at, name)| {
        let before = translation[..at].trim_end().chars().next_back();
        let after = translation[at + name.len()..].trim_start().chars().next();
        before.is_some_and(|c| matches!(c, '{' | '｛')) != after.is_some_and(|c| matches!(c, '}' | '｝'))
            || before == Some('｛')
    })
}

/// Returns the arguments that a `printf` string reads, by position, each as one letter for its type.
fn arguments(text: &str) -> Option<BTreeMap<u32, char>> {
    let mut arguments = BTreeMap::new();
    let mut next = 1;
    for found in PRINTF.regex()?.captures_iter(text) {
        let Some(kind) = found.get(4) else { continue };
        // A width that is an argument itself is rare enough to skip.
        if [2, 3].iter().any(|at| found.get(*at).is_some_and(|width| width.as_str() == "*")) {
            return None;
        }
        let place = match found.get(1) {
            Some(number) => number.as_str().parse().ok()?,
            None => {
                next += 1;
                next - 1
            }
        };
        let class = match kind.as_str() {
            "s" => 's',
            "c" => 'c',
            "p" => 'p',
            "n" => 'n',
            text if text.starts_with(['e', 'E', 'f', 'F', 'g', 'G', 'a', 'A']) => 'f',
            _ => 'd',
        };
        arguments.insert(place, class);
    }
    Some(arguments)
}

fn in_order(sources: &[&str], translation: &str, plural: bool) -> Vec<PlaceholderFault> {
    let all: Option<Vec<_>> = sources.iter().map(|source| arguments(source)).collect();
    let (Some(all), Some(has)) = (all, arguments(translation)) else { return Vec::new() };
    let mut wanted: BTreeMap<u32, char> = BTreeMap::new();
    for one in all {
        wanted.extend(one);
    }
    let mark = |(place, class): (&u32, &char)| {
        let name = if wanted.len().max(has.len()) > 1 { format!("{place}${class}") } else { class.to_string() };
        Placeholder { shape: PlaceholderShape::Printf, name }
    };
    let mut found: Vec<PlaceholderFault> = has
        .iter()
        .filter_map(|(place, class)| match wanted.get(place) {
            None => Some(PlaceholderFault::Unknown(mark((place, class)), None)),
            Some(other) if other != class => Some(PlaceholderFault::Kind(mark((place, class)), mark((place, other)))),
            Some(_) => None,
        })
        .collect();
    if found.is_empty() && !plural {
        found.extend(
            wanted.iter().filter(|(place, _)| !has.contains_key(place)).map(|one| PlaceholderFault::Lost(mark(one))),
        );
    }
    found
}

fn number_faults(sources: &[&str], translation: &str, plural: bool) -> Vec<PlaceholderFault> {
    let Some(pattern) = QT.regex() else { return Vec::new() };
    let marks = |text: &str| {
        let mut marks: BTreeMap<Placeholder, usize> = BTreeMap::new();
        for name in pattern.captures_iter(text).filter_map(|found| found.get(1)) {
            *marks.entry(Placeholder { shape: PlaceholderShape::Qt, name: name.as_str().to_owned() }).or_default() += 1;
        }
        marks
    };
    let Some(wanted) = sources.first().map(|source| marks(source)).filter(|wanted| !wanted.is_empty()) else {
        return Vec::new();
    };
    let has = marks(translation);
    let lost: Vec<&Placeholder> = wanted.keys().filter(|mark| !has.contains_key(mark)).collect();
    // Turkish and Basque write `%5` for `5%`.
    let is_share = |mark: &Placeholder| sources.iter().any(|source| has_sign_after_number(mark, source));
    // The number that selects the form is available to every string with forms.
    let is_number = |mark: &Placeholder| plural && mark.name == "n";
    let fresh = has
        .keys()
        .filter(|mark| !wanted.contains_key(mark) && mark.name.len() == 1 && !is_share(mark) && !is_number(mark));
    let only = if let [one] = lost.as_slice() { Some((*one).clone()) } else { None };
    let mut found: Vec<PlaceholderFault> =
        fresh.map(|mark| PlaceholderFault::Unknown(mark.clone(), only.clone())).collect();
    if !found.is_empty() {
        return found;
    }
    let broken = |mark: &&&Placeholder| {
        has_sign_after_number(mark, translation)
            || ["$", "% ", "٪", "٪ ", "％"]
                .iter()
                .any(|sign| starts_whole(&format!("{sign}{}", mark.name), translation))
            || translation.contains("%s") && !sources.iter().any(|source| source.contains("%s"))
    };
    found.extend(lost.iter().filter(broken).map(|mark| PlaceholderFault::Broken((*mark).clone())));
    if !found.is_empty() || plural {
        return found;
    }
    // A string may leave out a number that it does not need. It is an error if another one takes its place: one used more often than in
    // the source, or a higher one, since arguments are assigned to the existing numbers, lowest first.
    let twice = has.iter().any(|(mark, count)| wanted.get(mark).is_some_and(|was| count > was));
    let higher = |mark: &&&Placeholder| mark.name != "n" && has.keys().any(|other| other.name != "n" && other > mark);
    found.extend(lost.iter().filter(|mark| twice || higher(mark)).map(|mark| PlaceholderFault::Lost((*mark).clone())));
    found
}

/// Checks whether the sign is after the number: `1%` for `%1`.
fn has_sign_after_number(mark: &Placeholder, text: &str) -> bool {
    ["%", " %", "٪", "％"].iter().any(|sign| starts_whole(&format!("{}{sign}", mark.name), text))
}

/// Checks whether `part` is in `text` without an adjacent letter, digit or related sign.
fn starts_whole(part: &str, text: &str) -> bool {
    text.match_indices(part).any(|(at, part)| {
        let before = text[..at].chars().next_back();
        let after = text[at + part.len()..].chars().next();
        !before.is_some_and(|c| c.is_numeric() || matches!(c, '%' | '$' | '.' | ','))
            && !after.is_some_and(char::is_numeric)
    })
}
