//! The hidden comments by which we know again what we wrote. Main types: [`FindingMark`], [`SummaryMark`], [`RunMark`].
//!
//! A mark proves nothing on its own, anybody can write one: it counts only in a text that the forge says our own account wrote. It stands at the
//! end of a text, on a line of its own below an empty line or another mark, and outside of fences; a text that has two of a kind has none.
//! Marks are read back only in exactly the form in which they are written. Marks of [`MarkTrust::Untrusted`] are of other kinds, so that no
//! reader of the one takes the other for its own.

mod summary_only;

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::domain::finding::{Category, Finding, FindingFingerprint, FindingId, OriginKind, Severity};
use crate::domain::id::{CommitId, hex};
use crate::domain::run::{Engine, RunId};

pub use summary_only::SummaryOnlyMark;

/// The number of hexadecimal digits kept of the hash of a quote.
const QUOTE_DIGITS: usize = 12;
/// No mark is longer, in bytes.
const LONGEST: usize = 2000;

/// The trust in what is posted. It decides which marks are written and read, and what may become of what stands there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MarkTrust {
    /// We made the review ourselves.
    #[default]
    Own,
    /// An untrusted author made it; only the evidence of its findings was checked.
    Untrusted,
}

impl MarkTrust {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Untrusted];

    /// The kind of a mark: one of two words.
    const fn of(self, [own, untrusted]: [&str; 2]) -> &str {
        match self {
            Self::Own => own,
            Self::Untrusted => untrusted,
        }
    }
}

/// In an inline comment: the finding that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingMark {
    /// Its name when it was posted.
    pub id: FindingId,
    /// Its subject.
    pub fingerprint: FindingFingerprint,
    /// The hash of the lines it is about (12 hexadecimal digits; see [`quote_hash`]), and how many they are.
    pub quote: (String, u32),
    /// The severity.
    pub severity: Severity,
    /// The category.
    pub category: Category,
    /// The kind of engine that found it: another sort that does not find it proves nothing.
    pub origin: OriginKind,
}

/// In the summary: what was reviewed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryMark {
    /// The run.
    pub run: RunId,
    /// The commit that was reviewed.
    pub head: CommitId,
    /// The merge base with the target.
    pub merge_base: CommitId,
    /// `true` if that review was complete.
    pub complete: bool,
    /// The settings that shaped it; `None` in older marks, which lack this.
    pub made: Option<ReviewMark>,
}

/// The scope of a review, and the findings that its summary names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewMark {
    /// The engine's kind.
    pub engine: Engine,
    /// The worst severity of what it found and hid, being below the floor.
    pub hid: Option<Severity>,
    /// The number of findings that are on no lines and lack the line or mark that they should have in the summary.
    pub untold: usize,
}

/// In the text of a review: the run that it comes from, so that a lost answer does not post it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMark {
    /// The run.
    pub run: RunId,
    /// The head when it was posted.
    pub head: CommitId,
}

/// The hash of the lines that a finding is about, and how many they are: 12 hexadecimal digits of a SHA-256 over the lines, joined by line
/// feeds, with each run of white space in a line as one space and none at its ends. So a new indentation or other line ends change nothing.
/// An empty quote has no lines.
pub fn quote_hash(quote: &str) -> (String, u32) {
    let mut hash = Sha256::new();
    let mut count = 0u32;
    for line in quote.lines() {
        if count > 0 {
            hash.update(b"\n");
        }
        for (at, word) in line.split_whitespace().enumerate() {
            if at > 0 {
                hash.update(b" ");
            }
            hash.update(word.as_bytes());
        }
        count = count.saturating_add(1);
    }
    (hex(&hash.finalize()[..QUOTE_DIGITS / 2]), count)
}

