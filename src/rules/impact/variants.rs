//! Branches over all values of a type that do not handle a new one. Main type: [`NewVariantUnhandled`].

use std::collections::BTreeSet;

use super::super::checks::CheckInfo;
use super::ImpactRule;
use super::changed::ExtendedEnum;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::family::LanguageFamily;
use super::search::ChangedNames;
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::sys::cancel::CancelReason;

pub(super) struct NewVariantUnhandled;

static INFO: CheckInfo = CheckInfo {
    name: "impact/new-variant-unhandled",
    title: "New enum value not handled where the others are",
    message: "There the new value falls through and nothing is done for it. Add a case for it, or a default that says it is unknown.",
    severity: Severity::Medium,
    category: Category::Logic,
    cwe: Some("CWE-478"),
};

/// Minimum number of handled values; fewer may be a coincidence.
const FEWEST: usize = 3;

impl ImpactRule for NewVariantUnhandled {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut effects = Vec::new();
        for widened in &names.changed()?.widened {
            ground.sides.cancel.check()?;
            let Some((name, lines)) = widened.added.first() else { continue };
            // Rust does not compile until all values are handled.
            if widened.before.len() < FEWEST || widened.home.family == LanguageFamily::Rust {
                continue;
            }
            let elsewhere = unhandled_switches(ground, names, widened, name)?;
            if let Some(first) = elsewhere.first() {
                effects.push(RemoteEffect {
                    file: widened.home.file,
                    side: DiffSide::New,
                    lines: Some(*lines),
                    title: Some(format!("`{name}` is new and not handled where all the others are")),
                    detail: format!("{} tells all other values of `{}` apart.", first.path, widened.home.name),
                    severity: None,
                    elsewhere,
                });
            }
        }
        Ok(effects)
    }
}

fn unhandled_switches(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
    widened: &ExtendedEnum,
    name: &str,
) -> Result<Vec<AffectedPlace>, CancelReason> {
    let home = &widened.home;
    let telling = widened.before.iter().max_by_key(|name| (name.len(), name.as_str()));
    let mut found = Vec::new();
    let files = telling.and_then(|telling| names.hits().map(|hits| hits.of(home.family, telling)).transpose());
    let Some(files) = files.transpose()? else { return Ok(found) };
    for path in files {
        let Some(symbols) = ground.symbols(path)? else { continue };
        for switch in symbols.switches.iter().filter(|switch| !switch.otherwise) {
            let labels: BTreeSet<&str> = switch.labels.iter().map(String::as_str).collect();
            let all = widened.before.len() == labels.len()
                && widened.before.iter().all(|name| labels.contains(name.as_str()));
            if all {
                let note = format!("There is no case for {name}.");
                found.push(AffectedPlace { path: path.clone(), lines: LineRange::line(switch.line), note });
            }
        }
    }
    Ok(found)
}
