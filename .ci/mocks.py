"""Whole reviews by models that others made up: aimock (npm), the proxy of LiteLLM, and llama-cpp-python with a model of our own making (PyPI).

usage: mocks.py PATH-TO-REVIEW NODE_MODULES PATH-TO-LITELLM PYTHON-WITH-LLAMA

None of these shares code with this repository or with its scripted server. In a small repository with a defect, and on every way to a server:

- aimock, in the language of each provider, which looks at the key, too;
- LiteLLM's proxy in front of aimock, in three languages: it translates each of them into chat completions and back;
- llama.cpp's server with a language model whose weights make it say the same review, in text, for it can call no tools: see `tiny_model.py`;

the model reads a file, reports the defect and ends. The review must be complete, hold that finding at its line, and say who made it; nothing
that is printed may hold the key. `review doctor` is run against each as well.

Ends with 1 and what was wrong, else with what was done.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
KEY = "key-of-nobody-2f6b1c"
# How long a server may take until it answers.
STARTS = 600

BEFORE = '''"""What things cost."""


def discount(amount, percent):
    """What is taken off an amount."""
    if percent < 0 or percent > 100:
        raise ValueError("percent must be between 0 and 100")
    return amount * percent / 100
'''
AFTER = BEFORE.replace('''    if percent < 0 or percent > 100:
        raise ValueError("percent must be between 0 and 100")
''', "").replace("/ 100", "/ 10")
TITLE = "A discount is ten times too large"
FINDING = {
    "title": TITLE,
    "body": "`percent` counts hundredths, as the callers pass it: a discount of 20 takes off twice the amount. Divide by 100.",
    "severity": "high",
    "category": "logic",
    "file_path": "cart.py",
    "quote": "    return amount * percent / 10",
    "confidence": 9,
}
# What the model does, turn by turn.
TURNS = [
    [("read_file_part", {"file_path": "cart.py"})],
    [("report_finding", FINDING)],
    [("finish_review", {"summary": "The guard is gone and the discount is wrong."})],
]
COUNT = " ".join(map(str, range(1, 61)))
TWO = "Call two tools in one answer"


def fail(why):
    sys.exit(f"failed: {why}")


def environment(home, **more):
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "SSL_CERT_FILE") if name in os.environ}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))}
    return kept | who | {"HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "REVIEW_VERIFY": "none"} | more


def repository(folder):
    folder.mkdir()

    def git(*words):
        done = subprocess.run(["git", *words], cwd=folder, env=environment(folder.parent), capture_output=True, text=True)
        if done.returncode:
            fail(f"git {words}: {done.stderr}")

    git("init", "-q", "-b", "main")
    for branch, text in (("main", BEFORE), ("feature", AFTER)):
        if branch != "main":
            git("switch", "-qc", branch)
        (folder / "cart.py").write_text(text)
        git("add", "-A")
        git("commit", "-qm", f"What {branch} says")
    return folder


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def server(name, words, ready, home, **more):
    """A server of somebody else's, from when it answers at the address `ready`."""
    log = home / f"{name}.log"
    with log.open("w") as out:
        running = subprocess.Popen(words, cwd=home, env=environment(home, **more), stdout=out, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + STARTS
        while time.monotonic() < end:
            if running.poll() is not None:
                fail(f"{name} ended with {running.returncode}:\n{log.read_text()[-4000:]}")
            try:
                with urllib.request.urlopen(ready, timeout=5):
                    break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.2)
        else:
            fail(f"{name} does not answer at {ready}:\n{log.read_text()[-4000:]}")
        yield
    except SystemExit:
        print(f"{name} said:\n{log.read_text()[-4000:]}", file=sys.stderr)
        raise
    finally:
        running.terminate()
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()


