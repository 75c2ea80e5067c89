"""Checks the SARIF that the program writes: by the standard's schema, by Microsoft's validator, and against git and the program's own JSON.

usage: sarif.py PATH-TO-REVIEW NODE_MODULES

Files come from the program itself: reviews of small repositories (one for each language, one with names that no address can hold as they are,
one where tests were deleted), of a patch without a repository, and of kept runs made from `fixtures/documents`. Then, for each:

- it is JSON by `fixtures/schemas/sarif-2.1.0.json`, and a review shown again has the same bytes as the one that was written;
- every finding of the program's JSON that was not fixed is one result with its id, and no other is;
- every address below the root leads to a file of `git ls-tree`, and every snippet stands on exactly those lines, by `git show`;
- Microsoft's validator, with its rules for the standard and for GitHub's code scanning, reports no error, and nothing else but `KNOWN`.

The validator ends with 0 whatever it finds, so that its report is read; of a file that it cannot read it says nothing at all and that it
succeeded, so that one remark is expected of every file. Files that are spoiled on purpose must be refused.
Ends with 1 and what was wrong, else with the number of checks.
"""

import copy
import json
import os
import pathlib
import platform
import stat
import subprocess
import sys
import tempfile
import urllib.parse

import jsonschema

import outside
from outside import MADE_UP, PLANTS, ROOT, Repository, check, environment, plant

SCHEMA = jsonschema.Draft7Validator(
    json.loads((ROOT / "fixtures/schemas/sarif-2.1.0.json").read_text()), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
)
HEAD, OLD = "%SRCROOT%", "%OLDROOT%"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "nit": "note"}
# What the validator may say, and why it stays so.
KNOWN = {
    "SARIF2002": "messages are texts of a model or of a rule about one place: there is no list of them to refer to",
    "SARIF2003": "only a pull request says where its repository is",
    "SARIF2005": "the page of the program is taken from its package, which does not name one yet",
    "SARIF2006": "asks the network for the address of the schema, which a check need not reach",
    "SARIF2009": "rules are called here as on every other surface; each has a description of its own under its whole name",
    "SARIF2010": "a file that is meant as a whole has no snippet",
    "SARIF2011": "a quote is the lines that tell; what stands around them is in the repository",
    "SARIF2012": "rules are explained in the file itself, not on a page; a review without findings names no rule",
    "SARIF2013": "the files are in the repository",
}
# What it says of every file of ours that it could read.
ALWAYS = "SARIF2013"


class Validator:
    """Microsoft's SARIF Multitool, as the npm package for Linux has it."""

    def __init__(self, modules, folder):
        # The package is for x86-64 alone, whatever npm lets in.
        if platform.machine() not in ("x86_64", "AMD64"):
            sys.exit(f"failed: Microsoft builds the SARIF validator for x86-64 only, this is {platform.machine()}: run this check there")
        self.program = pathlib.Path(modules).resolve() / "@microsoft/sarif-multitool-linux/Sarif.Multitool"
        check(self.program.exists(), f"{self.program} is missing")
        # Its installation script would have done so; no such script is run.
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.folder = folder

    def reports(self, files):
        """What it says of each file: (rule, level, message)."""
        out = self.folder / "validated.json"
        words = ["validate", *map(str, files), "--output", str(out), "--log", "ForceOverwrite", "--rule-kind", "Sarif;Ghas"]
        words += ["--level", "Error;Warning;Note"]
        own = {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(self.folder / "dotnet")}
        done = subprocess.run(
            [self.program, *words], cwd=self.folder, env=environment(self.folder) | own, capture_output=True, text=True, timeout=300
        )
        check(done.returncode in (0, 1), f"the validator ended with {done.returncode}: {done.stdout}{done.stderr}")
        check(f"{len(files)} files scanned" in done.stdout, f"the validator did not look at all {len(files)} files: {done.stdout}{done.stderr}")
        run = json.loads(out.read_text(encoding="utf-8-sig"))["runs"][0]
        for invocation in run["invocations"]:
            check(invocation["executionSuccessful"], f"the validator failed: {invocation}")
        said = {file: [] for file in files}
        names = {file.resolve().as_uri(): file for file in files}
        rules = {rule["id"]: rule for rule in run["tool"]["driver"].get("rules", [])}
        for result in run.get("results", []):
            rule = rules.get(result["ruleId"].split("/")[0], {})
            where = result["locations"][0]["physicalLocation"]
            address = where["artifactLocation"].get("uri") or run["artifacts"][where["artifactLocation"]["index"]]["location"]["uri"]
            level = result.get("level") or rule.get("defaultConfiguration", {}).get("level", "warning")
            message = " | ".join(result["message"].get("arguments", [])) or result["message"].get("text", "")
            said[names[address]].append((result["ruleId"], level, f"{result['message'].get('id', '')} {message}"))
        return said


