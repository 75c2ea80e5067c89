//! The known providers and this process's credentials for them. Main type: [`ProviderEnvironment`].
//!
//! Applying it to a review belongs in the choice of a model.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::secret::Secret;
use crate::llm::{MessageBatches, ProviderTable, RateLimiters};
use crate::review::{Admission, BudgetPool};
use crate::sys::http::HttpClients;

/// The providers and the variables that their own libraries read, as of the start of the process. `Debug` shows only their names.
#[derive(Clone)]
pub struct ProviderEnvironment {
    pub(super) table: ProviderTable,
    pub(super) variables: Vec<(Arc<str>, Secret)>,
    /// The rate limiters, shared by all reviews of this process.
    pub(super) paces: RateLimiters,
    /// Their clients, likewise.
    pub(super) clients: HttpClients,
    /// The budget that those reviews share, if there is one.
    pub(in crate::app) pool: Option<BudgetPool>,
    /// The gate of a review among others, between its preparations and its conversation.
    pub(in crate::app) admission: Option<Arc<dyn Admission>>,
    /// The message batches that the turns of those reviews go by, if they do.
    pub(in crate::app) batches: Option<MessageBatches>,
    /// The first wait before a retry, if it is not the usual one.
    pub(super) first_wait: Option<Duration>,
}

/// Shortens the waits between attempts, in milliseconds: for tests of the program, so only a development build heeds it.
const TEST_RETRY_WAIT: &str = "TEST_RETRY_WAIT_MS";

/// The built-in providers, with no variable set.
impl Default for ProviderEnvironment {
    fn default() -> Self {
        // A test parses the built-in table, so this never falls back.
        Self {
            table: ProviderTable::built_in().unwrap_or_default(),
            variables: Vec::new(),
            paces: RateLimiters::default(),
            clients: HttpClients::default(),
            pool: None,
            admission: None,
            batches: None,
            first_wait: None,
        }
    }
}

impl ProviderEnvironment {
    /// Reads the variables of this process for the providers of a table. Keys that are not UTF-8 get U+FFFD, and are refused.
    pub(in crate::app) fn of_this_process(table: ProviderTable) -> Self {
        Self::of(table, |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads each variable in the table through `read`. An empty value counts as unset, and so does the variable's own name behind a dollar
    /// sign: some programs pass such a reference on as it is if the variable is not set.
    pub(in crate::app) fn of(table: ProviderTable, read: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: Arc<str>| {
            let value = Secret::new(read(&name)?).trimmed();
            let is_reference = [format!("${name}"), format!("${{{name}}}")].iter().any(|own| own == value.reveal());
            (!value.reveal().is_empty() && !is_reference).then_some((name, value))
        };
        let variables = table.variables().into_iter().filter_map(set).collect();
        let first_wait = cfg!(development).then(|| read(TEST_RETRY_WAIT)?.parse().ok().map(Duration::from_millis));
        let (paces, clients, first_wait) = (RateLimiters::default(), HttpClients::default(), first_wait.flatten());
        Self { table, variables, paces, clients, pool: None, admission: None, batches: None, first_wait }
    }

    /// Lets the turns of all reviews go by message batches, which are recorded in `folder`.
    pub(in crate::app) fn use_batches(&mut self, folder: PathBuf) {
        self.batches = Some(MessageBatches::new(folder, self.first_wait));
    }

    /// The providers.
    pub(in crate::app) fn table(&self) -> &ProviderTable {
        &self.table
    }

    /// The first wait between attempts, in tests.
    pub(in crate::app) fn test_wait(&self) -> Option<Duration> {
        self.first_wait
    }

    /// Divides the rate limits of the settings among this many processes.
    pub(in crate::app) fn share_rates(&self, sharers: u32) {
        self.paces.share(sharers);
    }

    /// Adds a placeholder key for a provider without one, to preview a review that would have one.
    pub(in crate::app) fn with_a_key_for(&self, provider: &str) -> Self {
        let mut with = self.clone();
        let variable = self.table.find(provider).and_then(|row| row.key_variables.first().cloned());
        with.variables.extend(variable.map(|name| (name, Secret::new("none"))));
        with
    }

    /// The names of the set variables, in the order of the table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| &**name)
    }

    /// Returns the first of `names` that is set.
    pub(in crate::app) fn first(&self, names: &[Arc<str>]) -> Option<(&str, &Secret)> {
        names.iter().find_map(|name| {
            self.variables.iter().find(|(known, _)| known == name).map(|(known, value)| (&**known, value))
        })
    }

    /// The value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.reveal().to_owned())
    }
}

impl fmt::Debug for ProviderEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
