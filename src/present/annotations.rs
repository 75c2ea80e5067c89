//! Annotations of a GitHub check, as commands in the log of the step that prints them. Main function: [`command`].
//!
//! The runner obeys a line that begins with `::` after any white space, and the old form `##[…]` anywhere in a line that is not of the new
//! form (`ActionCommand.cs` of the runner). So every line here begins with a command of ours, a text takes one line, and it is escaped as
//! `@actions/core` does (`command.ts`).
//!
//! GitHub keeps ten annotations of a level for each step. Nine are for findings, the worst first; the tenth is for the review itself: that
//! it is incomplete, how many findings are not shown and what else limits it, or a message of the step that prints this.

use std::collections::BTreeMap;

use super::report::{
    LIMITS_TITLE, ReportEntry, describe_suggestion, entries, facts, is_blank, limit_sentences, list_related,
    plain_line, severity_names,
};
use super::{Presenter, RenderOptions, Syntax};
use crate::domain::finding::Severity;
use crate::domain::place::LineRange;
use crate::domain::review::Review;
use crate::domain::text::{shorten, strip_block};

/// The presenter of this file.
pub(super) const PRESENTER: Presenter =
    Presenter { name: "annotations", extension: "annotations.txt", syntax: Syntax::Commands, render };

/// Findings of one level that become annotations.
pub const FINDINGS_PER_LEVEL: usize = 9;
/// The runner cuts a message at 4096 UTF-16 units (`ExecutionContext.cs`); this leaves room for the text after a body.
const MESSAGE: usize = 3800;
/// Characters of a title: GitHub takes 255.
const TITLE: usize = 200;

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    let mut out = String::new();
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left: BTreeMap<Severity, usize> = BTreeMap::new();
    for entry in entries(review) {
        let level = severity_names(entry.severity).annotation;
        if entry.finding.is_some() {
            let count = shown.entry(level).or_default();
            if *count == FINDINGS_PER_LEVEL {
                *left.entry(entry.severity).or_default() += 1;
                continue;
            }
            *count += 1;
        }
        out.push_str(&annotation(&entry, level));
        out.push('\n');
    }
    // There is room for one notice besides those of findings.
    let (mut title, mut paragraphs) = (LIMITS_TITLE.to_owned(), Vec::new());
    if !left.is_empty() {
        let total: usize = left.values().sum();
        let counts: Vec<String> = left.iter().map(|(severity, count)| format!("{count} {severity}")).collect();
        title = format!("{total} more findings have no annotation");
        paragraphs.push(format!(
            "GitHub keeps ten annotations of a level for each step; these are left out: {}. Every other output of the review \
             has them (review show {}).",
            counts.join(", "),
            review.id
        ));
    }
    paragraphs.extend(limit_sentences(review));
    if !paragraphs.is_empty() {
        out.push_str(&command("notice", &[("title", &title)], &paragraphs.join("\n\n")));
        out.push('\n');
    }
    out.into_bytes()
}

fn annotation(entry: &ReportEntry<'_>, level: &str) -> String {
    let place = entry.place.as_ref().filter(|place| place.exists);
    let file = place.map(|place| harmless(&place.path.display_name())).unwrap_or_default();
    let lines = place.and_then(|place| place.lines);
    let number = |line: Option<u32>| line.map(|line| line.to_string()).unwrap_or_default();
    let (line, end) = (number(lines.map(LineRange::start)), number(lines.map(LineRange::end)));
    let title = plain_line(&harmless(&entry.title), TITLE);
    let properties = [("file", file.as_str()), ("line", &line), ("endLine", &end), ("title", &title)];
    command(level, &properties, &message(entry))
}

