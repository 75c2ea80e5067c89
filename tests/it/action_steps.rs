//! The Action itself: `action.yml` says what the program reads and writes, and its steps run one after another as a runner runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use review_runner::app::action::{INPUTS, Kind, OUTPUTS};
use review_runner::present::PRESENTERS;
use serde_json::Value;

/// The inputs of the step that installs the program, and the variables that bring them to it.
const INSTALL: [(&str, &str); 2] = [("version", "VERSION"), ("checksum", "CHECKSUM")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn action() -> Value {
    let text = std::fs::read_to_string(root().join("action.yml")).expect("the Action");
    serde_saphyr::from_str(&text).expect("YAML")
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The step of that name.
fn step<'a>(action: &'a Value, id: &str) -> &'a Value {
    let steps = action["runs"]["steps"].as_array().expect("steps");
    steps.iter().find(|step| step["id"] == id).unwrap_or_else(|| panic!("there is no step {id}"))
}

#[test]
fn every_input_reaches_the_program_by_its_variable_and_no_other_does() {
    let action = action();
    let of_program = INPUTS.iter().map(|input| (input.name, input.variable));
    let known: BTreeMap<&str, &str> = of_program.clone().chain(INSTALL).collect();
    assert_eq!(keys(&action["inputs"]), known.keys().copied().collect());
    for (id, inputs) in [("review", of_program.collect::<Vec<_>>()), ("install", INSTALL.to_vec())] {
        let environment = &step(&action, id)["env"];
        for (name, variable) in &inputs {
            assert_eq!(environment[variable], format!("${{{{ inputs.{name} }}}}"), "{id}");
        }
        let others = keys(environment).into_iter().filter(|name| !inputs.iter().any(|(_, variable)| variable == name));
        let others: Vec<&str> = others.collect();
        assert_eq!(others, if id == "review" { ["BINARY"] } else { ["ACTION_REPOSITORY"] }, "{id}");
    }
}

#[test]
fn every_output_of_the_program_is_one_of_the_action_and_no_other_is() {
    let action = action();
    let formats = PRESENTERS.iter().map(|presenter| presenter.name);
    let known: BTreeSet<&str> = OUTPUTS.iter().copied().chain(formats).collect();
    assert_eq!(keys(&action["outputs"]), known);
    for name in known {
        let value = action["outputs"][name]["value"].as_str().expect("a value");
        let (plain, or_error) =
            (format!("${{{{ steps.review.outputs.{name} }}}}"), "${{ steps.review.outputs.outcome || 'error' }}");
        assert!(value == plain || (name == "outcome" && value == or_error), "{name}: {value}");
    }
    let words = action["outputs"]["outcome"]["description"].as_str().expect("a text");
    for kind in Kind::ALL {
        assert!(words.contains(kind.word()), "the output outcome may be {}: {words}", kind.word());
    }
}

#[test]
fn no_step_holds_an_expression_in_its_script_or_another_action() {
    let action = action();
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    assert_eq!(steps.iter().map(|step| step["id"].as_str().unwrap_or("?")).collect::<Vec<_>>(), ["install", "review"]);
    for step in steps {
        let run = step["run"].as_str().expect("a script");
        assert!(step["shell"] == "bash" && step["uses"].is_null() && !run.contains("${{"), "{step:#}");
    }
    assert_eq!(step(&action, "review")["run"].as_str().map(str::trim), Some("exec \"$BINARY\" action"));
}

#[cfg(unix)]
mod by_bash {
    use std::process::{Command, Stdio};

    use super::{BTreeMap, PathBuf, Value, action, root};
    use crate::support::github::TOKEN;
    use crate::support::model::{KEY, Session, Wire};
    use crate::support::program_path;
    use crate::support::session::{file, shop};
    use crate::support::step::{Step, Stepped, outputs};

    /// Where the Action comes from.
    const ACTION: &str = "octo/review";

    /// A runner that runs the steps of the Action with its inputs.
    struct Runner {
        step: Step,
        action: Value,
        inputs: BTreeMap<String, String>,
        of_steps: BTreeMap<String, BTreeMap<String, String>>,
        said: String,
    }

    impl Runner {
        /// With the inputs of `with:`; the others are as the Action says.
        fn new(step: Step, with: &[(&str, &str)]) -> Self {
            let action = action();
            let default = |(name, input): (&String, &Value)| {
                let text = input["default"].as_str().unwrap_or_default().replace("${{ github.token }}", TOKEN);
                (name.clone(), text)
            };
            let mut inputs: BTreeMap<_, _> =
                action["inputs"].as_object().expect("inputs").iter().map(default).collect();
            for (name, value) in with {
                assert!(inputs.insert((*name).to_owned(), (*value).to_owned()).is_some(), "{name} is no input");
            }
            Self { step, action, inputs, of_steps: BTreeMap::new(), said: String::new() }
        }

