//! Documentation that names a parameter which the function does not have, because the change renamed or removed it, or wrote it so.
//!
//! Main type: [`DocumentedParameterGone`]. What documentation names is in `lines`, what functions take in `functions`; here both sides of
//! the change are compared: what stood there before is not told.

mod functions;
mod lines;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::target::{ChangedLineIndex, RuleMatch, RuleTarget, line_at_base, read_text};
use super::{BothSides, Check, CheckInfo};
use crate::domain::change::{FileChange, FileMode, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::{Grammar, NodeTable, ParseFailure, ParseLimits};
use crate::sys::cancel::CancelReason;
use functions::{Documented, documented};
use lines::{Named, may_name};

pub(super) struct DocumentedParameterGone;

static INFO: CheckInfo = CheckInfo {
    name: "general/documented-parameter-gone",
    title: "The documentation names a parameter that the function does not have",
    message: "Who reads it looks for something that is not there, and tools that check documentation complain. Give the line the name \
              that the parameter has, or remove it.",
    severity: Severity::Low,
    category: Category::Documentation,
    cwe: None,
};

/// Larger texts are not parsed.
const LARGEST: usize = 1 << 20;
/// How long one file may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// More parameters of a function are not listed.
const MOST_LISTED: usize = 8;

impl Check for DocumentedParameterGone {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, _: &RuleTarget<'_>) -> Vec<RuleMatch> {
        Vec::new()
    }

    fn gained(&self, sides: &BothSides<'_>) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        let mut found = Vec::new();
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            if let Some(suspects) = suspects(sides, at, file)? {
                found.extend(suspects);
            }
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let before = Before::of(sides, &found)?;
        Ok(found.into_iter().filter_map(|suspect| Some((suspect.file, suspect.hit(sides, &before)?))).collect())
    }
}

/// A function at the head whose documentation names what it does not have.
struct Suspect {
    /// As counted in the change.
    file: usize,
    text: Arc<FileText>,
    function: Documented,
    lacking: Vec<Named>,
}

fn grammar_of(file: &FileChange) -> Option<Grammar> {
    let is_link = file.new_mode == Some(FileMode::Link) || file.old_mode == Some(FileMode::Link);
    if is_link || file.without_text().is_some() || file.hunks.is_empty() {
        return None;
    }
    let grammar = Grammar::of(file.language?)?;
    let known = matches!(
        grammar,
        Grammar::Java
            | Grammar::JavaScript
            | Grammar::TypeScript
            | Grammar::Tsx
            | Grammar::Python
            | Grammar::C
            | Grammar::Cpp
    );
    known.then_some(grammar)
}

/// A side of a file, where it can name parameters in documentation. What cannot be read is told elsewhere.
fn read(
    sides: &BothSides<'_>,
    file: &FileChange,
    side: DiffSide,
) -> Result<Option<(Grammar, Arc<FileText>)>, CancelReason> {
    let absent = if side == DiffSide::Old { FileStatus::Added } else { FileStatus::Deleted };
    let Some(grammar) = grammar_of(file).filter(|_| file.status != absent) else { return Ok(None) };
    let tree = if side == DiffSide::Old { sides.old } else { sides.new };
    let text = read_text(tree, file.path_at(side))?;
    let text = text.filter(|text| text.text().len() <= LARGEST && may_name(grammar, text.text()));
    Ok(text.map(|text| (grammar, text)))
}

fn functions_of(
    sides: &BothSides<'_>,
    file: &FileChange,
    (grammar, text): (Grammar, &FileText),
) -> Result<Option<Vec<Documented>>, CancelReason> {
    let watch = ParseLimits::new(sides.cancel, PATIENCE);
    let nodes =
        sides.trees.parse(grammar, text.text(), &watch).and_then(|tree| NodeTable::of(&tree, text.text(), &watch));
    match nodes {
        Ok(nodes) => Ok(Some(documented(grammar, &nodes))),
        Err(ParseFailure::Stopped(stopped)) => Err(stopped),
        Err(why) => {
            sides.note(format!("the documentation of {} was not compared with its functions: {why}", file.path));
            Ok(None)
        }
    }
}

