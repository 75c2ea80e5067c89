"""Holds the reports for other programs against their schemas, and against stricter checks where a schema is lax.

usage: formats.py PATH-TO-REVIEW

Every document of `fixtures/documents`, and some that are worse, are laid down as kept runs, and the program shows each in every format. A real
repository with odd names is reviewed too, with a gate and without. Then, for each report:

- rdjson, rdjsonl, gitlab by `fixtures/schemas`, junit by the schema of Jenkins' xUnit plugin;
- as many entries as the JSON document has unresolved findings, one more where it is not complete, which comes first, and one for its limits;
- relative paths, lines from 1 that do not end before they begin, names that do not repeat, severities as `docs/formats.md` has them;
- annotations are read as GitHub's runner reads a log: no line is anything but a command of ours, never more than ten of a level;
- the messages for reviewdog and the job summary are rendered with GitHub's own Markdown library: no link, no image, no tag that is not ours
  or Markdown's; a summary has at most 1 MiB.

A check that cannot fail proves nothing: every check is then given a report that was spoiled for it. Ends with 1 and what was wrong, else
with the number of reports and of spoiled ones.
"""

import copy
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import cmarkgfm
import jsonschema
from cmarkgfm.cmark import Options
from lxml import etree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "fixtures/schemas"
RDJSON = json.loads((SCHEMAS / "rdjson.schema.json").read_text())
VALID = {
    "rdjson": jsonschema.Draft202012Validator(RDJSON),
    "rdjsonl": jsonschema.Draft202012Validator({"$defs": RDJSON["$defs"], "$ref": "#/$defs/diagnostic"}),
    "gitlab": jsonschema.Draft202012Validator(json.loads((SCHEMAS / "gitlab.schema.json").read_text())),
}
XSD = etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd"))
FORMATS = ["rdjson", "rdjsonl", "gitlab", "junit", "annotations", "job-summary"]
SEVERITIES = ["critical", "high", "medium", "low", "nit"]
LEVELS = ["error", "warning", "notice"]


class Wrong(Exception):
    """A report is not as it has to be."""


def check(holds, what):
    if not holds:
        raise Wrong(what)


def table():
    """The severities of each format, as the documentation has them."""
    text = (ROOT / "docs/formats.md").read_text()
    rows = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("|")]
    head = next(row for row in rows if row[0] == "severity")
    found = {row[0]: dict(zip(head[1:], row[1:])) for row in rows if row[0] in SEVERITIES and len(row) == len(head)}
    check(list(found) == SEVERITIES, "docs/formats.md has lost its table of severities")
    return found


WORDS = table()


def unresolved(review):
    return [f for f in review["findings"] if f["status"] not in ("fixed", "dismissed")]


def limited(review):
    """Whether the review has limits that its outcome does not show."""
    coverage = review["coverage"]
    reasons = [file["reason"] or "" for file in coverage["files"] if file["state"] == "text_only"]
    return bool(coverage.get("uncommitted")) or any(re.match("no rules for (?!files of this kind)", reason) for reason in reasons)


def expected(review):
    """The severities of all entries, in order: first that the review is not complete, last its limits."""
    first = [] if review["outcome"] == "complete" else ["critical"]
    return first + [finding["severity"] for finding in unresolved(review)] + ["nit"] * limited(review)


def check_path(path):
    check(path and not path.startswith(("/", "./")) and ".." not in path.split("/"), f"not a path of the repository: {path!r}")


def check_range(given):
    check(given["start"]["line"] >= 1 and given.get("end", given["start"])["line"] >= given["start"]["line"], f"not lines: {given}")


def at_head(review):
    """For each entry, (path, first line, last line) as the JSON document has them; None where only the program knows what became of the place."""
    first = [] if review["outcome"] == "complete" else [None]
    for finding in unresolved(review):
        anchor = finding["anchors"][0]
        known = anchor["side"] == "new"
        first.append((anchor["path"], anchor["start_line"], anchor["end_line"]) if known else None)
    return first


def check_schema(validator, document):
    for fault in validator.iter_errors(document):
        raise Wrong(f"not by its schema: {fault.json_path}: {fault.message[:200]}")


