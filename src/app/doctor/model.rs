//! Checks the reviewing model: choice, key, address, and its responses to probes. Main function: [`check`].

use std::time::Duration;

use super::advice::{KeyAt, of_fault};
use super::probe::{ModelProbe, ProbeFailure, ProbeResponse};
use super::settings::FoundSettings;
use super::verdict::{self, ProbeVerdict};
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ChosenModel;
use crate::app::context::model::ProviderEnvironment;
use crate::config::{ModelChoice, ResolvedSettings, Settings};
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, FaultParty};
use crate::domain::event::{Event, EventSink};
use crate::domain::text::{count_noun, shorten, strip_line};
use crate::llm::{self, Capabilities, Provider, TurnFault, TurnUsage};
use crate::prompt::Prompts;
use crate::sys::cancel::{Cancel, CancelReason};

/// The probes, in order.
const QUESTIONS: [&str; 3] = ["streaming", "forced_call", "two_tools"];
/// The advice for a model that does not call tools.
const BY_TEXT: &str = "say `tools = false` for this model in your own file of providers, so that a review speaks to it in text from the \
    beginning (docs/models.md); a larger model may do better";

/// Time limit for a provider to list its models.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit of a single test: a local model may be loaded first.
const LONGEST_TEST: Duration = Duration::from_mins(2);
/// Limit in characters on a displayed model name.
const LONGEST_NAME: usize = 100;

/// The result of the tool call probes.
struct CallSupport {
    checks: Vec<DoctorCheck>,
    /// `true` if only the text format works.
    wants_text: bool,
    /// The duration of the slowest turn.
    slowest: Duration,
}

impl CallSupport {
    /// The result for a model known not to support tool calls.
    fn unknown_to_it() -> Self {
        let found = "not asked: it is known to call no tools, and is spoken to in text";
        let checks = QUESTIONS[1..].iter().map(|name| new_check(name, CheckState::Skipped, found)).collect();
        Self { checks, wants_text: true, slowest: Duration::ZERO }
    }
}

fn new_check(name: &'static str, state: CheckState, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Model, name, state, found)
}

