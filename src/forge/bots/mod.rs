//! What review bots write, told apart: one file for each of them.