def check_diagnostics(diagnostics, review):
    check([d["severity"] for d in diagnostics] == [WORDS[s]["rdjson"] for s in expected(review)], "entries or their severities")
    own = [] if review["outcome"] == "complete" else ["review/" + review["outcome"]]
    check([d["code"]["value"] for d in diagnostics if d["code"]["value"] in ("review/incomplete", "review/failed")] == own, "the outcome")
    check([d["code"]["value"] == "review/limits" for d in diagnostics[-1:]] == [limited(review)] * bool(diagnostics), "the limits")
    for diagnostic in diagnostics:
        for at in [diagnostic["location"]] + [related["location"] for related in diagnostic.get("related_locations", [])]:
            check_path(at["path"])
            if "range" in at:
                check_range(at["range"])
        for suggestion in diagnostic.get("suggestions", []):
            check_range(suggestion["range"])
        check(diagnostic["message"].strip(), "an empty message")
        # Reviewdog posts it as Markdown.
        page = Page()
        page.feed(cmarkgfm.github_flavored_markdown_to_html(diagnostic["message"], Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES))
        page.close()
        check(page.code == 0, "code that is not closed")
    deleted = {file["path"] for file in review["change"]["files"] if file["status"] == "deleted"}
    for finding, diagnostic in zip(unresolved(review), diagnostics[len(own) :]):
        check(finding["id"] in diagnostic["message"], f"{finding['id']} is not named")
        anchor = finding["anchors"][0]
        if anchor["side"] == "new":
            lines = None if anchor["kind"] == "file" else (anchor["start_line"], anchor["end_line"])
            given = diagnostic["location"].get("range")
            check(diagnostic["location"]["path"] == anchor["path"], "the path of a finding")
            check((given and (given["start"]["line"], given["end"]["line"])) == lines, f"the lines of a finding: {given} {lines}")
        given = diagnostic.get("suggestions", [])
        here = finding["suggestion"] and finding["suggestion"]["path"] == diagnostic["location"]["path"] not in deleted
        if here and "too long for this format" not in diagnostic["message"]:
            check([s["text"] for s in given] == [finding["suggestion"]["replacement"]], "the text of a suggestion")
        else:
            check(not given, "a suggestion that is not of this file")


def check_rdjson(report, review, _):
    document = json.loads(report)
    check_schema(VALID["rdjson"], document)
    check_diagnostics(document["diagnostics"], review)


def check_rdjsonl(report, review, _):
    lines = report.split(b"\n")
    check(lines.pop() == b"", "the last line does not end")
    check(all(len(line) < 64 * 1024 for line in lines), "a line that reviewdog does not read")
    diagnostics = [json.loads(line) for line in lines]
    for diagnostic in diagnostics:
        check_schema(VALID["rdjsonl"], diagnostic)
        check(diagnostic.get("source", {}).get("name") == "review", "a line without its source")
    check_diagnostics(diagnostics, review)


def check_gitlab(report, review, _):
    violations = json.loads(report)
    check_schema(VALID["gitlab"], violations)
    check([v["severity"] for v in violations] == [WORDS[s]["gitlab"] for s in expected(review)], "entries or their severities")
    for violation, place in zip(violations, at_head(review)):
        given = violation["location"]
        if place:
            check((given["path"], given["lines"]["begin"], given["lines"]["end"]) == (place[0], place[1] or 1, place[2] or 1), f"the place {given}, not {place}")
    prints = [v["fingerprint"] for v in violations]
    ids = [finding["id"] for finding in unresolved(review)]
    own = len(prints) - limited(review)
    check(prints[own - len(ids) :] == ids + ["review/limits"] * limited(review), "fingerprints that are not the ids")
    check(len(set(prints)) == len(prints), "a fingerprint that repeats")
    for violation in violations:
        check_path(violation["location"]["path"])
        lines = violation["location"]["lines"]
        check(lines["end"] >= lines["begin"], "lines that end before they begin")
        check("\n" not in violation["description"] and len(violation["description"]) <= 1001, "a description of more than a line")
    if review["outcome"] != "complete":
        first = violations[0]
        check((first["check_name"], first["fingerprint"]) == ("review/" + review["outcome"], review["id"]), "the outcome")


