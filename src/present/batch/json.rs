//! The index of a batch as JSON, and parsing it. Main functions: [`json`], [`parse`].
//!
//! `docs/batch.schema.json` is the schema of the document, and a test compares the two; `REVIEW_REFRESH=1 cargo test --lib present::batch`
//! refreshes it. An index that is parsed may come from anybody: names of folders are plain names, and no row is better than its outcome.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::batch::{
    BatchEntry, BatchIndex, BatchOutcome, BatchSavings, LeftOutChange, ReviewSource, Shard, SpentTokens,
};
use crate::domain::finding::Severity;
use crate::domain::money::Money;
use crate::domain::run::{Engine, RunId};
use crate::domain::text::strip_line;
use crate::present::json::escape_invisible;

/// The value of the document's field `schema`.
pub const SCHEMA: &str = "review-batch/1";

/// The index of a batch of reviews, or of a shard of it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct IndexJson {
    /// `review-batch/1`.
    schema: String,
    /// The version of the program.
    version: String,
    /// The time of its start: RFC 3339, UTC.
    started_at: String,
    /// Wall time in milliseconds.
    took_ms: u64,
    /// The part of a larger batch that this is, as K/N; `null` for a whole one.
    shard: Option<String>,
    /// `true` if it was interrupted.
    interrupted: bool,
    /// The exit code of the command: the worst of the reviews.
    exit_code: u8,
    /// The sums.
    totals: TotalsJson,
    /// The savings by message batches of the provider (`--economy`); `null` if turns did not go by them.
    economy: Option<SavingsJson>,
    /// A row for each review, also for one that could not be made.
    reviews: Vec<EntryJson>,
    /// The changes that needed no review.
    left_out: Vec<LeftOutJson>,
}

/// The sums of a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TotalsJson {
    /// The number of reviews of each outcome.
    outcomes: BTreeMap<BatchOutcome, u64>,
    /// The number of reviews that were served from the store.
    unchanged: u64,
    /// The number of unresolved findings of each severity.
    findings: BTreeMap<Severity, u64>,
    /// The known costs, in dollars.
    cost_usd: f64,
    /// The number of reviews of a model whose cost is unknown.
    unknown_costs: u64,
}

/// The turns that went by message batches of the provider, and what they cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
struct SavingsJson {
    /// The number of turns.
    turns: u64,
    /// The number of message batches that were submitted.
    batches: u64,
    /// The known costs, in dollars.
    cost_usd: f64,
    /// The costs of the same turns at the normal price, in dollars.
    normal_cost_usd: f64,
    /// The number of turns whose cost is unknown.
    unknown_costs: u64,
}

/// One review of a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct EntryJson {
    /// The repository, as it was named or by its display name.
    repository: String,
    /// The branch, commit or pull request.
    name: String,
    /// The base of the comparison, if it is known.
    target: Option<String>,
    /// The outcome; only `complete` is good.
    outcome: BatchOutcome,
    /// The reason of any outcome but `complete`.
    reason: Option<String>,
    /// How the review came about.
    source: ReviewSource,
    /// The exit code that the review alone would have.
    exit_code: u8,
    /// The number of unresolved findings of each severity.
    findings: BTreeMap<Severity, u32>,
    /// The engine; `null` if there is no review.
    engine: Option<Engine>,
    /// The cost to the batch, in dollars; `null` if unknown.
    cost_usd: Option<f64>,
    /// The tokens that the batch sent for it, cached ones included; `null` if unknown.
    input_tokens: Option<u64>,
    /// The tokens that it received.
    output_tokens: Option<u64>,
    /// The reviewed commit.
    head: Option<String>,
    /// The commit that it was compared with.
    base: Option<String>,
    /// The run, for `review show`.
    run: Option<String>,
    /// The name of its folder beside the index.
    folder: Option<String>,
    /// Wall time in milliseconds.
    took_ms: u64,
}

/// A change that needed no review.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct LeftOutJson {
    /// Its repository.
    repository: String,
    /// Its branch.
    name: String,
    /// The reason.
    reason: String,
}

/// One line of the output for programs that read lines.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LineJson {
    Review(EntryJson),
    LeftOut(LeftOutJson),
    End {
        schema: String,
        took_ms: u64,
        shard: Option<String>,
        interrupted: bool,
        exit_code: u8,
        totals: TotalsJson,
        economy: Option<SavingsJson>,
    },
}

