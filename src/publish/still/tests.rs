//! Tests of `still`.
