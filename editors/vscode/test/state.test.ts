import assert from "node:assert/strict";
import { test } from "node:test";

import { FINDINGS_LIMIT, ProtocolError, parseFindings, parseStatus } from "../src/protocol";
import { ReviewState, dollars, pathBelow } from "../src/state";

const A = { uri: "file:///home/me/a", name: "a" };
const B = { uri: "file:///home/me/b/", name: "b" };
const RANGE = { start: { line: 4, character: 0 }, end: { line: 5, character: 2 } };

function finding(id: string, extra: object = {}): object {
    return { id, title: `Title ${id}`, severity: "high", uri: `${A.uri}/x.go`, range: RANGE, body: "Body", ...extra };
}

function status(folder: string, extra: object = {}): unknown {
    return { folder, state: "idle", run: "r1", outcome: "complete", clean: true, counts: { high: 0 }, ...extra };
}

function state(...folders: { uri: string; name: string }[]): ReviewState {
    const state = new ReviewState();
    state.server = { state: "running" };
    state.setFolders(folders);
    return state;
}

test("the tree groups findings by severity, then file", () => {
    const one = state(A);
    const findings = [
        finding("1", { severity: "low" }),
        finding("2", { uri: `${A.uri}/y.go` }),
        finding("3", { prominence: "also" }),
        finding("4", { range: { start: { line: 9, character: 0 }, end: { line: 9, character: 1 } } }),
        finding("5", { severity: "critical", uri: "file:///etc/passwd" }),
    ];
    one.setFindings(A.uri, parseFindings({ run: "r1", findings }));
    const tree = one.tree().map(({ severity, count, files }) => ({
        [`${severity} ${String(count)}`]: files.map((file) => [file.label, ...file.findings.map((node) => node.finding.id)]),
    }));
    assert.deepEqual(tree, [
        { "critical 1": [["(outside of the workspace)", "5"]] },
        { "high 3": [["x.go", "4", "3"], ["y.go", "2"]] },
        { "low 1": [["x.go", "1"]] },
    ]);
});

test("several folders are one tree, and labels say which folder", () => {
    const two = state(A, B);
    two.setFindings(A.uri, parseFindings({ run: "r1", findings: [finding("1")] }));
    two.setFindings(B.uri, parseFindings({ run: "r2", findings: [finding("2", { uri: "file:///home/me/b/x%20y.go" })] }));
    assert.deepEqual(two.tree()[0]?.files.map((file) => file.label), ["a/x.go", "b/x y.go"]);
    assert.deepEqual(two.findings().map((finding) => finding.folder), ["file:///home/me/a", "file:///home/me/b"]);
    assert.equal(two.setStatus(parseStatus(status("file:///home/me/c"))), false, "a folder that is not open");
    two.setStatus(parseStatus(status(A.uri, { counts: { high: 1 }, costUsd: 0.25 })));
    two.setStatus(parseStatus(status("file:///home/me/b", { state: "running", counts: { high: 2, low: 1 }, costUsd: 0.5 })));
    assert.deepEqual(two.running().map((folder) => folder.name), ["b"]);
    assert.equal(two.status().text, "$(sync~spin) Review: running · 3 high, 1 low · $0.75");
    assert.equal(two.status().tooltip, "a: complete · 1 high · cost $0.25\nb: running · 2 high, 1 low · cost $0.50");
    two.setFolders([A]);
    assert.equal(two.findings().length, 1);
    assert.equal(two.status().text, "$(warning) Review: 1 high · $0.25");
});

test("the status bar has a check mark only for complete reviews without findings", () => {
    const texts = (extra: object): string => {
        const one = state(A);
        one.setStatus(parseStatus(status(A.uri, extra)));
        return one.status().text;
    };
    assert.equal(state(A).status().text, "$(checklist) Review");
    assert.equal(texts({ run: null }), "$(checklist) Review");
    assert.equal(texts({}), "$(check) Review: no findings");
    assert.equal(texts({ costUsd: 0 }), "$(check) Review: no findings · $0.00");
    assert.equal(texts({ clean: false }), "$(checklist) Review: no findings");
    assert.equal(texts({ outcome: "budget" }), "$(warning) Review: incomplete");
    assert.equal(texts({ outcome: undefined }), "$(warning) Review: incomplete");
    assert.equal(texts({ state: "failed", message: "no key" }), "$(error) Review: failed");
    assert.equal(texts({ state: "failed", run: undefined }), "$(error) Review: failed");
    assert.equal(texts({ counts: { nit: 2 } }), "$(warning) Review: 2 nit");
    const unread = state(A);
    unread.setStatus(parseStatus(status(A.uri)));
    unread.setProblem(A.uri, "The findings could not be read.");
    assert.equal(unread.status().text, "$(error) Review: findings unavailable");
    assert.equal(unread.message(), "The findings could not be read.");
    unread.server = { state: "stopped", problem: "The program review is not on PATH." };
    assert.match(unread.status().text, /^\$\(error\) Review: stopped/);
    assert.equal(unread.message(), "The program review is not on PATH.");
});

