//! Removed checks of values that are still used. Main function: [`find_removed_conditions`].

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{GuardCode, is_if};
use super::conditions::{GuardCondition, GuardTest, GuardedUse, find_guarded_uses};
use super::pair::{FunctionPair, GuardLoss, GuardRule, guarded_ranges, squeeze};
use crate::syntax::Grammar;

/// Maximum length of a quoted expression; longer ones are shortened.
const LONGEST_NAME: usize = 60;

static ERRORS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^(?:\w*err(?:or)?\d?|e|ex|exc|exception|cause|reason)$").ok());
static VOUCHES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\w*(?:require|check|assert|ensure|valid|verify|must|non_?null|default|coalesce|ofNullable|guard)\w*!?\s*[(<]|\bassert\b").ok()
});

/// Returns the checks removed from a function that still contains what they guarded.
pub(super) fn find_removed_conditions(pair: &FunctionPair<'_>) -> Vec<GuardLoss> {
    let mut lost = Vec::new();
    let mut told: HashSet<String> = HashSet::new();
    for question in pair.asked.iter().filter(|question| pair.is_removed(question.node)) {
        if !matches!(question.asks, GuardTest::Null | GuardTest::Size | GuardTest::Zero)
            || told.contains(&question.about)
        {
            continue;
        }
        if !is_error(&question.about)
            && !selects_value(pair, question)
            && !catches_failure(pair)
            && !is_tested_elsewhere(pair, question)
            && !has_replacement_exit(pair, question)
            && (is_still_needed(pair, question) || is_inlined(pair, question))
        {
            told.insert(question.about.clone());
            let place = if is_if(pair.old.nodes.kind(question.decides)) { question.decides } else { question.node };
            let (rule, detail) = words(question);
            lost.extend(pair.build_loss(rule, place, detail));
        }
    }
    for (node, object) in safe_accesses(pair.old, pair.base_function()) {
        let about = pair.old.normalized_text(object);
        let said = pair.old.normalized_text(node);
        if !pair.is_removed(node) || pair.old.owner(node) != Some(pair.was) || told.contains(&about) {
            continue;
        }
        let question = GuardCondition { asks: GuardTest::Null, about, node, decides: node };
        let still: Vec<&GuardedUse> =
            pair.needs.iter().filter(|need| need.said == said && pair.is_added(need.node)).collect();
        let is_rarer = safe_accesses(pair.new, pair.head_function())
            .iter()
            .filter(|(at, _)| pair.new.normalized_text(*at) == said)
            .count()
            < safe_accesses(pair.old, pair.base_function())
                .iter()
                .filter(|(at, _)| pair.old.normalized_text(*at) == said)
                .count();
        if is_rarer && bare(pair, &question, &still) && !is_excused(pair, &question) {
            told.insert(question.about.clone());
            let detail =
                format!("`{}` was reached with `?.` and is now reached without.", quote_condition(&question.about));
            lost.extend(pair.build_loss(GuardRule::NullCheck, node, detail));
        }
    }
    lost
}

pub(super) fn is_error(about: &str) -> bool {
    let last = about.rsplit(' ').next().unwrap_or(about);
    ERRORS.as_ref().is_some_and(|pattern| pattern.is_match(last))
}

fn words(question: &GuardCondition) -> (GuardRule, String) {
    let name = quote_condition(&question.about);
    match question.asks {
        GuardTest::Size => {
            (GuardRule::SizeCheck, format!("How long `{name}` is was asked here before its elements were taken."))
        }
        GuardTest::Zero => {
            (GuardRule::SizeCheck, format!("`{name}` was compared with zero here before it was divided by."))
        }
        GuardTest::Null | GuardTest::Kind | GuardTest::Other => {
            (GuardRule::NullCheck, format!("Whether there is a `{name}` was asked here before it was used."))
        }
    }
}

/// Formats a path as people write it.
pub(super) fn quote_condition(said: &str) -> String {
    let mut name = said.replace(" . ", ".").replace(" (", "(").replace("( ", "(").replace(" )", ")").replace(" [", "[");
    name = name.replace("[ ", "[").replace(" ]", "]").replace('`', "'");
    match name.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name,
    }
}

fn fits(asks: GuardTest, need: &GuardedUse, about: &str) -> bool {
    need.of == about
        && match asks {
            GuardTest::Null => matches!(need.needs, GuardTest::Null | GuardTest::Size),
            GuardTest::Size => need.needs == GuardTest::Size,
            GuardTest::Zero => need.needs == GuardTest::Zero,
            GuardTest::Kind | GuardTest::Other => false,
        }
}