fn suspects(sides: &BothSides<'_>, at: usize, file: &FileChange) -> Result<Option<Vec<Suspect>>, CancelReason> {
    let touched = ChangedLineIndex::of(file, DiffSide::New);
    if touched.is_empty() {
        return Ok(None);
    }
    let Some((grammar, text)) = read(sides, file, DiffSide::New)? else { return Ok(None) };
    let Some(functions) = functions_of(sides, file, (grammar, &text))? else { return Ok(None) };
    let suspects = functions.into_iter().filter_map(|function| {
        let is_changed = touched_head(&touched, &function).is_some();
        let sought = |named: &&Named| (is_changed || touched.covers(named.line)) && function.lacks(named);
        let lacking: Vec<Named> = function.lines.named.iter().filter(sought).cloned().collect();
        (!lacking.is_empty()).then(|| Suspect { file: at, text: text.clone(), function, lacking })
    });
    Ok(Some(suspects.collect()))
}

/// The first changed line from where a function begins to the end of what it takes.
fn touched_head(touched: &ChangedLineIndex, function: &Documented) -> Option<u32> {
    let lines = LineRange::new(function.head.0, function.head.1).ok()?;
    touched.first_in(lines).map(|(line, _)| line)
}

/// What stood at the base.
#[derive(Default)]
struct Before {
    /// What documentation named that a function did not have: the function, and the name.
    lacked: HashSet<(String, String)>,
    /// The same by the lines of the documentation.
    lines: HashSet<String>,
    /// What documentation named that the function did have: the file, the line, and the name.
    had: HashSet<(usize, u32, String)>,
}

impl Before {
    fn of(sides: &BothSides<'_>, suspects: &[Suspect]) -> Result<Self, CancelReason> {
        let names: BTreeSet<&str> =
            suspects.iter().flat_map(|one| &one.lacking).map(|named| named.name.as_str()).collect();
        let mut before = Self::default();
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            let Some((grammar, text)) = read(sides, file, DiffSide::Old)? else { continue };
            if !names.iter().any(|name| text.text().contains(name)) {
                continue;
            }
            let Some(functions) = functions_of(sides, file, (grammar, &text))? else { continue };
            for function in &functions {
                for named in function.lines.named.iter().filter(|named| names.contains(named.name.as_str())) {
                    if function.lacks(named) {
                        before.lacked.insert((function.name.clone(), named.name.clone()));
                        before.lines.insert(said(&text, named.line));
                    } else {
                        before.had.insert((at, named.line, named.name.clone()));
                    }
                }
            }
        }
        Ok(before)
    }
}

/// A line of documentation, without the white space around it.
fn said(text: &FileText, line: u32) -> String {
    text.line(line).unwrap_or_default().trim().to_owned()
}

impl Suspect {
    /// What is to be told; `None` where it stood there before, or is not sure.
    fn hit(&self, sides: &BothSides<'_>, before: &Before) -> Option<RuleMatch> {
        let file = sides.change.files.get(self.file)?;
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        let stood = |named: &Named| {
            before.lacked.contains(&(self.function.name.clone(), named.name.clone()))
                || before.lines.contains(&said(&self.text, named.line))
        };
        // The line stood there, and was right.
        let made_untrue = |named: &Named| {
            line_at_base(file, named.line)
                .is_some_and(|line| before.had.contains(&(self.file, line, named.name.clone())))
        };
        let written = |named: &Named| !self.function.weak && touched.covers(named.line);
        let mut told: Vec<&Named> =
            self.lacking.iter().filter(|named| !stood(named) && (written(named) || made_untrue(named))).collect();
        // `options` and `options.strict` are one.
        let mut seen = HashSet::new();
        told.retain(|named| seen.insert(named.name.as_str()));
        let first = told.first()?;
        let added = told.iter().find(|named| touched.covers(named.line));
        let at = added.map(|named| named.line).or_else(|| touched_head(&touched, &self.function))?;
        let mut hit = RuleMatch::from_lines(&self.text, LineRange::line(at));
        let names: Vec<String> = told.iter().map(|named| shown(named)).collect();
        let function = match self.function.name.as_str() {
            "" => "the function".to_owned(),
            name => format!("`{name}`"),
        };
        hit.title = Some(match names.as_slice() {
            [one] => format!("The documentation names a parameter {one} that {function} does not have"),
            many => format!("The documentation names parameters that {function} does not have: {}", many.join(", ")),
        });
        let mut detail = String::new();
        if added.is_none() {
            let line = said(&self.text, first.line).replace('`', "'");
            detail = format!("Line {} still says `{line}`. ", first.line);
        }
        detail.push_str(&self.takes(&told));
        hit.detail = Some(detail.trim_end().to_owned()).filter(|detail| !detail.is_empty());
        Some(hit)
    }

