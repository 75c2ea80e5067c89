//! The choice of the reviewer in a step: the named model with the key given for it. Main function: [`choose_reviewer`].
//!
//! The key is passed through the settings' environment (`REVIEW_<PROVIDER>_API_KEY`), for the named provider only. Without a model the
//! built-in rules review only if requested: a run without a key must not look like a review.

use super::error::ActionError;
use super::inputs::{ActionInputs, allowed_values, invalid_value};
use super::variables;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::context::model::ChosenModel;
use crate::app::context::settings;
use crate::config::{self, Flags, ModelChoice, SettingsSources};
use crate::llm::WireFormat;

/// Checks the choice, and puts the key and the address where the settings look for them.
pub(super) fn choose_reviewer(
    inputs: &ActionInputs,
    flags: &Flags,
    around: &mut ProcessEnv,
    is_fork: bool,
) -> Result<Vec<String>, AppError> {
    let asked = settings::resolve(None, flags, around)?.settings.model;
    let provider = match &asked {
        ModelChoice::Named { provider, .. } => Some(provider.as_str()),
        ModelChoice::Auto | ModelChoice::Rules => None,
    };
    if let Some(provider) = provider {
        if around.providers.table().find(provider).is_none() {
            let known: Vec<&str> = around.providers.table().rows().iter().map(|row| &*row.name).collect();
            let write =
                format!("write PROVIDER/NAME with one of {}, or none for the built-in rules alone", known.join(", "));
            return Err(invalid_value(variables::MODEL, provider, &write).into());
        }
        give(inputs, provider, around)?;
    }
    let notices = unused(inputs, &asked)?;
    let resolved = settings::resolve(None, flags, around)?;
    if resolved.settings.model == ModelChoice::Rules {
        return Ok(notices);
    }
    match model::choose(&resolved, &around.providers) {
        Ok(None) => Err(ActionError::NoModel { is_fork }.into()),
        Ok(Some(chosen)) if lacks_key(&chosen) => {
            Err(ActionError::NoKey { model: format!("{}/{}", chosen.row.name, chosen.model), is_fork }.into())
        }
        Ok(Some(_)) => Ok(notices),
        Err(AppError::NoKey { model, .. }) => Err(ActionError::NoKey { model, is_fork }.into()),
        Err(error) => Err(error),
    }
}

/// Checks for a missing key. A private server may need none; the provider's usual one does, whatever the protocol.
fn lacks_key(chosen: &ChosenModel) -> bool {
    let is_usual = chosen.access.base_url.is_none() && !model::is_own_server(chosen);
    chosen.access.key.is_none() && chosen.row.wire == WireFormat::Chat && is_usual
}

/// Sets the given values for a provider, replacing existing ones.
fn give(inputs: &ActionInputs, provider: &str, around: &mut ProcessEnv) -> Result<(), ActionError> {
    // Only providers of the built-in table have settings. A given address must not be ignored silently: the code would go to another one.
    let given = [
        (variables::KEY, inputs.key.is_some()),
        (variables::BASE_URL, inputs.base_url.is_some()),
        (variables::CONTEXT_WINDOW, inputs.context_window.is_some()),
    ];
    let is_built_in = config::SettingKey::from_name(&format!("{provider}.base_url")).is_some();
    if let Some((input, _)) = given.iter().find(|(_, is_given)| *is_given && !is_built_in) {
        return Err(ActionError::Input {
            input: input.name,
            wrong: format!("is not for {provider}, which stands in a file of providers"),
            write: "say in that file what it is reached with".to_owned(),
        });
    }
    let variable = |field: &str| format!("REVIEW_{}_{field}", provider.replace('-', "_").to_ascii_uppercase());
    let mut set = |name: String, value: &str| {
        around.environment.retain(|(known, _)| *known != name);
        around.environment.push((name, value.to_owned()));
    };
    if let Some(key) = &inputs.key {
        set(variable("API_KEY"), key.reveal());
    }
    for (input, field, value) in [
        (variables::BASE_URL, "BASE_URL", &inputs.base_url),
        (variables::CONTEXT_WINDOW, "CONTEXT_WINDOW", &inputs.context_window),
    ] {
        let Some(value) = value else { continue };
        let (name, setting) = (variable(field), format!("{provider}.{}", field.to_ascii_lowercase()));
        let environment = vec![(name.clone(), value.clone())];
        if config::resolve(&SettingsSources { environment, ..SettingsSources::default() }).is_err() {
            // An address may hold a password.
            return Err(ActionError::Input {
                input: input.name,
                wrong: "cannot be used (it is not shown here)".to_owned(),
                write: format!("write {}", allowed_values(&setting)),
            });
        }
        set(name, value);
    }
    Ok(())
}

