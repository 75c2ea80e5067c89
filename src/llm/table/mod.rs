//! The providers, as data. Main types: [`ProviderTable`], [`ProviderRow`].
//!
//! The rows are in `providers.toml`, which is compiled in; a file of the user may add rows and change them. Reading such a file belongs in [`read`].
//! Using a row belongs in `connect` and, for keys and addresses, in `app`.

mod error;
mod heads;
mod read;

use std::sync::{Arc, LazyLock};

pub use error::{TableError, TableFault};
pub use heads::{ProviderHead, heads};

use super::agent::{AGENTS, AgentSpec, DEFAULT_MODEL};
use super::optional_fields::OptionalField;
use super::provider::Prices;
use super::wire_format::WireFormat;
use crate::domain::words::words;

/// The built-in rows.
const BUILT_IN: &str = include_str!("../providers.toml");

/// The assistants, as rows.
static AGENT_ROWS: LazyLock<Vec<Arc<ProviderRow>>> =
    LazyLock::new(|| AGENTS.iter().map(|spec| Arc::new(ProviderRow::of_agent(spec))).collect());

/// Every provider that is known, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderTable(Vec<Arc<ProviderRow>>);

/// A provider as the command line, the settings and the environment name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRow {
    /// The word before the slash of `--model`.
    pub name: Arc<str>,
    /// Display name.
    pub title: Arc<str>,
    /// Wire format.
    pub wire: WireFormat,
    /// Variables that hold its key, the first that is set wins; empty if it needs no key.
    pub key_variables: Vec<Arc<str>>,
    /// The variables that hold its address, the first that is set wins.
    pub base_variables: Vec<Arc<str>>,
    /// Default address, as its official library spells it. It may contain variables: see [`Self::placeholders`].
    pub base_url: Arc<str>,
    /// `true` if requests without a key are refused.
    pub needs_key: bool,
    /// `true` if a key found in the environment makes it the default reviewer.
    pub taken_when_found: bool,
    /// The header that carries the key, in lower case; `authorization` carries it after `Bearer`.
    pub key_header: Arc<str>,
    /// Default model; `None` if each installation has its own.
    pub default_model: Option<Arc<str>>,
    /// Requests per minute for a key, if the user set a limit.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute for a key, if the user set a limit.
    pub tokens_per_minute: Option<u64>,
    /// `true` if it may answer turns in message batches at half the price.
    pub batches: bool,
    /// Known models; see [`Self::facts`].
    pub models: Vec<ModelRow>,
    /// The assistant behind it, if it is no server.
    pub agent: Option<&'static AgentSpec>,
    /// Fields that are not even tried, because it is known to refuse them.
    pub(super) refuses: Vec<OptionalField>,
}

/// Facts about a model, or about models that share a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// Models that the row applies to.
    pub fits: ModelPattern,
    /// Facts about them.
    pub facts: ModelFacts,
}

/// Pattern of the models that a row applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPattern {
    /// One, and its dated snapshots.
    Name(Arc<str>),
    /// All whose names begin so; empty fits all.
    Prefix(Arc<str>),
}

/// Known facts about a model. `None` is unknown, never no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens of a request and its response together.
    pub context_window: Option<u64>,
    /// Maximum tokens of one response.
    pub max_output: Option<u32>,
    /// `true` if it calls tools.
    pub tools: Option<bool>,
    /// `true` if it makes several calls in one turn.
    pub parallel_tools: Option<bool>,
    /// Caching of the beginning of a request.
    pub caching: Option<Caching>,
    /// `true` if it thinks before it responds.
    pub reasoning: Option<bool>,
    /// Prices.
    pub prices: Option<Prices>,
}

words! {
    /// Methods of caching the beginning of a request.
    pub enum Caching: word {
        /// Not at all.
        None = "none",
        /// Automatic.
        Automatic = "automatic",
        /// Only up to the marks that a request sets.
        Marks = "marks",
    }
}

impl ProviderTable {
    /// Returns the built-in rows.
    pub fn built_in() -> Result<Self, TableError> {
        static TABLE: LazyLock<Result<ProviderTable, TableError>> =
            LazyLock::new(|| ProviderTable::default().merge_file("providers.toml", BUILT_IN));
        TABLE.clone()
    }

    /// Returns the table with the contents of a file merged in: new rows, and other values in old ones.
    pub fn merge_file(self, file: &str, text: &str) -> Result<Self, TableError> {
        read::merge(self.0, file, text).map(Self)
    }

    /// Returns the table with the bytes of a file merged in.
    pub fn merge_bytes(self, file: &str, bytes: &[u8]) -> Result<Self, TableError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.merge_file(file, text),
            Err(_) => Err(TableError { file: file.to_owned(), line: 1, fault: TableFault::NotText }),
        }
    }

    /// Its rows.
    pub fn rows(&self) -> &[Arc<ProviderRow>] {
        &self.0
    }

    /// Returns the provider of that name, or the assistant: those are no rows, and a row of the user wins.
    pub fn find(&self, name: &str) -> Option<&Arc<ProviderRow>> {
        self.0.iter().find(|row| &*row.name == name).or_else(|| AGENT_ROWS.iter().find(|row| &*row.name == name))
    }

    /// Returns the variables that any row reads, each once.
    pub fn variables(&self) -> Vec<Arc<str>> {
        let mut all: Vec<Arc<str>> = Vec::new();
        for row in &self.0 {
            let named = row.key_variables.iter().chain(&row.base_variables).cloned();
            for name in named.chain(row.placeholders().map(Arc::from)) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
        }
        all
    }
}

