"""Runs assistants of others against `review mcp`: their models are scripts on this machine, everything else is the program that people have.

usage: assistants.py PATH-TO-REVIEW NODE_MODULES [CLIENT[:PLAY] ...]

The clients are `claude-code`, `codex`, `gemini-cli` and `opencode`, the plays `fast`, `slow` and `agent`; all of them when none is named. Each is set up by `review mcp install --write`,
in a home of its own, with keys that open nothing and every address on loopback. Its scripted model then reviews a change by the rules, lists
the findings, presents a review in three modes and reads it back, reads a file of 64 KB page by page as `next` says in what the *client* passed
on to it, and waits for a review of 90 seconds by a model. In the play `agent` it is the other way round: `review --agent` starts the client, which has to
review with the tools of that review and has no others. With RECORD in the environment, the MCP messages that a client sent are kept in that
folder as CLIENT.jsonl, for the tests.

Ends with 1 and what was wrong, else with the number of checks.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

import mcp_stage
from chat_model import Server, called, send, sse, turn
from mcp_stage import HERE, Model, check
from outside import Repository, environment

# How long the reviewing model takes in all, and how long a client may.
SLOW, LONGEST = 90, 900
BIG = "".join(f"value_{n:04} = compute({n}, 'a \"text\" of some length', flag={n % 2 == 0})  # {'x' * (n % 60)}\n" for n in range(640))
PRESENTED = ["# Review: shop\n\n## Findings\n\nSee [cart](src/cart.py#L1).\n", "## More\n\nNothing.\n", "## Findings\n\nNone after all.\n"]


class Wire:
    """What a provider's protocol is: names of the tools offered, results of our calls, and the next turn. `call` is None to say a text."""

    def text_of(self, content):
        if isinstance(content, list):
            return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
        return content if isinstance(content, str) else json.dumps(content)


class Messages(Wire):
    path = re.compile(r"/v1/messages(\?.*)?$")

    def tools(self, body):
        return {tool["name"]: (tool["name"], None) for tool in body.get("tools", [])}

    def results(self, body):
        blocks = [block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]]
        return [self.text_of(block.get("content", "")) for block in blocks if block.get("type") == "tool_result"]

    def turn(self, body, number, call, text):
        block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": call and call[0], "input": {}} if call else {"type": "text", "text": ""}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[2])} if call else {"type": "text_delta", "text": text}
        usage = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {
            "id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": body["model"], "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": usage,
        }
        stop = "tool_use" if call else "end_turn"
        if not body.get("stream"):
            whole = block | ({"input": call[2]} if call else {"text": text})
            return "application/json", json.dumps(message | {"content": [whole], "stop_reason": stop})
        events = [
            {"type": "message_start", "message": message}, {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 10}}, {"type": "message_stop"},
        ]
        return "text/event-stream", sse((event["type"], event) for event in events)


