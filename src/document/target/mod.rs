//! Parses the destination of a link as a reference to a file. Main type: [`LinkTarget`].

use super::lines::{self, ParsedLines};
use super::markdown::unescape;
use crate::domain::path::{display_path, unquote};
use crate::domain::percent;
use crate::domain::presented::{FileRef, RefForm};

/// A destination that points to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkTarget {
    pub(super) form: RefForm,
    /// The file, or the reason why it cannot point anywhere.
    pub(super) to: Result<FileRef, String>,
}

/// The syntax of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DestinationSyntax {
    /// As between the parentheses: backslashes escape, `%20` is a space.
    Written,
    /// Without Markdown's escapes: from a definition, or from `<…>`.
    Unescaped,
    /// As in a link that `CommonMark` rejects: an author who writes spaces encodes nothing in a pattern.
    Loose,
}

/// Well-known file names without an extension.
const NAMES: &[&str] = &[
    "Makefile",
    "makefile",
    "Dockerfile",
    "Containerfile",
    "Justfile",
    "justfile",
    "Rakefile",
    "Gemfile",
    "Procfile",
    "Vagrantfile",
    "Jenkinsfile",
    "CODEOWNERS",
    "LICENSE",
    "README",
    "CHANGELOG",
    "BUILD",
    "WORKSPACE",
];

/// Endings of host names; a path whose first part has one is taken for a host, or for an image in a registry.
const HOSTS: &[&str] = &[
    "com",
    "net",
    "org",
    "io",
    "dev",
    "local",
    "internal",
    "edu",
    "gov",
    "localdomain",
    "localhost",
    "lan",
    "example",
    "invalid",
    "ai",
    "co",
    "uk",
    "eu",
    "cloud",
    "xyz",
];

/// Upper bound on a path, in bytes (`PATH_MAX` of Linux).
const LONGEST: usize = 4096;

/// Parses the destination of a link. `None` if it points to no file: another scheme, an anchor alone, or nothing.
pub(super) fn parse_destination(written: &str, spelling: DestinationSyntax) -> Option<LinkTarget> {
    let written = written.trim();
    if written.is_empty() || written.starts_with(['#', '?']) || written.starts_with("//") {
        return None;
    }
    if let Some((scheme, rest)) = scheme(written) {
        let link = |to| Some(LinkTarget { form: RefForm::Link, to });
        return match scheme.to_ascii_lowercase().as_str() {
            "dialectic" => Some(LinkTarget { form: RefForm::Dialectic, to: parse_dialectic(rest, spelling) }),
            "file" => link(file_uri(rest)),
            _ if scheme.len() == 1 && rest.starts_with(['/', '\\']) => link(Err(ABSOLUTE.to_owned())),
            _ if is_path_like(scheme) => link(with_lines(written, spelling)?),
            _ => None,
        };
    }
    Some(LinkTarget { form: RefForm::Link, to: relative(written, spelling) })
}

const ABSOLUTE: &str = "absolute paths are refused; give a path relative to baseUri";

/// Builds a reference to a path with its lines after a colon, as in plain text.
pub(super) fn plain_reference(path: &str, lines: ParsedLines) -> Result<FileRef, String> {
    let path = if path.starts_with('"') { unquote_path(path)? } else { checked(unescape(path).as_bytes())? };
    let (range, columns) = lines?;
    Ok(FileRef { path, lines: Some(range), columns, pattern: None })
}

/// Parses `path:42` if nothing else is there, as between brackets.
pub(super) fn parse_exact_reference(text: &str) -> Option<Result<FileRef, String>> {
    let text = text.trim();
    if let Some(end) = find_quoted_end(text) {
        let lines = lines::parse_whole(text[end..].strip_prefix(':')?)?;
        return is_quoted_path(&text[..end]).then(|| plain_reference(&text[..end], lines));
    }
    let (path, lines) = split_lines(text)?;
    let odd = path.contains("::")
        || path.contains("://")
        || path.chars().any(|c| c.is_whitespace() || "<>|*\"'`".contains(c));
    let named = path.chars().any(char::is_alphabetic) && !path.ends_with([':', '/']);
    (named && !odd).then(|| plain_reference(path, lines))
}

