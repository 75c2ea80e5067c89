"""Renders every text that the tests posted on a pull request with GitHub's own Markdown library, and looks for what comes to life in it.

usage: posted.py FOLDER SNAPSHOT

FOLDER holds TEST/NNN.json, the recorded requests to GitHub; SNAPSHOT is the file with hostile texts as they would be posted. A text may hold
paragraphs, lists, emphasis, code, our own headings, table, links to places and hidden marks, and, in a comment on lines, one suggestion. Outside of code it holds nothing that GitHub
links by itself. Prints a line; ends with 1 at the first thing that is wrong.

A check that cannot fail proves nothing: every text is then spoiled in many ways, each of which must be found.
"""

import html.parser
import json
import pathlib
import re
import sys

import cmarkgfm
from cmarkgfm.cmark import Options

OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_HARDBREAKS
EXTENSIONS = ["table", "autolink", "strikethrough", "tasklist"]
TAGS = {"p", "ul", "ol", "li", "em", "strong", "del", "code", "pre", "br"}
MARK = re.compile(r" review:((untrusted-)?(finding|summary|run)|beside) v=1( [a-z]+=[A-Za-z0-9.:_%+/~*-]*)+ ", re.ASCII)
HEADINGS = re.compile(
    r"h2: Review( by the pull request's own workflow)?: [a-z0-9(), ]+|h3: (Main findings|Also noticed|On their lines|Not on lines|Beyond the limit of comments|Found by earlier reviews|About the change|What was looked at)"
)
# The table of the main findings has these columns; a place in it, or in a list, links to its line at the reviewed commit.
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
COLUMNS = ["severity", "place", "title"]
PLACE = re.compile(r"http://127\.0\.0\.1:\d+/octo/[a-z]+/blob/[0-9a-f]{40}/[\w./%-]+#L\d+(-L\d+)?", re.ASCII)
# The rationale of a verification is folded.
FOLD = {"details", "summary"}
DRAWN = {"mermaid", "math", "geojson", "topojson", "stl"}
LINKED = re.compile(
    r"@[a-z0-9]|://|\bwww\.|#\d|\bgh-\d|mailto:|xmpp:|\bcve-\d|\bghsa-\w|(?<![0-9a-z_])(?=\d*[a-f])[0-9a-f]{7,64}(?![0-9a-z_])", re.I | re.ASCII
)
SPOILS = [
    "![x](https://e.example/x.png)", "[x](//e.example)", "[x]\n\n[x]: /e", "<https://e.example>", "https://e.example", "www.e.example", "a@b.example",
    "@octo", "fixes #12", "GH-12", "a1b2c3d", "CVE-2025-30066", "GHSA-8q5r-mmjf-575q", "<b>x</b>", "<!-- x -->", "<!-- review:other v=1 -->", "# x",
    "x\n===", "***", "> x", "- [ ] x", "| a |\n| - |\n| b |", "x[^1]\n\n[^1]: y", "<details><summary>x</summary>\n\ny\n\n</details>", "```mermaid\nx\n```", "1234567. ~~~math", "~~~suggestion\nx\n~~~",
]


