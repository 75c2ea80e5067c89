//! Which change a client means. Main function: [`scope`].

use crate::domain::request::{InvalidScope, Scope};

/// What a target may be beside a revision.
pub(super) const WORDS: &[&str] = &["staged", "uncommitted"];

/// Why nobody knows what is meant.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScopeFault {
    #[error(
        "the target {target:?} says by itself what is reviewed, and at is {at:?} already: put {target} in at, and leave target out"
    )]
    Twice { target: String, at: String },
    #[error(transparent)]
    Invalid(#[from] InvalidScope),
}

/// What is reviewed, and what with: a target that says both (`staged`, `uncommitted`, `A..B`) is taken for `at` where there is none.
pub(super) fn scope(target: Option<&str>, at: Option<&str>) -> Result<Scope, ScopeFault> {
    let said = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let (target, at) = (said(target), said(at));
    match (target, at) {
        (Some(both), None) if says_both(&both) => Ok(Scope::named(None, Some(&both))?),
        (Some(target), Some(at)) if says_both(&target) => Err(ScopeFault::Twice { target, at }),
        (target, at) => Ok(Scope::named(target.as_deref(), at.as_deref())?),
    }
}

fn says_both(target: &str) -> bool {
    WORDS.contains(&target) || target.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_says_both_ends_stands_for_at() {
        for both in ["staged", " uncommitted ", "main..x", "main...", "a...b"] {
            let alone = scope(Some(both), None).unwrap();
            assert_eq!(alone, Scope::named(None, Some(both)).unwrap());
            assert_eq!(alone, scope(Some(both), Some(" ")).unwrap());
            let fault = scope(Some(both), Some("topic")).unwrap_err().to_string();
            assert!(fault.contains("put") && fault.contains("in at"), "{fault}");
        }
        assert_eq!(scope(Some("main"), Some("x")).unwrap(), Scope::named(Some("main"), Some("x")).unwrap());
        assert!(scope(Some("main"), Some("staged")).is_err());
    }
}
