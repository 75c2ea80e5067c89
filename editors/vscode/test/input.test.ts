import assert from "node:assert/strict";
import { test } from "node:test";

import { checkPullRequest, checkReason, checkRule, validation } from "../src/input";

test("a pull request is a number, owner/repo#number or the https address of its page", () => {
    assert.deepEqual(checkPullRequest(" 12 "), { value: "12" });
    assert.deepEqual(checkPullRequest("#12"), { value: "12" });
    assert.deepEqual(checkPullRequest("owner/repo.rs#12"), { value: "owner/repo.rs#12" });
    const page = "https://forge.example/owner/repo/pull/12";
    for (const address of [page, `${page}/files`, `${page}?w=1#discussion_r3`]) {
        assert.deepEqual(checkPullRequest(address), { value: page });
    }
    const bad = ["", "0", "-1", "1e3", "99999999999", "--post", "owner#1", "http://h.example/o/r/pull/1", "https://u:p@h.example/o/r/pull/1"];
    for (const text of [...bad, "https://h.example/o/r/issues/1", "https://h.example/o/r/pull/12x", "ftp://h/o/r/pull/1", "a b/c#1"]) {
        assert.ok("problem" in checkPullRequest(text), text);
    }
});

test("a reason is one line that is not empty", () => {
    assert.deepEqual(checkReason(" checked by the caller "), { value: "checked by the caller" });
    for (const text of ["", "  ", "a\nb", "a\u2028b", "a\u001bb", "x".repeat(501)]) {
        assert.ok("problem" in checkReason(text));
    }
});

test("a rule is an id", () => {
    assert.deepEqual(checkRule("go/defer-in-loop"), { value: "go/defer-in-loop" });
    for (const text of ["", "../x y", "a//b", "-\n", "x".repeat(201)]) {
        assert.ok("problem" in checkRule(text));
    }
});

test("the validation of an input box", () => {
    assert.equal(validation(checkRule)("go/x"), undefined);
    assert.match(validation(checkRule)("") ?? "", /go\/defer-in-loop/);
});
