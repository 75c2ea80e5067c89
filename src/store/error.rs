//! Reasons why a run could not be saved, found or read. Main type: [`StoreError`].

use super::presented::DocumentFault;
use super::record::RecordFault;
use crate::domain::limits::LIMITS;
use crate::domain::run::RunId;
use crate::sys::database::{DatabaseAddress, DatabaseError, InvalidAddress};
use crate::sys::files::FileError;

/// Reasons why a run could not be saved, found or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StoreError {
    /// There is no home folder to save anything in.
    #[error("there is no home folder to keep runs in: set HOME or XDG_STATE_HOME")]
    NoHome,
    /// The setting of the store names nothing that can be used.
    #[error("REVIEW_STORE {0}")]
    Setting(#[from] InvalidAddress),
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database of the runs could not be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The tables of the database are of a later version of this program.
    #[error(
        "the runs in the database {address} have the format {found}, this program knows {known}: use a newer version of review, or name \
         another database in REVIEW_STORE"
    )]
    NewerSchema { address: DatabaseAddress, found: i64, known: i64 },
    #[error(
        "the run {id} cannot be locked: no thread could be started to renew the lock ({source}); end some other programs"
    )]
    Renewal {
        id: RunId,
        #[source]
        source: std::io::Error,
    },
    /// Another process has taken over the run since this one locked it.
    #[error(
        "another process has taken over the run {0}, since this one was away for too long: nothing more is written here; `review show {0}` \
         shows its result"
    )]
    Lost(RunId),
    /// A file of a run is larger than what is read.
    #[error("{name} of the run {id} has more than {} MiB, which is too much to keep: review the change in parts", LIMITS.kept_file_bytes >> 20)]
    TooLarge { id: RunId, name: String },
    #[error("{0:?} cannot be the name of a file in a run: a plain name such as review.json is needed")]
    Name(String),
    /// The record could not be serialized; an internal error.
    #[error("cannot write the record of the run: {0}")]
    Record(#[source] serde_json::Error),
    /// The record cannot be read.
    #[error(transparent)]
    BadRecord(#[from] RecordFault),
    /// No run has the id.
    #[error("no saved run begins with {0:?}: `review list` shows what there is")]
    Unknown(String),
    /// No run is saved at all.
    #[error("no runs are kept yet: `review` keeps each one it makes")]
    Empty,
    /// Several runs match.
    #[error("{} runs begin with {given:?} ({}): give more of the id", ids.len(), format_ids(ids))]
    Ambiguous { given: String, ids: Vec<RunId> },
    /// Another process holds the run.
    #[error("the run {0} is going on in another process: wait for its end, or stop that process first")]
    Busy(RunId),
    /// The run has no such file.
    #[error("the run {id} has no {name}: it did not get that far, or was kept by another version")]
    Missing { id: RunId, name: String },
    /// A presented document could not be saved, found or read.
    #[error(transparent)]
    Document(#[from] DocumentFault),
}

fn format_ids(ids: &[RunId]) -> String {
    let first: Vec<String> = ids.iter().take(3).map(ToString::to_string).collect();
    let more = if ids.len() > 3 { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}
