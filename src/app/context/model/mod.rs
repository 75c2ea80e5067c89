//! The choice of the reviewing model, its key and its address. Main function: [`choose`]; main type: [`ChosenModel`].
//!
//! Keys and addresses come from the user alone: their settings first (`[anthropic]` `api_key`, `base_url`, also as `REVIEW_…`
//! variables), then the variables that the providers' own libraries read. A repository can set neither (`config::trust`).
//!
//! A key found in the environment selects its provider only if the table allows it (`taken_when_found`): a key intended for another
//! purpose must not send code anywhere.
//!
//! A key goes only where its owner sends it. A provider that needs a key gets it at the configured address. For a server that may need
//! none (`openai-chat`, `ollama`) the usual variable belongs to another service as soon as the settings name another address: then only
//! the key of the settings is used.

mod environment;

use crate::llm;
use crate::review::{BudgetLimits, CostLimit};
use std::net::IpAddr;
use std::sync::Arc;

use super::error::AppError;
use crate::config::{ModelChoice, ResolvedSettings, Settings, Verify};
use crate::llm::{AGENTS, ProviderAccess, ProviderHead, ProviderRow, ProviderTable, RateLimit, WireFormat, heads};

pub use environment::ProviderEnvironment;

/// A model chosen for a review.
#[derive(Debug, Clone)]
pub(in crate::app) struct ChosenModel {
    pub(in crate::app) row: Arc<ProviderRow>,
    /// Its name at the provider.
    pub(in crate::app) model: String,
    /// Its key and address.
    pub(in crate::app) access: ProviderAccess,
    /// The variable or the setting that its key comes from; `None` without a key.
    pub(in crate::app) key_from: Option<String>,
    /// Notices for the user before anything is sent, one line each; also those about failover models.
    pub(in crate::app) notices: Vec<String>,
    /// The failover models, in order.
    pub(in crate::app) next: Vec<ChosenModel>,
}

impl ChosenModel {
    /// Formats it as on the command line, with the failover models.
    pub(in crate::app) fn names(&self) -> String {
        let all = std::iter::once(self).chain(&self.next);
        all.map(|chosen| format!("{}/{}", chosen.row.name, chosen.model)).collect::<Vec<_>>().join(",")
    }
}

/// The reason why a model was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChoiceReason {
    /// The user named it.
    Named,
    /// Its key was found, and no model was named.
    FoundKey {
        /// The variable, or the setting.
        variable: String,
    },
}

/// A provider, as the help text shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProvider {
    /// Its name.
    pub name: String,
    /// The model used if none is named.
    pub default_model: Option<String>,
    /// A description, with the variable that enables it.
    pub reached_by: String,
    /// `true` if its key makes it the reviewer when no model is named.
    pub taken_when_found: bool,
}

/// Lists the providers that `--model` knows without the user's own table. The table is not parsed: every start of the program needs the list.
pub fn providers() -> Vec<KnownProvider> {
    let known = |head: ProviderHead| {
        let ProviderHead { name, title, key_variable, base_variable, needs_key, taken_when_found, default_model } =
            head;
        let reached_by =
            if needs_key { format!("{title}, key in {key_variable}") } else { format!("{title} at {base_variable}") };
        let default_model = default_model.map(str::to_owned);
        KnownProvider { name: name.to_owned(), default_model, reached_by, taken_when_found }
    };
    heads().into_iter().map(known).collect()
}

/// Lists the assistants that `--agent` knows.
pub fn agent_words() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.word)
}

/// Returns the model that an assistant stands for: its name alone, or with a model behind a slash. `None` for an unknown one.
pub fn agent_model(text: &str) -> Option<String> {
    let (word, model) = text.split_once('/').map_or((text, None), |(word, model)| (word, Some(model)));
    let agent = AGENTS.iter().find(|agent| agent.word == word || agent.name == word)?;
    Some(model.map_or_else(|| agent.name.to_owned(), |model| format!("{}/{model}", agent.name)))
}

