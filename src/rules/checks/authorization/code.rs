//! Functions, statements and expressions of a parsed text, in terms that apply to every supported grammar. Main type: [`FunctionCode`].

use std::collections::HashMap;

use crate::syntax::{Grammar, NodeTable, ParseFailure, ParseLimits, SyntaxTree};

/// Maximum size of an expression that is compared word by word, in nodes.
const LONGEST_SAID: usize = 4_000;

/// A parsed text and its functions.
pub(super) struct FunctionCode<'a> {
    pub(super) nodes: NodeTable<'a>,
    pub(super) grammar: Grammar,
    pub(super) functions: Vec<NamedFunction>,
    /// The innermost named function around each node.
    owner: Vec<Option<usize>>,
}

/// A function with a name.
pub(super) struct NamedFunction {
    pub(super) node: usize,
    /// The names of the enclosing functions and its own.
    pub(super) key: String,
}

impl<'a> FunctionCode<'a> {
    /// Reads the functions of a parsed text.
    pub(super) fn of(tree: &SyntaxTree, text: &'a str, watch: &ParseLimits<'_>) -> Result<Self, ParseFailure> {
        let (nodes, grammar) = (NodeTable::of(tree, text, watch)?, tree.grammar());
        let mut code = Self { nodes, grammar, functions: Vec::new(), owner: Vec::new() };
        code.find_functions();
        Ok(code)
    }

    fn find_functions(&mut self) {
        // The enclosing names: end, name and function of each.
        let mut around: Vec<(usize, String, Option<usize>)> = Vec::new();
        for node in 0..self.nodes.count() {
            while around.last().is_some_and(|(until, ..)| node >= *until) {
                around.pop();
            }
            let function = self.function_name(node);
            let name = function.clone().or_else(|| self.type_name(node));
            if let Some(name) = name {
                let number = function.map(|_| self.functions.len());
                around.push((self.nodes.subtree_end(node), name, number));
                if number.is_some() {
                    let names: Vec<&str> = around.iter().map(|(_, name, _)| name.as_str()).collect();
                    self.functions.push(NamedFunction { node, key: names.join("/") });
                }
            }
            self.owner.push(around.iter().rev().find_map(|(.., function)| *function));
        }
    }

    /// Returns the function that contains a node.
    pub(super) fn owner(&self, node: usize) -> Option<usize> {
        self.owner.get(node).copied().flatten()
    }

    fn function_name(&self, node: usize) -> Option<String> {
        let said = |node: Option<usize>| node.map(|node| self.normalized_text(node));
        match self.nodes.kind(node) {
            "function_declaration"
            | "method_declaration"
            | "function_item"
            | "method_definition"
            | "constructor_declaration"
            | "generator_function_declaration" => said(self.nodes.child(node, "name")),
            "function_definition" => said(self.nodes.child(node, "name")).or_else(|| self.declared(node)),
            "variable_declarator" | "public_field_definition" | "field_definition" | "pair" => {
                let value = self.nodes.child(node, "value")?;
                let is_function =
                    |node: usize| matches!(self.nodes.kind(node), "arrow_function" | "function_expression");
                let in_call = || {
                    let arguments = self.nodes.child(value, "arguments")?;
                    self.nodes.children(arguments).find(|node| is_function(*node))
                };
                if !is_function(value) && (self.nodes.kind(value) != "call_expression" || in_call().is_none()) {
                    return None;
                }
                let name = ["name", "property", "key"].iter().find_map(|field| self.nodes.child(node, field));
                said(name)
            }
            _ => None,
        }
    }

    /// Returns the name that a C declarator declares.
    fn declared(&self, node: usize) -> Option<String> {
        let mut at = self.nodes.child(node, "declarator")?;
        while let Some(inner) = self.nodes.child(at, "declarator") {
            at = inner;
        }
        Some(self.normalized_text(at))
    }

    fn type_name(&self, node: usize) -> Option<String> {
        let field = match self.nodes.kind(node) {
            "class_declaration"
            | "class_definition"
            | "class_specifier"
            | "struct_specifier"
            | "interface_declaration"
            | "enum_declaration"
            | "trait_item"
            | "mod_item"
            | "namespace_definition"
            | "abstract_class_declaration" => "name",
            "impl_item" => "type",
            _ => return None,
        };
        self.nodes.child(node, field).map(|node| self.normalized_text(node))
    }

    /// Returns the normalized text of a node: without comments, white space, and punctuation that does not matter in comparisons.
    pub(super) fn normalized_text(&self, node: usize) -> String {
        let end = self.nodes.subtree_end(node).min(node + LONGEST_SAID);
        let words = (node..end).filter(|at| self.nodes.is_token(*at) && !self.is_mute(*at));
        self.joined(&words.map(|at| self.nodes.text(at)).collect::<Vec<_>>())
    }

