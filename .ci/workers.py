"""Jobs that several workers share, on SQLite and on a real PostgreSQL server, while workers are killed and the server is restarted.

usage: workers.py PATH-TO-REVIEW [seconds-between-kills]

A server of our own speaks chat completions and counts the turns of each branch. Three workers review the branches; one of them is killed with
SIGKILL every few seconds and another one started in its place, and PostgreSQL is restarted twice. In the end each job is done once, each branch
has one complete review, and no turn was paid again but those that were in flight when a worker was killed or, on a machine so busy that a lease ends
before it is renewed, when a worker lost its job or its database. Then 2 000 jobs that need no
review are added, taken and ended, for the cost of the queue itself. Before that, workers share a budget that is too small for all jobs, and one of
them is killed: what they spend is never more.

Ends with 1 and what was wrong, else with the figures.
"""

import collections
import contextlib
import glob
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import chat_model

BRANCHES = 30
TURNS = 4
# A turn of the model, in seconds.
TURN = 0.4
WORKERS, AT_ONCE = 3, 2
# Enough for what a job costs; 10 000 take longer than all else here where two builds run beside.
MANY = 2_000
# The tokens of a turn where a budget is shared.
TOKENS = 20_000
# After how many seconds a command or all jobs together hang. A busy machine is slow, which is no failure.
LIMIT = 1200


def fail(why):
    sys.exit(f"failed: {why}")


def environment(home, **more):
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))}
    return kept | who | {"HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "REVIEW_VERIFY": "none"} | more


class Model(chat_model.Server):
    """Answers each branch in the same turns, and counts them."""

    def __init__(self, tokens=1000):
        self.turns, self.tokens, self.lock = collections.Counter(), tokens, threading.Lock()
        super().__init__(self.answer)

    @property
    def base(self):
        return f"{self.url}/v1"

    def answer(self, handler, data):
        request = json.loads(data)
        text = json.dumps(request["messages"])
        branch = re.search(r"topic-(\d+)", text).group(1)
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        with self.lock:
            self.turns[(branch, turn)] += 1
        time.sleep(TURN)
        name, arguments = ("list_files", {}) if turn < TURNS - 1 else ("finish_review", {"summary": "Read.", "no_findings_reason": "It was read."})
        if 0 < turn < TURNS - 1:
            name, arguments = "read_file_part", {"file_path": f"part_{branch}.py", "start_line": turn}
        message = chat_model.called(turn, name, arguments)
        chat_model.send(handler, *chat_model.turn(request, message, self.tokens, 20))


class Postgres:
    """A server of the machine's package, in a folder of its own. It refuses to run as root, so root runs it as its own user."""

    def __init__(self, folder):
        found = [os.path.dirname(shutil.which("pg_ctl") or ""), *sorted(glob.glob("/usr/lib/postgresql/*/bin"))]
        has_all = lambda path: all(os.path.exists(f"{path}/{name}") for name in ("initdb", "pg_ctl", "createdb"))
        self.programs = next((path for path in reversed(found) if has_all(path)), None)
        if not self.programs:
            fail("PostgreSQL is not installed: its package has initdb, pg_ctl and createdb")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder / "postgres"
        self.folder.mkdir()
        self.as_user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            folder.chmod(0o711)
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self.run("initdb", "-D", str(self.folder / "data"), "-U", "review", "--auth=trust", "--no-sync")
        self.control("start")
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "review", "reviews")

    def run(self, program, *words):
        command = [*self.as_user, f"{self.programs}/{program}", *words]
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            fail(f"{program}: {done.stdout}")

    def control(self, action):
        options = f"-p {self.port} -k {self.folder}"
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", str(self.folder / "log"), "-m", "fast", "-w", action)

    @property
    def address(self):
        return f"postgres://review:a-password@127.0.0.1:{self.port}/reviews"


def repository(folder, branches, many=False):
    folder.mkdir(parents=True)

    def git(*words, text=None):
        done = subprocess.run(["git", *words], cwd=folder, env=environment(folder.parent), capture_output=True, text=True, input=text)
        if done.returncode:
            fail(f"git {words}: {done.stderr}")
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    (folder / "README").write_text("read me\n")
    git("add", ".")
    git("commit", "-q", "-m", "begin")
    if many:
        head = git("rev-parse", "HEAD")
        git("update-ref", "--stdin", text="".join(f"create refs/heads/same-{number} {head}\n" for number in range(branches)))
        return
    for number in range(branches):
        git("checkout", "-q", "-b", f"topic-{number:02}", "main")
        (folder / f"part_{number:02}.py").write_text(f"def part_{number:02}(value):\n    doubled = value * 2\n    return doubled\n")
        git("add", ".")
        git("commit", "-q", "-m", f"topic-{number:02}")
    git("checkout", "-q", "main")


