//! Size limits for one rule from a repository, so that no rule makes a run hang, crash or exhaust memory. Main function: [`check_rule_bounds`].
//!
//! Matching time is limited where rules are matched; this module bounds what could not be stopped once it has begun.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fault::PackFault;

/// Maximum length of a pattern, in characters: each nested node of it takes its part of the stack.
const LONGEST_PATTERN: usize = 1_000;
/// Maximum length of a replacement, in characters.
const LONGEST_FIX: usize = 2_000;
/// Maximum number of items in a list of words or globs.
const MOST_ITEMS: usize = 100;
/// Maximum length of such an item, in characters.
const LONGEST_ITEM: usize = 200;
/// Maximum number of utilities that a rule defines.
const MOST_UTILS: usize = 50;
/// Maximum number of conditions in a rule; those of a utility count wherever it is named: two that name another one twice are four.
const MOST_CONDITIONS: u64 = 1_000;

/// Checks whether one document of a project's pack is within bounds.
pub(super) fn check_rule_bounds(document: &Value) -> Result<(), PackFault> {
    let Value::Object(keys) = document else { return Ok(()) };
    if keys.contains_key("transform") {
        return Err(PackFault::NotOfProject("transform"));
    }
    let is_long = |value: &Value, most: usize| value.as_str().is_some_and(|text| text.chars().nth(most).is_some());
    if keys.get("fix").is_some_and(|fix| is_long(fix, LONGEST_FIX)) {
        return Err(PackFault::TooMuch { what: "characters in its fix", most: LONGEST_FIX });
    }
    for (key, items, item) in [
        ("literals", "literals", "characters in a literal"),
        ("also_literals", "texts in `also_literals`", "characters in a text of `also_literals`"),
        ("between_equal", "operators in `between_equal`", "characters in an operator of `between_equal`"),
        ("paths", "paths", "characters in a glob of its paths"),
        ("languages", "languages", "characters in a language"),
    ] {
        let list = keys.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if list.len() > MOST_ITEMS {
            return Err(PackFault::TooMuch { what: items, most: MOST_ITEMS });
        }
        if list.iter().any(|value| is_long(value, LONGEST_ITEM)) {
            return Err(PackFault::TooMuch { what: item, most: LONGEST_ITEM });
        }
    }
    let none = Map::new();
    let utils = keys.get("utils").and_then(Value::as_object).unwrap_or(&none);
    if utils.len() > MOST_UTILS {
        return Err(PackFault::TooMuch { what: "utils", most: MOST_UTILS });
    }
    let mut scales = ConditionCounter { utils, known: BTreeMap::new() };
    let mut all = 0u64;
    for part in ["rule", "constraints", "utils"].iter().filter_map(|key| keys.get(*key)) {
        all = all.saturating_add(scales.weigh(part)?);
    }
    if all > MOST_CONDITIONS {
        let most = usize::try_from(MOST_CONDITIONS).unwrap_or(usize::MAX);
        return Err(PackFault::TooMuch {
            what: "conditions, those of its utils counted wherever they are named",
            most,
        });
    }
    Ok(())
}

/// Counts conditions.
struct ConditionCounter<'a> {
    utils: &'a Map<String, Value>,
    /// Known counts of the utilities; `None` while one is being counted.
    known: BTreeMap<&'a str, Option<u64>>,
}

impl<'a> ConditionCounter<'a> {
    fn weigh(&mut self, value: &'a Value) -> Result<u64, PackFault> {
        let mut sum = 1u64;
        match value {
            Value::Array(items) => {
                for item in items {
                    sum = sum.saturating_add(self.weigh(item)?);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    let more = match (key.as_str(), value) {
                        ("matches", Value::String(name)) => self.of_util(name)?,
                        ("matches", _) => return Err(PackFault::NotOfProject("matches with arguments")),
                        (_, other) => self.weigh(other)?,
                    };
                    sum = sum.saturating_add(more);
                }
            }
            // No string in a rule has reason to be longer, whatever its key; and a pattern may be below a key of its own.
            Value::String(text) if text.chars().nth(LONGEST_PATTERN).is_some() => {
                return Err(PackFault::TooMuch { what: "characters in a text of it", most: LONGEST_PATTERN });
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(sum)
    }

    /// A utility that names itself adds one condition: the recursion continues on other nodes, and those steps are counted while
    /// matching.
    fn of_util(&mut self, name: &'a str) -> Result<u64, PackFault> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.unwrap_or(1));
        }
        let Some(value) = self.utils.get(name) else { return Ok(1) };
        self.known.insert(name, None);
        let weight = self.weigh(value)?;
        self.known.insert(name, Some(weight));
        Ok(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rule: &str) -> String {
        let documents: Vec<Value> = crate::syntax::documents(rule).unwrap();
        check_rule_bounds(&documents[0]).err().map(|fault| fault.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_rule_that_people_write_is_within_bounds() {
        assert_eq!(
            told("rule: {any: [{pattern: 'a($$$)'}, {matches: u}]}\nutils: {u: {kind: b, has: {matches: u}}}\n"),
            ""
        );
    }

    #[test]
    fn utilities_that_multiply_are_refused() {
        let mut text = "rule: {matches: u20}\nutils:\n  u0: {kind: number, regex: z}\n".to_owned();
        for at in 1..=20 {
            let before = format!("{{matches: u{}}}", at - 1);
            text.push_str(&format!("  u{at}: {{any: [{before}, {before}, {before}]}}\n"));
        }
        assert!(told(&text).contains("at most 1000 conditions"), "{}", told(&text));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        for (rule, says) in [
            (format!("rule: {{pattern: '{}'}}", "(".repeat(1_001)), "1000 characters in a text of it"),
            (format!("rule: {{pattern: {{context: '{}', selector: a}}}}", "!".repeat(1_001)), "1000 characters"),
            (format!("rule: {{kind: a}}\nfix: '{}'", "$A ".repeat(1_000)), "2000 characters in its fix"),
            (format!("rule: {{kind: a}}\nliterals: [{}]", "ab, ".repeat(101)), "100 literals"),
            (format!("rule: {{kind: a}}\npaths: ['{}']", "{a,".repeat(100)), "200 characters in a glob"),
            ("rule: {kind: a}\ntransform: {B: {replace: {source: $A, replace: '', by: b}}}".to_owned(), "transform"),
            ("rule: {matches: {u: {A: {kind: a}}}}".to_owned(), "matches with arguments"),
        ] {
            assert!(told(&rule).contains(says), "{rule}: {}", told(&rule));
        }
        let many: String = (0..51).map(|at| ["  u", &at.to_string(), ": {kind: a}\n"].concat()).collect();
        assert!(told(&format!("rule: {{kind: a}}\nutils:\n{many}")).contains("50 utils"));
    }
}
