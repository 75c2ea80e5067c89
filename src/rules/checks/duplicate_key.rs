//! Duplicate keys in one mapping of JSON or YAML: one of the two values is lost. Code has rules for this in the packs.
//!
//! JSON is parsed as JavaScript, so that comments and trailing commas are accepted.

use std::collections::HashMap;
use std::time::Duration;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, RuleMatch, is_test_path, read_text};
use super::{CheckInfo, CheckNotes};
use crate::domain::change::{FileChange, FileMode, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{FileText, shorten, strip_line};
use crate::syntax::{Grammar, NodeTable, ParseFailure, ParseLimits};
use crate::sys::cancel::CancelReason;
use crate::workspace::Workspace;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/key-written-twice",
    title: "Duplicate key in a mapping",
    message: "Whoever reads the file either refuses it or takes one of the two, most often the last, without a word. Remove one of them, or \
              give it the name that was meant.",
    severity: Severity::Medium,
    category: Category::Logic,
    cwe: None,
};

/// Larger texts are not parsed.
const LARGEST: usize = 1 << 20;
/// Time limit for one file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum length of a shown name, in characters.
const MOST_NAME: usize = 60;
/// Keys that serve as comments, and may be repeated.
const REMARKS: &[&str] = &["", "//", "#", "_comment", "comment", "$comment", "_", "--"];

/// A duplicate key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DuplicatePair {
    /// The keys around it and the key itself.
    path: Vec<String>,
    first: (u32, u32),
    second: (u32, u32),
    /// `true` if the values are the same, as written.
    alike: bool,
}

