//! `docs/rules.md` is generated from the packs. After an intentional change: `REVIEW_REFRESH=1`.

use std::collections::BTreeMap;

use review_runner::domain::rule_info::RulePage;
use review_runner::rules::Packs;

use crate::support::generated::assert_file;

const HEAD: &str = "\
# The built-in rules

Generated from the packs; `review rules list` shows them with your own and the project's, `review rules explain ID` the definition of one. How to
turn one off, give it another severity or write your own: [writing rules](writing-rules.md).

A rule reports only what the change introduced, unless it is marked *taken away*: then it is about code that the change removed. *not in tests* means
that it ignores code that only tests run.
";

/// No line is longer, but for those of tables.
const WIDTH: usize = 136;

fn table(pack: &str, sheets: &[RulePage]) -> String {
    let mut out = format!(
        "\n## {pack}\n\n| rule | severity | category | weakness | languages | |\n| --- | --- | --- | --- | --- | --- |\n"
    );
    for sheet in sheets {
        let info = &sheet.info;
        let languages = if sheet.languages.is_empty() { "any".to_owned() } else { sheet.languages.join(", ") };
        let weakness = info.cwe.as_deref().unwrap_or("");
        let told = match (sheet.on_removed, info.skips_tests) {
            (true, true) => "taken away, not in tests",
            (true, false) => "taken away",
            (false, true) => "not in tests",
            (false, false) => "",
        };
        let (name, severity, category) = (&info.name, info.severity, info.category);
        out.push_str(&format!("| `{name}` | {severity} | {category} | {weakness} | {languages} | {told} |\n"));
    }
    out.push_str("\n<details><summary>What they say</summary>\n\n");
    for sheet in sheets {
        out.push_str(&wrapped(&format!("- `{}`: **{}.** {}", sheet.info.name, sheet.info.title, sheet.info.message)));
    }
    out.push_str("\n</details>\n");
    out
}

/// An item of a list on lines that are not too long.
fn wrapped(text: &str) -> String {
    let (mut out, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let chars = word.chars().count();
        if length == 0 {
            length = chars;
        } else if length + 1 + chars > WIDTH {
            out.push_str("\n  ");
            length = 2 + chars;
        } else {
            out.push(' ');
            length += 1 + chars;
        }
        out.push_str(word);
    }
    out.push('\n');
    out
}

#[test]
fn the_list_of_rules_is_that_of_the_packs() {
    let mut packs: Vec<(String, Vec<RulePage>)> = Vec::new();
    for sheet in Packs::built_in().expect("packs").rule_pages() {
        let pack = sheet.info.name.split('/').next().unwrap_or_default().to_owned();
        match packs.iter_mut().find(|(known, _)| *known == pack) {
            Some((_, sheets)) => sheets.push(sheet),
            None => packs.push((pack, vec![sheet])),
        }
    }
    let mut text = HEAD.to_owned();
    let counts: BTreeMap<&str, usize> = packs.iter().map(|(pack, sheets)| (pack.as_str(), sheets.len())).collect();
    let total: usize = counts.values().sum();
    let listed: Vec<String> =
        packs.iter().map(|(pack, sheets)| format!("[{pack}](#{pack}) {}", sheets.len())).collect();
    text.push_str(&format!("\n{total} rules: {}.\n", listed.join(", ")));
    for (pack, sheets) in &packs {
        text.push_str(&table(pack, sheets));
    }
    assert_file("docs/rules.md", &text);
}

/// The hits of each rule, true and false: the places in `fired.json` with the rows of findings that were worth acting on, and those in `wrong.json`;
/// and those of `unseen.json`, right and not.
fn recorded_hits() -> BTreeMap<String, [u64; 4]> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("the record");
    let mut hits: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for (at, file) in ["fired", "wrong"].into_iter().enumerate() {
        let places = read(&format!("benches/precision/{file}.json"));
        for hit in &serde_json::from_str::<Vec<serde_json::Value>>(&places).expect("JSON") {
            hits.entry(hit["rule"].as_str().expect("a rule").to_owned()).or_default()[at] += 1;
        }
    }
    let unseen = read("benches/precision/unseen.json");
    for row in &serde_json::from_str::<Vec<serde_json::Value>>(&unseen).expect("JSON") {
        let hits = hits.entry(row["rule"].as_str().expect("a rule").to_owned()).or_default();
        hits[2] += row["right"].as_u64().expect("a number");
        hits[3] += row["not_right"].as_u64().expect("a number");
    }
    for row in read("docs/rules-measured.md").lines().filter(|row| row.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let rule = cells.iter().position(|cell| cell.starts_with('`') && cell.contains('/'));
        if let Some(at) = rule.filter(|_| cells.contains(&"yes")) {
            // Rows of one rule in one commit have their number behind it.
            hits.entry(cells[at].trim_matches('`').to_owned()).or_default()[0] += cells[at + 1].parse().unwrap_or(1);
        }
    }
    let built_in: Vec<String> = Packs::built_in().expect("packs").rules().map(|info| info.name).collect();
    hits.retain(|rule, _| built_in.contains(rule));
    hits
}

#[test]
fn the_recorded_hits_are_those_of_the_measurement() {
    let rows = recorded_hits();
    let lines: Vec<String> =
        rows.iter().map(|(rule, hits)| format!("{rule} {}\n", hits.map(|count| count.to_string()).join(" "))).collect();
    assert_file("src/rules/recorded_hits.txt", &lines.concat());
}