impl ProviderRow {
    /// Creates the row of an assistant. Its program knows the server and the login.
    pub(super) fn of_agent(spec: &'static AgentSpec) -> Self {
        Self {
            name: spec.name.into(),
            title: spec.title.into(),
            default_model: Some(DEFAULT_MODEL.into()),
            agent: Some(spec),
            ..Self::empty(WireFormat::Chat)
        }
    }

    /// Creates a row without facts.
    fn empty(wire: WireFormat) -> Self {
        Self {
            name: "".into(),
            title: "".into(),
            wire,
            key_variables: Vec::new(),
            base_variables: Vec::new(),
            base_url: "".into(),
            needs_key: false,
            taken_when_found: false,
            key_header: wire.key_header().into(),
            default_model: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            batches: false,
            models: Vec::new(),
            agent: None,
            refuses: Vec::new(),
        }
    }

    /// Checks whether turns may go by message batches.
    pub fn has_batches(&self) -> bool {
        self.batches && self.wire.batch_endpoint().is_some()
    }

    /// Returns the variables in its address, as in `https://{REGION}.example`.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.base_url.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
    }

    /// Returns its address with the `value` of each variable in it; otherwise the name of the first one that is not set.
    pub fn address(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut parts = self.base_url.split('{');
        let mut address = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            let value = value(name).ok_or(name)?;
            // A whole address in a variable often ends with a slash.
            let value = if rest.starts_with('/') { value.trim_end_matches('/') } else { value.as_str() };
            address.push_str(value);
            address.push_str(rest);
        }
        Ok(address)
    }

    /// Returns each row about models, with the facts that hold for all of them.
    pub fn model_rows(&self) -> impl Iterator<Item = (&ModelPattern, ModelFacts)> {
        self.models.iter().map(|row| {
            let wider = |other: &&ModelRow| other.fits.rank() <= row.fits.rank() && other.fits.takes(row.fits.text());
            (&row.fits, fold(self.models.iter().filter(wider)))
        })
    }

    /// Returns the facts about a model: a row of its name before one of a prefix, a longer prefix before a shorter one. The next row fills gaps.
    pub fn facts(&self, model: &str) -> ModelFacts {
        fold(self.models.iter().filter(|row| row.fits.takes(model)))
    }
}

/// Merges the facts of rows about the same model.
fn fold<'a>(rows: impl Iterator<Item = &'a ModelRow>) -> ModelFacts {
    let mut fitting: Vec<&ModelRow> = rows.collect();
    fitting.sort_by_key(|row| std::cmp::Reverse(row.fits.rank()));
    fitting.into_iter().fold(ModelFacts::default(), |known, row| known.or_else(&row.facts))
}

impl ModelPattern {
    fn takes(&self, model: &str) -> bool {
        match self {
            Self::Prefix(prefix) => model.starts_with(&**prefix),
            Self::Name(name) => model.strip_prefix(&**name).is_some_and(is_snapshot),
        }
    }

    /// Specificity of a row; a higher one wins.
    fn rank(&self) -> (bool, usize) {
        match self {
            Self::Name(name) => (true, name.len()),
            Self::Prefix(prefix) => (false, prefix.len()),
        }
    }

    /// Returns the text that names are compared with.
    pub fn text(&self) -> &str {
        match self {
            Self::Name(text) | Self::Prefix(text) => text,
        }
    }
}

/// Checks whether the suffix of a name only says which edition of the model it is: nothing, `-latest`, or a date such as `-20250805`, `-2025-08-05`,
/// `@20250805` or `-2512`.
fn is_snapshot(end: &str) -> bool {
    let date = |end: &str| {
        let digits = end.bytes().filter(u8::is_ascii_digit).count();
        end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && matches!(digits, 4 | 6 | 8)
    };
    end.is_empty() || end == "-latest" || end.strip_prefix(['-', '@']).is_some_and(date)
}

impl ModelFacts {
    /// Fills the gaps of these facts from `other`.
    #[must_use]
    pub fn or_else(self, other: &Self) -> Self {
        Self {
            context_window: self.context_window.or(other.context_window),
            max_output: self.max_output.or(other.max_output),
            tools: self.tools.or(other.tools),
            parallel_tools: self.parallel_tools.or(other.parallel_tools),
            caching: self.caching.or(other.caching),
            reasoning: self.reasoning.or(other.reasoning),
            // Prices belong together, those for large requests too.
            prices: self.prices.or(other.prices),
        }
    }
}

#[cfg(test)]
mod tests;
