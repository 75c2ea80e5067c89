//! Entries that are read, refused and written.

use proptest::prelude::*;

use super::*;

const ONE: &str = "\
# ours
[[dismissed]]
id = \"0123456789ab\"
fingerprint = \"0123456789abcdef0123456789abcdef\"
path = \"src/a.rs\"
title = \"A defect\"
reason = \"it is meant so\"
until = 2027-01-31
";

fn read(text: &str) -> Result<Vec<Dismissal>, String> {
    parse("dismissed.toml", text.as_bytes()).map_err(|error| error.to_string())
}

fn one() -> Dismissal {
    read(ONE).unwrap().remove(0)
}

fn other(id: &str, path: &str) -> Dismissal {
    Dismissal {
        id: FindingId(id.to_owned()),
        fingerprint: FindingFingerprint(format!("{}00000000000000000000", &id[..12])),
        path: RepoPath::parse(path).unwrap(),
        ..one()
    }
}

#[test]
fn an_entry_is_read_with_all_it_says() {
    let one = one();
    assert_eq!((one.id.0.as_str(), one.path.to_string().as_str()), ("0123456789ab", "src/a.rs"));
    assert_eq!((one.title.as_str(), one.reason.as_str()), ("A defect", "it is meant so"));
    assert_eq!(one.until, "2027-01-31".parse().ok());
    assert!(one.glob.is_none() && one.on.is_none());
    let day = |text: &str| text.parse::<Day>().unwrap();
    assert!(!one.has_lapsed(day("2027-01-31")) && one.has_lapsed(day("2027-02-01")));
    let text = ONE.replace("2027-01-31", "'2027-01-31'") + "glob = 'src/**'\non = '2026-11-21'\n";
    let more = read(&text).unwrap().remove(0);
    assert!(more.glob.unwrap().filter.allows(&RepoPath::parse("src/x/b.rs").unwrap()));
    assert_eq!((more.until, more.on), (Some(day("2027-01-31")), Some(day("2026-11-21"))));
    assert!(read("").unwrap().is_empty());
    assert!(read("dismissed = []\n").unwrap().is_empty());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (from, to, told) in [
        ("id = \"0123456789ab\"\n", "", ":2: missing field `id`"),
        ("id = \"0123456789ab\"", "id = \"x\"", ":3: \"x\" is no id"),
        ("0123456789abcdef0123456789abcdef", "0123", ":4: \"0123\" is no fingerprint"),
        ("\"src/a.rs\"", "\"../a.rs\"", ":5: path: "),
        ("\"src/a.rs\"", "\"/etc/passwd\"", ":5: path: "),
        ("it is meant so", " ", ":7: the reason must have"),
        ("it is meant so", &"so ".repeat(200), ":7: the reason must have"),
        ("2027-01-31", "2027-02-31", ":8: "),
        ("2027-01-31", "'soon'", ":8: until: \"soon\" is no day"),
        ("2027-01-31", "7", ":8: until: \"7\" is no day"),
        ("until", "untill", ":8: unknown field `untill`"),
        ("until = 2027-01-31", "glob = '['", ":8: glob: "),
        ("until = 2027-01-31", "= 1", ":8: not valid TOML"),
        ("# ours", "other = 1", ":1: unknown field `other`"),
        ("[[dismissed]]", "[dismissed]", ":2: "),
    ] {
        assert!(ONE.contains(from), "{from}");
        let said = read(&ONE.replace(from, to)).unwrap_err();
        assert!(said.starts_with(&format!("dismissed.toml{told}")), "{from:?} -> {to:?}: {said}");
        assert!(!said.contains(['\n', '\x1b']), "{said}");
    }
    let said = read(&format!("{ONE}{}", ONE.replace("it is", "as"))).unwrap_err();
    assert!(said.contains(":10: the same finding is dismissed on line 2"), "{said}");
    assert!(parse("f", &vec![b'#'; MAX_DISMISSED + 1]).is_err());
    assert!(parse("f", b"\xff\xfe").is_err());
}

