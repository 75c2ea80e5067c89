//! Lists the available models: the providers as configured here and the known facts of their models. Main function: [`models`].

use crate::app::context::settings;
use std::sync::Arc;
use std::time::Duration;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ProviderEnvironment;
use crate::config::{Flags, Settings};
use crate::domain::provider_info::{
    AssistantInfo, ModelInfo, PriceList, ProviderInfo, ProviderKeyState, ProviderModels,
};
use crate::llm::{self, ModelFacts, ModelPattern, ProviderAccess, ProviderRow};

/// Time limit for one provider to list its models.
const PATIENCE: Duration = Duration::from_secs(10);

/// The options of [`models`].
#[derive(Debug, Clone, Default)]
pub struct ModelsAsk {
    /// The only provider to list.
    pub provider: Option<String>,
    /// `true` to query the providers that can list their models. Nothing of a change is sent, but a key is.
    pub check: bool,
}

/// Lists the providers in the order of the table. No repository is read, and a key goes only where it would go for a review.
pub async fn models(ask: &ModelsAsk, around: &ProcessEnv) -> Result<Vec<ProviderInfo>, AppError> {
    let settings = settings::resolve(None, &Flags::default(), around)?.settings;
    let environment = &around.providers;
    let rows: Vec<&Arc<ProviderRow>> = match &ask.provider {
        None => environment.table().rows().iter().collect(),
        Some(name) => vec![
            environment
                .table()
                .find(name)
                .ok_or_else(|| model::unknown_provider(environment.table(), name, "review models".to_owned()))?,
        ],
    };
    let told = rows.into_iter().map(|row| tell(row, &settings, environment, ask.check));
    Ok(futures_util::future::join_all(told).await)
}

/// Lists the assistants that are installed and can review. None is started, so whether its user is logged in is not known.
pub fn installed_assistants() -> Vec<AssistantInfo> {
    let installed = llm::AGENTS.iter().filter(|agent| agent.is_installed());
    installed
        .map(|agent| AssistantInfo { name: agent.name, word: agent.word, title: agent.title, program: agent.program })
        .collect()
}

/// Lists the names of the models that a row knows.
pub(super) fn names(row: &ProviderRow) -> impl Iterator<Item = String> {
    row.model_rows().filter_map(|(fits, _)| match fits {
        ModelPattern::Name(name) => Some(name.to_string()),
        ModelPattern::Prefix(_) => None,
    })
}

async fn tell(
    row: &Arc<ProviderRow>,
    settings: &Settings,
    environment: &ProviderEnvironment,
    check: bool,
) -> ProviderInfo {
    let reached = model::connect(row, settings, environment);
    let base = model::base_of(row, settings, environment);
    let address_variable = base.as_ref().err().map(|variable| (*variable).to_owned());
    let address = base.ok().map(|base_url| {
        let access = ProviderAccess { base_url, ..ProviderAccess::default() };
        llm::address(row, &access)
    });
    let lacks = match (&reached, &address) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(_), Some(Err(error))) => Some(error.to_string()),
        (Ok(_), _) => None,
    };
    let there = match &reached {
        Ok(access) if check && lacks.is_none() => Some(there(row, access).await),
        Ok(_) | Err(_) => None,
    };
    ProviderInfo {
        name: row.name.to_string(),
        title: row.title.to_string(),
        wire: row.wire.word(),
        address: address.and_then(Result::ok),
        address_variable,
        key: key(row, settings, environment),
        lacks,
        default_model: row.default_model.as_ref().map(ToString::to_string),
        models: row.model_rows().map(|(fits, facts)| offered(fits, &facts)).collect(),
        there,
    }
}

async fn there(row: &ProviderRow, access: &ProviderAccess) -> ProviderModels {
    match llm::list(row, access, PATIENCE).await {
        Ok(names) => ProviderModels::Models(names),
        Err(error) => ProviderModels::Fault(error.to_string()),
    }
}

fn key(row: &ProviderRow, settings: &Settings, environment: &ProviderEnvironment) -> ProviderKeyState {
    let setting = format!("{}.api_key", row.name);
    if settings.provider(&row.name).api_key.is_some() {
        return ProviderKeyState::Set { by: setting };
    }
    if let Some((variable, _)) = environment.first(&row.key_variables) {
        return ProviderKeyState::Set { by: variable.to_owned() };
    }
    let by = row.key_variables.iter().map(ToString::to_string).chain([setting]).collect();
    if row.needs_key { ProviderKeyState::Missing { by } } else { ProviderKeyState::Unset { by } }
}

fn offered(fits: &ModelPattern, facts: &ModelFacts) -> ModelInfo {
    let ModelFacts { context_window, max_output, tools, parallel_tools, caching, reasoning, prices } = *facts;
    ModelInfo {
        name: fits.text().to_owned(),
        is_prefix: matches!(fits, ModelPattern::Prefix(_)),
        context_window,
        max_output,
        tools,
        parallel_tools,
        caching: caching.map(llm::Caching::word),
        reasoning,
        prices: prices.map(PriceList::from),
        dearer: prices.and_then(|prices| Some((prices.large?.above, prices.of_request(u64::MAX).into()))),
    }
}