class Worker:
    """A process that takes jobs; its log says which ones it has."""

    def __init__(self, review, folder, env, number):
        self.log = folder / f"worker-{number}.log"
        words = ["worker", "--repos", str(folder / "repos"), "--jobs", str(AT_ONCE), "--lease", "4s", "--log", "json", "--until-empty", "--model", "openai-chat/made-up"]
        self.process = subprocess.Popen([review, *words], env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=self.log.open("w"))

    def kill(self):
        """Kills it, and says how many jobs it had."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        has = set()
        for event in self.events():
            if event.get("event") == "taken":
                has.add(event["job"])
            elif event.get("event") == "ended":
                has.discard(event["job"])
        return len(has)

    def events(self):
        for line in self.log.read_text().splitlines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)

    def unfinished(self):
        """The jobs that another worker took over, or that are tried again, while this one lived."""
        return sum(event.get("event") == "ended" and event["end"] in ("lost", "retry") for event in self.events())


def call(review, env, cwd, *words, code=0):
    done = subprocess.run([review, *words], env=env, cwd=cwd, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != code:
        fail(f"review {' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def suite(review, folder, queue, pause, restart, states):
    """Runs all jobs on one queue. `states(number)` gives a worker's own environment, where runs are saved."""
    model = Model()
    repository(folder / "repos" / "demo", BRANCHES)
    base = {"REVIEW_QUEUE": queue, "OPENAI_API_KEY": "made-up", "OPENAI_BASE_URL": model.base}
    env = lambda number: environment(folder, **base, **states(number))
    demo = folder / "repos" / "demo"
    for _ in range(2):
        call(review, env(0), demo, "queue", "add", "topic-*", "--target", "main", "--repository", "demo")
    status = lambda: json.loads(call(review, env(0), demo, "queue", "status", "--format", "json", "--limit", str(BRANCHES)))
    if status()["status"]["jobs"] != {"waiting": BRANCHES}:
        fail(f"the same jobs were added twice: {status()['status']}")
    began, kills, in_flight, restarts, number = time.monotonic(), 0, 0, 0, WORKERS
    workers = {at: Worker(review, folder, env(at), at) for at in range(WORKERS)}
    all_workers = list(workers.values())
    pick = random.Random(7)
    while time.monotonic() - began < LIMIT:
        time.sleep(pause)
        done = status()["status"]["jobs"].get("done", 0)
        if done == BRANCHES:
            break
        if restart and restarts < 2 and done >= BRANCHES * (restarts + 1) // 3:
            restart()
            restarts += 1
            continue
        victim = pick.choice(sorted(workers))
        in_flight += workers.pop(victim).kill()
        kills += 1
        workers[number] = Worker(review, folder, env(victim % WORKERS), number)
        all_workers.append(workers[number])
        number += 1
    took = time.monotonic() - began
    for worker in workers.values():
        try:
            worker.process.wait(max(60, began + LIMIT - time.monotonic()))
        except subprocess.TimeoutExpired:
            fail(f"a worker does not end although no job is left: {worker.log.read_text()[-2000:]}")
    end = status()
    if end["status"]["jobs"] != {"done": BRANCHES}:
        fail(f"not every job is done after {took:.0f} s: {end['status']}, {[job for job in end['jobs'] if job['state'] != 'done'][:3]}")
    if restart and restarts < 2:
        fail(f"the server was restarted {restarts} times only: make the turns longer")
    wrong = [job for job in end["jobs"] if job["result"].get("outcome") != "complete"]
    if wrong:
        fail(f"not every review is complete: {wrong[:3]}")
    runs = collections.Counter(job["result"]["head"] for job in end["jobs"])
    if len(runs) != BRANCHES or len({job["result"]["run"] for job in end["jobs"]}) != BRANCHES:
        fail("a branch has no review of its own")
    for job in end["jobs"][:3]:
        # Any machine shows it.
        shown = json.loads(call(review, env(1), demo, "show", job["result"]["run"], "--format", "json"))
        if shown["outcome"] != "complete":
            fail(f"the run {job['result']['run']} is not complete where another machine shows it")
    with model.lock:
        turns = dict(model.turns)
    model.shutdown()
    missing = [(f"{at:02}", turn) for at in range(BRANCHES) for turn in range(TURNS) if (f"{at:02}", turn) not in turns]
    if missing or len(turns) != BRANCHES * TURNS:
        fail(f"turns are missing or too many: {missing[:3]}, {len(turns)}")
    again = sum(turns.values()) - len(turns)
    if kills < 2:
        fail(f"only {kills} workers were killed: make the turns longer")
    unfinished = sum(worker.unfinished() for worker in all_workers)
    if unfinished > BRANCHES:
        fail(f"{unfinished} jobs were lost by workers that lived: leases end although they are renewed")
    if again > in_flight + unfinished:
        fail(f"{again} turns were paid again, and only {in_flight} jobs were in flight when their worker was killed, and {unfinished} when it lost them")
    attempts = max(job["attempts"] for job in end["jobs"])
    print(f"  {BRANCHES} jobs of {TURNS} turns in {took:.0f} s: {kills} workers killed with {in_flight} jobs in flight, {unfinished} jobs lost, {restarts} restarts of the database,")
    print(f"  {again} turns paid again, a job was taken {attempts} times at most; each job ended once", flush=True)


