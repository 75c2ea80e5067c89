//! What a review by the rules alone costs: two changes of 1 000 files, and one of 100 lines, of a repository of 5 000 files in eight languages. Of
//! the two, one writes two fifths of every file anew, and one a function of each.
//!
//! ```text
//! cargo bench --bench rules -- [--runs N] [--files N] [--changed N] [--keep FOLDER]
//! ```
//!
//! Prints CPU (user + system), wall time and peak memory of the whole program, start included, medians of N runs (5). The repository is
//! made anew each time, the same each time. Goals: under 3 s of CPU for the large change, under 0.3 s for the small one; what was measured is
//! in docs/performance.md.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![allow(clippy::disallowed_methods, reason = "it runs the program and git")]

mod repository;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

fn main() -> ExitCode {
    // `cargo bench` adds `--bench` to what it was given.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match measure(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("rules: {why}");
            ExitCode::from(2)
        }
    }
}

fn measure(words: &[String]) -> Result<(), String> {
    let (mut runs, mut files, mut changed, mut keep) = (5, 5000, 1000, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok()).ok_or(format!("{word} takes a number"));
        match word.as_str() {
            "--runs" => runs = number()?,
            "--files" => files = number()?,
            "--changed" => changed = number()?,
            "--keep" => keep = words.next().cloned(),
            _ => return Err(format!("what is {word}?")),
        }
    }
    let made = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = keep.as_ref().map_or(made.path(), Path::new);
    repository::make(folder, files, changed)?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("{files} files; medians of {runs}");
    println!("{:<28} {:>9} {:>9} {:>9}   findings", "change", "cpu", "wall", "peak");
    let (many, spread) = (format!("{changed} files rebuilt"), format!("{changed} files edited"));
    let ranges = [
        (many.as_str(), "base..many"),
        (spread.as_str(), "base..spread"),
        ("100 lines", "base..few"),
        ("nothing", "base..base"),
    ];
    for (name, range) in ranges {
        let mut costs: Vec<Cost> =
            (0..runs.max(1)).map(|_| review(folder, home.path(), range)).collect::<Result<_, _>>()?;
        costs.sort_by_key(|cost| cost.cpu);
        let Some(middle) = costs.get(costs.len() / 2) else { continue };
        let (cpu, wall) = (middle.cpu.as_secs_f64(), middle.wall.as_secs_f64());
        println!("{name:<28} {cpu:>7.3} s {wall:>7.3} s {:>5} MiB   {}", middle.peak >> 20, middle.findings);
    }
    Ok(())
}

struct Cost {
    cpu: Duration,
    wall: Duration,
    /// In bytes.
    peak: u64,
    findings: usize,
}

fn review(repository: &Path, home: &Path, range: &str) -> Result<Cost, String> {
    let begun = Instant::now();
    let output = home.join("review.json");
    let child = Command::new(env!("CARGO_BIN_EXE_review"))
        .arg("-C")
        .arg(repository)
        .args(["--range", range, "--no-model", "--quiet", "--format", "json"])
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&output).map_err(|error| error.to_string())?)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let used = child.wait4().map_err(|error| error.to_string())?;
    let wall = begun.elapsed();
    let text = std::fs::read_to_string(&output).map_err(|error| error.to_string())?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("{range}: {error}"))?;
    let findings = json["findings"].as_array().map_or(0, Vec::len);
    Ok(Cost { cpu: used.rusage.utime + used.rusage.stime, wall, peak: used.rusage.maxrss, findings })
}
