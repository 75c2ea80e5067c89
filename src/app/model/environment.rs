//! The providers there are, and what this process has for them. Main type: [`ProviderEnvironment`].
//!
//! Which of it counts for a review is decided by whoever chooses a model.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::secret::Secret;
use crate::llm::{Paces, ProviderTable};

/// The providers, and the variables that their own libraries read, as they were when the process began. `Debug` shows the names of those alone.
#[derive(Clone)]
pub struct ProviderEnvironment {
    pub(super) table: ProviderTable,
    pub(super) variables: Vec<(Arc<str>, Secret)>,
    /// The lines in which requests wait, for all reviews of this process.
    pub(super) paces: Paces,
    /// The first wait before a failed request is sent again, where it is not the usual one.
    pub(super) first_wait: Option<Duration>,
}

/// Shortens the waits between attempts, in milliseconds: for tests of the program, so only a build with debug assertions heeds it.
const TEST_RETRY_WAIT: &str = "TEST_RETRY_WAIT_MS";

/// The built-in providers, and no variable set.
impl Default for ProviderEnvironment {
    fn default() -> Self {
        // A test reads the built-in table, so that it is never none.
        Self {
            table: ProviderTable::built_in().unwrap_or_default(),
            variables: Vec::new(),
            paces: Paces::default(),
            first_wait: None,
        }
    }
}

impl ProviderEnvironment {
    /// What this process has for the providers of a table. Bytes that are not UTF-8 become U+FFFD, so that a key with them is refused.
    pub(in crate::app) fn of_this_process(table: ProviderTable) -> Self {
        Self::of(table, |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// What `read` says of each variable in the table; an empty one says nothing.
    pub(in crate::app) fn of(table: ProviderTable, read: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: Arc<str>| {
            let value = Secret::new(read(&name)?).trimmed();
            (!value.reveal().is_empty()).then_some((name, value))
        };
        let variables = table.variables().into_iter().filter_map(set).collect();
        let first_wait = cfg!(debug_assertions).then(|| read(TEST_RETRY_WAIT)?.parse().ok().map(Duration::from_millis));
        Self { table, variables, paces: Paces::default(), first_wait: first_wait.flatten() }
    }

    /// The providers.
    pub(in crate::app) fn table(&self) -> &ProviderTable {
        &self.table
    }

    /// The same with something in the place of a key for a provider that has none, for looking at what would be done with one.
    pub(in crate::app) fn with_a_key_for(&self, provider: &str) -> Self {
        let mut with = self.clone();
        let variable = self.table.named(provider).and_then(|row| row.key_variables.first().cloned());
        with.variables.extend(variable.map(|name| (name, Secret::new("none"))));
        with
    }

    /// The names of those that are set, in the order of the table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| &**name)
    }

    /// The first of `names` that is set.
    pub(in crate::app) fn first(&self, names: &[Arc<str>]) -> Option<(&str, &Secret)> {
        names.iter().find_map(|name| {
            self.variables.iter().find(|(known, _)| known == name).map(|(known, value)| (&**known, value))
        })
    }

    /// What a variable holds.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.reveal().to_owned())
    }
}

impl fmt::Debug for ProviderEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
