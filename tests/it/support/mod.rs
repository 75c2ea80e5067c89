//! What all integration tests share: real git repositories built by a recipe.

mod repo;

pub use repo::TestRepo;
