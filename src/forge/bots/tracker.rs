//! The resolved entries of Qodo's guide: a checklist in a comment. Main type: [`Tracker`].

use std::collections::BTreeMap;

use super::state::{ResolveResult, StateTooLarge};
use super::stored::{LONGEST_COMMENT, is_trusted_comment};
use crate::domain::forge::{Comment, Held, Remark};
use crate::domain::text::LazyPattern;

const MARK: &str = "<!-- pr-review-mcp-tracker -->";

/// The names of the entries begin so; the checklist leaves it out.
const BEFORE: &str = "qodo-";

static ENTRY: LazyPattern = LazyPattern::new(r"- \[([xX ])\] <!-- qodo:([A-Za-z0-9._-]{1,100}) -->");

/// The state in the checklists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracker {
    own: BTreeMap<String, bool>,
    number: Option<u64>,
    others: BTreeMap<String, bool>,
    notes: Vec<String>,
}

impl Tracker {
    /// Reads the comments of a pull request; whose are believed is as for [`RemarkState`](super::state::RemarkState).
    pub fn read(comments: &[Comment]) -> Self {
        let mut tracker = Self::default();
        let mut unbelieved = 0;
        for comment in comments.iter().filter(|comment| comment.body.trim_start().starts_with(MARK)) {
            if !is_trusted_comment(comment) {
                unbelieved += 1;
                continue;
            }
            let is_own = comment.mine && tracker.number.is_none() && comment.number.is_some();
            if is_own {
                tracker.number = comment.number;
            }
            let into = if is_own { &mut tracker.own } else { &mut tracker.others };
            for entry in ENTRY.regex().into_iter().flat_map(|entry| entry.captures_iter(&comment.body)) {
                let (_, [tick, id]) = entry.extract();
                *into.entry(format!("{BEFORE}{id}")).or_default() |= tick != " ";
            }
        }
        if unbelieved > 0 {
            tracker.notes.push(format!(
                "{unbelieved} checklists of Qodo's entries are of accounts without rights in the repository; they were left out"
            ));
        }
        tracker
    }

    /// Returns notes on what was left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of the comment that is to be replaced by what [`Tracker::write`] gives; `None` where one is to be made.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Checks whether a checklist says that the entry of this name is resolved.
    pub fn is_resolved(&self, id: &str) -> bool {
        [&self.own, &self.others].into_iter().any(|list| list.get(id) == Some(&true))
    }

    /// Ticks an entry.
    pub fn resolve(&mut self, remark: &Remark) -> ResolveResult {
        if remark.held != Held::Guide {
            return ResolveResult::NotKeptHere;
        }
        self.own.insert(remark.id.clone(), true);
        ResolveResult::Done
    }

    /// The text of our own checklist of all entries of the guide among the remarks. `at` is RFC 3339.
    pub fn write(&self, remarks: &[Remark], at: &str) -> Result<String, StateTooLarge> {
        let mut text = format!("{MARK}\n## Entries of Qodo's guide\n\n");
        let mut entries: Vec<&Remark> = remarks.iter().filter(|remark| remark.held == Held::Guide).collect();
        entries.sort_by_key(|remark| remark.severity);
        for remark in entries {
            let tick = if self.is_resolved(&remark.id) { 'x' } else { ' ' };
            let id = remark.id.strip_prefix(BEFORE).unwrap_or(&remark.id);
            let severity = remark.severity.word();
            text.push_str(&format!("- [{tick}] <!-- qodo:{id} --> **{severity}** {}", code(&remark.title)));
            if let Some(path) = &remark.path {
                let line = remark.lines.map_or(String::new(), |(first, _)| format!(":{first}"));
                text.push_str(&format!(" ({})", code(&format!("{path}{line}"))));
            }
            text.push('\n');
        }
        text.push_str(&format!("\n_Last brought up to date: {at}_\n"));
        if text.chars().count() <= LONGEST_COMMENT { Ok(text) } else { Err(StateTooLarge) }
    }
}

/// Words of others as code: nothing in them is a link, a mention or a tag then.
fn code(words: &str) -> String {
    let bare = words.replace(['`', '\n', '\r'], " ");
    let bare = bare.trim();
    if bare.is_empty() { "`?`".to_owned() } else { format!("`{bare}`") }
}