/// Checks whether the new function uses without the test what the old one used after it.
fn is_still_needed(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let mut before: HashSet<String> = HashSet::new();
    for range in guarded_ranges(pair.old, question) {
        let there = find_guarded_uses(pair.old, range).into_iter();
        before.extend(there.filter(|need| fits(question.asks, need, &question.about)).map(|need| need.said));
    }
    if before.is_empty() {
        return false;
    }
    let still: Vec<&GuardedUse> = pair
        .needs
        .iter()
        .filter(|need| fits(question.asks, need, &question.about))
        .filter(|need| before.contains(&need.said) || pair.is_added(need.node))
        .filter(|need| question.asks != GuardTest::Size || access_fails(pair.new, need))
        .collect();
    bare(pair, question, &still) && !is_excused(pair, question)
}

/// Checks whether accessing a missing element fails; in scripts only using the result does.
fn access_fails(code: &GuardCode<'_>, need: &GuardedUse) -> bool {
    let is_script = matches!(code.grammar, Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx);
    !is_script
        || code.nodes.parent(need.node).is_some_and(|parent| {
            code.nodes.field(need.node) == Some("object") && code.nodes.child(parent, "optional_chain").is_none()
        })
}

/// Checks whether one of the uses has no test of the same thing at the head, though it had one at the base.
fn bare(pair: &FunctionPair<'_>, question: &GuardCondition, still: &[&GuardedUse]) -> bool {
    let same = pair.asks.iter().filter(|other| other.about == question.about);
    let covered: Vec<_> = same
        .filter(|other| !is_weaker_half(pair, question, other))
        .flat_map(|other| guarded_ranges(pair.new, other))
        .collect();
    still.iter().any(|need| !covered.iter().any(|range| range.contains(&need.node)))
        && !was_unchecked_before(pair, question)
}

/// Checks whether a test at the head is the weaker half of the old one: `typeof a === 'object'` holds for `null` as well, and `typeof a
/// === 'string'` for an empty string.
fn is_weaker_half(pair: &FunctionPair<'_>, question: &GuardCondition, other: &GuardCondition) -> bool {
    let said = pair.new.normalized_text(other.node);
    let lets_through = ["'object'", "\"object\"", "'string'", "\"string\""].iter().any(|kind| said.ends_with(kind));
    question.asks == GuardTest::Null
        && other.asks == GuardTest::Kind
        && lets_through
        && pair.old.normalized_text(question.node) == question.about
        && pair.asked.iter().any(|old| old.decides == question.decides && pair.old.normalized_text(old.node) == said)
}

/// Checks whether the old function already used it without a test: then the test was redundant there.
fn was_unchecked_before(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let same = pair.asked.iter().filter(|other| other.about == question.about);
    let covered: Vec<_> = same.flat_map(|other| guarded_ranges(pair.old, other)).collect();
    let is_access = question.node == question.decides;
    find_guarded_uses(pair.old, pair.base_function()..pair.old.nodes.subtree_end(pair.base_function())).iter().any(
        |need| {
            fits(question.asks, need, &question.about)
                && (is_access || need.node < question.node)
                && pair.old.owner(need.node) == Some(pair.was)
                && !covered.iter().any(|range| range.contains(&need.node))
        },
    )
}

/// Checks whether the value was bound to a name, tested and used, and is now used directly without a test.
fn is_inlined(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    if question.asks != GuardTest::Null || question.about.contains(' ') {
        return false;
    }
    let Some(from) = initializer_of(pair.old, pair.base_function(), question) else { return false };
    if !from.contains('(') || comes_from_changed_code(pair, question) {
        return false;
    }
    let asks_it = pair.asks.iter().any(|other| other.about == from || other.about == question.about);
    let used = pair.needs.iter().any(|need| need.of == from && pair.is_added(need.node));
    let handed_on = || {
        let code = pair.old;
        let mut inside = guarded_ranges(code, question).into_iter().flatten().filter(|node| code.is_statement(*node));
        inside.any(|statement| {
            let said = code.normalized_text(statement);
            let words: Vec<&str> =
                said.split(' ').map(|word| if word == question.about { from.as_str() } else { word }).collect();
            let now = words.join(" ");
            now != said && pair.says.contains_key(&now) && !pair.said.contains_key(&now)
        })
    };
    !asks_it && (used || handed_on())
}

