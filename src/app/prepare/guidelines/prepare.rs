//! Loads the guidelines of a new review, with notes for its receipt. Main function: [`begin`].

use super::super::change::PreparedChange;
use super::changed::list_changed;
use super::gather::load;
use crate::app::context::error::AppError;
use crate::domain::guideline::Guidelines;

/// Limit on the files named in a note.
const NAMED: usize = 6;

/// Loads the guidelines for a model and notes them; the built-in rules do not use them.
pub(in crate::app) fn begin(
    subject: &mut PreparedChange,
    from_worktree: bool,
    is_model: bool,
) -> Result<Guidelines, AppError> {
    let guidelines = load(subject, from_worktree)?;
    if !is_model {
        // Readers of the receipt need this for both engines.
        subject.notes.extend(list_changed(subject, &guidelines, from_worktree, false)?);
        return Ok(Guidelines::default());
    }
    if !guidelines.is_empty() {
        let (from, names) = (&guidelines.from, names(&guidelines));
        subject.notes.push(format!("The model is given the project's guidelines {from}: {names}."));
    }
    subject.notes.extend(guidelines.notes.iter().cloned());
    let told = list_changed(subject, &guidelines, from_worktree, true)?;
    subject.notes.extend(told);
    Ok(guidelines)
}

fn names(guidelines: &Guidelines) -> String {
    let all = &guidelines.texts;
    let names: Vec<String> = all.iter().take(NAMED).map(|text| text.path.to_string()).collect();
    match all.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
