"""The files of docs/deploy: against their schemas, and their commands run on a real PostgreSQL server, without containers.

usage: deploy.py PATH-TO-REVIEW FOLDER-WITH-CHECK-JSONSCHEMA

The compose file is checked by the schema of its specification, which check-jsonschema carries, the manifests by the schemas of Kubernetes, the
strict ones of the newest version and of an older one. Every command line in them is parsed by the program. Then the commands of the compose
file run as they stand there, with addresses and folders of this machine: jobs are added, a worker reviews them with a model of our own, the
server takes a delivery, the database goes away and comes back, and both are ended. What the worker says of itself is read by Prometheus' own
parser.
"""

import copy
import hashlib
import hmac
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import kubernetes_validate
import ruamel.yaml
from prometheus_client.parser import text_string_to_metric_families

import workers
from workers import call, environment, fail

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPOSE, MANIFESTS = TOP / "docs/deploy/compose.yaml", TOP / "docs/deploy/kubernetes.yaml"
VERSIONS = ("1.30", kubernetes_validate.latest_version())
BRANCHES = 3
SECRET = "a-secret-of-the-webhook"
# For how long the programs may take to say that the database is away, or back.
PATIENCE = 120
# What the schemas must refuse.
SPOILED = [
    (COMPOSE, "healthcheck:", "healthchek:"),
    (COMPOSE, "restart: unless-stopped", "restart: [always]"),
    (MANIFESTS, "terminationGracePeriodSeconds: 150", "terminationGracePeriod: 150"),
    (MANIFESTS, "secretKeyRef:", "secretRef:"),
    (MANIFESTS, "port: metrics}", "port: [metrics]}"),
    (MANIFESTS, "kind: CronJob", "kind: CronJobs"),
]
# What must be among the numbers of a worker that has reviewed.
FAMILIES = {
    "review_reviews": "counter",
    "review_findings": "counter",
    "review_tokens": "counter",
    "review_cost_dollars": "counter",
    "review_dead": "counter",
    "review_retries": "counter",
    "review_queue_errors": "counter",
    "review_queue_jobs": "gauge",
    "review_queue_oldest_seconds": "gauge",
    "review_jobs_running": "gauge",
    "review_seconds": "histogram",
}


def parsed(text):
    return list(ruamel.yaml.YAML(typ="safe").load_all(text))


def compose_is_sound(text, tools):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "compose.yaml")
        path.write_text(text)
        ran = subprocess.run([f"{tools}/check-jsonschema", "--builtin-schema", "vendor.compose-spec", path], capture_output=True, text=True, timeout=300)
    return None if ran.returncode == 0 else ran.stdout


def manifests_are_sound(text, _tools):
    for document in parsed(text):
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
                return error.message
    return None


def check_schemas(tools):
    checks = {COMPOSE: compose_is_sound, MANIFESTS: manifests_are_sound}
    for path, check in checks.items():
        if wrong := check(path.read_text(), tools):
            fail(f"{path.name}: {wrong}")
    for path, old, new in SPOILED:
        text = path.read_text()
        if old not in text or not checks[path](text.replace(old, new, 1), tools):
            fail(f"{path.name} may say {new!r} for {old!r}")


