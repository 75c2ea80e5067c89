//! Repositories and kept files made to take all memory or never to end: each takes a bounded part, and the receipt counts what was left out.
