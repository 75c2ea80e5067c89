//! Repositories whose own links lead elsewhere, and names that pass for local ones: each is refused.
