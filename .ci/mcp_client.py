"""Drives the MCP server with the official Python client, over stdio and HTTP, in the stateless era and in the one with a handshake.

usage: mcp_client.py PATH-TO-REVIEW RECORD [PART ...]

The parts are `handshakes`, `broken`, `strangers` and `sessions`; all of them when none is named.
Each of the four sessions lists and calls everything there is, follows a review that runs, cancels one, subscribes, completes, and calls fifty
times at once. Then come clients that nobody would want: messages that are broken, huge or sent to the wrong host. The client holds every answer
of a tool against the tool's output schema; what was said is kept in RECORD for `mcp_schema.py`.

Ends with 1 and what was wrong, else with the number of checks.
"""

import asyncio
import contextlib
import http.client
import json
import pathlib
import re
import sys
import tempfile
import time
import urllib.parse
import uuid
import warnings

import anyio
import mcp_stage
from mcp import Client, MCPError
from mcp_stage import HOSTILE, LIMIT, MARK, PARTS, Raw, Stage, check
from mcp_types import PromptReference, ResourceTemplateReference

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
# Nothing of this may reach a client: controls but tab and newline, and what turns the direction of text.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What every tool is asked; a tool that is not here has no check.
CALLS = {
    "present_review": {"content": "# Shop\n\nSee [the discount](src/cart.py#L4).\n", "baseUri": "."},
    "present-review": {"content": "\n## More\n\nNothing.\n", "mode": "append", "baseUri": "."},
    "read_file_part": {"file_path": "src/cart.py"},
    "search_in_files": {"pattern": "NUMBER = 7$"},
    "list_files": {"directory": "src"},
    "read_diff": {"file_path": "src/cart.py"},
    "review": {"rules_only": True, "wait_seconds": 20},
    "findings": {},
}
# The tools of a server that is asked for all of them but those that need a forge.
ALL = ("--tools", "default,present-review", "--allow-write")


