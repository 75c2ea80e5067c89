//! The window that the developer looks at: finds an editor, shows documents and reviews in it. Main types: [`EditorWindow`], [`ReviewDisplay`].
//!
//! The protocol belongs in `crate::editor`. An editor is never needed: without one, and when it fails, everything is saved and served as
//! before, and the failure is a note.

mod review_display;
mod window;

pub use review_display::{DisplayLimits, FinalDocument, ReviewDisplay};
pub use window::{EditorOptions, EditorWindow, NO_EDITOR, probe_editor};
