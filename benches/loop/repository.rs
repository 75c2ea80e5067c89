//! A repository with a change of a given size, the same for the same size. Main type: [`Repository`].
//!
//! The code is of five languages and parses. Every added line holds a marker of its own, by which it is known again in a request.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A marker is this and [`DIGITS`] digits, and nothing else in the repository is.
pub(crate) const MARK: &str = "mk";
/// How many digits a marker has.
pub(crate) const DIGITS: usize = 7;

/// A repository on the disk: `main` is before the change, `work` after it and checked out.
pub(crate) struct Repository {
    pub folder: PathBuf,
    /// The changed files, and the markers that each got: the first and the one after the last.
    pub changed: Vec<(String, usize, usize)>,
}

/// How a language writes a function, and a line that is added to one. `$id`, `$a`, `$b` stand for numbers, `$mark` for a marker.
struct Language {
    ending: &'static str,
    head: &'static str,
    function: &'static str,
    /// The line of the function that a change replaces, and with what.
    replaced: (&'static str, &'static str),
    added: &'static str,
}

const LANGUAGES: [Language; 5] = [
    Language {
        ending: "rs",
        head: "//! Steps of a computation.\n\n",
        function: "/// Computes step $id.\npub fn step_$id(input: &[u64], limit: u64) -> Option<u64> {\n    let mut total = $a;\n    for value in input {\n        if *value > limit {\n            total += value * $b;\n        }\n    }\n    (total > limit).then_some(total)\n}\n\n",
        replaced: ("    let mut total = ", "    let mut total = limit.min($mark);\n"),
        added: "    let bound_$mark = limit.saturating_sub($a).max(total);\n",
    },
    Language {
        ending: "py",
        head: "\"\"\"Steps of a computation.\"\"\"\n\n\n",
        function: "def step_$id(values, limit):\n    \"\"\"Computes step $id.\"\"\"\n    total = $a\n    for value in values:\n        if value > limit:\n            total += value * $b\n    return total if total > limit else None\n\n\n",
        replaced: ("    total = ", "    total = min(limit, $mark)\n"),
        added: "    bound_$mark = max(limit - $a, total)\n",
    },
    Language {
        ending: "ts",
        head: "// Steps of a computation.\n\n",
        function: "/** Computes step $id. */\nexport function step$id(values: number[], limit: number): number | null {\n  let total = $a;\n  for (const value of values) {\n    if (value > limit) {\n      total += value * $b;\n    }\n  }\n  return total > limit ? total : null;\n}\n\n",
        replaced: ("  let total = ", "  let total = Math.min(limit, $mark);\n"),
        added: "  const bound_$mark = Math.max(limit - $a, total);\n",
    },
    Language {
        ending: "go",
        head: "// Package steps holds steps of a computation.\npackage steps\n\n",
        function: "// Step$id computes step $id.\nfunc Step$id(values []uint64, limit uint64) uint64 {\n\ttotal := uint64($a)\n\tfor _, value := range values {\n\t\tif value > limit {\n\t\t\ttotal += value * $b\n\t\t}\n\t}\n\treturn max(total, limit)\n}\n\n",
        replaced: ("\ttotal := ", "\ttotal := min(limit, $mark)\n"),
        added: "\tbound_$mark := max(limit-$a, total)\n",
    },
    Language {
        ending: "java",
        head: "package steps;\n\n",
        function: "/** Computes step $id. */\nclass Step$id {\n    static long compute(long[] values, long limit) {\n        long total = $a;\n        for (long value : values) {\n            if (value > limit) {\n                total += value * $b;\n            }\n        }\n        return Math.max(total, limit);\n    }\n}\n\n",
        replaced: ("        long total = ", "        long total = Math.min(limit, $mark);\n"),
        added: "        long bound_$mark = Math.max(limit - $a, total);\n",
    },
];

