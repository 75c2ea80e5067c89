//! Inputs on which a library or the system never comes back: each run ends with its receipt and its exit code.
