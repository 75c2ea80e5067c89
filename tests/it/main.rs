//! The integration tests: one binary, one module per feature, on real git repositories built by `support::TestRepo`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints spare test functions but not what they call"
)]

mod support;

// One line per feature.
mod action;
mod action_gate;
mod action_steps;
#[cfg(unix)]
mod agents;
mod anchors;
mod apply;
mod architecture;
mod artefact;
mod artefact_random;
mod artefact_tampered;
mod batch;
mod big_changes;
mod briefing;
#[cfg(target_os = "linux")]
mod build_execute;
mod build_logs;
mod build_model;
#[cfg(target_os = "linux")]
mod build_sandbox;
mod build_tool;
mod builder;
mod cache;
mod cli_events;
mod cli_exit;
mod cli_json;
mod cli_model;
mod cli_pull;
mod cli_replay;
mod cli_resume;
mod cli_runs;
mod cli_streams;
mod cli_words;
mod collection;
mod collection_oddities;
mod collection_random;
mod collection_scopes;
mod commands;
mod compaction;
mod cost;
mod coverage_limits;
mod dismiss;
mod dismiss_pull;
mod doctor;
mod documents;
mod economy;
#[cfg(unix)]
mod editor;
mod eval;
mod fallback;
mod faults;
mod first_hour;
mod github_client;
mod github_client_faults;
mod github_fake;
mod growth;
mod guidelines;
mod hostile_bounds;
mod hostile_deadline;
mod hostile_folder;
mod hostile_green;
mod hostile_parse;
mod hostile_pull;
mod hostile_secrets;
mod identity;
mod impact;
mod incremental;
mod leads;
mod lsp;
mod mcp_assistants;
mod mcp_http;
mod mcp_pulls;
mod mcp_reviews;
mod mcp_session;
mod mcp_stdio;
mod model_faults;
mod model_journal;
mod model_limits;
mod model_server;
mod model_session;
mod model_trust;
mod model_windows;
mod models;
mod names;
mod open_live;
mod opening;
mod own_rules;
mod post_again;
mod post_broken_off;
mod post_faults;
mod post_first;
mod post_last;
mod post_not_clean;
mod pre_push;
mod present;
mod pull_fetch;
mod queue;
mod reading;
mod reading_for_clients;
mod recipes;
mod references;
mod replay_engine;
mod rules_docs;
mod rules_of_a_change;
mod rules_trust;
mod screens;
mod second_look;
mod second_look_limits;
mod secrets;
mod service_reviews;
mod takeover_cost;
mod text_all_along;
mod text_protocol;
mod tokens;
mod tool_command;
mod tools;
mod trust;
mod trust_attributes;
mod verification_corrections;
