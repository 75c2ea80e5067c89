//! Rendering the templates, the user's versions among them. Main type: [`Prompts`].

use std::fmt::Write as _;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};
use sha2::{Digest as _, Sha256};

use super::assistant::{AssistantVars, FindingVars};
use super::data::contains_text;
use super::error::PromptError;
use super::part::{CrossPartVars, PartVars};
use super::question::{QuestionVars, TaskVars};
use super::vars::{ChangeVars, LastTurnVars, MakingRoomVars, SystemVars, nothing};
use super::verification::VerificationVars;
use super::{PromptTemplate, TEMPLATES};
use crate::domain::id::{hash_part, hex};

/// All templates, compiled and tried. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Prompts {
    compiled: Arc<CompiledPrompts>,
    /// Random part of the guidelines' mark, which makes it unpredictable; empty if nothing is sent.
    salt: Arc<str>,
}

#[derive(Debug)]
struct CompiledPrompts {
    environment: Environment<'static>,
    hash: String,
}

impl Prompts {
    /// Compiles the built-in templates.
    pub fn built_in() -> Result<Self, PromptError> {
        Self::with_overrides(Vec::new())
    }

    /// Compiles the built-in templates, some of them replaced by the user's: the names of files (`system.md`) and their texts.
    ///
    /// Every template is rendered with samples at once, so that an error in one is reported before any request is sent.
    pub fn with_overrides(overrides: Vec<(String, String)>) -> Result<Self, PromptError> {
        let mut environment = environment()?;
        let mut texts: Vec<String> = TEMPLATES.iter().map(|template| template.text.to_owned()).collect();
        let mut changed = Vec::new();
        for (name, text) in overrides {
            let place = TEMPLATES.iter().position(|template| template.name == name);
            let Some((at, own)) = place.and_then(|at| Some((at, texts.get_mut(at)?))) else {
                return Err(PromptError::Unknown { name, known: Self::names().collect::<Vec<_>>().join(", ") });
            };
            *own = text;
            changed.push(at);
        }
        let mut hash = Sha256::new();
        for (template, text) in TEMPLATES.iter().zip(&texts) {
            for part in [template.name, text] {
                hash_part(&mut hash, part);
            }
            let added = environment.add_template_owned(template.name, text.clone());
            added.map_err(|error| broken(template.name, text, &error))?;
        }
        let compiled = Arc::new(CompiledPrompts { environment, hash: hex(&hash.finalize()) });
        let prompts = Self { compiled, salt: Arc::default() };
        changed.into_iter().filter_map(|at| TEMPLATES.get(at)).try_for_each(|template| prompts.try_out(template))?;
        Ok(prompts)
    }