class Reviewer:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.reviews = binary, folder, 0

    def run(self, *words, **more):
        """What the program prints, and its exit code."""
        with tempfile.TemporaryDirectory() as home:
            words = [self.binary, *words]
            done = subprocess.run(words, cwd=self.folder, env=environment(home, **more), capture_output=True, text=True, timeout=600)
        if KEY in done.stdout + done.stderr:
            fail(f"{words} shows the key")
        return done

    def review(self, what, model, turns, **more):
        """A whole review, which must be complete."""
        done = self.run("--target", "main", "--model", model, "--format", "json", **more)
        if done.returncode:
            fail(f"{what}: exit {done.returncode}: {done.stderr[-2000:]}\n{done.stdout[-3000:]}")
        review = json.loads(done.stdout)
        found = [(one["title"], one["anchors"][0]["start_line"]) for one in review["findings"] if one["origin"]["kind"] == "model"]
        provenance = review["provenance"]
        got = (review["outcome"], found, f"{provenance['provider']}/{provenance['model']}", provenance["turns"])
        if got != ("complete", [(TITLE, 6)], model, turns):
            fail(f"{what}: {got}: {review['reasons']}")
        self.reviews += 1
        print(f"{what}: complete in {turns} turns, {provenance['usage']['input_tokens'] or 'unknown'} tokens sent")

    def doctor(self, what, model, **states):
        """What `review doctor` says of the model's answers."""
        more = {name: value for name, value in states.items() if name.isupper()}
        done = self.run("doctor", "--target", "main", "--model", model, "--format", "json", **more)
        told = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
        wanted = {name: value for name, value in states.items() if not name.isupper()}
        for name, state in wanted.items():
            if name not in told or told[name]["state"] != state:
                fail(f"{what}: doctor says of {name}: {told.get(name)}, and ends with {done.returncode}")
        if done.returncode:
            fail(f"{what}: doctor ends with {done.returncode}: {done.stdout}")
        print(f"{what}: doctor finds {', '.join(f'{name} {state}' for name, state in wanted.items())}")


def fixtures(folder):
    """The review, and the answers to what `review doctor` asks, as aimock wants them."""
    def calls(*all_of_them):
        return {"toolCalls": [{"name": name, "arguments": json.dumps(given)} for name, given in all_of_them]}

    both = [("colour_of", {"thing": "box"}), ("sum_of", {"first": 20, "second": 22})]
    doctor = [
        ({"userMessage": "Count from 1 to 60"}, {"content": COUNT}),
        ({"userMessage": "Call the tool `note_number`"}, calls(("note_number", {"number": 7}))),
        ({"userMessage": TWO, "turnIndex": 0}, calls(*both)),
        # The result of the call must have come through to be said.
        ({"userMessage": TWO, "turnIndex": 1, "toolResultContains": "42"}, {"content": "It is violet-5138, and 42."}),
    ]
    review = [({"userMessage": "cart.py", "turnIndex": number}, calls(*turn)) for number, turn in enumerate(TURNS)]
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": [{"match": match, "response": response} for match, response in [*doctor, *review]]}))
    return file


NATIVE = {"streaming": "fine", "forced_call": "fine", "two_tools": "fine"}


