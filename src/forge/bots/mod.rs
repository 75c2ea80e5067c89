//! Recognition of review bots' remarks: one file per bot, and one row in the table `BOTS`.
//!
//! [`read_remarks()`] makes one list of all that was remarked on a pull request, [`summarize_remarks()`] counts it, [`state`] reads and writes what is
//! resolved where the forge has no place for it. Everything here is pure and takes time in proportion to what it is given. Texts are of
//! anybody: a login and a mark label a remark, they never make it trusted.
//!
//! The order of severities, marks and sources is that of `pr-review-mcp`, whose users' state it reads; what differs is said where it does, and
//! in `docs/pull-requests-severities.md`.

mod blocks;
mod coderabbit;
mod codex;
mod copilot;
mod gemini;
mod greptile;
mod label;
mod own_comments;
mod prompt;
mod qodo;
mod read;
mod remark_list;
mod sourcery;
mod split;
pub mod state;
mod stored;
mod summary;
mod title;
pub mod tracker;
mod visible_text;

#[cfg(test)]
mod tests;

pub use own_comments::severity_of;
pub use read::{Remarks, read_remarks};
pub use summary::summarize_remarks;
pub use title::shorten;

use crate::domain::forge::{RemarkSeverity, Source};

/// The description of one bot.
struct Bot {
    /// The source of its remarks.
    source: Source,
    /// The logins of its accounts, without `[bot]`, in lower case; one that ends with `*` stands for all that begin so.
    logins: &'static [&'static str],
    /// The severity patterns of its texts, case-insensitive; the first match wins.
    marks: &'static [(&'static str, RemarkSeverity)],
    /// Tells severity from words, where the account is this bot's and before any mark is looked for.
    by_words: Option<fn(&str) -> RemarkSeverity>,
    /// The phrases that identify its texts without a mark or login, whoever wrote them; in lower case.
    traces: &'static [&'static str],
    /// Its name as it stands in its texts, in lower case. People write it too, so it tells nothing in theirs.
    names: &'static [&'static str],
    /// The source of its remarks' titles.
    title: Title,
    /// `true` if all of a remark tells an agent what to do, because it marks no part as that.
    is_all_prompt: bool,
    /// `true` if code that it suggests is certain to be what it asks for.
    has_sure_suggestions: bool,
    /// Reads what it lists in one text.
    list: Option<fn(&remark_list::ListContext<'_>, &mut remark_list::ListedRemarks)>,
}

/// The source of a remark's title.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Title {
    /// The first bold words, else the first heading, else the first line.
    Bold,
    /// The first sentence.
    Sentence,
}

impl Bot {
    /// A bot of which only the name is known.
    const fn new(source: Source) -> Self {
        Self {
            source,
            logins: &[],
            marks: &[],
            by_words: None,
            traces: &[],
            names: &[],
            title: Title::Bold,
            is_all_prompt: false,
            has_sure_suggestions: false,
            list: None,
        }
    }
}

/// Every bot, in the order in which their marks are looked for. A new one is a file and a line here.
static BOTS: &[Bot] =
    &[coderabbit::BOT, gemini::BOT, codex::BOT, sourcery::BOT, copilot::BOT, qodo::BOT, greptile::BOT];

/// Returns the bot that made a remark; `None` if it is not in [`BOTS`].
fn bot_of(source: Source) -> Option<&'static Bot> {
    BOTS.iter().find(|bot| bot.source == source)
}
