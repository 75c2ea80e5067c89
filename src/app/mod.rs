//! The wiring: the only module that imports all others.
//!
//! Start at [`review()`]: collect, open the trees, run the engine, save, deliver. The command line belongs in `cli`; the logic of a part,
//! in that part.

pub mod action;
mod apply;
mod artefact;
pub mod clients;
mod deliver;
mod diff_source;
mod dismiss;
mod dismissals;
mod doctor;
mod documents;
mod engine;
mod environment;
mod error;
mod eval;
mod forge;
mod guidelines;
mod inputs;
mod inspect;
mod instructions;
mod lru;
mod model;
mod models;
mod on_disk;
mod packs;
mod post;
mod prepare;
mod preview;
mod previous;
mod project;
mod prompts;
mod provider_table;
mod pull;
mod replay;
mod resume;
mod review;
mod rules;
mod runs;
mod sarif;
mod saved_runs;
mod secret_file;
mod service;
mod settings;
mod symbols;
mod uncommitted;
mod view;

pub use crate::config::Flags as Overrides;
pub use apply::{
    AppliedFile, AppliedFinding, ApplyAsk, ApplyError, ApplyResult, FileFault, PlaceFault, RefusedFile, apply,
};
pub use artefact::{ArtefactError, ExpectedArtefact, expected_artefact, post_artefact};
pub use deliver::{DeliveredReview, OutputFile};
pub use dismiss::{DismissAsk, ProjectDismissal, dismiss_for_project};
pub use dismissals::DismissError;
pub use doctor::{DoctorAsk, TerminalInfo, doctor};
pub use documents::{ReferenceStyle, checkout, find_document, read_content, render_document, show_document};
pub use environment::ProcessEnv;
pub use error::{AppError, UseCaseError};
pub use eval::{EvalError, EvalJob, earlier as earlier_evaluation, evaluate, write_evaluation};
pub use forge::ForgeEnvironment;
pub use guidelines::{
    ApplicableGuideline as ReachedGuideline, GuidelinesReport as ExplainedGuidelines, ListedGuideline,
    explain as explain_guidelines, list as list_guidelines,
};
pub use inspect::{ManualToolCall, call_tool};
pub use instructions::InstructionsError;
pub use model::{KnownProvider, ProviderEnvironment, providers};
pub use models::{ModelsAsk, models};
pub use post::{DryRun, MovedHeadPolicy, PostError, PostOptions, PostOutcome, check_scope, post, post_delivered};
pub use preview::preview;
pub use pull::{FetchedPull, fetch as fetch_pull};
pub use replay::{
    ChangedRequest, ComparisonOptions, ReplayError, ReplayResult, RequestComparison, RequestPart, compare, replay,
};
pub use resume::{ResumeError, ResumeOutcome, ResumeRequest, resume};
pub use review::{ReviewJob, interruptible, review, time_limit, wait_for_interrupt, with_time_limit};
pub use rules::{FixtureFault, FixtureReport, RuleOwner, RulePage, RulesError, explain_rule, list_rules, test_rules};
pub use runs::{FindingsAsk, dismiss, finding_like, findings, prune, show};
pub use saved_runs::{latest_of, list};
pub use secret_file::secret_file;
pub use service::{
    AT_ONCE, AllowedRoots, AllowedRootsError, BriefingError, CallMetrics, ChangeNotice, ClientConnection, DismissFault,
    FaultKind, FindFault, FinishedRun, ListedPull, NamedPull, Notifier, PresentFault, PresentedDocument, PullFault,
    PullFaultKind, PullFiles, PullPage, PullServing, PullUpdates, PullView, PullWatch, ReadPull, RemarkChange,
    ResolvedBy, ResolvedRemark, ReviewListing, ReviewSnapshot, ReviewState, RunningReview, Service, ServiceOptions,
    StartFault, StartReview, StartedReview, WatchTarget,
};
pub use settings::list_settings as settings;

pub use crate::syntax::{HELPER as PARSE_HELPER, serve_probe as serve_parser};
pub use crate::sys::cancel::Cancel;
