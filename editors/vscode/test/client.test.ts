/** The extension against a scripted language server, with a stub in place of VS Code. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";

import { middleware } from "../src/middleware";
import { SERVER_COMMANDS } from "../src/protocol";
import { NO_TOKEN, document, firstFinding, open, run, stop, until } from "./harness";
import { Diagnostic, Range, Uri, editor, workspace } from "./stub";

const folder = mkdtempSync(join(tmpdir(), "review-"));
const transcript = join(folder, "transcript");

interface Message {
    method?: string;
    params?: { command?: string; arguments?: unknown[] };
}

/** Starts the extension with a server that behaves as the script says, in the folders of that many names. */
async function start(script = "", ...names: string[]): Promise<void> {
    const path = join(folder, "review");
    const server = join(__dirname, "scriptedServer.js");
    writeFileSync(path, `#!/bin/sh\nREVIEW_SCRIPT='${script}' REVIEW_TRANSCRIPT='${transcript}' exec '${process.execPath}' '${server}' "$@"\n`);
    chmodSync(path, 0o755);
    writeFileSync(transcript, "");
    workspace.textDocuments = [document("file:///home/me/one/a.go", "go", "one\ntwo\n")];
    await open(path, ...(names.length === 0 ? ["one"] : names).map((name) => `file:///home/me/${name}`));
}

afterEach(stop);

/** The arguments of all calls of a server's command, in order. */
function calls(command: string): unknown[] {
    const messages = readFileSync(transcript, "utf8").trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Message);
    return messages.filter((message) => message.params?.command === command).map((message) => message.params?.arguments?.[0]);
}

test("a review from start to dismissal", async () => {
    await start();
    await until(() => (editor.tree?.getChildren().length ?? 0) > 0, "findings");
    assert.equal(editor.status.text, "$(warning) Review: 1 high · $0.12");
    const manifest = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8")) as { contributes: { commands: { command: string }[] } };
    const own = [...editor.commands.keys()].filter((name) => name.startsWith("reviewTool."));
    assert.deepEqual(own.sort(), manifest.contributes.commands.map(({ command }) => command).sort(), "each command of the manifest is registered");

    await run("reviewBranch");
    await run("reviewStaged");
    await run("reviewUncommitted");
    editor.answers.push("https://forge.example/owner/repo/pull/12/files");
    await run("reviewPullRequest");
    editor.answers.push("not a pull request");
    await run("reviewPullRequest");
    const place = { folder: "file:///home/me/one" };
    const page = "https://forge.example/owner/repo/pull/12";
    assert.deepEqual(calls("review.start"), [
        { kind: "branch", ...place },
        { kind: "staged", ...place },
        { kind: "uncommitted", ...place },
        { kind: "pullRequest", pullRequest: page, ...place },
    ]);
    await run("cancel");
    assert.match(editor.messages.at(-1)?.text ?? "", /no review is running/);

    const node = firstFinding();
    await run("showFinding", node);
    assert.deepEqual(editor.opened, ["file:///home/me/one/a.go"]);
    editor.answers.push("go/defer-in-loop");
    await run("explainRule");
    await run("explainRule", node);
    assert.deepEqual(calls("review.explainRule"), [{ rule: "go/defer-in-loop" }, { rule: "go/defer-in-loop", ...place }]);
    assert.equal(editor.documents?.provideTextDocumentContent(Uri.parse(editor.opened[1] ?? "")).startsWith("# go/defer-in-loop\n"), true);
    assert.equal(editor.opened.length, 3);
    await run("openThread", node);
    await until(() => editor.external.length > 0, "the thread");
    assert.deepEqual(editor.external, ["https://forge.example/owner/repo/pull/12#discussion_r1"]);
    editor.answers.push(0);
    await run("apply");
    assert.deepEqual(calls("review.apply"), [{ finding: "3787e92af018", ...place }]);
    await until(() => editor.edits.length > 0, "the edit");
    assert.deepEqual(editor.edits, ["file:///home/me/one/a.go"]);
    editor.answers.push(undefined);
    await run("dismiss", node);
    editor.answers.push("checked by the caller");
    await run("dismiss", node);
    assert.deepEqual(calls("review.dismiss"), [{ finding: "3787e92af018", reason: "checked by the caller", ...place }]);
    await until(() => editor.view.message === "The review is complete: no findings.", "no findings");
    assert.equal(editor.status.text, "$(check) Review: no findings · $0.12");
    await run("dismiss", node);
    assert.match(editor.messages.at(-1)?.text ?? "", /not in the latest review any more/);
});

