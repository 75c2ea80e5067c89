//! The report of `review doctor` on a terminal: a line for each check, its advice below. Main function: [`checkup`].

use anstyle::Style;

use super::page::TerminalPage;
use super::{BAD, BOLD, DIM, GOOD, WARN};
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, DoctorReport};
use crate::domain::run::Usage;
use crate::domain::text::{count_noun, group_thousands};
use crate::present::RenderOptions;

/// Columns of a state, and of the longest name of a check.
const STATE: usize = 7;
const NAME: usize = 13;

/// Renders the whole page.
pub(in crate::present) fn checkup(checkup: &DoctorReport, options: &RenderOptions) -> Vec<u8> {
    let mut page = TerminalPage::new(options);
    let mut before: Option<(CheckArea, Option<&str>)> = None;
    for check in &checkup.checks {
        let about = (check.area, check.model.as_deref());
        if before != Some(about) {
            page.blank();
            page.wrapped("", "  ", &heading(check), BOLD);
            before = Some(about);
        }
        draw(&mut page, check);
    }
    page.blank();
    verdict(&mut page, checkup);
    page.finish()
}

fn heading(check: &DoctorCheck) -> String {
    match (check.area, &check.model) {
        (CheckArea::Settings, _) => "Settings".to_owned(),
        (CheckArea::Git, _) => "Git".to_owned(),
        (CheckArea::Machine, _) => "This machine".to_owned(),
        (CheckArea::Forge, _) => "Pull requests".to_owned(),
        (CheckArea::Model, None) => "Who reviews".to_owned(),
        (CheckArea::Model, Some(model)) => format!("Who reviews: {model}"),
    }
}

fn draw(page: &mut TerminalPage<'_>, check: &DoctorCheck) {
    let (word, style) = match check.state {
        CheckState::Fine => ("ok", GOOD),
        CheckState::Warning => ("warning", WARN),
        CheckState::Failed(_) => ("FAILED", BAD.bold()),
        CheckState::Skipped => ("-", DIM),
    };
    let name = check.name.replace('_', " ");
    let padding = " ".repeat(STATE.saturating_sub(word.len()));
    let first = format!("  {}{padding}  {name:NAME$} ", page.paint(style, word));
    let margin = " ".repeat(STATE + NAME + 5);
    let mut found = check.found.clone();
    if let Some(usage) = &check.usage {
        found.push_str(&format!(" ({})", format_usage(usage)));
    }
    page.wrapped(&first, &margin, &found, Style::new());
    if let Some(advice) = &check.advice {
        page.wrapped(&format!("{margin}→ "), &format!("{margin}  "), advice, Style::new());
    }
}

/// Formats usage; unknown values are called unknown.
fn format_usage(usage: &Usage) -> String {
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), group_thousands);
    let cost = usage.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    format!("{} tokens in, {} out; {cost}", tokens(usage.input_tokens), tokens(usage.output_tokens))
}

fn verdict(page: &mut TerminalPage<'_>, checkup: &DoctorReport) {
    let count = |wanted: fn(&CheckState) -> bool| checkup.checks.iter().filter(|check| wanted(&check.state)).count();
    let failed = count(|state| matches!(state, CheckState::Failed(_)));
    let warnings = count(|state| *state == CheckState::Warning);
    if let Some(usage) = checkup.usage() {
        page.wrapped("", "", &format!("Asking took {}.", format_usage(&usage)), DIM);
    }
    let (text, style) = match (checkup.interrupted, failed, warnings) {
        (true, _, _) => ("Interrupted: the rest was not looked at.".to_owned(), WARN),
        (false, 0, 0) => ("Nothing stands in the way of a review.".to_owned(), GOOD),
        (false, 0, some) => (format!("A review works; {} above.", count_noun(some, "warning")), WARN),
        (false, some, _) => {
            let whose = match checkup.exit_code() {
                4 => "the provider of the model fails",
                _ => "settings or this machine are not right",
            };
            (format!("A review would not work ({}): {whose}.", count_noun(some, "fault")), BAD)
        }
    };
    page.wrapped("", "", &text, style.bold());
}
