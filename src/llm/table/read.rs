//! Reading a file of providers and laying it over what is known. Main function: [`merge`].
//!
//! The file's format is described in `docs/models.md`: `[[provider]]` with a `name`, and `[[provider.model]]` with a `name` or a `prefix`. Values
//! that an entry omits stay as they are. Every error is reported with its line.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeTable;

use super::error::{MAX_BYTES, TableError, TableFault};
use super::{Caching, ModelFacts, ModelPattern, ModelRow, ProviderRow};
use crate::domain::day::Day;
use crate::domain::money::Money;
use crate::domain::text::strip_line;
use crate::llm::optional_fields::OptionalField;
use crate::llm::provider::{self, Prices};
use crate::llm::wire_format::WireFormat;

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// Values of `--model` and `--verify-model` that are not providers.
const TAKEN: [&str; 3] = ["auto", "none", "same"];

/// Position in the text, in bytes, and the error.
type LocatedFault = (usize, TableFault);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    #[serde(default)]
    provider: Vec<Spanned<ProviderEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderEntry {
    name: Spanned<String>,
    title: Option<String>,
    wire: Option<WireFormat>,
    key_variables: Option<Vec<Spanned<String>>>,
    base_variables: Option<Vec<Spanned<String>>>,
    base_url: Option<Spanned<String>>,
    needs_key: Option<bool>,
    taken_when_found: Option<bool>,
    key_header: Option<Spanned<String>>,
    default_model: Option<Spanned<String>>,
    requests_per_minute: Option<Spanned<u64>>,
    tokens_per_minute: Option<Spanned<u64>>,
    refuses: Option<Vec<OptionalField>>,
    batches: Option<bool>,
    #[serde(default)]
    model: Vec<Spanned<ModelEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    name: Option<Spanned<String>>,
    prefix: Option<Spanned<String>>,
    context_window: Option<Spanned<u64>>,
    max_output: Option<Spanned<u64>>,
    tools: Option<bool>,
    parallel_tools: Option<bool>,
    caching: Option<Caching>,
    reasoning: Option<bool>,
    prices: Option<PriceQuote>,
    dearer: Option<LargeRequestEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LargeRequestEntry {
    above: u64,
    input: Dollars,
    output: Dollars,
    cache_read: Option<Dollars>,
    cache_write: Option<Dollars>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceQuote {
    input: Dollars,
    output: Dollars,
    cache_read: Option<Dollars>,
    cache_write: Option<Dollars>,
    on: Date,
}

struct Dollars(Money);

struct Date(Day);

/// Numbers, or texts for who wants to be sure of each digit.
impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = text_of(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            serde::de::Error::custom(
                "a price is US dollars for a million tokens, such as 2.50, with nine places at most",
            )
        })
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = text_of(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            serde::de::Error::custom("prices need the day on which they were looked up, such as 2026-11-21")
        })
    }
}

/// Deserializes a number as text: the shortest decimal that is this number is the one written in the file.
fn text_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => text,
        other => other.to_string(),
    })
}

/// Lays a file over rows.
pub(super) fn merge(rows: Vec<Arc<ProviderRow>>, file: &str, text: &str) -> Result<Vec<Arc<ProviderRow>>, TableError> {
    let line = |at: usize| {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        u32::try_from(memchr::memchr_iter(b'\n', before).count() + 1).unwrap_or(u32::MAX)
    };
    let told = |(at, fault): LocatedFault| TableError { file: file.to_owned(), line: line(at), fault };
    if text.len() > MAX_BYTES {
        return Err(told((0, TableFault::TooLarge)));
    }
    let start = |span: Option<Range<usize>>| span.map_or(0, |span| span.start);
    let shape = |span, message: &str| told((start(span), TableFault::Shape(shown(message))));
    let parsed = DeTable::parse(text).map_err(|error| shape(error.span(), error.message()))?;
    let read = ProviderFile::deserialize(toml::Deserializer::from(parsed));
    let read = read.map_err(|error| shape(error.span(), error.message()))?;
    let mut rows = rows;
    let mut seen: Vec<(String, usize)> = Vec::new();
    for entry in read.provider {
        let begins = entry.span().start;
        let entry = entry.into_inner();
        let name = provider_name(&entry.name).map_err(told)?;
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == name) {
            return Err(told((begins, TableFault::Twice(name, line(*first)))));
        }
        seen.push((name.clone(), begins));
        match rows.iter_mut().find(|row| *row.name == *name) {
            Some(row) => {
                let changed = lay(ProviderRow::clone(row), entry, &line).map_err(told)?;
                *row = Arc::new(changed);
            }
            None => {
                let row = blank(&name, &entry).ok_or_else(|| told((begins, TableFault::NoAddress(name.clone()))))?;
                rows.push(Arc::new(lay(row, entry, &line).map_err(told)?));
            }
        }
    }
    Ok(rows)
}

