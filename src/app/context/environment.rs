//! The environment of the process. Main type: [`ProcessEnv`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::AppError;
use super::forge::ForgeEnvironment;
use super::model::ProviderEnvironment;
use super::provider_table;
use crate::config::{self, SettingsDocument};
use crate::store::{Store, StoreError};
use crate::syntax::{ParserProbe, ProbeScope};
use crate::sys::process::own_executable;

/// The environment of the process. It is read once, by the command line, and by nothing else. `Debug` shows no value: it may be a key.
#[derive(Clone)]
pub struct ProcessEnv {
    /// The user's settings file, if any.
    pub user_settings: Option<SettingsDocument>,
    /// The environment variables with the prefix `REVIEW_`.
    pub environment: Vec<(String, String)>,
    /// The keys and addresses in the variables that the providers' own libraries read.
    pub providers: ProviderEnvironment,
    /// The forge's address and credentials.
    pub forge: ForgeEnvironment,
    /// The folder of this program's own files: presented documents, mirrors, and saved runs unless they are in a database.
    pub state: PathBuf,
    /// The saved runs.
    pub store: Store,
    /// The process for trial parses; `None` if this process is not the program itself.
    pub parser: Option<Arc<ParserProbe>>,
}

impl fmt::Debug for ProcessEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user_settings, environment, providers, forge, state, store, parser } = self;
        let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("Surroundings");
        shown.field("user_settings", user_settings).field("environment", &names).field("providers", providers);
        shown.field("forge", forge).field("state", state).field("store", store).field("parser", parser).finish()
    }
}

impl ProcessEnv {
    /// Reads the environment of this process.
    pub fn of_this_process() -> Result<Self, AppError> {
        let (mut environment, user_settings) = (config::read_environment(), config::user_document()?);
        let (state, store) = find_store(&environment)?;
        // It may have a password, and nothing else reads it.
        environment.retain(|(name, _)| name != config::STORE);
        let providers =
            ProviderEnvironment::of_this_process(provider_table::load_table(user_settings.as_ref(), &environment)?);
        let forge = ForgeEnvironment::of_this_process();
        let parser =
            own_executable().ok().map(|program| Arc::new(ParserProbe::new(program, ProbeScope::GrowingScanners)));
        Ok(Self { user_settings, environment, providers, forge, state, store, parser })
    }

    /// The trial parser for texts with the trust level of `scope`.
    pub(in crate::app) fn parser(&self, scope: ProbeScope) -> Option<Arc<ParserProbe>> {
        self.parser.as_ref().map(|parser| parser.with_scope(scope))
    }
}

/// Returns the folder of this program's files and the store that the variable [`config::STORE`] names. No repository can name one.
pub(in crate::app) fn find_store(environment: &[(String, String)]) -> Result<(PathBuf, Store), StoreError> {
    let root = Store::default_root()?;
    let setting = environment.iter().find(|(name, _)| name == config::STORE).map(|(_, value)| value.as_str());
    let store = Store::configured(&root, setting)?;
    Ok((root, store))
}
