//! The detectors of secrets. Main types: the trait [`Detector`] and the table [`DETECTORS`].

use std::sync::LazyLock;

use super::SecretHit;
use super::context::PLACED;
use super::external_rules::KEPT;
use super::providers::PROVIDERS;

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

/// All who are asked: our own formats, those of the kept rule set, and what is a secret by its place. Of two that find the same bytes the first
/// names them.
pub(super) static DETECTORS: LazyLock<Vec<&'static dyn Detector>> = LazyLock::new(|| {
    let own = PROVIDERS.iter().map(|pattern| pattern as &dyn Detector);
    let kept = KEPT.iter().map(|rule| rule as &dyn Detector);
    own.chain(kept).chain(PLACED.iter().map(|pattern| pattern as &dyn Detector)).collect()
});
