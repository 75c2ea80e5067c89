//! Text that must not be shown. Main type: [`Secret`].

use std::fmt;

/// A key or a token. It has no `Display`, and its `Debug` shows nothing, so that no message or log holds it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Without the white space around it: files and shells like to add a line end.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        Self(self.0.trim().to_owned())
    }

    /// Checks whether a header can carry it as it is: printable ASCII, no line end.
    pub fn is_plain(&self) -> bool {
        self.0.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
