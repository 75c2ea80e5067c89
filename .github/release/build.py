#!/usr/bin/env python3
"""Builds the published program for Linux, with a profile of its own work. Usage: build.py TARGET [OUT]

The program is built twice. The first one counts what it runs; it reviews a change to this repository, made here, by the rules and with a model
that responds at once. The second is optimized by the counts: what ran is inlined and lies together, so that a review reads less of the file
into memory. Needs `musl-gcc`, and of the toolchain `llvm-tools`. OUT is the folder of both builds, `target` if it is missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "benches/scale"))
from measure import Model  # noqa: E402

SOURCES = {".c", ".cpp", ".go", ".h", ".java", ".js", ".json", ".jsx", ".md", ".py", ".rs", ".sh", ".toml", ".ts", ".tsx", ".yml"}
# Of the Rust files that are no fixtures every fourth is changed, so that the other languages count as well.
RUST_PART = 4
# In this many lines one is deleted and one is doubled.
SPACING = 41


def run(*words, **more):
    """What a program prints; it must succeed."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, **more).stdout


def altered(text, number):
    """The text with a few lines deleted and a few doubled."""
    lines = []
    for at, line in enumerate(text.splitlines(keepends=True), number):
        lines += {7: [], 20: [line, line]}.get(at % SPACING, [line])
    return "".join(lines)


def make_change(repository):
    """A repository with two commits: the sources of this one, and the change."""
    git = lambda *words: run("git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.org", *words)
    run("git", "init", "-q", "-b", "main", str(repository))
    names = run("git", "-C", str(TOP), "ls-files", "-z").decode().split("\0")
    paths = [name for name in names if pathlib.Path(name).suffix in SOURCES and not (TOP / name).is_symlink()]
    own_rust = [name for name in paths if name.endswith(".rs") and not name.startswith("fixtures/")]
    unchanged = set(own_rust) - set(own_rust[::RUST_PART])
    for is_change in (False, True):
        for number, name in enumerate(paths):
            text = (TOP / name).read_bytes().decode(errors="replace")
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_text(altered(text, number) if is_change and name not in unchanged else text)
        git("add", "--all", "--force")
        git("commit", "-qm", "Change the sources" if is_change else "Add the sources")
    # Objects are read out of packs, as in any clone.
    git("repack", "-adq")


def train(program, counts):
    """Runs the program on the change; what it counts goes to files in `counts`."""
    model = Model()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        make_change(scratch / "repository")
        settings = scratch / "config/review/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("[openai-chat]\ncontext_window = 200000\n")
        env = {
            "PATH": os.environ["PATH"], "HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch / "config"), "XDG_STATE_HOME": str(scratch / "state"),
            "OPENAI_BASE_URL": f"http://127.0.0.1:{model.server_address[1]}/v1", "OPENAI_API_KEY": "none",
            "LLVM_PROFILE_FILE": f"{counts}/run-%p.profraw",
        }
        change = ["--range", "main~1..main", "--quiet"]
        with_model = [*change, "--model", "openai-chat/instant", "--verify", "none", "--max-tokens", "100000000"]
        for words in [["--version"], ["--help"], [*change, "--no-model"], [*with_model, "--preview"], with_model]:
            ran = subprocess.run([program, *words], cwd=scratch / "repository", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            # 1: there are findings. 3: not all of it was reviewed, since the model ends at once.
            if ran.returncode not in (0, 1, 3):
                sys.exit(f"{words}: exit code {ran.returncode}: {ran.stderr[-2000:]}")
    if model.requests == 0:
        sys.exit("error: the program asked the model nothing")


def main(target, out="target"):
    out = pathlib.Path(out).resolve()
    host = run("rustc", "-vV", text=True).split("host: ")[1].split("\n")[0]
    tools = pathlib.Path(run("rustc", "--print", "sysroot", text=True).strip(), "lib/rustlib", host, "bin")
    env = {**os.environ, "TARGET_CC": str(pathlib.Path(__file__).with_name("cc.py")), "CARGO_INCREMENTAL": "0"}
    counts = out / "profile-counts"
    shutil.rmtree(counts, ignore_errors=True)

    def build(folder, flags):
        words = ["cargo", "build", "--locked", "--profile", "dist", "--bin", "review", "--target", target]
        subprocess.run(words, cwd=TOP, env={**env, "CARGO_TARGET_DIR": str(folder), "RUSTFLAGS": flags}, check=True)
        return folder / target / "dist/review"

    train(build(out / "profile", f"-Cprofile-generate={counts}"), counts)
    # Not those of the parsers that it starts: they are killed when they are not needed any more, and while they write.
    run(str(tools / "llvm-profdata"), "merge", "-o", str(counts / "all.profdata"), *map(str, counts.glob("run-*.profraw")))
    build(out, f"-Cprofile-use={counts}/all.profdata")


if __name__ == "__main__":
    main(*sys.argv[1:])