def containers(value):
    """Every container of a manifest."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("containers", "initContainers"):
                yield from inner
            yield from containers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from containers(inner)


def check_commands(review, services):
    """The program parses every command line, and both files have the same worker."""
    ours = [each for document in parsed(MANIFESTS.read_text()) for each in containers(document) if "command" not in each]
    lines = [each["args"] for each in ours] + [services[name]["command"] for name in ("worker", "serve", "add")]
    lines = [[word.replace("${REPOSITORY:?OWNER/NAME}", "octo/demo") for word in line] for line in lines]
    for line in lines:
        done = subprocess.run([review, *line, "--help"], capture_output=True, text=True, timeout=60)
        if done.returncode:
            fail(f"review {' '.join(line)}: {done.stderr}")
    if {line[0]: line for line in lines if line[0] == "worker"}["worker"] != lines[0]:
        fail("the two files start their workers in different ways")
    return len(lines)


def variables(service, **values):
    """The environment of a service, as compose would fill it in."""
    fill = lambda text: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: values[found[1]], text)
    return {name: fill(value) for name, value in service["environment"].items()}


class Program:
    """A command of the compose file as a process. Its address is the one that it says, because the port is the system's choice."""

    def __init__(self, review, words, env, cwd, log):
        self.log = log
        self.process = subprocess.Popen([review, *words], env=env, cwd=cwd, stdout=subprocess.DEVNULL, stderr=log.open("w"))
        self.address = self.wait_for(lambda: re.search(r"http://[\d.:]+", log.read_text()), "it says no address")[0]

    def wait_for(self, what, why):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                fail(f"it ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")
            if found := what():
                return found
            time.sleep(0.2)
        return fail(f"{why}: {self.log.read_text()[-2000:]}")

    def ask(self, path, body=None, headers=None):
        request = urllib.request.Request(self.address + path, data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def is_healthy(self, code):
        self.wait_for(lambda: self.ask("/healthz")[0] == code, f"/healthz does not say {code}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if code := self.process.wait(PATIENCE):
            fail(f"it ended with {code} after SIGTERM: {self.log.read_text()[-2000:]}")


def read_numbers(text):
    """The samples by name and labels. Prometheus' parser knows no sums: that a histogram is one is checked here."""
    families = {family.name: family for family in text_string_to_metric_families(text)}
    wrong = {name: kind for name, kind in FAMILIES.items() if name not in families or families[name].type != kind}
    if wrong:
        fail(f"the numbers of a worker lack {wrong}: {text}")
    if undocumented := [name for name, family in families.items() if not family.documentation]:
        fail(f"the numbers {undocumented} have no help")
    samples = {}
    for sample in (sample for family in families.values() for sample in family.samples):
        key = (sample.name, *sorted(sample.labels.items()))
        if key in samples or sample.value < 0:
            fail(f"{key} is there twice, or below zero: {text}")
        samples[key] = sample.value
    buckets = [(float(sample.labels["le"]), sample.value) for sample in families["review_seconds"].samples if sample.name.endswith("_bucket")]
    counts = [count for _, count in buckets]
    if buckets != sorted(buckets) or counts != sorted(counts) or buckets[-1] != (float("inf"), samples["review_seconds_count",]):
        fail(f"the buckets of the histogram are not cumulative: {buckets}")
    return samples


def delivery(body, secret):
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"content-type": "application/json", "x-github-event": "ping", "x-github-delivery": signature[-36:], "x-hub-signature-256": signature}


def run_commands(review, services, folder, server):
    model = workers.Model()
    workers.repository(folder / "made", BRANCHES)
    subprocess.run(["git", "clone", "-q", "--mirror", folder / "made", folder / "git/demo.git"], check=True, env=environment(folder))
    password = server.address.split(":")[2].split("@")[0]
    values = {"DATABASE_PASSWORD": password, "ANTHROPIC_API_KEY": "none", "GITHUB_TOKEN": "none", "REVIEW_WEBHOOK_SECRET": SECRET}
    own = {"REVIEW_MODEL": "openai-chat/made-up", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.base}

    def env(name):
        filled = variables(services[name], **values)
        return environment(folder, **{name: text.replace("@database/", f"@127.0.0.1:{server.port}/") for name, text in filled.items()}, **own)

    def words(name):
        swaps = {"/srv/git": str(folder / "git"), "0.0.0.0:9464": "127.0.0.1:0", "0.0.0.0:8787": "127.0.0.1:0", "${REPOSITORY:?OWNER/NAME}": "octo/demo"}
        return [swaps.get(word, word) for word in services[name]["command"]]

    status = lambda: json.loads(call(review, env("add"), folder / "git", "queue", "status", "--format", "json"))["status"]["jobs"]
    call(review, env("add"), folder / "git", *words("add"))
    worker = Program(review, words("worker"), env("worker"), folder, folder / "worker.log")
    worker.is_healthy(200)
    # The target itself is a job without a review.
    worker.wait_for(lambda: status() == {"done": BRANCHES + 1}, "the jobs are not done")
    samples = read_numbers(worker.ask("/metrics")[1])
    expected = {
        ("review_reviews_total", ("outcome", "complete"), ("source", "reviewed")): BRANCHES,
        ("review_tokens_total", ("direction", "sent")): BRANCHES * workers.TURNS * 1000,
        ("review_queue_jobs", ("state", "done")): BRANCHES + 1,
        ("review_seconds_count",): BRANCHES,
        ("review_jobs_running",): 0,
    }
    if wrong := {key: samples.get(key) for key, value in expected.items() if samples.get(key) != value}:
        fail(f"the numbers of the worker are wrong: {wrong}, not {expected}")

    serve = Program(review, words("serve"), env("serve"), folder, folder / "serve.log")
    serve.is_healthy(200)
    ping = b'{"zen":"Design for failure."}'
    answers = [serve.ask("/webhook", ping, delivery(ping, secret))[0] for secret in (SECRET, SECRET[::-1])]
    if answers != [200, 401]:
        fail(f"the deliveries were answered with {answers}")
    # Both wait for the database: none ends, and each says so.
    server.control("stop")
    worker.is_healthy(503)
    serve.is_healthy(503)
    server.control("start")
    worker.is_healthy(200)
    serve.is_healthy(200)
    call(review, env("add"), folder / "git", *words("add"), "--force")
    worker.wait_for(lambda: status() == {"done": 2 * (BRANCHES + 1)}, "the jobs after the outage are not done")
    read_numbers(worker.ask("/metrics")[1])
    serve.end()
    worker.end()
    model.shutdown()


def main():
    review, tools = os.path.abspath(sys.argv[1]), sys.argv[2]
    check_schemas(tools)
    services = copy.deepcopy(parsed(COMPOSE.read_text())[0]["services"])
    lines = check_commands(review, services)
    with tempfile.TemporaryDirectory(prefix="review-deploy.", ignore_cleanup_errors=True) as made:
        folder = pathlib.Path(made).resolve()
        (folder / "git").mkdir()
        server = workers.Postgres(folder)
        try:
            run_commands(review, services, folder, server)
        finally:
            server.control("stop")
    print(f"the compose file and the manifests (Kubernetes {', '.join(VERSIONS)}) are sound, {len(SPOILED)} spoiled ones are refused;")
    print(f"{lines} command lines are parsed, and those of the compose file ran through an outage of the database")


main()
