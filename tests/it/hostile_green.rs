//! Content made to look reviewed when nobody saw it: each class is told, refused, or makes the review incomplete.
