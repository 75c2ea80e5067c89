//! Artefacts changed at random: none makes the program fail, and none says anything on other lines than the honest one.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use review_runner::app::{AppError, ArtefactError, Overrides, PostOptions, PostOutcome};
use serde_json::Value;

use crate::support::artefact::{Fork, recount};
use crate::support::github::Fake;
use crate::support::posting::{bad, good};

/// Every place of a document that holds something.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| places(item, &format!("{at}/{n}"), found)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[derive(Debug, Clone)]
enum Change {
    Say(String),
    Count(i64),
    Nothing,
    Twice,
    Last,
    Other(usize),
    Bytes(usize, u8),
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        "\\PC{0,12}".prop_map(Change::Say),
        "[a-z./\\\\\"]{0,12}".prop_map(Change::Say),
        (-3i64..40).prop_map(Change::Count),
        Just(Change::Nothing),
        Just(Change::Twice),
        Just(Change::Last),
        any::<usize>().prop_map(Change::Other),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Bytes(at, byte)),
    ]
}

fn changed(honest: &Value, change: &Change, at: usize) -> (Vec<u8>, String) {
    let mut document = honest.clone();
    let mut all = Vec::new();
    places(honest, "", &mut all);
    let place = all[at % all.len()].clone();
    let other = |n: usize| honest.pointer(&all[n % all.len()]).unwrap().clone();
    let there = document.pointer_mut(&place).unwrap();
    match change {
        Change::Say(text) => *there = text.clone().into(),
        Change::Count(by) => *there = (there.as_i64().unwrap_or_default() + by).into(),
        Change::Nothing => *there = Value::Null,
        Change::Twice => {
            if let Some(items) = there.as_array_mut()
                && let Some(first) = items.first().cloned()
            {
                items.push(first);
            }
        }
        Change::Last => {
            if let Some(items) = there.as_array_mut() {
                items.pop();
            }
        }
        Change::Other(n) => *there = other(*n),
        Change::Bytes(at, byte) => {
            let mut bytes = format!("{document:#}\n").into_bytes();
            let at = at % bytes.len();
            bytes[at] = *byte;
            return (bytes, String::new());
        }
    }
    if place.starts_with("/findings") && document["findings"].is_array() {
        recount(&mut document);
    }
    (format!("{document:#}\n").into_bytes(), place)
}

/// Where a dry run would comment.
fn spots(posted: &PostOutcome) -> Vec<String> {
    let PostOutcome::Dry(dry) = posted else { panic!("it was to be a dry run") };
    let comments = dry.requests.iter().filter_map(|request| request["body"]["comments"].as_array()).flatten();
    comments.map(|one| format!("{} {} {} {}", one["path"], one["side"], one["start_line"], one["line"])).collect()
}

#[test]
fn no_change_of_it_makes_the_program_fail_or_say_more() {
    change_at_random(40);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_no_change_of_it_makes_the_program_fail_or_say_more() {
    change_at_random(240);
}

fn change_at_random(cases: u32) {
    let text = format!("read me\n\n{}", good("readme"));
    let fork = Fork::on(Fake::unrecorded(), &[("README", text), ("a.py", format!("{}{}", bad("one"), bad("two")))]);
    let honest = fork.document();
    let dry = PostOptions { dry_run: true, ..PostOptions::default() };
    let post = || fork.post_as(fork.expected(), &dry, &Overrides::default());
    let known = spots(&post().unwrap());
    assert_eq!(known.len(), 2);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let (taken, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let ran = TestRunner::new(config).run(&(changes(), any::<usize>()), |(change, at)| {
        let (bytes, place) = changed(&honest, &change, at);
        std::fs::write(fork.file(), &bytes).unwrap();
        match post() {
            Ok(posted) => {
                taken.set(taken.get() + 1);
                let spots = spots(&posted);
                prop_assert!(spots.iter().all(|spot| known.contains(spot)), "{} said {:?}", place, spots);
                let is_about_places =
                    ["/anchors", "/suggestion", "/change/files", "/change/head", "/change/merge_base"];
                // With the anchors of the other finding, evidence and all, its place is as true as before.
                let is_others =
                    matches!(change, Change::Other(_)) && place.trim_end_matches("/0").ends_with("/anchors");
                if !is_others && is_about_places.iter().any(|part| place.contains(part)) {
                    prop_assert_eq!(spots, known.clone(), "{}", place);
                }
            }
            Err(AppError::Forge(_)) => refused.set(refused.get() + 1),
            Err(other) if other.of_use_case::<ArtefactError>().is_some() => refused.set(refused.get() + 1),
            Err(other) => prop_assert!(false, "{}: {:?}", place, other),
        }
        Ok(())
    });
    ran.unwrap();
    assert!(taken.get() > 0 && refused.get() > 0, "{taken:?} {refused:?}");
    assert_eq!(fork.desk.writes(), 0);
}
