"""The install script of the action, run as a runner runs it, against a server of our own. Usage: install.py

A server on this machine stands for GitHub; the releases it has are made by the script that makes the real ones. `cargo` is a fake that
writes down how it was called. Every case says what must come of it. At the end the script is spoiled in several ways, and the case that
guards each way must fail: a case that cannot fail proves nothing.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from install_stage import HERE, REPOSITORY, TARGETS, TOP, VERSION, WINDOWS, Case, Wrong, digest, fake_program, member, need, packed

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
def a_checkout_with_the_line_ends_of_windows(it):
    manifest = it.action / "Cargo.toml"
    manifest.write_bytes(manifest.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    it.run(), it.downloaded()


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
