//! How much of a text a rule has to see. Main type: [`TextNeeds`].
//!
//! Reads the conditions of a rule as JSON. Which part of a text is parsed belongs in `excerpt`.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::grammar::Grammar;
use super::matches::PassedGaps;

/// The kinds of the node that is all of a text.
const TEXT_KINDS: &[&str] = &["document", "module", "program", "source_file", "stream", "translation_unit"];
/// The kinds of nodes in a text of which an excerpt may have a part: types and modules.
const TYPE_KINDS: &[&str] = &[
    "abstract_class_declaration",
    "ambient_declaration",
    "class",
    "class_body",
    "class_declaration",
    "class_definition",
    "declaration_list",
    "impl_item",
    "interface_body",
    "interface_declaration",
    "internal_module",
    "mod_item",
    "namespace_definition",
    "trait_item",
];
/// The kinds of a function of a script that may stand for a module, and of its body.
const MODULE_KINDS: &[&str] = &["arrow_function", "function_expression", "statement_block"];
/// The kinds of functions of a script that have a name.
const NAMED_KINDS: &[&str] = &["function_declaration"];
/// The kinds of nodes that are never beside a statement of a script, or of Python, that is in no function.
const INNER_KINDS: &[&str] = &[
    "ERROR",
    "catch_clause",
    "elif_clause",
    "else_clause",
    "except_clause",
    "pair",
    "spread_element",
    "statement_block",
    "string",
    "switch_case",
    "switch_default",
];
/// The kinds of nodes that are beside the functions of a language in which statements are in functions only. Attributes are in the block of
/// what they are about.
const OUTER_KINDS: &[&str] = &[
    "block_comment",
    "comment",
    "const_declaration",
    "const_item",
    "function_declaration",
    "function_definition",
    "function_item",
    "line_comment",
    "method_declaration",
    "static_item",
    "type_item",
    "var_declaration",
];

/// The kinds of nodes in imports and in the heads of texts, which excerpts leave out where rules look at one function at a time.
const IMPORT_KINDS: &[&str] = &[
    "extern_crate_declaration",
    "foreign_mod_item",
    "import_declaration",
    "import_spec",
    "import_spec_list",
    "package_clause",
    "package_identifier",
    "scoped_use_list",
    "use_as_clause",
    "use_declaration",
    "use_list",
    "use_wildcard",
];
/// Beginnings of patterns for them.
const IMPORT_PATTERNS: &[&str] = &["extern ", "import ", "package ", "pub use ", "use "];

/// The kinds of nodes whose children an excerpt has all or none of, but in Python.
const BLOCK_KINDS: &[&str] = &["block", "compound_statement", "statement_block"];

/// How much of a text a rule has to see, and when it is more.
#[derive(Debug, Default)]
pub(super) struct TextNeeds {
    need: TextNeed,
    /// `true` if it has to see all of a text of which an excerpt may have a part of a function.
    sees_functions: bool,
    /// Searches of the rule in the words of all of a text: if one is on one side of a change only, code that it does not affect may match.
    words: Vec<Regex>,
    /// Searches in the words of a function that may stand for a module.
    function_words: Vec<Regex>,
}

/// The part of a text that a rule is matched against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextNeed {
    /// The code that the change affects, and all of it if a match would depend on the rest of a function.
    #[default]
    Affected,
    /// The code that the change affects: what else it asks for is in each excerpt.
    AffectedOnly,
    /// All of it if something matches in the affected code, or that would depend on the rest of the text.
    OnMatch,
    /// All of it.
    Always,
}

impl TextNeed {
    /// Checks whether a rule has to see more than an excerpt in which it `passed` some code that is left out, and matches or does not.
    pub fn is_more(self, passed: PassedGaps, has_match: bool) -> bool {
        match self {
            Self::Affected => passed == PassedGaps::InFunction,
            Self::AffectedOnly => false,
            Self::OnMatch => passed != PassedGaps::None || has_match,
            Self::Always => true,
        }
    }
}

impl TextNeeds {
    /// Returns the need for a text, given the other side of its change. `has_gaps`: an excerpt of it may have a part of a function.
    pub(super) fn on(&self, (text, other): (&str, Option<&str>), has_gaps: bool) -> TextNeed {
        let is_same = |words: &Regex| other.is_some_and(|other| words.is_match(text) == words.is_match(other));
        let sees_functions = || self.sees_functions || !self.function_words.iter().all(is_same);
        let is_always = !self.words.iter().all(is_same) || has_gaps && sees_functions();
        if is_always { TextNeed::Always } else { self.need }
    }