/// Checks whether the test selects a value, as an `if` expression of Rust does: that guards nothing after it.
fn selects_value(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let parent = pair.old.nodes.parent(question.decides).map(|parent| pair.old.nodes.kind(parent));
    question.asks == GuardTest::Size
        && matches!(parent, Some("let_declaration" | "assignment_expression" | "arguments"))
}

/// Checks whether the change catches the failure here.
fn catches_failure(pair: &FunctionPair<'_>) -> bool {
    pair.fresh.iter().any(|line| line.contains("try{") || line.contains("try {") || line.contains("try:"))
}

/// Checks whether the change adds the same test with the same consequence elsewhere in the function.
fn is_tested_elsewhere(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let (kind, said) = (pair.old.nodes.kind(question.decides), pair.old.normalized_text(question.decides));
    let mut inside = pair.new.nodes.subtree(pair.head_function());
    inside.any(|at| pair.new.nodes.kind(at) == kind && pair.is_added(at) && pair.new.normalized_text(at) == said)
}

/// Checks whether the change adds a test that exits the function as the removed one did: the exit was kept and its condition replaced.
fn has_replacement_exit(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let leave = |code: &GuardCode<'_>, decides: usize| {
        let branch = code.nodes.child(decides, "consequence").filter(|_| is_if(code.nodes.kind(decides)))?;
        code.statements(branch)
            .last()
            .copied()
            .filter(|last| code.exits_block(*last))
            .map(|last| code.normalized_text(last))
    };
    // If the branch itself does what was tested for, exiting it is not an error exit.
    let branch = pair.old.nodes.child(question.decides, "consequence");
    let is_way_out = branch.is_some_and(|branch| !pair.old.normalized_text(branch).contains(&question.about));
    let said = leave(pair.old, question.decides).filter(|said| is_way_out && !pair.is_rarer(said));
    let Some(said) = said else { return false };
    let mut inside = pair.new.nodes.subtree(pair.head_function());
    inside.any(|at| pair.is_added(at) && leave(pair.new, at).is_some_and(|other| other == said))
}

/// Checks whether the value comes from a call of something that the change also touches, which may never return nothing any more.
fn comes_from_changed_code(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let Some(from) = initializer_of(pair.old, pair.base_function(), question) else { return false };
    let Some(called) = from.split(" (").next().and_then(|path| path.rsplit(' ').next()) else { return false };
    let defines = format!(" {called}(");
    from.contains(" (")
        && called.len() > 3
        && (pair.around.come.contains(&defines) || pair.around.gone.contains(&defines))
}

/// Returns the initializer of a name in the old function, if it is declared exactly once.
fn initializer_of(code: &GuardCode<'_>, function: usize, question: &GuardCondition) -> Option<String> {
    let mut values = code.nodes.subtree(function).filter_map(|node| {
        let (name, value) = match code.nodes.kind(node) {
            "variable_declarator" | "init_declarator" => {
                let name = code.nodes.child(node, "name").or_else(|| code.nodes.child(node, "declarator"))?;
                (name, code.nodes.child(node, "value")?)
            }
            "short_var_declaration" | "assignment" => {
                (code.nodes.child(node, "left")?, code.nodes.child(node, "right")?)
            }
            _ => return None,
        };
        (code.normalized_text(name) == question.about).then(|| code.normalized_text(value))
    });
    values.next().filter(|_| values.next().is_none())
}

/// Checks whether something else in the change explains why the test was removed.
fn is_excused(pair: &FunctionPair<'_>, question: &GuardCondition) -> bool {
    let about = &question.about;
    let last = about.rsplit(|letter: char| !(letter.is_alphanumeric() || letter == '_')).find(|word| !word.is_empty());
    let Some(last) = last else { return true };
    let root = GuardCode::root_of(about);
    // It comes from elsewhere now.
    let is_new = |word: &&str| is_set(pair, word);
    if [root, last].iter().any(is_new) || is_in_header(pair, root) || comes_from_changed_code(pair, question) {
        return true;
    }
    let safe = safe_accesses(pair.new, pair.head_function());
    if question.node != question.decides
        && safe.iter().any(|(node, object)| pair.is_added(*node) && pair.new.normalized_text(*object) == *about)
    {
        return true;
    }
    // Another construct asserts it.
    let vouches = |line: &&str| has_word(line, last) && VOUCHES.as_ref().is_some_and(|pattern| pattern.is_match(line));
    if pair.fresh.iter().any(vouches) {
        return true;
    }
    // It was optional or nullable, and is not any more.
    let squeezed = squeeze(last);
    let nothing = ["null", "None", "nil", "undefined"].map(|nothing| format!("{squeezed}={nothing}"));
    if nothing.iter().any(|gives| pair.around.gone.contains(gives) && !pair.around.come.contains(gives)) {
        return true;
    }
    if pair.around.gone.contains(&format!("{squeezed}?:")) && pair.around.come.contains(&format!("{squeezed}:")) {
        return true;
    }
    tests_name_elsewhere(pair, &squeezed)
}

