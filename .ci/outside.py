"""Checks the program against programs that share no code with it: git, rg, and a JSON Schema validator.

usage: outside.py PATH-TO-REVIEW [REPOSITORY:LANGUAGE ...]

Without repositories it makes a small one for each language. With repositories it clones each, and takes the last fifty first-parent commits
as the change. Into every clone a defect of the language is planted. Then, for each:

- the review is JSON by the published schema, complete, and finds what was planted;
- every anchor's quote stands on exactly those lines, by `git show REVISION:PATH`;
- the counts of every file that was not renamed are those of `git diff --numstat`, and no changed file is missing;
- `list_files` lists what `git ls-tree` lists, `search_in_files` finds the lines that `git grep` and `rg` find, `read_file_part` reads what
  `git show` prints.

Ends with 1 and what was wrong, else with the number of checks.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/review.schema.json").read_text()))
checks = 0

# For each language: the ending of its files, the rule that must fire, and code in which it does.
PLANTS = {
    "rust": (".rs", "rust/compared-with-nan", "\npub fn planted_is_missing(value: f64) -> bool {\n    value == f64::NAN\n}\n"),
    "python": (".py", "python/mutable-default", "\n\ndef planted_collect(item, items=[]):\n    items.append(item)\n    return items\n"),
    "javascript": (".js", "javascript/async-for-each", "\nasync function plantedSaveAll (items, save) {\n  items.forEach(async (item) => {\n    await save(item)\n  })\n}\n"),
    "typescript": (".ts", "javascript/compared-with-nan", "\nexport function plantedIsMissing(value: number): boolean {\n  return value === NaN;\n}\n"),
    "go": (".go", "go/sleep-in-nanoseconds", "\nfunc plantedWait() {\n\ttime.Sleep(100)\n}\n"),
}
# What a made-up repository holds besides.
MADE_UP = {
    "rust": ("src/lib.rs", "//! A library.\n\npub fn one() -> u32 {\n    1\n}\n"),
    "python": ("app/core.py", "def one():\n    return 1\n"),
    "javascript": ("lib/core.js", "'use strict'\n\nmodule.exports = function one () {\n  return 1\n}\n"),
    "typescript": ("src/core.ts", "export const one = (): number => 1;\n"),
    "go": ("core/core.go", "package core\n\nimport \"time\"\n\nvar One = time.Duration(1)\n"),
}


def environment(home):
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))}
    return kept | who | {"HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class Repository:
    def __init__(self, folder, review):
        self.folder, self.review = folder, review

    def git(self, *words, ends=(0,)):
        done = subprocess.run(["git", *words], cwd=self.folder, env=environment(self.folder.parent), capture_output=True)
        if done.returncode not in ends:
            sys.exit(f"git {words}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def ours(self, *words, ends=(0,)):
        done = subprocess.run([self.review, *words], cwd=self.folder, env=environment(self.folder.parent), capture_output=True)
        if done.returncode not in ends:
            sys.exit(f"review {words} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def tool(self, name, **given):
        """All pages of a tool's answer."""
        pages = []
        while True:
            answer = json.loads(self.ours("tool", name, json.dumps(given), "--at", "HEAD"))
            pages.append(answer)
            if not answer.get("next"):
                return pages
            given = answer["next"]["input"]


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"failed: {what}")


