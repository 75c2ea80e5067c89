//! Text of C and C++ compilers, linkers, `make`, Ninja and `CMake`. Main function: [`parse`].
//!
//! Severities: `error` and `fatal error` are errors, `warning` is a warning, a note lengthens the diagnostic before it.
//! What a linker or `make` reports is an error.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static PATTERNS: [LinePattern; 7] = [
    LinePattern::new(concat!(
        r"^(?<file>\S.*?):(?<line>\d+):(?:(?<col>\d+):)? (?<severity>fatal error|error|warning|note): ",
        r"(?<message>.*?)(?: \[(?<code>-[^\]]+)\])?$"
    )),
    LinePattern::new(
        r"^(?:\S*ld\S*: )?(?<file>[^\s:]\S*?):(?:(?<line>\d+)|\(\S*\)): (?<message>(?:undefined reference|multiple definition).*)$",
    ),
    LinePattern::new(r"^(?:\S*/)?[\w-]*ld(?:\.\w+)?: (?<message>cannot find .*)$"),
    LinePattern::new(r#"^\s+(?<message>"[^"]+", referenced from:)$"#),
    LinePattern::new(concat!(
        r"^(?:\S*/)?(?:[\w.-]*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|cc1|cc1plus|collect2|ld|lld|as|ar|ninja)(?:[.-]\w+)?): ",
        r"(?<severity>fatal error|error|warning): (?<message>.*)$"
    )),
    LinePattern::new(
        r"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\* (?<message>(?:\[(?:(?<file>[^\]]+?):(?<line>\d+): )?|[^\[W]).*)$",
    ),
    LinePattern::new(r"^(?<file>\S.*?):(?<line>\d+): \*\*\* (?<message>.*)$"),
];
static CMAKE: LinePattern = LinePattern::new(concat!(
    r"^CMake (?<severity>Error|Warning|Deprecation Warning)(?: \(dev\))?",
    r"(?: (?:at|in) (?<file>.+?)(?::(?<line>\d+)(?: \(.*\))?)?)?:\s*(?<message>.*)$"
));

