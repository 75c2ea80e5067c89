//! The outside world in thin wrappers: repositories, files, time, stopping.
//!
//! Each file hides one big dependency. What the bytes mean belongs in the folders above.

mod alternates;
pub mod ancestors;
pub mod app_key;
pub mod automaton;
pub mod blocking;
pub mod cancel;
pub mod charset;
pub mod clock;
pub mod contained_folder;
pub mod database;
pub mod files;
pub mod folder;
pub mod http;
pub mod local_socket;
mod loose;
pub mod nested;
mod objects;
mod packs;
pub mod path_containment;
pub mod process;
#[cfg(target_os = "linux")]
mod process_stat;
pub mod repo;
pub mod repo_error;
pub mod repository_layout;
pub mod temporary;
pub mod threads;
pub mod tree;