    /// Returns the names of all templates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TEMPLATES.iter().map(|template| template.name)
    }

    /// Returns the text of a built-in template.
    pub fn builtin(name: &str) -> Option<&'static str> {
        TEMPLATES.iter().find(|template| template.name == name).map(|template| template.text)
    }

    /// Returns all templates as they are used: their names and texts, in the order of the table.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        TEMPLATES.iter().filter_map(|template| {
            let used = self.compiled.environment.get_template(template.name).ok()?;
            Some((template.name, used.source().to_owned()))
        })
    }

    /// Returns the SHA-256 over the names and texts of all templates, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.compiled.hash
    }

    /// Returns the same templates with the random part of a run's marks. The same salt gives the same texts.
    #[must_use]
    pub fn salted(self, salt: &str) -> Self {
        Self { salt: salt.into(), ..self }
    }

    /// Returns the random part; may be empty.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// Returns the system message: the role and the duties of the model.
    pub fn system(&self, vars: &SystemVars) -> Result<String, PromptError> {
        self.render("system.md", &vars.value())
    }

    /// Returns the first message: the change.
    pub fn change(&self, vars: &ChangeVars) -> Result<String, PromptError> {
        self.render("change.md", &vars.value(&self.salt))
    }

    /// Returns the first message about a part of a change.
    pub fn part(&self, change: &ChangeVars, vars: &PartVars) -> Result<String, PromptError> {
        self.render("part.md", &vars.value(change, &self.salt))
    }

    /// Returns the first message of the cross-part pass.
    pub fn cross_part(&self, vars: &CrossPartVars) -> Result<String, PromptError> {
        self.render("across.md", &vars.value())
    }

    /// Returns the message to a model that stopped without saying that it is done.
    pub fn nudge(&self) -> Result<String, PromptError> {
        self.plain("nudge.md")
    }

    /// Returns the message to a model that has one turn left.
    pub fn last_turn(&self, vars: &LastTurnVars) -> Result<String, PromptError> {
        self.render("last_turn.md", &vars.value())
    }

    /// Returns the message that announces which results will be removed from the conversation.
    pub fn making_room(&self, vars: &MakingRoomVars) -> Result<String, PromptError> {
        self.render("making_room.md", &vars.value())
    }

    /// Returns the message to a model that had its last turn, and has more of them now.
    pub fn resume(&self) -> Result<String, PromptError> {
        self.plain("resumed.md")
    }

    /// Returns the message to a model that wrote a call as text.
    pub fn leaked_markup(&self) -> Result<String, PromptError> {
        self.plain("leaked_markup.md")
    }

    /// Returns the message to a model whose response was empty.
    pub fn empty_answer(&self) -> Result<String, PromptError> {
        self.plain("empty_answer.md")
    }

    /// Returns the message to a model whose response was cut.
    pub fn output_limit(&self) -> Result<String, PromptError> {
        self.plain("output_limit.md")
    }

    /// Returns the message to a model whose calls were all unreadable.
    pub fn malformed_calls(&self) -> Result<String, PromptError> {
        self.plain("malformed_calls.md")
    }

    /// Returns the message to a model whose last turns made no progress.
    pub fn no_progress(&self) -> Result<String, PromptError> {
        self.plain("stalled.md")
    }

    /// Returns the description of tool calls in text; it precedes the tool catalogue in the system message.
    pub fn text_protocol(&self) -> Result<String, PromptError> {
        self.plain("text_protocol.md")
    }

    /// Returns the message to a model that calls tools in text, with unreadable calls.
    pub fn text_repair(&self) -> Result<String, PromptError> {
        self.plain("text_repair.md")
    }

    /// Returns the message to a model that must call tools in text from now on.
    pub fn text_switch(&self) -> Result<String, PromptError> {
        self.plain("text_switch.md")
    }

    /// Returns the message to a person's assistant: the change, for it to review with our tools.
    pub fn assistant_review(&self, change: &ChangeVars, vars: &AssistantVars) -> Result<String, PromptError> {
        self.render("assistant_review.md", &vars.value(change))
    }

    /// Returns the message to a person's assistant: one finding, for it to explain and to judge.
    pub fn explain_finding(&self, vars: &FindingVars) -> Result<String, PromptError> {
        self.render("explain_finding.md", &vars.value())
    }

    /// Returns the system message of the verifying model.
    pub fn verification(&self, vars: &SystemVars) -> Result<String, PromptError> {
        self.render("second_look.md", &vars.value())
    }

    /// Its first message: one finding.
    pub fn verification_finding(&self, vars: &VerificationVars) -> Result<String, PromptError> {
        self.render("second_look_finding.md", &vars.value())
    }

    /// Returns the message to the verifying model if it stopped without a verdict.
    pub fn verification_nudge(&self) -> Result<String, PromptError> {
        self.plain("second_look_nudge.md")
    }

    /// Returns the message to the verifying model before its last turn.
    pub fn verification_last_turn(&self, vars: &LastTurnVars) -> Result<String, PromptError> {
        self.render("second_look_last_turn.md", &vars.value())
    }

    /// Returns the system message of a model that answers a question about a saved review.
    pub fn ask(&self) -> Result<String, PromptError> {
        self.plain("ask.md")
    }

    /// Returns its first message: the review and the question.
    pub fn ask_question(&self, vars: &QuestionVars) -> Result<String, PromptError> {
        self.render("ask_question.md", &vars.value())
    }

    /// Returns findings as a task for a coding agent.
    pub fn fix_findings(&self, vars: &TaskVars) -> Result<String, PromptError> {
        self.render("fix_findings.md", &vars.value())
    }

    fn plain(&self, name: &'static str) -> Result<String, PromptError> {
        self.render(name, &nothing())
    }

    fn render(&self, name: &'static str, vars: &Value) -> Result<String, PromptError> {
        let fault = |error: Error| broken(name, "", &error);
        let template = self.compiled.environment.get_template(name).map_err(fault)?;
        let text = template.render(vars.clone()).map_err(|error| broken(name, template.source(), &error))?;
        let whole = TEMPLATES.iter().find(|template| template.name == name).map_or(&[][..], |template| template.whole);
        for variable in whole {
            let value = vars.get_attr(variable).map_err(fault)?;
            let needed = value.as_str().unwrap_or_default();
            if !contains_text(&text, needed) {
                return Err(PromptError::Dropped { name: name.to_owned(), variable: (*variable).to_owned() });
            }
        }
        Ok(text)
    }

    /// Renders a template with samples, after looking for variables that it does not get.
    fn try_out(&self, template: &PromptTemplate) -> Result<(), PromptError> {
        let known = known(template);
        let compiled = self.compiled.environment.get_template(template.name);
        let compiled = compiled.map_err(|error| broken(template.name, "", &error))?;
        let globals: Vec<&str> = self.compiled.environment.globals().map(|(name, _)| name).collect();
        let mut unknown: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
        unknown.retain(|name| !known.contains(name) && !globals.contains(&name.as_str()));
        unknown.sort();
        if let Some(variable) = unknown.into_iter().next() {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let names_it = |line: &str| line.split(|c| !is_part(c)).any(|word| word == variable);
            let line = compiled.source().lines().position(names_it).map_or(1, |at| at + 1);
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(PromptError::Variable { name: template.name.to_owned(), line, variable, known });
        }
        (template.samples)().iter().try_for_each(|sample| self.render(template.name, sample).map(drop))
    }
}

