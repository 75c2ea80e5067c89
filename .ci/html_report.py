"""Uses the HTML report and the page of a batch in a browser, as a reader does: with a pointer, with keys, without script, on a phone.

usage: html_report.py PATH-TO-REVIEW PATH-TO-CHROMIUM PATH-TO-NODE_MODULES FOLDER-FOR-SCREENSHOTS

Reviews come from real repositories, so that their diffs are there. Then for each page:

- nothing is requested but the page itself, nothing is written to the console, no dialog opens;
- axe-core finds no violation, in light and in dark, in a wide window and in that of a phone;
- every text that an attacker controls holds markup that would run, and none of it runs, also where a browser ignores the policy of the page;
- filters, search, keys, links and the color scheme do what they say; without script everything is readable and the filters are absent;
- 1,000 files and 500 findings can still be filtered.

A check that cannot fail proves nothing: spoiled pages are tried too. Ends with 1 and what was wrong, else with what was tried.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

REVIEW, CHROMIUM, MODULES, SHOTS = (pathlib.Path(word).absolute() for word in sys.argv[1:5])
AXE = (MODULES / "axe-core/axe.min.js").read_text()
WIDE, PHONE = {"width": 1360, "height": 900}, {"width": 375, "height": 720}
# The longest that a filter may take, in seconds: generous, for machines that do other things beside. After how many seconds the browser hangs.
LONGEST, PATIENCE = 20, 120
PROBES = [
    "<script>window.ran = 1; alert(1)</script>",
    "<img src=x onerror='window.ran = 1; alert(1)'>",
    "\"><svg onload=\"window.ran = 1\"><a href='javascript:window.ran = 1'>x</a>",
    "' onmouseover='window.ran = 1' autofocus onfocus='window.ran = 1' x='",
    "</pre></details></style></script><iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "[a](javascript:window.ran=1) ![b](http://127.0.0.1:9/b.png) <https://127.0.0.1:9/c> <link rel=stylesheet href=http://127.0.0.1:9/d>",
    "{{ 7 * 7 }}<style>@import 'http://127.0.0.1:9/e'; body { display: none }</style><meta http-equiv=refresh content='0;url=http://127.0.0.1:9'>",
]


class Wrong(Exception):
    """A page is not as it has to be."""


def check(holds, fault):
    if not holds:
        raise Wrong(fault)


# --- Reviews ----------------------------------------------------------------------------------------------------------------------------


class Program:
    def __init__(self, folder):
        self.folder = folder
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))}
        self.environment = kept | who | {
            "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
        }

    def run(self, *words, cwd, ends=(0,)):
        done = subprocess.run(words, cwd=cwd, env=self.environment, capture_output=True)
        if done.returncode not in ends:
            sys.exit(f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:2000]}")
        return done.stdout.decode()

    def repository(self, name, base, head):
        """A repository with a branch `feature`, from the files of both sides."""
        top = self.folder / name
        top.mkdir()
        for branch, files in (("main", base), ("feature", head)):
            self.run("git", *(["init", "-q", "-b", "main"] if branch == "main" else ["checkout", "-q", "-b", branch]), cwd=top)
            for path, text in files.items():
                (top / path).parent.mkdir(parents=True, exist_ok=True)
                (top / path).write_text(text)
            self.run("git", "add", "-A", cwd=top)
            self.run("git", "commit", "-q", "-m", f"Change {len(files)} files", cwd=top)
        return top

    def review(self, top):
        return json.loads(self.run(REVIEW, "--target", "main", "--no-model", "--format", "json", "--min-severity", "nit", cwd=top, ends=(0, 3)))

    def save(self, review):
        """Replaces a saved review; its diffs stay."""
        (self.folder / "state/review/runs" / review["id"] / "review.json").write_text(json.dumps(review))

    def page(self, review, top):
        return pathlib.Path(self.run(REVIEW, "open", review["id"], "--print", cwd=top).rstrip("\n"))


BEFORE = """import json
import os


class Storage:
    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        with open(self.path(name)) as file:
            return json.load(file)
"""
AFTER = """import json
import os
import subprocess


class Storage:
    def __init__(self, root, tags=[]):
        self.root = root
        self.tags = tags

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return json.load(file)
        except:
            return None

    def archive(self, name):
        subprocess.run("tar czf backup.tgz " + name, shell=True)

    def is_empty(self, name):
        return self.read(name) == None or self.read(name) is "{}"

    def size(self, name, sizes={}):
        return sizes.setdefault(name, eval(name))
