"""Runs the rules over what selection.json names, and draws the findings to be judged.

    python3 benches/precision/measure.py commits BINARY FOLDER tuned|scored|second|...|OWNER/NAME OUT.jsonl
    python3 benches/precision/measure.py fixes   BINARY FOLDER OUT.jsonl
    python3 benches/precision/measure.py fired   BINARY FOLDER OUT.jsonl
    python3 benches/precision/measure.py whole   BINARY FOLDER OUT.jsonl OWNER/NAME [OWNER/NAME ...]
    python3 benches/precision/measure.py summary OUT.jsonl [OUT.jsonl ...]
    python3 benches/precision/measure.py sample  OUT.jsonl [NUMBER]

FOLDER holds a bare clone of each repository as OWNER+NAME/repo. `fixes` takes back, in a copy, what each fix commit did to code that is no
test, and reviews that. `fired` reviews each file that fired.json names as if it were added whole (or the commit itself, for rules that look
beyond one file), and says where the rule still speaks up, hints among them. `whole` reviews the whole tree of each repository as if it were
added, and counts the rules that speak up of themselves. Every other review is the program's own, without a model and with no settings of the machine.
"""

import collections
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SELECTION = json.loads((HERE / "selection.json").read_text())
sys.path.insert(0, str(HERE))
from draw import SOURCE, TEST  # noqa: E402

NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
         "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def review(binary, repository, commit, home, *more):
    environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config", "LC_ALL": "C.UTF-8"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("REVIEW_")}
    before = cpu()
    done = subprocess.run([binary, "-C", str(repository), "--commit", commit, "--no-model", "--format", "json", *more],
                          capture_output=True, env=environment, timeout=600)
    told = json.loads(done.stdout) if done.stdout.strip() else None
    return done.returncode, told, cpu() - before, done.stderr.decode("utf-8", "replace")


def entry(name, commit, code, told, took, said):
    row = {"repository": name, "commit": commit, "exit": code, "cpu": round(took, 3)}
    if told is None:
        return row | {"error": said.strip()[-300:], "findings": [], "added": 0, "lines": {}}
    lines = collections.Counter()
    for file in told["change"]["files"]:
        lines[pathlib.PurePath(file["path"]).suffix] += file["additions"]
    findings = [{
        "rule": finding["origin"]["name"], "severity": finding["severity"], "title": finding["title"],
        "anchors": [{key: anchor[key] for key in ("path", "side", "start_line", "end_line", "quote")} for anchor in finding["anchors"]],
    } for finding in told["findings"]]
    return row | {"outcome": told["outcome"], "added": sum(lines.values()), "lines": dict(lines), "findings": findings}


def listed(repository, path):
    if "commits" in repository:
        return repository["commits"]
    return git(path, "rev-list", "--no-merges", "--min-parents=1", f"-{repository['newest']}", repository["head"]).split()


def commits(binary, folder, which, out):
    with open(out, "w") as file, tempfile.TemporaryDirectory() as home:
        for repository in SELECTION["repositories"]:
            if which not in (repository["use"], repository["name"]):
                continue
            path = pathlib.Path(folder, repository["name"].replace("/", "+"), "repo")
            for commit in listed(repository, path):
                file.write(json.dumps(entry(repository["name"], commit, *review(binary, path, commit, home))) + "\n")
                file.flush()


def git(repository, *arguments, **more):
    done = subprocess.run(["git", f"--git-dir={repository}", *arguments], check=True, capture_output=True, **more)
    return done.stdout.decode("utf-8", "replace").strip()


