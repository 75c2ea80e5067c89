/** The extension against the program itself, whose path is in `REVIEW_PROGRAM`: findings of the rules in a small repository. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { NO_TOKEN, document, firstFinding, open, run, stop, until } from "./harness";
import { editor, workspace } from "./stub";

const program = process.env.REVIEW_PROGRAM;
const home = mkdtempSync(join(tmpdir(), "review-"));
const repository = join(home, "shop");
const TEXT = "def a():\n    assert (1 == 2, 'never')\n    return 1\n";

function git(...args: string[]): void {
    const identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    execFileSync("git", [...identity, ...args], { cwd: repository, stdio: "pipe" });
}

after(stop);

test("the program's findings are shown, explained and dismissed", async () => {
    assert.ok(program, "REVIEW_PROGRAM names no program");
    for (const key of Object.keys(process.env).filter((key) => /^(REVIEW_|XDG_)|_API_KEY$/.test(key))) {
        Reflect.deleteProperty(process.env, key);
    }
    process.env.HOME = home;
    mkdirSync(repository);
    git("init", "--quiet");
    writeFileSync(join(repository, "a.py"), "def a():\n    return 1\n");
    git("add", ".");
    git("commit", "--quiet", "--message", "one");
    git("checkout", "--quiet", "-b", "topic");
    writeFileSync(join(repository, "a.py"), TEXT);
    git("commit", "--quiet", "--all", "--message", "two");

    const uri = pathToFileURL(repository).href;
    workspace.textDocuments = [document(`${uri}/a.py`, "python", TEXT)];
    await open(program, uri);
    assert.equal(editor.messages.length, 0, editor.log.join("\n"));
    assert.equal(editor.status.text, "$(checklist) Review", "nothing is reviewed");
    await run("reviewBranch");
    await until(() => (editor.tree?.getChildren().length ?? 0) > 0, "findings");
    await until(() => editor.status.text === "$(warning) Review: 1 high", "the outcome");
    const { finding } = firstFinding();
    assert.deepEqual([finding.rule, finding.file, finding.start.line], ["python/assert-on-tuple", "a.py", 1]);
    const hover = await editor.hover?.provideHover(workspace.textDocuments[0], { line: 1, character: 6 }, NO_TOKEN);
    assert.match((hover?.contents[0] as { value: string }).value, /Assertion on a tuple/);

    await run("explainRule", firstFinding());
    assert.match(editor.opened.at(-1) ?? "", /assert-on-tuple/);
    await run("showFinding", firstFinding());
    assert.equal(editor.opened.at(-1), `${uri}/a.py`);
    await run("openThread", firstFinding());
    assert.match(editor.messages.at(-1)?.text ?? "", /not posted/);
    editor.answers.push("no caller does this");
    await run("dismiss", firstFinding());
    await until(() => editor.tree?.getChildren().length === 0, "the dismissal");
    assert.match(readFileSync(join(repository, ".review", "dismissed.toml"), "utf8"), /no caller does this/);
});
