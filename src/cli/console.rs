//! The two output streams of this process, and their destination: a terminal, or the log of a build service. Main type: [`Console`].
//!
//! All output goes through here, and only here commands that a build log would obey are escaped. Output outside of such a log is not
//! changed.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};

use crate::app::{Pager, TerminalInfo};
use crate::config::Colour;
use crate::domain::batch::BatchEvent;
use crate::domain::text::{BuildLogs, CommandEscaper, Syntax, mask};
use crate::present::progress::{ProgressDisplay, ProgressMode};
use crate::present::{PageKind, count_rows};

/// The columns of a page, whatever a terminal says.
const MIN_WIDTH: usize = 40;
const MAX_WIDTH: usize = 1_000;

/// The environment of this process: terminals, colour settings, build logs.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the process, not a state")]
#[derive(Clone)]
pub(super) struct Console {
    /// Columns of the terminal; 80 without one.
    pub(super) width: usize,
    /// Rows of the terminal, if there is one that scrolls and no build service watches.
    height: Option<usize>,
    stderr_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
    no_colour: bool,
    /// Color is wanted even without a terminal.
    force_colour: bool,
    dumb: bool,
    /// Causes of errors are shown too.
    pub(super) verbose: bool,
    links: bool,
    logs: BuildLogs,
}

