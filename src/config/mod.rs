//! Settings: file shape → merged layers → resolved [`Settings`], each value with its [`SettingOrigin`].
//!
//! Layers, later wins: built-in `defaults.toml` < the user's file < the repository's file < the environment (`REVIEW_…`) <
//! flags. [`resolve`] is pure: callers read the files, because where the repository's comes from (the target's tip or the disk)
//! is a question of trust that is answered where the change is known. No `.env` is ever read.
//!
//! The files are read with `toml` itself rather than through a layering library: its spans give every error the line it
//! is about, and who may set what ([`trust`]) is decided for each key and layer, which a merged tree no longer knows.
//!
//! Adding a setting: one row in `keys`, one field and one arm in `settings`, one line in `defaults.toml`, and, where the
//! repository may set it, one row in `trust`. A test holds the four to each other. What is set for a provider (`[anthropic]`
//! `base_url`, `api_key`, `context_window` and so on) has no default: `llm` knows the usual ones, and a test in `app` holds the names to its
//! table.
//!
//! The [`dismissals`] of a project are not settings but a file of their own, read under the same trust rule.
//!
//! Keys are [`Secret`](crate::domain::secret::Secret)s from the moment they are read: no message, origin or `Debug` shows one.

mod choices;
pub mod dismissals;
mod document;
mod duration;
mod edit;
mod error;
mod keys;
mod layers;
mod settings;
mod tokens;
pub mod trust;
mod user_files;
mod value;

pub use choices::{Colour, ModelChoice, Verify};
pub use document::SettingsDocument;
pub use duration::{InvalidDuration, parse_duration};
pub use edit::{SetFault, set_value};
pub use error::{ConfigError, SettingOrigin};
pub use keys::{KEYS, SettingKey, ValueShape};
pub use layers::{Flags, ResolvedSettings, STORE, SettingsSources, resolve};
pub use settings::{ProviderSettings, Settings};
pub use user_files::{mirrors_folder, read_environment, user_document, user_file, user_providers};
pub use value::SettingValue;
