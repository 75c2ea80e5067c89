//! Measures the MCP server over standard input and output: what reading and searching cost besides the client.
//!
//! ```text
//! cargo bench --profile dist --bench mcp -- [--files N] [--reads N] [--searches N] [--review PROGRAM] [--repository DIR]
//! ```
//!
//! One client asks one thing after the other; each answer is read whole before the next question. CPU (user + system) and memory are the
//! server's own, from `/proc` between the parts and from `wait4` for the whole; `anon` is without the pages of mapped packs. Without
//! `--repository`, one is made with two files for each of `--files`, half of them changed. Nothing is asserted about time.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod client;
#[path = "../loop/repository.rs"]
#[allow(dead_code, reason = "the other benchmark counts markers")]
mod repository;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::Client;
use repository::Repository;
use serde_json::{Value, json};

/// What was asked for.
struct Asked {
    files: usize,
    reads: usize,
    searches: usize,
    review: PathBuf,
    repository: Option<PathBuf>,
}

fn main() -> ExitCode {
    // `cargo bench` adds `--bench` to what it was given.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    match Asked::parse(words).and_then(|asked| measure(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("mcp: {why}");
            ExitCode::from(2)
        }
    }
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let review = PathBuf::from(env!("CARGO_BIN_EXE_review"));
        let mut asked = Self { files: 300, reads: 1000, searches: 200, review, repository: None };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{word} {text}: {error}"));
            match word.as_str() {
                "--files" => asked.files = number(&value()?)?.max(1),
                "--reads" => asked.reads = number(&value()?)?,
                "--searches" => asked.searches = number(&value()?)?,
                "--review" => asked.review = PathBuf::from(value()?),
                "--repository" => asked.repository = Some(PathBuf::from(value()?)),
                other => return Err(format!("unknown word {other}")),
            }
        }
        Ok(asked)
    }
}

fn measure(asked: &Asked) -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let made = match asked.repository {
        Some(_) => None,
        None => Some(Repository::make(&scratch.path().join("repository"), asked.files)?),
    };
    let folder = made.as_ref().map(|made| made.folder.clone()).or(asked.repository.clone()).unwrap_or_default();
    let mut client = Client::start(&asked.review, &folder, scratch.path())?;
    let paths = text_files(&mut client)?;
    println!("{} files; cpu and memory of the server alone\n", paths.len());
    println!(
        "{:<26} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "", "cpu s", "wall s", "p50 ms", "p95 ms", "RSS MiB", "anon MiB"
    );
    client.end()?;

    // A server that was asked nothing yet.
    let mut client = Client::start(&asked.review, &folder, scratch.path())?;
    std::thread::sleep(Duration::from_millis(300));
    row(&client, "idle, just started", Duration::ZERO, Duration::ZERO, &mut [])?;
    let read = |n: usize| {
        let first = 1 + n % 7 * 10;
        json!({ "file_path": paths[n * 31 % paths.len()], "start_line": first.min(5), "end_line": first + 90 })
    };
    part(&mut client, "read_file_part", asked.reads, read)?;
    part(&mut client, "read_file_part, again", asked.reads, read)?;
    let words =
        ["total", "limit", "step_\\d+7", "fn |def |func ", "return", "nothing_has_this_name", "(?i)VALUE", "bound"];
    part(
        &mut client,
        "search_in_files",
        asked.searches,
        |n| json!({ "pattern": words[n % words.len()], "skip": n / words.len() }),
    )?;
    part(&mut client, "list_files", asked.searches, |_| json!({}))?;
    if let Some(made) = &made {
        let changed = |n: usize| json!({ "file_path": made.changed[n % made.changed.len()].0 });
        part(&mut client, "read_diff", asked.searches, changed)?;
    }
    std::thread::sleep(Duration::from_secs(1));
    row(&client, "idle, a second later", Duration::ZERO, Duration::ZERO, &mut [])?;
    let total = client.end()?;
    println!("\nin all: {:.2} s cpu, peak {:.1} MiB", total.cpu.as_secs_f64(), total.peak_mib);
    Ok(())
}

/// Paths that can be read, by the server's own word.
fn text_files(client: &mut Client) -> Result<Vec<Value>, String> {
    let answer = client.ask("tools/call", &json!({ "name": "list_files", "arguments": {} }))?;
    let listed = answer["structuredContent"]["files"].as_array().cloned().unwrap_or_default();
    let mut readable = Vec::new();
    for path in listed {
        if client.call("read_file_part", &json!({ "file_path": path, "num_lines": 10 })).is_ok() {
            let long = client.call("read_file_part", &json!({ "file_path": path, "start_line": 5, "num_lines": 1 }));
            readable.extend(long.is_ok().then_some(path));
        }
    }
    if readable.is_empty() { Err(format!("nothing to read: {answer}")) } else { Ok(readable) }
}

/// Some calls of one kind, one after the other.
fn part(client: &mut Client, name: &str, count: usize, input: impl Fn(usize) -> Value) -> Result<(), String> {
    let tool = name.split(',').next().unwrap_or(name);
    let (cpu, begun) = (client.cpu()?, Instant::now());
    let mut took = (0..count).map(|n| client.call(tool, &input(n))).collect::<Result<Vec<_>, _>>()?;
    let wall = begun.elapsed();
    row(client, &format!("{count} {name}"), client.cpu()?.saturating_sub(cpu), wall, &mut took)
}

fn row(client: &Client, name: &str, cpu: Duration, wall: Duration, took: &mut [Duration]) -> Result<(), String> {
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).map_or(0.0, |took| took.as_secs_f64() * 1e3);
    let (all, anon) = client.memory()?;
    println!(
        "{name:<26} {:>8.2} {:>8.2} {:>9.2} {:>9.2} {all:>9.1} {anon:>9.1}",
        cpu.as_secs_f64(),
        wall.as_secs_f64(),
        at(50),
        at(95)
    );
    Ok(())
}