/// Chooses the reviewing model; `None` for the built-in rules.
///
/// A named model that cannot be used is an error, never a silent fallback to the rules. Nothing is sent and no file is read.
pub(in crate::app) fn choose(
    resolved: &ResolvedSettings,
    environment: &ProviderEnvironment,
) -> Result<Option<ChosenModel>, AppError> {
    let Some(mut first) = choose_as(&resolved.settings.model, "model", resolved, environment)? else { return Ok(None) };
    name_key_origins(&mut first, resolved);
    for choice in &resolved.settings.next_models {
        let Some(next) = choose_as(choice, "model", resolved, environment)? else { continue };
        // A provider alone stands for its default model, which may also be named explicitly.
        let is_there = std::iter::once(&first)
            .chain(&first.next)
            .any(|known| (&known.row.name, &known.model) == (&next.row.name, &next.model));
        if is_there {
            continue;
        }
        let name = &next.row.name;
        let line = format!(
            "{name}/{} takes over when the model before it fails for good, and receives code of this change then",
            next.model
        );
        let more = next.notices.iter().filter(|notice| !first.notices.contains(notice)).cloned();
        let more: Vec<String> = std::iter::once(line).chain(more).collect();
        first.notices.extend(more);
        first.next.push(next);
    }
    first.next.iter_mut().for_each(|next| name_key_origins(next, resolved));
    Ok(Some(first))
}

/// Adds to a key of the settings the variable or the line of the file that it stands in.
fn name_key_origins(chosen: &mut ChosenModel, resolved: &ResolvedSettings) {
    let Some(from) = &mut chosen.key_from else { return };
    if let Some((_, _, origin)) = resolved.origins.iter().find(|(key, _, _)| *key == from.as_str()) {
        *from = origin.to_string();
    }
}

/// Checks that the named model, its key and its address can be used. Models that are not named are checked by the review. Nothing is sent.
pub(in crate::app) fn check(resolved: &ResolvedSettings, environment: &ProviderEnvironment) -> Result<(), AppError> {
    if !matches!(resolved.settings.model, ModelChoice::Named { .. }) {
        return Ok(());
    }
    let chosen = choose(resolved, environment)?;
    let second = choose_verifier(resolved, environment, chosen.as_ref())?;
    let next: Vec<&ChosenModel> = chosen.iter().flat_map(|chosen| &chosen.next).collect();
    priced(&resolved.settings, chosen.iter().chain(next.iter().copied()).chain(&second))?;
    for chosen in chosen.iter().chain(next).chain(&second) {
        crate::llm::connect(&chosen.row, &chosen.model, &chosen.access)?;
    }
    Ok(())
}

/// Checks that the prices of these models are known if a cost limit is set. Nothing is sent.
pub(in crate::app) fn priced<'a>(
    settings: &Settings,
    models: impl Iterator<Item = &'a ChosenModel>,
) -> Result<(), AppError> {
    if settings.max_cost.is_none() {
        return Ok(());
    }
    for chosen in models {
        let provider = crate::llm::connect(&chosen.row, &chosen.model, &chosen.access)?;
        limits(settings, provider.capabilities())?;
    }
    Ok(())
}

/// Chooses the model that verifies the findings of `first`, if it is another one; `None` also if verification is off.
///
/// The same rules apply as for the first: a named model that cannot be used is an error, and a key goes only where its owner sends it.
pub(in crate::app) fn choose_verifier(
    resolved: &ResolvedSettings,
    environment: &ProviderEnvironment,
    first: Option<&ChosenModel>,
) -> Result<Option<ChosenModel>, AppError> {
    let settings = &resolved.settings;
    let (Some(first), Some(choice)) = (first, &settings.verify_model) else { return Ok(None) };
    if settings.verify == Verify::None {
        return Ok(None);
    }
    let Some(mut second) = choose_as(choice, "verify_model", resolved, environment)? else { return Ok(None) };
    if (&second.row.name, &second.model) == (&first.row.name, &first.model) {
        return Ok(None);
    }
    second.notices.retain(|notice| !first.notices.contains(notice));
    let line =
        format!("{}/{} takes the second look and receives code of this change, too", second.row.name, second.model);
    second.notices.insert(0, line);
    Ok(Some(second))
}