def plant(repository, language):
    """Appends the defect to a file of the language and commits; gives the path."""
    ending, _, code = PLANTS[language]
    tracked = repository.git("ls-files", "-z").decode(errors="surrogateescape").split("\0")
    plain = [p for p in tracked if p.endswith(ending) and not p.endswith(".d.ts") and (repository.folder / p).is_file()]
    # Rules about harm to users say nothing about code that no user runs.
    plain = [p for p in plain if not any(word in p.lower() for word in ("test", "example", "bench", "spec", "fixture"))]
    if language == "go":
        plain = [p for p in plain if '"time"' in (repository.folder / p).read_text(errors="replace")]
    # A file of the middle size: neither a stub nor a giant.
    plain.sort(key=lambda p: (repository.folder / p).stat().st_size)
    path = plain[len(plain) // 2]
    with open(repository.folder / path, "a") as file:
        file.write(code)
    repository.git("commit", "-q", "-a", "--no-verify", "-m", "Plant a defect")
    return path


def check_review(repository, language, path, target):
    started = time.monotonic()
    review = json.loads(repository.ours("--target", target, "--hints", "--format", "json"))
    took = time.monotonic() - started
    for error in SCHEMA.iter_errors(review):
        sys.exit(f"failed: the review is not by its schema: {error.message}")
    check(review["outcome"] == "complete", f"{language}: {review['outcome']}: {review['reasons']}")
    rule = PLANTS[language][1]
    found = [f for f in review["findings"] if f["origin"]["name"] == rule and f["anchors"][0]["path"] == path]
    check(found, f"{language}: {rule} was not found in {path}: {[f['origin']['name'] for f in review['findings']]}")
    sides = {"new": review["change"]["head"], "old": review["change"]["merge_base"]}
    for finding in review["findings"]:
        for anchor in finding["anchors"]:
            if anchor["kind"] != "lines" or anchor["masked"]:
                continue
            shown = repository.git("show", f"{sides[anchor['side']]}:{anchor['path']}").decode(errors="replace")
            lines = [line.removesuffix("\r") for line in shown.split("\n")][anchor["start_line"] - 1 : anchor["end_line"]]
            check("\n".join(lines) == anchor["quote"], f"{anchor}: the file has {lines}")
    check_counts(repository, review, sides)
    return len(review["change"]["files"]), len(review["findings"]), took


def check_counts(repository, review, sides):
    words = ["-c", "diff.algorithm=myers", "diff", "--no-textconv", "--no-ext-diff", "--numstat", "-z"]
    theirs = {}
    for row in repository.git(*words, "--no-renames", sides["old"], sides["new"]).split(b"\0")[:-1]:
        added, deleted, path = row.split(b"\t", 2)
        theirs[path.decode(errors="replace")] = [0 if n == b"-" else int(n) for n in (added, deleted)]
    unseen = set(theirs)
    for file in review["change"]["files"]:
        paths = {file["path"], file["old_path"] or file["path"]}
        unseen -= paths
        if len(paths) == 1:
            check([file["additions"], file["deletions"]] == theirs.get(file["path"]), f"counts of {file}: {theirs.get(file['path'])}")
    check(not unseen, f"changed files that the review does not list: {sorted(unseen)[:5]}")


def check_tools(repository, language):
    tracked = repository.git("ls-tree", "-r", "-z", "--name-only", "HEAD").decode(errors="surrogateescape").split("\0")[:-1]
    listed = [path for page in repository.tool("list_files", directory=".") for path in page["files"]]
    plain = [path for path in tracked if path.isascii() and '"' not in path and path.isprintable()]
    listed = [path for path in listed if path.isascii() and not path.startswith('"')]
    check(listed == plain, f"list_files and git ls-tree differ in {sorted(set(listed) ^ set(plain))[:5]}")

    word = "planted"
    hits = [(m["file_path"], m["line_number"]) for page in repository.tool("search_in_files", pattern=word) for m in page["matches"]]
    grep = [row.split(b":", 2) for row in repository.git("grep", "-n", "-I", "-F", word, ends=(0, 1)).splitlines()]
    # Matches in generated files come last.
    check(sorted(hits) == sorted((path.decode(), int(line)) for path, line, _ in grep), f"search_in_files and git grep differ: {hits} {grep}")
    rg = subprocess.run(["rg", "-n", "--no-heading", "--hidden", "-g", "!.git", "-F", word, "."], cwd=repository.folder, capture_output=True)
    rows = sorted((p.removeprefix("./"), int(n)) for p, n, _ in (row.split(":", 2) for row in rg.stdout.decode().splitlines()))
    check(sorted(hits) == rows, "search_in_files and rg differ")

    path = hits[0][0]
    read = "\n".join(page["content"].rstrip("\n") for page in repository.tool("read_file_part", file_path=path)).split("\n")
    shown = repository.git("show", f"HEAD:{path}").decode(errors="replace").removesuffix("\n").split("\n")
    check([row.split("\t", 1)[1] for row in read] == [line.removesuffix("\r") for line in shown], f"read_file_part and git show differ on {path}")


def main():
    review = str(pathlib.Path(sys.argv[1]).resolve())
    given = [word.rsplit(":", 1) for word in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder:
        for source, language in given or [(None, language) for language in PLANTS]:
            repository = Repository(pathlib.Path(folder).resolve() / language / "project", review)
            repository.folder.mkdir(parents=True)
            if source is None:
                repository.git("init", "-q", "-b", "main", ".")
                path, text = MADE_UP[language]
                (repository.folder / path).parent.mkdir(parents=True)
                (repository.folder / path).write_text(text)
                repository.git("add", "-A")
                repository.git("commit", "-q", "-m", "Begin")
                target = "HEAD~1"
            else:
                repository.git("clone", "-q", "--shared", str(pathlib.Path(source).resolve()), ".")
                target = "HEAD~51"
            path = plant(repository, language)
            files, findings, took = check_review(repository, language, path, target)
            check_tools(repository, language)
            print(f"{source or 'made up'}: {language}, {files} changed files, {findings} findings, {took:.2f} s")
    print(f"{checks} passed, 0 failed")


if __name__ == "__main__":
    main()
