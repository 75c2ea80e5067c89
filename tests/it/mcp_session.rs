//! A client reviews a change itself: it takes the prompt, reads, searches, presents part by part, and reads the result back.

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era, Http, text};
use crate::support::session::shop;
use crate::support::{Program, TestRepo};

const FIRST: &str = "# Review: no guard for percents

## Summary

The guard of [`discount`](src/cart.py?def discount) is gone, and its rate is ten times too large.

## Findings

### high: a rate ten times too large

[src/crat.py:14](src/crat.py#L14)

```python
    rate = percent / 10
## Summary
```

## Not looked at

Nothing.
";

const FINDINGS: &str = "## Findings

### high: a rate ten times too large

[src/cart.py:14-15](src/cart.py#L14-L15)

```python
    rate = percent / 10
```

5 percent take half of the amount; src/order.py:7 hands over whole numbers.
";

const MORE: &str = "## Asked later

`reserve` in [the stock](src/stock.py#L3) refuses the last item.
";

/// What a client of this era sees of the whole session; the document that it reads back.
fn session(client: &mut Client, repo: &TestRepo) -> String {
    let asked = json!({ "name": "review", "arguments": { "target": "main", "focus": "prices" } });
    let prompt = client.result("prompts/get", asked);
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("prices") && said.contains("rate = percent / 10"), "{said}");
    // The prompt pins what is read: a client gives the revision back as it stands there.
    let at = said.split_once("\"at\": \"").and_then(|(_, rest)| rest.split_once('"')).expect("a revision").0;

    let diff = client.call("read_diff", json!({ "file_path": "src/cart.py", "at": at }));
    assert!(text(&diff).contains("+    rate = percent / 10"), "{diff}");
    // What happens on the branch meanwhile changes nothing.
    repo.write("src/cart.py", "gone\n");
    let read = client.tool("read_file_part", json!({ "file_path": "src/cart.py", "start_line": 12, "at": at }));
    assert!(read["content"].as_str().unwrap().contains("14\t    rate = percent / 10"), "{read}");
    let found = client.tool("search_in_files", json!({ "pattern": "discount\\(", "at": at }));
    let places: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["file_path"].as_str().unwrap(), &one["line_number"]))
        .collect();
    assert_eq!(places, [("src/cart.py", &json!(12)), ("src/order.py", &json!(7))]);
    repo.git(["checkout", "-q", "--", "src/cart.py"]);

    let first = client.tool("present_review", json!({ "content": FIRST, "mode": "replace" }));
    let broken = &first["references"]["broken"][0];
    assert!(broken["text"].as_str().unwrap().contains("src/crat.py"), "{first}");
    assert!(broken["near"].to_string().contains("src/cart.py"), "{first}");
    let more = client.tool("present_review", json!({ "content": MORE, "mode": "append" }));
    assert_eq!(more["reviewId"], first["reviewId"]);
    let mended =
        client.tool("present_review", json!({ "content": FINDINGS, "mode": "update-section", "section": "findings" }));
    assert_eq!(mended["references"]["broken"], json!([]), "{mended}");

    let uri = mended["uri"].as_str().unwrap();
    let references: Value = serde_json::from_str(&client.read(&format!("{uri}/references"))).unwrap();
    assert_eq!(references["broken"], 0, "{references}");
    assert!(client.result("resources/list", json!({})).to_string().contains(uri));
    client.read(uri)
}

#[test]
fn a_client_reviews_a_change_and_reads_back_what_it_presented() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    let mut documents = Vec::new();
    for era in [Era::Session("2025-11-25"), Era::Stateless] {
        let mut client = Client::stdio(&program, "--no-model", era);
        documents.push(session(&mut client, &repo));
        client.close();
    }
    let server = Http::start(&program, "--no-model");
    let mut client = Client::http(&server, Era::Session("2025-06-18"));
    documents.push(session(&mut client, &repo));
    client.close();
    insta::assert_snapshot!("presented", documents[0]);
    documents.dedup();
    assert_eq!(documents.len(), 1, "{documents:#?}");
}