/// Reports the models and probes them.
pub(super) async fn check(
    found: Option<FoundSettings>,
    offline: bool,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Vec<DoctorCheck> {
    let Some(FoundSettings { resolved, providers }) = found else {
        return vec![new_check(
            "choice",
            CheckState::Skipped,
            "the settings cannot be used, so nobody knows who reviews",
        )];
    };
    let chosen = match choose(&resolved, &providers) {
        Ok(chosen) if chosen.is_empty() => return vec![by_rules(&resolved)],
        Ok(chosen) => chosen,
        Err(error) => {
            return vec![new_check("choice", CheckState::Failed(FaultParty::Setup), error.to_string())];
        }
    };
    let grammar = match Prompts::built_in().and_then(|prompts| prompts.text_protocol()) {
        Ok(grammar) => grammar,
        Err(error) => return vec![new_check("choice", CheckState::Failed(FaultParty::Setup), error.to_string())],
    };
    let mut checks = Vec::new();
    for chosen in &chosen {
        let name = format!("{}/{}", chosen.row.name, chosen.model);
        let of = ModelUnderTest { chosen, resolved: &resolved, providers: &providers };
        let mut about = of.set_up();
        match llm::connect(&chosen.row, &chosen.model, &chosen.access) {
            // The address was already checked.
            Err(llm::ConnectError::Address(_)) => {}
            Err(error) => about.push(new_check("key", CheckState::Failed(FaultParty::Setup), error.to_string())),
            Ok(provider) => {
                about.push(limits(provider.capabilities()));
                if offline {
                    about.extend(QUESTIONS.map(|name| new_check(name, CheckState::Skipped, "not asked: --offline")));
                } else {
                    let text = format!("asking {}; no code is sent", strip_line(&name));
                    events.emit(Event::Notice { text });
                    about.extend(of.ask(&*provider, &grammar, cancel).await);
                }
            }
        }
        checks.extend(about.into_iter().map(|check| check.about_model(&name)));
    }
    checks
}

/// Tests the model that the settings choose with one small request, without code. Returns its checks; none if the rules review.
pub(in crate::app) async fn try_model(
    resolved: &ResolvedSettings,
    providers: &ProviderEnvironment,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<Vec<DoctorCheck>, AppError> {
    let Some(chosen) = model::choose(resolved, providers)? else { return Ok(Vec::new()) };
    let of = ModelUnderTest { chosen: &chosen, resolved, providers };
    let provider = llm::connect(&chosen.row, &chosen.model, &chosen.access)?;
    let text = format!("asking {}/{}; no code is sent", strip_line(&chosen.row.name), strip_line(&chosen.model));
    events.emit(Event::Notice { text });
    let cancel = cancel.with_deadline(LONGEST_TEST);
    let probe = ModelProbe { provider: &*provider, grammar: "", cancel: &cancel };
    let counted = probe.ask_to_count().await;
    let mut check = of.judge("streaming", &counted, verdict::judge_counting(&counted));
    if let Some(near) = of.suggest_similar(&counted).await {
        check.advice = Some(near);
    }
    Ok(vec![check])
}

fn choose(resolved: &ResolvedSettings, providers: &ProviderEnvironment) -> Result<Vec<ChosenModel>, AppError> {
    let first = model::choose(resolved, providers)?;
    let second = model::choose_verifier(resolved, providers, first.as_ref())?;
    Ok(first.into_iter().chain(second).collect())
}

fn by_rules(resolved: &ResolvedSettings) -> DoctorCheck {
    match resolved.settings.model {
        ModelChoice::Rules => new_check("choice", CheckState::Fine, "the built-in rules review, as the settings say"),
        ModelChoice::Auto | ModelChoice::Named { .. } => {
            let found = "no model is named and no key is found, so the built-in rules review";
            new_check("choice", CheckState::Fine, found).with_advice(
                "for a review by a model name one with --model, or set its key (`review --help` lists the variables)",
            )
        }
    }
}

/// A model to check.
struct ModelUnderTest<'a> {
    chosen: &'a ChosenModel,
    resolved: &'a ResolvedSettings,
    providers: &'a ProviderEnvironment,
}

impl ModelUnderTest<'_> {
    /// Runs the checks that need no request.
    fn set_up(&self) -> Vec<DoctorCheck> {
        let Self { chosen, resolved, .. } = self;
        let name = strip_line(&format!("{}/{}", chosen.row.name, chosen.model));
        let origin = |key: &str| resolved.origins.iter().find(|(known, _, _)| *known == key);
        let why = match &resolved.settings.model {
            ModelChoice::Named { provider, .. } if **provider == *chosen.row.name => {
                origin("model").map_or_else(String::new, |(_, _, origin)| format!(" (by {origin})"))
            }
            ModelChoice::Auto => " (its key was found, and nobody named another)".to_owned(),
            ModelChoice::Rules | ModelChoice::Named { .. } => String::new(),
        };
        let mut checks = vec![new_check("choice", CheckState::Fine, format!("{name} reviews{why}")), self.key()];
        if chosen.row.agent.is_some() {
            return checks;
        }
        checks.push(match (llm::address(&chosen.row, &chosen.access), model::reached_in_clear(chosen)) {
            (Err(error), _) => new_check("address", CheckState::Failed(FaultParty::Setup), error.to_string()),
            (Ok(address), Some(warning)) => new_check("address", CheckState::Warning, format!("{address}: {warning}"))
                .with_advice("take an https:// address, unless the way there is safe"),
            (Ok(address), None) => new_check("address", CheckState::Fine, address),
        });
        checks
    }

    fn key(&self) -> DoctorCheck {
        match self.key_origin() {
            Some(origin) => new_check("key", CheckState::Fine, format!("it is {origin}")),
            None => {
                let name = &self.chosen.row.name;
                let found = match self.usual_key() {
                    Some(variable) => format!(
                        "none is sent: {variable} is not for the address in {name}.base_url; if that server needs a key, set {name}.api_key"
                    ),
                    None => "none is set; the server may need none".to_owned(),
                };
                new_check("key", CheckState::Fine, found)
            }
        }
    }

    /// The possible locations of a key for this provider.
    fn key_places(&self) -> String {
        let row = &self.chosen.row;
        let setting = format!("{}.api_key", row.name);
        row.key_variables.iter().map(ToString::to_string).chain([setting]).collect::<Vec<_>>().join(" or ")
    }

    /// The variable that is set and holds a key for this provider.
    fn usual_key(&self) -> Option<&str> {
        self.providers.names().find(|name| self.chosen.row.key_variables.iter().any(|known| **known == **name))
    }

    /// The source of the key; `None` without one.
    fn key_origin(&self) -> Option<String> {
        self.chosen.access.key.as_ref()?;
        let setting = format!("{}.api_key", self.chosen.row.name);
        let set = self.resolved.origins.iter().find(|(known, _, _)| *known == setting);
        let usual = || self.usual_key().map(|name| format!("from {name}"));
        set.map(|(_, _, origin)| format!("from {origin}")).or_else(usual)
    }

    /// Sends the probes until the provider fails.
    async fn ask(&self, provider: &dyn Provider, grammar: &str, cancel: &Cancel) -> Vec<DoctorCheck> {
        let prober = ModelProbe { provider, grammar, cancel };
        let counted = prober.ask_to_count().await;
        let mut checks = vec![self.judge("streaming", &counted, verdict::judge_counting(&counted))];
        if counted.broken.is_some() {
            if let (Some(check), Some(near)) = (checks.first_mut(), self.suggest_similar(&counted).await) {
                check.advice = Some(near);
            }
            let skip = |name: &&'static str| new_check(name, CheckState::Skipped, "not asked: it failed before");
            checks.extend(QUESTIONS[1..].iter().map(skip));
            return checks;
        }
        let calls = if provider.capabilities().tools {
            self.ask_for_calls(&prober).await
        } else {
            CallSupport::unknown_to_it()
        };
        let mut slowest = counted.pace.took.max(calls.slowest);
        let in_text = calls.wants_text;
        checks.extend(calls.checks);
        if in_text {
            let heard = prober.ask_in_text().await;
            slowest = slowest.max(heard.turn_time());
            let check = self.judge("text_protocol", &heard, verdict::judge_two_tools(&heard));
            checks.push(match check.state {
                // No usable model remains for a review.
                CheckState::Warning => DoctorCheck { state: CheckState::Failed(FaultParty::Provider), ..check },
                CheckState::Fine | CheckState::Failed(_) | CheckState::Skipped => check,
            });
        }
        checks.push(pace(slowest, &self.resolved.settings));
        checks
    }

    /// Suggests similar models of the server for one that it does not know.
    async fn suggest_similar(&self, heard: &ProbeResponse) -> Option<String> {
        let Some(ProbeFailure::Fault(TurnFault::Status { status: 404, .. })) = &heard.broken else { return None };
        let ChosenModel { row, model, access, .. } = self.chosen;
        let names = llm::list(row, access, PATIENCE).await.ok()?;
        let likeness = |name: &String| strsim::jaro_winkler(&model.to_ascii_lowercase(), &name.to_ascii_lowercase());
        if names.contains(model) {
            return Some(
                "its list has this model: see whether the address ends as it should (often in /v1), and whether the model is loaded"
                    .to_owned(),
            );
        }
        let near = names.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
        let name = &row.name;
        let near = shorten(&strip_line(near), LONGEST_NAME);
        Some(format!(
            "it has {}; did you mean {near}? `review models {name} --check` lists them",
            count_noun(names.len(), "model")
        ))
    }

    /// Probes native tool calls.
    async fn ask_for_calls(&self, prober: &ModelProbe<'_>) -> CallSupport {
        let forced = prober.ask_for_forced_call().await;
        let mut judged = verdict::judge_forced_call(&forced);
        let refused = forced.in_text();
        let mut checks = Vec::new();
        let mut slowest = forced.turn_time();
        let mut wants_text = refused;
        if refused {
            judged = ProbeVerdict::in_text();
            checks.push(self.judge("forced_call", &forced, judged));
            checks.push(new_check("two_tools", CheckState::Skipped, "not asked: the server takes no tools"));
        } else {
            let two = prober.ask_for_two_tools().await;
            let second = verdict::judge_two_tools(&two);
            slowest = slowest.max(two.turn_time());
            // If the server itself failed, the text format is no alternative: a review would fail there.
            wants_text = !judged.is_right && !second.is_right && forced.broken.is_none() && two.broken.is_none();
            if wants_text {
                judged = judged.with_advice(BY_TEXT);
            }
            checks.push(self.judge("forced_call", &forced, judged));
            checks.push(self.judge("two_tools", &two, second));
        }
        CallSupport { checks, wants_text, slowest }
    }

    fn judge(&self, name: &'static str, heard: &ProbeResponse, judged: ProbeVerdict) -> DoctorCheck {
        let key = self.key_origin().map_or_else(|| KeyAt::Missing(self.key_places()), KeyAt::From);
        let check = match &heard.broken {
            Some(ProbeFailure::Stopped(CancelReason::Interrupted)) => {
                new_check(name, CheckState::Skipped, "interrupted")
            }
            Some(ProbeFailure::Stopped(CancelReason::DeadlinePassed)) => {
                let found = "there was no answer within the time for these questions";
                let advice = "give it more with --timeout: a model that is loaded first may need minutes";
                new_check(name, CheckState::Failed(FaultParty::Provider), found).with_advice(advice)
            }
            Some(ProbeFailure::Fault(fault)) => {
                let advice = of_fault(fault, &key, model::is_own_server(self.chosen));
                new_check(name, CheckState::Failed(FaultParty::Provider), fault.to_string()).with_advice(advice)
            }
            None if judged.is_right => new_check(name, CheckState::Fine, judged.found),
            None => {
                let check = new_check(name, CheckState::Warning, judged.found);
                match judged.advice {
                    Some(advice) => check.with_advice(advice),
                    None => check.with_advice("a review needs more of a model than this; a larger one may do better"),
                }
            }
        };
        DoctorCheck { took: Some(heard.pace.took), usage: heard.usage().map(TurnUsage::into_usage), ..check }
    }
}