test("diagnostics, hovers and code actions", async () => {
    await start();
    await until(() => editor.diagnostics.has("file:///home/me/one/a.go"), "diagnostics");
    assert.deepEqual(editor.diagnostics.get("file:///home/me/one/a.go")?.map(({ message, source }) => [message, source]), [["Scripted finding", "review"]]);
    const hover = await editor.hover?.provideHover(workspace.textDocuments[0], { line: 1, character: 0 }, NO_TOKEN);
    const [content] = (hover?.contents ?? []) as { value: string; isTrusted: boolean; supportHtml: boolean }[];
    assert.match(content?.value ?? "", /\[CWE-252\]\(https:/);
    assert.deepEqual([content?.isTrusted, content?.supportHtml], [false, false]);
    // A code action names the server's command; VS Code runs it, and the client asks for the reason.
    editor.answers.push("intended");
    await Promise.resolve(editor.commands.get(SERVER_COMMANDS.dismiss)?.({ finding: "3787e92af018" }));
    assert.deepEqual(calls("review.dismiss"), [{ finding: "3787e92af018", reason: "intended" }]);
});

test("a hostile server cannot open, edit or run anything", async () => {
    await start("hostile");
    await until(() => editor.diagnostics.size > 0 && editor.messages.length > 0 && (editor.tree?.getChildren().length ?? 0) > 0, "findings");
    assert.equal(/\]\(command:|\]\(https:/.test(editor.messages.map(({ text }) => text).join("")), false);
    const [diagnostic] = editor.diagnostics.get("file:///home/me/one/a.go") ?? [];
    assert.equal(diagnostic?.code, "go/defer-in-loop", "the link is left out");
    assert.equal(firstFinding().finding.body.replaceAll("\u2060", "^"), "!^[x](https://h.example/p.png) [run]^(command:workbench.action.quit) [page](https://h.example/)");
    await run("openThread", firstFinding());
    await run("apply", firstFinding());
    const actions = await editor.actions?.provideCodeActions(workspace.textDocuments[0], {}, { diagnostics: [] }, NO_TOKEN);
    assert.deepEqual((actions ?? []).map(({ title }) => title), ["Apply the suggestion", "Dismiss this finding"]);
    assert.deepEqual([editor.external, editor.edits], [[], []]);
});

test("diagnostics that the client asks for are treated as those that are sent", async () => {
    const { provideDiagnostics, provideWorkspaceDiagnostics } = middleware(() => Promise.resolve(undefined));
    const report = (): object => {
        const diagnostic = new Diagnostic(new Range(0, 0, 0, 1), "a\n[b](command:c)", 1);
        diagnostic.code = { value: "x", target: Uri.parse("file:///etc/passwd") };
        return { kind: "full", items: [diagnostic] };
    };
    const expected = [["a [b]\u2060(command:c)", "x"]];
    const shown = (given: unknown): unknown => (given as { items: Diagnostic[] }).items.map(({ message, code }) => [message, code]);
    assert.deepEqual(shown(await provideDiagnostics?.({} as never, undefined, {} as never, () => report() as never)), expected);
    const chunks: unknown[] = [];
    const report2 = { items: [report(), { kind: "unChanged", resultId: "1" }] } as never;
    provideWorkspaceDiagnostics?.([], {} as never, (chunk) => chunks.push(...(chunk?.items ?? [])), (_previous, _token, reporter) => {
        reporter(report2);
        return { items: [] };
    });
    assert.deepEqual(shown(chunks[0]), expected);
    assert.deepEqual(chunks[1], { kind: "unChanged", resultId: "1" });
});

test("findings that cannot be read are no empty list", async () => {
    await start("malformed");
    await until(() => editor.status.text.includes("findings unavailable"), "the problem");
    assert.match(editor.view.message ?? "", /could not be read: The server's range is not as this extension expects it/);
});

test("an incomplete review has no check mark", async () => {
    await start("incomplete");
    await until(() => editor.status.text.includes("incomplete"), "the outcome");
    assert.match(editor.view.message ?? "", /not complete \(budget\)/);
});

test("a running review is cancelled", async () => {
    await start("slow");
    await until(() => (editor.tree?.getChildren().length ?? 0) > 0, "findings");
    await run("reviewBranch");
    await until(() => editor.status.text.includes("running"), "the run");
    assert.equal(editor.context.get("reviewTool.running"), true);
    assert.match(editor.view.message ?? "", /A review is running/);
    await run("cancel");
    assert.deepEqual(calls("review.cancel"), [{ folder: "file:///home/me/one" }]);
    await until(() => editor.status.text.includes("incomplete"), "the end");
});

test("an absent or old program is reported with what to do", async () => {
    await start("old");
    assert.match(editor.messages[0]?.text ?? "", /has no language server.*Update review/);
    assert.deepEqual([editor.status.text, editor.status.command], ["$(error) Review: stopped", "reviewTool.restart"]);
    await run("reviewBranch");
    assert.match(editor.messages.at(-1)?.text ?? "", /not running/);
    editor.choose = (text, buttons) => (text.includes("/absent/review") ? buttons[0] : undefined);
    editor.settings["review.path"] = { globalValue: "/absent/review" };
    await run("restart");
    assert.match(editor.messages.at(-1)?.text ?? "", /\/absent\/review is not a program/);
    assert.deepEqual(editor.executed.at(-1), ["workbench.action.openSettings", "review.path"]);
});

test("a server that dies is restarted a few times, then left alone", async () => {
    await start("dies");
    await until(() => editor.status.text === "$(error) Review: stopped", "the limit");
    const starts = (): number => readFileSync(transcript, "utf8").split("\n").filter((line) => line.includes('"initialize"')).length;
    assert.equal(starts(), 4);
    assert.deepEqual(editor.tree?.getChildren(), [], "its findings are not shown any more");
    assert.match(editor.messages.at(-1)?.text ?? "", /ended unexpectedly several times/);
    assert.deepEqual(editor.messages.at(-1)?.buttons, ["Open Settings", "Show Log", "Restart"]);
});

test("a server that dies at once is an error, not a hang", async () => {
    await start("dies early");
    await until(() => editor.status.text === "$(error) Review: stopped", "the end");
    assert.ok(editor.messages.length > 0 && existsSync(transcript));
});

test("several folders: the user chooses, and each has its findings", async () => {
    await start("", "one", "two");
    await until(() => (editor.status.tooltip.match(/complete/g) ?? []).length === 2, "both folders");
    editor.answers.push(1);
    await run("reviewBranch");
    assert.deepEqual(calls("review.start"), [{ kind: "branch", folder: "file:///home/me/two" }]);
    editor.answers.push(undefined);
    await run("reviewBranch");
    assert.equal(calls("review.start").length, 1);
});

test("without a folder there is nothing to review", async () => {
    await start();
    workspace.workspaceFolders = [];
    editor.foldersChanged.fire(undefined);
    await run("reviewBranch");
    assert.match(editor.messages.at(-1)?.text ?? "", /No folder is open/);
});
