//! Format of the journal. Main types: [`JournalEntry`], [`JournalRecord`].
//!
//! Every external input of a run is here: responses, tree content, and every decision that depended on the clock or on the order of concurrent
//! conversations. All else follows from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::change::Omission;
use crate::domain::claim::Claim;
use crate::domain::finding::FindingId;
use crate::domain::money::Money;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::review::StopReason;
use crate::llm::{ToolCallFormat, ToolDefinition, ToolResult, TurnResponse};
use crate::review::budget::BudgetLimits;
use crate::tools::ShownLines;

/// The version of the format. A reader refuses a later one.
pub(in crate::review) const VERSION: u32 = 5;

/// Prefix of the names of verifications.
const LOOKS: &str = "verify";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The version of the format.
    pub v: u32,
    /// Time: RFC 3339, UTC.
    pub at: String,
    /// The conversation that it is part of.
    pub unit: ConversationId,
    /// The turn, from 1; 0 before the first.
    pub turn: u32,
    /// The call within the turn, from 0, for what is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// Event.
    pub record: JournalRecord,
}

/// A conversation of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConversationId {
    /// A part of the change, by its index in the plan; 0 if it is reviewed as a whole.
    Part(u32),
    /// Another, by name: `across` is the cross-part pass, `verify/<finding>` the verification of a finding.
    Named(String),
}

impl ConversationId {
    /// The review of the whole change.
    pub const WHOLE: Self = Self::Part(0);

    /// Returns the id of the cross-part pass.
    pub fn cross_part() -> Self {
        Self::Named("across".to_owned())
    }

    /// Returns the id of records about all verifications.
    pub fn all_verifications() -> Self {
        Self::Named(LOOKS.to_owned())
    }

    /// Checks whether it is about verification.
    pub fn is_verification(&self) -> bool {
        self.stage() == RunStage::Looks
    }

    /// Returns the stage of the run.
    pub(in crate::review) fn stage(&self) -> RunStage {
        match self {
            Self::Part(_) => RunStage::Parts,
            Self::Named(name) if name.split('/').next() == Some(LOOKS) => RunStage::Looks,
            Self::Named(_) => RunStage::Across,
        }
    }

    /// Returns the id of the verification of a finding.
    pub fn verification(finding: &FindingId) -> Self {
        Self::Named(format!("{LOOKS}/{finding}"))
    }
}

/// Stage of a conversation in a run: each is based on the results of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::review) enum RunStage {
    /// The review of the change, in its parts.
    Parts,
    /// The cross-part pass.
    Across,
    /// Verification.
    Looks,
}

impl fmt::Display for ConversationId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(part) => write!(out, "part {part}"),
            Self::Named(name) => out.write_str(name),
        }
    }
}

