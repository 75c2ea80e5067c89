//! The query of a URI: percent-encoding as RFC 6570 expands `{?name}`. Main functions: [`value`], [`escape`].

use crate::domain::percent::{decode, encode_part};

/// Decodes the value of a variable; `None` if it is missing. Invalid UTF-8 is replaced.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then(|| unescaped(value))
    })
}

/// Encodes a value for a URI: unreserved characters stay, all others become `%XX`.
pub(super) fn escape(value: &str) -> String {
    encode_part(value.as_bytes())
}

fn unescaped(value: &str) -> String {
    String::from_utf8_lossy(&decode(value).0).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_found_by_its_name() {
        assert_eq!(value("x=1&repo=%2Fhome%2Fa%20b&repo=2", "repo").as_deref(), Some("/home/a b"));
        assert_eq!(value("repo", "repo").as_deref(), Some(""));
        assert_eq!(value("repos=1", "repo"), None);
        assert_eq!(value("repo=100%", "repo").as_deref(), Some("100%"));
        assert_eq!(value("repo=%zz/a", "repo").as_deref(), Some("%zz/a"));
    }

    proptest! {
        #[test]
        fn whatever_is_escaped_reads_back(text in any::<String>()) {
            let uri = escape(&text);
            prop_assert!(uri.is_ascii() && !uri.contains(['&', '=', '/', ' ']));
            prop_assert_eq!(value(&format!("repo={uri}"), "repo"), Some(text));
        }
    }
}