/// Returns the variables of a template.
fn known(template: &PromptTemplate) -> Vec<String> {
    let samples = (template.samples)();
    let names = samples.first().and_then(|sample| sample.try_iter().ok());
    names.into_iter().flatten().map(|name| name.to_string()).collect()
}

fn environment() -> Result<Environment<'static>, PromptError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_debug(true);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| broken("syntax", "", &error))?);
    Ok(environment)
}

/// Converts an error of the template engine, with the part of the template it is about.
fn broken(name: &str, source: &str, error: &Error) -> PromptError {
    let mut problem = error.kind().to_string();
    if let Some(detail) = error.detail() {
        let _ = write!(problem, ": {detail}");
    }
    let piece = error.range().and_then(|range| source.get(range)).map(str::trim).filter(|piece| !piece.is_empty());
    if let Some(piece) = piece.filter(|piece| piece.len() <= 80 && !piece.contains('\n')) {
        let _ = write!(problem, " (at `{piece}`)");
    }
    PromptError::Broken { name: error.name().unwrap_or(name).to_owned(), line: error.line().unwrap_or(1), problem }
}

#[cfg(test)]
mod tests {
    use super::super::data::UntrustedText;
    use super::*;

    fn with(name: &str, text: &str) -> Result<Prompts, PromptError> {
        Prompts::with_overrides(vec![(name.to_owned(), text.to_owned())])
    }

