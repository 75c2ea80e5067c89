//! Functions and what they take, next to what their documentation names. Main type: [`Documented`].

use std::collections::BTreeSet;

use super::lines::{Lines, Named, in_comment, in_docstring};
use crate::syntax::{Grammar, NodeTable};

/// Exports, declarations, assignments: a function is no deeper in them than this.
const DEEPEST: usize = 8;

/// Decorators of Python that leave a function what it takes.
const PLAIN: &[&str] = &["@staticmethod", "@classmethod", "@abstractmethod", "@abc.abstractmethod", "@override"];

/// A function with documentation that names parameters.
#[derive(Debug)]
pub(super) struct Documented {
    pub(super) name: String,
    /// From where it begins to the end of what it takes.
    pub(super) head: (u32, u32),
    pub(super) lines: Lines,
    pub(super) takes: Vec<String>,
    /// Further names that are no mistake: those of functions inside it, or of others that are called the same.
    also: BTreeSet<String>,
    /// Whether the documentation may be about something else, so that only what the change made untrue is sure.
    pub(super) weak: bool,
}

impl Documented {
    /// Whether the function has nothing of that name.
    pub(super) fn lacks(&self, named: &Named) -> bool {
        let has =
            |name: &str| self.takes.iter().any(|own| same(own, name)) || self.also.iter().any(|own| same(own, name));
        !has(&named.name) && !named.others.iter().any(|word| has(word))
    }

    /// What it takes from those who call it.
    pub(super) fn plain(&self) -> impl Iterator<Item = &str> {
        self.takes.iter().map(String::as_str).filter(|name| !matches!(*name, "self" | "cls" | "this"))
    }

    /// The one parameter that no line names, where it is in the place of what is named and missing.
    pub(super) fn stands_for(&self, missing: &Named) -> Option<&str> {
        let mut named: Vec<&str> = self.lines.named.iter().map(|one| one.name.as_str()).collect();
        named.dedup();
        let at = named.iter().position(|name| *name == missing.name)?;
        let (before, after) = (named.get(..at)?, named.get(at + 1..)?);
        let others = before.iter().chain(after);
        let takes: Vec<&str> = self.plain().collect();
        let takes_others = takes.get(..at)?.iter().chain(takes.get(at + 1..)?);
        let sure = !self.lines.unclear && named.len() == takes.len() && others.eq(takes_others);
        takes.get(at).copied().filter(|_| sure)
    }
}

/// A name with an underscore more says that it is not used, or is private.
fn same(a: &str, b: &str) -> bool {
    let plain = |name: &str| name.trim_matches(['_', '$']).to_owned();
    a == b || plain(a) == plain(b)
}

/// The functions of a text whose documentation names parameters, and of which it is certain what they take.
pub(super) fn documented(grammar: Grammar, nodes: &NodeTable<'_>) -> Vec<Documented> {
    let reader = Reader { grammar, nodes };
    let mut found = if grammar == Grammar::Python { reader.docstrings() } else { reader.comments() };
    found.retain(|one| !one.lines.named.is_empty());
    found
}

/// A function: its node, its name, and where it says what it takes (`None` for a type).
struct Function {
    node: usize,
    name: String,
    list: Option<usize>,
}

struct Reader<'a> {
    grammar: Grammar,
    nodes: &'a NodeTable<'a>,
}

