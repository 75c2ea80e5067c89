//! Drafts of the typical document, and of findings in odd places.
