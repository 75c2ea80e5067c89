//! One whole review by a scripted model, over every wire format.

use serde_json::{Value, json};

use crate::support::model::Wire;
use crate::support::session::{SAME_WINDOW, Talk, Told, shop};

/// What may differ from run to run and from provider to provider.
fn bare(told: &Told) -> Value {
    let mut review = told.review.clone();
    for field in ["/id", "/provenance/started_at", "/provenance/took_ms", "/provenance/provider", "/provenance/model"] {
        *review.pointer_mut(field).unwrap_or_else(|| panic!("{field} is missing: {:#}", told.review)) = Value::Null;
    }
    // Only one wire tells what it wrote to its cache.
    review["provenance"]["usage"]["cache_write_tokens"] = Value::Null;
    for finding in review["findings"].as_array_mut().expect("findings") {
        finding["origin"]["name"] = Value::Null;
    }
    review
}

/// The places at which two values differ.
fn differences(at: &str, one: &Value, other: &Value) -> Vec<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            one.iter().flat_map(|(key, value)| differences(&format!("{at}/{key}"), value, &other[key])).collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.flat_map(|(n, (one, other))| differences(&format!("{at}/{n}"), one, other)).collect()
        }
        (one, other) if one == other => Vec::new(),
        (one, other) => vec![format!("{at}: {one} and {other}")],
    }
}

#[test]
fn the_same_session_gives_the_same_review_on_every_wire() {
    let repo = shop();
    let runs: Vec<Told> = std::thread::scope(|scope| {
        let repo = &repo;
        let run = |wire| {
            scope.spawn(move || Talk::about(repo, "six_turns", wire).with_settings(SAME_WINDOW).ends("", 0, "finished"))
        };
        let runs: Vec<_> = Wire::ALL.into_iter().map(run).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    let first = bare(&runs[0]);
    for (wire, told) in Wire::ALL.into_iter().zip(&runs) {
        let differences = differences("", &first, &bare(told));
        assert!(differences.is_empty(), "{wire:?}: {differences:#?}");
        let provider = told.review["provenance"]["provider"].as_str().expect("a provider");
        assert_eq!((provider, &told.review["provenance"]["model"]), (wire.provider(), &json!("scripted")));
        let usage = &told.review["provenance"]["usage"];
        let cached = usage["cache_read_tokens"].as_u64().expect("it is known");
        assert!(0 < cached && cached < usage["input_tokens"].as_u64().expect("it is known"), "{usage}");
    }
}

#[test]
fn what_is_proven_is_delivered_and_the_rest_is_withheld_and_counted() {
    let repo = shop();
    let told = Talk::named(&repo, "six_turns", "six_turns_review", Wire::Messages).ends("", 0, "finished");
    let review = &told.review;
    assert_eq!(review["outcome"], "complete", "{}", told.all());
    assert_eq!(told.titles(), ["A discount is ten times too large", "The last items cannot be reserved"]);
    let anchor = |n: usize| {
        let anchor = &review["findings"][n]["anchors"][0];
        (anchor["path"].as_str(), anchor["start_line"].as_u64(), anchor["match"].as_str())
    };
    assert_eq!(anchor(0), (Some("src/cart.py"), Some(14), Some("exact")));
    assert_eq!(anchor(1), (Some("src/stock.py"), Some(3), Some("moved")));
    let withheld = review["coverage"]["withheld"].as_array().expect("a list");
    let said: Vec<_> =
        withheld.iter().map(|one| (one["title"].as_str(), one["reason"].as_str().expect("one"))).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].0 == Some("The price is rounded twice") && said[0].1.contains("nowhere"), "{said:?}");
    assert!(said[1].0 == Some("Heavy parcels are too cheap") && said[1].1.contains("not changed"), "{said:?}");
    assert_eq!(review["sections"][0]["title"], "How prices are made");
    assert_eq!(review["provenance"]["turns"], 6);
    assert_eq!(review["coverage"]["tool_calls"], 11, "{}", told.all());
    assert_eq!(review["coverage"]["tool_errors"], 0);
    assert!(review["coverage"]["files"].as_array().expect("files").iter().all(|file| file["state"] == "reviewed"));
}

