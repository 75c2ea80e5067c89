//! Tests of the model choice: provider, key and notices.

use super::*;
use crate::config::{self, KEYS, SettingsDocument, SettingsSources};
use crate::domain::secret::Secret;

/// The providers as these tests know them.
const ROWS: &str = r#"
[[provider]]
name = "anthropic"
wire = "messages"
key_variables = ["ANTHROPIC_API_KEY"]
base_variables = ["ANTHROPIC_BASE_URL"]
base_url = "https://usual.example"
taken_when_found = true
default_model = "usual"

[[provider]]
name = "gemini"
wire = "gemini"
key_variables = ["GEMINI_API_KEY", "GOOGLE_API_KEY"]
base_variables = ["GEMINI_BASE_URL"]
base_url = "https://usual.example"
taken_when_found = true
default_model = "usual"

[[provider]]
name = "openai-chat"
key_variables = ["OPENAI_API_KEY"]
base_variables = ["OPENAI_BASE_URL"]
base_url = "https://usual.example"
needs_key = false
default_model = "usual"

[[provider]]
name = "ollama"
wire = "ollama"
key_variables = ["OLLAMA_API_KEY"]
base_variables = ["OLLAMA_HOST"]
base_url = "http://127.0.0.1:11434"
needs_key = false

[[provider]]
name = "groq"
key_variables = ["GROQ_API_KEY"]
base_url = "https://usual.example"
default_model = "usual"

[[provider]]
name = "azure"
key_variables = ["AZURE_KEY"]
base_url = "{AZURE_ENDPOINT}/openai/{AZURE_PART}"
default_model = "usual"
"#;

fn environment(variables: &[(&str, &str)]) -> ProviderEnvironment {
    let value = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
    ProviderEnvironment::of(ProviderTable::default().merge_file("rows", ROWS).unwrap(), value)
}

fn chosen_with(settings: &str, variables: &[(&str, &str)]) -> Result<Option<ChosenModel>, AppError> {
    let user = SettingsDocument { name: "config.toml".to_owned(), text: settings.to_owned(), folder: None };
    let resolved = config::resolve(&SettingsSources { user: Some(user), ..SettingsSources::default() }).unwrap();
    choose(&resolved, &environment(variables))
}

fn model(settings: &str, variables: &[(&str, &str)]) -> ChosenModel {
    chosen_with(settings, variables).unwrap().expect("a model")
}

fn refused(settings: &str, variables: &[(&str, &str)]) -> String {
    let error = chosen_with(settings, variables).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

fn key(chosen: &ChosenModel) -> Option<&str> {
    chosen.access.key.as_ref().map(Secret::reveal)
}

#[test]
fn every_provider_can_be_set() {
    let table = ProviderTable::built_in().unwrap();
    for row in table.rows() {
        for field in ["base_url", "api_key", "context_window", "requests_per_minute", "tokens_per_minute"] {
            let name = format!("{}.{field}", row.name);
            assert!(KEYS.iter().any(|key| key.name == name && key.provider() == Some(&*row.name)), "{name}");
        }
    }
    let providers = KEYS.iter().filter_map(config::SettingKey::provider);
    assert!(providers.clone().all(|name| table.find(name).is_some()), "and no other");
}

#[test]
fn with_nothing_said_and_no_key_the_rules_review() {
    assert!(chosen_with("", &[]).unwrap().is_none());
    assert!(chosen_with("", &[("ANTHROPIC_API_KEY", " \n")]).unwrap().is_none(), "an empty variable is not set");
    assert!(
        chosen_with("", &[("OPENAI_API_KEY", "k"), ("OLLAMA_HOST", "h")]).unwrap().is_none(),
        "not those that need no key"
    );
    assert!(chosen_with("model = 'none'", &[("ANTHROPIC_API_KEY", "k")]).unwrap().is_none());
}

#[test]
fn a_key_that_is_found_is_used_and_said() {
    let chosen = model("", &[("GOOGLE_API_KEY", "k2"), ("ANTHROPIC_API_KEY", "k1\n")]);
    assert_eq!((&*chosen.row.name, chosen.model.as_str(), key(&chosen)), ("anthropic", "usual", Some("k1")));
    assert_eq!(
        chosen.notices,
        [
            "anthropic/usual reviews this change and receives its code (ANTHROPIC_API_KEY is set); --no-model reviews with the \
          built-in rules"
        ]
    );
    let chosen = model("", &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "https://ada:pw@proxy.example:8/v1")]);
    assert!(
        chosen.notices[0].starts_with("anthropic/usual at proxy.example reviews this change"),
        "{:?}",
        chosen.notices
    );
    let chosen = model("gemini.api_key = 'mine'", &[("ANTHROPIC_API_KEY", "k")]);
    assert_eq!((&*chosen.row.name, key(&chosen)), ("gemini", Some("mine")));
    assert!(chosen.notices[0].contains("(gemini.api_key is set)"), "{:?}", chosen.notices);
    let chosen = model("", &[("GOOGLE_API_KEY", "k2")]);
    assert_eq!(&*chosen.row.name, "gemini");
    assert!(chosen.notices[0].contains("(GOOGLE_API_KEY is set)"), "{:?}", chosen.notices);
}

