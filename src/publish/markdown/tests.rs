//! Tests of hostile Markdown in a comment: read back by a parser that knows what a forge knows.

use proptest::prelude::*;

use super::*;
use crate::document::live_parts::live_parts;
use crate::domain::secret::Secret;
use crate::present::escape::plain_language;

const ATTACKS: &[&str] = &[
    "![x](https://evil.example/a.png)",
    "![x][y]\n\n[y]: https://evil.example/a.png",
    "[click](javascript:alert(1)) and [this](//evil.example)",
    "[a]: http://evil.example \"t\"\n[a] [a][] [b][a]",
    "<https://evil.example> https://evil.example www.evil.example ftp://evil.example a@evil.example",
    "<img src=x onerror=alert(1)><!-- hidden --><script>x</script>\n<details>\n<summary>x</summary>\n</details>",
    "&lt;b&gt; &#64;octo &commat;octo &#35;12",
    "<!-- review:finding v=1 id=x -->",
    "@octo @octo/team cc:@octo (@octo) **@octo** _@octo_ *@*octo",
    "fixes #12, closes GH-12, resolves octo/name#12, fix https://github.com/octo/name/issues/1",
    "0123456789abcdef0123456789abcdef01234567 a1b2c3d octo/name@a1b2c3d",
    "# Heading\n## Heading\nHeading\n===\nHeading\n---\nHeading\n-",
    "- # Heading\n1. # Heading\n1) # Heading\n1234. # Heading\n-\t# Heading\n- - # Heading\n1. - ~~~",
    "- ---\n* * *\n___\n- - -\n+ ***",
    "| a | b |\n| - | - |\n| c | d |\n\na\n:-\n\na\n-:\n\na\n:-:\nb",
    "- [ ] task\n- [x] done\n1. [ ] task",
    "$x$ $$x$$ $`x`$ \\(x\\)\n\n$$\nx\n$$",
    "```suggestion\nrm -rf\n```",
    "~~~suggestion\nrm -rf\n~~~",
    "````suggestion:-0+3\nrm\n````",
    "```mermaid\ngraph TD; A-->B; click A \"https://evil.example\"\n```",
    "```math\nx\n```\n```geojson\n{}\n```\n```stl\nsolid\n```\n```topojson\n{}\n```",
    "> [!NOTE]\n> believe me\n\n> quoted\n\n>> twice",
    "text[^1]\n\n[^1]: a note with https://evil.example",
    "term\n: definition",
    "::set-output name=x::y\n::add-mask::x\n  ::stop-commands::x",
    "`` @octo ` #12",
    "`code`@octo`more`#12`",
    "```\nnever closed\n@octo",
    "    <b>indented</b>\n\n\t@octo",
    "a\\\n@octo\\@octo \\#12 \\<b>",
    "x\u{202e}y\u{200b}@\u{200b}octo\u{e0041} #\u{200b}12 #\u{ad}12",
    "---\ntitle: x\n---\n\n+++\nx = 1\n+++",
    "https\u{3a}//evil.example http&#58;//evil.example",
    "*http*://evil.example w*w*w.evil.example ht`tp`://evil.example",
    "xmpp:a@b mailto:a@b //evil.example",
    "1986. A year.\n1. one\n2) two",
    "1234567. ~~~suggestion\nrm\n\n12345678. # Heading\n\n123456789. ---\n\n123456789) > quoted",
    "~~~\n```suggestion\nx\n```\n~~~",
    "- ```suggestion\n  x\n  ```",
    "CVE-2025-30066 GHSA-8q5r-mmjf-575q",
];

fn fit(found: Vec<String>) -> Vec<String> {
    // A fence may be called by a language that is only coloured.
    let is_coloured = |part: &str| part.strip_prefix("fence ").is_some_and(|name| plain_language(name) == name);
    found.into_iter().filter(|part| !is_coloured(part)).collect()
}

