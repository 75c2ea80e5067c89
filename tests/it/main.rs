//! The integration tests: one binary, one module per feature, on real git repositories built by `support::TestRepo`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints spare test functions but not what they call"
)]

mod support;

// One line per feature.
mod architecture;
mod collection;
mod collection_oddities;
mod collection_random;
mod collection_scopes;
mod documents;
mod reading;
mod tools;