class Responses(Wire):
    path = re.compile(r"/v1/responses$")

    def tools(self, body):
        found = {}
        searched = [tool for item in body["input"] if item.get("type") == "tool_search_output" for tool in item["tools"]]
        for tool in [*body.get("tools", []), *searched]:
            if tool.get("type") == "tool_search":
                found["tool_search"] = ("tool_search", None)
            elif tool.get("type") == "namespace":
                found |= {f"{tool['name']}__{inner['name']}": (inner["name"], tool["name"]) for inner in tool.get("tools", [])}
            elif "name" in tool:
                found[tool["name"]] = (tool["name"], None)
        return found

    def results(self, body):
        kinds = ("function_call_output", "tool_search_output")
        return [self.text_of(item.get("output", "")) for item in body["input"] if item.get("type") in kinds]

    def turn(self, body, number, call, text):
        if call and call[0] == "tool_search":
            item = {"type": "tool_search_call", "call_id": f"call_{number:04}", "status": "completed", "execution": "client", "arguments": call[2]}
        elif call:
            item = {"type": "function_call", "id": f"fc_{number:04}", "call_id": f"call_{number:04}", "name": call[0], "arguments": json.dumps(call[2])}
            item |= {"namespace": call[1]} if call[1] else {}
        else:
            item = {"type": "message", "id": f"msg_{number:04}", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        response = {"id": f"resp_{number:04}", "object": "response", "model": body["model"], "status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item}, {"type": "response.completed", "response": response},
        ]
        return "text/event-stream", sse((event["type"], event) for event in events)


class Chat(Wire):
    path = re.compile(r"/v1/chat/completions$")

    def tools(self, body):
        return {tool["function"]["name"]: (tool["function"]["name"], None) for tool in body.get("tools", [])}

    def results(self, body):
        return [self.text_of(message["content"]) for message in body["messages"] if message["role"] == "tool"]

    def turn(self, body, number, call, text):
        return turn(body, called(number, call[0], call[2]) if call else {"role": "assistant", "content": text})


class Generate(Wire):
    path = re.compile(r"/v1beta/models/[^:]+:(streamGenerateContent|generateContent)(\?.*)?$")

    def tools(self, body):
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return {one["name"]: (one["name"], None) for one in declared}

    def results(self, body):
        parts = [part for content in body["contents"] for part in content.get("parts", [])]
        return [self.text_of(part["functionResponse"]["response"].get("output", part["functionResponse"]["response"])) for part in parts if "functionResponse" in part]

    def turn(self, body, number, call, text):
        part = {"functionCall": {"name": call[0], "args": call[2]}} if call else {"text": text}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        return "text/event-stream", sse([(None, whole)])


WIRES = [Messages(), Responses(), Chat(), Generate()]
SEARCHES = {
    "ToolSearch": lambda name: {"query": f"select:mcp__review__{name}", "max_results": 5},
    "tool_search": lambda name: {"query": f"review {name}", "limit": 10},
}


def names_like(tools, name):
    return [known for known in tools if known == name or known.endswith(f"_{name}")]


class Script:
    """A model that plays a script: a generator of calls `(tool, input)`, which is sent the text that the client made of each result."""

    def __init__(self, play, dump=None):
        self.play, self.dump, self.lock = play, dump, threading.Lock()
        self.steps, self.waiting, self.fault, self.ended, self.offered = [], None, None, False, set()
        self.server = Server(self.answer)

    def next(self, tools, results):
        """The step after so many results; the same one again for a request that is repeated."""
        if len(results) < len(self.steps):
            return self.steps[len(results)]
        step, self.waiting = self.waiting, None
        if step is None:
            try:
                step = self.play.send(results[-1] if self.steps else None)
            except StopIteration:
                self.ended = True
            except SystemExit as fault:
                self.fault = fault
            # Claude Code and Codex load most tools of a server when they are searched for.
            search = next((tool for tool in SEARCHES if tool in tools), None)
            if step and search and not names_like(tools, step[0]):
                step, self.waiting = (search, SEARCHES[search](step[0])), step
        self.steps.append(step)
        return step

    def answer(self, handler, data):
        wire = next((wire for wire in WIRES if wire.path.search(handler.path)), None)
        if wire is None:
            return send(handler, "application/json", '{"input_tokens": 10, "totalTokens": 10}')
        body = json.loads(data)
        with self.lock:
            tools, results = wire.tools(body), wire.results(body)
            self.offered |= set(tools)
            if self.dump:
                with self.dump.open("a") as file:
                    file.write(json.dumps({"path": handler.path, "tools": sorted(tools), "results": results[-1:], "body": body}) + "\n")
            # Titles and summaries are asked for without tools.
            step = (verdict(tools) if b"give_verdict" in data else self.next(tools, results)) if tools else None
            call = self.named(tools, step) if step else None
        send(handler, *wire.turn(body, len(results), call, "Done."))

    def named(self, tools, step):
        """A step in the client's own names. A tool of ours is called by any name that ends with it, whatever stands before."""
        name, given = step
        ends = names_like(tools, name)
        short, space = tools[min(ends, key=len)] if ends else (name, None)
        return short, space, given


class Client:
    """A client, set up in a home of its own with a project. A subclass says how it is started."""

    name = ""
    # The client's own tool that reads a resource, and the characters of an answer that the server gives it.
    reader, most = "read_mcp_resource", 24_000

    def __init__(self, folder, review, modules):
        self.home, self.review = folder, review
        self.project = folder / "project"
        self.modules = pathlib.Path(modules).resolve()
        self.record = folder / "said.jsonl"
        self.repository = self.make()
        self.reviewer = Model(SLOW / 6)
        programs = folder / "bin"
        programs.mkdir()
        # What `install` writes is `review`: found on the PATH, and everything said is kept.
        tee = [sys.executable, str(HERE / "tee.py"), str(self.record), self.name, review]
        (programs / "review").write_text(f'#!/bin/sh\nexec {shlex.join(tee)} "$@"\n')
        (programs / "review").chmod(0o755)
        self.path = f"{programs}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"

    def make(self):
        self.project.mkdir(parents=True)
        repository = Repository(self.project, self.review)
        repository.git("init", "-q", "-b", "main", ".")
        (self.project / "src").mkdir()
        (self.project / "src/big.py").write_text(BIG)
        (self.project / "src/cart.py").write_text("def total(items):\n    return sum(items)\n")
        repository.git("add", "-A")
        repository.git("commit", "-q", "-m", "Begin")
        repository.git("checkout", "-q", "-b", "feature")
        (self.project / "src/cart.py").write_text("def total(items=[]):\n    items.append(1)\n    return sum(items)\n")
        repository.git("commit", "-q", "-a", "-m", "Count one more")
        return repository

    def environment(self, script):
        own = environment(self.home) | {"PATH": self.path, "XDG_STATE_HOME": str(self.home / "state"), "XDG_CONFIG_HOME": str(self.home / ".config")}
        # A proxy that nobody listens on: whatever is not meant for loopback goes nowhere.
        proxies = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        return own | proxies | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"} | self.variables(script.server.url)

    def run(self, play, words=("--no-model",), limit=LONGEST):
        """Plays a script in one session of the client."""
        script = Script(play, pathlib.Path(os.environ["DUMP"]) / f"{self.name}.jsonl" if "DUMP" in os.environ else None)
        variables = self.environment(script) | self.reviewer.environment()
        self.configure(script.server.url)
        install = ["mcp", "install", "--client", self.name, "--write", "--force", "--", *words]
        done = subprocess.run([self.review, *install], cwd=self.project, env=variables, capture_output=True, text=True)
        check(done.returncode == 0, f"{self.name}: install: {done.stderr}")
        self.approve()
        began = time.monotonic()
        ran = subprocess.run(
            self.start(script.server.url), cwd=self.project, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit
        )
        if "DUMP" in os.environ:
            (pathlib.Path(os.environ["DUMP"]) / f"{self.name}.out").write_text(f"{ran.returncode}\n{ran.stdout}\n---\n{ran.stderr}")
        script.server.shutdown()
        if script.fault:
            raise SystemExit(f"{self.name}: {script.fault}")
        check(script.ended, f"{self.name} ended after {len(script.steps)} steps: {ran.returncode} {ran.stdout[-3000:]} {ran.stderr[-3000:]}")
        check("unknown format" not in ran.stderr, f"{self.name} complains of our schemas: {ran.stderr[-2000:]}")
        return time.monotonic() - began

    def review_by_agent(self, limit=LONGEST):
        """Lets `review --agent` start the client, whose model plays `reviewing`. Only tools of the review may be offered to that model."""
        (self.project / "src/cart.py").write_text("def total(items):\n    items.append(1)\n    return sum(items)\n")
        self.repository.git("commit", "-q", "-a", "--amend", "-m", "Count one more")
        script = Script(reviewing(), pathlib.Path(os.environ["DUMP"]) / f"{self.name}-agent.jsonl" if "DUMP" in os.environ else None)
        # The client is ended while it may still hold a connection.
        script.server.handle_error = lambda *_: None
        self.configure(script.server.url)
        self.configure_agent(script.server.url)
        program = self.home / "bin" / self.program
        program.write_text(f'#!/bin/sh\nexec {shlex.join(self.command())} "$@"\n')
        program.chmod(0o755)
        began = time.monotonic()
        words = ["--target", "main", "--agent", self.word or self.name, "--verify", "all", "--format", "json"]
        ran = subprocess.run(
            [self.review, *words], cwd=self.project, env=self.environment(script) | self.agent_variables(script.server.url), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=limit,
        )
        script.server.shutdown()
        if script.fault:
            raise SystemExit(f"{self.name}: {script.fault}")
        check(ran.returncode == 0, f"{self.name}: {ran.returncode} after {len(script.steps)} steps {ran.stdout[-3000:]} {ran.stderr[-3000:]}")
        review = json.loads(ran.stdout)
        titles = [finding["title"] for finding in review["findings"]]
        check(review["outcome"] == "complete" and titles == [REPORTED["title"]], f"{self.name}: {review['outcome']}, {titles}")
        states = [finding["verification"]["state"] for finding in review["findings"]]
        check(states == ["confirmed"], f"{self.name}: the second look says {states}")
        ours = ("finish_review", "give_verdict", "list_files", "read_diff", "read_file_part", "refute_lead", "report_finding", "search_in_files", "withdraw_finding", "write_section")
        others = [tool for tool in script.offered if tool not in self.harmless and not tool.endswith(ours)]
        check(not others, f"{self.name} has tools of its own: {sorted(others)}")
        return time.monotonic() - began

    # How `--agent` names it, if not as `install` does; its program; and its own tools that cannot be switched off and reach nothing.
    word, program, harmless = "", "", ()

    def configure_agent(self, url):
        pass

    def agent_variables(self, url):
        return {}

    def read(self, uri):
        return self.reader, {"server": "review", "uri": uri}

    def configure(self, url):
        pass

    def approve(self):
        pass

    def binary(self, package, path):
        found = self.modules / package / path
        check(found.exists(), f"{self.name} is not installed: {found} is missing")
        return str(found)

    def node(self, package):
        about = json.loads((self.modules / package / "package.json").read_text())["bin"]
        words = [about] if isinstance(about, str) else [about[min(about)]]
        return [str(pathlib.Path(sys.executable).parent / "node"), self.binary(package, words[0])]


class ClaudeCode(Client):
    name, reader, most = "claude-code", "ReadMcpResourceTool", 48_000
    program = "claude"

    def command(self):
        return [self.binary("@anthropic-ai/claude-code-linux-x64", "claude")]

    def agent_variables(self, url):
        # A key is not passed on to it, a login is.
        return {"ANTHROPIC_AUTH_TOKEN": "no-token"}

    def variables(self, url):
        off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "no-key", "IS_SANDBOX": "1"} | dict.fromkeys(off, "1")

    def start(self, url):
        # `install` names the flag that allows the tools.
        return [*self.command(), "-p", "Review the branch.", "--allowedTools", "mcp__review", "ToolSearch"]


