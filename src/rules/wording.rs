//! A match in words: the claim that `evidence` will check.

use super::checks::CHECKS;
use super::introduced::HeadHit;
use super::packs::RuleInfo;
use super::run::RulesInput;
use super::subject::RuleRef;
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{Origin, OriginKind};
use crate::domain::place::{LineRange, Side};

/// A quote is no longer than this.
const QUOTE_LINES: u32 = 8;

pub(super) fn rule_info(input: &RulesInput<'_>, rule: RuleRef) -> Option<RuleInfo> {
    match rule {
        RuleRef::Pack { pack, rule } => input.packs.pack(pack)?.rules().get(rule).map(|rule| rule.info.clone()),
        RuleRef::Check(check) => CHECKS.get(check).map(|check| check.info().owned()),
    }
}

/// The claim for a match; `None` when its text cannot be read any more.
pub(super) fn claim(input: &RulesInput<'_>, found: HeadHit, side: Side) -> Option<Claim> {
    let file = input.change.files.get(found.file)?;
    let info = rule_info(input, found.rule).filter(|info| !input.packs.is_off(&info.name))?;
    let path = file.path_at(side);
    let text = if side == Side::Old { input.old.read(path) } else { input.new.read(path) }.ok()?;
    // The part that the rule names, where the change is in it.
    let all = match found.touched {
        Some((line, _)) if !found.hit.at.contains(line) => found.hit.lines,
        _ => found.hit.at,
    };
    let lines = if all.count() <= QUOTE_LINES {
        all
    } else {
        // The quote must show a changed line.
        let start = match found.touched {
            Some((line, _)) if line >= all.start() + QUOTE_LINES => line,
            _ => all.start(),
        };
        LineRange::new(start, (start + QUOTE_LINES - 1).min(all.end())).unwrap_or(all)
    };
    let quote: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    let mut body = found.hit.detail.map(|detail| detail + " ").unwrap_or_default();
    body.push_str(&info.message);
    if let Some(cwe) = &info.cwe {
        body.push_str("\n\nSee ");
        body.push_str(cwe);
        body.push('.');
    }
    input.packs.settled(Claim {
        title: found.hit.title.unwrap_or(info.title),
        body,
        severity: found.hit.severity.unwrap_or(info.severity),
        category: info.category,
        confidence: None,
        place: ClaimedPlace { path: path.clone(), side, quote: Some(quote.join("\n")), lines: Some(lines), note: None },
        related: Vec::new(),
        replacement: found.hit.replacement.filter(|_| lines == found.hit.lines && !text.is_masked(lines)),
        origin: Origin { kind: OriginKind::Rule, name: info.name },
    })
}
