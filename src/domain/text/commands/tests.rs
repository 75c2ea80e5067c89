//! The spelling of build-log commands against parsers that take lines as the services do.

use super::super::strip::is_invisible;
use super::super::strip::strip_block;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Lines as the services read them: a carriage return ends one too.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r'])
}

/// Text as a comparison by the rules of a language sees it: without what weighs nothing.
fn weighed(text: &str) -> String {
    text.chars().filter(|c| !(is_invisible(*c) || (c.is_control() && !c.is_whitespace()))).collect()
}

/// The commands that the runner of GitHub Actions would obey if every name were one: `TryParseV2`, then `TryParse`.
fn github(text: &str) -> Option<String> {
    lines(text).find_map(|line| {
        let line = line.trim_start();
        // As written, and as it is compared.
        [line.to_owned(), weighed(line)].into_iter().find_map(|line| {
            let new = line.strip_prefix("::").and_then(|rest| rest.find("::").map(|end| rest[..end].to_owned()));
            let old = line.find("##[").and_then(|at| line[at..].find(']').map(|end| line[at..at + end].to_owned()));
            new.or(old)
        })
    })
}

/// The lines that the agent of Azure Pipelines would obey, warn of, or color.
fn azure(text: &str) -> Option<String> {
    lines(text).find_map(|line| {
        let line = weighed(line).to_ascii_lowercase();
        ["##vso", "##["].iter().find(|mark| line.contains(**mark)).map(|_| line.clone())
    })
}

fn teamcity(text: &str) -> Option<String> {
    lines(text).find(|line| line.to_ascii_lowercase().contains("##teamcity[")).map(str::to_owned)
}

fn obeyed(logs: BuildLogs, text: &str) -> Option<String> {
    let by = |log, found: fn(&str) -> Option<String>| if logs.has(log) { found(text) } else { None };
    by(BuildLog::GitHubActions, github)
        .or_else(|| by(BuildLog::AzurePipelines, azure))
        .or_else(|| by(BuildLog::TeamCity, teamcity))
}

fn spelled(log: BuildLog, text: &str, syntax: Syntax) -> String {
    String::from_utf8(BuildLogs::from(log).escape(text.as_bytes(), syntax).into_owned()).unwrap()
}

#[test]
fn an_order_to_github_stays_readable_and_is_none() {
    for (text, shown) in [
        ("::add-mask::x", ":\\:add-mask::x"),
        (" \t::error file=a,line=1::x", " \t:\\:error file=a,line=1::x"),
        ("\u{a0}\u{2003}::notice::x", "\u{a0}\u{2003}:\\:notice::x"),
        ("a\r::debug::x\r\n::debug::y\n", "a\r:\\:debug::x\r\n:\\:debug::y\n"),
        (":\u{200d}:stop-commands::t", ":\u{200d}\\:stop-commands::t"),
        ("\u{feff}::group::x", "\u{feff}:\\:group::x"),
        ("a ##[add-mask]x", "a ##\\[add-mask]x"),
        ("###[error]x", "###\\[error]x"),
        ("#\u{ad}#\u{200b}[error]x", "#\u{ad}#\u{200b}\\[error]x"),
    ] {
        assert!(github(text).is_some(), "{text:?} is no order");
        let out = spelled(BuildLog::GitHubActions, text, Syntax::Plain);
        assert_eq!(out, shown);
        assert_eq!(github(&out), None);
    }
}

#[test]
fn what_is_no_order_is_left_as_it_is() {
    for text in [
        "use std::fmt;\n    std::mem::drop(x)\n",
        "## Findings\n\n- a: b\n: c\n# [x]\n## [x]\n#[derive(Debug)]\n",
        "a ::error::x",
        ": :x",
        "\x1b[1m## Title\x1b[0m\n\x1b]8;;file:///a\x1b\\a\x1b]8;;\x1b\\\n",
        "\x1b[1m::error::x",
    ] {
        for syntax in [Syntax::Plain, Syntax::Json, Syntax::Xml] {
            assert!(matches!(
                BuildLogs::from(BuildLog::GitHubActions).escape(text.as_bytes(), syntax),
                Cow::Borrowed(_)
            ));
        }
    }
    assert_eq!(spelled(BuildLog::GitHubActions, "##vso[task.complete]", Syntax::Plain), "##vso[task.complete]");
    assert_eq!(spelled(BuildLog::TeamCity, "::a::\n##[b]", Syntax::Plain), "::a::\n##[b]");
}

#[test]
fn the_other_services_have_marks_of_their_own() {
    let azure = |text| spelled(BuildLog::AzurePipelines, text, Syntax::Plain);
    assert_eq!(azure("x ##vso[task.setvariable variable=a]b"), "x ##\\vso[task.setvariable variable=a]b");
    assert_eq!(azure("##VSO[task.complete]"), "##\\VSO[task.complete]");
    assert_eq!(azure("##[section]a ##[endgroup]"), "##\\[section]a ##\\[endgroup]");
    assert_eq!(azure("::error::x"), "::error::x");
    let teamcity = |text| spelled(BuildLog::TeamCity, text, Syntax::Plain);
    assert_eq!(teamcity("##teamcity[buildStatus status='SUCCESS']"), "##\\teamcity[buildStatus status='SUCCESS']");
}

#[test]
fn a_section_of_a_gitlab_log_needs_what_is_stripped() {
    let section = "\x1b[0Ksection_start:1560896352:my_section[collapsed=true]\r\x1b[0Kheader";
    let shown = strip_block(section);
    assert_eq!(shown, "section_start:1560896352:my_section[collapsed=true]<U+000D>header");
    assert_eq!(spelled(BuildLog::GitLab, &shown, Syntax::Plain), shown);
}

