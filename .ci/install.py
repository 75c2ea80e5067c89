"""The install script of the action, run as a runner runs it, against a server of our own. Usage: install.py

A server on this machine stands for GitHub; the releases it has are made by the script that makes the real ones. `cargo` is a fake that
writes down how it was called. Every case says what must come of it. At the end the script is spoiled in several ways, and the case that
guards each way must fail: a case that cannot fail proves nothing.
"""

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


cases = {}


def case(function):
    cases[function.__name__.replace("_", " ")] = function
    return function


def case_off_windows(function):
    """There, what the case takes away stands in one folder with what it needs."""
    return function if WINDOWS else case(function)


@case
def the_release_of_the_actions_own_version(it):
    it.run(), it.downloaded()
    need(it.asked == [f"/{REPOSITORY}/releases/download/v{VERSION}/{name}" for name in ("SHA256SUMS", it.archive)], f"asked: {it.asked}")


@case
def a_version_by_name_with_or_without_v(it):
    it.release("1.2.3-rc.1")
    it.inputs = {"VERSION": "v1.2.3-rc.1"}
    it.run(), it.downloaded()
    need("/v1.2.3-rc.1/" in it.asked[0], f"asked: {it.asked}")


@case
def no_version_that_moves(it):
    it.inputs = {"VERSION": "latest"}
    it.run(), it.refused_unbuilt(2, "latest", "1.2.3")
    need(it.asked == [], "the server was asked")


@case
def no_version_that_is_a_path(it):
    it.inputs = {"VERSION": "1.2.3/../../../../other/releases/download/v1.2.3"}
    it.run(), it.refused_unbuilt(2, "neither a version")


@case
def no_version_of_two_lines(it):
    it.inputs = {"VERSION": "1.2.3\n::warning::hello"}
    it.run(), it.refused_unbuilt(2, "neither a version")


@case
def a_checksum_list_that_says_otherwise(it):
    it.release(sums=lambda text, name: text.replace(digest(it.body(name)), "0" * 64))
    it.run(), it.refused_unbuilt(3, "is not the one that the release was made with", "0" * 64, "not unpacked")


@case
def an_archive_that_was_exchanged(it):
    it.page(it.archive, (200, {}, packed((member(it), b"#!/bin/sh\necho evil\n"))))
    it.run(), it.refused_unbuilt(3, "is not the one that the release was made with")


@case
def the_checksum_that_the_input_names(it):
    it.inputs = {"CHECKSUM": it.release().upper()}
    it.run(), it.downloaded()


@case
def another_checksum_than_the_input_names(it):
    it.inputs = {"CHECKSUM": "1" * 64}
    it.run(), it.refused_unbuilt(3, "is not the one that the input checksum names", "1" * 64)


@case
def a_checksum_that_is_none(it):
    it.inputs = {"CHECKSUM": "sha256:" + "1" * 57}
    it.run(), it.refused_unbuilt(2, "64 hexadecimal digits")


@case
def a_checksum_and_no_release(it):
    it.server.pages = {}
    it.inputs = {"CHECKSUM": "1" * 64}
    it.run(), it.refused_unbuilt(3, "has no release", "The input checksum names an archive")


@case
def no_such_release_so_it_is_built(it):
    it.server.pages = {}
    it.run(), it.from_source()
    need("has no release v9.8.7" in it.log, "the log does not say why")


@case
def no_such_release_and_no_cargo(it):
    it.server.pages = {}
    it.without = {"cargo"}
    it.run(), it.refused(3, "has no release", "there is no cargo here", "install Rust")


@case
def a_build_that_fails(it):
    it.server.pages = {}
    it.environment = {"CARGO_FAILS": "1"}
    it.run(), it.refused(3, "Building the program from the action's checkout failed")


@case
def built_because_the_input_says_so(it):
    it.inputs = {"VERSION": "source"}
    it.run(), it.from_source()
    need(it.asked == [], "the server was asked")


@case
def built_with_a_checksum(it):
    it.inputs = {"VERSION": "source", "CHECKSUM": "1" * 64}
    it.run(), it.refused_unbuilt(2, "contradict")


@case
def a_download_that_breaks_off(it):
    body = it.body(it.archive)
    it.page(it.archive, (200, {"Content-Length": str(len(body) + 1000)}, body))
    it.run(), it.refused_unbuilt(3, "could not be downloaded", "Run the job again")
    need(len(it.asked) == 4, f"asked {len(it.asked)} times, not once for the list and three times for the archive")


