//! The wiring: the only module that imports all others.
//!
//! Start at [`review()`]: collect, open the trees, run the engine, save, deliver. The command line belongs in `cli`; the logic of a part,
//! in that part.

pub mod action;
mod batch;
mod build;
pub mod clients;
mod context;
mod doctor;
mod editor;
mod eval;
mod findings;
mod init;
mod inspect;
mod post;
mod prepare;
mod queue;
mod review;
mod runner;
mod service;

pub use crate::config::Flags as Overrides;
pub use batch::{
    BatchError, BatchRequest, BatchSelection, FORMATS as BATCH_FORMATS, merge_batches, run_batch,
    write_index as write_batch_index,
};
pub use build::{
    BUILD_TIMEOUT, BuildAsk, BuildOutcome, BuildReport, BuildUseError, TrustedTools, build, build_log, build_raw,
    build_root, list_tools, run_build, trust,
};
pub use context::environment::ProcessEnv;
pub use context::error::{AppError, UseCaseError};
pub use context::forge::ForgeEnvironment;
pub use context::model::{KnownProvider, ProviderEnvironment, agent_model, agent_words, providers};
pub use context::saved_runs::{latest_of, list, list_here};
pub use context::secret_file::secret_file;
pub use context::settings::list_settings as settings;
pub use doctor::{DoctorAsk, TerminalInfo, doctor};
pub use editor::{DisplayLimits, EditorOptions, EditorWindow, FinalDocument, NO_EDITOR, ReviewDisplay, probe_editor};
pub use eval::{EvalError, EvalJob, earlier as earlier_evaluation, evaluate, write_evaluation};
pub use findings::apply::{
    AppliedFile, AppliedFinding, ApplyAsk, ApplyError, ApplyResult, FileFault, PlaceFault, RefusedFile, applicable,
    apply,
};
pub use findings::ask::{AnsweredQuestion, AskError, AskRequest, ask};
pub use findings::current::{CurrentEdit, CurrentPlace, CurrentReview, CurrentTexts};
pub use findings::dismiss::{DismissAsk, ProjectDismissal, dismiss_for_project};
pub use findings::live::{LivePage, LiveReport};
pub use findings::open::{OpenedReport, open_in_browser, open_report};
pub use findings::runs::{FindingsAsk, dismiss, finding_like, findings, prune, show};
pub use findings::task::{TaskAsk, task_for_agent};
pub use init::{HookGate, InitError, InitRequest, Questioner, init};
pub use inspect::candidates::{CandidateKind, candidates};
pub use inspect::models::{ModelsAsk, installed_assistants, models};
pub use inspect::pager::Pager;
pub use inspect::rules::{RulesError, explain_rule, list_rules, retain_language, test_rules};
pub use inspect::settings_file::{SettingsFile, change_setting, edit_settings, settings_path};
pub use inspect::tool_call::{ManualToolCall, call_tool};
pub use post::artefact::{ArtefactError, ExpectedArtefact, expected_artefact, post_artefact};
pub use post::thread::posted_url;
pub use post::{DryRun, MovedHeadPolicy, PostError, PostOptions, PostOutcome, check_scope, post, post_delivered};
pub use prepare::dismissals::DismissError;
pub use prepare::guidelines::{explain as explain_guidelines, list as list_guidelines};
pub use prepare::instructions::InstructionsError;
pub use prepare::pull::{FetchedPull, fetch as fetch_pull};
pub use queue::{
    AddRequest, AddedJobs, QueueHandle, QueueUseError, ScheduleRequest, WebhookAnswer, WebhookDelivery,
    WebhookReceiver, WebhookSetupError, WorkerEvent, WorkerEventSink, WorkerMetrics, WorkerReport, WorkerRequest,
    add_jobs, run_worker, set_schedule, worker_name,
};
pub use review::deliver::{DeliveredReview, OutputFile};
pub use review::job::{ReviewJob, choose_scope, read_words, review, time_limit};
pub use review::preview::preview;
pub use review::replay::{
    ChangedRequest, ComparisonOptions, ReplayError, ReplayResult, RequestComparison, RequestPart, compare, replay,
};
pub use review::resume::{ResumeError, ResumeOutcome, ResumeRequest, resume};
pub use runner::command::{run_command, wait_for_interrupt, with_time_limit};
pub use service::document_files::{
    ReferenceStyle, checkout, find_document, read_content, render_document, show_document,
};
pub use service::{
    AT_ONCE, AllowedRoots, AllowedRootsError, BriefingError, CallMetrics, ChangeNotice, ClientConnection, DismissFault,
    DocumentDisplay, FaultKind, FindFault, FinishedRun, ListedPull, NamedPull, Notifier, PresentFault,
    PresentedDocument, PullFault, PullFaultKind, PullFiles, PullPage, PullServing, PullUpdates, PullView, PullWatch,
    ReadPull, RemarkChange, ResolvedBy, ResolvedRemark, ReviewListing, ReviewSnapshot, ReviewState, RunningReview,
    Service, ServiceOptions, StartFault, StartReview, StartedReview, WatchTarget, file_uri_path,
};

pub use crate::git::{CommandWords, WordsMeaning};
pub use crate::llm::{BridgeError, BridgeTools};
pub use crate::store::Store;
pub use crate::syntax::{HELPER as PARSE_HELPER, serve_probe as serve_parser};
pub use crate::sys::cancel::{Cancel, CancelReason};
pub use crate::sys::clock::{local_minute, now};
pub use crate::sys::process::{SUPERVISOR, is_process_alive, supervise};