def sarif_of(repository, folder, name, *words, ends=(0,)):
    """Reviews, and gives the file; what is kept must be shown in the same bytes."""
    file = folder / f"{name}.sarif"
    repository.ours("--no-model", "--hints", *words, "--output", f"sarif={file}", "--format", "json", ends=ends)
    shown = repository.ours("show", "last", "--format", "sarif")
    check(shown == file.read_bytes(), f"{name}: `review show` gives another file than --output")
    check_against_json(name, json.loads(shown), json.loads(repository.ours("show", "last", "--format", "json")))
    return file


def check_against_json(name, log, review):
    (run,) = log["runs"]
    found = sorted((f for f in review["findings"] if f["status"] != "fixed"), key=lambda f: list(LEVELS).index(f["severity"]))
    results = run["results"]
    if review["outcome"] != "complete" and review["change"]["files"]:
        first, *results = results
        said = (first["ruleId"], first["level"], first["properties"]["id"])
        check(said == (f"review/{review['outcome']}", "error", review["id"]), f"{name}: the first result does not say {review['outcome']}: {first}")
    ids = [result["properties"]["id"] for result in results]
    check(ids == [f["id"] for f in found], f"{name}: other findings: {ids}")
    for result, finding in zip(results, found):
        where = result["locations"][0]["physicalLocation"]
        anchor = finding["anchors"][0]
        check(result["level"] == LEVELS[finding["severity"]], f"{name}: {finding['id']} is {finding['severity']} and not {result['level']}")
        check(bool(result["suppressions"]) == (finding["status"] == "dismissed"), f"{name}: {finding['id']} is {finding['status']}")
        if anchor["side"] == "new" and not anchor["path"].startswith('"'):
            address = urllib.parse.unquote(where["artifactLocation"]["uri"])
            check(address == anchor["path"], f"{name}: {finding['id']} is at {anchor['path']} and not at {address}")
        if anchor["side"] == "new" and anchor["kind"] == "lines":
            lines = (where["region"]["startLine"], where["region"]["endLine"])
            check(lines == (anchor["start_line"], anchor["end_line"]), f"{name}: {finding['id']}: the lines {lines}")
    check(run["properties"]["outcome"] == review["outcome"], f"{name}: another outcome")
    whole = review["outcome"] == "complete"
    check(run["invocations"][0]["executionSuccessful"] == whole, f"{name}: succeeded although {review['outcome']}")
    said = json.dumps(run["invocations"][0]["toolExecutionNotifications"])
    check(whole or '"level": "error"' in said, f"{name}: nothing says that it is {review['outcome']}")


