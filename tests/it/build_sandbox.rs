//! Scripts that want more than they may: where the kernel has Landlock and namespaces, each gets nowhere.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use review_runner::build::environment::{EnvironmentCall, tool_environment};
use review_runner::build::execute::execute;
use review_runner::sys::cancel::Cancel;
use review_runner::sys::process::{SandboxLevel, StopCause};

use crate::support::build::{Place, mark, processes, strictest, until};

#[test]
fn a_script_writes_and_reads_nowhere_else() {
    // Elsewhere it is refused, which is asserted there.
    if strictest() != SandboxLevel::Strict {
        return;
    }
    let place = Place::new();
    let sibling = place.folder.path().join("sibling");
    std::fs::write(sibling.join("secret"), "canary").unwrap();
    let (root, own) = (sibling.display(), std::process::id());
    let attempts = [
        format!("echo x > {root}/made"),
        format!(": > {root}/secret"),
        format!("cat {root}/secret"),
        format!("ls {root}"),
        format!("ln {root}/secret hard"),
        format!("mv {root}/secret ."),
        format!("rm {root}/secret"),
        format!("ln -s {root}/secret link; cat link"),
        format!("cat /proc/{own}/environ"),
        format!("readlink /proc/{own}/ns/net"),
        format!("kill -0 {own}"),
        "kill -STOP $PPID".to_owned(),
        "mknod disk b 8 0".to_owned(),
        "ls \"$HOME\"".to_owned(),
        "ls /root /home".to_owned(),
        "echo > /dev/tty".to_owned(),
        "mount -t tmpfs none .".to_owned(),
    ];
    let attempts = attempts.map(|attempt| format!("({attempt}) && echo 'escaped: {attempt}'; ")).concat();
    let script = format!(
        "{attempts} echo fine > inside; cat inside; cat < /dev/null > /dev/null; mkdir -p a/b && mv inside a/b/ && echo moved"
    );
    let run = place.run(&place.call(&script), &Cancel::never());
    assert_eq!(run.log.output(), "fine\nmoved\n", "{:#?}", run.log);
    let report = run.sandbox.unwrap();
    assert!(report.files && report.network, "{}", report.words);
    assert_eq!(std::fs::read_to_string(sibling.join("secret")).unwrap(), "canary");
    assert_eq!(std::fs::read_dir(&sibling).unwrap().count(), 1);
}

#[test]
fn a_script_reads_no_secret_from_its_environment() {
    // Elsewhere it is refused, which is asserted there.
    if strictest() != SandboxLevel::Strict {
        return;
    }
    let place = Place::new();
    let canaries = [("GITHUB_TOKEN", "canary"), ("UNKNOWN", "canary"), ("HTTPS_PROXY", "http://u:canary@h")];
    let own = std::env::vars_os().chain(canaries.map(|(name, value)| (name.into(), value.into())));
    let mut call = place.call("env; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' '\\n' < /proc/self/environ");
    call.environment = tool_environment(own, &EnvironmentCall::default());
    let run = place.run(&call, &Cancel::never());
    let output = run.log.output();
    assert!(output.contains("NO_COLOR=1") && !output.contains("canary"), "{output}");
}

#[test]
fn a_script_reaches_no_network_but_its_own() {
    // Elsewhere it is refused, which is asserted there.
    if strictest() != SandboxLevel::Strict {
        return;
    }
    let place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let script = format!(
        "use IO::Socket::INET; my $t = IO::Socket::INET->new(PeerAddr => '127.0.0.1:{}'); print \"escaped\\n\" if $t; \
         my $u = IO::Socket::INET->new(PeerAddr => '127.0.0.1:{}', Proto => 'udp'); print $u 'x' if $u; \
         my $l = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die; \
         my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1:' . $l->sockport) or die; print \"loopback\\n\"",
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port()
    );
    let mut call = place.call("");
    call.argv = vec!["/usr/bin/perl".to_owned(), "-e".to_owned(), script];
    let run = place.run(&call, &Cancel::never());
    assert_eq!(run.log.output(), "loopback\n", "{:#?}", run.log);
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    call.sandbox.network = true;
    let run = place.run(&call, &Cancel::never());
    assert_eq!(run.log.output(), "escaped\nloopback\n", "{:#?}", run.log);
    assert!(tcp.accept().is_ok() && udp.recv(&mut [0; 8]).is_ok());
    assert!(run.sandbox.unwrap().words.contains("the network is allowed"));
}

