/** What the tests of the client share: starting the extension with the stub, and waiting for what it shows. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { activate, deactivate } from "../src/extension";
import type { FindingNode, TreeNode } from "../src/state";
import { Uri, editor, workspace } from "./stub";

const subscriptions: { dispose: () => void }[] = [];

export const NO_TOKEN = { isCancellationRequested: false, onCancellationRequested: () => undefined };

/** A document as the editor has it open. */
export function document(uri: string, languageId: string, text: string): object {
    return { uri: Uri.parse(uri), languageId, version: 1, isClosed: false, getText: () => text, lineCount: text.split("\n").length };
}

/** Starts the extension with a program, in folders. */
export async function open(program: string, ...folders: string[]): Promise<void> {
    editor.settings["review.path"] = { defaultValue: "review", globalValue: program, workspaceValue: "./evil" };
    workspace.workspaceFolders = folders.map((folder, index) => ({ uri: Uri.parse(folder), name: basename(folder), index }));
    await activate({ subscriptions } as unknown as Parameters<typeof activate>[0]);
}

/** Ends the extension, and forgets what was shown. */
export async function stop(): Promise<void> {
    await deactivate();
    for (const subscription of subscriptions.splice(0)) {
        subscription.dispose();
    }
    for (const list of [editor.messages, editor.answers, editor.executed, editor.opened, editor.external, editor.edits, editor.log]) {
        list.length = 0;
    }
    editor.choose = () => undefined;
}

/** Waits until a condition holds; the limit is far above what is needed, and its end is a failure. */
export async function until(condition: () => boolean, goal: string): Promise<void> {
    for (let tries = 0; tries < 400; tries += 1) {
        if (condition()) {
            return;
        }
        await delay(25);
    }
    assert.fail(`${goal}: ${editor.status.text}\n${editor.log.join("\n")}\n${JSON.stringify(editor.messages)}`);
}

/** Runs a command of the extension. */
export function run(name: string, ...args: unknown[]): Promise<unknown> {
    const command = editor.commands.get(`reviewTool.${name}`);
    assert.ok(command, name);
    return Promise.resolve(command(...args));
}

/** The first finding of the tree. */
export function firstFinding(): FindingNode {
    let nodes = editor.tree?.getChildren() as TreeNode[];
    while (nodes[0] !== undefined && nodes[0].kind !== "finding") {
        nodes = editor.tree?.getChildren(nodes[0]) as TreeNode[];
    }
    assert.ok(nodes[0], "a finding");
    return nodes[0];
}
