//! What goes where: data on standard output, everything else on standard error; colours, width, pipes.

use std::process::Stdio;

use crate::support::{Program, Ran, TestRepo};

/// A branch with a finding.
fn branch() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    let long = "a very long word of a comment that goes on and on ".repeat(6);
    let text = format!("# {long}\ndef add(item, items=[], name='{long}'):\n    return items\n");
    repo.branch("feature").write("src/a_file_with_quite_a_long_name_in_a_folder.py", text).commit("add a file");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

#[test]
fn data_and_notices_never_mix() {
    let (_repo, program) = branch();
    for format in ["terminal", "markdown", "json"] {
        let ran = program.words(&format!("--format {format} --previous none")).ended(0);
        assert!(ran.stderr.contains("no --target given: using main"), "{}", ran.stderr);
        let is_notice = |line: &str| line.starts_with("review: ") || line.starts_with("Rules only. ");
        assert!(ran.stderr.lines().all(is_notice), "{}", ran.stderr);
        assert!(!ran.text().contains("no --target given") && !ran.text().contains("collecting"), "{}", ran.text());
        assert!(ran.text().contains("shared") || ran.text().contains("share"), "{}", ran.text());
        let quiet = program.words(&format!("--format {format} --previous none --quiet")).ended(0);
        assert_eq!(quiet.stderr, "");
        assert_eq!(quiet.text().lines().count(), ran.text().lines().count());
    }
}

#[test]
fn quiet_does_not_silence_errors() {
    let (_repo, program) = branch();
    let ran = program.words("--target nowhere --quiet").ended(2);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    let ran = program.words("--target main --quiet --output json=no/such/folder/x").ended(5);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
}

#[test]
fn an_output_file_holds_what_the_format_prints() {
    let (_repo, program) = branch();
    let file = program.home("review.json");
    let ran = program.words(&format!("--target main --format json --output json={}", file.display())).ended(0);
    assert_eq!(std::fs::read(&file).expect("the file"), ran.stdout);
    let md = program.home("review.md");
    let line = format!("--target main --output json={} --output markdown={}", file.display(), md.display());
    program.words(&line).ended(0);
    assert!(std::fs::read_to_string(md).expect("the file").starts_with("# Code review"));
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let (_repo, program) = branch();
    for line in ["--target main", "--target main --format json", "config", "list", "completions bash"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = program
            .command(line.split_whitespace())
            .stdout(Stdio::from(writer))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let ran = Ran::wait(child).ended(0);
        assert!(!ran.stderr.contains("error"), "{line}: {}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_the_output_ends_with_5() {
    let (_repo, program) = branch();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
    let child = program.command(["--target", "main"]).stdout(Stdio::from(full)).spawn().expect("the program starts");
    let ran = Ran::wait(child).ended(5);
    assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
    for line in ["--help", "--version", "list", "config"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        let child = program.command([line]).stdout(Stdio::from(full)).spawn().expect("the program starts");
        Ran::wait(child).ended(5);
    }
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let (repo, program) = branch();
    let coloured = |ran: Ran| ran.ended(0).text().contains('\x1b');
    assert!(!coloured(program.words("--target main")), "a pipe is no terminal");
    assert!(coloured(program.words("--target main --colour always")));
    assert!(coloured(program.words("--target main --color always")));
    assert!(!coloured(program.words("--target main --colour never")));
    assert!(!coloured(program.words("--target main --colour always --format json")));
    assert!(!coloured(program.words("--target main --colour always --format markdown")));

    let refusing = Program::in_folder(repo.root()).with("NO_COLOR", "1");
    assert!(!coloured(refusing.words("--target main")));
    assert!(coloured(refusing.words("--target main --colour always")), "a flag is stronger than the environment");
    let set = Program::in_folder(repo.root()).with("REVIEW_COLOUR", "always");
    assert!(coloured(set.words("--target main")));
    assert!(!coloured(set.words("--target main --colour never")));
}

#[test]
fn without_a_terminal_text_has_80_columns_and_code_is_not_cut() {
    let (_repo, program) = branch();
    let ran = program.words("--target main").ended(0);
    let is_whole = |line: &&str| line.contains(".py:") || line.contains(" │ ");
    let (whole, text): (Vec<&str>, Vec<&str>) = ran.text().lines().partition(is_whole);
    let widest = |lines: &[&str]| lines.iter().map(|line| unicode_width::UnicodeWidthStr::width(*line)).max();
    assert!(widest(&text) <= Some(80), "{}", ran.text());
    assert!(widest(&whole) > Some(300) && !whole.iter().any(|line| line.contains('…')), "{}", ran.text());
}