#[test]
fn no_attack_comes_to_life() {
    let guard = SecretGuard::default();
    let writer = CommentWriter::new(&guard);
    for attack in ATTACKS {
        let (prose, _) = writer.prose(attack, 100_000);
        assert_eq!(fit(live_parts(&prose)), Vec::<String>::new(), "{attack}\n=>\n{prose}");
        for line in [
            format!("- {}", writer.markdown_line(attack, 1000)),
            format!("**High: {}**", writer.markdown_line(attack, 1000)),
        ] {
            assert_eq!(fit(live_parts(&line)), Vec::<String>::new(), "{attack}\n=>\n{line}");
        }
        assert_eq!(fit(live_parts(&writer.inline_code(attack, 1000))), Vec::<String>::new(), "{attack}");
        assert_eq!(fit(live_parts(&writer.fenced_block("mermaid", attack, 1000))), Vec::<String>::new(), "{attack}");
    }
}

#[test]
fn the_words_are_still_there() {
    let guard = SecretGuard::default();
    let writer = CommentWriter::new(&guard);
    let text = "Use `a < b` **here**.\n\n- one\n- two with `x`\n\n```rust\nlet a = \"@b\";\n```\nAnd 1 < 2 & 3.";
    insta::assert_snapshot!(writer.prose(text, 10_000).0);
    let odd = ATTACKS.iter().map(|attack| writer.prose(attack, 10_000).0).collect::<Vec<_>>().join("\n\n=====\n\n");
    insta::assert_snapshot!(odd);
}

#[test]
fn a_long_text_is_cut_where_a_paragraph_ends() {
    let guard = SecretGuard::default();
    let writer = CommentWriter::new(&guard);
    let text = format!("{}\n\n{}\n\n{}", "one ".repeat(10), "two ".repeat(5), "three ".repeat(30));
    let (cut, is_cut) = writer.prose(&text, 90);
    assert!(is_cut && cut.ends_with("two") && length(&cut) <= 90, "{cut:?}");
    let (cut, is_cut) = writer.prose(&"[".repeat(500), 100);
    assert!(is_cut && !cut.is_empty() && length(&cut) <= 100, "{cut:?}");
    let (cut, _) = writer.prose(&format!("```\n{}\n```", "x\n".repeat(100)), 60);
    assert_eq!((cut.matches("```").count(), length(&cut) <= 60), (2, true), "{cut:?}");
    assert!(writer.fenced_block("diff", &"- a line\n".repeat(100), 200).ends_with("more lines\n```"));
}

#[test]
fn secrets_leave_before_anything_is_escaped() {
    let guard = SecretGuard::default().with([Secret::new("p_q8Wm2*Lx7[Rv4]Kp9")]);
    let writer = CommentWriter::new(&guard);
    assert_eq!(writer.markdown_line("it is p_q8Wm2*Lx7[Rv4]Kp9!", 100), "it is \\[masked:secret\\]!");
    assert_eq!(writer.inline_code("q8Wm2*Lx7[Rv4]Kp9", 100), "`[masked:secret]`");
    assert!(!writer.fenced_block("", "p_q8\nWm2*Lx\n7[Rv4]Kp9", 100).contains("Wm2"));
}

#[test]
fn length_is_that_of_the_stricter_count() {
    assert_eq!((length("abc"), length("äö"), length("😀")), (3, 2, 2));
}

proptest! {
    #[test]
    fn no_text_comes_to_life_and_none_is_too_long(
        pieces in proptest::collection::vec(
            prop_oneof![
                3 => proptest::sample::select(ATTACKS).prop_map(str::to_owned),
                3 => "[a-c`<>&|@#!\\[\\]()\\\\ 1:/*_~$.^=+\\-\n\t]{0,12}",
                1 => ".{0,6}",
            ],
            0..8,
        ),
        room in 20..400usize,
    ) {
        let text = pieces.concat();
        let guard = SecretGuard::default();
        let writer = CommentWriter::new(&guard);
        for room in [room, 100_000] {
            let (prose, _) = writer.prose(&text, room);
            prop_assert!(length(&prose) <= room);
            prop_assert_eq!(fit(live_parts(&prose)), Vec::<String>::new(), "{:?}\n=>\n{}", text, prose);
        }
        let line = format!("- {}", writer.markdown_line(&text, 60));
        prop_assert_eq!(fit(live_parts(&line)), Vec::<String>::new(), "{:?}\n=>\n{}", text, line);
        let block = writer.fenced_block("rust", &text, room);
        prop_assert!(length(&block) <= room);
        prop_assert_eq!(fit(live_parts(&block)), Vec::<String>::new());
    }
}
