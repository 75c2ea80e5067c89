//! Releases that are gone while what they are for stays.

use std::sync::LazyLock;

use regex::Regex;

use super::super::pair::{FunctionPair, GuardLoss, GuardRule, squeeze};
use super::super::removed_conditions::quote_condition;
use super::{call_of, done_to, is, last_word, still_does};

pattern!(
    RELEASES,
    r"^(?:[Cc]lose\w*|[Dd]ispose|[Dd]estroy\w*|[Rr]elease\w*|[Ff]ree|[Ss]hutdown(?:Now)?|unsubscribe|unref|disconnect|[Cc]ancel|Stop|Done|clearTimeout|clearInterval|removeEventListener|removeListener|cancelAnimationFrame|\w+_(?:free|destroy|release|unref|close|deinit|cleanup)|bfree|av_free\w*|delete_\w+|DeleteObject|CloseHandle|RemoveAll|abort)$"
);

/// The end of something that is still opened.
pub(super) fn release(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    let (called, about) = done_to(old, node)?;
    if !is(&RELEASES, &called) || about.is_empty() {
        return None;
    }
    if matches!(called.as_str(), "removeEventListener" | "removeListener" | "unsubscribe" | "disconnect") {
        return listener(pair, node, &called, &about);
    }
    let word = last_word(&about).to_owned();
    let is_freed =
        still_does(new, pair.head_function(), &RELEASES, &about) || pair.fresh.iter().any(|line| line.contains(&word));
    let freed_elsewhere = ["close(", "release(", "free(", "destroy(", "Close("]
        .iter()
        .any(|way| pair.around.adds(&format!("{word}.{way}")))
        || pair.around.adds(&format!("{called}({}", squeeze(&about)))
        || pair.around.adds(&format!("{called}({word}"))
        // A name of several words is of this thing, whatever it is called elsewhere.
        || (called.chars().skip(1).any(char::is_uppercase) && pair.around.adds(&format!(".{called}(")));
    if word.len() < 2 || is_freed || freed_elsewhere {
        return None;
    }
    // It is a thing of this function, opened by a call here, or a field that is filled elsewhere in the file.
    let opened = Regex::new(&format!(
        r"(?:^|[^.\w>]){}(?:\s*,\s*\w+)?\s*(?::\s*[^=]+)?:?=\s*[^=;]*\(",
        regex::escape(&about.replace(' ', ""))
    ))
    .ok()?;
    let function = new.nodes.text(pair.head_function());
    let kept = Regex::new(&format!(
        r"return[^;\n]*\b{word}\b(?:\s*[,)}};\n]|\s*$)|[:=]\s*{word}\s*[,;}}]|\(\s*{word}\s*\)\s*[;,]|\b{word}\s*\}}",
        word = regex::escape(&word)
    ))
    .ok()?;
    let is_local = opened.is_match(function) && !about.contains(" . ");
    let field = Regex::new(&format!(r"(?:\.|->){}\s*=\s*[^=;]*\(", regex::escape(&word))).ok()?;
    let is_field = about.contains(" . ") && field.is_match(new.nodes.text(0)) && !is_reset(pair, &word);
    let is_field = is_field && old.nodes.kind(node) == "expression_statement";
    let is_lost = is_local && !kept.is_match(function);
    if !is_lost && !is_field {
        return None;
    }
    if matches!(called.as_str(), "Done" | "Stop" | "Cancel" | "cancel" | "abort") && is_field {
        return None;
    }
    pair.build_loss(GuardRule::Release, node, format!("`{}` was let go here with `{called}`.", quote_condition(&about)))
}

/// Checks whether the field itself is given up in the change.
fn is_reset(pair: &FunctionPair<'_>, word: &str) -> bool {
    let gone = Regex::new(&format!(r"(?:\.|->){}=[^=]", regex::escape(word)));
    gone.is_ok_and(|gone| gone.is_match(&pair.around.gone)) || pair.around.adds(word)
}

/// A listener that is still added and never taken away.
fn listener(pair: &FunctionPair<'_>, node: usize, called: &str, about: &str) -> Option<GuardLoss> {
    let outer = pair.new.functions.get(pair.new.functions.get(pair.is)?.outermost)?.node;
    let call = pair.old.call(call_of(pair.old, node)?)?;
    let arguments: Vec<String> =
        call.arguments.iter().take(2).map(|argument| pair.old.normalized_text(*argument)).collect();
    let added = if called == "unsubscribe" || called == "disconnect" {
        let text = squeeze(pair.new.nodes.text(outer));
        ["=", "= new "].iter().any(|_| text.contains(&format!("{}=", squeeze(about))))
    } else {
        let adds =
            ["addEventListener", "addListener", "on"].map(|way| format!("{way}({}", squeeze(&arguments.join(","))));
        let text = squeeze(pair.new.nodes.text(outer));
        adds.iter().any(|way| text.contains(way.as_str()))
    };
    let text = squeeze(pair.new.nodes.text(outer));
    if !added
        || arguments.is_empty() && called.starts_with("remove")
        || text.contains(&format!("{}.{called}(", squeeze(about)))
        || pair.around.adds(called)
    {
        return None;
    }
    pair.build_loss(GuardRule::Release, node, format!("`{called}` was called here for what is still added."))
}