def locations(value):
    if isinstance(value, dict):
        if "physicalLocation" in value:
            yield value["physicalLocation"]
        for inner in value.values():
            yield from locations(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from locations(inner)


def check_against_git(repository, file):
    """Addresses and snippets of a review of `HEAD~1..HEAD`."""
    (run,) = json.loads(file.read_text())["runs"]
    revisions = {HEAD: run["properties"]["head"], OLD: run["properties"]["mergeBase"]}
    trees = {}
    for root, revision in revisions.items():
        rows = repository.git("ls-tree", "-r", "-z", revision).split(b"\0")[:-1]
        trees[root] = {row.split(b"\t", 1)[1]: row.split()[2].decode() for row in rows}
    deleted = {a["location"]["uri"] for a in run["artifacts"] if "deleted" in a.get("roles", [])}
    for where in locations(run["results"]):
        address, region = where["artifactLocation"], where.get("region", {})
        path = urllib.parse.unquote_to_bytes(address["uri"])
        if address["uri"] in deleted and address["uriBaseId"] == HEAD:
            check(path not in trees[HEAD], f"{address} is not gone")
            continue
        blob = trees[address["uriBaseId"]].get(path)
        check(blob, f"{file.name}: {address} leads to no file")
        if "snippet" not in region or "endColumn" not in region:
            continue
        text = repository.git("cat-file", "blob", blob).decode(errors="replace").replace("\r\n", "\n")
        lines = text.split("\n")[region["startLine"] - 1 : region["endLine"]]
        check("\n".join(lines) == region["snippet"]["text"].replace("\r\n", "\n"), f"{file.name}: {region}: the file has {lines}")
        check(region["endColumn"] == len(lines[-1].encode("utf-16-le")) // 2 + 1, f"{file.name}: {region} ends elsewhere")


def begin(folder, name, review, files):
    repository = Repository(folder / name / "project", review)
    repository.folder.mkdir(parents=True)
    repository.git("init", "-q", "-b", "main", ".")
    put(repository, files, "Begin")
    return repository


def put(repository, files, message):
    for path, content in files.items():
        full = os.path.join(os.fsencode(repository.folder), path)
        if content is None:
            os.remove(full)
            continue
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
    repository.git("add", "-A")
    repository.git("commit", "-q", "--no-verify", "-m", message)


def from_trees(folder, review):
    files = []
    for language in PLANTS:
        path, text = MADE_UP[language]
        repository = begin(folder, language, review, {path.encode(): text.encode()})
        plant(repository, language)
        file = sarif_of(repository, folder, language, "--target", "HEAD~1")
        check_against_git(repository, file)
        found = json.loads(file.read_text())["runs"][0]["results"]
        check(any(result["ruleId"] == PLANTS[language][1] for result in found), f"{language}: the planted defect is no result")
        files.append(file)

    _, _, code = PLANTS["python"]
    odd = [b"a b/100%#1?.py", b"win\\dows.py", b"new\nline.py", b"d/\xff\xfe.py", "grüße/漢字😀.py".encode(), b"https:/evil.example/x.py", b"[x](1).py", b"-o{0}.py"]
    odd_files = {path: f"NAME = '😀'  # ü\n{code}".encode() for path in odd}
    repository = begin(folder, "odd", review, {b"README.md": b"# Odd\n"})
    put(repository, odd_files, "Add odd names")
    files.append(sarif_of(repository, folder, "odd", "--target", "HEAD~1"))
    check_against_git(repository, files[-1])
    found = json.loads(files[-1].read_text())["runs"][0]["results"]
    where = {urllib.parse.unquote_to_bytes(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for r in found}
    check(where == set(odd), f"of the odd names these have a result: {where}")

    view = b"def delete_all(request):\n    return wipe(request)\n"
    repository = begin(folder, "deleted", review, {b"app/views.py": b"@login_required\n" + view})
    put(repository, {b"app/views.py": view}, "Change the view")
    files.append(sarif_of(repository, folder, "deleted", "--target", "HEAD~1"))
    check_against_git(repository, files[-1])
    found = json.loads(files[-1].read_text())["runs"][0]["results"]
    check(any(r.get("relatedLocations", [{}])[0].get("physicalLocation", {}).get("artifactLocation", {}).get("uriBaseId") == OLD for r in found),
          f"no result of a removed check shows lines of before the change: {found}")

    patch = folder / "odd.patch"
    patch.write_bytes(repository.git("diff", "--binary", "HEAD~1", "HEAD"))
    files.append(sarif_of(repository, folder, "patch", "--diff", str(patch)))
    return files


def from_documents(folder, review):
    """Kept runs made of the fixtures, and of one of a pull request, in which much differs from what rules alone find."""
    repository = Repository(folder / "kept" / "project", review)
    repository.folder.mkdir(parents=True)
    files = []
    documents = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "fixtures/documents").glob("*.json"))}
    check(len(documents) >= 5, "fixtures/documents has lost some of its documents")
    documents["pull"] = copy.deepcopy(documents["typical"])
    documents["pull"]["id"] = "00000009-0000-4000-8000-000000000000"
    documents["pull"]["change"]["pull_request"] = {
        "server": "https://github.com", "owner": "octo", "repo": "app", "number": 7, "title": "T", "url": "https://github.com/octo/app/pull/7"
    }
    for finding, status, category in zip(
        documents["pull"]["findings"], ["open", "reopened", "dismissed", "fixed"], ["security", "access_control", "logic", "testing"]
    ):
        finding["status"], finding["category"], finding["origin"] = status, category, {"kind": "model", "name": "some/model"}
    for name, document in documents.items():
        kept = folder / "kept/.local/state/review/runs" / document["id"]
        kept.mkdir(parents=True)
        (kept / "review.json").write_text(json.dumps(document))
        file = folder / f"document-{name}.sarif"
        file.write_bytes(repository.ours("show", document["id"], "--format", "sarif"))
        log = json.loads(file.read_text())
        check_against_json(name, log, document)
        files.append(file)
        for what, spoilt in unlike(log, document) if name in ("typical", "incomplete") else ():
            # It counts its own checks, and ends at the first that does not hold.
            try:
                check_against_json(name, spoilt, document)
            except SystemExit:
                continue
            sys.exit(f"failed: {name}: nobody saw: {what}")
    (run,) = json.loads(files[-1].read_text())["runs"]
    check(run["versionControlProvenance"][0]["repositoryUri"] == "https://github.com/octo/app", "the pull request's repository is not told")
    return files


