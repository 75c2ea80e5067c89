//! Collecting a change from a real repository.
