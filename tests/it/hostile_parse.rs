//! Texts that take a grammar's scanner beyond its limits: each costs one file, never the run.
