//! Code that a grammar misread as the text of a string, a comment or a here-document. Main type: [`MisreadLines`]; main function:
//! [`SyntaxTree::misread_lines`].
//!
//! A tree with syntax errors is still usable for most rules: the code before and after an error is parsed normally. It is not usable if
//! the parser lost the end of a text, since the code after it is then invisible to rules.

use tree_sitter::Node;

use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::tree::SyntaxTree;
use crate::domain::place::LineRange;

/// Lines that may be something else than the tree says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MisreadLines {
    /// The lines.
    pub lines: LineRange,
    /// The construct that the parser was not sure of.
    pub why: &'static str,
}

impl SyntaxTree {
    /// Returns the lines, in the order of the text, that the grammar takes for text and the language may take for code.
    pub fn misread_lines(&self, watch: &ParseLimits<'_>) -> Result<Vec<MisreadLines>, ParseFailure> {
        let root = self.root.root();
        let root = root.get_inner_node();
        let text = self.text();
        let mut found = Vec::new();
        if self.grammar == Grammar::Bash && memchr::memmem::find(text, b"<<").is_some() {
            let last = root.end_position().row;
            // The lines of the first one extend to the end: others would add nothing, and each costs a scan of the rest.
            found.extend(each_node(root, watch, 1, |node| misread_heredoc(node, text, last))?);
        }
        found.extend(escaped_lines(self.grammar, text, root.end_position().row));
        if root.has_error() {
            let faults = each_node(root, watch, usize::MAX, |node| {
                found.extend(given_up_lines(node, self.grammar, text));
                let is_fault = (node.is_error() || node.is_missing()) && node.id() != root.id();
                is_fault.then(|| [node.start_position().row, node.end_position().row])
            })?;
            let mut faults = faults.concat();
            faults.sort_unstable();
            found.extend(each_node(root, watch, usize::MAX, |node| swallowed_lines(node, &faults))?);
        }
        Ok(found)
    }
}

/// Collects the results of `ask` for each node, in the order of the text, up to a limit.
fn each_node<T>(
    root: Node<'_>,
    watch: &ParseLimits<'_>,
    most: usize,
    mut ask: impl FnMut(&Node<'_>) -> Option<T>,
) -> Result<Vec<T>, ParseFailure> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    let mut steps = 0u32;
    loop {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(4096) {
            watch.check()?;
        }
        found.extend(ask(&cursor.node()));
        if found.len() >= most {
            return Ok(found);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(found);
            }
        }
    }
}

/// Returns lines that the parser gave up: an error over several lines in a shell script, elsewhere one that extends to the end of the
/// text. In C, where a macro is enough for that, such a file would never be reviewed in full: of the error's lines, those of whole
/// statements and definitions were read, as they are beside every other error.
fn given_up_lines(node: &Node<'_>, grammar: Grammar, text: &[u8]) -> Vec<MisreadLines> {
    const WHY: &str = "the parser found no end of what begins there";
    let (first, last) = (node.start_position().row, node.end_position().row);
    if !node.is_error() || last == first {
        return Vec::new();
    }
    let is_rest = || text[node.end_byte().min(text.len())..].trim_ascii().is_empty();
    if grammar != Grammar::Bash && !is_rest() {
        return Vec::new();
    }
    let rows = if matches!(grammar, Grammar::C | Grammar::Cpp) { unread_rows(node, text) } else { vec![(first, last)] };
    rows.into_iter().map(|(first, last)| misread(first, last, WHY)).collect()
}

/// Returns the runs of rows of an error that are in no whole statement or definition, without blank rows at their ends.
fn unread_rows(node: &Node<'_>, text: &[u8]) -> Vec<(usize, usize)> {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let is_blank = |row: &usize| lines.get(*row).is_none_or(|line| line.trim_ascii().is_empty());
    let run = |from: usize, end: usize| {
        let first = (from..end).find(|row| !is_blank(row))?;
        let last = (first..end).rfind(|row| !is_blank(row))?;
        Some((first, last))
    };
    let mut unread = Vec::new();
    let mut next = node.start_position().row;
    let mut cursor = node.walk();
    for child in node.children(&mut cursor).filter(is_whole_construct) {
        let (start, end) = (child.start_position().row, child.end_position());
        unread.extend(run(next, start));
        // A directive ends where the next line begins.
        next = next.max(if end.column == 0 { end.row } else { end.row + 1 });
    }
    unread.extend(run(next, node.end_position().row + 1));
    unread
}