/// The reason why a file is no index of a batch.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum IndexParseError {
    #[error("it is not an index of a batch: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("it has the schema {0:?}, this program reads {SCHEMA}: use the version that wrote it")]
    Schema(String),
    #[error("{field} cannot be {value:?}")]
    Value { field: &'static str, value: String },
}

/// Renders the index as one document.
pub fn json(index: &BatchIndex) -> Vec<u8> {
    let document = IndexJson {
        schema: SCHEMA.to_owned(),
        version: index.version.clone(),
        started_at: index.started_at.clone(),
        took_ms: index.took_ms,
        shard: index.shard.map(|shard| shard.to_string()),
        interrupted: index.interrupted,
        exit_code: index.exit_code(),
        totals: totals(index),
        economy: index.savings.map(savings),
        reviews: index.entries.iter().map(entry).collect(),
        left_out: index.left_out.iter().map(left_out).collect(),
    };
    let mut out = escape_invisible(serde_json::to_string_pretty(&document).unwrap_or_default()).into_bytes();
    out.push(b'\n');
    out
}

/// Renders the row of one review.
pub fn row(entry: &BatchEntry) -> serde_json::Value {
    serde_json::to_value(self::entry(entry)).unwrap_or_default()
}

/// Renders the index as lines: one for each review and each change that was left out, and the sums.
pub fn lines(index: &BatchIndex) -> Vec<u8> {
    let end = LineJson::End {
        schema: SCHEMA.to_owned(),
        took_ms: index.took_ms,
        shard: index.shard.map(|shard| shard.to_string()),
        interrupted: index.interrupted,
        exit_code: index.exit_code(),
        totals: totals(index),
        economy: index.savings.map(savings),
    };
    let reviews = index.entries.iter().map(|row| LineJson::Review(entry(row)));
    let left_out = index.left_out.iter().map(|left| LineJson::LeftOut(left_out(left)));
    let all = reviews.chain(left_out).chain([end]);
    let line = |line: LineJson| escape_invisible(serde_json::to_string(&line).unwrap_or_default()) + "\n";
    all.map(line).collect::<String>().into_bytes()
}

fn totals(index: &BatchIndex) -> TotalsJson {
    let totals = index.totals();
    TotalsJson {
        outcomes: totals.outcomes,
        unchanged: totals.unchanged,
        findings: totals.findings,
        cost_usd: totals.cost.usd(),
        unknown_costs: totals.unknown_costs,
    }
}

fn savings(savings: BatchSavings) -> SavingsJson {
    let BatchSavings { turns, batches, cost, normal_cost, unknown_costs } = savings;
    SavingsJson { turns, batches, cost_usd: cost.usd(), normal_cost_usd: normal_cost.usd(), unknown_costs }
}

fn entry(entry: &BatchEntry) -> EntryJson {
    EntryJson {
        repository: strip_line(&entry.repository),
        name: strip_line(&entry.name),
        target: entry.target.as_deref().map(strip_line),
        outcome: entry.outcome,
        reason: entry.reason.as_deref().map(strip_line),
        source: entry.source,
        exit_code: entry.exit_code(),
        findings: entry.findings.clone(),
        engine: entry.engine,
        cost_usd: entry.cost.map(Money::usd),
        input_tokens: entry.tokens.map(|tokens| tokens.input),
        output_tokens: entry.tokens.map(|tokens| tokens.output),
        head: entry.head.clone(),
        base: entry.base.clone(),
        run: entry.run.map(|run| run.to_string()),
        folder: entry.folder.clone(),
        took_ms: entry.took_ms,
    }
}

fn left_out(left: &LeftOutChange) -> LeftOutJson {
    let LeftOutChange { repository, name, reason } = left;
    LeftOutJson { repository: strip_line(repository), name: strip_line(name), reason: strip_line(reason) }
}

