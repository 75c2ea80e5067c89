//! Connections that are used again, and those that cannot be.

use std::sync::mpsc::Receiver;

use super::*;

/// Starts a server that sends these replies, on each connection in turn, and then closes it without announcement. Reports each closed connection.
fn server(connections: Vec<Vec<(u16, String)>>) -> (String, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, closed) = channel();
    std::thread::spawn(move || {
        for (number, replies) in connections.into_iter().enumerate() {
            let (stream, _) = listener.accept().unwrap();
            for (status, body) in replies {
                answer(&stream, status, &body);
            }
            drop(stream);
            let _ = tell.send(number);
        }
    });
    (address, closed)
}

fn answer(mut stream: &TcpStream, status: u16, body: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
    let head = format!(
        "HTTP/1.1 {status} Some Reason\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).unwrap();
}

fn whole() -> (u16, String) {
    (200, ServerReply::events(&gemini::whole()).body)
}

/// Sends this many requests over the connections of one client.
fn ask_again(address: &str, times: usize, between: impl Fn()) -> Vec<Result<TurnResponse, TurnFault>> {
    let provider = provider("gemini", "a-model", address);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut answers = Vec::new();
    for _ in 0..times {
        answers.push(runtime.block_on(provider.turn(&question(), QUIET, &())));
        between();
    }
    answers
}

#[test]
fn a_connection_serves_on_after_an_error() {
    let refused = (503, r#"{"error":{"message":"Busy."}}"#.to_owned());
    let (address, closed) = server(vec![vec![refused, whole(), whole()]]);
    let answers = ask_again(&address, 3, || ());
    assert!(answers[0].is_err() && answers[1].is_ok() && answers[2].is_ok(), "{answers:?}");
    assert_eq!(closed.recv_timeout(QUIET), Ok(0), "all three on one connection");
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_no_fault() {
    let (address, closed) = server(vec![vec![whole()], vec![whole()], vec![whole()]]);
    let answers = ask_again(&address, 3, || {
        closed.recv_timeout(QUIET).unwrap();
        // Until the client has seen it, too.
        std::thread::sleep(Duration::from_millis(100));
    });
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[test]
fn an_answer_that_its_length_cuts_off_is_none_and_the_next_is_whole() {
    let (_, body) = whole();
    let first = body[..body.len() / 2].to_owned();
    let (address, _closed) = server(vec![vec![(200, first), whole()]]);
    let answers = ask_again(&address, 2, || ());
    assert!(matches!(answers[0], Err(TurnFault::BrokenOff { .. })), "{answers:?}");
    assert_eq!(answers[1].as_ref().unwrap().calls().count(), 2);
}
