//! Statements that are gone while what they belong to stays: ways out of error branches, locks, releases, authorisation checks. Main
//! function: [`statements`].

use std::sync::LazyLock;

use regex::Regex;

use super::code::{Code, is_call, is_if};
use super::conditions::{Asks, questions};
use super::pair::{Lost, Pair, Rule, squeeze};
use super::unguarded::{is_error, name};
use crate::syntax::Grammar;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

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
pattern!(
    DENIES,
    r"(?i)forbidden|unauthori[sz]ed|permission_?denied|access_?denied|not_?allowed|not_?authori[sz]ed|\b40[13]\b|no_?access|invalid_?token|login_?required"
);
pattern!(
    AUTHORISES,
    r"(?i)\b\w*(?:authori[sz]\w*|authenticat\w*|permi(?:ssion|tted)\w*|isAdmin|is_admin|is_staff|is_superuser|is_owner|isOwner|has_?role|has_perm\w*|hasAccess|canAccess|can_\w+|checkAccess|csrf\w*|hmac\.\w+|signature\w*|logged_?in|currentUser|req \. user|request \. user)\b"
);

/// What a function lost besides checks of what it uses.
pub(super) fn statements(pair: &Pair<'_>) -> Vec<Lost> {
    let mut lost = Vec::new();
    let then = pair.then();
    for node in pair.old.nodes.inside(then) {
        if !pair.is_gone(node) || !pair.old.is_statement(node) || pair.old.owner(node) != Some(pair.was) {
            continue;
        }
        let said = pair.old.say(node);
        if said.is_empty() || !pair.is_rarer(&said) {
            continue;
        }
        let found = way_out(pair, node)
            .or_else(|| interrupt(pair, node, &said))
            .or_else(|| lock(pair, node, &said))
            .or_else(|| unlock(pair, node))
            .or_else(|| release(pair, node))
            .or_else(|| authorisation(pair, node))
            .or_else(|| unwrapped(pair, node))
            .or_else(|| handled(pair, node))
            .or_else(|| case_of_failure(pair, node));
        lost.extend(found);
    }
    lost
}

/// The statements of the branches of `code` inside `function` that run when something failed, with what they are entered by.
fn error_branches(code: &Code<'_>, function: usize) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for node in code.nodes.inside(function) {
        match code.nodes.kind(node) {
            kind if is_if(kind) => {
                let (Some(condition), Some(branch)) =
                    (code.nodes.child(node, "condition"), code.nodes.child(node, "consequence"))
                else {
                    continue;
                };
                if code.nodes.child(node, "alternative").is_none() && fails(code, node) {
                    found.push((code.say(code.bare(condition)), node, branch));
                }
            }
            "catch_clause" | "except_clause" => {
                let body = code.nodes.child(node, "body").or_else(|| code.nodes.children(node).last());
                let Some(body) = body else { continue };
                let header: String = code.say(node).chars().take_while(|letter| !matches!(letter, '{' | ':')).collect();
                found.push((header, node, body));
            }
            _ => {}
        }
    }
    found
}

/// Whether an `if` is entered when something failed.
fn fails(code: &Code<'_>, node: usize) -> bool {
    let asked = questions(code, node..node + 1);
    asked.iter().any(|question| {
        let said = code.say(question.node);
        let failed = is_error(&question.about) && question.asks == Asks::Null && !said.ends_with("== nil");
        let nothing = question.asks == Asks::Null
            && (said.ends_with("== nil")
                || said.ends_with("== null")
                || said.ends_with("== NULL")
                || said.ends_with("is None")
                || said.ends_with("=== undefined"));
        failed || (nothing && !is_error(&question.about) && asked.len() == 1)
    })
}

