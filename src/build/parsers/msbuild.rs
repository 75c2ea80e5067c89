//! Text of `MSBuild` and `dotnet build` or `restore`. Main function: [`parse`].
//!
//! Severities: `error` and `warning` as written. Results of `dotnet test` belong in `dotnet_test`.

use std::collections::HashSet;

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan};

static AT_PLACE: LinePattern = LinePattern::new(concat!(
    r"^\s*(?:\d+>)?(?<file>\S.*?)\((?<line>\d+)(?:,(?<col>\d+)(?:,(?<endline>\d+),\d+)?)?\)\s*: ",
    r"(?:fatal |\w+ )?(?<severity>error|warning)(?: (?<code>[A-Za-z]+\d+))?\s*: (?<message>.*)$"
));
static OF_PROJECT: LinePattern = LinePattern::new(
    r"^\s*(?:\d+>)?(?<file>\S.*?)\s*: (?:fatal )?(?<severity>error|warning) (?<code>[A-Za-z]+\d+)\s*: (?<message>.*)$",
);
static PROJECT: LinePattern =
    LinePattern::new(r"^(?<message>.*?)\s*\[(?<file>[^\[\]]+?\.(?:\w+proj|sln|slnx))(?:::[^\[\]]*)?\]\s*$");
static RETRY: LinePattern =
    LinePattern::new(r"^(?<before>.*)(?:retry \d+ in \d+ ?ms|retry count of \d+)(?<message>.*)$");

/// Finds the errors and warnings; the same one again, at another attempt or in the list at the end, counts once.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut seen = HashSet::new();
    for index in 0..scan.len() {
        let line = scan.line(index);
        let Some(found) = AT_PLACE.find(line).or_else(|| OF_PROJECT.find(line)) else { continue };
        let mut diagnostic = found.diagnostic();
        // `CSC : error` and `MSBUILD : error` name the tool, not a file.
        diagnostic.file = diagnostic.file.filter(|file| file.contains(['.', '/', '\\']));
        let message = found.text("message").unwrap_or_default();
        if let Some(project) = PROJECT.find(message) {
            project.text("message").unwrap_or_default().clone_into(&mut diagnostic.message);
            diagnostic.file = diagnostic.file.or_else(|| project.text("file").map(str::to_owned));
        }
        let message = RETRY.find(&diagnostic.message).map_or(diagnostic.message.clone(), |retry| {
            [retry.text("before"), Some("(retry)"), retry.text("message")].into_iter().flatten().collect()
        });
        let file = diagnostic.file.clone();
        if seen.insert((
            diagnostic.severity,
            diagnostic.code.clone(),
            file,
            diagnostic.line,
            diagnostic.column,
            message,
        )) {
            scan.add(index..=index, diagnostic);
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_failures() {
        let expected = [
            "W NU1903 /w/src/App/App.csproj:-:- @2-2 Package 'Example.Json' 9.0.1 has a known high severity vulne",
            "W CS0219 /w/src/App/Program.cs:5:13 @4-4 The variable 'unused' is assigned but its value is never use",
            "E CS0103 /w/src/App/Program.cs:7:9 @5-5 The name 'missing' does not exist in the current context",
            "E CS0103 /w/src/App/Program.cs:8:9 @6-6 The name 'missing' does not exist in the current context",
            r#"W MSB3026 /usr/share/dotnet/sdk/8.0.100/Microsoft.Common.CurrentVersion.targets:5097:5 @7-7 Could not copy "obj/App.dll" to "bin/App.dll". Beginning ret"#,
            "E CS5001 /w/src/Tool/Tool.csproj:-:- @9-9 Program does not contain a static 'Main' method suitable for",
        ];
        assert_eq!(rows("msbuild/failures"), expected);
    }

    #[test]
    fn fixture_no_project() {
        let expected = ["E MSB1003 -:-:- @1-1 Specify a project or solution file. The current working dire"];
        assert_eq!(rows("msbuild/no_project"), expected);
    }

    #[test]
    fn fixture_restore() {
        let expected =
            ["E NU1101 /w/src/App/App.csproj:-:- @2-2 Unable to find package No.Such.Package. No packages exist wi"];
        assert_eq!(rows("msbuild/restore"), expected);
    }

    #[test]
    fn fixture_windows() {
        let expected = [
            r"E CS1061 C:\src\App (x86)\Program.cs:12..12:34 @1-1 'string' does not contain a definition for 'Foo'",
            r"E LNK1104 C:\src\Native\Native.vcxproj:-:- @2-2 cannot open file 'missing.lib'",
        ];
        assert_eq!(rows("msbuild/windows"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("msbuild/success").is_empty());
    }

    #[test]
    fn one_line_with_two_columns_and_a_repeated_error() {
        let text = concat!(
            "A.cs(1,2): error CS1: same [a.csproj]\n",
            "A.cs(1,9): error CS1: same [a.csproj]\n",
            "A.cs(1,2): error CS1: same [b.csproj]\n",
            "A.cs(2): warning : no code",
        );
        let expected = ["E CS1 A.cs:1:2 @1-1 same", "E CS1 A.cs:1:9 @2-2 same", "W - A.cs:2:- @4-4 no code"];
        assert_eq!(rows_in("msbuild", text), expected);
    }
}
