//! Summaries of the kept documents, of huge reviews and of later ones.
