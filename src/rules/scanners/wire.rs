//! Wire format of SARIF 2.1.0 (OASIS, 2020), limited to the fields that are used. Main type: [`SarifLog`].
//!
//! Handwritten types rather than those generated from the schema: scanners deviate from it in details, and one odd result must not
//! invalidate the others. Every field may be missing.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// A value that was parsed, or else counted as invalid.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum LenientItem<T> {
    Read(T),
    Odd(IgnoredAny),
}

/// The first items of a list, and the number of dropped ones: a few bytes of a report must not become gigabytes of memory.
#[derive(Debug)]
pub(super) struct BoundedList<T, const MOST: usize> {
    pub(super) items: Vec<T>,
    pub(super) more: usize,
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for BoundedList<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct BoundedListVisitor<T, const MOST: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedListVisitor<T, MOST> {
            type Value = BoundedList<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut first = BoundedList { items: Vec::new(), more: 0 };
                while first.items.len() < MOST {
                    let Some(item) = list.next_element()? else { return Ok(first) };
                    first.items.push(item);
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    first.more += 1;
                }
                Ok(first)
            }
        }

        from.deserialize_seq(BoundedListVisitor(PhantomData))
    }
}

/// Maximum number of runs of a report.
pub(super) const MOST_RUNS: usize = 50;
/// Maximum number of results of a run.
pub(super) const MOST_RESULTS: usize = 20_000;

/// §3.13.
#[derive(Debug, Deserialize)]
pub(super) struct SarifLog {
    pub(super) version: Option<String>,
    pub(super) runs: Option<BoundedList<SarifRun, MOST_RUNS>>,
}

/// §3.14.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifRun {
    pub(super) tool: SarifTool,
    pub(super) artifacts: Option<BoundedList<LenientItem<SarifArtifact>, 50_000>>,
    pub(super) original_uri_base_ids: Option<std::collections::BTreeMap<String, LenientItem<SarifArtifactLocation>>>,
    pub(super) results: Option<BoundedList<LenientItem<SarifResult>, MOST_RESULTS>>,
}

/// §3.18.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifTool {
    pub(super) driver: SarifComponent,
    pub(super) extensions: Option<BoundedList<SarifComponent, 20>>,
}

/// §3.19.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifComponent {
    pub(super) name: Option<String>,
    pub(super) rules: Option<BoundedList<LenientItem<SarifRule>, 5_000>>,
}

/// §3.49.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifRule {
    pub(super) id: Option<String>,
    pub(super) short_description: Option<SarifMessage>,
    pub(super) default_configuration: Option<SarifConfiguration>,
    pub(super) message_strings: Option<std::collections::BTreeMap<String, LenientItem<SarifMessage>>>,
    pub(super) properties: Option<SarifProperties>,
}

/// §3.50.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifConfiguration {
    pub(super) level: Option<String>,
}

/// §3.8; GitHub code scanning reads `security-severity` and the tags.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifProperties {
    pub(super) tags: Option<LenientItem<BoundedList<String, 64>>>,
    #[serde(rename = "security-severity")]
    pub(super) security_severity: Option<LenientItem<SecurityScore>>,
}

/// A number, which some tools write as a string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum SecurityScore {
    Number(f64),
    Text(String),
}

/// §3.27.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifResult {
    pub(super) rule_id: Option<String>,
    pub(super) rule_index: Option<i64>,
    pub(super) rule: Option<SarifRuleReference>,
    pub(super) kind: Option<String>,
    pub(super) level: Option<String>,
    pub(super) baseline_state: Option<String>,
    pub(super) message: Option<SarifMessage>,
    pub(super) locations: Option<BoundedList<LenientItem<SarifLocation>, 8>>,
    pub(super) suppressions: Option<BoundedList<SarifSuppression, 16>>,
    pub(super) properties: Option<SarifProperties>,
}

/// §3.52.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifRuleReference {
    pub(super) id: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) tool_component: Option<SarifComponentReference>,
}

/// §3.54.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifComponentReference {
    pub(super) index: Option<i64>,
}

/// §3.35.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifSuppression {
    pub(super) status: Option<String>,
}

/// §3.11 and §3.12.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifMessage {
    pub(super) text: Option<String>,
    pub(super) markdown: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<BoundedList<String, 16>>,
}

/// §3.28.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifLocation {
    pub(super) physical_location: Option<SarifPhysicalLocation>,
}

/// §3.29.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifPhysicalLocation {
    pub(super) artifact_location: Option<SarifArtifactLocation>,
    pub(super) region: Option<SarifRegion>,
}

/// §3.24.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifArtifact {
    pub(super) location: Option<SarifArtifactLocation>,
}

/// §3.4.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifArtifactLocation {
    pub(super) uri: Option<String>,
    pub(super) uri_base_id: Option<String>,
    pub(super) index: Option<i64>,
}

/// §3.30.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifRegion {
    pub(super) start_line: Option<i64>,
    pub(super) end_line: Option<i64>,
    pub(super) end_column: Option<i64>,
    pub(super) snippet: Option<SarifMessage>,
}

/// Resolves an index of the format; -1 means none (§3.7.4).
pub(super) fn item_at<T, const MOST: usize>(
    items: Option<&BoundedList<LenientItem<T>, MOST>>,
    index: Option<i64>,
) -> Option<&T> {
    let index = usize::try_from(index?).ok()?;
    match items?.items.get(index)? {
        LenientItem::Read(item) => Some(item),
        LenientItem::Odd(_) => None,
    }
}
