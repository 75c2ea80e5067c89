//! The mark of a finding that has no thread: it stands in the summary alone. Main type: [`SummaryOnlyMark`].

use super::{
    CLOSING, FindingMark, LONGEST, QUOTE_DIGITS, ends_in_fence, escaped, fields, marks_at_end, opening, unescaped,
    unescaped_bytes,
};
use crate::domain::finding::{Category, Finding, FindingFingerprint, FindingId, OriginKind, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;

/// At the end of the summary, one line each: a finding that stands there and on no lines, so that the next review knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOnlyMark {
    /// The mark that an inline comment would carry.
    pub finding: FindingMark,
    /// The file that it is about.
    pub path: RepoPath,
    /// Before or after the change.
    pub side: DiffSide,
    /// The line it begins at, of when it was found; `None` for a whole file.
    pub line: Option<u32>,
    /// Its title: untrusted text of one line, not Markdown.
    pub title: String,
    /// `true` if a later review showed that it is gone.
    pub is_fixed: bool,
}

impl SummaryOnlyMark {
    /// No summary has more of them.
    pub const MOST: usize = 100;
    const KIND: &'static str = "beside";
    const NAMES: [&'static str; 11] =
        ["id", "fp", "quote", "severity", "category", "origin", "side", "line", "path", "title", "is"];

    /// The mark of an open finding; `None` if it is about no file.
    pub fn of(finding: &Finding) -> Option<Self> {
        let anchor = finding.anchors.first()?;
        Some(Self {
            finding: FindingMark::of(finding),
            path: anchor.path.clone(),
            side: anchor.side,
            line: anchor.lines.map(crate::domain::place::LineRange::start),
            title: finding.title.clone(),
            is_fixed: false,
        })
    }

    /// As it stands in a text; one line. `None` if that would be too long to be read back.
    pub fn write(&self) -> Option<String> {
        let mark = &self.finding;
        let plain = |text: &str| escaped(text.as_bytes(), b"");
        let values = [
            plain(&mark.id.0),
            plain(&mark.fingerprint.0),
            plain(&format!("{}:{}", mark.quote.0, mark.quote.1)),
            plain(mark.severity.word()),
            plain(mark.category.word()),
            plain(mark.origin.word()),
            plain(side_word(self.side)),
            self.line.unwrap_or(0).to_string(),
            escaped(self.path.as_bytes(), b"/"),
            // Most of a title are words: a space takes one character here instead of three.
            plain(&self.title).replace("%20", "+"),
            // Last, as neither ends with a hyphen.
            (if self.is_fixed { "fixed" } else { "open" }).to_owned(),
        ];
        let mut out = format!("{}v=1", opening(Self::KIND));
        for (name, value) in Self::NAMES.iter().zip(values) {
            out.push_str(&format!(" {name}={value}"));
        }
        out.push_str(CLOSING);
        (out.len() <= LONGEST).then_some(out)
    }

    /// Those at the end of a text; none at all where one stands elsewhere too.
    pub fn read_all(text: &str) -> Vec<Self> {
        let opening = opening(Self::KIND);
        let Some(marks) = marks_at_end(text) else { return Vec::new() };
        let before = &text[..text.trim_end().len() - marks.len()];
        let lines: Vec<&str> = marks.lines().filter(|line| line.starts_with(&opening)).collect();
        let all = text.matches(&opening["<!-- ".len()..]).count();
        if lines.len() != all || ends_in_fence(before) {
            return Vec::new();
        }
        lines.into_iter().take(Self::MOST).filter_map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        if line.len() > LONGEST {
            return None;
        }
        let [id, fingerprint, quote, severity, category, origin, side, at, path, title, is] =
            fields(line, Self::KIND, Self::NAMES)?;
        let quote = unescaped(quote)?;
        let (digits, count) = quote.split_once(':')?;
        let mark = Self {
            finding: FindingMark {
                id: FindingId(unescaped(id)?),
                fingerprint: FindingFingerprint(unescaped(fingerprint)?),
                quote: ((digits.len() == QUOTE_DIGITS).then(|| digits.to_owned())?, count.parse().ok()?),
                severity: Severity::from_word(severity)?,
                category: Category::from_word(&unescaped(category)?)?,
                origin: OriginKind::from_word(origin)?,
            },
            path: RepoPath::from_bytes(&unescaped_bytes(path)?).ok()?,
            side: [DiffSide::Old, DiffSide::New].into_iter().find(|one| side_word(*one) == side)?,
            line: Some(at.parse().ok()?).filter(|line| *line > 0),
            title: unescaped(&title.replace('+', "%20"))?,
            is_fixed: is == "fixed",
        };
        (mark.write()? == line).then_some(mark)
    }
}

const fn side_word(side: DiffSide) -> &'static str {
    match side {
        DiffSide::Old => "old",
        DiffSide::New => "new",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::finding;
    use super::*;
    use proptest::prelude::*;

    fn mark(title: &str, path: &[u8]) -> SummaryOnlyMark {
        SummaryOnlyMark {
            finding: finding(),
            path: RepoPath::from_bytes(path).unwrap(),
            side: DiffSide::Old,
            line: Some(7),
            title: title.to_owned(),
            is_fixed: false,
        }
    }

    #[test]
    fn several_marks_are_read_at_the_end_of_a_text_only() {
        let (one, two) = (mark("It leaks", b"src/a b.rs"), mark("x + y -->", b"\xff.rs"));
        let (line, other) = (one.write().unwrap(), two.write().unwrap());
        assert!(line.contains(" path=src/a%20b.rs title=It+leaks is=open -->"), "{line}");
        let both = format!("{line}\n{other}");
        assert_eq!(SummaryOnlyMark::read_all(&format!("words\n\n{both}\n")), [one, two]);
        for text in [
            format!("{line}\n\nwords\n\n{other}"),
            format!("{both}\n\nwords"),
            format!("words\n{both}"),
            format!("```\n\n{both}"),
            line.replace("severity=high", "severity=HIGH"),
            line.replace("v=1", "v=2"),
            String::new(),
        ] {
            assert_eq!(SummaryOnlyMark::read_all(&text), [], "{text}");
        }
        assert_eq!(mark(&"x".repeat(3000), b"a").write(), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_and_never_ends_the_comment(title in "[-a+>%! é\n]{0,40}", path in "[-a>% /]{1,20}") {
            prop_assume!(RepoPath::check(path.as_bytes()).is_ok());
            let mark = mark(&title, path.as_bytes());
            let line = mark.write().unwrap();
            let inner = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap();
            prop_assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n') && !inner.ends_with('-'));
            prop_assert_eq!(SummaryOnlyMark::read_all(&line), vec![mark]);
        }
    }
}