    /// Returns the needs of a rule, with its utilities.
    pub(super) fn of(grammar: Grammar, rule: &Value) -> Self {
        let utils = rule.get("utils").unwrap_or(&Value::Null);
        let (inside, needs) = (Vec::new(), Self::default());
        let mut conditions = Conditions { grammar, rule, utils, inside, needs };
        for part in ["rule", "constraints"] {
            conditions.read(rule.get(part).unwrap_or(&Value::Null), NodeFacts::default(), false);
        }
        conditions.needs
    }
}

/// The conditions of a rule, while they are read.
struct Conditions<'r> {
    grammar: Grammar,
    rule: &'r Value,
    utils: &'r Value,
    /// The utilities that are being read.
    inside: Vec<&'r str>,
    needs: TextNeeds,
}

/// Facts about the node of a condition.
#[derive(Debug, Clone, Copy, Default)]
struct NodeFacts {
    kinds: NodeKinds,
    place: NodePlace,
    /// `true` if it is a statement in a block.
    is_in_block: bool,
    /// `true` if the matched code is in a function that has a name. Of the head, such a function is examined only if the change affects it.
    is_in_named: bool,
}

/// The kinds that a node may be of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum NodeKinds {
    #[default]
    Any,
    Named,
    /// An excerpt may have a part of such a node.
    Partial,
}

/// The place of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum NodePlace {
    #[default]
    InMatch,
    AroundMatch,
    /// Around the match, and it may be a function that stands for a module.
    Module,
}

