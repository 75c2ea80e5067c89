//! The query of a URI: percent-encoding as RFC 6570 expands `{?name}`. Main functions: [`value`], [`escaped`].

/// The decoded value of a variable; `None` where it is not there. What is not UTF-8 is replaced.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then(|| unescaped(value))
    })
}

/// The value as it is written in a URI: unreserved characters as they are, all else as `%XX`.
pub(super) fn escaped(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

fn unescaped(value: &str) -> String {
    let digit =
        |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let bytes = value.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        // A stray percent sign stands for itself.
        if *byte == b'%'
            && let (Some(high), Some(low)) = (digit(bytes.get(at + 1)), digit(bytes.get(at + 2)))
        {
            out.push(high << 4 | low);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
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
            let uri = escaped(&text);
            prop_assert!(uri.is_ascii() && !uri.contains(['&', '=', '/', ' ']));
            prop_assert_eq!(value(&format!("repo={uri}"), "repo"), Some(text));
        }
    }
}
