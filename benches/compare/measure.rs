//! Running programs in turn and comparing what they cost. Main types: [`Program`], [`Pair`].

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

use crate::ours::MARK;

/// A program with its words and its folder. What it prints is thrown away.
pub(crate) struct Program {
    words: Vec<String>,
    folder: Option<PathBuf>,
    /// Read this many lines of what it prints, then go away, as `head` does.
    lines: Option<usize>,
}

/// What one side cost.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: Duration,
    wall: Duration,
    peak: u64,
}

/// Two ways to do the same work.
pub(crate) struct Pair {
    pub name: String,
    pub ours: Vec<Program>,
    pub theirs: Vec<Program>,
}

impl Program {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        let words = [program].iter().chain(args).map(|word| (*word).to_owned()).collect();
        Self { words, folder: None, lines: None }
    }

    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn git(repository: &Path, args: &[&str]) -> Self {
        Self::new("git", args).within(repository)
    }

    pub(crate) fn git_head(repository: &Path, args: &[&str], lines: usize) -> Self {
        Self { lines: Some(lines), ..Self::git(repository, args) }
    }

    /// Some lines of a file at a revision, as one would get them without us.
    pub(crate) fn git_lines(repository: &Path, file: &str, first: usize, last: usize) -> Self {
        let script = format!("git show \"$0\" | sed -n {first},{last}p");
        Self::new("sh", &["-c", &script, file]).within(repository)
    }

    /// This program again, doing one piece of work through the library.
    pub(crate) fn ours(repository: &Path, args: &[&str]) -> Self {
        let this = std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let args: Vec<&str> = [MARK].iter().chain(args).copied().collect();
        Self::new(&this, &args).within(repository)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark compares processes")]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null()).stderr(Stdio::null());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn run(&self) -> Result<Cost, String> {
        let fault = |error: std::io::Error| format!("{}: {error}", self.words[0]);
        let started = Instant::now();
        let stdout = if self.lines.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = self.command().stdout(stdout).spawn().map_err(fault)?;
        if let (Some(lines), Some(out)) = (self.lines, child.stdout.take()) {
            use std::io::BufRead as _;
            let _ = std::io::BufReader::new(out).lines().take(lines).count();
        }
        let used = child.wait4().map_err(fault)?;
        // `git grep` and `rg` end with 1 when nothing was found, and with a signal when their reader goes away.
        if self.lines.is_none() && !matches!(used.status.code(), Some(0 | 1)) {
            return Err(format!("{:?} ended with {}", self.words, used.status));
        }
        Ok(Cost { cpu: used.rusage.utime + used.rusage.stime, wall: started.elapsed(), peak: used.rusage.maxrss })
    }
}

fn run_all(programs: &[Program]) -> Result<Cost, String> {
    programs.iter().try_fold(Cost::default(), |sum, program| {
        let cost = program.run()?;
        Ok(Cost { cpu: sum.cpu + cost.cpu, wall: sum.wall + cost.wall, peak: sum.peak.max(cost.peak) })
    })
}

impl Pair {
    /// Runs both in turn and gives the row to print.
    pub(crate) fn measure(&self, runs: usize) -> Result<String, String> {
        run_all(&self.ours)?;
        run_all(&self.theirs)?;
        let mut costs = Vec::new();
        for _ in 0..runs {
            costs.push((run_all(&self.ours)?, run_all(&self.theirs)?));
        }
        let ratio = |of: fn(&Cost) -> f64| median(costs.iter().map(|(a, b)| of(a) / of(b)).collect());
        let ours = |of: fn(&Cost) -> f64| median(costs.iter().map(|(a, _)| of(a)).collect());
        let theirs = |of: fn(&Cost) -> f64| median(costs.iter().map(|(_, b)| of(b)).collect());
        let cpu: fn(&Cost) -> f64 = |cost| cost.cpu.as_secs_f64();
        let wall: fn(&Cost) -> f64 = |cost| cost.wall.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
        let peak: fn(&Cost) -> f64 = |cost| cost.peak as f64 / f64::from(1 << 20);
        Ok(format!(
            "{:<42} {:>6.2} {:>6.2} {:>6.2}   {:.3}s {:.0} MiB | {:.3}s {:.0} MiB",
            self.name,
            ratio(cpu),
            ratio(wall),
            ratio(peak),
            ours(cpu),
            ours(peak),
            theirs(cpu),
            theirs(peak),
        ))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What git prints, for setting up.
pub(crate) fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Program::git(folder, args).command().stdout(Stdio::piped()).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("git {args:?} ended with {}", output.status))
    }
}
