//! Secrets where a text enters in an unusual spelling or a place that is no file: each is masked everywhere, and told.