    fn joined(&self, words: &[&str]) -> String {
        let mut said = String::new();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied().unwrap_or_default();
            let word = match (*word, next) {
                ("?.", "[" | "(") | (",", ")" | "]" | "}") => continue,
                ("?.", _) => ".",
                ("->", _) if matches!(self.grammar, Grammar::C | Grammar::Cpp) => ".",
                (word, _) => word,
            };
            if !said.is_empty() {
                said.push(' ');
            }
            said.push_str(word);
        }
        said
    }

    fn is_mute(&self, node: usize) -> bool {
        match self.nodes.kind(node) {
            "comment" | "line_comment" | "block_comment" | ";" | "\n" => true,
            "!" => self.nodes.parent(node).is_some_and(|parent| self.nodes.kind(parent) == "non_null_expression"),
            _ => false,
        }
    }

    /// Strips the parentheses around a node.
    fn strip_parentheses(&self, node: usize) -> usize {
        let mut at = node;
        loop {
            let inner = match self.nodes.kind(at) {
                "parenthesized_expression" | "non_null_expression" => {
                    self.nodes.children(at).find(|child| !matches!(self.nodes.kind(*child), "(" | ")" | "!"))
                }
                "condition_clause" => self.nodes.child(at, "value"),
                _ => None,
            };
            match inner {
                Some(inner) => at = inner,
                None => return at,
            }
        }
    }

    /// Returns the name that a call calls.
    pub(super) fn called_name(&self, call: usize) -> Option<usize> {
        if self.nodes.kind(call) == "method_invocation" {
            return self.nodes.child(call, "name");
        }
        let function = self.nodes.child(call, "function")?;
        if !is_member(self.nodes.kind(function)) {
            return Some(function);
        }
        ["property", "field", "attribute"].iter().find_map(|field| self.nodes.child(function, field))
    }

    /// Checks whether it is a statement of its own in a block.
    pub(super) fn is_statement(&self, node: usize) -> bool {
        self.nodes.parent(node).is_some_and(|parent| is_block(self.nodes.kind(parent)))
            && !self.nodes.is_token(node)
            && !self.nodes.kind(node).contains("comment")
    }

    /// Returns the statements of a block; a statement in place of a block is its only one.
    pub(super) fn statements(&self, block: usize) -> Vec<usize> {
        let mut block = block;
        while matches!(self.nodes.kind(block), "else_clause" | "finally_clause") {
            let inner = self.nodes.child(block, "body").or_else(|| self.nodes.children(block).last());
            let Some(inner) = inner else { return Vec::new() };
            block = inner;
        }
        if !is_block(self.nodes.kind(block)) {
            return vec![block];
        }
        let list = self.nodes.children(block).find(|node| self.nodes.kind(*node) == "statement_list").unwrap_or(block);
        let is_one = |node: &usize| !self.nodes.is_token(*node) && !self.nodes.kind(*node).contains("comment");
        self.nodes.children(list).filter(is_one).collect()
    }

    /// Returns the statements after one, in its block.
    pub(super) fn following(&self, statement: usize) -> Vec<usize> {
        let Some(block) = self.nodes.parent(statement) else { return Vec::new() };
        let after = self.nodes.subtree_end(statement);
        self.nodes.children(block).filter(|node| *node >= after && self.is_statement(*node)).collect()
    }

    /// Checks whether a statement exits its enclosing block or function.
    pub(super) fn exits_block(&self, statement: usize) -> bool {
        let node = if self.nodes.kind(statement) == "expression_statement" { statement + 1 } else { statement };
        match self.nodes.kind(node) {
            "return_statement"
            | "break_statement"
            | "continue_statement"
            | "throw_statement"
            | "raise_statement"
            | "goto_statement"
            | "return_expression"
            | "break_expression"
            | "continue_expression" => true,
            _ => {
                let said = self.nodes.text(node);
                [
                    "panic(",
                    "panic!",
                    "bail!",
                    "unreachable!",
                    "log.Fatal",
                    "os.Exit",
                    "sys.exit",
                    "process.exit",
                    "abort(",
                    "exit(",
                ]
                .iter()
                .any(|word| said.starts_with(word))
            }
        }
    }

    /// Counts the normalized texts of all statements and conditions in a node.
    pub(super) fn count_statements(&self, node: usize) -> HashMap<String, usize> {
        let mut said = HashMap::new();
        for inner in self.nodes.subtree(node) {
            let small = self.nodes.subtree_end(inner) - inner <= LONGEST_SAID;
            if small && (self.is_statement(inner) || self.nodes.field(inner) == Some("condition")) {
                *said.entry(self.normalized_text(self.strip_parentheses(inner))).or_default() += 1;
            }
        }
        said
    }
}

fn is_member(kind: &str) -> bool {
    matches!(kind, "member_expression" | "selector_expression" | "field_access" | "attribute" | "field_expression")
}

pub(super) fn is_call(kind: &str) -> bool {
    matches!(kind, "call_expression" | "call" | "method_invocation")
}

pub(super) fn is_if(kind: &str) -> bool {
    matches!(kind, "if_statement" | "if_expression")
}

fn is_block(kind: &str) -> bool {
    matches!(
        kind,
        "block"
            | "statement_list"
            | "statement_block"
            | "compound_statement"
            | "module"
            | "program"
            | "constructor_body"
            | "switch_block_statement_group"
    )
}