def by_aimock(reviewer, modules, home):
    port = free_port()
    program = modules / "@copilotkit/aimock/dist/cli.js"
    words = ["node", str(program), "--port", str(port), "--fixtures", str(fixtures(home)), "--strict", "--validate-on-load"]
    base = f"http://127.0.0.1:{port}"
    with server("aimock", words, f"{base}/__aimock/health", home, AIMOCK_API_KEYS=KEY):
        for model, more in {
            "anthropic/claude-made-up": {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": base},
            "openai/gpt-made-up": {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{base}/v1"},
            "openai-chat/made-up": {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{base}/v1"},
            "gemini/gemini-made-up": {"GEMINI_API_KEY": KEY, "GEMINI_BASE_URL": base},
            "ollama/made-up": {"OLLAMA_API_KEY": KEY, "OLLAMA_HOST": base},
            "azure/made-up": {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_BASE_URL": f"{base}/v1"},
            "azure-chat/made-up": {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_BASE_URL": f"{base}/v1"},
            "openrouter/made-up": {"OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": f"{base}/v1"},
            "mistral/made-up": {"MISTRAL_API_KEY": KEY, "MISTRAL_BASE_URL": f"{base}/v1"},
            "groq/made-up": {"GROQ_API_KEY": KEY, "GROQ_BASE_URL": f"{base}/v1"},
            "deepseek/made-up": {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": f"{base}/v1"},
            "xai/made-up": {"XAI_API_KEY": KEY, "XAI_BASE_URL": f"{base}/v1"},
            "bedrock/made-up": {"AWS_BEARER_TOKEN_BEDROCK": KEY, "BEDROCK_BASE_URL": f"{base}/v1"},
            "vertex/made-up": {"VERTEX_API_KEY": KEY, "VERTEX_BASE_URL": f"{base}/v1"},
            "vllm/made-up": {"VLLM_API_KEY": KEY, "VLLM_BASE_URL": f"{base}/v1"},
            "lm-studio/made-up": {"LMSTUDIO_API_KEY": KEY, "LMSTUDIO_BASE_URL": f"{base}/v1"},
        }.items():
            reviewer.review(f"aimock as {model}", model, len(TURNS), **more)
            reviewer.doctor(f"aimock as {model}", model, **NATIVE, **more)
        wrong = {"OPENAI_API_KEY": "another", "OPENAI_BASE_URL": f"{base}/v1"}
        done = reviewer.run("--target", "main", "--model", "openai-chat/made-up", **wrong)
        if done.returncode != 4:
            fail(f"aimock does not look at the key: exit {done.returncode}: {done.stderr}")


def by_litellm(reviewer, modules, litellm, home):
    upstream, port = free_port(), free_port()
    program = modules / "@copilotkit/aimock/dist/cli.js"
    words = ["node", str(program), "--port", str(upstream), "--fixtures", str(fixtures(home)), "--strict"]
    config = {
        "model_list": [{
            "model_name": "made-up",
            "litellm_params": {"model": "openai/made-up", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "upstream-2f6b1c"},
        }],
        "general_settings": {"master_key": f"sk-{KEY}"},
        "litellm_settings": {"telemetry": False, "drop_params": True},
    }
    (home / "litellm.json").write_text(json.dumps(config))
    base = f"http://127.0.0.1:{port}"
    alone = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "DISABLE_ADMIN_UI": "True"}
    proxy = [str(litellm), "--config", str(home / "litellm.json"), "--host", "127.0.0.1", "--port", str(port)]
    with (
        server("upstream", words, f"http://127.0.0.1:{upstream}/__aimock/health", home, AIMOCK_API_KEYS="upstream-2f6b1c"),
        server("litellm", proxy, f"{base}/health/liveliness", home, **alone),
    ):
        key = f"sk-{KEY}"
        for model, more in {
            "litellm/made-up": {"LITELLM_PROXY_API_KEY": key, "LITELLM_PROXY_API_BASE": base},
            "openai/made-up": {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{base}/v1"},
            "anthropic/made-up": {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": base},
        }.items():
            reviewer.review(f"LiteLLM's proxy as {model}", model, len(TURNS), **more)
            reviewer.doctor(f"LiteLLM's proxy as {model}", model, **NATIVE, **more)


def in_text(calls):
    """Calls as the text protocol writes them."""
    def field(name, value):
        return f"@@{name}:\n{value}" if "\n" in str(value) or str(value).startswith(" ") else f"@@{name}: {value}"

    return "\n\n".join("\n".join([f"@@call {name}", *(field(*one) for one in given.items()), "@@end"]) for name, given in calls)


def by_llama(reviewer, python, home):
    both = [("colour_of", {"thing": "box"}), ("sum_of", {"first": 20, "second": 22})]
    script = [
        {"about": "Count from 1 to 60", "says": [COUNT]},
        {"about": "Call the tool `note_number`", "says": ["I have noted it."]},
        {"about": "Write the calls of two tools", "says": [in_text(both), "It is violet-5138, and 42."]},
        {"about": "cart.py", "says": [in_text(turn) for turn in TURNS]},
    ]
    (home / "script.json").write_text(json.dumps(script))
    made = subprocess.run([python, HERE / "tiny_model.py", home / "tiny.gguf", home / "script.json"], capture_output=True, text=True)
    if made.returncode:
        fail(f"the model cannot be made: {made.stderr}")
    port = free_port()
    words = [str(python), "-m", "llama_cpp.server", "--model", str(home / "tiny.gguf"), "--n_ctx", "65536", "--host", "127.0.0.1"]
    base = f"http://127.0.0.1:{port}/v1"
    with server("llama.cpp", [*words, "--port", str(port), "--api_key", KEY], f"{base}/models", home):
        rows = home / "providers.toml"
        rows.write_text('[[provider]]\nname = "llama-cpp"\n[[provider.model]]\nname = "tiny"\ntools = false\ncontext_window = 60_000\n')
        more = {"LLAMA_API_KEY": KEY, "LLAMA_CPP_BASE_URL": base, "REVIEW_PROVIDERS": str(rows)}
        model = "llama-cpp/tiny"
        reviewer.review("llama.cpp's server", model, len(TURNS), **more)
        reviewer.doctor("llama.cpp's server", model, streaming="fine", text_protocol="fine", **more)


def main():
    binary, modules, litellm, llama = (pathlib.Path(os.path.abspath(word)) for word in sys.argv[1:5])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        reviewer = Reviewer(str(binary), repository(folder / "shop"))
        by_aimock(reviewer, modules, folder)
        by_litellm(reviewer, modules, litellm, folder)
        by_llama(reviewer, llama, folder)
    print(f"{reviewer.reviews} reviews by servers of others are complete")


if __name__ == "__main__":
    main()