impl Reader<'_> {
    fn comments(&self) -> Vec<Documented> {
        let mut found: Vec<(usize, Documented)> = Vec::new();
        for comment in (0..self.nodes.count()).filter(|node| self.is_comment(*node)) {
            let text = self.nodes.text(comment);
            let may_name = text.contains("param") || text.contains("@arg");
            if !may_name || (text.starts_with("//") && !is_doc_line(text)) {
                continue;
            }
            let Some(next) = self.documented_by(comment) else { continue };
            let lines = in_comment(self.grammar, text, self.nodes.lines(comment).0);
            // A row of `///` is one comment.
            if let Some((_, known)) = found.last_mut().filter(|(node, _)| *node == next) {
                known.lines.named.extend(lines.named);
                known.lines.unclear |= lines.unclear;
                continue;
            }
            let Some(function) = self.function_at(next) else { continue };
            let Some((takes, also)) = self.taken(&function, next) else { continue };
            let first = self.nodes.lines(next).0;
            let last = function.list.map_or(first, |list| self.nodes.lines(list).1);
            let also = also.into_iter().chain(self.alike(next, &function.name)).collect();
            let mut one = Documented { name: function.name, head: (first, last), lines, takes, also, weak: false };
            if function.list.is_none() {
                one.lines.named.retain(|named| named.of_type);
            }
            found.push((next, one));
        }
        found.into_iter().map(|(_, one)| one).collect()
    }

    fn is_comment(&self, node: usize) -> bool {
        matches!(self.nodes.kind(node), "comment" | "block_comment" | "line_comment")
    }

    /// What stands directly below a comment; `None` where it is another comment of the same kind.
    fn documented_by(&self, comment: usize) -> Option<usize> {
        let is_row = self.nodes.text(comment).starts_with("//");
        let (mut at, mut line) = (self.nodes.subtree_end(comment), self.nodes.lines(comment).1);
        while at < self.nodes.count() {
            let (first, last) = self.nodes.lines(at);
            if first > line + 1 {
                return None;
            }
            let is_comment = self.is_comment(at);
            if is_comment && !is_row && !self.nodes.text(at).starts_with("//") {
                return None;
            }
            if !is_comment && self.nodes.kind(at) != "decorator" {
                return Some(at);
            }
            (at, line) = (self.nodes.subtree_end(at), last);
        }
        None
    }

    /// The function that a statement, a declaration or a member is.
    fn function_at(&self, node: usize) -> Option<Function> {
        let mut at = node;
        let mut name = None;
        for _ in 0..DEEPEST {
            let field = |field: &str| self.nodes.child(at, field);
            let said = |node: usize| self.nodes.text(node).to_owned();
            let of_kind =
                |kinds: &[&str]| self.nodes.children(at).find(|child| kinds.contains(&self.nodes.kind(*child)));
            at = match self.nodes.kind(at) {
                "export_statement" => field("declaration").or_else(|| field("value"))?,
                "ambient_declaration" => of_kind(&["function_signature", "function_declaration"])?,
                "expression_statement" => of_kind(&["assignment_expression"])?,
                "assignment_expression" => {
                    name = field("left").map(said);
                    field("right")?
                }
                "lexical_declaration" | "variable_declaration" => {
                    let mut all =
                        self.nodes.children(at).filter(|node| self.nodes.kind(*node) == "variable_declarator");
                    let only = all.next().filter(|_| all.next().is_none());
                    only?
                }
                "variable_declarator" | "public_field_definition" | "field_definition" | "pair" => {
                    name = ["name", "property", "key"].iter().find_map(|name| field(name)).map(said);
                    field("value")?
                }
                "template_declaration" => {
                    of_kind(&["function_definition", "declaration", "field_declaration", "template_declaration"])?
                }
                "linkage_specification" => field("body")?,
                "function_definition" | "declaration" | "field_declaration" => return self.declared(at),
                "function_declaration"
                | "generator_function_declaration"
                | "function_expression"
                | "generator_function"
                | "arrow_function"
                | "method_definition"
                | "function_signature"
                | "method_signature"
                | "abstract_method_signature"
                | "method_declaration"
                | "constructor_declaration"
                | "record_declaration" => {
                    let name = field("name").map(said).or(name).unwrap_or_default();
                    let list = field("parameters").or_else(|| field("parameter"))?;
                    return Some(Function { node: at, name, list: Some(list) });
                }
                "class_declaration" | "interface_declaration" if self.grammar == Grammar::Java => {
                    return Some(Function { node: at, name: field("name").map(said)?, list: None });
                }
                _ => return None,
            };
        }
        None
    }

    /// A function as C declares it; `None` for pointers to functions, and for several declared at once.
    fn declared(&self, node: usize) -> Option<Function> {
        let mut all = self.nodes.children(node).filter(|child| self.nodes.field(*child) == Some("declarator"));
        let mut at = all.next().filter(|_| all.next().is_none())?;
        for _ in 0..DEEPEST {
            match self.nodes.kind(at) {
                "pointer_declarator" | "reference_declarator" => {
                    let is_inner = |node: &usize| self.nodes.kind(*node).ends_with("_declarator");
                    at = self.nodes.children(at).find(is_inner)?;
                }
                "function_declarator" => {
                    let name = self.nodes.child(at, "declarator")?;
                    let is_plain = !self.nodes.kind(name).ends_with("_declarator");
                    let list = self.nodes.child(at, "parameters").filter(|_| is_plain)?;
                    let name = self.nodes.text(name).rsplit("::").next().unwrap_or_default().trim().to_owned();
                    return Some(Function { node, name, list: Some(list) });
                }
                _ => return None,
            }
        }
        None
    }

    /// What a function takes, and further names that may stand in its documentation; `None` where that is not certain.
    fn taken(&self, function: &Function, outermost: usize) -> Option<(Vec<String>, BTreeSet<String>)> {
        let own = function.list.map_or(0..0, |list| self.nodes.subtree(list));
        let is_broken = |node: usize| matches!(self.nodes.kind(node), "ERROR");
        if own.clone().any(is_broken) {
            return None;
        }
        let takes = match function.list {
            Some(list) => self.list(list)?,
            None => Vec::new(),
        };
        let mut also: BTreeSet<String> = self.type_parameters(outermost, function.node).into_iter().collect();
        // A type has no code of its own that its documentation could be about.
        let is_type = function.list.is_none() || self.nodes.kind(function.node) == "record_declaration";
        for node in self.nodes.subtree(outermost).filter(|_| !is_type) {
            match self.nodes.kind(node) {
                // What a function gives back, or calls, may be a function that is documented with it.
                "formal_parameters" | "inferred_parameters" | "lambda_parameters" | "parameter_list" | "parameters"
                    if Some(node) != function.list && !own.contains(&node) =>
                {
                    also.extend(self.words(node));
                }
                "arrow_function" | "lambda_expression" if node != function.node => {
                    also.extend(
                        ["parameter", "parameters"]
                            .iter()
                            .filter_map(|field| self.nodes.child(node, field))
                            .flat_map(|node| self.words(node)),
                    );
                }
                "identifier" if self.is_script() && self.nodes.text(node) == "arguments" => return None,
                _ => {}
            }
        }
        Some((takes, also))
    }

    fn is_script(&self) -> bool {
        matches!(self.grammar, Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx)
    }

    /// The parameters of types of a function and of what is around it.
    fn type_parameters(&self, outermost: usize, function: usize) -> Vec<String> {
        let around = self.nodes.ancestors(function).chain([function, outermost]);
        let lists = around.flat_map(|node| self.nodes.children(node)).filter(|node| {
            matches!(self.nodes.kind(*node), "type_parameters" | "template_parameter_list" | "type_parameter")
        });
        lists.flat_map(|list| self.words(list)).collect()
    }

    /// Every word in a node that may be a name.
    fn words(&self, node: usize) -> Vec<String> {
        let all = node..self.nodes.subtree_end(node);
        let is_name = |node: &usize| {
            matches!(self.nodes.kind(*node), "identifier" | "type_identifier" | "shorthand_property_identifier_pattern")
        };
        all.filter(is_name).map(|node| self.nodes.text(node).to_owned()).collect()
    }

    /// The names of a list; `None` where something in it has none, or stands for any number of them.
    fn list(&self, list: usize) -> Option<Vec<String>> {
        if self.nodes.kind(list) == "identifier" {
            return Some(vec![self.nodes.text(list).to_owned()]);
        }
        let mut names = Vec::new();
        for child in self.nodes.children(list) {
            let kind = self.nodes.kind(child);
            let name = match kind {
                "(" | ")" | "," | "keyword_separator" | "positional_separator" | "receiver_parameter" => continue,
                _ if self.is_comment(child) => continue,
                "identifier" => Some(child),
                "assignment_pattern" => self.nodes.child(child, "left"),
                "required_parameter" | "optional_parameter" => self.nodes.child(child, "pattern"),
                "formal_parameter" | "default_parameter" | "typed_default_parameter" => self.nodes.child(child, "name"),
                "spread_parameter" => {
                    let inner = self.nodes.children(child).find(|node| self.nodes.kind(*node) == "variable_declarator");
                    inner.and_then(|inner| self.nodes.child(inner, "name"))
                }
                "typed_parameter" => self.nodes.children(child).next(),
                "parameter_declaration" | "optional_parameter_declaration" => {
                    match self.nodes.child(child, "declarator") {
                        Some(declarator) => self.declared_name(declarator),
                        // `(void)` takes nothing.
                        None if self.nodes.text(child) == "void" => continue,
                        None => None,
                    }
                }
                _ => None,
            };
            let name = name.filter(|name| matches!(self.nodes.kind(*name), "identifier" | "this"))?;
            let name = self.nodes.text(name);
            // `_` is no name either, but the place of something that is not used.
            if name.trim_matches('_').is_empty() {
                return None;
            }
            names.push(name.to_owned());
        }
        Some(names)
    }

    fn declared_name(&self, declarator: usize) -> Option<usize> {
        let mut all = declarator..self.nodes.subtree_end(declarator);
        let named =
            all.find(|node| self.nodes.kind(*node) == "identifier" || self.nodes.kind(*node).starts_with("abstract_"));
        named.filter(|node| self.nodes.kind(*node) == "identifier")
    }

    /// What the functions beside one take that are called the same: one comment may be for all of them.
    fn alike(&self, outermost: usize, name: &str) -> BTreeSet<String> {
        // In Java each has documentation of its own.
        let around = self.nodes.parent(outermost).filter(|_| self.grammar != Grammar::Java);
        let beside = around.into_iter().flat_map(|around| self.nodes.children(around)).filter(|one| *one != outermost);
        let alike = beside.filter_map(|one| self.function_at(one)).filter(|one| one.name == name);
        alike.filter_map(|one| one.list).flat_map(|list| self.words(list)).collect()
    }

    fn docstrings(&self) -> Vec<Documented> {
        let mut found = Vec::new();
        for node in 0..self.nodes.count() {
            let kind = self.nodes.kind(node);
            if !matches!(kind, "function_definition" | "class_definition") {
                continue;
            }
            let Some((docstring, body)) = self.docstring(node) else { continue };
            let lines = in_docstring(self.nodes.text(docstring), self.nodes.lines(docstring).0);
            if lines.named.is_empty() {
                continue;
            }
            let is_class = kind == "class_definition";
            let own = if is_class { self.maker(body) } else { Some(node) };
            let Some(own) = own else { continue };
            let Some(name) = self.nodes.child(node, "name") else { continue };
            let name = self.nodes.text(name).to_owned();
            let function = Function { node: own, name, list: self.nodes.child(own, "parameters") };
            let Some((takes, also)) = self.taken(&function, own) else { continue };
            let (first, last) = (self.nodes.lines(own).0, function.list.map_or(1, |list| self.nodes.lines(list).1));
            let head = (first, last.max(first));
            let weak = is_class || self.is_decorated(node);
            found.push(Documented { name: function.name, head, lines, takes, also, weak });
        }
        found
    }

    /// The docstring of a function or class, and the body that it stands in.
    fn docstring(&self, node: usize) -> Option<(usize, usize)> {
        let body = self.nodes.child(node, "body")?;
        let first = self.nodes.children(body).find(|node| !self.is_comment(*node))?;
        let string = self.nodes.children(first).next().filter(|_| self.nodes.kind(first) == "expression_statement")?;
        (self.nodes.kind(string) == "string").then_some((string, body))
    }

    /// What makes the objects of a class, where there is one.
    fn maker(&self, body: usize) -> Option<usize> {
        let functions = self.nodes.children(body).filter(|node| self.nodes.kind(*node) == "function_definition");
        let is_maker =
            |node: &usize| self.nodes.child(*node, "name").is_some_and(|name| self.nodes.text(name) == "__init__");
        let mut makers = functions.filter(is_maker);
        makers.next().filter(|_| makers.next().is_none())
    }

    /// Whether a decorator may give a function other parameters than are written.
    fn is_decorated(&self, node: usize) -> bool {
        let around = self.nodes.parent(node).filter(|around| self.nodes.kind(*around) == "decorated_definition");
        let mut decorators = around.into_iter().flat_map(|around| self.nodes.children(around));
        decorators.any(|one| self.nodes.kind(one) == "decorator" && !PLAIN.contains(&self.nodes.text(one).trim()))
    }
}

/// Whether a comment of one line is documentation.
fn is_doc_line(text: &str) -> bool {
    text.starts_with("///") || text.starts_with("//!")
}
