//! Tests that every parser passes. Tests of what one parser reads belong beside it.

use super::super::log::Log;
use super::PARSERS;
use super::machine::testing::fixtures;

/// The size from which a fixture is cut at every thirteenth byte only.
const LARGE: usize = 1024;
/// The steps at which the parsers of other formats read it too: they skip most of it, and all together take long.
const OTHERS: usize = 101;

#[test]
fn fixtures_cut_anywhere_are_read_without_a_panic_or_a_blank_message() {
    let mut cuts = 0;
    for folder in std::fs::read_dir(fixtures()).expect("the fixtures").flatten().filter(|entry| entry.path().is_dir()) {
        let own = folder.file_name();
        for file in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
            let (bytes, path) = (std::fs::read(file.path()).expect("a fixture"), file.path());
            // Texts are cut everywhere by the test of damaged logs.
            let is_text = path.extension().is_some_and(|extension| extension == "txt");
            let steps = if is_text {
                OTHERS
            } else if bytes.len() > LARGE {
                13
            } else {
                1
            };
            for end in (0..=bytes.len()).step_by(steps) {
                let log = Log::of_output(&bytes[..end]);
                for (name, parse) in PARSERS.iter().filter(|(name, _)| own == *name || end % OTHERS == 0) {
                    let parsed = parse(&log);
                    let is_blank = parsed.diagnostics.iter().any(|found| found.message.trim().is_empty());
                    assert!(!is_blank, "{name} on {} cut at {end}", path.display());
                    let is_same = end % OTHERS != 0 || parsed == parse(&log);
                    assert!(is_same, "{name} on {} cut at {end} differs when read again", path.display());
                    cuts += 1;
                }
            }
        }
    }
    assert!(cuts > 1000, "only {cuts} cuts");
}

#[test]
fn names_are_unique_and_have_a_success_and_a_failure() {
    for (index, (name, _)) in PARSERS.iter().enumerate() {
        assert!(PARSERS.iter().skip(index + 1).all(|(other, _)| other != name), "{name}");
        let files = std::fs::read_dir(fixtures().join(name)).map_or(0, Iterator::count);
        assert!(files >= 2, "{name} has {files} fixtures");
    }
}