/// Checks for a statement, a definition, a directive or a comment of C or C++.
fn is_whole_construct(node: &Node<'_>) -> bool {
    const ENDS: [&str; 4] = ["_statement", "_definition", "declaration", "_specifier"];
    let kind = node.kind();
    let is_code = ENDS.iter().any(|end| kind.ends_with(end)) && node.named_child_count() > 0;
    let is_directive = kind.starts_with("preproc_") && kind != "preproc_defined";
    is_code || is_directive || kind == "linkage_specification" || kind == "comment"
}

/// Returns lines whose characters a compiler reads differently than they are written: a comment here is code there.
fn escaped_lines(grammar: Grammar, text: &[u8], last: usize) -> Option<MisreadLines> {
    match grammar {
        Grammar::Java => {
            let at = java_escape(text)?;
            let row = memchr::memchr_iter(b'\n', &text[..at]).count();
            Some(misread(row, last, "an escape there ends a line, a comment or a string before the compiler reads it"))
        }
        Grammar::Python => {
            let is_plain = python_encoding(text).is_none_or(|encoding| is_superset_of_ascii(&encoding));
            (!is_plain).then(|| misread(0, last, "Python decodes it with an encoding that is not like ASCII"))
        }
        _ => None,
    }
}

/// Finds the first Unicode escape (Java Language Specification, 3.3) of a character that begins or ends a line, a comment or a string.
fn java_escape(text: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(text, b"\\u").find(|at| {
        let backslashes = text[..*at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let digits = text[at + 1..].iter().position(|byte| *byte != b'u').map_or(text.len(), |us| at + 1 + us);
        let code = text.get(digits..digits + 4).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        backslashes % 2 == 0 && matches!(code, Some('\n' | '\r' | '"' | '*' | '/' | '\\'))
    })
}

/// Returns the encoding that one of the first two lines names (PEP 263), in lower case with hyphens.
fn python_encoding(text: &[u8]) -> Option<String> {
    text.split(|byte| matches!(byte, b'\n' | b'\r')).take(2).find_map(|line| {
        let remark = line.trim_ascii_start().strip_prefix(b"#")?;
        let at = memchr::memmem::find(remark, b"coding")?;
        let name =
            remark[at + b"coding".len()..].strip_prefix(b":").or(remark[at + b"coding".len()..].strip_prefix(b"="))?;
        let name: Vec<u8> = name
            .trim_ascii_start()
            .iter()
            .copied()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
            .collect();
        Some(String::from_utf8_lossy(&name).to_ascii_lowercase().replace('_', "-"))
    })
}

/// Checks for an encoding in which ASCII text means itself.
fn is_superset_of_ascii(encoding: &str) -> bool {
    const FAMILIES: [&str; 14] = [
        "utf-8", "utf8", "ascii", "us-ascii", "latin", "iso-8859", "iso8859", "cp", "windows-", "koi8", "gb", "big5",
        "euc", "mac",
    ];
    FAMILIES.iter().any(|family| encoding.starts_with(family))
}

/// Checks for a text of several lines that begins on a line with a syntax error: the error may be that it is not a text.
fn swallowed_lines(node: &Node<'_>, faults: &[usize]) -> Option<MisreadLines> {
    const TEXTS: &[&str] = &["string", "comment", "jsx_text", "regex", "scalar"];
    let (first, last) = (node.start_position().row, node.end_position().row);
    let kind = node.kind();
    // Adjacent strings are separate texts.
    let is_text = kind != "concatenated_string" && TEXTS.iter().any(|text| kind.contains(text));
    let is_text = is_text && node.is_named() && !node.is_error();
    (is_text && last > first && faults.binary_search(&first).is_ok())
        .then(|| misread(first, last, "a text of several lines begins where there is a syntax error"))
}

/// Checks for a here-document that ends elsewhere than a shell ends it, or nowhere; then the lines up to the `last` may be anything.
fn misread_heredoc(node: &Node<'_>, text: &[u8], last: usize) -> Option<MisreadLines> {
    if node.kind() != "heredoc_start" {
        return None;
    }
    let unsure = misread(node.start_position().row, last, "the parser loses the end of a here-document");
    let Some(redirect) = node.parent().filter(|parent| parent.kind() == "heredoc_redirect") else {
        return Some(unsure);
    };
    let mut cursor = redirect.walk();
    let children: Vec<Node<'_>> = redirect.children(&mut cursor).collect();
    let child = |kind: &str| children.iter().find(|child| child.kind() == kind);
    // The grammar does not know a second here-document on the line.
    let end = child("heredoc_end").filter(|end| !end.is_missing() && !children.iter().any(Node::is_error));
    let Some(end) = end else { return Some(unsure) };
    let begin = child("heredoc_body").map_or(end.start_byte(), Node::start_byte);
    let is_indented = child("<<-").is_some();
    let found = delimiter(text.get(node.start_byte()..)?).and_then(|(delimiter, is_quoted)| {
        let begin = memchr::memrchr(b'\n', &text[..begin]).map_or(0, |feed| feed + 1);
        end_of_heredoc(text, begin, &delimiter, is_quoted, is_indented)
    });
    let line = memchr::memrchr(b'\n', &text[..end.start_byte()]).map_or(0, |feed| feed + 1);
    (found != Some(line)).then_some(unsure)
}

/// Returns the word with which a here-document ends, as a shell reads it, and whether any of it is quoted; `None` beyond quotes.
fn delimiter(text: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut word = Vec::new();
    let mut quote = None;
    let mut is_quoted = false;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"') => (quote, is_quoted) = (Some(byte), true),
            (None, b'\\') => match bytes.next()? {
                b'\n' => {}
                escaped => {
                    is_quoted = true;
                    word.push(escaped);
                }
            },
            (Some(b'"'), b'\\') if matches!(bytes.peek(), Some(b'"' | b'\\' | b'$' | b'`')) => {
                word.extend(bytes.next());
            }
            (None, b' ' | b'\t' | b'\n' | b'\r' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>') => break,
            (None, b'$' | b'`') | (Some(b'"'), b'`') | (Some(_), b'\n') => return None,
            (_, byte) => word.push(byte),
        }
    }
    (quote.is_none() && !word.is_empty()).then_some((word, is_quoted))
}