#[test]
fn colours_survive_beside_hashes() {
    let out = spelled(BuildLog::GitHubActions, "\x1b[1mC##\x1b[0m", Syntax::Plain);
    assert_eq!(out, "\x1b[1mC##\\\x1b[0m");
}

#[test]
fn values_stay_what_they_are() {
    let value = json!({ "a ##[b]": "##[error]\n::add-mask::x ##vso[task.x]y ##teamcity[z]", "b": [["##"], "##"] });
    for log in BuildLog::ALL {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let out = spelled(log, &text, Syntax::Json);
            assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), value);
            assert_eq!(obeyed(log.into(), &out), None, "{out}");
        }
    }
    let xml = "<a b=\"##[c]\">\n::error::x</a>";
    let out = spelled(BuildLog::GitHubActions, xml, Syntax::Xml);
    assert_eq!(out, "<a b=\"##&#91;c]\">\n:&#58;error::x</a>");
    assert_eq!(github(&out), None);
}

#[test]
fn our_own_commands_are_obeyed_where_they_are_meant_to_be_and_nowhere_else() {
    let text = "::error file=a::x ##vso[task.complete] ##[group] ##teamcity[x]\n";
    assert_eq!(spelled(BuildLog::GitHubActions, text, Syntax::Commands), text);
    for log in [BuildLog::AzurePipelines, BuildLog::TeamCity] {
        assert_eq!(obeyed(log.into(), &spelled(log, text, Syntax::Commands)), None);
    }
}

#[test]
fn the_services_are_known_by_their_variables() {
    let found = |set: &[(&str, &str)]| {
        BuildLogs::detect(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(found(&[("GITHUB_ACTIONS", "true")]), BuildLog::GitHubActions.into());
    assert_eq!(found(&[("TF_BUILD", "True")]), BuildLog::AzurePipelines.into());
    assert_eq!(found(&[("TEAMCITY_VERSION", "2026.1 (build 1)")]), BuildLog::TeamCity.into());
    assert_eq!(found(&[("GITLAB_CI", "true"), ("TF_BUILD", "False")]), BuildLog::GitLab.into());
    let both = found(&[("GITHUB_ACTIONS", "true"), ("TF_BUILD", "True")]);
    assert!(both.has(BuildLog::GitHubActions) && both.has(BuildLog::AzurePipelines));
    assert!(!found(&[("GITHUB_ACTIONS", ""), ("CI", "true")]).is_any_detected());
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        1 => any::<char>().prop_map(String::from),
        6 => proptest::sample::select(vec![
            ":", "::", "#", "##", "[", "##[", "]", "##vso[", "vso[", "##teamcity[", "teamcity[", "task.x", "add-mask", "error", " ", "\t",
            "\n", "\r", "\r\n", "\u{a0}", "\u{200d}", "\u{feff}", "\u{ad}", "\0", "\x1b", "\x1b[0m", "é", "\\", "\u{2028}", "\u{85}", "V", "T"
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_logs() -> impl Strategy<Value = BuildLogs> {
    (0u8..16).prop_map(BuildLogs)
}

/// Checks whether `whole` becomes `part` when some backslashes are left out.
fn is_with_backslashes(whole: &str, part: &str) -> bool {
    let mut part = part.chars().peekable();
    whole.chars().all(|c| part.next_if_eq(&c).is_some() || c == '\\') && part.next().is_none()
}

proptest! {
    #[test]
    fn nothing_is_obeyed_and_nothing_is_lost(text in hostile(), logs in any_logs()) {
        let plain = String::from_utf8(logs.escape(text.as_bytes(), Syntax::Plain).into_owned()).unwrap();
        prop_assert_eq!(obeyed(logs, &plain), None, "{:?}", plain);
        prop_assert!(is_with_backslashes(&plain, &text), "{plain:?}");
        prop_assert!(obeyed(logs, &text).is_none() || plain != text);
        let again = logs.escape(plain.as_bytes(), Syntax::Plain);
        prop_assert_eq!(&*again, plain.as_bytes(), "once is enough");

        // As all our XML, it has neither escapes nor other controls.
        let stripped = strip_block(&text).replace('&', "");
        let xml = String::from_utf8(logs.escape(stripped.as_bytes(), Syntax::Xml).into_owned()).unwrap();
        prop_assert_eq!(obeyed(logs, &xml), None, "{:?}", xml);
        let mut read = xml;
        for c in [':', '[', 'v', 'V', 't', 'T'] {
            read = read.replace(&format!("&#{};", u32::from(c)), &c.to_string());
        }
        prop_assert_eq!(read, stripped);
    }

    #[test]
    fn json_has_the_same_value_and_holds_no_order(key in hostile(), texts in proptest::collection::vec(hostile(), 0..4), logs in any_logs()) {
        let value = json!({ key: texts, "more": [["##"], {"##": ["[", {"x": 1}]}] });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let out = String::from_utf8(logs.escape(text.as_bytes(), Syntax::Json).into_owned()).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), value.clone());
            prop_assert_eq!(obeyed(logs, &out), None, "{:?}", out);
        }
    }

    #[test]
    fn how_it_is_cut_changes_nothing(text in hostile(), logs in any_logs(), size in 1usize..7) {
        for syntax in [Syntax::Plain, Syntax::Json, Syntax::Xml, Syntax::Commands] {
            let mut spelling = CommandEscaper::new(logs, syntax);
            let pieces: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| spelling.escape_piece(piece).into_owned()).collect();
            let whole = logs.escape(text.as_bytes(), syntax);
            prop_assert_eq!(&*whole, &*pieces);
        }
    }
}