impl FindingMark {
    const KINDS: [&'static str; 2] = ["finding", "untrusted-finding"];

    /// The mark of a finding.
    pub fn of(finding: &Finding) -> Self {
        Self {
            id: finding.id.clone(),
            fingerprint: finding.fingerprint.clone(),
            quote: quote_hash(finding.anchors.first().map(|anchor| anchor.quote.as_str()).unwrap_or_default()),
            severity: finding.severity,
            category: finding.category,
            origin: finding.origin.kind,
        }
    }

    /// As it stands in a text of ours; one line.
    pub fn write(&self) -> String {
        self.write_as(MarkTrust::Own)
    }

    /// Writes it for a text of this trust.
    pub fn write_as(&self, trust: MarkTrust) -> String {
        written(
            trust.of(Self::KINDS),
            &[
                ("id", &self.id.0),
                ("fp", &self.fingerprint.0),
                ("quote", &format!("{}:{}", self.quote.0, self.quote.1)),
                ("severity", self.severity.word()),
                ("category", self.category.word()),
                ("origin", self.origin.word()),
            ],
        )
    }

    /// The one at the end of a text of ours.
    pub fn read(text: &str) -> Option<Self> {
        Self::read_as(text, MarkTrust::Own)
    }

    /// Reads it from a text of this trust.
    pub fn read_as(text: &str, trust: MarkTrust) -> Option<Self> {
        let line = last(text, trust.of(Self::KINDS))?;
        let [id, fingerprint, quote, severity, category, origin] =
            values(line, trust.of(Self::KINDS), ["id", "fp", "quote", "severity", "category", "origin"])?;
        let (digits, lines) = quote.split_once(':')?;
        let is_hash = digits.len() == QUOTE_DIGITS && digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        let mark = Self {
            id: FindingId(id),
            fingerprint: FindingFingerprint(fingerprint),
            quote: (is_hash.then(|| digits.to_owned())?, lines.parse().ok()?),
            severity: Severity::from_word(&severity)?,
            category: Category::from_word(&category)?,
            origin: OriginKind::from_word(&origin)?,
        };
        (mark.write_as(trust) == line).then_some(mark)
    }
}

impl SummaryMark {
    const KINDS: [&'static str; 2] = ["summary", "untrusted-summary"];

    /// As it stands in a text of ours; one line.
    pub fn write(&self) -> String {
        self.write_as(MarkTrust::Own)
    }

    /// Writes it for a text of this trust.
    pub fn write_as(&self, trust: MarkTrust) -> String {
        let (head, base, run) = (self.head.to_string(), self.merge_base.to_string(), self.run.to_string());
        let complete = if self.complete { "1" } else { "0" };
        let mut fields = vec![("head", head.as_str()), ("base", &base), ("complete", complete), ("run", &run)];
        let untold = self.made.map(|made| made.untold.to_string());
        if let (Some(made), Some(untold)) = (self.made, &untold) {
            let hid = made.hid.map_or("none", Severity::word);
            fields.extend([("by", made.engine.as_str()), ("hid", hid), ("untold", untold)]);
        }
        written(trust.of(Self::KINDS), &fields)
    }

    /// The one at the end of a text of ours.
    pub fn read(text: &str) -> Option<Self> {
        Self::read_as(text, MarkTrust::Own)
    }

    /// Reads it from a text of this trust.
    pub fn read_as(text: &str, trust: MarkTrust) -> Option<Self> {
        let line = last(text, trust.of(Self::KINDS))?;
        let all = values(line, trust.of(Self::KINDS), ["head", "base", "complete", "run", "by", "hid", "untold"]);
        let (head, base, complete, run, made) = match all {
            Some([head, base, complete, run, by, hid, untold]) => {
                let engine = [Engine::Model, Engine::Rules].into_iter().find(|engine| engine.as_str() == by)?;
                let made = ReviewMark { engine, hid: Severity::from_word(&hid), untold: untold.parse().ok()? };
                (head, base, complete, run, Some(made))
            }
            None => {
                let [head, base, complete, run] =
                    values(line, trust.of(Self::KINDS), ["head", "base", "complete", "run"])?;
                (head, base, complete, run, None)
            }
        };
        let mark = Self {
            run: run.parse().ok()?,
            head: CommitId(head.parse().ok()?),
            merge_base: CommitId(base.parse().ok()?),
            complete: complete == "1",
            made,
        };
        (mark.write_as(trust) == line).then_some(mark)
    }
}

impl RunMark {
    const KINDS: [&'static str; 2] = ["run", "untrusted-run"];

    /// As it stands in a text of ours; one line.
    pub fn write(&self) -> String {
        self.write_as(MarkTrust::Own)
    }

    /// Writes it for a text of this trust.
    pub fn write_as(&self, trust: MarkTrust) -> String {
        written(trust.of(Self::KINDS), &[("run", &self.run.to_string()), ("head", &self.head.to_string())])
    }

    /// The one at the end of a text of ours.
    pub fn read(text: &str) -> Option<Self> {
        Self::read_as(text, MarkTrust::Own)
    }

    /// Reads it from a text of this trust.
    pub fn read_as(text: &str, trust: MarkTrust) -> Option<Self> {
        let line = last(text, trust.of(Self::KINDS))?;
        let [run, head] = values(line, trust.of(Self::KINDS), ["run", "head"])?;
        let mark = Self { run: run.parse().ok()?, head: CommitId(head.parse().ok()?) };
        (mark.write_as(trust) == line).then_some(mark)
    }
}

fn written(kind: &str, fields: &[(&str, &str)]) -> String {
    let mut out = format!("{}v=1", opening(kind));
    for (name, value) in fields {
        let _ = write!(out, " {name}={}", escaped(value.as_bytes(), b""));
    }
    out.push_str(CLOSING);
    out
}

const CLOSING: &str = " -->";

fn opening(kind: &str) -> String {
    format!("<!-- review:{kind} ")
}

/// A value that can neither end the comment nor be read as two: all but letters, digits, a few signs and `also` percent-encoded, and so is a
/// hyphen that does not stand alone.
fn escaped(value: &[u8], also: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.iter().copied() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b':' | b'_' => out.push(char::from(byte)),
            _ if also.contains(&byte) => out.push(char::from(byte)),
            b'-' if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn unescaped(value: &str) -> Option<String> {
    String::from_utf8(unescaped_bytes(value)?).ok()
}

fn unescaped_bytes(value: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(digit()? << 4 | digit()?);
    }
    Some(bytes)
}

/// The values of a mark's fields, all of them and in order.
fn values<const N: usize>(line: &str, kind: &str, names: [&str; N]) -> Option<[String; N]> {
    let mut values = std::array::from_fn(|_| String::new());
    for (value, written) in values.iter_mut().zip(fields(line, kind, names)?) {
        *value = unescaped(written)?;
    }
    Some(values)
}

/// Splits a mark into its fields, still escaped.
fn fields<'l, const N: usize>(line: &'l str, kind: &str, names: [&str; N]) -> Option<[&'l str; N]> {
    let inner = line.strip_prefix(&opening(kind))?.strip_suffix(CLOSING)?;
    let mut fields = inner.split(' ');
    if fields.next() != Some("v=1") {
        return None;
    }
    let mut values = [""; N];
    for (value, name) in values.iter_mut().zip(names) {
        *value = fields.next()?.strip_prefix(name)?.strip_prefix('=')?;
    }
    fields.next().is_none().then_some(values)
}

/// The line of the one mark of this kind, where it stands among the marks at the end of the text.
fn last<'t>(text: &'t str, kind: &str) -> Option<&'t str> {
    let opening = opening(kind);
    let mut found = text.match_indices(&opening["<!-- ".len()..]);
    if found.next().is_none() || found.next().is_some() {
        return None;
    }
    let marks = text.trim_end().len() - marks_at_end(text)?.len();
    let (before, marks) = text.trim_end().split_at(marks);
    let line = marks.lines().find(|line| line.starts_with(&opening))?;
    (line.len() <= LONGEST && !ends_in_fence(before)).then_some(line)
}

