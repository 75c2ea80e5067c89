//! Leads: confirmed, refuted, or delivered as they are.

use proptest::prelude::*;

use super::*;

#[test]
fn leads_are_confirmed_refuted_or_delivered_as_they_are() {
    let mut builder = builder();
    let claims = [
        lead("Written without a look", "    write_all(buffer);"),
        lead("Flushed without a look", "    flush(buffer);"),
        lead("Reads unchecked", "    open();"),
        lead("Not there", "    gone();"),
    ];
    builder.add_leads(&claims, &Cancel::never());
    assert_eq!(builder.leads().map(|lead| lead.id.as_str()).collect::<Vec<_>>(), ["L1", "L2", "L3"]);
    let mut wrong = finding("Something else", "    flush(buffer);");
    wrong["lead"] = "L1".into();
    wrong["category"] = "testing".into();
    let told = call(&mut builder, "report_finding", wrong);
    assert!(told["note"].as_str().unwrap().contains("L1 is not confirmed"), "{told}");
    let mut right = finding("Nobody looks at the result", "    write_all(buffer);");
    right["lead"] = "l1".into();
    assert!(call(&mut builder, "report_finding", right)["note"].as_str().unwrap().contains("L1 is confirmed"));
    let told = call(&mut builder, "refute_lead", json!({ "id": "L1", "reason": "fine" }));
    assert!(told["error"]["message"].as_str().unwrap().contains("confirmed by F2"), "{told}");
    let (told, given) = answer(&mut builder, "refute_lead", json!({ "id": 2, "reason": "flush cannot fail here" }), 0);
    assert_eq!(told["status"], "accepted");
    assert!(matches!(given.effect, CallEffect::Withheld { .. }));
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(review.coverage.leads, LeadCounts { given: 3, confirmed: 1, refuted: 1, unanswered: 1 });
    assert_eq!(
        withheld(&review),
        [
            ("Not there", "the quote stands nowhere in src/a.rs (after the change)"),
            ("Flushed without a look", "refuted by the model: flush cannot fail here")
        ]
    );
    let titles: Vec<_> = review.findings.iter().map(|finding| (finding.title.as_str(), finding.origin.kind)).collect();
    assert!(titles.contains(&("Reads unchecked", OriginKind::Rule)), "{titles:?}");
    assert_eq!(titles.len(), 3, "the confirmed lead is told once: {titles:?}");
    let confirmed = review.findings.iter().find(|finding| finding.title == "Nobody looks at the result").unwrap();
    assert!(confirmed.body.ends_with("The rule `rust/rule` found here: Written without a look."), "{}", confirmed.body);
}

#[test]
fn a_finding_on_the_lines_of_a_lead_confirms_it_until_it_is_taken_back() {
    let mut builder = builder();
    builder.add_leads(&[lead("Written without a look", "    write_all(buffer);")], &Cancel::never());
    assert_eq!(report(&mut builder, "Nobody looks", "    write_all(buffer);")["note"], "It confirms L1.");
    assert_eq!(builder.open_leads().count(), 0);
    call(&mut builder, "withdraw_finding", json!({ "id": "F1", "reason": "no" }));
    assert_eq!(builder.open_leads().count(), 1);
    assert_eq!(finish(builder, &EngineOutcome::Done).findings[0].origin.kind, OriginKind::Rule);
}

#[test]
fn a_nit_on_the_lines_of_a_lead_does_not_hide_it() {
    for (named, severity) in [(Value::Null, Severity::High), ("L1".into(), Severity::Nit)] {
        let mut builder = builder();
        builder.add_leads(&[lead("Written without a look", "    write_all(buffer);")], &Cancel::never());
        let mut nit = finding("A name could be better", "    write_all(buffer);");
        nit["severity"] = "nit".into();
        nit["lead"] = named;
        call(&mut builder, "report_finding", nit);
        assert_eq!(finish(builder, &EngineOutcome::Done).findings[0].severity, severity);
    }
}

#[test]
fn leads_that_were_not_given_are_not_counted_but_delivered() {
    let mut builder = builder();
    builder.add_leads(&[lead("One", "    write_all(buffer);"), lead("Two", "    flush(buffer);")], &Cancel::never());
    builder.withhold_leads(["L2".to_owned()]);
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(review.coverage.leads, LeadCounts { given: 1, unanswered: 1, ..LeadCounts::default() });
    assert_eq!(review.findings.len(), 2);
}

