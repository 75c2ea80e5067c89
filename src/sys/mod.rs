//! The outside world in thin wrappers: repositories, files, time, stopping.
//!
//! Each file hides one big dependency. What the bytes mean belongs in the folders above.

mod alternates;
pub mod automaton;
pub mod beneath;
pub mod blocking;
pub mod cancel;
pub mod charset;
pub mod clock;
pub mod files;
pub mod folder;
pub mod http;
pub mod inside;
mod loose;
pub mod nested;
mod objects;
mod packs;
pub mod place;
pub mod process;
pub mod repo;
pub mod temporary;
pub mod tree;
