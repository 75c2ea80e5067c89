//! `review` reviews a change with a model or with its built-in rules. This page is the architecture; each module's page has the details.
//!
//! # Data flow
//!
//! ```text
//! cli ┬▶ app ─▶ git ─────────────▶ review ─────────────▶ present ─▶ terminal · file
//! mcp ┤   │      ChangeSet         ▲  ▲  │   Review └──▶ publish ─▶ forge (a pull request)
//! lsp ┘   ├─▶ workspace (the reviewed tree) ┘  │  └─ rules ─▶ claims ─▶ evidence ─▶ findings
//!         ├─▶ store (saved runs)               └─ events ─▶ progress · NDJSON · notifications
//!         ├─▶ forge (pull requests and their conversations) ─▶ resources · tools
//!         └─▶ document (presented by an assistant) ─▶ references checked by evidence ─▶ resources · terminal
//! ```
//!
//! [`app::review`] is this picture in code: collect → open the trees → run the engine → save → deliver.
//!
//! 1. [`git`] resolves the range and collects a [`ChangeSet`](domain::change::ChangeSet): commits, files, hunks, patch texts.
//! 2. [`workspace`] opens both sides as trees. It needs no checkout, and nothing outside the tree can be reached.
//! 3. [`review`] runs an engine: [`rules`] alone, or a model of [`llm`] that reads with [`tools`], in one conversation or in one for each
//!    part of a large change (`review::parts`). It makes [`Claim`](domain::claim::Claim)s; those of a model are verified in a separate
//!    conversation (`review::verify`).
//! 4. [`evidence`] checks each claim against the text: it becomes a [`Finding`](domain::finding::Finding), or is withheld and counted.
//!    Findings of the previous review are mapped onto the current change (`app::prepare::previous`), and those that the project dismissed are marked
//!    (`app::prepare::dismissals`); [`review::ReviewDraft::finish`] combines them.
//! 5. [`present`] renders the one [`Review`](domain::review::Review) for each surface; [`store`] saves the run.
//! 6. If requested, [`publish`] posts it on a pull request: a draft checked against the hunks, a plan based on the existing comments, and a
//!    receipt of the result.
//! 7. The inputs of a run are saved before its engine begins (`app::prepare::inputs`), and all external responses in its journal: so it can be resumed
//!    ([`app::resume`]) and replayed ([`app::replay`]).
//!
//! A workflow step does the same with another beginning and end: [`app::action`] reads the event and the inputs, and ends with outputs, a job
//! summary and one exit code. The artefact of a run without permissions is hostile until `app::post::artefact` has verified it against the current
//! pull request.
//!
//! [`app::evaluate`] benchmarks all this: cases with known defects, reviewed like any change, and scored by [`domain::eval`].
//! [`app::run_batch`] makes many reviews side by side, with one budget, and one index of them all ([`domain::batch`]).
//!
//! # One review, hop by hop
//!
//! From the start of the program to the printed finding, for a change that a model reviews in one conversation. A test holds that each
//! function is called by one above it.
//!
//! 1. `src/cli/mod.rs` `main` reads the command line and chooses the subcommand.
//! 2. `src/cli/review.rs` `run` turns the flags into a job, and shows progress and result.
//! 3. `src/app/review/job.rs` `review` makes and delivers one review.
//! 4. `src/app/prepare/change.rs` `collect` resolves the settings and opens both trees.
//! 5. `src/git/collect.rs` `collect` reads commits, files and hunks.
//! 6. `src/app/review/engine.rs` `run_engine` chooses the rules or a model.
//! 7. `src/review/by_model.rs` `review_with_model` is the whole review with a model.
//! 8. `src/rules/run.rs` `run` finds what the rules report, as leads.
//! 9. `src/review/parts/loops.rs` `review` holds the conversation, or one for each part.
//! 10. `src/review/conversation/driver.rs` `run` goes from turn to turn: request, calls, results.
//! 11. `src/review/conversation/exchange.rs` `respond` asks the model, or the recording.
//! 12. `src/review/conversation/attempts.rs` `request_turn` tries again where that helps.
//! 13. `src/review/conversation/reviewer.rs` `make_calls` makes the calls of a turn.
//! 14. `src/review/builder/mod.rs` `call` gives a call of the model to its tool.
//! 15. `src/review/builder/engine_tools/report_finding.rs` `read` reads the report of a finding.
//! 16. `src/review/builder/report.rs` `report` accepts or refuses it.
//! 17. `src/evidence/anchor/mod.rs` `anchor` proves that its quote stands where it says.
//! 18. `src/review/outcome/draft/mod.rs` `finish` computes the outcome and the coverage.
//! 19. `src/app/review/deliver.rs` `deliver` saves the review and writes its files.
//! 20. `src/present/terminal/mod.rs` `render` writes it for a terminal.
//!
//! # Layers
//!
//! Imports point down; modules of one layer never import each other, and types shared by two of them belong in [`domain`]. Within a folder
//! the modules form layers as well: what two of them share stands in the lower one, in a file of its own, or in their `mod.rs`; only a
//! parent and its children may import each other. `tests/it/architecture.rs` enforces this.
//!
//! | layer | folder | contents |
//! | --- | --- | --- |
//! | 0 | [`domain`] | plain data and pure functions over text |
//! | 1 | [`sys`] | thin wrappers around the operating system and libraries |
//! | 2 | [`config`] | settings: layers and permissions |
//! | 2 | [`git`] | collection: range, diff, renames, attributes, patches |
//! | 2 | [`workspace`] | the reviewed tree |
//! | 2 | [`syntax`] | grammars; the only place that names tree-sitter and ast-grep |
//! | 2 | [`document`] | presented Markdown: sections, references |
//! | 2 | [`present`] | one pure file per output |
//! | 2 | [`store`] | saved runs and presented documents |
//! | 2 | [`queue`] | jobs that several workers share |
//! | 2 | [`build`] | the project's own builds, tests and linters, and what their output means |
//! | 2 | [`prompt`] | the prompts: templates with typed variables |
//! | 2 | [`llm`] | models: one turn at a time, with any provider |
//! | 2 | [`forge`] | pull requests: the client, and parsers for bots' comments |
//! | 2 | [`editor`] | the window of an editor: the client of its Dialectic extension |
//! | 3 | [`evidence`] | claims and references checked against text |
//! | 3 | [`rules`] | the engine that needs no model |
//! | 4 | [`tools`] | the tools of a model |
//! | 5 | [`review`] | the engine, and the one place that defines `complete` |
//! | 5 | [`publish`] | posting on a pull request: draft, plan, execution |
//! | 6 | [`app`] | wiring, a folder for each use case: `context` ← `prepare`, `runner`, `editor` ← `review`, `findings`, `inspect` ← `post` ← `action`, `service` and others |
//! | 7 | [`web`] | adapter for programs that speak HTTP: a worker's numbers, GitHub's deliveries |
//! | 8 | [`mcp`] | adapter for other agents, over MCP |
//! | 8 | [`lsp`] | adapter for editors, over LSP |
//! | 9 | [`cli`] | the command line; it also starts the servers |
//!
//! # Where do I add …
//!
//! | new | file | line |
//! | --- | --- | --- |
//! | kind of guideline file | `app/prepare/guidelines/find.rs` | a kind in `domain/guideline.rs`, its row in `docs/guidelines.md` |
//! | output | `present/<name>.rs` | `PRESENTERS` in `present/mod.rs`, its row in `docs/formats.md` |
//! | tool | `tools/<name>.rs` | `TOOLS` in `tools/mod.rs` |
//! | tool that changes the review | `review/builder/engine_tools/<name>.rs` | `ENGINE_TOOLS` and `EngineCall` in `review/builder/engine_tools/mod.rs` |
//! | build tool | a row of `TOOLS` in `build/tools.rs` | its row in `docs/build.md` |
//! | parser of a tool's output | `build/parsers/<name>.rs` | `PARSERS` in `build/parsers/mod.rs`, fixtures in `fixtures/build/<name>/` |
//! | rule | a document in `rules/packs/<language>.yml`, fixtures in `fixtures/rules/<language>/<id>/` | — |
//! | rule pack | `rules/packs/<language>.yml` | `PACKS` in `rules/mod.rs` |
//! | language-independent check | `rules/checks/<name>.rs` | `CHECKS` in `rules/checks/mod.rs` |
//! | key of a rule | a field of `Document` in `rules/document.rs` | its name in `KEYS` there, its row in `docs/writing-rules.md` |
//! | setting | a row in `config`, its default in `config/defaults.toml` | — |
//! | prompt | `prompts/<name>.md` | `TEMPLATES` in `prompt/mod.rs`, a method of `Prompts`, a row in `docs/prompts.md` |
//! | review bot whose remarks are parsed | `forge/bots/<name>.rs` | `BOTS` in `forge/bots/mod.rs`, cases in `fixtures/remarks/<name>/` |
//! | tool call markup that models leak | a row of `DIALECTS` in `llm/markup.rs` | its samples in `fixtures/leaks/<dialect>/`, its row in `docs/weak-models.md` |
//! | provider of models | a row in `llm/providers.toml` | its name in `config/keys.rs` |
//! | assistant that reviews | a row of `AGENTS` in `llm/agent/table.rs` | its row in `docs/agents.md`, its case in `.ci/assistants.py` |
//! | tool of the MCP server | `mcp/tools/<name>.rs` | `tools()` in `mcp/tools/mod.rs`; a read-only tool is a row of `TOOLS` and is served automatically |
//! | resource of the MCP server | `mcp/resources/<name>.rs` | `FAMILIES` in `mcp/resources/mod.rs` |
//! | prompt of the MCP server | `mcp/prompts/<name>.rs` | `PROMPTS` in `mcp/prompts/mod.rs` |
//! | command of the language server | a function in `lsp/commands.rs` | its name in `ALL` there, its row in `docs/editors.md` |
//! | client that `review mcp install` knows | a row of `CLIENTS` in `app/clients/mod.rs` | its row in `docs/mcp.md` |
//! | event | a variant in `domain/event.rs` | its row in `docs/events.md` |
//! | input of the Action | a row of `INPUTS` in `app/action/variables.rs`, its parsing in `inputs.rs` | its two in `action.yml` |
//! | case of an evaluation | `fixtures/eval/<name>/`, the scripted model's responses in `model.jsonl` | its rows in `docs/eval.md` |
//! | subcommand | `cli/<name>.rs` | a variant and an arm in `cli/mod.rs` |
//!
//! # Guarantees and their place
//!
//! *Evidence*: [`evidence::anchor`] is the only way from a claim to a finding. *No false pass*: [`review::ReviewDraft::finish`] computes the
//! outcome from the actual coverage. *Safe on hostile changes*: secrets are masked once, in [`FileText`](domain::text::FileText), and control
//! characters are stripped once per surface, in [`present`] and [`publish`]; commands to a build log are escaped once, where [`cli`] writes;
//! settings come from the target commit; other programs are started in [`sys::process`] only. *No checkout*: see [`workspace`].

pub mod app;
pub mod build;
pub mod cli;
pub mod config;
pub mod document;
pub mod domain;
pub mod editor;
pub mod evidence;
pub mod forge;
#[cfg(test)]
#[path = "../tests/it/support/generated.rs"]
mod generated;
pub mod git;
pub mod llm;
pub mod lsp;
pub mod mcp;
pub mod present;
pub mod prompt;
pub mod publish;
pub mod queue;
pub mod review;
pub mod rules;
pub mod store;
pub mod syntax;
pub mod sys;
pub mod tools;
pub mod web;
pub mod workspace;