"""


def small(program):
    """A review as people see one: a few findings of several severities, with a suggestion, one dismissed, with limits."""
    base = {"src/storage.py": BEFORE, "README.md": "# Storage\n", "lib/size.rb": "SIZE = 1\n"}
    head = {"src/storage.py": AFTER, "README.md": "# Storage\n\nKeeps files.\n", "lib/size.rb": "SIZE = 2\n", "src/cache.py": AFTER.replace("Storage", "Cache")}
    top = program.repository("small", base, head)
    review = program.review(top)
    found = review["findings"]
    check(len(found) >= 5, f"the rules report only {len(found)} findings")
    for at, finding in enumerate(found):
        finding["severity"] = ["critical", "high", "medium", "low", "nit"][at % 5]
        finding["prominence"] = "main" if at % 5 < 3 else "also"
    found.sort(key=lambda finding: ["critical", "high", "medium", "low", "nit"].index(finding["severity"]))
    found[0]["body"] = (
        "`name` comes from the caller and reaches a shell:\n\n1. `archive(\"x; rm -rf ~\")` runs **both** commands.\n2. Nothing checks it before.\n\n"
        "```python\nsubprocess.run([\"tar\", \"czf\", \"backup.tgz\", name])\n```\n\nPass the words as a list: no shell reads them then."
    )
    found[0]["category"], found[1]["status"], found[1]["category"] = "security", "reopened", "testing"
    anchor = found[0]["anchors"][0]
    found[0]["suggestion"] = {
        "path": anchor["path"], "start_line": anchor["start_line"], "end_line": anchor["end_line"],
        "replacement": anchor["quote"].replace("shell=True", "shell=False") + "\n    # checked",
    }
    found[2]["verification"] = {"state": "uncertain", "by": "openai/x", "rationale": "The caller may check it. It is not in this change."}
    found[-1]["status"], found[-1]["dismissed"] = "dismissed", {"reason": "It is a test helper", "until": None, "by": "reader"}
    review["summary"]["text"] = "Adds archives and a cache to the storage. **Two** callers pass names of users; see the first finding."
    review["change"]["pull_request"] = {"server": "https://forge.example", "owner": "ada", "repo": "engine", "number": 7, "title": "Archive and cache stored files", "url": ""}
    program.save(review)
    return top, review


def poisoned(value, probe):
    """The same document with the probe behind every free text."""
    if isinstance(value, dict):
        fixed = {"schema", "outcome", "ended", "status", "severity", "prominence", "category", "kind", "side", "match", "state", "engine", "by", "id", "base",
                 "head", "merge_base", "path", "old_path", "server", "owner", "repo", "fingerprint", "run", "until", "url", "patch_id", "field", "provided"}
        return {key: one if key in fixed and key != "by" or key == "by" and one in ("reader", "project") else poisoned(one, probe) for key, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, probe) for one in value]
    return f"{value} {probe}" if isinstance(value, str) else value


def hostile(program, number, probe):
    """A review in which everything of others holds a probe: names of files and branches, lines, messages, and all texts of a model."""
    name = probe.replace("/", "∕")[:200] + ".py"
    top = program.repository(f"hostile{number}", {"README": "x\n"}, {name: f"def add(item, items=[]):  # {probe}\n    return items\n", "plain.py": f"x = {probe!r}\n"})
    review = program.review(top)
    review["sections"] = [{"title": "Notes", "body": "text"}]
    review["outcome"], review["ended"], review["reasons"] = "incomplete", "deadline", ["time"]
    review["coverage"]["limits_hit"], review["coverage"]["notes"] = ["a limit"], ["a note"]
    review["coverage"]["withheld"] = [{"title": "claim", "reason": "why"}]
    for finding in review["findings"]:
        finding["verification"] = {"state": "uncertain", "by": "a/b", "rationale": "why"}
        finding["guideline"] = {"path": finding["anchors"][0]["path"], "line": 1}
    check(review["findings"], "the hostile change has no finding")
    review = poisoned(review, probe)
    program.save(review)
    return program.page(review, top)


def large(program):
    """1,000 files with 500 findings."""
    filler = "".join(f"value_{n} = compute(value_{n - 1}, {n})\n" for n in range(1, 60))
    file = lambda n: f"def add_{n}(item, items=[]):\n    return items\n\n" + filler if n % 2 else filler
    top = program.repository("large", {"README": "x\n"}, {f"src/part{n % 40:02}/module_{n:04}.py": file(n) for n in range(1000)})
    review = program.review(top)
    check(len(review["change"]["files"]) == 1000, f"{len(review['change']['files'])} files")
    found = review["findings"]
    # The rules stop at a number of findings: the rest is the same, elsewhere.
    for at in range(len(found), 500):
        found.append(json.loads(json.dumps(found[at % len(found)])) | {"id": f"{at:012x}", "severity": ["low", "nit"][at % 2], "prominence": "also"})
    program.save(review)
    return program.page(review, top)


# --- The browser ------------------------------------------------------------------------------------------------------------------------


class Reader:
    """A browser with one page open. Leaving it checks that the page asked for nothing and complained about nothing."""

    def __init__(self, browser, file, **options):
        self.context = browser.new_context(**({"viewport": WIDE, "color_scheme": "light"} | options))
        self.page, self.faults = self.context.new_page(), []
        self.page.set_default_timeout(PATIENCE * 1000)
        address = file.as_uri()
        note = self.faults.append
        self.page.on("request", lambda request: request.url.split("#")[0] == address or note(f"a request: {request.url[:200]}"))
        self.page.on("console", lambda message: note(f"the console: {message.text[:300]}"))
        self.page.on("pageerror", lambda error: note(f"an error: {error}"))
        self.page.on("popup", lambda page: note("a window"))
        self.page.on("dialog", lambda dialog: (note(f"a dialog: {dialog.message[:100]}"), dialog.dismiss()))
        self.page.goto(address)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.page.wait_for_timeout(100)
        self.context.close()
        if kind is None:
            check(not self.faults, self.faults[:5])

    def count(self):
        return self.page.locator("#count").inner_text()

    def shown(self):
        return self.page.locator("[data-finding]:visible").count()

    def focused(self):
        return self.page.evaluate("document.activeElement.closest('[data-finding], [data-file]')?.id ?? document.activeElement.id")

    def until(self, holds):
        """Waits for the page. Playwright's own wait evaluates a text in the page, which the policy of the page forbids."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(holds):
            check(time.monotonic() < end, f"after {PATIENCE} s it does not hold that {holds}")
            self.page.wait_for_timeout(20)

    def shoot(self, name, whole=False):
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=whole)


