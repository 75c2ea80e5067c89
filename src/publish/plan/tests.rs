//! Tests of `plan`.
