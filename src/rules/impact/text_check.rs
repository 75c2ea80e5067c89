//! Checks of the words of a text that spare parsing it. Main functions: [`may_call`], [`may_implement`].
//!
//! They only rule out: whatever is not plain from the words counts as possible, and is parsed.

use super::super::target::word_positions;

/// Maximum size of the arguments of a call that are counted, in bytes.
const LONGEST_CALL: usize = 2_000;
/// Maximum size of the head of a type that is read, in bytes.
const LONGEST_HEAD: usize = 1_000;
/// Words before the name of a definition.
const DEFINERS: &[&str] = &[
    "class",
    "const",
    "enum",
    "fn",
    "function",
    "interface",
    "let",
    "macro_rules",
    "mod",
    "module",
    "namespace",
    "record",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "var",
];

/// Checks whether a text may call `name` with a number of arguments that `is_wrong`, or give it another name.
pub(super) fn may_call(text: &str, name: &str, is_wrong: &dyn Fn(u32) -> bool) -> bool {
    word_positions(text, name).any(|at| {
        let rest = text.get(at + name.len()..).unwrap_or_default();
        let next = rest.trim_start();
        match next.bytes().next() {
            Some(b'(') => argument_count(&next[1..]).is_none_or(is_wrong),
            // Parameters of types, a chain, a macro, or a comment.
            Some(b'<' | b'[' | b'?' | b'!' | b'/' | b'#' | b'\\') => true,
            Some(b':') => next.starts_with("::"),
            _ => next.starts_with("as") && !rest.starts_with("as"),
        }
    })
}

/// Counts the arguments behind an opening parenthesis; `None` if that takes a parser.
fn argument_count(list: &str) -> Option<u32> {
    let bytes = list.as_bytes();
    let (mut at, mut depth, mut count, mut is_begun) = (0, 0_usize, 0, false);
    loop {
        let byte = *bytes.get(at).filter(|_| at < LONGEST_CALL)?;
        match byte {
            b')' if depth == 0 => return Some(count + u32::from(is_begun)),
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b'(' | b'[' | b'{' => depth += 1,
            b',' if depth == 0 => {
                count += 1;
                is_begun = false;
            }
            // Texts of several lines, and those whose quotes are not all that ends them.
            b'"' if bytes.get(at..at + 3) == Some(b"\"\"\"") => return None,
            b'"' if at > 0 && bytes[at - 1].is_ascii_alphabetic() => return None,
            b'"' => {
                let rest = bytes.get(at + 1..)?;
                let length = memchr::memchr3(b'"', b'\\', b'\n', rest)?;
                (rest.get(length) == Some(&b'"')).then_some(())?;
                at += length + 1;
            }
            // Generic arguments, closures, comments and other texts, and what stands for several arguments.
            b'<' | b'|' | b'/' | b'#' | b'\'' | b'`' | b'*' => return None,
            b'.' if bytes.get(at..at + 3) == Some(b"...") => return None,
            // What follows them may have commas of its own.
            b'l' if bytes.get(at..at + 6) == Some(b"lambda") => return None,
            b'f' if bytes.get(at..at + 4) == Some(b"for ") => return None,
            _ => {}
        }
        is_begun |= !matches!(byte, b',' | b' ' | b'\t' | b'\r' | b'\n') || depth > 0;
        at += 1;
    }
}

/// Checks whether a text may define `name`, or a type that implements or extends it.
pub(super) fn may_implement(text: &str, name: &str) -> bool {
    word_positions(text, name).any(|at| {
        let start = text.floor_char_boundary(at.saturating_sub(LONGEST_HEAD));
        let before = text.get(start..at).unwrap_or_default();
        let Some(head) = head_before(before).or_else(|| (start == 0).then_some(before)) else { return true };
        let mut words = head.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let is_defined = || {
            let last = head.trim_end();
            last.ends_with(',') || words.clone().next_back().is_some_and(|word| DEFINERS.contains(&word))
        };
        is_defined() || words.any(|word| matches!(word, "impl" | "implements" | "extends"))
    })
}

/// Returns the end of a text that may be the head of what follows: from the last opening brace that is not closed, or the last statement outside
/// of brackets; `None` if there is neither. What a comment has ends nothing.
fn head_before(text: &str) -> Option<&str> {
    let is_code = |at: usize| {
        let line = text[..at].rsplit_once('\n').map_or(&text[..at], |(_, line)| line);
        !line.contains("//") && !line.contains("/*") && !line.trim_start().starts_with('*')
    };
    let mut depth = 0_usize;
    let start = text.bytes().enumerate().rposition(|(at, byte)| {
        match byte {
            b'}' | b']' | b')' => depth += 1,
            b'{' | b'[' | b'(' if depth > 0 => depth -= 1,
            b'{' | b';' if depth == 0 => return is_code(at),
            _ => {}
        }
        false
    });
    start.map(|start| &text[start + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_ruled_out_only_by_its_number_of_arguments() {
        let three = |text: &str| may_call(text, "load", &|count| count == 3);
        for text in [
            "load(1, 2, 3)",
            "load (\n  a,\n  (b, c),\n  [d, e],\n)",
            "a.load(\"x, y\", f(1), {g, h})",
            "load::<A>(1)",
            "load<A>(1)",
            "load?.(1)",
            "use a::load as other;",
            "load(|a, b| a, c)",
            "load(a, *b)",
            "load(a, ...b)",
            "load(lambda a, b: a, c)",
            "load('a, b', c)",
            "load(a for a, b in c)",
            "load(f\"{d[\"a, b\"]}\", 2)",
            "load(R\"(a\" , \"b)\", 2)",
            "load(\"\"\"a \"b, c\" d\"\"\")",
            "load(a /* , */)",
            "load(\"a\\\"\", b)",
            "load(a, b",
            "load // comment\n(a, b, c)",
        ] {
            assert!(three(text), "{text}");
        }
        for text in [
            "load(1, 2)",
            "load()",
            "load(a, b, c, d,)",
            "reload(1, 2, 3)",
            "import { load } from 'a';",
            "let load = 1; f(load, 2, 3)",
            "load = assign(1, 2, 3)",
            "load(\"x, y, z\")",
            "load((a, b, c))",
        ] {
            assert!(!three(text), "{text}");
        }
    }

    #[test]
    fn an_implementor_is_ruled_out_only_where_a_name_is_no_part_of_a_head() {
        let may = |text: &str| may_implement(text, "Blob");
        for text in [
            "class A implements Other, Blob {}",
            "interface A extends Blob {}",
            "export interface Blob {",
            "declare var Blob: {",
            "let a = 1, Blob = 2;",
            "x; impl<T: Clone> Blob<T> for A {",
            "pub trait Blob: Send {",
            "class A<T>\n  extends B<T>\n  implements a.Blob",
            "x(); class A implements B<{ x: 1 }>, ns.Blob {}",
            "class A implements /** {@link B} */ Blob {}",
            "macro_rules! Blob {",
            "x(); impl<T: Foo<[u8; 4]>> Blob for A<T> {",
            "x(); impl<const N: usize, T: Foo<{ N }>> Blob for A<T> {",
            "impl /* ; */ Blob for A {",
            "impl // x { y\nBlob for A {",
            "class A implements\n  // the store;\n  Blob {",
            &format!("impl {} Blob for X", "a".repeat(2000)),
        ] {
            assert!(may(text), "{text}");
        }
        for text in ["const a = new Blob(b);", "f(x: Blob)", "import { Blob } from 'a';", "impl A { fn b() { Blob } }"]
        {
            assert!(!may(text), "{text}");
        }
    }
}
