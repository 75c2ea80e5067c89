//! Tests of `moved`.
