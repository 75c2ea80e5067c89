//! The providers: data, no behaviour. Main type: [`ProviderRow`].

/// A provider as the command line, the settings and the environment name it.
#[derive(Debug, Clone, Copy)]
pub struct ProviderRow {
    /// The word before the slash of `--model`.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The language it speaks.
    pub wire: Wire,
    /// The variables that hold its key, the first that is set wins; none where it needs no key.
    pub key_variables: &'static [&'static str],
    /// The variables that hold its address, the first that is set wins.
    pub base_variables: &'static [&'static str],
    /// Its address when nothing else is said, as its official library spells it.
    pub base_url: &'static str,
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// The model when only the provider is named; `None` where each installation has its own.
    pub default_model: Option<&'static str>,
    /// What is known of its models, the first whose prefix fits; an unknown one gets the provider's last row.
    pub models: &'static [ModelRow],
}

/// What is known of models whose names begin alike.
#[derive(Debug, Clone, Copy)]
pub struct ModelRow {
    /// What the name begins with; empty fits all.
    pub prefix: &'static str,
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// The most tokens of one answer.
    pub max_output: u32,
}

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Messages,
    /// `OpenAI`'s Responses.
    Responses,
    /// `OpenAI`'s chat completions, spoken by most servers.
    Chat,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// Anthropic's models: the context windows and limits of platform.claude.com/docs/en/about-claude/models (each model's page), November 2026.
/// Where pages of different dates disagree (the 4.6 to 4.8 models were first sold with 200 000 tokens), the smaller figure stands.
const ANTHROPIC: &[ModelRow] = &[
    ModelRow { prefix: "claude-fable-5", context_window: 1_000_000, max_output: 128_000 },
    ModelRow { prefix: "claude-opus-5", context_window: 1_000_000, max_output: 128_000 },
    ModelRow { prefix: "claude-sonnet-5", context_window: 1_000_000, max_output: 128_000 },
    ModelRow { prefix: "claude-haiku-5", context_window: 1_000_000, max_output: 128_000 },
    ModelRow { prefix: "claude-opus-4-1", context_window: 200_000, max_output: 32_000 },
    ModelRow { prefix: "claude-opus-4-0", context_window: 200_000, max_output: 32_000 },
    ModelRow { prefix: "claude-opus-4-2025", context_window: 200_000, max_output: 32_000 },
    ModelRow { prefix: "claude-opus-4", context_window: 200_000, max_output: 64_000 },
    ModelRow { prefix: "claude-sonnet-4", context_window: 200_000, max_output: 64_000 },
    ModelRow { prefix: "claude-haiku-4", context_window: 200_000, max_output: 64_000 },
    ModelRow { prefix: "", context_window: 200_000, max_output: 32_000 },
];

/// `OpenAI`'s models: developers.openai.com/api/docs/models and resellers' copies of it, November 2026. The models for chatting (`…-chat-latest`)
/// are smaller than their names suggest.
const OPENAI: &[ModelRow] = &[
    ModelRow { prefix: "gpt-6", context_window: 1_050_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5.6", context_window: 1_050_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5.5", context_window: 1_050_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5.4-mini", context_window: 400_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5.4-nano", context_window: 400_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5.4", context_window: 1_050_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-5-chat", context_window: 128_000, max_output: 16_000 },
    ModelRow { prefix: "gpt-5.1-chat", context_window: 128_000, max_output: 16_000 },
    ModelRow { prefix: "gpt-5.2-chat", context_window: 128_000, max_output: 16_000 },
    ModelRow { prefix: "gpt-5.3-chat", context_window: 128_000, max_output: 16_000 },
    ModelRow { prefix: "gpt-5", context_window: 400_000, max_output: 128_000 },
    ModelRow { prefix: "gpt-4.1", context_window: 1_047_576, max_output: 32_768 },
    ModelRow { prefix: "o3", context_window: 200_000, max_output: 100_000 },
    ModelRow { prefix: "o4", context_window: 200_000, max_output: 100_000 },
    ModelRow { prefix: "", context_window: 128_000, max_output: 16_000 },
];

/// Google's models: ai.google.dev/gemini-api/docs (the page of each generation), November 2026. What a model may answer in one piece without
/// being asked for more is 65 536 tokens on all of them.
const GEMINI: &[ModelRow] = &[
    ModelRow { prefix: "gemini-4", context_window: 1_048_576, max_output: 65_536 },
    ModelRow { prefix: "gemini-3", context_window: 1_048_576, max_output: 65_536 },
    ModelRow { prefix: "gemini-2.5", context_window: 1_048_576, max_output: 65_536 },
    ModelRow { prefix: "", context_window: 128_000, max_output: 8_000 },
];

/// A model that somebody runs at home is as large as its machine allows; the server is told this figure, so it costs memory there.
const OLLAMA: &[ModelRow] = &[ModelRow { prefix: "", context_window: 32_000, max_output: 8_000 }];

/// Every provider, in the order in which a key that is merely found is taken. The default models are each provider's own recommendation for
/// coding below its most expensive one, as of November 2026.
pub const PROVIDERS: &[ProviderRow] = &[
    ProviderRow {
        name: "anthropic",
        title: "Anthropic",
        wire: Wire::Messages,
        key_variables: &["ANTHROPIC_API_KEY"],
        base_variables: &["ANTHROPIC_BASE_URL"],
        base_url: "https://api.anthropic.com",
        needs_key: true,
        default_model: Some("claude-sonnet-5-5"),
        models: ANTHROPIC,
    },
    ProviderRow {
        name: "openai",
        title: "OpenAI",
        wire: Wire::Responses,
        key_variables: &["OPENAI_API_KEY"],
        base_variables: &["OPENAI_BASE_URL"],
        base_url: "https://api.openai.com/v1",
        needs_key: true,
        default_model: Some("gpt-6.1-sol"),
        models: OPENAI,
    },
    ProviderRow {
        name: "openai-chat",
        title: "a compatible server",
        wire: Wire::Chat,
        key_variables: &["OPENAI_API_KEY"],
        base_variables: &["OPENAI_BASE_URL"],
        base_url: "https://api.openai.com/v1",
        needs_key: false,
        default_model: None,
        models: OPENAI,
    },
    ProviderRow {
        name: "gemini",
        title: "Google Gemini",
        wire: Wire::Gemini,
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        base_url: "https://generativelanguage.googleapis.com",
        needs_key: true,
        default_model: Some("gemini-4-argon"),
        models: GEMINI,
    },
    ProviderRow {
        name: "ollama",
        title: "Ollama",
        wire: Wire::Ollama,
        key_variables: &["OLLAMA_API_KEY"],
        base_variables: &["OLLAMA_HOST"],
        base_url: "http://127.0.0.1:11434",
        needs_key: false,
        default_model: None,
        models: OLLAMA,
    },
];

impl ProviderRow {
    /// The provider of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|row| row.name == name)
    }
}