/// Finds the keys that the change wrote a second time.
pub(super) fn find(sides: &BothSides<'_>, memory: &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
    let mut hits = Vec::new();
    for (at, file) in sides.files() {
        sides.cancel.check()?;
        let Some(format) = SettingsFormat::of(file).filter(|_| may_gain(file)) else { continue };
        let Some(text) = read(sides.new, file, DiffSide::New)? else { continue };
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        let found = find_duplicates(sides, memory, file, format, &text)?;
        let mut fresh: Vec<(DuplicatePair, u32)> = found
            .into_iter()
            .filter_map(|twice| Some((touched_line(&twice, &touched)?, twice)))
            .map(|(line, twice)| (twice, line))
            .collect();
        if fresh.is_empty() {
            continue;
        }
        let mut stood: HashMap<Vec<String>, usize> = HashMap::new();
        for twice in at_base(sides, memory, file, format)? {
            *stood.entry(twice.path).or_default() += 1;
        }
        fresh.retain(|(twice, _)| match stood.get_mut(&twice.path) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        hits.extend(fresh.iter().map(|(twice, line)| (at, hit(&text, twice, *line))));
    }
    Ok(hits)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsFormat {
    Json,
    Yaml,
}

impl SettingsFormat {
    fn of(file: &FileChange) -> Option<Self> {
        match file.language? {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

fn may_gain(file: &FileChange) -> bool {
    file.additions > 0
        && file.status != FileStatus::Deleted
        && file.new_mode != Some(FileMode::Link)
        && file.without_text().is_none()
        && (!is_test_path(&file.path) || is_setting(file.path.file_name()))
}

/// Checks whether a file in a test folder is not test data.
fn is_setting(name: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"tsconfig", b"package.json", b"docker-compose", b"compose.y"];
    starts.iter().any(|start| name.starts_with(start))
}

/// Reads a side of a file; `None` if it is unreadable (reported elsewhere) or too large.
fn read(
    tree: &dyn Workspace,
    file: &FileChange,
    side: DiffSide,
) -> Result<Option<std::sync::Arc<FileText>>, CancelReason> {
    Ok(read_text(tree, file.path_at(side))?.filter(|text| text.text().len() <= LARGEST))
}

/// Collects the duplicates at the base: in the file itself, and in files that the change deletes, from which it may have come.
fn at_base(
    sides: &BothSides<'_>,
    memory: &CheckNotes,
    file: &FileChange,
    format: SettingsFormat,
) -> Result<Vec<DuplicatePair>, CancelReason> {
    let mut stood = Vec::new();
    let own = (file.status != FileStatus::Added).then_some(file);
    let gone = sides
        .change
        .files
        .iter()
        .filter(|other| other.status == FileStatus::Deleted && SettingsFormat::of(other) == Some(format));
    for source in own.into_iter().chain(gone) {
        if let Some(text) = read(sides.old, source, DiffSide::Old)? {
            stood.extend(find_duplicates(sides, memory, source, format, &text)?);
        }
    }
    Ok(stood)
}

/// Returns the line of the two that the change touches; if it touches both, that of the second.
fn touched_line(twice: &DuplicatePair, touched: &ChangedLineIndex) -> Option<u32> {
    [twice.second.0, twice.first.0].into_iter().find(|line| touched.covers(*line))
}

fn hit(text: &FileText, twice: &DuplicatePair, line: u32) -> RuleMatch {
    let mut hit = RuleMatch::from_lines(text, LineRange::line(line));
    let name = |parts: &[String]| shorten(&strip_line(&parts.join(".")).replace('`', "'"), MOST_NAME);
    let last = twice.path.len().saturating_sub(1);
    let key = name(twice.path.get(last..).unwrap_or_default());
    let lines = |(first, last): (u32, u32)| LineRange::new(first, last).unwrap_or(LineRange::line(first));
    let masked = text.is_masked(lines(twice.first)) || text.is_masked(lines(twice.second));
    let how = match (masked, twice.alike) {
        (true, _) => "",
        (false, true) => ", to the same value",
        (false, false) => ", to another value",
    };
    let within = if last > 0 { format!(" of `{}`", name(&twice.path[..last])) } else { String::new() };
    hit.title = Some(format!("`{key}` stands twice in one mapping"));
    hit.detail =
        Some(format!("`{key}`{within} is set on line {} and again on line {}{how}.", twice.first.0, twice.second.0));
    hit.severity = (twice.alike && !masked).then_some(Severity::Low);
    hit
}

fn find_duplicates(
    sides: &BothSides<'_>,
    memory: &CheckNotes,
    file: &FileChange,
    format: SettingsFormat,
    text: &FileText,
) -> Result<Vec<DuplicatePair>, CancelReason> {
    let text = text.text().trim_start_matches('\u{feff}');
    if format == SettingsFormat::Yaml && is_template(text) {
        return Ok(Vec::new());
    }
    let watch = ParseLimits::new(sides.cancel, PATIENCE);
    let found = match format {
        SettingsFormat::Yaml => parsed(sides, Grammar::Yaml, text, &watch),
        // On its own, `{…}` would parse as a block of statements.
        SettingsFormat::Json => parsed(sides, Grammar::JavaScript, &format!("({text}\n)"), &watch),
    };
    match found {
        Ok(found) => Ok(found),
        Err(ParseFailure::Stopped(stopped)) => Err(stopped),
        Err(why) => {
            memory.note(format!("{} was not asked for keys that stand twice: {why}", file.path));
            Ok(Vec::new())
        }
    }
}

/// Checks whether the text is a template rendered before it is read as YAML: then one of two keys may never be there.
fn is_template(text: &str) -> bool {
    ["{%", "<%", "{{-", "-}}", "{{ if", "{{if", "{{#"].iter().any(|mark| text.contains(mark))
        || text.lines().any(|line| line.trim_start().starts_with("{{") || line.trim_start().starts_with("- {{"))
}

fn parsed(
    sides: &BothSides<'_>,
    grammar: Grammar,
    text: &str,
    watch: &ParseLimits<'_>,
) -> Result<Vec<DuplicatePair>, ParseFailure> {
    let tree = sides.trees.parse(grammar, text, watch)?;
    // If the parser is not sure of its reading, two keys may belong to different mappings.
    if tree.error_count() > 0 {
        return Ok(Vec::new());
    }
    let nodes = NodeTable::of(&tree, text, watch)?;
    let mut found = Vec::new();
    for mapping in (0..nodes.count()).filter(|node| is_mapping(nodes.kind(*node))) {
        let mut seen: HashMap<(String, bool), usize> = HashMap::new();
        for pair in nodes.children(mapping).filter(|node| is_pair(nodes.kind(*node))) {
            let Some(key) = key_of(&nodes, pair) else { continue };
            // In YAML a number or boolean is a different key than the string.
            let is_value = !nodes.text(pair).starts_with(['"', '\'']) && is_value(&key);
            if let Some(first) = seen.insert((key.clone(), is_value), pair) {
                let mut path = path_of(&nodes, mapping);
                path.push(key);
                let (first_value, second_value) = (value(&nodes, first), value(&nodes, pair));
                found.push(DuplicatePair {
                    path,
                    first: nodes.lines(first),
                    second: nodes.lines(pair),
                    alike: first_value == second_value,
                });
            }
        }
        watch.check()?;
    }
    Ok(found)
}

fn is_mapping(kind: &str) -> bool {
    matches!(kind, "block_mapping" | "flow_mapping" | "object")
}

fn is_pair(kind: &str) -> bool {
    matches!(kind, "block_mapping_pair" | "flow_pair" | "pair")
}

/// Returns a key as it is compared; `None` for one that may be repeated, or whose text does not determine its value.
fn key_of(nodes: &NodeTable<'_>, pair: usize) -> Option<String> {
    let written = nodes.text(nodes.child(pair, "key")?);
    if written.contains('\n') || written.starts_with(['&', '*', '!', '[', '{', '?']) || written == "<<" {
        return None;
    }
    let key = match written.chars().next()? {
        '"' => serde_json::from_str(written).ok()?,
        '\'' if written.len() > 1 => written[1..written.len() - 1].replace("''", "'"),
        _ => written.to_owned(),
    };
    (!REMARKS.contains(&key.as_str())).then_some(key)
}

/// Checks whether YAML reads a plain scalar as something other than a string.
fn is_value(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | '~'))
        || matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null"
        )
}

/// Returns a key for messages, with white space folded.
fn value(nodes: &NodeTable<'_>, pair: usize) -> String {
    let text = nodes.child(pair, "value").map(|node| nodes.text(node)).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the keys around a mapping, outermost first; a list between them counts as a key without a name.
fn path_of(nodes: &NodeTable<'_>, mapping: usize) -> Vec<String> {
    let step = |node: usize| match nodes.kind(node) {
        kind if is_pair(kind) => Some(key_of(nodes, node).unwrap_or_default()),
        "block_sequence" | "flow_sequence" | "array" => Some("[]".to_owned()),
        _ => None,
    };
    let mut path: Vec<String> = nodes.ancestors(mapping).filter_map(step).collect();
    path.reverse();
    path
}