def undone(original, fix, work):
    """A commit on top of the fix that takes back what it did to code that is no test; objects go to a repository of their own."""
    copy = pathlib.Path(work, fix["repository"].replace("/", "+"))
    if not copy.exists():
        subprocess.run(["git", "init", "-q", "--bare", str(copy)], check=True)
        (copy / "objects/info/alternates").write_text(f"{pathlib.Path(original).resolve()}/objects\n")
    commit = fix["commit"]
    changed = git(copy, "diff-tree", "-r", "--no-renames", "--name-only", "-z", f"{commit}^", commit).split("\0")
    paths = [path for path in changed if path.endswith(SOURCE) and not TEST.search(path)]
    index = {**os.environ, "GIT_INDEX_FILE": str(copy / "index.fix")}
    git(copy, "read-tree", commit, env=index)
    for path in paths:
        was = git(copy, "ls-tree", f"{commit}^", "--", path)
        if was:
            mode, _, blob = was.split("\t")[0].split(" ")
            git(copy, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", env=index)
        else:
            git(copy, "update-index", "--force-remove", "--", path, env=index)
    tree = git(copy, "write-tree", env=index)
    return copy, git(copy, "commit-tree", tree, "-p", commit, "-m", "undo", env={**os.environ, **NAMES})


def alone(original, commit, path, work):
    """A commit that adds one file as it stood, or the whole tree where no path is named."""
    copy = pathlib.Path(work, original.parent.name)
    if not copy.exists():
        subprocess.run(["git", "init", "-q", "--bare", str(copy)], check=True)
        (copy / "objects/info/alternates").write_text(f"{original.resolve()}/objects\n")
    index = {**os.environ, "GIT_INDEX_FILE": str(copy / "index.alone")}
    git(copy, "read-tree", "--empty", env=index)
    empty = git(copy, "write-tree", env=index)
    if path is None:
        tree = git(copy, "rev-parse", f"{commit}^{{tree}}")
    else:
        mode, _, blob = git(copy, "ls-tree", commit, "--", path).split("\t")[0].split(" ")
        git(copy, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", env=index)
        tree = git(copy, "write-tree", env=index)
    root = git(copy, "commit-tree", empty, "-m", "nothing", env={**os.environ, **NAMES})
    return copy, git(copy, "commit-tree", tree, "-p", root, "-m", "one file", env={**os.environ, **NAMES})


def fired(binary, folder, out):
    said, rules = [], set()
    with tempfile.TemporaryDirectory() as home:
        for case in json.loads((HERE / "fired.json").read_text()):
            original = pathlib.Path(folder, case["repository"].replace("/", "+"), "repo")
            path, _, line = case["place"].rpartition(":")
            try:
                commit = git(original, "rev-parse", case["commit"])
                copy, commit = (original, commit) if case.get("commit_itself") else alone(original, commit, path, home)
                row = entry(case["repository"], case["commit"], *review(binary, copy, commit, home, "--hints"))
            except (subprocess.CalledProcessError, ValueError, OSError) as error:
                said.append(case | {"fired": False, "error": str(error)[:200]})
                continue
            places = [(anchor["path"], anchor["start_line"], anchor["end_line"]) for finding in row["findings"]
                      if finding["rule"] == case["rule"] for anchor in finding["anchors"]]
            at_it = any(at == path and first <= int(line or 0) <= last for at, first, last in places)
            said.append(case | {"fired": bool(places), "at_the_place": at_it})
            rules |= {case["rule"]} if places else set()
    pathlib.Path(out).write_text("".join(json.dumps(row) + "\n" for row in said))
    print(f"{len(rules)} rules of {len(said)} cases fired, {sum(row.get('at_the_place', False) for row in said)} at the place itself")


def whole(binary, folder, out, *names):
    rules = set()
    with open(out, "w") as file, tempfile.TemporaryDirectory() as home:
        for name in names:
            original = pathlib.Path(folder, name.replace("/", "+"), "repo")
            head = git(original, "rev-parse", "HEAD")
            copy, commit = alone(original, head, None, home)
            row = entry(name, head, *review(binary, copy, commit, home))
            rules |= {finding["rule"] for finding in row["findings"]}
            file.write(json.dumps(row) + "\n")
            file.flush()
    print(f"{len(rules)} rules fired of themselves on {len(names)} repositories")


def fixes(binary, folder, out):
    with open(out, "w") as file, tempfile.TemporaryDirectory() as home:
        for fix in SELECTION["fixes"]:
            original = pathlib.Path(folder, fix["repository"].replace("/", "+"), "repo")
            copy, commit = undone(original, fix, home)
            row = entry(fix["repository"], fix["commit"], *review(binary, copy, commit, home))
            file.write(json.dumps(row | {"subject": fix["subject"], "drawn": fix["drawn"]}) + "\n")
            file.flush()


def rows(*files):
    return [json.loads(line) for file in files for line in pathlib.Path(file).read_text().splitlines()]


def summary(*files):
    by = collections.defaultdict(list)
    for row in rows(*files):
        by[row["repository"]].append(row)
    fired = collections.Counter()
    for name, reviewed in by.items():
        added = sum(row["added"] for row in reviewed)
        found = [finding for row in reviewed for finding in row["findings"]]
        loud = sum(any(finding["severity"] in ("critical", "high", "medium") for finding in row["findings"]) for row in reviewed)
        fired.update(finding["rule"] for finding in found)
        errors = [row for row in reviewed if "error" in row]
        print(f"{name}: {len(reviewed)} reviews, {len(errors)} failed, {added} added lines, {len(found)} findings, "
              f"{1000 * len(found) / max(1, added):.2f} per 1 000 lines, {loud} with medium or above, "
              f"{sum(row['cpu'] for row in reviewed):.1f} s of CPU, at most {max(row['cpu'] for row in reviewed):.2f}")
        for row in errors:
            print(f"    {row['commit']}: {row['error']}")
    print(f"{len(fired)} rules fired")
    for rule, count in fired.most_common():
        print(f"{count:5} {rule}")


def sample(file, number="100"):
    found = [(row["repository"], row["commit"], finding) for row in rows(file) for finding in row["findings"]]
    chosen = found if len(found) <= int(number) else random.Random(SELECTION["seed"]).sample(found, int(number))
    for at, (repository, commit, finding) in enumerate(chosen, 1):
        print(json.dumps({"number": at, "repository": repository, "commit": commit, **finding}))


if __name__ == "__main__":
    {"commits": commits, "fixes": fixes, "fired": fired, "whole": whole, "summary": summary, "sample": sample}[sys.argv[1]](*sys.argv[2:])
