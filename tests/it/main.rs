//! The integration tests: one binary, one module per feature, on real git repositories built by `support::TestRepo`.

mod support;

// One line per feature.
mod collection;
mod collection_random;
mod collection_scopes;
