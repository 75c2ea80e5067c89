//! The trait of those who detect secrets. Main type: [`Detector`].

use super::SecretHit;

/// Knows some secrets by the text they begin with.
pub(super) trait Detector: Sync {
    /// The texts at which its secrets begin: it is asked wherever one stands, and nowhere else.
    fn words(&self) -> Vec<&str>;

    /// Those of them that begin a format which tells whose the secret is, wherever it stands.
    fn words_of_formats(&self) -> Vec<&str> {
        self.words()
    }

    /// Finds the secret whose word stands at `at`, a byte of `text`. It reads no further back than a few dozen bytes and never over more than the
    /// longest secret, so that a text costs what it is long.
    fn find(&'static self, text: &str, at: usize, hits: &mut Vec<SecretHit>);
}
