//! Tests of effects that no settings, no server and no name can have.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;

#[test]
fn nothing_that_any_settings_name_is_run() {
    let world = FetchFixture::new();
    let (pull, met) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let canary = world.canary();
    let canary = canary.display();
    let evil = format!(
        "[core]\n\tfsmonitor = {canary}\n\thooksPath = {hooks}\n\tsshCommand = {canary}\n\taskPass = {canary}\n\tgitProxy = {canary}\n\
         \talternateRefsCommand = {canary}\n[credential]\n\thelper = {canary}\n[url \"ext::{canary} \"]\n\tinsteadOf = file://\n\
         [protocol]\n\tallow = always\n[remote \"origin\"]\n\tuploadpack = {canary}\n[uploadpack]\n\tpackObjectsHook = {canary}\n\
         [gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n[alias]\n\tfetch = !{canary}\n",
        hooks = world.at("hooks").display()
    );
    std::fs::create_dir(world.at("hooks")).unwrap();
    for hook in ["reference-transaction", "post-checkout", "pre-auto-gc", "post-merge", "proc-receive"] {
        for folder in ["hooks", "clone/.git/hooks"] {
            std::fs::copy(world.at("canary"), world.at(folder).join(hook)).unwrap();
        }
    }
    let mut config = std::fs::read_to_string(world.at("clone/.git/config")).unwrap();
    config.push_str(&evil);
    std::fs::write(world.at("clone/.git/config"), config).unwrap();
    std::fs::write(world.at("home/.gitconfig"), &evil).unwrap();
    for job in [world.here("clone"), world.job(RepositoryPlace::Mirror)] {
        assert_eq!(merge_base(&run(&job, &pull).unwrap()), met);
    }
    assert!(!world.at("sung").exists(), "a program was run that a setting names");
    // That it would have been heard.
    let ended = Program::find("canary", &Environment::default().with("PATH", world.at(""))).unwrap();
    let call = ProcessCall {
        arguments: Vec::new(),
        environment: Environment::of_this_process(),
        directory: world.at(""),
        most: 99,
    };
    ended.run(&call, &Cancel::never()).unwrap();
    assert!(world.at("sung").exists());
}

/// A server that hands every head of a request to `told` and answers with `answer`; nothing where that is empty.
fn server(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let _ = tell.send(String::from_utf8_lossy(&head).into_owned());
            let _ = stream.write_all(answer.as_bytes());
            if answer.is_empty() {
                open.push(stream);
            }
        }
    });
    (address, told)
}

#[test]
fn the_token_goes_to_the_server_and_stands_in_no_command_line() {
    const REFUSED: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let world = FetchFixture::new();
    let (pull, _) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let real = Program::find("git", &Environment::of_this_process()).unwrap();
    let (bin, record) = (world.at("bin"), world.at("record"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; env; }} >> '{}'\nexec '{}' \"$@\"\n",
        record.display(),
        real.path().display()
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());

    let (address, told) = server(REFUSED);
    let mut job = world.here("clone");
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    job.authorization = Some(Secret::new("basic Y2FuYXJ5LXRva2Vu"));
    job.environment = job.environment.clone().with("PATH", path).without("http_proxy").without("HTTP_PROXY");
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_mins(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Access { with_login: true, .. }), "{fault}");
    assert!(!fault.to_string().contains("Y2FuYXJ5"), "{fault}");
    let head = told.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(head.to_lowercase().contains("\r\nauthorization: basic y2fuyxj5lxrva2vu\r\n"), "{head}");
    let record = std::fs::read_to_string(record).unwrap();
    assert!(record.contains("fetch --quiet"), "{record}");
    assert!(!record.contains("Y2FuYXJ5") && !record.contains("GITHUB_TOKEN"), "{record}");
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, told) = server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let answer = format!(
        "HTTP/1.1 302 Found\r\nLocation: {elsewhere}/o/r.git/info/refs\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let (address, _told) = server(answer.leak());
    let world = FetchFixture::new();
    let (pull, _) = world.pull(4, 1);
    let mut job = world.job(RepositoryPlace::Mirror);
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    job.authorization = Some(Secret::new("basic Y2FuYXJ5LXRva2Vu"));
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_mins(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Moved { .. }), "{fault}");
    assert!(told.try_recv().is_err());
}

#[test]
fn a_server_that_does_not_answer_is_left_at_the_deadline() {
    let (address, _told) = server("");
    let world = FetchFixture::new();
    let (pull, _) = world.pull(4, 1);
    let mut job = world.job(RepositoryPlace::Mirror);
    job.server.clone_from(&address);
    job.address = format!("{address}/o/r.git");
    let fault = fetch(&job, &pull, &Cancel::after(Duration::from_secs(1))).unwrap_err();
    assert!(matches!(fault, FetchError::Process(crate::sys::process::ProcessError::Stopped(_))), "{fault}");
}

#[test]
fn addresses_that_would_leak_are_refused() {
    for address in [
        "http://forge.invalid/o/r.git",
        "https://me:secret@forge.invalid/o/r.git",
        "ext::x",
        "file:///o/r",
        "ssh://h/o/r",
    ] {
        let fault = Transport::of(address).unwrap_err().to_string();
        assert!(!fault.contains("secret"), "{fault}");
    }
    for (address, transport) in [
        ("https://forge.invalid/o/r.git", Transport::Https),
        ("http://127.0.0.1:80/o/r.git", Transport::Http),
        ("http://localhost:8080/o/r.git", Transport::Http),
        ("http://[::1]:8080/o/r.git", Transport::Http),
    ] {
        assert_eq!(Transport::of(address).unwrap(), transport, "{address}");
    }
}

#[test]
fn only_how_the_network_is_reached_is_taken_from_the_users_settings() {
    let world = FetchFixture::new();
    let text = "[http]\n\tproxy = http://p:1\n\tsslVerify = false\n\textraHeader = X: y\n\tsslCAInfo = ~/ca.pem\n\
                [http \"https://forge.invalid\"]\n\tproxy = \"\"\n[url \"https://evil.invalid/\"]\n\tinsteadOf = https://forge.invalid/\n";
    std::fs::write(world.at("home/.gitconfig"), text).unwrap();
    let git = Program::find("git", &Environment::of_this_process()).unwrap();
    let found = settings::network(&git, &environment(&world.at("home")), &world.at(""), &Cancel::never()).unwrap();
    let ca = world.at("home/ca.pem").display().to_string();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let wanted =
        [pair("http.proxy", "http://p:1"), pair("http.sslcainfo", &ca), pair("http.https://forge.invalid.proxy", "")];
    assert_eq!(found, wanted);
    // And git reads them back as they were.
    let written = settings::text("https", "https://forge.invalid", None, &found);
    std::fs::write(world.at("written"), written).unwrap();
    let read = world.git("", &["config", "-f", "written", "--get-regexp", "^http\\..*(proxy|sslcainfo)$"]);
    assert_eq!(read, format!("http.proxy http://p:1\nhttp.sslcainfo {ca}\nhttp.https://forge.invalid.proxy"));
}
