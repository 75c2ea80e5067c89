//! The built-in rows, and a file laid over them.

use super::*;

fn over(text: &str) -> ProviderTable {
    ProviderTable::built_in().unwrap().merge_file("mine.toml", text).unwrap()
}

fn refused(text: &str) -> String {
    ProviderTable::built_in().unwrap().merge_file("mine.toml", text).unwrap_err().to_string()
}

#[test]
fn the_built_in_rows_can_be_read_and_each_knows_how_large_any_model_is() {
    let table = ProviderTable::built_in().unwrap();
    assert!(table.rows().len() >= 5);
    for row in table.rows() {
        let facts = row.facts("no such model");
        assert!(facts.context_window.is_some() && facts.max_output.is_some(), "{}", row.name);
        assert_eq!(facts.prices, None, "{}: a model that nobody knows has no price", row.name);
    }
}

#[test]
fn a_longer_beginning_says_more_than_a_shorter_one_and_a_name_says_most() {
    let table = over(
        "[[provider]]\nname = 'acme'\nbase_url = 'https://acme.example/v1'\n\
         [[provider.model]]\nprefix = ''\ncontext_window = 8000\nmax_output = 1000\n\
         [[provider.model]]\nprefix = 'big'\ncontext_window = 64000\n\
         [[provider.model]]\nname = 'big-one'\ntools = false\nprices = { input = 0.15, output = 2, on = 2026-11-01 }\n",
    );
    let row = table.find("acme").unwrap();
    assert_eq!((row.wire, row.needs_key, &*row.key_header), (WireFormat::Chat, false, "authorization"));
    let facts = row.facts("big-one-2026-08-05");
    assert_eq!((facts.context_window, facts.max_output, facts.tools), (Some(64_000), Some(1_000), Some(false)));
    let prices = facts.prices.unwrap();
    assert_eq!((prices.input, prices.output), ("0.15".parse().unwrap(), "2".parse().unwrap()));
    assert_eq!(prices.on, "2026-11-01".parse().unwrap());
    let facts = row.facts("big-one-turbo");
    assert_eq!((facts.tools, facts.prices), (None, None), "another model has another price");
}

#[test]
fn an_edition_of_a_model_is_told_from_another_model() {
    for end in ["", "-latest", "-20250805", "-2025-08-05", "@20250805", "-2512"] {
        assert!(is_snapshot(end), "{end:?}");
    }
    for end in ["-pro", "-mini-2025-08-05", "1", ".1", "-", "-1", "-123456789", "--"] {
        assert!(!is_snapshot(end), "{end:?}");
    }
}

#[test]
fn what_an_entry_does_not_say_stays() {
    let table = over("[[provider]]\nname = 'anthropic'\n[[provider.model]]\nprefix = ''\nmax_output = 1234\n");
    let (row, facts) = (table.find("anthropic").unwrap(), table.find("anthropic").unwrap().facts("x"));
    assert_eq!((&*row.base_url, row.needs_key), ("https://api.anthropic.com", true));
    assert_eq!((facts.context_window, facts.max_output), (Some(200_000), Some(1_234)));
    assert_eq!(table.rows().len(), ProviderTable::built_in().unwrap().rows().len());
}

#[test]
fn a_usual_key_does_not_follow_a_server_that_may_need_none_elsewhere() {
    let there = "[[provider]]\nname = 'openai-chat'\nbase_url = 'https://mine.example/v1'\n";
    assert!(over(there).find("openai-chat").unwrap().key_variables.is_empty());
    let with_key = format!("{there}key_variables = ['OPENAI_API_KEY']\n");
    assert_eq!(over(&with_key).find("openai-chat").unwrap().key_variables.len(), 1);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let acme = "[[provider]]\nname = 'acme'\nbase_url = 'https://acme.example'\n";
    for (text, said) in [
        ("[[provider]]\nname = 'x y'\n".to_owned(), "mine.toml:2: \"x y\" is no name of a provider"),
        ("[[provider]]\nname = 'auto'\nbase_url = 'https://a'\n".to_owned(), "mine.toml:2: \"auto\" is no name"),
        ("[[provider]]\nname = 'acme'\n".to_owned(), "mine.toml:1: the new provider \"acme\" needs a base_url"),
        (format!("{acme}\n{acme}"), "mine.toml:5: \"acme\" stands in line 1 already"),
        (format!("{acme}colour = 'red'\n"), "mine.toml:4: unknown field `colour`"),
        (format!("{acme}wire = 'telex'\n"), "mine.toml:4: unknown variant `telex`"),
        (format!("{acme}key_variables = ['sk-hunter2']\n"), "mine.toml:4: \"sk-hunter2\" is no name of a variable"),
        (format!("{acme}key_header = 'a b'\n"), "mine.toml:4: \"a b\" is no name of a header"),
        (format!("{acme}[[provider.model]]\n"), "mine.toml:4: a model has either a name or a prefix"),
        (format!("{acme}[[provider.model]]\nname = 'a'\ncontext_window = 3\n"), "mine.toml:6: context_window must be"),
        (
            format!("{acme}[[provider.model]]\nname = 'a'\n[[provider.model]]\nname = 'a'\n"),
            "mine.toml:6: \"a\" stands in line 4 already",
        ),
        (
            format!("{acme}[[provider.model]]\nname = 'a'\nprices = {{ input = -1, output = 2, on = 2026-11-01 }}\n"),
            "mine.toml:6: a price is US dollars",
        ),
        (
            format!("{acme}[[provider.model]]\nname = 'a'\nprices = {{ input = 1, output = 2 }}\n"),
            "mine.toml:6: missing field `on`",
        ),
        ("[[provider]\n".to_owned(), "mine.toml:1: "),
        ("providers = 3\n".to_owned(), "mine.toml:1: unknown field `providers`"),
    ] {
        let told = refused(&text);
        assert!(told.starts_with(said), "{text}\n{told}");
    }
    for address in [
        "ftp://a",
        "https://me:pw@a",
        "https://a?key=x",
        "https://a b",
        "https://{x}",
        "https://{A",
        "https://A}",
        "{A}}",
    ] {
        let told = refused(&format!("[[provider]]\nname = 'acme'\nbase_url = '{address}'\n"));
        assert!(told.starts_with("mine.toml:3: base_url must be"), "{address}: {told}");
    }
}

#[test]
fn an_address_is_put_together_from_variables() {
    let table = over("[[provider]]\nname = 'acme'\nbase_url = 'https://{WHERE}.acme.example/{WHO}/v1'\n");
    let row = table.find("acme").unwrap();
    assert_eq!(row.placeholders().collect::<Vec<_>>(), ["WHERE", "WHO"]);
    assert_eq!(row.address(|name| Some(name.to_lowercase())), Ok("https://where.acme.example/who/v1".to_owned()));
    assert_eq!(row.address(|name| (name == "WHERE").then(|| "x".to_owned())), Err("WHO"));
    assert!(table.variables().iter().any(|name| &**name == "WHERE"));
}
