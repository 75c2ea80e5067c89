"""Renders what a terminal shows to pictures: the screens of a review in ten situations, as a person sees them.

usage: screens.py PATH-TO-REVIEW PATH-TO-CHROMIUM FOLDER

Each screen is made by the program itself, in a terminal of 80 and one of 140 columns, on a small repository; the model and GitHub are a script that
listens on loopback. Each becomes an SVG with one set of colors for light pages and one for dark ones, and a PNG of each as Chromium draws it.
`review.svg` is the picture of docs/images. Fails if a screen is not as it has to be: another exit code, an escape sequence that is not known, a
line wider than the terminal or the picture, no link, or colors where NO_COLOR is set.
"""

import fcntl
import html
import http.server
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unicodedata

from playwright.sync_api import sync_playwright

REVIEW, CHROMIUM, FOLDER = (pathlib.Path(word).absolute() for word in sys.argv[1:4])
WIDTHS = (80, 140)
LONGEST = 120  # seconds, for one screen
CELL, ROW, PAD = 8.43, 19, 16
STORE = """import sqlite3


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path)

    def orders(self, user):
        return self.db.execute(f"SELECT id, total FROM orders WHERE owner = '{user}'")


def last_page(items, size):
    start = len(items) // size * size
    return items[start:start + size - 1]
"""
CALLS = [
    [("report_finding", {
        "title": "SQL injection through the user's name", "severity": "critical", "category": "security", "file_path": "src/store.py",
        "body": "A quote in `user` ends the string, and the rest is run as SQL: whoever chooses a name reads all orders. Pass it as a parameter.",
        "quote": "        return self.db.execute(f\"SELECT id, total FROM orders WHERE owner = '{user}'\")", "confidence": 10}),
     ("report_finding", {
        "title": "The last item of each page is lost", "severity": "high", "category": "logic", "file_path": "src/store.py",
        "body": "A slice ends before its end, so `start + size - 1` leaves one item out. End it at `start + size`.",
        "quote": "    return items[start:start + size - 1]", "suggestion": "    return items[start:start + size]", "confidence": 9})],
    [("finish_review", {"summary": "Adds a store for orders. One query takes its user from text, and pages lose an item."})],
]