/// Numbers that look random and are the same each time (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    /// At least `low`, below `high`.
    fn between(&mut self, low: usize, high: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + usize::try_from(self.0 % (high - low) as u64).unwrap_or(0)
    }
}

impl Repository {
    /// Makes the repository: twice as many files as change, each change of one to four functions.
    pub(crate) fn make(folder: &Path, files: usize) -> Result<Self, String> {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ files as u64);
        let (mut before, mut after) = (String::new(), String::new());
        let (mut changed, mut marker) = (Vec::new(), 0);
        for n in 0..files * 2 {
            let language = &LANGUAGES[n % LANGUAGES.len()];
            let path = format!("area{}/part{}/steps{n}.{}", n / 120, n / 12 % 10, language.ending);
            let functions: Vec<String> =
                (0..numbers.between(8, 28)).map(|at| language.write(n * 100 + at, &mut numbers)).collect();
            entry(&mut before, &path, &format!("{}{}", language.head, functions.concat()));
            if n % 2 == 0 {
                let first = marker;
                let text = language.change(functions, &mut numbers, &mut marker);
                entry(&mut after, &path, &format!("{}{text}", language.head));
                changed.push((path, first, marker));
            }
        }
        let script = format!(
            "{}{before}{}{after}",
            commit("main", 1, "Add the steps", ""),
            commit("work", 2, "Bound the steps", "from refs/heads/main\n")
        );
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        git(folder, &["init", "-q", "-b", "main"], "")?;
        git(folder, &["fast-import", "--quiet"], &script)?;
        git(folder, &["checkout", "-q", "-f", "work"], "")?;
        Ok(Self { folder: folder.to_owned(), changed })
    }

    /// How many lines the change adds.
    pub(crate) fn markers(&self) -> usize {
        self.changed.last().map_or(0, |(_, _, end)| *end)
    }
}

impl Language {
    fn write(&self, id: usize, numbers: &mut Numbers) -> String {
        let (a, b) = (numbers.between(2, 90), numbers.between(2, 90));
        self.function.replace("$id", &id.to_string()).replace("$a", &a.to_string()).replace("$b", &b.to_string())
    }

    /// The functions with one to four of them changed: a line replaced, and up to fourteen added behind it.
    fn change(&self, mut functions: Vec<String>, numbers: &mut Numbers, marker: &mut usize) -> String {
        let mut next = || {
            let text = format!("{MARK}{:0DIGITS$}", *marker);
            *marker += 1;
            text
        };
        let hunks = numbers.between(1, 5);
        let step = functions.len() / hunks;
        for hunk in 0..hunks {
            let at = hunk * step + numbers.between(0, step);
            let mut text = String::new();
            for line in functions[at].split_inclusive('\n') {
                if !line.starts_with(self.replaced.0) {
                    text.push_str(line);
                    continue;
                }
                text.push_str(&self.replaced.1.replace("$mark", &next()));
                for _ in 0..numbers.between(0, 15) {
                    let value = numbers.between(2, 90).to_string();
                    text.push_str(&self.added.replace("$a", &value).replace("$mark", &next()));
                }
            }
            functions[at] = text;
        }
        functions.concat()
    }
}

fn commit(branch: &str, time: u32, message: &str, parent: &str) -> String {
    let who = format!("Ada <ada@example.invalid> {time} +0000");
    format!("commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\ndata {}\n{message}\n{parent}", message.len())
}

fn entry(script: &mut String, path: &str, text: &str) {
    let _ = writeln!(script, "M 100644 inline {path}\ndata {}\n{text}", text.len());
}

#[expect(clippy::disallowed_methods, reason = "a benchmark makes its repository with git")]
fn git(folder: &Path, args: &[&str], input: &str) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("git: {error}");
    let mut command = Command::new("git");
    command.args(args).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(fault)?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(fault)?;
    }
    let status = child.wait().map_err(fault)?;
    if status.success() { Ok(()) } else { Err(format!("git {args:?} ended with {status}")) }
}