/// A `return`, `throw` or `continue` that ended an error branch, which now runs on into what needs the thing that failed.
fn way_out(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    if !old.leaves(node) || !old.following(node).is_empty() {
        return None;
    }
    let all = error_branches(old, pair.then());
    let (header, entered, branch) = all.iter().find(|(_, _, branch)| old.statements(*branch).last() == Some(&node))?;
    let number = all.iter().filter(|(other, at, _)| other == header && at < entered).count();
    let now: Vec<_> = error_branches(new, pair.now()).into_iter().filter(|(other, ..)| other == header).collect();
    if now.len() != all.iter().filter(|(other, ..)| other == header).count() {
        return None;
    }
    let (_, entered_now, branch_now) = now.get(number)?;
    let (was, is) = (old.statements(*branch), new.statements(*branch_now));
    let kept: Vec<String> = was.iter().filter(|other| **other != node).map(|other| old.say(*other)).collect();
    let stands: Vec<String> = is.iter().map(|other| new.say(*other)).collect();
    let is_catch = !is_if(new.nodes.kind(*entered_now));
    // What is handled in another way now is not lost.
    if stands.len() != kept.len() || stands.iter().any(|said| !kept.contains(said)) || (is.is_empty() && !is_catch) {
        return None;
    }
    if new.nodes.inside(*branch_now).any(|inner| new.is_statement(inner) && new.leaves(inner)) {
        return None;
    }
    let outer = if is_catch { new.nodes.parent(*entered_now)? } else { *entered_now };
    let goes_on = std::iter::once(outer)
        .chain(new.nodes.around(outer))
        .take_while(|at| new.owner(*at) == Some(pair.is))
        .any(|at| new.is_statement(at) && !new.following(at).is_empty());
    let throws = matches!(old.nodes.kind(node), "throw_statement" | "raise_statement");
    if !goes_on && !throws {
        return None;
    }
    let detail = if throws {
        "The error was passed on here; now it ends here and the caller is told nothing.".to_owned()
    } else {
        "This branch left here when something had failed; now what comes after it runs all the same.".to_owned()
    };
    pair.lost(Rule::ErrorPath, node, detail)
}

/// `Thread.currentThread().interrupt()` in a `catch` that stays.
fn interrupt(pair: &Pair<'_>, node: usize, said: &str) -> Option<Lost> {
    if said != "Thread . currentThread ( ) . interrupt ( )" {
        return None;
    }
    let handler = pair.old.nodes.around(node).find(|at| pair.old.nodes.kind(*at) == "catch_clause")?;
    let caught = pair.old.say(handler);
    if !caught.split('{').next()?.contains("InterruptedException") {
        return None;
    }
    let is_caught = pair.new.nodes.inside(pair.now()).any(|at| {
        pair.new.nodes.kind(at) == "catch_clause"
            && pair.new.say(at).split('{').next().is_some_and(|header| header.contains("InterruptedException"))
            && !pair.new.say(at).contains("interrupt ( )")
    });
    let detail = "The thread was marked as interrupted again here; now nobody above learns that it should stop.";
    is_caught.then(|| pair.lost(Rule::ErrorPath, node, detail.to_owned())).flatten()
}

/// The call that a statement is, deferred or awaited perhaps.
fn call_of(code: &Code<'_>, statement: usize) -> Option<usize> {
    let mut at = statement;
    for _ in 0..4 {
        if is_call(code.nodes.kind(at)) {
            return Some(at);
        }
        at = match code.nodes.kind(at) {
            "expression_statement" | "defer_statement" | "await_expression" | "await" => code
                .nodes
                .children(at)
                .find(|child| !matches!(code.nodes.kind(*child), "await" | "defer") || !code.nodes.is_token(*child))?,
            _ => return None,
        };
    }
    None
}

/// The name of the called function, and what it is done to.
fn done_to(code: &Code<'_>, statement: usize) -> Option<(String, String)> {
    let call = code.call(call_of(code, statement)?)?;
    let about = match (call.receiver, call.arguments.as_slice()) {
        (_, [first, ..])
            if matches!(code.nodes.text(call.name), "clearTimeout" | "clearInterval" | "cancelAnimationFrame") =>
        {
            *first
        }
        (Some(receiver), _) => receiver,
        (None, [first, ..]) => *first,
        (None, []) => call.name,
    };
    let about = code.say(about);
    Some((code.nodes.text(call.name).to_owned(), about.trim_start_matches("& ").to_owned()))
}