class Codex(Client):
    name = program = "codex"
    # Its sandbox refuses every patch; the others speak to the server or to a person.
    harmless = ("apply_patch", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input", "tool_search")

    def command(self):
        return [self.binary("@openai/codex-linux-x64", "vendor/x86_64-unknown-linux-musl/bin/codex")]

    def configure_agent(self, url):
        # Its key is in a variable that is not passed on; another server of the user must not be started.
        file = self.home / ".codex/config.toml"
        text = file.read_text().replace('env_key = "SCRIPTED_KEY"\n', "")
        file.write_text(f'{text}[mcp_servers.other]\ncommand = "false"\n')

    def variables(self, url):
        return {"CODEX_HOME": str(self.home / ".codex"), "SCRIPTED_KEY": "no-key"}

    def configure(self, url):
        (self.home / ".codex").mkdir(exist_ok=True)
        (self.home / ".codex/config.toml").write_text(
            f'model = "gpt-5.5"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\n'
            f'env_key = "SCRIPTED_KEY"\nwire_api = "responses"\n[projects."{self.project}"]\ntrust_level = "trusted"\n'
        )

    def approve(self):
        # As `install` says: without it, `codex exec` refuses a tool that may send code to a model.
        file = self.project / ".codex/config.toml"
        file.write_text(file.read_text() + '\n[mcp_servers.review.tools.review]\napproval_mode = "approve"\n')

    def start(self, url):
        return [*self.command(), "exec", "--skip-git-repo-check", "Review the branch."]


class GeminiCli(Client):
    name, word, program = "gemini-cli", "gemini/gemini-2.5-flash", "gemini"

    def command(self):
        return self.node("@google/gemini-cli")

    def variables(self, url):
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "no-key", "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false"}

    def configure(self, url):
        (self.home / ".gemini").mkdir(exist_ok=True)
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}}
        (self.home / ".gemini/settings.json").write_text(json.dumps(settings))

    def start(self, url):
        return [*self.command(), "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", "Review the branch."]

    def read(self, uri):
        return self.reader, {"uri": uri}


