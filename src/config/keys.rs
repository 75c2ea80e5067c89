//! The table of settings: their names and what their values look like.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingKey {
    /// Its name in files; a dot stands between a table and its key.
    pub name: &'static str,
    /// The form of a value.
    pub shape: ValueShape,
    /// The accepted forms, for messages.
    pub allowed: &'static str,
    /// The flag that sets it, where there is one.
    pub flag: Option<&'static str>,
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    /// One text or number.
    One,
    /// A number that may have a fraction.
    Amount,
    /// A list of texts; in the environment separated by commas.
    List,
    /// A path of this machine; in a file relative to its folder.
    Path,
    /// The address of a server, which is shown; so no credentials may stand in it.
    Address,
    /// A key, which is never shown.
    Secret,
}

const SEVERITIES: &str = "critical, high, medium, low, nit or none";
const GLOBS: &str = "globs such as \"src/**\"";
const DURATIONS: &str = "a time such as \"90s\", \"20m\", \"1h30m\" or \"30d\"";

const TURNS: &str = "a number from 1 to 1000";
const TOKENS: &str = "a whole number of tokens from 1 to 1000000000, such as 2000000, \"500k\" or \"2m\"";
const MONEY: &str = "an amount of dollars above nothing, such as 2.50, or none";
const WINDOW: &str = "a whole number of tokens from 1000 to 1000000000, such as 128000 or \"128k\"";
const REQUESTS: &str = "a whole number of requests from 1 to 1000000";
const MODELS: &str = "PROVIDER/NAME, a PROVIDER alone, several of them with commas between, each once (the next takes over when one fails), auto or none";
const SECOND_MODELS: &str = "one PROVIDER/NAME (no list), a PROVIDER alone, or same";
const GUIDELINES: &str = "all, none, or some of agents, claude, gemini, copilot, review, cursor, bugbot";
const TREE_FILES: &str = "paths of files in the repository, such as \"docs/style.md\"";
const BUILDS: &str = "names of build tools (`review build list`), or all";
const GRADES: &str = "rules or packs with a severity each, such as \"rust/guard-across-await=low\"";
const FILES: &str = "the path of a file";
const FOLDERS: &str = "the path of a folder";
const ADDRESSES: &str =
    "an address such as \"https://llm.example/v1\", with nothing secret in it: a key goes into api_key";
const SECRETS: &str = "one line of plain ASCII, as the provider shows it";

/// The settings that stand for themselves, and then those of each provider.
macro_rules! keys {
    ([$($plain:expr,)*], [$($provider:literal,)*]) => {
        &[
            $($plain,)*
            $(
                key(concat!($provider, ".base_url"), ValueShape::Address, ADDRESSES, None),
                key(concat!($provider, ".api_key"), ValueShape::Secret, SECRETS, None),
                key(concat!($provider, ".context_window"), ValueShape::One, WINDOW, None),
                key(concat!($provider, ".requests_per_minute"), ValueShape::One, REQUESTS, None),
                key(concat!($provider, ".tokens_per_minute"), ValueShape::One, TOKENS, None),
            )*
        ]
    };
}

/// Every setting, in the order in which they are shown. A name with a provider before the dot has no default and is shown only
/// where it is set.
pub const KEYS: &[SettingKey] = keys!(
    [
        key("include", ValueShape::List, GLOBS, Some("--include")),
        key("exclude", ValueShape::List, GLOBS, Some("--exclude")),
        key("min_severity", ValueShape::One, SEVERITIES, Some("--min-severity")),
        key("min_confidence", ValueShape::One, "a number from 1 to 10, or none", Some("--min-confidence")),
        key("fail_on", ValueShape::One, SEVERITIES, Some("--fail-on")),
        key("request_changes_on", ValueShape::One, SEVERITIES, Some("--request-changes-on")),
        key("comment_on", ValueShape::One, SEVERITIES, Some("--comment-on")),
        key("max_comments", ValueShape::One, "a number from 0 to 50", Some("--max-comments")),
        key("timeout", ValueShape::One, DURATIONS, Some("--timeout")),
        key("max_commits", ValueShape::One, "a number from 0 to 1000000", None),
        key("keep_runs", ValueShape::One, DURATIONS, None),
        key("colour", ValueShape::One, "auto, always or never", Some("--color")),
        key("format", ValueShape::One, "the name of an output format", Some("--format")),
        key("model", ValueShape::One, MODELS, Some("--model")),
        key("verify", ValueShape::One, "auto, all or none", Some("--verify")),
        key("verify_model", ValueShape::One, SECOND_MODELS, Some("--verify-model")),
        key("max_turns", ValueShape::One, TURNS, Some("--max-turns")),
        key("max_tokens", ValueShape::One, TOKENS, Some("--max-tokens")),
        key("max_cost", ValueShape::Amount, MONEY, Some("--max-cost")),
        key("instructions", ValueShape::Path, FILES, Some("--instructions")),
        key("prompts", ValueShape::Path, FOLDERS, None),
        key("guidelines", ValueShape::List, GUIDELINES, None),
        key("guideline_files", ValueShape::List, TREE_FILES, None),
        key("providers", ValueShape::Path, FILES, None),
        key("allow_build", ValueShape::List, BUILDS, Some("--allow-build")),
        key("rules.off", ValueShape::List, "names of rules or packs", None),
        key("rules.severity", ValueShape::List, GRADES, None),
        key("rules.packs", ValueShape::Path, FOLDERS, None),
        key("rules.lines", ValueShape::One, "changed or all", Some("--all-lines")),
        key("rules.hints", ValueShape::One, "leads or told", Some("--hints")),
    ],
    [
        "anthropic",
        "openai",
        "openai-chat",
        "gemini",
        "ollama",
        "openrouter",
        "azure",
        "azure-chat",
        "mistral",
        "groq",
        "deepseek",
        "xai",
        "bedrock",
        "vertex",
        "vllm",
        "llama-cpp",
        "lm-studio",
        "litellm",
    ]
);

/// The settings of each provider.
const PROVIDER_FIELDS: [&str; 5] =
    ["base_url", "api_key", "context_window", "requests_per_minute", "tokens_per_minute"];

const fn key(name: &'static str, shape: ValueShape, allowed: &'static str, flag: Option<&'static str>) -> SettingKey {
    SettingKey { name, shape, allowed, flag }
}

impl SettingKey {
    /// The setting of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The environment variable that sets it.
    pub fn environment_variable(&self) -> String {
        format!("REVIEW_{}", self.name.replace(['.', '-'], "_").to_ascii_uppercase())
    }

    /// The provider that it is about: what stands before the dot of a setting without a default.
    pub fn provider(&self) -> Option<&'static str> {
        let (table, field) = self.name.split_once('.')?;
        PROVIDER_FIELDS.contains(&field).then_some(table)
    }

    /// The setting whose name is most like an unknown one.
    pub fn nearest(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        let last = |key: &SettingKey| key.name.rsplit('.').next().unwrap_or(key.name);
        let score =
            |key: &SettingKey| strsim::jaro_winkler(&name, key.name).max(strsim::jaro_winkler(&name, last(key)));
        let best = KEYS.iter().map(|key| (score(key), key.name)).max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(score, _)| *score > 0.84).map(|(_, name)| name)
    }
}
