"""Runs real tools on real projects through `review build`, and lets them check changes with `review --check auto`.

usage: builds.py PATH-TO-REVIEW FOLDER-OF-PYTHON-TOOLS NODE-MODULES

- Projects that do not build, or whose tests fail, in Rust, TypeScript, Python, Go and C: every planted error comes out with its file and line,
  nothing else does, and the sizes of answer and log are printed.
- Changes in TypeScript, Python, Rust and Ruby, without a model: exactly what was planted on changed lines is found, and nothing that was there
  before. A commit that is not checked out is checked on a copy.
- A model that is allowed to run the tests of a Rust project proves a finding with the one that fails, in the checkout and in a copy; the same
  model without `--allow-build` is not offered anything to run.

A check that cannot fail proves nothing: each expectation is then held against one that was spoiled. Ends with 1 and what was wrong.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import chat_model

REVIEW = pathlib.Path(sys.argv[1]).resolve()
PYTHON = pathlib.Path(sys.argv[2]).resolve()
MODULES = pathlib.Path(sys.argv[3]).resolve()

GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
CARGO = '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2024"\n'
TSCONFIG = '{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "types": []}, "include": ["src"]}\n'
ESLINT = 'export default [{ files: ["**/*.js"], rules: { "no-unused-vars": "error", "no-undef": "error" } }];\n'


class Wrong(Exception):
    """A result is not as it has to be."""


class Project:
    """A repository with the programs that its project uses."""

    def __init__(self, home, name, files):
        self.home, self.root = home, home / name
        self.root.mkdir()
        self.environment = {
            **os.environ,
            **GIT,
            "PATH": f"{PYTHON}:{MODULES / '.bin'}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "GOCACHE": str(home / "gocache"),
            "GOFLAGS": "-mod=mod",
        }
        self.write(files)
        self.git("init", "-q", "-b", "main")
        self.commit("begin")

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.root, env=self.environment, check=True)

    def commit(self, subject):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def review(self, *words):
        ran = subprocess.run([REVIEW, *words], cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=600)
        try:
            return ran.returncode, json.loads(ran.stdout), ran.stderr
        except json.JSONDecodeError:
            raise Wrong(f"{words} ended with {ran.returncode}: {ran.stdout}{ran.stderr}") from None


def places(diagnostics):
    return sorted(f"{one.get('file')}:{one.get('line')}" for one in diagnostics or [])


BROKEN = {
    "rust": (
        {
            "Cargo.toml": CARGO,
            ".gitignore": "target\n",
            "src/lib.rs": "pub mod shapes;\n\npub fn add(a: u8, b: u8) -> u8 {\n    a + \"b\".len()\n}\n",
            "src/shapes.rs": "pub struct Square;\n\nimpl Square {\n    pub fn side(&self) -> u8 {\n        self.length\n    }\n}\n",
        },
        "cargo.build",
        ["src/lib.rs:4", "src/lib.rs:4", "src/shapes.rs:5"],
    ),
    "typescript": (
        {
            "package.json": "{}\n",
            "tsconfig.json": TSCONFIG,
            "src/a.ts": "export function half(n: number): number {\n  return n / 2;\n}\n\nhalf(\"four\");\n",
            "src/b.ts": "import { half } from \"./a\";\n\nexport const text: string = half(3);\nexport const gone = missing;\n",
        },
        "tsc",
        ["src/a.ts:5", "src/b.ts:3", "src/b.ts:4"],
    ),
    "python": (
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "test_sums.py": "".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1 if n % 40 else 0}\n\n\n" for n in range(1, 121)),
        },
        "pytest",
        [f"test_sums.py:{(n - 1) * 4 + 2}" for n in (120, 40, 80)],
    ),
    "go": (
        {
            "go.mod": "module example.com/p\n\ngo 1.21\n",
            "main.go": "package main\n\nimport \"example.com/p/calc\"\n\nfunc main() {\n\tcalc.Add(1, \"2\")\n}\n",
            "calc/calc.go": "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n",
        },
        "go.build",
        ["main.go:6"],
    ),
    "c": (
        {
            "Makefile": "all: a.o b.o\n\n%.o: %.c\n\tcc -Wall -c $<\n",
            "a.c": "int main(void) {\n    return missing;\n}\n",
            "b.c": "int twice(int n) {\n    return n * 2\n}\n",
        },
        "make",
        ["a.c:2", "b.c:2"],
    ),
}


def broken(home, name, spoil):
    files, tool, expected = BROKEN[name]
    project = Project(home, f"broken-{name}", files)
    words = ["-k"] if tool == "make" else []
    code, answer, said = project.review("build", tool, "--json", "--quiet", *(["--", *words] if words else []))
    # make's own lines say that a rule failed; they stand beside what the compiler says.
    found = [one for one in answer.get("errors", []) if one.get("file") != "Makefile"]
    found = places(one for one in found if not one["message"].startswith("make"))
    expected = sorted(expected) + (["spoiled:1"] if spoil else [])
    if code != 1 or answer["success"] or found != expected:
        raise Wrong(f"{tool} ended with {code} and found {found}, not {expected}: {answer} {said}")
    log = (home / "state/review/builds" / answer["runId"] / "raw.log").stat().st_size
    size = len(json.dumps(answer, separators=(",", ":")))
    return f"{tool}: {len(found)} errors, an answer of {size} bytes for a log of {log} ({size / log:.1%})"


def typescript(home):
    files = {
        "package.json": "{}\n",
        "tsconfig.json": TSCONFIG,
        "eslint.config.mjs": ESLINT,
        "src/a.ts": "export const old: string = 1;\n\nexport function half(n: number): number {\n  return n / 2;\n}\n",
        "src/c.js": "function old() { const unused = 1; }\nold();\n",
    }
    now = {
        "src/a.ts": files["src/a.ts"].replace("return n / 2;", "return `${n}`;"),
        "src/c.js": files["src/c.js"] + "function next() { return missing; }\nnext();\n",
    }
    return files, now, ["eslint.lint/no-undef src/c.js:3", "tsc/TS2322 src/a.ts:4"]


def python(home):
    files = {
        "ruff.toml": "",
        "mypy.ini": "[mypy]\n",
        "src/a.py": "import os\n\n\ndef half(n: int) -> int:\n    return n // 2\n",
    }
    now = {"src/a.py": files["src/a.py"] + "\n\ndef twice(n: int) -> int:\n    size = str(n)\n    return n + 'x'\n"}
    return files, now, ["mypy/operator src/a.py:10", "ruff/F841 src/a.py:9"]


def rust(home):
    files = {
        "Cargo.toml": CARGO,
        ".gitignore": "target\nCargo.lock\n",
        "src/lib.rs": "pub fn old(n: &Vec<u8>) -> bool {\n    n.len() == 0\n}\n",
    }
    now = {"src/lib.rs": files["src/lib.rs"] + "\npub fn next(n: u8) -> u8 {\n    return n;\n}\n\npub fn wrong() -> u8 {\n    \"a\"\n}\n"}
    return files, now, ["cargo.clippy/E0308 src/lib.rs:10"]


def ruby(home):
    files = {
        ".rubocop.yml": "AllCops:\n  NewCops: disable\n  DisabledByDefault: true\nLint:\n  Enabled: true\n",
        "a.rb": "def old\n  unused = 1\nend\n",
    }
    now = {"a.rb": files["a.rb"] + "\ndef fresh(n)\n  other = n\n  n == n\nend\n"}
    return files, now, ["rubocop/Lint/BinaryOperatorWithIdenticalOperands a.rb:7", "rubocop/Lint/UselessAssignment a.rb:6"]


def checked(home, make, spoil):
    name = make.__name__
    files, now, expected = make(home)
    project = Project(home, f"checked-{name}", files)
    project.git("checkout", "-q", "-b", "topic")
    project.write(now)
    project.commit("change")
    expected = sorted(expected) + (["spoiled"] if spoil else [])

    def found(*words):
        code, review, said = project.review("--target", "main", "--no-model", "--previous", "none", "--format", "json", *words)
        told = [one for one in review["findings"] if one["origin"]["kind"] == "build"]
        told = sorted(f"{one['origin']['name']} {one['anchors'][0]['path']}:{one['anchors'][0]['start_line']}" for one in told)
        if told != expected:
            raise Wrong(f"{name} {words}: found {told}, not {expected}; {review['coverage']['notes']} {said}")

    found("--check", "auto")
    project.git("checkout", "-q", "main")
    found("--head", "topic", "--check", "auto")
    return f"{name}: {len(expected)} planted, all found in the checkout and in a copy, nothing else"


def answer(handler, data):
    """Runs the tests, reports with the run that it was told, and finishes; without the tool it only reports."""
    request = json.loads(data)
    offered = {tool["function"]["name"] for tool in request["tools"]}
    told = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    turns = [("build", {"action": "exec", "tool": "cargo.test", "args": ["halves"]})] if "build" in offered else []
    run = told[0].split(", run ")[1].split(":")[0] if turns and told and ", run " in told[0] else None
    report = {
        "title": "Odd numbers are halved wrongly", "body": "Half of 3 is 1 here.", "severity": "high", "category": "logic",
        "file_path": "src/lib.rs", "quote": "    n / 2 - n % 2", **({"build_run": run} if run else {}),
    }
    turns += [("report_finding", report), ("finish_review", {"summary": "One."})]
    message = chat_model.called(len(told), *turns[min(len(told), len(turns) - 1)])
    chat_model.send(handler, *chat_model.turn(request, message))


def proved(home, _, spoil):
    """A model proves a finding with a failing test."""
    library = "pub fn half(n: u32) -> u32 {\n    n / 2\n}\n\n#[test]\nfn halves() {\n    assert_eq!(half(3), 1);\n}\n"
    project = Project(home, "proved", {"Cargo.toml": CARGO, ".gitignore": "target\nCargo.lock\n", "src/lib.rs": library})
    project.git("checkout", "-q", "-b", "topic")
    project.write({"src/lib.rs": library.replace("n / 2", "n / 2 - n % 2")})
    project.commit("change")
    server = chat_model.Server(answer)
    project.environment |= {"OPENAI_CHAT_BASE_URL": "", "REVIEW_OPENAI_CHAT_BASE_URL": f"{server.url}/v1", "REVIEW_OPENAI_CHAT_API_KEY": "k"}

    def body(*words):
        _, review, said = project.review("--target", "main", "--model", "openai-chat/m", "--verify", "none", "--previous", "none", "--format", "json", *words)
        if len(review["findings"]) != 1:
            raise Wrong(f"{words}: {review['findings']} {review['coverage']} {said}")
        return review["findings"][0]["body"]

    failing = "spoiled" if spoil else "src/lib.rs:7:5: error: halves: assertion"
    for where in ((), ("--head", "topic")):
        told = body("--allow-build=cargo.test", *where)
        if "`cargo.test` failed here" not in told or failing not in told:
            raise Wrong(f"{where}: the failing test is not shown: {told}")
        project.git("checkout", "-q", "main")
    project.git("checkout", "-q", "topic")
    if "cargo.test" in body():
        raise Wrong("a model that was allowed nothing ran something")
    server.shutdown()
    return "a model proves a finding with the test that fails, in the checkout and in a copy, and only where it may"


def main():
    wrong = []
    steps = [(broken, name) for name in BROKEN] + [(checked, make) for make in (typescript, python, rust, ruby)] + [(proved, "proved")]
    for step, what in steps:
        for spoil in (False, True):
            with tempfile.TemporaryDirectory(prefix="builds-") as folder:
                try:
                    said = step(pathlib.Path(folder).resolve(), what, spoil)
                    if spoil:
                        wrong.append(f"{what}: a spoiled expectation holds")
                    else:
                        print(said)
                except Wrong as error:
                    if not spoil:
                        wrong.append(str(error))
    for one in wrong:
        print(f"wrong: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