def texts(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def strings(value):
    """Every text in a JSON value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, field in value.items():
            yield from (name, *strings(field))
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


async def until(holds, what, limit=LIMIT):
    """Waits for something that happens elsewhere."""
    end = time.monotonic() + limit
    while not holds():
        check(time.monotonic() < end, f"{what}: not within {limit} s")
        await anyio.sleep(0.02)


class Session:
    """A client that is connected, and what it has been told."""

    def __init__(self, stage, client, what):
        self.stage, self.client, self.what, self.updated = stage, client, what, []

    def check(self, holds, what):
        check(holds, f"{self.what}: {what}")

    async def hear(self, message):
        if getattr(message, "method", "") == "notifications/resources/updated":
            self.updated.append(str(message.params.uri))

    async def call(self, name, **given):
        result = await self.client.call_tool(name, given)
        self.check(not result.is_error, f"{name} {given}: {texts(result)}")
        self.harmless(result, f"{name} {given}")
        return result

    def harmless(self, result, what):
        bad = [text for text in strings(result.model_dump(mode="json", exclude_none=True)) if CONTROLS.search(text)]
        self.check(not bad, f"{what} lets controls pass: {bad}")

    async def review_of(self, identity):
        """The kept or running review, as its resource tells it."""
        read = await self.client.read_resource(f"review://{identity}")
        return json.loads(read.contents[0].text)

    # What is offered

    async def hello(self, mode):
        client = self.client
        self.check(client.protocol_version == (MODERN if mode == "auto" else HANDSHAKES[-1]), f"speaks {client.protocol_version}")
        self.check(client.server_info.name == "review", f"its name is {client.server_info}")
        self.check(client.instructions, "no instructions")
        can = client.server_capabilities
        self.check(can.tools and can.resources and can.prompts and can.completions, f"capabilities: {can}")
        self.check(can.resources.subscribe, "no subscriptions")

    async def lists(self):
        tools = (await self.client.list_tools()).tools
        self.check({tool.name for tool in tools} == set(CALLS), f"tools: {[tool.name for tool in tools]}")
        for tool in tools:
            self.check(tool.description and tool.output_schema and tool.annotations and tool.annotations.title, f"{tool.name} is not described")
        prompts = (await self.client.list_prompts()).prompts
        self.check({prompt.name for prompt in prompts} == {"review_change", "explain_finding"}, f"prompts: {prompts}")
        templates = {template.uri_template for template in (await self.client.list_resource_templates()).resource_templates}
        wanted = {"review://{id}", "review://{id}/markdown", "review://{id}/findings/{finding}", "review://latest{?repo}", "review://presented/{id}"}
        if self.what.startswith("stdio"):
            wanted.add("pr://{owner}/{repo}/{pr}")
        self.check(wanted <= templates, f"templates: {sorted(templates)}")

    async def calls(self):
        """Every tool once; the answers of those that read are what git has."""
        answers = {name: (await self.call(name, **given)) for name, given in CALLS.items()}
        read = answers["read_file_part"].structured_content
        source = (self.stage.repository.folder / "src/cart.py").read_text().splitlines()
        self.check(read["total_lines"] == len(source) and all(line in read["content"] for line in source), f"read_file_part: {read}")
        hits = answers["search_in_files"].structured_content["matches"]
        self.check([(hit["file_path"], hit["line_number"]) for hit in hits] == [("src/part_07.py", 2)], f"search_in_files: {hits}")
        files = answers["list_files"].structured_content["files"]
        self.check(len(files) == PARTS + 3, f"list_files: {files}")
        self.check("Nobody passes anything else" in texts(answers["read_diff"]), f"read_diff: {texts(answers['read_diff'])}")
        return answers

    async def faults(self):
        """What a caller can act on is an answer; what is no tool or no resource is an error of the protocol."""
        for name, given, word in [
            ("read_file_part", {"file_path": "src/crat.py"}, "src/cart.py"),
            ("read_file_part", {"file_path": "../outside"}, ""),
            ("read_file_part", {"file_path": 7}, "file_path"),
            ("read_file_part", {}, "file_path"),
            ("read_file_part", {"file_path": "src/cart.py", "repo": "/"}, "--root"),
            ("read_file_part", {"file_path": "src/cart.py", "at": "no-such-revision"}, "no-such-revision"),
            ("read_file_part", {"file_path": "src/cart.py", "at": "--output=/tmp/x"}, ""),
            ("present_review", {"content": " ", "baseUri": "."}, "content"),
            ("present_review", {"content": "x", "mode": "update-section", "baseUri": "."}, "Section parameter required for update-section mode"),
            ("present_review", {"content": "x", "mode": "other", "baseUri": "."}, "Mode must be 'replace', 'update-section', or 'append'"),
        ]:
            result = await self.client.call_tool(name, given)
            self.check(result.is_error and word.lower() in texts(result).lower(), f"{name} {given}: {result}")
        for what in (
            self.client.call_tool("no_such_tool", {}),
            self.client.read_resource("review://no-such-review"),
            self.client.read_resource(f"review://{uuid.uuid4()}"),
            self.client.read_resource("file:///etc/passwd"),
            self.client.get_prompt("no_such_prompt"),
            self.client.get_prompt("explain_finding", {}),
        ):
            with contextlib.suppress(MCPError):
                self.check(False, f"an error was due: {await what}")
        odd = await self.call("read_file_part", file_path="src/odd.py")
        self.check("harmless = 1" in texts(odd) and HOSTILE.strip() not in texts(odd), f"odd.py: {odd}")

    async def words(self):
        """Prompts and completion."""
        got = await self.client.get_prompt("review_change", {"target": "main", "focus": "prices"})
        said = "\n".join(message.content.text for message in got.messages)
        self.check("main" in said and "prices" in said and "present_review" in said, f"the prompt: {said}")
        done = await self.client.complete(PromptReference(type="ref/prompt", name="review"), {"name": "target", "value": "fea"})
        self.check("feature" in done.completion.values, f"completion: {done}")
        listed = (await self.client.list_resources()).resources
        ids = [match[1] for resource in listed if (match := re.fullmatch(r"review://([0-9a-f-]{36})", str(resource.uri)))]
        self.check(ids, f"no review in the list: {listed}")
        template = ResourceTemplateReference(type="ref/resource", uri="review://{id}")
        done = await self.client.complete(template, {"name": "id", "value": ids[0][:6]})
        self.check(ids[0] in done.completion.values, f"completion of {ids[0]}: {done}")

    async def resources(self, answers):
        for resource in (await self.client.list_resources()).resources:
            # One entry is the shape of a URI, because clients look for it there.
            if "{" in str(resource.uri) or "%7B" in str(resource.uri):
                self.check(resource.name == "Pull Request Resource", f"listed: {resource}")
                continue
            read = await self.client.read_resource(str(resource.uri))
            self.harmless(read, str(resource.uri))
            for content in read.contents:
                self.check(content.text and content.mime_type == resource.mime_type, f"{resource}: {content}")
        shown = answers["present-review"].structured_content
        document = await self.client.read_resource(f"review://presented/{shown['reviewId']}")
        first, more = CALLS["present_review"]["content"].strip(), CALLS["present-review"]["content"].strip()
        self.check(document.contents[0].text.strip() == f"{first}\n\n{more}", f"presented: {document}")
        await self.client.read_resource("review://latest")

    # Many at once

    async def fifty(self):
        right = {}

        async def one(number):
            path = f"src/part_{number % PARTS:02}.py"
            right[number] = MARK.format(number % PARTS) in texts(await self.client.call_tool("read_file_part", {"file_path": path}))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)
        self.check(len(right) == 50 and all(right.values()), f"fifty at once: {right}")

    # A review that runs

    async def progress(self):
        told = []

        async def hear(progress, total, message):
            told.append((progress, message))

        result = await self.client.call_tool("review", {"target": "main", "wait_seconds": 25}, progress_callback=hear)
        self.check(not result.is_error, texts(result))
        answer = result.structured_content
        self.check(answer["state"] == "complete", f"the review: {answer}")
        self.check(len(told) >= 2 and [p for p, _ in told] == sorted({p for p, _ in told}), f"progress: {told}")
        links = [str(block.uri) for block in result.content if block.type == "resource_link"]
        self.check(f"review://{answer['id']}" in links, f"links: {links}")
        whole = await self.review_of(answer["id"])
        self.check([finding["title"] for finding in whole["findings"]] == ["The bounds are not checked"], f"the resource: {whole}")
        finding = whole["findings"][0]["id"]
        markdown = (await self.client.read_resource(f"review://{answer['id']}/markdown")).contents[0]
        self.check(markdown.mime_type == "text/markdown" and "The bounds are not checked" in markdown.text, f"{markdown}")
        one = (await self.client.read_resource(f"review://{answer['id']}/findings/{finding}")).contents[0].text
        self.check(json.loads(one)["id"] == finding, f"one finding: {one}")
        explained = await self.client.get_prompt("explain_finding", {"id": answer["id"], "finding": finding})
        self.check("The bounds are not checked" in explained.messages[0].content.text, f"{explained}")

    async def running(self, limit=0):
        """Starts a review and does not wait for it; gives its id."""
        answer = (await self.call("review", target="main", wait_seconds=limit)).structured_content
        self.check(answer["state"] == "running", f"the review: {answer}")
        return answer["id"]

    async def subscription(self, mode):
        """Updates come while the review runs, and one when it has ended."""
        identity = await self.running()
        uri = f"review://{identity}"
        if mode == "legacy":
            await self.client.subscribe_resource(uri)
            await until(lambda: self.updated.count(uri) >= 2, f"{self.what}: updates of {uri}")
        else:
            async with self.client.listen(resource_subscriptions=[uri], resources_list_changed=True) as listening:
                self.check(uri in (listening.honored.resource_subscriptions or ()), f"honored: {listening.honored}")
                came = 0
                with anyio.fail_after(LIMIT):
                    async for event in listening:
                        came += getattr(event, "uri", None) == uri
                        if came == 2:
                            break
        end = time.monotonic() + LIMIT
        while (whole := await self.review_of(identity)).get("outcome") != "complete":
            check(time.monotonic() < end, f"{self.what}: {uri} does not end: {whole}")
            await anyio.sleep(0.1)
        if mode == "legacy":
            await self.client.unsubscribe_resource(uri)
            heard = len(self.updated)
            again = await self.running()
            await until(lambda: self.stage.model.asked, "the model is asked")
            await self.ended(again)
            self.check(uri not in self.updated[heard:], f"updates after the end of the subscription: {self.updated[heard:]}")

    async def ended(self, identity):
        end = time.monotonic() + LIMIT
        while (whole := await self.review_of(identity)).get("outcome") not in ("complete", "incomplete", "failed"):
            check(time.monotonic() < end, f"{self.what}: {identity} does not end: {whole}")
            await anyio.sleep(0.05)
        return whole

    async def cancellation(self):
        """A call that is given up ends the waiting; the review goes on until it is stopped, and is kept as interrupted with what it had found."""
        model = self.stage.model
        before, left = self.kept(), model.left
        model.held, asked = True, model.asked
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: self.client.call_tool("review", {"target": "main", "wait_seconds": 25}))
            await until(lambda: model.asked >= asked + 3, "the model is asked three times")
            group.cancel_scope.cancel()
        identity = await self.running()
        await self.call("review", id=identity, cancel=True)
        await until(lambda: model.left > left, f"{self.what}: the model is let go")
        model.held = False
        await until(lambda: len(self.kept() - before) == 1, f"{self.what}: the review is kept")
        self.check(self.kept() - before == {identity}, f"another review was started: {self.kept() - before}")
        whole = await self.ended(identity)
        self.check((whole["outcome"], whole["ended"]) == ("incomplete", "interrupted"), f"cancelled: {whole['outcome']}, {whole['reasons']}")
        self.check(len(whole["findings"]) == 1, f"cancelled: {whole['findings']}")
        await self.call("list_files")

    def kept(self):
        runs = self.stage.folder / "state/review/runs"
        return {folder.name for folder in runs.iterdir() if (folder / "review.json").exists()} if runs.exists() else set()


async def session(stage, what, mode, transport):
    """Everything, with one client."""
    held = Session(stage, None, what)
    async with Client(transport, mode=mode, read_timeout_seconds=LIMIT, message_handler=held.hear, cache=None) as client:
        held.client = client
        await held.hello(mode)
        if mode == "legacy":
            await client.send_ping()
        await held.lists()
        answers = await held.calls()
        await held.faults()
        await held.words()
        await held.resources(answers)
        await held.fifty()
        await held.progress()
        await held.subscription(mode)
        await held.cancellation()


# Messages that no client of the SDK sends

DEEP = b'{"jsonrpc":"2.0","id":4,"method":"tools/list","params":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
HUGE = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"present_review","arguments":{"content":"' + b"x" * 20_000_000 + b'"}}}'
# What is sent; the id that its answer must have (None: an error without an id or nothing); the code of the error (None: any).
BROKEN = [
    (b"{", None, -32700), (b"not json", None, -32700), (b"", None, None), (b"   ", None, None), (b"\x00\x01\xff\xfe", None, -32700),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/list\xff"}', None, None), (b"null", None, None), (b"17", None, None), (b'"text"', None, None), (b"[]", None, None),
    (b'[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]', None, None), (b"{}", None, None),
    (b'{"jsonrpc":"2.0"}', None, None), (b'{"jsonrpc":"1.0","id":6,"method":"ping"}', None, None), (b'{"id":7,"method":"ping"}', None, None),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', None, None), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, None),
    (b'{"jsonrpc":"2.0","id":8,"method":17}', None, None), (b'{"jsonrpc":"2.0","id":9001,"method":"no/such/method"}', 9001, -32601),
    (b'{"jsonrpc":"2.0","id":"a text","method":"no/such/method"}', "a text", -32601),
    (b'{"jsonrpc":"2.0","id":9002,"method":"tools/call"}', 9002, None), (b'{"jsonrpc":"2.0","id":9003,"method":"tools/call","params":[]}', 9003, None),
    (b'{"jsonrpc":"2.0","id":9004,"method":"tools/call","params":{"name":5}}', 9004, None),
    (b'{"jsonrpc":"2.0","id":9005,"method":"tools/call","params":{"name":"list_files","arguments":[1]}}', 9005, None),
    (b'{"jsonrpc":"2.0","id":9006,"method":"resources/read","params":{"uri":7}}', 9006, None),
    (b'{"jsonrpc":"2.0","method":"no/such/notification"}', None, None), (b'{"jsonrpc":"2.0","id":9007,"result":{}}', None, None),
    (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":31337}}', None, None),
    (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}', None, None),
    (DEEP, None, None), (HUGE, None, None),
]


def with_meta(data, meta):
    """A message that is well but for what it asks, as a client of the newer era would send it."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if meta and isinstance(message, dict) and isinstance(message.get("id"), int | str) and isinstance(message.get("params", {}), dict):
        return json.dumps(message | {"params": message.get("params", {}) | meta}).encode()
    return data


def shortly(data):
    return f"{data[:120]!r}{' …' if len(data) > 120 else ''} ({len(data)} bytes)"


def broken(stage):
    """Every broken message gets an error or nothing, and the request after it its answer."""
    for version in ("2025-11-25", MODERN):
        raw = Raw(stage, f"broken-{version}", "--no-model")
        meta = {}
        if version == MODERN:
            meta = {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in
                              (("protocolVersion", MODERN), ("clientInfo", {"name": "raw", "version": "1"}), ("clientCapabilities", {}))}}
        else:
            raw.initialize(version)
        for data, identity, code in BROKEN:
            raw.send(with_meta(data, meta))
            answer, between = raw.ask("tools/list", dict(meta))
            check(answer and "result" in answer, f"{version}: after {shortly(data)} came {str(answer)[:300]}")
            # An answer may come after that of the request behind it.
            while identity is not None and not any(message.get("id") == identity for message in between):
                message = raw.message(5)
                check(message is not None, f"{version}: no answer to {shortly(data)}")
                between.append(message)
            for message in between:
                check(isinstance(message, dict) and "error" in message, f"{version}: {shortly(data)} got {message}")
                check(len(json.dumps(message)) < 4000, f"{version}: {shortly(data)} is repeated in full")
                if code is not None:
                    check(message["error"]["code"] == code, f"{version}: {shortly(data)} got {message}")
        check(raw.close() == 0, "the server does not end well after all that")


