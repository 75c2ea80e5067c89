"""A runner and a GitHub for the action's install script: what .ci/install.py tries it on. Main type: `Case`."""

import contextlib
import hashlib
import http.server
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent
WINDOWS = os.name == "nt"
BASH = shutil.which("bash")
VERSION = "9.8.7"
REPOSITORY = "owner/review"
TARGETS = {
    ("Linux", "X64"): "x86_64-unknown-linux-musl",
    ("Linux", "ARM64"): "aarch64-unknown-linux-musl",
    ("macOS", "X64"): "x86_64-apple-darwin",
    ("macOS", "ARM64"): "aarch64-apple-darwin",
    ("Windows", "X64"): "x86_64-pc-windows-msvc",
}
HERE = ("Windows", "X64") if WINDOWS else ("Linux", "X64")
# What the script and the fake cargo may call; cargo is added where a case has one, and a case can be without any of them.
PROGRAMS = "awk bash cat chmod cp curl cut dirname grep gzip head mkdir mktemp perl rm sed sha256sum shasum sleep tar tr uname wc".split()
FAKE_CARGO = """#!/usr/bin/env bash
{ pwd; printf '%s\\n' "$@"; } >"$CARGO_LOG"
while [ $# -gt 0 ]; do if [ "$1" = --root ]; then root=$2; fi; shift; done
if [ -n "${CARGO_FAILS:-}" ]; then echo 'error: could not compile' >&2; exit 101; fi
mkdir -p "$root/bin"
cp "$FAKE_PROGRAM" "$root/bin/review$FAKE_SUFFIX"
chmod 755 "$root/bin/review$FAKE_SUFFIX"
"""


class Wrong(Exception):
    """What a case saw in place of what it must see."""


def need(holds, why):
    if not holds:
        raise Wrong(why)


class Server(http.server.ThreadingHTTPServer):
    """Answers from `pages`: path -> list of answers, the last one for ever. An answer is (status, headers, body)."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked = {}, []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is part of the cases


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        answers = self.server.pages.get(self.path, [(404, {}, b"Not Found")])
        status, headers, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Case:
    """One run: a runner's folders, a server, and what is changed of the ordinary."""

    def __init__(self, folder, script, program):
        self.folder = folder
        self.server = Server()
        self.action = folder / "act ion"
        self.temp = folder / "temp übel"
        self.workspace = folder / "work"
        for made in (self.action / ".github/action", self.temp, self.workspace, folder / "bin", folder / "home"):
            made.mkdir(parents=True)
        (self.action / ".github/action/install.sh").write_text(script, encoding="utf-8", newline="\n")
        (self.action / "Cargo.toml").write_text(f'[package]\nname = "review-runner"\nversion = "{VERSION}"\n\n[dependencies]\nx = "1"\n')
        self.program = program
        self.cargo_log = folder / "cargo.log"
        self.platform = HERE
        self.without = set()
        self.inputs = {}
        self.environment = {}
        self.release()

    # What the server has.

    def release(self, version=VERSION, data=None, sums=None):
        """A release as it is made for real, for every target; `data` is another archive for this platform, `sums` another list."""
        made = made_release(version, self.program)
        name = f"review-{version}-{TARGETS[self.platform]}.tar.gz"
        if data is not None:
            made[name] = data
            made["SHA256SUMS"] = "".join(f"{digest(made[each])}  {each}\n" for each in sorted(made) if each != "SHA256SUMS").encode()
        if sums is not None:
            made["SHA256SUMS"] = sums(made["SHA256SUMS"].decode(), name).encode()
        for each, body in made.items():
            self.page(each, (200, {}, body), version=version)
        return digest(made[name])

    def page(self, name, *answers, version=VERSION):
        self.server.pages[f"/{REPOSITORY}/releases/download/v{version}/{name}"] = list(answers)

    def body(self, name):
        return self.server.pages[f"/{REPOSITORY}/releases/download/v{VERSION}/{name}"][0][2]

    @property
    def archive(self):
        return f"review-{VERSION}-{TARGETS[self.platform]}.tar.gz"

    # The run.

    def run(self):
        output, summary = self.folder / "output", self.folder / "summary"
        output.write_text(""), summary.write_text("")
        system, processor = self.platform
        given = {
            "VERSION": "",
            "CHECKSUM": "",
            "ACTION_REPOSITORY": REPOSITORY,
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "somebody/else",
            "GITHUB_SERVER_URL": f"http://127.0.0.1:{self.server.server_port}",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_ARCH": processor,
            "RUNNER_OS": system,
            "RUNNER_TEMP": str(self.temp),
            "REVIEW_INSTALL_PAUSE": "0",
            "CARGO_LOG": str(self.cargo_log),
            "FAKE_PROGRAM": str(self.program),
            "FAKE_SUFFIX": ".exe" if system == "Windows" else "",
            **self.inputs,
            **self.environment,
        }
        ran = subprocess.run(
            [BASH, str(self.action / ".github/action/install.sh")],
            cwd=self.workspace,
            env={**self.surroundings(), **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        self.server.shutdown()
        self.server.server_close()
        self.status, self.log = ran.returncode, ran.stdout.decode("utf-8", "replace")
        self.output, self.summary = output.read_text(encoding="utf-8"), summary.read_text(encoding="utf-8")
        self.built = self.cargo_log.read_text().splitlines() if self.cargo_log.exists() else None
        self.asked = [path for path, _ in self.server.asked]
        for _, headers in self.server.asked:
            need("authorization" not in {name.lower() for name in headers}, "a token was sent")
        need(list(self.workspace.iterdir()) == [], "something was written to the workspace")

    def surroundings(self):
        """The environment, with a PATH that has a cargo only if the case has one."""
        if "cargo" not in self.without:
            fake = self.folder / "bin/cargo"
            fake.write_text(FAKE_CARGO, newline="\n")
            fake.chmod(0o755)
        if WINDOWS:
            rest = [each for each in os.environ["PATH"].split(os.pathsep) if not (pathlib.Path(each) / "cargo.exe").exists()]
            kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("GITHUB_", "RUNNER_", "CARGO_"))}
            return {**kept, "PATH": os.pathsep.join([str(self.folder / "bin"), *rest])}
        for name in PROGRAMS:
            at = shutil.which(name)
            if at and name not in self.without:
                (self.folder / "bin" / name).symlink_to(at)
        return {"PATH": str(self.folder / "bin"), "HOME": str(self.folder / "home"), "LC_ALL": "C.UTF-8"}

    # What came of it.

    def installed(self, words):
        need(self.status == 0, f"exit {self.status}")
        need(words in self.log, f"the log does not say {words!r}")
        lines = self.output.splitlines()
        need(len(lines) == 1 and lines[0].startswith("binary="), f"outputs: {lines}")
        binary = pathlib.Path(lines[0].removeprefix("binary="))
        need(binary.is_file() and self.temp in binary.resolve().parents, f"{binary} is no file in the runner's temporary folder")
        need(binary.read_bytes() == self.program.read_bytes(), "the program is another")
        need("::error" not in self.log, "an error was said")

    def downloaded(self):
        self.installed("release v")
        need(self.built is None, "cargo was called")

    def from_source(self):
        self.installed("built from the action's checkout")
        need(self.built is not None, "cargo was not called")
        where, *arguments = self.built
        need(pathlib.PurePath(where).name == self.action.name, f"cargo ran in {where}, where it reads settings of others")
        need(arguments[:4] == ["install", "--locked", "--path", "."], f"cargo was called with {arguments}")
        need("--target-dir" in arguments, "the checkout of the action was written to")

    def refused(self, status, *words):
        need(self.status == status, f"exit {self.status}, not {status}")
        need(self.output == "", f"outputs: {self.output}")
        errors = [line for line in self.log.splitlines() if line.startswith("::")]
        need(len(errors) == 1 and errors[0].startswith("::error title=review was not installed::"), f"commands: {errors}")
        for each in words:
            need(each in errors[0], f"the error does not say {each!r}")
            need(each in self.summary, f"the summary does not say {each!r}")

    def refused_unbuilt(self, status, *words):
        self.refused(status, *words)
        need(self.built is None, "cargo was called")


