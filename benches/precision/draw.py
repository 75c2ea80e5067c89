"""Writes selection.json: what the rules are measured on. Run once, before any rule was tuned; it is kept so that anybody can see how.

    python3 benches/precision/draw.py FOLDER

FOLDER holds a bare clone of each repository as OWNER+NAME/repo. Nothing here looks at what the rules say.
"""

import json
import pathlib
import random
import re
import subprocess
import sys

SEED = 20261121
LAST = 200
# Rules are tuned on the first four and never looked at on the others before they are scored.
TUNED = ["astral-sh/uv", "payloadcms/payload", "traefik/traefik", "apache/kafka"]
SCORED = ["Chia-Network/chia-gaming", "thingsboard/thingsboard", "paperless-ngx/paperless-ngx", "obsproject/obs-studio"]
# The first scoring fell short and was learnt from; these were named, and their commits written down, before anything was changed for it. They
# were added to selection.json by themselves, so that what was drawn before stayed.
SECOND = ["usememos/memos", "searxng/searxng", "transmission/transmission", "apache/seatunnel"]
# The second fell short as well. These were named before they were looked at, and before the rules that state facts were finished.
THIRD = ["dgtlmoon/changedetection.io", "woodpecker-ci/woodpecker", "OpenRefine/OpenRefine", "FreeRDP/FreeRDP"]
# So did the third: six of its thirteen were one rule. These were named before anything was changed for that.
FOURTH = ["mealie-recipes/mealie", "flameshot-org/flameshot", "navidrome/navidrome", "apache/shenyu"]
# The fourth came out at the bar by the weight of one script; these confirm or refute it, named before anything was changed for the fourth.
FIFTH = ["borgbackup/borg", "strawberrymusicplayer/strawberry", "homarr-labs/homarr", "apache/hertzbeat"]
# Nine of seventeen in the fifth, five of the others by a rule that is gone since. These were named after that, and before they were looked at.
SIXTH = ["authelia/authelia", "healthchecks/healthchecks", "openhab/openhab-core", "atuinsh/atuin"]
# Two of eleven in the sixth, six of the others one line that a commit wrote six times: a set of four has too few findings to say much. The seventh
# has twelve, two or three for each of the six languages, named before they were looked at and after the rules had learnt from the sixth.
SEVENTH = ["jellyfin/jellyfin-web", "documenso/documenso", "hoppscotch/hoppscotch", "wagtail/wagtail", "beetbox/beets", "qarmin/czkawka",
           "meilisearch/meilisearch", "goharbor/harbor", "apolloconfig/apollo", "spring-projects/spring-batch", "audacity/audacity",
           "valkey-io/valkey"]
# After the rules had learnt from their recorded false hits: twelve that no rule saw, four of them in languages with few rules or none. Named, and
# their commits written down, before they were looked at.
EIGHTH = ["spree/spree", "koel/koel", "duplicati/duplicati", "ankidroid/Anki-Android", "drakkan/sftpgo", "helix-editor/helix", "wger-project/wger",
          "outline/outline", "apache/dubbo", "libgit2/libgit2", "ggml-org/whisper.cpp", "acmesh-official/acme.sh"]
# One of the seven in the eighth was of high severity, which says nothing of that. Twelve more, named before they were looked at, the newest 150 of
# each; and their trees, where rules of high severity speak up more often.
NINTH = ["rubygems/rubygems.org", "firefly-iii/firefly-iii", "bitwarden/server", "thunderbird/thunderbird-android", "excalidraw/excalidraw",
         "karakeep-app/karakeep", "saleor/saleor", "makeplane/plane", "juicedata/juicefs", "halo-dev/halo", "RPCS3/rpcs3", "quickwit-oss/quickwit"]
# The rules learnt from the ninth. These, the newest 300 of each and their trees, were named before anything was changed for that.
TENTH = ["SigNoz/signoz", "formbricks/formbricks", "internetarchive/openlibrary", "redisson/redisson", "rerun-io/rerun", "supertuxkart/stk-code"]