/// Parses the model choice of the setting `key`.
fn choose_as(
    choice: &ModelChoice,
    key: &'static str,
    resolved: &ResolvedSettings,
    environment: &ProviderEnvironment,
) -> Result<Option<ChosenModel>, AppError> {
    let settings = &resolved.settings;
    match choice {
        ModelChoice::Rules => Ok(None),
        ModelChoice::Auto => {
            let rows = || environment.table().rows().iter();
            // A key in `review`'s own settings is intended for it; one in a provider's usual variable may be there for another program.
            let set = rows().filter(|row| row.needs_key).find_map(|row| {
                settings.provider(&row.name).api_key?;
                Some((row, row.default_model.as_ref()?, format!("{}.api_key", row.name)))
            });
            let found = || {
                rows().filter(|row| row.needs_key && row.taken_when_found).find_map(|row| {
                    let (variable, _) = environment.first(&row.key_variables)?;
                    Some((row, row.default_model.as_ref()?, variable.to_owned()))
                })
            };
            let Some((row, model, variable)) = set.or_else(found) else { return Ok(None) };
            chosen(row, model, &ChoiceReason::FoundKey { variable }, settings, environment).map(Some)
        }
        ModelChoice::Named { provider, model } => {
            let origin = || {
                let origin = resolved.origins.iter().find(|(known, _, _)| *known == key);
                origin.map_or_else(String::new, |(_, _, origin)| origin.to_string())
            };
            let Some(row) = environment.table().find(provider) else {
                return Err(unknown_provider(environment.table(), provider, origin()));
            };
            let Some(model) = model.as_deref().or(row.default_model.as_deref()) else {
                return Err(AppError::NoModelName { origin: origin(), provider: row.name.to_string() });
            };
            chosen(row, model, &ChoiceReason::Named, settings, environment).map(Some)
        }
    }
}

pub(in crate::app) fn unknown_provider(table: &ProviderTable, provider: &str, origin: String) -> AppError {
    let names = || table.rows().iter().map(|row| &*row.name);
    let likeness = |name: &str| strsim::jaro_winkler(&provider.to_ascii_lowercase(), name);
    let near = names().map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    AppError::UnknownProvider {
        origin,
        provider: provider.to_owned(),
        near: near.filter(|(likeness, _)| *likeness > 0.8).map(|(_, name)| name.to_owned()),
        known: names().collect::<Vec<_>>().join(", "),
    }
}

/// Determines key and address of a provider for a named model; else what is missing.
pub(in crate::app) fn connect(
    row: &Arc<ProviderRow>,
    settings: &Settings,
    environment: &ProviderEnvironment,
) -> Result<ProviderAccess, AppError> {
    let model = row.default_model.as_deref().unwrap_or("NAME");
    chosen(row, model, &ChoiceReason::Named, settings, environment).map(|chosen| chosen.access)
}

/// Determines the address of a provider if it is not the usual one; else the variable that it needs and that is not set.
pub(in crate::app) fn base_of<'r>(
    row: &'r ProviderRow,
    settings: &Settings,
    environment: &ProviderEnvironment,
) -> Result<Option<String>, &'r str> {
    let usual = || environment.first(&row.base_variables).map(|(_, base)| base.reveal().to_owned());
    match settings.provider(&row.name).base_url.or_else(usual) {
        None if row.placeholders().next().is_some() => row.address(|name| environment.value(name)).map(Some),
        base_url => Ok(base_url),
    }
}

fn chosen(
    row: &Arc<ProviderRow>,
    model: &str,
    why: &ChoiceReason,
    settings: &Settings,
    environment: &ProviderEnvironment,
) -> Result<ChosenModel, AppError> {
    let set = settings.provider(&row.name);
    let usual_key = environment.first(&row.key_variables).filter(|_| set.api_key.is_none());
    let key_from = if set.api_key.is_some() {
        Some(format!("{}.api_key", row.name))
    } else {
        usual_key.map(|(variable, _)| variable.to_owned())
    };
    let mut notices = Vec::new();
    // See the module: a key in the usual variable is not for a server of the user's own choice.
    let key = match (set.api_key, usual_key) {
        (Some(key), _) => Some(key),
        (None, Some((variable, _))) if !row.needs_key && set.base_url.is_some() => {
            let name = &row.name;
            notices.push(format!(
                "{variable} is not sent to the address in {name}.base_url; if that server needs a key, set {name}.api_key"
            ));
            None
        }
        (None, Some((variable, key))) if !key.is_plain() => {
            return Err(AppError::UnfitKey { variable: variable.to_owned() });
        }
        (None, usual) => usual.map(|(_, key)| key.clone()),
    };
    let key_from = key_from.filter(|_| key.is_some());
    if row.needs_key && key.is_none() {
        return Err(AppError::NoKey {
            model: format!("{}/{model}", row.name),
            variable: row.key_variables.join(" or "),
            provider: row.name.to_string(),
        });
    }
    let base_url = base_of(row, settings, environment).map_err(|variable| {
        let provider = &row.name;
        AppError::Unusable(format!(
            "{provider}/{model}: where {provider} is hangs on {variable}, which is not set: set it, or base_url under [{provider}] in your \
             settings file"
        ))
    })?;
    let rate = RateLimit {
        requests: set.requests_per_minute.or(row.requests_per_minute),
        tokens: set.tokens_per_minute.or(row.tokens_per_minute),
    };
    let (paces, clients) = (environment.paces.clone(), environment.clients.clone());
    let (first_wait, batches) = (environment.first_wait, environment.batches.clone());
    if batches.is_some() && !row.has_batches() {
        notices.push(format!("{}/{model} has no message batches, so its turns cost the normal price", row.name));
    }
    let context_window = set.context_window;
    let access = ProviderAccess { key, base_url, context_window, rate, paces, clients, first_wait, batches };
    notices.extend(in_clear(row, &access));
    if let ChoiceReason::FoundKey { variable } = why {
        // First, because a user who did not request a model must read it.
        let place = access
            .base_url
            .as_deref()
            .map_or_else(String::new, |address| format!(" at {}", scheme_and_host(address).1));
        let line = format!(
            "{}/{model}{place} reviews this change and receives its code ({variable} is set); --no-model reviews with the built-in \
             rules",
            row.name
        );
        notices.insert(0, line);
    }
    Ok(ChosenModel { row: Arc::clone(row), model: model.to_owned(), access, key_from, notices, next: Vec::new() })
}

