//! GraphQL: carries out what a document asks for. Main function: [`answer`]. What each type has is in `fields`.

use serde_json::{Map, Value, json};

use super::fields;
use super::query::{self, Document, Input, Selection};
use super::world::World;

/// Nodes that one document may ask for.
const MOST_NODES: u64 = 500_000;

/// Where a list begins that was asked for without `first` and `last`.
pub const UNBOUND: usize = usize::MAX;

/// A value that may be asked further.
#[derive(Debug, Clone)]
pub enum Val {
    /// A number, a text, nothing.
    Leaf(Value),
    /// Something with fields.
    One(Obj),
    /// A list of such.
    Many(Vec<Obj>),
}

/// Something with fields.
#[derive(Debug, Clone)]
pub enum Obj {
    /// The beginning of a query.
    Query,
    /// The beginning of a mutation.
    Mutation,
    /// Our own account.
    Viewer,
    /// An account, by login.
    Account(String),
    /// A repository.
    Repo(usize),
    /// A pull request of it.
    Pull(usize, usize),
    /// A thread of that.
    Thread(usize, usize, usize),
    /// A comment of that, by its number.
    Remark(usize, usize, usize, u64),
    /// A review of a pull request.
    Review(usize, usize, usize),
    /// A comment on a pull request.
    Comment(usize, usize, usize),
    /// Part of a list: what it is a list of, what is in it, where it begins in the whole, how long that is.
    List(&'static str, Vec<Obj>, usize, usize),
    /// Something of a list, with its place.
    Edge(&'static str, Box<Obj>, usize),
    /// Type and fields, as they are.
    Plain(&'static str, Vec<(&'static str, Val)>),
}

/// Why a field has no value.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// `NOT_FOUND`, `FORBIDDEN`, …
    pub kind: &'static str,
    /// GitHub's words.
    pub message: String,
}

/// Arguments, with their variables filled in.
#[derive(Default)]
pub struct Args(Map<String, Value>);

impl Args {
    /// One of them; null where it was not given.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// A text.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).as_str().unwrap_or_default()
    }

    /// Makes one page of a list, by `first`, `last`, `after`, `before`.
    pub fn page(&self, of: &'static str, all: &[Obj]) -> Result<Val, Refusal> {
        let bad = |kind, message: &str| Refusal { kind, message: message.to_owned() };
        let (first, last) = (self.get("first").as_u64(), self.get("last").as_u64());
        let Some(size) = first.or(last) else {
            // Its length may be asked for, nothing else.
            return Ok(Val::One(Obj::List(of, Vec::new(), UNBOUND, all.len())));
        };
        if size > 100 {
            return Err(bad(
                "EXCESSIVE_PAGINATION",
                "Requesting more records on the connection exceeds the `first` limit of 100 records.",
            ));
        }
        let place = |name| match self.get(name).as_str() {
            None => Ok(None),
            Some(cursor) => match cursor.strip_prefix("cursor:").and_then(|at| at.parse::<usize>().ok()) {
                Some(at) => Ok(Some(at)),
                None => {
                    Err(bad("INVALID_CURSOR_ARGUMENTS", &format!("`{cursor}` does not appear to be a valid cursor.")))
                }
            },
        };
        let (after, before) = (place("after")?, place("before")?);
        let total = all.len();
        let (mut from, mut to) = (after.map_or(0, |at| at + 1).min(total), before.unwrap_or(total).min(total));
        let size = usize::try_from(size).expect("at most 100");
        if first.is_some() {
            to = to.min(from + size);
        } else {
            from = from.max(to.saturating_sub(size));
        }
        let to = to.max(from);
        Ok(Val::One(Obj::List(of, all[from..to].to_vec(), from, total)))
    }
}

struct Run<'a> {
    world: &'a mut World,
    document: &'a Document,
    variables: Map<String, Value>,
    errors: Vec<Value>,
    wrong: Vec<String>,
}

/// Answers a document with its variables: the body of the answer.
pub fn answer(world: &mut World, body: &Value) -> Value {
    let refuse = |message: String| json!({ "errors": [{ "message": message }] });
    let document = match query::read(body["query"].as_str().unwrap_or_default()) {
        Ok(document) => document,
        Err(why) => {
            world.wrong.push(format!("a GraphQL document that cannot be read: {why}\n{}", body["query"]));
            return refuse(format!("Parse error: {why}"));
        }
    };
    let variables = match variables(&document, &body["variables"]) {
        Ok(variables) => variables,
        Err(why) => {
            world.wrong.push(format!("GraphQL variables: {why}"));
            return refuse(why);
        }
    };
    let mut run = Run { world, document: &document, variables, errors: Vec::new(), wrong: Vec::new() };
    let asked = run.nodes(&document.set, 1);
    if asked > MOST_NODES {
        world.wrong.push(format!("a GraphQL document asks for {asked} nodes"));
        let message =
            format!("This query requests up to {asked} possible nodes which exceeds the maximum limit of 500,000.");
        return json!({ "errors": [{ "type": "MAX_NODE_LIMIT_EXCEEDED", "message": message }] });
    }
    let root = if document.kind == "mutation" { Obj::Mutation } else { Obj::Query };
    let data = run.object(&root, &document.set, &mut Vec::new());
    let Run { errors, wrong, .. } = run;
    if let Some(first) = wrong.first() {
        let message = first.clone();
        world.wrong.extend(wrong);
        return refuse(message);
    }
    if errors.is_empty() { json!({ "data": data }) } else { json!({ "data": data, "errors": errors }) }
}

