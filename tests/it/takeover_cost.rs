//! The limit of money where models take over from each other, where requests are large, and where answers break off and are charged all the same.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use review_runner::domain::money::Money;
use review_runner::domain::review::{Review, StopReason};
use review_runner::llm::{LargeRequestPrices, Message, Prices, TurnFault, TurnRequest, TurnResponse, TurnUsage};
use review_runner::review::{
    BudgetLimits, CostLimit, FailoverCandidate, JournalReplay, VerificationScope, estimate_tokens,
};
use serde_json::json;

use crate::support::engine::{Disk, Model, Scene, calls, rendered};
use crate::support::looks::{DISCOUNT, report, session};
use crate::support::model::Wire;
use crate::support::session::{Talk, shop};

fn usd(text: &str) -> Money {
    text.parse().expect("an amount")
}

/// So many dollars for a million tokens sent, and five times as many for those received.
fn prices(dollars: u64) -> Prices {
    let input = usd(&dollars.to_string());
    Prices {
        input,
        output: input.times(5),
        cache_read: None,
        cache_write: None,
        on: "2026-11-01".parse().expect("a day"),
        large: None,
    }
}

fn limits(most: &str, prices: Prices) -> BudgetLimits {
    BudgetLimits {
        turns: 12,
        input_tokens: 2_000_000,
        window: 48_000,
        max_output: 2_000,
        time: Duration::from_mins(20),
        cost: Some(CostLimit { most: usd(most), prices }),
    }
}

/// About what a request takes, as a server would count it.
fn size(request: &TurnRequest) -> u64 {
    let tools =
        request.tools.iter().map(|tool| estimate_tokens(&tool.description) + estimate_tokens(&tool.schema.to_string()));
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text, .. } => estimate_tokens(text),
        Message::Assistant { .. } => 100,
        Message::Results { results, .. } => results.iter().map(|result| estimate_tokens(&result.text)).sum(),
    });
    estimate_tokens(&request.system) + tools.sum::<u64>() + messages.sum::<u64>()
}

/// What a request takes at most.
fn usage(request: &TurnRequest) -> TurnUsage {
    let (input, output) = (Some(size(request)), Some(u64::from(request.max_output)));
    TurnUsage { input, output, cache_read: Some(0), cache_write: Some(0), cost: None }
}

/// Reads for ever; asked to finish, it reports. Charges as much as there is to charge.
fn reader(request: &TurnRequest, prices: &Prices) -> TurnResponse {
    let is_last =
        matches!(request.messages.last(), Some(Message::User { text, .. }) if text.contains("This is your last turn"));
    let answer = if is_last {
        calls("", &[("report_finding", report(DISCOUNT)["input"].clone())])
    } else {
        calls(
            "",
            &[
                ("read_file_part", json!({ "file_path": "src/cart.py" })),
                ("read_file_part", json!({ "file_path": "src/order.py" })),
            ],
        )
    };
    let usage = usage(request);
    TurnResponse { usage: TurnUsage { cost: prices.cost(&usage), ..usage }, ..answer }
}

fn broke_off() -> TurnFault {
    TurnFault::BrokenOff { provider: "p".into(), message: "it hung up".to_owned() }
}

fn cost(review: &Review) -> Money {
    if review.provenance.turns == 0 { Money::NOTHING } else { review.provenance.usage.cost.expect("it is known") }
}

#[test]
fn whoever_takes_over_is_held_to_the_limit_at_its_own_prices() {
    let repo = shop();
    let (cheap, dear) = (prices(1), prices(15));
    let mut went_on = 0;
    for cents in (2..=80).step_by(6) {
        let most = format!("0.{cents:02}");
        let first = Model::that(move |request| {
            let spoken = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
            if spoken > 0 {
                let message = "no".to_owned();
                return Err(TurnFault::Status { provider: "p".into(), status: 401, message, retry_after: None });
            }
            Ok(reader(request, &cheap))
        });
        let next = Model::that(move |request| Ok(reader(request, &dear))).named("dear");
        let own = |model: Model| FailoverCandidate { provider: Arc::new(model), limits: limits(&most, dear) };
        let scene = |next| {
            let mut scene = Scene::of(&repo, limits(&most, cheap));
            scene.next = vec![own(next)];
            scene
        };
        let disk = Disk::default();
        let begun = scene(next.clone());
        let review = begun.review(&first.named("cheap"), &disk);
        assert!(cost(&review) <= usd(&most), "{most}: {}", cost(&review));
        assert!(matches!(review.ended, StopReason::CostLimit | StopReason::TurnLimit), "{most}: {:?}", review.ended);
        went_on += u32::from(next.asked() > 1);
        let told = scene(Model::mute().named("dear")).told_by(&disk.cut().1, &Model::mute().named("cheap")).unwrap();
        let shown = |review: &Review| rendered(review).replace(&review.id.to_string(), "");
        assert_eq!(shown(&told), shown(&review), "{most}");
    }
    assert!(went_on > 3, "{went_on}");
}

