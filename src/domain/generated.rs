//! Files that nobody writes by hand, by their names and their texts. Main functions: [`generated_by_name`], [`has_generated_header`], [`is_generated`].
//!
//! Data only; the attributes of the repository, which overrule it for changed files, are in `git`.

use super::change::Generated;
use super::path::RepoPath;

/// Written by package managers.
const LOCK_FILES: &[&str] = &[
    ".terraform.lock.hcl",
    "Cargo.lock",
    "Chart.lock",
    "Gemfile.lock",
    "MODULE.bazel.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "cabal.project.freeze",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "paket.lock",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "rebar.lock",
    "shard.lock",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
];

/// Written by tools, known by how their names end.
const GENERATED_ENDINGS: &[&str] = &[
    ".designer.cs",
    ".freezed.dart",
    ".g.cs",
    ".g.dart",
    ".min.css",
    ".min.js",
    ".min.mjs",
    ".pb.cc",
    ".pb.go",
    ".pb.gw.go",
    ".pb.h",
    ".pbobjc.h",
    ".pbobjc.m",
    ".pb.swift",
    ".css.map",
    ".js.map",
    ".mjs.map",
    "_pb.d.ts",
    "_pb.js",
    "_pb.rb",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
];

/// Folders that hold the code of others, at any depth.
const VENDOR_FOLDERS: &[&str] = &[
    "Carthage",
    "Godeps",
    "Pods",
    "bower_components",
    "node_modules",
    "third_party",
    "third-party",
    "thirdparty",
    "vendor",
];

/// Bytes and lines at the beginning of a file in which a header is looked for.
const HEADER_BYTES: usize = 2 << 10;
const HEADER_LINES: usize = 20;
/// Smaller texts are not taken for minified.
const LEAST_MINIFIED: usize = 5_000;
/// Bytes that a line of a minified text has on average, at least.
const MINIFIED_LINE: usize = 400;

/// Recognizes generated, vendored and minified files by name and text.
pub fn is_generated(path: &RepoPath, text: &str) -> bool {
    generated_name(path).is_some() || has_generated_header(text.as_bytes()) || is_minified(text)
}

fn is_minified(text: &str) -> bool {
    let lines = || memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    text.len() >= LEAST_MINIFIED && text.len() / MINIFIED_LINE >= lines()
}

/// Recognizes generated files by name. A renamed file must have had such a name before: a change must not exempt what it goes on to edit.
pub fn generated_by_name(path: &RepoPath, old_path: Option<&RepoPath>) -> Option<Generated> {
    let generated = generated_name(path)?;
    old_path.is_none_or(|old| generated_name(old).is_some()).then_some(generated)
}

fn generated_name(path: &RepoPath) -> Option<Generated> {
    let name = path.file_name();
    if LOCK_FILES.iter().any(|lock| lock.as_bytes() == name) {
        return Some(Generated::LockFile);
    }
    let lower = name.to_ascii_lowercase();
    let generated = GENERATED_ENDINGS.iter().any(|ending| lower.ends_with(ending.as_bytes()))
        || memchr::memmem::find(&lower, b".generated.").is_some();
    let vendored = || {
        let mut folders = path.folder().split(|byte| *byte == b'/');
        folders.any(|folder| VENDOR_FOLDERS.iter().any(|known| known.as_bytes() == folder))
    };
    (generated || vendored()).then_some(Generated::Name)
}

/// Checks whether a comment in the first lines of a text says that it is generated: `@generated`, or `DO NOT EDIT` beside the word
/// "generated". The second one alone is also written above code that people maintain; and what generates or looks for such files speaks of
/// these words, in quotes or within a sentence.
pub fn has_generated_header(text: &[u8]) -> bool {
    let head = &text[..text.len().min(HEADER_BYTES)];
    let (mut warns, mut names) = (false, false);
    let mut end: Option<&[u8]> = None;
    for line in head.split(|byte| *byte == b'\n').take(HEADER_LINES) {
        let line = line.trim_ascii();
        let (is_comment, open) = match end {
            Some(mark) => (true, if holds(line, mark) { None } else { end }),
            None => comment(line),
        };
        end = open;
        if is_comment {
            warns |= has_warning(line);
            names |= holds(&line.to_ascii_lowercase(), b"generated");
            if (warns && names) || has_generated_tag(line) {
                return true;
            }
        }
    }
    false
}

fn holds(line: &[u8], words: &[u8]) -> bool {
    memchr::memmem::find(line, words).is_some()
}

/// Checks whether a comment line says not to edit the file, at the begin of a sentence and to its end, or with what, where or how.
fn has_warning(line: &[u8]) -> bool {
    const WARNING: &[u8] = b"DO NOT EDIT";
    const MORE: [&[u8]; 9] = [b"this", b"it", b"by", b"manually", b"directly", b"anything", b"below", b"above", b"the"];
    memchr::memmem::find_iter(line, WARNING).any(|at| {
        let (before, after) = (line[..at].trim_ascii_end(), &line[at + WARNING.len()..]);
        let quotes = before.iter().filter(|byte| matches!(byte, b'"' | b'`')).count();
        let begins = before.last().is_none_or(|byte| !byte.is_ascii_alphanumeric()) && quotes % 2 == 0;
        let word = after.trim_ascii_start().split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
        let ends = word.is_empty() || MORE.iter().any(|more| word.eq_ignore_ascii_case(more));
        begins && !before.ends_with(b"...") && ends
    })
}

