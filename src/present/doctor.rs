//! The report of `review doctor`, for machines and for people. Main functions: [`json`], [`page`].
//!
//! Unknown numbers are `null` in JSON and "unknown" on the page.

use serde_json::{Value, json as value};

use super::json::{escape_invisible, usage};
use super::{RenderOptions, terminal};
use crate::domain::doctor::{DoctorCheck, DoctorReport};

/// The value of the document's field `schema`.
pub const SCHEMA: &str = "review-doctor/1";

/// Renders the report as one JSON document.
pub fn json(checkup: &DoctorReport) -> Vec<u8> {
    let document = value!({
        "schema": SCHEMA,
        "version": checkup.version,
        "started_at": checkup.started_at,
        "took_ms": millis(checkup.took),
        "outcome": checkup.outcome(),
        "exit_code": checkup.exit_code(),
        "usage": checkup.usage().map(usage),
        "checks": checkup.checks.iter().map(check).collect::<Vec<_>>(),
    });
    let mut out = escape_invisible(format!("{document:#}")).into_bytes();
    out.push(b'\n');
    out
}

/// Renders the report for a terminal.
pub fn page(checkup: &DoctorReport, options: &RenderOptions) -> Vec<u8> {
    terminal::checkup(checkup, options)
}

fn check(check: &DoctorCheck) -> Value {
    value!({
        "area": check.area.as_str(),
        "check": check.name,
        "model": check.model,
        "state": check.state.as_str(),
        "found": check.found,
        "advice": check.advice,
        "took_ms": check.took.map(millis),
        "usage": check.usage.map(usage),
    })
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::doctor::{CheckArea, CheckState, FaultParty};
    use crate::domain::run::Usage;

    fn checkup() -> DoctorReport {
        let usage = |output| Usage { input_tokens: Some(80), output_tokens: output, ..Usage::default() };
        let streaming = DoctorCheck {
            took: Some(Duration::from_millis(1_200)),
            usage: Some(usage(Some(120))),
            ..DoctorCheck::new(CheckArea::Model, "streaming", CheckState::Fine, "it answers, after 1.2 s")
                .about_model("acme/large")
        };
        let fault = "acme answered 500: \u{1b}[31mno";
        let forced = DoctorCheck {
            took: Some(Duration::from_millis(300)),
            ..DoctorCheck::new(CheckArea::Model, "forced_call", CheckState::Failed(FaultParty::Provider), fault)
                .about_model("acme/large")
        };
        DoctorReport {
            version: "0.0.0".to_owned(),
            started_at: "2026-11-20T18:56:58.123Z".to_owned(),
            took: Duration::from_millis(1_600),
            interrupted: false,
            checks: vec![
                DoctorCheck::new(
                    CheckArea::Settings,
                    "user_file",
                    CheckState::Fine,
                    "/home/ada/.config/review/config.toml: 2 settings of it hold",
                ),
                DoctorCheck::new(
                    CheckArea::Settings,
                    "variables",
                    CheckState::Warning,
                    "REVIEW_MODLE means nothing and is ignored",
                )
                .with_advice("did you mean REVIEW_MODEL? Else take it away"),
                DoctorCheck::new(CheckArea::Forge, "account", CheckState::Skipped, "not asked: --offline"),
                streaming,
                forced.with_advice("try again later, or name another model: the fault is with the provider"),
            ],
        }
    }

    #[test]
    fn people_read_it_by_area_with_what_to_do() {
        let page = page(&checkup(), &RenderOptions { width: 70, ..RenderOptions::default() });
        insta::assert_snapshot!(String::from_utf8(page).unwrap());
    }

    #[test]
    fn all_fine_is_said() {
        let fine = DoctorReport { checks: checkup().checks[..1].to_vec(), ..checkup() };
        let page = String::from_utf8(page(&fine, &RenderOptions::default())).unwrap();
        assert!(page.ends_with("\nNothing stands in the way of a review.\n"), "{page}");
        assert!(!page.contains('\u{1b}'));
        let colours = RenderOptions { colour: true, ..RenderOptions::default() };
        assert!(String::from_utf8(super::page(&fine, &colours)).unwrap().contains("\u{1b}["));
    }

    #[test]
    fn machines_read_every_field() {
        insta::assert_snapshot!(String::from_utf8(json(&checkup())).unwrap());
    }
}