@case
def a_download_that_breaks_off_once(it):
    body = it.body(it.archive)
    it.page(it.archive, (200, {"Content-Length": str(len(body) + 1000)}, body), (200, {}, body))
    it.run(), it.downloaded()


@case
def an_archive_cut_short_without_a_word(it):
    it.page(it.archive, (200, {}, it.body(it.archive)[:-100]))
    it.run(), it.refused_unbuilt(3, "is not the one that the release was made with")


@case
def a_server_that_is_busy_at_first(it):
    it.page("SHA256SUMS", (503, {}, b""), (429, {}, b""), (200, {}, it.body("SHA256SUMS")))
    it.run(), it.downloaded()


@case
def a_server_that_stays_busy(it):
    it.page("SHA256SUMS", (503, {}, b"busy"))
    it.run(), it.refused_unbuilt(3, "HTTP status 503")


@case
def a_server_that_is_not_there(it):
    it.environment = {"GITHUB_SERVER_URL": "http://127.0.0.1:1"}
    it.run(), it.refused_unbuilt(3, "HTTP status 000", "version: source")


@case
def a_redirect_as_github_answers(it):
    it.server.pages["/storage"] = [(200, {}, it.body(it.archive))]
    it.page(it.archive, (302, {"Location": "/storage"}, b""))
    it.run(), it.downloaded()


@case
def a_redirect_that_never_ends(it):
    it.page("SHA256SUMS", (302, {"Location": "SHA256SUMS"}, b""))
    it.run(), it.refused_unbuilt(3, "could not be downloaded")


@case
def a_redirect_to_a_file_of_this_machine(it):
    planted = it.folder / "planted"
    planted.write_bytes(it.body("SHA256SUMS"))
    it.page("SHA256SUMS", (302, {"Location": planted.as_uri()}, b""))
    it.run(), it.refused_unbuilt(3, "could not be downloaded")


@case
def a_page_to_log_in(it):
    it.page("SHA256SUMS", (302, {"Location": "/login"}, b""))
    it.server.pages["/login"] = [(200, {}, b"<html>Sign in\n")]
    it.run(), it.refused_unbuilt(3, "is not a list of checksums", "logging in")


@case
def a_list_that_names_the_archive_twice(it):
    it.release(sums=lambda text, name: text + f"{'2' * 64}  {name}\n")
    it.run(), it.refused_unbuilt(3, "more than once")


@case
def a_list_without_this_platform(it):
    it.release(sums=lambda text, name: "".join(line + "\n" for line in text.splitlines() if name not in line))
    it.run(), it.from_source()
    need(f"has no archive for {TARGETS[it.platform]}" in it.log, "the log does not say why")


@case
def an_archive_that_is_listed_and_not_there(it):
    it.page(it.archive, (404, {}, b""))
    it.run(), it.refused_unbuilt(3, "HTTP status 404")


@case
def an_archive_with_odd_paths(it):
    evil = [("../../evil", b"x"), (str(it.folder / "evil"), b"x"), ("link", "../.."), ("link/evil", b"x"), ("-rf", b"x"), ("new\nline", b"x")]
    it.release(data=packed(*evil, (member(it), it.program.read_bytes())))
    it.run(), it.downloaded()
    need([path for path in it.folder.rglob("*") if path.name in ("evil", "link", "-rf", "new\nline")] == [], "it was unpacked")


@case
def an_archive_without_the_program(it):
    it.release(data=packed(("review", it.program.read_bytes())))
    it.run(), it.refused_unbuilt(3, "does not hold")


@case
def an_archive_with_a_link_for_the_program(it):
    it.release(data=packed((member(it), "/bin/sh")))
    it.run(), it.refused_unbuilt(3, "is not a file with anything in it")


@case
def an_archive_that_is_none(it):
    it.release(data=b"not an archive")
    it.run(), it.refused_unbuilt(3, "does not hold")


@case_off_windows
def no_curl(it):
    it.without = {"curl"}
    it.run(), it.refused_unbuilt(3, "curl is not installed")


@case_off_windows
def a_system_with_shasum_only(it):
    need(shutil.which("shasum"), "this system has no shasum to try it with")
    it.without = {"sha256sum"}
    it.run(), it.downloaded()