#[test]
fn calls_keep_their_ids_where_the_model_gives_some() {
    let repo = shop();
    let talk = Talk::named(&repo, "six_turns", "six_turns_ids", Wire::Gemini).with_model("gemini-3-scripted");
    talk.ends("", 0, "finished");
}

#[test]
fn reasoning_that_a_server_shows_goes_back_to_it() {
    let repo = shop();
    let talk = Talk::unkept(&repo, "six_turns", Wire::Chat).with_model("some-reasoner");
    assert_eq!(talk.run("").code, 0);
    let raw = talk.server.raw().remove(1);
    let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
    assert_eq!(body["messages"][2]["reasoning_content"], "The guard is gone — who calls discount()?", "{body:#}");
    talk.server.finish();
}

#[test]
fn the_conversation_is_marked_for_the_cache_where_marks_exist() {
    let repo = shop();
    let talk = Talk::named(&repo, "six_turns", "six_turns_marks", Wire::Messages);
    assert_eq!(talk.run("").code, 0);
    let marks: Vec<_> = talk.server.asked().into_iter().map(|asked| asked.marks).collect();
    for (n, marks) in marks.iter().enumerate() {
        assert!(marks.contains(&"system".to_owned()) && marks.contains(&"messages.0".to_owned()), "{n}: {marks:?}");
        let last = format!("messages.{}", 2 * n);
        assert!(marks.contains(&last), "the newest results are marked: {marks:?}");
    }
    talk.server.finish();
}

#[test]
fn nothing_is_kept_at_the_provider() {
    let repo = shop();
    let talk = Talk::named(&repo, "well", "well_stored", Wire::Responses);
    assert_eq!(talk.run("").code, 0);
    let raw = talk.server.raw().remove(0);
    let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
    assert_eq!(body["store"], false);
    assert!(body["include"].as_array().is_some_and(|parts| parts.contains(&json!("reasoning.encrypted_content"))));
    talk.server.finish();
}

#[test]
fn events_tell_the_run_as_it_goes() {
    let repo = shop();
    let told = Talk::named(&repo, "six_turns", "six_turns_events", Wire::Chat).ends("", 0, "finished");
    let turns: Vec<_> = told.events("turn").iter().map(|event| event["turn"].as_u64().expect("a number")).collect();
    assert_eq!(turns, [1, 2, 3, 4, 5, 6]);
    let calls: Vec<_> =
        told.events("call").iter().filter(|event| event["turn"] == 1).map(|event| event["tool"].clone()).collect();
    assert_eq!(calls, ["read_file_part", "search_in_files", "list_files"]);
    assert!(told.events("call")[0]["about"].as_str().is_some_and(|about| about.contains("src/cart.py")));
    assert_eq!(told.events("finding").len(), 2, "{}", told.all());
    assert_eq!(told.events("withheld").len(), 2, "{}", told.all());
    let spent = told.events("spent");
    assert_eq!(spent.len(), 6);
    assert_eq!(spent[5]["input_tokens"], told.review["provenance"]["usage"]["input_tokens"]);
    assert!(told.events("retry").is_empty());
    let numbers: Vec<_> = told.events.iter().map(|event| event["seq"].as_u64().expect("a number")).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn a_server_that_does_not_know_how_to_tell_usage_is_asked_without() {
    let repo = shop();
    let told = Talk::about(&repo, "no_stream_usage", Wire::Chat).ends("", 0, "finished");
    assert_eq!(told.review["provenance"]["usage"]["input_tokens"], Value::Null, "unknown is not zero");
    assert_eq!(told.titles().len(), 1);
}

#[test]
fn usage_that_is_missing_or_impossible_is_unknown() {
    let repo = shop();
    for wire in Wire::ALL {
        let told = Talk::about(&repo, "no_usage", wire).ends("", 0, "finished");
        assert_eq!(told.review["provenance"]["usage"]["input_tokens"], Value::Null, "{wire:?}");
        assert_eq!(told.review["provenance"]["usage"]["output_tokens"], Value::Null, "{wire:?}");
    }
    for wire in [Wire::Responses, Wire::Chat, Wire::Gemini] {
        let told = Talk::about(&repo, "impossible_usage", wire).ends("", 0, "finished");
        let usage = &told.review["provenance"]["usage"];
        assert_ne!(usage["cache_read_tokens"], 5000, "{wire:?}: more than was sent");
    }
}