class OpenCode(Client):
    name = program = "opencode"

    def command(self):
        return [self.binary("opencode-linux-x64", "bin/opencode")]

    def variables(self, url):
        return {"SCRIPTED_KEY": "no-key", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def configure(self, url):
        (self.home / ".config/opencode").mkdir(parents=True, exist_ok=True)
        model = {"name": "scripted", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "no-key"}, "models": {"scripted": model}}
        settings = {"provider": {"scripted": provider}, "model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": False, "share": "disabled"}
        (self.home / ".config/opencode/opencode.json").write_text(json.dumps(settings))

    def start(self, url):
        return [*self.command(), "run", "Review the branch."]


CLIENTS = {client.name: client for client in (ClaudeCode, Codex, GeminiCli, OpenCode)}


def fields(text):
    """The JSON in what a client passes on, or None: some pass on the text, some the fields, some both."""
    for start in (at for at, letter in enumerate(text) if letter == "{"):
        try:
            return json.JSONDecoder().raw_decode(text[start:])[0]
        except ValueError:
            continue
    return None


def fast(client):
    """Reviews by the rules, lists, presents, reads back, and reads the file of 64 KB."""
    said = yield "review", {"target": "main", "wait_seconds": 30}
    for wanted in ("complete", "main", "feature", "src/cart.py", "findings", "review://"):
        check(wanted in said, f"review: {wanted!r} is missing in {said}")
    identity = re.search(r"review://([0-9a-f-]{36})", said)[1]
    said = yield "findings", {"id": identity}
    check("mutable default" in said.lower() and identity in said, f"findings: {said}")
    for mode, content in zip(("replace", "append", "update-section"), PRESENTED):
        said = yield "present_review", {"content": content, "mode": mode} | ({"section": "Findings"} if mode == "update-section" else {})
        check("review://presented/" in said and "file://" in said, f"present_review {mode}: {said}")
    file = pathlib.Path(re.search(r"file://(/[^\s\"\\)]+\.md)", said)[1])
    check("None after all." in file.read_text() and "Nothing." in file.read_text() and "[cart]" not in file.read_text(), f"{file}: {file.read_text()}")
    said = yield client.read(re.search(r"review://presented/[0-9a-f-]{36}", said)[0])
    check("None after all." in said and "Nothing." in said, f"read back: {said}")
    said = yield client.read(f"review://{identity}/markdown")
    check("src/cart.py" in said, f"the review as Markdown: {said}")
    yield from pages(client)