fn is(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether any statement of the function does something to `about` that `pattern` names.
fn still_does(code: &Code<'_>, function: usize, pattern: &LazyLock<Option<Regex>>, about: &str) -> bool {
    code.nodes.inside(function).filter(|node| is_call(code.nodes.kind(*node))).any(|node| {
        code.call(node).is_some_and(|call| {
            is(pattern, code.nodes.text(call.name))
                && (call.receiver.is_some_and(|receiver| code.say(receiver) == about)
                    || call.arguments.first().is_some_and(|first| code.say(*first).trim_start_matches("& ") == about))
        })
    })
}

fn last_word(said: &str) -> &str {
    let mut words = said.rsplit(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

/// A lock that is not taken any more before what it protected.
fn lock(pair: &Pair<'_>, node: usize, said: &str) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    let kind = old.nodes.kind(node);
    let (about, body): (String, Vec<usize>) = match kind {
        "synchronized_statement" | "with_statement" => {
            let held = old
                .nodes
                .children(node)
                .find(|child| matches!(old.nodes.kind(*child), "parenthesized_expression" | "with_clause"))?;
            let held = old.say(old.bare(held)).trim_matches(['(', ')', ' ']).to_owned();
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
    let protected = body.iter().any(|statement| pair.stays(*statement));
    let mentions = |text: &str| text.contains(&word);
    let taken_here = new.nodes.inside(pair.now()).any(|at| {
        new.is_statement(at) && {
            let (first, last) = new.nodes.lines(at);
            last - first < 3 && {
                let said = new.say(at);
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
        format!("({}->{word})", Code::root_of(&about)),
    ];
    let elsewhere = ways.iter().any(|way| squeezed.contains(way.as_str())) && mentions(&squeezed);
    if !elsewhere || pair.around.adds(&format!("{word}.lock(")) || pair.around.adds(&format!("{word}.Lock(")) {
        return None;
    }
    pair.lost(Rule::Lock, node, format!("`{}` was held here.", name(&about)))
}

/// The end of a lock that is still taken.
fn unlock(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (called, about) = done_to(pair.old, node)?;
    if !is(&UNLOCKS, &called) {
        return None;
    }
    let held = still_does(pair.new, pair.now(), &LOCKS, &about);
    let freed = still_does(pair.new, pair.now(), &UNLOCKS, &about);
    (held && !freed)
        .then(|| {
            pair.lost(
                Rule::Lock,
                node,
                format!("`{}` was given back here; now it is taken and never given back.", name(&about)),
            )
        })
        .flatten()
}

/// The end of something that is still opened.
fn release(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    let (called, about) = done_to(old, node)?;
    if !is(&RELEASES, &called) || about.is_empty() {
        return None;
    }
    if matches!(called.as_str(), "removeEventListener" | "removeListener" | "unsubscribe" | "disconnect") {
        return listener(pair, node, &called, &about);
    }
    let word = last_word(&about).to_owned();
    let is_freed = still_does(new, pair.now(), &RELEASES, &about) || pair.fresh.iter().any(|line| line.contains(&word));
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
    let function = new.nodes.text(pair.now());
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
    pair.lost(Rule::Release, node, format!("`{}` was let go here with `{called}`.", name(&about)))
}

/// Whether the field itself is given up in the change.
fn is_reset(pair: &Pair<'_>, word: &str) -> bool {
    let gone = Regex::new(&format!(r"(?:\.|->){}=[^=]", regex::escape(word)));
    gone.is_ok_and(|gone| gone.is_match(&pair.around.gone)) || pair.around.adds(word)
}

/// A listener that is still added and never taken away.
fn listener(pair: &Pair<'_>, node: usize, called: &str, about: &str) -> Option<Lost> {
    let outer = pair.new.functions.get(pair.new.functions.get(pair.is)?.outermost)?.node;
    let call = pair.old.call(call_of(pair.old, node)?)?;
    let arguments: Vec<String> = call.arguments.iter().take(2).map(|argument| pair.old.say(*argument)).collect();
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
    pair.lost(Rule::Release, node, format!("`{called}` was called here for what is still added."))
}

/// Whoever was not allowed was turned away here.
fn authorisation(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    let after = old.following(node);
    let stays = after.iter().filter(|statement| pair.stays(**statement)).count();
    if after.is_empty() || stays * 2 < after.len() {
        return None;
    }
    let guard =
        if old.nodes.kind(node) == "expression_statement" && is_if(old.nodes.kind(node + 1)) { node + 1 } else { node };
    let said = old.say(node);
    let asked = if is_if(old.nodes.kind(guard)) {
        let condition = old.say(old.nodes.child(guard, "condition")?);
        let branch = old.nodes.child(guard, "consequence")?;
        let leaves = old.statements(branch).last().is_some_and(|last| old.leaves(*last));
        if !leaves || !is(&AUTHORISES, &condition) || !(is(&DENIES, &old.say(branch)) || is(&DENIES, &condition)) {
            return None;
        }
        condition
    } else {
        let (called, _) = done_to(old, node)?;
        let asks = Regex::new(r"(?i)^(?:require|check|assert|verify|ensure|enforce|validate|authori[sz]e)_?\w*(?:auth\w*|access|permission\w*|role\w*|admin|csrf\w*|owner\w*|signature)\w*$|^(?:authori[sz]e\w*|isAuthori[sz]ed\w*)$").ok()?;
        if !asks.is_match(&called) {
            return None;
        }
        said
    };
    let still = new.statements_said(pair.now());
    let fresh = pair.fresh.iter().any(|line| is(&AUTHORISES, line) || is(&DENIES, line));
    if fresh || still.keys().any(|other| *other == asked) || pair.around.adds(&asked.replace(' ', "")) {
        return None;
    }
    pair.lost(
        Rule::Authorisation,
        node,
        "Whoever is not allowed to was turned away here; the code after it is unchanged.".to_owned(),
    )
}

/// What a block closed when it ended: `with`, `try (…)`.
fn unwrapped(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    let kind = old.nodes.kind(node);
    let opened = match kind {
        "with_statement" => {
            let clause = old.nodes.children(node).find(|child| old.nodes.kind(*child) == "with_clause")?;
            let call = old.nodes.inside(clause).find(|inner| is_call(old.nodes.kind(*inner)))?;
            let opens = Regex::new(r"^(?:[\w.]+\.)?(?:open|connect|urlopen|Popen|socket|Session|Client|ThreadPoolExecutor|ProcessPoolExecutor|Pool|NamedTemporaryFile|TemporaryDirectory|ZipFile|TarFile|GzipFile|cursor)\(").ok()?;
            if !opens.is_match(&squeeze(old.nodes.text(call))) {
                return None;
            }
            old.say(call)
        }
        "try_with_resources_statement" => {
            let list = old.nodes.child(node, "resources")?;
            let value = old.nodes.inside(list).find(|inner| old.nodes.field(*inner) == Some("value"))?;
            old.say(value)
        }
        _ => return None,
    };
    let body = old.statements(old.nodes.child(node, "body")?);
    let stays = body.iter().filter(|statement| pair.stays(**statement)).count();
    let still = new.nodes.inside(pair.now()).find(|at| {
        (is_call(new.nodes.kind(*at)) || new.nodes.kind(*at) == "object_creation_expression") && new.say(*at) == opened
    })?;
    let held =
        new.nodes.around(still).any(|at| matches!(new.nodes.kind(at), "with_clause" | "resource" | "return_statement"));
    if body.is_empty()
        || stays * 2 < body.len()
        || held
        || pair
            .fresh
            .iter()
            .any(|line| line.contains("close") || line.contains("enter_context") || line.contains("shutdown"))
    {
        return None;
    }
    pair.lost(
        Rule::Release,
        node,
        "It was closed here at the end of the block, whatever happened; now nothing closes it.".to_owned(),
    )
}

/// Errors that were caught here, or asked for.
fn handled(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    match old.nodes.kind(node) {
        "if_statement" if old.grammar == Grammar::Go => {
            let asked = pair.asked.iter().find(|question| question.decides == node && is_error(&question.about))?;
            let branch = old.nodes.child(node, "consequence")?;
            if old.nodes.child(node, "initializer").is_some()
                || !old.statements(branch).last().is_some_and(|last| old.leaves(*last))
            {
                return None;
            }
            let block = old.nodes.parent(node)?;
            let before =
                old.nodes.children(block).take_while(|at| *at < node).filter(|at| old.is_statement(*at)).last()?;
            let sets = matches!(old.nodes.kind(before), "short_var_declaration" | "assignment_statement");
            let said = old.say(before);
            let now = new.nodes.inside(pair.now()).find(|at| new.is_statement(*at) && new.say(*at) == said)?;
            let next = new.following(now);
            let asks = next
                .iter()
                .take_while(|at| !sets_again(new, **at, &asked.about))
                .any(|at| new.say(*at).split(' ').any(|word| word == asked.about));
            if !sets || asks || next.is_empty() {
                return None;
            }
            pair.lost(
                Rule::ErrorHandling,
                node,
                format!("`{}` was looked at here; the call that sets it is still there.", asked.about),
            )
        }
        "try_statement" => {
            let body = old.statements(old.nodes.child(node, "body")?);
            let catches =
                old.nodes.children(node).any(|child| matches!(old.nodes.kind(child), "catch_clause" | "except_clause"));
            let own = new.nodes.inside(pair.now()).filter(|at| new.is_statement(*at));
            let bare: Vec<String> = own
                .filter(|at| {
                    !new.nodes
                        .around(*at)
                        .take_while(|at| new.owner(*at) == Some(pair.is))
                        .any(|at| new.nodes.kind(at) == "try_statement")
                })
                .map(|at| new.say(at))
                .collect();
            let stays = body.iter().filter(|statement| bare.contains(&old.say(**statement))).count();
            // One that passes every failure on only cleaned up.
            let clauses = old.nodes.children(node);
            let mut clauses = clauses.filter(|at| matches!(old.nodes.kind(*at), "catch_clause" | "except_clause"));
            let passes_on = clauses.all(|clause| {
                let body = old.nodes.child(clause, "body").or_else(|| old.nodes.children(clause).last());
                let last = body.and_then(|body| old.statements(body).last().copied());
                last.is_some_and(|last| matches!(old.nodes.kind(last), "throw_statement" | "raise_statement"))
            });
            if !catches
                || passes_on
                || body.is_empty()
                || stays != body.len()
                || pair.fresh.iter().any(|line| line.contains("catch") || line.contains("try"))
            {
                return None;
            }
            pair.lost(
                Rule::ErrorHandling,
                node,
                "What failed in here was caught; the same statements now run without.".to_owned(),
            )
        }
        _ => None,
    }
}

/// Whether a Go statement gives an error that was set before another value, so that what follows asks for that one.
fn sets_again(code: &Code<'_>, node: usize, error: &str) -> bool {
    let sets = match code.nodes.kind(node) {
        "if_statement" | "expression_switch_statement" => code.nodes.child(node, "initializer"),
        "short_var_declaration" | "assignment_statement" => Some(node),
        _ => None,
    };
    let left = sets.and_then(|at| code.nodes.child(at, "left"));
    left.is_some_and(|left| code.say(left).split(' ').any(|word| word == error))
}

/// A failure that had a way of its own in a branch for failures which is still there.
fn case_of_failure(pair: &Pair<'_>, node: usize) -> Option<Lost> {
    let (old, new) = (pair.old, pair.new);
    let guard =
        if old.nodes.kind(node) == "expression_statement" && is_if(old.nodes.kind(node + 1)) { node + 1 } else { node };
    if !is_if(old.nodes.kind(guard)) {
        return None;
    }
    let asked: Vec<String> = {
        let condition = old.nodes.child(guard, "condition")?;
        let names = old.nodes.inside(condition).chain([condition]).filter(|at| old.nodes.kind(*at) == "identifier");
        names.map(|at| old.nodes.text(at).to_owned()).collect()
    };
    let branch = old.nodes.child(guard, "consequence")?;
    let all = error_branches(old, pair.then());
    let (header, entered, body) = all.iter().rfind(|(_, at, _)| old.nodes.inside(*at).contains(&node))?;
    let caught = header
        .split([' ', '(', ')', ':'])
        .filter(|word| is_error(word))
        .any(|word| asked.iter().any(|name| name == word));
    let leaves = old.statements(branch).last().is_some_and(|last| old.leaves(*last));
    let after = old.following(node);
    let stays = after.iter().filter(|statement| pair.stays(**statement)).count();
    if !caught
        || !leaves
        || after.is_empty()
        || stays != after.len()
        || *entered == guard
        || !old.statements(*body).contains(&node)
    {
        return None;
    }
    let there = error_branches(new, pair.now()).into_iter().find(|(other, _, body)| {
        other == header
            && new
                .statements(*body)
                .iter()
                .any(|statement| after.iter().any(|left| old.say(*left) == new.say(*statement)))
    })?;
    // Another way of telling them apart is as good.
    let tells = new.nodes.inside(there.2).any(|at| pair.is_fresh(at) && is_if(new.nodes.kind(at)));
    if tells || pair.fresh.iter().any(|line| asked.iter().any(|name| name.len() > 1 && line.contains(name.as_str()))) {
        return None;
    }
    let said = name(&old.say(old.nodes.child(guard, "condition")?));
    pair.lost(
        Rule::ErrorHandling,
        node,
        format!("A failure with `{said}` had a way of its own here and is now treated as all others."),
    )
}