def accessible(reader, name):
    # The policy of the page would not let this script in by an element; the browser's own door is open.
    reader.page.evaluate(AXE)
    found = reader.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    faults = [f"{one['id']} ({one['impact']}): {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
    check(not faults, f"{name}: axe-core finds {faults}")


def everything_open(reader):
    # What is out of sight is laid out too, for the checks and the screenshots.
    reader.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; one.style.contentVisibility = 'visible'; })")
    reader.page.evaluate("document.querySelectorAll('article').forEach((one) => { one.style.contentVisibility = 'visible'; })")


def use_filters(reader, review):
    page, total = reader.page, len(review["findings"])
    check(reader.count() == f"{total} of {total} findings", reader.count())
    severities = [finding["severity"] for finding in review["findings"]]
    page.locator("[name=severity][value=critical]").uncheck()
    left = total - severities.count("critical")
    check((reader.count(), reader.shown()) == (f"{left} of {total} findings", left), f"without critical: {reader.count()}, {reader.shown()}")
    page.get_by_role("button", name="Reset").click()
    check(reader.shown() == total, "reset shows all")
    page.locator("#by-category").select_option("security")
    expected = sum(finding["category"] == "security" for finding in review["findings"])
    check(reader.shown() == expected > 0, f"security: {reader.shown()}")
    page.locator("#by-category").select_option("")
    page.locator("#by-status").select_option("dismissed")
    check(reader.shown() == 1, f"dismissed: {reader.shown()}")
    page.locator("#by-status").select_option("")
    page.locator("#by-file").select_option(index=1)
    label = page.locator("#by-file option:checked").inner_text()
    check(label.endswith(f"({reader.shown()})") and page.locator("[data-file]:visible").count() == 1, f"file {label}: {reader.shown()}")
    page.get_by_role("button", name="Reset").click()
    page.locator("#search").fill("no such words anywhere")
    check(reader.shown() == 0 and page.locator("#nothing").is_visible(), "nothing matches, and the page says so")
    page.locator("#search").fill("ARCHIVE shell")
    check(0 < reader.shown() < total, f"search: {reader.shown()}")
    page.get_by_role("button", name="Reset").click()