fn message(entry: &ReportEntry<'_>) -> String {
    let note = entry.place.as_ref().map(|place| plain(&place.note)).unwrap_or_default();
    let facts = entry.finding.map(|finding| plain(&facts(finding))).unwrap_or_default();
    let also = entry.finding.map(|finding| plain(&list_related(finding))).unwrap_or_default();
    let diff = entry.finding.and_then(describe_suggestion).map(|diff| plain(&diff)).unwrap_or_default();
    let units = |text: &str| text.chars().map(char::len_utf16).sum::<usize>();
    let room = MESSAGE.saturating_sub(units(&note) + units(&facts));
    // A character is two units at most.
    let body = plain(&entry.body);
    let body = if units(&body) > room { shorten(&body, room / 2) } else { body };
    let diff = if units(&body) + units(&diff) > room { String::new() } else { diff };
    let also = if units(&body) + units(&diff) + units(&also) > room { String::new() } else { also };
    let parts = [note, body, also, diff, facts];
    let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !is_blank(part)).collect();
    if said.is_empty() { plain(&entry.title) } else { said.join("\n\n") }
}

/// Formats a workflow command without its line ending. Properties without a value are left out. The message and the values are escaped, so
/// that they stay on the line and in their place, and are otherwise verbatim: text for people goes through [`plain`] first.
///
/// A name may hold letters, digits, `-`, `_` and `.`; other characters are left out.
pub fn command(name: &str, properties: &[(&str, &str)], message: &str) -> String {
    let word = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect()
    };
    let given: Vec<String> = properties
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{}={}", word(key), escaped_property(value)))
        .collect();
    let space = if given.is_empty() { "" } else { " " };
    format!("::{}{space}{}::{}", word(name), given.join(","), escaped(message))
}

/// Strips text of a model, of the repository or of an error for a message: no escapes, nothing invisible, and no command of an older kind.
pub fn plain(text: &str) -> String {
    harmless(strip_block(text).trim())
}