    #[test]
    fn every_file_of_the_folder_is_a_template_that_renders_with_its_samples() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.collect();
        let mut names: Vec<_> = Prompts::names().collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
        let prompts = Prompts::built_in().unwrap();
        for template in TEMPLATES {
            prompts.try_out(template).unwrap();
        }
    }

    #[test]
    fn every_variable_is_used_and_documented() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/prompts.md");
        let page = std::fs::read_to_string(page).unwrap();
        let prompts = Prompts::built_in().unwrap();
        for template in TEMPLATES {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", template.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not documented", template.name));
            let used = prompts.compiled.environment.get_template(template.name).unwrap().undeclared_variables(false);
            for variable in known(template) {
                assert!(used.contains(&variable), "{} has no use for {variable}", template.name);
                assert!(row.contains(&format!("`{variable}`")), "{variable} of {} is not documented", template.name);
            }
        }
    }

    #[test]
    fn messages_in_mid_conversation_say_what_they_are_given() {
        let prompts = Prompts::built_in().unwrap();
        let last = prompts.last_turn(&LastTurnVars { reason: "the limit of 40 turns is reached".into() }).unwrap();
        let plain = [
            prompts.nudge(),
            prompts.leaked_markup(),
            prompts.empty_answer(),
            prompts.output_limit(),
            prompts.malformed_calls(),
            prompts.no_progress(),
            prompts.text_repair(),
            prompts.text_switch(),
            prompts.verification_nudge(),
            prompts.verification_last_turn(&LastTurnVars { reason: "8 turns are used up".into() }),
        ];
        let results = "- search_in_files {\"pattern\":\"x\"}".to_owned();
        let room = prompts.making_room(&MakingRoomVars { results }).unwrap();
        let all: Vec<String> = plain.into_iter().map(Result::unwrap).chain([last, room]).collect();
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn the_users_template_takes_the_place_of_ours_and_changes_the_hash() {
        let (ours, theirs) = (Prompts::built_in().unwrap(), with("nudge.md", "Go on.\n").unwrap());
        assert_eq!(theirs.nudge().unwrap(), "Go on.");
        assert_eq!(theirs.empty_answer(), ours.empty_answer());
        assert_ne!(theirs.hash(), ours.hash());
        assert_eq!((ours.hash().len(), ours.hash()), (64, Prompts::built_in().unwrap().hash()));
        assert_eq!(with("nudge.md", Prompts::builtin("nudge.md").unwrap()).unwrap().hash(), ours.hash());
    }

    #[test]
    fn a_fault_in_a_users_template_is_told_with_its_place_before_it_is_used() {
        let told = |name: &str, text: &str| with(name, text).unwrap_err().to_string();
        let all = [
            told("sytem.md", "x"),
            told("nudge.md", "one\ntwo {% if %}\n"),
            told("last_turn.md", "{{ reason }}\n\n{{ reasons }}"),
            told("last_turn.md", "{{ reason }}\n{{ reason.length.x }}"),
            told("last_turn.md", "{{ reason }}\n{{ reason|shout }}"),
            told("last_turn.md", "Finish now."),
            told("change.md", "{{ change }}{{ commits }}{{ files }}{{ leads }}{{ diffs|upper }}"),
            told("system.md", "Do as you like."),
            told("nudge.md", "a\n{% include 'nudge.md' %}"),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn what_is_inserted_is_never_read_as_a_template() {
        let prompts = Prompts::built_in().unwrap();
        let instructions = "{{ 7 * 7 }} {% include 'nudge.md' %} <b>&".to_owned();
        assert!(
            prompts
                .system(&SystemVars { instructions: instructions.clone(), builds: false })
                .unwrap()
                .contains(&instructions)
        );
        let diffs = UntrustedText::new("+{{ 7 * 7 }}{# x #}".to_owned());
        let message = prompts.change(&ChangeVars { diffs, ..ChangeVars::default() }).unwrap();
        assert!(message.contains("+{{ 7 * 7 }}{# x #}"));
    }
}
