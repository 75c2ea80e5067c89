//! Measures the model loop with an instant model: what a review costs besides the model. Beside it, in turn, the nearest peer.
//!
//! ```text
//! cargo bench --profile dist --bench loop -- [--files N,N,…] [--script cover|look] [--peer OCR] [--only review|peer] [--runs N] [--window TOKENS]
//! ```
//!
//! The model is a server in this process that answers at once. In the script `cover` it reads the diffs it was not shown, ten a turn, and
//! finds nothing; in `look` it takes twenty turns of three calls and finds nothing. The peer's model makes the same number of calls, three
//! in each of its conversations until they are used up, and groups the peer's files as it is told to: by folder, ten at most.
//!
//! Requests, bytes and lines are counted where they arrive, so neither program's own word is taken for it. A token is four bytes of a
//! request. *New* are those that no earlier request began with, in blocks of a kilobyte: what a provider with a prompt cache bills in full.
//! CPU (user + system) and memory are those of the whole program with its children. Nothing is asserted about time.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod model;
mod repository;
mod runs;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;

use model::{Model, Script};
use repository::Repository;
use runs::{Ours, Peer, Run};

/// What was asked for.
struct Asked {
    files: Vec<usize>,
    scripts: Vec<Script>,
    peer: Option<PathBuf>,
    review: PathBuf,
    only: Option<String>,
    runs: usize,
    window: u64,
}

fn main() -> ExitCode {
    // `cargo bench` adds `--bench` to what it was given.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    match Asked::parse(words).and_then(|asked| measure(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("loop: {why}");
            ExitCode::from(2)
        }
    }
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self {
            files: vec![30, 300, 1000],
            scripts: vec![Script::Cover, Script::Look],
            peer: None,
            review: PathBuf::from(env!("CARGO_BIN_EXE_review")),
            only: None,
            runs: 3,
            window: 200_000,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{word} {text}: {error}"));
            match word.as_str() {
                "--files" => asked.files = value()?.split(',').map(number).collect::<Result<_, _>>()?,
                "--script" => asked.scripts = vec![Script::named(&value()?).ok_or("--script takes cover or look")?],
                "--peer" => asked.peer = Some(PathBuf::from(value()?)),
                "--only" => asked.only = Some(value()?),
                "--review" => asked.review = PathBuf::from(value()?),
                "--runs" => asked.runs = number(&value()?)?.max(1),
                "--window" => asked.window = number(&value()?)? as u64,
                other => return Err(format!("unknown word {other}")),
            }
        }
        Ok(asked)
    }
}

fn measure(asked: &Asked) -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let model = Model::start()?;
    println!("medians of {}; window {} tokens; input and new in thousands of tokens\n", asked.runs, asked.window);
    println!(
        "{:<22} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8} {:>11} {:>11} {:>9} {:>9}",
        "", "cpu s", "wall s", "peak MiB", "requests", "input", "new", "files", "lines", "tok/line", "new/line"
    );
    let ours = Ours::prepare(&asked.review, &scratch.path().join("ours"), &model, asked.window)?;
    let peer =
        asked.peer.as_deref().map(|path| Peer::prepare(path, &scratch.path().join("peer"), &model)).transpose()?;
    for files in &asked.files {
        let repository = Repository::make(&scratch.path().join(format!("files-{files}")), *files)?;
        for script in &asked.scripts {
            println!("{files} files, {} added lines, script {}", repository.markers(), script.name());
            let (mut own, mut other) = (Vec::new(), Vec::new());
            for _ in 0..asked.runs {
                if asked.only.as_deref() != Some("peer") {
                    own.push(ours.run(&model, &repository, *script)?);
                }
                if let Some(peer) = &peer
                    && asked.only.as_deref() != Some("review")
                {
                    other.push(peer.run(&model, &repository, *script)?);
                }
            }
            let (own, other) = (Run::median(own), Run::median(other));
            for (name, run) in [("  review", &own), ("  peer", &other)] {
                if let Some(run) = run {
                    println!("{}", run.row(name));
                }
            }
            if let (Some(own), Some(other)) = (own, other) {
                println!("{}", own.ratios("  review / peer", &other));
            }
        }
    }
    Ok(())
}