def use_keys(reader):
    page = reader.page
    page.evaluate("scrollTo(0, 0)")
    page.locator("#main").focus()
    went = []
    for key in "jjjkn":
        page.keyboard.press(key)
        went.append(reader.focused())
    check(went[:4] == ["finding-1", "finding-2", "finding-3", "finding-2"], f"j and k go to {went}")
    check(went[4].startswith("file-") and page.locator(f"#{went[4]}").get_attribute("open") is not None, f"n goes to {went[4]} and opens it")
    page.keyboard.press("/")
    check(reader.focused() == "search", "/ searches")
    page.keyboard.type("j?k")
    check(page.locator("#search").input_value() == "j?k" and not page.locator("#help").is_visible(), "a key in the search is a letter")
    page.locator("#search").fill("")
    page.keyboard.press("Escape")
    check(reader.focused() != "search", "Escape leaves the search")
    page.keyboard.press("?")
    check(page.locator("#help").is_visible(), "? helps")
    page.locator("#shortcuts").uncheck()
    page.keyboard.press("Escape")
    check(not page.locator("#help").is_visible(), "Escape closes the help")
    # The focus leaves a closed dialog when the page is drawn next.
    reader.until("!document.activeElement.closest('dialog')")
    before = reader.focused()
    page.keyboard.press("j")
    check(reader.focused() == before, "keys that are switched off do nothing")
    page.locator("#keys").click()
    page.locator("#shortcuts").check()
    page.get_by_role("button", name="Close").click()


def use_links(reader):
    page = reader.page
    page.locator("[name=severity][value=critical]").uncheck()
    page.evaluate("location.hash = '#finding-1'")
    reader.until("document.activeElement.id === 'finding-1'")
    check(page.locator("#finding-1").is_visible(), "a link to a finding shows it whatever the filters say")
    page.locator("#finding-1 figcaption a").first.click()
    reader.until("document.activeElement.closest('[data-file]')")
    check(page.locator("[data-file][open] .note").first.is_visible(), "the diff of a file names its findings")
    page.locator("[data-file][open] .note").first.click()
    reader.until("document.activeElement.closest('[data-finding]')")


def use_theme(reader):
    page = reader.page
    color = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = color()
    page.locator("#theme").click()
    check(color() == light, "light is what the system has")
    page.locator("#theme").click()
    check(color() != light, "dark is another color")
    page.reload()
    check(color() != light, "the choice stays")
    page.locator("#theme").click()
    check(color() == light and page.locator("#theme").inner_text() == "Theme: system", "and back")


def try_small(browser, program):
    top, review = small(program)
    file = program.page(review, top)
    with Reader(browser, file) as reader:
        check(reader.page.locator("main, header, footer, nav, [role=search]").count() >= 5, "landmarks")
        reader.shoot("light")
        use_filters(reader, review)
        use_keys(reader)
        use_links(reader)
        use_theme(reader)
        reader.page.locator("[name=severity][value=high]").focus()
        reader.page.keyboard.press("Space")
        check(not reader.page.locator("[name=severity][value=high]").is_checked(), "filters are used without a pointer")
    for name, options in {
        "axe-light": {}, "axe-dark": {"color_scheme": "dark"}, "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
        "phone-dark": {"viewport": PHONE, "color_scheme": "dark", "is_mobile": True}, "contrast": {"forced_colors": "active"},
    }.items():
        with Reader(browser, file, **options) as reader:
            if name != "contrast":
                accessible(reader, name)
            everything_open(reader)
            reader.shoot(name, whole=True)
            wide = reader.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
            check(not wide, f"{name}: the page scrolls sideways")
            if name != "contrast":
                accessible(reader, f"{name}, everything open")
    with Reader(browser, file, java_script_enabled=False) as reader:
        page = reader.page
        check(not page.locator("#filters").is_visible() and not page.locator("#theme").is_visible(), "without script there are no filters")
        check(page.get_by_text("comes from the caller").is_visible(), "the main findings are open")
        page.locator("details.finding summary").first.click()
        check(page.locator("details.finding .places").first.is_visible(), "the others open")
        check(page.locator("[data-finding]").count() == len(review["findings"]), "all of them are there")
        reader.shoot("no-script")
    return file


def try_hostile(browser, program):
    for number, probe in enumerate(PROBES):
        file = hostile(program, number, probe)
        # With the policy, and as a browser that has none would show it.
        for bypass in (False, True):
            with Reader(browser, file, bypass_csp=bypass) as reader:
                page = reader.page
                page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                page.mouse.move(400, 400)
                for key in "jjnn":
                    page.keyboard.press(key)
                reader.shoot(f"hostile-{number}")
                check(page.evaluate("window.ran") is None, f"{probe!r} ran")
                alien = page.locator("img, svg, iframe, object, embed, link, base, audio, video, [style]:not([style='']), [srcdoc], [src], script ~ script, style ~ style")
                check(alien.count() == 0, f"{probe!r} made {alien.evaluate_all('(all) => all.map((one) => one.outerHTML.slice(0, 200))')}")
                check(page.locator("a:not([href^='#'])").count() == 0, f"{probe!r} made a link")
                words = page.locator("main").inner_text()
                check(words.count(probe.split(" ")[0][:12]) > 10, f"{probe!r} is not shown as text")
                if number == 0 and not bypass:
                    accessible(reader, "a hostile page")