def check_junit(report, review, fail_on):
    document = etree.fromstring(report)
    if not XSD.validate(document):
        raise Wrong(f"not by its schema: {XSD.error_log.last_error}")
    cases = document.findall(".//testcase")
    found = unresolved(review)
    failing = [f for f in found if fail_on is None or SEVERITIES.index(f["severity"]) <= SEVERITIES.index(fail_on)]
    hidden = [s for s in review["coverage"]["below_floor"] if fail_on and SEVERITIES.index(s) <= SEVERITIES.index(fail_on)]
    counts = {
        "tests": len(found) + 1 + bool(hidden),
        "failures": len(failing) + bool(hidden),
        "errors": 0 if review["outcome"] == "complete" else 1,
    }
    for name, count in counts.items():
        check(int(document.get(name)) == count, f"{name}: {document.get(name)}, {count} expected")
        check(sum(int(suite.get(name)) for suite in document.findall("testsuite")) == count, f"{name} of the suites")
    check((len(cases), len(document.findall(".//failure")), len(document.findall(".//error"))) == tuple(counts.values()), "the cases")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    check(len(set(names)) == len(names), "a name that repeats: GitLab keeps one case of each")
    files = [suite.get("file") for suite in document.findall("testsuite")[1:] for _ in suite.findall("testcase")]
    told = sorted(path for path, *_ in filter(None, at_head(review)))
    if len(told) == len(found) and not any(set(path) - set(map(chr, range(32, 127))) for path in told):
        check(sorted(files) == told, f"the suites are of {sorted(files)}, not of {told}")
    failed = " ".join(case.get("name") for case in cases if case.find("failure") is not None)
    check(all(finding["id"] in failed for finding in failing), "a finding of the gate that did not fail")
    for suite in document.findall("testsuite")[1:]:
        check_path(suite.get("file"))
    check(b"[[ATTACHMENT" not in report, "an attachment")
    if review["outcome"] != "complete":
        check(cases[0].find("error").get("type") == "review/" + review["outcome"], "the outcome")


def obeyed(line):
    """A line as GitHub's runner reads it: the new form at its beginning, else the old form anywhere."""
    new = re.match(r"\s*::([^ :]*)(?: ((?:(?!::).)*))?::(.*)$", line, re.S)
    if new:
        pairs = dict(pair.split("=", 1) for pair in (new[2] or "").split(",") if "=" in pair)
        return new[1], pairs, new[3]
    old = re.search(r"##\[([^ \]]*)[^\]]*\](.*)$", line)
    return (old[1], {}, old[2]) if old else None


def check_annotations(report, review, _):
    text = report.decode()
    check(not re.search("[\r\v\f\x00\x1b\x1c-\x1e\x85\u2028\u2029\u202a-\u202e\u2066-\u2069]", text), "a character that ends a line or hides")
    check("##[" not in text and "##vso[" not in text and "##teamcity[" not in text, "a command of the old form")
    lines = text.split("\n")
    check(lines.pop() == "", "the last line does not end")
    commands = [obeyed(line) for line in lines]
    check(all(commands), "a line that is no command")
    check(all(level in LEVELS and set(given) <= {"file", "line", "endLine", "title"} and data for level, given, data in commands), "a command that is not ours")
    for level in LEVELS:
        check(sum(command[0] == level for command in commands) <= 10, f"more of the level {level} than GitHub keeps")
    for _, given, data in commands:
        if "file" in given:
            check_path(given["file"])
        if "line" in given:
            check(1 <= int(given["line"]) <= int(given.get("endLine", 0)), f"not lines: {given}")
        check(len(data) <= 4096 * 3 and len(re.sub("%(25|0D|0A)", "x", data)) <= 4096, "a message that the runner cuts")
    # The limits are part of the last notice.
    entries = expected(review)[: -1 if limited(review) else None]
    shown, left = [], 0
    for number, severity in enumerate(entries):
        level = WORDS[severity]["annotation"]
        own = number == 0 and review["outcome"] != "complete"
        if own or sum(one == level for one, mine in shown if not mine) < 9:
            place = at_head(review)[number]
            given = commands[len(shown)][1] if len(shown) < len(commands) else {}
            if place and not {"%", ",", ":"} & set(place[0]):
                lines = [str(line) if line else None for line in place[1:]]
                check([given.get("file"), given.get("line"), given.get("endLine")] == [place[0], *lines], f"the place {given}, not {place}")
            shown.append((level, own))
        else:
            left += 1
    check([command[0] for command in commands] == [level for level, _ in shown] + ["notice"] * bool(left or limited(review)), "entries or their levels")
    if left:
        check(commands[-1][1]["title"] == f"{left} more findings have no annotation", "how many are left out")
    if review["outcome"] != "complete":
        check(review["outcome"] in commands[0][1]["title"], "the outcome")


