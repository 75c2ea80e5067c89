"""Runs the MCP project's own programs against the server: the conformance suite over HTTP, and the inspector over both doors.

usage: mcp_node.py PATH-TO-REVIEW NODE_MODULES

Most scenarios of the suite ask for tools, prompts and resources of a reference server (`test_simple_text`, `test://static-text`), which a server
of its own purpose does not have. `RUN` has those that any server can pass, `LEFT_OUT` the others and why; a scenario of the suite that is in
neither is a failure, so that none is passed over unseen. Ends with 1 and what was wrong, else with the number of checks.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import mcp_stage
from mcp_stage import LIMIT, Stage, check

DATED, MODERN = "2025-11-25", "2026-07-28"
# The scenarios that need nothing of a reference server, and the versions of the protocol in which they are run.
RUN = {
    "server-initialize": [DATED], "server-session-lifecycle": [DATED], "ping": [DATED], "server-stateless": [MODERN],
    "tools-list": [DATED, MODERN], "resources-list": [DATED, MODERN], "prompts-list": [DATED, MODERN],
    "server-sse-multiple-streams": [DATED, MODERN], "dns-rebinding-protection": [DATED, MODERN], "caching": [MODERN],
    "http-header-validation": [MODERN], "sep-2164-resource-not-found": [MODERN], "input-required-result-unsupported-methods": [MODERN],
}
# Checks within those that call a tool of the reference server. They must say so themselves.
UNTESTABLE = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
    },
}
REFERENCE = "needs a tool, prompt or resource of the suite's reference server"
LEFT_OUT = {
    "logging-set-level": "the server does not log to clients, and does not say that it does",
    "http-custom-header-server-validation": "no tool mirrors a parameter into a header (x-mcp-header)",
    "resources-subscribe": "watches test://watched-resource; resources of others are refused here", "resources-unsubscribe": "the same",
    "json-schema-2020-12": "needs the tool json_schema_2020_12_tool", "server-sse-polling": "needs the tool test_reconnection",
    "completion-complete": REFERENCE,
}
LEFT_OUT_BY_NAME = {
    "tools-call-": REFERENCE, "resources-read-": REFERENCE, "resources-templates-read": REFERENCE, "prompts-get-": REFERENCE,
    "elicitation-": "the server asks nothing back", "input-required-result-": "the server asks nothing back",
    "tasks-": "an extension that the server does not say it has", "sep-2640-skills-": "an extension that the server does not say it has",
}
# What the inspector is asked; a text that the answer must have.
ASKED = [
    (["tools/list"], "read_file_part"), (["resources/list"], "review://status"), (["resources/templates/list"], "review://{id}"),
    (["prompts/list"], "explain_finding"), (["resources/read", "--uri", "review://status"], "version"),
    (["prompts/get", "--prompt-name", "review_change", "--prompt-args", "target=main"], "present_review"),
    (["tools/call", "--tool-name", "read_file_part", "--tool-arg", "file_path=src/cart.py", "start_line=1"], "discount"),
    (["tools/call", "--tool-name", "search_in_files", "--tool-arg", "pattern=NUMBER = 7$"], "src/part_07.py"),
    (["tools/call", "--tool-name", "list_files", "--tool-arg", "directory=src"], "src/cart.py"),
    (["tools/call", "--tool-name", "read_diff", "--tool-arg", "file_path=src/cart.py"], "Nobody passes"),
    (["tools/call", "--tool-name", "review", "--tool-arg", "target=main", "rules_only=true"], "complete"),
    (["tools/call", "--tool-name", "findings"], "outcome"),
    (["tools/call", "--tool-name", "present_review", "--tool-args-json", json.dumps({"content": "# Fine\n", "mode": "replace"})], "reviewId"),
]


class Node:
    """Programs for node, with a home of their own."""

    def __init__(self, modules, folder):
        self.modules, self.folder = pathlib.Path(modules).resolve(), folder
        self.node = pathlib.Path(sys.executable).parent / "node"
        check(self.node.exists(), "node is not beside this Python: it comes with .ci/requirements.txt")

    def run(self, package, *words):
        about = json.loads((self.modules / package / "package.json").read_text())["bin"]
        main = self.modules / package / about[min(about)]
        environment = {"PATH": f"{self.node.parent}:{os.environ['PATH']}", "HOME": str(self.folder), "NO_COLOR": "1"}
        return subprocess.run([self.node, main, *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=4 * LIMIT)


def left_out(name):
    return LEFT_OUT.get(name) or next((why for begin, why in LEFT_OUT_BY_NAME.items() if name.startswith(begin)), None)


def conformance(node, url):
    package = "@modelcontextprotocol/conformance"
    listed = node.run(package, "list", "--server").stdout
    names = {line.split()[1] for line in listed.splitlines() if line.startswith("  - ")}
    check(len(names) > 40 and set(RUN) <= names, f"the suite lists {sorted(names)}")
    unknown = {name for name in names - set(RUN) if not left_out(name)}
    check(not unknown, f"new scenarios: run them, or say why not: {sorted(unknown)}")
    for name, versions in RUN.items():
        for version in versions:
            results = scenario(node, url, name, version)
            bad = [one for one in results if one["status"] not in ("SUCCESS", "INFO", "SKIPPED") and not excused(name, one)]
            check(not bad, f"{name} at {version}:\n" + "\n".join(f"{one['id']}: {one.get('errorMessage')} {one.get('details')}" for one in bad))
            well = sum(one["status"] == "SUCCESS" for one in results)
            check(well, f"{name} at {version} checked nothing: {results}")
            mcp_stage.passed += well - 1
            untested = len(results) - well
            print(f"{name} at {version}: {well} well" + (f", {untested} not applicable" if untested else ""))
    # A suite that passes whatever it is shown proves nothing.
    alone = scenario(node, "http://127.0.0.1:1/mcp", "ping", DATED)
    check(any(one["status"] == "FAILURE" for one in alone), f"the suite passes without a server: {alone}")


def excused(name, one):
    details = one.get("details") or {}
    if one["id"] in UNTESTABLE.get(name, ()) and details.get("untestable"):
        return True
    violations = details.get("violations") or []
    return bool(violations) and all(is_known_entry(violation) for violation in violations)


def is_known_entry(violation):
    """Whether all that is wrong with a list is that one of its entries is a template: clients of pull requests look for it there."""
    resources = violation["message"].get("result", {}).get("resources", [])
    at = next((n for n, one in enumerate(resources) if one["uri"] == "pr://{owner}/{repo}/{pr}"), None)
    wanted = f'ListResourcesResult/resources/{at}/uri: must match format "uri" '
    return at is not None and all(error.startswith(wanted) for error in violation["errors"])


def scenario(node, url, name, version):
    """What each check of a scenario says."""
    with tempfile.TemporaryDirectory(dir=node.folder) as results:
        ran = node.run("@modelcontextprotocol/conformance", "server", "--url", url, "--scenario", name, "--spec-version", version, "-o", results)
        files = list(pathlib.Path(results).rglob("checks.json"))
        check(len(files) == 1, f"{name} at {version} was not run: {ran.stdout[-1500:]}{ran.stderr[-1500:]}")
        return json.loads(files[0].read_text())


def inspector(node, stage, url):
    package = "@modelcontextprotocol/inspector"
    http = ["--cli", url, "--transport", "http"]
    environment = [word for name, value in stage.environment().items() for word in ("-e", f"{name}={value}")]
    stdio = ["--cli", *environment, "--", *stage.command("--tools", "all")]

    def ask(door, words):
        # The command of a server comes last, after its own mark.
        cut = door.index("--") if "--" in door else len(door)
        return node.run(package, *door[:cut], "--method", *words, *door[cut:])

    for door, called in ((http, "HTTP"), (stdio, "stdio")):
        for words, wanted in ASKED:
            ran = ask(door, words)
            check(ran.returncode == 0 and wanted in ran.stdout, f"{called} {words}: {ran.returncode} {ran.stdout[:1500]} {ran.stderr[-1500:]}")
        # Schemas that some clients cannot read are told, and make it fail.
        ran = ask(door, ["tools/list", "--strict"])
        check(ran.returncode == 0, f"{called}: {ran.stderr}")
        ran = ask(door, ["tools/call", "--tool-name", "no_such_tool"])
        check(ran.returncode != 0, f"{called}: a tool that is not there was called: {ran.stdout}")
        ran = ask(door, ["tools/call", "--tool-name", "read_file_part", "--tool-arg", "file_path=src/nowhere.py"])
        check("isError" in ran.stdout, f"{called}: {ran.returncode} {ran.stdout} {ran.stderr}")
        print(f"the inspector over {called}: {len(ASKED)} requests, well")


def main():
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder) / "unused.jsonl")
        node = Node(sys.argv[2], stage.folder)
        with stage.listening("--tools", "all") as url:
            conformance(node, url)
            inspector(node, stage, url)
    print(f"{mcp_stage.passed} passed, 0 failed")


main()