/// Checks whether the server runs on this machine, started by its user.
pub(in crate::app) fn is_own_server(chosen: &ChosenModel) -> bool {
    is_this_machine(scheme_and_host(chosen.access.base_url.as_deref().unwrap_or(&chosen.row.base_url)).1)
}

/// Warns that a chosen model is reached without encryption, unless it is on this machine.
pub(in crate::app) fn reached_in_clear(chosen: &ChosenModel) -> Option<String> {
    in_clear(&chosen.row, &chosen.access)
}

/// Warns that an address is reached without encryption, unless it is on this machine.
fn in_clear(row: &ProviderRow, access: &ProviderAccess) -> Option<String> {
    let address = access.base_url.as_deref().unwrap_or(&row.base_url);
    let (scheme, host) = scheme_and_host(address);
    // Without a scheme, Ollama's variable implies http; the other addresses have one.
    let is_clear = scheme == Some("http") || (scheme.is_none() && row.wire == WireFormat::Ollama);
    if !is_clear || is_this_machine(host) {
        return None;
    }
    let what = if access.key.is_some() { "the key and the code go" } else { "the code goes" };
    Some(format!("{what} to {host} without encryption (http://)"))
}

/// Extracts the scheme, if http or https, and the host without credentials and port; parsed as leniently as clients parse an address.
fn scheme_and_host(address: &str) -> (Option<&'static str>, &str) {
    // Quotes left by an env file are also removed before the address is used.
    let address = address.trim().trim_matches(['"', '\'']).trim();
    let after = |scheme: &str| {
        let (start, rest) = address.split_at_checked(scheme.len())?;
        Some(rest.strip_prefix(':')?.trim_start_matches(['/', '\\'])).filter(|_| start.eq_ignore_ascii_case(scheme))
    };
    let known = ["http", "https"].into_iter().find_map(|scheme| Some((scheme, after(scheme)?)));
    let rest = known.map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    (known.map(|(scheme, _)| scheme), host)
}

/// Checks for a local host, also if it is omitted (`:11434`) or is the wildcard address: a client then connects to its own machine.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let by_name = host.is_empty() || host == "localhost" || host.ends_with(".localhost");
    by_name || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// Design default: upper bound on the tokens of a response, whatever the model supports.
const MAX_OUTPUT: u32 = 16_000;

/// Determines the limits of a run with this model. A cost limit is refused if the model's prices are unknown.
pub(in crate::app) fn limits(settings: &Settings, model: &llm::Capabilities) -> Result<BudgetLimits, AppError> {
    let cost = match (settings.max_cost, model.prices) {
        (None, _) => None,
        (Some(most), Some(prices)) => Some(CostLimit { most, prices }),
        (Some(most), None) => {
            return Err(AppError::Unusable(format!(
                "the limit of {most} (--max-cost, max_cost) cannot be held, because nobody knows what {}/{} costs: give its prices \
                 (docs/models.md says where), or set --max-tokens instead; nothing was sent",
                model.provider, model.model
            )));
        }
    };
    // A small context window must hold more than responses.
    let share = u32::try_from(model.context_window / 6).unwrap_or(u32::MAX);
    Ok(BudgetLimits {
        turns: settings.max_turns,
        input_tokens: settings.max_tokens,
        window: model.context_window,
        max_output: model.max_output.min(MAX_OUTPUT).min(share),
        time: settings.timeout,
        cost,
    })
}

#[cfg(test)]
mod tests;