def by_schema(file):
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(json.loads(file.read_text()))]


def spoiled(folder, file):
    """Copies with one fault each: the file, whether the schema sees it, and the rule of the validator that does; none where it cannot read it."""
    log = json.loads(file.read_text())

    def copy_with(name, change):
        spoilt = copy.deepcopy(log)
        change(spoilt["runs"][0])
        made = folder / f"spoilt-{name}.sarif"
        made.write_text(json.dumps(spoilt))
        return made

    def address(run):
        return run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]

    return [
        (copy_with("index", lambda run: run["results"][0].update(ruleIndex=99)), False, "SARIF1009"),
        (copy_with("address", lambda run: address(run).update(uri="a b%zz.rs")), False, "SARIF1002"),
        (copy_with("help", lambda run: run["tool"]["driver"]["rules"][0].pop("help")), False, "GH2012"),
        (copy_with("message", lambda run: run["results"][0].pop("message")), True, "JSON1002"),
        (copy_with("level", lambda run: run["results"][0].update(level="fatal")), True, None),
    ]


def unlike(log, review):
    """Copies of a file of ours with one fault each that only the review tells."""

    def changed(what, change):
        spoilt = copy.deepcopy(log)
        change(spoilt["runs"][0], spoilt["runs"][0]["results"])
        return what, spoilt

    def region(results):
        return next(r["region"] for each in results for r in [each["locations"][0]["physicalLocation"]] if "endLine" in r["region"])

    yield changed("a finding is lost", lambda run, results: results.pop())
    yield changed("another level", lambda run, results: results[-1].update(level="none"))
    yield changed("another line", lambda run, results: region(results).update(endLine=region(results)["endLine"] + 1))
    yield changed("a path with ./", lambda run, results: (at := results[-1]["locations"][0]["physicalLocation"]["artifactLocation"]).update(uri="./" + at["uri"]))
    yield changed("another id", lambda run, results: results[-1]["properties"].update(id="x"))
    yield changed("dismissed", lambda run, results: results[-1].update(suppressions=[{"kind": "external"}]))
    yield changed("another outcome", lambda run, results: run["properties"].update(outcome="posted"))
    yield changed("another success", lambda run, results: (one := run["invocations"][0]).update(executionSuccessful=not one["executionSuccessful"]))
    if review["outcome"] != "complete":
        yield changed("no result that says so", lambda run, results: results.pop(0))
        yield changed("no notification that says so", lambda run, results: run["invocations"][0].update(toolExecutionNotifications=[]))


def main():
    review = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        validator = Validator(sys.argv[2], folder)
        files = from_trees(folder, review) + from_documents(folder, review)
        for file in files:
            faults = by_schema(file)
            check(not faults, f"{file.name} is not by the schema of the standard: {faults[:3]}")
        seen = {}
        for file, said in validator.reports(files).items():
            check(any(rule == ALWAYS for rule, *_ in said), f"{file.name}: the validator could not read it")
            for rule, level, message in said:
                check(level != "error" and rule in KNOWN, f"{file.name}: {level} {rule}: {message}")
                seen[rule] = seen.get(rule, 0) + 1
        copies = spoiled(folder, files[0])
        for file, schema_sees, rule in copies:
            check(bool(by_schema(file)) == schema_sees, f"{file.name}: the schema and the spoiled file")
            said = validator.reports([file])[file]
            refused = any(r == rule and level == "error" for r, level, _ in said) if rule else all(r != ALWAYS for r, *_ in said)
            check(refused, f"{file.name}: {rule} was not seen: {said}")
        print(f"{len(files)} files, {len(copies)} spoiled ones; the validator's remarks, all known: {seen}")
    print(f"{outside.checks} passed, 0 failed")


if __name__ == "__main__":
    main()