#[test]
fn a_named_model_is_used_or_refused_and_never_replaced() {
    let chosen = model("model = 'gemini/pro/2'", &[("GEMINI_API_KEY", "a"), ("GOOGLE_API_KEY", "b")]);
    assert_eq!((chosen.model.as_str(), key(&chosen)), ("pro/2", Some("a")));
    assert!(chosen.notices.is_empty());
    assert_eq!(model("model = 'anthropic'", &[("ANTHROPIC_API_KEY", "k")]).model, "usual");
    assert_eq!(
        refused("model = 'gemini/pro'", &[("ANTHROPIC_API_KEY", "k")]),
        "gemini/pro needs a key and none is set: set GEMINI_API_KEY or GOOGLE_API_KEY (or api_key under [gemini] in your settings \
         file), or review with the built-in rules: --no-model"
    );
    assert_eq!(
        refused("\nmodel = 'antropic/x'", &[]),
        "config.toml:2: there is no provider \"antropic\" (did you mean anthropic?); it is one of anthropic, gemini, openai-chat, \
         ollama, groq, azure, as in anthropic/NAME (--no-model reviews with the built-in rules)"
    );
    assert!(!refused("model = 'acme/x'", &[]).contains("did you mean"));
    assert_eq!(
        refused("model = 'ollama'", &[]),
        "config.toml:1: ollama has no model of its own; name one, as in ollama/NAME"
    );
}

#[test]
fn what_the_user_sets_wins_over_the_usual_variables() {
    let settings = "model = 'anthropic'\n[anthropic]\nbase_url = 'https://mine.example'\napi_key = 'mine'\ncontext_window = 5000\n";
    let chosen = model(settings, &[("ANTHROPIC_API_KEY", "usual"), ("ANTHROPIC_BASE_URL", "https://theirs.example")]);
    assert_eq!((key(&chosen), chosen.access.base_url.as_deref()), (Some("mine"), Some("https://mine.example")));
    assert_eq!(chosen.access.context_window, Some(5_000));
    let chosen =
        model("model = 'anthropic'", &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "https://theirs.example")]);
    assert_eq!((key(&chosen), chosen.access.base_url.as_deref()), (Some("k"), Some("https://theirs.example")));
    let chosen = model("[anthropic]\napi_key = 'mine'\nbase_url = ''\n", &[("ANTHROPIC_API_KEY", "bad\nkey")]);
    assert_eq!(key(&chosen), Some("mine"), "a key that is not used is not looked at");
}

#[test]
fn a_usual_key_is_not_sent_to_a_server_of_the_users_own() {
    let own = "model = 'openai-chat/x'\nopenai-chat.base_url = 'https://mine.example/v1'\n";
    let chosen = model(own, &[("OPENAI_API_KEY", "k")]);
    assert_eq!(key(&chosen), None);
    assert_eq!(
        chosen.notices,
        [
            "OPENAI_API_KEY is not sent to the address in openai-chat.base_url; if that server needs a key, set openai-chat.api_key"
        ]
    );
    let chosen = model(own, &[("OPENAI_API_KEY", "bad\nkey")]);
    assert_eq!(key(&chosen), None, "a key that is not sent is not looked at");
    let chosen = model(&format!("{own}openai-chat.api_key = 'mine'\n"), &[("OPENAI_API_KEY", "k")]);
    assert_eq!((key(&chosen), chosen.notices.len()), (Some("mine"), 0));
    for variables in
        [&[("OPENAI_API_KEY", "k")][..], &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "https://x.example")]]
    {
        let chosen = model("model = 'openai-chat/x'", variables);
        assert_eq!((key(&chosen), chosen.notices.len()), (Some("k"), 0), "they belong together");
    }
}

