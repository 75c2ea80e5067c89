//! Small programs of the shell, started and ended.

#![allow(clippy::unwrap_used, reason = "tests of some systems only: the lint does not know them as tests")]

use super::*;

fn shell(script: &str) -> (Program, ProcessCall) {
    let environment = Environment::default().with("PATH", "/nowhere::bin:/usr/bin:/bin").with("GREETING", "hi");
    let program = Program::find("sh", &environment).unwrap();
    let arguments = vec!["-c".into(), script.into()];
    (program, ProcessCall { arguments, environment, directory: std::env::temp_dir(), most: 1000 })
}

fn run(script: &str, cancel: &Cancel) -> Result<ProcessOutput, ProcessError> {
    let (program, call) = shell(script);
    program.run(&call, cancel)
}

#[test]
fn a_program_gets_what_its_caller_gave_it_and_nothing_else() {
    let ended = run("env; cat; echo no >&2; exit 7", &Cancel::never()).unwrap();
    let output = String::from_utf8(ended.output).unwrap();
    assert!(output.contains("GREETING=hi\n"), "{output}");
    assert!(!output.contains("CARGO"), "{output}");
    assert_eq!((ended.success, ended.code, ended.errors.as_slice()), (false, Some(7), &b"no\n"[..]));
}

#[test]
fn a_program_is_looked_for_in_absolute_folders_only() {
    let environment = Environment::default().with("PATH", "::.:bin:target");
    assert!(matches!(Program::find("sh", &environment), Err(ProcessError::Missing { .. })));
    assert!(matches!(Program::find("sh", &Environment::default()), Err(ProcessError::Missing { .. })));
    let text = Program::find("no-such-program", &Environment::of_this_process()).unwrap_err().to_string();
    assert!(text.contains("no-such-program") && text.contains("PATH"), "{text}");
}

#[test]
fn a_program_that_never_ends_is_ended_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child");
    let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
    // On a busy machine the script may not have begun when the first limit is met.
    let child = [300, 3_000, 30_000].into_iter().find_map(|limit| {
        let error = run(&script, &Cancel::after(Duration::from_millis(limit))).unwrap_err();
        assert!(matches!(error, ProcessError::Stopped(CancelReason::DeadlinePassed)), "{error}");
        std::fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok()
    });
    let child = child.expect("the script began");
    let child = rustix::process::Pid::from_raw(child).unwrap();
    // It may be dead and not yet waited for by whoever inherited it.
    let gone = || rustix::process::test_kill_process(child).is_err() || is_zombie(child);
    assert!((0..500).any(|_| gone() || {
        std::thread::sleep(LOOK_AGAIN);
        false
    }));
}

fn is_zombie(pid: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

#[test]
fn a_program_that_does_not_listen_is_killed() {
    let error = run("trap '' TERM; while :; do sleep 0.05; done", &Cancel::after(Duration::from_millis(200)));
    assert!(matches!(error, Err(ProcessError::Stopped(_))));
}

#[test]
fn a_program_that_writes_without_end_is_ended() {
    assert!(matches!(run("yes", &Cancel::never()), Err(ProcessError::TooMuch { most: 1000, .. })));
    let ended = run("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done", &Cancel::never()).unwrap();
    assert!(ended.errors.ends_with(b"line 2999\n") && ended.errors.len() <= 2000);
}

#[test]
fn what_stays_in_the_background_is_not_waited_for() {
    let ended = run("sleep 30 & echo done", &Cancel::never()).unwrap();
    assert_eq!(ended.output, b"done\n");
}
