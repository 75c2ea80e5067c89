"""Drives the language server with real clients, pytest-lsp and a headless Neovim, and checks every message of it by the specification's types.

usage: lsp.py PATH-TO-REVIEW PYTHON-OF-THE-CLIENT

Each client sees findings follow its edits, applies a suggestion, dismisses a finding, and starts a review, which a model does that never ends, and
cancels it (`lsp/test_client.py`, `lsp/neovim.lua`). Everything is said through `tee.py`, which keeps it. `lsp/check.py` then holds what the
server said against the types that are generated from the specification's meta-model.

Ends with 1 and what was wrong, else with what was checked.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from mcp_stage import Model, make_repository
from outside import environment

HERE = pathlib.Path(__file__).resolve().parent
# No client takes longer than this, or it hangs.
LIMIT = 180
CODE = """\
def first(name):
    if name is '😀漢': return 1
    return 2

def third(done):
    assert (done, 'not done')
"""


def stage(folder, review, model):
    """A repository with a reviewed branch, and the environment of a server for it."""
    repository = make_repository(folder / "shop", review)
    (folder / "shop/a.py").write_text(CODE)
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "Add a file")
    around = environment(folder) | model.environment() | {"XDG_STATE_HOME": str(folder / "state"), "REVIEW_VERIFY": "none"}
    review_it(review, folder, around)
    return around


def review_it(review, folder, around):
    done = subprocess.run(
        [review, "--target", "main", "--no-model", "--hints"], cwd=folder / "shop", env=around, capture_output=True, timeout=LIMIT
    )
    if done.returncode:
        sys.exit(f"the review failed: {done.stderr.decode(errors='replace')}")


def run(name, command, around):
    done = subprocess.run(command, env=around, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        sys.exit(f"{name} failed ({done.returncode}):\n{done.stdout}\n{done.stderr}")
    print(f"{name}: fine")


def main():
    review, python = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    tests = HERE / "lsp/test_client.py"
    names = [line.split("(")[0].removeprefix("async def ") for line in tests.read_text().splitlines() if line.startswith("async def test_")]
    version = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    clients = {name: [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function", f"{tests}::{name}"] for name in names}
    clients[version] = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {HERE / 'lsp/neovim.lua'}"]
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place).resolve()
        record = place / "record.jsonl"
        for number, (name, command) in enumerate(clients.items()):
            folder, model = place / str(number), Model()
            model.held = True
            folder.mkdir()
            around = stage(folder, review, model)
            server = [sys.executable, str(HERE / "tee.py"), "--framed", str(record), name, review, "lsp", "--model", "openai-chat/scripted"]
            run(name, command, around | {"LSP_COMMAND": json.dumps(server), "LSP_FOLDER": str(folder / "shop"), "TERM": "dumb"})
        done = subprocess.run([python, str(HERE / "lsp/check.py"), str(record)], env=dict(os.environ))
        sys.exit(done.returncode)


main()
