//! What review bots write, told apart: one file for each of them, and one line in the table `BOTS`.
//!
//! [`remarks()`] makes one list of all that was remarked on a pull request, [`summary()`] counts it, [`state`] reads and writes what is
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
mod listed;
mod ours;
mod prompt;
mod qodo;
mod read;
mod shown;
mod sourcery;
mod split;
pub mod state;
mod stored;
mod summary;
mod title;
mod tracker;

#[cfg(test)]
mod tests;

pub use ours::severity_of;
pub use read::{Remarks, remarks};
pub use summary::summary;
pub use title::shorten;

use crate::domain::forge::{RemarkSeverity, Source};

/// What is known about one bot.
struct Bot {
    /// Whose remarks are its.
    source: Source,
    /// The logins of its accounts, without `[bot]`, in lower case; one that ends with `*` stands for all that begin so.
    logins: &'static [&'static str],
    /// What in its texts tells severity: patterns, whatever their case, the first that is found wins.
    marks: &'static [(&'static str, RemarkSeverity)],
    /// Tells severity from words, where the account is this bot's and before any mark is looked for.
    by_words: Option<fn(&str) -> RemarkSeverity>,
    /// What tells its texts where no mark and no login does, whoever wrote them; in lower case.
    traces: &'static [&'static str],
    /// Its name as it stands in its texts, in lower case. People write it too, so it tells nothing in theirs.
    names: &'static [&'static str],
    /// What its remarks are called.
    title: Title,
    /// `true` if all of a remark tells an agent what to do, because it marks no part as that.
    is_all_prompt: bool,
    /// `true` if code that it suggests is certain to be what it asks for.
    has_sure_suggestions: bool,
    /// Reads what it lists in one text.
    list: Option<fn(&listed::Asked<'_>, &mut listed::Found)>,
}

/// What a remark is called after.
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

/// What is known about who made a remark; nothing where that is nobody of [`BOTS`].
fn bot_of(source: Source) -> Option<&'static Bot> {
    BOTS.iter().find(|bot| bot.source == source)
}
