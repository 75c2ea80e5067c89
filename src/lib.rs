//! placeholder
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod evidence;
pub mod git;
pub mod present;
pub mod review;
pub mod rules;
pub mod store;
pub mod syntax;
pub mod sys;
pub mod tools;
pub mod workspace;
