//! The integration tests: one binary, one module per feature, on real git repositories built by `support::TestRepo`.

mod support;

// One line per feature.
mod architecture;
mod collection;
mod documents;
mod reading;
mod tools;