impl<'r> Conditions<'r> {
    /// Reads a condition; negated: something that must not hold.
    fn read(&mut self, condition: &'r Value, node: NodeFacts, is_negated: bool) {
        match condition {
            Value::Object(fields) => {
                let node = self.facts(condition, node);
                let other = NodeFacts { is_in_named: node.is_in_named, ..NodeFacts::default() };
                for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    match name.as_str() {
                        "has" | "follows" | "precedes" => {
                            self.read_relation((name, value), node, is_negated);
                            self.read(value, other, is_negated);
                        }
                        "inside" => self.read(value, NodeFacts { place: NodePlace::AroundMatch, ..other }, is_negated),
                        "not" => self.read(value, node, !is_negated),
                        "all" | "any" => self.read(value, node, is_negated),
                        "matches" => self.read_utility(value.as_str().unwrap_or_default(), node, is_negated),
                        "regex" if node.kinds == NodeKinds::Partial => {
                            let words = value.as_str().filter(|_| is_of(condition, TEXT_KINDS));
                            match words.and_then(|words| Regex::new(words).ok()) {
                                Some(words) => self.needs.words.push(words),
                                None => self.needs.need = TextNeed::Always,
                            }
                        }
                        "regex" if node.place == NodePlace::Module => {
                            match value.as_str().and_then(|words| Regex::new(words).ok()) {
                                Some(words) => self.needs.function_words.push(words),
                                None => self.needs.sees_functions = true,
                            }
                        }
                        "stopBy" => {}
                        _ => self.read(value, other, is_negated),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.read(value, node, is_negated)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Reads a condition on what is in a node or beside it.
    fn read_relation(&mut self, (name, value): (&str, &Value), node: NodeFacts, is_negated: bool) {
        let mut need = TextNeed::Affected;
        let is_import = self.grammar.has_local_rules() && self.asks_for_import(value, &mut Vec::new());
        let (is_rest, is_in_module) = if name == "has" {
            let is_left_out = self.may_be_left_out(value);
            if node.place != NodePlace::InMatch && !is_left_out && is_asynchronous(value) {
                need = TextNeed::AffectedOnly;
            }
            let is_whole = text(value, "field").is_some_and(|field| field != "body");
            // A changed block that defines a name is examined with all that has the name.
            let is_far = node.place == NodePlace::Module && is_left_out && !is_whole && !asks_for_name(value);
            let is_of_text = node.kinds == NodeKinds::Partial || is_import && node.place != NodePlace::InMatch;
            (is_of_text && is_left_out, is_far)
        } else {
            let is_outermost = self.may_be_outermost(value);
            (!node.is_in_block && (is_outermost || is_import), self.grammar.is_script() && is_outermost)
        };
        let speaks_for = !is_negated && !node.is_in_named;
        if is_rest {
            need = if speaks_for { TextNeed::Always } else { TextNeed::OnMatch };
        }
        self.needs.need = need.max(self.needs.need);
        self.needs.sees_functions |= is_in_module && speaks_for;
    }

    /// Adds to the facts about a node those that a condition on it states.
    fn facts(&self, condition: &Value, node: NodeFacts) -> NodeFacts {
        let is_script = self.grammar.is_script();
        let is_partial = is_of(condition, TEXT_KINDS) || is_of(condition, TYPE_KINDS);
        let named = if names_kinds(condition) { NodeKinds::Named } else { NodeKinds::Any };
        let kinds = node.kinds.max(if is_partial { NodeKinds::Partial } else { named });
        let is_around = node.place != NodePlace::InMatch;
        let may_be_module = is_script && is_around && (is_of(condition, MODULE_KINDS) || kinds == NodeKinds::Any);
        NodeFacts {
            kinds,
            place: if may_be_module { NodePlace::Module } else { node.place },
            is_in_block: node.is_in_block || self.grammar != Grammar::Python && is_in_block(condition),
            is_in_named: node.is_in_named || is_script && is_around && is_all_of(condition, NAMED_KINDS),
        }
    }

    /// Checks whether an excerpt may leave out what a condition asks for. An excerpt has no syntax error, and each asynchronous function of a
    /// script whose name its code has.
    fn may_be_left_out(&self, condition: &Value) -> bool {
        match condition.get("any").and_then(Value::as_array) {
            Some(any) => any.iter().any(|one| self.may_be_left_out(one)),
            None => {
                let is_called = || is_asynchronous(condition) && asks_for_one_of(condition, &captured(self.rule));
                text(condition, "kind") != Some("ERROR") && !(self.grammar.is_script() && is_called())
            }
        }
    }

    /// Checks whether a condition asks for an import. Each of its utilities is `read` once, however often it is named.
    fn asks_for_import<'v>(&'v self, condition: &'v Value, read: &mut Vec<&'v str>) -> bool {
        match condition {
            Value::Object(fields) => fields.iter().any(|(name, value)| match (name.as_str(), value) {
                ("kind" | "selector", Value::String(kind)) => IMPORT_KINDS.contains(&kind.as_str()),
                ("pattern" | "context", Value::String(code)) => {
                    IMPORT_PATTERNS.iter().any(|begin| code.trim_start().starts_with(begin))
                }
                ("matches", Value::String(name)) if !read.contains(&name.as_str()) => {
                    read.push(name);
                    self.utils.get(name).is_some_and(|utility| self.asks_for_import(utility, read))
                }
                _ => self.asks_for_import(value, read),
            }),
            Value::Array(values) => values.iter().any(|value| self.asks_for_import(value, read)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// Checks whether a sibling that a condition asks for may be in no function.
    fn may_be_outermost(&self, condition: &Value) -> bool {
        let any = condition.get("any").and_then(Value::as_array).into_iter().flatten();
        let mut kinds = std::iter::once(condition).chain(any).filter_map(|one| text(one, "kind")).peekable();
        if self.grammar.is_script() || self.grammar == Grammar::Python {
            kinds.peek().is_none() || kinds.any(|kind| !INNER_KINDS.contains(&kind))
        } else {
            kinds.any(|kind| OUTER_KINDS.contains(&kind))
        }
    }

    fn read_utility(&mut self, name: &'r str, node: NodeFacts, is_negated: bool) {
        // A utility that names itself is read once.
        if let Some(utility) = self.utils.get(name).filter(|_| !self.inside.contains(&name)) {
            self.inside.push(name);
            self.read(utility, node, is_negated);
            self.inside.pop();
        }
    }
}

fn text<'r>(condition: &'r Value, field: &str) -> Option<&'r str> {
    condition.get(field).and_then(Value::as_str)
}

/// Checks whether a condition names one of these kinds of nodes, or several with one of them.
fn is_of(condition: &Value, kinds: &[&str]) -> bool {
    let parts = ["all", "any"].into_iter().filter_map(|name| condition.get(name)?.as_array()).flatten();
    text(condition, "kind").is_some_and(|kind| kinds.contains(&kind)) || parts.into_iter().any(|one| is_of(one, kinds))
}

/// Checks whether a node must be of one of these kinds to meet a condition.
fn is_all_of(condition: &Value, kinds: &[&str]) -> bool {
    let mut all = condition.get("all").and_then(Value::as_array).into_iter().flatten();
    text(condition, "kind").is_some_and(|kind| kinds.contains(&kind)) || all.any(|one| is_all_of(one, kinds))
}

/// Checks whether a condition names the kinds of its node.
fn names_kinds(condition: &Value) -> bool {
    let of = |name: &str| condition.get(name).and_then(Value::as_array).filter(|parts| !parts.is_empty());
    ["kind", "pattern"].iter().any(|name| condition.get(name).is_some_and(|value| !value.is_null()))
        || of("all").is_some_and(|all| all.iter().any(names_kinds))
        || of("any").is_some_and(|any| any.iter().all(names_kinds))
}

/// Checks whether the node of a condition is a statement in a block.
fn is_in_block(condition: &Value) -> bool {
    let inside = condition
        .get("inside")
        .filter(|inside| inside.get("stopBy").is_none_or(|stop| stop.is_null() || stop == "neighbor"));
    let mut all = condition.get("all").and_then(Value::as_array).into_iter().flatten();
    inside.and_then(|inside| text(inside, "kind")).is_some_and(|kind| BLOCK_KINDS.contains(&kind))
        || all.any(is_in_block)
}

/// Checks whether a condition asks for a name that the matched code has.
fn asks_for_name(condition: &Value) -> bool {
    match condition {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let is_name = |text: &str| name == "pattern" && text.starts_with('$');
            value.as_str().is_some_and(is_name) || name != "not" && asks_for_name(value)
        }),
        Value::Array(values) => values.iter().any(asks_for_name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Checks whether a condition asks for something that has one of some names.
fn asks_for_one_of(condition: &Value, names: &BTreeSet<&str>) -> bool {
    match condition {
        Value::Object(fields) => {
            let name = text(condition, "pattern").filter(|_| text(condition, "field") == Some("name"));
            name.is_some_and(|name| names.contains(name))
                || fields.iter().any(|(name, value)| name != "not" && asks_for_one_of(value, names))
        }
        Value::Array(values) => values.iter().any(|value| asks_for_one_of(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the variables of the patterns of a rule, without those of asynchronous functions that it asks for.
fn captured(rule: &Value) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    add_captured(rule, &mut names);
    names
}

/// Adds the variables of the patterns of a rule, without those of asynchronous functions that it asks for.
fn add_captured<'r>(condition: &'r Value, names: &mut BTreeSet<&'r str>) {
    match condition {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, value)| *name != "has" || !is_asynchronous(value));
            for (name, value) in fields {
                match value.as_str().filter(|_| matches!(name.as_str(), "pattern" | "context")) {
                    Some(code) => names.extend(variables(code)),
                    None => add_captured(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add_captured(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the variables of a pattern that take one node each.
fn variables(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '$';
    code.split(move |c| !is_part(c))
        .filter(|word| word.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase())))
}

/// Checks whether a condition asks for an asynchronous function.
fn is_asynchronous(condition: &Value) -> bool {
    match condition {
        Value::Object(fields) => {
            let mut fields = fields.iter().filter(|(name, _)| *name != "not");
            fields.any(|(name, value)| match (name.as_str(), value) {
                ("regex", Value::String(regex)) => regex.contains(r"async\b"),
                _ => is_asynchronous(value),
            })
        }
        Value::Array(values) => values.iter().any(is_asynchronous),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_in_the_text_alone_where_rules_look_at_one_function_at_a_time() {
        // However often a utility names others and itself, it is read once.
        let many = format!("[{}]", [r#"{"matches": "many"}"#, r#"{"matches": "more"}"#].repeat(40).join(","));
        let utils = format!(
            r#"{{"used": {{"any": [{{"kind": "use_declaration"}}, {{"matches": "used"}}]}},
                "many": {{"any": {many}}}, "more": {{"any": {many}}}}}"#
        );
        for (grammar, condition, expected) in [
            (Grammar::Go, r#"{"inside": {"stopBy": "end", "has": {"kind": "import_spec"}}}"#, TextNeed::Always),
            (Grammar::Go, r#"{"not": {"inside": {"has": {"kind": "import_spec"}}}}"#, TextNeed::OnMatch),
            (Grammar::Go, r#"{"inside": {"stopBy": "end", "has": {"kind": "call_expression"}}}"#, TextNeed::Affected),
            (Grammar::Go, r#"{"follows": {"stopBy": "end", "kind": "package_clause"}}"#, TextNeed::Always),
            (Grammar::Rust, r#"{"follows": {"stopBy": "end", "pattern": "use $A;"}}"#, TextNeed::Always),
            (Grammar::Rust, r#"{"inside": {"has": {"pattern": {"context": "use $A;"}}}}"#, TextNeed::Always),
            (Grammar::Rust, r#"{"precedes": {"matches": "used"}}"#, TextNeed::Always),
            (Grammar::Rust, r#"{"precedes": {"pattern": "f($A)"}}"#, TextNeed::Affected),
            (Grammar::Rust, r#"{"kind": "use_declaration", "has": {"kind": "use_list"}}"#, TextNeed::Affected),
            (Grammar::Rust, r#"{"precedes": {"matches": "many"}}"#, TextNeed::Affected),
            // Excerpts of others have them.
            (Grammar::Java, r#"{"inside": {"has": {"kind": "import_declaration"}}}"#, TextNeed::Affected),
        ] {
            let rule = serde_json::from_str(&format!(r#"{{"rule": {condition}, "utils": {utils}}}"#)).unwrap();
            assert_eq!(TextNeeds::of(grammar, &rule).on(("", Some("")), false), expected, "{condition}");
        }
    }

    #[test]
    fn an_asynchronous_function_is_in_the_code_that_calls_it_alone() {
        let function = |more: &str| format!(r#"{{"regex": "^async\\b"{more}}}"#);
        let named = function(r#", "has": {"field": "name", "pattern": "$A"}"#);
        for (condition, expected) in [
            (format!(r#"{{"any": [{named}, {{"kind": "ERROR"}}]}}"#), TextNeed::AffectedOnly),
            (named, TextNeed::AffectedOnly),
            (function(r#", "has": {"field": "name", "pattern": "$B"}"#), TextNeed::Always),
            (function(r#", "has": {"field": "body", "pattern": "$A"}"#), TextNeed::Always),
            (function(""), TextNeed::Always),
        ] {
            let rule = format!(
                r#"{{"rule": {{"pattern": "$A()", "inside": {{"stopBy": "end", "kind": "program", "has": {condition}}}}}}}"#
            );
            let needs = TextNeeds::of(Grammar::JavaScript, &serde_json::from_str(&rule).unwrap());
            assert_eq!(needs.on(("", Some("")), false), expected, "{rule}");
        }
    }

    #[test]
    fn what_must_be_in_the_text_and_what_must_not_be_differ() {
        let need = |rule: &str, utils: &str| {
            let rule = serde_json::from_str(&format!(r#"{{"rule": {rule}, "utils": {utils}}}"#)).unwrap();
            TextNeeds::of(Grammar::JavaScript, &rule)
        };
        let in_text = |condition: &str| format!(r#"{{"inside": {{"stopBy": "end", "kind": "program", {condition}}}}}"#);
        let has = in_text(r#""has": {"kind": "pair"}"#);
        for (rule, utils, expected) in [
            (r#"{"kind": "call", "has": {"kind": "pair"}}"#.to_owned(), "null", TextNeed::Affected),
            (r#"{"kind": "call", "regex": "a"}"#.to_owned(), "null", TextNeed::Affected),
            (
                r#"{"all": [{"precedes": {"kind": "call"}}, {"inside": {"kind": "statement_block"}}]}"#.to_owned(),
                "null",
                TextNeed::Affected,
            ),
            (in_text(r#""has": {"kind": "ERROR"}"#), "null", TextNeed::Affected),
            (has.clone(), "null", TextNeed::Always),
            (in_text(r#""all": [{"has": {"kind": "pair"}}]"#), "null", TextNeed::Always),
            (
                r#"{"inside": {"any": [{"kind": "program"}, {"kind": "statement_block"}], "has": {"kind": "pair"}}}"#
                    .to_owned(),
                "null",
                TextNeed::Always,
            ),
            (
                r#"{"inside": {"all": [{"kind": "class_body"}], "has": {"kind": "pair"}}}"#.to_owned(),
                "null",
                TextNeed::Always,
            ),
            (format!(r#"{{"not": {has}}}"#), "null", TextNeed::OnMatch),
            (in_text(r#""not": {"has": {"kind": "pair"}}"#), "null", TextNeed::OnMatch),
            (format!(r#"{{"not": {{"any": [{{"not": {has}}}]}}}}"#), "null", TextNeed::Always),
            (r#"{"not": {"matches": "a"}}"#.to_owned(), &format!(r#"{{"a": {has}}}"#), TextNeed::OnMatch),
            (r#"{"follows": {"kind": "pair"}}"#.to_owned(), "null", TextNeed::Affected),
            (r#"{"not": {"follows": {"any": [{"kind": "comment"}]}}}"#.to_owned(), "null", TextNeed::OnMatch),
            (r#"{"precedes": {"pattern": "a()"}}"#.to_owned(), "null", TextNeed::Always),
            (r#"{"matches": "a"}"#.to_owned(), r#"{"a": {"not": {"matches": "a"}}}"#, TextNeed::Affected),
        ] {
            assert_eq!(need(&rule, utils).on(("", Some("")), false), expected, "{rule} {utils}");
        }
        // A function that stands for a module, of which an excerpt has a part.
        let around =
            |condition: &str| format!(r#"{{"inside": {{"stopBy": "end", "kind": "statement_block", {condition}}}}}"#);
        for (rule, expected) in [
            (around(r#""has": {"kind": "pair"}"#), TextNeed::Always),
            (r#"{"inside": {"stopBy": "end", "has": {"kind": "pair"}}}"#.to_owned(), TextNeed::Always),
            (r#"{"precedes": {"kind": "pair"}, "inside": {"kind": "statement_block"}}"#.to_owned(), TextNeed::Affected),
            (r#"{"precedes": {"kind": "call"}, "inside": {"kind": "statement_block"}}"#.to_owned(), TextNeed::Always),
            // What is in no part of it, has a name that the changed code has, is only against a match, or in the matched code.
            (around(r#""has": {"field": "name", "kind": "pair"}"#), TextNeed::Affected),
            (around(r#""has": {"has": {"pattern": "$A"}}"#), TextNeed::Affected),
            (around(r#""not": {"has": {"kind": "pair"}}"#), TextNeed::Affected),
            (r#"{"kind": "statement_block", "has": {"kind": "pair"}}"#.to_owned(), TextNeed::Affected),
            (r#"{"inside": {"kind": "call", "has": {"kind": "pair"}}}"#.to_owned(), TextNeed::Affected),
            (
                around(
                    r#""has": {"regex": "^async\\b", "has": {"field": "name", "pattern": "$A"}}, "pattern": "$A()""#,
                ),
                TextNeed::AffectedOnly,
            ),
            (around(r#""has": {"regex": "^async\\b"}"#), TextNeed::Always),
            (around(r#""regex": "^a""#), TextNeed::Affected),
        ] {
            assert_eq!(need(&rule, "null").on(("ab", Some("ac")), true), expected, "{rule}");
        }
        assert_eq!(need(&around(r#""regex": "b""#), "null").on(("ab", Some("ac")), true), TextNeed::Always);
        assert_eq!(need(&around(r#""regex": "b""#), "null").on(("ab", Some("ac")), false), TextNeed::Affected);
        // Of the head, a function with a name is examined if the change affects it, and then all of it.
        let named = r#"{"inside": {"all": [{"kind": "function_declaration"}, HAS]}}"#.replace("HAS", &has);
        assert_eq!(need(&named, "null").on(("", Some("")), false), TextNeed::OnMatch);
        let python = r#"{"rule": {"inside": {"kind": "module", "has": {"regex": "^async\\b"}}}}"#;
        let python = TextNeeds::of(Grammar::Python, &serde_json::from_str(python).unwrap());
        assert_eq!(python.on(("", Some("")), false), TextNeed::Always);
        let by_words = need(&in_text(r#""regex": "a""#), "null");
        assert_eq!(by_words.on(("a", Some("ba")), false), TextNeed::Affected);
        assert_eq!([by_words.on(("a", Some("b")), false), by_words.on(("a", None), false)], [TextNeed::Always; 2]);
    }
}