@case_off_windows
def nothing_that_can_check_a_download(it):
    it.without = {"sha256sum", "shasum"}
    it.run(), it.refused_unbuilt(3, "Neither sha256sum nor shasum")
    need(it.asked == [], "something was downloaded")


@case
def a_platform_without_releases(it):
    it.platform = ("Linux", "ARM")
    it.run(), it.from_source()
    need("no releases for Linux on ARM" in it.log, "the log does not say why")


@case
def the_workspaces_own_action(it):
    it.environment = {"ACTION_REPOSITORY": "", "GITHUB_WORKSPACE": str(it.action), "GITHUB_REPOSITORY": REPOSITORY}
    it.run(), it.downloaded()


@case
def an_action_of_which_the_runner_says_nothing(it):
    it.environment = {"ACTION_REPOSITORY": "", "GITHUB_REPOSITORY": REPOSITORY}
    it.run(), it.from_source()
    need(it.asked == [], "the releases of another repository were asked for")


@case
def a_program_that_does_not_run_here(it):
    it.release(data=packed((member(it), b"\x7fELF broken")))
    it.run(), it.refused_unbuilt(3, "does not run here")


@case_off_windows
def a_program_that_is_another(it):
    it.release(data=packed((member(it), b"#!/usr/bin/env bash\necho something else\n")))
    it.run(), it.refused_unbuilt(3, "is not review")


def each_platform(platform):
    def run(it):
        it.platform = platform
        it.run(), it.downloaded()
        need(it.asked[-1].endswith(f"-{TARGETS[platform]}.tar.gz"), f"asked: {it.asked}")

    return run


for each in TARGETS:
    # A program for another system is a script here, which only a name without .exe lets Windows run.
    if not WINDOWS or each == HERE:
        cases[f"the archive for {' '.join(each)}"] = each_platform(each)

# What is changed in the script, and the case that must see it.
SPOILED = [
    ('[ "$got" = "$listed" ] ||', "true ||", "an archive that was exchanged"),
    ('|| [ "$got" = "$wanted" ] ||', "|| true ||", "another checksum than the input names"),
    ('tar -xzOf archive.tar.gz "$name/review$suffix" >', 'tar -P -xzf archive.tar.gz; cat "$name/review$suffix" >', "an archive with odd paths"),
    ('(cd "$action" &&', '(cd "$GITHUB_WORKSPACE" &&', "no such release so it is built"),
    ('404) missing "', '404) fail 3 "', "no such release so it is built"),
    ('[ -z "$wanted" ] || fail 3', "true || fail 3", "a checksum and no release"),
    ("install --locked", "install", "built because the input says so"),
    ("--location ", "", "a redirect as github answers"),
    ("tries=3", "tries=1", "a server that is busy at first"),
    ("(-[0-9A-Za-z.-]+)?$", "", "no version that is a path"),
    ("command -v cargo >/dev/null ||", "true ||", "no such release and no cargo"),
    ('"${GITHUB_WORKSPACE:-/nowhere}"*', "*", "an action of which the runner says nothing"),
    ('>>"$GITHUB_STEP_SUMMARY"', ">/dev/null", "a server that stays busy"),
    ("[ -s \"review$suffix\" ] ||", "true ||", "an archive with a link for the program"),
]


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


def tried(name, script, program):
    """Nothing where the case holds, else why not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        it = Case(pathlib.Path(folder).resolve(), script, program)
        try:
            cases[name](it)
        except (Wrong, subprocess.TimeoutExpired) as error:
            return f"{error}\n{getattr(it, 'log', '')}"
        finally:
            it.server.server_close()
    return None


def main():
    script = (TOP / ".github/action/install.sh").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        program = fake_program(pathlib.Path(folder))
        failed = {name: why for name in cases if (why := tried(name, script, program))}
        for name, why in failed.items():
            print(f"FAILED {name}: {why}\n")
        unseen = []
        for old, new, name in SPOILED:
            need(old in script, f"the script has no {old!r} to spoil")
            if not tried(name, script.replace(old, new), program):
                unseen.append(f"{name!r} holds even with {new!r} for {old!r}")
        for each in unseen:
            print(f"FAILED {each}")
    if failed or unseen:
        sys.exit(1)
    print(f"the install script: {len(cases)} cases hold, and {len(SPOILED)} ways to spoil it are seen")


if __name__ == "__main__":
    main()