def pages(client):
    lines, given, count = [], {"file_path": "src/big.py"}, 0
    while given:
        said = yield "read_file_part", given
        count += 1
        # Some put their own words around it.
        check(len(said) <= client.most + 500, f"{len(said)} characters passed on")
        found = fields(said)
        if found and "content" in found:
            lines += [line.split("\t", 1) for line in found["content"].splitlines()]
            given = (found.get("next") or {}).get("input")
        else:
            lines += [line.split(": ", 1) for line in said.splitlines() if re.match(r"\d+: ", line)]
            following = re.search(r"^Next: read_file_part (\{.*\})$", said, re.MULTILINE)
            given = json.loads(following[1]) if following else None
        check(count < 50, "the pages do not end")
    check([int(number) for number, _ in lines] == list(range(1, len(lines) + 1)), "lines are missing or come twice")
    check("".join(f"{text}\n" for _, text in lines) == BIG, f"{len(lines)} lines are not the file")
    check(count > 1, "the file came as one page")


REPORTED = {
    "title": "The list of the caller grows", "body": "It is another one after each call.", "severity": "high", "category": "logic", "file_path": "src/cart.py",
    "quote": "    items.append(1)", "confidence": 9,
}


def verdict(tools):
    """The step of a second look, which is a session of its own."""
    search = next((tool for tool in SEARCHES if tool in tools), None)
    if search and not names_like(tools, "give_verdict"):
        return search, SEARCHES[search]("give_verdict")
    asked = [{"question": "Is it the list of the caller?", "answer": "Yes."}]
    return "give_verdict", {"questions": asked, "verdict": "confirmed", "confidence": 9, "rationale": "`src/cart.py:2` appends to the parameter."}


