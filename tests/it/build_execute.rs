//! Runs of tools that end, are ended, or whose caller dies: nothing stays but a run that can be read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use review_runner::build::execute::{BuildExit, ExecuteError, execute};
use review_runner::build::log::LogStream;
use review_runner::build::runs::{BuildRunState, BuildRuns};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::process::{OutputStream, SandboxLevel, StopCause, StreamedError};

use crate::support::build::{Place, mark, processes, shell, strictest, until};

/// Says where the caller of [`a_caller_that_is_killed_leaves_nothing`] works.
const CALLER: &str = "BUILD_TEST_CALLER";

/// Children that do not want to end: in the background, in a session of their own, deaf to the signal.
fn stubborn(mark: &str) -> String {
    format!(
        "trap '' TERM; sleep {mark} & setsid sh -c \"trap '' TERM; sleep {mark} & sleep {mark}\" & \
         (setsid sh -c 'setsid sleep {mark} &' &) ; echo ready; while :; do sleep {mark}; done"
    )
}

#[test]
fn a_run_reports_what_the_program_did() {
    let place = Place::new();
    let mut call = place.call("echo out; echo err >&2; pwd; [ -w \"$TMPDIR\" ] && echo temporary; cat; exit 7");
    let run = place.run(&call, &Cancel::never());
    assert_eq!(run.exit.unwrap(), BuildExit { code: Some(7), signal: None, stopped: None });
    let text = |stream| {
        let lines = run.log.lines.iter().filter(move |line| line.stream == stream);
        lines.map(|line| line.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(text(LogStream::Output), ["out", place.work().to_str().unwrap(), "temporary"]);
    assert_eq!(text(LogStream::Errors), ["err"]);
    let (meta, state) = place.runs.meta(&run.run_id.to_string()).unwrap();
    assert_eq!((meta.exit_code, state, meta.command), (Some(7), BuildRunState::Completed, call.argv.clone()));
    assert_eq!(place.runs.lines(&run.run_id.to_string(), None, None).unwrap().total_lines, 4);
    call.argv = ["/bin/sh", "-c", "kill -9 $$"].map(str::to_owned).to_vec();
    assert_eq!(place.run(&call, &Cancel::never()).exit.unwrap().signal, Some(9));
    std::fs::write(place.work().join("no-program"), "\u{7f}ELF").unwrap();
    call.argv = vec!["./no-program".to_owned()];
    let run = place.run(&call, &Cancel::never());
    assert!(matches!(run.exit, Err(ExecuteError::Program(_))), "{:?}", run.exit);
    assert_eq!(place.runs.lines(&run.run_id.to_string(), None, None).unwrap().total_lines, 0);
    std::os::unix::fs::symlink("/bin/sh", place.work().join("tool")).unwrap();
    call.argv = ["./tool", "-c", "echo hi"].map(str::to_owned).to_vec();
    assert_eq!(place.run(&call, &Cancel::never()).log.output(), "hi\n");
    call.supervisor = place.work().join("none");
    let run = place.run(&call, &Cancel::never());
    assert!(matches!(run.exit, Err(ExecuteError::Streamed(StreamedError::Supervisor { .. }))), "{:?}", run.exit);
}

#[test]
fn what_runs_too_long_is_ended_with_all_that_it_started() {
    let place = Place::new();
    let mark = mark();
    let mut call = place.call(&stubborn(&mark));
    // On a busy machine the script may not have begun when the first limit is met.
    let run = [500, 5_000, 50_000].into_iter().find_map(|limit| {
        call.timeout = Duration::from_millis(limit);
        let run = place.run(&call, &Cancel::never());
        assert_eq!(run.exit.as_ref().unwrap().stopped, Some(StopCause::TimedOut));
        assert_eq!(processes(&mark), [""; 0]);
        (run.log.output() == "ready\n").then_some(run)
    });
    let run = run.expect("the script began");
    assert!(run.notes[0].contains("ended after"), "{:?}", run.notes);
    let (meta, state) = place.runs.meta(&run.run_id.to_string()).unwrap();
    assert_eq!((meta.stopped, state), (Some(StopCause::TimedOut), BuildRunState::Completed));
    assert_eq!(place.runs.lines(&run.run_id.to_string(), None, None).unwrap().lines, ["ready"]);
}

#[test]
fn what_is_cancelled_is_ended_with_all_that_it_started() {
    for level in [strictest(), SandboxLevel::Off] {
        let place = Place::new();
        let mark = mark();
        let mut call = place.call(&stubborn(&mark));
        call.sandbox.level = level;
        let (cancel, mut most) = (Cancel::never(), 0);
        let run = execute(&call, &place.runs, &cancel, &mut |_, line| {
            assert_eq!(line, b"ready\n");
            until("the children began", || {
                most = processes(&format!("sleep\0{mark}")).len().max(most);
                most >= 5
            });
            cancel.interrupt();
        });
        let run = run.unwrap();
        assert_eq!(run.exit.unwrap().stopped, Some(StopCause::Cancelled));
        assert_eq!(processes(&mark), [""; 0]);
        assert_eq!(place.runs.lines(&run.run_id.to_string(), None, None).unwrap().lines, ["ready"]);
    }
}

#[test]
fn a_supervisor_that_is_gone_is_no_success() {
    let place = Place::new();
    let mut call = place.call("echo ready; kill -9 $PPID; exit 0");
    call.sandbox.level = SandboxLevel::Off;
    let run = place.run(&call, &Cancel::never());
    assert!(matches!(run.exit, Err(ExecuteError::Streamed(StreamedError::Lost))), "{:?}", run.exit);
    let (meta, state) = place.runs.meta(&run.run_id.to_string()).unwrap();
    assert_eq!((meta.exit_code, state), (None, BuildRunState::Completed));
}

#[test]
fn what_stays_in_the_background_ends_with_the_program() {
    let place = Place::new();
    let mark = mark();
    let run = place.run(&place.call(&format!("setsid sleep {mark} & echo done")), &Cancel::never());
    assert_eq!(run.exit.unwrap(), BuildExit { code: Some(0), signal: None, stopped: None });
    assert_eq!((run.log.output().as_str(), processes(&mark).len()), ("done\n", 0));
}

/// No test of its own: the process that [`a_caller_that_is_killed_leaves_nothing`] kills.
#[test]
#[ignore = "started by another test"]
fn caller() {
    let Some(root) = std::env::var_os(CALLER) else { return };
    let root = Path::new(&root);
    let script = std::fs::read_to_string(root.join("script")).unwrap();
    let runs = BuildRuns::at(&root.join("state"));
    execute(&shell(&root.join("work"), &script), &runs, &Cancel::never(), &mut |_, _| {}).unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the caller is a process to be killed")]
fn a_caller_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let mark = mark();
    std::fs::write(place.folder.path().join("script"), stubborn(&mark)).unwrap();
    // Whatever others may do with the files of this user, they may do nothing with these.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 0; exec \"$0\" --exact build_execute::caller --ignored"]);
    command.arg(std::env::current_exe().unwrap()).env(CALLER, place.folder.path());
    let mut caller = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let builds = place.folder.path().join("state/builds");
    let run = || Some(std::fs::read_dir(&builds).ok()?.next()?.ok()?.file_name().to_str()?.to_owned());
    until("the script writes", || {
        run().and_then(|id| place.runs.lines(&id, None, None).ok()).is_some_and(|page| page.lines == ["ready"])
    });
    until("the children began", || processes(&format!("sleep\0{mark}")).len() >= 5);
    let id = run().unwrap();
    assert_eq!(place.runs.meta(&id).unwrap().1, BuildRunState::Running);
    caller.kill().unwrap();
    caller.wait().unwrap();
    until("all children are gone", || processes(&mark).is_empty());
    let (meta, state) = place.runs.meta(&id).unwrap();
    assert_eq!((meta.completed_at, state), (None, BuildRunState::Orphaned));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&builds), mode(&builds.join(&id))), (0o700, 0o700));
    for name in ["raw.log", "meta.json", "run.lock"] {
        assert_eq!(mode(&builds.join(&id).join(name)), 0o600, "{name}");
    }
    assert_eq!(place.runs.lines(&id, None, None).unwrap().lines, ["ready"]);
}