/// Finds the line with which a shell ends a here-document whose lines begin at `begin`.
fn end_of_heredoc(text: &[u8], begin: usize, delimiter: &[u8], is_quoted: bool, is_indented: bool) -> Option<usize> {
    let mut at = begin;
    let mut is_continued = false;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |feed| at + feed);
        let line = &text[at..end];
        let tabs = if is_indented { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
        if !is_continued && &line[tabs..] == delimiter {
            return Some(at);
        }
        // If the delimiter is not quoted, a backslash joins a line with the next, which is then not an end.
        is_continued = !is_quoted && line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        at = end + 1;
    }
    None
}

fn misread(first: usize, last: usize, why: &'static str) -> MisreadLines {
    let number = |row: usize| u32::try_from(row).unwrap_or(u32::MAX - 1) + 1;
    let lines = LineRange::new(number(first), number(last)).unwrap_or_else(|_| LineRange::line(number(first)));
    MisreadLines { lines, why }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::cancel::Cancel;

    fn misread_lines(grammar: Grammar, text: &str) -> Vec<(u32, u32)> {
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let tree = SyntaxTree::parse(grammar, text, &watch).unwrap();
        tree.misread_lines(&watch).unwrap().iter().map(|one| (one.lines.start(), one.lines.end())).collect()
    }

    #[test]
    fn a_heredoc_that_does_not_end_where_a_shell_ends_it_is_noticed() {
        for head in [
            "cat <<EOF>a",
            "cat <<EOF;",
            "cat <<EOF&",
            "cat <<EOF|cat",
            "(cat <<EOF)",
            "cat <<E'O'F",
            "cat <<'E'OF",
            "cat <<\"E\"\"OF\"",
            "cat <<E\\OF>a",
            "cat <<EO\\\nF",
        ] {
            let text = format!("a\n{head}\nEx\nEOF\neval \"$b\"\n");
            assert_eq!(misread_lines(Grammar::Bash, &text).first().map(|lines| lines.0), Some(2), "{text}");
        }
        for text in [
            "cat <<ÜBER\nx\nÜBER\neval \"$b\"\n",
            "cat <<EOF\nx\\\nEOF\neval \"$b\"\nEOF\n",
            "cat <<EOF\nEOF2\ncat <<'X'\nEOF\neval \"$b\"\nX\n",
            "cat <<EOF\n  x\n",
            "cat <<A <<B\na\nA\ncat <<'X'\nB\neval \"$b\"\nX\n",
        ] {
            assert_eq!(misread_lines(Grammar::Bash, text).first().map(|lines| lines.0), Some(1), "{text}");
        }
    }

    #[test]
    fn only_the_first_such_heredoc_is_looked_for() {
        let text = "cat <<EOF>a\nx\nEOF\n".repeat(50);
        assert_eq!(misread_lines(Grammar::Bash, &text).len(), 1);
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let tree = SyntaxTree::parse(Grammar::Bash, "a\nb\nc\n", &watch).unwrap();
        let root = tree.root.root();
        for (most, asked) in [(1, 1), (2, 2), (usize::MAX, 3)] {
            let mut names = 0;
            let ask = |node: &Node<'_>| (node.kind() == "command_name").then(|| names += 1);
            each_node(root.get_inner_node(), &watch, most, ask).unwrap();
            assert_eq!(names, asked);
        }
    }

    #[test]
    fn lines_that_the_parser_gave_up_are_noticed() {
        for (grammar, text, lines) in [
            (Grammar::Bash, "a\necho ${x#\\'}\neval \"$b\"\nc\n", 2..=3),
            (Grammar::Bash, "case a in b) c;& d) e;;& esac\neval \"$b\"\nf\n", 1..=2),
            (Grammar::Python, "a = 1\nf(*******\neval(b)\n", 2..=3),
        ] {
            let misread = misread_lines(grammar, text);
            assert!(
                misread.iter().any(|(first, last)| first <= lines.start() && last >= lines.end()),
                "{text} {misread:?}"
            );
        }
        assert_eq!(misread_lines(Grammar::Bash, "a=(1 2\n3)\necho )\nb\n"), []);
    }

    #[test]
    fn whole_functions_after_what_the_grammar_of_c_does_not_know_are_read() {
        let branches =
            "#if defined(A)\n    {\n        { f(), },\n    },\n#else\n    {\n        { g(), },\n    },\n#endif\n";
        let text = format!("int a();\nstatic F fs[] = {{\n{branches}}};\n\nint run(int x) {{\n    return x;\n}}\n");
        assert_eq!(misread_lines(Grammar::Cpp, &text), [(2, 8)]);
        // What begins there may be a text, and the function in it is none.
        let text = "int a();\nint b = f(R\"x(\n)y\";\nint run(int x) {\n    return x;\n}\n";
        assert_eq!(misread_lines(Grammar::Cpp, text).first(), Some(&(2, 6)));
    }

    #[test]
    fn characters_that_are_decoded_before_they_are_read_are_noticed() {
        for (grammar, text, first) in [
            (Grammar::Java, "class A {\n// \\u000a b();\n}\n", 2),
            (Grammar::Java, "// \\uuu002A\\u002f b();\n", 1),
            (Grammar::Java, "String a = \"\\\\\\u0022 + b();\n", 1),
            (Grammar::Python, "# coding: utf-7\n+AGU-val(b)\n", 1),
            (Grammar::Python, "#!/usr/bin/python\n# -*- coding=unicode_escape -*-\na\n", 1),
        ] {
            assert_eq!(misread_lines(grammar, text).first().map(|lines| lines.0), Some(first), "{text}");
        }
        for (grammar, text) in [
            (Grammar::Java, "String a = \"\\u00e9 \\\\u000a\"; // \\u2028\n"),
            (Grammar::JavaScript, "a = '\\u000a';\n"),
            (Grammar::Python, "# -*- coding: UTF_8 -*-\na\n"),
            (Grammar::Python, "# vim: set fileencoding=latin-1 :\na\n"),
            (Grammar::Python, "a\nb\n# coding: utf-7\n"),
        ] {
            assert_eq!(misread_lines(grammar, text), [], "{text}");
        }
    }

    #[test]
    fn an_ordinary_heredoc_is_not() {
        for text in [
            "cat <<EOF\nx $(a)\nEOF\nb\n",
            "cat <<'EOF' > a\nx\\\nEOF\nb\n",
            "cat > a <<-\"END\" 2>&1 | c\n\tx\n\n\tEND\nb\n",
            "cat <<EOF || true\nx\nEOF",
            "if a; then\n  cat << EOF\n\nx \"y\nEOF\nfi\n",
            "a <<< b\nc=$((1 << 3))\n",
            "cat <<\\EOF\n$a\nEOF\n",
            "a=$(cat <<EOF\nb\nEOF\n)\nc\n",
            "a() {\n\tcat <<-EOF\n\t\tb\n\tEOF\n}\nc\n",
        ] {
            assert_eq!(misread_lines(Grammar::Bash, text), [], "{text}");
        }
    }

    #[test]
    fn a_text_that_an_error_opens_is_noticed() {
        let comment = "const a = <b>x && /* y</b>;\neval(c);\n// */\nd();\n";
        let element = "const a = <b>x && <c y</b>;\neval(c);\nd();\n";
        for (grammar, text) in [(Grammar::JavaScript, comment), (Grammar::Tsx, comment), (Grammar::Tsx, element)] {
            assert!(
                misread_lines(grammar, text).iter().any(|lines| lines.0 <= 2 && lines.1 >= 2),
                "{grammar:?} {text}"
            );
        }
        let fine = "/* one\n two */\nconst a = = 1;\nconst b = `x\ny`;\n";
        assert_eq!(misread_lines(Grammar::JavaScript, fine), []);
    }
}