/// Finds the errors and warnings of a native build.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = CMAKE.find(line) {
            let mut diagnostic = found.diagnostic();
            let last = scan.last_of_block(index, |line| !line.is_empty() && !line.starts_with("  "));
            // Blank lines after the last paragraph belong to nothing.
            let last = (index..=last).rfind(|at| !scan.line(*at).is_empty()).unwrap_or(index);
            let text = scan.range(index + 1..=last).map(|(_, line)| line);
            diagnostic.message = join([diagnostic.message.as_str()].into_iter().chain(text), " ");
            scan.add(index..=last, diagnostic);
        } else if let Some(found) = PATTERNS.iter().find_map(|pattern| pattern.find(line)) {
            let diagnostic = found.diagnostic();
            if diagnostic.severity == DiagnosticSeverity::Info {
                scan.extend_last(index, "");
            } else {
                scan.add(index..=index, diagnostic);
            }
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_clang() {
        let expected = [
            "W -Wunused-variable warn.c:2:32 @1-1 unused variable 'unused'",
            "W -Wformat warn.c:4:20 @4-4 format specifies type 'int' but the argument has type 'const",
            "W -Wint-conversion warn.c:5:9 @8-8 incompatible pointer to integer conversion initializing 'int",
            "E - warn.c:6:12 @11-11 use of undeclared identifier 'undeclared'",
        ];
        assert_eq!(rows("gcc/clang"), expected);
    }

    #[test]
    fn fixture_clang_color() {
        assert_eq!(rows("gcc/clang_color"), rows("gcc/clang"));
    }

    #[test]
    fn fixture_clang_linker() {
        let expected = [
            "E - link.c:-:- @2-2 undefined reference to `elsewhere'",
            "E - link.c:-:- @3-3 undefined reference to `other'",
            "E - -:-:- @4-4 linker command failed with exit code 1 (use -v to see invoca",
        ];
        assert_eq!(rows("gcc/clang_linker"), expected);
    }

    #[test]
    fn fixture_cmake() {
        let expected = [
            "W - CMakeLists.txt:3:- @7-10 The option is old. Use the new one.",
            r#"E - CMakeLists.txt:5:- @13-27 By not providing "FindNowhere.cmake" in CMAKE_MODULE_PATH th"#,
        ];
        assert_eq!(rows("gcc/cmake"), expected);
    }

    #[test]
    fn fixture_gcc_linker() {
        let expected = [
            "E - /w/link.c:3:- @4-4 undefined reference to `elsewhere'",
            "E - /w/link.c:3:- @5-5 undefined reference to `other'",
            "E - -:-:- @6-6 ld returned 1 exit status",
            "E - Makefile:7:- @7-7 [Makefile:7: prog] Error 1",
        ];
        assert_eq!(rows("gcc/gcc_linker"), expected);
    }

    #[test]
    fn fixture_gcc_make() {
        let expected = [
            "W -Wunused-variable warn.c:2:32 @3-3 unused variable ‘unused’",
            "W -Wformat= warn.c:4:14 @7-7 format ‘%d’ expects argument of type ‘int’, but argument 2 h",
            "W -Wint-conversion warn.c:5:13 @13-13 initialization of ‘int’ from ‘char *’ makes integer from poi",
            "E - warn.c:6:12 @16-19 ‘undeclared’ undeclared (first use in this function)",
            "W -Wreturn-type warn.c:7:1 @20-20 control reaches end of non-void function",
            "W -Wunused-function warn.c:2:12 @24-24 ‘helper’ defined but not used",
            "E - Makefile:3:- @27-27 [Makefile:3: warn.o] Error 1",
        ];
        assert_eq!(rows("gcc/gcc_make"), expected);
    }

    #[test]
    fn fixture_gcc_missing_header() {
        let expected = [
            "E - main.c:2:10 @2-2 missing.h: No such file or directory",
            "E - Makefile:5:- @6-6 [Makefile:5: missing.o] Error 1",
        ];
        assert_eq!(rows("gcc/gcc_missing_header"), expected);
    }

    #[test]
    fn fixture_gxx_template() {
        let expected = [
            "E - tmpl.cpp:8:21 @2-2 conversion from ‘int’ to non-scalar type ‘std::string’ {aka ",
            "E - tmpl.cpp:9:22 @5-5 ‘__gnu_cxx::__alloc_traits<std::allocator<A>, A>::value_type",
            "E - /usr/include/c++/12/bits/predefined_ops.h:45:23 @17-32 no match for ‘operator<’ (operand types are ‘A’ and ‘A’)",
        ];
        assert_eq!(rows("gcc/gxx_template"), expected);
    }

    #[test]
    fn fixture_make_no_rule() {
        let expected = ["E - -:-:- @1-1 No rule to make target 'nothing.c', needed by 'broken'. Stop"];
        assert_eq!(rows("gcc/make_no_rule"), expected);
    }

    #[test]
    fn fixture_make_sub() {
        let expected =
            ["E - Makefile:2:- @4-4 [Makefile:2: all] Error 1", "E - Makefile:15:- @6-6 [Makefile:15: sub] Error 2"];
        assert_eq!(rows("gcc/make_sub"), expected);
    }

    #[test]
    fn fixture_make_syntax() {
        let expected = ["E - Bad.mk:2:- @1-1 missing separator (did you mean TAB instead of 8 spaces?). S"];
        assert_eq!(rows("gcc/make_syntax"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("gcc/success").is_empty());
    }

    #[test]
    fn other_linkers_and_words_of_make() {
        let text = concat!(
            "/usr/bin/ld: cannot find -lfoo: No such file or directory\n",
            "ld.lld: error: undefined symbol: foo\n",
            "Undefined symbols for architecture arm64:\n",
            "  \"_foo\", referenced from:\n",
            "ninja: error: loading 'build.ninja': No such file or directory\n",
            "make: *** Waiting for unfinished jobs....\n",
            "make: *** [all] Error 2\n",
            "C:\\src\\a.c:3:4: error: bad",
        );
        let expected = [
            "E - -:-:- @1-1 cannot find -lfoo: No such file or directory",
            "E - -:-:- @2-2 undefined symbol: foo",
            r#"E - -:-:- @4-4 "_foo", referenced from:"#,
            "E - -:-:- @5-5 loading 'build.ninja': No such file or directory",
            "E - -:-:- @7-7 [all] Error 2",
            r"E - C:\src\a.c:3:4 @8-8 bad",
        ];
        assert_eq!(rows_in("gcc", text), expected);
    }
}
