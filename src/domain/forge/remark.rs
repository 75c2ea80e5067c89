//! The remarks of review bots and people, by author and severity. Main types: [`Remark`], [`RemarkSummary`].

use std::collections::BTreeMap;

use crate::domain::path::RepoPath;
use crate::domain::words::words;

words! {
    /// The severity of a remark, in the terms that users of `pr://` know, in display order.
    pub enum RemarkSeverity: word {
        /// Must not be merged.
        Critical = "CRIT",
        /// Users will meet it.
        Major = "MAJOR",
        /// Real but small.
        Minor = "MINOR",
        /// A problem of unknown size.
        Issue = "ISSUE",
        /// Should be written in another way.
        Refactor = "REFACTOR",
        /// Taste.
        Nitpick = "NITPICK",
        /// Hardly worth saying.
        Trivial = "TRIVIAL",
        /// About what is written about the code.
        Docs = "DOCS",
        /// It does not say.
        Unknown = "N/A",
    }
}

words! {
    /// The author of a remark: a bot or a person.
    pub enum Source: word {
        /// This program.
        Review = "review",
        /// `CodeRabbit`.
        CodeRabbit = "coderabbit",
        /// Gemini Code Assist.
        Gemini = "gemini",
        /// Codex.
        Codex = "codex",
        /// GitHub Copilot.
        Copilot = "copilot",
        /// Sourcery.
        Sourcery = "sourcery",
        /// Qodo.
        Qodo = "qodo",
        /// Greptile.
        Greptile = "greptile",
        /// Anybody else, people first of all.
        Unknown = "unknown",
    }
}

words! {
    /// The container of a remark, which decides how it is resolved.
    pub enum Held: word {
        /// A thread of the forge's, all of it.
        Thread = "thread",
        /// One of several issues in one text: its [`Remark::parent`] is resolved when all of them are.
        Part = "part",
        /// `CodeRabbit`'s list of nitpicks: the state comment says what is resolved.
        Nitpick = "nitpick",
        /// `CodeRabbit`'s list of remarks outside the diff: the state comment says what is resolved.
        OutsideDiff = "outside-diff",
        /// Qodo's guide: the tracker comment says what is resolved.
        Guide = "guide",
        /// Greptile's overview: nothing says that it is resolved.
        Overview = "overview",
    }
}

/// Instructions for a coding agent that a remark carries: data, like all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrompt {
    /// The text.
    pub text: String,
    /// `true` if the remark marks it as such; else it was guessed from its words.
    pub is_certain: bool,
}

/// One remark on a pull request: a thread, a part of a thread, or an entry of a list that a bot keeps in one comment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the list that users know")]
pub struct Remark {
    /// Its name: a thread's id, or one made from what it says that is the same on every reading.
    pub id: String,
    /// The thread it stands in; `None` for an entry of a list.
    pub thread: Option<String>,
    /// The comment or thread that holds it.
    pub held: Held,
    /// The remark that it is a part of.
    pub parent: Option<String>,
    /// The file, where it names one.
    pub path: Option<RepoPath>,
    /// The first and the last line, where it names them.
    pub lines: Option<(u32, u32)>,
    /// The severity.
    pub severity: RemarkSeverity,
    /// Its origin.
    pub source: Source,
    /// The author's login.
    pub author: Option<String>,
    /// One line, at most 100 characters.
    pub title: String,
    /// All of it: Markdown.
    pub body: String,
    /// Its page; empty where the forge did not say.
    pub url: String,
    /// The number of comments after it in its thread.
    pub replies: usize,
    /// The instructions for a coding agent.
    pub prompt: Option<AgentPrompt>,
    /// `true` if somebody called it resolved.
    pub is_resolved: bool,
    /// `true` if its lines changed since.
    pub is_outdated: bool,
    /// `true` if our account may resolve it.
    pub can_resolve: bool,
    /// `true` if it is one of `CodeRabbit`'s nitpicks or of its remarks outside the diff, which no thread holds.
    pub is_listed_only: bool,
}

/// The totals of a pull request's remarks: `summary` of seed 004.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemarkSummary {
    /// Remarks: resolved and unresolved.
    pub total: usize,
    /// Those that somebody resolved.
    pub resolved: usize,
    /// The rest.
    pub unresolved: usize,
    /// Threads whose lines changed since, resolved or not.
    pub outdated: usize,
    /// Unresolved remarks by severity.
    pub by_severity: BTreeMap<RemarkSeverity, usize>,
    /// Unresolved remarks by file; `general` where a remark names none.
    pub by_file: BTreeMap<String, usize>,
    /// `CodeRabbit`'s nitpicks, where there are any.
    pub nitpicks: Option<SummaryNitpicks>,
}

/// Nitpicks among the remarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SummaryNitpicks {
    /// All of them.
    pub total: usize,
    /// The resolved ones.
    pub resolved: usize,
    /// The rest.
    pub unresolved: usize,
}
