//! Which models there are: a page for people, JSON for machines. Main functions: [`page`], [`json`].

use serde_json::{Value, json};

use super::columns::aligned;
use crate::domain::money::Money;
use crate::domain::offer::{Key, Offer, OfferedModel, Quote, There};
use crate::domain::text::{counted, strip_line};

/// The version of the JSON's shape.
pub const SCHEMA: &str = "models/1";

/// How many names that nothing is known of are shown.
const NAMES: usize = 40;

/// Each provider, what stands in its way, and the models of those that nothing stands in the way of; with `whole`, of all.
pub fn page(offers: &[Offer], whole: bool) -> String {
    let mut out = String::new();
    for offer in offers {
        out.push_str(&head(offer));
        if whole || offer.lacks.is_none() {
            out.push_str(&table(&offer.models));
        }
        out.push_str(&there(offer));
        out.push('\n');
    }
    let hidden = offers.iter().filter(|offer| offer.lacks.is_some()).count();
    if hidden > 0 && !whole {
        out.push_str("The models of a provider that cannot be used yet: review models PROVIDER\n");
    }
    out.push_str(
        "window: tokens of a request and its answer. Prices: US dollars for a million tokens sent/received, (read from/written to a cache), and the \
         day on which they were looked up; - is unknown.\n",
    );
    out
}

fn head(offer: &Offer) -> String {
    let address = offer.address.as_deref().map_or_else(|| "address unknown".to_owned(), strip_line);
    let mut out = format!("{}  {} ({}), {address}\n", offer.name, strip_line(&offer.title), offer.wire);
    let either = |by: &[String]| by.join(" or ");
    let key = match &offer.key {
        Key::Set { by } => format!("key: {by} is set (not shown)"),
        Key::Missing { by } => format!("key: none; set {}", either(by)),
        Key::Unset { by } => format!("key: none; where it asks for one, set {}", either(by)),
    };
    out.push_str(&format!("  {key}\n"));
    match &offer.lacks {
        // The line above says it already.
        Some(_) if matches!(offer.key, Key::Missing { .. }) => {}
        Some(lacks) => out.push_str(&format!("  cannot be used: {}\n", strip_line(lacks))),
        None => {}
    }
    if let Some(model) = &offer.default_model {
        out.push_str(&format!("  {} alone means {}\n", offer.name, strip_line(model)));
    }
    out
}

fn table(models: &[OfferedModel]) -> String {
    let heading = ["model", "window", "answer", "tools", "parallel", "cache", "thinks", "prices", ""];
    let mut rows = vec![heading.map(str::to_owned)];
    rows.extend(models.iter().map(|model| {
        let name = strip_line(&model.name);
        let name = match (model.is_prefix, name.is_empty()) {
            (true, true) => "(any other)".to_owned(),
            (true, false) => format!("{name}…"),
            (false, _) => name,
        };
        let (prices, on) = match &model.prices {
            None => ("-".to_owned(), String::new()),
            Some(quote) => (prices(quote, model.dearer.as_ref()), quote.on.to_string()),
        };
        [
            name,
            number(model.context_window),
            number(model.max_output.map(u64::from)),
            yes(model.tools),
            yes(model.parallel_tools),
            model.caching.unwrap_or("-").to_owned(),
            yes(model.reasoning),
            prices,
            on,
        ]
    }));
    aligned(&rows, <[String]>::len).lines().map(|line| format!("  {line}\n")).collect()
}

fn prices(quote: &Quote, dearer: Option<&(u64, Quote)>) -> String {
    let one = |quote: &Quote| {
        let cache = match (quote.cache_read, quote.cache_write) {
            (None, None) => String::new(),
            (read, write) => format!(" ({}/{})", dollars(read), dollars(write)),
        };
        format!("{}/{}{cache}", dollars(Some(quote.input)), dollars(Some(quote.output)))
    };
    let large = dearer.map(|(above, quote)| format!("; above {} {}", number(Some(*above)), one(quote)));
    format!("{}{}", one(quote), large.unwrap_or_default())
}