        /// What an expression comes to.
        fn value(&self, text: &str) -> String {
            let Some(expression) = text.strip_prefix("${{ ").and_then(|text| text.strip_suffix(" }}")) else {
                assert!(!text.contains("${{"), "{text}");
                return text.to_owned();
            };
            let (expression, other) = expression.split_once(" || ").unwrap_or((expression, "''"));
            let parts: Vec<&str> = expression.split('.').collect();
            let value = match parts[..] {
                ["inputs", name] => self.inputs[name].clone(),
                ["github", "action_repository"] => ACTION.to_owned(),
                ["steps", step, "outputs", name] => {
                    self.of_steps.get(step).and_then(|outputs| outputs.get(name)).cloned().unwrap_or_default()
                }
                _ => panic!("no runner knows {expression}"),
            };
            if value.is_empty() { other.trim_matches('\'').to_owned() } else { value }
        }

        /// Runs the steps until one fails; returns its exit code, or 0, and the outputs of the Action.
        fn run(&mut self) -> (i32, BTreeMap<String, String>) {
            let mut code = 0;
            for step in self.action["runs"]["steps"].as_array().expect("steps").clone() {
                code = self.one(&step);
                if code != 0 {
                    break;
                }
            }
            let outputs = self.action["outputs"].as_object().expect("outputs");
            let value = |output: &Value| self.value(output["value"].as_str().expect("a value"));
            (code, outputs.iter().map(|(name, output)| (name.clone(), value(output))).collect())
        }

        fn one(&mut self, step: &Value) -> i32 {
            self.ended(step, |_, _| {})
        }

        /// Starts a step, lets something happen to its process, and waits for its end.
        #[expect(clippy::disallowed_methods, reason = "a runner starts the shell of a step")]
        fn ended(&mut self, step: &Value, meanwhile: impl FnOnce(&Step, u32)) -> i32 {
            let (id, script) = (step["id"].as_str().expect("an id"), self.step.path("commands/script.sh"));
            std::fs::write(&script, step["run"].as_str().expect("a script")).expect("a script");
            let output = self.step.path("commands/output");
            std::fs::write(&output, "").expect("a file");
            let mut command = Command::new(program_path("bash"));
            // https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax: `shell: bash`.
            command.args(["--noprofile", "--norc", "-e", "-o", "pipefail"]).arg(&script);
            command.env_clear().current_dir(self.step.path("workspace")).stdin(Stdio::null());
            command.env("PATH", std::env::var_os("PATH").expect("a path"));
            for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
                command.env(name, self.step.path("home").join(name));
            }
            let given = self.step.variables().iter();
            command.envs(given.filter(|(name, _)| !name.starts_with("INPUT_") && *name != "GITHUB_TOKEN"));
            command.env("GITHUB_ACTION_PATH", root()).env("RUNNER_OS", runner_os()).env("RUNNER_ARCH", runner_arch());
            for (name, value) in step["env"].as_object().expect("an environment") {
                command.env(name, self.value(value.as_str().expect("a value")));
            }
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("bash");
            meanwhile(&self.step, child.id());
            let ended = child.wait_with_output().expect("bash");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.said.push_str(&format!("== {id}\n{}{}", text(&ended.stdout), text(&ended.stderr)));
            let written = std::fs::read_to_string(&output).expect("a file");
            self.of_steps.insert(id.to_owned(), outputs(&written));
            ended.status.code().unwrap_or(-1)
        }

