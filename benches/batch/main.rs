//! Measures `review batch` on many branches with a model that takes a fixed time for a turn: the throughput beside the ideal, the memory, and
//! the second run, which finds nothing changed.
//!
//! ```text
//! REVIEW_BENCH_REPOSITORY=DIR cargo bench --profile dist --bench batch -- [--branches N] [--jobs N,…] [--turns N] [--turn-ms N]
//!     [--review PROGRAM] [--state DIR]
//! ```
//!
//! The branches are commits of that repository, each applied by itself to an older commit of its history; without one, a repository of 5,000
//! files is made. The model is a server in this process: it reads a file in each turn but the last, and finds nothing. *Ideal* is the time of
//! all turns divided by the number of jobs; *share* is the ideal over the wall time. A second line has the least time of whole reviews,
//! whose turns follow each other, with the time that turns took in truth: a busy machine wakes a timer later than it was set to. CPU
//! (user + system) and memory are those of the program, not of the model, which uses the same cores. Runs are saved in a scratch folder,
//! or in `--state`, whose disk counts: each turn is synced.
//! Nothing is asserted about time; a second run that calls the model about a complete review is a fault.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![allow(clippy::disallowed_methods, reason = "it runs the program and git")]

mod branches;
mod model;
#[path = "../loop/repository.rs"]
#[allow(dead_code, reason = "the other benchmark counts markers")]
mod repository;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use branches::BranchRepository;
use model::Model;
use wait4::Wait4 as _;

/// The words of the command line.
struct Asked {
    branches: usize,
    jobs: Vec<usize>,
    turns: usize,
    turn: Duration,
    review: PathBuf,
    state: Option<PathBuf>,
}

/// The cost of one run of the program.
struct Run {
    wall: f64,
    cpu: f64,
    peak: f64,
    turns: usize,
    /// The seconds that the model took for them.
    held: f64,
    complete: u64,
}

fn main() -> ExitCode {
    // `cargo bench` adds `--bench` to what it was given.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    match Asked::parse(words).and_then(|asked| measure(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("batch: {why}");
            ExitCode::from(2)
        }
    }
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self {
            branches: 1000,
            jobs: vec![4, 16],
            turns: 20,
            turn: Duration::from_millis(50),
            review: PathBuf::from(env!("CARGO_BIN_EXE_review")),
            state: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{word} {text}: {error}"));
            match word.as_str() {
                "--branches" => asked.branches = number(&value()?)?.max(1),
                "--jobs" => asked.jobs = value()?.split(',').map(number).collect::<Result<_, _>>()?,
                "--turns" => asked.turns = number(&value()?)?.max(1),
                "--turn-ms" => asked.turn = Duration::from_millis(number(&value()?)? as u64),
                "--review" => asked.review = PathBuf::from(value()?),
                "--state" => asked.state = Some(PathBuf::from(value()?)),
                other => return Err(format!("unknown word {other}")),
            }
        }
        Ok(asked)
    }
}

