//! Prompts for models: templates under `prompts/`, rendered with typed variables. Main type: [`Prompts`].
//!
//! What goes into the variables is decided by the engine; repository text is fenced and marked as data here, once ([`UntrustedText`]).
//!
//! To add a template: a file in `prompts/`, a line in the table, and a method of [`Prompts`] with its variables.

mod assistant;
mod data;
mod error;
mod part;
mod prompts;
mod question;
mod vars;
mod verification;

pub use assistant::{AssistantVars, FindingVars};
pub use data::{FenceMark, UntrustedText, contains_text};
pub use error::PromptError;
pub use part::{CrossPartVars, PartVars};
pub use prompts::Prompts;
pub use question::{QuestionVars, TaskVars};
pub use vars::{ChangeVars, LastTurnVars, LeadVars, MakingRoomVars, SystemVars};
pub use verification::VerificationVars;

/// A template as it is compiled in.
struct PromptTemplate {
    /// The name of its file.
    name: &'static str,
    text: &'static str,
    /// Variables that must be rendered unchanged, because the receipt says that they were shown.
    whole: &'static [&'static str],
    /// Variables to try a user's version with.
    samples: fn() -> Vec<minijinja::Value>,
}

macro_rules! template {
    ($name:literal, $whole:expr, $samples:expr) => {
        PromptTemplate {
            name: $name,
            text: include_str!(concat!("../../prompts/", $name)),
            whole: &$whole,
            samples: $samples,
        }
    };
}

/// All templates, in the order in which they are hashed.
const TEMPLATES: &[PromptTemplate] = &[
    template!("system.md", ["instructions"], SystemVars::samples),
    template!("change.md", ["change", "commits", "files", "diffs", "leads"], ChangeVars::samples),
    template!("nudge.md", [], vars::no_samples),
    template!("last_turn.md", ["reason"], LastTurnVars::samples),
    template!("making_room.md", ["results"], MakingRoomVars::samples),
    template!("resumed.md", [], vars::no_samples),
    template!("leaked_markup.md", [], vars::no_samples),
    template!("empty_answer.md", [], vars::no_samples),
    template!("output_limit.md", [], vars::no_samples),
    template!("malformed_calls.md", [], vars::no_samples),
    template!(
        "assistant_review.md",
        ["change", "commits", "files", "diffs", "focus", "instructions", "at"],
        AssistantVars::samples
    ),
    template!("explain_finding.md", ["finding", "code"], FindingVars::samples),
    template!("second_look.md", ["instructions"], SystemVars::samples),
    template!("second_look_finding.md", ["finding", "code", "diff"], VerificationVars::samples),
    template!("second_look_nudge.md", [], vars::no_samples),
    template!("second_look_last_turn.md", ["reason"], LastTurnVars::samples),
    template!("part.md", ["change", "commits", "files", "diffs", "leads"], PartVars::samples),
    template!("across.md", ["change", "parts", "names", "findings"], CrossPartVars::samples),
    template!("stalled.md", [], vars::no_samples),
    template!("text_protocol.md", [], vars::no_samples),
    template!("text_repair.md", [], vars::no_samples),
    template!("text_switch.md", [], vars::no_samples),
    template!("ask.md", [], vars::no_samples),
    template!("ask_question.md", ["review", "question"], QuestionVars::samples),
    template!("fix_findings.md", ["findings"], TaskVars::samples),
];