#[test]
fn a_model_that_never_answered_leaves_a_failed_review_with_the_rules_findings() {
    let mut builder = builder();
    builder.add_leads(&[lead("One", "    write_all(buffer);")], &Cancel::never());
    let ending = EngineOutcome::Short { ended: StopReason::ProviderFault, why: "the provider failed: 503".to_owned() };
    let review = finish(builder, &ending);
    assert_eq!((review.outcome, review.findings.len()), (ReviewOutcome::Failed, 1));
    assert_eq!(review.reasons[0], "the provider failed: 503");
    assert_eq!(review.coverage.files[0].reason.as_deref(), Some("never shown to the model"));
}

#[test]
fn an_unanswered_lead_below_high_is_withheld_where_the_model_came_to_its_end() {
    let ends = [
        (EngineOutcome::Done, 0),
        (EngineOutcome::Short { ended: StopReason::TokenLimit, why: "the budget is spent".to_owned() }, 1),
        (EngineOutcome::Stopped(CancelReason::Interrupted), 1),
    ];
    for (ending, told) in ends {
        let mut builder = builder();
        let medium = Claim { severity: Severity::Medium, ..lead("Medium", "    flush(buffer);") };
        builder.add_leads(&[lead("High", "    write_all(buffer);"), medium], &Cancel::never());
        let review = finish(builder, &ending);
        assert_eq!(review.coverage.leads, LeadCounts { given: 2, unanswered: 2, ..LeadCounts::default() });
        let high = review.findings.iter().find(|finding| finding.title == "High").unwrap();
        assert_eq!((&high.verification, high.origin.kind), (&FindingVerification::UNCHECKED, OriginKind::Rule));
        let medium = review.findings.iter().filter(|finding| finding.title == "Medium").count();
        assert_eq!((medium, withheld(&review).len()), (told, 1 - told), "{ending:?}");
        if told == 0 {
            let (title, reason) = withheld(&review)[0];
            assert_eq!(title, "Medium");
            assert!(reason.contains("neither confirmed nor refuted it (rust/rule, src/a.rs:"), "{reason}");
        }
    }
}

#[test]
fn an_unanswered_hint_is_withheld_however_the_model_ends() {
    for ending in [EngineOutcome::Done, EngineOutcome::Stopped(CancelReason::Interrupted)] {
        let mut builder = builder();
        let hint = Claim { confidence: Some(Confidence::HINT), ..lead("Hint", "    write_all(buffer);") };
        builder.add_leads(&[hint], &Cancel::never());
        let review = finish(builder, &ending);
        assert!(review.findings.is_empty(), "{ending:?}");
        let (title, reason) = withheld(&review)[0];
        assert!(title == "Hint" && reason.ends_with("a hint is never told by itself"), "{reason}");
    }
}

#[test]
fn a_lead_that_the_model_was_not_given_is_delivered_whatever_its_severity() {
    let mut builder = builder();
    let low = Claim { severity: Severity::Low, ..lead("Low", "    flush(buffer);") };
    builder.add_leads(&[low], &Cancel::never());
    builder.withhold_leads(["L1".to_owned()]);
    assert_eq!(finish(builder, &EngineOutcome::Done).findings.len(), 1);
}

#[test]
fn a_fact_is_delivered_whatever_a_model_says_of_it() {
    let fact = |severity| Claim {
        severity,
        origin: FindingOrigin { kind: OriginKind::Rule, name: "general/secret-added".to_owned() },
        ..lead("A secret is added", "    write_all(buffer);")
    };
    // Refuted.
    let mut builder = builder();
    builder.add_leads(&[fact(Severity::Critical)], &Cancel::never());
    let told = call(&mut builder, "refute_lead", json!({ "id": "L1", "reason": "the file says that it is a test" }));
    assert_eq!(told["status"], "accepted");
    assert!(told["note"].as_str().unwrap().contains("is told all the same"), "{told}");
    let review = finish(builder, &EngineOutcome::Done);
    let secret = &review.findings[0];
    assert_eq!((secret.severity, withheld(&review).len()), (Severity::Critical, 0));
    assert_eq!(
        (secret.verification.state, secret.verification.by.as_deref()),
        (VerificationState::Uncertain, Some("p/m"))
    );
    assert_eq!(secret.verification.rationale.as_deref(), Some("the file says that it is a test"));
    assert_eq!(review.coverage.leads, LeadCounts { given: 1, refuted: 1, ..LeadCounts::default() });

    // Confirmed as a trifle.
    let mut builder = super::builder();
    builder.add_leads(&[fact(Severity::Critical)], &Cancel::never());
    let mut nit = finding("A secret is added", "    write_all(buffer);");
    (nit["severity"], nit["lead"]) = ("nit".into(), "L1".into());
    call(&mut builder, "report_finding", nit);
    assert_eq!(finish(builder, &EngineOutcome::Done).findings[0].severity, Severity::Critical);

    // Left unanswered, and no more than medium.
    let mut builder = super::builder();
    builder.add_leads(&[fact(Severity::Medium)], &Cancel::never());
    assert_eq!(finish(builder, &EngineOutcome::Done).findings.len(), 1);

    // What another scanner calls so is none.
    let mut builder = super::builder();
    let origin = FindingOrigin { kind: OriginKind::Build, name: "general/secret-added".to_owned() };
    builder.add_leads(&[Claim { origin, ..fact(Severity::Critical) }], &Cancel::never());
    call(&mut builder, "refute_lead", json!({ "id": "L1", "reason": "no" }));
    assert_eq!(finish(builder, &EngineOutcome::Done).findings.len(), 0);
}