def handshakes(stage):
    """Each version of the handshake is agreed on as it was asked for; one that nobody knows is answered with one that is known."""
    for version in [*HANDSHAKES, "1999-01-01"]:
        raw = Raw(stage, f"handshake-{version}", "--no-model")
        answer = raw.initialize(version)
        wanted = version if version in HANDSHAKES else HANDSHAKES[-1]
        check(answer and answer["result"]["protocolVersion"] == wanted, f"asked for {version}, got {answer}")
        answer, _ = raw.ask("tools/list")
        check(answer["result"]["tools"], f"{version}: {answer}")
        answer, _ = raw.ask("tools/call", {"name": "list_files", "arguments": {}})
        check("src/cart.py" in json.dumps(answer["result"]), f"{version}: {answer}")
        answer, _ = raw.ask("ping")
        check(answer["result"] == {}, f"{version}: {answer}")
        check(raw.close() == 0, f"{version}: the server does not end well")


# HTTP as others speak it

class Wire:
    """One request at a time, with the headers as they are given."""

    def __init__(self, url):
        self.place = urllib.parse.urlsplit(url)

    def send(self, body, method="POST", **headers):
        connection = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=LIMIT)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.putrequest(method, self.place.path, skip_host="host" in given, skip_accept_encoding=True)
            for name, value in (given | {"content-length": str(len(body))}).items():
                if value is not None:
                    connection.putheader(name, value)
            # A server that has seen enough may answer, and close, before it has read all.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read(100_000).decode(errors="replace"), answer.headers
        finally:
            connection.close()

    def works(self, **headers):
        status, text, _ = self.send(HELLO, **headers)
        check(status == 200 and '"protocolVersion"' in text, f"initialize {headers}: {status} {text[:300]}")


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}}