        /// What came of it, as after a step of the program alone.
        fn stepped(&self, code: i32) -> Stepped {
            self.step.stepped(code, self.said.clone(), String::new())
        }
    }

    fn runner_os() -> &'static str {
        if cfg!(target_os = "macos") { "macOS" } else { "Linux" }
    }

    fn runner_arch() -> &'static str {
        if cfg!(target_arch = "aarch64") { "ARM64" } else { "X64" }
    }

    fn target() -> String {
        let arch = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
        format!("{arch}-{}", if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" })
    }

    /// Puts the program that was built onto the fake as a release of its version; returns the archive's checksum.
    #[expect(clippy::disallowed_methods, reason = "archives are made by the program that unpacks them")]
    fn release(step: &Step) -> String {
        let (version, target) = (env!("CARGO_PKG_VERSION"), target());
        let name = format!("review-{version}-{target}");
        let folder: PathBuf = step.path("release");
        std::fs::create_dir_all(folder.join(&name)).expect("a folder");
        std::fs::copy(env!("CARGO_BIN_EXE_review"), folder.join(&name).join("review")).expect("the program");
        let packed =
            Command::new("tar").args(["-czf", "a.tar.gz", &name]).current_dir(&folder).env("GZIP", "-1").status();
        assert!(packed.expect("tar").success());
        let archive = std::fs::read(folder.join("a.tar.gz")).expect("an archive");
        let sum = review_runner::domain::id::hex(&<sha2::Sha256 as sha2::Digest>::digest(&archive)[..]);
        let at = format!("/{ACTION}/releases/download/v{version}");
        step.fake.serve(&format!("{at}/SHA256SUMS"), format!("{sum}  {name}.tar.gz\n").into_bytes());
        step.fake.serve(&format!("{at}/{name}.tar.gz"), archive);
        sum
    }

    #[test]
    #[ignore = "runs bash"]
    fn the_steps_install_a_release_and_review_a_pull_request_with_a_model() {
        let step = Step::of(shop(), "ada", None).with_model(Session::load(&file("found")));
        let (sum, address) = (release(&step), step.server.as_ref().expect("a model").address().to_owned());
        let model = format!("{}/scripted", Wire::Messages.provider());
        let with = [
            ("model", &*model),
            ("key", KEY),
            ("base-url", &*address),
            ("fail-on", "high"),
            ("verify", "none"),
            ("checksum", &*sum),
        ];
        let mut runner = Runner::new(step, &with);
        let (code, outputs) = runner.run();
        let stepped = runner.stepped(code);
        let output = |name: &str| outputs[name].as_str();
        assert_eq!((code, output("outcome"), output("exit-code")), (1, "complete", "1"), "{stepped}");
        assert_eq!((output("findings"), output("blocking"), output("posted")), ("1", "1", "review"), "{stepped}");
        assert!(runner.of_steps["install"]["binary"].starts_with(&*runner.step.path("temp").to_string_lossy()));
        for format in ["json", "sarif"] {
            let text = std::fs::read_to_string(output(format)).unwrap_or_else(|error| panic!("{format}: {error}"));
            assert!(text.contains("A discount is ten times too large"), "{format}");
        }
        assert!(stepped.summary.contains("A discount is ten times too large"), "{stepped}");
        assert_eq!((runner.step.pull.reviews().len(), runner.step.pull.threads().len()), (1, 1));
        runner.step.finish();
    }

    #[test]
    #[ignore = "runs bash"]
    fn the_steps_give_annotations_where_the_token_may_only_read() {
        let step = Step::of(shop(), "mallory", Some("mallory/demo")).with_model(Session::load(&file("found")));
        let step = step.event("pull_request_target", "pull_request_fork", |_| {});
        step.fake.rights(|rights| rights.write = false);
        release(&step);
        let address = step.server.as_ref().expect("a model").address().to_owned();
        let with = [("model", "anthropic/scripted"), ("key", KEY), ("base-url", &*address), ("verify", "none")];
        let mut runner = Runner::new(step, &with);
        let (code, outputs) = runner.run();
        let stepped = runner.stepped(code);
        assert_eq!((code, &*outputs["outcome"], &*outputs["posted"]), (0, "complete", "annotations"), "{stepped}");
        assert_eq!(stepped.said("error").len(), 1, "{stepped}");
        runner.step.finish();
    }

    #[test]
    #[ignore = "runs bash"]
    fn a_wrong_checksum_ends_before_anything_is_reviewed() {
        let step = Step::new(&[("a.py", crate::support::posting::bad("f"))]);
        release(&step);
        let mut runner = Runner::new(step, &[("model", "none"), ("checksum", &"0".repeat(64))]);
        let (code, outputs) = runner.run();
        let stepped = runner.stepped(code);
        assert_eq!((code, &*outputs["outcome"], &*outputs["findings"]), (3, "error", ""), "{stepped}");
        assert!(stepped.summary.contains("nothing was reviewed"), "{stepped}");
        assert!(!runner.of_steps.contains_key("review") && runner.step.fake.asked().is_empty());
        runner.step.finish();
    }

    #[test]
    #[ignore = "runs bash"]
    fn an_input_is_a_value_and_never_code() {
        let step = Step::new(&[("a.py", crate::support::posting::bad("f"))]);
        release(&step);
        let evil = "\"; touch \"$GITHUB_WORKSPACE/sung\"; $(touch sung) `touch sung` ${{ github.token }}";
        let mut runner = Runner::new(step, &[("model", "none"), ("exclude", evil), ("fail-on", evil)]);
        let (code, outputs) = runner.run();
        let stepped = runner.stepped(code);
        assert_eq!((code, &*outputs["outcome"]), (2, "error"), "{stepped}");
        assert!(!runner.step.path("workspace/sung").exists());
        runner.step.finish();
    }

    /// A runner that cancels signals the process of the step alone, and kills all of them some seconds later.
    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "runs bash"]
    fn a_run_that_is_cancelled_keeps_and_tells_what_it_found() {
        let step = Step::of(shop(), "ada", None).with_model(Session::load(&file("found_then_hang")));
        release(&step);
        let address = step.server.as_ref().expect("a model").address().to_owned();
        let with = [("model", "anthropic/scripted"), ("key", KEY), ("base-url", &*address), ("verify", "none")];
        let mut runner = Runner::new(step, &with);
        let steps = runner.action["runs"]["steps"].as_array().expect("steps").clone();
        assert_eq!(runner.one(&steps[0]), 0, "{}", runner.said);
        let code = runner.ended(&steps[1], |step, process| {
            step.server.as_ref().expect("a model").wait_for(2);
            let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
            rustix::process::kill_process(process, rustix::process::Signal::INT).expect("a signal");
        });
        let stepped = runner.stepped(code);
        assert_eq!((code, &*runner.of_steps["review"]["outcome"]), (130, "incomplete"), "{stepped}");
        assert!(stepped.summary.contains("the run was interrupted"), "{stepped}");
        runner.step.finish();
    }
}
