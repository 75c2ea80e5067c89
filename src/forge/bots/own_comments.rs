//! This program's own comments: what severity of ours is called where bots are compared.

use crate::domain::finding::Severity;
use crate::domain::forge::RemarkSeverity;

/// The published map (`docs/pull-requests-severities.md`).
pub const fn severity_of(severity: Severity) -> RemarkSeverity {
    match severity {
        Severity::Critical => RemarkSeverity::Critical,
        Severity::High => RemarkSeverity::Major,
        Severity::Medium => RemarkSeverity::Minor,
        Severity::Low => RemarkSeverity::Trivial,
        Severity::Nit => RemarkSeverity::Nitpick,
    }
}
