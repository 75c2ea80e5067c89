//! Regular expressions that are searched at a bounded cost for each byte. Main function: [`build_lazy`].
//!
//! There are short patterns whose states are so many that a search builds new ones at every byte: hours for a file of some MiB, and nothing stops
//! it. A lazy automaton that is told how much to keep gives up instead, and whoever asked says so.

use regex_automata::hybrid::dfa;
use regex_automata::hybrid::regex::{Builder, Regex};

/// The memory limit of an automaton during a search, in bytes; after so many times that this was too little it gives up where the last time brought
/// less than so many bytes of text for each state.
const CACHE: usize = 4 << 20;
const CLEARED: usize = 4;
const BYTES_PER_STATE: usize = 10;

/// Compiles `pattern` as `builder` says, bounded; `None` if it is no regular expression, or one that is too large.
///
/// Its searches fail where they would take too long, and with `Quit` where they meet what the automaton cannot decide (`\b` beside letters
/// that are not ASCII).
pub fn build_lazy(builder: &mut Builder, pattern: &str) -> Option<Regex> {
    let bounded = dfa::Config::new()
        .unicode_word_boundary(true)
        .cache_capacity(CACHE)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(CLEARED))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE));
    builder.dfa(bounded).build(pattern).ok()
}