/// Reports the known limits of the model.
fn limits(known: &Capabilities) -> DoctorCheck {
    let prices = match &known.prices {
        Some(prices) => {
            format!(
                "{} and {} a million tokens in and out, as of {}",
                prices.input.format_full(),
                prices.output.format_full(),
                prices.on
            )
        }
        None => "prices unknown".to_owned(),
    };
    let found = format!(
        "{} tokens for a request and its answer, {} for an answer; {prices}",
        known.context_window, known.max_output
    );
    new_check("limits", CheckState::Fine, found)
}

/// Checks whether a typical review would finish in time at this speed.
fn pace(turn: Duration, settings: &Settings) -> DoctorCheck {
    let (most, limit) = (settings.max_turns, settings.timeout);
    let fits = limit.as_secs_f64() / turn.as_secs_f64().max(0.001);
    let seconds = turn.as_secs_f64();
    if fits >= f64::from(most) {
        return new_check(
            "pace",
            CheckState::Fine,
            format!("a small turn takes {seconds:.1} s: {most} of them fit the time of a review"),
        );
    }
    let found = format!(
        "a small turn takes {seconds:.1} s: about {fits:.0} of them fit the {} s of a review, which may want {most}",
        limit.as_secs()
    );
    new_check("pace", CheckState::Warning, found)
        .with_advice("give reviews more time (--timeout, or timeout in the settings), or take a faster model")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SettingsSources, resolve};

    #[test]
    fn a_slow_model_is_told_by_what_fits_a_review() {
        let settings = resolve(&SettingsSources::default()).unwrap().settings;
        assert_eq!(pace(Duration::from_secs(2), &settings).state, CheckState::Fine);
        let slow = pace(Duration::from_mins(1), &settings);
        assert_eq!(slow.state, CheckState::Warning);
        assert!(slow.found.contains("about 20 of them fit the 1200 s"), "{}", slow.found);
    }
}