#[test]
fn a_new_file_says_what_it_is_for() {
    let edited = set_entry("", &one()).unwrap();
    assert!(!edited.replaced);
    insta::assert_snapshot!(edited.text, @r#"
    # Findings that this project decided not to hear again, one entry for each, sorted by path. `review dismiss` writes them.
    # They hold for reviews of changes into the branch that has this file; a change cannot dismiss its own findings.

    [[dismissed]]
    id = "0123456789ab"
    fingerprint = "0123456789abcdef0123456789abcdef"
    path = "src/a.rs"
    title = "A defect"
    reason = "it is meant so"
    until = "2027-01-31"
    "#);
    assert_eq!(read(&edited.text).unwrap().len(), 1);
}

#[test]
fn entries_come_in_order_and_what_was_there_stays() {
    let first = set_entry("", &one()).unwrap().text;
    let after = set_entry(&first, &other("ffffffffffff", "src/b.rs")).unwrap().text;
    let commented = after.replace("[[dismissed]]\nid = \"ff", "# asked in the meeting\n[[dismissed]]\nid = \"ff");
    let all = set_entry(&commented, &other("aaaaaaaaaaaa-2", "lib/z.rs")).unwrap().text;
    let all = set_entry(&all, &other("bbbbbbbbbbbb", "src/a.rs")).unwrap().text;
    insta::assert_snapshot!(all, @r#"
    # Findings that this project decided not to hear again, one entry for each, sorted by path. `review dismiss` writes them.
    # They hold for reviews of changes into the branch that has this file; a change cannot dismiss its own findings.

    [[dismissed]]
    id = "aaaaaaaaaaaa-2"
    fingerprint = "aaaaaaaaaaaa00000000000000000000"
    path = "lib/z.rs"
    title = "A defect"
    reason = "it is meant so"
    until = "2027-01-31"

    [[dismissed]]
    id = "0123456789ab"
    fingerprint = "0123456789abcdef0123456789abcdef"
    path = "src/a.rs"
    title = "A defect"
    reason = "it is meant so"
    until = "2027-01-31"

    [[dismissed]]
    id = "bbbbbbbbbbbb"
    fingerprint = "bbbbbbbbbbbb00000000000000000000"
    path = "src/a.rs"
    title = "A defect"
    reason = "it is meant so"
    until = "2027-01-31"

    # asked in the meeting
    [[dismissed]]
    id = "ffffffffffff"
    fingerprint = "ffffffffffff00000000000000000000"
    path = "src/b.rs"
    title = "A defect"
    reason = "it is meant so"
    until = "2027-01-31"
    "#);
    let paths: Vec<String> = read(&all).unwrap().iter().map(|one| one.path.to_string()).collect();
    assert_eq!(paths, ["lib/z.rs", "src/a.rs", "src/a.rs", "src/b.rs"]);
}

#[test]
fn a_finding_has_one_entry() {
    let before = ONE.replace("meant so\"", "meant so\" # really");
    let again = Dismissal { reason: "still so".to_owned(), until: None, on: "2026-11-21".parse().ok(), ..one() };
    let edited = set_entry(&before, &again).unwrap();
    assert!(edited.replaced);
    let wanted = before.replace("it is meant so", "still so").replace("until = 2027-01-31\n", "on = \"2026-11-21\"\n");
    assert_eq!(edited.text, wanted);
    assert_eq!(set_entry(&edited.text, &again).unwrap().text, edited.text, "it is stable");
    // A twin of the same file, and the same in another file, are others.
    for twin in [other("0123456789ab-2", "src/a.rs"), other("0123456789ab", "src/c.rs")] {
        assert!(!set_entry(&before, &twin).unwrap().replaced);
    }
}

#[test]
fn what_cannot_be_edited_is_left() {
    assert!(matches!(set_entry("dismissed = [{id = 'x'}]\n", &one()), Err(EditFault::NotTables)));
    assert!(matches!(set_entry("{", &one()), Err(EditFault::NotToml(_))));
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back(
        reason in "\\PC{1,40}", title in "\\PC{0,20}",
        path in "[a-zé\\[\\]*\"'#]{1,8}(/[a-z \\\\]{1,8}x){0,2}",
        glob in proptest::option::of("[a-z*]{1,6}")
    ) {
        prop_assume!(super::reason(&reason).as_deref() == Some(reason.as_str()));
        let Ok(path) = RepoPath::from_bytes(path.as_bytes()) else { return Ok(()) };
        let glob = glob.map(|pattern| super::glob(&pattern).unwrap());
        let written = Dismissal { reason, title: strip_line(&title), path, glob, ..one() };
        let text = set_entry(ONE, &written).unwrap().text;
        let text = set_entry(&text, &written).unwrap().text;
        let all = read(&text).unwrap();
        let found = all.iter().find(|one| one.path == written.path).unwrap();
        prop_assert_eq!(&found.reason, &written.reason);
        prop_assert_eq!(&found.title, &written.title);
        prop_assert_eq!(found.glob.as_ref().map(|glob| &glob.pattern), written.glob.as_ref().map(|glob| &glob.pattern));
        prop_assert_eq!(found.until, written.until);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,80}") {
        let _ = parse("f", &bytes);
        let _ = parse("f", text.as_bytes());
        let _ = parse("f", format!("{ONE}{text}").as_bytes());
    }
}

#[test]
fn how_bad_it_was_is_kept_where_it_is_said() {
    let worse = Dismissal { severity: Some(Severity::High), ..one() };
    let text = set_entry("", &worse).unwrap().text;
    assert!(text.contains("severity = \"high\""), "{text}");
    assert_eq!(read(&text).unwrap()[0].severity, Some(Severity::High));
    assert_eq!(one().severity, None);
    assert!(read(&text.replace("\"high\"", "\"bad\"")).is_err());
}