/// Parses an index.
pub fn parse(bytes: &[u8]) -> Result<BatchIndex, IndexParseError> {
    /// The field that tells the version.
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let Head { schema } = serde_json::from_slice(bytes)?;
    if schema != SCHEMA {
        return Err(IndexParseError::Schema(strip_line(&schema)));
    }
    let document: IndexJson = serde_json::from_slice(bytes)?;
    let shard =
        document.shard.as_deref().map(|text| text.parse::<Shard>().map_err(|_| wrong("shard", text))).transpose()?;
    Ok(BatchIndex {
        version: strip_line(&document.version),
        started_at: strip_line(&document.started_at),
        took_ms: document.took_ms,
        shard,
        interrupted: document.interrupted,
        savings: document.economy.map(parse_savings).transpose()?,
        entries: document.reviews.into_iter().map(parse_entry).collect::<Result<_, _>>()?,
        left_out: document.left_out.into_iter().map(parse_left_out).collect(),
    })
}

fn wrong(field: &'static str, value: &str) -> IndexParseError {
    IndexParseError::Value { field, value: strip_line(value) }
}

fn parse_cost(field: &'static str, usd: f64) -> Result<Money, IndexParseError> {
    Money::from_usd(usd).ok_or_else(|| wrong(field, &usd.to_string()))
}

fn parse_savings(savings: SavingsJson) -> Result<BatchSavings, IndexParseError> {
    let SavingsJson { turns, batches, cost_usd, normal_cost_usd, unknown_costs } = savings;
    let (cost, normal_cost) = (parse_cost("cost_usd", cost_usd)?, parse_cost("normal_cost_usd", normal_cost_usd)?);
    Ok(BatchSavings { turns, batches, cost, normal_cost, unknown_costs })
}

fn parse_entry(entry: EntryJson) -> Result<BatchEntry, IndexParseError> {
    let is_plain = |name: &String| {
        !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    let folder = entry.folder.map(|name| if is_plain(&name) { Ok(name) } else { Err(wrong("folder", &name)) });
    let run = entry.run.map(|text| text.parse::<RunId>().map_err(|_| wrong("run", &text)));
    let cost = entry.cost_usd.map(|usd| parse_cost("cost_usd", usd));
    Ok(BatchEntry {
        repository: strip_line(&entry.repository),
        name: strip_line(&entry.name),
        target: entry.target.as_deref().map(strip_line),
        outcome: entry.outcome,
        reason: entry.reason.as_deref().map(strip_line),
        source: entry.source,
        exit_code: entry.exit_code,
        ended: None,
        findings: entry.findings,
        engine: entry.engine,
        cost: cost.transpose()?,
        tokens: entry.input_tokens.zip(entry.output_tokens).map(|(input, output)| SpentTokens { input, output }),
        head: entry.head.as_deref().map(strip_line),
        base: entry.base.as_deref().map(strip_line),
        run: run.transpose()?,
        folder: folder.transpose()?,
        took_ms: entry.took_ms,
    })
}

fn parse_left_out(left: LeftOutJson) -> LeftOutChange {
    let LeftOutJson { repository, name, reason } = left;
    LeftOutChange { repository: strip_line(&repository), name: strip_line(&name), reason: strip_line(&reason) }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::index;
    use super::*;

    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<IndexJson>().to_value();
        let schema = serde_json::to_string_pretty(&schema).unwrap();
        crate::generated::assert_file("docs/batch.schema.json", &format!("{schema}\n"));
    }

    #[test]
    fn an_index_reads_back() {
        let mut stripped = index();
        stripped.entries[1].name = strip_line(&stripped.entries[1].name);
        stripped.entries[2].reason = stripped.entries[2].reason.as_deref().map(strip_line);
        assert_eq!(parse(&json(&index())).unwrap(), stripped);
        let text = String::from_utf8(lines(&index())).unwrap();
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{text}");
    }

    #[test]
    fn an_index_of_somebody_else_names_no_folder_elsewhere() {
        for (from, to, field) in [
            ("feature-a-0a1b2c3d", "../../etc", "folder"),
            ("feature-a-0a1b2c3d", ".git", "folder"),
            ("\"2/5\"", "\"9/5\"", "shard"),
            ("a0000000-0000-4000-8000-000000000001", "a/b", "run"),
        ] {
            let text = String::from_utf8(json(&index())).unwrap().replace(from, to);
            let fault = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(fault.starts_with(field), "{fault}");
        }
        assert!(parse(br#"{"schema":"review-batch/2"}"#).unwrap_err().to_string().contains("review-batch/2"));
        assert!(parse(b"[]").is_err());
    }
}
