"""What the checks of the MCP server share: a repository, a model that takes its time, the server itself, and a record of what it says.

Main types: `Model`, `Stage`.
"""

import contextlib
import json
import os
import pathlib
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import chat_model
from outside import Repository, environment

HERE = pathlib.Path(__file__).resolve().parent
# Nothing here takes longer than this, or it hangs.
LIMIT = 120
PARTS = 60
# Begins every part, so that each call has its own right answer.
MARK = "part number {} of the shop"
HOSTILE = "harmless = 1  # \x1b]0;owned\x07\x1b[31mred \u202eback\u202c \x9b1m\n"

passed = 0


def check(holds, what):
    """Counts what holds; the first thing that does not ends the program."""
    global passed
    passed += 1
    if not holds:
        raise SystemExit(f"failed: {what}")


def make_repository(folder, review):
    """A shop whose newest change takes a guard out; with many small files, a long one and one that speaks to terminals."""
    folder.mkdir(parents=True)
    repository = Repository(folder, review)
    repository.git("init", "-q", "-b", "main", ".")
    guard = "    if percent < 0 or percent > 100:\n        raise ValueError(percent)\n"
    cart = 'def discount(amount, percent):\n    """What is taken off an amount."""\n{}    return amount * percent / 100\n'
    files = {f"src/part_{n:02}.py": f"# {MARK.format(n)}\nNUMBER = {n}\n" for n in range(PARTS)}
    files |= {"src/cart.py": cart.format(guard), "src/long.py": "".join(f"line_{n} = {n}\n" for n in range(1, 3001)), "src/odd.py": HOSTILE}
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "Begin")
    repository.git("checkout", "-q", "-b", "feature")
    (folder / "src/cart.py").write_text(cart.format("    # Nobody passes anything else.\n"))
    repository.git("commit", "-q", "-a", "-m", "Take the guard out")
    return repository


class Model:
    """A model for `openai-chat`: reads, reports, reads on and ends. Each turn takes `pace` seconds; while `held`, it never ends."""

    def __init__(self, pace=0.3):
        self.pace, self.held, self.asked, self.left = pace, False, 0, 0
        self.server = chat_model.Server(self.answer)

    def environment(self):
        return {"OPENAI_API_KEY": "no-key", "OPENAI_BASE_URL": f"{self.server.url}/v1"}

    def turn(self, number):
        report = {
            "title": "The bounds are not checked", "body": "A percent of 150 pays the customer.", "severity": "high", "category": "logic",
            "file_path": "src/cart.py", "quote": "    # Nobody passes anything else.\n    return amount * percent / 100",
        }
        steps = [
            ("read_file_part", {"file_path": "src/cart.py"}), ("report_finding", report), ("search_in_files", {"pattern": "discount"}),
            ("list_files", {"directory": "src"}), ("read_file_part", {"file_path": "src/part_01.py"}), ("finish_review", {"summary": "One defect."}),
        ]
        return steps[min(number, len(steps) - 1)]

    def answer(self, handler, data):
        body = json.loads(data)
        self.asked += 1
        spoken = sum(message["role"] == "assistant" for message in body["messages"])
        until = time.monotonic() + self.pace
        while time.monotonic() < until or (self.held and spoken >= 2):
            if select.select([handler.connection], [], [], 0.02)[0] and not handler.connection.recv(1, socket.MSG_PEEK):
                self.left += 1
                return
        chat_model.send(handler, *chat_model.turn(body, chat_model.called(spoken, *self.turn(spoken)), read=100))


class Recording(httpx2.AsyncHTTPTransport):
    """Keeps what a client sends and gets over HTTP, in the rows of `tee.py`, with the version that the request named."""

    def __init__(self, stage, name):
        super().__init__()
        self.stage, self.name = stage, name

    async def handle_async_request(self, request):
        version = request.headers.get("mcp-protocol-version")
        body = await request.aread()
        if body:
            self.stage.keep(self.name, "client", body.decode(errors="replace"), version)
        response = await super().handle_async_request(request)
        kind = response.headers.get("content-type", "").split(";")[0]
        response.stream = Heard(response.stream, lambda text: self.stage.keep(self.name, "server", text, version), kind)
        return response