def reviewing():
    """Reviews with the tools of the review that started the client."""
    said = yield "list_files", {}
    check("cart.py" in said, f"list_files: {said}")
    said = yield "report_finding", REPORTED
    check("not" not in said.split("\n")[0].lower(), f"report_finding: {said}")
    while True:
        yield "finish_review", {"summary": "It counts one more."}


def slow(client):
    """A review that takes longer than clients wait for an answer, which the model is told."""
    began = time.monotonic()
    said = yield "review", {"target": "main", "wait_seconds": 600}
    check("running" in said and time.monotonic() - began < 60, f"after {time.monotonic() - began:.0f} s: {said}")
    identity, calls = re.search(r"review://([0-9a-f-]{36})", said)[1], 1
    check("review --resume" in said and "ends with this" in said, f"what becomes of it is not said: {said}")
    while "running" in said and calls < 10:
        said = yield "review", {"id": identity, "wait_seconds": 600}
        calls += 1
    check("complete" in said and "The bounds are not checked" in said, f"the slow review: {said}")
    check(time.monotonic() - began >= SLOW - 20, "the review was not slow")


def main():
    review, modules, *names = sys.argv[1:]
    plays = {"fast": (fast, ("--no-model",)), "slow": (slow, ("--model", "openai-chat/scripted")), "agent": (None, ())}
    for name in names or CLIENTS:
        name, _, chosen = name.partition(":")
        check(name in CLIENTS and chosen in ("", *plays), f"there is no client or play {name}:{chosen}: {', '.join(CLIENTS)}; {', '.join(plays)}")
        for play, words in [plays[chosen]] if chosen else plays.values():
            with tempfile.TemporaryDirectory() as folder:
                client = CLIENTS[name](pathlib.Path(folder).resolve(), str(pathlib.Path(review).resolve()), modules)
                took = client.run(play(client), words) if play else client.review_by_agent()
                if "RECORD" in os.environ and play is fast:
                    keep(client, pathlib.Path(os.environ["RECORD"]))
                print(f"{name}, {play.__name__ if play else 'agent'}: well, {took:.0f} s", flush=True)
    print(f"{mcp_stage.passed} passed, 0 failed")


def keep(client, folder):
    """What the client said, without what belongs to this machine and this run."""
    rows = [json.loads(line) for line in client.record.read_text().splitlines()]
    said = "".join(row["text"] for row in rows if row["from"] == "server")
    names = {str(client.project): "/project", str(client.home): "/home"}
    names |= dict.fromkeys(re.findall(r'"id":"([0-9a-f-]{36})"', said), "REVIEW_ID")
    names |= dict.fromkeys(re.findall(r"review://presented/([0-9a-f-]{36})", said), "DOCUMENT_ID")
    lines = [row["text"] for row in rows if row["from"] == "client"]
    for name, stands in names.items():
        lines = [line.replace(name, stands) for line in lines]
    # Ids and hashes of a session, which are others each time.
    lines = [re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{40}", lambda found: re.sub("[0-9a-f]", "0", found[0]), line) for line in lines]
    (folder / f"{client.name}.jsonl").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
