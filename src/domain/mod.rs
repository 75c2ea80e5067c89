//! Plain data that every other folder shares: no input or output, no async, no settings.
//!
//! Main types: [`ChangeSet`](change::ChangeSet) (what is reviewed), [`Review`](review::Review) (what comes out),
//! [`Finding`](finding::Finding). Wire formats do not belong here: each surface has structs of its own and converts.

pub mod batch;
pub mod build;
pub mod change;
pub mod claim;
pub mod client_files;
pub mod day;
pub mod diagnostic;
pub mod dismissal;
pub mod doctor;
pub mod editor;
pub mod eval;
pub mod event;
pub mod filter;
pub mod finding;
pub mod forge;
pub mod generated;
pub mod guideline;
pub mod guideline_info;
pub mod id;
pub mod known_file;
pub mod language;
pub mod limits;
pub mod money;
pub mod nearest;
pub mod path;
pub mod percent;
pub mod place;
pub mod presented;
pub mod preview;
pub mod prior;
pub mod provider_info;
pub mod queue;
pub mod request;
pub mod review;
pub mod rule_info;
pub mod run;
pub mod run_record;
pub mod secret;
pub mod text;
pub mod verification;
pub(crate) mod words;
