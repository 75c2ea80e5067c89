//! The parts of a file that a change affects. Main function: [`affected_parts`].
//!
//! Those are its changed lines; in Rust also all of an item with a changed attribute that says that it is a test. Which code around them is
//! parsed belongs in `syntax`.

use std::cmp::Reverse;

use crate::domain::change::{FileChange, HunkSpan};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::{Grammar, ScanFocus, TreeCache};

/// Returns the parts of both sides that the change affects, the base first, given their texts; `None` for all of them. Of the lines that both
/// sides have, the same ones are affected on both.
pub(super) fn affected_parts(
    trees: &TreeCache,
    file: &FileChange,
    texts: (&FileText, &FileText),
) -> Option<[ScanFocus; 2]> {
    let [old, new] = [DiffSide::Old, DiffSide::New].map(|side| ScanFocus::of(file, side));
    if file.language != Some("rust") {
        return Some([old, new]);
    }
    let old_items = test_items(trees, texts.0, file.runs().map(|run| run.old))?;
    let new_items = test_items(trees, texts.1, file.runs().map(|run| run.new))?;
    if old_items.is_empty() && new_items.is_empty() {
        return Some([old, new]);
    }
    let common = common_lines(file, texts);
    let of_new = common.iter().flat_map(|lines| move_lines(&new_items, lines.new, lines.old, lines.count));
    let of_old = common.iter().flat_map(|lines| move_lines(&old_items, lines.old, lines.new, lines.count));
    Some([old.with(of_new.chain(old_items.iter().copied())), new.with(of_old.chain(new_items.iter().copied()))])
}

/// Returns the first and the last lines of the items that the attributes with the word `test` on changed lines are of, ascending and apart; `None`
/// if one is of all of the file, or the blocks of the text are not known.
fn test_items(trees: &TreeCache, text: &FileText, spans: impl Iterator<Item = HunkSpan>) -> Option<Vec<(u32, u32)>> {
    let mut attributes = Vec::new();
    for (number, line) in spans.flat_map(|span| test_lines(text, span)) {
        (!line.contains("#!")).then_some(())?;
        attributes.push(number);
    }
    if attributes.is_empty() {
        return Some(Vec::new());
    }
    let mut items = trees.blocks_around(Grammar::Rust, text.text(), &attributes)?;
    // One in another one is a part of it.
    items.sort_unstable_by_key(|(first, last)| (*first, Reverse(*last)));
    let mut end = 0;
    items.retain(|(_, last)| {
        let is_outer = *last > end;
        end = end.max(*last);
        is_outer
    });
    Some(items)
}

/// Lines that both sides have.
struct CommonLines {
    old: u32,
    new: u32,
    count: u32,
}

fn common_lines(file: &FileChange, (old_text, new_text): (&FileText, &FileText)) -> Vec<CommonLines> {
    let (mut old, mut new) = (1, 1);
    let mut common = Vec::new();
    for run in file.runs() {
        common.push(CommonLines { old, new, count: run.old.before().saturating_add(1).saturating_sub(old) });
        (old, new) = (run.old.end().saturating_add(1), run.new.end().saturating_add(1));
    }
    let rest = |text: &FileText, from: u32| text.line_count().saturating_add(1).saturating_sub(from);
    common.push(CommonLines { old, new, count: rest(old_text, old).min(rest(new_text, new)) });
    common
}

/// Moves those of the lines of `items` that are among `count` lines from `from` on to the places of these from `to` on.
fn move_lines(items: &[(u32, u32)], from: u32, to: u32, count: u32) -> impl Iterator<Item = (u32, u32)> {
    let last = from.saturating_add(count).saturating_sub(1);
    let begin = items.partition_point(|item| item.1 < from);
    let here = items[begin..].iter().take_while(move |item| count > 0 && item.0 <= last);
    here.map(move |item| (item.0.max(from) - from + to, item.1.min(last) - from + to))
}

/// Returns the lines of a span that may be an attribute with the word `test`.
fn test_lines(text: &FileText, span: HunkSpan) -> impl Iterator<Item = (u32, &str)> {
    let lines = span.range().into_iter().flat_map(|lines: LineRange| text.lines(lines));
    lines.filter(|(_, line)| line.contains("test") && (line.contains('#') || line.contains("cfg")))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_change::SyntheticChange;
    use super::*;

    /// Returns the affected lines of both sides when `old` became `new`.
    fn affected(old: &str, new: &str) -> Option<[Vec<u32>; 2]> {
        let (change, ..) = SyntheticChange::default().was("a.rs", old).now("a.rs", new).build();
        let texts = [old, new].map(|text| FileText::new(text, "UTF-8"));
        let parts = affected_parts(&TreeCache::default(), &change.files[0], (&texts[0], &texts[1]))?;
        let lines =
            |at: usize| (1..=texts[at].line_count()).filter(|line| parts[at].affects(*line, *line)).collect::<Vec<_>>();
        Some([lines(0), lines(1)])
    }

    #[test]
    fn an_attribute_that_makes_a_test_affects_all_of_its_item() {
        let body = |attribute: &str| {
            format!(
                "fn a() {{\n    1;\n}}\n\n{attribute}mod b {{\n    fn c() {{}}\n\n    fn d() {{}}\n}}\n\nfn e() {{}}\n"
            )
        };
        let (plain, test) = (body(""), body("#[cfg(test)]\n"));
        let lines = |first: u32, last: u32| (first..=last).collect::<Vec<_>>();
        assert_eq!(affected(&plain, &test).unwrap(), [lines(5, 10), lines(5, 11)]);
        assert_eq!(affected(&test, &plain).unwrap(), [lines(5, 11), lines(5, 10)]);
        // A blank line after the attribute, and another item in its place.
        let (old, new) = ("#[cfg(test)]\n\nfn a() {\n    1;\n}\n", "fn b() {\n    2;\n}\n\nfn a() {\n    1;\n}\n");
        assert_eq!(affected(old, new).unwrap(), [lines(1, 5), lines(1, 7)]);
        // A new item behind another one, which is the same on both sides.
        let new = "fn a() {\n    1;\n}\n\n#[test]\nfn b() {}\n";
        assert_eq!(affected("fn a() {\n    1;\n}\n", new).unwrap(), [vec![], lines(4, 6)]);
        assert_eq!(affected(&plain, &body("#[inline]\n")).unwrap(), [vec![], vec![5]]);
        assert_eq!(affected(&plain, &body("#![cfg(test)]\n")), None);
        let member = |attribute: &str| {
            format!(
                "impl A {{\n    fn b() {{\n        1;\n    }}\n\n{attribute}    fn c() {{\n        2;\n    }}\n{}}}\n",
                "    // filler\n".repeat(100)
            )
        };
        assert_eq!(affected(&member(""), &member("    #[cfg(test)]\n")).unwrap()[1][..4], [6, 7, 8, 9]);
    }

    #[test]
    fn an_item_in_another_one_hides_nothing_of_that() {
        let module = |outer: &str, inner: &str| {
            let others = "    // filler\n".repeat(100);
            format!(
                "{outer}mod a {{\n{inner}    fn b() {{\n        1;\n    }}\n{others}    x!();\n    fn c() {{}}\n}}\n"
            )
        };
        let old = module("", "").replace("x!", "y!");
        let new = module("#[cfg(test)]\n", "    #[test]\n");
        let [of_old, of_new] = affected(&old, &new).unwrap();
        assert_eq!(of_old, (1..=107).collect::<Vec<_>>());
        assert_eq!(of_new, (1..=109).collect::<Vec<_>>());
    }
}