def try_large(browser, program):
    file = large(program)
    began = time.monotonic()
    with Reader(browser, file) as reader:
        loaded = time.monotonic() - began
        page = reader.page
        check(reader.count() == "500 of 500 findings", reader.count())
        took = []
        for act in (
            lambda: page.locator("#search").fill("module_0501"),
            lambda: page.get_by_role("button", name="Reset").click(),
            lambda: page.locator("[name=severity]").first.uncheck(),
            lambda: page.get_by_role("button", name="Reset").click(),
            lambda: page.locator("#main").press("j"),
            lambda: page.locator("#main").press("n"),
        ):
            before, at = reader.count(), time.monotonic()
            act()
            took.append(time.monotonic() - at)
            check(len(took) > 4 or reader.count() != before, f"{before} does not change")
        check(max(took) < LONGEST and loaded < 3 * LONGEST, f"loaded in {loaded:.1f} s, then {took}")
        reader.shoot("large")
    return f"{file.stat().st_size >> 20} MiB in {loaded:.1f} s, then at most {max(took) * 1000:.0f} ms"


def try_batch(browser, program, top):
    program.run("git", "branch", "<img/src=x/onerror=alert(1)>", cwd=top)
    output = program.folder / "reviews"
    program.run(REVIEW, "batch", "--all-branches", "--target", "main", "--no-model", "--output", output, "--review-format", "html", cwd=top, ends=(0, 1, 3))
    for name, options in {"batch": {}, "batch-phone-dark": {"viewport": PHONE, "color_scheme": "dark", "is_mobile": True}}.items():
        with Reader(browser, output / "index.html", **options) as reader:
            accessible(reader, name)
            reader.shoot(name, whole=True)
    with Reader(browser, output / "index.html") as reader:
        target = reader.page.locator("td a").first.get_attribute("href")
    with Reader(browser, output / target) as reader:
        check(reader.page.locator("[data-finding]").count() > 0, "the linked page is a review")


def spoiled(browser, file, folder):
    """Pages with one fault each: the checks have to see it."""
    text = file.read_text()
    script = "<script>alert(1)</script></main>"
    cases = {
        "a request": (text.replace("</main>", "<img alt=x src=http://127.0.0.1:9/x></main>"), {"bypass_csp": True}, None),
        "a dialog": (text.replace("</main>", script), {"bypass_csp": True}, None),
        "the console": (text.replace("</main>", script), {}, None),
        "axe-core finds": (text.replace('<label for="search">Search</label>', "").replace(' placeholder="title, text, path"', ""), {}, lambda reader: accessible(reader, "spoiled")),
        "without critical": (text.replace("data-severity=\"critical\"", "data-severity=\"high\""), {}, lambda reader: use_filters(reader, spoiled.review)),
    }
    for number, (fault, (page, options, use)) in enumerate(cases.items()):
        check(page != text, f"{fault}: the page is not spoiled")
        other = folder / f"spoiled{number}.html"
        other.write_text(page)
        try:
            with Reader(browser, other, **options) as reader:
                if use:
                    use(reader)
        except Wrong as wrong:
            check(fault in str(wrong), f"a page with {fault!r} is refused for {wrong}")
        else:
            raise Wrong(f"a page with {fault!r} is not refused")
    return len(cases)


def main():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = Program(pathlib.Path(folder))
        # Chromium's own sandbox needs what a container does not give; every page here is our own file.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            file = try_small(browser, program)
            spoiled.review = json.loads(next((program.folder / "state/review/runs").glob(f"{file.parent.name}/review.json")).read_text())
            try_hostile(browser, program)
            try_batch(browser, program, program.folder / "small")
            size = try_large(browser, program)
            faults = spoiled(browser, file, program.folder)
        except Wrong as wrong:
            sys.exit(f"html_report.py: {wrong}")
        finally:
            browser.close()
    print(f"one review in 6 ways, {len(PROBES)} hostile ones, a batch, a large one ({size}), and {faults} spoiled pages: as they have to be")


if __name__ == "__main__":
    main()
