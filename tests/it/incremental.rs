//! Reviews of a branch after the first: what is passed over, what stays open, what a model is asked again.
