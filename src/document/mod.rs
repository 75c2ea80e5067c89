//! Presented Markdown: sections edited, references found and rewritten. The only place that names the Markdown parser.
//!
//! All of it is pure. Whether a reference points to something belongs in `evidence`; who may present, in `app`.
