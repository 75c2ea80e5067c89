//! Guideline that a finding refers to: checked to be a line of one that applies to its file.

use super::ReviewBuilder;
use crate::domain::finding::{Anchor, GuidelineRef};
use crate::domain::path::RepoPath;

/// Maximum number of guidelines listed to a model that names an unknown one.
const NAMED: usize = 8;

impl ReviewBuilder {
    /// Returns the guideline that a report names, if it applies to one of the finding's files; otherwise a remark.
    pub(super) fn guideline(&self, named: &str, anchors: &[Anchor], notes: &mut Vec<String>) -> Option<GuidelineRef> {
        let named = named.trim().trim_matches('`');
        if named.is_empty() {
            return None;
        }
        match self.cited(named, anchors) {
            Ok(cited) => Some(cited),
            Err(why) => {
                notes.push(format!("`guideline` was dropped: {why}."));
                None
            }
        }
    }

    fn cited(&self, named: &str, anchors: &[Anchor]) -> Result<GuidelineRef, String> {
        let (path, line) = split_lines(named);
        let path = RepoPath::parse(path).map_err(|_| "it is not `path:line`".to_owned())?;
        let applies =
            |text: &crate::domain::guideline::Guideline| anchors.iter().any(|anchor| text.applies_to(&anchor.path));
        let Some(text) = self.guidelines.by_path(&path).filter(|text| applies(text)) else {
            let others = self.guidelines.texts.iter().filter(|text| applies(text));
            let names: Vec<String> = others.take(NAMED).map(|text| text.path.to_string()).collect();
            let there = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
            return Err(format!("{path} is no guideline for this file ({there})"));
        };
        // Without a line it is the text as a whole.
        let line = line.unwrap_or(text.first);
        match text.line(line) {
            Some(words) if !words.trim().is_empty() || line == text.first => Ok(GuidelineRef { path, line }),
            Some(_) => Err(format!("line {line} of {path} is empty")),
            None => Err(format!("{path} has lines {} to {} as guidelines, not {line}", text.first, text.last_line())),
        }
    }
}

/// Returns a path, and the first of the lines behind it.
fn split_lines(named: &str) -> (&str, Option<u32>) {
    let Some((path, lines)) = named.rsplit_once(':') else { return (named, None) };
    let first = lines.trim().trim_start_matches(['L', 'l']).split(['-', '–', ',']).next().unwrap_or_default();
    match first.trim().parse() {
        Ok(line) => (path, Some(line)),
        Err(_) => (named, None),
    }
}