/// Calls that a model may make, in any order.
fn any_call() -> impl Strategy<Value = (&'static str, Value)> {
    let quote = proptest::sample::select(vec![
        "    write_all(buffer);",
        "    flush(buffer);",
        "    invented();",
        "fn other() {",
    ]);
    let title = proptest::sample::select(vec!["Written without a look", "Something is off", "Slow"]);
    let category = proptest::sample::select(vec!["logic", "performance", "testing"]);
    let id = proptest::sample::select(vec!["F1", "F2", "W1", "W2", "L1", "L2", "L3", "L4", "", "F"]);
    let optional = || proptest::option::of(id.clone());
    let report = (title, quote, category, optional(), optional(), optional()).prop_map(
        |(title, quote, category, lead, other, corrected)| {
            let mut input = finding(title, quote);
            input["category"] = category.into();
            input["lead"] = lead.into();
            input["leads"] = json!(other.into_iter().collect::<Vec<_>>());
            input["id"] = corrected.into();
            ("report_finding", input)
        },
    );
    let with_id = |name| id.clone().prop_map(move |id| (name, json!({ "id": id, "reason": "so" })));
    prop_oneof![4 => report, 1 => with_id("withdraw_finding"), 2 => with_id("refute_lead")]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(vec!["src/a.rs", "high", "logic", "    flush(buffer);", "F1", "L1"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("file_path|quote|note", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_model_does_every_lead_and_every_report_is_accounted_for(calls in proptest::collection::vec(any_call(), 0..24)) {
        let mut builder = builder();
        builder.add_leads(&[lead("Written without a look", "    write_all(buffer);"), lead("Flushed", "    flush(buffer);"), lead("Opened", "    open();")], &Cancel::never());
        let (mut accepted, mut refused) = (0, std::collections::BTreeSet::new());
        let mut withdrawn = 0;
        for (name, input) in calls {
            builder.begin_turn();
            let told = call(&mut builder, name, input);
            let id = told["id"].as_str().unwrap_or_default().to_owned();
            match (name, told["status"].as_str()) {
                ("report_finding", Some("accepted")) => accepted += 1,
                ("report_finding", Some("not_accepted")) => { refused.insert(id); }
                // A correction that repeats another finding leaves one of the two.
                ("report_finding", Some("merged")) if told.get("corrects").is_some() => withdrawn += 1,
                ("withdraw_finding", Some("withdrawn")) if id.starts_with('F') => withdrawn += 1,
                ("withdraw_finding", Some("withdrawn")) => { refused.remove(&id); }
                _ => {}
            }
            let note = told["note"].as_str().unwrap_or_default();
            if let Some((_, ids)) = note.split_once("It stands for ") {
                refused.retain(|id| !ids.contains(id.as_str()));
            }
        }
        let review = finish(builder, &EngineOutcome::Done);
        let leads = review.coverage.leads;
        prop_assert_eq!(leads.given, 3);
        prop_assert_eq!(leads.given, leads.confirmed + leads.refuted + leads.unanswered);
        let by_rules = review.findings.iter().filter(|finding| finding.origin.kind == OriginKind::Rule).count();
        prop_assert_eq!(by_rules, leads.unanswered as usize);
        prop_assert_eq!(review.findings.len() - by_rules, accepted - withdrawn);
        prop_assert_eq!(review.coverage.withheld.len(), leads.refuted as usize + refused.len());
    }

    #[test]
    fn no_input_makes_a_tool_panic(
        tool in 0..5usize,
        fields in proptest::collection::btree_map(
            "title|body|severity|category|file_path|quote|start_line|end_line|side|suggestion|related|lead|leads|guideline|confidence|id|reason|summary",
            any_json(), 0..9
        )
    ) {
        let mut builder = builder();
        let name = ReviewBuilder::definitions(false)[tool].name.clone();
        let told = call(&mut builder, &name, json!(fields));
        prop_assert!(told.is_object());
        prop_assert!(told.get("status").is_some() || told.get("error").is_some(), "{}", told);
        let _ = finish(builder, &EngineOutcome::Done);
    }
}
