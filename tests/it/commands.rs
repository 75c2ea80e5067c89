//! The command line as data: each file of `tests/cmd` is one call and what it prints.
//!
//! Every case runs in a copy of its folder, which is its home as well, with an empty environment. After a change that is meant:
//! `TRYCMD=overwrite cargo test --test it commands`, then put `[..]` back where ids and times stand.

use std::path::Path;

#[test]
fn every_command_prints_what_its_file_says() {
    let cases = trycmd::TestCases::new();
    cases.default_bin_path(Path::new(env!("CARGO_BIN_EXE_review")));
    cases.insert_var("[VERSION]", env!("CARGO_PKG_VERSION")).expect("a variable");
    cases.case("tests/cmd/*.toml");
    cases.run();
}