def budget(review, folder, queue, states):
    """Lets workers share a budget that is too small for all jobs, while one of them is killed."""
    model = Model(TOKENS)
    repository(folder / "repos" / "tight", BRANCHES)
    base = {"REVIEW_QUEUE": queue, "OPENAI_API_KEY": "made-up", "OPENAI_BASE_URL": model.base}
    env = lambda number: environment(folder, **base, **states(number))
    tight, limit = folder / "repos" / "tight", BRANCHES * TURNS * TOKENS * 6 // 10
    call(review, env(0), tight, "queue", "add", "topic-*", "--target", "main", "--repository", "tight")
    call(review, env(0), tight, "queue", "limit", "--max-tokens", str(limit))
    workers = [Worker(review, folder, env(at), f"tight-{at}") for at in range(WORKERS)]
    time.sleep(3)
    in_flight = workers.pop().kill()
    workers.append(Worker(review, folder, env(WORKERS - 1), "tight-again"))
    for worker in workers:
        if worker.process.wait(LIMIT) not in (0, 3):
            fail(f"a worker failed: {worker.log.read_text()[-2000:]}")
    # What the one that was killed had is taken over when its lease has ended.
    Worker(review, folder, env(0), "tight-last").process.wait(LIMIT)
    status = json.loads(call(review, env(0), tight, "queue", "status", "--format", "json", "--limit", "1"))["status"]
    spent, counted = sum(model.turns.values()) * TOKENS, status["budget"]["spent"]["tokens"]
    # A run that is resumed may take its last turn, also where the budget has no room for that: one for each worker at most.
    if not 0 < spent <= counted <= limit + WORKERS * TOKENS:
        fail(f"{spent} tokens were sent and {counted} counted, of {limit}")
    waiting = status["jobs"].get("waiting", 0)
    if not waiting or status["jobs"].get("dead") or not status["jobs"].get("done"):
        fail(f"jobs do not wait for another budget: {status}")
    call(review, env(0), tight, "queue", "limit", "--off")
    Worker(review, folder, env(0), "tight-rest").process.wait(LIMIT)
    left = json.loads(call(review, env(0), tight, "queue", "status", "--format", "json", "--limit", "1"))["status"]["jobs"]
    if set(left) != {"done"}:
        fail(f"without the budget not every job is done: {left}")
    model.shutdown()
    print(f"  a budget of {limit} tokens over {WORKERS} workers, one killed with {in_flight} jobs: {spent} sent, {counted} counted, {waiting} jobs left waiting", flush=True)


def many(review, folder, queue):
    """Adds, takes and ends many jobs that need no review."""
    repository(folder / "repos" / "same", MANY, many=True)
    env = environment(folder, REVIEW_QUEUE=queue, XDG_STATE_HOME=str(folder / "state-many"))
    began = time.monotonic()
    call(review, env, folder / "repos" / "same", "queue", "add", "same-*", "--target", "main", "--repository", "same")
    added = time.monotonic()
    call(review, env, folder, "worker", "--repos", str(folder / "repos"), "--jobs", "1", "--no-model", "--until-empty")
    ended = time.monotonic()
    status = json.loads(call(review, env, folder, "queue", "status", "--format", "json", "--limit", "1"))["status"]["jobs"]
    if status.get("done", 0) < MANY:
        fail(f"not every job is done: {status}")
    each = lambda seconds: f"{seconds * 1000 / MANY:.2f} ms"
    print(f"  {MANY} jobs: added at {each(added - began)} each, taken and ended at {each(ended - added)} each, the look at their commits included", flush=True)


def main():
    review, pause = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    with tempfile.TemporaryDirectory(prefix="review-queue.", ignore_cleanup_errors=True) as made:
        root = pathlib.Path(made).resolve()
        folder = root / "sqlite"
        folder.mkdir()
        print("SQLite, one state folder:", flush=True)
        suite(review, folder, str(folder / "queue.db"), pause, None, lambda _: {"XDG_STATE_HOME": str(folder / "state")})
        budget(review, folder, str(folder / "tight.db"), lambda _: {"XDG_STATE_HOME": str(folder / "state")})
        many(review, folder, str(folder / "many.db"))
        server = Postgres(root)
        try:
            folder = root / "machines"
            folder.mkdir()
            print("PostgreSQL, a state folder for each machine:", flush=True)
            states = lambda number: {"XDG_STATE_HOME": str(folder / f"state-{number}"), "REVIEW_STORE": server.address}
            suite(review, folder, server.address, pause, lambda: server.control("restart"), states)
            budget(review, folder, server.address, states)
            many(review, folder, server.address)
        finally:
            server.control("stop")


if __name__ == "__main__":
    main()
