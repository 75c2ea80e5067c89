//! `review` reviews a change the way a careful senior engineer would. This page is the architecture; each folder's page says more.
//!
//! # The way of the data
//!
//! ```text
//! cli ┬▶ app ─▶ git ─────────────▶ review ─────────────▶ present ─▶ terminal · file
//! mcp ┘   │      ChangeSet         ▲  ▲  │   Review └──▶ publish ─▶ forge (a pull request)
//!         ├─▶ workspace (the reviewed tree) ┘  │  └─ rules ─▶ claims ─▶ evidence ─▶ findings
//!         ├─▶ store (kept runs)                └─ events ─▶ progress · NDJSON · notifications
//!         ├─▶ forge (which pull request, and what is said on it) ─▶ resources · tools
//!         └─▶ document (what an assistant presents) ─▶ references checked by evidence ─▶ resources · terminal
//! ```
//!
//! [`app::review`] is this picture in code: collect → open the trees → run the engine → keep → deliver.
//!
//! 1. [`git`] resolves the range and collects a [`ChangeSet`](domain::change::ChangeSet): commits, files, hunks, patch texts.
//! 2. [`workspace`] opens both sides as trees. No checkout is needed and nothing outside the tree can be reached.
//! 3. [`review`] runs an engine: [`rules`] alone, or a model of [`llm`] that reads with [`tools`], in one conversation or in one for each part of a
//!    large change (`review::units`). It makes [`Claim`](domain::claim::Claim)s; those of a model get a second look in a fresh conversation
//!    (`review::verify`).
//! 4. [`evidence`] checks each claim against the text: it becomes a [`Finding`](domain::finding::Finding), or is withheld and counted.
//!    What the review before this one said is followed to where it is today (`app::prior`), and what the project dismissed is marked
//!    (`app::dismissed`); what that makes of a finding is decided in [`review::Draft::finish`].
//! 5. [`present`] renders the one [`Review`](domain::review::Review) for each surface; [`store`] keeps the run.
//! 6. Where it was asked for, [`publish`] puts it on a pull request: a draft checked against the hunks, a plan against what stands there already,
//!    and a receipt of what became of it.
//! 7. What a run is given is kept before its engine begins (`app::given`), and what it takes from outside in its journal: so it can be taken up
//!    again ([`app::resume_and_post`]) and told again ([`app::replay`]).
//!
//! A step of a workflow is the same with another beginning and end: [`app::action`] reads the event and the inputs, and ends with outputs, a job
//! summary and one exit code. What a run without rights left is hostile until `app::artefact` has held it to the pull request as it is now.
//!
//! How well all this finds what is wrong is measured by [`app::evaluate`]: cases with known defects, reviewed as anybody's change is, and
//! scored by [`domain::eval`].
//!
//! # Layers
//!
//! Imports point down; rooms on one floor never meet, and what two of them share is a [`domain`] type. `tests/it/architecture.rs` holds
//! the sources to this table.
//!
//! | floor | folder | room for |
//! | --- | --- | --- |
//! | 0 | [`domain`] | plain data and pure functions over text |
//! | 1 | [`sys`] | the outside world in thin wrappers |
//! | 2 | [`config`] | settings: layers, who may set what |
//! | 2 | [`git`] | collection: range, diff, renames, attributes, patches |
//! | 2 | [`workspace`] | the reviewed tree |
//! | 2 | [`syntax`] | grammars; the only place that names tree-sitter and ast-grep |
//! | 2 | [`document`] | presented Markdown: sections, references |
//! | 2 | [`present`] | one pure file per output |
//! | 2 | [`store`] | kept runs and presented documents |
//! | 2 | [`prompt`] | the words for the model: templates with typed variables |
//! | 2 | [`llm`] | models: one turn at a time, whoever serves them |
//! | 2 | [`forge`] | pull requests: the client, and what bots write on them; the only place that names octocrab |
//! | 3 | [`evidence`] | claims and references checked against text |
//! | 3 | [`rules`] | the reviewer that needs no model |
//! | 4 | [`tools`] | what a model may call |
//! | 5 | [`review`] | the engine, and the one place that decides what `complete` means |
//! | 5 | [`publish`] | what a review puts on a pull request: draft, plan, carrying out |
//! | 6 | [`app`] | wiring |
//! | 7 | [`mcp`] | other agents, over MCP |
//! | 8 | [`cli`] | people; it also starts the servers |
//!
//! # Where do I add …
//!
//! | new | file | line |
//! | --- | --- | --- |
//! | custom of guideline files | `app/guidelines/find.rs` | a kind in `domain/guideline.rs`, its row in `docs/guidelines.md` |
//! | output | `present/<name>.rs` | `PRESENTERS` in `present/mod.rs`, its row in `docs/formats.md` |
//! | tool | `tools/<name>.rs` | `TOOLS` in `tools/mod.rs` |
//! | tool that changes the review | `review/engine_tools/<name>.rs` | `ENGINE_TOOLS` in `review/engine_tools/mod.rs` |
//! | rule | a document in `rules/packs/<language>.yml`, fixtures in `fixtures/rules/<language>/<id>/` | — |
//! | rule pack | `rules/packs/<language>.yml` | `PACKS` in `rules/mod.rs` |
//! | check that is blind to language | `rules/checks/<name>.rs` | `CHECKS` in `rules/checks/mod.rs` |
//! | key of a rule | a field of `Document` in `rules/document.rs` | its name in `KEYS` there, its row in `docs/writing-rules.md` |
//! | setting | a row in `config`, its default in `config/defaults.toml` | — |
//! | prompt | `prompts/<name>.md` | `TEMPLATES` in `prompt/mod.rs`, a method of `Prompts`, a row in `docs/prompts.md` |
//! | review bot whose remarks are told apart | `forge/bots/<name>.rs` | `BOTS` in `forge/bots/mod.rs`, cases in `fixtures/remarks/<name>/` |
//! | markup of calls that models leak | a row of `DIALECTS` in `llm/markup.rs` | its samples in `fixtures/leaks/<dialect>/`, its row in `docs/weak-models.md` |
//! | provider of models | a row in `llm/providers.toml` | its name in `config/keys.rs` |
//! | tool of the MCP server | `mcp/tools/<name>.rs` | `tools()` in `mcp/tools/mod.rs`; a tool that only reads is a row of `TOOLS` and is served by itself |
//! | resource of the MCP server | `mcp/resources/<name>.rs` | `FAMILIES` in `mcp/resources/mod.rs` |
//! | prompt of the MCP server | `mcp/prompts/<name>.rs` | `PROMPTS` in `mcp/prompts/mod.rs` |
//! | client that `review mcp install` knows | a row of `CLIENTS` in `app/clients/mod.rs` | its row in `docs/mcp.md` |
//! | event | a variant in `domain/event.rs` | its row in `docs/events.md` |
//! | input of the Action | a row of `INPUTS` in `app/action/given.rs`, what it means in `inputs.rs` | its two in `action.yml` |
//! | case of an evaluation | `fixtures/eval/<name>/`, what the scripted model says of it in `model.jsonl` | its rows in `docs/eval.md` |
//! | subcommand | `cli/<name>.rs` | a variant and an arm in `cli/mod.rs` |
//!
//! # Promises kept here
//!
//! *Evidence*: [`evidence::anchor`] is the only way from a claim to a finding. *Never a false green*: [`review::Draft::finish`] computes the
//! outcome from what was really seen. *Safe on hostile changes*: text is masked once, in [`FileText`](domain::text::FileText), and stripped once
//! per surface, in [`present`] and [`publish`]; what the log of a build service would obey is spelled once, where [`cli`] writes; settings come
//! from the target tip; other programs are started in [`sys::process`] alone. *No checkout*: see [`workspace`].

pub mod app;
pub mod cli;
pub mod config;
pub mod document;
pub mod domain;
pub mod evidence;
pub mod forge;
pub mod git;
pub mod llm;
pub mod mcp;
pub mod present;
pub mod prompt;
pub mod publish;
pub mod review;
pub mod rules;
pub mod store;
pub mod syntax;
pub mod sys;
pub mod tools;
pub mod workspace;
