//! Walks a tree and extracts its symbols. Main types: [`SymbolExtractor`], [`SymbolFrame`].
//!
//! The nodes of one language are handled in the file of that language.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{
    ArgumentShape, DefinitionKind, LONGEST, MOST, SymbolDefinition, SymbolImport, SymbolUse, Symbols, UseKind, line_of,
};
use crate::syntax::grammar::Grammar;
use crate::syntax::kinds::{GrammarKinds, KindGroup};

pub(super) type NodeVisitor = fn(&mut SymbolExtractor<'_>, Node<'_>, SymbolFrame) -> Option<SymbolFrame>;

/// The context of a node.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may hold with any other")]
pub(super) struct SymbolFrame {
    pub(super) owner: Option<usize>,
    pub(super) function: bool,
    /// Number of enclosing modules within the text.
    pub(super) depth: u32,
    pub(super) conditional: bool,
    /// The signatures of definitions here are unknown.
    pub(super) decorated: bool,
    /// Functions defined here take no receiver.
    pub(super) of_type: bool,
    /// Definitions here are visible to other files.
    pub(super) exported: bool,
}

impl SymbolFrame {
    pub(super) fn as_nested(self) -> bool {
        self.function || self.depth > 0
    }

    pub(super) fn inside_function(self) -> Self {
        Self { function: true, decorated: false, of_type: false, ..self }
    }
}

pub(super) struct SymbolExtractor<'a> {
    pub(super) text: &'a str,
    pub(super) grammar: Grammar,
    pub(super) kinds: &'static GrammarKinds,
    pub(super) symbols: Symbols,
    /// Starts of the names that were handled.
    pub(super) claimed: HashSet<usize>,
    /// `true` if what comes next is conditional.
    pub(super) pending: bool,
}

impl<'a> SymbolExtractor<'a> {
    pub(super) fn visit(&mut self, node: Node<'_>, see: NodeVisitor, around: SymbolFrame) -> Option<SymbolFrame> {
        if !node.is_named() || node.is_extra() {
            return None;
        }
        if self.kinds.group(node.kind_id()) == KindGroup::Name {
            if !self.claimed.contains(&node.start_byte()) {
                let name = self.text_of(node);
                // Most names stand in a text many times.
                let is_new = !self.symbols.others.contains(name);
                if is_new && name.len() <= LONGEST && self.symbols.others.len() < MOST {
                    self.symbols.others.insert(name.to_owned());
                }
            }
            return None;
        }
        see(self, node, around)
    }

    /// Returns the kind of a node, as named in the grammar.
    pub(super) fn kind(&self, node: Node<'_>) -> &'static str {
        self.kinds.name(node.kind_id())
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the text of a field if that is short.
    pub(super) fn field(&self, node: Node<'_>, field: &str) -> Option<&'a str> {
        node.child_by_field_name(field).map(|child| self.text_of(child)).filter(|text| text.len() <= LONGEST)
    }

    pub(super) fn claim(&mut self, node: Node<'_>) {
        self.claimed.insert(node.start_byte());
    }

    /// Adds a definition whose name is `name`; the caller handles its contents.
    pub(super) fn define(
        &mut self,
        kind: DefinitionKind,
        node: Node<'_>,
        name: Node<'_>,
        around: SymbolFrame,
    ) -> usize {
        self.claim(name);
        let at = self.define_as(kind, node, self.text_of(name), around);
        let end = line_of(name.end_position().row);
        if let Some(definition) = self.symbols.definitions.get_mut(at) {
            definition.lines.1 = definition.lines.1.max(end);
        }
        at
    }

    /// Adds a definition under a given name.
    pub(super) fn define_as(&mut self, kind: DefinitionKind, node: Node<'_>, name: &str, around: SymbolFrame) -> usize {
        let at = self.symbols.definitions.len();
        if at >= MOST || name.len() > LONGEST {
            self.symbols.cut = true;
            return usize::MAX;
        }
        let start = line_of(node.start_position().row);
        self.symbols.definitions.push(SymbolDefinition {
            name: name.to_owned(),
            kind,
            lines: (start, start),
            owner: around.owner.filter(|_| !around.function),
            parameters: None,
            body: false,
            bases: Vec::new(),
            conditional: around.conditional,
            nested: around.as_nested(),
            open: false,
            public: match self.grammar {
                Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => around.exported || around.owner.is_some(),
                Grammar::Go => name.starts_with(char::is_uppercase),
                Grammar::Python => !name.starts_with('_'),
                _ => true,
            },
        });
        at
    }

    pub(super) fn definition(&mut self, at: usize) -> Option<&mut SymbolDefinition> {
        self.symbols.definitions.get_mut(at)
    }

    /// Extends the head of a definition to the end of `node`.
    pub(super) fn extend_to(&mut self, at: usize, node: Node<'_>) {
        let end = line_of(node.end_position().row);
        if let Some(definition) = self.symbols.definitions.get_mut(at) {
            definition.lines.1 = definition.lines.1.max(end);
        }
    }

    pub(super) fn import(
        &mut self,
        node: Node<'_>,
        path: String,
        name: Option<&str>,
        alias: Option<&str>,
        around: SymbolFrame,
    ) {
        if self.symbols.imports.len() >= MOST || path.len() > 4 * LONGEST {
            self.symbols.cut = true;
            return;
        }
        self.symbols.imports.push(SymbolImport {
            path,
            name: name.map(str::to_owned),
            alias: alias.map(str::to_owned),
            line: line_of(node.start_position().row),
            conditional: around.conditional,
            depth: around.depth,
        });
    }

    pub(super) fn record_use(
        &mut self,
        name: Node<'_>,
        how: UseKind,
        call: Option<ArgumentShape>,
        around: SymbolFrame,
    ) {
        self.claim(name);
        let text = self.text_of(name);
        if self.symbols.uses.len() >= MOST || text.len() > LONGEST {
            self.symbols.cut = true;
            return;
        }
        self.symbols.uses.push(SymbolUse {
            name: text.to_owned(),
            how,
            call,
            line: line_of(name.start_position().row),
            conditional: around.conditional,
            owner: around.owner,
        });
    }

    /// Counts the arguments of a call; `spread` are the nodes that represent any number of them, `keyword` is a named one.
    pub(super) fn arguments(&self, list: Node<'_>, spread: &[&str], keyword: &str) -> ArgumentShape {
        let mut found = ArgumentShape { count: 0, open: false, keywords: Vec::new() };
        for child in list.children(&mut list.walk()).take(MOST) {
            found.open |= child.kind() == "..." || child.is_error();
            if child.is_named() && !child.is_extra() {
                found.count += 1;
                found.open |= spread.contains(&child.kind());
                if !keyword.is_empty() && child.kind() == keyword {
                    found.keywords.extend(self.field(child, "name").map(str::to_owned));
                }
            }
        }
        found
    }
}
