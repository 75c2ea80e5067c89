"""Builds the site of docs/ with mdbook, follows every link of it and of the pages, and checks the spelling of all that people read.

usage: docs.py REVIEW MDBOOK TYPOS OUT   (or `docs.py --write`: only writes docs/SUMMARY.md anew)

- Links of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md: the file is there, the anchor is one of its headings. A page of docs/ links to nothing outside of
  docs/, since the site has nothing else.
- Pages: docs/README.md, the index, links to each page once, in its groups; docs/SUMMARY.md, which mdbook reads, is made from it.
- The site in OUT: mdbook says nothing but that it built it, and every link and every picture of it leads somewhere.
- Commands: every `review …` in a page is a command of REVIEW, with flags that its help has.
- Words: `typos` (American English; `.typos.toml` has the exceptions) over the pages, the texts for contributors, and the help of every command of REVIEW.

A check that cannot fail proves nothing: copies of the pages are then spoiled, and each spoil must be found. The words that pages and help do
not use are those of tests/it/names.rs.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent
ROOT = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
TAG = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
# What is replaced in a copy of docs/, by what, and a word of what must be said about it.
SPOILED = [
    ("cost.md", "](models.md)", "](modles.md)", "modles.md"),
    ("cost.md", "](batch.md#half-the-price---economy)", "](batch.md#half-price)", "half-price"),
    ("cost.md", "](models.md)", "](../Cargo.toml)", "outside of docs"),
    ("README.md", "](cost.md)", "](doctor.md)", "cost.md"),
    ("SUMMARY.md", "(cost.md)", "(costs.md)", "docs.py --write"),
    ("getting-started.md", "# ", "![x](images/none.svg)\n\n# ", "none.svg"),
]
# Branches in examples (`review main`), and the command that is every command's.
BRANCHES = {"main", "topic", "help"}
MISCALLED = [("cost.md", "--preview ", "--preveiw ", "--preveiw"), ("doctor.md", "review doctor ", "review docter ", "docter")]
MISSPELLED = [("cost.md", "An unknown cost", "An unkown cost", "unkown"), ("cost.md", "# Cost", "# Cost of behaviour", "behaviour")]


def prose(text):
    """The text without code and comments, with as many lines."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2`*~* *$", blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)
    # A link's own code (`[`a`](b)`) goes too: its target stays.
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda found: "x" * len(found[0]), text)


def links(text):
    text = prose(text)
    for pattern in (LINK, REFERENCE, TAG):
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, found[1]