/// Cases of a `switch` replace an `if`.
fn is_case(line: &str) -> bool {
    line.trim_start().starts_with("case ")
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        !line.get(..at).is_some_and(|before| before.ends_with(is_part))
            && !line.get(at + word.len()..).is_some_and(|after| after.starts_with(is_part))
    })
}

/// Checks whether a line that the change adds to the function assigns to `word`.
fn is_set(pair: &FunctionPair<'_>, word: &str) -> bool {
    let word = regex::escape(word);
    let Ok(sets) = Regex::new(&format!(
        r"(?:^|[^\w]){word}\s*(?::=|=[^=>]|,[^()]*:?=[^=]|:[^=,()]+=[^=])|\b{word}\s+(?:of|in)\b|\bas\s+{word}\b|[({{,]\s*{word}\s*[,:)}}][^=]*(?:=>|=[^=])|\b{word}\s*=>"
    )) else {
        return false;
    };
    let new: Vec<String> = pair.fresh.iter().filter(|line| sets.is_match(line)).map(|line| squeeze(line)).collect();
    // The same line, moved or reindented, assigns nothing new.
    new.iter().any(|line| !pair.around.gone.contains(line.as_str()))
}

/// Checks whether the parameters changed where they name `word`.
fn is_in_header(pair: &FunctionPair<'_>, word: &str) -> bool {
    let header = |code: &GuardCode<'_>, node: usize| {
        let find = |at: &usize| {
            matches!(code.nodes.field(*at), Some("parameters" | "parameter" | "declarator" | "type_parameters"))
        };
        let parameters = code.nodes.subtree(node).take(400).find(find);
        parameters.map(|node| code.normalized_text(node)).unwrap_or_default()
    };
    let (was, is) = (header(pair.old, pair.base_function()), header(pair.new, pair.head_function()));
    let spoken = |said: &str| -> Vec<String> {
        said.split([',', '{', '}']).filter(|part| has_word(part, word)).map(|part| part.trim().to_owned()).collect()
    };
    spoken(&was) != spoken(&is)
}

/// Checks whether the change tests something of that name elsewhere.
fn tests_name_elsewhere(pair: &FunctionPair<'_>, last: &str) -> bool {
    let last = regex::escape(last);
    let truthy = if matches!(pair.old.grammar, Grammar::Go | Grammar::Java) {
        ""
    } else {
        r"|\b(?:if|elif|while|not|and|or) ?\(?!?(?:[\w.]+\.)?W\b[^.(]|&&!?(?:[\w.]+\.)?W\b[^.(]|!(?:[\w.]+\.)?W\b|\bW&&|\bW\|\||\bW\?[^.]"
    };
    let pattern = format!(
        r"\bW(?:\(\))?(?:==|!=|===|!==| is | is not )(?:nil|null|None|NULL|nullptr|undefined)|len\((?:[\w.]*\.)?W\)|\bW\.(?:length|size\(\)|isEmpty|is_empty|len\(|isPresent){truthy}"
    );
    let pattern = pattern.replace('W', &last);
    // Tests in the function itself were examined in detail before.
    let own = |pattern: &Regex| {
        let own = pair.fresh.iter().filter(|line| !is_case(line) && !is_loop(line));
        own.map(|line| pattern.find_iter(&squeeze(line)).count()).sum::<usize>()
    };
    Regex::new(&pattern).is_ok_and(|pattern| pattern.find_iter(&pair.around.come).count() > own(&pattern))
}

fn is_loop(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("for ") || line.starts_with("for(")
}

/// Returns every `a?.b` in a function, with its `a`.
fn safe_accesses(code: &GuardCode<'_>, function: usize) -> Vec<(usize, usize)> {
    let safe = code.nodes.subtree(function).filter(|node| code.nodes.child(*node, "optional_chain").is_some());
    safe.filter_map(|node| Some((node, code.object(node).or_else(|| code.nodes.child(node, "function"))?))).collect()
}