/// Creates a row from a name and what can be guessed.
fn blank(name: &str, entry: &ProviderEntry) -> Option<ProviderRow> {
    let wire = entry.wire.unwrap_or(WireFormat::Chat);
    entry.base_url.as_ref()?;
    Some(ProviderRow {
        name: name.into(),
        title: name.into(),
        needs_key: entry.key_variables.as_ref().is_some_and(|names| !names.is_empty()),
        ..ProviderRow::empty(wire)
    })
}

/// Lays an entry over a row.
fn lay(mut row: ProviderRow, entry: ProviderEntry, line: &dyn Fn(usize) -> u32) -> Result<ProviderRow, LocatedFault> {
    if let Some(title) = entry.title {
        row.title = cut(&title).into();
    }
    if let Some(wire) = entry.wire {
        row.wire = wire;
        row.key_header = wire.key_header().into();
    }
    if let Some(needs_key) = entry.needs_key {
        row.needs_key = needs_key;
    }
    if let Some(taken) = entry.taken_when_found {
        row.taken_when_found = taken;
    }
    if let Some(batches) = entry.batches {
        row.batches = batches;
    }
    if let Some(base_url) = &entry.base_url {
        row.base_url = address(base_url)?.into();
        // The usual key of a server that may need none must not be sent to another server, unless the same entry says so.
        if !row.needs_key && entry.key_variables.is_none() {
            row.key_variables.clear();
        }
    }
    if let Some(names) = &entry.key_variables {
        row.key_variables = names.iter().map(variable).collect::<Result<_, _>>()?;
    }
    if let Some(names) = &entry.base_variables {
        row.base_variables = names.iter().map(variable).collect::<Result<_, _>>()?;
    }
    if let Some(header) = &entry.key_header {
        row.key_header = header_name(header)?.into();
    }
    if let Some(model) = &entry.default_model {
        row.default_model = Some(model_name(model, false)?.into());
    }
    if let Some(number) = &entry.requests_per_minute {
        row.requests_per_minute = Some(small(number, "requests_per_minute", 1, 1_000_000)?);
    }
    if let Some(number) = &entry.tokens_per_minute {
        row.tokens_per_minute = Some(within(number, "tokens_per_minute", 1, 1_000_000_000_000)?);
    }
    if let Some(refuses) = entry.refuses {
        row.refuses = refuses;
    }
    merge_models(&mut row.models, entry.model, line)?;
    Ok(row)
}

/// Merges models into those that are known. New rows precede old ones.
fn merge_models(
    known: &mut Vec<ModelRow>,
    models: Vec<Spanned<ModelEntry>>,
    line: &dyn Fn(usize) -> u32,
) -> Result<(), LocatedFault> {
    let mut seen: Vec<(ModelPattern, usize)> = Vec::new();
    for model in models {
        let begins = model.span().start;
        let model = model.into_inner();
        let fits = match (&model.name, &model.prefix) {
            (Some(name), None) => ModelPattern::Name(model_name(name, false)?.into()),
            (None, Some(prefix)) => ModelPattern::Prefix(model_name(prefix, true)?.into()),
            (Some(_), Some(_)) | (None, None) => return Err((begins, TableFault::NameOrPrefix)),
        };
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == fits) {
            return Err((begins, TableFault::Twice(fits.text().to_owned(), line(*first))));
        }
        seen.push((fits.clone(), begins));
        let facts = facts(&model, begins)?;
        match known.iter_mut().find(|row| row.fits == fits) {
            Some(row) => row.facts = facts.or_else(&row.facts),
            None => known.push(ModelRow { fits, facts }),
        }
    }
    Ok(())
}

