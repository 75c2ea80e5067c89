//! The provider of a replay, which is never reached. Main type: [`Nobody`].

use std::time::Duration;

use crate::llm::{Capabilities, Provider, TurnFault, TurnRequest, TurnResponse, Waited, Watch};

/// A model with known capabilities and no connection.
pub(super) struct Nobody(pub(super) Capabilities);

impl Provider for Nobody {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn turn<'a>(
        &'a self,
        _: &'a TurnRequest,
        _: Duration,
        _: &'a dyn Watch,
    ) -> Waited<'a, Result<TurnResponse, TurnFault>> {
        let message = "nobody is asked when a run is told again".to_owned();
        let fault = TurnFault::Unreachable { provider: self.0.provider.clone(), message };
        Box::pin(std::future::ready(Err(fault)))
    }
}
