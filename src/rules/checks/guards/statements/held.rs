//! Locks and releases that are gone while what they are for stays.

use std::sync::LazyLock;

use regex::Regex;

use super::super::code::GuardCode;
use super::super::pair::{FunctionPair, GuardLoss, GuardRule, squeeze};
use super::super::removed_conditions::quote_condition;
use super::{call_of, done_to, is, last_word, still_does};

pattern!(
    LOCKS,
    r"^(?:Lock|RLock|lock|acquire|lockInterruptibly|pthread_mutex_lock|EnterCriticalSection|AcquireSRWLock\w+|writeLock|readLock|wrlock|rdlock|pthread_rwlock_\w*lock|mutex_lock|spin_lock\w*)$"
);
pattern!(
    UNLOCKS,
    r"^(?:Unlock|RUnlock|unlock|pthread_mutex_unlock|LeaveCriticalSection|ReleaseSRWLock\w+|mutex_unlock|spin_unlock\w*)$"
);
pattern!(LOCK_TYPE, r"\b(?:lock_guard|unique_lock|scoped_lock|shared_lock|QMutexLocker|MutexLocker)\b");
pattern!(LOCK_NAME, r"(?i)(?:^|[._])\w*(?:lock|mutex|mu)(?: \( \))?$");
pattern!(
    RELEASES,
    r"^(?:[Cc]lose\w*|[Dd]ispose|[Dd]estroy\w*|[Rr]elease\w*|[Ff]ree|[Ss]hutdown(?:Now)?|unsubscribe|unref|disconnect|[Cc]ancel|Stop|Done|clearTimeout|clearInterval|removeEventListener|removeListener|cancelAnimationFrame|\w+_(?:free|destroy|release|unref|close|deinit|cleanup)|bfree|av_free\w*|delete_\w+|DeleteObject|CloseHandle|RemoveAll|abort)$"
);

/// A lock that is not taken any more before what it protected.
pub(super) fn lock(pair: &FunctionPair<'_>, node: usize, said: &str) -> Option<GuardLoss> {
    let (old, new) = (pair.old, pair.new);
    let kind = old.nodes.kind(node);
    let (about, body): (String, Vec<usize>) = match kind {
        "synchronized_statement" | "with_statement" => {
            let held = old
                .nodes
                .children(node)
                .find(|child| matches!(old.nodes.kind(*child), "parenthesized_expression" | "with_clause"))?;
            let held = old.normalized_text(old.strip_parentheses(held)).trim_matches(['(', ')', ' ']).to_owned();
            if kind == "with_statement" && !is(&LOCK_NAME, &squeeze(&held)) {
                return None;
            }
            (held, old.statements(old.nodes.child(node, "body")?))
        }
        "declaration" if is(&LOCK_TYPE, said) => {
            let held = said
                .rsplit_once('(')
                .or_else(|| said.rsplit_once('{'))
                .map(|(_, held)| held.trim_matches([')', '}', ' ']))?;
            (held.to_owned(), old.following(node))
        }
        _ => {
            let (name, about) = done_to(old, node)?;
            if !is(&LOCKS, &name) || about.is_empty() {
                return None;
            }
            let after = old
                .following(node)
                .into_iter()
                .filter(|other| done_to(old, *other).is_none_or(|(name, _)| !is(&UNLOCKS, &name)));
            (about, after.collect())
        }
    };
    let word = last_word(&about).to_owned();
    let protected = body.iter().any(|statement| pair.is_kept(*statement));
    let mentions = |text: &str| text.contains(&word);
    let taken_here = new.nodes.subtree(pair.head_function()).any(|at| {
        new.is_statement(at) && {
            let (first, last) = new.nodes.lines(at);
            last - first < 3 && {
                let said = new.normalized_text(at);
                mentions(&said)
                    && (said.contains("ock") || said.contains("acquire") || said.starts_with("synchronized"))
            }
        }
    });
    if word.is_empty() || !protected || taken_here || pair.fresh.iter().any(|line| mentions(line)) {
        return None;
    }
    // It still protects something: elsewhere in the file it is taken all the same.
    let text = new.nodes.text(0);
    let squeezed = squeeze(text);
    let ways = [
        format!("{word}.Lock("),
        format!("{word}.RLock("),
        format!("{word}.lock("),
        format!("synchronized({word})"),
        format!("synchronized(this.{word})"),
        format!("with self.{word}:"),
        format!("with {word}:"),
        "_lock(&".to_string(),
        format!("{word}.acquire("),
        format!("({word})"),
        format!("({}->{word})", GuardCode::root_of(&about)),
    ];
    let elsewhere = ways.iter().any(|way| squeezed.contains(way.as_str())) && mentions(&squeezed);
    if !elsewhere || pair.around.adds(&format!("{word}.lock(")) || pair.around.adds(&format!("{word}.Lock(")) {
        return None;
    }
    pair.build_loss(GuardRule::Lock, node, format!("`{}` was held here.", quote_condition(&about)))
}

/// The end of a lock that is still taken.
pub(super) fn unlock(pair: &FunctionPair<'_>, node: usize) -> Option<GuardLoss> {
    let (called, about) = done_to(pair.old, node)?;
    if !is(&UNLOCKS, &called) {
        return None;
    }
    let held = still_does(pair.new, pair.head_function(), &LOCKS, &about);
    let freed = still_does(pair.new, pair.head_function(), &UNLOCKS, &about);
    (held && !freed)
        .then(|| {
            pair.build_loss(
                GuardRule::Lock,
                node,
                format!("`{}` was given back here; now it is taken and never given back.", quote_condition(&about)),
            )
        })
        .flatten()
}

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
