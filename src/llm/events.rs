//! Splitting of a response into documents, in linear time. Main types: [`EventSplitter`], [`Framing`].
//!
//! Server-sent events are read as the HTML standard says (§9.2.6, "Interpreting an event stream"), with two exceptions that servers make necessary:
//! the last event counts without the empty line after it, and names of events are ignored, because each document identifies itself. The meaning of a
//! document belongs in `wire`.

/// Framing of documents in the body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One document a line.
    Lines,
    /// The body is one document: the server was asked to stream, but does not.
    Whole,
}

/// Cuts what arrives into documents.
#[derive(Debug)]
pub(super) struct EventSplitter {
    framing: Framing,
    /// The line that has not ended.
    line: Vec<u8>,
    /// `true` if the last byte was a carriage return: a line feed after it ends no second line.
    returned: bool,
    /// `true` before the first line.
    is_first: bool,
    /// The data of the event that has not ended.
    data: Vec<u8>,
}

/// Byte order mark, with which some servers begin.
const MARK: &[u8] = b"\xEF\xBB\xBF";

impl EventSplitter {
    /// Creates a splitter for a body of that framing.
    pub(super) const fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), returned: false, is_first: true, data: Vec::new() }
    }

    /// Returns the number of bytes that are held because their document has not ended. The caller enforces a limit.
    pub(super) fn pending_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Feeds received bytes, split anywhere.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        if self.framing == Framing::Whole {
            self.data.extend_from_slice(bytes);
            return;
        }
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.returned) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.line.extend_from_slice(piece);
            match after.split_first() {
                Some((byte, after)) => {
                    self.returned = *byte == b'\r';
                    self.end_line(each);
                    rest = after;
                }
                None => rest = after,
            }
        }
    }

    /// Ends the input.
    pub(super) fn end(&mut self, each: &mut impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            self.end_line(each);
        }
        self.end_document(each);
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        let line = if std::mem::take(&mut self.is_first) { line.strip_prefix(MARK).unwrap_or(&line) } else { &line };
        match self.framing {
            Framing::Lines => say(line, each),
            Framing::Events | Framing::Whole if line.is_empty() => self.end_document(each),
            Framing::Events | Framing::Whole => {
                let Some(data) = line.strip_prefix(b"data") else { return };
                let data = match data.split_first() {
                    Some((b':', data)) => data.strip_prefix(b" ").unwrap_or(data),
                    // A field of another name, or one of no value.
                    Some(_) | None => return,
                };
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data);
            }
        }
    }

    fn end_document(&mut self, each: &mut impl FnMut(&[u8])) {
        say(&std::mem::take(&mut self.data), each);
    }
}

fn say(document: &[u8], each: &mut impl FnMut(&[u8])) {
    if !document.is_empty() {
        each(document);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(framing: Framing, pieces: &[&[u8]]) -> Vec<String> {
        let (mut splitter, mut all) = (EventSplitter::new(framing), Vec::new());
        let mut keep = |document: &[u8]| all.push(String::from_utf8_lossy(document).into_owned());
        for piece in pieces {
            splitter.feed(piece, &mut keep);
        }
        splitter.end(&mut keep);
        all
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        for (text, documents) in [
            ("data: a\n\ndata:b\n\n", vec!["a", "b"]),
            ("event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            (": a comment\n\nid: 1\nretry: 5\ndata: a\n\n", vec!["a"]),
            ("data\n\ndata:\n\ndatum: a\n\nodd line\n\n", vec![]),
            ("data:  a\n\n", vec![" a"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data: a", vec!["a"]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(split(Framing::Events, &[text.as_bytes()]), documents, "{text:?}");
        }
    }

    #[test]
    fn lines_and_whole_bodies_are_documents() {
        assert_eq!(split(Framing::Lines, &[b"{\"a\":1}\r\n\n{\"b\":2}"]), ["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(split(Framing::Whole, &[b"{\n", b"}\n\n"]), ["{\n}\n\n"]);
    }

    #[test]
    fn what_has_not_ended_is_counted_and_what_has_is_let_go_of() {
        let mut splitter = EventSplitter::new(Framing::Events);
        splitter.feed(b"data: abc\ndata: de", &mut |_| {});
        assert_eq!(splitter.pending_bytes(), 3 + 8);
        splitter.feed(b"f\n\n", &mut |_| {});
        assert_eq!(splitter.pending_bytes(), 0);
    }

    proptest! {
        #[test]
        fn it_makes_no_difference_where_the_bytes_are_cut(
            text in "(data: ?[a-z–]{0,3}|event: x|: c|[a-z]{0,2})?(\n|\r\n|\r|\n\n){0,2}(data: ?[a-z–]{0,3})?[\r\n]{0,3}",
            cuts in prop::collection::vec(0_usize..60, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            for framing in [Framing::Events, Framing::Lines, Framing::Whole] {
                prop_assert_eq!(split(framing, &pieces), split(framing, &[bytes]));
            }
        }

        #[test]
        fn any_bytes_are_split(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for framing in [Framing::Events, Framing::Lines, Framing::Whole] {
                split(framing, &[&bytes]);
            }
        }
    }
}