#[test]
fn large_requests_are_held_to_the_limit_at_what_they_cost() {
    let repo = shop();
    let large =
        LargeRequestPrices { above: 12_000, input: usd("30"), output: usd("150"), cache_read: None, cache_write: None };
    let tiered = Prices { large: Some(large), ..prices(3) };
    for cents in (2..=80).step_by(6) {
        let most = format!("0.{cents:02}");
        let (scene, disk) = (Scene::of(&repo, limits(&most, tiered)), Disk::default());
        let review = scene.review(&Model::that(move |request| Ok(reader(request, &tiered))), &disk);
        assert!(cost(&review) <= usd(&most), "{most}: {}", cost(&review));
        assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&review), "{most}");
    }
}

#[test]
fn answers_that_broke_off_count_as_the_most_that_they_may_have_cost() {
    let repo = shop();
    let run = |most: &str| {
        let charged = Arc::new(AtomicU64::new(0));
        let (mine, before) = (Arc::clone(&charged), Mutex::new(0));
        // Each answer breaks off once, and is charged all the same.
        let model = Model::that(move |request| {
            mine.fetch_add(prices(3).cost(&usage(request)).unwrap().nanos(), Ordering::SeqCst);
            let mut before = before.lock().unwrap();
            if *before != request.messages.len() {
                *before = request.messages.len();
                return Err(broke_off());
            }
            Ok(reader(request, &prices(3)))
        });
        let (scene, disk) = (Scene::of(&repo, limits(most, prices(3))), Disk::default());
        let review = scene.review(&model, &disk);
        let charged = Money::from_nanos(charged.load(Ordering::SeqCst));
        assert!(charged <= usd(most), "{most}: {charged}");
        let notes = review.coverage.notes.join("\n");
        assert!(
            notes.contains("could not be read to the end") && notes.contains("for the cost limit it counts as"),
            "{notes}"
        );
        assert!(charged > cost(&review), "the receipt tells what was told");
        let (bytes, entries) = disk.cut();
        assert_eq!(rendered(&scene.told(&entries).unwrap()), rendered(&review), "{most}");
        // The next sitting knows what was lost: with no more it asks nobody.
        if review.ended == StopReason::CostLimit {
            let again = scene
                .sit(JournalReplay::resume(&entries).unwrap(), &Model::mute(), &Disk::with(&bytes))
                .unwrap()
                .unwrap();
            assert_eq!((again.ended, cost(&again)), (StopReason::CostLimit, cost(&review)), "{most}");
        }
    };
    std::thread::scope(|scope| {
        for most in ["0.10", "0.14", "0.20", "0.30"] {
            scope.spawn(move || run(most));
        }
    });
}

#[test]
fn a_model_without_a_price_takes_over_from_nobody_where_money_is_a_limit() {
    let repo = shop();
    let talk = Talk::in_passing(&repo, session("nobody is asked", &[]), Wire::Chat)
        .with_settings("[openai]\napi_key = \"k\"\n");
    let ran = talk.program.words("--target main --model openai/gpt-5,openai-chat/nobody-knows --max-cost 2").ended(2);
    assert!(ran.stderr.contains("openai-chat/nobody-knows") && ran.stderr.contains("price"), "{}", ran.stderr);
    assert!(talk.server.asked().is_empty(), "nothing is sent");
}

#[test]
fn a_second_look_whose_share_is_lost_hands_nothing_over() {
    let repo = shop();
    let looks = Arc::new(AtomicU64::new(0));
    let mine = Arc::clone(&looks);
    let model = Model::that(move |request| {
        if request.tools.iter().any(|tool| tool.name == "give_verdict") {
            mine.fetch_add(1, Ordering::SeqCst);
            return Err(broke_off());
        }
        let finding = report(DISCOUNT)["input"].clone();
        Ok(calls("", &[("report_finding", finding), ("finish_review", json!({ "summary": "It is wrong." }))]))
    });
    let scene = || {
        let mut scene = Scene::of(&repo, limits("0.15", prices(3))).with_looks(VerificationScope::All);
        let next =
            FailoverCandidate { provider: Arc::new(Model::mute().named("b")), limits: limits("0.15", prices(3)) };
        scene.next = vec![next];
        scene
    };
    let disk = Disk::default();
    let review = scene().review(&model, &disk);
    let notes = review.coverage.notes.join("\n");
    let asked = looks.load(Ordering::SeqCst);
    assert!((1..5).contains(&asked), "{asked} times: {notes}");
    assert!(notes.contains("its share of the money is used up") && !notes.contains("took over"), "{notes}");
    let shown = |review: &Review| rendered(review).replace(&review.id.to_string(), "");
    assert_eq!(shown(&scene().told_by(&disk.cut().1, &Model::mute()).unwrap()), shown(&review));
}
