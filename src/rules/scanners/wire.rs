//! SARIF 2.1.0 as it is written (OASIS, 2020), as far as it is read here. Main type: [`Log`].
//!
//! Own types rather than those generated from its schema: scanners stray from it in what matters little, and one odd result must not cost the
//! others. Every field may be missing.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Something that is read, or else counted.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Lenient<T> {
    Read(T),
    Odd(IgnoredAny),
}

/// §3.13.
#[derive(Debug, Deserialize)]
pub(super) struct Log {
    pub(super) version: Option<String>,
    pub(super) runs: Option<Vec<Run>>,
}

/// §3.14.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) artifacts: Option<Vec<Lenient<Artifact>>>,
    pub(super) original_uri_base_ids: Option<std::collections::BTreeMap<String, Lenient<ArtifactLocation>>>,
    pub(super) results: Option<Vec<Lenient<Outcome>>>,
}

/// §3.18.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tool {
    pub(super) driver: Component,
    pub(super) extensions: Option<Vec<Component>>,
}

/// §3.19.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Component {
    pub(super) name: Option<String>,
    pub(super) rules: Option<Vec<Lenient<Rule>>>,
}

/// §3.49.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    pub(super) id: Option<String>,
    pub(super) short_description: Option<Message>,
    pub(super) default_configuration: Option<Configuration>,
    pub(super) message_strings: Option<std::collections::BTreeMap<String, Lenient<Message>>>,
    pub(super) properties: Option<Properties>,
}

/// §3.50.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    pub(super) level: Option<String>,
}

/// §3.8; `security-severity` and the tags are what GitHub's code scanning reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Properties {
    pub(super) tags: Option<Lenient<Vec<String>>>,
    #[serde(rename = "security-severity")]
    pub(super) security_severity: Option<Lenient<Score>>,
}

/// A number, which some write as text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Score {
    Number(f64),
    Text(String),
}

/// §3.27.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Outcome {
    pub(super) rule_id: Option<String>,
    pub(super) rule_index: Option<i64>,
    pub(super) rule: Option<RuleReference>,
    pub(super) kind: Option<String>,
    pub(super) level: Option<String>,
    pub(super) baseline_state: Option<String>,
    pub(super) message: Option<Message>,
    pub(super) locations: Option<Vec<Lenient<Location>>>,
    pub(super) suppressions: Option<Vec<Suppression>>,
    pub(super) properties: Option<Properties>,
}

/// §3.52.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleReference {
    pub(super) id: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) tool_component: Option<ComponentReference>,
}

/// §3.54.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentReference {
    pub(super) index: Option<i64>,
}

/// §3.35.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Suppression {
    pub(super) status: Option<String>,
}

/// §3.11 and §3.12.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) text: Option<String>,
    pub(super) markdown: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<Vec<String>>,
}

/// §3.28.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Location {
    pub(super) physical_location: Option<PhysicalLocation>,
}

/// §3.29.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Option<ArtifactLocation>,
    pub(super) region: Option<Region>,
}

/// §3.24.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Artifact {
    pub(super) location: Option<ArtifactLocation>,
}

/// §3.4.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactLocation {
    pub(super) uri: Option<String>,
    pub(super) uri_base_id: Option<String>,
    pub(super) index: Option<i64>,
}

/// §3.30.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Region {
    pub(super) start_line: Option<i64>,
    pub(super) end_line: Option<i64>,
    pub(super) end_column: Option<i64>,
    pub(super) snippet: Option<Message>,
}

/// What an index of the format points at; -1 points at nothing (§3.7.4).
pub(super) fn at<T>(items: Option<&Vec<Lenient<T>>>, index: Option<i64>) -> Option<&T> {
    let index = usize::try_from(index?).ok()?;
    match items?.get(index)? {
        Lenient::Read(item) => Some(item),
        Lenient::Odd(_) => None,
    }
}