/// Collects the inputs for a model that have no effect without one.
fn unused(inputs: &ActionInputs, asked: &ModelChoice) -> Result<Vec<String>, ActionError> {
    let given = [
        (variables::KEY, inputs.key.is_some()),
        (variables::BASE_URL, inputs.base_url.is_some()),
        (variables::CONTEXT_WINDOW, inputs.context_window.is_some()),
    ];
    let mut given = given.iter().filter(|(_, is)| *is).map(|(input, _)| input.name);
    match asked {
        ModelChoice::Named { .. } => Ok(Vec::new()),
        ModelChoice::Rules => {
            Ok(given.map(|name| format!("the input {name} is not used: the built-in rules review")).collect())
        }
        ModelChoice::Auto => match given.next() {
            None => Ok(Vec::new()),
            Some(input) => Err(ActionError::Input {
                input,
                wrong: "is given, but no model".to_owned(),
                write: "name the model that it is for: `model: PROVIDER/NAME`".to_owned(),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::context::forge::ForgeEnvironment;
    use super::super::super::context::model::ProviderEnvironment;
    use super::super::variables::ActionVariables;
    use super::*;
    use crate::llm::ProviderTable;

    fn around(providers: &[(&str, &str)], environment: &[(&str, &str)]) -> ProcessEnv {
        let find =
            |name: &str| providers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ProcessEnv {
            user_settings: None,
            environment: environment.iter().map(own).collect(),
            providers: ProviderEnvironment::of(ProviderTable::built_in().unwrap(), find),
            forge: ForgeEnvironment::default(),
            state: std::path::PathBuf::new(),
            store: crate::store::Store::at(std::path::Path::new("")),
            parser: None,
        }
    }

    fn chosen(inputs: &[(&str, &str)], around: &mut ProcessEnv, is_fork: bool) -> Result<Vec<String>, String> {
        let read = |name: &str| inputs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let inputs = ActionInputs::read(&ActionVariables::of(read)).unwrap();
        choose_reviewer(&inputs, &inputs.flags, around, is_fork).map_err(|error| {
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        })
    }

    #[test]
    fn the_key_is_for_the_provider_that_is_named() {
        let mut around = around(&[], &[("REVIEW_ANTHROPIC_API_KEY", "old"), ("REVIEW_OPENAI_API_KEY", "other")]);
        let inputs = [("INPUT_MODEL", "anthropic/x"), ("INPUT_KEY", "new"), ("INPUT_BASE_URL", "https://llm.example")];
        assert_eq!(chosen(&inputs, &mut around, false), Ok(Vec::new()));
        around.environment.sort();
        let set: Vec<(&str, &str)> = around.environment.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected = [
            ("REVIEW_ANTHROPIC_API_KEY", "new"),
            ("REVIEW_ANTHROPIC_BASE_URL", "https://llm.example"),
            ("REVIEW_OPENAI_API_KEY", "other"),
        ];
        assert_eq!(set, expected);
    }

    #[test]
    fn without_a_model_or_a_key_nothing_is_reviewed_by_rules_alone() {
        let told = |inputs: &[(&str, &str)], is_fork| chosen(inputs, &mut around(&[], &[]), is_fork).unwrap_err();
        let fault = told(&[], false);
        assert!(fault.contains("`model: none`") && !fault.contains("fork"), "{fault}");
        assert!(told(&[], true).contains("pull_request_target"));
        for model in ["anthropic/x", "openai", "openai-chat/x"] {
            let fault = told(&[("INPUT_MODEL", model)], true);
            assert!(fault.contains("the input key is empty") && fault.contains("docs/forks.md"), "{fault}");
        }
        let fault = told(&[("INPUT_KEY", "k")], false);
        assert!(fault.contains("the input key is given, but no model"), "{fault}");
        assert!(told(&[("INPUT_BASE_URL", "https://x")], false).contains("the input base-url"));
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let mut none = around(&[], &[]);
        assert_eq!(chosen(&[("INPUT_MODEL", "none")], &mut none, true), Ok(Vec::new()));
        let unused = chosen(&[("INPUT_MODEL", "none"), ("INPUT_KEY", "k")], &mut none, true).unwrap();
        assert!(unused.len() == 1 && unused[0].contains("key"), "{unused:?}");
        assert!(none.environment.is_empty());
        // A key in the usual variable was given to this step by its author.
        assert!(chosen(&[], &mut around(&[("ANTHROPIC_API_KEY", "k")], &[]), false).is_ok());
        let own = [("INPUT_MODEL", "openai-chat/x"), ("INPUT_BASE_URL", "http://127.0.0.1:1/v1")];
        assert!(chosen(&own, &mut around(&[], &[]), false).is_ok(), "a server of one's own may ask for no key");
        assert!(chosen(&[("INPUT_MODEL", "ollama/x")], &mut around(&[], &[]), false).is_ok());
        let named = &mut around(&[], &[("REVIEW_MODEL", "anthropic/x")]);
        assert!(chosen(&[("INPUT_KEY", "k")], named, false).is_ok(), "the model may be named in the environment");
    }

    #[test]
    fn what_is_wrong_with_a_provider_names_its_input() {
        let told = |inputs: &[(&str, &str)]| chosen(inputs, &mut around(&[], &[]), false).unwrap_err();
        assert!(told(&[("INPUT_MODEL", "anthropc/x")]).contains("the input model cannot be \"anthropc\""));
        let fault = told(&[("INPUT_MODEL", "ollama/x"), ("INPUT_BASE_URL", "https://me:canary@h")]);
        assert!(fault.contains("the input base-url") && !fault.contains("canary"), "{fault}");
        let fault = told(&[("INPUT_MODEL", "ollama/x"), ("INPUT_CONTEXT_WINDOW", "wide")]);
        assert!(fault.contains("the input context-window"), "{fault}");
    }

    #[test]
    fn a_server_on_the_runner_may_ask_for_no_key_and_a_provider_of_a_file_is_set_there() {
        for model in ["vllm/x", "llama-cpp/x", "lm-studio/x", "litellm/x"] {
            assert_eq!(chosen(&[("INPUT_MODEL", model)], &mut around(&[], &[]), false), Ok(Vec::new()), "{model}");
        }
        let file = b"[[provider]]\nname = \"mine\"\nbase_url = \"https://mine.example/v1\"\nneeds_key = true\nkey_variables = [\"MINE\"]\n";
        let table = ProviderTable::built_in().unwrap().merge_bytes("providers.toml", file).unwrap();
        let mut around = around(&[], &[]);
        around.providers = ProviderEnvironment::of(table, |name| (name == "MINE").then(|| "k".to_owned()));
        assert_eq!(chosen(&[("INPUT_MODEL", "mine/x")], &mut around, false), Ok(Vec::new()));
        for (input, name) in [("INPUT_BASE_URL", "base-url"), ("INPUT_KEY", "key")] {
            let fault = chosen(&[("INPUT_MODEL", "mine/x"), (input, "https://other.example")], &mut around, false);
            let fault = fault.unwrap_err();
            assert!(fault.contains(&format!("the input {name} is not for mine")), "{fault}");
        }
    }
}
