//! The provider of a replay, which is never reached. Main type: [`UnreachableModel`].

use std::time::Duration;

use crate::llm::{BoxFuture, Capabilities, Provider, StreamObserver, TurnFault, TurnRequest, TurnResponse};

/// A model with known capabilities and no connection.
pub(super) struct UnreachableModel(pub(super) Capabilities);

impl Provider for UnreachableModel {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn turn<'a>(
        &'a self,
        _: &'a TurnRequest,
        _: Duration,
        _: &'a dyn StreamObserver,
    ) -> BoxFuture<'a, Result<TurnResponse, TurnFault>> {
        let message = "nobody is asked when a run is told again".to_owned();
        let fault = TurnFault::Unreachable { provider: self.0.provider.clone(), message };
        Box::pin(std::future::ready(Err(fault)))
    }
}
