//! The review as one HTML file: no network, no other file, readable without its script.
//!
//! Main items: [`PRESENTER`], [`page()`]. The layout is in the templates under `assets`, which escape every value; `markdown` renders the texts
//! of a model, `code` the lines of a diff, and both escape what they are given. The policy of the page allows its own script and style by
//! their hashes and nothing else, so that a text that got out of its place could still do nothing.

mod code;
mod files;
mod finding;
mod markdown;
mod report;

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, HtmlEscape, UndefinedBehavior, Value, context, escape_formatter};
use sha2::{Digest as _, Sha256};

use super::{Presenter, Syntax};
use crate::domain::text::{strip_block, strip_line};

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter {
    name: "html",
    extension: "html",
    syntax: Syntax::Plain,
    render: |review, _| page("report.html", report::context(review)),
};

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
const TEMPLATES: [(&str, &str); 4] = [
    ("base.html", include_str!("assets/base.html")),
    ("report.html", include_str!("assets/report.html")),
    ("batch.html", include_str!("assets/batch.html")),
    ("running.html", include_str!("assets/running.html")),
];

static ENVIRONMENT: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    // Whatever is not markup of ours is one line, stripped of what a reader cannot see, then escaped.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&escape_line(text))?),
        _ => escape_formatter(out, state, value),
    });
    TEMPLATES.into_iter().try_for_each(|(name, text)| environment.add_template(name, text))?;
    Ok(environment)
});

/// The only sources that a page may load: its own script and style.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// Renders a template with its values.
pub(super) fn page(template: &str, values: Value) -> Vec<u8> {
    let assets = context! { policy => POLICY.as_str(), style => safe(STYLE), script => safe(SCRIPT) };
    let render =
        |environment: &Environment<'_>| environment.get_template(template)?.render(context! { ..values, ..assets });
    // The templates are ours and tested; a page that says so is still better than one that looks like a review without findings.
    let rendered =
        ENVIRONMENT.as_ref().map_err(ToString::to_string).and_then(|it| render(it).map_err(|e| e.to_string()));
    let text = rendered.unwrap_or_else(|error| {
        let error = escape(&error);
        format!("<!doctype html><title>Not rendered</title><p>This report could not be rendered: {error}. Use another format.\n")
    });
    text.into_bytes()
}

/// Marks HTML of ours.
fn safe(html: impl Into<String>) -> Value {
    Value::from_safe_string(html.into())
}

/// Escapes text for HTML, stripped of what a reader cannot see.
fn escape(text: &str) -> String {
    // A slash ends no element and no value; escaped, paths would be hard to read in the source.
    HtmlEscape(&strip_block(text)).to_string().replace("&#x2f;", "/")
}

/// Escapes text likewise, as one line.
fn escape_line(text: &str) -> String {
    escape(&strip_line(text))
}

/// Renders text as code in a line.
fn inline_code(text: &str) -> String {
    format!("<code>{}</code>", escape_line(text))
}

#[cfg(test)]
mod tests;
