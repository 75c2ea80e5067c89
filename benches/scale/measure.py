#!/usr/bin/env python3
"""How a review grows with its change: CPU, wall time, time to the first request, peak memory, requests and tokens.

    python3 benches/scale/measure.py --review target/dist/review [--before OLD] [--peer OCR] [--sizes 10,100,1000,10000]
        [--repository PATH --range A..B]... [--runs N] [--modes rules,preview,model] [--svg docs/scale.svg]

It makes a repository with a change of each size, or takes ranges of real ones, starts a server for chat completions that answers at once, and
runs the programs one after the other, in turn: ours, an earlier one of ours, the peer, and four `git` processes that collect the same change.
CPU and memory are those of a process and its children. Figures are medians of N runs. The table is Markdown, on standard output.
"""

import argparse
import http.server
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# More files of a made change take the peer an hour.
PEER_FILES = 1000

PYTHON = '''import {module}


def area_{n}(width, height):
    if width < 0:
        raise ValueError("width")
    return width * height{more}


class Shape{n}:
    def __init__(self, sides):
        self.sides = sides

    def total_{n}(self):
        return sum(area_{n}(side, side) for side in self.sides)
'''
RUST = '''use crate::part{folder}::file{other}::Shape{other};

pub fn area_{n}(width: u64, height: u64) -> Option<u64> {{
    let shape = Shape{other}::new(width);
    width.checked_mul(height){more}
}}

pub struct Shape{n} {{ sides: Vec<u64> }}

impl Shape{n} {{
    pub fn new(side: u64) -> Self {{ Self {{ sides: vec![side; 4] }} }}
    pub fn total_{n}(&self) -> u64 {{ self.sides.iter().sum() }}
}}
'''
SCRIPT = '''import {{ Shape{other} }} from "../part{folder}/file{other}";

export function area{n}(width: number, height: number): number {{
  const shape = new Shape{other}(width);
  return width * height{more};
}}

export class Shape{n} {{
  constructor(private side: number) {{}}
  total{n}(): number {{ return area{n}(this.side, this.side); }}
}}
'''
KINDS = [(PYTHON, "py"), (RUST, "rs"), (SCRIPT, "ts"), (PYTHON, "py")]


def text_of(n, more):
    body, end = KINDS[n % len(KINDS)]
    other = (n + len(KINDS)) % (n + 2 * len(KINDS))
    values = {"n": n, "other": other, "folder": other // 20, "module": f"part{other // 20}.file{other}", "more": more}
    return f"src/part{n // 20}/file{n}.{end}", body.format(**values)


def make_repository(folder, files):
    """A repository of twice as many files; the branch `work` changes half of them."""
    run = lambda *words, **more: subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL, **more)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    stream = []

    def commit(branch, subject, contents, parent=None):
        stream.append(f"commit refs/heads/{branch}\ncommitter A <a@example.org> 1700000000 +0000\ndata {len(subject)}\n{subject}\n")
        if parent:
            stream.append(f"from refs/heads/{parent}\n")
        for path, text in contents:
            data = text.encode()
            stream.append(f"M 100644 inline {path}\ndata {len(data)}\n{text}\n")

    commit("main", "one", [text_of(n, "") for n in range(files * 2)])
    changed = [text_of(n, " + 1" if KINDS[n % 4][1] != "rs" else ".map(|area| area + 1)") for n in range(0, files * 2, 2)]
    commit("work", "two", changed, "main")
    run("fast-import", "--quiet", input="".join(stream).encode())
    run("checkout", "-q", "work")
    return folder, "main", "work"