/// Finds the end of a path that is quoted as git quotes it (`"a\377.rs"`) at the beginning of a string: after its closing quote.
pub(super) fn find_quoted_end(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// Checks whether a quotation is a path: git quotes only paths with something to escape.
pub(super) fn is_quoted_path(text: &str) -> bool {
    text.contains('\\') && unquote_path(text).is_ok()
}

/// Checks whether unmarked text looks like a path: it has a folder, an extension, or a well-known name.
pub(super) fn is_path_like(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if name.is_empty() || name == ".." || name == "." || !path.chars().any(char::is_alphabetic) || path.contains("//") {
        return false;
    }
    let in_folder = name.len() < path.len();
    let first = path.split('/').next().and_then(|first| first.rsplit_once('.'));
    if first.is_some_and(|(host, top)| !host.is_empty() && HOSTS.contains(&top)) {
        return false;
    }
    let extension = name.rfind('.').map(|dot| &name[dot + 1..]);
    let has_extension = extension.is_some_and(|extension| {
        (1..=12).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+'))
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    has_extension || (in_folder && extension.is_none_or(|extension| !extension.is_empty())) || NAMES.contains(&name)
}

fn split_lines(text: &str) -> Option<(&str, ParsedLines)> {
    // Line numbers may hold colons themselves, so the first colon that is followed only by line numbers counts.
    text.match_indices(':')
        .take(8)
        .find_map(|(colon, _)| Some((&text[..colon], lines::parse_whole(&text[colon + 1..])?)))
}

/// Returns the scheme of a URI (RFC 3986 §3.1) and the text after its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut bytes = scheme.bytes();
    let starts = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    (starts && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')))
        .then_some((scheme, rest))
}

/// Parses `path`, `path#L42`, `path?pattern`, `path?pattern#L42`, `path:42`.
fn relative(written: &str, spelling: DestinationSyntax) -> Result<FileRef, String> {
    let Some(cut) = find_path_end(written) else {
        return with_lines(written, spelling).unwrap_or_else(|| whole_file(written, spelling));
    };
    let (path, rest) = (&written[..cut], &written[cut + 1..]);
    let mut to = whole_file(path, spelling)?;
    let mut fragment = Some(rest);
    if written.as_bytes()[cut] == b'?' {
        let hash = rest.rfind('#').filter(|hash| lines::parse_fragment(&rest[hash + 1..]).is_some());
        fragment = hash.map(|hash| &rest[hash + 1..]);
        to.pattern = pattern(hash.map_or(rest, |hash| &rest[..hash]), spelling);
    }
    // A number alone after a pattern may be part of it.
    let lines = if to.pattern.is_some() {
        fragment.and_then(lines::parse_fragment)
    } else {
        fragment.and_then(lines::parse_anchor)
    };
    if let Some(lines) = lines {
        let (range, columns) = lines?;
        (to.lines, to.columns) = (Some(range), columns);
    }
    Ok(to)
}

/// Finds the end of a path; a quoted one may hold the separators itself.
pub(super) fn find_path_end(written: &str) -> Option<usize> {
    let from = find_quoted_end(written).unwrap_or(0);
    written[from..].find(['?', '#']).map(|at| from + at)
}

fn whole_file(path: &str, spelling: DestinationSyntax) -> Result<FileRef, String> {
    let path = path_of(path, spelling)?;
    Ok(FileRef { path, lines: None, columns: (None, None), pattern: None })
}

/// Parses `path:42` as a destination.
fn with_lines(written: &str, spelling: DestinationSyntax) -> Option<Result<FileRef, String>> {
    let (path, lines) = split_lines(written)?;
    if path.is_empty() {
        return None;
    }
    Some(path_of(path, spelling).and_then(|path| {
        let (range, columns) = lines?;
        Ok(FileRef { path, lines: Some(range), columns, pattern: None })
    }))
}

/// Parses the rest of a `dialectic:` URI.
fn parse_dialectic(rest: &str, spelling: DestinationSyntax) -> Result<FileRef, String> {
    let Some(cut) = find_path_end(rest).filter(|cut| rest[*cut..].starts_with('?')) else {
        return relative(rest, spelling);
    };
    let (path, query) = (&rest[..cut], &rest[cut + 1..]);
    let mut to = whole_file(path, spelling)?;
    // A pattern may hold `&` itself, so line numbers are searched for at both ends.
    let (mut line, mut regex) = (None, None);
    if let Some(first) = query.strip_prefix("line=") {
        let (spec, more) = first.split_once('&').unwrap_or((first, ""));
        line = Some(spec);
        regex = more.strip_prefix("regex=");
    } else if let Some(first) = query.strip_prefix("regex=") {
        let cut = first.rfind("&line=").filter(|cut| lines::parse_whole(&first[cut + 6..]).is_some());
        line = cut.map(|cut| &first[cut + 6..]);
        regex = Some(cut.map_or(first, |cut| &first[..cut]));
    }
    to.pattern = regex.and_then(|regex| pattern(regex, spelling));
    if let Some(line) = line {
        let line = decode(line).unwrap_or_default();
        let (range, columns) =
            lines::parse_whole(&line).unwrap_or_else(|| Err(format!("line={line:?} is not N, N:C, N-M or N:C-M:D")))?;
        (to.lines, to.columns) = (Some(range), columns);
    }
    Ok(to)
}

/// Parses the rest of a `file:` URI (RFC 8089).
fn file_uri(rest: &str) -> Result<FileRef, String> {
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/').ok_or("the file: address has no path")?;
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err("the file: address names another machine".to_owned());
            }
            &rest[host.len()..]
        }
        None => rest,
    };
    relative(path, DestinationSyntax::Written)
}