fn variables(document: &Document, given: &Value) -> Result<Map<String, Value>, String> {
    let given = given.as_object().cloned().unwrap_or_default();
    let mut filled = Map::new();
    for (name, must, default) in &document.variables {
        match (given.get(name), default) {
            (Some(value), _) if !(value.is_null() && *must) => filled.insert(name.clone(), value.clone()),
            (None, Some(Input::Plain(value))) => filled.insert(name.clone(), value.clone()),
            _ if *must => return Err(format!("Variable ${name} was not given")),
            _ => None,
        };
    }
    match given.keys().find(|name| !document.variables.iter().any(|(known, ..)| known == *name)) {
        Some(name) => Err(format!("Variable ${name} is not declared")),
        None => Ok(filled),
    }
}

impl Run<'_> {
    /// Every selection of a set that counts for a type.
    fn flat<'s>(&'s self, set: &'s [Selection], kind: &str, found: &mut Vec<&'s Selection>) -> Result<(), String> {
        for one in set {
            let (on, inner) = match one {
                Selection::Field { only, .. } => {
                    let wanted = only.iter().all(|(directive, value)| {
                        self.value(value).as_bool().unwrap_or_default() == (directive == "include")
                    });
                    if wanted {
                        found.push(one);
                    }
                    continue;
                }
                Selection::Inline(on, inner) => (on.as_deref(), inner),
                Selection::Spread(name) => {
                    let fragment = self.document.fragments.iter().find(|(known, ..)| known == name);
                    let (_, on, inner) = fragment.ok_or_else(|| format!("there is no fragment {name}"))?;
                    (Some(on.as_str()), inner)
                }
            };
            if on.is_none_or(|on| fields::is(kind, on)) {
                self.flat(inner, kind, found)?;
            }
        }
        Ok(())
    }

    fn value(&self, input: &Input) -> Value {
        match input {
            Input::Variable(name) => self.variables.get(name).cloned().unwrap_or_default(),
            Input::Plain(value) => value.clone(),
            Input::List(list) => list.iter().map(|one| self.value(one)).collect(),
            Input::Object(object) => object.iter().map(|(name, one)| (name.clone(), self.value(one))).collect(),
        }
    }

    /// How many nodes may be asked for at most.
    fn nodes(&self, set: &[Selection], times: u64) -> u64 {
        let of = |one: &Selection| match one {
            Selection::Field { args, set, .. } => {
                let size = args.iter().find(|(name, _)| name == "first" || name == "last");
                let size = size.and_then(|(_, value)| self.value(value).as_u64());
                let here = size.map_or(0, |size| size.saturating_mul(times));
                here.saturating_add(self.nodes(set, size.map_or(times, |_| here)))
            }
            Selection::Inline(_, set) => self.nodes(set, times),
            Selection::Spread(name) => {
                let fragment = self.document.fragments.iter().find(|(known, ..)| known == name);
                fragment.map_or(0, |(_, _, set)| self.nodes(set, times))
            }
        };
        set.iter().map(of).fold(0, u64::saturating_add)
    }

    fn object(&mut self, of: &Obj, set: &[Selection], path: &mut Vec<Value>) -> Value {
        let kind = fields::kind(self.world, of);
        let mut found = Vec::new();
        if let Err(why) = self.flat(set, kind, &mut found) {
            self.wrong.push(why);
            return Value::Null;
        }
        let found: Vec<Selection> = found.into_iter().cloned().collect();
        let mut answer = Map::new();
        for one in found {
            let Selection::Field { key, name, args, set, .. } = one else { continue };
            let args = Args(args.iter().map(|(name, value)| (name.clone(), self.value(value))).collect());
            path.push(key.clone().into());
            let value =
                if name == "__typename" { Ok(Some(Val::Leaf(kind.into()))) } else { self.ask(of, &name, &args) };
            let value = match value {
                Ok(Some(value)) => self.complete(value, &set, path, &name),
                Ok(None) => {
                    self.wrong.push(format!("the fake knows no field {name} of {kind}"));
                    Value::Null
                }
                Err(Refusal { kind, message }) => {
                    let mut error = json!({ "type": kind, "path": path, "locations": [{ "line": 1, "column": 1 }], "message": message });
                    if kind == "FORBIDDEN" {
                        error["extensions"] = json!({ "saml_failure": false });
                    }
                    self.errors.push(error);
                    Value::Null
                }
            };
            path.pop();
            merge(&mut answer, key, value);
        }
        Value::Object(answer)
    }

    fn ask(&mut self, of: &Obj, name: &str, args: &Args) -> Result<Option<Val>, Refusal> {
        if matches!(of, Obj::Mutation) {
            return fields::mutate(self.world, name, args);
        }
        fields::field(self.world, of, name, args)
    }

    fn complete(&mut self, value: Val, set: &[Selection], path: &mut Vec<Value>, name: &str) -> Value {
        let has_fields = !matches!(value, Val::Leaf(_));
        let null = matches!(value, Val::Leaf(Value::Null));
        if has_fields == set.is_empty() && !null {
            self.wrong
                .push(format!("{name}: {}", if has_fields { "its fields must be named" } else { "it has no fields" }));
        }
        match value {
            Val::Leaf(value) => value,
            Val::One(one) => self.object(&one, set, path),
            Val::Many(many) => {
                let each = many.iter().enumerate().map(|(at, one)| {
                    path.push(at.into());
                    let value = self.object(one, set, path);
                    path.pop();
                    value
                });
                each.collect()
            }
        }
    }
}

/// The same field may be asked for in two places; what is asked of it is put together.
fn merge(answer: &mut Map<String, Value>, key: String, value: Value) {
    match (answer.get_mut(&key), value) {
        (Some(Value::Object(known)), Value::Object(more)) => {
            for (key, value) in more {
                merge(known, key, value);
            }
        }
        (_, value) => {
            answer.insert(key, value);
        }
    }
}