impl Console {
    pub(super) fn of_this_process() -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let stdout_is_terminal = io::stdout().is_terminal();
        let size = terminal_size::terminal_size().filter(|_| stdout_is_terminal);
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            width: size.map_or(80, |(width, _)| usize::from(width.0)).clamp(MIN_WIDTH, MAX_WIDTH),
            height: size.map(|(_, height)| usize::from(height.0)).filter(|_| !dumb && !set("CI")),
            stderr_is_terminal: io::stderr().is_terminal(),
            stdout_is_terminal,
            // https://no-color.org: present and not empty.
            no_colour: set("NO_COLOR"),
            // As other programs read them: 0 is no wish.
            force_colour: ["FORCE_COLOR", "CLICOLOR_FORCE"]
                .iter()
                .any(|name| set(name) && std::env::var_os(name).is_some_and(|value| value != "0")),
            verbose: false,
            dumb: std::env::var_os("TERM") == Some(OsString::from("dumb")),
            links: supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout),
            logs: BuildLogs::detect(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())),
        }
    }

    pub(super) fn colour(&self, wish: Colour) -> bool {
        match wish {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if self.no_colour => false,
            Colour::Auto => self.force_colour || (self.stdout_is_terminal && !self.dumb),
        }
    }

    pub(super) fn with_verbose(self, verbose: bool) -> Self {
        Self { verbose, ..self }
    }

    /// Checks that nothing here has a width or wants color.
    pub(super) fn has_no_terminal(&self) -> bool {
        let is_one = self.stdout_is_terminal || self.stderr_is_terminal || io::stdin().is_terminal();
        !is_one && !self.force_colour && std::env::var_os("COLUMNS").is_none()
    }

    /// Describes the terminal, for `review doctor`.
    pub(super) fn terminal(&self, wish: Colour) -> TerminalInfo {
        let colour = self.colour(wish);
        let may_be = !colour && self.stdout_is_terminal && wish == Colour::Auto;
        let without_colour = match (self.no_colour, self.dumb) {
            (true, _) => Some("NO_COLOR"),
            (false, true) => Some("TERM=dumb"),
            (false, false) => None,
        };
        TerminalInfo {
            is_one: self.stdout_is_terminal,
            width: self.width,
            colour,
            links: self.links(wish),
            without_colour: without_colour.filter(|_| may_be),
            logs: self.logs,
        }
    }

    /// Checks whether links may be written: only if colour may.
    pub(super) fn links(&self, wish: Colour) -> bool {
        self.links && self.colour(wish)
    }

    /// Returns the build logs that these streams end up in.
    pub(super) fn logs(&self) -> BuildLogs {
        self.logs
    }

    /// Writes a whole output in the given syntax. A closed pipe (`| head`) is not an error.
    pub(super) fn write_data(&self, bytes: &[u8], syntax: Syntax) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(&self.logs.escape(bytes, syntax)).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }

    /// Returns the kind of page on standard output.
    pub(super) fn page_kind(&self) -> PageKind {
        if self.stdout_is_terminal { PageKind::Screen } else { PageKind::File }
    }

    /// Writes a report for people: in the user's pager if it is longer than the screen and `paged` allows it.
    pub(super) fn write_report(&self, paged: bool, render: impl Fn(PageKind) -> Vec<u8>) -> io::Result<()> {
        let bytes = render(self.page_kind());
        let height = self.height.filter(|_| paged && !self.logs.is_any_detected());
        let is_long = height.is_some_and(|height| count_rows(&bytes, self.width) >= height);
        let pager = if is_long { Pager::of_user() } else { None };
        if pager.is_some_and(|pager| pager.show(&render(PageKind::Pager))) {
            return Ok(());
        }
        self.write_data(&bytes, Syntax::Plain)
    }

    /// Returns standard output, for lines of JSON that are written during a run.
    pub(super) fn stdout_stream(&self) -> EscapedStream<io::Stdout> {
        EscapedStream { out: io::stdout(), spelling: CommandEscaper::new(self.logs, Syntax::Json) }
    }

    /// Starts the progress display. In a log there is no bar, which would be drawn over and over.
    pub(super) fn progress(&self, quiet: bool) -> ProgressDisplay {
        ProgressDisplay::start(self.progress_mode(quiet), self.stderr_stream())
    }

    /// Starts the progress display of a batch.
    pub(super) fn batch_progress(&self, quiet: bool) -> ProgressDisplay<BatchEvent> {
        ProgressDisplay::start_batch(self.progress_mode(quiet), self.stderr_stream())
    }

    /// Starts the display of a review: without a terminal only what changes its result, unless it is verbose.
    pub(super) fn review_progress(&self, quiet: bool, verbose: bool) -> ProgressDisplay {
        let mode = match self.progress_mode(quiet) {
            ProgressMode::Lines if !verbose => ProgressMode::Notices,
            ProgressMode::Bar if verbose => ProgressMode::Lines,
            mode => mode,
        };
        ProgressDisplay::start(mode, self.stderr_stream())
    }

    fn progress_mode(&self, quiet: bool) -> ProgressMode {
        ProgressMode::choose(quiet, self.stderr_is_terminal && !self.logs.is_any_detected())
    }

    fn stderr_stream(&self) -> EscapedStream<io::Stderr> {
        EscapedStream { out: io::stderr(), spelling: CommandEscaper::new(self.logs, Syntax::Plain) }
    }

    /// Writes a line to standard error. A failure to do so is ignored. The line is masked: a system error may name a path with a secret.
    pub(super) fn print_to_stderr(&self, line: &str) {
        let line = mask(line).text;
        let _ = io::stderr().lock().write_all(&self.logs.escape(format!("{line}\n").as_bytes(), Syntax::Plain));
    }

    /// Checks whether a person can be asked: standard input and standard error are terminals, and no build log.
    pub(super) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && self.stderr_is_terminal && !self.logs.is_any_detected()
    }

    /// Writes a prompt to standard error and reads a line; `None` at the end of the input.
    pub(super) fn ask_line(prompt: &str, most: u64) -> io::Result<Option<String>> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(prompt.as_bytes()).and_then(|()| stderr.flush())?;
        drop(stderr);
        read_line(io::stdin().lock(), most)
    }

    /// Writes a line to standard error that matters less than the others: dimmed on a terminal with colors.
    pub(super) fn print_dim_to_stderr(&self, line: &str) {
        let is_colored = self.stderr_is_terminal && !self.no_colour && !self.dumb && !self.logs.is_any_detected();
        let style = if is_colored { anstyle::Style::new().dimmed() } else { anstyle::Style::new() };
        self.print_to_stderr(&format!("{style}{line}{style:#}"));
    }

    /// Writes clap's output: help to standard output, errors to standard error.
    pub(super) fn print_usage(&self, said: &clap::Error) -> io::Result<()> {
        if !self.logs.is_any_detected() {
            return match said.print() {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                ended => ended,
            };
        }
        let text = said.render().to_string();
        if !said.use_stderr() {
            return self.write_data(text.as_bytes(), Syntax::Plain);
        }
        self.print_to_stderr(text.trim_end());
        Ok(())
    }

    /// In a build log, reports panics like any other output: their messages may quote input.
    pub(super) fn install_panic_hook(&self) {
        if self.logs.is_any_detected() {
            let console = self.clone();
            std::panic::set_hook(Box::new(move |panic| console.print_to_stderr(&format!("review: {panic}"))));
        }
    }
}

/// Reads a line of at most `most` bytes; `None` at the end of the input.
fn read_line(from: impl io::BufRead, most: u64) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::BufRead::read_line(&mut io::Read::take(from, most), &mut line)?;
    Ok((read > 0).then_some(line))
}

/// A stream that escapes each write as the log behind it needs.
pub(super) struct EscapedStream<W> {
    out: W,
    spelling: CommandEscaper,
}

impl<W: Write> Write for EscapedStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(&self.spelling.escape_piece(bytes)).map(|()| bytes.len())
    }

    // Written in one piece, so that output of another thread cannot come between: it would begin a new line here.
    fn write_fmt(&mut self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_bounded_and_the_end_of_the_input_is_no_answer() {
        assert_eq!(read_line(&b"2\n3\n"[..], 100).unwrap().as_deref(), Some("2\n"));
        assert_eq!(read_line(&b"123456"[..], 3).unwrap().as_deref(), Some("123"));
        assert_eq!(read_line(&b""[..], 3).unwrap(), None);
    }
}