/// Parses a pattern as a regular expression; Markdown's escapes are the expression's own here.
fn pattern(written: &str, spelling: DestinationSyntax) -> Option<String> {
    let pattern = match spelling {
        DestinationSyntax::Loose => written.to_owned(),
        DestinationSyntax::Written | DestinationSyntax::Unescaped => {
            decode(written).unwrap_or_else(|| written.to_owned())
        }
    };
    // On a forge, `plain=1` requests the source of a rendered file.
    (!pattern.is_empty() && pattern != "plain=1").then_some(pattern)
}

/// Percent-decodes text; `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    String::from_utf8(percent::decode(text).0).ok()
}

fn path_of(written: &str, spelling: DestinationSyntax) -> Result<String, String> {
    let written = written.trim();
    if written.starts_with('"') {
        return unquote_path(written);
    }
    let unescaped = if spelling == DestinationSyntax::Unescaped { written.to_owned() } else { unescape(written) };
    checked(&percent::decode(unescaped.trim()).0)
}

/// Unquotes a path in git's quoting.
fn unquote_path(written: &str) -> Result<String, String> {
    let bytes = match unquote(written) {
        // An author who also escapes for Markdown doubles each backslash; then nothing is left that needs quoting.
        Ok(bytes) if bytes.contains(&b'\\') && !display_path(&bytes).starts_with('"') => {
            unquote(&unescape(written)).unwrap_or(bytes)
        }
        Ok(bytes) => bytes,
        Err(error) => unquote(&unescape(written)).map_err(|_| error.to_string())?,
    };
    spelled(&bytes)
}

fn checked(bytes: &[u8]) -> Result<String, String> {
    if bytes.contains(&b'\\') {
        return Err("the path has backslashes; write / between folders".to_owned());
    }
    spelled(bytes)
}

/// Returns the path as it is stored: non-text and characters that a terminal would obey are quoted.
fn spelled(bytes: &[u8]) -> Result<String, String> {
    if bytes.is_empty() {
        return Err("the path is empty".to_owned());
    }
    if bytes.len() > LONGEST {
        return Err("the path is too long".to_owned());
    }
    if bytes.contains(&0) {
        return Err("the path has a NUL byte".to_owned());
    }
    Ok(display_path(bytes).into_owned())
}

#[cfg(test)]
mod tests;