class Server(http.server.BaseHTTPRequestHandler):
    """The model, GitHub's description of pull request 7, and git's own server.

    The model answers in the chat completions of OpenAI, as a stream: the calls of CALLS in turn, and a verdict for each verification. It refuses the
    key `wrong`, and while `silent` is clear, it does not answer after its first turn.
    """

    turn, silent, asked = 0, threading.Event(), threading.Event()
    shop = None

    def do_GET(self):
        self.git(b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/graphql":
            self.send(200, "application/json", json.dumps({"data": {"repository": {"pullRequest": self.pull()}}}).encode())
        elif ".git/" in self.path:
            self.git(body)
        elif self.headers["authorization"] == "Bearer wrong":
            said = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}
            self.send(401, "application/json", json.dumps(said).encode())
        else:
            self.model(json.loads(body))

    def pull(self):
        commit = lambda name: subprocess.run(["git", "rev-parse", name], cwd=self.shop, capture_output=True, check=True, text=True).stdout.strip()
        here = {"nameWithOwner": "acme/shop"}
        return {"id": "PR_7", "number": 7, "url": f"http://{self.headers['host']}/acme/shop/pull/7", "title": "Add a store for orders", "body": "",
                "state": "OPEN", "isDraft": False, "author": {"__typename": "User", "login": "ada"}, "authorAssociation": "MEMBER",
                "headRefName": "orders", "baseRefName": "main", "headRefOid": commit("orders"), "baseRefOid": commit("main"),
                "headRepository": here, "baseRepository": here, "mergeable": "MERGEABLE", "reviewDecision": None,
                "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z", "additions": 20, "deletions": 0, "changedFiles": 2}

    def git(self, body):
        path, _, query = self.path.partition("?")
        given = {"GIT_PROJECT_ROOT": str(self.shop / ".git"), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path.partition(".git")[2], "QUERY_STRING": query,
                 "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers["content-type"] or "", "CONTENT_LENGTH": str(len(body)),
                 "GIT_PROTOCOL": self.headers["git-protocol"] or "", "REMOTE_ADDR": "127.0.0.1", "PATH": os.environ["PATH"],
                 "HTTP_CONTENT_ENCODING": self.headers["content-encoding"] or "", "GIT_CONFIG_COUNT": "1",
                 "GIT_CONFIG_KEY_0": "uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_0": "true"}
        head, _, data = subprocess.run(["git", "http-backend"], env=given, input=body, capture_output=True, check=True).stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send(int(fields.get("Status", "200").split()[0]), fields["Content-Type"], data)

    def model(self, body):
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        if "finish_review" in names:
            turn, Server.turn = Server.turn, Server.turn + 1
            if turn > 0 and not Server.silent.is_set():
                Server.asked.set()
                Server.silent.wait(LONGEST)
                return
            calls = CALLS[min(turn, len(CALLS) - 1)]
        else:
            calls = [("give_verdict", {"questions": [{"question": "Does the slice leave an item out?", "answer": "Yes, the last one."}],
                                       "verdict": "confirmed", "confidence": 9, "rationale": "The end of a slice is not part of it."})]
        sent = [{"index": n, "id": f"c{time.time_ns()}{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for n, (name, given) in enumerate(calls)]
        usage = {"prompt_tokens": 5210, "completion_tokens": 240, "total_tokens": 5450, "prompt_tokens_details": {"cached_tokens": 3900}}
        chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": sent}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'model': body['model']} | chunk)}\n\n" for chunk in chunks)
        self.send(200, "text/event-stream", (text + "data: [DONE]\n\n").encode())

    def send(self, code, kind, data):
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def cut(line, columns):
    """Breaks a line as a terminal does, at its last column."""
    return [line[at:at + columns] for at in range(0, max(len(line), 1), columns)]


def run(words, folder, environment, columns=100, rows=200):
    """Runs the program in a terminal; returns what both streams showed, in the order in which it came, and what came on standard output.

    Standard error is a pipe: what a terminal shows there while the program runs is gone at its end."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen([REVIEW, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    errors = child.stderr.fileno()
    screen, page, ends, last = b"", b"", [mine, errors], time.monotonic() + LONGEST
    while ends and time.monotonic() < last:
        ready = select.select(ends, [], [], 0.2)[0]
        if not ready:
            continue
        # The page comes first: it is written whole before anything about it.
        try:
            piece = os.read(ready[0], 1 << 16)
        except OSError:
            piece = b""
        if not piece:
            ends.remove(ready[0])
        elif ready[0] == mine:
            screen, page = screen + piece, page + piece
        else:
            # As a terminal breaks it.
            screen += b"".join(part.encode() + b"\n" for line in piece.decode().splitlines() for part in cut(line, columns))
    os.close(mine)
    child.stderr.close()
    return screen.decode().replace("\r\n", "\n"), page.decode(), child.wait(timeout=LONGEST)


def styled(line):
    """Splits a line into (text, bold, dim, color, link)."""
    bold = dim = False
    color = link = None
    out = []
    for piece in re.split(r"(\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\)", line):
        if piece.startswith("\x1b]"):
            link = piece[5:-2] or None
        elif piece.startswith("\x1b["):
            for code in piece[2:-1].split(";"):
                number = int(code or 0)
                if number == 0:
                    bold, dim, color = False, False, None
                elif number == 1:
                    bold = True
                elif number == 2:
                    dim = True
                elif 30 <= number <= 37:
                    color = number - 30
                else:
                    raise SystemExit(f"an unknown style: {piece!r}")
        elif "\x1b" in piece:
            raise SystemExit(f"an unknown escape sequence: {piece!r}")
        elif piece:
            out.append((piece, bold, dim, color, link))
    return out


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def svg(screen, columns, command):
    first, *rest = cut(f"$ {command}", columns)
    prompt = [[("$ ", False, True, None, None), (first[2:], True, False, None, None)], *([(line, True, False, None, None)] for line in rest)]
    lines = prompt + [[]] + [styled(line) for line in screen.rstrip("\n").split("\n")]
    wide, high = round(columns * CELL) + 2 * PAD, len(lines) * ROW + 2 * PAD
    names = {1: "red", 2: "green", 3: "yellow", 6: "cyan"}
    rows = []
    for number, line in enumerate(lines):
        at, spans = 0, []
        for text, bold, dim, color, _ in line:
            look = " ".join(([names[color]] if color is not None else []) + (["b"] if bold else []) + (["d"] if dim else []))
            if text.strip():
                spans.append(f'<tspan x="{PAD + at * CELL:.1f}"' + (f' class="{look}"' if look else "") + f">{html.escape(text)}</tspan>")
            at += width(text)
        if at > columns:
            raise SystemExit(f"a line of {at} columns in a terminal of {columns}: {line}")
        rows.append(f'<text y="{PAD + 14 + number * ROW}">{"".join(spans)}</text>')
    style = """svg{--back:#fff;--text:#1f2328;--red:#b31d28;--green:#116329;--yellow:#7d4e00;--cyan:#0a6c74}
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--red:#ff7b72;--green:#7ee787;--yellow:#e3b341;--cyan:#76e3ea}}
rect{fill:var(--back);stroke:#8885}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--text);white-space:pre}
.b{font-weight:600}.d{opacity:.65}.red{fill:var(--red)}.green{fill:var(--green)}.yellow{fill:var(--yellow)}.cyan{fill:var(--cyan)}"""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img" '
            f'aria-label="A terminal with a review"><style>{style}</style><rect width="{wide}" height="{high}" rx="8"/>\n' + "\n".join(rows) + "\n</svg>\n")


def draw(browser, name, picture):
    """Draws a picture on a light and on a dark page, and looks that nothing of it is outside."""
    shots = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 720})
        page.set_content(f"<!doctype html><body style='margin:0'>{picture}")
        outside = page.evaluate("""() => { const svg = document.querySelector('svg'), wide = svg.width.baseVal.value;
            return [...svg.querySelectorAll('text')].filter(t => t.getBBox().x + t.getBBox().width > wide).map(t => t.textContent); }""")
        if outside:
            raise SystemExit(f"{name}: lines that are wider than the picture: {outside}")
        shots.append(page.locator("svg").screenshot(path=FOLDER / f"{name}-{scheme}.png", omit_background=True))
        page.close()
    if shots[0] == shots[1]:
        raise SystemExit(f"{name}: the same on a light page and on a dark one")


def bulk(n):
    """A file with a defect, one of four kinds."""
    return [
        (f"src/carts/cart_{n}.py", f"def add_{n}(item, items=[]):\n    items.append(item)\n    return items\n"),
        (f"src/orders/order_{n}.py", f"def orders_{n}(db, user):\n    return db.execute(f\"SELECT id FROM orders WHERE owner = '{{user}}'\")\n"),
        (f"src/steps/step_{n}.py", f"def step_{n}(x):\n    breakpoint()\n    return x\n"),
        (f"src/checks/check_{n}.py", f"def check_{n}(x):\n    assert (x, 'no x')\n    return x\n"),
    ][n % 4]


class Shop:
    """Repositories, and the screens of reviews in them."""

    def __init__(self, home, port):
        self.home, self.shop, self.screens = home, home / "shop", {}
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"), ("DATE", "2026-01-01T00:00:00Z"))}
        here = f"http://127.0.0.1:{port}"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": f"{home}/state", "TERM": "xterm-256color", "FORCE_HYPERLINK": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{here}/v1", "GITHUB_API_URL": here,
            "GITHUB_GRAPHQL_URL": f"{here}/graphql", "GITHUB_SERVER_URL": here, "GITHUB_TOKEN": "none"} | who

    def git(self, *words, folder=None):
        subprocess.run(["git", *words], cwd=folder or self.shop, env=self.environment, check=True, capture_output=True)

    def commit(self, files, subject, folder=None):
        folder = folder or self.shop
        for path, text in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        self.git("add", "-A", folder=folder)
        self.git("commit", "-qm", subject, folder=folder)

    def begin(self, folder):
        folder.mkdir()
        self.git("init", "-q", "-b", "main", folder=folder)
        self.commit([("README.md", "A shop.\n")], "begin", folder=folder)
        self.git("checkout", "-qb", "orders", folder=folder)

    def screen(self, name, words, folder=None, ends=0, widths=WIDTHS, before=None, **more):
        """Runs the program at each width."""
        for columns in widths:
            Server.turn = 0
            if before:
                before()
            # What was reviewed before is no part of these screens.
            rest = [] if "--resume" in words else ["--previous", "none"]
            screen, page, code = run([*words, *rest, "--no-pager"], folder or self.shop, self.environment | more, columns)
            if code != ends or not screen.strip():
                raise SystemExit(f"{name} ended with {code}:\n{screen}")
            if page and "--preview" not in words and ("\x1b" in page) == ("NO_COLOR" in more):
                raise SystemExit(f"{name}: colors are not as they have to be: {screen!r}")
            self.screens[name if len(widths) == 1 else f"{name}-{columns}"] = (screen, columns, " ".join(["review", *words]))

    def break_off(self):
        """Kills a review in its second turn."""
        Server.silent.clear()
        Server.asked.clear()
        words = [REVIEW, "--target", "main", "--model", "openai-chat/gpt-5", "--previous", "none", "--quiet"]
        child = subprocess.Popen(words, cwd=self.shop, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if not Server.asked.wait(LONGEST):
            raise SystemExit("the model was not asked for a second turn")
        child.kill()
        child.wait()
        Server.silent.set()

    def situations(self):
        rules, model = ["--target", "main", "--no-model"], ["--target", "main", "--model", "openai-chat/gpt-5"]
        self.begin(self.shop)
        self.commit([("src/util.py", "def total(items):\n    return sum(items)\n")], "Add a total")
        self.screen("clean", rules)
        self.commit([("src/store.py", STORE)], "Add a store for orders")
        self.screen("one-finding", rules)
        self.begin(self.home / "bulk")
        self.commit([bulk(n) for n in range(20)], "Add twenty files", folder=self.home / "bulk")
        self.screen("twenty-findings", rules, folder=self.home / "bulk")
        self.screen("incomplete", [*model, "--max-turns", "1"], ends=3)
        self.screen("wrong-key", model, ends=4, OPENAI_API_KEY="wrong")
        (self.home / "empty").mkdir()
        self.screen("no-repository", [], folder=self.home / "empty", ends=2, OPENAI_API_KEY="")
        (self.shop / "src/util.py").write_text("def total(items=[]):\n    return sum(items)\n")
        (self.shop / "notes.txt").write_text("later\n")
        self.screen("dirty-tree", rules)
        self.git("checkout", "-q", "src/util.py")
        (self.shop / "notes.txt").unlink()
        self.git("remote", "add", "origin", f"{self.environment['GITHUB_SERVER_URL']}/acme/shop.git")
        self.git("update-ref", "refs/pull/7/head", "orders")
        self.screen("pull-request", ["7", "--no-model"])
        self.git("remote", "remove", "origin")
        self.screen("resume", ["--resume", "last"], before=self.break_off)
        self.screen("preview", ["--target", "main", "--model", "openai", "--preview"])
        # The picture of the README, and a screen without colors.
        self.screen("review", model, widths=(100,))
        self.screen("no-color", rules, widths=(100,), NO_COLOR="1")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server.silent.set()
    with tempfile.TemporaryDirectory() as home:
        shop = Shop(pathlib.Path(home), server.server_port)
        Server.shop = shop.shop
        shop.situations()
    for name in ("review", "one-finding-80"):
        if "\x1b]8;;file://" not in shop.screens[name][0]:
            raise SystemExit(f"{name} has no link: {shop.screens[name][0]!r}")
    for columns in WIDTHS:
        if shop.screens[f"clean-{columns}"][0].count("\n") > 2:
            raise SystemExit(f"a clean review is not one line: {shop.screens[f'clean-{columns}'][0]!r}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (screen, columns, command) in shop.screens.items():
            picture = svg(screen, columns, command)
            (FOLDER / f"{name}.svg").write_text(picture)
            draw(browser, name, picture)
        browser.close()
    print(f"rendered {len(shop.screens)} screens to {FOLDER}, in light and in dark")


main()