class Page(html.parser.HTMLParser):
    TAGS = {"details", "summary", "h1", "h2", "p", "strong", "em", "del", "ul", "ol", "li", "code", "pre", "br", "blockquote", "table", "thead", "tbody", "tr", "th", "td"}
    LIVE = re.compile(r"@[a-z0-9]|://|\bwww\.|#\d|\bgh-\d|mailto:", re.I | re.ASCII)

    def __init__(self):
        super().__init__()
        self.code, self.folds, self.said = 0, 0, []

    def handle_starttag(self, tag, attrs):
        check(tag in self.TAGS, f"a tag that is not ours: {tag}")
        check({name for name, _ in attrs} <= {"align", "lang", "start"}, f"attributes of {tag}: {attrs}")
        self.code += tag in ("code", "pre")
        self.folds += tag == "details"

    def handle_endtag(self, tag):
        self.code -= tag in ("code", "pre")
        self.folds -= tag == "details"
        check(self.folds >= 0, "a fold that nobody opened")

    def handle_comment(self, data):
        raise Wrong(f"a comment: {data}")

    def handle_data(self, data):
        self.said.append(data)
        check(self.code or not self.LIVE.search(data), f"what GitHub links by itself: {data[:100]!r}")


def check_summary(report, review, _):
    check(len(report) <= 1024 * 1024, "more than GitHub takes")
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG | Options.CMARK_OPT_FOOTNOTES
    rendered = cmarkgfm.github_flavored_markdown_to_html(report.decode(), options)
    page = Page()
    page.feed(rendered)
    page.close()
    check(page.folds == 0 and page.code == 0, "a fold or code that is not closed")
    said = "".join(page.said)
    left = sum(int(count) for count in re.findall(r"(\d+) findings? left out of the details", said))
    count = rendered.count("<details>")
    main = sum(finding["prominence"] == "main" for finding in unresolved(review))
    check(count == main if not left else count <= main <= count + left, f"{count} folds and {left} left out of {main} main findings")
    if not left:
        check(all(finding["id"] in said for finding in unresolved(review)), "a finding that is not there")
    verdict = said.split("\n")[1:3]
    word = {"complete": "— complete", "incomplete": "incomplete", "failed": "failed"}[review["outcome"]]
    check(any(word in line for line in verdict), f"the verdict does not come first: {verdict}")
    check("Coverage" in said and "Provenance" in said and review["id"] in said, "the receipt")


CHECKS = {
    "rdjson": check_rdjson,
    "rdjsonl": check_rdjsonl,
    "gitlab": check_gitlab,
    "junit": check_junit,
    "annotations": check_annotations,
    "job-summary": check_summary,
}


