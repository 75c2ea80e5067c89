//! Tests of relations per language, and of adversarial texts.

use super::*;

fn of(language: &str, text: &str) -> Relations {
    let found = relations(language, text).unwrap();
    let without_uses = Relations { uses: BTreeSet::new(), ..found.clone() };
    assert_eq!(definitions(language, text), Some(without_uses));
    found
}

fn uses(relations: &Relations, names: &[&str]) {
    for name in names {
        assert!(relations.uses.contains(*name), "{name} is used: {:?}", relations.uses);
    }
}

fn uses_not(relations: &Relations, names: &[&str]) {
    for name in names {
        assert!(!relations.uses.contains(*name), "{name} is not used: {:?}", relations.uses);
    }
}

#[test]
fn rust_has_paths_items_and_calls() {
    let text = r#"
use std::collections::{BTreeMap, hash_map::{self, Entry as E}};
use crate::domain::path::RepoPath;
use super::*;
mod inner;
mod body { pub fn deep() {} }
extern crate serde;
const LIMIT: usize = 3;
static TEXT: &str = include_str!("words.md");
pub struct Basket { items: Vec<Item>, count: usize }
pub enum Kind { Fresh, Rotten }
trait Pick { fn pick(&self); }
impl Pick for Basket { fn pick(&self) { let taken = self.items.first(); weigh(taken, LIMIT); } }
impl Basket {
    pub fn total<'a, T: Sum>(&'a self, rate: &T) -> Price {
        let count = rate.scale(self.count);
        for item in &self.items { println!("{}", label(item)); }
        match kind { Kind::Fresh if fresh(count) => Price::new(count), MISSING => map(half) }
    }
}
macro_rules! shout { ($a:expr) => { $a } }
"#;
    let found = of("rust", text);
    assert_eq!(
        found.imports,
        [
            "std::collections::BTreeMap",
            "std::collections::hash_map",
            "std::collections::hash_map::Entry",
            "crate::domain::path::RepoPath",
            "super",
            "self::inner",
            "serde",
            "words.md"
        ]
    );
    assert_eq!(found.defines, ["deep", "LIMIT", "TEXT", "Basket", "Kind", "Pick", "pick", "total", "shout"]);
    uses(&found, &["RepoPath", "Item", "weigh", "LIMIT", "Sum", "Price", "scale", "label", "Kind", "Fresh", "fresh"]);
    uses(&found, &["new", "map", "MISSING", "println", "pick", "first", "Entry"]);
    uses_not(&found, &["taken", "count", "item", "rate", "a", "T", "domain", "items", "collections"]);
}

#[test]
fn python_has_modules_classes_and_calls() {
    let text = r#"
import os.path, numpy as np
from . import sibling
from ..shop.cart import Cart, total as sum_up
from wild import *

TAX = 0.2
A, B = 1, 2
if TAX:
    try:
        FALLBACK = rate()
    except Missing as gone:
        FALLBACK = None

@cached
def bill(cart, *, rate=DEFAULT, **rest):
    amount: Money = total(cart)
    lines = [render(line) for line in cart.lines]
    np.sum(lines, axis=other)
    self_made = lambda x: x + amount
    return sibling.helper, sibling.CONST, gone

class Shop(Base):
    name = "x"
    def open(self):
        def inner(): pass
        with lock() as held:
            self.door.unlock(f"{code(held)}")
"#;
    let found = of("python", text);
    assert_eq!(found.imports, ["os.path", "numpy", ".sibling", "..shop.cart.Cart", "..shop.cart.total", "wild"]);
    assert_eq!(found.defines, ["TAX", "A", "B", "FALLBACK", "bill", "Shop", "open", "inner"]);
    uses(
        &found,
        &["Cart", "total", "rate", "Missing", "cached", "DEFAULT", "Money", "render", "sum", "helper", "CONST"],
    );
    uses(&found, &["Base", "lock", "unlock", "code", "sibling"]);
    uses_not(
        &found,
        &["cart", "amount", "line", "lines", "self", "held", "gone", "axis", "rest", "sum_up", "door", "x"],
    );
}