/// Breaks the old form of a command, and those of other build services, with a space at their beginning. The runner does not look for them
/// in a line of the new form, but other readers of this log may.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        if rest[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('[') {
            out.push(' ');
        }
    }
    out.push_str(rest);
    out
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};
    use proptest::prelude::*;

    /// A command as the runner parses it: its name, its properties and its data.
    type ParsedCommand = (String, Vec<(String, String)>, String);

    /// Parses the new form at the beginning of a line, else the old form anywhere in it.
    fn obeyed(line: &str) -> Option<ParsedCommand> {
        new_form(line).or_else(|| old_form(line))
    }

    fn new_form(line: &str) -> Option<ParsedCommand> {
        let rest = line.trim_start().strip_prefix("::")?;
        let (info, data) = rest.split_once("::")?;
        let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
        let back = |text: &str| text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
        let properties = properties
            .trim()
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| {
                let value = value.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":");
                (key.to_owned(), value.replace("%2C", ",").replace("%25", "%"))
            })
            .collect();
        Some((name.to_owned(), properties, back(data)))
    }

    fn old_form(line: &str) -> Option<ParsedCommand> {
        let rest = &line[line.find("##[")? + 3..];
        let (info, data) = rest.split_once(']')?;
        Some((info.split(' ').next()?.to_owned(), Vec::new(), data.to_owned()))
    }

    fn rendered(change: impl FnOnce(&mut Review)) -> Vec<ParsedCommand> {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        change(&mut review);
        let bytes = (presenter("annotations").unwrap().render)(&review, &RenderOptions::default());
        // The runner reads lines; other programs end lines at more characters.
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']), "{text:?}");
        text.lines().map(|line| obeyed(line).unwrap_or_else(|| panic!("not a command: {line:?}"))).collect()
    }

    fn property<'c>(command: &'c ParsedCommand, name: &str) -> Option<&'c str> {
        command.1.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_command_is_written_as_the_toolkit_writes_it() {
        assert_eq!(command("warning", &[], "a%b\r\nc:d,e"), "::warning::a%25b%0D%0Ac:d,e");
        let properties = [("file", "a:b,c%.rs"), ("line", ""), ("title", "x")];
        assert_eq!(command("error", &properties, ""), "::error file=a%3Ab%2Cc%25.rs,title=x::");
        assert_eq!(command("add-mask", &[], "s3cret ##[x]"), "::add-mask::s3cret ##[x]");
        assert_eq!(command("group\n::stop", &[], "x"), "::groupstop::x");
    }

    #[test]
    fn commands_of_an_older_kind_are_broken_and_headings_are_not() {
        assert_eq!(
            plain("###[x] ##vso[y] ##teamcity[z] ## Heading #### a[b]"),
            "## #[x] # #vso[y] # #teamcity[z] ## Heading #### a[b]"
        );
    }

    #[test]
    fn a_finding_is_at_its_lines() {
        let commands = rendered(|_| ());
        assert_eq!(commands.len(), 5);
        assert_eq!(commands[1].0, "error");
        assert_eq!(property(&commands[1], "file"), Some("src/storage/client.rs"));
        assert_eq!((property(&commands[1], "line"), property(&commands[1], "endLine")), (Some("88"), Some("90")));
        assert!(commands[1].2.contains("-            let _ = self.put(part);\n+            self.put(part)?;"));
        assert!(commands[1].2.ends_with("high, logic, confidence 9/10, id 9a31e5c07b44"), "{}", commands[1].2);
    }

    #[test]
    fn a_place_that_is_gone_is_told_at_the_file_and_without_one_where_that_is_gone_too() {
        let commands = rendered(|_| ());
        assert_eq!(
            (property(&commands[2], "file"), property(&commands[2], "line")),
            (Some("tests/test_upload.py"), None)
        );
        assert!(
            commands[2].2.starts_with("Before the change: lines 40-44 of tests/test_upload.py"),
            "{}",
            commands[2].2
        );
        let commands = rendered(|review| {
            let mut change = (*review.change).clone();
            let file =
                change.files.iter_mut().find(|file| &*file.path.display_name() == "tests/test_upload.py").unwrap();
            file.status = crate::domain::change::FileStatus::Deleted;
            review.change = std::sync::Arc::new(change);
        });
        assert_eq!(property(&commands[2], "file"), None);
    }

    #[test]
    fn there_are_never_more_of_a_level_than_github_keeps_and_the_rest_is_counted() {
        for outcome in
            [crate::domain::review::ReviewOutcome::Complete, crate::domain::review::ReviewOutcome::Incomplete]
        {
            let commands = rendered(|review| {
                review.outcome = outcome;
                let (high, low) = (review.findings[1].clone(), review.findings[3].clone());
                review.findings = vec![review.findings[0].clone()];
                review.findings.extend((0..20).map(|_| high.clone()));
                review.findings.extend((0..12).map(|_| low.clone()));
            });
            for level in ["error", "warning", "notice"] {
                assert!(commands.iter().filter(|command| command.0 == level).count() <= 10);
            }
            let findings = commands.iter().filter(|command| command.2.contains(", id ")).count();
            assert_eq!(findings, 18);
            let last = commands.last().unwrap();
            assert!(last.2.contains("12 high, 3 low"), "{}", last.2);
            assert_eq!(property(last, "title"), Some("15 more findings have no annotation"));
            let critical = commands.iter().find(|command| command.2.contains(", id ")).unwrap();
            assert!(critical.2.contains("critical"), "the worst comes first");
        }
    }

    #[test]
    fn limits_share_the_notice_of_findings_that_are_left_out() {
        let commands = rendered(|review| {
            let low = review.findings[3].clone();
            review.findings = (0..12).map(|_| low.clone()).collect();
            review.coverage.uncommitted = 1;
        });
        assert_eq!(commands.iter().filter(|command| command.0 == "notice").count(), 10);
        let last = commands.last().unwrap();
        assert_eq!(property(last, "title"), Some("3 more findings have no annotation"));
        assert!(
            last.2.ends_with("\n\n1 file has uncommitted changes that were not checked: --all includes them."),
            "{}",
            last.2
        );
    }

    #[test]
    fn an_unfinished_review_is_an_error_and_comes_first() {
        let commands = rendered(|review| {
            review.outcome = crate::domain::review::ReviewOutcome::Incomplete;
            review.reasons = vec!["the time was up".to_owned()];
        });
        assert_eq!(commands[0].0, "error");
        assert!(property(&commands[0], "title").unwrap().contains("incomplete"));
        assert!(commands[0].2.contains("the time was up"));
    }

    #[test]
    fn a_long_text_is_cut_before_what_stands_behind_it() {
        let commands = rendered(|review| review.findings[0].body = "🙂%\n".repeat(10_000));
        let message = &commands[0].2;
        assert!(message.chars().map(char::len_utf16).sum::<usize>() <= 4096);
        assert!(message.ends_with("id 4be01c9d72fa"), "{message}");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let pieces = proptest::sample::select(vec![
            "::error::x",
            "\n",
            "\r",
            "\r\n",
            "::",
            "##[add-mask]",
            "##[",
            "]",
            "##vso[",
            "%0A",
            "%25",
            "%",
            ":",
            ",",
            "=",
            ";",
            "\u{2028}",
            "\u{85}",
            "\u{b}",
            "\0",
            "\x1b[31m",
            "\u{202e}",
            "\u{feff}",
            " ",
            "\t",
            "::stop-commands::t",
            "name=x",
            "é",
            "🙂",
            "#",
            "##",
        ]);
        prop_oneof![proptest::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat()), any::<String>()]
    }

    proptest! {
        #[test]
        fn nothing_that_is_reported_is_a_command_of_its_own(
            title in hostile(), body in hostile(), path in hostile(), name in hostile(), reason in hostile(), old in any::<bool>(),
        ) {
            let commands = rendered(|review| {
                review.outcome = crate::domain::review::ReviewOutcome::Incomplete;
                review.reasons = vec![reason];
                let finding = &mut review.findings[0];
                finding.title = title;
                finding.body = body;
                finding.origin.name = name;
                if let Ok(path) = crate::domain::path::RepoPath::from_bytes(path.as_bytes()) {
                    finding.anchors[0].path = path.clone();
                    finding.guideline = Some(crate::domain::finding::GuidelineRef { path, line: 1 });
                }
                if old {
                    finding.anchors[0].side = crate::domain::place::DiffSide::Old;
                }
            });
            prop_assert_eq!(commands.len(), 6);
            for command in &commands {
                prop_assert!(["error", "warning", "notice"].contains(&command.0.as_str()));
                let keys: Vec<&str> = command.1.iter().map(|(key, _)| key.as_str()).collect();
                prop_assert!(keys.iter().all(|key| ["file", "line", "endLine", "title"].contains(key)), "{:?}", keys);
                prop_assert!(property(command, "title").is_some() && !command.2.trim().is_empty());
            }
        }

        #[test]
        fn no_line_is_a_command_of_the_old_form(title in hostile(), body in hostile()) {
            let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
            review.findings[0].title = title;
            review.findings[0].body = body;
            let bytes = (presenter("annotations").unwrap().render)(&review, &RenderOptions::default());
            prop_assert!(String::from_utf8(bytes).unwrap().lines().all(|line| old_form(line).is_none()));
        }

        #[test]
        fn what_is_escaped_reads_back(message in any::<String>(), value in "[^ ]{1,20}") {
            let line = command("notice", &[("title", &value)], &message);
            prop_assert!(!line.contains(['\n', '\r']));
            let read = new_form(&line).unwrap();
            // The runner trims the properties as a whole.
            prop_assert_eq!((read.0.as_str(), read.2), ("notice", message));
            if value.trim() == value {
                prop_assert_eq!(read.1, vec![("title".to_owned(), value)]);
            }
        }
    }
}
