import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";

import { RestartLimit, ServerError, configuredPath, findProgram, probe } from "../src/server";

function program(body: string): string {
    const path = join(mkdtempSync(join(tmpdir(), "review-")), "review");
    writeFileSync(path, `#!/bin/sh\n${body}\n`);
    chmodSync(path, 0o755);
    return path;
}

test("the path comes from the user's settings, never from a workspace", () => {
    const setting = { defaultValue: "review", workspaceValue: "./evil", workspaceFolderValue: "./evil" };
    assert.equal(configuredPath(setting), "review");
    assert.equal(configuredPath({ ...setting, globalValue: " /opt/review " }), "/opt/review");
    assert.equal(configuredPath(undefined), "review");
    assert.throws(() => configuredPath({ globalValue: "" }), /review\.path/);
    assert.throws(() => configuredPath({ globalValue: 7 }), /review\.path/);
});

test("a name is looked up in the absolute folders of PATH only", () => {
    const canRun = (path: string): boolean => ["/a/review", "review", "./review", "/b/review"].includes(path);
    assert.equal(findProgram("review", ["", ".", "bin", "/x", "/b", "/a"].join(delimiter), false, canRun), "/b/review");
    assert.throws(() => findProgram("review", ["", "."].join(delimiter), false, canRun), /not on PATH. Install review/);
    assert.throws(() => findProgram("./review", "/a", false, canRun), /relative path/);
    assert.throws(() => findProgram("/c/review", "/a", false, canRun), /Correct the setting/);
    assert.equal(findProgram("/a/review", "", false, canRun), "/a/review");
    assert.equal(findProgram("review", "/b", true, (path) => path === "/b/review.exe"), "/b/review.exe");
    // A folder is no program, and neither is a file that may not be run.
    assert.throws(() => findProgram(tmpdir(), "", false), ServerError);
});

test("a program without the language server is too old", async () => {
    await probe(program('[ "$1 $2" = "lsp --help" ]'), tmpdir());
    const old = program("echo \"error: unrecognized subcommand 'lsp'\" >&2; exit 2");
    await assert.rejects(probe(old, tmpdir()), /no language server \(error: unrecognized subcommand 'lsp'\)\. Update review/);
    await assert.rejects(probe(program("exit 1"), tmpdir()), /no language server\. Update/);
    await assert.rejects(probe(program("exec sleep 60"), tmpdir(), 100), /did not answer within 0\.1 s/);
    await assert.rejects(probe(join(tmpdir(), "review-absent"), tmpdir()), /could not be started \(ENOENT\)/);
});

test("a server that dies too often stays down until the user restarts it", () => {
    let now = 0;
    const limit = new RestartLimit(2, 1_000, () => now);
    assert.deepEqual([limit.allowsRestart(), limit.allowsRestart(), limit.allowsRestart()], [true, true, false]);
    now = 2_000;
    assert.equal(limit.allowsRestart(), true, "long ago does not count");
    limit.allowsRestart();
    assert.equal(limit.allowsRestart(), false);
    limit.reset();
    assert.equal(limit.allowsRestart(), true);
});