#[test]
fn lines_of_both_streams_stay_whole() {
    let place = Place::new();
    // Written in pieces, so that a reader of bytes would mix them.
    let script = "out() { for i in 1 2 3 4 5 6 7 8 9; do printf '{\"a\":'; printf '%s' $i; printf '}\\n'; done; }; \
                  err() { for i in 1 2 3 4 5 6 7 8 9; do printf 'war'; printf 'ning'; printf '!\\n'; done >&2; }; \
                  out & err & out & wait; printf 'no '; printf 'end'";
    let run = place.run(&place.call(script), &Cancel::never());
    // The streams are read side by side, so lines of the other one may follow.
    let (last, lines): (Vec<_>, Vec<_>) = run.log.lines.iter().partition(|line| line.text == "no end");
    assert_eq!(last.len(), 1, "{:?}", run.log.lines);
    // Two writers of one stream may mix their own pieces; the other stream may not break a line.
    for line in lines {
        let is_error = line.stream == LogStream::Errors;
        assert_eq!(line.text == "warning!", is_error, "{line:?}");
        assert_eq!(line.text.contains("war"), is_error, "{line:?}");
    }
    let raw = place.runs.raw(&run.run_id.to_string(), 0, Some(65_536)).unwrap();
    for line in &run.log.lines {
        let bytes = usize::try_from(line.bytes.start).unwrap()..usize::try_from(line.bytes.end).unwrap();
        assert_eq!(raw.data[bytes].trim_end(), line.text, "a line knows its place");
    }
}