class Model(http.server.ThreadingHTTPServer):
    """A model that ends each conversation at once."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.lock = threading.Lock()
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self):
        self.requests, self.bytes, self.first = 0, 0, None


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The body follows the head in a segment of its own, which would wait some 40 ms for an acknowledgment of the first.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.first = self.server.first or time.monotonic()
            self.server.requests += 1
            self.server.bytes += len(body)
        asked = json.loads(body)
        names = [tool["function"]["name"] for tool in asked.get("tools") or []]
        if "finish_review" in names:
            call = ("finish_review", {"summary": "Fine.", "no_findings_reason": "Nothing is wrong."})
        elif "task_done" in names:
            call = ("task_done", {"state": "DONE"})
        else:
            call = None
        message = {"role": "assistant", "content": "[]" if call is None else None}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
        reason = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 20, "total_tokens": len(body) // 4 + 20}
        head = {"id": "chatcmpl-1", "created": 1, "model": "instant"}
        if asked.get("stream"):
            def piece(choices, used=None):
                return "data: " + json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, "usage": used}) + "\n\n"

            answer = piece([{"index": 0, "delta": message, "finish_reason": None}])
            answer += piece([{"index": 0, "delta": {}, "finish_reason": reason}]) + piece([], usage) + "data: [DONE]\n\n"
            kind = "text/event-stream"
        else:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            answer = json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            kind = "application/json"
        data = answer.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


# Starts a program and tells what it used. The peak of a process (`ru_maxrss`) is at least what the one that starts it has, so that must be small.
STARTER = """
import os, sys, time
begun = time.monotonic()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
wall = time.monotonic() - begun
print(os.waitstatus_to_exitcode(status), begun, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def measured(words, folder, env, model):
    """CPU and wall seconds, peak MiB, seconds to the first request, requests, thousand tokens."""
    model.reset()
    program = shutil.which(words[0], path=env["PATH"]) or sys.exit(f"{words[0]} is not found")
    words = [program, *words[1:]]
    ran = subprocess.run([sys.executable, "-ISc", STARTER, *words], cwd=folder, env=env, capture_output=True, text=True, errors="replace")
    code, begun, wall, cpu, peak = map(float, ran.stdout.split() or [-1, 0, 0, 0, 0])
    if code not in (0, 1, 3):
        sys.exit(f"{words}: {code:.0f}: {ran.stderr[-2000:]}")
    # The clock is the same in all processes.
    first = model.first - begun if model.first else None
    return {"cpu": cpu, "wall": wall, "peak": peak / 1024, "first": first, "requests": model.requests, "tokens": model.bytes / 4000}


def commands(args, base, head, with_peer):
    """The rows of a change: what runs, by name."""
    range_words = ["--range", f"{base}..{head}", "--format", "json", "--quiet"]
    with_model = ["--model", "openai-chat/instant", "--verify", "none", "--max-tokens", "100000000", "--timeout", "10m"]
    modes = {"rules": ["--no-model"], "preview": [*with_model, "--preview"], "model": with_model}
    found = {}
    for mode in args.modes.split(","):
        for name, program in [("review", args.review), ("before", args.before)]:
            if program:
                found[f"{name}, {mode}"] = [program, *range_words, *modes[mode]]
    if args.peer and with_peer:
        found["peer, model"] = [args.peer, "review", "--from", base, "--to", head, "--format", "json", "--audience", "agent"]
    diff = f"diff -M {base}...{head}"
    git = f"git merge-base {base} {head}; git log --format=%B {base}..{head}; git {diff} --numstat; git {diff}"
    found["git, 4 processes"] = ["sh", "-c", git]
    return found


def rows_of(args, size, change, env, model):
    folder, base, head = change
    all_of = commands(args, base, head, (size or 0) <= PEER_FILES)
    taken = {name: [] for name in all_of}
    for _ in range(args.runs):
        for name, words in all_of.items():
            taken[name].append(measured(words, folder, env, model))
    middle = lambda runs, key: statistics.median(run[key] for run in runs) if runs[0][key] is not None else None
    return {name: {key: middle(runs, key) for key in runs[0]} for name, runs in taken.items()}


def drawing(curves, sizes):
    """CPU and peak memory over the number of files, on logarithmic scales, as one SVG."""
    from math import log10

    width, height, colors = 360, 260, ["#1f6feb", "#d29922", "#8250df", "#1a7f37", "#cf222e", "#57606a"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width + 40} {height + 90}" font-family="sans-serif" font-size="11">']
    for at, (key, label) in enumerate([("cpu", "CPU seconds"), ("peak", "peak MiB")]):
        values = [row[key] for rows in curves.values() for row in rows.values() if row[key]]
        low, high = log10(min(values)), log10(max(values))
        left = 45 + at * (width + 20)
        x = lambda files: left + (log10(files) - log10(sizes[0])) / max(log10(sizes[-1] / sizes[0]), 0.01) * (width - 60)
        y = lambda value: height - (log10(value) - low) / max(high - low, 0.01) * (height - 40)
        out.append(f'<text x="{left}" y="20" fill="#57606a">{label} over changed files</text>')
        for files in sizes:
            out.append(f'<line x1="{x(files):.0f}" y1="30" x2="{x(files):.0f}" y2="{height}" stroke="#d0d7de"/>')
            out.append(f'<text x="{x(files):.0f}" y="{height + 16}" text-anchor="middle" fill="#57606a">{files}</text>')
        for power in range(int(low) - 1, int(high) + 2):
            if low <= power <= high:
                out.append(f'<line x1="{left}" y1="{y(10.0 ** power):.0f}" x2="{left + width - 60}" y2="{y(10.0 ** power):.0f}" stroke="#d0d7de"/>')
                out.append(f'<text x="{left - 4}" y="{y(10.0 ** power) + 4:.0f}" text-anchor="end" fill="#57606a">{10.0 ** power:g}</text>')
        for number, (name, rows) in enumerate(curves.items()):
            color = colors[number % len(colors)]
            points = " ".join(f"{x(files):.1f},{y(row[key]):.1f}" for files, row in rows.items() if row[key])
            out.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
            if at == 0:
                out.append(f'<text x="{45 + number % 3 * 240}" y="{height + 40 + number // 3 * 18}" fill="{color}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--review", required=True, help="our program")
    words.add_argument("--before", help="an earlier one of ours")
    words.add_argument("--peer", help="Open Code Review")
    words.add_argument("--sizes", default="10,100,1000,10000", help="changed files of the made repositories")
    words.add_argument("--repository", action="append", default=[], help="a real repository; may be repeated")
    words.add_argument("--range", action="append", default=[], help="its range, BASE..HEAD")
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--modes", default="rules,preview,model")
    words.add_argument("--svg", help="where to write the curve")
    args = words.parse_args()
    for name in ["review", "before", "peer"]:
        if getattr(args, name):
            setattr(args, name, str(pathlib.Path(getattr(args, name)).resolve()))
    model = Model()
    base_url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        home = f"{scratch}/home"
        env = {
            "PATH": os.environ["PATH"], "HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_STATE_HOME": f"{home}/state",
            "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }
        pathlib.Path(f"{home}/config/review").mkdir(parents=True)
        pathlib.Path(f"{home}/config/review/config.toml").write_text("[openai-chat]\ncontext_window = 200000\n")
        if args.peer:
            local = [("url", base_url), ("protocol", "openai"), ("model", "instant"), ("api_key", "none")]
            for key, value in [("provider", "local"), *((f"custom_providers.local.{key}", value) for key, value in local)]:
                subprocess.run([args.peer, "config", "set", key, value], env=env, check=True, stdout=subprocess.DEVNULL)
        sizes = [int(size) for size in args.sizes.split(",") if size]
        changes = [(f"{size} files, made", size, make_repository(f"{scratch}/made{size}", size)) for size in sizes]
        for folder, span in zip(args.repository, args.range, strict=True):
            base, head = span.split("..")
            changes.append((f"{pathlib.Path(folder).name} {span}", None, (folder, base, head)))
        print("| change | program | CPU s | wall s | first request s | peak MiB | requests | thousand tokens |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        curves = {}
        for title, size, change in changes:
            for name, row in rows_of(args, size, change, env, model).items():
                first = "" if row["first"] is None else f"{row['first']:.2f}"
                requests = f"{row['requests']:.0f} | {row['tokens']:.0f}" if row["requests"] else " | "
                print(f"| {title} | {name} | {row['cpu']:.2f} | {row['wall']:.2f} | {first} | {row['peak']:.0f} | {requests} |", flush=True)
                if size:
                    curves.setdefault(name, {})[size] = row
        if args.svg and len(sizes) > 1:
            pathlib.Path(args.svg).write_text(drawing(curves, sizes))


main()
