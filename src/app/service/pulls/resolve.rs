//! Calling a remark resolved. Main method: [`Service::resolve_remark`].

use super::{PullFault, PullFaultKind, Service};
use crate::domain::forge::PullId;

/// What says now that a remark is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedBy {
    /// The forge, of its thread.
    Thread,
    /// A comment of ours that keeps what is resolved of bots' lists.
    StateComment,
    /// A comment of ours with a list of Qodo's entries.
    Tracker,
}

/// A remark that is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRemark {
    /// Its id, whole.
    pub id: String,
    /// What says so.
    pub by: ResolvedBy,
    /// Whether it was resolved before.
    pub already: bool,
    /// What else there is to know, one sentence.
    pub note: Option<String>,
}

impl Service {
    /// Calls a remark resolved, where that is not said already.
    pub async fn resolve_remark(&self, id: &PullId, given: &str) -> Result<ResolvedRemark, PullFault> {
        self.may_ask()?;
        if !self.may_write() {
            let message = "this server may not change what stands on a pull request";
            return Err(PullFault::new(
                PullFaultKind::ReadOnly,
                message,
                "whoever runs it starts it with --allow-write",
            ));
        }
        let _ = (id, given);
        Err(PullFault::input("not built yet", ""))
    }
}
