//! What a journal holds. Main types: [`JournalEntry`], [`Record`].
//!
//! Everything that a run took from outside is here: what was answered, what was read, and every decision that hung on the clock or on which of
//! several conversations was first. All else follows from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::change::Omission;
use crate::domain::claim::Claim;
use crate::domain::finding::FindingId;
use crate::domain::money::Money;
use crate::domain::path::RepoPath;
use crate::domain::place::Side;
use crate::domain::review::Ended;
use crate::llm::{Speech, ToolDefinition, ToolResult, TurnResponse};
use crate::review::budget::Limits;
use crate::tools::Reference;

/// The version of the format. A reader refuses a later one.
pub(in crate::review) const VERSION: u32 = 4;

/// What the names of second looks begin with.
const LOOKS: &str = "verify";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The version of the format.
    pub v: u32,
    /// When: RFC 3339, UTC.
    pub at: String,
    /// The conversation that it is part of.
    pub unit: Unit,
    /// The turn, from 1; 0 before the first.
    pub turn: u32,
    /// The call within the turn, from 0, for what is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// What happened.
    pub record: Record,
}

/// A conversation of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Unit {
    /// About a part of the change, by its place in the plan; 0 where it is reviewed whole.
    Part(u32),
    /// Another, by name: `across` is the look at how the parts go together, `verify/<finding>` the second look at a finding.
    Named(String),
}

impl Unit {
    /// The review of the whole change.
    pub const WHOLE: Self = Self::Part(0);

    /// The look at how the parts of a change go together.
    pub fn across() -> Self {
        Self::Named("across".to_owned())
    }

    /// What is about all second looks together.
    pub fn all_looks() -> Self {
        Self::Named(LOOKS.to_owned())
    }

    /// Whether it is about second looks.
    pub fn is_look(&self) -> bool {
        self.stage() == Stage::Looks
    }

    /// When in a run it takes place.
    pub(in crate::review) fn stage(&self) -> Stage {
        match self {
            Self::Part(_) => Stage::Parts,
            Self::Named(name) if name.split('/').next() == Some(LOOKS) => Stage::Looks,
            Self::Named(_) => Stage::Across,
        }
    }

    /// The second look at a finding.
    pub fn second_look(finding: &FindingId) -> Self {
        Self::Named(format!("{LOOKS}/{finding}"))
    }
}

