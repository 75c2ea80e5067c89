//! The words for the model: templates under `prompts/`, rendered with typed variables. Main type: `Prompts`.
//!
//! What goes into the variables is decided by the engine; repository text is fenced and marked as data here, once.