fn facts(model: &ModelEntry, begins: usize) -> Result<ModelFacts, LocatedFault> {
    let window = |number: &Spanned<u64>| within(number, "context_window", 1_000, 1_000_000_000);
    let output = |number: &Spanned<u64>| small(number, "max_output", 1, 1_000_000_000);
    if model.dearer.is_some() && model.prices.is_none() {
        return Err((begins, TableFault::DearerAlone));
    }
    Ok(ModelFacts {
        context_window: model.context_window.as_ref().map(window).transpose()?,
        max_output: model.max_output.as_ref().map(output).transpose()?,
        tools: model.tools,
        parallel_tools: model.parallel_tools,
        caching: model.caching,
        reasoning: model.reasoning,
        prices: model.prices.as_ref().map(|quote| prices(quote, model.dearer.as_ref())),
    })
}

fn prices(quote: &PriceQuote, large: Option<&LargeRequestEntry>) -> Prices {
    let own = |dollars: &Option<Dollars>| dollars.as_ref().map(|dollars| dollars.0);
    let PriceQuote { input, output, cache_read, cache_write, on } = quote;
    let large =
        large.map(|LargeRequestEntry { above, input, output, cache_read, cache_write }| provider::LargeRequestPrices {
            above: *above,
            input: input.0,
            output: output.0,
            cache_read: own(cache_read),
            cache_write: own(cache_write),
        });
    let (cache_read, cache_write) = (own(cache_read), own(cache_write));
    Prices { input: input.0, output: output.0, cache_read, cache_write, on: on.0, large }
}

fn within(number: &Spanned<u64>, key: &'static str, least: u64, most: u64) -> Result<u64, LocatedFault> {
    let value = *number.get_ref();
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err((number.span().start, TableFault::Number { key, least, most }))
    }
}

fn small(number: &Spanned<u64>, key: &'static str, least: u64, most: u32) -> Result<u32, LocatedFault> {
    within(number, key, least, most.into()).map(|value| u32::try_from(value).unwrap_or(most))
}

fn provider_name(name: &Spanned<String>) -> Result<String, LocatedFault> {
    let text = name.get_ref();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=40).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with('-');
    if fits && !TAKEN.contains(&text.as_str()) {
        Ok(text.clone())
    } else {
        Err((name.span().start, TableFault::Name(cut(text))))
    }
}

fn model_name(name: &Spanned<String>, may_be_empty: bool) -> Result<String, LocatedFault> {
    let text = name.get_ref();
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    let fits = text.chars().count() <= LONGEST_NAME && !text.contains(is_odd) && (may_be_empty || !text.is_empty());
    if fits { Ok(text.clone()) } else { Err((name.span().start, TableFault::Model(cut(text)))) }
}

fn variable(name: &Spanned<String>) -> Result<Arc<str>, LocatedFault> {
    if is_variable(name.get_ref()) {
        Ok(name.get_ref().as_str().into())
    } else {
        Err((name.span().start, TableFault::Variable(cut(name.get_ref()))))
    }
}

/// Checks for a variable name in capitals, as in shells: anything else may be a key in the wrong place.
fn is_variable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn header_name(name: &Spanned<String>) -> Result<String, LocatedFault> {
    let text = name.get_ref().to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=64).contains(&text.len()) && text.bytes().all(is_plain);
    if fits { Ok(text) } else { Err((name.span().start, TableFault::Header(cut(name.get_ref())))) }
}

/// Checks an address that may be shown; one that begins with a variable is checked when the variable is known.
fn address(text: &Spanned<String>) -> Result<String, LocatedFault> {
    let refused = || (text.span().start, TableFault::Address);
    let address = text.get_ref().trim();
    let has_scheme = ["http://", "https://", "{"].iter().any(|start| address.starts_with(start));
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | '?' | '#' | '"' | '\'');
    if !has_scheme || address.contains(is_odd) || address.chars().count() > 500 {
        return Err(refused());
    }
    let mut parts = address.split('{');
    let plain = parts.next().is_some_and(|first| !first.contains('}'));
    let named =
        parts.all(|part| part.split_once('}').is_some_and(|(name, rest)| is_variable(name) && !rest.contains('}')));
    if plain && named { Ok(address.to_owned()) } else { Err(refused()) }
}

/// Returns a parser's message, on one line.
fn shown(message: &str) -> String {
    strip_line(message).chars().take(300).collect()
}

/// Returns text of the file as a message shows it.
fn cut(text: &str) -> String {
    strip_line(text).chars().take(80).collect()
}
