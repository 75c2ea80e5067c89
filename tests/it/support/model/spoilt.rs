//! What goes wrong with an answer.

use super::odd::{flood, retyped, zipped};
use super::pieces::{first, pieces};
use super::script::{BadStatus, Cut, Fault};
use super::state::{Ending, Reply};
use super::wires::Wire;

/// Sends the fault in the place of the answer that these events are.
pub fn spoil(fault: &Fault, wire: Wire, events: Vec<Vec<u8>>, cut: Cut, reply: &mut Reply) {
    let half = |events: &[Vec<u8>]| events[..events.len() / 2].to_vec();
    let (sent, ending) = match fault {
        Fault::Status(bad) => return status(bad, wire, reply),
        Fault::Raw(text) => {
            reply.raw = Some(text.clone().into_bytes());
            return;
        }
        Fault::Trickle(pause) => {
            reply.pause_ms = *pause;
            reply.pieces = events.concat().iter().map(|byte| vec![*byte]).collect();
            return;
        }
        Fault::Reset => (Vec::new(), Ending::Reset),
        Fault::Hang => (Vec::new(), Ending::Silent),
        Fault::Half(bytes) => (first(pieces(events, cut), *bytes), Ending::Broken),
        Fault::Stall(bytes) => (first(pieces(events, cut), *bytes), Ending::Stalled),
        Fault::Ends(bytes) => (first(pieces(events, cut), *bytes), Ending::Whole),
        Fault::ResetAt(bytes) => (first(pieces(events, cut), *bytes), Ending::BrokenHard),
        Fault::Event(message) => {
            (pieces([half(&events), vec![wire.error_event(message)]].concat(), cut), Ending::Whole)
        }
        Fault::Garbage(text) => (vec![text.clone().into_bytes()], Ending::Whole),
        Fault::Malformed(text) => {
            let mut events = events;
            let middle = events.len() / 2;
            events[middle] = text.clone().into_bytes();
            (pieces(events, cut), Ending::Whole)
        }
        Fault::WrongTypes => (pieces(events.iter().map(|event| retyped(event)).collect(), cut), Ending::Whole),
        Fault::Flood(kind) => ([half(&events), flood(wire, *kind)].concat(), Ending::Whole),
        Fault::Zipped => {
            reply.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
            (vec![zipped(&events.concat())], Ending::Whole)
        }
    };
    (reply.pieces, reply.ending) = (sent, ending);
}

fn status(bad: &BadStatus, wire: Wire, reply: &mut Reply) {
    let message = bad.message.as_deref().unwrap_or("scripted fault");
    let body = bad.body.clone().unwrap_or_else(|| wire.error(bad.code, message).to_string());
    reply.status = bad.code;
    reply.headers = bad.headers.clone().into_iter().collect();
    if !bad.headers.contains_key("content-type") {
        reply.headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    reply.headers.extend(bad.retry_after.clone().map(|wait| ("retry-after".to_owned(), wait)));
    reply.pieces = vec![body.into_bytes()];
}
