//! Text for the log of a build service, some of which obey what they read: a line of code must not become an order there.
//!
//! Main types: [`BuildLogs`], which logs this process writes into; [`CommandEscaper`], the bytes of one output with the orders in them spelled so that
//! they stay text. What the services look for, by their own sources:
//!
//! - GitHub Actions (actions/runner, `ActionCommand.cs`): a line that begins with `::`, white space aside, and the older `##[` anywhere in a
//!   line. Both are sought by the rules of a language, which pass over characters that are not seen, so `:`, a joiner, `:` counts too. Lines
//!   end at a line feed or a carriage return. Gitea and Forgejo say that they are GitHub Actions, and do as they do.
//! - Azure Pipelines (azure-pipelines-agent, `Command.cs`): `##vso[` anywhere. `##[` folds and colours the log. Even a broken `##vso` is warned
//!   of, so the word itself is taken apart.
//! - `TeamCity`: `##teamcity[`.
//! - GitLab: sections of a log need the escape character, which is stripped from text for people ([`strip_block`](super::strip_block)).
//!
//! Which name follows does not matter here: what is registered changes while a job runs.

use std::borrow::Cow;

/// The syntax of an output, which decides how a command in it is escaped so that it stays text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Text and Markdown. A backslash goes into the order, `##\[` for `##[`, which Markdown does not show outside of code.
    Plain,
    /// JSON, whole or in lines. A character becomes `\u00xx`: the value stays the same.
    Json,
    /// XML, in text and in the values of attributes. A character becomes a reference: the value stays the same.
    Xml,
    /// Lines that GitHub Actions is meant to obey, or text of ours that must stay as it is. Other logs still obey none of it.
    Commands,
}

/// A build service whose log this program takes care of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildLog {
    /// GitHub Actions, and what calls itself so.
    GitHubActions,
    /// Azure Pipelines.
    AzurePipelines,
    /// `TeamCity`.
    TeamCity,
    /// GitLab CI.
    GitLab,
}

impl BuildLog {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::GitHubActions, Self::AzurePipelines, Self::TeamCity, Self::GitLab];

    /// The environment variable that a job of this service finds.
    pub fn variable(self) -> &'static str {
        match self {
            Self::GitHubActions => "GITHUB_ACTIONS",
            Self::AzurePipelines => "TF_BUILD",
            Self::TeamCity => "TEAMCITY_VERSION",
            Self::GitLab => "GITLAB_CI",
        }
    }

    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// The logs that this process writes into: none on a desk, sometimes more than one (an agent of one service started by another).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuildLogs(u8);

impl BuildLogs {
    /// Those whose variable is set; a value of `false` counts as not set, in any case.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        BuildLog::ALL.into_iter().fold(Self::default(), |found, log| {
            let set = variable(log.variable()).is_some_and(|value| {
                let value = value.trim();
                !value.is_empty() && !value.eq_ignore_ascii_case("false")
            });
            if set { found.and(log) } else { found }
        })
    }

    /// These and one more.
    #[must_use]
    pub fn and(self, log: BuildLog) -> Self {
        Self(self.0 | log.bit())
    }

    /// Checks whether this process writes into a log at all.
    pub fn is_any_detected(self) -> bool {
        self.0 != 0
    }

    /// Checks whether it writes into this one.
    pub fn has(self, log: BuildLog) -> bool {
        self.0 & log.bit() != 0
    }

    /// A whole output, spelled so that nothing in it is obeyed. The very bytes where there is nothing to spell.
    pub fn escape(self, bytes: &[u8], syntax: Syntax) -> Cow<'_, [u8]> {
        CommandEscaper::new(self, syntax).escape_piece(bytes)
    }
}

impl From<BuildLog> for BuildLogs {
    fn from(log: BuildLog) -> Self {
        Self::default().and(log)
    }
}

/// One output on its way into a log, in pieces of any size: each is given out at once, and how they are cut changes nothing.
///
/// An order is broken just before the character that would complete its mark, so nothing has to be held back.
#[derive(Debug, Clone)]
pub struct CommandEscaper {
    logs: BuildLogs,
    syntax: Syntax,
    /// Lines that begin with `::` are obeyed.
    colons: bool,
    /// `##[` is.
    bracket: bool,
    begun: LogLineState,
    /// The number of `#` right before this place; 2 means two or more.
    hashes: u8,
}

/// The part of a line that was processed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogLineState {
    /// Nothing that counts.
    Nothing,
    Colon,
    /// Enough: it cannot begin with `::` any more.
    Text,
}

impl CommandEscaper {
    /// An output that begins at the beginning of a line.
    pub fn new(logs: BuildLogs, syntax: Syntax) -> Self {
        let github = logs.has(BuildLog::GitHubActions) && syntax != Syntax::Commands;
        Self {
            logs,
            syntax,
            // A line of JSON never begins so: line ends are spelled out in its strings.
            colons: github && syntax != Syntax::Json,
            bracket: github || logs.has(BuildLog::AzurePipelines),
            begun: LogLineState::Nothing,
            hashes: 0,
        }
    }

    /// The next piece of it. Takes time in proportion to its length.
    pub fn escape_piece<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if !(self.colons || self.bracket || self.logs.has(BuildLog::TeamCity)) {
            return Cow::Borrowed(piece);
        }
        let mut out = Vec::new();
        let mut copied = 0;
        for (at, byte) in piece.iter().enumerate() {
            if self.completes(*byte) {
                out.extend_from_slice(piece.get(copied..at).unwrap_or_default());
                self.put(*byte, &mut out);
                copied = at + 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(piece);
        }
        out.extend_from_slice(piece.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Takes one byte; whether it would complete the mark of an order.
    fn completes(&mut self, byte: u8) -> bool {
        let (begun, hashes) = (self.begun, self.hashes);
        match byte {
            b'\n' | b'\r' => (self.begun, self.hashes) = (LogLineState::Nothing, 0),
            b' ' => {
                self.hashes = 0;
                self.begun = if begun == LogLineState::Nothing { LogLineState::Nothing } else { LogLineState::Text };
            }
            b':' => {
                self.hashes = 0;
                self.begun = if begun == LogLineState::Nothing { LogLineState::Colon } else { LogLineState::Text };
                return self.colons && begun == LogLineState::Colon;
            }
            b'#' => (self.begun, self.hashes) = (LogLineState::Text, (hashes + 1).min(2)),
            // The bracket of an escape sequence may not be touched: the break comes before the sequence.
            b'\x1b' if hashes == 2 && self.bracket && self.syntax == Syntax::Plain => {
                self.hashes = 0;
                return true;
            }
            // Spaces and what is not seen are among these; whoever passes over more than a service does only spells more.
            0..=b'\x1f' | b'\x7f'..=b'\xff' => {}
            _ => {
                (self.begun, self.hashes) = (LogLineState::Text, 0);
                let marked = match byte {
                    b'[' => self.bracket,
                    b'v' | b'V' => self.logs.has(BuildLog::AzurePipelines),
                    b't' | b'T' => self.logs.has(BuildLog::TeamCity),
                    _ => false,
                };
                return marked && hashes == 2;
            }
        }
        false
    }

    fn put(&self, byte: u8, out: &mut Vec<u8>) {
        match self.syntax {
            Syntax::Plain | Syntax::Commands => out.extend_from_slice(&[b'\\', byte]),
            Syntax::Json => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            Syntax::Xml => out.extend_from_slice(format!("&#{byte};").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