/// An amount in as few digits as it has.
fn dollars(amount: Option<Money>) -> String {
    let Some(amount) = amount else { return "-".to_owned() };
    let nanos = amount.nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `200k`, `1.05M`, `1047576`: as short as it can be said exactly.
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

fn yes(is: Option<bool>) -> String {
    match is {
        None => "-",
        Some(true) => "yes",
        Some(false) => "no",
    }
    .to_owned()
}

/// What it says that it has.
fn there(offer: &Offer) -> String {
    match &offer.there {
        None => String::new(),
        Some(There::Fault(fault)) => format!("  asked for its models: {}\n", strip_line(fault)),
        Some(There::Models(names)) => {
            let known = |name: &&String| offer.models.iter().any(|model| !model.is_prefix && model.name == **name);
            let (mut shown, mut hidden): (Vec<&String>, usize) = (names.iter().filter(known).collect(), 0);
            for name in names.iter().filter(|name| !known(name)) {
                if shown.len() < NAMES { shown.push(name) } else { hidden += 1 }
            }
            let list = shown.into_iter().map(|name| strip_line(name)).collect::<Vec<_>>().join(", ");
            let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
            let list = if list.is_empty() { String::new() } else { format!(": {list}{more}") };
            format!("  it has {}{list}\n", counted(names.len(), "model"))
        }
    }
}

/// The same as a document.
pub fn json(offers: &[Offer]) -> String {
    let document = json!({ "schema": SCHEMA, "providers": offers.iter().map(provider).collect::<Vec<_>>() });
    format!("{document:#}\n")
}

fn provider(offer: &Offer) -> Value {
    let (state, by) = match &offer.key {
        Key::Set { by } => ("set", vec![by.clone()]),
        Key::Missing { by } => ("missing", by.clone()),
        Key::Unset { by } => ("unset", by.clone()),
    };
    let there = match &offer.there {
        None => Value::Null,
        Some(There::Models(names)) => json!({ "models": names }),
        Some(There::Fault(fault)) => json!({ "fault": strip_line(fault) }),
    };
    json!({
        "name": offer.name,
        "title": strip_line(&offer.title),
        "wire": offer.wire,
        "address": offer.address.as_deref().map(strip_line),
        "key": { "state": state, "by": by },
        "lacks": offer.lacks.as_deref().map(strip_line),
        "default_model": offer.default_model,
        "models": offer.models.iter().map(model).collect::<Vec<_>>(),
        "there": there,
    })
}

fn model(model: &OfferedModel) -> Value {
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

fn quote(quote: &Quote) -> Value {
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

    fn offer() -> Offer {
        let quote = |input: &str, output: &str| Quote {
            input: input.parse().unwrap(),
            output: output.parse().unwrap(),
            cache_read: "0.02".parse().ok(),
            cache_write: None,
            on: "2026-11-21".parse().unwrap(),
        };
        let model = OfferedModel {
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
        let other = OfferedModel { name: String::new(), is_prefix: true, prices: None, dearer: None, ..model.clone() };
        Offer {
            name: "acme".to_owned(),
            title: "Acme\u{1b}[31m".to_owned(),
            wire: "chat",
            address: Some("https://acme.example/v1".to_owned()),
            key: Key::Set { by: "ACME_API_KEY".to_owned() },
            lacks: None,
            default_model: Some("big".to_owned()),
            models: vec![model, other],
            there: Some(There::Models(vec!["big".to_owned(), "new".to_owned()])),
        }
    }

    #[test]
    fn a_page_says_what_is_known_and_what_is_not() {
        insta::assert_snapshot!(page(&[offer()], false));
        let missing = Key::Missing { by: vec!["ACME_API_KEY".to_owned(), "acme.api_key".to_owned()] };
        let offer = Offer { key: missing, lacks: Some("no key".to_owned()), there: None, ..offer() };
        let page = page(&[offer], false);
        assert!(page.contains("key: none; set ACME_API_KEY or acme.api_key") && !page.contains("272k"), "{page}");
    }

    #[test]
    fn a_document_holds_everything_and_null_for_what_is_unknown() {
        let value: Value = serde_json::from_str(&json(&[offer()])).unwrap();
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