class Heard(httpx2.AsyncByteStream):
    """A body that is passed on as it comes; each message in it is told once it is whole."""

    def __init__(self, stream, tell, kind):
        self.stream, self.tell, self.kind, self.rest = stream, tell, kind, b""

    async def __aiter__(self):
        async for piece in self.stream:
            self.rest += piece
            if self.kind == "text/event-stream":
                *events, self.rest = re.split(rb"\r?\n\r?\n", self.rest)
                for event in events:
                    self.told(b"\n".join(line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")))
            yield piece
        if self.kind == "application/json":
            self.told(self.rest)

    def told(self, data):
        if data:
            self.tell(data.decode(errors="replace"))

    async def aclose(self):
        await self.stream.aclose()


class Stage:
    """A folder with a repository and a home, in which servers are started."""

    def __init__(self, folder, review, record):
        self.folder, self.review, self.record = pathlib.Path(folder).resolve(), review, pathlib.Path(record).resolve()
        self.repository = make_repository(self.folder / "project", review)
        self.model = Model()
        self.lock = threading.Lock()
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.record.write_text("")

    def keep(self, connection, sender, text, version=None):
        row = {"connection": connection, "from": sender, "text": text} | ({"version": version} if version else {})
        with self.lock, self.record.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def environment(self):
        return environment(self.folder) | {"XDG_STATE_HOME": str(self.folder / "state")} | self.model.environment()

    def command(self, *words):
        """A server whose reviews are done by the model, unless the words say otherwise."""
        engine = () if "--no-model" in words else ("--model", "openai-chat/scripted")
        return [self.review, "mcp", "-C", str(self.repository.folder), *engine, *words]

    def tee(self, name, *words):
        return [sys.executable, str(HERE / "tee.py"), str(self.record), name, *self.command(*words)]

    def stdio(self, name, *words):
        command, *rest = self.tee(name, *words)
        return stdio_client(StdioServerParameters(command=command, args=rest, env=self.environment(), cwd=self.folder))

    def http(self, name, url, **headers):
        client = httpx2.AsyncClient(transport=Recording(self, name), headers=headers, timeout=httpx2.Timeout(LIMIT))
        return streamable_http_client(url, http_client=client)

    @contextlib.contextmanager
    def listening(self, *words, **more):
        """A server over HTTP; gives its URL. It must end well when it is told to."""
        words = words if "--http" in words else ("--http", "127.0.0.1:0", *words)
        server = subprocess.Popen(
            self.command(*words), env=self.environment() | more, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        said, url = [], threading.Event()

        def listen():
            for line in server.stderr:
                said.append(line.decode(errors="replace"))
                if "http://" in said[-1]:
                    url.set()
            url.set()

        threading.Thread(target=listen, daemon=True).start()
        try:
            url.wait(LIMIT)
            found = re.search(r"http://\S+/mcp", "".join(said))
            check(found, f"the server does not say where it listens: {said}, exit {server.poll()}")
            yield found[0]
            check(server.poll() is None, f"the server ended with {server.poll()}: {''.join(said)[-2000:]}")
            server.send_signal(signal.SIGTERM)
            code = server.wait(LIMIT)
            check(code in (0, 130, 143, -signal.SIGTERM), f"the server ended with {code}: {''.join(said)[-2000:]}")
            check("panicked" not in "".join(said), f"the server panicked: {said}")
        finally:
            server.kill()
            server.wait()


class Raw:
    """A server over stdio that gets bytes as they are."""

    def __init__(self, stage, name, *words):
        self.process = subprocess.Popen(
            stage.tee(name, *words), env=stage.environment(), cwd=stage.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.rest, self.numbers, self.lines = b"", iter(range(1, 1_000_000)), queue.SimpleQueue()
        threading.Thread(target=self.write, daemon=True).start()

    def send(self, data):
        """Writes in time; a server that answers while it is written to must not hold both sides."""
        self.lines.put((data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n")

    def write(self):
        with contextlib.suppress(OSError):
            while (data := self.lines.get()) is not None:
                left = memoryview(data)
                while left:
                    left = left[self.process.stdin.write(left) :]
            self.process.stdin.close()

    def message(self, limit=LIMIT):
        """The next message, or None when none comes in time."""
        until = time.monotonic() + limit
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                return None
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, method, params=None, limit=LIMIT):
        """Sends a request; gives its response and what came before it."""
        number = next(self.numbers)
        self.send({"jsonrpc": "2.0", "id": number, "method": method} | ({"params": params} if params is not None else {}))
        return self.response(number, limit)

    def response(self, number, limit=LIMIT):
        before = []
        while (message := self.message(limit)) is not None:
            if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                return message, before
            before.append(message)
        return None, before

    def initialize(self, version):
        who = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer, _ = self.ask("initialize", who)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def close(self):
        self.lines.put(None)
        try:
            return self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.stdout.close()