#[test]
fn javascript_and_typescript_have_files_classes_and_calls() {
    let text = r#"
import React, { useState as state } from "react";
import * as util from './util';
export { thing } from "./thing";
const { join } = require('path');
const lazy = () => import("./lazy");
export const LIMIT = 4, rest = other;
export default class Cart extends Base {
  handler = (event) => emit(event);
  plain = 3;
  constructor(items) { super(); this.items = items; }
  total({ rate, more: renamed }, [first] = list) { return this.items.map(price).length + util.round(rate) + util.PI; }
}
function* walk(tree) { let local = new Node(tree); for (const leaf of tree) { yield leaf.name, renamed; } }
exports.helper = walk;
"#;
    let found = of("javascript", text);
    assert_eq!(found.imports, ["react", "./util", "./thing", "path", "./lazy"]);
    assert_eq!(found.defines, ["lazy", "LIMIT", "rest", "Cart", "handler", "total", "walk", "helper"]);
    uses(&found, &["useState", "React", "thing", "Base", "emit", "map", "round", "PI", "Node"]);
    uses_not(
        &found,
        &["rate", "renamed", "first", "local", "leaf", "event", "tree", "plain", "state", "name", "length"],
    );

    let text = r#"
import type { Money } from "./money";
import fs = require("fs");
export interface Priced<T extends Thing> { price: Money; cost(at: Date): Money }
export type Pair = [Left, Right];
export enum Size { Small }
export abstract class Shop { abstract open(door: Door): void; private log = (x: string): void => write(x); }
export declare function sign(x: number): number;
const page = <Layout title={title()}><div>{body}</div></Layout>;
"#;
    let found = of("tsx", text);
    assert_eq!(found.imports, ["./money", "fs"]);
    assert_eq!(found.defines, ["Priced", "cost", "Pair", "Size", "Shop", "open", "log", "sign", "page"]);
    uses(&found, &["Money", "Thing", "Left", "Right", "Door", "write", "Layout", "title"]);
    uses_not(&found, &["T", "door", "x", "div", "price", "Small", "at"]);
}

#[test]
fn go_has_packages_types_and_calls() {
    let text = r#"
package shop
import "fmt"
import (
    m "example.com/shop/money"
    _ `embed`
)
const ( Low = iota; High )
var Default, other = m.Zero, build()
type Cart[T Item] struct { Lines []Line; total m.Amount }
type Priced interface { Price(at Time) m.Amount }
type Alias = Cart
func (c *Cart) Total(rate Rate, rest ...int) (sum m.Amount, err error) {
    for i, line := range c.Lines { sum = sum.Add(line.Price(rate)) }
    local := &Line{Name: Low, Size: size}
    var later Later
    switch kind := any(local).(type) { case *Big: use(kind, later) }
    return round(sum), fmt.Errorf("x %v", m.Scale)
}
"#;
    let found = of("go", text);
    assert_eq!(found.imports, ["fmt", "example.com/shop/money", "embed"]);
    assert_eq!(found.defines, ["Low", "High", "Default", "other", "Cart", "Priced", "Price", "Alias", "Total"]);
    uses(&found, &["Zero", "build", "Item", "Line", "Amount", "Time", "Rate", "Add", "Price", "Low", "Later", "Big"]);
    uses(&found, &["use", "round", "Errorf", "Scale"]);
    uses_not(
        &found,
        &["c", "i", "line", "sum", "rate", "rest", "local", "kind", "later", "T", "Name", "Size", "total"],
    );
}

#[test]
fn what_has_no_grammar_or_is_very_large_has_no_relations() {
    assert_eq!(relations("cobol", "x"), None);
    assert_eq!(relations("python", &"a = 1\n".repeat(LARGEST / 6 + 1)), None);
}

#[test]
fn hostile_texts_take_no_stack_and_no_end() {
    let deep = [
        ("python", format!("a = {}{}\n", "[".repeat(20_000), "]".repeat(20_000))),
        ("rust", format!("use a::{}b{};\n", "{c::".repeat(20_000), "}".repeat(20_000))),
        ("javascript", format!("x{}\n", ".y".repeat(50_000))),
        ("go", format!("package a\nvar x = {}1{}\n", "f(".repeat(20_000), ")".repeat(20_000))),
        ("typescript", "}{([<`${".repeat(5_000)),
    ];
    for (language, text) in deep {
        let found = of(language, &text);
        assert!(found.imports.iter().chain(&found.defines).chain(&found.uses).all(|name| name.len() <= LONGEST));
    }
    let many: String =
        (0..20_000).flat_map(|at| [format!("def f{at}(): g{at}()\n"), format!("import m{at}\n")]).collect();
    let found = of("python", &many);
    assert_eq!((found.imports.len(), found.defines.len(), found.uses.len()), (MOST, MOST, MOST));
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd(text in "[a-z{}()\\[\\]:;.,<>='\"`#@&*\n é]{0,200}") {
        for language in ["rust", "python", "tsx", "go", "java"] {
            let found = of(language, &text);
            proptest::prop_assert!(found.uses.iter().all(|name| !name.is_empty()));
        }
    }
}
