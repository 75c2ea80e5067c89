"""Renders what a terminal shows to pictures (SVG): the screens of a review as a person sees them.

usage: screens.py PATH-TO-REVIEW FOLDER

Each screen is made by the program itself, in a terminal of its own, on a small repository; the model is a script that listens on loopback.
`review.svg` is the picture of docs/images; it has one set of colors for light pages and one for dark ones. Fails if a screen is not as it has to
be: an escape sequence that is not known, a line wider than the terminal, no link, or colors where NO_COLOR is set.
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

REVIEW, FOLDER = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
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


class Model(http.server.BaseHTTPRequestHandler):
    """Answers in the chat completions of OpenAI, as a stream: the calls of CALLS in turn, and a verdict for each verification."""

    turn = 0

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        if "finish_review" in names:
            calls = CALLS[min(Model.turn, len(CALLS) - 1)]
            Model.turn += 1
        else:
            calls = [("give_verdict", {"questions": [{"question": "Does the slice leave an item out?", "answer": "Yes, the last one."}],
                                       "verdict": "confirmed", "confidence": 9, "rationale": "The end of a slice is not part of it."})]
        sent = [{"index": n, "id": f"c{time.time_ns()}{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for n, (name, given) in enumerate(calls)]
        usage = {"prompt_tokens": 5210, "completion_tokens": 240, "total_tokens": 5450, "prompt_tokens_details": {"cached_tokens": 3900}}
        chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": sent}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'model': body['model']} | chunk)}\n\n" for chunk in chunks)
        data = (text + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def run(words, folder, environment, columns=100, rows=200):
    """Runs the program in a terminal; returns what the terminal got on standard output. Progress goes nowhere."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen([REVIEW, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    got, end = b"", time.monotonic() + LONGEST
    while time.monotonic() < end:
        if select.select([mine], [], [], 0.2)[0]:
            try:
                piece = os.read(mine, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                break
            got += piece
        elif child.poll() is not None:
            break
    os.close(mine)
    errors = child.stderr.read().decode()
    child.wait(timeout=LONGEST)
    return got.decode().replace("\r\n", "\n"), errors, child.returncode


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
    lines = [[("$ ", False, True, None, None), (command, True, False, None, None)], []] + [styled(line) for line in screen.rstrip("\n").split("\n")]
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


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        shop = pathlib.Path(home) / "shop"
        (shop / "src").mkdir(parents=True)
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"), ("DATE", "2026-01-01T00:00:00Z"))}
        environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": f"{home}/state", "TERM": "xterm-256color", "FORCE_HYPERLINK": "1",
                       "GIT_CONFIG_GLOBAL": "/dev/null", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"} | who

        def git(*words):
            subprocess.run(["git", *words], cwd=shop, env=environment, check=True, capture_output=True)

        git("init", "-q", "-b", "main")
        (shop / "README.md").write_text("A shop.\n")
        git("add", "-A")
        git("commit", "-qm", "begin")
        git("checkout", "-qb", "orders")
        (shop / "src/util.py").write_text("def total(items):\n    return sum(items)\n")
        git("add", "-A")
        git("commit", "-qm", "Add a total")
        pictures = {"clean": ["--target", "main", "--no-model", "--no-pager"]}
        screens = {"clean": run(pictures["clean"], shop, environment)}
        (shop / "src/store.py").write_text(STORE)
        git("add", "-A")
        git("commit", "-qm", "Add a store for orders")
        pictures["review"] = ["--target", "main", "--model", "openai-chat/gpt-5", "--previous", "none", "--no-pager"]
        pictures["rules"] = ["--target", "main", "--no-model", "--previous", "none", "--no-pager"]
        pictures["no-color"] = pictures["rules"]
        for name in ("review", "rules", "no-color"):
            more = {"NO_COLOR": "1"} if name == "no-color" else {}
            screens[name] = run(pictures[name], shop, environment | more)
    for name, (screen, errors, code) in screens.items():
        if code != 0 or not screen.strip():
            raise SystemExit(f"{name} ended with {code}:\n{screen}\n{errors}")
        if ("\x1b" in screen) == (name == "no-color"):
            raise SystemExit(f"{name}: colors are not as they have to be: {screen!r}")
        if name in ("review", "rules") and "\x1b]8;;file://" not in screen:
            raise SystemExit(f"{name} has no link: {screen!r}")
        shown = " ".join(word for word in ["review", *pictures[name]] if word not in ("--no-pager", "--previous", "none"))
        (FOLDER / f"{name}.svg").write_text(svg(screen, 100, shown))
    if screens["clean"][0].count("\n") != 1:
        raise SystemExit(f"a clean review is not one line: {screens['clean'][0]!r}")
    print(f"rendered {len(screens)} screens to {FOLDER}")


main()