#[test]
fn a_fork_bomb_is_ended() {
    let place = Place::new();
    let mark = mark();
    // Bounded, should the test fail.
    let script = format!("for (1 .. 400) {{ my $p = fork // last; exec 'sleep', '{mark}' unless $p }} sleep 100");
    let mut call = place.call("");
    call.argv = vec!["/usr/bin/perl".to_owned(), "-e".to_owned(), script];
    call.sandbox.processes = 100;
    call.timeout = Duration::from_mins(1);
    let run = place.run(&call, &Cancel::never());
    let exit = run.exit.unwrap();
    assert_eq!(exit.stopped, Some(StopCause::TooManyProcesses), "{exit:?} {:#?}", run.log);
    assert!(run.notes[0].contains("100 processes"), "{:?}", run.notes);
    assert_eq!(processes(&mark), [""; 0]);
}

#[test]
fn what_changes_its_process_all_the_time_is_ended() {
    for level in [strictest(), SandboxLevel::Off] {
        let place = Place::new();
        let mark = mark();
        // Each lives for a moment only, in a session of its own; bounded, should the test fail.
        let script = format!(
            "use POSIX; $| = 1; $SIG{{TERM}} = 'IGNORE'; print \"ready\\n\"; my $end = time + 60; $0 = '{mark}'; \
             if (fork) {{ sleep 60 }} while (time < $end) {{ exit if fork // last; POSIX::setsid() }}"
        );
        let mut call = place.call("");
        call.argv = vec!["/usr/bin/perl".to_owned(), "-e".to_owned(), script];
        call.sandbox.level = level;
        let cancel = Cancel::never();
        let mut seen = HashSet::new();
        let run = execute(&call, &place.runs, &cancel, &mut |_, _| {
            until("it changes", || {
                seen.extend(processes(&mark));
                seen.len() > 20
            });
            cancel.interrupt();
        });
        let run = run.unwrap();
        assert_eq!(run.exit.unwrap().stopped, Some(StopCause::Cancelled));
        assert_eq!(
            (run.notes.as_slice(), processes(&mark).len()),
            (&["it was cancelled".to_owned()][..], 0),
            "{level:?}"
        );
    }
}

#[test]
fn what_asks_nobody_where_temporary_files_go_has_them_to_itself() {
    // Elsewhere it is refused, which is asserted there.
    if strictest() != SandboxLevel::Strict {
        return;
    }
    let outside = tempfile::NamedTempFile::with_prefix_in("build-test-outside", "/tmp").unwrap();
    for parent in [env!("CARGO_TARGET_TMPDIR"), "/tmp"] {
        let place = Place::within(tempfile::tempdir_in(parent).unwrap());
        let name = format!("build-test-{}", mark());
        let script = format!("echo x > /tmp/{name}; ls /tmp; echo $TMPDIR; git init -q . && git status --short");
        let run = place.run(&place.call(&script), &Cancel::never());
        // What is granted stays, also below /tmp.
        let granted = place.folder.path().strip_prefix("/tmp").ok().and_then(|path| path.iter().next()?.to_str());
        let (output, granted) = (run.log.output(), granted.unwrap_or_default());
        let seen: Vec<&str> = output.lines().filter(|line| *line != granted).collect();
        assert_eq!(seen, [name.as_str(), "/tmp"], "{:#?}", run.log);
        assert!(outside.path().exists() && !std::path::Path::new("/tmp").join(name).exists());
    }
}

#[test]
fn a_sandbox_that_is_off_says_so_and_limits_nothing() {
    let place = Place::new();
    let made = place.folder.path().join("sibling/made");
    let mut call = place.call(&format!("echo x > {}", made.display()));
    call.sandbox.level = SandboxLevel::Off;
    let run = place.run(&call, &Cancel::never());
    let report = run.sandbox.unwrap();
    assert!(!report.files && !report.network && report.words.contains("off") && made.exists());
}