def digest(data):
    return hashlib.sha256(data).hexdigest()


releases = {}


def made_release(version, program):
    """File name -> bytes, by the script that makes the real ones."""
    if version not in releases:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "completions").mkdir()
            (folder / "completions/review.bash").write_text("complete\n")
            for target in TARGETS.values():
                (folder / "binaries" / target).mkdir(parents=True)
                shutil.copy(program, folder / "binaries" / target / ("review.exe" if "windows" in target else "review"))
            script = [sys.executable, str(TOP / ".github/release/package.py")]
            for out in ("one", "two"):
                subprocess.run([*script, version, "binaries", "completions", out], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            releases[version] = {path.name: path.read_bytes() for path in (folder / "one").iterdir()}
            again = {path.name: path.read_bytes() for path in (folder / "two").iterdir()}
            need(again == releases[version], "the same input made other archives")
    return dict(releases[version])


def packed(*members):
    """A .tar.gz of (name, bytes) and (name, link target as text)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, what in members:
            member = tarfile.TarInfo(name)
            if isinstance(what, str):
                member.type, member.linkname = tarfile.SYMTYPE, what
                tar.addfile(member)
            else:
                member.size, member.mode = len(what), 0o755
                tar.addfile(member, io.BytesIO(what))
    return out.getvalue()


def member(case):
    """The path of the program in the archive for this platform."""
    return f"review-{VERSION}-{TARGETS[case.platform]}/review{'.exe' if case.platform[0] == 'Windows' else ''}"


def fake_program(folder):
    """What stands for the program: a script, or on Windows, which runs none by that name, a few lines of Rust."""
    if not WINDOWS:
        path = folder / "review"
        path.write_text(f'#!/usr/bin/env bash\n[ "$*" = --version ] && echo "review {VERSION}"\n')
        path.chmod(0o755)
        return path
    (folder / "review.rs").write_text(f'fn main() {{ println!("review {VERSION}"); }}\n')
    subprocess.run(["rustc", "-o", "review.exe", "review.rs"], cwd=folder, check=True)
    return folder / "review.exe"
