"""The extension for VS Code: installed from its lock file, compiled, linted, tested and packaged, and its package compared with a list.

    vscode.py FOLDER PATH-TO-REVIEW

FOLDER is where it is built; npm must be on PATH. Its client is also run against the program itself. Packaging happens without a network. The package must hold exactly the files that
`editors/vscode/package-files.txt` names, and what it holds must load with what it brings.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "editors" / "vscode"
LICENCES = [SOURCE.parents[1] / "LICENSE-MIT", SOURCE.parents[1] / "LICENSE-APACHE"]
INSTALL = ["npm", "ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]
# A network namespace of its own has not even a loopback device that is up. Where the machine allows none, every address leads to a closed port.
OFFLINE = ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--net"]
if subprocess.run([*OFFLINE, "true"], capture_output=True).returncode != 0:
    NOWHERE = "http://127.0.0.1:9"
    OFFLINE = ["env", *(f"{name}={NOWHERE}" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy", "npm_config_https_proxy")), "npm_config_offline=true"]


def run(command, folder, **more):
    print("+", " ".join(command), flush=True)
    subprocess.run(command, cwd=folder, check=True, timeout=900, stdin=subprocess.DEVNULL, **more)


def copied(folder):
    """The extension's sources with the licences beside them, as in the repository, and with the packages of the lock file."""
    target = folder / "editors" / "vscode"
    lock = SOURCE / "package-lock.json"
    installed = folder / "installed.json"
    if installed.is_file() and installed.read_bytes() != lock.read_bytes():
        shutil.rmtree(folder)
    target.mkdir(parents=True, exist_ok=True)
    for entry in target.iterdir():
        if entry.name != "node_modules":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True, capture_output=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SOURCE / name, target / name)
    for licence in LICENCES:
        shutil.copyfile(licence, folder / licence.name)
    if not installed.is_file():
        run(INSTALL, target)
        # Last, so that an installation that was broken off is made again.
        shutil.copyfile(lock, installed)
    return target


def difference(found, expected):
    return [f"+ {name}" for name in found if found.count(name) > expected.count(name)] + [f"- {name}" for name in expected if name not in found]


def main(folder, program):
    target = copied(folder)
    run(["npm", "run", "compile"], target)
    run(["npm", "run", "lint"], target)
    run(["npm", "test"], target)
    run(["npm", "run", "test:program"], target, env={**os.environ, "REVIEW_PROGRAM": str(program)})
    run([*OFFLINE, "npm", "run", "package"], target)

    with zipfile.ZipFile(target / "review.vsix") as package:
        found = sorted(package.namelist())
        unpacked = folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        package.extractall(unpacked)
    expected = (target / "package-files.txt").read_text().splitlines()
    if wrong := difference(found, expected):
        sys.exit(f"the package differs from package-files.txt: {wrong}")
    # A check that cannot fail proves nothing.
    assert difference([*found, "extension/.env"], expected) and difference(found[1:], expected) and difference([*found, found[0]], expected)

    # Only `vscode` comes from outside, from the stub of the tests.
    stub = target / "out" / "test" / "register.js"
    check = "const e = require(process.argv[1]); if (typeof e.activate !== 'function') process.exit(1)"
    run(["node", "--require", str(stub), "--eval", check, str(unpacked / "extension" / "out" / "src" / "extension.js")], unpacked)
    print(f"the extension is packaged: {len(found)} files, as listed")


if __name__ == "__main__":
    main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:3]))