    /// What the function takes instead, in words.
    fn takes(&self, told: &[&Named]) -> String {
        if told.iter().any(|named| named.of_type) {
            return String::new();
        }
        if let [only] = told
            && let Some(name) = self.function.stands_for(only)
        {
            return format!("Of its parameters only `{name}`, in the same place, has no such line.");
        }
        let mut names: Vec<String> = self.function.plain().map(|name| format!("`{name}`")).collect();
        let more = names.len().saturating_sub(MOST_LISTED);
        names.truncate(MOST_LISTED);
        match (names.is_empty(), more) {
            (true, _) => "It takes no parameters.".to_owned(),
            (false, 0) => format!("It takes {}.", names.join(", ")),
            (false, more) => format!("It takes {} and {more} more.", names.join(", ")),
        }
    }
}

fn shown(named: &Named) -> String {
    if named.of_type { format!("`<{}>`", named.name) } else { format!("`{}`", named.name) }
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;

    const RULE: &str = "general/documented-parameter-gone";

    fn told(path: &str, old: &str, new: &str) -> Vec<(u32, String, String)> {
        let change =
            if old.is_empty() { SyntheticChange::default() } else { SyntheticChange::default().was(path, old) };
        let claims = change.now(path, new).review().claims;
        let own = claims.into_iter().filter(|claim| claim.origin.name == RULE);
        own.map(|claim| (claim.place.lines.unwrap().start(), claim.title, claim.body)).collect()
    }

    fn lines(path: &str, old: &str, new: &str) -> Vec<u32> {
        told(path, old, new).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn what_is_it_called_now_is_told() {
        let text = |name: &str| format!("/**\n * @param a x\n * @param b y\n */\nfunction f(a, {name}) {{\n}}\n");
        let told = told("a.js", &text("b"), &text("c"));
        assert_eq!(told.len(), 1);
        let (line, title, body) = &told[0];
        assert_eq!(*line, 5);
        assert_eq!(title, "The documentation names a parameter `b` that `f` does not have");
        assert!(body.starts_with(
            "Line 3 still says `* @param b y`. Of its parameters only `c`, in the same place, has no such line."
        ));
    }

    #[test]
    fn a_line_that_was_wrong_before_is_not_told() {
        let text = |name: &str, more: &str| format!("/**\n * @param {name} x{more}\n */\nfunction f(a) {{\n}}\n");
        assert_eq!(lines("a.js", &text("b", ""), &text("b", " and y")), [0; 0]);
        assert_eq!(lines("a.js", &text("b", ""), &text("c", "")), [2]);
        assert_eq!(lines("a.js", &text("a", ""), &text("c", "")), [2]);
    }

    #[test]
    fn every_way_to_write_a_function_is_known() {
        for (path, function) in [
            ("a.js", "export const f = async (a) => {\n};"),
            ("a.js", "module.exports.f = function (a) {\n};"),
            ("a.js", "const f = a => a;"),
            ("a.js", "export default function f(a = 1) {\n}"),
            ("a.js", "const o = {\n/** @param {string} b */\nf(a) {} };"),
            ("a.js", "class A {\n/** @param b x */\n#f(a) {}\n}"),
            ("a.ts", "export abstract class A {\n/** @param b x */\nabstract f(a?: string): void;\n}"),
            ("a.ts", "interface A {\n/** @param b x */\nf(a: string): void;\n}"),
            ("a.ts", "class A {\n/** @param b x */\n@log()\npublic f(@Body() a: string): void {}\n}"),
            ("a.ts", "class A {\n/** @param b x */\nf = (a: string) => {};\n}"),
            ("a.ts", "export declare function f(a: string): void;"),
            ("A.java", "class A {\n/** @param b x */\n@Override public <T> void f(final List<T> a) {}\n}"),
            ("A.java", "interface A {\n/** @param b x */\nvoid f(String... a);\n}"),
            ("A.java", "record A(int a) {}"),
            ("A.java", "class A {\n/** @param <E> x */\n<T> void f(T a) {}\n}"),
            ("a.c", "static const char *f(const struct s *a, int (*c)(int d))\n{\n}"),
            ("a.h", "void f(int a[3]);"),
            ("a.cpp", "template <class T> const T &A::f(T &&a) const\n{\n}"),
            ("a.hpp", "class A {\n/// @param b x\nvirtual void f(int a = 1) = 0;\n};"),
        ] {
            let text = if function.contains("param") {
                function.to_owned()
            } else {
                format!("/**\n * @param b x\n */\n{function}\n")
            };
            assert_eq!(lines(path, "", &text), [2], "{text}");
        }
    }

    #[test]
    fn what_may_carry_it_silences() {
        for (path, function) in [
            ("a.js", "const f = ({ a, b }) => {};"),
            ("a.js", "const f = ({ a, c }) => {};"),
            ("a.js", "function f(...rest) {\n}"),
            ("a.js", "function f() { return arguments[0]; }"),
            ("a.js", "const f = (a) => (b) => a + b;"),
            ("a.js", "const f = memo((a) => a);"),
            ("a.js", "const f = 1;"),
            ("a.js", "function f(_b) {}"),
            ("a.js", "function f(_, a) {}"),
            ("a.js", "class A { constructor(a) {} }"),
            ("a.ts", "type F = (a: string) => void;"),
            ("a.ts", "function f(a: string): void;\nfunction f(a: string, b?: string): void {}"),
            ("A.java", "class A<T> { A(int a) {} }"),
            ("a.c", "#define f(a) (a)"),
            ("a.c", "typedef void (*f)(int a);"),
            ("a.c", "struct s { void (*f)(int a); };"),
            ("a.c", "void f(int, char *);"),
            ("a.c", "void f(const char *a, ...);"),
            ("a.cpp", "template <class b> void f(b a);"),
            ("a.cpp", "void f(int a);\nvoid f(int a, int b);"),
            ("a.cpp", "int f(a);"),
        ] {
            let text = format!("/**\n * @param b x\n */\n{function}\n");
            assert_eq!(lines(path, "", &text), [0; 0], "{text}");
        }
    }

    #[test]
    fn docstrings_are_compared_as_well() {
        let text =
            |name: &str| format!("def f(self, {name}, *, c=1):\n    \"\"\"Does.\n\n    :param a: x\n    \"\"\"\n");
        assert_eq!(lines("a.py", &text("a"), &text("b")), [1]);
        assert_eq!(lines("a.py", "", &text("b")), [4]);
        assert_eq!(lines("a.py", &text("a"), &text("**kwargs")), [0; 0]);
        let decorated = |name: &str| format!("@inject\n{}", text(name));
        assert_eq!(lines("a.py", &decorated("a"), &decorated("b")), [2]);
        assert_eq!(lines("a.py", "", &decorated("b")), [0; 0]);
    }

    #[test]
    fn a_class_is_told_when_what_makes_it_loses_a_parameter() {
        let text = |name: &str| {
            format!(
                "class A:\n    \"\"\"Is.\n\n    Args:\n        a: x\n    \"\"\"\n\n    def __init__(self, {name}):\n        pass\n"
            )
        };
        assert_eq!(lines("a.py", &text("a"), &text("b")), [8]);
        assert_eq!(lines("a.py", "", &text("b")), [0; 0]);
    }

    #[test]
    fn a_function_that_moved_with_its_mistake_is_not_told() {
        let text = "/** @param b x */\nfunction f(a) {\n}\n";
        let change = SyntheticChange::default().was("a.js", text).now("b.js", &format!("\n{text}"));
        assert!(change.review().claims.iter().all(|claim| claim.origin.name != RULE));
    }

    #[test]
    fn a_function_put_between_another_and_its_documentation_is_told() {
        let old = "/**\n * @param a x\n */\nfunction f(a) {\n}\n";
        let new = "/**\n * @param a x\n */\nfunction g(b) {\n}\n\nfunction f(a) {\n}\n";
        assert_eq!(lines("a.js", old, new), [4]);
        let gone = "/**\n * @param a x\n */\nfunction g(b) {\n}\n";
        let both = "/**\n * @param a x\n */\nfunction f(a) {\n}\nfunction g(b) {\n}\n";
        assert_eq!(lines("a.js", both, gone), [4]);
    }

    #[test]
    fn hostile_text_ends() {
        let deep = format!("/** @param b x */\nfunction f(a) {{ {} }}\n", "(".repeat(5_000));
        let tags = format!("/**\n{} */\nfunction f(a) {{}}\n", " * @param {{{{ b\n".repeat(2_000));
        let empty = "/** @param */\n/** @param [ */ function f(a) {}\n/// @param <\n";
        for text in [deep.as_str(), &tags, empty, "\"\"\"", "def f(:\n  \"\"\":param", ":param : x"] {
            for path in ["a.js", "a.ts", "a.py", "A.java", "a.c", "a.cpp"] {
                told(path, "", text);
            }
        }
    }
}