def strangers(stage):
    """Over HTTP: other hosts, other pages, other types, too much; and a server that wants a token."""
    with stage.listening("--no-model") as url:
        wire = Wire(url)
        port = wire.place.port
        wire.works()
        for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
            wire.works(host=host)
        for host in (f"evil.example:{port}", "evil.example", f"127.0.0.1.evil.example:{port}", ""):
            check(wire.send(HELLO, host=host)[0] in (400, 403), f"Host {host!r}: {wire.send(HELLO, host=host)}")
        check(wire.send(HELLO, host=f"evil.example:{port}")[0] == 403, "a foreign Host is refused with 403")
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null", f"http://localhost.evil.example:{port}"):
            check(wire.send(HELLO, origin=origin)[0] == 403, f"Origin {origin}: {wire.send(HELLO, origin=origin)}")
        wire.works(origin=f"http://127.0.0.1:{port}")
        for headers in ({"content_type": "text/plain"}, {"content_type": None}):
            check(wire.send(HELLO, **headers)[0] == 415, f"{headers}: {wire.send(HELLO, **headers)}")
        check(wire.send(HELLO, accept="text/html")[0] == 406, f"Accept: {wire.send(HELLO, accept='text/html')}")
        status, text, _ = wire.send(b"x" * 20_000_000)
        check(status == 413, f"20 MB: {status} {text[:300]}")
        for data in (b"{", b"", b"[]", b"17", DEEP, b"\xff\xfe"):
            status, text, _ = wire.send(data)
            check(400 <= status < 500 and len(text) < 4000, f"{shortly(data)}: {status} {text[:300]}")
        check(wire.send(b"", "PUT")[0] == 405, f"PUT: {wire.send(b'', 'PUT')}")
        check(wire.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, mcp_session_id="none")[0] == 404, "an unknown session")
        wire.works()
    with stage.listening("--no-model", REVIEW_MCP_TOKEN="a-token-of-no-worth") as url:
        wire = Wire(url)
        for given in (None, "Bearer", "Bearer ", "Bearer another", "Basic YS10b2tlbg==", "a-token-of-no-worth"):
            status, _, headers = wire.send(HELLO, authorization=given)
            check(status == 401 and "bearer" in headers.get("www-authenticate", "").lower(), f"Authorization {given!r}: {status} {headers}")
        wire.works(authorization="Bearer a-token-of-no-worth")
    refused = stage.repository.ours("mcp", "--http", "0.0.0.0:0", ends=(2,))
    check(refused == b"", "what is said about a missing token is said on standard error")


async def sessions(stage):
    for mode in ("auto", "legacy"):
        await session(stage, f"stdio, {mode}", mode, stage.stdio(f"stdio-{mode}", *ALL))
        print(f"stdio, {mode}: well")
    with stage.listening(*ALL) as url:
        for mode in ("auto", "legacy"):
            await session(stage, f"HTTP, {mode}", mode, stage.http(f"http-{mode}", url))
            print(f"HTTP, {mode}: well")


def main():
    # The client says so of every subscription of the older era.
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2])
        parts = {"handshakes": handshakes, "broken": broken, "strangers": strangers, "sessions": lambda stage: asyncio.run(sessions(stage))}
        for part in sys.argv[3:] or parts:
            started = time.monotonic()
            parts[part](stage)
            print(f"{part}: well, {time.monotonic() - started:.1f} s", flush=True)
        for line in stage.record.read_text().splitlines():
            row = json.loads(line)
            check(row["from"] != "end" or row["code"] == 0, f"{row['connection']} ended with {row.get('code')}")
    print(f"{mcp_stage.passed} passed, 0 failed")


if __name__ == "__main__":
    main()