#[test]
fn a_broken_key_is_refused_and_not_shown() {
    let message = refused("model = 'anthropic'", &[("ANTHROPIC_API_KEY", "topsecret\r\nX-Evil: 1")]);
    assert!(message.starts_with("ANTHROPIC_API_KEY is set, but not to one line"), "{message}");
    assert!(!message.contains("topsecret"), "{message}");
    let set = [("ANTHROPIC_API_KEY", "topsecret")];
    let shown = format!(
        "{:?} {:?}",
        model("", &set),
        ProviderEnvironment::of(ProviderTable::built_in().unwrap(), |_| Some("topsecret".to_owned()))
    );
    assert!(shown.contains("ANTHROPIC_API_KEY") && !shown.contains("topsecret"), "{shown}");
    let proxied = model("", &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "https://ada:topsecret@x.example")]);
    assert!(!format!("{proxied:?}").contains("topsecret"), "{proxied:?}");
}

#[test]
fn what_goes_over_the_wire_in_clear_is_said() {
    let told = |address: &str, variables: &[(&str, &str)]| {
        model(&format!("model = 'ollama/x'\nollama.base_url = '{address}'"), variables).notices
    };
    for here in [
        "http://localhost:1",
        "http://127.8.0.1",
        "http://[::1]:11434/",
        "http://0.0.0.0:1",
        "https://gpu.example",
        "HTTP://a.localhost./x",
    ] {
        assert_eq!(told(here, &[]), [""; 0], "{here}");
    }
    assert_eq!(told("http://gpu.example:11434/x", &[]), ["the code goes to gpu.example without encryption (http://)"]);
    let by_variable =
        |host: &str| model("model = 'ollama/x'", &[("OLLAMA_HOST", host), ("OLLAMA_API_KEY", "k")]).notices;
    assert_eq!(by_variable("10.0.0.7:11434"), ["the key and the code go to 10.0.0.7 without encryption (http://)"]);
    assert_eq!(
        by_variable("http://ada:pw@10.0.0.7"),
        ["the key and the code go to 10.0.0.7 without encryption (http://)"]
    );
    assert_eq!(by_variable("http:/\\10.0.0.7/").len(), 1, "as a browser reads it");
    assert_eq!(
        model("model = 'openai-chat/x'", &[("OPENAI_BASE_URL", "\"http://10.0.0.7/v1\"")]).notices,
        ["the code goes to 10.0.0.7 without encryption (http://)"],
        "quotes are no part of it"
    );
    for here in [":11434", "127.0.0.1", "localhost:1", "https://gpu.example"] {
        assert_eq!(by_variable(here), [""; 0], "{here}");
    }
}

#[test]
fn a_key_that_lies_around_chooses_only_those_who_may_be_chosen_so() {
    assert!(chosen_with("", &[("GROQ_API_KEY", "k")]).unwrap().is_none());
    assert_eq!(key(&model("model = 'groq'", &[("GROQ_API_KEY", "k")])), Some("k"));
    assert_eq!(&*model("groq.api_key = 'mine'", &[]).row.name, "groq", "one in the settings is meant for us");
}

#[test]
fn an_address_that_hangs_on_variables_says_which_one_is_not_set() {
    let key = ("AZURE_KEY", "k");
    assert_eq!(
        refused("model = 'azure/m'", &[key, ("AZURE_PART", "v1")]),
        "azure/m: where azure is hangs on AZURE_ENDPOINT, which is not set: set it, or base_url under [azure] in your settings file"
    );
    let chosen = model("model = 'azure/m'", &[key, ("AZURE_PART", "v1"), ("AZURE_ENDPOINT", "https://me.example/")]);
    assert_eq!(chosen.access.base_url.as_deref(), Some("https://me.example/openai/v1"));
}