def anchors(text):
    """The anchors that GitHub gives to the headings, and those that the text sets itself."""
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    blank = lambda part: re.sub(r"[^\n]", " ", part[0])
    plain = re.sub(r"^( *)(```+|~~~+).*?^ *\2`*~* *$", blank, text, flags=re.MULTILINE | re.DOTALL)
    seen = {}
    for title in re.findall(r"^#{1,6} +(.+?) *#* *$", plain, re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(slug if slug not in seen else f"{slug}-{seen[slug]}")
        seen[slug] = seen.get(slug, 0) + 1
    return found


def is_elsewhere(target):
    return re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("//")


def linked(docs):
    """What is wrong with the links of the pages in `docs`, and of the texts beside that folder."""
    wrong = []
    for path in [docs.parent / name for name in ROOT if (docs.parent / name).exists()] + sorted(docs.glob("*.md")):
        for line, target in links(path.read_text()):
            if is_elsewhere(target):
                continue
            place, _, anchor = urllib.parse.unquote(target).partition("#")
            aim = (path.parent / place).resolve() if place else path
            at = f"{path.relative_to(docs.parent)}:{line}: {target}"
            if docs in path.parents and docs not in aim.parents:
                wrong.append(f"{at} leads outside of docs")
            elif not aim.exists():
                wrong.append(f"{at} leads nowhere")
            elif anchor and (aim.suffix != ".md" or anchor not in anchors(aim.read_text())):
                wrong.append(f"{at}: there is no such heading")
    return wrong


def summary(docs):
    """The list of pages for mdbook, from the groups of the index."""
    lines = ["# Summary", "", "[Documentation](README.md)"]
    for line in (docs / "README.md").read_text().splitlines():
        if line.startswith("## "):
            lines += ["", f"# {line[3:]}", ""]
        elif row := re.match(r"\| \[([^\]]+)\]\(([a-z-]+\.md)\) \|", line):
            lines.append(f"- [{row[1]}]({row[2]})")
    return "\n".join(lines) + "\n"


def listed(docs):
    """What is wrong with the lists of pages."""
    wrong = []
    if (docs / "SUMMARY.md").read_text() != summary(docs):
        wrong.append("docs/SUMMARY.md is not what docs/README.md lists: python3 .ci/docs.py --write")
    names = re.findall(r"\(([a-z-]+\.md)\)$", summary(docs), re.MULTILINE)
    for page in sorted(path.name for path in docs.glob("*.md") if path.name not in ("README.md", "SUMMARY.md")):
        if names.count(page) != 1:
            wrong.append(f"docs/{page} is {names.count(page)} times in the tables of docs/README.md, not once")
    return wrong


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif value and (name in ("href", "src") and tag != "base"):
                self.targets.append(value)


def built(mdbook, docs, out):
    """What is wrong with the site that mdbook makes of the pages."""
    shutil.rmtree(out, ignore_errors=True)
    ran = subprocess.run([mdbook, "build", docs, "--dest-dir", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    wrong = [f"mdbook: {line}" for line in ran.stdout.splitlines() if not re.match(r"^\S* ?\s*(INFO|\S+ \[INFO\])", line)]
    if ran.returncode or not (out / "index.html").is_file():
        return [*wrong, f"mdbook ended with {ran.returncode}:\n{ran.stdout}"]
    pages = {path: Page(path.read_text()) for path in sorted(out.rglob("*.html"))}
    for path, page in pages.items():
        # The page for a missing page has paths from the server's root; the table of contents is in every page.
        if path.name in ("404.html", "toc.html"):
            continue
        for target in page.targets:
            if is_elsewhere(target):
                continue
            place, _, anchor = urllib.parse.unquote(target).partition("#")
            aim = (path.parent / place).resolve() if place else path
            if aim.is_dir():
                aim /= "index.html"
            if not aim.is_file():
                wrong.append(f"{path.relative_to(out)}: {target} leads nowhere")
            elif anchor and aim in pages and anchor not in pages[aim].ids:
                wrong.append(f"{path.relative_to(out)}: {target}: no such place")
    texts = {path.stem for path in docs.glob("*.md")} - {"README", "SUMMARY"} | {"index"}
    missing = texts - {path.stem for path in pages}
    return wrong + [f"the site has no {name}.html" for name in sorted(missing)]


def spelled(typos, *paths):
    ran = subprocess.run([typos, "--config", TOP / ".typos.toml", "--format", "brief", "--", *paths], capture_output=True, text=True, timeout=300)
    if ran.returncode not in (0, 2) or ran.stderr.strip():
        sys.exit(f"typos ended with {ran.returncode}:\n{ran.stderr}")
    return ran.stdout.splitlines()


def commands(text):
    """The calls of `review` in blocks and lines of code: the line, the words, without what the shell takes."""
    blocks = r"^ *```(?:console|sh)\n(.*?)^ *```"
    for found in re.finditer(rf"{blocks}|(?<!`)`(?!`)(review [^`]+)`", text, re.MULTILINE | re.DOTALL):
        lines = found[2].replace("\n", " ").splitlines() if found[2] else found[1].replace("\\\n", " ").splitlines()
        for line in lines:
            call = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*review( [^#|;&<>]*|$)", line)
            if call:
                yield text.count("\n", 0, found.start()) + 1, call[1].split(" -- ")[0].split()


def called(docs, helps):
    """What is wrong with the calls in the pages: an unknown command or flag."""
    wrong = []
    for path in [docs.parent / name for name in ROOT[:2] if (docs.parent / name).exists()] + sorted(docs.glob("*.md")):
        for line, words in commands(path.read_text()):
            command = ()
            for word in words:
                if (*command, word) in helps:
                    command = (*command, word)
                else:
                    break
            flags = [re.match(r"--[a-z-]+|-[A-Za-z]", word) for word in words]
            for flag in (found[0] for found in flags if found):
                if not re.search(rf"(?<![\w-]){flag}(?![\w-])", helps[command]):
                    wrong.append(f"{path.relative_to(docs.parent)}:{line}: {' '.join(('review', *command))} has no {flag}")
            if words and not command and re.fullmatch(r"[a-z]{3,}", words[0]) and words[0] not in BRANCHES:
                wrong.append(f"{path.relative_to(docs.parent)}:{line}: there is no review {words[0]}")
    return wrong


def help_texts(review, folder):
    """Writes the short and the long help of every command, and gives the long ones."""
    rest, done = [()], {}
    while rest:
        command = rest.pop()
        for flag in ("-h", "--help"):
            ran = subprocess.run([review, *command, flag], capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0 and f"Usage: {' '.join(['review', *command])}" in ran.stdout, (command, ran.stderr)
            (folder / f"{'_'.join(('review', *command))}{flag}.txt").write_text(ran.stdout)
        done[command] = ran.stdout
        # The first page has the commands that people use; those of programs are on a page of their own.
        pages = ran.stdout
        if not command:
            pages += subprocess.run([review, "help", "all"], capture_output=True, text=True, timeout=60).stdout
        for name in re.findall(r"^  ([a-z][a-z-]+) {2,}[A-Z]", pages, re.MULTILINE):
            if name not in ("help", "review") and (*command, name) not in [*done, *rest]:
                rest.append((*command, name))
    return done


def everything(mdbook, docs, out):
    return linked(docs) + listed(docs) + built(mdbook, docs, out)


def spoil(folder, name, before, after):
    """A copy of docs/ with one thing changed."""
    docs = folder / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(TOP / "docs", docs)
    text = (docs / name).read_text()
    assert before in text, f"docs/{name} has no {before!r} to spoil any more"
    (docs / name).write_text(text.replace(before, after, 1))
    return docs


def main():
    docs = TOP / "docs"
    if sys.argv[1:] == ["--write"]:
        (docs / "SUMMARY.md").write_text(summary(docs))
        return
    review, mdbook, typos, out = (pathlib.Path(each).absolute() for each in sys.argv[1:])
    wrong = everything(mdbook, docs, out)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        (folder / "help").mkdir()
        helps = help_texts(review, folder / "help")
        assert len(helps) > 30, f"only {len(helps)} commands were found in the help"
        wrong += called(docs, helps)
        wrong += spelled(typos, docs, *(TOP / name for name in ROOT), folder / "help")
        if wrong:
            print("\n".join(wrong))
            sys.exit(1)
        for name, before, after, word in SPOILED:
            said = everything(mdbook, spoil(folder, name, before, after), folder / "site")
            assert any(word in line for line in said), f"{before!r} as {after!r} in docs/{name} was not found: {said}"
        for name, before, after, word in MISCALLED:
            said = called(spoil(folder, name, before, after), helps)
            assert any(word in line for line in said), f"{after!r} in docs/{name} was not found: {said}"
        for name, before, after, word in MISSPELLED:
            said = spelled(typos, spoil(folder, name, before, after))
            assert any(word in line for line in said), f"{after!r} in docs/{name} was not found: {said}"
    pages = len(list(docs.glob("*.md"))) - 1
    print(f"{pages} pages and the site of them: every link leads somewhere; the help of {len(helps)} commands is spelled right; {len(SPOILED + MISCALLED + MISSPELLED)} spoils were seen")


if __name__ == "__main__":
    main()
