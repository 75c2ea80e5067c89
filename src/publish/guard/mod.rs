//! Keeps secrets out of what is posted. Main type: [`SecretGuard`].
//!
//! It knows which values of this process must not be told; how they are found again when they are in base64 or split is worked out in
//! `domain::text`, and so is what merely looks like a secret.

mod choice;

use std::sync::Arc;

use crate::domain::secret::Secret;
use crate::domain::text::{KnownSecret, MASK_PREFIX, SpelledSecrets, mask};

/// Knows the secrets of this process and finds them in texts. Cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub struct SecretGuard {
    secrets: Arc<Vec<KnownSecret>>,
    known: Arc<SpelledSecrets>,
}

impl SecretGuard {
    /// A guard over those of these named values that are secrets by their names and by how they look: the environment variables.
    pub fn new(named: impl IntoIterator<Item = (String, Secret)>) -> Self {
        Self::of(named.into_iter().flat_map(|(name, value)| choice::secrets_of(&name, value.reveal())).collect())
    }

    /// Extends the guard to these values, whatever they look like: keys that we hold ourselves.
    #[must_use]
    pub fn with(self, own: impl IntoIterator<Item = Secret>) -> Self {
        let own = own.into_iter().flat_map(|value| choice::parts("secret", value.trimmed().reveal()));
        Self::of(self.secrets.iter().cloned().chain(own).collect())
    }

    fn of(mut secrets: Vec<KnownSecret>) -> Self {
        secrets.sort_by(|a, b| (&a.value, a.whole, &a.name).cmp(&(&b.value, b.whole, &b.name)));
        secrets.dedup_by(|a, b| a.value == b.value);
        Self { known: Arc::new(SpelledSecrets::from_secrets(&secrets)), secrets: Arc::new(secrets) }
    }

    /// The text without secrets, known ones and such as look like one, and how many were masked. It has as many lines as before.
    pub fn clean(&self, text: &str) -> (String, usize) {
        let (text, known) = self.known.mask(text);
        let before = text.matches(MASK_PREFIX).count();
        let masked = mask(&text).text;
        let alike = masked.matches(MASK_PREFIX).count().saturating_sub(before);
        (masked, known + alike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(named: &[(&str, &str)]) -> SecretGuard {
        SecretGuard::new(named.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))))
    }

    #[test]
    fn values_of_secret_variables_are_masked_by_their_name() {
        let guard = guard(&[("DEPLOY_TOKEN", "q8Wm2Lx7Rv4Kp9Zt3N"), ("EDITOR", "b7Hq2Xw9Tn4Vc8Jk1M")]);
        assert_eq!(guard.clean("a q8Wm2Lx7Rv4Kp9Zt3N b\n"), ("a [masked:DEPLOY_TOKEN] b\n".to_owned(), 1));
        assert_eq!(guard.clean("b7Hq2Xw9Tn4Vc8Jk1M").1, 0);
    }

    #[test]
    fn what_only_looks_like_a_secret_is_masked_too() {
        let (text, count) = SecretGuard::default().clean("key = \"AKIAZ7QWERTY3UIOPA2X\"");
        assert_eq!((text.as_str(), count), ("key = \"[masked:aws-access-key]\"", 1));
        assert_eq!(SecretGuard::default().clean(&text), (text.clone(), 0));
    }

    #[test]
    fn our_own_keys_are_masked_whatever_they_look_like() {
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx8xK1mQ2nL7vR4tY9wZ3bC6d\nF5gH0jK8lM1nO4pQ7rS2tU5vX8yA1bD4eG7h\n-----END RSA PRIVATE KEY-----\n";
        let guard = SecretGuard::default().with([Secret::new(pem), Secret::new("opensesame\n")]);
        assert_eq!(guard.clean("it is opensesame").0, "it is [masked:secret]");
        assert_eq!(guard.clean("F5gH0jK8lM1nO4pQ7rS2tU5v").1, 1);
        assert_eq!(guard.clean("BEGIN RSA PRIVATE KEY, an RSA private key").1, 0);
        assert!(!format!("{guard:?}").contains("opensesame"));
    }
}