#[test]
fn a_long_line_comes_in_pieces_and_is_one_line_all_the_same() {
    let place = Place::new();
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; echo warn >&2; head -c 100 /dev/zero | tr '\\0' y; echo";
    let (mut longest, mut pieces) = (0, 0);
    let run = execute(&place.call(script), &place.runs, &Cancel::never(), &mut |stream, line| {
        longest = line.len().max(longest);
        pieces += usize::from(stream == OutputStream::Output);
    });
    let run = run.unwrap();
    assert_eq!((longest, pieces, run.log.lines.len()), (1 << 20, 3, 2));
    let long = run.log.lines.iter().find(|line| line.stream == LogStream::Output).unwrap();
    assert_eq!(long.text.len(), 3_000_100);
    let page = place.runs.lines(&run.run_id.to_string(), None, None).unwrap();
    assert_eq!(page.total_lines, 2);
}

#[test]
fn what_writes_without_end_is_ended_and_the_log_is_cut_for_parsing_only() {
    let place = Place::new();
    let mut call = place.call("yes 0123456789012345678901234567890123456789012345678");
    call.cap = 12_000_007;
    let run = place.run(&call, &Cancel::never());
    assert_eq!(run.exit.unwrap().stopped, Some(StopCause::TooMuchOutput));
    let page = place.runs.raw(&run.run_id.to_string(), 12_000_000, None).unwrap();
    assert_eq!((page.total_bytes, page.data.as_str(), page.has_more), (12_000_007, "0123456", false));
    let parsed: u64 = run.log.lines.iter().map(|line| line.bytes.end - line.bytes.start).sum();
    assert!((10_000_000..=10 << 20).contains(&parsed), "{parsed}");
    assert!(run.notes.iter().any(|note| note.contains("parsed")), "{:?}", run.notes);
    assert!(run.notes.iter().any(|note| note.contains("12000007 bytes")), "{:?}", run.notes);
}