/// When in a run a conversation takes place: each stage rests on what came of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::review) enum Stage {
    /// The review of the change, in its parts.
    Parts,
    /// How they go together.
    Across,
    /// The second looks.
    Looks,
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(part) => write!(out, "part {part}"),
            Self::Named(name) => out.write_str(name),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The run began.
    Run {
        /// Its id.
        id: String,
        /// The version of this program.
        version: String,
        /// The provider's word.
        provider: String,
        /// The model.
        model: String,
        /// The hash of the prompts.
        prompts: String,
        /// The hash of the rule packs.
        rules: String,
        /// The commit that was compared with.
        base: Option<String>,
        /// The reviewed commit, where it is one.
        head: Option<String>,
        /// When it began: RFC 3339, UTC. Empty in journals before version 3.
        #[serde(default)]
        started_at: String,
        /// What its first sitting could spend.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<Box<Limits>>,
    },
    /// What the rules said of the change, before the model was asked.
    Rules {
        /// Their claims, in order.
        claims: Vec<Claim>,
        /// What they could not do, a sentence each.
        notes: Vec<String>,
        /// Set where they were stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<Ended>,
        /// The changed files that they did not look at, or not wholly.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missed: Vec<RepoPath>,
        /// So many of the last claims were not checked, because of the stop.
        #[serde(default, skip_serializing_if = "is_zero")]
        unchecked: u32,
        /// What they say stood before the change, where that was asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        standing: Vec<Claim>,
        /// How many more a comment in the code silenced.
        #[serde(default, skip_serializing_if = "is_zero")]
        suppressed: u32,
    },
    /// How the change was split: for each unit, from 0, its files.
    Plan {
        /// The units, the riskiest first.
        units: Vec<Vec<RepoPath>>,
        /// What a first message may take, in tokens.
        room: u64,
        /// Files that no unit has, and why: they were reviewed before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carried: Vec<RepoPath>,
    },
    /// The names that parts of the change share, as the trees have them.
    Names {
        /// Those that are taken away first.
        names: Vec<SharedName>,
    },
    /// What checking a claim read of a tree, for a replay without the repository; once for each side and path.
    Read {
        /// The side.
        side: Side,
        /// The file.
        path: RepoPath,
        /// What was read.
        read: Read,
    },
    /// What the trees could not give, all of it so far.
    Omitted {
        /// In the order in which it was noticed.
        omissions: Vec<Omission>,
    },
    /// The model is asked. Together with the answers and results before it, this is the whole request.
    Request {
        /// The system text, where it is not that of the request before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// The tools, where they are not those of the request before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<ToolDefinition>>,
        /// What explains how calls are written in the text, where it is not that of the request before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grammar: Option<String>,
        /// How calls and their results are written.
        #[serde(default, skip_serializing_if = "Speech::is_native")]
        speech: Speech,
        /// What this program says after the results of the turn before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        user: Vec<String>,
        /// The most it may answer, in tokens.
        max_output: u32,
        /// Set for a last turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<Landing>,
        /// So many of the oldest messages with results are shortened in this request and all that follow.
        #[serde(default, skip_serializing_if = "is_zero")]
        compacted: u32,
        /// Who is asked, by its place in the list of models, from 0. Before another one than that of the request before is asked, the
        /// conversation loses what only that one understood.
        #[serde(default, skip_serializing_if = "is_zero")]
        to: u32,
        /// What an attempt at it may cost at most, where money is a limit.
        #[serde(default, skip_serializing_if = "is_nothing")]
        most: Money,
        /// SHA-256 of the whole request, to prove that it was rebuilt.
        digest: String,
    },
    /// A model failed for good, and the next one takes over in all conversations.
    Takeover {
        /// Who failed, by its place in the list of models, from 0.
        from: u32,
        /// Who takes over.
        to: u32,
        /// Why it failed.
        why: String,
        /// Who was passed over, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        passed: Vec<(u32, String)>,
    },
    /// A server said that a conversation is too long for it.
    Window {
        /// Whose, by its place in the list of models, from 0; `4294967295` is the model that takes the second look alone.
        of: u32,
        /// What is reckoned with from now on, in tokens.
        tokens: u64,
        /// What it said.
        said: String,
    },
    /// An attempt failed.
    Fault {
        /// Which, from 1.
        attempt: u32,
        /// Why.
        message: String,
        /// How long was waited before the next one, in milliseconds; `None` where there was none.
        wait_ms: Option<u64>,
        /// Whether it may have cost something that nobody told.
        #[serde(default, skip_serializing_if = "is_false")]
        broken_off: bool,
    },
    /// The model answered.
    Answer {
        /// What.
        response: TurnResponse,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A tool answered.
    Result {
        /// What.
        result: ToolResult,
        /// What of the change and the trees it showed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown: Vec<Reference>,
    },
    /// What the second look may spend, and on how many of the findings.
    Share {
        /// Why nobody is asked at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why_not: Option<String>,
        /// How large a first message may be, in tokens.
        room: u64,
        /// How many findings are looked at, the worst first.
        findings: u32,
        /// The turns of each.
        turns: u32,
        /// The tokens of each.
        tokens: u64,
        /// The money of each, where it is a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Money>,
        /// The time of each, in milliseconds.
        time_ms: u64,
    },
    /// A second look ended.
    Verdict {
        /// `confirmed`, `uncertain`, `refuted`, or `unchecked` where it came to none.
        state: String,
        /// How sure it is that the finding is right, where it said so and did not contradict itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<u8>,
        /// The rationale, or why there is no verdict.
        why: String,
        /// Set where it was broken off: another sitting may go on with it.
        #[serde(default, skip_serializing_if = "is_false")]
        broken_off: bool,
    },
    /// The engine ended.
    End {
        /// How.
        ended: Ended,
        /// Why, where it is not that all was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The run was taken up again: whatever ended it before is no end any more.
    Resumed {
        /// The version of this program.
        version: String,
    },
    /// The whole run ended: its review is made from what stands above.
    Done {
        /// Wall time of all sittings together, in milliseconds.
        took_ms: u64,
    },
}

/// Why a turn was the last one, in the words that the model and people are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The limit.
    pub ended: Ended,
    /// The words.
    pub words: String,
}

/// A name that one part of a change defines or took away and another uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedName {
    /// What becomes of it.
    pub fate: Fate,
    /// The part, from 0, and the place of the file in the change.
    pub from: (usize, usize),
    /// The name.
    pub name: String,
    /// Parts, from 0, and places of files.
    pub users: Vec<(usize, usize)>,
}

/// What becomes of a name that another part uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is gone.
    TakenAway,
    /// It is new.
    BroughtIn,
    /// The file that has it is changed.
    Touched,
}

/// What reading a file came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
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
    /// It could not be read: what kind of fault, and its words.
    Fault {
        /// The words.
        message: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn is_nothing(money: &Money) -> bool {
    *money == Money::NOTHING
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