def documents():
    """The reviews that are shown, by name."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "fixtures/documents").glob("*.json"))}
    typical = found["typical"]

    def changed(number, change):
        review = copy.deepcopy(typical)
        review["id"] = f"0000000{number}-0000-4000-8000-00000000000f"
        change(review)
        return review

    def worse(review):
        texts = ["]]>", "<![CDATA[", "::error file=x::y", "##[add-mask]x", "##vso[task.complete]", "\0\x01\x1b[31m", "\u202e\u2066", "\ufffe\uffff",
                 "\u2028\x85\r\n", "&#0;", "%0A::x", "```", "</details>", "<script>x</script>", "@octo #1 http://e.example/", "[[ATTACHMENT|/etc/passwd]]", "[a](b)"]
        for finding in review["findings"]:
            finding["title"] = " ".join(texts)
            finding["body"] = "\n".join(texts) + "\n" + "\n\n".join(texts)
            finding["origin"]["name"] = " ".join(texts)
        review["findings"][0]["title"] = ""
        review["findings"][1]["title"] = "\u202e\0"
        review["findings"][1]["anchors"][0]["path"] = '"src/\\377\\n::error::x ##[x].rs"'
        review["findings"][3]["anchors"][0]["path"] = "::error::,:=%.ts"
        review["outcome"], review["ended"], review["reasons"] = "incomplete", "deadline", texts * 3
        review["change"]["files"][0]["path"] = review["coverage"]["files"][0]["path"] = ":: %,x"

    def many(review):
        review["findings"] = [copy.deepcopy(review["findings"][n % 5]) for n in range(3000)]
        review["findings"].sort(key=lambda finding: SEVERITIES.index(finding["severity"]))
        for number, finding in enumerate(review["findings"]):
            finding["id"] = f"{number:012x}"
            finding["body"] = "Some words on what is wrong. " * 20

    def long(review):
        review["findings"][0]["body"] = "漢字 ::error::\n" * 100_000
        review["findings"][1]["suggestion"]["replacement"] = "x\n" * 200_000
        review["summary"]["text"] = "word " * 400_000

    def gone(review):
        for file in review["change"]["files"]:
            file["status"] = "deleted"
        for finding in review["findings"]:
            finding["anchors"][0]["side"] = "old"

    def limits(review):
        review["coverage"]["uncommitted"] = 3
        review["coverage"]["files"][1].update(state="text_only", reason="no rules for Ruby")

    def limits_alone(review):
        limits(review)
        review["findings"] = []

    found |= {"limits": changed(9, limits), "limits alone": changed(4, limits_alone)}
    found |= {"worse": changed(5, worse), "many": changed(6, many), "long": changed(7, long), "gone": changed(8, gone)}
    for review in found.values():
        lines = review["summary"]
        rest = [f for f in unresolved(review)]
        lines["total"], lines["unresolved"], lines["resolved"] = len(review["findings"]), len(rest), len(review["findings"]) - len(rest)
        lines["bySeverity"] = {s: sum(f["severity"] == s for f in rest) for s in SEVERITIES if any(f["severity"] == s for f in rest)}
        paths = [f["anchors"][0]["path"] for f in rest]
        lines["byFile"] = {path: paths.count(path) for path in sorted(set(paths))}
    return found


class Program:
    def __init__(self, review, folder):
        self.review, self.folder = review, folder
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))}
        self.environment = kept | who | {
            "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
        }

    def run(self, *words, cwd=None, ends=(0,)):
        done = subprocess.run(words, cwd=cwd or self.folder, env=self.environment, capture_output=True)
        if done.returncode not in ends:
            sys.exit(f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:2000]}")
        return done.stdout

    def keep(self, review):
        folder = self.folder / "state/review/runs" / review["id"]
        folder.mkdir(parents=True)
        (folder / "review.json").write_text(json.dumps(review))

    def show(self, review, name):
        return self.run(self.review, "show", review["id"], "--format", name)


def reviewed(program):
    """A repository with odd names and lines that are gone, reviewed by the rules with gates and floors: the reports by both and format."""
    top = os.fsencode(program.folder / "project")
    os.makedirs(top + b"/src")

    def git(*words):
        program.run("git", *words, cwd=top)

    def write(name, text):
        with open(top + b"/" + name, "w") as file:
            file.write(text)

    plant = "\npub fn planted(value: f64) -> bool {\n    value == f64::NAN\n}\n"
    git("init", "-q", "-b", "main", ".")
    write(b"src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n")
    rules = "class Rules {\n%s    public void deleteRule(String id) {\n        service.delete(id);\n    }\n}\n"
    write(b"src/Rules.java", rules % "    @PreAuthorize(\"hasAuthority('ADMIN')\")\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Begin")
    write(b"src/Rules.java", rules % "")
    for name in (b"src/lib.rs", b"src/b\xff.rs", b"src/::error::x.rs", b"src/a,b%=c.rs"):
        write(name, "pub fn one() -> u32 {\n    1\n}\n" + plant)
    git("add", "-A")
    git("commit", "-q", "-m", "Plant ::error::x")
    reports = {}
    for gate, floor, ends in ((None, "nit", 0), ("critical", "nit", 0), ("nit", "nit", 1), ("medium", "critical", 1), ("critical", "critical", 0)):
        files = {name: program.folder / f"{gate}.{floor}.{name}" for name in ["json", *FORMATS]}
        outputs = [word for name, file in files.items() for word in ("--output", f"{name}={file}")]
        words = ["--no-model", "--hints", "--target", "HEAD~1", "--min-severity", floor, *(["--fail-on", gate] if gate else []), *outputs]
        program.run(program.review, *words, cwd=top, ends=(ends,))
        reports[gate, floor] = {name: file.read_bytes() for name, file in files.items()}
    return reports


def spoiled(name, report):
    """Reports with one thing wrong each, and what it is."""
    text = report.decode()
    if name in ("rdjson", "gitlab"):
        document = json.loads(report)
        rows = document["diagnostics"] if name == "rdjson" else document

        def with_row(change):
            rows_before = copy.deepcopy(rows)
            change(rows)
            done = json.dumps(document).encode()
            rows[:] = rows_before
            return done

        yield "an entry is lost", with_row(lambda rows: rows.pop())
        yield "an entry is there twice", with_row(lambda rows: rows.append(rows[-1]))
        yield "a field of its own", with_row(lambda rows: rows[0].update(extra=1))
        yield "no severity", with_row(lambda rows: rows[0].pop("severity"))
        yield "another severity", with_row(lambda rows: rows[0].update(severity="INFO" if name == "rdjson" else "info"))
        yield "an absolute path", with_row(lambda rows: rows[1]["location"].update(path="/etc/passwd"))
        yield "a path with ./", with_row(lambda rows: rows[1]["location"].update(path="./" + rows[1]["location"]["path"]))
        yield "another path", with_row(lambda rows: rows[1]["location"].update(path="src/other.rs"))
        yield "a path that leaves", with_row(lambda rows: rows[1]["location"].update(path="a/../../b"))
        if name == "rdjson":
            yield "line 0", with_row(lambda rows: rows[1]["location"]["range"]["start"].update(line=0))
            yield "lines that end too early", with_row(lambda rows: rows[1]["location"]["range"]["end"].update(line=1))
            yield "other lines", with_row(lambda rows: rows[1]["location"]["range"]["start"].update(line=2))
            for what in ("<img src=x>", "@octo", "[a](http://e.example/)", "<!-- x -->", "<b>x</b>", "#12"):
                yield what, with_row(lambda rows: rows[1].update(message=rows[1]["message"] + "\n\n" + what))
            yield "an empty message", with_row(lambda rows: rows[1].update(message=" "))
            yield "another suggestion", with_row(lambda rows: next(r for r in rows if "suggestions" in r)["suggestions"][0].update(text="other"))
            yield "a word for a line", with_row(lambda rows: rows[1]["location"]["range"]["start"].update(line="1"))
        else:
            yield "a fingerprint that repeats", with_row(lambda rows: rows[1].update(fingerprint=rows[2]["fingerprint"]))
            yield "line 0", with_row(lambda rows: rows[1]["location"]["lines"].update(begin=0))
            yield "lines that end too early", with_row(lambda rows: rows[1]["location"]["lines"].update(end=1, begin=2))
            yield "another end", with_row(lambda rows: rows[1]["location"]["lines"].update(end=rows[1]["location"]["lines"]["end"] + 1))
            yield "another fingerprint", with_row(lambda rows: rows[1].update(fingerprint="x"))
            yield "two lines of text", with_row(lambda rows: rows[1].update(description="a\nb"))
    elif name == "rdjsonl":
        lines = text.splitlines()
        yield "an entry is lost", ("\n".join(lines[:-1]) + "\n").encode()
        yield "a line that is too long", ("\n".join([lines[0], lines[1].replace('"message":"', '"message":"' + "x" * 70000), *lines[2:]]) + "\n").encode()
        yield "no source", text.replace('"source":{"name":"review"},', "", 1).encode()
        yield "no line end", text.rstrip("\n").encode()
        yield "two lines in one", text.replace("}\n{", "}{", 1).encode()
    elif name == "junit":
        yield "a count that is wrong", re.sub(r'failures="(\d+)"', 'failures="99"', text, count=1).encode()
        yield "an attribute that the schema has not", text.replace("<testsuite ", '<testsuite disabled="0" ', 1).encode()
        yield "a failure that passed", re.sub(r"<failure.*?</failure>", "", text, count=1, flags=re.S).encode()
        yield "a case that is lost", re.sub(r"\s*<testcase(?:(?!</testcase>).)*</testcase>\s*</testsuite>\s*</testsuites>", "</testsuite></testsuites>", text, flags=re.S).encode()
        yield "a name that repeats", re.sub(r'(<testcase name=)"[^"]*" classname="[^"]*"', r'\1"x" classname="x"', text).encode()
        yield "an element that the schema has not", text.replace("</testcase>", "<note/></testcase>", 1).encode()
        yield "an attachment", text.replace("</failure>", "[[ATTACHMENT|x]]</failure>", 1).encode()
    elif name == "annotations":
        lines = text.splitlines()
        yield "an entry is lost", ("\n".join(lines[:-1]) + "\n").encode()
        yield "a line of text", (text + "text\n").encode()
        yield "a command of the repository", (text + "::add-mask::x\n").encode()
        yield "a command of the old form", text.replace("::", "::##[error]", 2).encode()
        yield "too many", (text + "::error title=x::y\n" * 11).encode()
        yield "another level", ("::notice" + text.removeprefix("::error")).encode()
        yield "a message that is not escaped", text.replace("%0A", "\n", 1).encode()
        yield "line 0", re.sub(r",line=\d+", ",line=0", text, count=1).encode()
        yield "another end", re.sub(r",endLine=(\d+)", r",endLine=1\1", text, count=1).encode()
        yield "no end", re.sub(r",endLine=\d+", "", text, count=1).encode()
        yield "a path with ./", re.sub(r"file=", "file=./", text, count=1).encode()
        yield "another path", re.sub(r"file=", "file=a/", text, count=1).encode()
        yield "an absolute path", re.sub(r"file=", "file=/", text, count=1).encode()
        yield "a hidden character", text.replace("::", "::\u202e", 2).encode()
        yield "a long message", text.replace("\n", "x" * 5000 + "\n", 1).encode()
    else:
        for what in ("<img src=x>", "[a](http://e.example/)", "@octo", "<!-- x -->", "</details>", "<details>", "<b>x</b>", "http://e.example/", "#12"):
            yield what, text.replace("## Coverage", f"{what}\n\n## Coverage", 1).encode()
        yield "a finding is lost", re.sub(r"<details>.*?</details>", "", text, count=1, flags=re.S).encode()
        yield "no verdict", re.sub(r"^\*\*.*?\*\*$", "", text, count=1, flags=re.M).encode()
        yield "no receipt", text.replace("## Coverage", "").encode()
        yield "too long", (text + "x" * 1024 * 1024).encode()


def main():
    reports = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder).resolve())
        found = documents()
        for name, review in found.items():
            program.keep(review)
            for format_name in FORMATS:
                report = program.show(review, format_name)
                try:
                    CHECKS[format_name](report, review, None)
                except Wrong as wrong:
                    sys.exit(f"failed: {name} as {format_name}: {wrong}")
                reports += 1
                # One that has findings, lines and suggestions, and one that is not complete.
                for what, bad in spoiled(format_name, report) if name == "typical" else ():
                    check(bad != report, f"nothing was spoiled: {format_name}: {what}")
                    try:
                        CHECKS[format_name](bad, review, None)
                    except (Wrong, ValueError, etree.XMLSyntaxError):
                        faults += 1
                        continue
                    sys.exit(f"failed: {format_name} was spoiled and nobody saw it: {what}")
        # A report that forgot to say that the review is not complete is that of a complete one.
        for name in ("incomplete", "failed"):
            lenient = dict(found[name], outcome="complete")
            for format_name in FORMATS:
                try:
                    CHECKS[format_name](program.show(found[name], format_name), lenient, None)
                except Wrong:
                    faults += 1
                    continue
                sys.exit(f"failed: a review that is {name} looks complete as {format_name}")
        for (gate, floor), by_format in reviewed(program).items():
            review = json.loads(by_format["json"])
            count = len(review["findings"]) + sum(review["coverage"]["below_floor"].values())
            check(count >= 5, f"the rules found too little: {[f['title'] for f in review['findings']]}")
            for format_name in FORMATS:
                try:
                    CHECKS[format_name](by_format[format_name], review, gate)
                except Wrong as wrong:
                    sys.exit(f"failed: a real review, --fail-on {gate}, --min-severity {floor}, as {format_name}: {wrong}")
                reports += 1
            # The report says failed exactly where the process ended with 1; without a gate, every finding fails.
            failed = int(etree.fromstring(by_format["junit"]).get("failures")) > 0
            check(failed == (gate in (None, "nit", "medium")), f"the gate {gate} with the floor {floor}: {failed}")
            if gate:
                try:
                    check_junit(by_format["junit"], review, "critical" if gate != "critical" else "nit")
                except Wrong:
                    faults += 1
                else:
                    sys.exit(f"failed: the gate {gate} changes nothing in the JUnit report")
    print(f"{reports} reports are as they have to be, {faults} spoiled ones were found")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"failed: {wrong}")
