//! The wiring: the only module that imports all others.
//!
//! Start at [`review()`]: collect, open the trees, run the engine, save, deliver. The command line belongs in `cli`; the logic of a part,
//! in that part.

pub mod action;
mod apply;
mod artefact;
pub mod clients;
mod deliver;
mod diffs;
mod dismiss;
mod dismissed;
mod doctor;
mod engine;
mod error;
mod eval;
mod forge;
mod given;
mod guidelines;
mod inspect;
mod instructions;
mod model;
mod models;
mod on_disk;
mod packs;
mod pending;
mod post;
mod presented;
mod preview;
mod prior;
mod project;
mod pull;
mod recent;
mod replay;
mod reports;
mod resume;
mod review;
mod rules;
mod runs;
mod service;
mod subject;
mod symbols;
mod table;
mod templates;
mod view;

pub use crate::config::Flags as Overrides;
pub use apply::{Applied, AppliedFile, AppliedFinding, ApplyAsk, ApplyError, FileFault, PlaceFault, Refused, apply};
pub use artefact::{ArtefactError, Expected, expected_artefact, post_artefact};
pub use deliver::{Delivered, Output};
pub use dismiss::{DismissAsk, DismissError, WrittenDown, dismiss_for_project};
pub use doctor::{DoctorAsk, Terminal, doctor};
pub use error::AppError;
pub use eval::{EvalError, EvalJob, earlier as earlier_evaluation, evaluate, write_evaluation};
pub use forge::ForgeEnvironment;
pub use guidelines::{
    Explained as ExplainedGuidelines, ListedGuideline, Reached as ReachedGuideline, explain as explain_guidelines,
    list as list_guidelines,
};
pub use inspect::{ToolCall, call_tool, settings};
pub use instructions::InstructionsError;
pub use model::{KnownProvider, ProviderEnvironment, providers};
pub use models::{ModelsAsk, models};
pub use post::{DryRun, MovedHead, PostError, PostOptions, Posted, post, resume_and_post, review_and_post};
pub use presented::{Dialect, checkout, find_document, read_content, show_document, written};
pub use preview::preview;
pub use pull::{Fetched, fetch as fetch_pull};
pub use replay::{ChangedRequest, Comparison, Piece, ReplayError, Replayed, With, compare, replay};
pub use resume::{Resume, ResumeError};
pub use review::{Job, bounded, interrupted, interruptible, review, time_limit};
pub use rules::{FixtureFault, RuleOwner, RuleSheet, RulesError, Tried, explain_rule, list_rules, test_rules};
pub use runs::{FindingsAsk, dismiss, finding_like, findings, latest_of, list, prune, show};
pub use service::{
    AT_ONCE, BriefingError, Changed, Changes, Connection, DismissFault, EndedRun, FaultKind, FindFault, Ledger,
    ListedPull, Listing, NamedPull, News, PresentFault, PullFault, PullFaultKind, PullFiles, PullPage, PullRead,
    PullsServed, ResolvedBy, ResolvedRemark, ReviewState, Roots, RootsError, RunningReview, SeenPull, Service,
    ServiceOptions, Shown, Since, Snapshot, StartFault, StartReview, Started, WatchedPulls, Watching,
};
pub use subject::{Surroundings, secret_file};

pub use crate::syntax::{HELPER as PARSE_HELPER, serve_probe as serve_parser};
pub use crate::sys::cancel::Cancel;
