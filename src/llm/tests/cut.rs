//! Streams that do not arrive as they were sent: cut at every byte, and with a byte changed, lost or put in.

use super::super::events::EventSplitter;
use super::super::frames::{FrameReader, ResponseFault};
use super::super::wire;
use super::super::wire_format::WireFormat;
use super::*;

/// A stream of each wire as a server sends it: text, two calls, whatever is opaque, usage.
fn streams() -> Vec<(WireFormat, Vec<u8>)> {
    let events = |frames: &[Value], end: &str| ServerReply::events(frames).and(end).body.into_bytes();
    vec![
        (WireFormat::Messages, events(&messages::whole(), "")),
        (WireFormat::Responses, events(&responses::whole(), "")),
        (WireFormat::Chat, events(&chat::whole(), "data: [DONE]\n\n")),
        (WireFormat::Gemini, events(&gemini::whole(), "")),
        (WireFormat::Ollama, ServerReply::lines(&ollama::whole()).body.into_bytes()),
    ]
}

/// Returns the outcome of a response whose body arrives in these pieces, as the client reads it.
fn read(wire: WireFormat, pieces: &[&[u8]]) -> Result<TurnResponse, ResponseFault> {
    let frames = FrameReader::new(wire::decoder(wire));
    let mut splitter = EventSplitter::new(wire::framing(wire));
    for piece in pieces {
        splitter.feed(piece, &mut |frame| frames.feed(frame));
        frames.record_arrival(piece.len(), splitter.pending_bytes());
        if frames.is_settled() {
            break;
        }
    }
    splitter.end(&mut |frame| frames.feed(frame));
    frames.finish().map(|draft| wire::response(wire, draft, &question()))
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_no_answer_or_the_whole_one() {
    for (wire, bytes) in streams() {
        let whole = read(wire, &[&bytes]).unwrap();
        assert_eq!(whole.calls().count(), 2, "{wire:?}");
        let mut first = None;
        for end in 0..=bytes.len() {
            match read(wire, &[&bytes[..end]]) {
                Ok(answer) => {
                    first.get_or_insert(end);
                    assert_eq!((&answer.parts, &answer.stop), (&whole.parts, &whole.stop), "{wire:?} at {end}");
                    // What was counted may be lost behind the end, and is then unknown.
                    assert!(
                        [whole.usage, TurnUsage::default()].contains(&answer.usage),
                        "{wire:?} at {end}: {answer:?}"
                    );
                }
                Err(trouble) => {
                    assert!(matches!(trouble, ResponseFault::Cut(_)), "{wire:?} at {end}: {trouble:?}");
                    assert_eq!(first, None, "{wire:?}: whole before {end}, and then no more");
                }
            }
        }
        let first = first.unwrap();
        assert!(first > bytes.len() / 2, "{wire:?}: {first} of {}", bytes.len());
    }
}

#[test]
fn it_makes_no_difference_in_which_pieces_a_stream_arrives() {
    for (wire, bytes) in streams() {
        let whole = read(wire, &[&bytes]).unwrap();
        for size in [1, 2, 3, 7, 64] {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(read(wire, &pieces).unwrap(), whole, "{wire:?} in pieces of {size}");
        }
        let returns = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
        let pieces: Vec<&[u8]> = returns.as_bytes().chunks(1).collect();
        assert_eq!(read(wire, &pieces).unwrap(), whole, "{wire:?} with other ends of lines");
    }
}

#[test]
fn a_byte_that_is_changed_lost_or_put_in_breaks_nothing_and_makes_nothing_up() {
    for (wire, bytes) in streams() {
        for at in 0..bytes.len() {
            for (with, skip) in [(&b"x"[..], 1), (b"\"", 1), (b"\n", 1), (b"", 1), (b"{", 0), (b"7", 0), (b"\xff", 0)] {
                let odd = [&bytes[..at], with, &bytes[at + skip..]].concat();
                let Ok(answer) = read(wire, &[&odd]) else { continue };
                let calls: Vec<&ModelToolCall> = answer.calls().collect();
                assert!(calls.len() <= 4, "{wire:?} at {at}: {calls:?}");
                for call in calls {
                    let ToolInput::Object(input) = &call.input else { continue };
                    // No more than the change itself, and nothing of the other call.
                    let told: usize = input.iter().map(|(key, value)| key.len() + value.to_string().len()).sum();
                    assert!(told <= "path\"a\"".len() + 5, "{wire:?} at {at}: {input:?}");
                }
            }
        }
    }
}

#[test]
fn an_event_that_is_lost_from_the_middle_of_a_block_is_noticed() {
    let lost = |wire: WireFormat, frames: Vec<Value>, at: usize| {
        let left: Vec<Value> =
            frames.into_iter().enumerate().filter(|(n, _)| *n != at).map(|(_, frame)| frame).collect();
        read(wire, &[ServerReply::events(&left).body.as_bytes()])
    };
    for at in [1, 7, 13] {
        let answer = lost(WireFormat::Messages, messages::whole(), at);
        assert!(
            matches!(&answer, Err(ResponseFault::Unreadable(why)) if why.contains("did not begin")),
            "{at}: {answer:?}"
        );
    }
    let pieces = [
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hm." }),
        json!({ "type": "response.completed",
        "response": { "status": "completed", "output": [] } }),
    ];
    let answer = read(WireFormat::Responses, &[ServerReply::events(&pieces).body.as_bytes()]);
    assert!(matches!(&answer, Err(ResponseFault::Unreadable(why)) if why.contains("did not begin")), "{answer:?}");
}

#[test]
fn an_event_that_cannot_be_read_is_not_covered_by_the_end() {
    let reply = ServerReply::events(&chat::whole()[..5])
        .and("data: {\"choices\": [{\"delta\": {\"content\n\n")
        .and("data: [DONE]\n\n");
    let answer = read(WireFormat::Chat, &[reply.body.as_bytes()]);
    assert_eq!(answer, Err(ResponseFault::Unreadable("an event holds no JSON".to_owned())));
}

#[test]
fn an_end_after_which_nothing_was_understood_is_none() {
    let answer = read(WireFormat::Chat, &[b"data: {\"choices\": {\"0\": []}}\n\ndata: [DONE]\n\n"]);
    assert!(matches!(answer, Err(ResponseFault::Cut(_))), "{answer:?}");
    let said =
        read(WireFormat::Chat, &[b"data: {\"choices\": [{\"delta\": {\"content\": \"Hm.\"}}]}\n\ndata: [DONE]\n\n"]);
    assert_eq!(said.unwrap().text(), "Hm.");
}

#[test]
fn what_comes_behind_the_end_changes_nothing() {
    for (wire, bytes) in streams() {
        let whole = read(wire, &[&bytes]).unwrap();
        for more in [&bytes[..], b"data: {\"error\": {\"message\": \"no\"}}\n\n", b"\xff\xfe\n\n"] {
            assert_eq!(read(wire, &[&bytes, more]).unwrap(), whole, "{wire:?}");
        }
    }
}

#[test]
fn an_answer_of_too_many_pieces_is_given_up_in_good_time() {
    let many = |piece: &str| vec![piece; 200_000].join(",");
    let calls = many(r#"{"index":0}"#);
    let numbered = |most: usize, text: &dyn Fn(usize) -> String| (0..most).map(text).collect::<Vec<_>>().concat();
    let chat = numbered(200_000, &|n| format!("{{\"index\":{n}}},"));
    let chat = format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{}]}}}}]}}\n\n", chat.trim_end_matches(','));
    let gemini = many(r#"{"functionCall":{}}"#);
    let gemini = format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{gemini}]}}}}]}}\n\n");
    let ollama = format!("{{\"message\":{{\"tool_calls\":[{calls}]}}}}\n");
    let messages = numbered(3_000, &|n| {
        format!("data: {{\"type\":\"content_block_start\",\"index\":{n},\"content_block\":{{}}}}\n\n")
    });
    let responses = numbered(3_000, &|n| {
        format!("data: {{\"type\":\"response.output_item.added\",\"output_index\":{n},\"item\":{{}}}}\n\n")
    });
    for (wire, body) in [
        (WireFormat::Chat, chat),
        (WireFormat::Gemini, gemini),
        (WireFormat::Ollama, ollama),
        (WireFormat::Messages, messages),
        (WireFormat::Responses, responses),
    ] {
        let answer = read(wire, &[body.as_bytes()]);
        assert!(
            matches!(&answer, Err(ResponseFault::Unreadable(why)) if why.contains("2000 pieces")),
            "{wire:?}: {answer:?}"
        );
    }
}