class Rendered(html.parser.HTMLParser):
    """What is wrong with a rendered text."""

    def __init__(self, suggestions):
        super().__init__(convert_charrefs=True)
        self.wrong, self.text, self.headings = [], [], []
        self.in_code, self.in_heading, self.suggestions = 0, False, suggestions
        self.columns, self.in_column = [], False
        self.summary, self.in_summary = "", False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        language = attributes.pop("lang", None) if tag == "pre" else None
        first = attributes.pop("start", None) if tag == "ol" else None
        if tag in ("h2", "h3"):
            self.headings.append(f"{tag}: ")
            self.in_heading = True
        elif tag == "th" and not attributes:
            self.columns.append("")
            self.in_column = True
        elif tag == "a" and len(attributes) == 1 and PLACE.fullmatch(attributes.get("href") or ""):
            pass
        elif tag not in TAGS | TABLE | FOLD or attributes or (first and not first.isdigit()):
            self.wrong.append(f"<{tag} {attributes}>")
        if language == "suggestion" and self.suggestions:
            self.suggestions -= 1
        elif language and (language.lower() in DRAWN or language.lower().startswith("suggestion")):
            self.wrong.append(f"a fence of {language}")
        self.in_summary |= tag == "summary"
        self.in_code += tag in ("code", "pre")
        # What stands in two parts is no link.
        self.text.append("\n")

    def handle_endtag(self, tag):
        self.in_code -= tag in ("code", "pre")
        self.in_heading &= tag not in ("h2", "h3")
        self.in_column &= tag != "th"
        self.in_summary &= tag != "summary"
        if tag == "details" and self.summary != "Why":
            self.wrong.append(f"a fold of {self.summary!r}")
        if tag == "table" and self.columns != COLUMNS:
            self.wrong.append(f"a table of {self.columns}")
        self.text.append("\n")

    def handle_data(self, data):
        if self.in_heading:
            self.headings[-1] += data
        if self.in_summary:
            self.summary += data
        if self.in_column:
            self.columns[-1] += data
        if not self.in_code:
            self.text.append(data)

    def handle_comment(self, data):
        if not MARK.fullmatch(data):
            self.wrong.append(f"<!--{data}-->")

    def handle_decl(self, data):
        self.wrong.append(f"<!{data}>")

    def handle_pi(self, data):
        self.wrong.append(f"<?{data}>")

    unknown_decl = handle_decl


def wrong_in(text, suggestions):
    """All that comes to life in a text."""
    page = cmarkgfm.markdown_to_html_with_extensions(text, options=OPTIONS, extensions=EXTENSIONS)
    rendered = Rendered(suggestions)
    rendered.feed(page)
    rendered.close()
    headings = [heading for heading in rendered.headings if not HEADINGS.fullmatch(heading) or rendered.headings.count(heading) > 1]
    return rendered.wrong + headings + LINKED.findall("".join(rendered.text))


def posted(folder):
    """The texts of the program, each with how many suggestions it may hold; what tests of the client send is not
    the review's, and the state of resolved remarks has the form of another program."""
    for file in sorted(pathlib.Path(folder).glob("*/*.json")):
        request = json.loads(file.read_text("utf-8"))
        body = request["body"]
        if file.parent.name.startswith(("github_client", "github_fake", "mcp_pulls")) or request["method"] == "GET" or not isinstance(body, dict):
            continue
        if request["path"].endswith("/graphql") or "body" not in body:
            continue
        yield file.parent.name, body["body"], 0
        for comment in body.get("comments", []):
            yield file.parent.name, comment["body"], 1


def main():
    folder, snapshot = sys.argv[1:]
    hostile = pathlib.Path(snapshot).read_text("utf-8").split("---\n", 2)[2].split("\n\n=====\n\n")
    texts = [(name, text, most) for name, text, most in posted(folder) if text]
    assert len(texts) > 10 and len(hostile) > 30, (len(texts), len(hostile))
    assert any("hostile_pull" in name for name, _, _ in texts), "the hostile pull request was not posted on"
    for name, text, most in texts + [("hostile texts", text, 0) for text in hostile]:
        wrong = wrong_in(text, most)
        assert not wrong, f"{name}: {wrong[0]} in\n{text}"
    for name, text, most in texts[:200]:
        for spoil in SPOILS:
            spare = most - text.count("suggestion\n")
            if spoil.startswith("~~~suggestion") and spare > 0:
                continue
            assert wrong_in(f"{spoil}\n\n{text}", most), f"{name}: {spoil!r} is not seen in\n{text}"
    print(f"{len(texts)} posted and {len(hostile)} hostile texts rendered, nothing in them is active; {len(SPOILS)} spoils were seen")


if __name__ == "__main__":
    main()