/// Event in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say what some fields are")]
pub enum JournalRecord {
    /// The run began.
    Run {
        id: String,
        /// The version of this program.
        version: String,
        /// The provider's word.
        provider: String,
        model: String,
        /// The hash of the prompts.
        prompts: String,
        /// The hash of the rule packs.
        rules: String,
        /// The commit that was compared with.
        base: Option<String>,
        /// Reviewed commit, if any.
        head: Option<String>,
        /// Start: RFC 3339, UTC. Empty in journals before version 3.
        #[serde(default)]
        started_at: String,
        /// Limits of the first session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<Box<BudgetLimits>>,
    },
    /// Results of the rules, before the first request.
    Rules(RecordedRules),
    /// Division of the change: the files of each part, from 0.
    Plan {
        /// Parts, the riskiest first.
        units: Vec<Vec<RepoPath>>,
        /// Size limit of a first message, in tokens.
        room: u64,
        /// Maximum number of turns that the first messages state; 0 if they state none.
        #[serde(default, skip_serializing_if = "is_zero")]
        turns: u32,
        /// Window that they state, in tokens.
        #[serde(default, skip_serializing_if = "is_no_tokens")]
        window: u64,
        /// Files in no part, because they were reviewed before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carried: Vec<RepoPath>,
    },
    /// The names that parts of the change share, as the trees have them.
    Names {
        /// Those that are taken away first.
        names: Vec<SharedName>,
    },
    /// Tree content that was read to check a claim, for a replay without the repository; once for each side and path.
    Read {
        side: DiffSide,
        /// The file.
        path: RepoPath,
        read: RecordedRead,
    },
    /// Everything that could not be read from the trees so far.
    Omitted {
        /// In the order in which it was noticed.
        omissions: Vec<Omission>,
    },
    /// Request to the model. Together with the responses and results before it, this is the whole request.
    Request {
        /// System text, if it differs from the previous request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// Tools, if they differ from the previous request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<ToolDefinition>>,
        /// Explanation of the text format of calls, if it differs from the previous request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grammar: Option<String>,
        /// Format of calls and their results.
        #[serde(default, skip_serializing_if = "ToolCallFormat::is_native")]
        speech: ToolCallFormat,
        /// Messages of this program after the results of the previous turn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        user: Vec<String>,
        /// Maximum size of the response, in tokens.
        max_output: u32,
        /// Set for a last turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<FinalTurn>,
        /// Number of the oldest messages whose results are removed in this request and all that follow; before version 5.
        #[serde(default, skip_serializing_if = "is_zero")]
        compacted: u32,
        /// Results that are removed, by their place among all results of the conversation, from 0, in this request and all that follow.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<u32>,
        /// The message of this program, among `user`, that told the model which results will be removed next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        announced: Option<String>,
        /// Requested model, by its index in the list, from 0. Before a request to another model, the conversation loses data that only the previous
        /// one understood.
        #[serde(default, skip_serializing_if = "is_zero")]
        to: u32,
        /// Maximum cost of an attempt, if money is limited.
        #[serde(default, skip_serializing_if = "is_nothing")]
        most: Money,
        /// SHA-256 of the whole request, to prove that it was rebuilt.
        digest: String,
    },
    /// A model failed for good, and the next one takes over in all conversations.
    Takeover {
        /// Model that failed, by its index in the list, from 0.
        from: u32,
        /// Model that takes over.
        to: u32,
        /// Reason of the failure.
        why: String,
        /// Models that were passed over, with reasons.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        passed: Vec<(u32, String)>,
    },
    /// A server reported that a conversation is too long.
    Window {
        /// Model, by its index in the list, from 0; `4294967295` is a separate verification model.
        of: u32,
        /// Assumed window from now on, in tokens.
        tokens: u64,
        /// Message of the server.
        said: String,
    },
    /// An attempt failed.
    Fault {
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Error.
        message: String,
        /// Wait before the next attempt, in milliseconds; `None` if there was none.
        wait_ms: Option<u64>,
        /// `true` if it may have had a cost that was not reported.
        #[serde(default, skip_serializing_if = "is_false")]
        broken_off: bool,
    },
    /// Response of the model.
    Answer {
        response: TurnResponse,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// Result of a tool call.
    Result {
        result: ToolResult,
        /// Parts of the change and the trees that it showed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown: Vec<ShownLines>,
    },
    /// Allowance of verification, and the number of findings.
    Share(RecordedAllowance),
    /// End of a verification.
    Verdict {
        /// `confirmed`, `uncertain`, `refuted`, or `unchecked` without a verdict.
        state: String,
        /// Confidence that the finding is right, if stated without contradiction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<u8>,
        /// The rationale, or why there is no verdict.
        why: String,
        /// Set if it was interrupted: another session may continue it.
        #[serde(default, skip_serializing_if = "is_false")]
        broken_off: bool,
    },
    /// The engine ended.
    End {
        ended: StopReason,
        /// Explanation, unless the work was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The run was taken up again: whatever ended it before is no end any more.
    Resumed {
        /// The version of this program.
        version: String,
    },
    /// End of the whole run: its review is made from the records above.
    Done {
        /// Wall time of all sessions, in milliseconds.
        took_ms: u64,
    },
}

/// Files that the rules were run on, if not on all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// Those of the first part, and of none.
    FirstPart,
    /// The others.
    OtherParts,
}

/// Results of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRules {
    /// The files that they were run on; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Their claims, in order.
    pub claims: Vec<Claim>,
    /// Failures, a sentence each.
    pub notes: Vec<String>,
    /// Set if they were stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// Changed files that they did not examine, or not wholly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<RepoPath>,
    /// Number of the last claims that were not checked, because of the stop.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// Findings on code from before the change, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<Claim>,
    /// Number of further findings that a comment in the code suppressed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: u32,
}

/// Allowance of verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAllowance {
    /// Reason why nothing is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Size limit of a first message, in tokens.
    pub room: u64,
    /// Number of findings that are verified, the worst first.
    pub findings: usize,
    /// The turns of each.
    pub turns: u32,
    /// The tokens of each.
    pub tokens: u64,
    /// Cost limit of each, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The time of each, in milliseconds.
    pub time_ms: u64,
}

/// Reason for the last turn, in the words for the model and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalTurn {
    /// The limit.
    pub ended: StopReason,
    /// Text.
    pub words: String,
}

/// Name that one part of a change defines or removed and another uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedName {
    /// State of the name.
    pub fate: NameFate,
    /// The part, from 0, and the place of the file in the change.
    pub from: (usize, usize),
    /// The name.
    pub name: String,
    /// Parts, from 0, and places of files.
    pub users: Vec<(usize, usize)>,
}

/// State of a name that another part uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameFate {
    /// It is gone.
    TakenAway,
    /// It is new.
    BroughtIn,
    /// The file that has it is changed.
    Touched,
}

/// Result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedRead {
    /// Its text, secrets masked.
    Text {
        /// All of it.
        text: String,
        /// The charset that it was decoded from.
        charset: String,
        /// The lines on which something is masked, 1-indexed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        masked: Vec<u32>,
    },
    /// It is not there.
    NotFound,
    /// It could not be read: the kind of error, and its message.
    Fault {
        /// Message.
        message: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_no_tokens(tokens: &u64) -> bool {
    *tokens == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn is_nothing(money: &Money) -> bool {
    *money == Money::NOTHING
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