fn measure(asked: &Asked) -> Result<(), String> {
    let scratch = match &asked.state {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let scratch = scratch.map_err(|error| error.to_string())?;
    let folder = scratch.path().join("repository");
    let repository = match std::env::var_os("REVIEW_BENCH_REPOSITORY") {
        Some(source) => BranchRepository::of(Path::new(&source), &folder, asked.branches)?,
        None => BranchRepository::make(&folder, asked.branches)?,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{} branches of a repository of {} files, {cores} cores", asked.branches, repository.files.len());
    println!("{} turns of {} ms a review\n", asked.turns, asked.turn.as_millis());
    println!(
        "{:>4} {:<7} {:>8} {:>8} {:>7} {:>9} {:>8} {:>6} {:>8} {:>9} {:>9}",
        "jobs", "run", "wall s", "ideal s", "share", "reviews/s", "cpu s", "busy", "peak MiB", "turns", "complete"
    );
    let model = Model::start(asked.turns, asked.turn, repository.files.clone())?;
    for jobs in &asked.jobs {
        let home = scratch.path().join(format!("home-{jobs}"));
        let first = run(asked, *jobs, &model, &repository.folder, &home)?;
        let second = run(asked, *jobs, &model, &repository.folder, &home)?;
        let reviews = number(asked.branches);
        for (name, run) in [("first", &first), ("second", &second)] {
            let ideal = number(run.turns) * asked.turn.as_secs_f64() / number(*jobs);
            println!(
                "{jobs:>4} {name:<7} {:>8.2} {ideal:>8.2} {:>6.1}% {:>9.1} {:>8.2} {:>5.0}% {:>8.0} {:>9} {:>9}",
                run.wall,
                100.0 * ideal / run.wall,
                reviews / run.wall,
                run.cpu,
                100.0 * run.cpu / (run.wall * number(cores)),
                run.peak,
                run.turns,
                run.complete,
            );
        }
        let turn = first.held / number(first.turns.max(1));
        let least = turn * number(first.turns.div_ceil(asked.turns * jobs) * asked.turns);
        println!(
            "     turns of {:.1} ms in whole reviews: {least:.2} s, {:.1} %",
            1000.0 * turn,
            100.0 * least / first.wall
        );
        println!("     the second run takes {:.1} % of the first one's time", 100.0 * second.wall / first.wall);
        // What is not complete, because a diff was too long to be shown, is reviewed again.
        if second.turns > 0 && first.complete == asked.branches as u64 {
            return Err(format!("the second run called the model {} times", second.turns));
        }
    }
    Ok(())
}

fn number(value: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "all of it is far below 2^52")]
    let number = value as f64;
    number
}

/// Runs the batch as a program that sees nothing of this machine but its programs.
fn run(asked: &Asked, jobs: usize, model: &Model, repository: &Path, home: &Path) -> Result<Run, String> {
    let fault = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(home.join("config/review")).map_err(fault)?;
    std::fs::write(home.join("config/review/config.toml"), "[openai-chat]\ncontext_window = 200000\n")
        .map_err(fault)?;
    let program = asked.review.canonicalize().map_err(|error| format!("{}: {error}", asked.review.display()))?;
    let (out, err) = (home.join("out"), home.join("err"));
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
    command.env("XDG_CACHE_HOME", home.join("cache")).env("REVIEW_MAX_TOKENS", "1000000000");
    command.env("OPENAI_BASE_URL", model.base()).env("OPENAI_API_KEY", "none");
    command.args(["batch", "bench/*", "--target", "main", "--model", "openai-chat/scripted", "--format", "json", "-q"]);
    command.args(["--jobs", &jobs.to_string(), "--max-turns", "100"]).current_dir(repository);
    command.stdout(File::create(&out).map_err(fault)?).stderr(File::create(&err).map_err(fault)?);
    model.take_turns();
    let started = Instant::now();
    let used = command.spawn().map_err(fault)?.wait4().map_err(fault)?;
    let wall = started.elapsed().as_secs_f64();
    let index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&out).map_err(fault)?).map_err(|error| error.to_string())?;
    if !matches!(used.status.code(), Some(0 | 3)) {
        let said = std::fs::read_to_string(&err).unwrap_or_default();
        let rows = index["reviews"].as_array().into_iter().flatten();
        let bad: Vec<String> =
            rows.filter(|row| row["exit_code"] != 0).map(|row| format!("{}: {}", row["name"], row["reason"])).collect();
        let (count, shown) = (bad.len(), bad.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("; "));
        return Err(format!("the batch ended with {}: {count} rows, {shown} {}", used.status, said.trim()));
    }
    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
    let peak = used.rusage.maxrss as f64 / f64::from(1 << 20);
    let (turns, held) = model.take_turns();
    Ok(Run {
        wall,
        cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak,
        turns,
        held: held.as_secs_f64(),
        complete: index["totals"]["outcomes"]["complete"].as_u64().unwrap_or(0),
    })
}