test("an unknown cost is never zero", () => {
    const two = state(A, B);
    two.setStatus(parseStatus(status(A.uri, { costUsd: 0.1 })));
    two.setStatus(parseStatus(status(B.uri)));
    assert.equal(two.status().text, "$(check) Review: no findings · at least $0.10");
    assert.match(two.status().tooltip, /b: complete · no findings · cost unknown/);
    assert.deepEqual([dollars(0), dollars(0.001), dollars(1.234)], ["$0.00", "<$0.01", "$1.23"]);
});

test("the sentence above the tree", () => {
    const one = state(A);
    assert.equal(one.message(), undefined);
    one.setStatus(parseStatus(status(A.uri)));
    assert.equal(one.message(), undefined, "the findings are not known yet");
    one.setFindings(A.uri, parseFindings({ run: "r1", findings: [] }));
    assert.equal(one.message(), "The review is complete: no findings.");
    one.setStatus(parseStatus(status(A.uri, { outcome: "budget", message: "The budget is used up." })));
    assert.equal(one.message(), "The review is not complete (budget). The budget is used up.");
    one.setStatus(parseStatus(status(A.uri, { state: "failed", message: "No key." })));
    assert.equal(one.message(), "The review failed: No key.");
    const many = Array.from({ length: FINDINGS_LIMIT + 1 }, (_, at) => finding(String(at)));
    one.setStatus(parseStatus(status(A.uri, { counts: { high: many.length } })));
    one.setFindings(A.uri, parseFindings({ run: "r1", findings: many }));
    assert.equal(one.findings().length, FINDINGS_LIMIT);
    assert.match(one.message() ?? "", /^1 more finding not shown/);
});

test("what the server says is checked", () => {
    for (const bad of [null, 7, [], {}, { findings: {} }, { findings: [7] }, { findings: [finding("a b")] }, { findings: [finding("1", { uri: "x" })] }]) {
        assert.throws(() => parseFindings(bad), ProtocolError);
    }
    for (const range of [undefined, {}, { start: { line: -1, character: 0 }, end: RANGE.end }, { start: RANGE.start, end: { line: 1e300, character: 0 } }]) {
        assert.throws(() => parseFindings({ findings: [finding("1", { range })] }), ProtocolError);
    }
    const odd = { state: "idle", folder: A.uri };
    for (const bad of [null, {}, { ...odd, state: "done" }, { ...odd, folder: 7 }, { ...odd, counts: [] }, { ...odd, counts: { high: -1 } }, { ...odd, costUsd: "1" }, { ...odd, costUsd: -1 }]) {
        assert.throws(() => parseStatus(bad), ProtocolError);
    }
    const [read] = parseFindings({ run: null, findings: [finding("1", { severity: "new", title: "a\n$(error)\u202e", rule: null })] }).findings;
    assert.deepEqual([read?.severity, read?.title, read?.rule], ["critical", "a $(error)", ""]);
});

test("a file is below a folder or it is not", () => {
    assert.equal(pathBelow("file:///w/a", "file:///w/a/b/c.go"), "b/c.go");
    assert.equal(pathBelow("file:///w/a%20b", "file:///w/a%20b/c.go"), "c.go");
    assert.equal(pathBelow("file:///", "file:///c.go"), "c.go");
    const bad = ["file:///w/ab/c.go", "file:///w/a/../c.go", "file:///w/a/%2e%2e/c.go", "file:///w/a/..%2fc.go", "file:///w/a", "file:///w/a/"];
    for (const uri of [...bad, "http:///w/a/c.go", "file://host/w/a/c.go", "x", "file:///w/a/%ff"]) {
        assert.equal(pathBelow("file:///w/a", uri), undefined, uri);
    }
});