# Fix commits: of the newest so many of a repository, those whose subject says that they mend something in the code.
LOOKED_THROUGH = 3000
SAYS_FIX = re.compile(r"\b(fix|fixes|fixed|bugfix|hotfix)\b", re.I)
SAYS_OTHER = re.compile(r"\b(typo|typos|doc|docs|readme|changelog|ci|lint|clippy|format|formatting|flaky|test|tests|build|deps|translation"
                        r"|translations|style|css|license|compile|compilation|warning|warnings)\b", re.I)
# The classes of defects that the rules are meant for, as subjects name them.
SAYS_CLASS = re.compile(r"\b(nil|null|npe|undefined|none|panic|panics|crash|crashes|leak|leaks|race|races|deadlock|await|async|promise|close"
                        r"|closed|unhandled|exception|exceptions|error|errors|injection|xss|escape|escaping|traversal|timeout|timeouts|overflow"
                        r"|uninitialized|lock|locking|permission|permissions|auth|authorization|ssl|tls|security|concurrent|thread|mutex"
                        r"|missing check|index out)\b", re.I)
SOURCE = (".rs", ".py", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".java", ".c", ".h", ".cc", ".cpp", ".hpp", ".sh", ".mm")
TEST = re.compile(r"(^|/)(tests?|__tests__|specs?|testdata|fixtures|e2e|examples|benches)(/|$)|(^|/)test_|_tests?\.|\.(test|spec)\.|Test\.java$", re.I)
MOST_LINES = 30
MOST_FILES = 3
FIXES = 60


def git(repository, *arguments):
    done = subprocess.run(["git", f"--git-dir={repository}", *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def fixes(repository):
    """Small commits that say that they fix something, and change code that is no test."""
    log = git(repository, "log", "--no-merges", f"-n{LOOKED_THROUGH}", "--no-renames", "--numstat", "--format=%x01%H%x02%s", "HEAD", "--",
              *(f"*{ending}" for ending in SOURCE))
    for entry in log.split("\x01")[1:]:
        head, _, numbers = entry.partition("\n")
        commit, _, subject = head.partition("\x02")
        if not SAYS_FIX.search(subject) or SAYS_OTHER.search(subject):
            continue
        lines = files = 0
        for row in numbers.strip().splitlines():
            added, deleted, path = row.split("\t", 2)
            if added == "-" or not path.endswith(SOURCE) or TEST.search(path):
                continue
            files += 1
            lines += int(added) + int(deleted)
        if 1 <= files <= MOST_FILES and 1 <= lines <= MOST_LINES:
            yield {"commit": commit, "subject": subject, "class": bool(SAYS_CLASS.search(subject))}


def main(folder):
    draw = random.Random(SEED)
    repositories, pool = [], []
    for name in TUNED + SCORED:
        repository = pathlib.Path(folder, name.replace("/", "+"), "repo")
        head = git(repository, "rev-parse", "HEAD").strip()
        commits = git(repository, "rev-list", "--no-merges", f"-n{LAST}", head).split()
        repositories.append({"name": name, "use": "tuned" if name in TUNED else "scored", "head": head, "commits": commits})
        found = list(fixes(repository))
        # Half of them at random, half of those whose subject names a class of defects that the rules are meant for.
        plain = draw.sample(found, 4)
        named = draw.sample([fix for fix in found if fix["class"] and fix not in plain], 4)
        print(f"{name}: {len(found)} fixes, {sum(fix['class'] for fix in found)} of a named class", file=sys.stderr)
        for how, chosen in (("any", plain), ("class", named)):
            pool += [{"repository": name, "drawn": how, "commit": fix["commit"], "subject": fix["subject"]} for fix in chosen]
    draw.shuffle(pool)
    written = {"seed": SEED, "repositories": repositories, "fixes": pool[:FIXES]}
    pathlib.Path(__file__).with_name("selection.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