/// Checks whether a comment line has the tag, at its begin or as what the file is.
fn has_generated_tag(line: &[u8]) -> bool {
    const TAG: &[u8] = b"@generated";
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memchr::memmem::find_iter(line, TAG).any(|at| {
        let before = line[..at].trim_ascii_end();
        let word = before.rsplit(|byte| !is_word(byte)).next().unwrap_or_default();
        let begins = !before.iter().any(is_word) && !before.ends_with(b"`") && !before.ends_with(b"'");
        let says = before.last().is_some_and(is_word) && [b"is".as_slice(), b"was", b"file"].contains(&word);
        (begins || says) && !line.get(at + TAG.len()).is_some_and(is_word)
    })
}

/// Checks whether a line begins with a comment; also returns the end mark of one that continues on the next line.
fn comment(line: &[u8]) -> (bool, Option<&'static [u8]>) {
    const BLOCKS: [(&[u8], &[u8]); 4] = [(b"/*", b"*/"), (b"<!--", b"-->"), (b"\"\"\"", b"\"\"\""), (b"(*", b"*)")];
    for (begin, end) in BLOCKS {
        if let Some(rest) = line.strip_prefix(begin) {
            return (true, (!holds(rest, end)).then_some(end));
        }
    }
    let begins: [&[u8]; 6] = [b"//", b"#", b"--", b";", b"%", b"'"];
    (begins.iter().any(|mark| line.starts_with(mark)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_in_the_first_lines_declares_a_file_generated() {
        for text in [
            "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n",
            "#!/bin/sh\n# This file is @generated by a tool\n",
            "/*\n  Auto-generated\n  DO NOT EDIT\n*/\n",
            "<!-- @generated -->\n<a/>\n",
            "/**\n * @generated SignedSource<<0a>>\n */\n",
            "# This file was automatically generated.\n# DO NOT EDIT THIS FILE.\n",
            "// ** generated by x ** DO NOT EDIT BY HAND\n",
            "\"\"\"Generated by x.\n\nDO NOT EDIT.\n\"\"\"\n",
        ] {
            assert!(has_generated_header(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "# DO NOT EDIT without the owner of the schema\n",
            "\"\"\"Finds files that say `@generated` in their first lines.\"\"\"\n",
            "// Skips what has an @generated tag.\n",
            "# Writes api.go. Its first line is \"Code generated by gen.py. DO NOT EDIT.\"\n",
            "// isGenerated looks for a Code generated ... DO NOT EDIT. line\n",
            "// A generated file has DO NOT EDIT in it.\n",
            "// mail@generated.example\n// @generatedBy x\n",
            "let a = \"@generated\";\n",
            "/* one */ let a = 1;\nlet b = \"Code generated. DO NOT EDIT\";\n",
            &format!("{}// @generated\n", "//\n".repeat(30)),
        ] {
            assert!(!has_generated_header(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn names_tell_what_nobody_writes() {
        let path = |text: &str| RepoPath::parse(text).unwrap();
        let of = |text: &str| generated_by_name(&path(text), None);
        assert_eq!(of("src/api.generated.ts"), Some(Generated::Name));
        let renamed = |old: &str| generated_by_name(&path("src/api.generated.ts"), Some(&path(old)));
        assert_eq!((renamed("src/api.ts"), renamed("lib/api.generated.ts")), (None, Some(Generated::Name)));
        assert_eq!(of("a/Cargo.lock"), Some(Generated::LockFile));
        assert_eq!(of("api/v1.pb.go"), Some(Generated::Name));
        assert_eq!(of("web/App.MIN.js"), Some(Generated::Name));
        assert_eq!(of("vendor/x/y.go"), Some(Generated::Name));
        assert_eq!(of("src/thirdparty/quickjs/quickjs.c"), Some(Generated::Name));
        assert_eq!(of("src/vendor.rs"), None);
        assert_eq!(of("src/lock.rs"), None);
        assert_eq!(of("vendor"), None);
    }

    #[test]
    fn texts_say_that_a_tool_wrote_them() {
        let path = RepoPath::parse("src/a.js").unwrap();
        let minified = "var a=1;".repeat(1_000);
        for (text, generated) in [
            ("// Code generated by stringer; DO NOT EDIT.\n", true),
            ("/* @generated by a tool */\n", true),
            ("// generated files are not ours\n", false),
            (minified.as_str(), true),
            ("short\n", false),
        ] {
            assert_eq!(is_generated(&path, text), generated, "{text:.40}");
        }
        assert!(!is_generated(&path, &"let a = 1;\n".repeat(1_000)));
        assert!(is_generated(&RepoPath::parse("vendor/a.js").unwrap(), "x"));
    }
}
