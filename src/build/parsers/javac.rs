//! Text of the Java and Kotlin compilers, also as Gradle shows it. Main function: [`parse`].
//!
//! Severities: `error` and `e:` are errors, `warning` and `w:` are warnings. What Maven writes belongs in `maven`.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, join};

// Old versions of Gradle write the name of the task before the first file.
static AT_PLACE: LinePattern = LinePattern::new(concat!(
    r"^(?::[\w:-]+)?(?<file>[^\s:].*?\.(?:java|kts?|scala|groovy)):(?<line>\d+)(?::(?<col>\d+))?: ",
    r"(?<severity>error|warning): (?:\[(?<code>[\w.-]+)\] )?(?<message>.*)$"
));
static KOTLIN: LinePattern = LinePattern::new(concat!(
    r"^(?<severity>[ew]): (?:(?:file://)?(?<file>\S.*?\.kts?):(?: \((?<line>\d+), (?<col>\d+)\):)? ",
    r"(?<message>.*)|(?<plain>.*))$"
));
static KOTLIN_URL: LinePattern = LinePattern::new(
    r"^(?<severity>[ew]): (?:file://)?(?<file>\S.*?\.kts?):(?<line>\d+):(?<col>\d+):? (?<message>.*)$",
);
static WITHOUT_FILE: LinePattern =
    LinePattern::new(r"^(?<severity>error|warning): (?:\[(?<code>[\w.-]+)\] )?(?<message>.*)$");
static CARET: LinePattern = LinePattern::new(r"^\s*\^$");
static DETAIL: LinePattern = LinePattern::new(r"^\s+(?<message>(?:symbol|location|required|found|reason): .*)$");

/// Finds the errors and warnings; the column of `javac` is that of its caret.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        let patterns = [&AT_PLACE, &KOTLIN_URL, &KOTLIN, &WITHOUT_FILE];
        let Some(found) = patterns.into_iter().find_map(|pattern| pattern.find(line)) else { continue };
        let mut report = found.diagnostic();
        report.message = join([report.message.as_str(), found.text("plain").unwrap_or_default()], " ");
        let is_next = |line: &str| !line.starts_with(' ') && patterns.iter().any(|pattern| pattern.is_in(line));
        let end = scan.last_of_block(index, |line| line.trim().is_empty() || is_next(line)).min(index + 8);
        let caret = scan.range(index + 1..=end).take(2).find(|(_, line)| CARET.is_in(line));
        let details: Vec<_> =
            scan.range(index + 1..=end).filter_map(|(at, line)| Some((at, DETAIL.find(line)?))).collect();
        let texts = details.iter().filter_map(|(_, detail)| detail.text("message"));
        report.message = join([report.message.as_str()].into_iter().chain(texts), "; ");
        let last = [caret.map(|(at, _)| at), details.last().map(|(at, _)| *at)].into_iter().flatten().max();
        if let (None, Some((_, caret))) = (report.column, caret) {
            report.column = u32::try_from(caret.chars().count()).ok();
        }
        scan.add(index..=last.unwrap_or(index), report);
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_javac() {
        let expected =
            ["E - Bad.java:2:13 @1-3 illegal start of type", "E - Bad.java:3:2 @4-6 reached end of file while parsing"];
        assert_eq!(rows("javac/javac"), expected);
    }

    #[test]
    fn fixture_javac_types() {
        let expected = [
            "E - Shape.java:3:16 @1-3 incompatible types: String cannot be converted to int",
            "E - Shape.java:4:19 @4-8 cannot find symbol; symbol: method missing(); location: clas",
            "W rawtypes Shape.java:4:30 @9-11 found raw type: List",
            "W rawtypes Shape.java:4:45 @15-17 found raw type: ArrayList",
            "W unchecked Shape.java:4:65 @21-23 unchecked call to add(E) as a member of the raw type List",
            "W deprecation Shape.java:4:72 @26-28 Date(int,int,int) in Date has been deprecated",
        ];
        assert_eq!(rows("javac/javac_types"), expected);
    }

    #[test]
    fn fixture_kotlin_gradle() {
        let expected = [
            "E - /w/src/main/kotlin/Main.kt:2:18 @2-2 Type mismatch: inferred type is String but Int was expected",
            "W - /w/src/main/kotlin/Main.kt:4:9 @3-3 Variable 'unused' is never used",
            "E - /w/src/main/kotlin/Old.kt:7:5 @4-4 Unresolved reference: missing",
            "W - -:-:- @5-5 Some JAR files in the classpath have the Kotlin Runtime libr",
        ];
        assert_eq!(rows("javac/kotlin_gradle"), expected);
    }

    #[test]
    fn fixture_kotlinc() {
        let expected = [
            "E - Main.kt:2:18 @2-4 type mismatch: inferred type is String but Int was expected",
            "E - Main.kt:3:5 @5-7 unresolved reference: missing",
        ];
        assert_eq!(rows("javac/kotlinc"), expected);
    }

    #[test]
    fn fixture_no_file() {
        let expected = ["E - -:-:- @1-1 file not found: Nowhere.java"];
        assert_eq!(rows("javac/no_file"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("javac/success").is_empty());
    }
}