/// The lines at the end of a text that are hidden comments of ours, where an empty line or nothing stands before them.
fn marks_at_end(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let mut from = text.len();
    while from > 0 {
        let before = text[..from].strip_suffix('\n').unwrap_or(&text[..from]);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before[start..].trim_end_matches('\r');
        if line.starts_with("<!-- review:") && line.ends_with(CLOSING) && line.matches("-->").count() == 1 {
            from = start;
        } else if line.trim().is_empty() {
            break;
        } else {
            return None;
        }
    }
    (from < text.len()).then(|| &text[from..])
}

/// Checks whether what follows a text is still code: a fence was opened and not closed (`CommonMark` 0.31 §4.5). A fence in a list or a quotation ends
/// with it, at the latest where a line begins at the margin.
fn ends_in_fence(text: &str) -> bool {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start_matches(' ');
        let Some(mark) = bare.chars().next().filter(|mark| line.len() - bare.len() <= 3 && matches!(mark, '`' | '~'))
        else {
            continue;
        };
        let length = bare.chars().take_while(|c| *c == mark).count();
        let rest = &bare[length..];
        open = match open {
            None if length >= 3 && !(mark == '`' && rest.contains('`')) => Some((mark, length)),
            Some((opened, least)) if opened == mark && length >= least && rest.trim().is_empty() => None,
            same => same,
        };
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn finding() -> FindingMark {
        FindingMark {
            id: FindingId("0123456789ab-2".to_owned()),
            fingerprint: FindingFingerprint("00ff".repeat(8)),
            quote: quote_hash("let a = 1;"),
            severity: Severity::High,
            category: Category::AccessControl,
            origin: OriginKind::Model,
        }
    }

    fn commit(byte: u8) -> CommitId {
        CommitId(crate::domain::id::ObjectId::new([byte; 20]))
    }

    fn summary() -> SummaryMark {
        SummaryMark { run: RunId::random(), head: commit(1), merge_base: commit(2), complete: true, made: None }
    }

    #[test]
    fn a_mark_is_one_hidden_line() {
        assert_eq!(
            finding().write(),
            "<!-- review:finding v=1 id=0123456789ab-2 fp=00ff00ff00ff00ff00ff00ff00ff00ff quote=c58e9029f1fd:1 severity=high \
             category=access_control origin=model -->"
        );
        let run = RunMark { run: "6f1c2a34-0000-4000-8000-000000000001".parse().unwrap(), head: commit(0xab) };
        assert_eq!(
            run.write(),
            format!("<!-- review:run v=1 run=6f1c2a34-0000-4000-8000-000000000001 head={} -->", "ab".repeat(20))
        );
    }

    #[test]
    fn marks_of_what_nobody_vouches_for_are_others() {
        let (finding, summary) = (finding(), summary());
        let run = RunMark { run: RunId::random(), head: commit(3) };
        for (trust, other) in [(MarkTrust::Own, MarkTrust::Untrusted), (MarkTrust::Untrusted, MarkTrust::Own)] {
            assert_eq!(FindingMark::read_as(&finding.write_as(trust), trust), Some(finding.clone()));
            assert_eq!(FindingMark::read_as(&finding.write_as(trust), other), None);
            assert_eq!(SummaryMark::read_as(&summary.write_as(trust), trust), Some(summary.clone()));
            assert_eq!(SummaryMark::read_as(&summary.write_as(trust), other), None);
            assert_eq!(RunMark::read_as(&run.write_as(trust), trust), Some(run.clone()));
            assert_eq!(RunMark::read_as(&run.write_as(trust), other), None);
        }
        assert!(finding.write_as(MarkTrust::Untrusted).starts_with("<!-- review:untrusted-finding v=1 "));
    }

    #[test]
    fn marks_are_read_at_the_end_of_a_text_only() {
        let (mark, other) = (finding(), summary());
        let line = mark.write();
        for text in [
            line.clone(),
            format!("words\n\n{line}"),
            format!("words\r\n\r\n{line}\r\n"),
            format!("```\ncode\n```\n\n{line}\n\n"),
            format!("words\n\n{}\n{line}", other.write()),
            format!("words\n\n{line}\n{}", other.write()),
        ] {
            assert_eq!(FindingMark::read(&text).as_ref(), Some(&mark), "{text}");
        }
        for text in [
            String::new(),
            "words".to_owned(),
            format!("{line}\n\nwords"),
            format!("{line} words"),
            format!("words {line}"),
            format!("words\n{line}"),
            format!("  {line}"),
            format!("> {line}"),
            format!("`\n\n{line}`"),
            format!("```\ncode\n\n{line}"),
            format!("~~~~ rust\n~~~\n```\n\n{line}"),
            format!("```\n{line}\n```"),
            format!("{line}\n{line}"),
            format!("{line}\n\nwords\n\n{line}"),
            line.replace("v=1", "v=2"),
            line.replace("severity=high ", ""),
            line.replace("severity=high", "severity=HIGH"),
            line.replace(":1 ", ":01 "),
            line.replace(" -->", " more=1 -->"),
            line.replace("-->", "--"),
            line.replace("id=0", "id=%30"),
            line.replace("id=0", "id=%ff"),
        ] {
            assert_eq!(FindingMark::read(&text), None, "{text}");
        }
    }

    #[test]
    fn each_kind_is_read_by_itself() {
        let (mark, run) = (summary(), RunMark { run: RunId::random(), head: commit(9) });
        let text = format!("words\n\n{}\n{}\n", mark.write(), run.write());
        assert_eq!((SummaryMark::read(&text), RunMark::read(&text)), (Some(mark), Some(run)));
        assert_eq!(FindingMark::read(&text), None);
    }

    #[test]
    fn a_summary_says_how_it_was_made_and_older_ones_did_not() {
        let old = summary();
        let made = ReviewMark { engine: Engine::Rules, hid: Some(Severity::High), untold: 3 };
        let new = SummaryMark { made: Some(made), ..old.clone() };
        assert!(new.write().ends_with(" by=rules hid=high untold=3 -->"), "{}", new.write());
        for mark in [new, old, SummaryMark { made: Some(ReviewMark { hid: None, ..made }), ..summary() }] {
            assert_eq!(SummaryMark::read(&format!("words\n\n{}", mark.write())), Some(mark));
        }
    }

    #[test]
    fn the_hash_of_a_quote_forgives_white_space_and_nothing_else() {
        let one = quote_hash("if a {\n    b();\n}");
        assert_eq!(one.1, 3);
        assert_eq!(quote_hash("  if  a {\r\n\tb(); \r\n  }\n"), one);
        for other in ["if a {\n    c();\n}", "if a { b();\n}", "if a {\nb();\n}\n\n", "if a {\nb();"] {
            assert_ne!(quote_hash(other), one, "{other:?}");
        }
        assert_eq!(quote_hash("").1, 0);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_and_never_ends_the_comment(
            id in ".{0,20}", hyphens in "[-a>%! ]{0,12}", lines in any::<u32>(), severity in 0..5usize, category in 0..8usize, prose in "[a-z `\n]{0,40}"
        ) {
            let mark = FindingMark {
                id: FindingId(id),
                fingerprint: FindingFingerprint(hyphens),
                quote: (quote_hash("x").0, lines),
                severity: Severity::ALL[severity],
                category: Category::ALL[category],
                origin: OriginKind::Rule,
            };
            let line = mark.write();
            let inner = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap();
            prop_assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n') && !inner.ends_with('-'));
            prop_assert_eq!(FindingMark::read(&line), Some(mark.clone()));
            let text = format!("{prose}\n\n{line}");
            let read = FindingMark::read(&text);
            prop_assert!(read == Some(mark) || (read.is_none() && prose.contains("```")), "{text}");
        }

        #[test]
        fn any_text_may_be_read(text in any::<String>()) {
            let _ = (FindingMark::read(&text), SummaryMark::read(&text), RunMark::read(&text));
            let odd = format!("{text}\n\n<!-- review:finding v=1 {text} -->");
            prop_assert_eq!(FindingMark::read(&odd), None);
        }
    }
}
