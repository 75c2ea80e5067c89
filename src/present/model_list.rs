//! The list of models: a page for people, JSON for machines. Main functions: [`summary`], [`page`], [`json()`].

use serde_json::{Value, json};

use textwrap::Options;

use super::columns::align_columns;
use crate::domain::money::Money;
use crate::domain::provider_info::{
    AssistantInfo, ModelInfo, PriceList, ProviderInfo, ProviderKeyState, ProviderModels,
};
use crate::domain::text::{count_noun, strip_line};

/// The version of the JSON's shape.
pub const SCHEMA: &str = "models/1";

/// Upper bound on the listed names without further data.
const NAMES: usize = 40;

/// Checks whether a provider is a server on this machine, which needs no key.
fn is_local(offer: &ProviderInfo) -> bool {
    let host = offer.address.as_deref().and_then(|address| address.split_once("://")).map_or("", |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// Renders which providers and installed assistants can be used now, and what the others need: one line each, the usable ones first.
pub fn summary(offers: &[ProviderInfo], assistants: &[AssistantInfo]) -> String {
    let row = |offer: &ProviderInfo| {
        let (state, detail) = match (&offer.lacks, &offer.key) {
            (None, ProviderKeyState::Set { by }) => ("ready", by.clone()),
            (None, ProviderKeyState::Unset { by }) if !is_local(offer) => {
                ("", format!("set {}", by.first().map_or("its key", String::as_str)))
            }
            // A server of one's own may not run.
            (None, _) => (
                "no key needed",
                format!(
                    "at {}; `review models {} --check` asks it",
                    offer.address.as_deref().unwrap_or("-"),
                    offer.name
                ),
            ),
            (Some(_), ProviderKeyState::Missing { by }) => {
                ("", format!("set {}", by.first().map_or("its key", String::as_str)))
            }
            (Some(lacks), _) => match &offer.address_variable {
                Some(variable) => ("", format!("set {variable}")),
                None => ("", lacks.clone()),
            },
        };
        let detail = strip_line(&detail);
        vec![offer.name.clone(), if state.is_empty() { detail } else { format!("{state} ({detail})") }]
    };
    let rank = |offer: &&ProviderInfo| match (&offer.lacks, &offer.key) {
        (None, ProviderKeyState::Set { .. }) => 0,
        (None, _) if is_local(offer) => 1,
        _ => 2,
    };
    let mut sorted: Vec<&ProviderInfo> = offers.iter().collect();
    sorted.sort_by_key(rank);
    let ready = sorted.iter().filter(|offer| rank(offer) == 0).count();
    let mut rows: Vec<Vec<String>> = sorted.into_iter().map(row).collect();
    let installed = assistants.iter().map(|assistant| {
        let state = format!("installed ({}); `review --agent {}` uses its login", assistant.program, assistant.word);
        vec![assistant.name.to_owned(), state]
    });
    rows.splice(ready..ready, installed);
    let mut out = align_columns(&rows, |_| 1);
    let next = match (ready, assistants) {
        (0, []) => "No provider has a key here: without one, `review` uses the built-in rules.",
        (0, _) => "No provider has a key here: without one and without --agent, `review` uses the built-in rules.",
        _ => "Use one with --model PROVIDER or PROVIDER/NAME.",
    };
    out.push_str(&format!("\n{next}\nModels, prices and limits: review models PROVIDER, or --all\n"));
    out
}

/// Renders each provider, the reason why it cannot be used, and the models of the usable ones; with `whole`, of all. The page is `width`
/// columns wide, as far as names allow.
pub fn page(offers: &[ProviderInfo], whole: bool, width: usize) -> String {
    let mut out = String::new();
    for offer in offers {
        out.push_str(&head(offer, width));
        if whole || offer.lacks.is_none() {
            out.push_str(&table(&offer.models));
        }
        out.push_str(&reported_models(offer, width));
        out.push('\n');
    }
    let hidden = offers.iter().filter(|offer| offer.lacks.is_some()).count();
    if hidden > 0 && !whole {
        out.push_str("The models of a provider that cannot be used yet: review models PROVIDER\n");
    }
    for legend in [
        "window: tokens of a request and its answer together; answer: tokens of one answer; - is unknown.",
        "prices: US dollars for a million tokens sent/received (read from/written to a cache), and when they were looked up.",
    ] {
        out.push_str(&textwrap::fill(legend, width));
        out.push('\n');
    }
    out
}

/// Renders a line below a provider's name.
fn line(text: &str, width: usize) -> String {
    let options = Options::new(width).initial_indent("  ").subsequent_indent("    ").break_words(false);
    format!("{}\n", textwrap::fill(text, options))
}

fn head(offer: &ProviderInfo, width: usize) -> String {
    let address = match (&offer.address, &offer.address_variable) {
        (Some(address), _) => strip_line(address),
        (None, Some(variable)) => format!("address unknown: set {variable}"),
        (None, None) => "address unknown".to_owned(),
    };
    let mut out = format!("{}  {} ({}), {address}\n", offer.name, strip_line(&offer.title), offer.wire);
    let either = |by: &[String]| by.join(" or ");
    let key = match &offer.key {
        ProviderKeyState::Set { by } => format!("key: {by} is set (not shown)"),
        ProviderKeyState::Missing { by } => format!("key: none; set {}", either(by)),
        ProviderKeyState::Unset { by } => format!("key: none; where it asks for one, set {}", either(by)),
    };
    out.push_str(&line(&key, width));
    match &offer.lacks {
        // The line above says it already.
        Some(_) if matches!(offer.key, ProviderKeyState::Missing { .. }) => {}
        Some(lacks) => out.push_str(&line(&format!("cannot be used: {}", strip_line(lacks)), width)),
        None => {}
    }
    if let Some(model) = &offer.default_model {
        out.push_str(&line(&format!("{} alone means {}", offer.name, strip_line(model)), width));
    }
    out
}

/// The columns that are shown only once if all rows have the same value.
const ABILITIES: std::ops::Range<usize> = 3..7;

fn table(models: &[ModelInfo]) -> String {
    let heading = ["model", "window", "answer", "tools", "parallel", "cache", "thinks", "prices", ""];
    // Named models come before entries for all names with a prefix, and the one for all other names is the last.
    let (mut wide, named): (Vec<_>, Vec<_>) = models.iter().partition(|model| model.is_prefix);
    wide.sort_by_key(|model| model.name.is_empty());
    let models: Vec<&ModelInfo> = named.into_iter().chain(wide).collect();
    let rows: Vec<[String; 9]> = models.iter().map(|model| cells(model)).collect();
    let once: Vec<usize> = match rows.as_slice() {
        [first, _, ..] => ABILITIES.filter(|at| rows.iter().all(|row| row[*at] == first[*at])).collect(),
        _ => Vec::new(),
    };
    let kept = |cells: &[String; 9]| -> Vec<String> {
        cells.iter().enumerate().filter(|(at, _)| !once.contains(at)).map(|(_, cell)| cell.clone()).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(&heading.map(str::to_owned)).chain(&rows).map(kept).collect();
    let mut out = String::new();
    if let (Some(first), false) = (rows.first(), once.is_empty()) {
        let known = once.iter().filter(|at| first[**at] != "-").map(|at| format!("{} {}", heading[*at], first[*at]));
        let known = known.collect::<Vec<_>>().join(", ");
        if !known.is_empty() {
            out.push_str(&format!("  all of them: {known}\n"));
        }
    }
    let dearer = std::iter::once(None).chain(models.iter().map(|model| model.dearer.as_ref()));
    for (line, dearer) in align_columns(&lines, <[String]>::len).lines().zip(dearer) {
        out.push_str(&format!("  {line}\n"));
        if let Some((above, quote)) = dearer {
            out.push_str(&format!("    a request above {} tokens: {}\n", number(Some(*above)), prices(quote)));
        }
    }
    out
}

fn cells(model: &ModelInfo) -> [String; 9] {
    let name = strip_line(&model.name);
    let name = match (model.is_prefix, name.is_empty()) {
        (true, true) => "(any other)".to_owned(),
        (true, false) => format!("{name}…"),
        (false, _) => name,
    };
    let (prices, on) = match &model.prices {
        None => ("-".to_owned(), String::new()),
        Some(quote) => (prices(quote), quote.on.to_string()),
    };
    [
        name,
        number(model.context_window),
        number(model.max_output.map(u64::from)),
        yes_or_no(model.tools),
        yes_or_no(model.parallel_tools),
        model.caching.unwrap_or("-").to_owned(),
        yes_or_no(model.reasoning),
        prices,
        on,
    ]
}

fn prices(quote: &PriceList) -> String {
    let cache = match (quote.cache_read, quote.cache_write) {
        (None, None) => String::new(),
        (read, write) => format!(" ({}/{})", dollars(read), dollars(write)),
    };
    format!("{}/{}{cache}", dollars(Some(quote.input)), dollars(Some(quote.output)))
}

/// Formats an amount with as few digits as possible.
fn dollars(amount: Option<Money>) -> String {
    let Some(amount) = amount else { return "-".to_owned() };
    let nanos = amount.nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number as short as it can be exact: `200k`, `1.05M`, `1047576`.
fn number(number: Option<u64>) -> String {
    match number {
        None => "-".to_owned(),
        Some(number) if number >= 1_000_000 && number.is_multiple_of(10_000) => {
            let text = format!("{}.{:02}", number / 1_000_000, number / 10_000 % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
        Some(number) if number >= 1_000 && number.is_multiple_of(1_000) => format!("{}k", number / 1_000),
        Some(number) => number.to_string(),
    }
}

fn yes_or_no(is: Option<bool>) -> String {
    match is {
        None => "-",
        Some(true) => "yes",
        Some(false) => "no",
    }
    .to_owned()
}

/// Lists the models that the provider reports.
fn reported_models(offer: &ProviderInfo, width: usize) -> String {
    match &offer.there {
        None => String::new(),
        Some(ProviderModels::Fault(fault)) => line(&format!("asked for its models: {}", strip_line(fault)), width),
        Some(ProviderModels::Models(names)) => {
            let known = |name: &&String| offer.models.iter().any(|model| !model.is_prefix && model.name == **name);
            let (mut shown, mut hidden): (Vec<&String>, usize) = (names.iter().filter(known).collect(), 0);
            for name in names.iter().filter(|name| !known(name)) {
                if shown.len() < NAMES { shown.push(name) } else { hidden += 1 }
            }
            let list = shown.into_iter().map(|name| strip_line(name)).collect::<Vec<_>>().join(", ");
            let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
            let list = if list.is_empty() { String::new() } else { format!(": {list}{more}") };
            line(&format!("it has {}{list}", count_noun(names.len(), "model")), width)
        }
    }
}

/// Renders the list as a document.
pub fn json(offers: &[ProviderInfo], assistants: &[AssistantInfo]) -> String {
    let assistants = assistants.iter().map(|assistant| {
        json!({ "name": assistant.name, "agent": assistant.word, "title": assistant.title, "program": assistant.program })
    });
    let document = json!({
        "schema": SCHEMA,
        "providers": offers.iter().map(provider).collect::<Vec<_>>(),
        "assistants": assistants.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn provider(offer: &ProviderInfo) -> Value {
    let (state, by) = match &offer.key {
        ProviderKeyState::Set { by } => ("set", vec![by.clone()]),
        ProviderKeyState::Missing { by } => ("missing", by.clone()),
        ProviderKeyState::Unset { by } => ("unset", by.clone()),
    };
    let there = match &offer.there {
        None => Value::Null,
        Some(ProviderModels::Models(names)) => json!({ "models": names }),
        Some(ProviderModels::Fault(fault)) => json!({ "fault": strip_line(fault) }),
    };
    json!({
        "name": offer.name,
        "title": strip_line(&offer.title),
        "wire": offer.wire,
        "address": offer.address.as_deref().map(strip_line),
        "address_variable": offer.address_variable,
        "key": { "state": state, "by": by },
        "lacks": offer.lacks.as_deref().map(strip_line),
        "default_model": offer.default_model,
        "models": offer.models.iter().map(model).collect::<Vec<_>>(),
        "there": there,
    })
}

fn model(model: &ModelInfo) -> Value {
    let named = if model.is_prefix { "prefix" } else { "name" };
    let mut prices = model.prices.as_ref().map_or(Value::Null, quote);
    if let (Value::Object(prices), Some((above, dearer))) = (&mut prices, &model.dearer) {
        let mut dearer = quote(dearer);
        if let Value::Object(fields) = &mut dearer {
            fields.shift_remove("on");
            fields.insert("above_tokens".to_owned(), json!(above));
        }
        prices.insert("dearer".to_owned(), dearer);
    }
    json!({
        named: model.name,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "tools": model.tools,
        "parallel_tools": model.parallel_tools,
        "caching": model.caching,
        "reasoning": model.reasoning,
        "prices": prices,
    })
}

fn quote(quote: &PriceList) -> Value {
    json!({
        "input_usd": quote.input.usd(),
        "output_usd": quote.output.usd(),
        "cache_read_usd": quote.cache_read.map(Money::usd),
        "cache_write_usd": quote.cache_write.map(Money::usd),
        "on": quote.on.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> ProviderInfo {
        let quote = |input: &str, output: &str| PriceList {
            input: input.parse().unwrap(),
            output: output.parse().unwrap(),
            cache_read: "0.02".parse().ok(),
            cache_write: None,
            on: "2026-11-21".parse().unwrap(),
        };
        let model = ModelInfo {
            name: "big".to_owned(),
            is_prefix: false,
            context_window: Some(1_050_000),
            max_output: Some(128_000),
            tools: Some(true),
            parallel_tools: None,
            caching: Some("marks"),
            reasoning: Some(false),
            prices: Some(quote("0.15", "2")),
            dearer: Some((272_000, quote("0.3", "3"))),
        };
        let other = ModelInfo { name: String::new(), is_prefix: true, prices: None, dearer: None, ..model.clone() };
        ProviderInfo {
            name: "acme".to_owned(),
            title: "Acme\u{1b}[31m".to_owned(),
            wire: "chat",
            address: Some("https://acme.example/v1".to_owned()),
            address_variable: None,
            key: ProviderKeyState::Set { by: "ACME_API_KEY".to_owned() },
            lacks: None,
            default_model: Some("big".to_owned()),
            models: vec![model, other],
            there: Some(ProviderModels::Models(vec!["big".to_owned(), "new".to_owned()])),
        }
    }

    #[test]
    fn a_page_says_what_is_known_and_what_is_not() {
        insta::assert_snapshot!(page(&[offer()], false, 80));
        let missing = ProviderKeyState::Missing { by: vec!["ACME_API_KEY".to_owned(), "acme.api_key".to_owned()] };
        let offer = ProviderInfo { key: missing, lacks: Some("no key".to_owned()), there: None, ..offer() };
        let page = page(&[offer], false, 80);
        assert!(page.contains("key: none; set ACME_API_KEY or acme.api_key") && !page.contains("272k"), "{page}");
    }

    #[test]
    fn an_address_that_hangs_on_a_variable_says_which() {
        let offer = ProviderInfo { address: None, address_variable: Some("ACME_REGION".to_owned()), ..offer() };
        assert!(page(&[offer], false, 80).contains("address unknown: set ACME_REGION\n"));
    }

    #[test]
    fn a_page_keeps_to_its_width() {
        let names = (0..30).map(|n| format!("model-{n}")).collect();
        let offer = ProviderInfo { there: Some(ProviderModels::Models(names)), ..offer() };
        let fault =
            ProviderInfo { there: Some(ProviderModels::Fault("it said no and no ".repeat(9))), ..offer.clone() };
        let page = page(&[offer, fault], true, 80);
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }

    fn assistant() -> AssistantInfo {
        AssistantInfo { name: "gemini-cli", word: "gemini", title: "Gemini CLI", program: "gemini" }
    }

    #[test]
    fn an_installed_assistant_follows_the_providers_that_are_ready() {
        let page = summary(&[offer()], &[assistant()]);
        assert!(page.contains("\ngemini-cli  installed (gemini); `review --agent gemini` uses its login\n"), "{page}");
        assert!(!summary(&[offer()], &[]).contains("gemini-cli"));
    }

    #[test]
    fn a_document_holds_everything_and_null_for_what_is_unknown() {
        let value: Value = serde_json::from_str(&json(&[offer()], &[assistant()])).unwrap();
        insta::assert_json_snapshot!(value);
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for (is, said) in [
            (200_000, "200k"),
            (1_050_000, "1.05M"),
            (1_000_000, "1M"),
            (1_048_576, "1048576"),
            (65_536, "65536"),
            (7, "7"),
        ] {
            assert_eq!(number(Some(is)), said);
        }
        assert_eq!(dollars("12.50".parse().ok()), "12.5");
        assert_eq!(dollars("0.0028".parse().ok()), "0.0028");
        assert_eq!(dollars("10".parse().ok()), "10");
    }
}
