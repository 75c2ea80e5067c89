import assert from "node:assert/strict";
import { test } from "node:test";
import { marked, type Token } from "marked";

import { httpsUrl, plain, plainLines, safeMarkdown } from "../src/text";

/** The targets of all links and images that a Markdown parser sees, images marked with `!`. */
function targets(markdown: string): string[] {
    const found: string[] = [];
    marked.walkTokens(marked.lexer(markdown), (token: Token) => {
        if (token.type === "link" || token.type === "image") {
            found.push((token.type === "image" ? "!" : "") + String((token as { href: unknown }).href));
        }
    });
    return found;
}

test("markdown holds no image and no link but https", () => {
    const hostile = [
        "![x](https://h.example/p.png)",
        "![x][r]\n\n[r]: https://h.example/p.png",
        "![a[b]c](https://h.example/p.png)",
        "`\n# ![x](https://h.example/p.png)\n`",
        "<a title='`'>![x](https://h.example/p.png)`",
        "<div>\n```\n\n![x](https://h.example/p.png)\n\n```\n",
        "[x](command:workbench.action.quit)",
        "[x](<command:workbench.action.quit>)",
        "[x](&#99;ommand:workbench.action.quit)",
        "[x](\tfile:///etc/passwd)",
        "[x](https:\\\\h.example)",
        "[x]\n\n[x]: command:workbench.action.quit",
        "[x][y]\n\n[y]:\ncommand:workbench.action.quit",
        "<command:workbench.action.quit>",
        "<vscode://h.example/x>",
        "http://h.example and HTTP://h.example, ftp://h.example, www.h.example",
        "name@h.example and <name@h.example>",
        "!\u200b[x](https://h.example/p.png)",
        "!\\[x](http://h.example)",
        "[![x](https://h.example/p.png)](http://h.example)",
        "> ![x](https://h.example/p.png)\n\n1. [x](//h.example/x)",
    ];
    for (const text of hostile) {
        const wrong = targets(safeMarkdown(text)).filter((target) => !/^https:\/\/[a-z]/.test(target));
        assert.deepEqual(wrong, [], text);
    }
    const before = hostile.filter((text) => targets(text).some((target) => !/^https:\/\/[a-z]/.test(target)));
    assert.ok(before.length >= 15, "the parser sees them without the rules");
});

test("markdown keeps code, emphasis and https links", () => {
    const text = "**Bad**: `a[0]` in [the rule](https://h.example/a?b=c)\n\n```rust\nlet v = 1 << 2;\n```";
    assert.equal(safeMarkdown(text), text);
    assert.equal(safeMarkdown("`vec![1]`").replaceAll("\u2060", ""), "`vec![1]`");
    assert.equal(safeMarkdown(7), "");
    assert.equal(safeMarkdown("x".repeat(30), 10), `${"x".repeat(10)}…`);
});

test("plain text is one line without invisible characters or links of notifications", () => {
    assert.equal(plain(" a\n\tb\u202e\u200bc\u0007 "), "a bc");
    assert.equal(plain("[x](command:y)"), "[x]\u2060(command:y)");
    assert.equal(plain(undefined), "");
    assert.equal(plain("abc", 2), "ab…");
    assert.equal(plainLines("a\r\nb\u001b[31m\tc\u202e"), "a\nb[31m\tc");
});

test("only https addresses without credentials are opened", () => {
    assert.equal(httpsUrl("https://h.example/a"), "https://h.example/a");
    for (const bad of ["http://h.example", "file:///x", "https://u:p@h.example", "command:x", "", "x", 7, undefined, `https://h.example/${"x".repeat(3_000)}`]) {
        assert.equal(httpsUrl(bad), undefined);
    }
});
