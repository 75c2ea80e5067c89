//! The first pages of the help: the commands in groups, and all options. Main items: [`FIRST_PAGE`], [`WHOLE_PAGE`], [`all_commands`].
//!
//! They are text, so that asking for them starts no parser. A test holds them to the commands there are.

/// The commands that people use, in groups.
macro_rules! commands {
    () => {
        "\
Review:
  batch        Review many branches, commits or pull requests, several at a time
  build        Run a build, tests or a linter of the project, and print what it says

Saved reviews:
  list         List saved reviews, newest first
  show         Show a saved review, in any format
  open         Open a saved review in a browser, with filters and the diff
  apply        Apply the suggestions of findings to the checkout
  dismiss      Dismiss a finding for the whole project, with a reason
  ask          Ask a model about a finding or a saved review
  prompt       Print findings as a task for a coding agent
  post         Post a saved review to its pull request

Project:
  init         Set reviews up: the model, the git hook, the workflow
  rules        List the rules, explain one, or test your own
  guidelines   Show which guidelines of the project a model gets
  config       Show, set or edit settings
  models       Show which models can be used now
  doctor       Check that reviews work here, with a test call to the model

Assistants and CI:
  mcp          Serve AI assistants over MCP, or register with one
  lsp          Serve editors over LSP: findings as diagnostics
  worker       Review the jobs of a queue, on this machine or one of many
  completions  Print a completion script for a shell
"
    };
}

/// The page of `review --help` without a terminal: what clap makes of the arguments at 100 columns.
pub(super) const WHOLE_PAGE: &str = include_str!("help.txt");

/// The page of `review -h`: about one screen.
pub(super) const FIRST_PAGE: &str = concat!(
    "\
Reviews a change: a branch, a commit, a pull request, uncommitted work, or a patch

Usage: review [OPTIONS] [CHANGE] [PATH]...
       review COMMAND

  review                 this branch against the remote's default branch
  review main src/       the commits since main, in src/ only
  review 12              pull request 12, without checking it out
  review --uncommitted   the uncommitted changes

",
    commands!(),
    "
Options: -t --target REF, -m --model MODEL, -f --format FORMAT, -o --output FILE, -C DIR, -v, -q
More:    `review --help` has all options and exit codes, `review COMMAND -h` those of a command,
         `review help all` the other commands.
"
);

/// The commands that programs and the makers of rules and prompts use.
const MORE: &str = "
Other commands:
  action       Run as a GitHub Actions step: review the change of its event
  editor       Find the window of an editor that shows reviews
  eval         Benchmark reviews: precision and recall on known defects
  man          Write the manual pages to a folder
  present      Present Markdown with its file references checked
  prune        Remove saved reviews that are older than the settings allow
  queue        Manage the queue of jobs that workers review
  replay       Replay a run from its journal, offline, and check the result
  serve        Take webhooks of GitHub: pull requests that change become jobs
  tool         Call one of the tools of a model, and print its result
  trust        Let the tools run that the repository here declares
";

/// Returns the page of `review help all`.
pub(super) fn all_commands() -> String {
    format!("{}{MORE}", commands!())
}

/// Words that people try, and the command or flag that does what they mean.
const MEANINGS: &[(&str, &str)] = &[
    ("explain", "review rules explain"),
    ("rule", "review rules explain"),
    ("history", "review list"),
    ("log", "review list"),
    ("ls", "review list"),
    ("runs", "review list"),
    ("view", "review show"),
    ("report", "review show"),
    ("resume", "review --resume last"),
    ("continue", "review --resume last"),
    ("fix", "review apply"),
    ("ignore", "review dismiss"),
    ("suppress", "review dismiss"),
    ("comment", "review post"),
    ("publish", "review post"),
    ("settings", "review config"),
    ("install", "review mcp install"),
    ("completion", "review completions"),
    ("providers", "review models"),
    ("staged", "review --staged"),
    ("uncommitted", "review --uncommitted"),
    ("diff", "review --diff FILE"),
    ("pr", "review NUMBER"),
    ("version", "review --version"),
];

/// Flags that people try, and what does the same here.
const FLAGS: &[(&str, &str)] = &[
    ("--plain", "--color never"),
    ("--no-color", "--color never"),
    ("--no-colour", "--color never"),
    ("--from", "--target"),
    ("--since", "--target"),
    ("--against", "--target"),
    ("--to", "--head"),
    ("--branch", "--head"),
    ("--cached", "--staged"),
    ("--patch", "--diff"),
    ("--json", "--format json"),
    ("--sarif", "--format sarif"),
    ("--markdown", "--format markdown"),
    ("--debug", "--verbose"),
    ("--silent", "--quiet"),
    ("--path", "--include"),
    ("--only", "--include"),
    ("--ignore", "--exclude"),
    ("--offline", "--no-model"),
    ("--rules-only", "--no-model"),
    ("--severity", "--min-severity"),
    ("--repo", "--directory"),
];

/// Finds the command that a word stands for: by its meaning, or by its spelling.
pub(super) fn command_like(word: &str) -> Option<String> {
    if let Some((_, command)) = MEANINGS.iter().find(|(known, _)| *known == word) {
        return Some((*command).to_owned());
    }
    let page = all_commands();
    // Its name is like too many others, and packagers alone use it.
    let names = page.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let names = names.filter(|name| *name != "man");
    let found = crate::domain::nearest::nearest(word, names)?;
    Some(format!("review {found}"))
}

/// Returns the flag that does what an unknown one says.
pub(super) fn flag_like(flag: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(known, _)| *known == flag).map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    fn commands() -> Vec<clap::Command> {
        fn walk(command: &clap::Command, all: &mut Vec<clap::Command>) {
            all.push(command.clone());
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                walk(inner, all);
            }
        }
        let (mut all, mut root) = (Vec::new(), Cli::command());
        root.build();
        walk(&root, &mut all);
        all
    }

    #[test]
    fn every_command_is_in_a_group_or_among_the_others() {
        let page = all_commands();
        let listed: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
        let root = Cli::command();
        let known = root.get_subcommands().filter(|command| !command.is_hide_set() || command.get_name() == "man");
        let mut known: Vec<&str> = known.map(clap::Command::get_name).collect();
        let mut sorted = listed.clone();
        known.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(sorted, known);
    }

    #[test]
    fn the_whole_page_is_what_the_arguments_say() {
        let said = Cli::command().term_width(100).render_long_help().to_string();
        crate::generated::assert_file("src/cli/help.txt", &said);
    }

    #[test]
    fn the_first_page_is_one_screen() {
        assert!(FIRST_PAGE.lines().count() <= 42, "{}", FIRST_PAGE.lines().count());
        assert!(FIRST_PAGE.lines().chain(MORE.lines()).all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn the_short_help_of_every_command_fits_and_has_examples() {
        for mut command in commands().into_iter().skip(1).filter(|command| !command.is_hide_set()) {
            let short = command.render_help().to_string();
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            assert!(short.lines().count() <= 60, "{name}: {} lines\n{short}", short.lines().count());
            assert!(short.contains("Example"), "{name} has no examples");
        }
    }

    #[test]
    fn words_are_read_by_their_meaning() {
        assert_eq!(command_like("explain").as_deref(), Some("review rules explain"));
        assert_eq!(command_like("rlues").as_deref(), Some("review rules"));
        assert_eq!(command_like("main"), None);
        let root = Cli::command();
        for (_, meant) in FLAGS {
            let long = meant.split(' ').next().unwrap().trim_start_matches("--");
            assert!(root.get_arguments().any(|arg| arg.get_long() == Some(long)), "{meant}");
        }
    }
}
