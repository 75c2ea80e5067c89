//! `CodeRabbit`: severity and sort stand before the title of a remark; nitpicks and remarks outside the diff stand in the text of a review.

mod entries;
mod names;
mod praise;
mod sections;

use std::collections::HashSet;

use super::label::label_by_login;
use super::prompt::find_prompt;
use super::remark_list::{ListContext, ListedRemarks, MOST_ENTRIES, lines, new_entry, path};
use super::title::{find_title, is_badge, plain_words, truncate_title};
use super::{Bot, Title};
use crate::domain::forge::RemarkSeverity::{Critical, Docs, Issue, Major, Minor, Nitpick, Refactor, Trivial, Unknown};
use crate::domain::forge::Source;
use crate::domain::forge::{Held, ReviewNote};

/// Sorts stand beside severities, so they count only where no severity stands.
pub(super) const BOT: Bot = Bot {
    logins: &["coderabbitai", "coderabbit"],
    marks: &[
        (r"🔴\s*Critical", Critical),
        (r"🟠\s*Major", Major),
        (r"🟡\s*Minor", Minor),
        (r"🔵\s*Trivial", Trivial),
        (r"⚠\x{fe0f}?\s*(?:Potential\s+)?issue", Issue),
        (r"🛠\x{fe0f}?\s*Refactor", Refactor),
        (r"🧹\s*Nitpick", Nitpick),
        (r"📝\s*Documentation", Docs),
    ],
    traces: &["🤖 prompt for ai agents", "🧩 analysis chain"],
    names: &["coderabbit"],
    list: Some(list),
    ..Bot::new(Source::CodeRabbit)
};

/// Reads the newest review that has a list: each review lists all that it has to say anew, so older lists are out of date.
fn list(asked: &ListContext<'_>, found: &mut ListedRemarks) {
    let is_its = |review: &&ReviewNote| {
        let author = review.comment.author.as_ref();
        author.and_then(|author| label_by_login(&author.login)).is_some_and(|bot| bot.source == Source::CodeRabbit)
    };
    for review in asked.conversation.reviews.iter().rev().filter(is_its) {
        let text = found.readable_text(&review.comment.body, "a review of CodeRabbit's");
        let sections = sections::split_sections(text);
        if sections.has_unended {
            found.add_note("a list in a review of CodeRabbit's has no end and was not read".to_owned());
        }
        if sections.all.is_empty() {
            continue;
        }
        read(review, &sections, found);
        return;
    }
}

fn read(review: &ReviewNote, sections: &sections::Sections, found: &mut ListedRemarks) {
    let mut seen = HashSet::new();
    let (mut praised, mut repeated, mut beyond) = (0_usize, 0_usize, 0_usize);
    for section in &sections.all {
        let mut count = 0_usize;
        for file in section.files() {
            for one in entries::parse_entries(&file) {
                if praise::is_praise(one.title) {
                    praised += 1;
                    continue;
                }
                let id = names::name(section.held, file.name, one.first, one.title);
                if !seen.insert(id.clone()) {
                    repeated += 1;
                    continue;
                }
                count += 1;
                if count > MOST_ENTRIES {
                    beyond += 1;
                    continue;
                }
                let mut remark = new_entry(id, section.held, Source::CodeRabbit, &review.comment);
                remark.path = path(file.name);
                remark.lines = lines(one.first, one.last);
                remark.severity = one.severity.unwrap_or(match section.held {
                    Held::Nitpick => Minor,
                    _ => Unknown,
                });
                let said = plain_words(one.title);
                remark.title = match said.as_str() {
                    "" => find_title(one.body, BOT.title),
                    // There is no headline: what stands there is in the text as well.
                    _ if is_badge(one.title) => find_title(one.body, Title::Sentence),
                    said => truncate_title(said),
                };
                remark.prompt = find_prompt(one.body, Some(&BOT));
                one.body.clone_into(&mut remark.body);
                found.remarks.push(remark);
            }
        }
        if count == 0 && praised == 0 && repeated == 0 {
            found.add_note("a list in a review of CodeRabbit's has no entry that can be read".to_owned());
        }
    }
    for (number, why) in [
        (praised, "only praise; left out"),
        (repeated, "stand there twice; counted once"),
        (beyond, "are beyond the 500 of one list that are read; left out"),
    ] {
        if number > 0 {
            found.add_note(format!("entries of CodeRabbit's lists that {why}: {number}"));
        }
    }
}
